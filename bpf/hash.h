// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// The keyed hash of crates/table/src/hash.rs.
#ifndef TURNPIKE_HASH_H
#define TURNPIKE_HASH_H

#include "layout.h"

// XOR of both halves of the product. BPF has no instruction for the upper half, so it is computed from four
// 32-bit products.
INLINE u64 fold(u64 left, u64 right)
{
	u64 left_low = (u32)left, left_high = left >> 32, right_low = (u32)right, right_high = right >> 32;
	u64 low_low = left_low * right_low, low_high = left_low * right_high;
	u64 high_low = left_high * right_low, high_high = left_high * right_high;
	u64 middle = (low_low >> 32) + (u32)low_high + (u32)high_low;

	return (left * right) ^ (high_high + (low_high >> 32) + (high_low >> 32) + (middle >> 32));
}

// Hashes a key of `words` words, the last one padded with zeros, with the secrets of a table.
INLINE u64 hash_key(memory_t secrets, const u64 *key, const u32 words)
{
	u64 state = 0;

#pragma clang loop unroll(full)
	for (u32 word = 0; word < words; word += 2) {
		u64 right = word + 1 < words ? key[word + 1] : 0;

		state = fold(key[word] ^ load64(secrets + 8 * word) ^ state, right ^ load64(secrets + 8 * word + 8));
	}
	return fold(state ^ load64(secrets + 8 * (SECRETS - 2)), load64(secrets + 8 * (SECRETS - 1)) | 1);
}

#endif
