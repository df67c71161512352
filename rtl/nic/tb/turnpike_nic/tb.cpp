// The whole NIC against the Rust ledger: every operation is executed in both, in the order that the records tell; every reply, and every packet
// that is not the NIC's own, is compared byte for byte. Under all pairs of idle and back-pressure patterns, all ports at once. With EXTERNAL the
// accounts and the proofs are in DRAM, under several timings of it.
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "../../../twin/twin.hpp"
#include "../../model/nic.hpp"
#include "../frames.hpp"
#include "harness.hpp"
#include "proofs.hpp"
#include "protocol.hpp"

using namespace harness;
using frames::get;
using frames::hex;
using frames::put;
using nic::Packet;
using protocol::kStatusBusy, protocol::kStatusMalformed, protocol::kStatusNotTrusted, protocol::kStatusTransactionIdReused;

constexpr uint32_t kAccounts = 16;
// Between parts of a run, a block is announced.
constexpr unsigned kParts = 5;
constexpr size_t kWindow = 1024;

// Of the next NIC that is made.
static nic::Memory memory;
#ifdef EXTERNAL
constexpr nic::Memory kMemories[] = {{1, 0, 0, 0}, {20, 0, 0, 0}, {3, 60, 700, 90}};
#else
constexpr nic::Memory kMemories[] = {{}};
#endif

// What a packet is to the NIC.
enum class Kind { kCompact, kBatch, kProof, kHost };

class Traffic {
 public:
  Traffic(uint64_t seed, Proofs& proofs) : random_(seed), proofs_(proofs) {}

  std::pair<Packet, Kind> next() {
    const bool is_batch = random_.chance(20), is_proof = !is_batch && random_.chance(20);
    // Around one, and up to what a packet takes.
    const size_t count = random_.chance(90) ? 1 + random_.below(6) : 1 + random_.below(60);
    Packet packet = headers(is_batch ? 58 + 24 * count : is_proof ? proofs_.request_bytes() : 64);
    if (is_batch) batch(packet, count);
    else if (is_proof) proofs_.request(packet);
    else compact(packet, frames::kHeaders);
    frames::seal(packet, random_.chance(80));
    if (random_.chance(75)) return {packet, kind_of(packet)};
    spoil(packet);
    return {packet, Kind::kHost};
  }

  // From a trusted address, as long as a packet can be.
  Packet full_batch() {
    Packet packet = headers(58 + 24 * 60);
    put(packet, 26, frames::kTrusted + random_.below(0x10000), 4);
    // CREATE takes 8 cycles.
    batch(packet, 60, 200);
    frames::seal(packet, random_.chance(80));
    return packet;
  }

 private:
  // Batches are refused as a whole where the sender is not trusted, and answers are not answered: both are the host's to do.
  static Kind kind_of(const Packet& packet) {
    if (get(packet, 42, 4) == 0x54500103) return Kind::kProof;
    if (get(packet, 42, 2) != 0x5450) return get(packet, 62, 2) == kStatusMalformed ? Kind::kHost : Kind::kCompact;
    return (get(packet, 26, 4) & frames::kTrustedMask) == frames::kTrusted ? Kind::kBatch : Kind::kHost;
  }

  void batch(Packet& packet, size_t count, unsigned kinds = 20) {
    put(packet, 42, 0x54500102, 4);
    put(packet, 50, count, 2);
    put(packet, 52, 0, 1);
    put(packet, 53, random_.below(2), 1);
    put(packet, 54, 0, 4);
    for (size_t at = 58; at < packet.size(); at += 24) {
      compact(packet, at, kinds);
      put(packet, at + 22, random_.chance(95) ? 0 : random_.next(), 2);
    }
  }

  Packet headers(size_t length) {
    Packet packet(length);
    for (auto& byte : packet) byte = static_cast<uint8_t>(random_.next());
    packet[0] &= 0xfe;
    put(packet, 12, 0x0800, 2);
    put(packet, 14, 0x45, 1);
    put(packet, 20, random_.chance(50) ? 0x4000 : 0, 2);
    put(packet, 23, 17, 1);
    put(packet, 26, random_.chance(90) ? frames::kTrusted + random_.below(0x10000) : 0x0a020000 + random_.below(0x10000), 4);
    put(packet, 30, frames::kAddress, 4);
    put(packet, 34, 1 + random_.below(7399), 2);
    put(packet, 36, frames::kPort, 2);
    return packet;
  }

  // One of `kinds` is a CREATE, two are ISSUEs, two REFERs, all others TRANSFERs.
  void compact(Packet& packet, size_t at, unsigned kinds = 20) {
    const uint32_t source = static_cast<uint32_t>(random_.below(20)), kind = static_cast<uint32_t>(random_.below(kinds));
    put(packet, at, kind == 0 ? 1 : kind < 3 ? 2 : kind < 5 ? 4 : 3, 4);
    put(packet, at + 4, random_.below(20000), 4);
    put(packet, at + 8, source, 4);
    put(packet, at + 12, kind < 5 ? 0 : random_.below(20), 4);
    put(packet, at + 16, kind == 0 || (kind >= 3 && kind < 5) ? 0 : kind < 3 ? 0xffffffff : random_.below(50), 4);
    put(packet, at + 20, 0, 2);
    // What the extractor refuses.
    if (random_.chance(5)) put(packet, at, 5 + random_.below(60000), 4);
    if (random_.chance(3)) put(packet, at + 20, 1 + random_.below(40), 2);
    if (random_.chance(3)) put(packet, at + 12 + random_.below(8), random_.next(), 1);
  }

