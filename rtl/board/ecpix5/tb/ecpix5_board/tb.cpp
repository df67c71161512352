// The board by its pins. Every operation of the golden vectors is answered byte for byte, with a correct FCS; frames
// that are not correct change nothing and are counted, and so are packets for the host as long as it has no session.
// Then a node on the same cable takes over, by frames that are lost now and then: each record and each packet reaches
// it once and in order, and so do its own packets.
//
// With --tap=NAME and --loss=PERCENT it tests nothing: the board serves a TAP device, for
// crates/turnpike/tests/cable.rs.
#include "../../../../host_link/tb/node.hpp"
#include "../../../../host_link/tb/tap.hpp"
#include "board.hpp"

using host_link::HostPacket;
using host_link::Node;

// Frames of a file of the ledger's vectors, one a line after its comments.
static std::vector<Bytes> vectors(const std::string& path) {
  std::ifstream file(path);
  std::vector<Bytes> frames;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("//", 0) == 0) continue;
    Bytes frame;
    for (size_t at = 0; at + 1 < line.size(); at += 2) frame.push_back(static_cast<uint8_t>(std::stoul(line.substr(at, 2), nullptr, 16)));
    frames.push_back(frame);
  }
  if (frames.empty()) throw std::runtime_error("no vectors in " + path);
  return frames;
}

// Operations on a few accounts beside a plain model, from clients and from the node.
class Ledger {
 public:
  Ledger(Board& board, Node<Board>& node, Random& random) : board_(board), node_(node), random_(random) {}

  // Stops the NIC in the midst of frames, begins a session, and starts the NIC with an empty ledger.
  void restart() {
    for (int at = 0; at < 20; at++) board_.receive(ethernet::framed(operation(4, 1, 0, 0)));
    // The longest packet takes 95 cycles to leave the NIC.
    Bytes longest(1514);
    frames::put(longest, 12, 0x0806, 2);
    node_.send({0, 0, TURNPIKE_NIC_FROM_HOST_SEND, longest});
    node_.turn(0);
    while (!board_.idle()) board_.run(1);
    board_.run(random_.below(200));
    node_.write(TURNPIKE_NIC_CONTROL, 0);
    node_.open(1 + static_cast<uint32_t>(random_.below(UINT32_MAX)));
    do node_.turn(2000);
    while (!board_.idle());
    cut_ += static_cast<size_t>(std::count_if(node_.network.begin(), node_.network.end(), [&](const Bytes& frame) { return frames::get(frame, 12, 2) == 0x0806 && frame.size() < longest.size(); }));
    node_.network.clear();
    balances_.clear();
    // The console starts the NIC, at any time: it gets whole frames only.
    for (int at = 0; at < 5; at++) board_.receive(ethernet::framed(longest));
    board_.run(random_.below(800));
    board_.write(TURNPIKE_NIC_CONTROL, TURNPIKE_NIC_CONTROL_RUN | TURNPIKE_NIC_CONTROL_COMPACT | TURNPIKE_NIC_CONTROL_BATCH | TURNPIKE_NIC_CONTROL_RECORD);
    // Until nothing has come for longer than the link takes to repeat a loss.
    for (int quiet = 0; quiet < 40; quiet++) {
      node_.turn(2000);
      for (; !node_.received.empty(); node_.received.pop_front()) {
        if (node_.received.front().bytes != longest) fail(board_.bench(), "the NIC got a part of a frame: " + describe(node_.received.front()));
        quiet = 0;
      }
    }
    node_.network.clear();
    before_ = node_.read(TURNPIKE_NIC_HOST_DROPPED);
    missing_ = 0;
    records_.clear(), packets_.clear(), replies_.clear(), frames_.clear();
  }

  void run(int turns) {
    for (int turn = 0; turn < turns || is_waiting(); turn++) {
      if (turn > 20 * turns) fail(board_.bench(), "something was lost for good");
      if (turn < turns) step();
      node_.turn(1000 + random_.below(3000));
      check();
      if (turn > turns && !packets_.empty()) forget_dropped();
    }
    forget_dropped();
    if (missing_ != dropped()) fail(board_.bench(), "the NIC counts other packets for the host as dropped");
  }

