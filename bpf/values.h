// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// Reads the value store of crates/table/src/values.rs concurrently with its writer.
#ifndef TURNPIKE_VALUES_H
#define TURNPIKE_VALUES_H

#include "layout.h"

struct value {
	memory_t head;
	memory_t bytes;
	// Version and length, as first read.
	u64 bits;
};

// Finds the value of a handle, of which at most `most` bytes are needed.
INLINE bool value_find(struct value *value, memory_t values, u64 lines, u64 handle, u32 most)
{
	u32 line = handle, version = handle >> 32;

	if (line >= lines)
		return false;
	value->head = values + (u64)line * 8;
	value->bytes = values + (lines * 8 + (u64)line * VALUE_LINE_BYTES) + VALUE_HEADER_BYTES;
	// Puts all loads in flight at once, as in `table_fetch`.
#pragma clang loop unroll(full)
	for (u32 ahead = 0; ahead < VALUE_FETCHED; ahead++)
		if (line + ahead < lines && VALUE_LINE_BYTES * ahead < VALUE_HEADER_BYTES + most)
			load64(value->bytes + VALUE_LINE_BYTES * ahead);
	value->bits = load64(value->head) & ~(u64)VALUE_MARK;
	read_barrier();
	return value->bits >> 32 == version && version % 2 == 0;
}

// Whether the value is still the one that was found.
INLINE bool value_is_there(const struct value *value)
{
	read_barrier();
	return (load64(value->head) & ~(u64)VALUE_MARK) == value->bits;
}

// Makes the search for eviction victims skip the value once.
INLINE void value_mark(const struct value *value)
{
	if (!(load64(value->head) & VALUE_MARK))
		__sync_fetch_and_or((u64 SHARED *)value->head, (u64)VALUE_MARK);
}

#endif
