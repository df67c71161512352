// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// Reads the mirror of the key-value store concurrently with its writer: the twin of
// crates/kv/src/store/mirror.rs.
#ifndef TURNPIKE_MIRROR_H
#define TURNPIKE_MIRROR_H

#include "checksum.h"
#include "hash.h"
#include "table.h"

#define MIRROR(field) __builtin_offsetof(struct mirror_header, field)
#define SLOT(field) __builtin_offsetof(struct mirror_slot, field)

_Static_assert(sizeof(struct mirror_header) <= MIRROR_SLOTS_AT, "the header fits its page");

// Pairs of words of the longest key.
#define KV_KEY_PAIRS ((MAX_KEY + 15) / 16)

// Words of the text before the key: the end of the datagram's header, and `VALUE `.
#define MIRROR_KEY_AT 1

// Slot of a key's item, if found.
struct mirrored {
	memory_t slot;
	u32 text_bytes;
	u64 expires;
};

// `Hasher::hash_bytes` of crates/table/src/hash.rs. The key is padded with zeros to a pair of words.
INLINE u64 mirror_hash(memory_t secrets, const u64 *key, u32 key_bytes)
{
	u64 state = 0;

	for (u32 pair = 0; pair < KV_KEY_PAIRS && 16 * pair < key_bytes; pair++) {
		// The secrets repeat after 112 bytes.
		memory_t secret = secrets + pair % (SECRETS / 2 - 1) * 16;

		state = fold(key[2 * pair] ^ load64(secret) ^ state, key[2 * pair + 1] ^ load64(secret + 8));
	}
	return fold(state ^ load64(secrets + 8 * (SECRETS - 2)),
		    (load64(secrets + 8 * (SECRETS - 1)) ^ (u64)key_bytes << 1) | 1);
}

// Whether two byte strings are equal; `key` is padded with zeros.
INLINE bool mirror_has_key(const u64 *text, const u64 *key, u32 key_bytes)
{
	u32 whole = key_bytes / 8;
	u64 difference = 0;

	for (u32 word = 0; word < MAX_KEY / 8 && word < whole; word++)
		difference |= text[word] ^ key[word];
	u32 last = whole & 31, rest = key_bytes % 8;

	return !(difference | ((text[last] ^ key[last]) & ~(~0ull << 8 * rest)));
}

// Copies the text of a slot, if it was consistently that of the key at one moment during the call.
INLINE enum found mirror_read(memory_t header, memory_t slot, u64 shard, u64 hash, const u64 *key, u32 key_bytes,
			      u64 *text, u64 *sum, struct mirrored *found)
{
	u64 since = load64(slot), total = 0;

	read_barrier();
	if (load64(slot + SLOT(hash)) != hash)
		return ABSENT;
	found->expires = load64(slot + SLOT(expires));
	found->text_bytes = load16(slot + SLOT(text_bytes));
	u32 length = load16(slot + SLOT(key_bytes)), words = (found->text_bytes + 7) / 8;
	// An item of a flushed shard does not exist.
	bool current = load32(header + MIRROR(epochs) + 8 * shard) == since >> 32;

	for (u32 word = 0; word < MIRROR_TEXT_WORDS && word < words; word++) {
		text[word] = load64(slot + SLOT(text) + 8 * word);
		total = sum64(total, text[word]);
	}
	read_barrier();
	if (since % 2 || load64(slot) != since)
		return CONTENDED;
	if (!current || length != key_bytes || words > MIRROR_TEXT_WORDS || !mirror_has_key(text + MIRROR_KEY_AT, key, key_bytes))
		return ABSENT;
	*sum = total;
	found->slot = slot;
	return FOUND;
}

// Looks for a key in its possible slots.
INLINE enum found mirror_find(memory_t header, const u64 *key, u32 key_bytes, u64 *text, u64 *sum, struct mirrored *found)
{
	u64 hash = mirror_hash(header, key, key_bytes), shard = hash >> 24 & load64(header + MIRROR(shards));
	u64 sets = load64(header + MIRROR(sets)), set = shard * sets + ((hash >> 32) * sets >> 32);
	memory_t slots = header + MIRROR_SLOTS_AT + set * MIRROR_WAYS * sizeof(struct mirror_slot);
	memory_t second = slots + sizeof(struct mirror_slot);
	memory_t slot = load64(slots + SLOT(hash)) == hash ? slots : second;
	enum found result = CONTENDED;

	for (u32 attempt = 0; attempt < ATTEMPTS && result == CONTENDED; attempt++)
		result = mirror_read(header, slot, shard, hash, key, key_bytes, text, sum, found);
	return result;
}

// Marks an item as read, so that it is not evicted as unused.
INLINE void mirror_mark(const struct mirrored *found)
{
	if (!load32(found->slot + SLOT(used)))
		*(volatile u32 SHARED *)(found->slot + SLOT(used)) = 1;
}

#endif
