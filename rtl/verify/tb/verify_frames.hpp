// Packets with verify frames of all kinds of messages, and Rust's answers. SignatureEngines, Roots, EquihashN and
// EquihashK define the available engines.
#pragma once

#include "../../nic/tb/frames.hpp"
#include "../../twin/signatures.hpp"
#include "../../twin/verification.hpp"
#include "bytes.hpp"
#include "harness.hpp"
#if EquihashN
#include "headers.hpp"
#endif

namespace verify_frames {

using frames::Packet;
using harness::Random;

constexpr size_t kHead = frames::kHeaders + 16, kLongest = 1792, kResult = 32;
constexpr uint64_t kOther = ~uint64_t{0};
constexpr uint32_t kEquihash = 0x100, kEcdsa = 0x101, kSchnorr = 0x102, kMerkle = 0x103;

inline void append(Bytes& to, const Bytes& bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }
inline void append(Bytes& to, const uint8_t (&bytes)[32]) { to.insert(to.end(), bytes, bytes + 32); }

// A message: header and body.
inline Bytes message(uint32_t command, Random& random, const Bytes& body) {
  Bytes all(8);
  frames::put(all, 0, command, 4);
  frames::put(all, 4, 16 + body.size(), 4);
  append(all, random_bytes(random, 8));
  append(all, body);
  return all;
}

inline Bytes signature(const twin::Case& one, Random& random) {
  Bytes body;
  if (one.schnorr) {
    for (const auto* field : {&one.message, &one.x, &one.r, &one.s}) append(body, *field);
    return message(kSchnorr, random, body);
  }
  body = {one.low_s, uint8_t(one.key_long ? 65 : 33), 0, 0};
  for (const auto* field : {&one.message, &one.r, &one.s}) append(body, *field);
  body.push_back(one.key_form);
  append(body, one.x);
  if (one.key_long) append(body, one.y);
  body.resize(168);
  return message(kEcdsa, random, body);
}

// A tree of a few leaves, or up to a frame's capacity; every second one with a fault.
inline Bytes tree(Random& random) {
  const size_t count = random.chance(80) ? 1 + random.below(9) : 1 + random.below(52);
  Bytes leaves = random_bytes(random, 32 * count), root(32);
  if (random.chance(25)) {
    const size_t at = random.below(count), from = random.below(count);
    std::memcpy(&leaves[32 * at], &leaves[32 * from], 32);
  }
  // The last two halves, or the last two leaves, are equal: the tree of CVE-2012-2459.
  if (random.chance(20) && count % 2 == 0) std::memcpy(&leaves[32 * (count - 1)], &leaves[32 * (count - 2)], 32);
  turnpike_merkle_root(leaves.data(), count, root.data());
  if (random.chance(25)) root[random.below(32)] ^= uint8_t(1 << random.below(8));
  append(root, leaves);
  return message(kMerkle, random, root);
}

// Makes messages of all kinds, including those that no engine here takes.
class Maker {
 public:
  Maker(const harness::Options& options, unsigned signatures, bool with_vectors)
      : random(options.seed), cases_(options.seed, with_vectors, false), signatures_(signatures) {
#if EquihashN
    for (const Header& header : vectors(options.vectors + "/../crates/verify/tests/vectors")) {
      if (header.rule == "valid") headers_.push_back(header);
      else broken_.push_back(header.bytes());
    }
    if (headers_.empty()) throw std::runtime_error("no vectors with these parameters");
#endif
  }

  Random random;
  uint64_t vectors_left() const { return cases_.vectors(); }

  // The next signature that a frame can carry.
  Bytes next_signature() {
    for (;;) {
      const twin::Case one = cases_.next();
      if (one.framed) return signature(one, random);
    }
  }

  Bytes draw() {
    const uint64_t kind = random.below(100);
    if (kind < signatures_) return next_signature();
#if EquihashN
    if (kind < 60) {
      bool only = true;
      const Bytes header = !broken_.empty() && random.chance(10) ? broken_[random.below(broken_.size())] : random_header(headers_, random, only);
      Bytes body{EquihashN >> 8, EquihashN & 0xff, EquihashK, only, 0, 0, 0, 0};
      append(body, from_text("ZcashPoW"));
      append(body, header);
      return message(kEquihash, random, body);
    }
#endif
    if (kind < 97) return tree(random);
    // BLS, an unknown command, Equihash with other parameters.
    if (kind == 97) return message(0x104, random, random_bytes(random, 144 + random.below(100)));
    if (kind == 98) return message(uint32_t(random.next()), random, random_bytes(random, random.below(200)));
    Bytes body{0, 96, 5, 0, 0, 0, 0, 0};
    append(body, random_bytes(random, 8 + 140 + 1 + 68));
    body[16 + 140] = 68;
    return message(kEquihash, random, body);
  }

  // A frame of up to `most` messages, as many as fit.
  Packet frame(uint32_t id, size_t most, bool only_signatures = false) {
    Bytes messages;
    size_t count = 0;
    for (; count < most; count++) {
      const Bytes next = only_signatures ? next_signature() : draw();
      if (kHead + messages.size() + next.size() > kLongest) break;
      append(messages, next);
    }
    if (count == 0) return frame(id, most, only_signatures);
    return packet(id, count, messages);
  }

