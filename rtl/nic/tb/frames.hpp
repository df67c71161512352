// Packets as senders build them, independent of the RTL: Ethernet, IPv4, UDP and the frames of docs/protocol.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace frames {

using Packet = std::vector<uint8_t>;

constexpr size_t kHeaders = 42;
constexpr uint16_t kPort = 7400;
constexpr uint32_t kAddress = 0x0a000001, kTrusted = 0x0a010000, kTrustedMask = 0xffff0000;

inline void put(Packet& packet, size_t at, uint64_t value, int bytes) {
  for (int byte = 0; byte < bytes; byte++) packet[at + byte] = static_cast<uint8_t>(value >> (8 * (bytes - 1 - byte)));
}

inline uint64_t get(const Packet& packet, size_t at, int bytes) {
  uint64_t value = 0;
  for (int byte = 0; byte < bytes; byte++) value = value << 8 | packet[at + byte];
  return value;
}

inline uint32_t sum(const Packet& packet, size_t from, size_t to) {
  uint32_t sum = 0;
  for (size_t at = from; at + 1 < to; at += 2) sum += packet[at] << 8 | packet[at + 1];
  if ((to - from) % 2) sum += packet[to - 1] << 8;
  return sum;
}

inline uint16_t checksum(uint32_t sum) {
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

// Writes both lengths and both checksums; that of UDP only if `udp` is set.
inline void seal(Packet& packet, bool udp) {
  const auto length = static_cast<uint32_t>(packet.size());
  put(packet, 16, length - 14, 2);
  put(packet, 38, length - 34, 2);
  put(packet, 24, 0, 2);
  put(packet, 24, checksum(sum(packet, 14, 34)), 2);
  put(packet, 40, 0, 2);
  if (!udp) return;
  const uint16_t value = checksum(sum(packet, 26, 34) + 17 + (length - 34) + sum(packet, 34, length));
  put(packet, 40, value == 0 ? 0xffff : value, 2);
}

// Builds the reply to a request, with another frame: addresses swapped, sealed like the request.
inline Packet reply_to(const Packet& request, const Packet& frame) {
  Packet reply(request.begin(), request.begin() + kHeaders);
  reply.insert(reply.end(), frame.begin(), frame.end());
  std::swap_ranges(reply.begin(), reply.begin() + 6, reply.begin() + 6);
  std::swap_ranges(reply.begin() + 26, reply.begin() + 30, reply.begin() + 30);
  std::swap_ranges(reply.begin() + 34, reply.begin() + 36, reply.begin() + 36);
  reply[22] = 64;
  seal(reply, get(request, 40, 2) != 0);
  return reply;
}

inline std::string hex(const Packet& packet) {
  std::string text;
  for (const uint8_t byte : packet) text += "0123456789abcdef"[byte >> 4], text += "0123456789abcdef"[byte & 15];
  return text;
}

}  // namespace frames
