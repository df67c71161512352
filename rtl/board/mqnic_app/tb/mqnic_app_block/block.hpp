// The application block between models of Corundum's MACs and of its interfaces: every frame of the host passes in
// order, unchanged and with its `tuser`, and each of its sent frames is completed once. All of it is checked in every
// cycle, whatever a test does.
#pragma once

#include <array>
#include <deque>
#include <functional>

#include "../../../../host_link/tb/host_link.hpp"
#include "../../../../nic/model/turnpike_nic_csr.h"
#include "../../../../nic/tb/frames.hpp"
#include "harness.hpp"

using namespace harness;
using Bytes = frames::Packet;
// `tuser`, or a timestamp.
using User = unsigned __int128;

constexpr unsigned kPorts = Ports, kTagWidth = TagWidth, kTimestampWidth = 96, kRxUserWidth = kTimestampWidth + 1, kTxUserWidth = kTagWidth + 1;
constexpr size_t kWordBytes = 64;
constexpr uint64_t kMac = 0x020000000001;

struct Frame {
  Bytes bytes;
  User user = 0;
  // Of an expected frame: it may be missing, as the NIC was stopped or started around it.
  bool optional = false;
};

// Bits of a port, in a vector of Verilator.
template <typename Vector>
void put_bits(Vector& vector, unsigned port, unsigned width, User value) {
  auto* bytes = reinterpret_cast<uint8_t*>(&vector);
  for (unsigned bit = 0; bit < width; bit++) {
    const unsigned at = port * width + bit;
    bytes[at / 8] = static_cast<uint8_t>((bytes[at / 8] & ~(1u << at % 8)) | unsigned(value >> bit & 1) << at % 8);
  }
}
template <typename Vector>
User get_bits(const Vector& vector, unsigned port, unsigned width) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&vector);
  User value = 0;
  for (unsigned bit = 0; bit < width; bit++) {
    const unsigned at = port * width + bit;
    value |= User(bytes[at / 8] >> at % 8 & 1) << bit;
  }
  return value;
}

class Block {
 public:
  struct Completion {
    User time;
    uint32_t tag;
  };
  enum Stream { kNetRx, kHostRx, kHostTx, kNetTx, kNetCpl, kHostCpl, kStreams };

  explicit Block(const Options& options) : bench_(options), random_(options.seed), top_(bench_.top) { reset(); }

  // Whether a stream of a port offers or accepts a word in this cycle. If unset, always.
  std::function<bool(unsigned port, Stream stream)> willing;
  // Frames of the NIC that a MAC sent, by port.
  std::array<std::deque<Bytes>, kPorts> replies;
  uint64_t passed = 0, completed = 0, cut = 0;
  const Bench& bench() const { return bench_; }

  // Resets the block. Frames in it or on their way to it are gone.
  void reset() {
    for (auto& port : ports_) port = {};
    for (auto& queue : replies) queue.clear();
    linked_.clear();
    top_.awvalid_i = top_.wvalid_i = top_.bready_i = top_.arvalid_i = top_.rready_i = 0;
    top_.net_rx_valid_i = top_.host_tx_valid_i = top_.net_cpl_valid_i = 0;
    top_.host_rx_ready_i = top_.net_tx_ready_i = top_.host_cpl_ready_i = 0;
    bench_.reset();
  }

  // A frame from the network: for the host, for the NIC, or for either if the NIC is stopped or started meanwhile.
  void receive(unsigned port, const Bytes& bytes, bool for_host, bool for_nic) {
    const Frame frame{bytes, random_user(kTimestampWidth) << 1, for_nic};
    ports_[port].net_rx.frames.push_back(frame);
    if (for_host) ports_[port].for_host.push_back(frame);
  }

  // A frame from the host: to the network, or to the block over the link.
  void send(unsigned port, const Bytes& bytes, bool for_network) {
    // The upper bit is set in tags of Corundum; 32 descriptors are in use at most.
    const uint32_t tag = 1u << (kTagWidth - 1) | (ports_[port].tag++ & 31);
    const Frame frame{bytes, User(tag) << 1};
    ports_[port].host_tx.frames.push_back(frame);
    if (for_network) ports_[port].for_network.push_back(frame);
    else ports_[port].linked_tags.push_back(tag);
  }

  // The node's side of the link, see node.hpp.
  void arrive(const Bytes& frame, bool is_lost) {
    if (!is_lost) send(0, frame, false);
  }
  bool idle() const { return ports_[0].host_tx.frames.empty(); }
  bool has_frame() const { return !linked_.empty(); }
  Bytes leave() {
    const Bytes frame = linked_.front();
    linked_.pop_front();
    return frame;
  }

