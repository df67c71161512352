// Hash unit (UNIT 0: keyed, 1: Lookup3, 2: multiplicative, 3: table_hash with the keyed function), a key every cycle,
// against the function in C++, which is first checked against published values.

#include <array>
#include <deque>
#include <vector>

#include "../table_tb.hpp"
#if UNIT == 3
#include "harness.hpp"
#else
// The functions have no reset, but the harness's `reset`, which is not called here, must name a port.
#define rst_ni clk_i
#include "harness.hpp"
#undef rst_ni
#endif

namespace {

#ifndef KeyBytes
#define KeyBytes 16
#endif
constexpr unsigned kLatency = UNIT == 0 ? 4 + 3 * ((KeyBytes + 15) / 16) : UNIT == 1 ? 14 : UNIT == 2 ? 18 : 6;
constexpr uint8_t kSeed[17] = "0123456789abcdef";

// Jenkins's hashlittle2, for any length. Returns {b, c}.
uint64_t lookup3(const uint8_t* key, size_t length, uint32_t c_start = 0, uint32_t b_start = 0) {
  const auto rot = [](uint32_t x, int k) { return x << k | x >> (32 - k); };
  const auto word = [&](size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4 && at + i < length; i++) value |= uint32_t(key[at + i]) << (8 * i);
    return value;
  };
  uint32_t a = 0xdeadbeef + uint32_t(length) + c_start, b = a, c = a + b_start;
  size_t at = 0;
  for (; length - at > 12; at += 12) {
    a += word(at), b += word(at + 4), c += word(at + 8);
    a -= c, a ^= rot(c, 4), c += b;
    b -= a, b ^= rot(a, 6), a += c;
    c -= b, c ^= rot(b, 8), b += a;
    a -= c, a ^= rot(c, 16), c += b;
    b -= a, b ^= rot(a, 19), a += c;
    c -= b, c ^= rot(b, 4), b += a;
  }
  if (length == at) return uint64_t(b) << 32 | c;
  a += word(at), b += word(at + 4), c += word(at + 8);
  c ^= b, c -= rot(b, 14);
  a ^= c, a -= rot(c, 11);
  b ^= a, b -= rot(a, 25);
  c ^= b, c -= rot(b, 16);
  a ^= c, a -= rot(c, 4);
  b ^= a, b -= rot(a, 14);
  c ^= b, c -= rot(b, 24);
  return uint64_t(b) << 32 | c;
}

uint64_t multiplicative(const uint8_t* key) {
  constexpr uint32_t kMagic = 0x9e3779b1;
  uint32_t state = 0;
  for (int i = 0; i < 16; i += 2) state = (state + (key[i] | key[i + 1] << 8)) * kMagic;
  return uint64_t((state << 16 | state >> 16) * kMagic) << 32 | state;
}

void published(const harness::Bench& bench) {
  const table::Hasher hasher(kSeed);
  uint8_t counting[33];
  for (int i = 0; i < 33; i++) counting[i] = uint8_t(i);
  const uint8_t zeros[8] = {};
  // crates/table/src/hash.rs, the_hash_of_a_seed_never_changes.
  bool good = hasher.hash(reinterpret_cast<const uint8_t*>("sixteen bytes..k"), 16) == 0x7932552159ae22e0 &&
              hasher.hash(counting, 33) == 0xb2d26aae54b91f1b && hasher.hash(zeros, 8) == 0xe5b5d7edca8d47fa;
  // lookup3.c, driver5.
  const auto* score = reinterpret_cast<const uint8_t*>("Four score and seven years ago");
  good = good && lookup3(score, 0) == 0xdeadbeefdeadbeef && lookup3(score, 30) == 0xce7226e617770551 &&
         lookup3(score, 30, 0, 1) == 0xbd371de4e3607cae && lookup3(score, 30, 1, 0) == 0x6cbea4b3cd628161;
  if (!good) fail(bench, "the testbench's own functions are wrong");
}

void body(const harness::Options& options) {
  harness::Bench bench(options);
  harness::Random random(options.seed);
  published(bench);
  const table::Hasher hasher(kSeed);
  auto& top = bench.top;
#if UNIT == 0 || UNIT == 3
  constexpr int kPairs = (KeyBytes + 15) / 16;
  for (int i = 0; i < 2 * kPairs + 2; i++) memcpy(&top.secrets_i[2 * i], &hasher.secrets[i < 2 * kPairs ? i : 14 + i - 2 * kPairs], 8);
#endif
#if UNIT == 3
  top.rst_ni = 1;
#endif
  std::deque<uint64_t> expected;
  const unsigned count = 100000;
  for (unsigned i = 0; i < count + kLatency; i++) {
    std::array<uint8_t, (KeyBytes + 7) / 8 * 8> key{};
    // Sometimes nearly all bits are alike, for the longest carries.
    const uint8_t fill = random.chance(50) ? 0xff : 0;
    const bool sparse = random.chance(30);
    for (unsigned at = 0; at < KeyBytes; at++) key[at] = sparse ? uint8_t(fill ^ (random.chance(5) ? 1 << random.below(8) : 0)) : uint8_t(random.next());
#if UNIT == 1
    const unsigned length = unsigned(random.below(17));
    for (unsigned at = length; at < KeyBytes; at++) key[at] = 0;
    top.length_i = uint8_t(length);
    expected.push_back(lookup3(key.data(), length));
#elif UNIT == 2
    expected.push_back(multiplicative(key.data()));
#elif UNIT == 3
    // It hashes words of sixteen bytes and expects keys with the secrets already XORed in.
    uint8_t padded[16] = {};
    memcpy(padded, key.data(), KeyBytes);
    expected.push_back(hasher.hash(padded, 16));
    for (unsigned at = 0; at < KeyBytes; at++) key[at] ^= reinterpret_cast<const uint8_t*>(&top.secrets_i)[at];
    top.valid_i = top.with_i = i % 3 == 0;
#else
    expected.push_back(hasher.hash(key.data(), KeyBytes));
#endif
    memcpy(&top.key_i, key.data(), KeyBytes);
    bench.settle();
    if (i >= kLatency) {
      if (top.hash_o != expected.front()) fail(bench, "another hash");
#if UNIT == 3
      const bool valid = (i - kLatency) % 3 == 0;
      if (top.valid_o != valid || top.with_o != valid) fail(bench, "what goes with a key does not come with its hash");
#endif
      expected.pop_front();
    }
    top.clk_i = 1;
    bench.settle();
    top.clk_i = 0;
    bench.settle();
    bench.cycle++;
  }
  printf("%u keys, one a cycle, %u cycles each", count, kLatency);
}

}  // namespace

int main(int argc, char** argv) { return harness::run(argc, argv, body); }