  // Makes of a packet one that is the host's.
  void spoil(Packet& packet) {
    switch (random_.below(19)) {
      case 0: packet.resize(1 + random_.below(packet.size() - 1)); break;
      case 18:
        packet.resize(1 + random_.below(200));
        for (auto& byte : packet) byte = static_cast<uint8_t>(random_.next());
        break;
      case 1: packet.resize(packet.size() + 1 + random_.below(1450), 0xaa); break;
      case 2: packet.resize(1600 + random_.below(8000), 0x55); break;
      case 3: put(packet, 12, random_.chance(50) ? 0x0806 : random_.chance(50) ? 0x86dd : 0x8100, 2); break;
      case 4: put(packet, 14, 0x46, 1), frames::seal(packet, true); break;
      case 5: put(packet, 20, 0x2000, 2), frames::seal(packet, true); break;
      case 6: put(packet, 20, 1 + random_.below(0x1fff), 2), frames::seal(packet, true); break;
      case 7: put(packet, 23, 6, 1), frames::seal(packet, true); break;
      case 8: put(packet, 30, frames::kAddress + 1, 4), frames::seal(packet, true); break;
      case 9: put(packet, 36, frames::kPort + 1, 2), frames::seal(packet, true); break;
      case 10: put(packet, 38, get(packet, 38, 2) - 1, 2); break;
      case 11: packet[14 + random_.below(20)] ^= 1 << random_.below(8); break;
      case 12:
        frames::seal(packet, true);
        packet[42 + random_.below(packet.size() - 42)] ^= 1 << random_.below(8);
        break;
      case 13: put(packet, 34, random_.chance(50) ? frames::kPort : 0, 2), frames::seal(packet, true); break;
      case 14: packet[0] |= 1; break;
      case 15: put(packet, 42, random_.chance(50) ? 0x54500182 : 0x54500200 + random_.below(0xfe00), 4), frames::seal(packet, true); break;
      default:
        // A batch of another count, format or promise, or with a field set that has to be zero; a compact frame with it is too short.
        put(packet, 42, 0x54500102, 4);
        put(packet, 50, packet.size() == 64 ? 1 : (packet.size() - 58) / 24, 2);
        put(packet, 52, 0, 6);
        const size_t at = 50 + random_.below(8);
        packet[at] ^= at == 53 ? 2 : 1 << random_.below(8);
        frames::seal(packet, true);
    }
  }

  Random random_;
  Proofs& proofs_;
};

// What was asked and what came, each in its order; a pair is compared once both are there.
class Expectations {
 public:
  void expect(Packet packet) { expected_.push_back(std::move(packet)); }
  void came(Packet packet) { came_.push_back(std::move(packet)); }

  void compare(const std::string& what) {
    for (; !expected_.empty() && !came_.empty(); expected_.pop_front(), came_.pop_front()) {
      if (expected_.front() != came_.front()) {
        throw std::runtime_error(what + " is\n" + hex(came_.front()) + "\ninstead of\n" + hex(expected_.front()));
      }
    }
  }
  bool done() const { return expected_.empty() && came_.empty(); }

 private:
  std::deque<Packet> expected_, came_;
};

struct Counts {
  uint64_t packets = 0, operations = 0, host = 0, cycles = 0, hits = 0, misses = 0;
  std::map<uint16_t, uint64_t> statuses;
};

class Test {
 public:
  // Cycles from tick to tick: in eight of them no more operations are executed than are remembered.
  static constexpr uint64_t kTick = 100;
  static constexpr uint32_t kControl = TURNPIKE_NIC_CONTROL_RUN | TURNPIKE_NIC_CONTROL_COMPACT | TURNPIKE_NIC_CONTROL_BATCH |
                                       TURNPIKE_NIC_CONTROL_PROOF | TURNPIKE_NIC_CONTROL_RECORD;

  Test(uint64_t seed, Counts& counts, uint32_t accounts = kAccounts)
      : nic(seed, memory), proofs(seed), counts_(counts), random_(seed), ledger_(accounts, kWindow), forms_(1, kWindow) {
    for (unsigned at = 0; at < 4; at++) nic.csr_write(TURNPIKE_NIC_SECRET + 4 * at, static_cast<uint32_t>(random_.next()));
    for (unsigned at = 0; at < 16; at++) nic.csr_write(TURNPIKE_NIC_PROOF_SECRET + 4 * at, static_cast<uint32_t>(random_.next()));
    nic.csr_write(TURNPIKE_NIC_ADDRESS, frames::kAddress);
    nic.csr_write(TURNPIKE_NIC_UDP_PORT, frames::kPort);
    nic.csr_write(TURNPIKE_NIC_PROMISE, 1);
    nic.csr_write(TURNPIKE_NIC_TRUSTED_ADDRESS, frames::kTrusted);
    nic.csr_write(TURNPIKE_NIC_TRUSTED_MASK, frames::kTrustedMask);
    nic.csr_write(TURNPIKE_NIC_ACCOUNT_LIMIT, accounts);
    nic.csr_write(TURNPIKE_NIC_CONTROL, kControl);
  }

  nic::Nic nic;
  Proofs proofs;
  // Whether time passes for what is remembered of operations: so fast that it goes by count alone.
  bool ticks = true;
  // Where there are any: what the next operations have to give.
  std::deque<twin::Frame> golden;
#ifdef TRACE
  // The last cycles are what tells why a run failed: the waveform begins anew after so many, and the one before is kept.
  static constexpr uint64_t kTraced = 4000;
  std::unique_ptr<VerilatedVcdC> wave = std::make_unique<VerilatedVcdC>();
  void trace(const std::string& path) {
    nic.top.trace(wave.get(), 99);
    wave->open(path.c_str());
    nic.changed = [this, path](uint64_t time) {
      if (time % (2 * kTraced) == 0) {
        wave->close();
        std::rename(path.c_str(), (path + ".before").c_str());
        wave->open(path.c_str());
      }
      wave->dump(time);
    };
  }
#endif

  void push(unsigned port, std::pair<Packet, Kind> made) {
    auto& [packet, kind] = made;
    if (kind == Kind::kCompact) asked_[port][0].push_back({packet, packet, 42});
    if (kind == Kind::kBatch) asked_[port][1].push_back({packet, packet, 58});
    if (kind == Kind::kProof) proof_asked_[port][id_of(packet)] = packet;
    if (kind == Kind::kHost) host_[port].expect(packet);
    nic.push(port, std::move(packet));
    counts_.packets++;
  }

  void run(const std::string& what) {
    for (uint64_t quiet = 0; !done(); quiet++) {
      step();
      if (look()) quiet = 0;
      if (quiet > 30000) throw std::runtime_error("cycle " + std::to_string(nic.cycle) + ": nothing moves any more in " + what);
    }
  }

