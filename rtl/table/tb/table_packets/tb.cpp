// Packets through the table, under all pairs of idle and back-pressure patterns: each leaves unmodified and in order,
// and its result matches the Rust table: the place given to the last SET of the key.

#include <deque>
#include <map>

#include "../../../nic/tb/frames.hpp"
#include "../table_tb.hpp"
#include "harness.hpp"

using frames::put;
using harness::Throttle;
using namespace table;
using Packet = frames::Packet;

namespace {

constexpr uint8_t kSeed[17] = "0123456789abcdef";
constexpr unsigned kWord = 64, kClasses = 4, kLength = 16, kBlock = __builtin_ctz(Blocks);
constexpr unsigned kHeaders = 42, kBody = kHeaders + 8 + 24;
// From the packet's second word to its result: two registers before the table, then the table.
constexpr uint64_t kLatency = 2 + 14;
enum Opcode : uint8_t { kGet = 0, kSet = 1, kAdd = 2, kReplace = 3, kDelete = 4, kQuit = 7 };
constexpr uint32_t kMonth = 30 * 24 * 3600;

struct Asked {
  Op op;
  Key key;
  unsigned kind, length;
  uint32_t expiry;
};

struct Sent {
  Packet packet;
  bool taken;
  Asked asked;
};

class Test : public harness::Bench {
 public:
  explicit Test(const harness::Options& options) : Bench(options), random(options.seed) {
    static constexpr int kSecrets[4] = {0, 1, Hasher::SECRETS - 2, Hasher::SECRETS - 1};
    const Hasher hasher(kSeed);
    for (int i = 0; i < 4; i++) memcpy(&top.secrets_i[2 * i], &hasher.secrets[kSecrets[i]], 8);
  }
  ~Test() { table_free(twin_); }

  harness::Random random;
  uint64_t packets = 0, requests = 0, hits = 0, refused = 0, expired = 0;

  void begin(Throttle::Kind in, Throttle::Kind out) {
    top.valid_i = top.ready_i = 0;
    reset();
    in_ = Throttle(in, random.next()), out_ = Throttle(out, random.next());
    table_free(twin_);
    twin_ = table_new(64 * 16 * Buckets, 90, kSeed);
    expiries_.clear(), owners_.clear();
    for (unsigned i = 0; i < 2 * Buckets + 2 * Blocks; i++) clock(nullptr);
  }

  void send(const Sent& sent) {
    for (size_t at = 0; at < sent.packet.size(); at += kWord) {
      while (!in_.open()) clock(nullptr);
      for (int i = 0; !clock(&sent, at); i++) {
        if (i > 10000) fail(*this, "nothing is taken any more");
      }
    }
    packets++;
  }

  void drain() {
    for (int i = 0; !sent_.empty(); i++) {
      clock(nullptr);
      if (i > 20000) fail(*this, std::to_string(sent_.size()) + " packets are missing");
    }
  }

  // Makes a request, or another packet, on one of `keys` keys.
  Sent packet(unsigned keys, bool expiring) {
    const uint64_t draw = random.below(10);
    Sent sent = request(draw < 4 ? kGet : draw < 7 ? kSet : draw < 8 ? kReplace : kDelete, unsigned(random.below(keys)),
                        random.chance(80) ? unsigned(random.below(70)) : unsigned(random.below(1400)),
                        !expiring || random.chance(40) ? 0 : expiration());
    if (random.chance(80)) return sent;
    sent.taken = false;
    spoil(sent.packet);
    return sent;
  }

