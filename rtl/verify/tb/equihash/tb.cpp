// Headers with Equihash solutions: the vectors of crates/verify with these parameters, valid and not, and valid ones
// with one or two random faults: halves in the wrong order, duplicate indices, other indices, other lengths, targets
// and hashes. Compares every verdict with Rust's, under all pairs of idle and back-pressure patterns and with resets
// with work in flight. Then measures the cycles of headers back to back.

#include <algorithm>
#include <map>

#include "../../../twin/verification.hpp"
#include "../bytes.hpp"
#include "../headers.hpp"
#include "harness.hpp"
#include "protocol.hpp"

namespace {

using namespace protocol;

#ifndef Lanes
#define Lanes 1
#endif

struct Message {
  Bytes bytes;
  bool solution_only;
  uint64_t mask;
};

uint64_t verdict(const Bytes& bytes, bool solution_only) {
  if (InputBytes == 140) return turnpike_equihash_header(kN, kK, kPersonalisation.data(), bytes.data(), bytes.size(), solution_only);
  const size_t before = InputBytes + kPrefix;
  const bool good = bytes.size() == before + kSolution && (kPrefix == 1 ? bytes[InputBytes] == kSolution : bytes[InputBytes] == 0xfd && bytes[InputBytes + 1] == kSolution % 256 && bytes[InputBytes + 2] == kSolution / 256);
  return good ? turnpike_equihash_solution(kN, kK, kPersonalisation.data(), bytes.data(), InputBytes, &bytes[before], kSolution) : 1 << kRuleHeaderSolutionLength;
}

Message message(const Bytes& bytes, bool solution_only) { return {bytes, solution_only, verdict(bytes, solution_only)}; }

Message random_message(const std::vector<Header>& headers, harness::Random& random) {
  bool solution_only;
  const Bytes bytes = random_header(headers, random, solution_only);
  return message(bytes, solution_only);
}

// Runs messages back to back. Returns the cycle of each verdict.
std::vector<uint64_t> pass(harness::Bench& bench, const std::vector<Message>& messages, harness::Throttle idle, harness::Throttle pressure, uint64_t resets_at) {
  auto& top = bench.top;
  bench.reset();
  std::vector<uint64_t> cycles;
  size_t sending = 0, at = 0;
  bool held = false;
  const uint64_t begun = bench.cycle;
  while (cycles.size() < messages.size()) {
    if (bench.cycle - begun == resets_at) {
      top.valid_i = 0;
      bench.reset();
      // Messages without a verdict are sent again.
      sending = cycles.size(), at = 0, held = false;
    }
    if (!held && sending < messages.size()) held = idle.open();
    top.valid_i = held;
    if (held) {
      const Message& message = messages[sending];
      put(top.data_i, &message.bytes[at], std::min<size_t>(64, message.bytes.size() - at));
      top.last_i = at + 64 >= message.bytes.size();
      top.length_i = uint16_t(message.bytes.size());
      put(top.personalisation_i, kPersonalisation.data(), 8);
      top.solution_only_i = message.solution_only;
      top.tag_i = sending & 1;
    }
    top.ready_i = pressure.open();
    bench.settle();
    if (top.valid_o && top.ready_i) {
      const size_t number = cycles.size();
      if (number >= sending + 1) fail(bench, "a verdict on nothing");
      if (top.mask_o != messages[number].mask || top.tag_o != (number & 1)) {
        fail(bench, "of " + std::to_string(messages.size()) + (resets_at == ~uint64_t(0) ? "" : ", reset at " + std::to_string(resets_at)) + ": message " + std::to_string(number) + ": mask " + std::to_string(top.mask_o) + ", in Rust " + std::to_string(messages[number].mask));
      }
      cycles.push_back(bench.cycle);
    }
    if (held && top.ready_o) {
      held = false;
      at += 64;
      if (at >= messages[sending].bytes.size()) sending++, at = 0;
    }
    bench.step();
    if (bench.cycle - begun > 100'000'000) fail(bench, "nothing more comes");
  }
  return cycles;
}

void body(const harness::Options& options) {
  harness::Bench bench(options);
  harness::Random random(options.seed);
  const auto always = [] { return harness::Throttle(harness::Throttle::kAlways, 0); };
  const char* wanted = getenv("OPERATIONS");
  const unsigned each = wanted != nullptr ? std::max(1U, unsigned(atoi(wanted) / 16)) : MESSAGES;

  // The vectors, with their own verdicts.
  const std::vector<Header> headers = vectors(options.vectors + "/../crates/verify/tests/vectors");
  static const std::map<std::string, uint64_t> rules = {{"valid", 0}, {"Collision", 1 << kRuleEquihashCollision}, {"Order", 1 << kRuleEquihashOrder},
                                                        {"Duplicate", 1 << kRuleEquihashDuplicate}, {"Root", 1 << kRuleEquihashRoot}};
  std::vector<Message> published;
  std::vector<Header> valid;
  for (const Header& header : headers) {
    published.push_back(message(header.bytes(), true));
    if (published.back().mask != rules.at(header.rule)) fail(bench, "Rust says another rule than the vector");
    if (header.rule == "valid") valid.push_back(header);
  }
  if (valid.empty()) fail(bench, "no vectors with these parameters");
  pass(bench, published, always(), always(), ~uint64_t(0));

  std::map<uint64_t, unsigned> masks;
  for (int in = 0; in < harness::Throttle::kKinds; in++) {
    for (int out = 0; out < harness::Throttle::kKinds; out++) {
      std::vector<Message> messages;
      for (unsigned number = 0; number < each; number++) messages.push_back(random_message(valid, random));
      for (const Message& one : messages) masks[one.mask]++;
      const uint64_t resets_at = random.chance(50) ? random.below(3000) : ~uint64_t(0);
      pass(bench, messages, harness::Throttle(harness::Throttle::Kind(in), random.next()), harness::Throttle(harness::Throttle::Kind(out), random.next()), resets_at);
    }
  }
  // Only a Zcash header has a target.
  for (const unsigned bit : {kRuleEquihashCollision, kRuleEquihashOrder, kRuleEquihashDuplicate, kRuleHeaderSolutionLength, kRuleHeaderTarget, kRuleHeaderDifficulty}) {
    const bool of_target = bit == kRuleHeaderTarget || bit == kRuleHeaderDifficulty;
    if ((!of_target || InputBytes == 140) && masks[1 << bit] == 0) fail(bench, "no message broke rule " + std::to_string(bit));
  }

  const std::vector<uint64_t> cycles = pass(bench, std::vector<Message>(12, message(valid[0].bytes(), InputBytes != 140)), always(), always(), ~uint64_t(0));
  const double apart = double(cycles.back() - cycles[3]) / double(cycles.size() - 4);
  if (kN == 200 && kK == 9 && apart > (Lanes == 1 ? 520 : 264)) fail(bench, "a solution takes " + std::to_string(apart) + " cycles");
  printf("%zu vectors, %u messages as in Rust; back to back a solution in %.1f cycles", published.size(), 16 * each, apart);
}

}  // namespace

int main(int argc, char** argv) { return harness::run(argc, argv, body); }
