// Model of dedup_window's index: two buckets of four ways for each source and transaction id. Predicts whether an
// operation finds a way, so that BUSY is accepted if and only if it finds none.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

// Same as toeplitz_hash: the key's lowest bits, as many as the hash has, are XORed in directly.
inline uint32_t toeplitz_hash(uint64_t secret, uint64_t key, unsigned width) {
  const uint64_t data = key >> width, mask = ~uint64_t{0} >> width;
  uint32_t hash = static_cast<uint32_t>(key) & ((1u << width) - 1);
  for (unsigned bit = 0; bit < width; bit++) hash ^= static_cast<uint32_t>(__builtin_parityll(data & (secret >> bit) & mask)) << bit;
  return hash;
}

class WindowIndex {
 public:
  explicit WindowIndex(const std::array<uint64_t, 2>& secret) : secret_(secret) {}

  // Whether an operation taken in `cycle` finds a way. `ends` must have been called for all operations before it.
  bool has_room(uint64_t source, uint64_t transaction, uint64_t cycle) {
    Operation operation{cycle, source << 32 | transaction, buckets(source, transaction), {}, 0, false};
    // A write in cycle 8 is visible to a read in cycle 2. Ways that the operations in between may write are excluded.
    while (!behind_.empty() && behind_.front().cycle + kBehind < cycle) write();
    // Expiry of entries is decided in cycle 4, which sees operations executed up to cycle 7 before it.
    uint64_t next = next_;
    for (const Operation& other : behind_) next -= other.fresh && other.cycle + 3 >= cycle;
    std::array<unsigned, 2> hit{}, free{}, left{};
    for (unsigned half = 0; half < 2; half++) {
      unsigned written = 0, taken = 0;
      for (const Operation& other : behind_) {
        if (other.bucket[half] != operation.bucket[half]) continue;
        taken |= other.ways[half];
        if (other.fresh && other.cycle + kBehind == cycle) written |= other.ways[half];
      }
      for (unsigned way = 0; way < kWays; way++) {
        const Entry& entry = entries_[half][operation.bucket[half]][way];
        const bool live = (entry.sequence >> WindowBits) + 1 >= next >> WindowBits;
        if (written >> way & 1) continue;
        if (!live) free[half] |= 1 << way;
        else if (entry.key == operation.key) hit[half] |= 1 << way;
      }
      left[half] = free[half] & ~taken;
    }
    // Its own expired entry, or the lowest free way of the bucket with more of them.
    if (hit[0] != 0 || hit[1] != 0) {
      operation.ways = hit;
    } else {
      unsigned half = __builtin_popcount(free[1]) > __builtin_popcount(free[0]);
      if (left[half] == 0) half = 1 - half;
      operation.ways[half] = left[half] & -left[half];
    }
    const bool found = operation.ways[0] != 0 || operation.ways[1] != 0;
    behind_.push_back(operation);
    return found;
  }

  // Outcome of the last operation: whether it was remembered.
  void ends(bool fresh) {
    behind_.back().fresh = fresh;
    behind_.back().sequence = next_;
    next_ += fresh;
  }

  // Approximation for an unknown cycle of acceptance: whether live entries and the operations just before may occupy
  // all eight ways. `passed` reports each operation.
  bool may_be_full(uint64_t source, uint64_t transaction) const {
    const std::array<uint32_t, 2> bucket = buckets(source, transaction);
    const auto shares = [&](const std::array<uint32_t, 2>& other) { return other[0] == bucket[0] || other[1] == bucket[1]; };
    return std::count_if(living_.begin(), living_.end(), shares) + std::count_if(last_.begin(), last_.end(), shares) >= 2 * int(kWays);
  }
  void passed(uint64_t source, uint64_t transaction, bool fresh) {
    const std::array<uint32_t, 2> bucket = buckets(source, transaction);
    if (fresh) living_.push_back(bucket);
    else last_.push_back(bucket);
    if (living_.size() > size_t{2} << WindowBits) living_.pop_front();
    if (last_.size() > kBehind) last_.pop_front();
  }

 private:
  static constexpr unsigned kWays = 4, kBehind = 6;

  struct Entry {
    uint64_t sequence = 0, key = 0;
  };
  struct Operation {
    uint64_t cycle, key;
    std::array<uint32_t, 2> bucket;
    std::array<unsigned, 2> ways;
    uint64_t sequence;
    bool fresh;
  };

  std::array<uint32_t, 2> buckets(uint64_t source, uint64_t transaction) const {
    const uint64_t key = source << 32 | transaction;
    return {toeplitz_hash(secret_[0], key, WindowIndexWidth), toeplitz_hash(secret_[1], key, WindowIndexWidth)};
  }

  void write() {
    const Operation& oldest = behind_.front();
    for (unsigned half = 0; oldest.fresh && half < 2; half++) {
      for (unsigned way = 0; way < kWays; way++) {
        if (oldest.ways[half] >> way & 1) entries_[half][oldest.bucket[half]][way] = {oldest.sequence, oldest.key};
      }
    }
    behind_.pop_front();
  }

  std::array<uint64_t, 2> secret_;
  // Starts two windows in, so that nothing in an empty index is live.
  uint64_t next_ = uint64_t{2} << WindowBits;
  std::array<std::vector<std::array<Entry, kWays>>, 2> entries_{std::vector<std::array<Entry, kWays>>(1 << WindowIndexWidth),
                                                                std::vector<std::array<Entry, kWays>>(1 << WindowIndexWidth)};
  std::deque<Operation> behind_;
  std::deque<std::array<uint32_t, 2>> living_, last_;
};
