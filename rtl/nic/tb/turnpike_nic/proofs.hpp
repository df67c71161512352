// A chain as its full node sees it: the correct reply to each proof frame, and the announcements when a block changes
// them.
#pragma once

#include <array>
#include <cstring>
#include <map>

#include "../../model/turnpike_nic_csr.h"
#include "../frames.hpp"
#include "harness.hpp"

class Proofs {
 public:
  using Key = std::array<uint8_t, 33>;
  using Packet = frames::Packet;
  static constexpr uint8_t kForget = TURNPIKE_NIC_CHANGE_FORGET, kExtend = TURNPIKE_NIC_CHANGE_EXTEND, kReorganise = TURNPIKE_NIC_CHANGE_REORGANISE;
  static constexpr uint8_t kIndex = 4;

  // Few, so that there are hits between two blocks.
  static constexpr uint64_t kNumbers = 3;

  explicit Proofs(uint64_t seed) : random_(seed) {}

  // Cache key of a request.
  static Key key_of(const Packet& request) {
    Key key;
    key[0] = uint8_t(request[50] << 4 | request[51]);
    std::copy_n(request.begin() + 58, 32, key.begin() + 1);
    return key;
  }

  // Fills in a request after the existing headers: mostly for arguments that others also request, mostly with room for
  // every reply.
  void request(Packet& packet) {
    frames::put(packet, 42, 0x54500103, 4);
    frames::put(packet, 46, next_id_++, 4);
    const uint8_t chain = uint8_t(random_.below(2)), query = uint8_t(1 + random_.below(chain == 0 ? 4 : 3));
    frames::put(packet, 50, chain << 8 | query, 2);
    std::fill(packet.begin() + 52, packet.end(), 0);
    frames::put(packet, 58, random_.below(kNumbers), 8);
    frames::put(packet, 82, 0x0123456789abcdef, 8);
  }
  size_t request_bytes() { return random_.chance(85) ? 1514 : 90 + random_.below(1425); }

  // Correct body of the reply.
  Packet body(const Key& key) const {
    const unsigned chain = key[0] >> 4;
    const auto found = touched_.find(key);
    uint64_t seed = epoch_[chain] * 0x9e3779b97f4a7c15 + (found == touched_.end() ? 0 : found->second) * 0x1000193;
    if ((key[0] & 15) == kIndex) seed += blocks_[chain] * 0x85ebca6b;
    for (const uint8_t byte : key) seed = (seed ^ byte) * 0x100000001b3;
    harness::Random random(seed);
    // One in ten is longer than a place of the cache.
    Packet body(random.chance(90) ? 40 + random.below(985) : 1025 + random.below(399));
    for (auto& byte : body) byte = uint8_t(random.next());
    std::copy(tip_[chain].begin(), tip_[chain].end(), body.begin());
    return body;
  }

  // Frame of the reply: the request's first 48 bytes and the body.
  static Packet reply(const Packet& request, const Packet& body) {
    Packet frame(request.begin() + 42, request.begin() + 90);
    frame[3] |= 0x80;
    frames::put(frame, 12, body.size(), 4);
    frame.insert(frame.end(), body.begin(), body.end());
    return frame;
  }

  // Makes a change, and its announcements in order. The first change of a chain must be a reorganisation.
  std::vector<Packet> change(unsigned chain, bool reorganises) {
    std::vector<Packet> announcements;
    const auto announce = [&](uint8_t op, const Key& key) {
      Packet packet(TURNPIKE_NIC_ANNOUNCEMENT_BYTES);
      packet[TURNPIKE_NIC_ANNOUNCEMENT_OPERATION] = op;
      // Keys begin with the place, tips with the hash.
      std::copy(key.begin(), key.end(), packet.begin() + TURNPIKE_NIC_ANNOUNCEMENT_PLACE);
      std::copy(tip_[chain].begin(), tip_[chain].end(), packet.begin() + TURNPIKE_NIC_ANNOUNCEMENT_HASH);
      return packet;
    };
    Key of_chain{};
    of_chain[0] = uint8_t(chain << 4);
    const auto parent = tip_[chain];
    if (!reorganises) {
      for (int count = 0; count < 2; count++) {
        Key key = of_chain;
        key[0] |= 1;
        const uint64_t number = random_.below(kNumbers);
        key[8] = uint8_t(number);
        for (int at = 0; at < 8; at++) key[25 + at] = uint8_t(0x0123456789abcdef >> (8 * (7 - at)));
        touched_[key]++;
        announcements.push_back(announce(kForget, key));
      }
    }
    for (auto& byte : tip_[chain]) byte = uint8_t(random_.next());
    blocks_[chain]++;
    epoch_[chain] += reorganises;
    announcements.push_back(announce(reorganises ? kReorganise : kExtend, of_chain));
    std::copy_n(parent.begin(), 32, announcements.back().begin() + TURNPIKE_NIC_ANNOUNCEMENT_PARENT);
    return announcements;
  }

 private:
  harness::Random random_;
  uint32_t next_id_ = 1;
  std::array<std::array<uint8_t, 40>, 2> tip_{};
  std::array<uint64_t, 2> blocks_{}, epoch_{};
  std::map<Key, uint64_t> touched_;
};
