// The table, on chip or (EXTERNAL) in a memory, against a plain model and, if nothing expires, in lock step against the
// Rust table: random operations on one to many keys, crossed with idle, back-pressure and memory latency patterns.

#include <deque>

#include "../table_tb.hpp"
#include "harness.hpp"

using harness::Throttle;
using namespace table;

namespace {

#ifndef Function
#define Function 0
#endif
#ifndef KeyBytes
#define KeyBytes 16
#endif
#ifndef Ways
#define Ways 8
#endif
constexpr uint8_t kSeed[17] = "0123456789abcdef";
constexpr uint32_t kWays = Ways;
constexpr uint32_t kSlots = 2 * kWays * Buckets;
constexpr uint32_t kStash = 16;
// On-chip table: cycles from a request to the result at the port.
constexpr uint64_t kLatency = Function == 0 ? 12 : Function == 1 ? 20 : 24;
// Ways that earlier operations may have made unusable, see table_engine.
constexpr uint32_t kUnderWay = 5;

// Timing of the external memory, see dram_model.
struct Latency {
  uint16_t least, spread;  // cycles from a request to its answer
  uint16_t refresh, gap;   // cycles between refreshes, 0 for none; cycles of a refresh
};

struct Expected {
  Request request;
  uint32_t now;
  uint64_t entered;
};

class Test : public harness::Bench {
 public:
  explicit Test(const harness::Options& options) : Bench(options), random(options.seed) {
    static constexpr int kSecrets[4] = {0, 1, Hasher::SECRETS - 2, Hasher::SECRETS - 1};
    for (int i = 0; i < 4; i++) memcpy(&top.secrets_i[2 * i], &hasher_.secrets[kSecrets[i]], 8);
  }
  ~Test() { table_free(twin_); }

  harness::Random random;
  uint64_t full = 0, operations = 0;
  uint64_t longest = 0;
  // Requests in the last second of an entry's life, and in the first second after it.
  uint64_t last_seconds = 0, first_seconds = 0;

  // Starts with an empty table.
  void begin(Throttle::Kind requests, Throttle::Kind results, Latency latency) {
    top.request_valid_i = top.result_ready_i = 0;
#ifndef EXTERNAL
    top.avail_i = 1;
    top.more_i = 1;
    (void)latency;
#else
    top.least_i = latency.least;
    top.spread_i = latency.spread;
    top.refresh_i = latency.refresh;
    top.gap_i = latency.gap;
#endif
    reset();
    requests_ = Throttle(requests, random.next());
    results_ = Throttle(results, random.next());
    model_.map.clear();
    table_free(twin_);
    // With spare places, so that it never refuses what the RTL accepts.
    twin_ = table_new(2 * kSlots + 100, 90, kSeed);
    while (cycle - reset_at_ < 2 * Buckets + 600) clock(nullptr);
  }

  void without_twin() {
    table_free(twin_);
    twin_ = nullptr;
  }

  void run(const Request& request) {
    while (!requests_.open()) clock(nullptr);
    for (int i = 0; !clock(&request); i++) {
      if (i > 100000) fail(*this, "the table takes nothing any more");
    }
  }

  void drain() {
    for (int i = 0; !expected_.empty(); i++) {
      clock(nullptr);
      if (i > 20000) fail(*this, std::to_string(expected_.size()) + " results are missing");
    }
  }

  static Key key(uint64_t number) {
    const uint64_t words[2] = {number * 0x9e3779b97f4a7c15, number};
    // A shorter key is padded with zeros.
    Key key{};
    memcpy(key.data(), words, KeyBytes);
    return key;
  }

  // Mixes all operations on `keys` keys.
  void mix(uint64_t count, uint32_t keys, uint32_t inserts, bool expiring) {
    if (expiring) without_twin();
    for (uint64_t i = 0; i < count; i++) {
      const uint32_t draw = uint32_t(random.below(100));
      const Op op = draw < inserts ? Insert : draw < inserts + 20 ? Delete : draw < inserts + 35 ? Update : Get;
      // Edge case: the second of the expiry is the first without the entry.
      const uint32_t expiry = expiring && random.chance(70) ? now + uint32_t(random.below(4)) : 0;
      if (expiring && random.chance(10)) now += uint32_t(random.below(3));
      run({op, key(random.below(keys)), random.next(), expiry, uint8_t(random.next())});
    }
    drain();
  }

