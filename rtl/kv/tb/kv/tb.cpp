// Requests of memcached on few keys and packets that are none, under all pairs of idle and back-pressure, with four
// memories. Every reply is, byte for byte, what the model and C++ make of the request, for the request's port. The host
// gets every other packet and every write, in order, with the item's number in a write that the NIC has executed.

#include "../packets.hpp"

using harness::Throttle;
using namespace kv;

namespace {

// Timing of a memory, see dram_model.
struct Latency {
  uint16_t least, spread, refresh, gap;
};
constexpr Latency kLatencies[] = {{1, 0, 0, 0}, {20, 0, 0, 0}, {3, 60, 0, 0}, {60, 20, 400, 50}};

// A packet that has left, and its port.
struct Left {
  Packet packet;
  unsigned port;
  bool executed = false, no_room = false;
};

class Test : public harness::Bench {
 public:
  explicit Test(const harness::Options& options) : Bench(options), random(options.seed) {
    for (auto& secret : secrets_) secret = random.next();
    memcpy(&top.key_secrets_i[0], secrets_, sizeof secrets_);
    for (unsigned at = 0; at < 8; at++) top.table_secrets_i[at] = uint32_t(random.next());
  }

  harness::Random random;
  Model model{Blocks, 2 * 8 * Buckets * 3 / 4};
  uint32_t now = 1'700'000'000;
  uint64_t packets = 0, others = 0, replies = 0, silent = 0;
  uint64_t last_accepted = 0, first_reply = 0, last_reply = 0;
  bool awaits_reply = false;

  void begin(Throttle::Kind in, Throttle::Kind out, const Latency& memory) {
    top.valid_i = top.reply_ready_i = top.host_ready_i = 0;
    top.least_i = memory.least, top.spread_i = memory.spread, top.refresh_i = memory.refresh, top.gap_i = memory.gap;
    top.series_i++;
    reset();
    model.clear(), last_cas_ = 0;
    in_ = Throttle(in, random.next()), replies_out_ = Throttle(out, random.next()), host_out_ = Throttle(out, random.next());
  }

  void mix(unsigned count, unsigned keys, unsigned longest, unsigned sets) {
    for (unsigned i = 0; i < count; i++) {
      // The expiry of a request in flight is that of the second in which it is executed.
      if (random.chance(6)) drain(), now += uint32_t(random.below(2));
      if (random.below(100) == 0) flush(random.chance(70));
      send(draw(random.below(keys), longest, sets));
    }
    drain();
  }

  // Packets and operations around it are in flight.
  void flush(bool from_host) {
    Sent sent = build_flush(random, from_host);
    seal(sent);
    send(sent);
  }

  Sent draw(uint64_t name, unsigned longest, unsigned sets) {
    if (random.chance(35)) {
      Sent sent = line(name);
      if (random.chance(15)) spoil_line(random, sent);
      seal(sent);
      return sent;
    }
    const Command& command = kCommands[random.chance(sets) ? 4 : random.below(std::size(kCommands))];
    Sent sent = request(command, name, random.chance(30) ? random.below(longest + 1) : random.below(120), random.chance(50) ? 0 : 1 + uint32_t(random.below(3)));
    if (random.chance(10)) spoil(random, sent);
    // A datagram has headers, also if it is shorter than a request.
    if (sent.packet.size() < kDatagram + 1) sent.packet.resize(kDatagram + 1);
    seal(sent);
    return sent;
  }

  // Keys whose first and last bytes count, with all rests of a word.
  static Bytes key_of(uint64_t name) {
    Bytes key(1 + (name * 37 + name / 3) % 250, uint8_t('!' + name % 90));
    key[name % 2 == 0 ? 0 : key.size() - 1] ^= 0x80;
    return key;
  }

  Sent line(uint64_t name) {
    Sent sent = build_line(random, key_of(name));
    seal(sent);
    return sent;
  }

  Sent request(const Command& command, uint64_t name, size_t length, uint32_t expiration) {
    const Bytes key = key_of(name);
    Bytes value(std::min<size_t>(length, kLongestBody - 8 - key.size()));
    for (auto& byte : value) byte = uint8_t(random.next());
    Sent sent = build(random, command, key, value, expiration, now);
    seal(sent);
    return sent;
  }