  // A frame that may be malformed after its header.
  Packet any_frame(uint32_t id) {
    Packet packet = frame(id, 1 + random.below(6));
    if (!random.chance(25)) return packet;
    switch (random.below(4)) {
      case 0: frames::put(packet, 50, 1 + random.below(8), 2); break;
      case 1: packet.resize(std::max<size_t>(138, kHead + random.below(packet.size() - kHead))); break;
      case 2: packet.resize(std::min<size_t>(kLongest, packet.size() + 1 + random.below(100)), uint8_t(random.below(2))); break;
      default: packet[kHead + random.below(packet.size() - kHead)] ^= uint8_t(1 << random.below(8));
    }
    frames::seal(packet, random.chance(80));
    return packet;
  }

  // Frames in which a message of each kind with fields is some bytes too long or too short, and frames with bytes after
  // their last message.
  std::vector<Packet> of_other_lengths(uint32_t& id) {
    const auto drawn = [&](auto wanted, auto draw) {
      Bytes next = draw();
      while (!wanted(next)) next = draw();
      return next;
    };
    const auto any_tree = [&] { return tree(random); };
    const auto is_small = [](const Bytes& message) { return message.size() < 400; };
    std::vector<Bytes> messages{drawn(is_small, any_tree)};
    for (const uint32_t command : {kEcdsa, kSchnorr}) {
      const auto is_wanted = [&](const Bytes& message) { return message[3] == (command & 0xff); };
      messages.push_back(drawn(is_wanted, [&] { return next_signature(); }));
    }
    std::vector<Packet> packets;
    const Bytes small = drawn(is_small, any_tree);
    for (const Bytes& message : messages) {
      for (const int more : {-32, -16, -8, -1, 1, 8, 16, 24, 32}) {
        Bytes other = message;
        other.resize(size_t(int(message.size()) + more));
        frames::put(other, 4, other.size(), 4);
        append(other, small);
        packets.push_back(packet(id++, 2, other));
      }
    }
    for (size_t more = 1; more <= 16; more++) {
      packets.push_back(packet(id++, 1, small));
      packets.back().resize(packets.back().size() + more, uint8_t(more & 1));
      frames::seal(packets.back(), true);
    }
    return packets;
  }

 private:
  Packet packet(uint32_t id, size_t count, const Bytes& messages) {
    Packet packet = random_bytes(random, frames::kHeaders);
    packet[0] &= 0xfe;
    frames::put(packet, 12, 0x0800, 2);
    frames::put(packet, 14, 0x4500, 2);
    frames::put(packet, 20, 0x4000, 2);
    frames::put(packet, 23, 17, 1);
    frames::put(packet, 26, frames::kTrusted | random.below(0x10000), 4);
    frames::put(packet, 30, frames::kAddress, 4);
    frames::put(packet, 34, 1024 + random.below(1024), 2);
    frames::put(packet, 36, frames::kPort, 2);
    packet.resize(kHead);
    frames::put(packet, 42, 0x54500106, 4);
    frames::put(packet, 46, id, 4);
    frames::put(packet, 50, count, 2);
    append(packet, messages);
    frames::seal(packet, random.chance(80));
    return packet;
  }

  twin::Cases cases_;
  unsigned signatures_;
#if EquihashN
  std::vector<Header> headers_;
  std::vector<Bytes> broken_;
#endif
};

inline uint32_t id_of(const Packet& packet) { return uint32_t(frames::get(packet, 46, 4)); }

// A packet with a frame, and the expected outcome.
struct Asked {
  Packet request;
  std::vector<uint64_t> masks;
  bool takes;  // true: for the engines; false: for the host

  explicit Asked(const Packet& packet) : request(packet), masks(packet.size() / 16) {
    const ptrdiff_t count = turnpike_verify_frame(&packet[frames::kHeaders], packet.size() - frames::kHeaders, EquihashN, EquihashK, masks.data());
    masks.resize(size_t(std::max<ptrdiff_t>(0, count)));
    takes = count > 0;
    for (size_t at = 0, from = kHead; at < masks.size(); at++) {
      const uint64_t command = frames::get(packet, from, 4);
      from += frames::get(packet, from + 4, 4);
      if (masks[at] == kOther || (SignatureEngines == 0 && (command == kEcdsa || command == kSchnorr)) || (!Roots && command == kMerkle)) takes = false;
    }
  }

  // Compares a reply, apart from the cycles, which only the hardware knows. Returns the maximum cycles that it reports
  // for a message.
  uint64_t compare(const Packet& reply) const {
    Packet frame(request.begin() + frames::kHeaders, request.begin() + kHead);
    frame[3] |= 0x80;
    uint64_t most = 0;
    for (size_t at = 0, from = kHead; at < masks.size(); at++) {
      const size_t to = frame.size(), in_reply = frames::kHeaders + to;
      frame.resize(to + kResult);
      frames::put(frame, to, frames::get(request, from, 4) | 0x80000000, 4);
      frames::put(frame, to + 4, kResult, 4);
      std::copy_n(&request[from + 8], 8, &frame[to + 8]);
      frames::put(frame, to + 16, masks[at], 8);
      const uint64_t cycles = reply.size() < in_reply + kResult ? 0 : frames::get(reply, in_reply + 24, 8);
      if (cycles == 0) throw std::runtime_error("a message took no time");
      frames::put(frame, to + 24, cycles, 8);
      most = std::max(most, cycles);
      from += frames::get(request, from + 4, 4);
    }
    const Packet expected = frames::reply_to(request, frame);
    if (reply != expected) throw std::runtime_error("a reply is\n" + frames::hex(reply) + "\ninstead of\n" + frames::hex(expected));
    return most;
  }
};

}  // namespace verify_frames