  size_t cut() const { return cut_; }
  size_t missing() const { return all_missing_; }
  uint64_t checked() const { return checked_; }

 private:
  static constexpr uint8_t kToHostPacket = TURNPIKE_NIC_TO_HOST_PACKET, kRecord = TURNPIKE_NIC_TO_HOST_RECORD, kReply = TURNPIKE_NIC_TO_HOST_REPLY;

  Bytes operation(uint32_t command, uint32_t source, uint32_t destination, uint32_t amount) {
    Bytes frame(22);
    frames::put(frame, 0, command, 4);
    frames::put(frame, 4, ++transaction_, 4);
    frames::put(frame, 8, source, 4);
    frames::put(frame, 12, destination, 4);
    frames::put(frame, 16, amount, 4);
    return packet(frame, random_);
  }

  // The next operation that succeeds, with the reply and the record to expect.
  Bytes next(uint8_t port) {
    const auto accounts = static_cast<uint32_t>(balances_.size());
    uint32_t command = 1 + static_cast<uint32_t>(random_.below(4)), source = 1 + static_cast<uint32_t>(random_.below(std::max(accounts, 1u))), destination = 0, amount = 0;
    if (accounts < 2) command = 1;
    if (command == 1 && accounts == 40) command = 2;
    if (command == 1) source = accounts + 1, balances_.push_back(0);
    uint64_t& balance = balances_[source - 1];
    if (command == 3 && balance == 0) command = 2;
    if (command == 2) amount = 1 + static_cast<uint32_t>(random_.below(1000)), balance += amount;
    if (command == 3) {
      destination = 1 + source % accounts;
      amount = 1 + static_cast<uint32_t>(random_.below(balance));
      balance -= amount;
      balances_[destination - 1] += amount;
    }
    const Bytes request = operation(command, source, destination, amount);
    Bytes frame(request.begin() + frames::kHeaders, request.end());
    Bytes record(frame);
    record.push_back(0);
    // The host is the port after the last one.
    record.push_back(port == 0 ? 0 : 1);
    record.resize(32);
    frames::put(record, 24, balance, 8);
    records_.push_back({0, 0, kRecord, record});
    // The balance, as far as the field reaches.
    frames::put(frame, 16, std::min<uint64_t>(balance, UINT32_MAX), 4);
    const Bytes reply = frames::reply_to(request, frame);
    if (port == 0) frames_.push_back(reply);
    else replies_.push_back({0, port, kReply, reply});
    return request;
  }

  void step() {
    for (uint64_t count = random_.below(4); count > 0; count--) {
      Bytes bytes(60 + random_.below(1455));
      for (auto& byte : bytes) byte = static_cast<uint8_t>(random_.next());
      bytes[0] &= 0xfe;
      frames::put(bytes, 12, 0x0806, 2);
      switch (random_.below(5)) {
        case 0:
          // For the host.
          packets_.push_back({0, 0, kToHostPacket, bytes});
          board_.receive(ethernet::framed(bytes));
          break;
        case 1:
          // From the host.
          sent_.push_back(bytes);
          node_.send({0, 0, TURNPIKE_NIC_FROM_HOST_SEND, bytes});
          break;
        default: board_.receive(ethernet::framed(next(0)));
      }
    }
    // The order of operations of the host and of clients is the NIC's, so the model has those of the host alone.
    if (random_.chance(10) && records_.empty() && node_.has_sent_all()) {
      do node_.turn(2000);
      while (!board_.idle());
      node_.send({0, TURNPIKE_NIC_PORT_HOST, TURNPIKE_NIC_FROM_HOST_INJECT, next(TURNPIKE_NIC_PORT_HOST)});
      for (int waited = 0; !replies_.empty(); waited++) {
        if (waited > 1000) fail(board_.bench(), "an injected operation is not answered");
        node_.turn(2000);
        check();
      }
    }
  }

  bool is_waiting() const { return !records_.empty() || !packets_.empty() || !replies_.empty() || !frames_.empty() || !sent_.empty() || !node_.has_sent_all(); }