  // Takes what has come. Whether there was any.
  bool look() {
    Packet packet;
    nic::HostPacket from;
    bool any = false;
    for (unsigned port = 0; port < nic::kPorts; port++) {
      while (nic.pop(port, packet)) {
        any = true;
        if (is_proof(packet)) {
          proof_reply(port, packet);
          continue;
        }
        Expectations& replies = replies_[port][is_batch(packet)];
        replies.came(packet);
        replies.compare("a reply");
      }
    }
    while (nic.host_pop(from)) {
      any = true;
      if (from.kind == nic::kRecord) {
        record(from.bytes);
      } else if (from.kind == nic::kMiss || is_proof_asked(from)) {
        miss(from);
      } else if (from.kind == nic::kPacket) {
        host_.at(from.port).came(from.bytes);
        host_[from.port].compare("a packet to the host");
        counts_.host++;
      } else {
        throw std::runtime_error("the host gets a packet of no known kind");
      }
    }
    return any;
  }

  bool done() const {
    for (unsigned port = 0; port < nic::kPorts; port++) {
      if (nic.waiting(port) || !host_[port].done() || !proof_asked_[port].empty() || !proof_answered_[port].empty()) return false;
      for (const bool in_batch : {false, true}) {
        if (!asked_[port][in_batch].empty() || !replies_[port][in_batch].done()) return false;
      }
    }
    return nic.host_waiting() == 0;
  }

  // Time passes in some of the cycles.
  void step(uint64_t cycles = 1) {
    for (; cycles > 0; cycles--) {
      if (ticks && nic.cycle >= next_tick_) tick();
      else nic.step();
    }
  }

  // Takes a cycle.
  void tick() {
    nic.csr_write(TURNPIKE_NIC_RETRY_TICK, is_odd_ = !is_odd_);
    next_tick_ = nic.cycle + kTick;
  }

  // The node tells of a change of a chain while nothing is under way, so that there is one truth for all requests behind it.
  void announce(unsigned chain, bool reorganises) {
    for (auto& packet : proofs.change(chain, reorganises)) nic.host_push({nic::kAnnounce, 0, 0, std::move(packet)});
    run("announcements");
    const auto willing = std::exchange(nic.willing, nullptr);
    nic.step(300);
    nic.willing = willing;
  }

 private:
  // An operation was executed: it is in Rust as well.
  void record(const Packet& record) {
    if (record.size() != 32) throw std::runtime_error("a record of another length");
    const unsigned port = record[23];
    const bool in_batch = record[22];
    const auto given = static_cast<uint16_t>(get(record, 20, 2));
    if (record[22] > 1 || port >= nic::kPorts || asked_[port][in_batch].empty()) throw std::runtime_error("a record of what nobody asked");
    Asked& asked = asked_[port][in_batch].front();
    const auto entry = asked.packet.begin() + asked.at;
    if (!std::equal(entry, entry + 20, record.begin())) throw std::runtime_error("a record of another operation");
    const bool trusted = (get(asked.packet, 26, 4) & frames::kTrustedMask) == frames::kTrusted;
    twin::Frame frame;
    std::copy_n(entry, frame.size(), frame.begin());
    const bool reserved = in_batch && get(asked.packet, asked.at + 22, 2) != 0;
    const uint64_t value = execute(frame, trusted, reserved, given);
    if ((frame[20] << 8 | frame[21]) != given || value != get(record, 24, 8)) {
      throw std::runtime_error("status " + std::to_string(given) + ", value " + std::to_string(get(record, 24, 8)) + " of " + hex(record) + " instead of " +
                               std::to_string(frame[20] << 8 | frame[21]) + ", " + std::to_string(value));
    }
    if (!golden.empty()) {
      if (frame != golden.front()) throw std::runtime_error("not what the vectors say: " + hex(Packet(frame.begin(), frame.end())));
      golden.pop_front();
    }
    std::copy(frame.begin(), frame.end(), asked.reply.begin() + asked.at);
    asked.at += in_batch ? 24 : 22;
    if (asked.at == asked.packet.size()) {
      if (in_batch) asked.reply[45] |= 0x80, asked.reply[53] = 1;
      replies_[port][in_batch].expect(frames::reply_to(asked.packet, Packet(asked.reply.begin() + 42, asked.reply.end())));
      replies_[port][in_batch].compare("a reply");
      asked_[port][in_batch].pop_front();
    }
    counts_.statuses[given]++;
    counts_.operations++;
  }

  static uint32_t id_of(const Packet& packet) { return static_cast<uint32_t>(get(packet, 46, 4)); }
  static bool is_proof(const Packet& packet) { return packet.size() > 89 && get(packet, 42, 4) == 0x54500183; }
  bool is_proof_asked(const nic::HostPacket& from) const {
    if (from.kind != nic::kPacket || from.bytes.size() < 90 || from.port >= nic::kPorts) return false;
    const auto found = proof_asked_[from.port].find(id_of(from.bytes));
    return found != proof_asked_[from.port].end() && found->second == from.bytes;
  }

  // From the cache, or from the host behind a miss.
  void proof_reply(unsigned port, const Packet& packet) {
    const uint32_t id = id_of(packet);
    const auto asked = proof_asked_[port].find(id), answered = proof_answered_[port].find(id);
    Packet expected;
    if (asked != proof_asked_[port].end()) {
      const Packet body = proofs.body(Proofs::key_of(asked->second));
      expected = frames::reply_to(asked->second, Proofs::reply(asked->second, body));
      if (expected.size() > asked->second.size()) throw std::runtime_error("a proof is longer than its request");
      proof_asked_[port].erase(asked);
      counts_.hits++;
    } else if (answered != proof_answered_[port].end()) {
      expected = answered->second;
      proof_answered_[port].erase(answered);
    } else {
      throw std::runtime_error("a proof that nobody asked for");
    }
    if (packet != expected) throw std::runtime_error("a proof is\n" + hex(packet) + "\ninstead of\n" + hex(expected));
  }