  Sent request(uint8_t opcode, unsigned number, unsigned length, uint32_t expiration) {
    const bool stores = opcode == kSet || opcode == kReplace;
    if (!stores) length = expiration = 0;
    Sent sent{Packet(kBody), true, {}};
    Asked& asked = sent.asked;
    asked.op = opcode == kGet ? Get : opcode == kSet ? Insert : opcode == kReplace ? Update : Delete;
    // Keys of all lengths, some of them prefixes of others.
    const unsigned key_length = 1 + number % 16;
    for (unsigned at = 0; at < key_length; at++) asked.key[at] = uint8_t(1 + (number / 16 + at) % 250);
    for (unsigned at = key_length; at < 16; at++) asked.key[at] = 0;
    asked.length = length;
    for (unsigned most = BlockBytes; length > most; most *= 4) asked.kind++;
    asked.expiry = expiration == 0 || expiration > kMonth ? expiration : now + expiration;
    Packet& packet = sent.packet;
    for (auto& byte : packet) byte = uint8_t(random.next());
    put(packet, 12, 0x080045, 3);
    const unsigned extras = stores ? 8 : 0;
    put(packet, 44, 0, 2), put(packet, 46, 1, 2);
    put(packet, 50, 0x80, 1), put(packet, 51, opcode, 1), put(packet, 52, key_length, 2), put(packet, 54, extras, 1), put(packet, 55, 0, 1);
    put(packet, 58, extras + key_length + length, 4), put(packet, 66, 0, 8);
    packet.resize(kBody + extras);
    if (stores) put(packet, kBody, random.next() & 0xffffffff, 4), put(packet, kBody + 4, expiration, 4);
    packet.insert(packet.end(), asked.key.begin(), asked.key.begin() + key_length);
    for (unsigned at = 0; at < length; at++) packet.push_back(uint8_t(random.next()));
    put(packet, 38, packet.size() - 34, 2);
    return sent;
  }

  uint32_t now = 100 * kMonth;

 private:
  // One in ten has the top bit, which is no sign.
  uint32_t expiration() {
    const uint64_t draw = random.below(10);
    return draw == 0 ? 0xffffffff : draw < 3 ? now + uint32_t(random.below(4)) - 1 : 1 + uint32_t(random.below(4));
  }

  // Makes a packet that is not a request of the table. UDP's length stays right, as it is for all packets that arrive
  // here.
  void spoil(Packet& packet) {
    const unsigned extras = packet[54], key_length = packet[53];
    switch (random.below(12)) {
      case 0: put(packet, 50, 0x81, 1); break;
      case 1: put(packet, 51, random.chance(50) ? kAdd : kQuit + random.below(200), 1); break;
      case 2: put(packet, 55, 1 + random.below(255), 1); break;
      case 3: put(packet, 66 + random.below(8), 1 + random.below(255), 1); break;
      case 4: put(packet, 44, 1 + random.below(0xffff), 2); break;
      case 5: put(packet, 46, 2 + random.below(0xfffe), 2); break;
      case 6: put(packet, 58, frames::get(packet, 58, 4) + (random.chance(50) ? 1 : 0x10000), 4); break;
      case 7: packet.push_back(1), put(packet, 38, packet.size() - 34, 2); break;
      case 8: put(packet, 54, extras + 1 + random.below(20), 1); break;
      case 9: packet[kBody + extras + key_length - 1] = 0; break;
      case 10: put(packet, 52, random.chance(50) ? 0 : packet.size(), 2); break;
      default: packet.resize(1 + random.below(kWord)); break;
    }
  }

  // Runs one cycle. Returns whether the packet's word was accepted.
  bool clock(const Sent* sent, size_t at = 0) {
    top.now_i = now;
    top.valid_i = sent != nullptr;
    if (sent != nullptr) {
      const size_t count = std::min<size_t>(kWord, sent->packet.size() - at);
      uint8_t* word = reinterpret_cast<uint8_t*>(&top.word_i[0]);
      for (size_t i = 0; i < kWord; i++) word[i] = i < count ? sent->packet[at + i] : uint8_t(random.next());
      const uint64_t keep = count == kWord ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
      memcpy(word + kWord, &keep, 8);
      top.word_i[18] = at + count == sent->packet.size();
    }
    top.ready_i = out_.open();
    settle();
    const bool taken = sent != nullptr && top.ready_o;
    if (taken && at + kWord >= sent->packet.size()) sent_.push_back(*sent);
    if (top.valid_o && top.ready_i) word_came();
    step();
    return taken;
  }

  void word_came() {
    const uint8_t* word = reinterpret_cast<const uint8_t*>(&top.word_o[0]);
    uint64_t keep;
    memcpy(&keep, word + kWord, 8);
    came_.insert(came_.end(), word, word + __builtin_popcountll(keep));
    if (!(top.word_o[18] & 1)) return;
    // The first words of a long packet may leave before its last one arrives.
    if (sent_.empty() || came_ != sent_.front().packet) fail(*this, "another packet");
    came_.clear();
    const Sent sent = sent_.front();
    sent_.pop_front();
    if (top.taken_o != sent.taken) fail(*this, sent.taken ? "a request is not taken" : "what is no request is taken");
    if (sent.taken) check(sent.asked);
  }