  static std::string describe(const Bytes& frame) { return frames::hex(frame); }
  static std::string describe(const HostPacket& packet) {
    return "kind " + std::to_string(packet.kind) + ", port " + std::to_string(packet.port) + ", id " + std::to_string(packet.id) + ": " + frames::hex(packet.bytes);
  }

  template <typename Item>
  void expect(std::deque<Item>& expected, const Item& item, const char* what) {
    if (expected.empty()) fail(board_.bench(), std::string(what) + " of nothing: " + describe(item));
    if (!(expected.front() == item)) fail(board_.bench(), std::string(what) + "\n" + describe(item) + "\ninstead of\n" + describe(expected.front()));
    expected.pop_front();
    checked_++;
  }

  // Packets for the host that the NIC has dropped: its queue becomes full while the link repeats lost segments.
  size_t dropped() { return node_.read(TURNPIKE_NIC_HOST_DROPPED) - before_; }

  void skip() {
    packets_.pop_front();
    missing_++;
    all_missing_++;
  }

  // The last packets may be among them.
  void forget_dropped() {
    if (missing_ + packets_.size() != dropped()) return;
    while (!packets_.empty()) skip();
  }

  void check() {
    for (; !node_.received.empty(); node_.received.pop_front()) {
      const HostPacket& packet = node_.received.front();
      if (packet.kind == kRecord) expect(records_, packet, "a record");
      else if (packet.kind == kReply) expect(replies_, packet, "a reply");
      else {
        while (packets_.size() > 1 && !(packets_.front() == packet)) skip();
        expect(packets_, packet, "a packet");
      }
    }
    for (; !node_.network.empty(); node_.network.pop_front()) {
      const Bytes& frame = node_.network.front();
      if (frames::get(frame, 12, 2) == 0x0806) expect(sent_, frame, "a frame of the host");
      else expect(frames_, frame, "a reply on the network");
    }
  }

  Board& board_;
  Node<Board>& node_;
  Random& random_;
  uint32_t transaction_ = 1 << 20;
  std::vector<uint64_t> balances_;
  std::deque<HostPacket> records_, packets_, replies_;
  std::deque<Bytes> frames_, sent_;
  size_t cut_ = 0, before_ = 0, missing_ = 0, all_missing_ = 0;
  uint64_t checked_ = 0;
};

