// The store controller against the Rust ledger, operation by operation: the golden vectors, then random operations on few accounts with many
// retries, under every pair of idle and back-pressure patterns. What is asked of the pipeline is measured at the end: one TRANSFER a cycle
// where each is between the same two accounts, and how many cycles an operation takes.
#include <fstream>

#include "../../../twin/twin.hpp"
#include "harness.hpp"

using namespace harness;
using twin::Frame;

// As in transfer_pkg.
enum Command : uint8_t { kCreate, kIssue, kTransfer, kRefer };
enum Status : uint16_t { kOk = 0, kTableFull = 6, kBusy = 40 };

struct Operation {
  uint8_t refusal;
  uint8_t command;
  uint32_t transaction, source, destination, amount;
};

struct Reply {
  uint16_t status;
  uint64_t value;
};

constexpr size_t kWindow = size_t{1} << WindowBits;

static uint32_t word(const Frame& frame, int at) {
  return uint32_t{frame[at]} << 24 | frame[at + 1] << 16 | frame[at + 2] << 8 | frame[at + 3];
}

static void set_word(Frame& frame, int at, uint32_t value) {
  for (int byte = 0; byte < 4; byte++) frame[at + byte] = static_cast<uint8_t>(value >> (24 - 8 * byte));
}

static Frame frame_of(const Operation& operation) {
  Frame frame{};
  set_word(frame, 0, operation.command + 1u);
  set_word(frame, 4, operation.transaction);
  set_word(frame, 8, operation.source);
  set_word(frame, 12, operation.destination);
  set_word(frame, 16, operation.amount);
  return frame;
}

class Device {
 public:
  Device(const Options& options, uint64_t seed, size_t accounts)
      : bench_(options), random_(seed), ledger_(accounts, kWindow) {
    auto& top = bench_.top;
    for (int part = 0; part < 4; part++) top.secret_i[part] = static_cast<uint32_t>(random_.next());
    top.limit_i = static_cast<uint32_t>(accounts);
    top.valid_i = 0;
    top.ready_i = 0;
    bench_.reset();
  }

  // Passes what `source` gives until it gives nothing any more, and compares every reply. Gives the number of operations.
  template <typename Source>
  uint64_t run(Source source, Throttle idle, Throttle pressure) {
    auto& top = bench_.top;
    uint64_t taken = 0, stuck = 0;
    bool more = true;
    while (more || !expected_.empty()) {
      if (!top.valid_i && more && idle.open()) {
        more = source(offered_);
        if (more) drive(offered_);
      }
      top.ready_i = pressure.open();
      bench_.settle();
      const bool gives = top.valid_o && top.ready_i, takes = top.valid_i && top.ready_o;
      if (gives) check();
      if (takes) {
        if (first_taken_ == 0) first_taken_ = bench_.cycle;
        last_taken_ = bench_.cycle;
        expected_.push_back({offered_, bench_.cycle});
        taken++;
      }
      stuck = gives || takes ? 0 : stuck + 1;
      if (stuck > 20000) fail(bench_, "nothing moves any more");
      bench_.step();
      if (takes) top.valid_i = 0;
    }
    return taken;
  }

  uint64_t cycles() const { return last_taken_ - first_taken_ + 1; }
  void restart() { first_taken_ = last_taken_ = most_latency_ = 0; }
  uint64_t most_latency() const { return most_latency_; }
  uint64_t busy() const { return busy_; }
  uint64_t statuses(int status) const { return statuses_[status]; }

 private:
  struct Expected {
    Operation operation;
    uint64_t taken_at;
  };

  void drive(const Operation& operation) {
    auto& top = bench_.top;
    // operation_t, most significant field first: refusal 6, command 2, transaction, source, destination, amount.
    top.operation_i[4] = static_cast<uint32_t>(operation.refusal) << 2 | operation.command;
    top.operation_i[3] = operation.transaction;
    top.operation_i[2] = operation.source;
    top.operation_i[1] = operation.destination;
    top.operation_i[0] = operation.amount;
    top.valid_i = 1;
  }

