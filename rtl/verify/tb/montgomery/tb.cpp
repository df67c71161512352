// Montgomery products against a model: each times 2^381 is the product of its factors modulo the prime of BLS12-381.

#include "../primes.hpp"

using harness::Bench;
using Field = number::Number<12>;

int main(int argc, char** argv) {
  return harness::run(argc, argv, [](const harness::Options& options) {
    Bench bench(options);
    harness::Random random(options.seed);
    const Field prime = number::bls12_381_prime<12>();
    Field radix;
    radix.word[381 / 32] = 1u << (381 % 32);
    radix = radix % prime;
    // Corner cases below the prime.
    std::vector<Field> corners = {Field(0), Field(1), Field(2), radix, prime - Field(1), prime - Field(2), prime - radix};
    std::deque<std::pair<Field, uint64_t>> expected;
    unsigned count = 0, begun = 0;
    uint64_t latency = 0, last = 0;
    bench.top.valid_i = 0;
    bench.reset();
    for (harness::Throttle throttle(harness::Throttle::kBursts, options.seed); count < 3000;) {
      const bool begin = (begun == 0 || bench.cycle >= last + Interval) && throttle.open();
      bench.top.valid_i = begin;
      const bool pair = begun < corners.size() * corners.size();
      const Field a = pair ? corners[begun % corners.size()] : number::draw(random, 381, corners) % prime;
      const Field b = pair ? corners[begun / corners.size()] : number::draw(random, 381, corners) % prime;
      number::set(bench.top.a_i, a);
      number::set(bench.top.b_i, b);
      if (begin) {
        begun++;
        last = bench.cycle;
        expected.emplace_back((a * b) % prime, bench.cycle);
      }
      bench.settle();
      if (bench.top.valid_o) {
        const auto got = number::get<12>(bench.top.number_o);
        if (expected.empty()) harness::fail(bench, "a product of nothing");
        const auto [product, began] = expected.front();
        expected.pop_front();
        if (!(got < prime) || !((got * radix) % prime == product)) harness::fail(bench, "number " + got.text() + " for " + product.text());
        if (latency == 0) latency = bench.cycle - began;
        if (latency != bench.cycle - began) harness::fail(bench, "latencies differ");
        count++;
      }
      bench.step();
    }
    std::printf("%u products, at most one in %u cycles, latency %llu", count, Interval, static_cast<unsigned long long>(latency));
  });
}
