// The store controller against the Rust ledger, operation by operation: the golden vectors, then random operations on
// few accounts with many retries, under every pair of idle and back-pressure patterns. At the end, throughput and
// latency are checked: one TRANSFER per cycle even if all use the same two accounts. With EXTERNAL the accounts are in
// a DRAM: the same under several memory timings, and on many accounts as well.
//
// Ticks control how long operations are remembered: no young operation may be evicted. BUSY is right only if all
// remembered operations are young or, rarely, if the index is crowded, according to a model of the index.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include "../../../twin/twin.hpp"
#include "harness.hpp"
#include "protocol.hpp"
#include "window_index.hpp"

using namespace harness;
using twin::Frame;

// Same as in transfer_pkg.
enum Command : uint8_t { kCreate, kIssue, kTransfer, kRefer };

struct Operation {
  uint8_t refusal;
  uint8_t command;
  uint32_t transaction, source, destination, amount;
};

struct Reply {
  uint16_t status;
  uint64_t value;
};

// Timing of the memory in cycles, see dram_model.
struct Memory {
  uint16_t least, spread, refresh, gap;
};
#ifdef EXTERNAL
constexpr Memory kMemories[] = {{1, 0, 0, 0}, {20, 0, 0, 0}, {3, 60, 700, 90}};
#else
constexpr Memory kMemories[] = {{}};
#endif
// Number of accounts used, of which `limit` fit; `open` exist from the start.
struct Accounts {
  uint32_t count, limit, open;
};
#ifdef EXTERNAL
constexpr Accounts kAccounts[] = {{3, 48, 0}, {60, 24, 0}, {240, 260, 200}};
#else
constexpr Accounts kAccounts[] = {{3, 48, 0}, {60, 48, 0}};
#endif

