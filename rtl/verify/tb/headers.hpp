// Headers with Equihash solutions for EquihashN and EquihashK: the vectors of crates/verify, and random faults in valid
// ones.
#pragma once

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "bytes.hpp"
#include "harness.hpp"

#ifndef InputBytes
#define InputBytes 140
#endif
constexpr size_t kN = EquihashN, kK = EquihashK;
constexpr size_t kIndexBits = kN / (kK + 1) + 1;
constexpr size_t kIndices = size_t(1) << kK;
constexpr size_t kSolution = kIndices * kIndexBits / 8;
constexpr size_t kPrefix = kSolution < 253 ? 1 : 3;
const Bytes kPersonalisation = from_text("ZcashPoW");

using Indices = std::vector<uint32_t>;

inline Indices decode(const Bytes& bytes) {
  Indices indices(kIndices);
  for (size_t bit = 0; bit < kIndices * kIndexBits; bit++) indices[bit / kIndexBits] = indices[bit / kIndexBits] << 1 | (bytes[bit / 8] >> (7 - bit % 8) & 1);
  return indices;
}

inline Bytes encode(const Indices& indices) {
  Bytes bytes(kSolution);
  for (size_t bit = 0; bit < kIndices * kIndexBits; bit++) {
    bytes[bit / 8] |= uint8_t((indices[bit / kIndexBits] >> (kIndexBits - 1 - bit % kIndexBits) & 1) << (7 - bit % 8));
  }
  return bytes;
}

struct Header {
  Bytes input;
  Bytes solution;
  std::string rule;  // named by a published vector

  Bytes bytes() const {
    Bytes all = input;
    if (kPrefix == 1) {
      all.push_back(uint8_t(solution.size()));
    } else {
      all.insert(all.end(), {0xfd, uint8_t(solution.size()), uint8_t(solution.size() >> 8)});
    }
    all.insert(all.end(), solution.begin(), solution.end());
    return all;
  }
};

// The vectors that have these parameters.
inline std::vector<Header> vectors(const std::string& folder) {
  std::vector<Header> all;
  std::ifstream published(folder + "/equihash.txt");
  std::string line;
  while (std::getline(published, line)) {
    std::istringstream words(line);
    unsigned n, k;
    std::string rule, input, solution;
    if (line[0] == '#' || !(words >> n >> k >> rule >> input >> solution) || n != kN || k != kK || input.size() != 2 * InputBytes) continue;
    Header header{from_hex(input), {}, rule};
    if (solution.find(',') == std::string::npos) {
      header.solution = from_hex(solution);
    } else {
      std::replace(solution.begin(), solution.end(), ',', ' ');
      std::istringstream numbers(solution);
      Indices indices;
      for (uint32_t index; numbers >> index;) indices.push_back(index);
      header.solution = encode(indices);
    }
    all.push_back(header);
  }
  std::ifstream mined(folder + "/zcash_headers.txt");
  while (kN == 200 && kK == 9 && InputBytes == 140 && std::getline(mined, line)) {
    if (line[0] == '#') continue;
    const Bytes bytes = from_hex(line.substr(line.find(' ') + 1));
    all.push_back({Bytes(bytes.begin(), bytes.begin() + InputBytes), Bytes(bytes.begin() + InputBytes + kPrefix, bytes.end()), "valid"});
  }
  return all;
}

// Adds one fault.
inline void break_solution(Indices& indices, harness::Random& random) {
  const size_t half = size_t(1) << random.below(kK);
  const size_t at = random.below(kIndices / (2 * half)) * 2 * half;
  const auto left = indices.begin() + ptrdiff_t(at), right = left + ptrdiff_t(half);
  switch (random.below(5)) {
    case 0: std::swap_ranges(left, right, right); break;
    case 1: std::copy(left, right, right); break;
    case 2: std::copy(left, right, indices.begin() + ptrdiff_t(random.below(kIndices / half) * half)); break;
    case 3: indices[random.below(kIndices)] ^= 1 << random.below(kIndexBits); break;
    default: std::swap(indices[random.below(kIndices)], indices[random.below(kIndices)]);
  }
}

// Bytes of a valid header, mostly with one or two faults, and whether to skip comparing its hash with its target.
inline Bytes random_header(const std::vector<Header>& headers, harness::Random& random, bool& solution_only) {
  Header header = headers[random.below(headers.size())];
  const bool has_target = InputBytes == 140;
  solution_only = !has_target || random.chance(60);
  if (random.chance(70)) {
    Indices indices = decode(header.solution);
    for (uint64_t faults = 1 + random.below(2); faults > 0; faults--) break_solution(indices, random);
    header.solution = encode(indices);
    solution_only |= random.chance(90);
  }
  if (has_target && random.chance(20)) {
    // Target in compact form: any, zero, negative, of any length.
    static const uint8_t lengths[] = {0, 1, 2, 3, 4, 0x1d, 0x1f, 0x20, 0x21, 0x22, 0x23, 0xff};
    header.input[107] = lengths[random.below(sizeof lengths)];
    for (int digit = 104; digit < 107; digit++) header.input[size_t(digit)] = random.chance(50) ? 0 : uint8_t(random.next());
  }
  Bytes bytes = header.bytes();
  if (random.chance(5)) bytes[InputBytes + random.below(kPrefix)] ^= uint8_t(1 << random.below(8));
  if (random.chance(5)) bytes.resize(1 + random.below(bytes.size() + 200));
  return bytes;
}
