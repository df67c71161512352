// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// Reading the window of retries of crates/ledger/src/dedup.rs beside its writer.
#ifndef TURNPIKE_WINDOW_H
#define TURNPIKE_WINDOW_H

#include "hash.h"

// Words of 32 bits in a line of the index; the last counts the entries that went past it.
#define LINE_SLOTS 15
#define LINE_BYTES 64

// Lines that a search looks at. One line in a hundred overflows, so four are as good as all.
#define LINES 4

#define RECORD_BYTES 48

// The first 128 bytes of the window's memory.
struct window_header {
	u64 key[6];
	u32 line_bits;
	u32 position_bits;
	// The records of sequences from `written` up to but without `begun` are being written.
	u64 begun;
	u64 written;
	u64 reserved[7];
};
_Static_assert(sizeof(struct window_header) == 128, "as in dedup.rs");

#define WINDOW(field) __builtin_offsetof(struct window_header, field)

struct window {
	memory_t header;
	memory_t index;
	memory_t ring;
};

// An operation of a compact frame.
struct operation {
	u32 command;
	u32 transaction;
	u32 source;
	u32 destination;
	u32 amount;
};

// What is remembered of one.
struct remembered {
	u16 status;
	u64 value;
};

INLINE u64 identity_hash(memory_t header, const struct operation *operation)
{
	u64 source = fold(load64(header), operation->source ^ load64(header + 8));
	u64 transaction = fold(load64(header + 16), operation->transaction ^ load64(header + 24));

	return fold(source ^ load64(header + 32), transaction ^ load64(header + 40));
}

// Of all of an operation but its identity.
INLINE u32 fingerprint(memory_t header, const struct operation *operation)
{
	u64 content = fold(load64(header + 40), operation->destination ^ load64(header + 32));
	u64 mixed = fold(content ^ operation->amount ^ load64(header + 24),
			 ((u64)operation->command << 32) ^ load64(header + 16));

	return mixed ^ (mixed >> 32);
}

// Finds the first execution of an operation. `ABSENT` where the window holds it with another content, too: that is for
// the host to say.
INLINE enum found window_find(const struct window *window, const struct operation *operation,
			      struct remembered *remembered)
{
	u64 hash = identity_hash(window->header, operation);
	u32 line_bits = load32(window->header + WINDOW(line_bits));
	u32 position_bits = load32(window->header + WINDOW(position_bits));
	u32 positions = (1u << (position_bits & 31)) - 1;
	u32 tag = (u32)hash << (position_bits & 31);
	u64 line = hash >> ((64 - line_bits) & 63);

	if (tag == 0)
		tag = positions + 1;
	for (u32 looked_at = 0; looked_at < LINES; looked_at++) {
		memory_t slots = window->index + line * LINE_BYTES;

		for (u32 at = 0; at < LINE_SLOTS; at++) {
			u32 slot = load32(slots + 4 * at);

			if ((slot & ~positions) != tag)
				continue;
			u64 position = slot & positions;
			memory_t record = window->ring + position * RECORD_BYTES;
			u64 written = load64(window->header + WINDOW(written));

			read_barrier();
			bool same = load64(record) == 0 && load64(record + 8) == operation->source &&
				    load64(record + 16) == 0 && load64(record + 24) == operation->transaction;
			u64 value = load64(record + 32), last = load64(record + 40);

			read_barrier();
			u64 begun = load64(window->header + WINDOW(begun));

			if (!same)
				continue;
			// The record is one that was written all the while.
			if (((position - written) & positions) < begun - written)
				return CONTENDED;
			if ((u32)last != fingerprint(window->header, operation))
				return ABSENT;
			remembered->status = last >> 32;
			remembered->value = value;
			return FOUND;
		}
		if (load32(slots + 4 * LINE_SLOTS) == 0)
			return ABSENT;
		line = (line + 1) & ((1ull << (line_bits & 63)) - 1);
	}
	return ABSENT;
}

#endif
