// The application block in place of Corundum's: frames of the host pass in both directions with their `tuser`, under
// all pairs of idle and back-pressure patterns; frames to the block's address are answered, or reach the node over the
// host link; registers by AXI4-Lite; stops, starts and resets inside frames.
//
// With --tap=NAME and --loss=PERCENT it tests nothing: the block serves a TAP device, for
// crates/turnpike/tests/cable.rs.
#include <fstream>

#include "../../../../host_link/tb/node.hpp"
#include "../../../../host_link/tb/tap.hpp"
#include "block.hpp"

using host_link::HostPacket;
using host_link::Node;

namespace {

constexpr uint32_t kRun = TURNPIKE_NIC_CONTROL_RUN | TURNPIKE_NIC_CONTROL_COMPACT | TURNPIKE_NIC_CONTROL_BATCH;
constexpr uint64_t kBroadcast = 0xffffffffffff;
constexpr uint32_t kSlvErr = 2, kDecErr = 3;

// Frames of a file of the ledger's vectors, one a line after its comments.
std::vector<Bytes> vectors(const std::string& path) {
  std::ifstream file(path);
  std::vector<Bytes> found;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("//", 0) == 0) continue;
    Bytes frame;
    for (size_t at = 0; at + 1 < line.size(); at += 2) frame.push_back(static_cast<uint8_t>(std::stoul(line.substr(at, 2), nullptr, 16)));
    found.push_back(frame);
  }
  if (found.empty()) throw std::runtime_error("no vectors in " + path);
  return found;
}

class Test {
 public:
  explicit Test(const Options& options) : block(options), random(options.seed), node(block, random) {}

  Block block;
  Random random;
  Node<Block> node;

  Bytes noise(size_t length) {
    Bytes bytes(length);
    for (auto& byte : bytes) byte = static_cast<uint8_t>(random.next());
    bytes[0] &= 0xfe;
    return bytes;
  }

  // A datagram from a trusted address.
  Bytes packet(const Bytes& frame) {
    Bytes bytes = noise(frames::kHeaders);
    frames::put(bytes, 12, 0x0800, 2);
    frames::put(bytes, 14, 0x4500, 2);
    frames::put(bytes, 18, 0, 4);
    frames::put(bytes, 22, 64, 1);
    frames::put(bytes, 23, 17, 1);
    frames::put(bytes, 26, frames::kTrusted + 7, 4);
    frames::put(bytes, 30, frames::kAddress, 4);
    frames::put(bytes, 34, 4000, 2);
    frames::put(bytes, 36, frames::kPort, 2);
    bytes.insert(bytes.end(), frame.begin(), frame.end());
    frames::seal(bytes, true);
    return bytes;
  }

  Bytes operation(uint32_t command, uint32_t source, uint32_t destination, uint32_t amount) {
    Bytes frame(22);
    frames::put(frame, 0, command, 4);
    frames::put(frame, 4, ++transaction_, 4);
    frames::put(frame, 8, source, 4);
    frames::put(frame, 12, destination, 4);
    frames::put(frame, 16, amount, 4);
    return packet(frame);
  }

  // A frame that is the host's, whatever the NIC does. Some differ in a bit from one for the block.
  Bytes for_host() {
    Bytes bytes = noise(random.chance(10) ? 60 + random.below(9155) : 60 + random.below(1455));
    switch (random.below(6)) {
      case 0:  // IPv4 to another address
        frames::put(bytes, 12, 0x0800, 2);
        frames::put(bytes, 30, frames::kAddress ^ 1u << random.below(32), 4);
        break;
      case 1:  // ARP for another address
        frames::put(bytes, 12, 0x0806, 2);
        frames::put(bytes, 38, frames::kAddress ^ 1u << random.below(32), 4);
        break;
      case 2:  // in a VLAN
        frames::put(bytes, 12, 0x8100, 2);
        frames::put(bytes, 16, 0x0800, 2);
        frames::put(bytes, 34, frames::kAddress, 4);
        break;
      case 3:  // of another host link
        frames::put(bytes, 0, kBroadcast, 6);
        frames::put(bytes, 6, kMac ^ uint64_t{1} << random.below(40), 6);
        frames::put(bytes, 12, host_link::kEtherType, 2);
        frames::put(bytes, 14, host_link::kLinkMagic, 2);
        break;
      default: frames::put(bytes, 12, 0x86dd, 2);
    }
    return bytes;
  }

