// The whole NIC against the Rust ledger: every operation is executed in both, in the order that the records tell; every reply, and every packet
// that is not the NIC's own, is compared byte for byte. Under all pairs of idle and back-pressure patterns, all ports at once.
#include <map>
#include <memory>

#include "../../../twin/twin.hpp"
#include "../../model/nic.hpp"
#include "../frames.hpp"
#include "harness.hpp"

using namespace harness;
using frames::get;
using frames::hex;
using frames::put;
using nic::Packet;

constexpr uint16_t kMalformed = 33, kNotTrusted = 34, kBusy = 40;
constexpr uint32_t kAccounts = 16;
constexpr size_t kWindow = 1024;

// What a packet is to the NIC.
enum class Kind { kCompact, kBatch, kHost };

class Traffic {
 public:
  explicit Traffic(uint64_t seed) : random_(seed) {}

  std::pair<Packet, Kind> next() {
    const bool is_batch = random_.chance(20);
    // Around one, and up to what a packet takes.
    const size_t count = random_.chance(90) ? 1 + random_.below(6) : 1 + random_.below(60);
    Packet packet = headers(is_batch ? 58 + 24 * count : 64);
    if (is_batch) batch(packet, count);
    else compact(packet, frames::kHeaders);
    frames::seal(packet, random_.chance(80));
    if (random_.chance(75)) return {packet, kind_of(packet)};
    spoil(packet);
    return {packet, Kind::kHost};
  }

 private:
  // Batches are refused as a whole where the sender is not trusted, and answers are not answered: both are the host's to do.
  static Kind kind_of(const Packet& packet) {
    if (get(packet, 42, 2) != 0x5450) return get(packet, 62, 2) == kMalformed ? Kind::kHost : Kind::kCompact;
    return (get(packet, 26, 4) & frames::kTrustedMask) == frames::kTrusted ? Kind::kBatch : Kind::kHost;
  }

