// Inverses modulo the primes of the engines: each times its number is one. Corner cases are the numbers next to zero
// and to the modulus.

#include "../primes.hpp"

using harness::Bench;
constexpr size_t kWords = (Width + 31) / 32;
using Field = number::Number<kWords>;

int main(int argc, char** argv) {
  return harness::run(argc, argv, [](const harness::Options& options) {
    Bench bench(options);
    harness::Random random(options.seed);
    std::vector<Field> moduli;
#if Width == 256
    moduli = {number::secp256k1_prime<kWords>(), number::secp256k1_order<kWords>(), number::bls12_381_order<kWords>()};
#else
    moduli = {number::bls12_381_prime<kWords>()};
#endif
    bench.top.valid_i = 0;
    bench.top.ready_i = 0;
    bench.reset();
    uint64_t total = 0, most = 0;
    constexpr unsigned kCount = 150;
    for (unsigned each = 0; each < kCount; each++) {
      const Field modulus = moduli[random.below(moduli.size())];
      const Field value = number::draw(random, Width, number::corners(modulus, Width)) % modulus;
      number::set(bench.top.number_i, value);
      number::set(bench.top.modulus_i, modulus);
      bench.top.valid_i = 1;
      bench.settle();
      if (!bench.top.ready_o) harness::fail(bench, "it does not take a number while it does nothing");
      bench.step();
      bench.top.valid_i = 0;
      const uint64_t began = bench.cycle;
      for (bench.settle(); !bench.top.valid_o; bench.settle()) {
        if (bench.cycle - began > 5 * Width + 6) harness::fail(bench, "it takes too long");
        bench.step();
      }
      total += bench.cycle - began;
      most = std::max(most, bench.cycle - began);
      for (uint64_t hold = random.below(4); hold > 0; hold--) bench.step();
      const auto inverse = number::get<kWords>(bench.top.number_o);
      const Field expected = value.is_zero() ? Field(0) : Field(1);
      if (!((inverse * value) % modulus == expected) || !(inverse < modulus)) harness::fail(bench, "not the inverse of " + value.text());
      bench.top.ready_i = 1;
      bench.step();
      bench.top.ready_i = 0;
    }
    std::printf("%u inverses, %llu cycles each, at most %llu", kCount, static_cast<unsigned long long>(total / kCount),
                static_cast<unsigned long long>(most));
  });
}