  void check() {
    if (expected_.empty()) fail(bench_, "a result that nothing was asked for");
    const auto [operation, taken_at] = expected_.front();
    expected_.pop_front();
    most_latency_ = std::max(most_latency_, bench_.cycle - taken_at);
    const auto& top = bench_.top;
    const Reply reply{static_cast<uint16_t>(top.result_o[2] & 63), uint64_t{top.result_o[1]} << 32 | top.result_o[0]};
    statuses_[reply.status]++;
    if (operation.refusal != 0) {
      if (reply.status != operation.refusal || reply.value != 0) fail(bench_, "a refused operation got another answer");
      return;
    }
    if (reply.status == kBusy) {
      // Nothing was done, so the twin is not asked.
      busy_++;
      return;
    }
    Frame frame = frame_of(operation);
    const uint64_t value = ledger_.execute(frame);
    const uint16_t status = static_cast<uint16_t>(frame[20] << 8 | frame[21]);
    if (status != reply.status || value != reply.value) {
      char text[300];
      std::snprintf(text, sizeof text,
                    "command %u transaction %u source %u destination %u amount %u: status %u value %llu, in Rust status %u value %llu",
                    operation.command + 1u, operation.transaction, operation.source, operation.destination,
                    operation.amount, reply.status, static_cast<unsigned long long>(reply.value), status,
                    static_cast<unsigned long long>(value));
      fail(bench_, text);
    }
  }

  Bench bench_;
  Random random_;
  twin::Ledger ledger_;
  Operation offered_{};
  std::deque<Expected> expected_;
  uint64_t first_taken_ = 0, last_taken_ = 0, most_latency_ = 0, busy_ = 0;
  std::array<uint64_t, 64> statuses_{};
};

static Throttle open_wide() { return Throttle(Throttle::kAlways, 0); }

// The conversation of the golden vectors, whose replies both sides have to give.
static uint64_t golden(const Options& options) {
  std::ifstream requests(options.vectors + "/ledger/compact_requests.hex"), replies(options.vectors + "/ledger/compact_replies.hex");
  std::deque<Operation> operations;
  std::string line, reply;
  twin::Ledger ledger(1000, 1024);
  while (std::getline(requests, line) && std::getline(replies, reply)) {
    if (line[0] == '/') continue;
    Frame frame{}, answer{};
    for (size_t at = 0; at < frame.size(); at++) {
      frame[at] = static_cast<uint8_t>(std::stoul(line.substr(2 * at, 2), nullptr, 16));
      answer[at] = static_cast<uint8_t>(std::stoul(reply.substr(2 * at, 2), nullptr, 16));
    }
    operations.push_back({0, static_cast<uint8_t>(word(frame, 0) - 1), word(frame, 4), word(frame, 8), word(frame, 12), word(frame, 16)});
    ledger.execute(frame);
    if (frame != answer) throw std::runtime_error("the Rust ledger does not give what the vectors say");
  }
  if (operations.size() < 100) throw std::runtime_error("no vectors in " + options.vectors);
  Device device(options, 1, 1000);
  return device.run(
      [&](Operation& operation) {
        if (operations.empty()) return false;
        operation = operations.front();
        operations.pop_front();
        return true;
      },
      open_wide(), open_wide());
}

// Random operations: few accounts, so that most depend on the last ones, amounts near what they hold, retries both near and far.
class Workload {
 public:
  Workload(uint64_t seed, uint64_t count, uint32_t accounts) : random_(seed), left_(count), accounts_(accounts) {
    spread_ = random_.chance(50) ? 1 : 0x9e3779b1;
  }

  bool operator()(Operation& operation) {
    if (left_-- == 0) return false;
    if (!history_.empty() && random_.chance(20)) {
      // A retry, from the next cycle to beyond the window; some for another operation.
      const uint64_t span = random_.chance(50) ? 12 : random_.chance(50) ? kWindow + 40 : 3 * kWindow;
      operation = history_[history_.size() - 1 - random_.below(std::min<uint64_t>(span, history_.size()))];
      if (operation.command == kTransfer && random_.chance(10)) operation.amount ^= 1u << 20;
      if (operation.command == kTransfer && random_.chance(5)) operation.destination = other_than(operation.source);
    } else {
      operation = fresh();
    }
    history_.push_back(operation);
    if (history_.size() > 3 * kWindow) history_.pop_front();
    return true;
  }