  void batch(Packet& packet, size_t count) {
    put(packet, 42, 0x54500102, 4);
    put(packet, 50, count, 2);
    put(packet, 52, 0, 1);
    put(packet, 53, random_.below(2), 1);
    put(packet, 54, 0, 4);
    for (size_t at = 58; at < packet.size(); at += 24) {
      compact(packet, at);
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

  void compact(Packet& packet, size_t at) {
    const uint32_t source = static_cast<uint32_t>(random_.below(20)), kind = static_cast<uint32_t>(random_.below(20));
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
    switch (random_.below(18)) {
      case 0: packet.resize(1 + random_.below(packet.size() - 1)); break;
      case 1: packet.resize(packet.size() + 1 + random_.below(1450), 0xaa); break;
      case 2: packet.resize(1500 + random_.below(8000), 0x55); break;
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
      case 15: put(packet, 42, random_.chance(50) ? 0x54500182 : 0x54500000 + random_.below(0x10000), 4), frames::seal(packet, true); break;
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
  uint64_t packets = 0, operations = 0, host = 0, cycles = 0;
  std::map<uint16_t, uint64_t> statuses;
};

class Test {
 public:
  Test(uint64_t seed, Counts& counts) : counts_(counts), random_(seed), ledger_(kAccounts, kWindow) {
    for (unsigned at = 0; at < 4; at++) nic.csr_write(TURNPIKE_NIC_SECRET + 4 * at, static_cast<uint32_t>(random_.next()));
    for (unsigned at = 0; at < 16; at++) nic.csr_write(TURNPIKE_NIC_PROOF_SECRET + 4 * at, static_cast<uint32_t>(random_.next()));
    nic.csr_write(TURNPIKE_NIC_ADDRESS, frames::kAddress);
    nic.csr_write(TURNPIKE_NIC_UDP_PORT, frames::kPort);
    nic.csr_write(TURNPIKE_NIC_PROMISE, 1);
    nic.csr_write(TURNPIKE_NIC_TRUSTED_ADDRESS, frames::kTrusted);
    nic.csr_write(TURNPIKE_NIC_TRUSTED_MASK, frames::kTrustedMask);
    nic.csr_write(TURNPIKE_NIC_ACCOUNT_LIMIT, kAccounts);
    nic.csr_write(TURNPIKE_NIC_CONTROL, TURNPIKE_NIC_CONTROL_RUN | TURNPIKE_NIC_CONTROL_COMPACT | TURNPIKE_NIC_CONTROL_BATCH | TURNPIKE_NIC_CONTROL_RECORD);
  }

  nic::Nic nic;
#ifdef TRACE
  std::unique_ptr<VerilatedVcdC> wave = std::make_unique<VerilatedVcdC>();
  void trace(const std::string& path) {
    nic.top.trace(wave.get(), 99);
    wave->open(path.c_str());
    nic.changed = [this](uint64_t time) { wave->dump(time); };
  }
#endif

  void push(unsigned port, std::pair<Packet, Kind> made) {
    auto& [packet, kind] = made;
    if (kind == Kind::kCompact) asked_[port][0].push_back({packet, packet, 42});
    if (kind == Kind::kBatch) asked_[port][1].push_back({packet, packet, 58});
    if (kind == Kind::kHost) host_[port].expect(packet);
    nic.push(port, std::move(packet));
    counts_.packets++;
  }

  void run(const std::string& what) {
    for (uint64_t quiet = 0; !done(); quiet++) {
      nic.step();
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
        Expectations& replies = replies_[port][is_batch(packet)];
        replies.came(packet);
        replies.compare("a reply");
      }
    }
    while (nic.host_pop(from)) {
      any = true;
      if (from.kind == nic::kRecord) {
        record(from.bytes);
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
      if (nic.waiting(port) || !host_[port].done()) return false;
      for (const bool in_batch : {false, true}) {
        if (!asked_[port][in_batch].empty() || !replies_[port][in_batch].done()) return false;
      }
    }
    return true;
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

  static bool is_batch(const Packet& packet) { return packet.size() > 64 && get(packet, 42, 2) == 0x5450; }

  // Form comes before trust, trust before the ledger; of what was too much for the window nothing was done.
  uint64_t execute(twin::Frame& frame, bool trusted, bool reserved, uint16_t given) {
    if (trusted && !reserved && given != kBusy) return ledger_.execute(frame);
    twin::Frame refused = frame;
    twin::Ledger empty(1, 1024);
    empty.execute(refused);
    const auto form = static_cast<uint16_t>(refused[20] << 8 | refused[21]);
    if (form >= 16) {
      frame = refused;
    } else {
      std::fill(frame.begin() + 16, frame.begin() + 20, 0);
      frame[20] = 0;
      frame[21] = !trusted ? kNotTrusted : reserved ? kMalformed : kBusy;
    }
    return 0;
  }

  Counts& counts_;
  Random random_;
  twin::Ledger ledger_;
  // A packet whose operations are executed one by one, and its reply so far.
  struct Asked {
    Packet packet, reply;
    size_t at;
  };
  // Of each port, compact frames and batches apart: they may overtake each other.
  std::array<std::array<std::deque<Asked>, 2>, nic::kPorts> asked_;
  std::array<std::array<Expectations, 2>, nic::kPorts> replies_;
  std::array<Expectations, nic::kPorts> host_;
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
  Traffic traffic(seed);
  for (uint64_t at = 0; at < packets; at++) test.push(at % nic::kPorts, traffic.next());
  test.run("seed " + std::to_string(seed));
  counts.cycles += test.nic.cycle;
}

int main(int argc, char** argv) {
  return run(argc, argv, [](const Options& options) {
    Verilated::randSeed(static_cast<int>(options.seed % 0x7fffffff) + 1);
    Verilated::randReset(2);
    Counts counts;
    uint64_t seed = options.seed * 1000;
    for (int idle = 0; idle < Throttle::kKinds; idle++) {
      for (int pressure = 0; pressure < Throttle::kKinds; pressure++) pass(options, ++seed, Throttle::Kind(idle), Throttle::Kind(pressure), PACKETS, counts);
    }
    for (const uint16_t status : {0, 1, 2, 3, 4, 16, 17, 18, 32, 33, 34}) {
      if (counts.statuses[status] == 0) throw std::runtime_error("no reply had the status " + std::to_string(status));
    }
    std::printf("%llu packets, %llu operations as in Rust, %llu to the host, %llu cycles", static_cast<unsigned long long>(counts.packets),
                static_cast<unsigned long long>(counts.operations), static_cast<unsigned long long>(counts.host), static_cast<unsigned long long>(counts.cycles));
  });
}