  void verify(uint32_t keys) {
    for (uint32_t i = 0; i < keys; i++) run({Get, key(i), 0, 0, uint8_t(i)});
    drain();
  }

  size_t entries() const { return model_.map.size(); }

  // Runs one cycle. Returns whether the request was accepted.
  bool clock(const Request* request) {
    top.now_i = now;
    top.request_valid_i = request != nullptr;
    if (request != nullptr) {
      top.request_op_i = request->op;
      memcpy(&top.request_key_i, request->key.data(), KeyBytes);
      top.request_value_i = request->value;
      top.request_expiry_i = request->expiry;
      top.request_tag_i = request->tag;
    }
    top.result_ready_i = results_.open();
    settle();
    const bool taken = request != nullptr && top.request_ready_o;
    if (taken) {
      expected_.push_back({*request, now, cycle});
      operations++;
    }
    if (top.result_valid_o && top.result_ready_i) check();
    step();
    return taken;
  }

 private:
  void reset() {
    Bench::reset();
    reset_at_ = cycle;
  }

  void check() {
    if (expected_.empty()) fail(*this, "a result that nobody asked for");
    const auto [request, then, entered] = expected_.front();
    expected_.pop_front();
    longest = std::max(longest, cycle - entered);
    require("tag", top.result_tag_o, request.tag);
    if (top.result_status_o == Full) {
      full++;
      require("full, the operation", request.op, Insert);
      if (alive(request.key, then)) fail(*this, "a key that is there finds no place");
      if (crowd(request.key, then) + kUnderWay < 2 * kWays + kStash) fail(*this, "full too early");
      return;
    }
    if (const auto found = model_.map.find(request.key); found != model_.map.end() && found->second.expiry != 0) {
      last_seconds += then + 1 == found->second.expiry;
      first_seconds += then == found->second.expiry;
    }
    const Result result = model_.apply(request, then);
    require("status", top.result_status_o, result.status);
    require("value", top.result_value_o, result.value);
    if (twin_ != nullptr) lock_step(request, result);
    if (cycle - entered < kLatency) fail(*this, "sooner than can be");
  }

  void require(const char* what, uint64_t is, uint64_t should) {
    if (is != should) fail(*this, std::string(what) + ": " + std::to_string(is) + ", not " + std::to_string(should));
  }

  // Runs the same operation on the Rust table.
  void lock_step(const Request& request, const Result& result) {
    uint64_t value = 0;
    bool live = table_get(twin_, request.key.data(), &value);
    if (request.op == Delete) live = table_remove(twin_, request.key.data(), &value);
    if (request.op == Insert || (request.op == Update && live)) {
      if (!table_insert(twin_, request.key.data(), request.value)) fail(*this, "the Rust table is full");
      live = table_get(twin_, request.key.data(), &value);
    }
    require("Rust status", live, result.status == Ok);
    if (live) require("Rust value", value, result.value);
  }

  bool alive(const Key& key, uint32_t then) {
    const auto found = model_.map.find(key);
    return found != model_.map.end() && (found->second.expiry == 0 || then < found->second.expiry);
  }

  // Maximum number of entries that may compete for a bucket of the key; any of them may be in the stash.
  uint32_t crowd(const Key& key, uint32_t then) {
    uint32_t count = 0;
    for (const auto& [other, entry] : model_.map) {
      if (!alive(other, then)) continue;
      const auto [a, b] = buckets(key);
      const auto [c, d] = buckets(other);
      count += a == c || b == d || Function != 0;
    }
    return count < 2 * kWays - kUnderWay ? count : count + kStash;
  }

  std::pair<uint32_t, uint32_t> buckets(const Key& key) {
    const uint64_t hash = hasher_.hash(key.data(), 16);
    const int width = __builtin_ctz(Buckets);
    return {uint32_t(hash >> (64 - width)), uint32_t(hash) >> (32 - width)};
  }