  // The host answers the client itself, and once, if it is asked to, the cache: with the truth, with nothing, or too late.
  void miss(const nic::HostPacket& from) {
    if (from.port >= nic::kPorts || !proof_asked_[from.port].contains(id_of(from.bytes))) throw std::runtime_error("a miss that nobody asked for");
    const Packet request = proof_asked_[from.port][id_of(from.bytes)];
    if (request != from.bytes) throw std::runtime_error("a miss is\n" + hex(from.bytes) + "\ninstead of\n" + hex(request));
    proof_asked_[from.port].erase(id_of(from.bytes));
    Packet body = proofs.body(Proofs::key_of(request));
    const Packet reply = frames::reply_to(request, Proofs::reply(request, body));
    if (reply.size() <= request.size()) {
      proof_answered_[from.port][id_of(request)] = reply;
      nic.host_push({nic::kSend, from.port, 0, reply});
    }
    counts_.misses++;
    if (from.kind != nic::kMiss) return;
    const uint64_t draw = random_.below(20);
    if (draw == 0) body[random_.below(40)] ^= 1;
    if (draw == 1) body.resize(1 + random_.below(39));
    nic.host_push({draw == 2 ? nic::kNone : nic::kFill, 0, from.id, draw == 2 ? Packet(1) : body});
  }

  static bool is_batch(const Packet& packet) { return packet.size() > 64 && get(packet, 42, 2) == 0x5450; }

  // Form comes before trust, trust before the ledger; of what was too much for the window nothing was done.
  uint64_t execute(twin::Frame& frame, bool trusted, bool reserved, uint16_t given) {
    if (trusted && !reserved && given != kStatusBusy) return ledger_.execute(frame);
    twin::Frame refused = frame;
    forms_.execute(refused);
    const auto form = static_cast<uint16_t>(refused[20] << 8 | refused[21]);
    // That an id was used before is not of the form.
    if (form >= 16 && form != kStatusTransactionIdReused) {
      frame = refused;
    } else {
      std::fill(frame.begin() + 16, frame.begin() + 20, 0);
      frame[20] = 0;
      frame[21] = !trusted ? kStatusNotTrusted : reserved ? kStatusMalformed : kStatusBusy;
    }
    return 0;
  }

  bool is_odd_ = false;
  uint64_t next_tick_ = 0;
  Counts& counts_;
  Random random_;
  // The second one tells what form alone refuses.
  twin::Ledger ledger_, forms_;
  // A packet whose operations are executed one by one, and its reply so far.
  struct Asked {
    Packet packet, reply;
    size_t at;
  };
  // Of each port, compact frames and batches apart: they may overtake each other.
  std::array<std::array<std::deque<Asked>, 2>, nic::kPorts> asked_;
  std::array<std::array<Expectations, 2>, nic::kPorts> replies_;
  std::array<Expectations, nic::kPorts> host_;
  // By the frame's id: asked and not yet answered, and what the host has answered.
  std::array<std::map<uint32_t, Packet>, nic::kPorts> proof_asked_, proof_answered_;
};

static void pass([[maybe_unused]] const Options& options, uint64_t seed, Throttle::Kind idle, Throttle::Kind pressure, uint64_t packets, Counts& counts) {
  Test test(seed, counts);
#ifdef TRACE
  test.trace(options.trace);
#endif
  std::vector<Throttle> throttles;
  for (unsigned stream = 0; stream < nic::kStreams; stream++) {
    const bool in = stream < nic::kTx || stream == nic::kFromHost;
    throttles.emplace_back(Throttle::Kind(in ? idle : (pressure + stream) % Throttle::kKinds), seed + stream);
  }
  test.nic.willing = [&](unsigned stream) { return throttles[stream].open(); };
  Traffic traffic(seed, test.proofs);
  for (unsigned chain = 0; chain < 2; chain++) test.announce(chain, true);
  for (unsigned part = 0; part < kParts; part++) {
    for (uint64_t at = 0; at < packets / kParts; at++) test.push(at % nic::kPorts, traffic.next());
    test.run("seed " + std::to_string(seed));
    test.announce(part % 2, part % 6 == 5);
  }
  counts.cycles += test.nic.cycle;
}

// A packet from a trusted client, with a frame of its own.
static Packet packet_of(const Packet& frame) {
  Packet packet(frames::kHeaders);
  put(packet, 0, 0x020000000001, 6);
  put(packet, 6, 0x020000000002, 6);
  put(packet, 12, 0x080045, 3);
  put(packet, 22, 0x4011, 2);
  put(packet, 26, frames::kTrusted + 1, 4);
  put(packet, 30, frames::kAddress, 4);
  put(packet, 34, 40000, 2);
  put(packet, 36, frames::kPort, 2);
  packet.insert(packet.end(), frame.begin(), frame.end());
  frames::seal(packet, true);
  return packet;
}

static Packet batch_of(const std::vector<Packet>& entries) {
  Packet frame(16);
  put(frame, 0, 0x54500102, 4);
  put(frame, 8, entries.size(), 2);
  for (const auto& entry : entries) {
    frame.insert(frame.end(), entry.begin(), entry.end());
    frame.resize(frame.size() + 2);
  }
  return frame;
}

static Packet compact(uint32_t command, uint32_t transaction, uint32_t source, uint32_t destination, uint32_t amount) {
  Packet frame(22);
  for (const auto& [at, value] : std::map<size_t, uint32_t>{{0, command}, {4, transaction}, {8, source}, {12, destination}, {16, amount}}) put(frame, at, value, 4);
  return frame;
}

static Packet bytes_of(const std::string& text) {
  Packet bytes(text.size() / 2);
  for (size_t at = 0; at < bytes.size(); at++) bytes[at] = static_cast<uint8_t>(std::stoul(text.substr(2 * at, 2), nullptr, 16));
  return bytes;
}

