// Verify frames in lock step with crates/verify: the vectors of Wycheproof, BIP340 and Equihash and random messages,
// mixed; some frames are malformed or have messages that no engine here takes. Replies are compared byte for byte, in
// any order; everything else must leave unmodified and in order. Under all pairs of idle and back-pressure patterns,
// each with a reset with work in flight. Then measures the cycles of frames full of signatures.

#include <deque>
#include <map>
#include <set>

#include "../verify_frames.hpp"
#include "harness.hpp"
#include "protocol.hpp"

namespace {

using frames::Packet;
using harness::Bench;
using harness::Throttle;
using verify_frames::Asked;
using verify_frames::id_of;
using verify_frames::kHead;
using verify_frames::Maker;

struct Counts {
  uint64_t frames = 0, passed = 0, messages = 0;
  std::map<uint64_t, uint64_t> masks;
};

class Driver {
 public:
  explicit Driver(Bench& bench) : bench_(bench) { reset(); }

  Counts counts;

  void reset() {
    auto& top = bench_.top;
    top.valid_i = top.reply_ready_i = top.pass_ready_i = 0;
    bench_.reset();
    asked_.clear(), passes_.clear(), sending_.clear(), reply_.clear(), pass_.clear();
    at_ = 0, held_ = false;
  }
  void push(Packet packet) { sending_.push_back(std::move(packet)); }
  bool idle() const { return sending_.empty() && asked_.empty() && passes_.empty(); }
  size_t waiting() const { return sending_.size(); }
  size_t answers() const { return asked_.size(); }

  void step(bool offer, bool take_reply, bool take_pass) {
    auto& top = bench_.top;
    if (!sending_.empty() && offer) held_ = true;
    top.valid_i = held_;
    if (held_) set(sending_.front());
    top.reply_ready_i = take_reply;
    top.pass_ready_i = take_pass;
    bench_.settle();
    if (top.reply_valid_o && take_reply && gather(reply_, top.reply_word_o)) replied(top.reply_port_o);
    if (top.pass_valid_o && take_pass && gather(pass_, top.pass_word_o)) passed(top.pass_port_o);
    for (unsigned engine = 0; engine < 3; engine++) done_ += top.done_o >> engine & 1;
    if (held_ && top.ready_o) {
      held_ = false;
      at_ += 64;
      if (at_ >= sending_.front().size()) {
        expect(sending_.front());
        sending_.pop_front();
        at_ = 0;
      }
    }
    bench_.step();
    if (bench_.cycle - moved_ > 2'000'000) harness::fail(bench_, "nothing more comes");
  }

 private:
  static uint8_t port_of(const Packet& packet) { return packet[49] & 7; }

  void set(const Packet& packet) {
    const size_t count = std::min<size_t>(64, packet.size() - at_);
    uint8_t bytes[76] = {};
    std::memcpy(bytes, &packet[at_], count);
    for (size_t byte = 0; byte < count; byte++) bytes[64 + byte / 8] |= uint8_t(1 << byte % 8);
    bytes[72] = at_ + 64 >= packet.size();
    std::memcpy(&bench_.top.word_i, bytes, sizeof bytes);
    bench_.top.port_i = port_of(packet);
  }

  template <typename Port>
  bool gather(Packet& packet, const Port& port) {
    uint8_t bytes[76];
    std::memcpy(bytes, &port, sizeof bytes);
    moved_ = bench_.cycle;
    for (size_t byte = 0; byte < 64 && bytes[64 + byte / 8] >> byte % 8 & 1; byte++) packet.push_back(bytes[byte]);
    return bytes[72] & 1;
  }

  void expect(const Packet& packet) {
    const Asked asked(packet);
    if (!asked.takes) {
      passes_.push_back(packet);
    } else if (!asked_.insert({id_of(packet), {asked, bench_.cycle}}).second) {
      harness::fail(bench_, "an id was used twice");
    }
  }

  void replied(unsigned port) {
    const Packet reply = std::exchange(reply_, {});
    const auto found = reply.size() < kHead ? asked_.end() : asked_.find(id_of(reply));
    if (found == asked_.end()) harness::fail(bench_, "a reply to nothing: " + frames::hex(reply));
    const auto& [asked, cycle] = found->second;
    if (asked.compare(reply) > bench_.cycle - cycle) harness::fail(bench_, "a message took longer than its frame");
    const auto& [request, masks, takes] = asked;
    for (const uint64_t mask : masks) counts.masks[mask]++;
    if (port != port_of(request)) harness::fail(bench_, "a reply at another port");
    counts.frames++;
    counts.messages += masks.size();
    answered_ += masks.size();
    if (answered_ > done_) harness::fail(bench_, "more answers than are counted");
    asked_.erase(found);
  }