  // A frame of the host for the network.
  Bytes for_network() {
    Bytes bytes = noise(random.chance(10) ? 60 + random.below(9155) : random.chance(10) ? 14 + random.below(4) : 60 + random.below(1455));
    if (bytes.size() < 16) return bytes;
    switch (random.below(5)) {
      case 0:  // of another host link
        frames::put(bytes, 0, kMac ^ uint64_t{1} << random.below(40), 6);
        frames::put(bytes, 12, host_link::kEtherType, 2);
        frames::put(bytes, 14, host_link::kLinkMagic, 2);
        break;
      case 1:  // of another protocol with the same EtherType
        frames::put(bytes, 0, kMac, 6);
        frames::put(bytes, 12, host_link::kEtherType, 2);
        frames::put(bytes, 14, host_link::kLinkMagic ^ 1u << random.below(7), 2);
        break;
      case 2:  // to the block, of another protocol
        frames::put(bytes, 0, kMac, 6);
        frames::put(bytes, 12, 0x0800, 2);
        break;
      default: frames::put(bytes, 12, 0x86dd, 2);
    }
    return bytes;
  }

  // Frames of the host at all ports.
  void traffic(int frames_each) {
    for (unsigned port = 0; port < kPorts; port++) {
      for (int count = 0; count < frames_each; count++) {
        block.receive(port, for_host(), true, false);
        block.send(port, for_network(), true);
      }
    }
  }

  void patterns(Throttle::Kind idle, Throttle::Kind pressure) {
    throttles_.clear();
    for (unsigned stream = 0; stream < kPorts * Block::kStreams; stream++) {
      const bool enters = stream % Block::kStreams == Block::kNetRx || stream % Block::kStreams == Block::kHostTx || stream % Block::kStreams == Block::kNetCpl;
      throttles_.emplace_back(enters ? idle : pressure, random.next());
    }
    block.willing = [this](unsigned port, Block::Stream stream) { return throttles_[port * Block::kStreams + stream].open(); };
  }

  void configure(bool by_link) {
    const auto write = [&](uint32_t address, uint32_t value) { by_link ? node.write(static_cast<uint16_t>(address), value) : block.write(address, value); };
    for (unsigned at = 0; at < TURNPIKE_NIC_SECRET_COUNT; at++) write(TURNPIKE_NIC_SECRET + 4 * at, static_cast<uint32_t>(random.next()));
    write(TURNPIKE_NIC_ADDRESS, frames::kAddress);
    write(TURNPIKE_NIC_UDP_PORT, frames::kPort);
    write(TURNPIKE_NIC_PROMISE, 1);
    write(TURNPIKE_NIC_TRUSTED_ADDRESS, frames::kTrusted);
    write(TURNPIKE_NIC_TRUSTED_MASK, frames::kTrustedMask);
    write(TURNPIKE_NIC_ACCOUNT_LIMIT, 1 << 21);
  }

  // Sends a request from the network and waits for its reply at the same port, and nothing else of the NIC.
  void answered(unsigned port, const Bytes& request, const Bytes& expected) {
    block.receive(port, request, false, true);
    for (int waited = 0; block.replies[port].empty(); waited++) {
      if (waited > 40000) fail(block.bench(), "no reply to " + frames::hex(request));
      block.run(10);
    }
    if (block.replies[port].front() != expected) fail(block.bench(), "a reply is\n" + frames::hex(block.replies[port].front()) + "\ninstead of\n" + frames::hex(expected));
    block.replies[port].pop_front();
    for (const auto& replies : block.replies) {
      if (!replies.empty()) fail(block.bench(), "a second frame of the NIC");
    }
  }

  // The same with the node, which gets the record. A balance is that of the account that it issues to.
  void issued(unsigned port, uint32_t account, uint32_t amount, uint64_t balance, uint32_t command = 2) {
    const Bytes request = operation(command, account, 0, amount);
    Bytes frame(request.begin() + frames::kHeaders, request.end());
    Bytes record = frame;
    record.push_back(0);
    record.push_back(static_cast<uint8_t>(port));
    record.resize(32);
    frames::put(record, 24, balance, 8);
    frames::put(frame, 16, balance, 4);
    answered(port, request, frames::reply_to(request, frame));
    received({0, 0, TURNPIKE_NIC_TO_HOST_RECORD, record});
  }

