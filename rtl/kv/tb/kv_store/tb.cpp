// Random operations on few keys that share fingerprints, under all pairs of idle and back-pressure, with four memories:
// each verdict, item and row is that of a plain model.

#include "../requests.hpp"
#include "harness.hpp"

using harness::Throttle;
using namespace kv;

namespace {

// Timing of a memory, see dram_model.
struct Latency {
  uint16_t least, spread, refresh, gap;
};
constexpr Latency kLatencies[] = {{1, 0, 0, 0}, {20, 0, 0, 0}, {3, 60, 0, 0}, {60, 20, 400, 50}};

struct Sent {
  Request request;
  Bytes body;
  uint64_t fingerprint, entered;
};

class Test : public harness::Bench {
 public:
  explicit Test(const harness::Options& options) : Bench(options), random(options.seed) {
    for (unsigned at = 0; at < 8; at++) top.secrets_i[at] = uint32_t(random.next());
  }

  harness::Random random;
  Model model{Blocks, 2 * 8 * Buckets * 3 / 4};
  uint32_t now = 1'700'000'000;
  uint64_t operations = 0, others = 0, latency = 0, verdicts = 0, first_verdict = 0, last_verdict = 0;

  void begin(Throttle::Kind in, Throttle::Kind out, const Latency& memory) {
    top.operation_valid_i = top.body_valid_i = top.verdict_ready_i = top.row_ready_i = 0;
    top.least_i = memory.least, top.spread_i = memory.spread, top.refresh_i = memory.refresh, top.gap_i = memory.gap;
    top.series_i++;
    reset();
    model.clear();
    operations_ = Throttle(in, random.next()), bodies_ = Throttle(in, random.next());
    verdicts_ = Throttle(out, random.next()), rows_ = Throttle(out, random.next());
  }

  // Operations whose keys share `fingerprints` fingerprints. The time stands still while operations are in flight, as
  // their expiry is that of the second in which they are executed.
  void mix(unsigned count, unsigned keys, unsigned fingerprints, unsigned longest, unsigned sets) {
    for (unsigned i = 0; i < count; i++) {
      if (random.chance(2)) drain(), now += uint32_t(random.below(2));
      if (random.below(300) == 0) send(flush());
      send(draw(random.below(keys), fingerprints, longest, sets));
    }
    drain();
  }

  static Sent flush() {
    Sent sent;
    sent.request.flushes = true;
    return sent;
  }

  Sent draw(uint64_t name, unsigned fingerprints, unsigned longest, unsigned sets) {
    if (random.chance(5)) return random.chance(50) ? Sent{} : dropped(name);
    if (random.chance(25)) return line(name, name % fingerprints);
    const Command& command = kCommands[random.chance(sets) ? 4 : random.below(std::size(kCommands))];
    return operation(command, name, name % fingerprints, random.chance(30) ? (random.chance(30) ? longest : random.below(longest + 1)) : random.below(120));
  }

  // A line that is not taken, whose key has gone ahead.
  Sent dropped(uint64_t name) {
    Sent sent = line(name, random.next());
    sent.request.taken = false, sent.request.keyed = true;
    return sent;
  }

  Sent line(uint64_t name, uint64_t fingerprint) {
    Sent sent = operation(line_command(random.chance(70)), name, fingerprint, 0);
    sent.request.protocol = Protocol(1 + random.below(3));
    return sent;
  }

  Sent operation(const Command& command, uint64_t name, uint64_t fingerprint, size_t value) {
    Sent sent;
    sent.fingerprint = fingerprint;
    // Keys that differ in their first byte, their last, or their length.
    static constexpr unsigned kLengths[] = {1, 16, 63, 64, 65, 128, 129, 192, 193, 250};
    const unsigned length = kLengths[name / 2 % std::size(kLengths)];
    Bytes key(length, uint8_t(name / 20));
    key[name % 3 == 0 ? 0 : length - 1] ^= uint8_t(name % 2 == 0 ? 0x80 : 0x40);
    sent.body = key;
    const bool writes = command.op == Set || command.op == Replace;
    if (writes) {
      for (size_t at = 0; at < std::min<size_t>(value, 1432 - length); at++) sent.body.push_back(uint8_t(random.next()));
    }
    sent.request = {true, false, command, uint32_t(random.next()), length, unsigned(sent.body.size()), 0, 0};
    if (writes) sent.request.flags = uint32_t(random.next());
    if (writes || command.op == Touch) sent.request.expiry = random.chance(50) ? 0 : now + uint32_t(random.below(4));
    return sent;
  }