  void run(uint64_t cycles) {
    for (; cycles > 0; cycles--) step();
  }

  // Runs until all frames have passed and are completed.
  void drain() {
    for (unsigned quiet = 0, waited = 0; quiet < 500; waited++) {
      if (waited > 400000) fail(bench_, "frames of the host are lost: " + open_work());
      step();
      quiet = is_drained() ? quiet + 1 : 0;
    }
  }

  size_t waiting(unsigned port, Stream stream) const { return stream == kNetRx ? ports_[port].net_rx.frames.size() : ports_[port].host_tx.frames.size(); }

  // Whether a frame of the NIC is on its way into a MAC.
  bool sends() const {
    for (const auto& port : ports_) {
      if (!port.net_tx.begun.empty() && port.net_tx.user == 0) return true;
    }
    return false;
  }

  struct Response {
    uint32_t value, response;
  };

  // An access by AXI4-Lite. The channels of a write are offered in any order.
  Response access(uint32_t address, bool writes, uint32_t value = 0, uint32_t strobes = 15) {
    bool addressed = false, written = false, responded = false;
    Response response{};
    top_.awaddr_i = top_.araddr_i = address;
    top_.wdata_i = value;
    top_.wstrb_i = strobes;
    for (int waited = 0; !responded; waited++) {
      if (waited > 1000) fail(bench_, "an access by AXI4-Lite is not answered");
      if (!addressed && random_.chance(50)) (writes ? top_.awvalid_i : top_.arvalid_i) = 1;
      if (writes && !written && random_.chance(50)) top_.wvalid_i = 1;
      (writes ? top_.bready_i : top_.rready_i) = random_.chance(50);
      offer();
      const bool address_enters = writes ? top_.awvalid_i && top_.awready_o : top_.arvalid_i && top_.arready_o;
      const bool data_enters = top_.wvalid_i && top_.wready_o;
      responded = writes ? top_.bvalid_o && top_.bready_i : top_.rvalid_o && top_.rready_i;
      if (responded && (!addressed || (writes && !written))) fail(bench_, "a response before its request");
      if (responded) response = {top_.rdata_o, static_cast<uint32_t>(writes ? top_.bresp_o : top_.rresp_o)};
      if (writes ? top_.rvalid_o : top_.bvalid_o) fail(bench_, "a response of the other kind");
      take();
      if (address_enters) addressed = true, top_.awvalid_i = top_.arvalid_i = 0;
      if (data_enters) written = true, top_.wvalid_i = 0;
    }
    top_.bready_i = top_.rready_i = 0;
    return response;
  }

  uint32_t read(uint32_t address) {
    const Response response = access(address, false);
    if (response.response != 0) fail(bench_, "a read of a register is refused");
    return response.value;
  }
  void write(uint32_t address, uint32_t value) {
    if (access(address, true, value).response != 0) fail(bench_, "a write of a register is refused");
  }

 private:
  struct Source {
    std::deque<Frame> frames;
    size_t at = 0;
    bool offered = false;
  };
  struct Sink {
    Bytes begun;
    User user = 0;
    // A word that was offered must stay.
    bool held = false, held_last = false;
    Bytes held_word;
    User held_user = 0;
  };
  struct Port {
    Source net_rx, host_tx;
    Sink host_rx, net_tx;
    std::deque<Frame> for_host, for_network;
    // Completions of the MAC, those that the host must get of them, and tags of frames of the link.
    std::deque<Completion> mac, for_completion;
    std::deque<uint32_t> linked_tags;
    bool offers_completion = false;
    uint32_t tag = 0;
  };

  User random_user(unsigned width) {
    const User value = User(random_.next()) << 64 | random_.next();
    return value & ((User(1) << width) - 1);
  }

  bool open(unsigned port, Stream stream) { return !willing || willing(port, stream); }

  bool is_drained() const {
    for (const auto& port : ports_) {
      if (!port.net_rx.frames.empty() || !port.host_tx.frames.empty() || !port.mac.empty() || !port.for_network.empty() || !port.for_completion.empty() || !port.linked_tags.empty()) return false;
      for (const auto& frame : port.for_host) {
        if (!frame.optional) return false;
      }
    }
    return true;
  }
  std::string open_work() const {
    std::string text;
    for (const auto& port : ports_) {
      text += std::to_string(port.net_rx.frames.size()) + " to receive, " + std::to_string(port.host_tx.frames.size()) + " to send, " + std::to_string(port.for_host.size()) + " for the host, " +
              std::to_string(port.for_network.size()) + " for the network, " + std::to_string(port.for_completion.size()) + " and " + std::to_string(port.linked_tags.size()) + " to complete; ";
    }
    return text;
  }