  // Waits for a packet at the node.
  void received(const HostPacket& expected) {
    for (int waited = 0; node.received.empty(); waited++) {
      if (waited > 400) fail(block.bench(), "a packet does not reach the node: " + frames::hex(expected.bytes));
      node.turn(600);
    }
    if (!(node.received.front() == expected)) fail(block.bench(), "the node gets\n" + frames::hex(node.received.front().bytes) + "\ninstead of\n" + frames::hex(expected.bytes));
    node.received.pop_front();
  }

 private:
  uint32_t transaction_ = 1 << 20;
  std::vector<Throttle> throttles_;
};

// Accesses that are refused change nothing.
void registers(Test& test) {
  Block& block = test.block;
  if (block.read(TURNPIKE_NIC_ID) != 0x54504e49 || block.read(TURNPIKE_NIC_PORTS) != kPorts) fail(block.bench(), "AXI4-Lite reads another NIC");
  for (const uint32_t address : {0x2000u, 0x10000u, 0x800014u}) {
    const auto read = block.access(address, false);
    if (read.response != kDecErr || read.value != 0 || block.access(address, true, 1).response != kDecErr) fail(block.bench(), "an access beyond the registers is not refused");
  }
  for (uint32_t strobes = 0; strobes < 15; strobes++) {
    if (block.access(TURNPIKE_NIC_ADDRESS, true, ~0u, strobes).response != kSlvErr) fail(block.bench(), "a write of a part of a register is not refused");
  }
  if (block.read(TURNPIKE_NIC_ADDRESS) != 0) fail(block.bench(), "a refused write changes a register");
  if (block.read(0x1ffc) != 0 || block.read(host_link::kSessionRegister) != 0) fail(block.bench(), "a register without a value has one");
  block.write(host_link::kSessionRegister, 5);
  if (block.read(host_link::kSessionRegister) != 0) fail(block.bench(), "AXI4-Lite begins a session");
}

// While the NIC is stopped all frames are the host's.
void stopped(Test& test) {
  for (int idle = 0; idle < Throttle::kKinds; idle++) {
    for (int pressure = 0; pressure < Throttle::kKinds; pressure++) {
      test.patterns(Throttle::Kind(idle), Throttle::Kind(pressure));
      for (unsigned port = 0; port < kPorts; port++) test.block.receive(port, test.operation(1, 1, 0, 0), true, false);
      test.traffic(FRAMES);
      test.block.drain();
    }
  }
}

// The vectors of the ledger, with frames of the host before and after each.
size_t ledger(Test& test, const Options& options) {
  const auto requests = vectors(options.vectors + "/ledger/compact_requests.hex"), replies = vectors(options.vectors + "/ledger/compact_replies.hex");
  if (requests.size() != replies.size()) throw std::runtime_error("vectors without replies");
  const uint32_t before = test.block.read(host_link::kReceivedRegister);
  for (size_t at = 0; at < requests.size(); at++) {
    if (at % 16 == 0) test.patterns(Throttle::Kind(test.random.below(Throttle::kKinds)), Throttle::Kind(test.random.below(Throttle::kKinds)));
    test.traffic(test.random.chance(30));
    const Bytes request = test.packet(requests[at]);
    test.answered(unsigned(test.random.below(kPorts)), request, frames::reply_to(request, replies[at]));
  }
  test.block.drain();
  if (test.block.read(host_link::kReceivedRegister) - before != requests.size()) fail(test.block.bench(), "another number of frames for the NIC");
  if (test.block.read(TURNPIKE_NIC_OPERATIONS) == 0) fail(test.block.bench(), "the NIC counts no operations");
  return requests.size();
}

