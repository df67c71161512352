// Products against a model: corner cases, runs of ones, arbitrary numbers, with and without gaps between them.

#include "../number.hpp"

#ifndef Interval
#define Interval 1
#endif

using harness::Bench;
constexpr size_t kWords = (Width + 31) / 32;
using Factor = number::Number<kWords>;

int main(int argc, char** argv) {
  return harness::run(argc, argv, [](const harness::Options& options) {
    Bench bench(options);
    harness::Random random(options.seed);
    Factor ones, half;
    for (size_t at = 0; at < Width; at++) ones.word[at / 32] |= 1u << (at % 32);
    for (size_t at = 0; at < Width / 2; at++) half.word[at / 32] |= 1u << (at % 32);
    const std::vector<Factor> corners = {Factor(0), Factor(1), Factor(2), ones, ones - Factor(1), half, half + Factor(1), ones - half};

    // With the cycle in which it began.
    std::deque<std::pair<number::Number<2 * kWords>, uint64_t>> expected;
    unsigned count = 0, latency = 0, back_to_back = 0;
    bench.top.valid_i = 0;
    bench.reset();
    uint64_t last = 0;
    for (harness::Throttle throttle(harness::Throttle::kBursts, options.seed); count < 4000;) {
      const bool begin = (expected.empty() || bench.cycle >= last + Interval) && throttle.open();
      bench.top.valid_i = begin;
      const auto a = number::draw(random, Width, corners), b = number::draw(random, Width, corners);
      number::set(bench.top.a_i, a);
      number::set(bench.top.b_i, b);
      if (begin) {
        back_to_back += bench.cycle == last + Interval;
        last = bench.cycle;
        expected.emplace_back(a * b, bench.cycle);
      }
      bench.settle();
      if (bench.top.valid_o) {
        if (expected.empty()) harness::fail(bench, "a product of nothing");
        const auto [product, began] = expected.front();
        expected.pop_front();
        // The words of both factors may be wider than the product.
        const auto got = number::get<(2 * Width + 31) / 32>(bench.top.product_o).template resized<2 * kWords>();
        if (!(got == product)) harness::fail(bench, "product " + got.text() + ", not " + product.text());
        if (latency == 0) latency = bench.cycle - began;
        if (latency != bench.cycle - began) harness::fail(bench, "latencies differ");
        count++;
      }
      bench.step();
    }
    if (back_to_back == 0) harness::fail(bench, "no products back to back");
    std::printf("%u products, latency %u, %u of them back to back in %u cycles each\n", count, latency, back_to_back, Interval);
  });
}
