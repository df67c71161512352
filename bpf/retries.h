// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// What the in-NIC ledger remembers of the operations that it executed, so that none is executed again when it is sent again. Nothing is
// forgotten before it is older than the retention: where there is no place for an operation, it is not executed.
//
// A log has the last operations, in the order in which they were executed: each takes the place of one that is as many operations older, and is
// only executed if that may be forgotten. An index leads to it, by a secret hash of source and transaction id, so a single account may have all of the
// memory: sets of entries, each a ring. An operation whose own set has no entry that may be forgotten goes to a second one. What is written one
// behind the other costs next to nothing; what is found by hash has to be fetched, so it is small.
//
// Whoever looks for an operation, or remembers it, holds the lock of its source, so no two do that with the same one at a time. An
// entry of a set, which is everyone's, is taken by one exchange.
#ifndef TURNPIKE_RETRIES_H
#define TURNPIKE_RETRIES_H

#include "compact.h"

#define SET(field) __builtin_offsetof(struct retry_set, field)
#define REMEMBERED(field) __builtin_offsetof(struct remembered_operation, field)

// What is remembered of an operation fits its bits: commands that are executed, and statuses that are journalled.
_Static_assert(COMMAND_TRANSFER << WHEN_COMMAND_SHIFT <= WHEN_COMMAND, "two bits for commands");
_Static_assert(COMMANDS == 4, "a new command: if it is executed, its code has to fit those two bits");
_Static_assert(STATUS_TABLE_FULL <= WHEN_STATUS, "six bits for statuses");

// How far the sequence of an entry that was taken is ahead.
#define TAKEN (1u << 30)

#define RETRIES(field) __builtin_offsetof(struct retries_header, field)

// The memory of an operation: the log, and the two sets that may lead to it.
struct retry {
	memory_t log;
	u64 log_mask;
	memory_t sets[2];
	u64 retention;
	u64 processors;
	// Where the last operation's sequence is, what it was when this was looked for, and the tick.
	memory_t sequence_at;
	u64 sequence;
	u64 now;
	u16 tag;
};

// An entry that was taken.
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

// `retries` is where the header is, `store` what its offsets begin from, `secret` two words; at `sequence` is the last one.
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

// The place that has to be forgotten for the next operation: as far ahead as not to be read any more, for others that take places at the
// same time.
INLINE memory_t place_ahead(const struct retry *retry)
{
	return place_of(retry, retry->sequence + 2 * retry->processors);
}

// Asks for the memory that is looked at first, and for what others will write.
INLINE void retry_fetch(const struct retry *retry)
{
	load64(retry->sets[0]);
	load64(retry->sets[0] + 64);
	load64(place_ahead(retry) + 64);
}

// Operations since that of an entry; below zero for one that came since `sequence` was read, or is on its way. An entry is used again long before its
// sequence is as far back as to seem ahead.
INLINE int age_of(u64 last, u32 sequence)
{
	return (u32)last - sequence;
}

// Whether the log still has an operation of this age.
INLINE bool is_in_log(const struct retry *retry, int age)
{
	return age <= (int)(retry->log_mask - retry->processors);
}

// Whether a tick, as far as it is remembered, is so recent that nothing of it may be forgotten.
INLINE bool is_young(const struct retry *retry, u32 tick)
{
	return (((u32)retry->now + TICKS_LATE - tick) & WHEN_TICKS) <= retry->retention;
}

INLINE bool may_be_forgotten(const struct retry *retry, memory_t place)
{
	u32 when = load32(place + REMEMBERED(when));

	return !(when & WHEN_COMMAND) || !is_young(retry, when >> 8);
}

// Finds the first execution of an operation with this source and transaction id: its status and value, or that it was another
// one (`STATUS_TRANSACTION_ID_REUSED`), and then the value stays.
INLINE bool set_find(const struct retry *retry, memory_t set, const struct operation *operation, struct remembered *result)
{
	u64 hits = 0;

	// All of them without a branch: as a rule there is none.
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
		// Others may have forgotten it meanwhile, and written over it.
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

// Takes the entry whose turn it is in a set, unless it may not be forgotten, or another processor takes it just now.
INLINE struct retry_entry set_take(const struct retry *retry, memory_t set)
{
	u32 at = load32(set + SET(next)) % SET_ENTRIES;
	struct retry_entry entry = { .set = set, .at = at };
	u32 SHARED *word = (u32 SHARED *)(set + SET(sequences) + 4 * at);
	u32 before = *(volatile u32 SHARED *)word;
	int age = age_of(retry->sequence, before);

	if (age < 0 || (is_in_log(retry, age) && !may_be_forgotten(retry, place_of(retry, before))))
		return entry;
	// Ahead of all sequences, so that nobody else takes it before it is written.
	if (__sync_val_compare_and_swap(word, before, (u32)retry->sequence + TAKEN) != before)
		return entry;
	store32(set + SET(next), at + 1);
	entry.taken = true;
	return entry;
}

// Takes an entry for an operation, where there is one, and a place for it in the log. It has to be written then.
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
