// Double hashes of nodes and headers, in lock step with Rust's: one message per cycle or as fast as the core accepts
// them, with idle cycles, and resets with work in flight.

#include <deque>

#include "../../../twin/verification.hpp"
#include "../bytes.hpp"
#include "harness.hpp"

namespace {

#ifndef RoundsPerStage
#define RoundsPerStage 1
#endif
constexpr unsigned kMessages = MESSAGES;
constexpr unsigned kLatency = Pipelined ? 3 * (64 / RoundsPerStage + 1) : 3 * (64 / RoundsPerStage + 2);
constexpr size_t kMessageBytes = Headers ? 80 : 64;

struct Expected {
  Bytes digest;
  unsigned tag;
};

Bytes digest_of(const Bytes& message) {
  Bytes digest(32);
  turnpike_sha256d(message.data(), message.size(), digest.data());
  return digest;
}

// Block 0 of Bitcoin, and the two transactions of its block 170.
std::vector<std::pair<Bytes, Bytes>> published() {
  const Bytes header = from_hex(
      "0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e"
      "5e4a29ab5f49ffff001d1dac2b7c");
  const Bytes pair = from_hex(
      "82501c1178fa0b222c1f3d474ec726b832013f0a532b44bb620cce8624a5feb1169e1e83e930853391bc6f35f605c6754cfead57cf8387639d3b4096c54f18f4");
  std::vector<std::pair<Bytes, Bytes>> all = {{pair, from_hex("ff104ccb05421ab93e63f8c3ce5c2c2e9dbb37de2764b3a3175c8166562cac7d")}};
  if (Headers) all.emplace_back(header, from_hex("6fe28c0ab6f1b372c1a6a246ae63f74f931e8365e15a089c68d6190000000000"));
  return all;
}

void body(const harness::Options& options) {
  harness::Bench bench(options);
  auto& top = bench.top;
  harness::Random random(options.seed);
  for (const auto& [message, digest] : published()) {
    if (digest_of(message) != digest) fail(bench, "the Rust hash is wrong");
  }

  unsigned done = 0, back_to_back = 0;
  for (int kind = 0; kind < harness::Throttle::kKinds; kind++) {
    harness::Throttle throttle(harness::Throttle::Kind(kind), random.next());
    bench.reset();
    std::deque<Expected> expected;
    uint64_t first = 0, last = 0;
    unsigned sent = 0, seen = 0;
    const unsigned resets_at = kind == harness::Throttle::kBursts ? kMessages / 2 : kMessages + 1;
    bool has_reset = false, held = false;
    Bytes message;
    while (seen < kMessages) {
      if (!has_reset && sent == resets_at) {
        has_reset = true;
        top.valid_i = 0;
        bench.reset();
        seen += unsigned(expected.size());
        expected.clear();
        held = false;
      }
      if (!held && sent < kMessages && throttle.open()) {
        const auto vectors = published();
        message = sent < vectors.size() ? vectors[sent].first : random_bytes(random, Headers && random.chance(50) ? 80 : 64);
        put(top.message_i, message.data(), message.size());
        top.header_i = message.size() == 80;
        top.tag_i = sent & 1;
        held = true;
      }
      top.valid_i = held;
      bench.settle();
      if (top.valid_o) {
        if (expected.empty()) fail(bench, "a digest of nothing");
        if (get(top.digest_o, 32) != expected.front().digest || top.tag_o != expected.front().tag) fail(bench, "another digest or tag");
        expected.pop_front();
        if (seen++ == 0) first = bench.cycle;
        last = bench.cycle;
      }
      if (held && top.ready_o) {
        expected.push_back({digest_of(message), unsigned(top.tag_i)});
        if (sent == 0) first = bench.cycle;
        sent++;
        held = false;
      }
      bench.step();
    }
    done += sent;
    if (kind == harness::Throttle::kAlways) {
      // From the first digest to the last: the interval between messages, once for each further message.
      back_to_back = unsigned(last - first);
      const unsigned wanted = Pipelined ? kMessages - 1 : (kMessages - 1) * (kLatency + 1);
      if (back_to_back != wanted) fail(bench, std::to_string(kMessages) + " messages took " + std::to_string(back_to_back) + " cycles, not " + std::to_string(wanted));
    }
  }
  printf("%u messages of up to %zu bytes as in Rust; %u back to back in %u cycles and %u more", done, kMessageBytes, kMessages, back_to_back + 1, kLatency);
}

}  // namespace

int main(int argc, char** argv) { return harness::run(argc, argv, body); }
