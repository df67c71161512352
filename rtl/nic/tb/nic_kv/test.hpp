// Requests of memcached beside the traffic of the other engines. All ports and the host use the same keys. The host's
// stream has the order of all requests but reads that the NIC answers: a plain model executes it, and each reply is
// compared byte for byte. A read that the NIC answers must have the item of some moment between the packets of its port
// before and after it, and not of one before those that the host had received when the read was sent.
#pragma once

#include <optional>

#include "../../../kv/tb/packets.hpp"
#include "../turnpike_nic/test.hpp"

constexpr uint16_t kKvPort = 11211;
constexpr unsigned kHost = nic::kPorts;

struct KvCounts {
  uint64_t packets = 0, hits = 0, executed = 0, passed = 0, others = 0, injected = 0, flushes = 0, refused = 0, evicted = 0, lines = 0;
};

class KvTest : public Test {
 public:
  static constexpr uint32_t kFirstSecond = 1'700'000'000;

  KvTest(uint64_t seed, Counts& counts, KvCounts& kv_counts, uint32_t control = kControl) : Test(seed, counts), random(seed), kv(kv_counts) {
    nic.csr_write(TURNPIKE_NIC_CONTROL, 0);
    for (unsigned at = 0; at < TURNPIKE_NIC_KV_KEY_SECRET_COUNT; at++) {
      const auto word = static_cast<uint32_t>(random.next());
      secrets_[at / 2] |= uint64_t{word} << (at % 2 * 32);
      nic.csr_write(TURNPIKE_NIC_KV_KEY_SECRET + 4 * at, word);
    }
    for (unsigned at = 0; at < TURNPIKE_NIC_KV_TABLE_SECRET_COUNT; at++) nic.csr_write(TURNPIKE_NIC_KV_TABLE_SECRET + 4 * at, static_cast<uint32_t>(random.next()));
    nic.csr_write(TURNPIKE_NIC_KV_UDP_PORT, kKvPort);
    nic.csr_write(TURNPIKE_NIC_KV_NOW, now_);
    nic.csr_write(TURNPIKE_NIC_KV_SERIES, kSeries);
    nic.csr_write(TURNPIKE_NIC_CONTROL, control);
  }

  Random random;
  KvCounts& kv;
  // Called for each write that the NIC had no room for, and for each that it executed.
  std::function<void(const kv::Sent& sent, bool executed)> written;

  // A request as one of few clients sends it; `name` determines the key.
  kv::Sent request(const kv::Command& command, uint64_t name, size_t length, uint32_t expiration) {
    return request(command, key_of(name), length, expiration);
  }

  static kv::Bytes key_of(uint64_t name) {
    kv::Bytes key(1 + (name * 37 + name / 3) % 250, uint8_t('!' + name % 90));
    key[name % 2 == 0 ? 0 : key.size() - 1] ^= 0x80;
    return key;
  }

  kv::Sent line(uint64_t name) { return sealed(kv::build_line(random, key_of(name))); }

  kv::Sent request(const kv::Command& command, const kv::Bytes& key, size_t length, uint32_t expiration) {
    kv::Bytes value;
    value.resize(std::min<size_t>(length, kv::kLongestBody - 8 - key.size()));
    for (auto& byte : value) byte = uint8_t(random.next());
    return sealed(kv::build(random, command, key, value, expiration, now_));
  }

  kv::Sent sealed(kv::Sent sent) {
    Packet& packet = sent.packet;
    if (packet.size() <= kv::kDatagram) packet.resize(kv::kDatagram + 1);
    packet[0] &= 0xfe;
    // The datagram's number identifies its reply.
    if (packet.size() >= kv::kDatagram + 2) put(packet, kv::kDatagram, number_++, 2);
    put(packet, 12, 0x08004500, 4), put(packet, 20, 0x4000, 2), put(packet, 23, 17, 1);
    put(packet, 26, frames::kTrusted + random.below(0x10000), 4), put(packet, 30, frames::kAddress, 4);
    put(packet, 34, 20000 + random.below(1000), 2), put(packet, 36, kKvPort, 2);
    frames::seal(packet, random.chance(80));
    return sent;
  }

  // Sends a packet that the selector takes for the store, from a port or, by injection, from the host.
  void ask(unsigned port, kv::Sent sent) {
    sent.from_host = port == kHost;
    if (!sent.from_host) sent.request.flushes = false;
    if (port == kHost) nic.host_push({nic::kInject, nic::kHostPort, 0, sent.packet});
    else nic.push(port, sent.packet);
    if (!at_.try_emplace({port, sent.packet}, asked_.size()).second) throw std::runtime_error("a packet is sent twice");
    if (sent.packet.size() >= kv::kDatagram + 2) by_number_[{port, get(sent.packet, kv::kDatagram, 2)}] = asked_.size();
    kv.packets++, kv.injected += port == kHost;
    asked_.push_back({std::move(sent), port, stream_, {}, {}, {}, false});
    open_++;
  }

