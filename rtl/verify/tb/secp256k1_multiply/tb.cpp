// Products modulo the prime and parts of products, against a model: one per cycle, corner cases included.

#include "../primes.hpp"

using harness::Bench;
using Field = number::Number<8>;

int main(int argc, char** argv) {
  return harness::run(argc, argv, [](const harness::Options& options) {
    Bench bench(options);
    harness::Random random(options.seed);
    const Field prime = number::secp256k1_prime<8>();
    const auto corners = number::corners(prime, 256);
    constexpr unsigned kCount = 20000;
    std::deque<Field> expected;
    bench.reset();
    for (unsigned each = 0; each < kCount; each++) {
      // All pairs of corner cases first.
      const bool pair = each < 4 * corners.size() * corners.size();
      const Field a = pair ? corners[each / 4 % corners.size()] : number::draw(random, 256, corners);
      const Field b = pair ? corners[each / 4 / corners.size()] : number::draw(random, 256, corners);
      const unsigned take = each % 4;
      number::set(bench.top.a_i, a);
      number::set(bench.top.b_i, b);
      bench.top.take_i = take;
      const auto product = a * b;
      Field part;
      const unsigned first = take == 1 ? 0 : take == 2 ? 8 : 12;
      std::copy_n(product.word + first, std::min(8u, 16 - first), part.word);
      expected.push_back(take == 0 ? product % prime : part);
      bench.step();
      bench.settle();
      const auto got = number::get<8>(bench.top.number_o);
      if (expected.size() < LATENCY) continue;
      if (!(got == expected.front())) harness::fail(bench, "number " + got.text() + ", not " + expected.front().text());
      expected.pop_front();
    }
    std::printf("%u products, one a cycle, latency %u", kCount, LATENCY);
  });
}
