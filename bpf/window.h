// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// Reads the retry window of crates/ledger/src/retries concurrently with its writer: operations without a
// signature.
#ifndef TURNPIKE_WINDOW_H
#define TURNPIKE_WINDOW_H

#include "hash.h"
#include "layout.h"

// Lines that a search reads. One line in twenty overflows, so four are practically enough.
#define LINES 4

#define WINDOW(field) __builtin_offsetof(struct window_header, field)
#define RECORD(field) __builtin_offsetof(struct record, field)

struct window {
	memory_t header;
	memory_t index;
	memory_t ring;
};

// Operation of a compact frame.
struct operation {
	u32 command;
	u32 transaction;
	u32 source;
	u32 destination;
	u32 amount;
};

// Remembered result of an operation.
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

// The record of a sequence, given its lower half from the index. `ABSENT` if it belongs to another operation,
// is no longer kept, or has this identity with other content: the host decides these.
INLINE enum found record_find(const struct window *window, u32 sequence, const struct operation *operation,
			      struct remembered *remembered)
{
	u32 ring_bits = load32(window->header + WINDOW(ring_bits)) & 31;
	u32 places = (1u << ring_bits) - 1;
	u32 place = sequence & places;
	memory_t record = window->ring + (u64)place * sizeof(struct record);
	u64 written = load64(window->header + WINDOW(written));

	u64 first = load64(window->header + WINDOW(first));
	// Distance from the newest.
	u32 age = (u32)written - 1 - sequence;

	if (age > places || written - 1 - age < first)
		return ABSENT;
	read_barrier();
	u64 head = load64(record + RECORD(head)), value = load64(record + RECORD(value));
	bool same = load64(record + RECORD(source)) == 0 &&
		    load64(record + RECORD(source) + 8) == be64(operation->source) &&
		    load64(record + RECORD(transaction)) == 0 &&
		    load64(record + RECORD(transaction) + 8) == be64(operation->transaction) &&
		    load64(record + RECORD(destination)) == 0 &&
		    load64(record + RECORD(destination) + 8) == be64(operation->destination) &&
		    load64(record + RECORD(amount)) == be64(operation->amount);

	read_barrier();
	u64 begun = load64(window->header + WINDOW(begun));

	// The record was being written during the read.
	if (((place - written) & places) < begun - written)
		return CONTENDED;
	// Flags and command, status, contract code.
	head = be64(head);
	if (!same || head >> 48 != operation->command || (u32)head)
		return ABSENT;
	remembered->status = head >> 32;
	remembered->value = be64(value);
	return FOUND;
}

// Finds the first execution of an operation. `ABSENT` if it is not among the newest.
INLINE enum found window_find(const struct window *window, const struct operation *operation,
			      struct remembered *remembered)
{
	u64 hash = identity_hash(window->header, operation);
	u32 lines = load32(window->header + WINDOW(lines));
	u32 tag = (u32)hash | 1;
	u64 line = (hash >> 32) * lines >> 32;

	for (u32 looked_at = 0; looked_at < LINES; looked_at++) {
		memory_t slots = window->index + line * (8 * LINE_WORDS);

		for (u32 at = 0; at < LINE_SLOTS; at++) {
			u64 slot = load64(slots + 8 * at);

			if (slot >> 32 != tag)
				continue;
			enum found found = record_find(window, slot, operation, remembered);

			if (found != ABSENT)
				return found;
		}
		if (!load64(slots + 8 * LINE_SLOTS))
			return ABSENT;
		line = line + 1 < lines ? line + 1 : 0;
	}
	return ABSENT;
}

#endif
