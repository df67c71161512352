// C++ declarations of the Rust verification engines (rtl/twin/src/verification.rs).
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
void turnpike_sha256d(const uint8_t* message, size_t length, uint8_t* digest);
bool turnpike_merkle_root(const uint8_t* leaves, size_t count, uint8_t* root);
uint64_t turnpike_equihash_header(size_t n, size_t k, const uint8_t* personalisation, const uint8_t* header, size_t length,
                                  bool solution_only);
uint64_t turnpike_equihash_solution(size_t n, size_t k, const uint8_t* personalisation, const uint8_t* input, size_t input_length,
                                    const uint8_t* indices, size_t indices_length);
// Writes the result masks of a frame's messages, all ones if no engine takes the message. Returns their number, or -1
// if the frame is refused.
ptrdiff_t turnpike_verify_frame(const uint8_t* frame, size_t length, uint16_t n, uint8_t k, uint64_t* masks);
bool turnpike_square(const uint8_t* modulus, uint8_t* number, size_t length, uint64_t times);
}