// A frame that the NIC hands over reaches the node, and the node's frames reach the network. Forged frames of the link
// do not reach the host.
void handed_over(Test& test) {
  Block& block = test.block;
  for (int turn = 0; turn < 20; turn++) {
    test.patterns(Throttle::Kind(test.random.below(Throttle::kKinds)), Throttle::Kind(test.random.below(Throttle::kKinds)));
    test.traffic(test.random.chance(50));
    const auto port = static_cast<uint8_t>(test.random.below(kPorts));
    Bytes bytes = test.noise(60 + test.random.below(1455));
    if (test.random.chance(50)) {
      frames::put(bytes, 12, 0x0800, 2);
      frames::put(bytes, 30, frames::kAddress, 4);
    } else {
      frames::put(bytes, 12, 0x0806, 2);
      frames::put(bytes, 38, frames::kAddress, 4);
    }
    block.receive(port, bytes, false, true);
    test.received({0, port, TURNPIKE_NIC_TO_HOST_PACKET, bytes});

    const Bytes sent = test.noise(60 + test.random.below(1455));
    test.node.send({0, port, TURNPIKE_NIC_FROM_HOST_SEND, sent});
    for (int waited = 0; block.replies[port].empty(); waited++) {
      if (waited > 400) fail(block.bench(), "a frame of the node does not reach the network");
      test.node.turn(600);
    }
    if (block.replies[port].front() != sent) fail(block.bench(), "a frame of the node is changed");
    block.replies[port].pop_front();
  }
  // Frames in the block's name, with or without the magic.
  const uint32_t before = block.read(host_link::kForgedRegister);
  for (int count = 0; count < 10; count++) {
    Bytes forged = test.noise(60 + test.random.below(1455));
    frames::put(forged, 6, kMac, 6);
    frames::put(forged, 12, host_link::kEtherType, 2);
    if (count % 2 == 0) frames::put(forged, 14, host_link::kLinkMagic, 2);
    block.receive(count % kPorts, forged, false, true);
    test.traffic(1);
  }
  block.drain();
  if (block.read(host_link::kForgedRegister) - before != 10) fail(block.bench(), "forged frames are counted otherwise");
}

// The node starts the NIC, exchanges packets, and stops it inside frames; frames of the host do not notice.
void sessions(Test& test, unsigned loss) {
  Block& block = test.block;
  Node<Block>& node = test.node;
  node.loss = loss;
  for (int session = 0; session < 8; session++) {
    test.patterns(Throttle::Kind(test.random.below(Throttle::kKinds)), Throttle::Kind(test.random.below(Throttle::kKinds)));
    node.write(TURNPIKE_NIC_CONTROL, 0);
    node.open(1 + static_cast<uint32_t>(test.random.below(UINT32_MAX)));
    test.configure(true);
    node.write(TURNPIKE_NIC_CONTROL, kRun | TURNPIKE_NIC_CONTROL_RECORD);
    // The stores clear themselves, and a frame without room meanwhile is dropped.
    block.run(5000);
    for (unsigned port = 0; port < kPorts; port++) {
      test.traffic(1);
      test.issued(port, 1 + port, 0, 0, 1);
      test.issued(port, 1 + port, 500, 500);
      test.issued(port, 1 + port, 70, 570);
    }
    if (loss == 0) handed_over(test);
    block.drain();

    // Replies and the longest packets are leaving, and requests entering, when the NIC stops.
    for (unsigned port = 0; port < kPorts; port++) {
      test.traffic(2);
      node.send({0, static_cast<uint8_t>(port), TURNPIKE_NIC_FROM_HOST_SEND, test.noise(1514)});
      for (int count = 0; count < 30; count++) {
        Bytes request = test.operation(2, 1 + port, 0, 1);
        if (count % 3 == 0) request = test.noise(1400), frames::put(request, 12, 0x0800, 2), frames::put(request, 30, frames::kAddress, 4);
        block.receive(port, request, true, true);
      }
    }
    node.turn(0);
    for (int waited = 0; waited < 3000 && !block.sends(); waited++) block.run(1);
    block.run(test.random.below(20));
    if (session % 2 == 0) block.write(TURNPIKE_NIC_CONTROL, 0);
    else node.write(TURNPIKE_NIC_CONTROL, 0);
    block.drain();
    for (auto& replies : block.replies) replies.clear();
  }
  node.loss = 0;
}

