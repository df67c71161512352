// Ethernet frames as they are on GMII, independent of the RTL.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace ethernet {

using Bytes = std::vector<uint8_t>;

constexpr size_t kMinBytes = 64, kMaxBytes = 1522, kFcsBytes = 4, kPreambleBytes = 7, kGapBytes = 12;
constexpr uint8_t kPreamble = 0x55, kStartOfFrame = 0xd5;

// The FCS as IEEE 802.3, clause 3.2.9, defines it: the remainder of a long division, bit by bit, by a polynomial that
// is not reflected. Its bits are sent highest power first, so the bytes in memory are reversed.
inline uint32_t fcs(const Bytes& bytes) {
  uint64_t remainder = 0xffffffff;
  for (const uint8_t byte : bytes) {
    for (int bit = 0; bit < 8; bit++) {
      const uint64_t top = (remainder >> 31 & 1) ^ (byte >> bit & 1);
      remainder = (remainder << 1 & 0xffffffff) ^ (top ? 0x04c11db7 : 0);
    }
  }
  uint32_t reversed = 0;
  for (int bit = 0; bit < 32; bit++) reversed |= static_cast<uint32_t>(remainder >> bit & 1) << (31 - bit);
  return ~reversed;
}

// Fails unless `fcs` returns the published check value of CRC-32.
inline void check_fcs() {
  const char digits[] = "123456789";
  if (fcs(Bytes(digits, digits + 9)) != 0xcbf43926) throw std::runtime_error("the model's FCS is wrong");
}

// Appends the FCS to a packet, which is padded to the minimum length.
inline Bytes framed(Bytes packet) {
  if (packet.size() < kMinBytes - kFcsBytes) packet.resize(kMinBytes - kFcsBytes);
  const uint32_t value = fcs(packet);
  for (int byte = 0; byte < 4; byte++) packet.push_back(static_cast<uint8_t>(value >> (8 * byte)));
  return packet;
}

// The packet of a frame whose preamble, start, length and FCS are correct, still padded. Throws otherwise.
inline Bytes unframed(const Bytes& sent) {
  if (sent.size() < kPreambleBytes + 1 + kMinBytes) throw std::runtime_error("a frame of " + std::to_string(sent.size()) + " bytes with its preamble is too short");
  for (size_t at = 0; at < kPreambleBytes; at++) {
    if (sent[at] != kPreamble) throw std::runtime_error("a wrong preamble");
  }
  if (sent[kPreambleBytes] != kStartOfFrame) throw std::runtime_error("a wrong start-of-frame delimiter");
  const Bytes packet(sent.begin() + kPreambleBytes + 1, sent.end() - kFcsBytes);
  if (packet.size() + kFcsBytes > kMaxBytes) throw std::runtime_error("a frame is too long");
  if (framed(packet) != Bytes(sent.begin() + kPreambleBytes + 1, sent.end())) throw std::runtime_error("a wrong FCS");
  return packet;
}

}  // namespace ethernet
