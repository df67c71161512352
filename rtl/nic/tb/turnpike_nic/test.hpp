// The NIC beside the Rust ledger, which executes each operation in the order of the records: each reply, and each
// packet that the NIC does not handle, is compared byte for byte.
#pragma once

#include <deque>
#include <map>
#include <memory>

#include "../../../twin/twin.hpp"
#include "traffic.hpp"

using frames::hex;

constexpr uint32_t kAccounts = 16;
constexpr size_t kWindow = 1024;

// Memory timing of the next NIC created.
inline nic::Memory memory;
#ifdef EXTERNAL
constexpr nic::Memory kMemories[] = {{1, 0, 0, 0}, {20, 0, 0, 0}, {3, 60, 700, 90}};
#else
constexpr nic::Memory kMemories[] = {{}};
#endif

// Expected and received packets, each in order; a pair is compared once both are present.
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
  // Cycles between ticks: eight ticks never cover more operations than the window remembers.
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

  virtual ~Test() = default;

  nic::Nic nic;
  Proofs proofs;
  // Whether ticks are sent: so often that eviction depends on the count alone.
  bool ticks = true;
  // If not empty: expected results of the next operations.
  std::deque<twin::Frame> golden;
#ifdef TRACE
  // The last cycles explain a failed run: the waveform restarts after this many, and the previous one is kept.
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

  // Checks what has arrived. Returns whether there was anything.
  bool look() {
    Packet packet;
    nic::HostPacket from;
    bool any = false;
    for (unsigned port = 0; port < nic::kPorts; port++) {
      while (nic.pop(port, packet)) {
        any = true;
        if (takes(port, packet)) continue;
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
      if (takes(from)) continue;
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
    return nic.host_waiting() == 0 && settled();
  }

  // Advances, with a tick in some of the cycles.
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

  // Announces a change of a chain with nothing in flight, so that all later requests have one correct answer.
  void announce(unsigned chain, bool reorganises) {
    for (auto& packet : proofs.change(chain, reorganises)) nic.host_push({nic::kAnnounce, 0, 0, std::move(packet)});
    run("announcements");
    const auto willing = std::exchange(nic.willing, nullptr);
    nic.step(300);
    nic.willing = willing;
  }

 protected:
  // For traffic of other engines: whether a packet that has left belongs to it, and whether all of it has.
  virtual bool takes(unsigned /*port*/, const Packet& /*packet*/) { return false; }
  virtual bool takes(const nic::HostPacket& /*from*/) { return false; }
  virtual bool settled() const { return true; }

 private:
  // Executes a recorded operation in Rust as well.
  void record(const Packet& record) {
    if (record.size() != TURNPIKE_NIC_RECORD_BYTES) throw std::runtime_error("a record of another length");
    const unsigned port = record[TURNPIKE_NIC_RECORD_PORT];
    const bool in_batch = record[TURNPIKE_NIC_RECORD_IN_BATCH];
    const uint64_t balance = get(record, TURNPIKE_NIC_RECORD_VALUE, 8);
    const auto given = static_cast<uint16_t>(get(record, 20, 2));
    if (record[TURNPIKE_NIC_RECORD_IN_BATCH] > 1 || port >= nic::kPorts || asked_[port][in_batch].empty()) throw std::runtime_error("a record of what nobody asked");
    Asked& asked = asked_[port][in_batch].front();
    const auto entry = asked.packet.begin() + asked.at;
    if (!std::equal(entry, entry + 20, record.begin())) throw std::runtime_error("a record of another operation");
    const bool trusted = (get(asked.packet, 26, 4) & frames::kTrustedMask) == frames::kTrusted;
    twin::Frame frame;
    std::copy_n(entry, frame.size(), frame.begin());
    const bool reserved = in_batch && get(asked.packet, asked.at + 22, 2) != 0;
    const uint64_t value = execute(frame, trusted, reserved, given);
    if ((frame[20] << 8 | frame[21]) != given || value != balance) {
      throw std::runtime_error("status " + std::to_string(given) + ", value " + std::to_string(balance) + " of " + hex(record) + " instead of " +
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

  // From the cache, or from the host after a miss.
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

  // The host answers the client itself and, if requested, the cache once: correctly, with none, or too late.
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

  // Form is checked before trust, trust before the ledger; an operation refused as BUSY changed nothing.
  uint64_t execute(twin::Frame& frame, bool trusted, bool reserved, uint16_t given) {
    if (trusted && !reserved && given != kStatusBusy) return ledger_.execute(frame);
    twin::Frame refused = frame;
    forms_.execute(refused);
    const auto form = static_cast<uint16_t>(refused[20] << 8 | refused[21]);
    // Reuse of an id is not a matter of form.
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
  // `forms_` determines what the form alone refuses.
  twin::Ledger ledger_, forms_;
  // A packet whose operations are executed one by one, and its reply so far.
  struct Asked {
    Packet packet, reply;
    size_t at;
  };
  // For each port, compact frames and batches separately: they may overtake each other.
  std::array<std::array<std::deque<Asked>, 2>, nic::kPorts> asked_;
  std::array<std::array<Expectations, 2>, nic::kPorts> replies_;
  std::array<Expectations, nic::kPorts> host_;
  // By the frame's id: requests without an answer, and the host's answers.
  std::array<std::map<uint32_t, Packet>, nic::kPorts> proof_asked_, proof_answered_;
};