  void send(const Sent& sent) {
    for (size_t at = 0; at < sent.packet.size(); at += kWord) {
      while (!in_.open()) clock(nullptr, 0);
      for (int i = 0; !clock(&sent, at); i++) {
        if (i > 20000) fail(*this, "no word is accepted any more");
      }
    }
    packets++;
  }

  void drain() {
    for (int i = 0; !due_.empty(); i++) {
      clock(nullptr, 0);
      if (i > 50000) fail(*this, "a reply or a packet for the host is missing");
    }
    // Nothing else follows.
    for (unsigned i = 0; i < 60; i++) clock(nullptr, 0);
    if (!hosts_.empty() || !replies_.empty()) fail(*this, "a packet too many");
  }

 private:
  void seal(Sent& sent) {
    // It identifies the replies to reads.
    if (sent.packet.size() >= kDatagram + 2) put(sent.packet, kDatagram, number_++, 2);
    put(sent.packet, 12, 0x0800, 2), put(sent.packet, 14, 0x4500, 2), put(sent.packet, 20, 0x4000, 2), put(sent.packet, 23, 17, 1);
    frames::seal(sent.packet, random.chance(80));
  }

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
    top.from_host_i = sent != nullptr && sent->from_host, top.port_i = sent != nullptr ? port_of(*sent) : 0;
    top.reply_ready_i = replies_out_.open(), top.host_ready_i = host_out_.open();
    settle();
    const bool accepted = sent != nullptr && top.ready_o;
    if (accepted && at == 0) due_.push_back(*sent);
    if (accepted && last) last_accepted = cycle;
    if (top.reply_valid_o && top.reply_ready_i) {
      if (awaits_reply && reply_.empty()) first_reply = cycle, awaits_reply = false;
      last_reply = cycle;
      if (leaves(&top.reply_o[0], reply_)) replies_.push_back({reply_, top.reply_port_o}), reply_.clear();
    }
    if (top.host_valid_o && top.host_ready_i && leaves(&top.host_o[0], host_)) {
      hosts_.push_back({host_, top.host_port_o, bool(top.host_executed_o), bool(top.host_no_room_o)}), host_.clear();
    }
    while (!due_.empty() && resolve()) due_.pop_front();
    step();
    return accepted;
  }

  // Any number that the packet determines.
  static unsigned port_of(const Sent& sent) { return sent.packet[sent.packet.size() - 1] % 8; }

  static bool leaves(const uint32_t* wide, Packet& packet) {
    const uint8_t* word = reinterpret_cast<const uint8_t*>(wide);
    uint64_t keep;
    memcpy(&keep, word + kWord, 8);
    packet.insert(packet.end(), word, word + __builtin_popcountll(keep));
    return wide[18] & 1;
  }

  // Compares all that came of the oldest packet; false if something is still to come.
  bool resolve() {
    const Sent& sent = due_.front();
    const Request& request = sent.request;
    const bool reads = request.taken && request.command.op == Get;
    bool executed = false;
    uint64_t cas = 0;
    bool at_host = !hosts_.empty() && hosts_.front().port == port_of(sent);
    if (at_host) {
      Packet packet = hosts_.front().packet;
      executed = hosts_.front().executed;
      if (executed && request.taken) cas = frames::get(packet, kCas, 8), put(packet, kCas, 0, 8);
      at_host = packet == sent.packet;
    }
    if (at_host) {
      if (executed && !request.flushes && (!request.taken || reads)) fail(*this, "the host gets a packet that it does not need");
    } else if (!hosts_.empty() && !reads) {
      fail(*this, "the host gets another packet");
    } else if (reads && !replies_.empty() && frames::get(replies_.front().packet, kDatagram, 2) == frames::get(sent.packet, kDatagram, 2)) {
      executed = true;
    } else {
      return false;
    }
    const bool no_room = at_host && hosts_.front().no_room;
    const bool has_reply = executed && !request.flushes && (!request.command.quiet || request.command.value);
    if (has_reply && replies_.empty()) return false;
    if (at_host) hosts_.pop_front();
    if (!request.taken) {
      if (executed != request.flushes || no_room) fail(*this, "a packet that is no request is executed, or a FLUSH is not");
      if (executed) model.flush();
      others++;
      return true;
    }

    uint64_t print[2];
    fingerprint(secrets_, FingerprintBits, Bytes(sent.body.begin(), sent.body.begin() + request.key_length), print);
    Item about;
    try {
      about = model.apply(request, sent.body, print[0], now, executed, cas);
    } catch (const std::exception& error) {
      fail(*this, error.what());
    }
    if (executed && (request.command.op == Set || request.command.op == Replace)) {
      if (!(cas >> 63) || cas <= last_cas_) fail(*this, "a number of an item that is not new");
      last_cas_ = cas;
    }
    if (executed && !reads && cas != about.cas) fail(*this, "the number of another item");
    if (request.command.op == Set ? no_room == executed : no_room && (executed || request.command.op != Replace)) fail(*this, "another reason not to execute");
    silent += executed && !has_reply;
    if (!has_reply) return true;
    const Packet due = reply(sent, about, now);
    if (replies_.front().packet != due) fail(*this, "reply " + frames::hex(replies_.front().packet) + ", not " + frames::hex(due));
    if (replies_.front().port != port_of(sent)) fail(*this, "a reply for another port");
    replies_.pop_front(), replies++;
    return true;
  }

