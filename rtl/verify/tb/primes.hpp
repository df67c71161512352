// Moduli of the verification engines.
#pragma once

#include "number.hpp"

namespace number {

template <size_t Words>
Number<Words> secp256k1_prime() {
  return Number<Words>("fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f");
}
template <size_t Words>
Number<Words> secp256k1_order() {
  return Number<Words>("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141");
}
template <size_t Words>
Number<Words> bls12_381_prime() {
  return Number<Words>("1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab");
}
template <size_t Words>
Number<Words> bls12_381_order() {
  return Number<Words>("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001");
}

// Numbers around zero and the modulus, and those with all bits set.
template <size_t Words>
std::vector<Number<Words>> corners(const Number<Words>& modulus, size_t bits) {
  Number<Words> ones, low;
  for (size_t at = 0; at < bits; at++) ones.word[at / 32] |= 1u << (at % 32);
  for (size_t at = 0; at < bits / 2; at++) low.word[at / 32] |= 1u << (at % 32);
  const Number<Words> one(1);
  return {Number<Words>(0), one, Number<Words>(2), modulus - one, modulus, modulus + one, ones, ones - low, low};
}

}  // namespace number