int main(int argc, char** argv) {
  return run(argc, argv, [argc, argv](const Options& options) {
    ethernet::check_fcs();
    Random random(options.seed);
    Board board(options);
    if (const std::string tap = harness::argument(argc, argv, "--tap="); !tap.empty()) host_link::Tap<Board>(board, random, static_cast<unsigned>(std::stoul("0" + harness::argument(argc, argv, "--loss=")))).serve(tap);
    if (board.read(TURNPIKE_NIC_ID) != 0x54504e49) fail(board.bench(), "the console reads another NIC");
    for (const char* illegal : {"", "=1", "00000", "0014=123456789", "0014=1=2", "xyz", "0014 "}) {
      if (board.type(illegal) != "?") fail(board.bench(), std::string("the console accepts \"") + illegal + "\"");
    }
    for (unsigned at = 0; at < TURNPIKE_NIC_SECRET_COUNT; at++) board.write(TURNPIKE_NIC_SECRET + 4 * at, static_cast<uint32_t>(random.next()));
    board.write(TURNPIKE_NIC_ADDRESS, frames::kAddress);
    board.write(TURNPIKE_NIC_UDP_PORT, frames::kPort);
    board.write(TURNPIKE_NIC_PROMISE, 1);
    board.write(TURNPIKE_NIC_TRUSTED_ADDRESS, frames::kTrusted);
    board.write(TURNPIKE_NIC_TRUSTED_MASK, frames::kTrustedMask);
    // A node's default, beyond the table: its lower bits are 0.
    board.write(TURNPIKE_NIC_ACCOUNT_LIMIT, 1 << 21);
    board.write(TURNPIKE_NIC_CONTROL, TURNPIKE_NIC_CONTROL_RUN | TURNPIKE_NIC_CONTROL_COMPACT | TURNPIKE_NIC_CONTROL_BATCH | TURNPIKE_NIC_CONTROL_DROP);
    if (board.read(TURNPIKE_NIC_ADDRESS) != frames::kAddress) fail(board.bench(), "a register does not keep what was written");
    if (board.phy_is_reset()) fail(board.bench(), "the PHY stays in reset");
    if (board.read(host_link::kLinkUpRegister) != 1) fail(board.bench(), "the link is not up");

    const auto requests = vectors(options.vectors + "/ledger/compact_requests.hex"), replies = vectors(options.vectors + "/ledger/compact_replies.hex");
    if (requests.size() != replies.size()) throw std::runtime_error("vectors without replies");
    std::array<uint32_t, 6> counts{};
    uint32_t for_host = 0;
    for (size_t at = 0; at < requests.size(); at++) {
      const Bytes request = packet(requests[at], random);
      // Before it, the same frame spoiled in a way that the MAC must notice, and a packet for the host.
      Bytes spoiled = ethernet::framed(request);
      const auto way = static_cast<Status>(1 + at % 4);
      size_t error = SIZE_MAX;
      if (way == kBadFcs) spoiled[random.below(spoiled.size())] ^= 1 << random.below(8);
      if (way == kRunt) spoiled.resize(ethernet::kMinBytes - 1);
      if (way == kJabber) spoiled.resize(ethernet::kMaxBytes + 1);
      if (way == kError) error = random.below(spoiled.size());
      board.receive(spoiled, error);
      counts[way]++;
      Bytes other = request;
      frames::put(other, 12, 0x0806, 2);
      board.receive(ethernet::framed(other));
      for_host++;
      board.receive(ethernet::framed(request), SIZE_MAX, random.below(ethernet::kPreambleBytes + 1));
      counts[kGood] += 2;
      board.drain();
      const Bytes expected = frames::reply_to(request, replies[at]);
      if (board.sent.size() != 1) fail(board.bench(), std::to_string(board.sent.size()) + " frames instead of a reply to " + frames::hex(requests[at]));
      const Bytes reply = ethernet::unframed(board.sent.front());
      board.sent.pop_front();
      if (reply != expected) fail(board.bench(), "a reply is\n" + frames::hex(reply) + "\ninstead of\n" + frames::hex(expected));
    }
    for (unsigned status = 0; status < counts.size(); status++) {
      if (board.read(static_cast<uint16_t>(host_link::kReceivedRegister + 4 * status)) != counts[status]) fail(board.bench(), "another number of frames with status " + std::to_string(status));
    }
    if (board.read(host_link::kHostPacketsRegister) != for_host) fail(board.bench(), "another number of packets for the host");
    if (board.read(TURNPIKE_NIC_OPERATIONS) == 0) fail(board.bench(), "the NIC counted no operations");
    const uint64_t latency = board.latency;

    Node<Board> node(board, random);
    if (node.read(TURNPIKE_NIC_ID, true) != 0x54504e49) fail(board.bench(), "a node reads another NIC");
    Ledger ledger(board, node, random);
    for (const unsigned loss : {0, 5, 20}) {
      node.loss = loss;
      uint32_t replays = 0;
      for (int session = 0; session < 6; session++) {
        ledger.restart();
        const uint32_t before = node.read(host_link::kReplaysRegister);
        ledger.run(30);
        replays += node.read(host_link::kReplaysRegister) - before;
      }
      if ((loss == 0) != (replays == 0)) fail(board.bench(), std::to_string(replays) + " repetitions with " + std::to_string(loss) + " % lost");
    }
    if (ledger.missing() * 5 > ledger.checked()) fail(board.bench(), "most packets were dropped");
    if (ledger.cut() == 0) fail(board.bench(), "no frame was cut by a stop");
    std::printf("%zu operations of the vectors by the pins, each answered within %.2f us, %u frames dropped; %llu packets of a node on the cable, %llu frames lost, %zu cut", requests.size(),
                static_cast<double>(latency) / 1e6, counts[kBadFcs] + counts[kRunt] + counts[kJabber] + counts[kError], static_cast<unsigned long long>(ledger.checked()),
                static_cast<unsigned long long>(node.lost), ledger.cut());
  });
}
