// Packets of memcached's binary and text protocols, some spoiled, under all pairs of idle and back-pressure: each
// leaves unmodified and in order, with the request, the body and the fingerprint that a model computes from its bytes.
// The model builds requests from their parts, and parses only text, as strings.

#include <cmath>
#include <map>

#include "../packets.hpp"
#include "harness.hpp"

using namespace kv;
using harness::Throttle;
using Packet = frames::Packet;

namespace {


class Test : public harness::Bench {
 public:
  explicit Test(const harness::Options& options) : Bench(options), random(options.seed) {
    for (auto& secret : secrets_) secret = random.next();
    memcpy(&top.secrets_i[0], secrets_, sizeof secrets_);
  }

  harness::Random random;
  uint32_t now = 1'700'000'000;
  uint64_t packets = 0, taken = 0, refused = 0, shared = 0, flushes = 0, lines = 0, dropped = 0;
  uint64_t last_accepted = 0, latency = 0;

  void begin(Throttle::Kind in, Throttle::Kind word, Throttle::Kind operation) {
    top.valid_i = top.word_ready_i = top.body_ready_i = top.operation_ready_i = 0;
    reset();
    in_ = Throttle(in, random.next()), words_ = Throttle(word, random.next());
    bodies_ = Throttle(word, random.next()), operations_ = Throttle(operation, random.next());
  }

  void send(const Sent& sent) {
    for (size_t at = 0; at < sent.packet.size(); at += kWord) {
      while (!in_.open()) clock(nullptr, 0);
      for (int i = 0; !clock(&sent, at); i++) {
        if (i > 10000) fail(*this, "no word is accepted any more");
      }
    }
    packets++;
  }

  void drain() {
    for (int i = 0; !words_due_.empty() || !bodies_due_.empty() || !operations_due_.empty(); i++) {
      clock(nullptr, 0);
      if (i > 20000) fail(*this, "words, bodies or operations are missing");
    }
  }

  Sent packet() {
    if (random.chance(4)) return build_flush(random, random.chance(50));
    const Command& command = kCommands[random.below(std::size(kCommands))];
    // Lengths around words, and the longest ones, as often as any others.
    static constexpr unsigned kKeys[] = {1, 6, 16, 45, 46, 47, 54, 64, 128, 249, 250};
    const unsigned key = random.chance(50) ? kKeys[random.below(std::size(kKeys))] : 1 + unsigned(random.below(250));
    if (random.chance(40)) {
      Sent sent = line(key);
      if (!random.chance(60)) spoil_line(random, sent);
      return sent;
    }
    const unsigned longest = kLongestBody - 8 - key;
    const unsigned value = random.chance(60) ? unsigned(random.below(130)) : random.chance(20) ? longest : unsigned(random.below(longest + 1));
    Sent sent = request(command, key, value);
    sent.from_host = random.chance(20);
    if (!random.chance(75)) spoil(random, sent);
    return sent;
  }

  Sent line(unsigned key) {
    Bytes name(key);
    for (auto& byte : name) byte = uint8_t(random.chance(95) ? '!' + random.below(3) : 0x21 + random.below(0xdf));
    return build_line(random, name);
  }

  // A small alphabet, so that keys are equal or differ in a byte, and zeros, which are also padding.
  Sent request(const Command& command, unsigned key, unsigned value) {
    Bytes name(key), content(value);
    for (auto& byte : name) byte = uint8_t(random.below(3));
    for (auto& byte : content) byte = uint8_t(random.next());
    const uint32_t expiration = random.chance(30)   ? 0
                                : random.chance(30) ? uint32_t(random.next())
                                : random.chance(50) ? kMonth + uint32_t(random.below(2))
                                                    : 1 + uint32_t(random.below(kMonth));
    return build(random, command, name, content, expiration, now);
  }

 private:
  // Runs one cycle. Returns whether the packet's word was accepted.
  bool clock(const Sent* sent, size_t at) {
    top.now_i = now;
    top.valid_i = sent != nullptr;
    uint8_t* word = reinterpret_cast<uint8_t*>(&top.word_i[0]);
    const size_t count = sent == nullptr ? kWord : std::min<size_t>(kWord, sent->packet.size() - at);
    for (size_t i = 0; i < kWord; i++) word[i] = sent != nullptr && i < count ? sent->packet[at + i] : uint8_t(random.next());
    const uint64_t keep = count == kWord ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
    memcpy(word + kWord, &keep, 8);
    const bool last = sent != nullptr && at + count == sent->packet.size();
    top.word_i[18] = last;
    top.from_host_i = sent != nullptr && sent->from_host;
    top.word_ready_i = words_.open(), top.body_ready_i = bodies_.open(), top.operation_ready_i = operations_.open();
    settle();
    const bool accepted = sent != nullptr && top.ready_o;
    if (accepted && at == 0) {
      words_due_.push_back(sent->packet), operations_due_.push_back(*sent);
      if (sent->request.taken || sent->request.keyed) bodies_due_.push_back(sent->body);
    }
    if (accepted && last) last_accepted = cycle;
    if (top.word_valid_o && top.word_ready_i) word_leaves();
    if (top.body_valid_o && top.body_ready_i) body_leaves();
    if (top.operation_valid_o && top.operation_ready_i) operation_leaves();
    step();
    return accepted;
  }

  void word_leaves() {
    const uint8_t* word = reinterpret_cast<const uint8_t*>(&top.word_o[0]);
    uint64_t keep;
    memcpy(&keep, word + kWord, 8);
    packet_.insert(packet_.end(), word, word + __builtin_popcountll(keep));
    if (!(top.word_o[18] & 1)) return;
    if (words_due_.empty() || packet_ != words_due_.front()) fail(*this, "a packet leaves changed");
    words_due_.pop_front(), packet_.clear();
  }