  void passed(unsigned port) {
    const Packet packet = std::exchange(pass_, {});
    if (passes_.empty() || passes_.front() != packet) harness::fail(bench_, "to the host goes\n" + frames::hex(packet) + (passes_.empty() ? "" : "\ninstead of\n" + frames::hex(passes_.front())));
    if (port != port_of(packet)) harness::fail(bench_, "from another port to the host");
    passes_.pop_front();
    counts.passed++;
  }

  Bench& bench_;
  std::deque<Packet> sending_, passes_;
  std::map<uint32_t, std::pair<Asked, uint64_t>> asked_;
  Packet reply_, pass_;
  size_t at_ = 0;
  bool held_ = false;
  uint64_t moved_ = 0, done_ = 0, answered_ = 0;
};

// Cycles per signature, in full frames.
[[maybe_unused]] double measure(Bench& bench, Driver& driver, Maker& maker, uint32_t& id) {
  driver.reset();
  while (driver.answers() < 8) {
    if (driver.waiting() == 0) driver.push(maker.frame(id++, 9, true));
    driver.step(true, true, true);
  }
  const uint64_t begun = bench.cycle, before = driver.counts.messages;
  while (driver.counts.messages < before + 128) {
    if (driver.waiting() == 0) driver.push(maker.frame(id++, 9, true));
    driver.step(true, true, true);
  }
  return double(bench.cycle - begun) / double(driver.counts.messages - before);
}

void body(const harness::Options& options) {
  Bench bench(options);
  Driver driver(bench);
  const char* asked = std::getenv("OPERATIONS");
  const unsigned each = asked != nullptr ? std::max(1, std::atoi(asked) / 16) : FRAMES;
  uint32_t id = uint32_t(options.seed);

  uint64_t vectors = 0;
  Maker maker(options, SIGNATURES, SignatureEngines > 0);
  for (const uint64_t begun = maker.vectors_left(); maker.vectors_left() > 0;) {
    if (driver.waiting() == 0) driver.push(maker.frame(id++, 9, true));
    driver.step(true, true, true);
    vectors = begun;
  }
  while (!driver.idle()) driver.step(true, true, true);
  const uint64_t vector_frames = driver.counts.frames;

  for (Packet& packet : maker.of_other_lengths(id)) driver.push(std::move(packet));
  while (!driver.idle()) driver.step(true, true, true);

  for (int idle = 0; idle < Throttle::kKinds; idle++) {
    for (int pressure = 0; pressure < Throttle::kKinds; pressure++) {
      Throttle offer(Throttle::Kind(idle), maker.random.next()), reply(Throttle::Kind(pressure), maker.random.next()),
          pass(Throttle::Kind((pressure + 1) % Throttle::kKinds), maker.random.next());
      for (unsigned at = 0; at < each; at++) driver.push(maker.any_frame(id++));
      while (!driver.idle()) driver.step(offer.open(), reply.open(), pass.open());
      // And a reset with work in flight.
      for (unsigned at = 0; at < 4; at++) driver.push(maker.any_frame(id++));
      for (uint64_t left = maker.random.below(4000); left > 0; left--) driver.step(offer.open(), reply.open(), pass.open());
      driver.reset();
    }
  }
  if (driver.counts.passed == 0) harness::fail(bench, "nothing went to the host");
  std::set<unsigned> rules;
  for (const auto& [mask, count] : driver.counts.masks) rules.insert(mask == 0 ? 0 : unsigned(__builtin_ctzll(mask)));
  std::set<unsigned> wanted{protocol::kRuleNone};
  if (Roots) wanted.insert({protocol::kRuleMerkleRoot, protocol::kRuleMerkleRepeated});
  if (SignatureEngines > 0) {
    wanted.insert({protocol::kRuleSignatureRange, protocol::kRuleSignatureHighS, protocol::kRuleKeyNotOnCurve, protocol::kRuleSignatureMismatch,
                   protocol::kRuleKeyRange});
  }
  if (EquihashN > 0) wanted.insert({protocol::kRuleEquihashCollision, protocol::kRuleHeaderSolutionLength});
  for (const unsigned rule : wanted) {
    if (rules.count(rule) == 0) harness::fail(bench, "no message broke rule " + std::to_string(rule));
  }
  const Counts counts = driver.counts;
  std::printf("%llu vectors in %llu frames; %llu frames with %llu messages as in Rust, %llu to the host, rules", static_cast<unsigned long long>(vectors),
              static_cast<unsigned long long>(vector_frames), static_cast<unsigned long long>(counts.frames),
              static_cast<unsigned long long>(counts.messages), static_cast<unsigned long long>(counts.passed));
  for (const unsigned rule : rules) std::printf(" %u", rule);
  if (SignatureEngines > 0) std::printf("; in full frames a signature in %.0f cycles", measure(bench, driver, maker, id));
}

}  // namespace

int main(int argc, char** argv) { return harness::run(argc, argv, body); }
