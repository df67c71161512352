// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// Operations that the in-NIC ledger remembers, so that none is executed twice. An operation is kept for at
// least the retention; if there is no place for a new one, it is not executed.
//
// A log holds the last operations in the order of execution: each replaces the one a full log before it, and is
// executed only if that one may be forgotten. An index leads to the log by a secret hash of source and
// transaction id, so a single account may use all of the memory. The index consists of sets of entries, each
// set a ring. An operation whose first set has no entry that may be forgotten goes to a second one. Sequential
// writes to the log are nearly free; what is found by hash must be fetched, so the index is small.
//
// Looking an operation up, or remembering it, requires the lock of its source, so no two processors do so for
// the same one at once. An entry of a set, which all share, is claimed by a single compare-and-swap.
#ifndef TURNPIKE_RETRIES_H
#define TURNPIKE_RETRIES_H

#include "compact.h"

#define SET(field) __builtin_offsetof(struct retry_set, field)
#define REMEMBERED(field) __builtin_offsetof(struct remembered_operation, field)

// A remembered operation fits its bits: commands that are executed, and statuses that are journalled.
_Static_assert(COMMAND_TRANSFER << WHEN_COMMAND_SHIFT <= WHEN_COMMAND, "two bits for commands");
_Static_assert(COMMANDS == 4, "a new command: if it is executed, its code has to fit those two bits");
_Static_assert(STATUS_TABLE_FULL <= WHEN_STATUS, "six bits for statuses");

// Distance by which the sequence of a claimed entry is ahead.
#define TAKEN (1u << 30)

#define RETRIES(field) __builtin_offsetof(struct retries_header, field)

// Memory of an operation: the log, and the two sets that may lead to it.
struct retry {
	memory_t log;
	u64 log_mask;
	memory_t sets[2];
	u64 retention;
	u64 processors;
	// Address of the last operation's sequence, its value at the time of the lookup, and the tick.
	memory_t sequence_at;
	u64 sequence;
	u64 now;
	u16 tag;
};

// A claimed entry.
struct retry_entry {
	bool taken;
	memory_t set;
	u32 at;
};

INLINE void store64(memory_t at, u64 value)
{
	*(volatile u64 SHARED *)at = value;
}

INLINE void store32(memory_t at, u32 value)
{
	*(volatile u32 SHARED *)at = value;
}

INLINE void store16(memory_t at, u16 value)
{
	*(volatile u16 SHARED *)at = value;
}

// `retries` is the header, `store` the base of its offsets, `secret` two words; `sequence` is the address of
// the last one.
INLINE struct retry retry_of(memory_t retries, memory_t store, memory_t secret, memory_t sequence,
			     const struct operation *operation)
{
	u64 name = (u64)operation->source << 32 | operation->transaction, sets = load64(retries + RETRIES(sets));
	u64 hash = fold(name ^ load64(secret), load64(secret + 8) | 1) * 0x9e3779b97f4a7c15;
	u32 first = (hash >> 32) * sets >> 32, second = first + 1 + ((u32)hash * (sets - 1) >> 32);
	memory_t sets_at = store + load64(retries + RETRIES(sets_at));

	second -= second >= sets ? sets : 0;
	return (struct retry){
		.log = store + load64(retries + RETRIES(log_at)),
		.log_mask = load64(retries + RETRIES(log_mask)),
		.sets = { sets_at + (u64)first * sizeof(struct retry_set), sets_at + (u64)second * sizeof(struct retry_set) },
		.retention = load64(retries + RETRIES(retention)),
		.processors = load64(retries + RETRIES(processors)),
		.sequence_at = sequence,
		.sequence = load64(sequence),
		.tag = hash,
	};
}

INLINE memory_t place_of(const struct retry *retry, u64 sequence)
{
	return retry->log + (sequence & retry->log_mask) * sizeof(struct remembered_operation);
}

// The place to be forgotten for the next operation: far enough ahead that it is no longer read, even with other
// processors claiming places at the same time.
INLINE memory_t place_ahead(const struct retry *retry)
{
	return place_of(retry, retry->sequence + 2 * retry->processors);
}

// Prefetches the memory that is read first, and the place that others will write.
INLINE void retry_fetch(const struct retry *retry)
{
	load64(retry->sets[0]);
	load64(retry->sets[0] + 64);
	load64(place_ahead(retry) + 64);
}

// Operations since that of an entry; negative for one after `sequence` was read, or in progress. An entry is
// reused long before its sequence is so old that it would appear to be ahead.
INLINE int age_of(u64 last, u32 sequence)
{
	return (u32)last - sequence;
}

// Whether the log still has an operation of this age.
INLINE bool is_in_log(const struct retry *retry, int age)
{
	return age <= (int)(retry->log_mask - retry->processors);
}

