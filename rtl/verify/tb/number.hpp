// Wide numbers for the models of field arithmetic: simple rather than fast.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "harness.hpp"

namespace number {

// 32-bit words, lowest first, as in verilator.
template <size_t Words>
struct Number {
  uint32_t word[Words] = {};

  Number() = default;
  explicit Number(uint32_t small) { word[0] = small; }
  // Hexadecimal, with any number of digits.
  explicit Number(const std::string& digits) {
    for (size_t at = 0; at < digits.size(); at++) {
      const size_t place = digits.size() - 1 - at;
      word[place / 8] |= static_cast<uint32_t>(std::stoul(digits.substr(at, 1), nullptr, 16)) << (place % 8 * 4);
    }
  }

  template <size_t Others>
  Number<Others> resized() const {
    Number<Others> other;
    std::copy_n(word, std::min(Words, Others), other.word);
    return other;
  }

  bool bit(size_t at) const { return word[at / 32] >> (at % 32) & 1; }
  bool is_zero() const {
    return std::all_of(word, word + Words, [](uint32_t each) { return each == 0; });
  }
  bool operator==(const Number& other) const { return std::equal(word, word + Words, other.word); }
  bool operator<(const Number& other) const {
    return std::lexicographical_compare(std::reverse_iterator(word + Words), std::reverse_iterator(word),
                                        std::reverse_iterator(other.word + Words), std::reverse_iterator(other.word));
  }

  // Both modulo 2^(32 Words).
  Number operator+(const Number& other) const {
    Number sum;
    uint64_t carry = 0;
    for (size_t at = 0; at < Words; at++) {
      carry += static_cast<uint64_t>(word[at]) + other.word[at];
      sum.word[at] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    return sum;
  }
  Number operator-(const Number& other) const {
    Number difference;
    int64_t borrow = 0;
    for (size_t at = 0; at < Words; at++) {
      borrow += static_cast<int64_t>(word[at]) - other.word[at];
      difference.word[at] = static_cast<uint32_t>(borrow);
      borrow >>= 32;
    }
    return difference;
  }

  Number<2 * Words> operator*(const Number& other) const {
    Number<2 * Words> product;
    for (size_t i = 0; i < Words; i++) {
      uint64_t carry = 0;
      for (size_t j = 0; j < Words; j++) {
        carry += static_cast<uint64_t>(word[i]) * other.word[j] + product.word[i + j];
        product.word[i + j] = static_cast<uint32_t>(carry);
        carry >>= 32;
      }
      product.word[i + Words] = static_cast<uint32_t>(carry);
    }
    return product;
  }

  Number shifted_left() const {
    Number shifted = *this + *this;
    return shifted;
  }

  // Remainder, bit by bit. Requires a modulus at least one bit shorter than its words, or a number whose words have
  // room for the modulus.
  template <size_t Others>
  Number<Others> operator%(const Number<Others>& modulus) const {
    const auto wide = modulus.template resized<Others + 1>();
    Number<Others + 1> rest;
    for (size_t at = 32 * Words; at-- > 0;) {
      rest = rest.shifted_left();
      rest.word[0] |= bit(at);
      if (!(rest < wide)) rest = rest - wide;
    }
    return rest.template resized<Others>();
  }

  std::string text() const {
    std::string digits;
    char part[9];
    for (size_t at = Words; at-- > 0;) {
      std::snprintf(part, sizeof part, "%08x", word[at]);
      digits += part;
    }
    return digits;
  }
};

// Converts between numbers and verilator's ports of more than 64 bits.
template <typename Port, size_t Words>
void set(Port& port, const Number<Words>& value) {
  for (size_t at = 0; at < Words; at++) port[at] = value.word[at];
}
template <size_t Words, typename Port>
Number<Words> get(const Port& port) {
  Number<Words> value;
  for (size_t at = 0; at < Words; at++) value.word[at] = port[at];
  return value;
}

// A number of `bits` bits: any, a corner case, or one with long runs of ones and zeros, through which carries
// propagate.
template <size_t Words>
Number<Words> draw(harness::Random& random, size_t bits, const std::vector<Number<Words>>& corners) {
  if (!corners.empty() && random.chance(20)) return corners[random.below(corners.size())];
  Number<Words> value;
  const bool runs = random.chance(30);
  bool bit = random.chance(50);
  for (size_t at = 0; at < bits; at++) {
    if (!runs || random.chance(5)) bit = random.chance(50);
    value.word[at / 32] |= static_cast<uint32_t>(bit) << (at % 32);
  }
  return value;
}

}  // namespace number
