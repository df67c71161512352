// C++ declarations of multi-scalar multiplication on BLS12-381 (rtl/twin/src/multiples.rs).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace twin {

struct Sum;
enum class Kind : size_t { kAny, kSame, kOpposite, kSpecial };

// Coordinates are times 2^381, big-endian.
struct Term {
  uint8_t x[48], y[48];
  uint32_t bucket;
  bool negate;
};

}  // namespace twin

extern "C" {
twin::Sum* turnpike_sum_new(uint64_t seed);
void turnpike_sum_free(twin::Sum* sum);
size_t turnpike_sum_vectors();
bool turnpike_sum_vector(twin::Sum* sum, uint32_t bits, size_t at);
bool turnpike_sum_draw(twin::Sum* sum, twin::Kind kind, uint32_t bits, size_t count);
void turnpike_sum_size(const twin::Sum* sum, size_t* windows, size_t* buckets);
size_t turnpike_sum_terms(const twin::Sum* sum, size_t first, size_t end, twin::Term* terms);
bool turnpike_sum_put(twin::Sum* sum, size_t bucket, const uint8_t* point);
bool turnpike_sum_holds(const twin::Sum* sum);
}
