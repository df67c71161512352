// The NIC with verification engines: verify frames at its ports, under all pairs of idle and back-pressure patterns.
// Frames that the engines take get Rust's answer, everything else goes to the host unmodified, and all of it is
// counted. Then, with `drop`, more frames than the engines can take; and restarts with work in flight.

#include <map>

#include "../../../verify/tb/verify_frames.hpp"
#include "../../model/nic.hpp"
#include "harness.hpp"

namespace {

using frames::Packet;
using harness::Options;
using harness::Random;
using harness::Throttle;
using verify_frames::Asked;
using verify_frames::id_of;
using verify_frames::kHead;
using verify_frames::Maker;

constexpr size_t kShortestMessage = 80;
constexpr uint32_t kControl = TURNPIKE_NIC_CONTROL_RUN | TURNPIKE_NIC_CONTROL_VERIFY;

struct Counts {
  uint64_t answered = 0, messages = 0, passed = 0, others = 0, diverted = 0;
};

class Test {
 public:
  Test(uint64_t seed, uint32_t control) : nic(seed) {
    nic.csr_write(TURNPIKE_NIC_ADDRESS, frames::kAddress);
    nic.csr_write(TURNPIKE_NIC_UDP_PORT, frames::kPort);
    nic.csr_write(TURNPIKE_NIC_TRUSTED_ADDRESS, frames::kTrusted);
    nic.csr_write(TURNPIKE_NIC_TRUSTED_MASK, frames::kTrustedMask);
    nic.csr_write(TURNPIKE_NIC_CONTROL, control);
  }

  nic::Nic nic;
  Counts counts;

  // Pushes a packet. `selected`: the selector takes it for the engines.
  void push(unsigned port, const Packet& packet, bool selected) {
    Asked asked(packet);
    // A packet without room for the shortest message goes to the host at once.
    selected &= packet.size() >= kHead + kShortestMessage;
    asked.takes &= selected;
    if (!asked_.insert({id_of(packet), {asked, {port, selected}}}).second) throw std::runtime_error("an id was used twice");
    nic.push(port, packet);
  }

  // Checks what has arrived. `may_pass`: packets for the engines may have gone to the host.
  void look(bool may_pass = false) {
    Packet packet;
    nic::HostPacket from;
    for (unsigned port = 0; port < nic::kPorts; port++) {
      while (nic.pop(port, packet)) {
        const auto& [asked, way] = find(packet);
        if (!asked.takes || way.first != port) throw std::runtime_error("a reply that should not be, or at another port");
        asked.compare(packet);
        counts.answered++;
        counts.messages += asked.masks.size();
        asked_.erase(id_of(packet));
      }
    }
    while (nic.host_pop(from)) {
      const auto& [asked, way] = find(from.bytes);
      if (from.kind != nic::kPacket || from.bytes != asked.request || from.port != way.first) throw std::runtime_error("the host gets another packet");
      if (asked.takes && !may_pass) throw std::runtime_error("the host gets what the engines take");
      (asked.takes ? counts.diverted : way.second ? counts.passed : counts.others)++;
      asked_.erase(id_of(from.bytes));
    }
  }

  void run() {
    for (uint64_t waits = 0; !asked_.empty(); waits++) {
      nic.step();
      const size_t before = asked_.size();
      look();
      if (asked_.size() != before) waits = 0;
      if (waits > 200000) throw std::runtime_error("nothing moves any more");
    }
  }

  size_t open() const { return asked_.size(); }
  void forget() { asked_.clear(); }

 private:
  using Pending = std::pair<Asked, std::pair<unsigned, bool>>;

  const Pending& find(const Packet& packet) const {
    const auto found = packet.size() < kHead ? asked_.end() : asked_.find(id_of(packet));
    if (found == asked_.end()) throw std::runtime_error("out comes what nobody sent: " + frames::hex(packet));
    return found->second;
  }

