// Sums and differences against a model: all terms, signs and moduli, one per cycle, with corner cases of both moduli.

#include <tuple>

// The unit has no reset, but a bench has.
#define rst_ni clk_i
#include "../primes.hpp"

using harness::Bench;
using Field = number::Number<8>;
using Wide = number::Number<9>;

int main(int argc, char** argv) {
  return harness::run(argc, argv, [](const harness::Options& options) {
    Bench bench(options);
    harness::Random random(options.seed);
    const Field moduli[] = {number::secp256k1_prime<8>(), number::secp256k1_order<8>()};
    auto corners = number::corners(moduli[0], 256);
    const auto more = number::corners(moduli[1], 256);
    corners.insert(corners.end(), more.begin(), more.end());
    constexpr unsigned kCount = 40000;
    std::deque<Field> expected;
    for (unsigned each = 0; each < kCount; each++) {
      const Field x = number::draw(random, 256, corners), y = number::draw(random, 256, corners);
      const unsigned modulus = random.below(3);
      const bool half = modulus == 0 && random.chance(30);
      const bool x_double = random.chance(50), x_negate = random.chance(50), y_double = random.chance(50), y_negate = random.chance(50);
      number::set(bench.top.x_i, x);
      number::set(bench.top.y_i, y);
      bench.top.modulus_i = modulus;
      bench.top.half_i = half;
      bench.top.x_double_i = x_double;
      bench.top.x_negate_i = x_negate;
      bench.top.y_double_i = y_double;
      bench.top.y_negate_i = y_negate;
      // Offset by eight times the modulus, more than is ever subtracted.
      Wide sum, m = modulus < 2 ? moduli[modulus].resized<9>() : Wide();
      if (modulus == 2) m.word[8] = 1;
      for (unsigned times = 0; times < 8; times++) sum = sum + m;
      for (const auto& [number, twice, negate] : {std::tuple(x, x_double, x_negate), std::tuple(y, y_double, y_negate)}) {
        const Wide term = twice ? number.resized<9>() + number.resized<9>() : number.resized<9>();
        sum = negate ? sum - term : sum + term;
      }
      Wide result = sum % m;
      if (half) {
        if (result.bit(0)) result = result + m;
        for (unsigned at = 0; at < 9; at++) result.word[at] = result.word[at] >> 1 | (at < 8 ? result.word[at + 1] << 31 : 0);
      }
      expected.push_back(result.resized<8>());
      bench.step();
      bench.settle();
      if (expected.size() < LATENCY) continue;
      const auto got = number::get<8>(bench.top.number_o);
      if (!(got == expected.front())) harness::fail(bench, "number " + got.text() + ", not " + expected.front().text());
      expected.pop_front();
    }
    std::printf("%u sums, one a cycle, latency %u", kCount, LATENCY);
  });
}
