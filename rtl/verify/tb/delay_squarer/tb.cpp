// Repeated squarings modulo random numbers of all lengths, in lock step with the Rust engine: each checkpoint, under
// all pairs of idle and back-pressure patterns and with resets with work in flight. Then the cycles of a squaring.

#include <algorithm>

#include "../../../twin/verification.hpp"
#include "../bytes.hpp"
#include "harness.hpp"

namespace {

constexpr size_t kDigits = (ModulusLimbs + 2 * Digit) / Digit + 1;
constexpr size_t kLimbs = kDigits * Digit;
constexpr size_t kModulusBytes = 2 * ModulusLimbs;

// Little-endian, 32-bit words, of a fixed length with room for every intermediate result.
using Number = std::vector<uint32_t>;
constexpr size_t kWords = kLimbs / 2 + 2 * Digit + 2;

Number from_bytes(const Bytes& big_endian) {
  Number number(kWords);
  for (size_t at = 0; at < big_endian.size(); at++) number[at / 4] |= uint32_t(big_endian[big_endian.size() - 1 - at]) << (8 * (at % 4));
  return number;
}

bool is_below(const Number& a, const Number& b) { return std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend()); }

void subtract(Number& a, const Number& b) {
  uint64_t borrow = 0;
  for (size_t at = 0; at < kWords; at++) {
    const uint64_t word = uint64_t(a[at]) - b[at] - borrow;
    a[at] = uint32_t(word);
    borrow = word >> 63;
  }
}

// 2 a + bit modulo n.
void double_add(Number& a, unsigned bit, const Number& n) {
  uint32_t carry = bit;
  for (auto& word : a) {
    const uint32_t next = word >> 31;
    word = word << 1 | carry;
    carry = next;
  }
  if (!is_below(a, n)) subtract(a, n);
}

// a R modulo n.
Number enter(Number a, const Number& n) {
  for (size_t bit = 0; bit < 16 * kLimbs; bit++) double_add(a, 0, n);
  return a;
}

Number modulo(const Number& a, const Number& n) {
  Number rest(kWords);
  for (size_t bit = 32 * kWords; bit-- > 0;) double_add(rest, a[bit / 32] >> (bit % 32) & 1, n);
  return rest;
}

// (n k + 1) / 2^(32 Digit), k making it an integer: clears the bits of n k + 1 one by one.
Number multiple(const Number& n) {
  Number sum(kWords), shifted = n;
  sum[0] = 1;
  for (size_t bit = 0; bit < 32 * Digit; bit++) {
    if (sum[bit / 32] >> (bit % 32) & 1) {
      uint64_t carry = 0;
      for (size_t at = 0; at < kWords; at++) {
        carry += uint64_t(sum[at]) + shifted[at];
        sum[at] = uint32_t(carry);
        carry >>= 32;
      }
    }
    uint32_t carry = 0;
    for (auto& word : shifted) {
      const uint32_t next = word >> 31;
      word = word << 1 | carry;
      carry = next;
    }
  }
  Number quotient(kWords);
  std::copy(sum.begin() + Digit, sum.end(), quotient.begin());
  return quotient;
}

uint64_t word_of(const Number& number, size_t word) { return uint64_t(number[2 * word + 1]) << 32 | number[2 * word]; }

struct Run {
  Bytes modulus, number;
  uint64_t squarings;
  uint32_t every;
};

Run random_run(harness::Random& random) {
  Run run;
  run.modulus = random_bytes(random, kModulusBytes);
  // The largest, small, and arbitrary ones.
  if (random.chance(20)) std::fill(run.modulus.begin(), run.modulus.end(), uint8_t(0xff));
  if (random.chance(20)) std::fill(run.modulus.begin(), run.modulus.begin() + ptrdiff_t(random.below(kModulusBytes - 8)), uint8_t(0));
  run.modulus.back() |= 1;
  const Number n = from_bytes(run.modulus);
  const Number a = modulo(from_bytes(random_bytes(random, kModulusBytes)), n);
  run.number.resize(kModulusBytes);
  for (size_t at = 0; at < kModulusBytes; at++) run.number[kModulusBytes - 1 - at] = uint8_t(a[at / 4] >> (8 * (at % 4)));
  run.squarings = 1 + random.below(20);
  run.every = uint32_t(1 + random.below(8));
  return run;
}