constexpr size_t kWindow = size_t{1} << WindowBits;
// Same as in dedup_window: operations remembered within this many ticks are young.
constexpr size_t kTicks = 8, kLate = 4;
// Maximum number of operations that were executed but whose results have not arrived.
constexpr size_t kUnderWay = 32;
// A tick in every cycle: eviction depends on the count alone.
constexpr uint64_t kAlways = 1;

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
  Device(const Options& options, uint64_t seed, size_t accounts, [[maybe_unused]] const Memory& memory)
      : bench_(options), secret_(secret_of(seed)), ledger_(accounts, kWindow), index_(secret_) {
    auto& top = bench_.top;
    for (int part = 0; part < 4; part++) top.secret_i[part] = static_cast<uint32_t>(secret_[part / 2] >> (32 * (part % 2)));
    top.limit_i = static_cast<uint32_t>(accounts);
#ifdef EXTERNAL
    top.least_i = memory.least;
    top.spread_i = memory.spread;
    top.refresh_i = memory.refresh;
    top.gap_i = memory.gap;
    top.writes_rest_i = 0;
#endif
    top.valid_i = 0;
    top.ready_i = 0;
    bench_.reset();
  }

  // Cycles between ticks; 0: no ticks.
  uint64_t tick_every = kAlways;
  // The memory accepts no writes for this many cycles.
  uint64_t writes_rest = 0;

  // Sends a tick with nothing in flight.
  void tick() {
    bench_.top.valid_i = 0;
    bench_.top.retry_tick_i = 1;
    pass_cycle();
    bench_.top.retry_tick_i = 0;
    for (int cycles = 0; cycles < 4; cycles++) pass_cycle();
  }

  // Runs the operations of `source` until it has no more, and compares every reply. Returns the number of operations.
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
      top.retry_tick_i = tick_every != 0 && bench_.cycle % tick_every == 0;
      bench_.settle();
      const bool gives = top.valid_o && top.ready_i, takes = top.valid_i && top.ready_o;
      if (gives) check();
      if (takes) {
        if (first_taken_ == 0) first_taken_ = bench_.cycle;
        last_taken_ = bench_.cycle;
        expected_.push_back({offered_, bench_.cycle, ticks()});
        taken++;
      }
      stuck = gives || takes ? 0 : stuck + 1;
      if (stuck > 20000) fail(bench_, "nothing moves any more");
      pass_cycle();
      if (takes) top.valid_i = 0;
    }
    top.retry_tick_i = 0;
    return taken;
  }

  // Bucket of an account in a half of the external memory.
  uint32_t bucket(int half, uint32_t id) const { return toeplitz_hash(secret_[half], id, AccountIndexWidth); }

  uint64_t cycles() const { return last_taken_ - first_taken_ + 1; }
  void restart() { first_taken_ = last_taken_ = most_latency_ = 0; }
  uint64_t most_latency() const { return most_latency_; }
  // BUSY because all remembered operations are young, and because the index is crowded.
  uint64_t full() const { return full_; }
  uint64_t crowded() const { return crowded_; }
  uint64_t remembered() const { return ledger_.remembered(); }
  uint64_t statuses(int status) const { return statuses_[status]; }

 private:
  struct Expected {
    Operation operation;
    uint64_t taken_at, taken_tick;
  };

  uint64_t ticks() const { return remembered_at_.size(); }

  static std::array<uint64_t, 2> secret_of(uint64_t seed) {
    Random random(seed);
    std::array<uint64_t, 2> secret{};
    for (int part = 0; part < 4; part++) secret[part / 2] |= uint64_t{static_cast<uint32_t>(random.next())} << (32 * (part % 2));
    return secret;
  }

  void pass_cycle() {
#ifdef EXTERNAL
    bench_.top.writes_rest_i = writes_rest != 0;
    if (writes_rest != 0) writes_rest--;
#endif
    bench_.settle();
    if (bench_.top.retry_tick_i) remembered_at_.push_back(ledger_.remembered());
    bench_.step();
  }

  // Operations remembered `ago` ticks before `tick`.
  uint64_t remembered_before(uint64_t tick, size_t ago) const { return tick < ago ? 0 : remembered_at_[tick - ago]; }

  // A refused operation changed nothing, so the twin is not asked. It must not be a retry, which needs no room. If not
  // all operations are young, the index must have no way for it.
  void refused_for_room(const Operation& operation, bool has_way, uint64_t taken_tick) {
    if (known_.count({operation.source, operation.transaction}) != 0) fail(bench_, "a retry is BUSY");
    const uint64_t old = remembered_before(taken_tick, kTicks);
    if (ledger_.remembered() + kUnderWay >= old + kWindow) {
      full_++;
      return;
    }
    if (has_way || !index_.may_be_full(operation.source, operation.transaction)) {
      fail(bench_, "an operation is BUSY, and there is room in the window and its index");
    }
    crowded_++;
  }

  // An operation was remembered and evicted the oldest, which must not be young.
  void was_remembered(const Operation& operation, bool has_way, uint64_t taken_tick) {
    if (kExact && !has_way) fail(bench_, "an operation is remembered that the index has no way for");
    known_.insert({operation.source, operation.transaction});
    young_from_.push_back({taken_tick, {operation.source, operation.transaction}});
    if (young_from_.size() <= kWindow) return;
    if (young_from_.front().first + kTicks > ticks()) fail(bench_, "an operation was forgotten that was young");
    known_.erase(young_from_.front().second);
    young_from_.pop_front();
  }

  // Whether an operation finds a way in the index. With accounts in external memory, the cycle in which it enters the
  // pipeline is unknown, so the model only knows whether its buckets may be full.
#ifdef EXTERNAL
  static constexpr bool kExact = false;
#else
  static constexpr bool kExact = true;
