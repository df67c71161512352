// Shared by the table's testbenches: the keyed hash, a plain model, the Rust table.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <unordered_map>

namespace table {

using Key = std::array<uint8_t, 16>;
struct KeyHash {
  size_t operator()(const Key &key) const {
    uint64_t words[2];
    memcpy(words, key.data(), 16);
    return words[0] * 0x9e3779b97f4a7c15 ^ (words[1] + (words[0] >> 29)) * 0xc2b2ae3d27d4eb4f;
  }
};

// The hasher of crates/table: secret word i is SipHash-2-4 of i.
struct Hasher {
  static constexpr int SECRETS = 16;
  uint64_t secrets[SECRETS];

  explicit Hasher(const uint8_t seed[16]) {
    for (uint64_t i = 0; i < SECRETS; i++) secrets[i] = sip(seed, i);
  }

  uint64_t hash(const uint8_t *key, int length) const {
    uint64_t state = 0;
    for (int pair = 0; pair < (length + 15) / 16; pair++) {
      uint64_t words[2] = {};
      int rest = length - 16 * pair;
      memcpy(words, key + 16 * pair, rest < 16 ? rest : 16);
      state = fold(words[0] ^ secrets[2 * pair] ^ state, words[1] ^ secrets[2 * pair + 1]);
    }
    return fold(state ^ secrets[SECRETS - 2], secrets[SECRETS - 1] | 1);
  }

 private:
  static uint64_t fold(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
  }
  static uint64_t rotate(uint64_t x, int k) { return x << k | x >> (64 - k); }
  static uint64_t sip(const uint8_t seed[16], uint64_t number) {
    uint64_t k0, k1;
    memcpy(&k0, seed, 8), memcpy(&k1, seed + 8, 8);
    uint64_t v[4] = {k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573};
    auto rounds = [&](int count) {
      while (count--) {
        v[0] += v[1], v[1] = rotate(v[1], 13) ^ v[0], v[0] = rotate(v[0], 32);
        v[2] += v[3], v[3] = rotate(v[3], 16) ^ v[2];
        v[0] += v[3], v[3] = rotate(v[3], 21) ^ v[0];
        v[2] += v[1], v[1] = rotate(v[1], 17) ^ v[2], v[2] = rotate(v[2], 32);
      }
    };
    for (uint64_t word : {number, (uint64_t)8 << 56}) {
      v[3] ^= word;
      rounds(2);
      v[0] ^= word;
    }
    v[2] ^= 0xff;
    rounds(4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
  }
};

enum Op { Get, Insert, Update, Delete };
enum Status { Ok, NotFound, Full, NoRoom };

struct Request {
  Op op;
  Key key;
  uint64_t value;
  uint32_t expiry;
  uint8_t tag;
};

struct Result {
  Status status;
  uint64_t value;
  uint8_t tag;
};

// Reference semantics of the table: a map whose entries expire.
struct Model {
  struct Entry {
    uint64_t value;
    uint32_t expiry;
  };
  std::unordered_map<Key, Entry, KeyHash> map;

  Result apply(const Request &request, uint32_t now) {
    auto found = map.find(request.key);
    if (found != map.end() && found->second.expiry != 0 && now >= found->second.expiry) {
      map.erase(found);
      found = map.end();
    }
    bool live = found != map.end();
    switch (request.op) {
    case Get: return live ? Result{Ok, found->second.value, request.tag} : Result{NotFound, 0, request.tag};
    case Update:
      if (!live) return {NotFound, 0, request.tag};
      [[fallthrough]];
    case Insert: map[request.key] = {request.value, request.expiry}; return {Ok, request.value, request.tag};
    default: break;
    }
    if (!live) return {NotFound, 0, request.tag};
    Result result{Ok, found->second.value, request.tag};
    map.erase(found);
    return result;
  }
};

}  // namespace table

// The Rust table, rtl/twin/src/table.rs.
extern "C" {
struct Twin;
Twin *table_new(size_t entries, uint32_t load, const uint8_t seed[16]);
void table_free(Twin *);
bool table_get(const Twin *, const uint8_t key[16], uint64_t *value);
bool table_insert(Twin *, const uint8_t key[16], uint64_t value);
bool table_remove(Twin *, const uint8_t key[16], uint64_t *value);
}
