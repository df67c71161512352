// Memcached's binary requests as packets, built from their parts, and their fingerprints.
#pragma once

#include "../../nic/tb/frames.hpp"
#include "harness.hpp"
#include "requests.hpp"

namespace kv {

using Packet = frames::Packet;
using frames::put;

constexpr unsigned kSecrets = 34, kDatagram = 42, kMessage = 50, kCas = 66, kBody = 74;
constexpr uint32_t kMonth = 30 * 24 * 3600;
constexpr unsigned kLongestBody = 1514 - kBody;

struct Sent {
  Packet packet;
  Bytes body;
  Request request;
  bool from_host = false;
};

inline Sent build(harness::Random& random, const Command& command, const Bytes& key, Bytes value, uint32_t expiration, uint32_t now) {
  const bool writes = command.op == Set || command.op == Replace;
  if (!writes) value.clear();
  Sent sent{Packet(kBody), key, {}};
  sent.body.insert(sent.body.end(), value.begin(), value.end());
  sent.request = {true, false, command, uint32_t(random.next()), unsigned(key.size()), unsigned(sent.body.size()), 0, 0};
  Packet& packet = sent.packet;
  for (auto& byte : packet) byte = uint8_t(random.next());
  const unsigned extras = writes ? 8 : command.op == Touch ? 4 : 0;
  put(packet, 44, 0, 2), put(packet, 46, random.below(2), 2);
  put(packet, kMessage, 0x80, 1), put(packet, 51, command.opcode, 1), put(packet, 52, key.size(), 2), put(packet, 54, extras, 1);
  put(packet, 55, 0, 1), put(packet, 58, extras + sent.body.size(), 4), put(packet, 62, sent.request.opaque, 4), put(packet, 66, 0, 8);
  packet.resize(kBody + extras);
  if (writes) sent.request.flags = uint32_t(random.next()), put(packet, kBody, sent.request.flags, 4);
  if (extras != 0) {
    put(packet, kBody + extras - 4, expiration, 4);
    sent.request.expiry = expiration == 0 || expiration > kMonth ? expiration : uint32_t(std::min<uint64_t>(uint64_t(now) + expiration, 0xffffffff));
  }
  packet.insert(packet.end(), sent.body.begin(), sent.body.end());
  put(packet, 38, packet.size() - 34, 2);
  return sent;
}

// The host's FLUSH, which is another packet for the host if it comes from elsewhere.
inline Sent build_flush(harness::Random& random, bool from_host) {
  Sent sent{Packet(kBody), {}, {}, from_host};
  for (auto& byte : sent.packet) byte = uint8_t(random.next());
  put(sent.packet, 38, kBody - 34, 2), put(sent.packet, 44, 1, 4);
  put(sent.packet, kMessage, 0x8008, 2), put(sent.packet, 52, 0, 4), put(sent.packet, 58, 0, 4), put(sent.packet, 66, 0, 8);
  sent.request.flushes = from_host, sent.request.opaque = uint32_t(frames::get(sent.packet, 62, 4));
  return sent;
}

// The reply to a request that is executed, about an item.
inline Packet reply(const Sent& sent, const Item& item) {
  const Command& command = sent.request.command;
  const unsigned extras = command.op == Get || command.op == Touch ? 4 : 0;
  const unsigned key = command.key ? sent.request.key_length : 0;
  const Bytes value = command.value ? item.value : Bytes();
  Packet frame(8 + 24 + extras);
  put(frame, 0, frames::get(sent.packet, kDatagram, 2), 2), put(frame, 4, 1, 2);
  put(frame, 8, 0x81, 1), put(frame, 9, command.opcode, 1), put(frame, 10, key, 2), put(frame, 12, extras, 1);
  put(frame, 16, extras + key + value.size(), 4), put(frame, 20, sent.request.opaque, 4);
  put(frame, 24, command.op == Delete ? 0 : item.cas, 8);
  if (extras != 0) put(frame, 32, item.flags, 4);
  frame.insert(frame.end(), sent.body.begin(), sent.body.begin() + key);
  frame.insert(frame.end(), value.begin(), value.end());
  return frames::reply_to(sent.packet, frame);
}

// Makes a packet that is not a request. UDP's length stays right, as it is for all packets that arrive here.
inline void spoil(harness::Random& random, Sent& sent) {
  Packet& packet = sent.packet;
  const unsigned extras = packet[54];
  sent.request.taken = false, sent.body.clear();
  switch (random.below(12)) {
    case 0: put(packet, 50, random.chance(50) ? 0x81 : random.below(0x80), 1); break;
    case 1: {
      static constexpr uint8_t kOthers[] = {0x02, 0x05, 0x07, 0x08, 0x0a, 0x0e, 0x0f, 0x10, 0x12, 0x15, 0x1b, 0x1f, 0x20, 0x22, 0x25, 0x80, 0xff};
      put(packet, 51, kOthers[random.below(std::size(kOthers))], 1);
      break;
    }
    case 2: put(packet, 55, 1 + random.below(255), 1); break;
    case 3: put(packet, 66 + random.below(8), 1 + random.below(255), 1); break;
    case 4: put(packet, 44, 1 + random.below(0xffff), 2); break;
    case 5: put(packet, 46, 2 + random.below(0xfffe), 2); break;
    case 6: put(packet, 58, frames::get(packet, 58, 4) + (random.chance(50) ? 1 : 0x10000), 4); break;
    case 7: packet.push_back(1), put(packet, 38, packet.size() - 34, 2); break;
    case 8: put(packet, 54, extras ^ (1 + random.below(255)), 1); break;
    // Of a write, whose value may make up for the difference, often the first length that is too long.
    case 9: put(packet, 52, random.chance(30) ? 0 : random.chance(70) ? 251 : 251 + random.below(0xff00), 2); break;
    // A key that is longer than the body, by as little as a byte.
    case 10: put(packet, 52, packet.size() - kBody - extras + 1 + random.below(2), 2); break;
    default: packet.resize(1 + random.below(kWord)); break;
  }
}

// Computed over the padded key as a whole; the NIC adds up words.
inline void fingerprint(const uint64_t secrets[kSecrets], unsigned bits, const Bytes& key, uint64_t out[2]) {
  Bytes padded = key;
  padded.resize((key.size() + kWord - 1) / kWord * kWord);
  for (unsigned half = 0; half < 2; half++) {
    out[half] = half == 0 ? key.size() : 0;
    for (size_t at = 0; at < padded.size(); at += 16) {
      uint64_t pair[2];
      memcpy(pair, &padded[at], 16);
      const auto product = static_cast<unsigned __int128>(pair[0] ^ secrets[at / 8 + 2 * half]) * (pair[1] ^ secrets[at / 8 + 1 + 2 * half]);
      out[half] ^= uint64_t(product) ^ uint64_t(product >> 64);
    }
  }
  if (bits < 128) out[1] &= bits > 64 ? (uint64_t{1} << (bits - 64)) - 1 : 0;
  if (bits < 64) out[0] &= (uint64_t{1} << (bits % 64)) - 1;
}

}  // namespace kv
