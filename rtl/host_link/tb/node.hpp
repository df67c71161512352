// A node at the other end of a board's host link, as docs/board.md has it: accesses registers, and exchanges packets
// with the NIC by frames that may be lost in both directions.
//
// The testbench's `Board` has `run(cycles)`, `arrive(frame, is_lost)`, `idle()` (all frames have arrived),
// `has_frame()`, `leave()`, and `bench()`.
#pragma once

#include <deque>
#include <optional>

#include "../../nic/tb/frames.hpp"
#include "harness.hpp"
#include "host_link.hpp"

namespace host_link {

using Bytes = frames::Packet;
using harness::fail;
using harness::Random;

struct HostPacket {
  uint16_t id;
  uint8_t port, kind;
  Bytes bytes;
  bool operator==(const HostPacket&) const = default;
};

template <typename Board>
class Node {
 public:
  Node(Board& board, Random& random) : board_(board), random_(random) {}

  // Chance in a hundred that a frame of the link or of an access is lost.
  unsigned loss = 0;
  uint64_t lost = 0;
  // Packets of the NIC, in order, and frames that are not for the node.
  std::deque<HostPacket> received;
  std::deque<Bytes> network;

  uint32_t read(uint16_t address, bool broadcast = false) { return access(address, false, 0, broadcast); }

  void write(uint16_t address, uint32_t value) {
    if (access(address, true, value, false) != value) fail(board_.bench(), "an access confirms another value");
  }

  // Begins a session: both sides forget the last one.
  void open(uint32_t session) {
    session_ = session;
    queue_.clear();
    kept_ = sent_ = expected_ = 0;
    partial_ = {};
    received.clear();
    write(kSessionRegister, session);
    if (read(kSessionRegister) != session) fail(board_.bench(), "another session");
  }

  void send(HostPacket packet) {
    for (size_t at = 0; at < packet.bytes.size(); at += kSegmentBytes) {
      const size_t end = std::min(at + kSegmentBytes, packet.bytes.size());
      const Bytes payload(packet.bytes.begin() + static_cast<long>(at), packet.bytes.begin() + static_cast<long>(end));
      queue_.push_back({payload, packet.id, packet.port, packet.kind, at == 0, end == packet.bytes.size()});
    }
  }

  bool has_sent_all() const { return queue_.empty(); }

  // Sends new segments as far as the window allows, or the unacknowledged ones again; lets time pass; then takes all
  // frames that have arrived.
  void turn(uint64_t cycles) {
    if (session_ != 0) {
      if (sent_ == stalled_) sent_ = 0;
      stalled_ = sent_;
      acknowledges_ |= sent_ < std::min(queue_.size(), kWindow);
      for (; sent_ < std::min(queue_.size(), kWindow); sent_++) segment(&queue_[sent_], static_cast<uint16_t>(kept_ + sent_));
      if (acknowledges_) segment(nullptr, 0);
      acknowledges_ = false;
    }
    board_.run(cycles);
    take();
  }

 private:
  struct Segment {
    Bytes payload;
    uint16_t id;
    uint8_t port, kind;
    bool first, last;
  };
  static constexpr uint64_t kAddress = 0x02005e000053, kBoard = 0x020000000001, kBroadcast = 0xffffffffffff;

  Bytes frame(uint64_t destination, uint16_t magic) const {
    Bytes frame(kHeaderBytes);
    frames::put(frame, address_at::kDestination, destination, 6);
    frames::put(frame, address_at::kSource, kAddress, 6);
    frames::put(frame, address_at::kEtherType, kEtherType, 2);
    frames::put(frame, address_at::kMagic, magic, 2);
    return frame;
  }

  // To the board, or lost.
  void transmit(const Bytes& frame) {
    const bool is_lost = random_.chance(loss);
    lost += is_lost;
    board_.arrive(frame, is_lost);
  }