  // A packet for the store's port that the selector does not take.
  void spoiled(unsigned port, kv::Sent sent) {
    Packet& packet = sent.packet;
    const bool udp = get(packet, 40, 2) != 0;
    switch (random.below(9)) {
      case 0: put(packet, 26, 0x0a020000 + random.below(0x10000), 4), frames::seal(packet, udp); break;  // a stranger
      case 1: put(packet, 30, frames::kAddress + 1, 4), frames::seal(packet, udp); break;
      case 2: put(packet, 36, kKvPort + 1, 2), frames::seal(packet, udp); break;
      case 3: put(packet, 34, std::array{0, int{kKvPort}, int{frames::kPort}}[random.below(3)], 2), frames::seal(packet, udp); break;
      case 4: put(packet, 20, 1 + random.below(0x1fff), 2), frames::seal(packet, udp); break;
      case 5: frames::seal(packet, true), packet[kv::kDatagram + random.below(packet.size() - kv::kDatagram)] ^= 1; break;
      case 6: packet.push_back(0); break;
      case 7: packet.resize(1515 + random.below(300)), frames::seal(packet, udp); break;
      default: packet[0] |= 1; break;
    }
    push(port, {packet, Kind::kHost});
  }

  // Runs until nothing is in flight, and judges the reads that the NIC has answered.
  void finish(const std::string& what) {
    run(what);
    // Nothing else follows.
    step(100), look();
    std::array<uint64_t, nic::kPorts + 1> least{}, most;
    most.fill(stream_);
    // The position of the next packet of its port in the stream, from the last one back.
    for (size_t at = asked_.size(); at-- > 0;) {
      Asked& asked = asked_[at];
      if (asked.position) most[asked.port] = *asked.position;
      else asked.most = most[asked.port];
    }
    for (const Asked& asked : asked_) {
      uint64_t& from = least[asked.port];
      if (asked.position) from = *asked.position + 1;
      else from = judge(asked, std::max(from, asked.least));
    }
    asked_.clear(), at_.clear(), by_number_.clear();
    last_.fill(0), replied_.fill(0);
  }

  void pass_time(uint32_t seconds) { nic.csr_write(TURNPIKE_NIC_KV_NOW, now_ += seconds); }

  void expect_counters() {
    const auto check = [&](uint32_t address, uint64_t expected, const char* what) {
      if (nic.csr_counter(address) != expected) throw std::runtime_error(std::string(what) + ": " + std::to_string(nic.csr_counter(address)) + " counted, " + std::to_string(expected) + " seen");
    };
    check(TURNPIKE_NIC_KV_EXECUTED, executed_, "executed");
    check(TURNPIKE_NIC_KV_PASSED, passed_, "passed");
    check(TURNPIKE_NIC_KV_DROPPED, 0, "dropped");
  }

  static constexpr uint16_t kSeries = 0x1234;

 protected:
  bool takes(unsigned port, const Packet& packet) override {
    if (get(packet, 34, 2) != kKvPort) return false;
    replies(port, packet);
    return true;
  }

  bool takes(const nic::HostPacket& from) override {
    const unsigned port = from.port == nic::kHostPort ? kHost : from.port;
    if (from.kind == nic::kReply && port == kHost && get(from.bytes, 34, 2) == kKvPort) {
      replies(port, from.bytes);
      return true;
    }
    const bool executed = from.kind == nic::kExecuted;
    if (!executed && from.kind != nic::kPacket) return false;
    Packet packet = from.bytes;
    uint64_t cas = 0;
    // A FLUSH has no CAS.
    if (executed && packet.size() > kv::kBody) cas = get(packet, kv::kCas, 8), put(packet, kv::kCas, 0, 8);
    const auto found = at_.find({port, packet});
    if (found == at_.end()) {
      if (executed) throw std::runtime_error("the host gets a request that nobody sent: " + hex(packet));
      return false;
    }
    // Others of the same port may come first only if the NIC answers them.
    if (found->second < last_.at(port)) throw std::runtime_error("the host's stream has lost the order of a port");
    last_[port] = found->second;
    arrives(asked_[found->second], executed, cas, from.id);
    return true;
  }

  bool settled() const override { return open_ == 0; }

 private:
  // An item of the NIC, between two positions of the stream: it exists before packet `from` + 1 up to packet `to`.
  struct Version {
    kv::Bytes key;
    kv::Item item;
    uint64_t from, to = UINT64_MAX;
  };
  struct Asked {
    kv::Sent sent;
    unsigned port;
    uint64_t least;                    // packets of the stream that had arrived before
    std::optional<uint64_t> position;  // in the stream
    std::optional<Packet> expected, reply;
    bool complete;
    uint64_t most = 0;
  };