// Whether a tick (its stored bits) is so recent that its operations must not be forgotten.
INLINE bool is_young(const struct retry *retry, u32 tick)
{
	return (((u32)retry->now + TICKS_LATE - tick) & WHEN_TICKS) <= retry->retention;
}

INLINE bool may_be_forgotten(const struct retry *retry, memory_t place)
{
	u32 when = load32(place + REMEMBERED(when));

	return !(when & WHEN_COMMAND) || !is_young(retry, when >> 8);
}

// Finds the first execution of an operation with this source and transaction id, and sets its status and value.
// If its content differed, sets `STATUS_TRANSACTION_ID_REUSED` and leaves the value unchanged.
INLINE bool set_find(const struct retry *retry, memory_t set, const struct operation *operation, struct remembered *result)
{
	u64 hits = 0;

	// All of them without a branch, as there is usually no hit.
#pragma clang loop unroll(full)
	for (u32 at = 0; at < SET_ENTRIES; at += 4)
		hits |= slots_with(load64(set + SET(tags) + 2 * at), retry->tag);
	if (!hits)
		return false;
	for (u32 at = 0; at < SET_ENTRIES; at++) {
		u32 sequence = load32(set + SET(sequences) + 4 * at);
		memory_t place = place_of(retry, sequence);

		if (load16(set + SET(tags) + 2 * at) != retry->tag ||
		    load32(place + REMEMBERED(transaction)) != operation->transaction ||
		    load32(place + REMEMBERED(source)) != operation->source)
			continue;
		u32 when = load32(place + REMEMBERED(when)), value = load32(place + REMEMBERED(value));
		bool same = load32(place + REMEMBERED(destination)) == operation->destination &&
			    load32(place + REMEMBERED(amount)) == operation->amount &&
			    (when & WHEN_COMMAND) == operation->command << WHEN_COMMAND_SHIFT;

		read_barrier();
		// Other processors may have forgotten and overwritten it meanwhile.
		if (!(when & WHEN_COMMAND) || !is_in_log(retry, age_of(load64(retry->sequence_at), sequence)))
			continue;
		result->status = same ? when & WHEN_STATUS : STATUS_TRANSACTION_ID_REUSED;
		if (same)
			result->value = value;
		return true;
	}
	return false;
}

INLINE bool retry_find(const struct retry *retry, const struct operation *operation, struct remembered *result)
{
	if (set_find(retry, retry->sets[0], operation, result))
		return true;
	u32 overflowed = load32(retry->sets[0] + SET(overflowed));

	return overflowed && is_young(retry, overflowed - 1) && set_find(retry, retry->sets[1], operation, result);
}

// Claims the next entry of a set, unless it must not be forgotten, or another processor is claiming it.
INLINE struct retry_entry set_take(const struct retry *retry, memory_t set)
{
	u32 at = load32(set + SET(next)) % SET_ENTRIES;
	struct retry_entry entry = { .set = set, .at = at };
	u32 SHARED *word = (u32 SHARED *)(set + SET(sequences) + 4 * at);
	u32 before = *(volatile u32 SHARED *)word;
	int age = age_of(retry->sequence, before);

	if (age < 0 || (is_in_log(retry, age) && !may_be_forgotten(retry, place_of(retry, before))))
		return entry;
	// Ahead of all sequences, so that nobody else claims it before it is written.
	if (__sync_val_compare_and_swap(word, before, (u32)retry->sequence + TAKEN) != before)
		return entry;
	store32(set + SET(next), at + 1);
	entry.taken = true;
	return entry;
}

// Claims an entry and a place in the log for an operation, if possible. The caller must then write it.
INLINE struct retry_entry retry_take(const struct retry *retry)
{
	if (!may_be_forgotten(retry, place_ahead(retry)))
		return (struct retry_entry){ .taken = false };
	struct retry_entry entry = set_take(retry, retry->sets[0]);

	if (entry.taken)
		return entry;
	store32(retry->sets[0] + SET(overflowed), (retry->now & WHEN_TICKS) + 1);
	return set_take(retry, retry->sets[1]);
}

INLINE void retry_write(const struct retry *retry, const struct retry_entry *entry, u64 sequence,
			const struct operation *operation, const struct remembered *result)
{
	memory_t place = place_of(retry, sequence);

	store32(place + REMEMBERED(transaction), operation->transaction);
	store32(place + REMEMBERED(source), operation->source);
	store32(place + REMEMBERED(destination), operation->destination);
	store32(place + REMEMBERED(amount), operation->amount);
	store32(place + REMEMBERED(value), result->value >> 32 ? 0xffffffff : result->value);
	store32(place + REMEMBERED(when), (u32)retry->now << 8 | operation->command << WHEN_COMMAND_SHIFT | result->status);
	store16(entry->set + SET(tags) + 2 * entry->at, retry->tag);
	store32(entry->set + SET(sequences) + 4 * entry->at, sequence);
}

#endif