 private:
  uint32_t account() { return static_cast<uint32_t>(1 + random_.below(accounts_)) * spread_; }

  uint32_t other_than(uint32_t source) {
    uint32_t other = account();
    while (other == source) other = account();
    return other;
  }

  Operation fresh() {
    const uint64_t kind = random_.below(100);
    // Transaction ids are from a small range, so that those of other accounts are met.
    const uint32_t transaction = static_cast<uint32_t>(random_.chance(50) ? next_++ : random_.below(4 * kWindow));
    Operation operation{0, kTransfer, transaction, account(), 0, 0};
    if (kind < 3) {
      operation.command = kCreate;
    } else if (kind < 10) {
      operation.command = kIssue;
      operation.amount = random_.chance(20) ? 0xffffffff : static_cast<uint32_t>(1 + random_.below(200));
    } else if (kind < 20) {
      operation.command = kRefer;
    } else {
      operation.destination = other_than(operation.source);
      operation.amount = static_cast<uint32_t>(1 + (random_.chance(20) ? random_.below(0xffffffff) : random_.below(100)));
    }
    if (random_.chance(2)) operation.refusal = random_.chance(50) ? 33 : 34;
    return operation;
  }

  Random random_;
  uint64_t left_;
  uint32_t accounts_, spread_, next_ = 1u << 20;
  std::deque<Operation> history_;
};

int main(int argc, char** argv) {
  return run(argc, argv, [](const Options& options) {
    uint64_t operations = golden(options), busy = 0, replayed = 0;
    for (int idle = 0; idle < Throttle::kKinds; idle++) {
      for (int pressure = 0; pressure < Throttle::kKinds; pressure++) {
        for (const uint32_t accounts : {3u, 60u}) {
          const uint64_t seed = options.seed * 1000 + idle * 100 + pressure * 10 + accounts;
          Device device(options, seed, 48);
          operations += device.run(Workload(seed, OPERATIONS, accounts), Throttle(Throttle::Kind(idle), seed + 1), Throttle(Throttle::Kind(pressure), seed + 2));
          busy += device.busy();
          replayed += device.statuses(18);
          if (accounts > 48 && device.statuses(kTableFull) == 0) throw std::runtime_error("the table never got full");
        }
      }
    }
    if (replayed == 0) throw std::runtime_error("no transaction id was used again");

    // Every TRANSFER between the same two accounts.
    Device device(options, options.seed, 48);
    uint32_t at = 0;
    device.run([&](Operation& operation) {
      const Operation start[] = {{0, kCreate, 1, 1, 0, 0}, {0, kCreate, 1, 2, 0, 0}, {0, kIssue, 2, 1, 0, 5000}, {0, kIssue, 2, 2, 0, 5000}};
      if (at == 4) return false;
      operation = start[at++];
      return true;
    }, open_wide(), open_wide());
    device.restart();
    const uint64_t count = device.run([&](Operation& operation) {
      const uint32_t source = at % 3 == 0 ? 1 : 2;
      operation = {0, kTransfer, at, source, 3 - source, 1 + at % 7};
      return at++ < 20000;
    }, open_wide(), open_wide());
    operations += count;
    if (device.cycles() != count) throw std::runtime_error("a TRANSFER on the same two accounts waited");
    if (device.most_latency() > 10) throw std::runtime_error("an operation took more than 10 cycles");
    std::printf("%llu operations as in Rust, %llu busy; %llu TRANSFERs on two accounts in %llu cycles, latency %llu cycles",
                static_cast<unsigned long long>(operations), static_cast<unsigned long long>(busy),
                static_cast<unsigned long long>(count), static_cast<unsigned long long>(device.cycles()),
                static_cast<unsigned long long>(device.most_latency()));
  });
}