  template <typename Data, typename Keep, typename Users>
  bool present(Source& source, unsigned port, bool is_open, unsigned user_width, Data& data, Keep& keep, Users& user, bool& last) {
    if (source.frames.empty() || (!source.offered && !is_open)) return false;
    const Frame& frame = source.frames.front();
    const size_t count = std::min(kWordBytes, frame.bytes.size() - source.at);
    last = source.at + count == frame.bytes.size();
    if (source.offered) return true;
    source.offered = true;
    auto* word = reinterpret_cast<uint8_t*>(&data) + port * kWordBytes;
    std::memcpy(word, frame.bytes.data() + source.at, count);
    // Bytes without `keep` mean nothing.
    for (size_t at = count; at < kWordBytes; at++) word[at] = static_cast<uint8_t>(random_.next());
    const uint64_t mask = count == kWordBytes ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
    std::memcpy(reinterpret_cast<uint8_t*>(&keep) + port * 8, &mask, 8);
    put_bits(user, port, user_width, frame.user);
    return true;
  }

  static void advance(Source& source) {
    source.offered = false;
    source.at += std::min(kWordBytes, source.frames.front().bytes.size() - source.at);
    if (source.at < source.frames.front().bytes.size()) return;
    source.at = 0;
    source.frames.pop_front();
  }

  // A word at an output. Returns whether it ends a frame that has been taken.
  template <typename Data, typename Keep, typename Users>
  bool gather(Sink& sink, unsigned port, unsigned user_width, bool valid, bool ready, const Data& data, const Keep& keep, bool last, const Users& user) {
    if (!valid) {
      if (sink.held) fail(bench_, "an offered word is withdrawn");
      return false;
    }
    uint64_t mask = 0;
    std::memcpy(&mask, reinterpret_cast<const uint8_t*>(&keep) + port * 8, 8);
    const auto count = static_cast<size_t>(__builtin_popcountll(mask));
    if (count == 0 || mask != (count == kWordBytes ? ~uint64_t{0} : (uint64_t{1} << count) - 1) || (!last && count != kWordBytes)) fail(bench_, "keep has a hole");
    const auto* word = reinterpret_cast<const uint8_t*>(&data) + port * kWordBytes;
    const Bytes bytes(word, word + count);
    const User value = get_bits(user, port, user_width);
    if (sink.held && (bytes != sink.held_word || value != sink.held_user || last != sink.held_last)) fail(bench_, "an offered word changes");
    sink.held = !ready;
    sink.held_word = bytes, sink.held_user = value, sink.held_last = last;
    if (!ready) return false;
    sink.user = value;
    sink.begun.insert(sink.begun.end(), bytes.begin(), bytes.end());
    return last;
  }

  void expect(std::deque<Frame>& expected, const Frame& frame, const char* what) {
    while (!expected.empty() && expected.front().optional && (expected.front().bytes != frame.bytes || expected.front().user != frame.user)) expected.pop_front();
    if (expected.empty()) fail(bench_, std::string(what) + " gets a frame of nobody: " + frames::hex(frame.bytes));
    if (expected.front().bytes != frame.bytes) fail(bench_, std::string(what) + " gets\n" + frames::hex(frame.bytes) + "\ninstead of\n" + frames::hex(expected.front().bytes));
    if (expected.front().user != frame.user) fail(bench_, std::string(what) + " gets a frame with another tuser");
    expected.pop_front();
    passed++;
  }

  void to_host(unsigned port, const Frame& frame) {
    const bool is_link = frame.bytes.size() >= 14 && frames::get(frame.bytes, 12, 2) == host_link::kEtherType && frames::get(frame.bytes, 6, 6) == kMac;
    if (!is_link) return expect(ports_[port].for_host, frame, "the host");
    if (port != 0) fail(bench_, "a frame of the link at another port");
    if (frame.user != 0) fail(bench_, "a frame of the link has a timestamp");
    linked_.push_back(frame.bytes);
  }

  void to_network(unsigned port, const Frame& frame) {
    // A queue of Corundum drops a frame that is marked, and nothing completes it.
    if (frame.user & 1) {
      cut++;
      return;
    }
    const auto tag = static_cast<uint32_t>(frame.user >> 1);
    const Completion completion{random_user(kTimestampWidth) | 1, tag};
    ports_[port].mac.push_back(completion);
    if (tag == 0) {
      replies[port].push_back(frame.bytes);
      return;
    }
    ports_[port].for_completion.push_back(completion);
    expect(ports_[port].for_network, frame, "the network");
  }