// The vectors of the ledger, as compact frames and as batches; then every datagram of the wire's, whose kind decides who answers it.
static void golden(const Options& options, Counts& counts) {
  std::ifstream requests(options.vectors + "/ledger/compact_requests.hex"), replies(options.vectors + "/ledger/compact_replies.hex");
  std::vector<Packet> asked;
  std::deque<twin::Frame> given;
  std::string line, reply;
  while (std::getline(requests, line) && std::getline(replies, reply)) {
    if (line[0] == '/') continue;
    asked.push_back(bytes_of(line));
    given.emplace_back();
    std::ranges::copy(bytes_of(reply), given.back().begin());
  }
  if (asked.size() < 100) throw std::runtime_error("no vectors in " + options.vectors);
  Test alone(options.seed, counts, 100);
  alone.golden = given;
  for (const auto& frame : asked) alone.push(0, {packet_of(frame), Kind::kCompact});
  alone.run("compact vectors");
  Test batched(options.seed, counts, 100);
  batched.golden = given;
  for (size_t at = 0, count = 1; at < asked.size(); at += count, count = count % 60 + 1) {
    const auto end = asked.begin() + std::min(at + count, asked.size());
    batched.push(nic::kPorts - 1, {packet_of(batch_of({asked.begin() + at, end})), Kind::kBatch});
  }
  batched.run("batches of vectors");
  if (!alone.golden.empty() || !batched.golden.empty()) throw std::runtime_error("not all vectors were executed");

  std::ifstream wire(options.vectors + "/wire/requests.txt");
  Test test(options.seed, counts);
  size_t count = 0;
  while (std::getline(wire, line)) {
    std::istringstream fields(line);
    std::string name, kind, status, answer, text;
    if (line.empty() || line[0] == '#' || !(fields >> name >> kind >> status >> answer >> text)) continue;
    const Packet frame = text == "-" ? Packet() : bytes_of(text);
    Kind ours = Kind::kHost;
    // Of compact frames those with another length are none; of batches the NIC takes compact entries at its own promise; and whether
    // a proof's key is well formed is the host's to say, as it has no answer.
    if (kind == "compact" && frame.size() == 22 && name != "compact_status_malformed") ours = Kind::kCompact;
    if (kind == "batch" && status == "OK" && frame[10] == 0 && frame[11] <= 1) ours = Kind::kBatch;
    if (kind == "proof" && status == "OK" && frame.size() <= 1472) ours = Kind::kProof;
    if (name == "proof_bitcoin_index" || name == "proof_key_long" || name == "proof_locator_long") ours = Kind::kProof;
    test.push(static_cast<unsigned>(count++ % nic::kPorts), {packet_of(frame), ours});
    test.run(name);
  }
  if (count < 100) throw std::runtime_error("no vectors of the wire in " + options.vectors);
}

// The wire's vectors of proofs: asked for twice, of which the first has the host fill the cache.
static void proof_vectors(const Options& options) {
  std::ifstream wire(options.vectors + "/wire/replies.txt");
  std::string line, name, kind, status, text;
  unsigned count = 0;
  while (std::getline(wire, line)) {
    std::istringstream fields(line);
    if (line.empty() || line[0] == '#' || !(fields >> name >> kind >> status >> text) || kind != "proof" || status != "OK") continue;
    Packet frame = bytes_of(text), announcement(106);
    // Some have padding behind, which the NIC does not send.
    frame.resize(48 + get(frame, 12, 4));
    Packet request(frame.begin(), frame.begin() + 48);
    request[3] = 3;
    put(request, 12, 0, 4);
    request.resize(1472);
    announcement[0] = Proofs::kReorganise;
    announcement[1] = uint8_t(frame[8] << 4);
    std::copy_n(frame.begin() + 48, 40, announcement.begin() + 34);

    Counts counts;
    Test test(options.seed, counts);
    auto& nic = test.nic;
    nic.host_push({nic::kAnnounce, 0, 0, announcement});
    nic.step(3000);
    nic.push(0, packet_of(request));
    nic.step(500);
    nic::HostPacket miss;
    Packet reply;
    if (!nic.host_pop(miss) || miss.kind != nic::kMiss || miss.bytes != packet_of(request)) throw std::runtime_error(name + ": no miss");
    nic.host_push({nic::kFill, 0, miss.id, Packet(frame.begin() + 48, frame.end())});
    nic.step(300);
    nic.push(0, packet_of(request));
    nic.step(500);
    if (!nic.pop(0, reply) || reply != frames::reply_to(packet_of(request), frame)) throw std::runtime_error(name + " is " + hex(reply));
    if (nic.csr_counter(TURNPIKE_NIC_PROOF_HITS) != 1 || nic.csr_counter(TURNPIKE_NIC_FILLS) != 1) throw std::runtime_error(name + ": counters");
    count++;
  }
  if (count < 3) throw std::runtime_error("no vectors of proofs in " + options.vectors);
}

// Registers, what the host injects and sends, replies that it holds, and a restart.
static void host(const Options& options) {
  Counts counts;
  Test test(options.seed, counts);
  auto& nic = test.nic;
  const auto check = [&](bool right, const char* what) {
    if (!right) throw std::runtime_error(std::string("host: ") + what);
  };
  const auto from_nic = [&](uint8_t kind, uint8_t port) {
    nic::HostPacket packet;
    nic.step(3000);
    check(nic.host_pop(packet) && packet.kind == kind && packet.port == port, "a packet of another kind or port");
    return packet.bytes;
  };
  check(nic.csr_read(TURNPIKE_NIC_ID) == 0x54504e49 && nic.csr_read(TURNPIKE_NIC_PORTS) == nic::kPorts &&
            nic.csr_read(TURNPIKE_NIC_RETRIES) == kWindow, "what it is");
  check(nic.csr_read(TURNPIKE_NIC_ADDRESS) == frames::kAddress && nic.csr_read(TURNPIKE_NIC_SECRET) == 0, "what was written");
  nic.csr_write(TURNPIKE_NIC_CONTROL, (Test::kControl | TURNPIKE_NIC_CONTROL_HOLD) & ~TURNPIKE_NIC_CONTROL_RECORD);

  // A reply that is held, and then sent.
  Packet packet, frame = compact(1, 1, 7, 0, 0);
  const auto request = packet_of(frame);
  const unsigned port = nic::kPorts - 1;
  nic.push(port, request);
  const Packet held = from_nic(nic::kReply, static_cast<uint8_t>(port));
  check(held == frames::reply_to(request, frame) && !nic.pop(port, packet), "a reply that is not held");
  nic.host_push({nic::kSend, static_cast<uint8_t>(port), 0, held});
  nic.step(100);
  check(nic.pop(port, packet) && packet == held, "a packet is not sent");
  // What there is not goes nowhere.
  nic.host_push({nic::kSend, nic::kPorts, 0, held});
  nic.host_push({77, 0, 0, held});
  nic.csr_write(TURNPIKE_NIC_CONTROL, Test::kControl & ~TURNPIKE_NIC_CONTROL_RECORD);
  // From the host itself: the answer comes back to it, as does what no engine takes.
  frame = compact(2, 2, 7, 0, 1000);
  nic.host_push({nic::kInject, nic::kHostPort, 0, packet_of(frame)});
  put(frame, 16, 1000, 4);
  check(from_nic(nic::kReply, nic::kHostPort) == frames::reply_to(packet_of(frame), frame), "an injected operation");
  Packet other(100, 0x33);
  nic.host_push({nic::kInject, nic::kHostPort, 0, other});
  check(from_nic(nic::kPacket, nic::kHostPort) == other, "an injected packet");
  nic.host_push({nic::kInject, 0, 0, packet_of(compact(4, 3, 7, 0, 0))});
  nic.step(3000);
  check(nic.pop(0, packet) && get(packet, 58, 4) == 1000, "an operation injected for a port");
  check(nic.csr_counter(TURNPIKE_NIC_OPERATIONS) == 3 && nic.csr_counter(TURNPIKE_NIC_RX_PACKETS + 8 * port) == 1, "counters");
  check(nic.csr_counter(TURNPIKE_NIC_SENT_PACKETS) == 1 && nic.csr_counter(TURNPIKE_NIC_HOST_PACKETS) == 1, "counters of the host");
  // Nothing is taken while it does not run, and nothing of before is there afterwards.
  nic.csr_write(TURNPIKE_NIC_CONTROL, 0);
  nic.push(0, packet_of(compact(4, 4, 7, 0, 0)));
  nic.step(1000);
  check(nic.waiting(0) == 1, "a packet is taken");
  nic.csr_write(TURNPIKE_NIC_CONTROL, Test::kControl & ~TURNPIKE_NIC_CONTROL_RECORD);
  nic.step(3000);
  check(nic.pop(0, packet) && get(packet, 62, 2) == 2, "an account outlives a restart");
}

