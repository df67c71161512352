// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// Reads the hash table of crates/table concurrently with its writer: the twin of its `Reader`.
#ifndef TURNPIKE_TABLE_H
#define TURNPIKE_TABLE_H

#include "hash.h"
#include "layout.h"

// Attempts of a reader: the writer changes a bucket for some nanoseconds. This very program may also have
// interrupted it in the middle, so more attempts are no use.
#define ATTEMPTS 4

#define HEADER(field) __builtin_offsetof(struct table_header, field)
#define BUCKET(field) __builtin_offsetof(struct bucket, field)

// Lines of a group to prefetch at once: each adds a tenth of the latency of one.
#define MOST_LINES 4

// A table, and the sizes of its entries in words.
struct table {
	memory_t memory;
	u32 buckets;
	u32 capacity;
	u64 buckets_at;
	u64 entries_at;
};

INLINE struct table table_at(memory_t memory)
{
	struct table table = {
		.memory = memory,
		.buckets = load64(memory + HEADER(buckets)),
		.capacity = load64(memory + HEADER(capacity)),
		.buckets_at = load64(memory + HEADER(buckets_at)),
		.entries_at = load64(memory + HEADER(entries_at)),
	};

	return table;
}

INLINE u16 hash_tag(u64 hash)
{
	return (u16)hash ? (u16)hash : 1;
}

// One of `count`: a key's first bucket, or its preferred entry.
INLINE u32 hash_pick(u64 hash, u32 count)
{
	return ((hash >> 32) * count) >> 32;
}

// The other bucket of a key with this tag; an involution.
INLINE u32 alternate(u32 bucket, u16 tag, u32 buckets)
{
	// 2^32 divided by the golden ratio spreads the tags evenly.
	u32 spread = (u32)tag * 0x9e3779b1u;
	u32 sum = ((u64)spread * buckets) >> 32;

	return sum >= bucket ? sum - bucket : sum + (buckets - bucket);
}

// Whether a key of this bucket, in the same class of tags as `tag`, may be in its second bucket.
INLINE bool has_overflow(memory_t bucket, u16 tag)
{
	return (load64(bucket + BUCKET(overflow)) >> (tag % 16 * 4)) & 15;
}

INLINE bool entry_has_key(const struct table *table, u32 entry, const u64 *key, const u32 words, const u32 entry_words)
{
	memory_t at = table->memory + table->entries_at + (u64)entry * entry_words * 8;
	u64 difference = 0;

	if (entry >= table->capacity)
		return false;
#pragma clang loop unroll(full)
	for (u32 word = 0; word < words; word++)
		difference |= load64(at + 8 * word) ^ key[word];
	return difference == 0;
}

// Slots of half a bucket whose tags equal `tag`: one bit each, the highest of its lane. Bits above the lowest
// one may be wrong.
INLINE u64 slots_with(u64 tags, u16 tag)
{
	const u64 ones = 0x0001000100010001ull;
	u64 difference = tags ^ (tag * ones);

	return (difference - ones) & ~difference & (ones << 15);
}

// The entry of the first slot with a tag, or -1. No processor can predict which slot that is, so there are no
// branches on it: a misprediction would discard all work since the bucket was requested.
INLINE long first_with(memory_t bucket, u16 tag)
{
	u64 low = slots_with(load64(bucket + BUCKET(tags)), tag), high = slots_with(load64(bucket + BUCKET(tags) + 8), tag);

	if (!(low | high))
		return -1;
	low &= -low;
	high &= -high;
	// 1 if the low half has none.
	u64 upper = (low - 1) >> 63;
	u64 bit = (low | (high & -upper)) >> 15;

	// 2^(16 n), shifted so that the two highest bits are those of n.
	u64 lane = (bit * (1ull << 46 | 2ull << 30 | 3ull << 14)) >> 62;

	return load32(bucket + BUCKET(entries) + 4 * (4 * upper + lane));
}

// Finds a key in a bucket. Returns the index of its entry, or -1.
INLINE long find_in(const struct table *table, memory_t bucket, u16 tag, const u64 *key, const u32 key_words,
		    const u32 entry_words)
{
	long first = first_with(bucket, tag);

	if (first < 0 || entry_has_key(table, first, key, key_words, entry_words))
		return first;
	// Another key has the same tag, which is rare.
	for (u32 slot = 0; slot < SLOTS; slot++) {
		u32 entry = load32(bucket + BUCKET(entries) + 4 * slot);

		if (load16(bucket + BUCKET(tags) + 2 * slot) == tag && entry_has_key(table, entry, key, key_words, entry_words))
			return entry;
	}
	return -1;
}