// A frame that is offered to the host stays the host's, although the NIC starts to take such frames meanwhile.
void starts_late(Test& test) {
  Block& block = test.block;
  test.configure(false);
  for (unsigned port = 0; port < kPorts; port++) {
    block.write(TURNPIKE_NIC_CONTROL, 0);
    block.willing = [port](unsigned of, Block::Stream stream) { return of != port || stream != Block::kHostRx; };
    // Two words fill the output.
    block.receive(port, test.noise(2 * kWordBytes), true, false);
    block.receive(port, test.operation(1, 1, 0, 0), true, false);
    block.run(20);
    block.write(TURNPIKE_NIC_CONTROL, kRun);
    block.willing = nullptr;
    block.drain();
  }
  if (block.read(TURNPIKE_NIC_OPERATIONS) != 0) fail(block.bench(), "the NIC takes a frame that was offered to the host");
}

// A stop and a start inside a frame for the NIC: the rest of it is no packet.
void restarts_inside(Test& test) {
  Block& block = test.block;
  const uint64_t before = block.read(TURNPIKE_NIC_HOST_PACKETS);
  for (unsigned port = 0; port < kPorts; port++) {
    unsigned words = 4;
    block.willing = [port, &words](unsigned of, Block::Stream stream) { return of != port || stream != Block::kNetRx || (words > 0 && words-- > 0); };
    Bytes bytes = test.noise(20 * kWordBytes);
    frames::put(bytes, 12, 0x0800, 2);
    frames::put(bytes, 30, frames::kAddress, 4);
    block.receive(port, bytes, false, true);
    block.run(20);
    block.write(TURNPIKE_NIC_CONTROL, 0);
    block.write(TURNPIKE_NIC_CONTROL, kRun);
    block.willing = nullptr;
    block.drain();
    block.run(5000);
  }
  if (block.read(TURNPIKE_NIC_HOST_PACKETS) != before) fail(block.bench(), "the NIC takes the rest of a frame");
}

// A stop while the first word of a reply is offered: an arbiter has chosen it, and the host's frames are next.
void stops_offered(Test& test) {
  Block& block = test.block;
  for (unsigned port = 0; port < kPorts; port++) {
    const uint64_t before = block.cut;
    block.willing = [port](unsigned of, Block::Stream stream) { return of != port || stream != Block::kNetTx; };
    // Two replies of a word fill the output.
    for (int count = 0; count < 3; count++) block.receive(port, test.operation(1, 100 + count, 0, 0), false, true);
    block.run(500);
    block.write(TURNPIKE_NIC_CONTROL, 0);
    block.send(port, test.for_network(), true);
    block.willing = nullptr;
    block.drain();
    if (block.cut != before + 1 || block.replies[port].size() != 2) fail(block.bench(), "a reply that was offered is not cut");
    block.replies[port].clear();
    block.write(TURNPIKE_NIC_CONTROL, kRun);
    block.run(5000);
  }
}

// A frame of the link waits for room for its completion, and is not delivered twice meanwhile.
void completions_wait(Test& test) {
  Block& block = test.block;
  block.drain();
  block.willing = [](unsigned port, Block::Stream stream) { return port != 0 || stream != Block::kHostCpl; };
  // Two at the output, and one before it.
  constexpr unsigned kRoom = 3, kRequests = 6;
  for (unsigned count = 0; count < kRequests; count++) {
    Bytes request(host_link::kHeaderBytes);
    frames::put(request, host_link::address_at::kDestination, kMac, 6);
    frames::put(request, host_link::address_at::kEtherType, host_link::kEtherType, 2);
    frames::put(request, host_link::address_at::kMagic, host_link::kRegisterMagic, 2);
    frames::put(request, host_link::register_at::kTag, count, 4);
    block.send(0, request, false);
    block.run(100);
  }
  unsigned answers = 0;
  for (; block.has_frame(); block.leave()) answers++;
  if (answers != kRoom || block.waiting(0, Block::kHostTx) != kRequests - kRoom) fail(block.bench(), std::to_string(answers) + " answers with room for three completions");
  block.willing = nullptr;
  block.drain();
  while (block.has_frame()) block.leave();
}

