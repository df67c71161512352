// Clocks without a known relation, for testbenches of modules with several. Times are in picoseconds.
//
// A loop calls `next`, sets the inputs and reads the outputs of the clocks that are about to rise, then calls `rise`.
#pragma once

#include <functional>

#include "harness.hpp"

namespace harness {

class Clocks {
 public:
  explicit Clocks(Bench& bench) : bench_(bench) {}

  // Called with the clocks that are about to fall, for signals on both edges.
  std::function<void(unsigned)> falls = [](unsigned) {};

  // Adds a clock that first rises after `phase`. Returns its bit in the masks.
  unsigned add(CData& pin, uint64_t period, uint64_t phase = 1) {
    pin = 0;
    clocks_.push_back({&pin, period / 2, phase, false});
    return 1u << (clocks_.size() - 1);
  }

  // Advances to the next rising edge, past the falling ones. Returns the clocks that rise then.
  unsigned next() {
    for (;;) {
      uint64_t at = UINT64_MAX;
      for (const auto& clock : clocks_) at = std::min(at, clock.edge);
      time_ = at;
      unsigned rising = 0, falling = 0;
      for (size_t which = 0; which < clocks_.size(); which++) {
        if (clocks_[which].edge == at) (clocks_[which].high ? falling : rising) |= 1u << which;
      }
      if (falling) falls(falling);
      if (rising) return rising;
      toggle();
      bench_.settle_at(time_);
    }
  }

  uint64_t time() const { return time_; }

  void rise() {
    toggle();
    bench_.settle_at(time_);
    bench_.cycle++;
  }

 private:
  struct Clock {
    CData* pin;
    uint64_t half, edge;
    bool high;
  };

  void toggle() {
    for (auto& clock : clocks_) {
      if (clock.edge != time_) continue;
      clock.high = !clock.high;
      *clock.pin = clock.high;
      clock.edge += clock.half;
    }
  }

  Bench& bench_;
  std::vector<Clock> clocks_;
  uint64_t time_ = 0;
};

}  // namespace harness
