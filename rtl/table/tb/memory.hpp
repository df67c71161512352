// An external memory of buckets, as table_lines uses it: reads take any time and are answered in any order, writes are done in order;
// all stops for a refresh from time to time.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "harness.hpp"

namespace table {

// Fields of any width at any bit of a port.
inline uint64_t get_bits(const uint32_t* words, unsigned at, unsigned width) {
  uint64_t value = 0;
  for (unsigned i = 0; i < width; i++) value |= uint64_t(words[(at + i) / 32] >> ((at + i) % 32) & 1) << i;
  return value;
}

inline void copy_bits(uint32_t* to, unsigned to_at, const uint32_t* from, unsigned from_at, unsigned width) {
  while (width > 0) {
    const unsigned to_bit = to_at % 32, from_bit = from_at % 32;
    const unsigned run = std::min({width, 32 - to_bit, 32 - from_bit});
    const uint32_t mask = (run == 32 ? ~0u : (1u << run) - 1) << to_bit;
    const uint32_t bits = from[from_at / 32] >> from_bit << to_bit;
    to[to_at / 32] = (to[to_at / 32] & ~mask) | (bits & mask);
    to_at += run, from_at += run, width -= run;
  }
}

struct Latency {
  unsigned least, spread;  // cycles from a request to its answer
  unsigned refresh;        // cycles between refreshes, 0 for none
  unsigned gap;            // cycles of a refresh
};

template <unsigned kBuckets, unsigned kWays, unsigned kWidth>
class Memory {
 public:
  using Entry = std::array<uint32_t, (kWidth + 31) / 32>;
  using Bucket = std::array<Entry, kWays>;

  explicit Memory(uint64_t seed) : random_(seed), buckets_(kBuckets) {
    for (auto& bucket : buckets_)
      for (auto& entry : bucket)
        for (auto& word : entry) word = uint32_t(random_.next());
  }

  void set(Latency latency) { latency_ = latency; }

  // What it offers in this cycle.
  void begin(uint64_t cycle) {
    const bool refreshing = latency_.refresh != 0 && cycle % latency_.refresh < latency_.gap;
    read_ready = !refreshing && (latency_.spread == 0 || random_.chance(90));
    write_ready = !refreshing && (latency_.spread == 0 || random_.chance(90));
    answer = nullptr;
    written = false;
    if (refreshing) return;
    for (size_t i = 0; i < reads_.size() && answer == nullptr; i++) {
      if (reads_[i].due > cycle) continue;
      answered_ = reads_[i];
      answered_.bucket = buckets_[answered_.address];
      answer = &answered_;
      reads_.erase(reads_.begin() + long(i));
    }
    if (!writes_.empty() && writes_.front().due <= cycle) {
      const auto& write = writes_.front();
      for (unsigned way = 0; way < kWays; way++)
        if (write.ways >> way & 1) buckets_[write.address][way] = write.entry;
      writes_.pop_front();
      written = true;
    }
  }

  void read(uint64_t cycle, unsigned address, unsigned line) {
    for (const auto& write : writes_)
      if (write.address == address) throw std::runtime_error("a bucket is read before it is written");
    reads_.push_back({due(cycle), address, line, {}});
  }
  void write(uint64_t cycle, unsigned address, unsigned ways, const Entry& entry) {
    for (const auto& read : reads_)
      if (read.address == address) throw std::runtime_error("a bucket is written while it is read");
    writes_.push_back({due(cycle), address, ways, entry});
  }

  struct Read {
    uint64_t due;
    unsigned address, line;
    Bucket bucket;
  };
  bool read_ready = false, write_ready = false, written = false;
  const Read* answer = nullptr;

 private:
  uint64_t due(uint64_t cycle) { return cycle + latency_.least + (latency_.spread ? random_.below(latency_.spread) : 0); }

  struct Write {
    uint64_t due;
    unsigned address, ways;
    Entry entry;
  };
  harness::Random random_;
  std::vector<Bucket> buckets_;
  std::vector<Read> reads_;
  std::deque<Write> writes_;
  Read answered_;
  Latency latency_{1, 0, 0, 0};
};

}  // namespace table