  bool alive(const Key& key) const {
    const auto found = expiries_.find(key);
    return found == expiries_.end() || found->second == 0 || now < found->second;
  }

  void check(const Asked& asked) {
    requests++;
    uint64_t held = 0;
    bool live = table_get(twin_, asked.key.data(), &held);
    if (live && !alive(asked.key)) {
      forget(asked.key, held);
      live = false;
      expired++;
    }
    const uint64_t value = top.value_o;
    const auto status = Status(top.status_o);
    const bool puts = asked.op == Insert || (asked.op == Update && live);
    if (puts && (status == NoRoom || status == Full)) {
      if (live && held >> (kLength + kBlock) == asked.kind) fail(*this, "a key that has a block is refused");
      refused++;
      return;
    }
    if (status != (puts || live ? Ok : NotFound)) fail(*this, "status " + std::to_string(status));
    if (puts) {
      if (value >> (kLength + kBlock) != asked.kind || (value & 0xffff) != asked.length) fail(*this, "a block of another class or length");
      if (live && value >> kLength != held >> kLength && held >> (kLength + kBlock) == asked.kind) fail(*this, "the block is not used again");
      if (live) owners_.erase(held >> kLength);
      const auto owner = owners_.find(value >> kLength);
      if (owner != owners_.end()) {
        // Only an expired entry loses its block to another key.
        uint64_t other = 0;
        if (owner->second != asked.key && (alive(owner->second) || !table_get(twin_, owner->second.data(), &other))) fail(*this, "a block has two keys");
        table_remove(twin_, owner->second.data(), &other);
      }
      owners_[value >> kLength] = asked.key;
      if (!table_insert(twin_, asked.key.data(), value)) fail(*this, "the Rust table is full");
      expiries_[asked.key] = asked.expiry;
    } else if (live) {
      hits++;
      if (value != held) fail(*this, "another place than the Rust table has");
      if (asked.op == Delete) forget(asked.key, held);
    }
  }

  void forget(const Key& key, uint64_t held) {
    uint64_t value;
    table_remove(twin_, key.data(), &value);
    owners_.erase(held >> kLength);
    expiries_.erase(key);
  }

  std::deque<Sent> sent_;
  Packet came_;
  Throttle in_{Throttle::kAlways, 1}, out_{Throttle::kAlways, 1};
  Twin* twin_ = nullptr;
  std::map<Key, uint32_t> expiries_;
  std::map<uint64_t, Key> owners_;
};

void body(const harness::Options& options) {
  Test test(options);
  // Two-word GETs back to back: one per two cycles.
  test.begin(Throttle::kAlways, Throttle::kAlways);
  constexpr unsigned kGets = 2000;
  const uint64_t start = test.cycle;
  for (unsigned i = 0; i < kGets; i++) test.send(test.request(kGet, i, 0, 0));
  test.drain();
  const uint64_t cycles = test.cycle - start;
  if (cycles > 2 * kGets + kLatency + 1) fail(test, "not a packet in two cycles");

  for (int in = 0; in < Throttle::kKinds; in++) {
    for (int out = 0; out < Throttle::kKinds; out++) {
      for (unsigned keys : {1u, 5u, 40u, 400u}) {
        for (const bool expiring : {false, true}) {
          test.begin(Throttle::Kind(in), Throttle::Kind(out));
          for (unsigned i = 0; i < 150; i++) {
            // Time advances only between packets, so that both sides agree on it.
            if (expiring && test.random.chance(5)) {
              test.drain();
              test.now += uint32_t(test.random.below(3));
            }
            test.send(test.packet(keys, expiring));
          }
          test.drain();
        }
      }
    }
  }
  if (test.hits < 1000 || test.refused == 0 || test.expired == 0) fail(test, "what is to be tested did not come up");
  printf("%u GETs of 64 and more bytes in %lu cycles; %lu packets, %lu requests as in Rust, %lu of them found, %lu expired, %lu without a block", kGets, cycles,
         test.packets, test.requests, test.hits, test.expired, test.refused);
}

}  // namespace

int main(int argc, char** argv) { return harness::run(argc, argv, body); }