  void arrives(Asked& asked, bool executed, uint64_t cas, uint16_t id) {
    if (asked.position || asked.complete) throw std::runtime_error("the host gets a request that it has had, or that the NIC has answered");
    const kv::Request& request = asked.sent.request;
    const kv::Op op = request.command.op;
    asked.position = stream_;
    (executed ? executed_ : passed_)++;
    if (!request.taken) {
      if (executed != request.flushes || id != 0) throw std::runtime_error("a packet that is no request is executed, or a FLUSH is not");
      if (executed) {
        model_.flush(), kv.flushes++;
        for (const auto& [key, version] : newest_) versions_[version].to = stream_;
        newest_.clear();
      }
      kv.others += !executed;
      complete(asked);
      stream_++;
      return;
    }
    if (executed && op == kv::Get) throw std::runtime_error("the host gets a read that the NIC has answered");
    if (op == kv::Set ? (id == 1) == executed : id > 1 || (id == 1 && (executed || op != kv::Replace))) throw std::runtime_error("another reason not to execute");
    const kv::Bytes key(asked.sent.body.begin(), asked.sent.body.begin() + request.key_length);
    uint64_t print[2];
    kv::fingerprint(secrets_, 128, key, print);
    const kv::Item about = model_.apply(request, asked.sent.body, print[0], now_, executed, cas);
    if (executed && about.cas != cas) throw std::runtime_error("the number of another item");
    // Of items that are too long for a line, the NIC passes the line and keeps the item.
    const auto old = newest_.find(key);
    const bool stays = old != newest_.end() && request.protocol != kv::Binary && key.size() + versions_[old->second].item.value.size() > kv::kLongestText;
    if (old != newest_.end() && !stays) versions_[old->second].to = stream_, newest_.erase(old);
    if (executed && op != kv::Delete) {
      if (op != kv::Touch) {
        if (cas != (uint64_t{0x8000 | kSeries} << 48 | ++writes_)) throw std::runtime_error("a number that is not the next one");
      }
      newest_[key] = versions_.size();
      versions_.push_back({key, about, stream_});
    }
    stream_++;
    kv.executed += executed, kv.passed += !executed, kv.refused += id == 1;
    if (written && (op == kv::Set || op == kv::Replace) && (executed || id == 1)) written(asked.sent, executed);
    if (!executed || (request.command.quiet && !request.command.value)) {
      complete(asked);
      return;
    }
    asked.expected = kv::reply(asked.sent, about, now_);
    if (asked.reply) compare(asked);
  }

  void replies(unsigned port, const Packet& packet) {
    const auto found = by_number_.find({port, get(packet, kv::kDatagram, 2)});
    if (found == by_number_.end()) throw std::runtime_error("a reply to nobody: " + hex(packet));
    if (found->second + 1 <= replied_.at(port)) throw std::runtime_error("replies of a port have lost their order");
    replied_[port] = found->second + 1;
    Asked& asked = asked_[found->second];
    if (asked.reply || asked.complete) throw std::runtime_error("a reply too many");
    asked.reply = packet;
    if (asked.expected) compare(asked);
    else if (asked.sent.request.taken && asked.sent.request.command.op == kv::Get) executed_++, complete(asked);
  }

  void compare(Asked& asked) {
    if (*asked.reply != *asked.expected) throw std::runtime_error("a reply is\n" + hex(*asked.reply) + "\ninstead of\n" + hex(*asked.expected));
    complete(asked);
  }

  void complete(Asked& asked) { asked.complete = true, open_--; }

  // Judges a read that the NIC has answered, executed after `least` packets of the stream or more. Returns the fewest
  // after which its item existed.
  uint64_t judge(const Asked& asked, uint64_t least) {
    const kv::Bytes key(asked.sent.body.begin(), asked.sent.body.begin() + asked.sent.request.key_length);
    const bool is_line = asked.sent.request.protocol != kv::Binary;
    const uint64_t cas = is_line ? 0 : get(*asked.reply, kv::kCas, 8);
    for (const Version& version : versions_) {
      const uint64_t from = std::max(least, version.from + 1), to = std::min(asked.most, version.to);
      if ((!is_line && version.item.cas != cas) || version.key != key || from > to || !kv::exists_at(version.item.expiry, now_)) continue;
      const Packet expected = kv::reply(asked.sent, version.item, now_);
      if (*asked.reply != expected && is_line) continue;
      if (*asked.reply != expected) throw std::runtime_error("a read is\n" + hex(*asked.reply) + "\ninstead of\n" + hex(expected));
      kv.hits++, kv.lines += is_line;
      return from;
    }
    throw std::runtime_error("a read returns an item that did not exist then: " + hex(*asked.reply));
  }

  uint64_t secrets_[kv::kSecrets] = {};
  uint32_t now_ = kFirstSecond;
  kv::Model model_{KvBlocks, 2 * 8 * KvBuckets * 3 / 4};
  uint64_t stream_ = 0, writes_ = 0, open_ = 0, executed_ = 0, passed_ = 0;
  std::deque<Asked> asked_;
  std::map<std::pair<unsigned, Packet>, size_t> at_;
  std::map<std::pair<unsigned, uint64_t>, size_t> by_number_;
  uint16_t number_ = 0;
  std::array<size_t, nic::kPorts + 1> last_{}, replied_{};
  std::vector<Version> versions_;
  std::map<kv::Bytes, size_t> newest_;
};