  void send(const Sent& sent) {
    if (sent.request.taken || sent.request.keyed) {
      for (size_t at = 0; at < sent.body.size(); at += kWord) words_.push_back({sent.body.begin() + at, sent.body.begin() + std::min(at + kWord, sent.body.size())});
    }
    sending_.push_back(sent);
    for (int i = 0; sending_.size() + words_.size() > 40; i++) {
      clock();
      if (i > 20000) fail(*this, "nothing is accepted any more");
    }
    operations++;
  }

  void drain() {
    for (int i = 0; !sending_.empty() || !words_.empty() || !due_.empty() || !rows_due_.empty(); i++) {
      clock();
      if (i > 50000) fail(*this, "verdicts or rows are missing");
    }
  }

 private:
  void clock() {
    top.now_i = now;
    if (!offers_operation_) offers_operation_ = !sending_.empty() && operations_.open();
    if (!offers_body_) offers_body_ = !words_.empty() && bodies_.open();
    top.operation_valid_i = offers_operation_, top.body_valid_i = offers_body_;
    if (offers_operation_) {
      sending_.front().request.write({&top.operation_i[0]});
      for (unsigned at = 0; at < 4; at++) top.fingerprint_i[at] = at < 2 ? uint32_t(sending_.front().fingerprint >> (32 * at)) : 0;
    }
    if (offers_body_) {
      uint8_t* word = reinterpret_cast<uint8_t*>(&top.body_i[0]);
      for (unsigned at = 0; at < kWord; at++) word[at] = at < words_.front().size() ? words_.front()[at] : uint8_t(cycle);
    }
    top.verdict_ready_i = verdicts_.open(), top.row_ready_i = rows_.open();
    settle();
    if (offers_operation_ && top.operation_ready_o) {
      due_.push_back(sending_.front()), due_.back().entered = cycle;
      sending_.pop_front(), offers_operation_ = false;
    }
    if (offers_body_ && top.body_ready_o) words_.pop_front(), offers_body_ = false;
    // Rows first: those of the verdict in this cycle may be here, but not those after it.
    if (top.row_valid_o && top.row_ready_i) row_leaves();
    if (top.verdict_valid_o && top.verdict_ready_i) verdict_leaves();
    step();
  }

  void row_leaves() {
    const uint8_t* row = reinterpret_cast<const uint8_t*>(&top.row_o[0]);
    rows_here_.insert(rows_here_.end(), row, row + kWord);
    if (!top.row_last_o) return;
    items_.push_back(rows_here_), rows_here_.clear();
    compare_rows();
  }

  void verdict_leaves() {
    if (due_.empty()) fail(*this, "a verdict of no operation");
    const Sent sent = due_.front();
    due_.pop_front();
    latency = cycle - sent.entered, last_verdict = cycle;
    if (verdicts++ == 0) first_verdict = cycle;
    Fields fields{&top.verdict_o[0]};
    const Request request = Request::read(fields);
    const uint64_t epoch = fields.next(32), expiry = fields.next(32), cas = fields.next(64), flags = fields.next(32);
    const uint64_t body = fields.next(11), key = fields.next(8), valid = fields.next(1), has_rows = fields.next(1), replies = fields.next(1), no_room = fields.next(1), executed = fields.next(1);
    if (request.taken != sent.request.taken) fail(*this, "another request");
    if (!request.taken) {
      if (executed != sent.request.flushes || has_rows || replies || no_room) fail(*this, "a packet that is no request is executed");
      if (sent.request.flushes) model.flush();
      others++;
      return;
    }
    if (request.protocol != sent.request.protocol || request.opaque != sent.request.opaque || request.command.opcode != sent.request.command.opcode) fail(*this, "another request");
    Item about;
    try {
      about = model.apply(sent.request, sent.body, sent.fingerprint, now, executed, cas);
    } catch (const std::exception& error) {
      fail(*this, error.what());
    }
    if (replies != (executed && (!request.command.quiet || request.command.op == Get || request.command.op == Touch))) fail(*this, "another reply");
    if (request.command.op == Set ? no_room == executed : no_room && (executed || request.command.op != Replace)) fail(*this, "another reason not to execute");
    if (has_rows && !request.command.value) fail(*this, "rows of a request that returns none");
    if (executed && request.command.value && !has_rows) fail(*this, "no rows of an item");
    if (executed && request.command.op != Delete) {
      if (!valid || epoch != model.epoch() || cas != about.cas || flags != about.flags) fail(*this, "another item");
      // A line asks for the seconds that are left.
      const uint32_t due = request.protocol != Binary && about.expiry != 0 ? about.expiry - now : about.expiry;
      if (expiry != due && (request.command.op != Get || request.protocol != Binary)) fail(*this, "another expiry");
      if (key != sent.request.key_length || body != key + about.value.size()) fail(*this, "another length");
      if (request.command.op != Get && request.command.op != Touch) {
        if (!(cas >> 63) || cas <= last_cas_) fail(*this, "a number of an item that is not new");
        last_cas_ = cas;
      }
    }
    if (!has_rows) return;
    Bytes item(sent.body.begin(), sent.body.begin() + sent.request.key_length);
    item.insert(item.end(), about.value.begin(), about.value.end());
    item.resize((item.size() + kWord - 1) / kWord * kWord);
    rows_due_.push_back(executed ? item : Bytes());
    compare_rows();
  }