  std::map<uint32_t, Pending> asked_;
};

// Draws a packet, and whether the selector takes it for the engines.
std::pair<Packet, bool> draw(Maker& maker, uint32_t id) {
  Packet packet = maker.any_frame(id);
  const bool udp = frames::get(packet, 40, 2) != 0;
  switch (maker.random.below(24)) {
    case 0: frames::put(packet, 26, 0x0a020000, 4), frames::seal(packet, udp); return {packet, false};  // a stranger
    case 1: packet[24] ^= 4; return {packet, false};
    case 2: packet[kHead + 3] ^= 1; return {packet, !udp};
    case 3: packet.resize(1793 + maker.random.below(2000), 1), frames::seal(packet, udp); return {packet, false};
    case 4: frames::put(packet, 54, 1, 2), frames::seal(packet, udp); return {packet, false};  // a status
    case 5: frames::put(packet, 50, 0, 2), frames::seal(packet, udp); return {packet, false};
    case 6: frames::put(packet, 36, frames::kPort + 1, 2), frames::seal(packet, udp); return {packet, false};
    case 7: packet.resize(kHead + maker.random.below(kShortestMessage)), frames::seal(packet, udp); return {packet, true};
    default: return {packet, true};
  }
}

void expect_counters(Test& test) {
  const auto counter = [&](uint32_t name) { return test.nic.csr_counter(name); };
  const Counts& counts = test.counts;
  if (counter(TURNPIKE_NIC_VERIFY_PACKETS) != counts.answered || counter(TURNPIKE_NIC_VERIFY_PASSED) != counts.passed ||
      counter(TURNPIKE_NIC_HOST_PACKETS) != counts.others + counts.diverted) {
    throw std::runtime_error("packets are counted otherwise: " + std::to_string(counter(TURNPIKE_NIC_VERIFY_PACKETS)) + " answered, " +
                             std::to_string(counter(TURNPIKE_NIC_VERIFY_PASSED)) + " passed and " + std::to_string(counter(TURNPIKE_NIC_HOST_PACKETS)) +
                             " others, in place of " + std::to_string(counts.answered) + ", " + std::to_string(counts.passed) + " and " +
                             std::to_string(counts.others + counts.diverted));
  }
  if (counter(TURNPIKE_NIC_VERIFY_ROOTS) + counter(TURNPIKE_NIC_VERIFY_HEADERS) != counts.messages || counter(TURNPIKE_NIC_VERIFY_SIGNATURES) != 0) {
    throw std::runtime_error("messages are counted otherwise");
  }
}

// More than the engines can take, with a fast host: nothing stalls, and packets without room go to the host. With all
// ports active, more arrives than the host takes. One port alone at half its rate leaves enough capacity for the
// packets that the engines' check returns, so nothing is lost.
uint64_t flood(const Options& options, Maker& maker, uint32_t& id, unsigned ports) {
  Test test(options.seed, kControl | TURNPIKE_NIC_CONTROL_DROP);
  uint64_t asked = 0;
  if (ports == 1) test.nic.willing = [&](unsigned stream) { return stream != nic::kRx || asked++ % 2 == 0; };
  for (unsigned at = 0; at < 200; at++) test.push(at % ports, maker.frame(id++, 8), true);
  const auto waiting = [&] {
    size_t count = 0;
    for (unsigned port = 0; port < nic::kPorts; port++) count += test.nic.waiting(port);
    return count;
  };
  while (waiting() > 0) {
    test.nic.step();
    if (test.nic.top.rx_ready_o != (1u << nic::kPorts) - 1) throw std::runtime_error("a port is held up");
    test.look(true);
  }
  for (unsigned at = 0; at < 100; at++) {
    test.nic.step(1000);
    test.look(true);
  }
  uint64_t dropped = test.nic.csr_counter(TURNPIKE_NIC_HOST_DROPPED);
  for (unsigned port = 0; port < nic::kPorts; port++) dropped += test.nic.csr_counter(TURNPIKE_NIC_RX_DROPPED + 8 * port);
  if (ports == 1 && dropped != 0) throw std::runtime_error(std::to_string(dropped) + " frames that the host would have taken were dropped");
  if (test.open() != dropped) throw std::runtime_error("what was dropped is not what is missing");
  if (test.counts.answered == 0 || test.counts.diverted == 0) throw std::runtime_error("the engines answered all or nothing");
  return test.counts.diverted;
}

// The data path stops with messages in the engines, and restarts without any trace of them.
void restarts(const Options& options, Maker& maker, uint32_t& id) {
  Test test(options.seed, kControl);
  for (unsigned turn = 0; turn < 20; turn++) {
    for (unsigned at = 0; at < 4; at++) test.push(at % nic::kPorts, maker.frame(id++, 6), true);
    while (test.nic.waiting(0) + test.nic.waiting(1) > 0) test.nic.step();
    // Every second time, stop while a packet leaves, which truncates it.
    const auto leaves = [&] { return test.nic.top.to_host_valid_o || test.nic.top.tx_valid_o != 0; };
    for (uint64_t left = turn % 2 == 0 ? 4000 : maker.random.below(400); left > 0 && (turn % 2 != 0 || !leaves()); left--) test.nic.step();
    test.nic.csr_write(TURNPIKE_NIC_CONTROL, 0);
    test.look();
    test.forget();
    test.nic.step(1 + maker.random.below(3));
    test.nic.csr_write(TURNPIKE_NIC_CONTROL, kControl);
    test.push(0, maker.frame(id++, 6), true);
    test.run();
  }
}

void body(const Options& options) {
  Maker maker(options, 0, false);
  uint32_t id = uint32_t(options.seed);
  const char* asked = std::getenv("OPERATIONS");
  const unsigned packets = asked != nullptr ? std::max(1, std::atoi(asked) / 16) : PACKETS;

  // With the engines off, everything goes to the host.
  Test off(options.seed, TURNPIKE_NIC_CONTROL_RUN);
  if (off.nic.csr_read(TURNPIKE_NIC_VERIFY_ENGINES) != 6) throw std::runtime_error("there are other engines");
  for (unsigned at = 0; at < 10; at++) off.push(at % nic::kPorts, maker.frame(id++, 4), false);
  off.run();
  expect_counters(off);

  Test test(options.seed, kControl);
  for (int idle = 0; idle < Throttle::kKinds; idle++) {
    for (int pressure = 0; pressure < Throttle::kKinds; pressure++) {
      std::vector<Throttle> throttles;
      for (unsigned stream = 0; stream < nic::kStreams; stream++) {
        const bool goes_in = stream < nic::kTx || stream == nic::kFromHost;
        throttles.emplace_back(Throttle::Kind(goes_in ? idle : pressure), maker.random.next());
      }
      test.nic.willing = [&](unsigned stream) { return throttles[stream].open(); };
      for (unsigned at = 0; at < packets; at++) {
        const auto [packet, selected] = draw(maker, id++);
        test.push(unsigned(maker.random.below(nic::kPorts)), packet, selected);
      }
      test.run();
    }
  }
  test.nic.willing = nullptr;
  test.nic.step(2);
  expect_counters(test);
  if (test.counts.answered == 0 || test.counts.passed == 0 || test.counts.others == 0) throw std::runtime_error("not all that may become of a frame did");

  flood(options, maker, id, 1);
  const uint64_t diverted = flood(options, maker, id, nic::kPorts);
  restarts(options, maker, id);
  const Counts& counts = test.counts;
  std::printf("%llu frames with %llu messages as in Rust, %llu to the host for their messages and %llu for their packets; of 200 at once %llu found no room",
              static_cast<unsigned long long>(counts.answered), static_cast<unsigned long long>(counts.messages),
              static_cast<unsigned long long>(counts.passed), static_cast<unsigned long long>(counts.others), static_cast<unsigned long long>(diverted));
}

}  // namespace

int main(int argc, char** argv) { return harness::run(argc, argv, body); }
