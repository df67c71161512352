// Packets of every kind, valid and spoiled in every way, with the kind that the NIC should assign.
#pragma once

#include <utility>

#include "../../model/nic.hpp"
#include "../frames.hpp"
#include "harness.hpp"
#include "proofs.hpp"
#include "protocol.hpp"

using namespace harness;
using frames::get;
using frames::put;
using nic::Packet;
using protocol::kStatusBusy, protocol::kStatusMalformed, protocol::kStatusNotTrusted, protocol::kStatusTransactionIdReused;

// Kind that the NIC assigns to a packet.
enum class Kind { kCompact, kBatch, kProof, kHost };

class Traffic {
 public:
  Traffic(uint64_t seed, Proofs& proofs) : random_(seed), proofs_(proofs) {}

  std::pair<Packet, Kind> next() {
    const bool is_batch = random_.chance(20), is_proof = !is_batch && random_.chance(20);
    // Mostly few, sometimes up to a packet's capacity.
    const size_t count = random_.chance(90) ? 1 + random_.below(6) : 1 + random_.below(60);
    Packet packet = headers(is_batch ? 58 + 24 * count : is_proof ? proofs_.request_bytes() : 64);
    if (is_batch) batch(packet, count);
    else if (is_proof) proofs_.request(packet);
    else compact(packet, frames::kHeaders);
    frames::seal(packet, random_.chance(80));
    if (random_.chance(75)) return {packet, kind_of(packet)};
    spoil(packet);
    return {packet, Kind::kHost};
  }

  // From a trusted address, of maximum length.
  Packet full_batch() {
    Packet packet = headers(58 + 24 * 60);
    put(packet, 26, frames::kTrusted + random_.below(0x10000), 4);
    // CREATE takes 8 cycles.
    batch(packet, 60, 200);
    frames::seal(packet, random_.chance(80));
    return packet;
  }

 private:
  // Batches from untrusted senders are refused as a whole, and replies are not answered: both are left to the host.
  static Kind kind_of(const Packet& packet) {
    if (get(packet, 42, 4) == 0x54500103) return Kind::kProof;
    if (get(packet, 42, 2) != 0x5450) return get(packet, 62, 2) == kStatusMalformed ? Kind::kHost : Kind::kCompact;
    return (get(packet, 26, 4) & frames::kTrustedMask) == frames::kTrusted ? Kind::kBatch : Kind::kHost;
  }

  void batch(Packet& packet, size_t count, unsigned kinds = 20) {
    put(packet, 42, 0x54500102, 4);
    put(packet, 50, count, 2);
    put(packet, 52, 0, 1);
    put(packet, 53, random_.below(2), 1);
    put(packet, 54, 0, 4);
    for (size_t at = 58; at < packet.size(); at += 24) {
      compact(packet, at, kinds);
      put(packet, at + 22, random_.chance(95) ? 0 : random_.next(), 2);
    }
  }

  Packet headers(size_t length) {
    Packet packet(length);
    for (auto& byte : packet) byte = static_cast<uint8_t>(random_.next());
    packet[0] &= 0xfe;
    put(packet, 12, 0x0800, 2);
    put(packet, 14, 0x45, 1);
    put(packet, 20, random_.chance(50) ? 0x4000 : 0, 2);
    put(packet, 23, 17, 1);
    put(packet, 26, random_.chance(90) ? frames::kTrusted + random_.below(0x10000) : 0x0a020000 + random_.below(0x10000), 4);
    put(packet, 30, frames::kAddress, 4);
    put(packet, 34, 1 + random_.below(7399), 2);
    put(packet, 36, frames::kPort, 2);
    return packet;
  }

  // Of `kinds` operations, one is a CREATE, two are ISSUEs, two REFERs, all others TRANSFERs.
  void compact(Packet& packet, size_t at, unsigned kinds = 20) {
    const uint32_t source = static_cast<uint32_t>(random_.below(20)), kind = static_cast<uint32_t>(random_.below(kinds));
    put(packet, at, kind == 0 ? 1 : kind < 3 ? 2 : kind < 5 ? 4 : 3, 4);
    put(packet, at + 4, random_.below(20000), 4);
    put(packet, at + 8, source, 4);
    put(packet, at + 12, kind < 5 ? 0 : random_.below(20), 4);
    put(packet, at + 16, kind == 0 || (kind >= 3 && kind < 5) ? 0 : kind < 3 ? 0xffffffff : random_.below(50), 4);
    put(packet, at + 20, 0, 2);
    // Operations that the extractor refuses.
    if (random_.chance(5)) put(packet, at, 5 + random_.below(60000), 4);
    if (random_.chance(3)) put(packet, at + 20, 1 + random_.below(40), 2);
    if (random_.chance(3)) put(packet, at + 12 + random_.below(8), random_.next(), 1);
  }

  // Turns a packet into one for the host.
  void spoil(Packet& packet) {
    switch (random_.below(19)) {
      case 0: packet.resize(1 + random_.below(packet.size() - 1)); break;
      case 18:
        packet.resize(1 + random_.below(200));
        for (auto& byte : packet) byte = static_cast<uint8_t>(random_.next());
        break;
      case 1: packet.resize(packet.size() + 1 + random_.below(1450), 0xaa); break;
      case 2: packet.resize(1600 + random_.below(8000), 0x55); break;
      case 3: put(packet, 12, random_.chance(50) ? 0x0806 : random_.chance(50) ? 0x86dd : 0x8100, 2); break;
      case 4: put(packet, 14, 0x46, 1), frames::seal(packet, true); break;
      case 5: put(packet, 20, 0x2000, 2), frames::seal(packet, true); break;
      case 6: put(packet, 20, 1 + random_.below(0x1fff), 2), frames::seal(packet, true); break;
      case 7: put(packet, 23, 6, 1), frames::seal(packet, true); break;
      case 8: put(packet, 30, frames::kAddress + 1, 4), frames::seal(packet, true); break;
      case 9: put(packet, 36, frames::kPort + 1, 2), frames::seal(packet, true); break;
      case 10: put(packet, 38, get(packet, 38, 2) - 1, 2); break;
      case 11: packet[14 + random_.below(20)] ^= 1 << random_.below(8); break;
      case 12:
        frames::seal(packet, true);
        packet[42 + random_.below(packet.size() - 42)] ^= 1 << random_.below(8);
        break;
      case 13: put(packet, 34, random_.chance(50) ? frames::kPort : 0, 2), frames::seal(packet, true); break;
      case 14: packet[0] |= 1; break;
      case 15: put(packet, 42, random_.chance(50) ? 0x54500182 : 0x54500200 + random_.below(0xfe00), 4), frames::seal(packet, true); break;
      default:
        // A batch with another count, format or promise, or with a nonzero reserved field; a compact frame with it is
        // too short.
        put(packet, 42, 0x54500102, 4);
        put(packet, 50, packet.size() == 64 ? 1 : (packet.size() - 58) / 24, 2);
        put(packet, 52, 0, 6);
        const size_t at = 50 + random_.below(8);
        packet[at] ^= at == 53 ? 2 : 1 << random_.below(8);
        frames::seal(packet, true);
    }
  }

  Random random_;
  Proofs& proofs_;
};
