// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// The first page of the arena: locations of everything, and the addresses that the tier answers.
#ifndef TURNPIKE_STATE_H
#define TURNPIKE_STATE_H

#include "layout.h"

#define STATE(field) __builtin_offsetof(struct state, field)

// Widens the verifier's knowledge of a number to its bound, a power of two. The verifier follows every path
// separately as long as two of them differ in anything that it knows, so paths to be merged must be made to
// look the same.
INLINE u32 widen(memory_t state, u32 number, u32 limit)
{
	return (number + load64(state + STATE(zero))) & (limit - 1);
}

// How far the tables may have been changed, and how far everything is durable: sampled before the tables are
// read.
struct moment {
	u64 announced;
	u64 durable;
};

INLINE struct moment moment_of(memory_t state)
{
	struct moment moment;

	moment.announced = load64(state + STATE(announced));
	read_barrier();
	moment.durable = load64(state + STATE(durable));
	read_barrier();
	return moment;
}

// Whether an answer that depends on reads since a moment may be sent: everything in the tables was durable
// then, and nothing has changed since. So no answer exposes part of a batch.
INLINE bool may_be_told(memory_t state, const struct moment *moment)
{
	if (!(load64(state + STATE(flags)) & STATE_DURABLE))
		return true;
	// The writer announces before it changes anything.
	read_barrier();
	return moment->durable >= moment->announced && load64(state + STATE(announced)) == moment->announced;
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