  // Rows may leave before their verdict, and after it. Those of an operation that is not executed are another item's.
  void compare_rows() {
    if (rows_due_.empty() || items_.empty()) return;
    const Bytes& due = rows_due_.front();
    const Bytes& item = items_.front();
    if (!due.empty() && (item.size() != due.size() + kWord || !std::equal(due.begin(), due.end(), item.begin() + kWord))) fail(*this, "rows of another item");
    rows_due_.pop_front(), items_.pop_front();
  }

  std::deque<Sent> sending_, due_;
  std::deque<Bytes> words_, rows_due_, items_;
  Bytes rows_here_;
  uint64_t last_cas_ = 0;
  bool offers_operation_ = false, offers_body_ = false;
  Throttle operations_{Throttle::kAlways, 1}, bodies_{Throttle::kAlways, 1}, verdicts_{Throttle::kAlways, 1}, rows_{Throttle::kAlways, 1};
};

// Cycles from one verdict to the next, for `command` on different keys whose items have two rows.
double cycles_each(Test& test, const Command& command) {
  test.drain();
  test.verdicts = 0;
  constexpr unsigned kCount = 600;
  for (unsigned i = 0; i < kCount; i++) {
    Sent sent = test.operation(command, 20 * (i % 12), i % 12, 40);
    sent.body.resize(std::min<size_t>(sent.body.size(), 41)), sent.request.body_length = unsigned(sent.body.size());
    sent.request.expiry = 0;
    test.send(sent);
  }
  test.drain();
  return double(test.last_verdict - test.first_verdict) / (kCount - 1);
}

void body(const harness::Options& options) {
  Test test(options);
  for (unsigned memory = 0; memory < 2; memory++) {
    test.begin(Throttle::kAlways, Throttle::kAlways, kLatencies[memory]);
    const double set = cycles_each(test, kCommands[4]), get = cycles_each(test, kCommands[0]);
    test.send(test.operation(kCommands[0], 0, 0, 0));
    test.drain();
    if (memory == 0) harness::figure("set_latency_1", set, 1), harness::figure("get_latency_1", get, 1), harness::figure("latency_1", double(test.latency));
    else harness::figure("set_latency_20", set, 1), harness::figure("get_latency_20", get, 1), harness::figure("latency_20", double(test.latency));
  }
  if (test.model.refused != 0) fail(test, "no room although few items are stored");

  for (const Latency& memory : kLatencies) {
    for (int in = 0; in < Throttle::kKinds; in++) {
      for (int out = 0; out < Throttle::kKinds; out++) {
        test.begin(Throttle::Kind(in), Throttle::Kind(out), memory);
        test.mix(120, 4, 2, 300, 10);
        test.mix(120, 20, 12, 1400, 10);
        // More items than blocks of a class.
        test.mix(200, 80, 60, 300, 40);
      }
    }
  }
  const Model& model = test.model;
  const uint64_t cases[] = {model.hits, model.writes, model.misses, model.collisions, model.refused, model.last_seconds, model.first_seconds, model.flushed, model.texts, model.long_texts};
  for (unsigned at = 0; at < std::size(cases); at++) {
    if (cases[at] < 20) fail(test, "case " + std::to_string(at) + " has been met " + std::to_string(cases[at]) + " times");
  }
  printf("%lu operations, %lu no requests; %lu reads and %lu writes executed; %lu misses, %lu of other keys, %lu without room", test.operations,
         test.others, model.hits, model.writes, model.misses, model.collisions, model.refused);
}

}  // namespace

int main(int argc, char** argv) { return harness::run(argc, argv, body); }