// Full batches on all ports, as fast as they go in.
static void bulk(const Options& options, uint64_t operations, Counts& counts) {
  Test test(options.seed, counts);
#ifdef TRACE
  test.trace(options.trace);
#endif
  Traffic traffic(options.seed, test.proofs);
  const uint64_t until = counts.operations + operations;
  while (counts.operations < until) {
    for (unsigned port = 0; port < nic::kPorts; port++) {
      for (size_t waiting = test.nic.waiting(port); waiting < 4; waiting++) test.push(port, {traffic.full_batch(), Kind::kBatch});
    }
    test.step(200);
    test.look();
  }
  test.run("full batches");
}

// Without ticks the memory of retries fills, and what is new is BUSY; with eight of them there is room again.
static void without_ticks(const Options& options) {
  Counts counts;
  Test test(options.seed, counts);
  Traffic traffic(options.seed, test.proofs);
  test.ticks = false;
  const auto pass = [&](const std::string& what) {
    const auto before = counts.statuses[kStatusBusy];
    for (unsigned batches = 0; batches < 4 * kWindow / 60; batches++) test.push(batches % nic::kPorts, {traffic.full_batch(), Kind::kBatch});
    test.run(what);
    return counts.statuses[kStatusBusy] - before;
  };
  pass("a memory of retries that fills");
  const auto full = pass("a full memory of retries");
  if (full < 2 * kWindow) throw std::runtime_error("a full memory of retries takes operations: " + std::to_string(full) + " BUSY");
  for (unsigned ticks = 0; ticks < 8; ticks++) {
    test.tick();
    test.nic.step(4);
  }
  const auto busy = pass("a memory of retries with room");
  if (busy + kWindow / 2 > full) throw std::runtime_error("what is old is not forgotten: " + std::to_string(busy) + " BUSY");
}

// Accounts 1 and 2 with plenty.
static void open_accounts(nic::Nic& nic) {
  nic.push(0, packet_of(batch_of({compact(1, 1, 1, 0, 0), compact(1, 2, 2, 0, 0), compact(2, 3, 1, 0, 0x40000000), compact(2, 4, 2, 0, 0x40000000)})));
  nic.step(3000);
  Packet packet;
  if (!nic.pop(0, packet)) throw std::runtime_error("no accounts");
}

// A chain without transactions: what is asked about it misses.
static void open_chain(nic::Nic& nic) {
  Packet announcement(106);
  announcement[0] = Proofs::kReorganise;
  nic.host_push({nic::kAnnounce, 0, 0, announcement});
  nic.step(300);
}

// More than the host or a port takes, from ports that cannot wait: whatever is lost is counted, and the rest is as it was.
struct Overload {
  uint64_t packets = 0, to_host = 0, host_dropped = 0, rx_dropped = 0;
};

