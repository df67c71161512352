// The verilated turnpike_nic, packet by packet: used by its testbench and by programs that simulate it.
//
// Packets and register accesses are queued here; `step` advances the clock and moves what it can. Verilator's prefix is
// Vtop; the widths are the module's defaults unless defined otherwise. With EXTERNAL the module is nic_dram.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <stdexcept>
#include <vector>

#include "Vtop.h"
#include "turnpike_nic_csr.h"

#ifndef DataWidth
#define DataWidth 64
#endif
#ifndef HostWidth
#define HostWidth 512
#endif
#ifndef Ports
#define Ports 4
#endif

namespace nic {

using Packet = std::vector<uint8_t>;

enum ToHost : uint8_t {
  kPacket = TURNPIKE_NIC_TO_HOST_PACKET,
  kMiss = TURNPIKE_NIC_TO_HOST_MISS,
  kReply = TURNPIKE_NIC_TO_HOST_REPLY,
  kRecord = TURNPIKE_NIC_TO_HOST_RECORD,
  kExecuted = TURNPIKE_NIC_TO_HOST_EXECUTED
};
enum FromHost : uint8_t {
  kSend = TURNPIKE_NIC_FROM_HOST_SEND,
  kInject = TURNPIKE_NIC_FROM_HOST_INJECT,
  kFill = TURNPIKE_NIC_FROM_HOST_FILL,
  kNone = TURNPIKE_NIC_FROM_HOST_NONE,
  kAnnounce = TURNPIKE_NIC_FROM_HOST_ANNOUNCE
};
constexpr uint8_t kHostPort = TURNPIKE_NIC_PORT_HOST;

// Packet on one of the host's streams.
struct HostPacket {
  uint8_t kind = 0;
  uint8_t port = 0;
  uint16_t id = 0;
  Packet bytes;
};

// Stream numbers, for `willing`.
constexpr unsigned kPorts = Ports, kRx = 0, kTx = kPorts, kFromHost = 2 * kPorts, kToHost = kFromHost + 1, kStreams = kToHost + 1;

// Timing of the memories with EXTERNAL, in cycles: a request is answered after `least` plus fewer than `spread`; a
// refresh of `gap` comes every `refresh`. The defaults approximate a DDR4 at 156.25 MHz.
struct Memory {
  uint16_t least = 16, spread = 16, refresh = 1218, gap = 55;
};

class Nic {
  // A separate context, since a context supports one model with a waveform.
  VerilatedContext context_;

 public:
  Vtop top{&context_};
  uint64_t cycle = 0;
  // If set, called once per cycle and stream, before the clock: whether a word is offered, or accepted.
  std::function<bool(unsigned stream)> willing;
  // If set, called after every change of the clock; for waveforms.
  std::function<void(uint64_t time)> changed;

  // The seed sets the initial contents of memories and registers without a reset.
  explicit Nic(uint64_t seed = 1, [[maybe_unused]] const Memory& memory = {}) {
    context_.randSeed(static_cast<int>(seed % 0x7fffffff) + 1);
    context_.randReset(2);
#ifdef TRACE
    context_.traceEverOn(true);
#endif
#ifdef EXTERNAL
    top.least_i = memory.least;
    top.spread_i = memory.spread;
    top.refresh_i = memory.refresh;
    top.gap_i = memory.gap;
#endif
    reset();
  }

  // Resets the model and clears the queues here. Registers are zero afterwards, so the data path is stopped.
  void reset() {
    for (auto& queue : in_) queue = {};
    for (auto& queue : out_) queue = {};
    top.rx_valid_i = top.tx_ready_i = 0;
    top.from_host_valid_i = top.to_host_ready_i = top.csr_valid_i = 0;
    top.rst_ni = 1;
    fall();
    top.rst_ni = 0;
    for (int cycles = 0; cycles < 2; cycles++) {
      fall();
      rise();
    }
    top.rst_ni = 1;
    top.eval();
  }

  void step(uint64_t cycles = 1) {
    for (; cycles > 0; cycles--) cycle_once();
  }

  // Queues a packet from the network, of at least one byte.
  void push(unsigned port, Packet packet) { in_[network(port)].packets.push_back({meta(0, 0, 0), whole(std::move(packet))}); }

  // Returns the next packet that has left a port (the last port is the host), or null. Does not remove it.
  const Packet* next(unsigned port) const {
    const auto& packets = out_.at(port).packets;
    return packets.empty() ? nullptr : &packets.front().bytes;
  }

  bool pop(unsigned port, Packet& packet) {
    auto& packets = out_[network(port)].packets;
    if (packets.empty()) return false;
    packet = std::move(packets.front().bytes);
    packets.pop_front();
    return true;
  }

  void host_push(HostPacket packet) {
    in_[kPorts].packets.push_back({meta(packet.kind, packet.port, packet.id), whole(std::move(packet.bytes))});
  }

  bool host_pop(HostPacket& packet) {
    auto& packets = out_[kPorts].packets;
    if (packets.empty()) return false;
    const uint32_t meta = packets.front().meta;
    packet = {uint8_t(meta), uint8_t(meta >> 8), uint16_t(meta >> 16), std::move(packets.front().bytes)};
    packets.pop_front();
    return true;
  }

  // Packets pushed that have not entered completely.
  size_t waiting(unsigned port) const { return in_[network(port)].packets.size(); }
  size_t host_waiting() const { return in_[kPorts].packets.size(); }