// Returns the cycle of each checkpoint's first word.
std::vector<uint64_t> pass(harness::Bench& bench, Run run, harness::Throttle idle, harness::Throttle pressure, uint64_t resets_at) {
  auto& top = bench.top;
  const Number n = from_bytes(run.modulus), m = multiple(n);
  const Number start = enter(from_bytes(run.number), n);
  std::vector<uint64_t> words;
  for (size_t word = 0; word < ModulusLimbs / 4; word++) words.push_back(word_of(m, word));
  for (size_t word = 0; word < kLimbs / 4; word++) words.push_back(word_of(start, word));
  std::vector<uint64_t> cycles;
  size_t sent = 0, got = 0;
  bool held = false;
  uint64_t at = 0;
  Number kept(kWords);
  top.squarings_i = run.squarings;
  top.every_i = run.every;
  const uint64_t begun = bench.cycle;
  while (at < run.squarings) {
    if (bench.cycle - begun == resets_at) {
      top.valid_i = 0;
      bench.reset();
      return cycles;
    }
    if (!held && sent < words.size()) held = idle.open();
    top.valid_i = held;
    if (held) top.data_i = words[sent];
    top.ready_i = pressure.open();
    bench.settle();
    if (top.valid_o && top.ready_i) {
      if (got == 0) cycles.push_back(bench.cycle);
      kept[2 * got] = uint32_t(top.data_o);
      kept[2 * got + 1] = uint32_t(top.data_o >> 32);
      got++;
      if (top.last_o != (got == kLimbs / 4)) fail(bench, "a checkpoint of another length");
      if (top.last_o) {
        const uint64_t next = std::min(run.squarings, at + run.every);
        if (top.at_o != next) fail(bench, "the checkpoint of another squaring");
        // A number has as many bytes as its modulus, which has no leading zero byte.
        const size_t zeros = size_t(std::find_if(run.modulus.begin(), run.modulus.end(), [](uint8_t byte) { return byte != 0; }) - run.modulus.begin());
        if (!turnpike_square(&run.modulus[zeros], &run.number[zeros], kModulusBytes - zeros, next - at)) fail(bench, "Rust does not take the numbers");
        at = next;
        if (modulo(kept, n) != enter(from_bytes(run.number), n)) fail(bench, "another number after " + std::to_string(at) + " squarings");
        got = 0;
      }
    }
    if (held && top.ready_o) held = false, sent++;
    bench.step();
    if (bench.cycle - begun > 10'000'000) fail(bench, "nothing more comes");
  }
  return cycles;
}

void body(const harness::Options& options) {
  harness::Bench bench(options);
  harness::Random random(options.seed);
  const auto always = [] { return harness::Throttle(harness::Throttle::kAlways, 0); };
  unsigned runs = 0;
  uint64_t squarings = 0;
  bench.reset();
  const char* wanted = getenv("OPERATIONS");
  const unsigned each = wanted != nullptr ? std::max(1U, unsigned(atoi(wanted) / 160)) : RUNS;
  for (int in = 0; in < harness::Throttle::kKinds; in++) {
    for (int out = 0; out < harness::Throttle::kKinds; out++) {
      for (unsigned number = 0; number < each; number++, runs++) {
        const Run run = random_run(random);
        squarings += run.squarings;
        const uint64_t resets_at = random.chance(20) ? random.below(400) : ~uint64_t(0);
        pass(bench, run, harness::Throttle(harness::Throttle::Kind(in), random.next()), harness::Throttle(harness::Throttle::Kind(out), random.next()), resets_at);
      }
    }
  }
  Run run = random_run(random);
  run.squarings = 40, run.every = 10;
  const auto cycles = pass(bench, run, always(), always(), ~uint64_t(0));
  const uint64_t apart = cycles[3] - cycles[0];
  if (apart != 30 * (kDigits + 3)) fail(bench, "30 squarings took " + std::to_string(apart) + " cycles");
  printf("%u runs, %llu squarings modulo %u bits as in Rust; %zu cycles a squaring, with %zu multipliers of 17 bits", runs, static_cast<unsigned long long>(squarings),
         16 * ModulusLimbs, kDigits + 3, Digit * (kLimbs + ModulusLimbs));
}

}  // namespace

int main(int argc, char** argv) { return harness::run(argc, argv, body); }