  void complete(unsigned port, const Completion& completion) {
    Port& of = ports_[port];
    completed++;
    if (completion.time == 0) {
      if (of.linked_tags.empty() || of.linked_tags.front() != completion.tag) fail(bench_, "a completion of no frame of the link");
      of.linked_tags.pop_front();
      return;
    }
    if (of.for_completion.empty()) fail(bench_, "a completion of no frame of the host");
    if (of.for_completion.front().time != completion.time || of.for_completion.front().tag != completion.tag) fail(bench_, "another completion");
    of.for_completion.pop_front();
  }

  void step() {
    offer();
    take();
  }

  // Sets the inputs of a cycle.
  void offer() {
    unsigned net_rx = 0, host_tx = 0, net_cpl = 0, host_rx = 0, net_tx = 0, host_cpl = 0;
    net_last_ = host_last_ = 0;
    for (unsigned port = 0; port < kPorts; port++) {
      bool last = false;
      if (present(ports_[port].net_rx, port, open(port, kNetRx), kRxUserWidth, top_.net_rx_data_i, top_.net_rx_keep_i, top_.net_rx_user_i, last)) {
        net_rx |= 1u << port;
        net_last_ |= unsigned{last} << port;
      }
      last = false;
      if (present(ports_[port].host_tx, port, open(port, kHostTx), kTxUserWidth, top_.host_tx_data_i, top_.host_tx_keep_i, top_.host_tx_user_i, last)) {
        host_tx |= 1u << port;
        host_last_ |= unsigned{last} << port;
      }
      const bool completes = open(port, kNetCpl);
      if (!ports_[port].mac.empty() && (ports_[port].offers_completion || completes)) {
        ports_[port].offers_completion = true;
        net_cpl |= 1u << port;
        put_bits(top_.net_cpl_ts_i, port, kTimestampWidth, ports_[port].mac.front().time);
        put_bits(top_.net_cpl_tag_i, port, kTagWidth, ports_[port].mac.front().tag);
      }
      host_rx |= unsigned{open(port, kHostRx)} << port;
      net_tx |= unsigned{open(port, kNetTx)} << port;
      host_cpl |= unsigned{open(port, kHostCpl)} << port;
    }
    top_.net_rx_valid_i = static_cast<uint8_t>(net_rx);
    top_.net_rx_last_i = static_cast<uint8_t>(net_last_);
    top_.host_tx_valid_i = static_cast<uint8_t>(host_tx);
    top_.host_tx_last_i = static_cast<uint8_t>(host_last_);
    top_.net_cpl_valid_i = static_cast<uint8_t>(net_cpl);
    top_.host_rx_ready_i = static_cast<uint8_t>(host_rx);
    top_.net_tx_ready_i = static_cast<uint8_t>(net_tx);
    top_.host_cpl_ready_i = static_cast<uint8_t>(host_cpl);
    top_.clk_i = 0;
    bench_.settle();
  }

  // Takes the outputs of a cycle, and ends it.
  void take() {
    for (unsigned port = 0; port < kPorts; port++) {
      Port& of = ports_[port];
      const auto bit = [port](unsigned value) { return (value >> port & 1) != 0; };
      if (gather(of.host_rx, port, kRxUserWidth, bit(top_.host_rx_valid_o), bit(top_.host_rx_ready_i), top_.host_rx_data_o, top_.host_rx_keep_o, bit(top_.host_rx_last_o), top_.host_rx_user_o)) {
        to_host(port, {std::exchange(of.host_rx.begun, {}), of.host_rx.user});
      }
      if (bit(top_.host_cpl_valid_o) && bit(top_.host_cpl_ready_i)) {
        complete(port, {get_bits(top_.host_cpl_ts_o, port, kTimestampWidth), static_cast<uint32_t>(get_bits(top_.host_cpl_tag_o, port, kTagWidth))});
      }
      if (bit(top_.net_cpl_valid_i) && bit(top_.net_cpl_ready_o)) {
        of.mac.pop_front();
        of.offers_completion = false;
      }
      if (gather(of.net_tx, port, kTxUserWidth, bit(top_.net_tx_valid_o), bit(top_.net_tx_ready_i), top_.net_tx_data_o, top_.net_tx_keep_o, bit(top_.net_tx_last_o), top_.net_tx_user_o)) {
        to_network(port, {std::exchange(of.net_tx.begun, {}), of.net_tx.user});
      }
      if (bit(top_.net_rx_valid_i) && bit(top_.net_rx_ready_o)) advance(of.net_rx);
      if (bit(top_.host_tx_valid_i) && bit(top_.host_tx_ready_o)) advance(of.host_tx);
    }
    bench_.step();
  }

  Bench bench_;
  Random random_;
  Vtop& top_;
  std::array<Port, kPorts> ports_;
  std::deque<Bytes> linked_;
  unsigned net_last_ = 0, host_last_ = 0;
};