static void flood(const Options& options, unsigned slow_stream, uint64_t packets, Overload& sum) {
  constexpr uint32_t kFirst = 100;
  Counts counts;
  Test test(options.seed, counts);
  auto& nic = test.nic;
  nic.csr_write(TURNPIKE_NIC_CONTROL, (Test::kControl | TURNPIKE_NIC_CONTROL_DROP) & ~TURNPIKE_NIC_CONTROL_RECORD);
  open_accounts(nic);
  Throttle slow(Throttle::kSeldom, options.seed);
  nic.willing = [&](unsigned stream) { return stream != slow_stream || slow.open(); };

  // Every other one is the host's.
  std::array<std::deque<Packet>, nic::kPorts> passed;
  for (uint64_t at = 0; at < packets; at++) {
    for (unsigned port = 0; port < nic::kPorts; port++) {
      Packet packet = packet_of(compact(3, static_cast<uint32_t>(kFirst + at * nic::kPorts + port), 1 + port % 2, 2 - port % 2, 1));
      if ((at + port) % 2 == 0) {
        put(packet, 12, 0x88b5, 2);
        passed[port].push_back(packet);
      }
      nic.push(port, packet);
    }
  }
  const auto waiting = [&] {
    size_t count = 0;
    for (unsigned port = 0; port < nic::kPorts; port++) count += nic.waiting(port);
    return count;
  };
  while (waiting() > 0) {
    test.step();
    if (nic.top.rx_ready_o != (1u << nic::kPorts) - 1) throw std::runtime_error("a port is held up");
  }
  test.step(20000);

  uint64_t came = 0, rx_dropped = 0;
  Packet packet;
  nic::HostPacket from;
  for (; nic.host_pop(from); came++) {
    auto& sent = passed.at(from.port);
    while (!sent.empty() && sent.front() != from.bytes) sent.pop_front();
    if (sent.empty()) throw std::runtime_error("a packet to the host is another one, or out of its order");
    sent.pop_front();
    sum.to_host++;
  }
  for (unsigned port = 0; port < nic::kPorts; port++) {
    uint64_t before = 0;
    for (; nic.pop(port, packet); came++) {
      const uint64_t transaction = get(packet, 46, 4);
      if (get(packet, 62, 2) != 0 || transaction <= before) throw std::runtime_error("a reply is wrong, or out of its order");
      before = transaction;
    }
    rx_dropped += nic.csr_counter(TURNPIKE_NIC_RX_DROPPED + 8 * port);
  }
  const uint64_t host_dropped = nic.csr_counter(TURNPIKE_NIC_HOST_DROPPED);
  if (came + rx_dropped + host_dropped != packets * nic::kPorts) throw std::runtime_error("what was dropped is not what is missing");
  if (host_dropped + rx_dropped == 0) throw std::runtime_error("nothing was too much");
  // Ports of 64 bits bring no more than the engines take, so that a slow host costs nobody else anything.
  if (DataWidth == 64 && slow_stream == nic::kToHost && rx_dropped != 0) throw std::runtime_error("a slow host costs packets that are not its own");
  sum.packets += packets * nic::kPorts;
  sum.host_dropped += host_dropped;
  sum.rx_dropped += rx_dropped;
}

// Misses that are dropped give their ids back.
static void dropped_misses(const Options& options) {
  Counts counts;
  Test test(options.seed, counts);
  auto& nic = test.nic;
  open_chain(nic);
  nic.csr_write(TURNPIKE_NIC_CONTROL, Test::kControl | TURNPIKE_NIC_CONTROL_DROP);
  uint32_t key = 0;
  const auto ask = [&](unsigned count) {
    for (unsigned at = 0; at < count; at++) {
      Packet request(48 + 832);
      put(request, 0, 0x54500103, 4);
      put(request, 8, 0x0001, 2);
      put(request, 28, ++key, 4);
      nic.push(at % nic::kPorts, packet_of(request));
    }
  };
  nic.willing = [](unsigned stream) { return stream != nic::kToHost; };
  // As fast as the NIC takes them, so that none is dropped at a port.
  for (unsigned at = 0; at < 100; at++) {
    ask(4);
    nic.step(150);
  }
  nic.willing = nullptr;
  nic.step(3000);
  if (nic.csr_counter(TURNPIKE_NIC_HOST_DROPPED) < 300) throw std::runtime_error("misses are not dropped");
  nic::HostPacket miss;
  while (nic.host_pop(miss)) {
    if (miss.kind == nic::kMiss) nic.host_push({nic::kNone, 0, miss.id, Packet(1)});
  }
  nic.step(1000);
  // All ids are there again.
  for (unsigned at = 0; at < 64; at++) {
    ask(1);
    nic.step(300);
    if (!nic.host_pop(miss) || miss.kind != nic::kMiss) throw std::runtime_error("the id of a dropped miss is lost");
  }
  // And no more: what misses while so many are outstanding is a packet like any other.
  ask(1);
  nic.step(300);
  if (!nic.host_pop(miss) || miss.kind != nic::kPacket) throw std::runtime_error("more misses than there are ids");
}

// The data path ends while requests of its memories are under way, and begins anew: with nothing of before, answers among it.
static void restarts(const Options& options) {
  Counts counts;
  Test test(options.seed, counts);
  auto& nic = test.nic;
  Random random(options.seed);
  Packet packet;
  nic::HostPacket from;
  for (uint32_t turn = 0; turn < 40; turn++) {
    open_accounts(nic);
    nic.push(0, packet_of(compact(3, 5, 1, 2, 1 + turn)));
    nic.step(1000);
    if (!nic.pop(0, packet) || get(packet, 58, 4) != 0x40000000 - 1 - turn) throw std::runtime_error("an account outlives a restart");
    for (uint32_t at = 0; at < 60; at++) nic.push(at % nic::kPorts, packet_of(compact(at % 2 ? 4 : 1, 100 + at, 3 + at / 2, 0, 0)));
    nic.step(20 + random.below(60));
    // Words that a port has not taken whole would begin the next packet.
    for (unsigned port = 0; port < nic::kPorts; port++) {
      while (nic.waiting(port) > 0) test.step();
    }
    nic.csr_write(TURNPIKE_NIC_CONTROL, 0);
    nic.step(random.below(3));
    while (nic.host_pop(from)) continue;
    for (unsigned port = 0; port < nic::kPorts; port++) {
      while (nic.pop(port, packet)) continue;
    }
    nic.csr_write(TURNPIKE_NIC_CONTROL, Test::kControl & ~TURNPIKE_NIC_CONTROL_RECORD);
  }
}

// Packets of 64 bytes back to back on all ports at once, every one a TRANSFER between the same two accounts.
struct Speed {
  uint64_t latency = 0, packets = 0, cycles = 0, proof_bytes = 0, proof_cycles = 0;
};

