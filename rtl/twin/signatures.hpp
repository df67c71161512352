// C++ declarations of the signature cases (rtl/twin/src/signatures.rs).
#pragma once

#include <cstdint>

namespace twin {

struct Case {
  uint8_t schnorr, low_s, key_long, key_form;
  uint8_t r[32], s[32], e[32], x[32], y[32];
  uint8_t rule;
  // Whether a verify frame can carry it, and the signed message in that case.
  uint8_t framed;
  uint8_t message[32];
};

}  // namespace twin

extern "C" {
void* signatures_new(uint64_t seed, bool with_vectors, bool only_good);
void signatures_free(void* cases);
uint64_t signatures_vectors(const void* cases);
void signatures_next(void* cases, twin::Case* next);
}

namespace twin {

class Cases {
 public:
  Cases(uint64_t seed, bool with_vectors, bool only_good) : cases_(signatures_new(seed, with_vectors, only_good)) {}
  ~Cases() { signatures_free(cases_); }
  Cases(const Cases&) = delete;
  Cases& operator=(const Cases&) = delete;

  uint64_t vectors() const { return signatures_vectors(cases_); }
  Case next() {
    Case next;
    signatures_next(cases_, &next);
    return next;
  }

 private:
  void* cases_;
};

}  // namespace twin
