// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// The first page of the arena: where everything is, and whom the tier answers.
#ifndef TURNPIKE_STATE_H
#define TURNPIKE_STATE_H

#include "layout.h"

#define STATE(field) __builtin_offsetof(struct state, field)

// Widens what the verifier knows of a number to its bound, a power of two. It follows every path that a program may take for
// as long as two of them differ in anything that it knows, so those that are to be looked at as one have to be made to look
// the same.
INLINE u32 widen(memory_t state, u32 number, u32 limit)
{
	return (number + load64(state + STATE(zero))) & (limit - 1);
}

// Whether an answer that depends on what has been read just now may be given.
INLINE bool may_be_told(memory_t state)
{
	if (!(load64(state + STATE(flags)) & STATE_DURABLE))
		return true;
	// In this order: the writer announces before it changes anything.
	read_barrier();
	u64 announced = load64(state + STATE(announced));

	read_barrier();
	return load64(state + STATE(durable)) >= announced;
}

INLINE bool is_own(memory_t state, const struct address *address)
{
	u64 count = load64(state + STATE(addresses));

	for (u32 at = 0; at < MAX_ADDRESSES && at < count; at++) {
		memory_t own = state + STATE(address) + at * sizeof(struct address);

		if (address->high == load64(own) && address->low == load64(own + 8))
			return true;
	}
	return false;
}

INLINE bool is_trusted(memory_t state, const struct address *address)
{
	u64 count = load64(state + STATE(prefixes));

	for (u32 at = 0; at < MAX_PREFIXES && at < count; at++) {
		memory_t prefix = state + STATE(prefix) + at * sizeof(struct prefix);

		if ((address->high & load64(prefix + 16)) == load64(prefix) &&
		    (address->low & load64(prefix + 24)) == load64(prefix + 8))
			return true;
	}
	return false;
}

#endif