// A side that accepts nothing delays its own frames alone, and none is lost.
void stalls(Test& test) {
  Block& block = test.block;
  test.node.write(TURNPIKE_NIC_CONTROL, 0);
  test.node.open(7);
  test.configure(false);
  block.write(TURNPIKE_NIC_CONTROL, kRun);
  block.run(5000);
  for (const auto stalled : {Block::kHostRx, Block::kNetTx, Block::kHostCpl}) {
    constexpr unsigned kStalled = kPorts - 1;
    block.willing = [stalled](unsigned port, Block::Stream stream) { return port != kStalled || stream != stalled; };
    for (int count = 0; count < 40; count++) {
      block.receive(kStalled, test.for_host(), true, false);
      block.send(kStalled, test.for_network(), true);
    }
    block.run(8000);
    const bool received = block.waiting(kStalled, Block::kNetRx) == 0, sent = block.waiting(kStalled, Block::kHostTx) == 0;
    if (received != (stalled != Block::kHostRx) || sent != (stalled != Block::kNetTx)) fail(block.bench(), "a stall does not reach its own direction alone");
    // The other port's clients are answered.
    if (kPorts > 1) {
      const Bytes request = test.operation(1, 9 + stalled, 0, 0);
      test.answered(0, request, frames::reply_to(request, Bytes(request.begin() + frames::kHeaders, request.end())));
    }
    block.willing = nullptr;
    block.drain();
  }
}

// The block with the host and the network on one cable: frames of the host link are the host's.
class Cable {
 public:
  explicit Cable(Block& block) : block_(block) {}

  void arrive(const Bytes& frame, bool is_lost) {
    if (is_lost || frame.size() < host_link::kHeaderBytes) return;
    const bool is_link = frames::get(frame, host_link::address_at::kEtherType, 2) == host_link::kEtherType;
    is_link ? block_.send(0, frame, false) : block_.receive(0, frame, true, true);
  }
  void run(uint64_t cycles) { block_.run(cycles); }
  bool idle() const { return block_.waiting(0, Block::kHostTx) == 0 && block_.waiting(0, Block::kNetRx) == 0; }
  bool has_frame() const { return block_.has_frame() || !block_.replies[0].empty(); }
  Bytes leave() {
    if (block_.has_frame()) return block_.leave();
    const Bytes frame = block_.replies[0].front();
    block_.replies[0].pop_front();
    return frame;
  }

 private:
  Block& block_;
};

void body(const Options& options) {
  Test test(options);
  Block& block = test.block;
  registers(test);
  stopped(test);
  starts_late(test);
  restarts_inside(test);
  stops_offered(test);
  completions_wait(test);
  if ((block.read(TURNPIKE_NIC_CONTROL) & TURNPIKE_NIC_CONTROL_DROP) == 0) fail(block.bench(), "the NIC may stall a port");
  if (block.read(TURNPIKE_NIC_ADDRESS) != frames::kAddress) fail(block.bench(), "a register does not keep what was written");
  const size_t operations = ledger(test, options);
  if (test.node.read(TURNPIKE_NIC_ID, true) != 0x54504e49) fail(block.bench(), "a node reads another NIC");
  sessions(test, 0);
  sessions(test, 5);
  stalls(test);
  if (block.cut == 0) fail(block.bench(), "no frame was cut by a stop");

  // A reset with frames in the block.
  for (int turn = 0; turn < 4; turn++) {
    test.traffic(10);
    block.run(test.random.below(60));
    block.reset();
    test.patterns(Throttle::Kind(turn), Throttle::kOften);
    if (block.read(TURNPIKE_NIC_CONTROL) != 0 || block.read(host_link::kSessionRegister) != 0) fail(block.bench(), "a reset leaves registers");
    test.traffic(5);
    block.drain();
  }
  std::printf("%zu operations of the vectors answered, %llu frames of the host passed, %llu completions, %llu frames of the link lost, %llu frames cut", operations,
              static_cast<unsigned long long>(block.passed), static_cast<unsigned long long>(block.completed), static_cast<unsigned long long>(test.node.lost), static_cast<unsigned long long>(block.cut));
}

}  // namespace

int main(int argc, char** argv) {
  return harness::run(argc, argv, [argc, argv](const Options& options) {
    const std::string tap = harness::argument(argc, argv, "--tap=");
    if (tap.empty()) return body(options);
    Block block(options);
    Cable cable(block);
    Random random(options.seed);
    host_link::Tap<Cable>(cable, random, static_cast<unsigned>(std::stoul("0" + harness::argument(argc, argv, "--loss=")))).serve(tap);
  });
}