  uint64_t secrets_[kSecrets];
  uint64_t last_cas_ = 0;
  uint16_t number_ = 0;
  std::deque<Sent> due_;
  std::deque<Left> replies_, hosts_;
  Packet reply_, host_;
  Throttle in_{Throttle::kAlways, 1}, replies_out_{Throttle::kAlways, 1}, host_out_{Throttle::kAlways, 1};
};

// Cycles each of GETs on items of two rows, which arrive in two words each, and cycles from the last word of a lone GET
// to the first word of its reply.
void measure(Test& test, const char* memory) {
  const auto send = [&](unsigned command, unsigned name) { test.send(test.request(kCommands[command], 27 * name, 8, 0)); };
  for (unsigned i = 0; i < 4; i++) send(4, i);
  test.drain();
  constexpr unsigned kCount = 400;
  test.awaits_reply = true;
  for (unsigned i = 0; i < kCount; i++) send(0, i % 4);
  test.drain();
  harness::figure(std::string("get_latency_") + memory, double(test.last_reply - test.first_reply) / kCount, 1);
  test.awaits_reply = true;
  send(0, 0);
  test.drain();
  harness::figure(std::string("latency_") + memory, double(test.first_reply - test.last_accepted));
}

void body(const harness::Options& options) {
  Test test(options);
  if (FingerprintBits == 128) {
    for (unsigned memory = 0; memory < 2; memory++) {
      test.begin(Throttle::kAlways, Throttle::kAlways, kLatencies[memory]);
      measure(test, memory == 0 ? "1" : "20");
    }
    if (test.model.misses + test.model.refused != 0) fail(test, "the host gets a request although the item is here");
  }
  for (const Latency& memory : kLatencies) {
    for (int in = 0; in < Throttle::kKinds; in++) {
      for (int out = 0; out < Throttle::kKinds; out++) {
        test.begin(Throttle::Kind(in), Throttle::Kind(out), memory);
        test.mix(80, 4, 300, 20);
        test.mix(60, 20, 1432, 30);
        // More items than blocks of a class.
        test.mix(100, 80, 300, 50);
      }
    }
  }
  const Model& model = test.model;
  const uint64_t cases[] = {model.hits, model.writes, model.misses, model.last_seconds, model.first_seconds, model.flushed, test.others, test.silent, model.texts};
  for (unsigned at = 0; at < std::size(cases); at++) {
    if (cases[at] < 10) fail(test, "case " + std::to_string(at) + " has been met " + std::to_string(cases[at]) + " times");
  }
  if ((FingerprintBits == 128) != (model.collisions == 0) || (FingerprintBits == 128) != (model.refused > 20)) fail(test, std::to_string(model.collisions) + " keys share a fingerprint, " + std::to_string(model.refused) + " have no room");
  printf("%lu packets, %lu no requests; %lu reads, %lu of them lines, and %lu writes executed, %lu replies; %lu misses, %lu of other keys, %lu without room", test.packets,
         test.others, model.hits, model.texts, model.writes, test.replies, model.misses, model.collisions, model.refused);
}

}  // namespace

int main(int argc, char** argv) { return harness::run(argc, argv, body); }
