// spill_register and stream_fifo: words leave in order under every pair of idle and back-pressure patterns; with both
// sides open, a word passes in every cycle.
#include "harness.hpp"

using namespace harness;

struct Word {
  uint64_t data;
  uint8_t keep;
  bool last;
  bool operator==(const Word&) const = default;
};

static uint64_t pass(const Options& options, Throttle::Kind source, Throttle::Kind sink, uint64_t words) {
  Bench bench(options);
  auto& top = bench.top;
  const uint64_t seed = options.seed * 64 + source * 8 + sink;
  Random random(seed);
  Throttle idle(source, seed + 1), pressure(sink, seed + 2);
  std::deque<Word> expected;
  Word offered{};
  uint64_t sent = 0, received = 0;
  top.valid_i = 0;
  top.ready_i = 0;
  bench.reset();
  while (received < words) {
    if (!top.valid_i && sent < words && idle.open()) {
      offered = {random.next(), static_cast<uint8_t>(random.next()), random.chance(30)};
      top.valid_i = 1;
      top.data_i = offered.data;
      top.keep_i = offered.keep;
      top.last_i = offered.last;
    }
    top.ready_i = pressure.open();
    bench.settle();
    if (top.valid_o && top.ready_i) {
      const Word word{top.data_o, top.keep_o, static_cast<bool>(top.last_o)};
      if (expected.empty()) fail(bench, "a word came out that never went in");
      if (!(word == expected.front())) fail(bench, "words came out in another order or changed");
      expected.pop_front();
      received++;
    }
    const bool entered = top.valid_i && top.ready_o;
    if (entered) {
      expected.push_back(offered);
      sent++;
    }
    bench.step();
    if (entered) top.valid_i = 0;
    if (bench.cycle > 100 * words + 1000) fail(bench, "the stream hangs");
  }
  return bench.cycle;
}

int main(int argc, char** argv) {
  return run(argc, argv, [](const Options& options) {
    const uint64_t words = 3000;
    for (int source = 0; source < Throttle::kKinds; source++) {
      for (int sink = 0; sink < Throttle::kKinds; sink++) {
        const uint64_t cycles = pass(options, Throttle::Kind(source), Throttle::Kind(sink), words);
        const bool open = source == Throttle::kAlways && sink == Throttle::kAlways;
        if (open && THROUGHPUT && cycles > words + 10) throw std::runtime_error("a cycle was lost with both sides open");
      }
    }
    std::printf("%llu words, 16 patterns", static_cast<unsigned long long>(words));
  });
}