static Speed speed(const Options& options, uint64_t packets) {
  Counts counts;
  Test test(options.seed, counts);
  auto& nic = test.nic;
  nic.csr_write(TURNPIKE_NIC_CONTROL, Test::kControl & ~TURNPIKE_NIC_CONTROL_RECORD);
  open_accounts(nic);
  Packet packet;

  // From the first word in to the first word out, of a packet alone.
  Speed speed;
  nic.push(0, packet_of(compact(3, 5, 1, 2, 1)));
  const uint64_t begins = nic.cycle;
  for (nic.step(); !(nic.top.tx_valid_o & 1); nic.step());
  speed.latency = nic.cycle - begins;
  nic.step(100);
  if (!nic.pop(0, packet)) throw std::runtime_error("no reply");

  // Proofs with a path of twenty nodes, out of the cache, to clients that have room for just that.
  Packet request(48 + 832), body(832);
  put(request, 0, 0x54500103, 4);
  put(request, 8, 0x0001, 2);
  open_chain(nic);
  nic.push(0, packet_of(request));
  nic.step(500);
  nic::HostPacket miss;
  if (!nic.host_pop(miss) || miss.kind != nic::kMiss) throw std::runtime_error("no miss");
  nic.host_push({nic::kFill, 0, miss.id, body});
  nic.step(300);
  constexpr unsigned kProofs = 100;
  for (unsigned at = 0; at < kProofs * nic::kPorts; at++) nic.push(at % nic::kPorts, packet_of(request));
  const uint64_t asked = nic.cycle;
  for (unsigned port = 0; port < nic::kPorts; port++) {
    for (unsigned at = 0; at < kProofs; at++) {
      while (!nic.pop(port, packet)) nic.step();
      if (packet.size() != 42 + request.size() || get(packet, 45, 1) != 0x83) throw std::runtime_error("no proof");
    }
  }
  speed.proof_bytes = packet.size();
  speed.proof_cycles = (nic.cycle - asked) / (kProofs * nic::kPorts);

  for (uint32_t at = 0; at < packets; at++) {
    for (unsigned port = 0; port < nic::kPorts; port++) {
      const uint32_t source = 1 + (at + port) % 2;
      nic.push(port, packet_of(compact(3, 100 + at * nic::kPorts + port, source, 3 - source, 1)));
    }
  }
  const uint64_t start = nic.cycle;
  for (unsigned port = 0; port < nic::kPorts; port++) {
    while (nic.waiting(port) > 0) test.step();
  }
  speed.cycles = nic.cycle - start;
  speed.packets = packets;
  test.step(1000);
  for (unsigned port = 0; port < nic::kPorts; port++) {
    for (uint64_t at = 0; at < packets; at++) {
      if (!nic.pop(port, packet)) throw std::runtime_error("a TRANSFER has no reply");
      if (get(packet, 62, 2) != 0) throw std::runtime_error("a TRANSFER has the status " + std::to_string(get(packet, 62, 2)));
    }
  }
  return speed;
}

int main(int argc, char** argv) {
  return run(argc, argv, [](const Options& options) {
    Counts counts;
    for (const nic::Memory& timing : kMemories) {
      memory = timing;
      golden(options, counts);
      proof_vectors(options);
      host(options);
      // A wider port's words are packets, of which none is cut in two.
      if (DataWidth == 512) restarts(options);
    }
    without_ticks(options);
    Overload overload;
    flood(options, nic::kToHost, 2000, overload);
    if (DataWidth == 64) {
      figure("slow_host_packets", static_cast<double>(overload.packets / 2));
      figure("slow_host_dropped", static_cast<double>(overload.host_dropped));
    }
    const Overload slow_host = overload;
    flood(options, nic::kTx + (nic::kPorts > 1), 2000, overload);
    if (DataWidth == 64) {
      figure("slow_port_packets", static_cast<double>(overload.packets - slow_host.packets));
      figure("slow_port_dropped", static_cast<double>(overload.rx_dropped - slow_host.rx_dropped));
    }
    dropped_misses(options);
    // A port gives a packet of 64 bytes in so many cycles; the stages behind take one in each.
    const uint64_t width = 512 / DataWidth, least = std::max<uint64_t>(width, nic::kPorts);
    for (const nic::Memory& timing : kMemories) {
      memory = timing;
      const Speed measured = speed(options, 1000);
      if (measured.cycles > least * measured.packets + 40) throw std::runtime_error(std::to_string(measured.cycles) + " cycles for 1000 packets a port");
      // Of one width there is one, but for its memories.
      std::string of = "_" + std::to_string(DataWidth);
      if (std::size(kMemories) > 1) of += "_memory_" + std::to_string(timing.least);
      figure("cycles" + of, static_cast<double>(measured.cycles) / static_cast<double>(measured.packets), 2);
      figure("latency" + of, static_cast<double>(measured.latency));
      figure("proof_cycles" + of, static_cast<double>(measured.proof_cycles));
      figure("proof_bytes" + of, static_cast<double>(measured.proof_bytes));
      std::printf("%u ports, back to back: %.2f cycles a packet and port, latency %lu cycles; a proof of %lu bytes every %lu cycles; ", nic::kPorts,
                  static_cast<double>(measured.cycles) / static_cast<double>(measured.packets), measured.latency, measured.proof_bytes, measured.proof_cycles);
    }
    uint64_t seed = options.seed * 1000;
    for (int idle = 0; idle < Throttle::kKinds; idle++) {
      for (int pressure = 0; pressure < Throttle::kKinds; pressure++) {
        for (const nic::Memory& timing : kMemories) {
          memory = timing;
          pass(options, ++seed, Throttle::Kind(idle), Throttle::Kind(pressure), PACKETS, counts);
        }
      }
    }
    // Records of all operations fit through a wide host stream only. OPERATIONS in the environment makes the run longer.
    const char* asked = std::getenv("OPERATIONS");
    bulk(options, asked ? std::stoull(asked) : HostWidth == 512 ? OPERATIONS : OPERATIONS / 100, counts);
    for (const uint16_t status : {0, 1, 2, 3, 4, 16, 17, 18, 32, 33, 34}) {
      if (counts.statuses[status] == 0) throw std::runtime_error("no reply had the status " + std::to_string(status));
    }
    // As few as the crowded index of the window makes.
    if (counts.statuses[kStatusBusy] > counts.operations / 1000) throw std::runtime_error(std::to_string(counts.statuses[kStatusBusy]) + " operations were BUSY");
    if (PACKETS >= 500 && counts.hits < counts.misses / 4) throw std::runtime_error("hardly any proof was in the cache");
    std::printf("too much of %lu packets: %lu to the host, %lu for it and %lu at ports dropped; ", overload.packets, overload.to_host, overload.host_dropped,
                overload.rx_dropped);
    std::printf("%lu packets: %lu operations as in Rust, %lu proofs from the cache, %lu not, %lu packets to the host; %lu cycles", counts.packets,
                counts.operations, counts.hits, counts.misses, counts.host, counts.cycles);
  });
}