#endif
  bool asks_index(const Operation& operation, uint64_t taken_at) {
    if (operation.command == kRefer) return true;
    if (kExact) return index_.has_room(operation.source, operation.transaction, taken_at);
    return !index_.may_be_full(operation.source, operation.transaction);
  }
  void tell_index(const Operation& operation, bool fresh) {
    if (operation.command == kRefer) return;
    index_.passed(operation.source, operation.transaction, fresh);
    if (kExact) index_.ends(fresh);
  }

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
    const auto [operation, taken_at, taken_tick] = expected_.front();
    expected_.pop_front();
    most_latency_ = std::max(most_latency_, bench_.cycle - taken_at);
    const auto& top = bench_.top;
    const Reply reply{static_cast<uint16_t>(top.result_o[2] & 63), uint64_t{top.result_o[1]} << 32 | top.result_o[0]};
    statuses_[reply.status]++;
    if (operation.refusal != 0) {
      if (reply.status != operation.refusal || reply.value != 0) fail(bench_, "a refused operation got another answer");
      return;
    }
    const bool has_way = asks_index(operation, taken_at);
    if (reply.status == protocol::kStatusBusy) {
      refused_for_room(operation, has_way, taken_tick);
      tell_index(operation, false);
      return;
    }
    const uint64_t remembered = ledger_.remembered();
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
    const bool fresh = ledger_.remembered() != remembered;
    if (fresh) was_remembered(operation, has_way, taken_tick);
    tell_index(operation, fresh);
  }

  Bench bench_;
  std::array<uint64_t, 2> secret_;
  twin::Ledger ledger_;
  WindowIndex index_;
  Operation offered_{};
  std::deque<Expected> expected_;
  uint64_t first_taken_ = 0, last_taken_ = 0, most_latency_ = 0, full_ = 0, crowded_ = 0;
  // Number of remembered operations at each tick.
  std::deque<uint64_t> remembered_at_;
  // Remembered operations: the tick of acceptance, source and transaction id.
  using Name = std::pair<uint32_t, uint32_t>;
  std::deque<std::pair<uint64_t, Name>> young_from_;
  std::set<Name> known_;
  std::array<uint64_t, 64> statuses_{};
};