  // A segment, or an acknowledgement alone.
  void segment(const Segment* segment, uint16_t number) {
    Bytes bytes = frame(kBoard, kLinkMagic);
    frames::put(bytes, link_at::kSession, session_, 4);
    frames::put(bytes, link_at::kExpected, expected_, 2);
    if (segment) {
      frames::put(bytes, link_at::kFlags, kHasData | (segment->first ? kFirst : 0) | (segment->last ? kLast : 0), 2);
      frames::put(bytes, link_at::kLength, segment->payload.size(), 2);
      frames::put(bytes, link_at::kNumber, number, 2);
      frames::put(bytes, link_at::kMeta, segment->id, 2);
      frames::put(bytes, link_at::kMeta + 2, segment->port, 1);
      frames::put(bytes, link_at::kMeta + 3, segment->kind, 1);
      bytes.insert(bytes.end(), segment->payload.begin(), segment->payload.end());
    }
    transmit(bytes);
  }

  uint32_t access(uint16_t address, bool writes, uint32_t value, bool broadcast) {
    for (int repeated = 0; repeated < 100; repeated++) {
      Bytes request = frame(broadcast ? kBroadcast : kBoard, kRegisterMagic);
      frames::put(request, register_at::kTag, ++tag_, 4);
      frames::put(request, register_at::kFlags, writes ? kIsWrite : 0, 2);
      frames::put(request, register_at::kAddress, address, 2);
      frames::put(request, register_at::kValue, value, 4);
      reply_.reset();
      transmit(request);
      do board_.run(500);
      while (!board_.idle());
      take();
      if (reply_) return *reply_;
    }
    fail(board_.bench(), "no access is answered");
    return 0;
  }

  void take() {
    while (board_.has_frame()) {
      const Bytes bytes = board_.leave();
      if (frames::get(bytes, address_at::kEtherType, 2) != kEtherType) {
        network.push_back(bytes);
        continue;
      }
      if (frames::get(bytes, address_at::kDestination, 6) != kAddress || frames::get(bytes, address_at::kSource, 6) != kBoard) fail(board_.bench(), "a frame of the link has other addresses");
      if (random_.chance(loss)) {
        lost++;
        continue;
      }
      if (frames::get(bytes, address_at::kMagic, 2) == kRegisterMagic) {
        if (frames::get(bytes, register_at::kTag, 4) == tag_) reply_ = static_cast<uint32_t>(frames::get(bytes, register_at::kValue, 4));
      } else {
        link(bytes);
      }
    }
  }

  void link(const Bytes& bytes) {
    if (frames::get(bytes, link_at::kSession, 4) != session_) return;
    const auto acknowledged = static_cast<uint16_t>(frames::get(bytes, link_at::kExpected, 2) - kept_);
    if (acknowledged > 0 && acknowledged <= std::min(queue_.size(), kWindow)) {
      queue_.erase(queue_.begin(), queue_.begin() + acknowledged);
      kept_ = static_cast<uint16_t>(kept_ + acknowledged);
      sent_ -= std::min<size_t>(sent_, acknowledged);
    }
    const auto flags = frames::get(bytes, link_at::kFlags, 2);
    if (!(flags & kHasData)) return;
    acknowledges_ = true;
    if (frames::get(bytes, link_at::kNumber, 2) != expected_) return;
    expected_++;
    const size_t length = frames::get(bytes, link_at::kLength, 2);
    const HostPacket meta{static_cast<uint16_t>(frames::get(bytes, link_at::kMeta, 2)), static_cast<uint8_t>(bytes[link_at::kMeta + 2]), static_cast<uint8_t>(bytes[link_at::kMeta + 3]), {}};
    if (flags & kFirst) {
      if (!partial_.bytes.empty()) fail(board_.bench(), "a packet begins inside another one");
      partial_ = meta;
    }
    if (length == 0 || length > bytes.size() - kHeaderBytes) fail(board_.bench(), "a segment has an impossible length");
    partial_.bytes.insert(partial_.bytes.end(), bytes.begin() + kHeaderBytes, bytes.begin() + kHeaderBytes + static_cast<long>(length));
    if (!(flags & kLast)) return;
    received.push_back(partial_);
    partial_ = {};
  }

  Board& board_;
  Random& random_;
  uint32_t session_ = 0, tag_ = 0;
  std::optional<uint32_t> reply_;
  // Segments from the first that is not acknowledged, its number, and how many of them were sent.
  std::deque<Segment> queue_;
  uint16_t kept_ = 0, expected_ = 0;
  size_t sent_ = 0, stalled_ = SIZE_MAX;
  bool acknowledges_ = false;
  HostPacket partial_{};
};

}  // namespace host_link