  void body_leaves() {
    const uint8_t* word = reinterpret_cast<const uint8_t*>(&top.body_o[0]);
    if (bodies_due_.empty()) fail(*this, "a body of no request");
    const Packet& due = bodies_due_.front();
    // Bytes after the end are undefined.
    for (unsigned i = 0; i < kWord; i++, body_at_++) {
      if (body_at_ < due.size() && word[i] != due[body_at_]) fail(*this, "byte " + std::to_string(body_at_) + " of a body differs");
    }
    if (top.body_last_o != (body_at_ >= due.size())) fail(*this, "a body of another length");
    if (top.body_last_o) bodies_due_.pop_front(), body_at_ = 0;
  }

  void operation_leaves() {
    if (operations_due_.empty()) fail(*this, "an operation of no packet");
    const Sent sent = operations_due_.front();
    operations_due_.pop_front();
    Fields fields{&top.operation_o[0]};
    const Request is = Request::read(fields);
    if (is.taken != sent.request.taken) fail(*this, sent.request.taken ? "a request is not taken" : "a packet that is no request is taken");
    if (is.flushes != sent.request.flushes) fail(*this, sent.request.flushes ? "the host's FLUSH is none" : "a packet flushes");
    flushes += is.flushes;
    if (is.keyed != (sent.request.taken || sent.request.keyed)) fail(*this, "a request with a key has none");
    if (!sent.request.taken) {
      refused++, dropped += is.keyed;
      if (is.keyed && is.body_length != sent.body.size()) fail(*this, "a key of another length");
      return;
    }
    taken++;
    const Command& command = sent.request.command;
    if (is.command.op != command.op || is.command.quiet != command.quiet || is.command.key != command.key || is.command.value != command.value) fail(*this, "another command");
    lines += is.protocol != Binary;
    if (is.protocol != sent.request.protocol || is.meta != (is.protocol == MetaLine ? sent.request.meta : 0)) fail(*this, "another line");
    if (is.protocol == Binary && (is.command.opcode != command.opcode || is.opaque != sent.request.opaque || is.flags != sent.request.flags || is.expiry != sent.request.expiry)) fail(*this, "another field of the request");
    if (is.key_length != sent.request.key_length || is.body_length != sent.body.size()) fail(*this, "another length");
    latency = cycle - last_accepted;
    const Packet name(sent.body.begin(), sent.body.begin() + sent.request.key_length);
    uint64_t due[2], stands[2];
    fingerprint(secrets_, FingerprintBits, name, due);
    memcpy(stands, &top.fingerprint_o[0], 16);
    if (stands[0] != due[0] || stands[1] != due[1]) fail(*this, "another fingerprint");
    const auto [found, is_new] = names_.try_emplace({stands[0], stands[1]}, name);
    if (!is_new && found->second != name) shared++;
  }

  uint64_t secrets_[kSecrets];
  std::deque<Packet> words_due_, bodies_due_;
  std::deque<Sent> operations_due_;
  std::map<std::pair<uint64_t, uint64_t>, Packet> names_;
  Packet packet_;
  size_t body_at_ = 0;
  Throttle in_{Throttle::kAlways, 1}, words_{Throttle::kAlways, 1}, bodies_{Throttle::kAlways, 1}, operations_{Throttle::kAlways, 1};
};

void body(const harness::Options& options) {
  Test test(options);
  // At full rate, a word takes a cycle, whatever the length of the key.
  test.begin(Throttle::kAlways, Throttle::kAlways, Throttle::kAlways);
  uint64_t words = 0;
  const uint64_t start = test.cycle;
  for (unsigned i = 0; i < 2000; i++) {
    const Sent sent = test.request(kCommands[i % std::size(kCommands)], 1 + i % 250, i % 7 * 30);
    words += (sent.packet.size() + kWord - 1) / kWord;
    test.send(sent);
  }
  const uint64_t cycles = test.cycle - start;
  test.drain();
  if (cycles != words) fail(test, "a word waits although nothing stalls");
  test.send(test.request(kCommands[0], 16, 0));
  test.drain();
  harness::figure("word_cycles", double(cycles) / double(words), 2);
  const uint64_t latency = test.latency;
  harness::figure("latency", double(latency));
  test.send(test.request(kCommands[0], 17, 0));
  test.drain();
  harness::figure("latency_long", double(test.latency));

  for (int in = 0; in < Throttle::kKinds; in++) {
    for (int word = 0; word < Throttle::kKinds; word++) {
      for (int operation = 0; operation < Throttle::kKinds; operation++) {
        test.begin(Throttle::Kind(in), Throttle::Kind(word), Throttle::Kind(operation));
        for (unsigned i = 0; i < 150; i++) {
          test.send(test.packet());
          test.now += uint32_t(test.random.below(2));
        }
        // So late that an expiration would pass the last second.
        if (in == word) test.drain(), test.now = 0xffffffff - kMonth / 2;
        test.drain();
      }
    }
    test.now = 1'700'000'000;
  }
  if (test.taken < 5000 || test.refused < 1000 || test.flushes < 50 || test.lines < 2000 || test.dropped < 300) fail(test, "too few requests of a kind");
  if ((test.shared > 0) != (FingerprintBits < 64)) fail(test, std::to_string(test.shared) + " keys share a fingerprint");
  printf("%lu packets, %lu requests, %lu of them lines, %lu for the host; %lu keys share a fingerprint; latency %lu", test.packets, test.taken, test.lines, test.refused, test.shared, latency);
}

}  // namespace

int main(int argc, char** argv) { return harness::run(argc, argv, body); }
