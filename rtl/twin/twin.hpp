// C++ wrapper of the Rust ledger (rtl/twin/src/lib.rs).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

extern "C" {
void* turnpike_ledger_new(size_t accounts, size_t window);
uint64_t turnpike_ledger_execute(void* ledger, uint8_t* frame);
uint64_t turnpike_ledger_remembered(const void* ledger);
void turnpike_ledger_free(void* ledger);
}

namespace twin {

// A compact frame, as on the wire.
using Frame = std::array<uint8_t, 22>;

class Ledger {
 public:
  Ledger(size_t accounts, size_t window) : ledger_(turnpike_ledger_new(accounts, window)) {
    if (ledger_ == nullptr) throw std::runtime_error("the Rust ledger could not be made");
  }
  ~Ledger() { turnpike_ledger_free(ledger_); }
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Overwrites the frame with the reply. Returns the value in full.
  uint64_t execute(Frame& frame) { return turnpike_ledger_execute(ledger_, frame.data()); }

  // Number of operations remembered so far.
  uint64_t remembered() const { return turnpike_ledger_remembered(ledger_); }

 private:
  void* ledger_;
};

}  // namespace twin
