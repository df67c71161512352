// Hashes of messages of all lengths, in lock step with Rust's and against NIST's vectors, under all pairs of idle and
// back-pressure patterns.

#include "../../../twin/verification.hpp"
#include "../bytes.hpp"
#include "harness.hpp"

namespace {

// NIST's examples for FIPS 180-4: "abc", 56 and 112 bytes.
std::vector<std::pair<Bytes, Bytes>> published() {
  return {
      {from_text("abc"), from_hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")},
      {from_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
       from_hex("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")},
      {from_text("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
       from_hex("cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1")},
  };
}

void body(const harness::Options& options) {
  harness::Bench bench(options);
  auto& top = bench.top;
  harness::Random random(options.seed);
  unsigned done = 0;
  for (int in = 0; in < harness::Throttle::kKinds; in++) {
    for (int out = 0; out < harness::Throttle::kKinds; out++) {
      harness::Throttle idle(harness::Throttle::Kind(in), random.next()), pressure(harness::Throttle::Kind(out), random.next());
      bench.reset();
      const bool resets = random.chance(50);
      for (unsigned number = 0; number < 40; number++) {
        Bytes message, digest(32);
        if (Double) {
          // All lengths around the ends of blocks.
          message = random_bytes(random, number < 20 ? 54 + number : 1 + random.below(300));
          turnpike_sha256d(message.data(), message.size(), digest.data());
        } else {
          const auto vectors = published();
          message = vectors[number % vectors.size()].first;
          digest = vectors[number % vectors.size()].second;
        }
        const bool is_cut = resets && number == 20;
        size_t at = 0;
        bool held = false;
        const uint64_t begun = bench.cycle;
        while (true) {
          if (!held && at < message.size()) held = idle.open();
          const size_t count = std::min<size_t>(64, message.size() - at);
          top.valid_i = held;
          if (held) {
            put(top.data_i, &message[at], count);
            top.keep_i = count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1;
            top.last_i = at + count == message.size();
          }
          top.ready_i = pressure.open();
          bench.settle();
          const bool ends = top.valid_o && top.ready_i;
          if (top.valid_o && (at < message.size() || get(top.digest_o, 32) != digest)) fail(bench, "another digest of " + std::to_string(message.size()) + " bytes");
          if (held && top.ready_o) {
            at += count;
            held = false;
          }
          bench.step();
          if (ends) break;
          if (is_cut && random.chance(5)) {
            top.valid_i = 0;
            bench.reset();
            break;
          }
        }
        const unsigned blocks = unsigned((message.size() + 9 + 63) / 64) + Double;
        if (in == 0 && out == 0 && !is_cut && bench.cycle - begun != blocks * (64 / RoundsPerCycle + 2) + 1) {
          fail(bench, std::to_string(blocks) + " blocks took " + std::to_string(bench.cycle - begun) + " cycles");
        }
        done++;
      }
    }
  }
  printf("%u messages as %s, %u cycles a block", done, Double ? "in Rust" : "NIST has them", 64 / RoundsPerCycle + 2);
}

}  // namespace

int main(int argc, char** argv) { return harness::run(argc, argv, body); }