  const Hasher hasher_{kSeed};
  uint32_t now = 1000;
  uint64_t reset_at_ = 0;
  Model model_;
  Twin* twin_ = nullptr;
  std::deque<Expected> expected_;
  Throttle requests_{Throttle::kAlways, 1}, results_{Throttle::kAlways, 1};
};

void body(const harness::Options& options) {
  Test test(options);
  const char* asked = getenv("OPERATIONS");
  const uint64_t count = asked ? strtoull(asked, nullptr, 10) : OPERATIONS;
#ifdef EXTERNAL
  const Latency latencies[] = {{1, 0, 0, 0}, {20, 0, 0, 0}, {5, 60, 0, 0}, {60, 20, 400, 50}};
#else
  const Latency latencies[] = {{1, 0, 0, 0}};
#endif

  // One operation per cycle on any keys: no request waits.
  double rates[2];
  uint64_t alone[2];  // cycles of an operation with nothing else in flight
  for (int external = 0; external < int(std::size(latencies)) && external < 2; external++) {
    test.begin(Throttle::kAlways, Throttle::kAlways, latencies[external]);
    test.longest = 0;
    test.run({Get, Test::key(0), 0, 0, 0});
    test.drain();
    alone[external] = test.longest;
    uint64_t cycles = 0, done = 0;
    for (uint32_t keys : {1, 2, 5, 20, 4 * Buckets}) {
      test.begin(Throttle::kAlways, Throttle::kAlways, latencies[external]);
      const uint64_t start = test.cycle;
      test.mix(4 * count, keys, 40, false);
      cycles += test.cycle - start;
      done += 4 * count;
#ifndef EXTERNAL
      if (test.cycle - start != 4 * count + kLatency) fail(test, "not one operation a cycle");
#endif
    }
    rates[external] = double(cycles) / double(done);
  }

  const uint32_t pools[] = {1, 3, 8, 40, kSlots / 2, kSlots, 2 * kSlots};
  for (const Latency& latency : latencies) {
    for (int requests = 0; requests < Throttle::kKinds; requests++) {
      for (int results = 0; results < Throttle::kKinds; results++) {
        for (uint32_t keys : pools) {
          test.begin(Throttle::Kind(requests), Throttle::Kind(results), latency);
          test.mix(count / std::size(latencies), keys, 30 + uint32_t(test.random.below(30)), test.random.chance(50));
          test.verify(std::min(keys, 500u));
        }
      }
    }
  }

  if (test.last_seconds == 0 || test.first_seconds == 0) fail(test, "no entry was met at the edge of its time");

  // Nothing is refused up to 95 percent, nor during endless changes at that level.
  test.begin(Throttle::kAlways, Throttle::kAlways, latencies[0]);
  const uint64_t refused = test.full;
  const uint32_t fill = kSlots * 95 / 100;
  uint64_t start = test.cycle;
  for (uint32_t i = 0; i < fill; i++) test.run({Insert, Test::key(i), i, 0, 0});
  const uint64_t fill_cycles = test.cycle - start;
  test.drain();
  test.verify(fill);
  start = test.cycle;
  for (uint32_t i = 0; i < fill; i++) {
    test.run({Delete, Test::key(i), 0, 0, 0});
    test.run({Insert, Test::key(fill + i), i, 0, 0});
  }
  const uint64_t exchange_cycles = test.cycle - start;
  test.drain();
  test.verify(2 * fill);
  if (test.full != refused) fail(test, "refused at 95 per cent");

  harness::figure("latency", double(alone[0]));
  harness::figure("cycles", rates[0], 3);
  if (std::size(latencies) > 1) {
    harness::figure("latency_20", double(alone[1]));
    harness::figure("cycles_20", rates[1], 3);
  }
  harness::figure("insertions", fill);
  harness::figure("insertion_cycles", double(fill_cycles));
  harness::figure("exchange_cycles", double(exchange_cycles) / fill, 1);
  printf("%lu operations, %lu full; %.3f cycles an operation, latency %lu", test.operations, test.full, rates[0], alone[0]);
  if (std::size(latencies) > 1) printf("; %.3f and %lu with 20 of the memory", rates[1], alone[1]);
  printf("; 95 %% of %u slots in %lu cycles, then %.2f cycles an exchange", kSlots, fill_cycles, double(exchange_cycles) / fill);
}

}  // namespace

int main(int argc, char** argv) { return harness::run(argc, argv, body); }