static void check(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

static Throttle open_wide() { return Throttle(Throttle::kAlways, 0); }

// Runs the golden vectors; both sides must give their replies.
static uint64_t golden(const Options& options, const Memory& memory) {
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
  Device device(options, 1, 1000, memory);
  return device.run(
      [&](Operation& operation) {
        if (operations.empty()) return false;
        operation = operations.front();
        operations.pop_front();
        return true;
      },
      open_wide(), open_wide());
}

// Ids as random clients draw them. The window's index is a linear hash, which consecutive numbers fill unevenly.
static uint32_t id_of(uint32_t number) { return number * 0x9e3779b1; }

// No operation is evicted before its time: without ticks the window fills and then every new operation is BUSY, while
// retries get the first answer. Ticks that make half of the operations old make room for half a window.
static void forgets_by_time(const Options& options, const Memory& memory) {
  Device device(options, options.seed, 2, memory);
  device.tick_every = 0;
  uint32_t sent = 0;
  const auto send = [&](uint32_t count, uint32_t from) {
    const uint64_t before = device.remembered();
    uint32_t at = 0;
    device.run([&](Operation& operation) {
      if (at == count) return false;
      operation = {0, kIssue, id_of(from + at++), 1, 0, 1};
      return true;
    }, open_wide(), open_wide());
    return device.remembered() - before;
  };
  const auto fresh = [&](uint32_t count) {
    sent += count;
    return send(count, sent - count);
  };
  const auto expect = [](uint64_t remembered, uint64_t room, const char* when) {
    // Some may be BUSY because the index is crowded; the last ones may find the window full slightly too soon.
    if (remembered + 3 * kLate >= room && remembered <= room) return;
    throw std::runtime_error(std::to_string(remembered) + " operations are remembered where there is room for " + std::to_string(room) + ": " + when);
  };
  device.run([first = true](Operation& operation) mutable {
    operation = {0, kCreate, 0xffffffff, 1, 0, 0};
    return std::exchange(first, false);
  }, open_wide(), open_wide());
  expect(fresh(kWindow / 2), kWindow / 2, "a half of the window");
  for (size_t ticks = 0; ticks < kTicks / 2; ticks++) device.tick();
  expect(fresh(kWindow), kWindow / 2 - 1, "what is left of the window");
  if (device.full() < kWindow / 4) throw std::runtime_error("a full window takes more");
  for (size_t ticks = kTicks / 2; ticks < kTicks - 1; ticks++) device.tick();
  expect(fresh(100), 0, "a tick too soon");
  // All of them are remembered: nothing is executed again.
  expect(send(kWindow / 2 - 4 * kLate, 0), 0, "retries");
  device.tick();
  expect(fresh(kWindow), kWindow / 2 + 1, "a half, and the CREATE, are old");
  for (size_t ticks = 0; ticks < kTicks; ticks++) device.tick();
  expect(fresh(2 * kWindow), kWindow, "all is old");
}

// Random operations: few accounts, so that most depend on recent ones; amounts close to the balances; near and distant
// retries.
class Workload {
 public:
  Workload(uint64_t seed, uint64_t count, const Accounts& accounts) : random_(seed), left_(count), accounts_(accounts.count), open_(accounts.open) {
    spread_ = random_.chance(50) ? 1 : 0x9e3779b1;
  }

  bool operator()(Operation& operation) {
    if (left_-- == 0) return false;
    if (opened_ < 2 * open_) {
      operation = {0, opened_ % 2 == 0 ? kCreate : kIssue, next_++, opened_ / 2 * spread_, 0, opened_ % 2 * 1000};
      opened_++;
      return true;
    }
    if (!history_.empty() && random_.chance(20)) {
      // A retry, from the next cycle to beyond the window; sometimes with other content.
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
  // 0 is an ordinary account, and also what an empty place in a memory looks like.
  uint32_t account() { return static_cast<uint32_t>(random_.below(accounts_)) * spread_; }

  uint32_t other_than(uint32_t source) {
    uint32_t other = account();
    while (other == source) other = account();
    return other;
  }

  Operation fresh() {
    const uint64_t kind = random_.below(100);
    // A small range of transaction ids, so that accounts share some.
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
  uint32_t accounts_, open_, opened_ = 0, spread_, next_ = 1u << 20;
  std::deque<Operation> history_;
};

// Funds accounts 1 to `count`, then runs TRANSFERs between the pairs of `pair`, and measures the cycles.
struct Speed {
  uint64_t operations, cycles, latency, crowded;
};

template <typename Pair>
static Speed speed(const Options& options, uint64_t seed, const Memory& memory, uint32_t count, uint32_t transfers, Throttle idle, Pair pair) {
  Device device(options, seed, count, memory);
  uint32_t at = 0;
  device.run([&](Operation& operation) {
    operation = {0, at % 2 == 0 ? kCreate : kIssue, id_of(at), 1 + at / 2, 0, at % 2 * 1000000};
    return at++ < 2 * count;
  }, open_wide(), open_wide());
  device.restart();
  at = 0;
  const uint64_t operations = device.run([&](Operation& operation) {
    const auto [source, destination] = pair(at);
    operation = {0, kTransfer, id_of(2 * count + at), source, destination, 1 + at % 7};
    return at++ < transfers;
  }, idle, open_wide());
  for (int status = 1; status < 64; status++) {
    // With some secrets the index is crowded for one of them.
    if (device.statuses(status) > (status == protocol::kStatusBusy ? device.crowded() : 0)) {
      throw std::runtime_error(std::to_string(device.statuses(status)) + " operations got the status " + std::to_string(status));
    }
  }
  return {operations, device.cycles(), device.most_latency(), device.crowded()};
}

#ifdef EXTERNAL
// The memory accepts no writes, so lines queue for write-back while operations return to them. In whichever cycle they
// change an unchanged place, together with the write-back or after it, the change must reach the memory.
static uint64_t written_while_queued(const Options& options, const Memory& memory) {
  // Groups of three accounts share two buckets with no others. An account goes to the emptier bucket, so the third is
  // in the first one's line. There are more buckets than lines, so that written buckets are read again.
  constexpr uint32_t kBuckets = 256, kRounds = 500;
  Device device(options, options.seed, 3 * kBuckets, memory);
  Random random(options.seed);
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> sharing;
  std::set<uint32_t> taken[2];
  std::vector<std::vector<uint32_t>> ids;
  while (ids.size() < kBuckets) {
    const uint32_t id = static_cast<uint32_t>(random.next()), buckets[2] = {device.bucket(0, id), device.bucket(1, id)};
    auto& accounts = sharing[{buckets[0], buckets[1]}];
    accounts.push_back(id);
    if (accounts.size() != 3 || taken[0].count(buckets[0]) != 0 || taken[1].count(buckets[1]) != 0) continue;
    for (int half = 0; half < 2; half++) taken[half].insert(buckets[half]);
    ids.push_back(accounts);
  }
  uint32_t next = 0;
  const auto send = [&](uint32_t count, auto operation_of) {
    return device.run([&, at = 0u](Operation& operation) mutable {
      if (at == count) return false;
      operation = operation_of(at++);
      operation.transaction = id_of(next++);
      return true;
    }, open_wide(), open_wide());
  };
  uint64_t operations = send(6 * kBuckets, [&](uint32_t at) {
    return Operation{0, at % 2 == 0 ? kCreate : kIssue, 0, ids[at / 6][at / 2 % 3], 0, at % 2 * 1000000};
  });
  for (uint32_t round = 0; round < kRounds; round++) {
    const uint32_t from = static_cast<uint32_t>(random.below(kBuckets)), count = static_cast<uint32_t>(2 + random.below(40));
    const auto transfer = [&](uint32_t which, uint32_t source, uint32_t destination) {
      return Operation{0, kTransfer, 0, ids[(from + source) % kBuckets][which], ids[(from + destination) % kBuckets][which], 1};
    };
    // Longer than the first operations take; then as long as the returning ones are in flight.
    device.writes_rest = 200;
    operations += send(count, [&](uint32_t at) { return transfer(0, at, at + count); });
    device.writes_rest = 1 + random.below(32);
    operations += send(count, [&](uint32_t at) { return transfer(2, at, at + count); });
  }
  return operations;
}
#endif

// Cycles from a CREATE to the next operation, on accounts that are on chip.
static uint64_t create_cycles(const Options& options, const Memory& memory) {
  Device device(options, options.seed, 2, memory);
  uint32_t at = 0;
  device.run([&](Operation& operation) {
    operation = {0, at == 0 ? kCreate : kIssue, id_of(at), 1, 0, at};
    return at++ < 2;
  }, open_wide(), open_wide());
  return device.cycles() - 1;
}

int main(int argc, char** argv) {
  return run(argc, argv, [](const Options& options) {
    uint64_t operations = 0, all_young = 0, crowded = 0, replayed = 0, full = 0;
    for (const Memory& memory : kMemories) {
      operations += golden(options, memory);
      forgets_by_time(options, memory);
#ifdef EXTERNAL
      operations += written_while_queued(options, memory);
#endif
      for (int idle = 0; idle < Throttle::kKinds; idle++) {
        for (int pressure = 0; pressure < Throttle::kKinds; pressure++) {
          for (const Accounts& accounts : kAccounts) {
            const uint64_t seed = options.seed * 1000 + idle * 100 + pressure * 10 + accounts.count + 10000 * memory.least;
            Device device(options, seed, accounts.limit, memory);
            // In half of the runs the window is sometimes full: more than a window's worth arrives in eight ticks.
            device.tick_every = (idle + pressure) % 2 == 0 ? kWindow / 2 : kAlways;
            operations += device.run(Workload(seed, OPERATIONS, accounts), Throttle(Throttle::Kind(idle), seed + 1), Throttle(Throttle::Kind(pressure), seed + 2));
            all_young += device.full();
            crowded += device.crowded();
            replayed += device.statuses(protocol::kStatusTransactionIdReused);
            full += device.statuses(protocol::kStatusTableFull);
          }
        }
      }
    }
    if (full == 0) throw std::runtime_error("the table never got full");
    if (OPERATIONS > 10 * kWindow && all_young == 0) throw std::runtime_error("the window was never full");
    // The index has eight ways, half full with live entries.
    if (crowded > operations / 1000) throw std::runtime_error("the index is crowded too often: " + std::to_string(crowded));
    if (replayed == 0) throw std::runtime_error("no transaction id was used again");
    std::printf("%llu operations as in Rust, %llu BUSY with all young, %llu crowded; ", static_cast<unsigned long long>(operations),
                static_cast<unsigned long long>(all_young), static_cast<unsigned long long>(crowded));

#ifdef EXTERNAL
    // The same for any number of lines.
    figure("operations", static_cast<double>(operations));
#else
    figure("create_cycles", static_cast<double>(create_cycles(options, kMemories[0])));
#endif
    uint64_t speed_crowded = 0;
    for (const Memory& memory : kMemories) {
      // Every TRANSFER uses the same two accounts.
      const auto same = [](uint32_t at) { return at % 3 == 0 ? std::pair(1u, 2u) : std::pair(2u, 1u); };
      const Speed two = speed(options, options.seed, memory, 2, 20000, open_wide(), same);
      speed_crowded += two.crowded;
      [[maybe_unused]] const std::string of = "_" + std::to_string(memory.least);
      std::printf("%llu TRANSFERs on two accounts in %llu cycles", static_cast<unsigned long long>(two.operations), static_cast<unsigned long long>(two.cycles));
#ifdef EXTERNAL
      std::printf(" (memory of %u to %u)%s", memory.least, memory.least + std::max(1, int(memory.spread)) - 1, Lines < 32 ? "; " : "");
      check(two.cycles == two.operations, "a TRANSFER on the same two accounts waited");
      // A configuration with few lines is expected to wait.
      if (Lines < 32) continue;
      // No account is used again before its line has been reallocated; then each operation alone.
      constexpr uint32_t kMany = 1800;
      const auto others = [](uint32_t at) { return std::pair(1 + 2 * at % kMany, 2 + 2 * at % kMany); };
      // Always the same secret, whatever the seed: it determines which accounts share a bucket, and so which operations
      // wait.
      constexpr uint64_t kSecret = 1;
      const Speed many = speed(options, kSecret, memory, kMany, 20000, open_wide(), others);
      const Speed alone = speed(options, options.seed, memory, kMany, 500, Throttle(Throttle::kSeldom, options.seed), others);
      speed_crowded += many.crowded + alone.crowded;
      // A memory with constant latency adds that latency and 16 cycles. The lines suffice for all operations in flight,
      // so at most one in twenty waits; a memory with up to 62 cycles and refreshes reaches a third of the rate.
      if (memory.spread == 0) check(alone.latency <= memory.least + 16u, "an operation took longer than the memory and 16 cycles");
      check(many.cycles * 20 <= many.operations * (memory.spread == 0 ? 21 : 60), "the accounts' memory holds operations up");
      figure("pair_cycles" + of, static_cast<double>(two.cycles));
      figure("cycles" + of, static_cast<double>(many.cycles));
      figure("latency" + of, static_cast<double>(alone.latency));
      std::printf(", on %u in %llu, latency %llu; ", kMany, static_cast<unsigned long long>(many.cycles), static_cast<unsigned long long>(alone.latency));
#else
      figure("pair_cycles", static_cast<double>(two.cycles));
      figure("latency", static_cast<double>(two.latency));
      std::printf(", latency %llu cycles", static_cast<unsigned long long>(two.latency));
      check(two.cycles == two.operations, "a TRANSFER on the same two accounts waited");
      check(two.latency <= 10, "an operation took more than 10 cycles");
#endif
    }
    figure("crowded", static_cast<double>(speed_crowded));
  });
}