// Reads the value of an entry consistently.
INLINE bool read_value(const struct table *table, u32 entry, u64 *value, const u32 key_words, const u32 value_words)
{
	memory_t at = table->memory + table->entries_at + ((u64)entry * (key_words + value_words) + key_words) * 8;
	memory_t lock = table->memory + sizeof(struct table_header) + entry % VALUE_LOCKS * 4;

	// A single word changes in one store and needs no lock.
	u32 since = value_words > 1 ? load32(lock) : 0;

	read_barrier();
#pragma clang loop unroll(full)
	for (u32 word = 0; word < value_words; word++)
		value[word] = load64(at + 8 * word);
	read_barrier();
	return value_words == 1 || (since % 2 == 0 && load32(lock) == since);
}

INLINE enum found table_find_once(const struct table *table, const u64 *key, u64 *value, u64 hash, const u32 key_words,
				  const u32 value_words)
{
	u16 tag = hash_tag(hash);
	u32 index = hash_pick(hash, table->buckets);
	memory_t first = table->memory + table->buckets_at + (u64)index * sizeof(struct bucket);
	u32 first_since = load32(first + BUCKET(sequence));
	bool whole = true;

	if (first_since % 2)
		return CONTENDED;
	read_barrier();
	long entry = find_in(table, first, tag, key, key_words, key_words + value_words);

	if (entry < 0 && has_overflow(first, tag)) {
		memory_t second = table->memory + table->buckets_at +
				  (u64)alternate(index, tag, table->buckets) * sizeof(struct bucket);
		u32 second_since = load32(second + BUCKET(sequence));

		read_barrier();
		entry = find_in(table, second, tag, key, key_words, key_words + value_words);
		if (entry >= 0)
			whole = read_value(table, entry, value, key_words, value_words);
		read_barrier();
		if (second_since % 2 || load32(second + BUCKET(sequence)) != second_since)
			return CONTENDED;
		if (entry >= 0)
			return whole ? FOUND : CONTENDED;
		// A key that is not in the second bucket may just have moved back to the first.
	} else if (entry >= 0) {
		whole = read_value(table, entry, value, key_words, value_words);
	}
	read_barrier();
	if (!whole || load32(first + BUCKET(sequence)) != first_since)
		return CONTENDED;
	return entry >= 0 ? FOUND : ABSENT;
}

INLINE u64 table_hash(memory_t memory, const u64 *key, const u32 words)
{
	return hash_key(memory + HEADER(secrets), key, words);
}

// Prefetches the memory that `table_find` will read, in a table with nearby entries (`Config::near` of
// crates/table): the bucket, and the most likely lines of the entry. BPF has no prefetch instruction, but
// nothing depends on these loads, so the processor has all of them in flight at once and continues.
INLINE void table_fetch(memory_t memory, u64 hash, const u32 entry_words)
{
	struct table table = table_at(memory);

	load64(memory + table.buckets_at + (u64)hash_pick(hash, table.buckets) * sizeof(struct bucket));
	u32 own = hash_pick(hash, table.capacity / GROUP * GROUP);
	const u32 entry_bytes = 8 * entry_words;

	if (table.capacity < GROUP)
		return;
	// For small entries the whole group, which has as many lines as an entry has words; for larger ones the most
	// likely lines.
	memory_t entry = memory + table.entries_at + (u64)own * entry_bytes;
	memory_t group = entry - (u64)(own % GROUP) * entry_bytes;

	if (entry_words > MOST_LINES) {
		load64(entry);
		load64(entry + entry_bytes - 8);
		return;
	}
#pragma clang loop unroll(full)
	for (u32 line = 0; line < entry_words; line++)
		load64(group + 64 * line);
}

// The value of a key with this hash, consistent as of one moment during the call.
INLINE enum found table_find(memory_t memory, u64 hash, const u64 *key, u64 *value, const u32 key_words,
			     const u32 value_words)
{
	struct table table = table_at(memory);
	enum found found = CONTENDED;

	for (u32 attempt = 0; attempt < ATTEMPTS && found == CONTENDED; attempt++)
		found = table_find_once(&table, key, value, hash, key_words, value_words);
	return found;
}

#endif
