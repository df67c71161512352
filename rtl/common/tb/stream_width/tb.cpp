// stream_widen and stream_narrow: packets of every length leave unmodified, the wide words between are as full as
// possible, and with both sides open no cycle is lost between whole wide words.
#include "harness.hpp"

using namespace harness;

constexpr size_t kBytes = DataWidth / 8, kWideBytes = WideWidth / 8;

static void pass(const Options& options, Throttle idle, Throttle pressure, uint64_t seed, uint64_t words, bool open) {
  Bench bench(options);
  auto& top = bench.top;
  Random random(seed);
  std::deque<std::pair<std::vector<uint8_t>, bool>> expected;
  std::deque<size_t> lengths;
  size_t left = 0, length = 0, wide_bytes = 0;
  uint64_t sent = 0;
  top.valid_i = top.ready_i = 0;
  bench.reset();
  while (sent < words || left > 0 || !expected.empty()) {
    // Finish the last packet.
    if (!top.valid_i && (sent < words || left > 0) && idle.open()) {
      if (left == 0) {
        // Mostly lengths around the wide word's. Whole wide words when measuring speed: after a short packet, the
        // narrow side must wait for the next wide word.
        length = 1 + (random.chance(50) ? kWideBytes - 2 + random.below(4) : random.below(3 * kWideBytes));
        if (open) length = kWideBytes * (1 + random.below(3));
        left = length;
        lengths.push_back(length);
      }
      const size_t bytes = std::min(left, kBytes);
      std::vector<uint8_t> word(kBytes);
      for (auto& byte : word) byte = static_cast<uint8_t>(random.next());
      const uint64_t keep = bytes == 64 ? ~uint64_t{0} : (uint64_t{1} << bytes) - 1;
      std::memcpy(&top.data_i, word.data(), kBytes);
      std::memcpy(&top.keep_i, &keep, sizeof top.keep_i);
      left -= bytes;
      top.last_i = left == 0;
      top.valid_i = 1;
      word.resize(bytes);
      expected.push_back({word, left == 0});
    }
    top.ready_i = pressure.open();
    bench.settle();
    if (top.wide_moves_o) {
      wide_bytes += top.wide_bytes_o;
      if (!top.wide_last_o && top.wide_bytes_o != kWideBytes) fail(bench, "a wide word before the last is not full");
      if (top.wide_last_o) {
        if (wide_bytes != lengths.front()) fail(bench, "a packet has another length between");
        lengths.pop_front();
        wide_bytes = 0;
      }
    }
    if (top.valid_o && top.ready_i) {
      if (expected.empty()) fail(bench, "a word that never went in");
      const auto& [word, last] = expected.front();
      uint64_t keep = 0;
      std::memcpy(&keep, &top.keep_o, sizeof top.keep_o);
      const uint64_t wanted = word.size() == 64 ? ~uint64_t{0} : (uint64_t{1} << word.size()) - 1;
      if (keep != wanted || top.last_o != last || std::memcmp(&top.data_o, word.data(), word.size()) != 0) {
        fail(bench, "a word changed");
      }
      expected.pop_front();
    }
    const bool entered = top.valid_i && top.ready_o;
    if (entered) sent++;
    bench.step();
    if (entered) top.valid_i = 0;
    if (bench.cycle > 100 * words + 1000) fail(bench, "the stream hangs");
  }
  if (open && bench.cycle > words + 3 * kWideBytes + 10) fail(bench, "a cycle was lost with both sides open");
}

int main(int argc, char** argv) {
  return run(argc, argv, [](const Options& options) {
    const uint64_t words = 4000;
    for (int idle = 0; idle < Throttle::kKinds; idle++) {
      for (int pressure = 0; pressure < Throttle::kKinds; pressure++) {
        const uint64_t seed = options.seed * 64 + idle * 8 + pressure;
        pass(options, Throttle(Throttle::Kind(idle), seed + 1), Throttle(Throttle::Kind(pressure), seed + 2), seed, words, idle == 0 && pressure == 0);
      }
    }
    std::printf("%llu words, 16 patterns", static_cast<unsigned long long>(words));
  });
}