  uint32_t csr_read(uint32_t address) {
    access(address, false, 0);
    return top.csr_read_data_o;
  }
  void csr_write(uint32_t address, uint32_t value) {
    access(address, true, value);
    // The data path stops in the next cycle; a partially sent packet must not be joined with the next one.
    if (address == TURNPIKE_NIC_CONTROL && !(value & TURNPIKE_NIC_CONTROL_RUN)) {
      for (Out& out : out_) out.begun.clear();
    }
  }
  uint64_t csr_counter(uint32_t address) {
    const uint64_t lower = csr_read(address);
    return uint64_t{csr_read(address + 4)} << 32 | lower;
  }

 private:
  struct Queued {
    uint32_t meta;
    Packet bytes;
  };
  struct In {
    std::deque<Queued> packets;
    size_t at = 0;        // bytes of the first packet that have entered
    bool offered = false;  // an offered word must stay
  };
  struct Out {
    std::deque<Queued> packets;
    Packet begun;
  };
  std::array<In, kPorts + 1> in_;
  std::array<Out, kPorts + 1> out_;

  static uint32_t meta(uint8_t kind, uint8_t port, uint16_t id) { return kind | port << 8 | uint32_t{id} << 16; }

  static unsigned network(unsigned port) {
    if (port >= kPorts) throw std::out_of_range("there is no such port");
    return port;
  }

  static Packet whole(Packet packet) {
    if (packet.empty()) throw std::invalid_argument("a packet has at least one byte");
    return packet;
  }

  bool open(unsigned stream) { return !willing || willing(stream); }

  void access(uint32_t address, bool write, uint32_t value) {
    top.csr_address_i = address;
    top.csr_write_i = write;
    top.csr_write_data_i = value;
    top.csr_valid_i = 1;
    cycle_once();
    top.csr_valid_i = 0;
  }

  // Verilator's vectors are little-endian on the supported machines.
  template <typename Data, typename Keep>
  static size_t offer(const In& in, unsigned slice, unsigned width, Data& data, Keep& keep) {
    const Packet& bytes = in.packets.front().bytes;
    const size_t count = std::min<size_t>(width, bytes.size() - in.at);
    const uint64_t mask = count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
    std::memcpy(reinterpret_cast<uint8_t*>(&data) + slice * width, bytes.data() + in.at, count);
    std::memcpy(reinterpret_cast<uint8_t*>(&keep) + slice * width / 8, &mask, width / 8);
    return count;
  }

  template <typename Data, typename Keep>
  static void gather(Out& out, unsigned slice, unsigned width, const Data& data, const Keep& keep, bool last, uint32_t meta) {
    uint64_t mask = 0;
    std::memcpy(&mask, reinterpret_cast<const uint8_t*>(&keep) + slice * width / 8, width / 8);
    const size_t count = static_cast<size_t>(__builtin_popcountll(mask));
    if (count == 0 || mask != (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) || (!last && count != width)) {
      throw std::runtime_error("keep has a hole");
    }
    const auto* from = reinterpret_cast<const uint8_t*>(&data) + slice * width;
    out.begun.insert(out.begun.end(), from, from + count);
    if (!last) return;
    out.packets.push_back({meta, std::move(out.begun)});
    out.begun.clear();
  }

  void cycle_once() {
    constexpr unsigned width = DataWidth / 8, host_width = HostWidth / 8;
    std::array<size_t, kPorts + 1> count{};
    uint32_t valid = 0, last = 0, ready = 0;
    for (unsigned port = 0; port <= kPorts; port++) {
      In& in = in_[port];
      const bool is_host = port == kPorts;
      const bool is_open = open(is_host ? kFromHost : kRx + port);
      if (in.packets.empty() || (!in.offered && !is_open)) continue;
      in.offered = true;
      count[port] = is_host ? offer(in, 0, host_width, top.from_host_data_i, top.from_host_keep_i)
                            : offer(in, port, width, top.rx_data_i, top.rx_keep_i);
      valid |= 1u << port;
      if (in.at + count[port] == in.packets.front().bytes.size()) last |= 1u << port;
    }
    constexpr uint32_t ports = (1u << kPorts) - 1;
    top.rx_valid_i = valid & ports;
    top.rx_last_i = last & ports;
    top.from_host_valid_i = valid >> kPorts & 1;
    top.from_host_last_i = last >> kPorts & 1;
    if (top.from_host_valid_i) top.from_host_meta_i = in_[kPorts].packets.front().meta;
    for (unsigned port = 0; port < kPorts; port++) ready |= uint32_t{open(kTx + port)} << port;
    top.tx_ready_i = ready;
    top.to_host_ready_i = open(kToHost);
    fall();

    for (unsigned port = 0; port < kPorts; port++) {
      if (top.tx_valid_o >> port & ready >> port & 1) gather(out_[port], port, width, top.tx_data_o, top.tx_keep_o, top.tx_last_o >> port & 1, 0);
    }
    if (top.to_host_valid_o && top.to_host_ready_i) {
      gather(out_[kPorts], 0, host_width, top.to_host_data_o, top.to_host_keep_o, top.to_host_last_o, top.to_host_meta_o);
    }
    const uint32_t entered = valid & (top.rx_ready_o | uint32_t{top.from_host_ready_o} << kPorts);
    for (unsigned port = 0; port <= kPorts; port++) {
      if (!(entered >> port & 1)) continue;
      In& in = in_[port];
      in.offered = false;
      in.at += count[port];
      if (last >> port & 1) {
        in.packets.pop_front();
        in.at = 0;
      }
    }
    rise();
  }

  // Inputs change at the falling edge; the outputs that follow are what the rising edge samples.
  void fall() {
    top.clk_i = 0;
    top.eval();
    if (changed) changed(2 * cycle);
  }

  void rise() {
    top.clk_i = 1;
    top.eval();
    if (changed) changed(2 * cycle + 1);
    cycle++;
  }
};

}  // namespace nic
