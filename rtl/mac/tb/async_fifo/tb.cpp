// async_fifo: words cross in order and unchanged, between clocks of several ratios and under every pair of idle and
// back-pressure patterns; the offered word stays until it is taken. Synchronizers delay each bit at random.
#include "../clocks.hpp"

using namespace harness;

static void cross(const Options& options, uint64_t write_period, uint64_t read_period, Throttle::Kind source, Throttle::Kind sink, uint64_t words) {
  Bench bench(options);
  auto& top = bench.top;
  const uint64_t seed = options.seed * 64 + source * 8 + sink;
  Random random(seed);
  Throttle idle(source, seed + 1), pressure(sink, seed + 2);
  Clocks clocks(bench);
  const unsigned write = clocks.add(top.clk_i, write_period), read = clocks.add(top.read_clk_i, read_period, 1 + random.below(read_period));
  std::deque<uint16_t> expected;
  uint64_t sent = 0, received = 0, fullest = 0;
  bool stalled = false, refused = false;
  uint16_t stalled_data = 0;
  top.valid_i = 0;
  top.ready_i = 0;
  top.rst_ni = 1;
  bench.settle();
  top.rst_ni = 0;
  while (received < words) {
    const unsigned rising = clocks.next();
    if (bench.cycle == 4) top.rst_ni = 1;
    const bool running = bench.cycle > 10;
    if (rising & write) {
      if (running && !top.valid_i && sent < words && idle.open()) {
        top.valid_i = 1;
        top.data_i = static_cast<uint16_t>(random.next());
      }
    }
    if (rising & read) top.ready_i = running && pressure.open();
    bench.settle();
    bool entered = false;
    if (rising & write) {
      entered = top.valid_i && top.ready_o;
      refused |= top.valid_i && !top.ready_o;
      if (entered) {
        expected.push_back(top.data_i);
        sent++;
      }
      fullest = std::max<uint64_t>(fullest, expected.size());
    }
    if (rising & read) {
      if (stalled && !(top.valid_o && top.data_o == stalled_data)) fail(bench, "an offered word changed");
      stalled = top.valid_o && !top.ready_i;
      stalled_data = top.data_o;
      if (top.valid_o && top.ready_i) {
        if (expected.empty()) fail(bench, "a word came out that never went in");
        if (top.data_o != expected.front()) fail(bench, "words came out in another order or changed");
        expected.pop_front();
        received++;
      }
    }
    // The memory's words, and the output's.
    if (expected.size() > Depth + 1) fail(bench, "more words inside than the queue has room for");
    clocks.rise();
    if (entered) top.valid_i = 0;
    if (bench.cycle > 400 * words + 1000) fail(bench, "the queue hangs");
  }
  const bool overfed = write_period <= read_period && source == Throttle::kAlways && sink == Throttle::kSeldom;
  if (overfed && !(refused && fullest >= Depth)) fail(bench, "the queue was never full");
}

int main(int argc, char** argv) {
  return run(argc, argv, [](const Options& options) {
    const uint64_t words = 2000;
    // Equal, nearly equal, and both sides faster: by a little, by half, and by 17.
    const uint64_t periods[][2] = {{8000, 8000}, {8000, 8002}, {8002, 8000}, {8000, 12346}, {12346, 8000}, {2000, 34000}, {34000, 2000}};
    for (const auto& period : periods) {
      for (int source = 0; source < Throttle::kKinds; source++) {
        for (int sink = 0; sink < Throttle::kKinds; sink++) {
          cross(options, period[0], period[1], Throttle::Kind(source), Throttle::Kind(sink), words);
        }
      }
    }
    std::printf("%llu words, 7 pairs of clocks, 16 patterns", static_cast<unsigned long long>(words));
  });
}
