// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// Proof frames: answers hits in the cache of crates/proof/src/cache.rs.
#ifndef TURNPIKE_PROOF_H
#define TURNPIKE_PROOF_H

#include "frames.h"
#include "packet.h"
#include "table.h"
#include "values.h"

// The longest unfragmented Ethernet payload (`ETHERNET_DATAGRAM`): longer replies are not in the cache, and
// requests for longer ones go to the host.
#define PROOF_MAX_BYTES 1472

// The first four bytes of a proof frame: magic, version, type.
#define PROOF_REQUEST (MAGIC >> 8 | (MAGIC & 0xff) << 8 | VERSION << 16 | TYPE_PROOF << 24)
#define PROOF_REPLY (PROOF_REQUEST | (u32)REPLY_BIT << 24)

// Key: chain and query in one byte, then 32 bytes. Value: handle, then epoch and number of the tip.
#define PROOF_KEY_WORDS 5
#define PROOF_VALUE_WORDS 2

// Hash and height of the tip, with which every body begins.
#define TIP_BYTES (PROOF_REPLY_BLOCK_HASH - PROOF_REPLY_TIP_HASH)

#define TIP(field) __builtin_offsetof(struct published_tip, field)

// Bytes covered by one bounds check.
#define BLOCK_BYTES 64

// Sums a request's payload of at least 56 bytes, if its padding is complete and zero, which adds nothing.
INLINE bool proof_request_sum(const struct packet *packet, memory_t state, u64 *sum)
{
	const u8 *frame = packet->payload;
	u32 padded = packet->length - PROOF_BYTES, blocks = widen(state, padded / BLOCK_BYTES, 32);
	u32 words = widen(state, padded / 8, 8);
	u64 padding = 0, total = 0;

	for (u32 block = 0; block < PROOF_MAX_BYTES / BLOCK_BYTES && block < blocks; block++) {
		const u8 *cursor = frame + PROOF_BYTES + widen(state, BLOCK_BYTES * block, 2048);

		if (!fits(cursor, BLOCK_BYTES, packet->end))
			return false;
#pragma clang loop unroll(full)
		for (u32 at = 0; at < BLOCK_BYTES; at += 8)
			padding |= get64(cursor + at);
	}
	const u8 *rest = frame + PROOF_BYTES + widen(state, padded - padded % BLOCK_BYTES, 2048);

	for (u32 word = 0; word < BLOCK_BYTES / 8 - 1 && word < words; word++, rest += 8) {
		if (!fits(rest, 8, packet->end))
			return false;
		padding |= get64(rest);
	}
	// Checks the last 8 bytes again, as some of them may not form a whole word.
	const u8 *last = frame + widen(state, packet->length - 8, 2048);

	if (!fits(last, 8, packet->end) || !fits(frame, PROOF_BYTES, packet->end))
		return false;
#pragma clang loop unroll(full)
	for (u32 at = 0; at < PROOF_BYTES; at += 8)
		total = sum64(total, get64(frame + at));
	*sum = total;
	return !padding && !get64(last);
}

// Copies the body of a reply after the fixed part. `sum` is set to that of the copied bytes.
INLINE bool copy_body(struct packet *packet, memory_t state, const struct value *value, u32 length, u64 *sum)
{
	u8 *body = packet->payload + PROOF_BYTES;
	u32 blocks = widen(state, length / BLOCK_BYTES, 32), words = widen(state, length / 8, 8), rest = widen(state, length, 8);
	memory_t from = value->bytes;
	u64 total = 0;

	for (u32 block = 0; block < PROOF_MAX_BYTES / BLOCK_BYTES && block < blocks; block++, from += BLOCK_BYTES) {
		u8 *cursor = body + widen(state, BLOCK_BYTES * block, 2048);

		if (!fits(cursor, BLOCK_BYTES, packet->end))
			return false;
#pragma clang loop unroll(full)
		for (u32 at = 0; at < BLOCK_BYTES; at += 8) {
			u64 word = load64(from + at);

			put64(cursor + at, word);
			total = sum64(total, word);
		}
	}
	u8 *cursor = body + widen(state, length - length % BLOCK_BYTES, 2048);

	for (u32 at = 0; at < BLOCK_BYTES / 8 - 1 && at < words; at++, cursor += 8, from += 8) {
		if (!fits(cursor, 8, packet->end))
			return false;
		u64 word = load64(from);

		put64(cursor, word);
		total = sum64(total, word);
	}
	// Copies the last 8 bytes again, as above.
	u8 *last = body + widen(state, length - 8, 2048);

	if (!fits(last, 8, packet->end))
		return false;
	put64(last, load64(value->bytes + (length - 8)));
	if (rest)
		total = sum64(total, load64(value->bytes + (length - rest)) & (~0ull >> (64 - 8 * rest)));
	*sum = total;
	return true;
}

// Restores the padding.
INLINE void clear_padding(struct packet *packet, memory_t state, u32 length)
{
	u8 *body = packet->payload + PROOF_BYTES;
	u32 words = widen(state, length / 8, 256);

	for (u32 at = 0; at < PROOF_MAX_BYTES / 8 && at < words; at++) {
		u8 *cursor = body + widen(state, 8 * at, 2048);

		if (!fits(cursor, 8, packet->end))
			break;
		put64(cursor, 0);
	}
	u8 *last = body + widen(state, length - 8, 2048);

	if (fits(last, 8, packet->end))
		put64(last, 0);
}

// Key of a request in the cache's table.
INLINE void proof_key(const u8 *frame, u64 key[PROOF_KEY_WORDS])
{
	u64 asked[4] = { get64(frame + PROOF_KEY), get64(frame + PROOF_KEY + 8), get64(frame + PROOF_KEY + 16),
			 get64(frame + PROOF_KEY + 24) };

	key[0] = (u64)(frame[PROOF_CHAIN] << 4 | frame[PROOF_QUERY]) | asked[0] << 8;
	key[1] = asked[0] >> 56 | asked[1] << 8;
	key[2] = asked[1] >> 56 | asked[2] << 8;
	key[3] = asked[2] >> 56 | asked[3] << 8;
	key[4] = asked[3] >> 56;
}

// Prefetches the memory that locates the answer to a proof frame, before the request is checked. Returns the
// hash of the request's key; for any other frame, 0.
INLINE u64 proof_fetch(const struct packet *packet, memory_t state)
{
	u64 proofs = load64(state + STATE(proofs_at)), key[PROOF_KEY_WORDS];

	if (!proofs || packet->length < PROOF_BYTES || !fits(packet->payload, PROOF_BYTES, packet->end))
		return 0;
	proof_key(packet->payload, key);
	u64 hash = table_hash(state + proofs, key, PROOF_KEY_WORDS);

	table_fetch(state + proofs, hash, PROOF_KEY_WORDS + PROOF_VALUE_WORDS);
	return hash;
}

// Turns a proof frame into its reply, if the cache holds the answer; `hash` comes from `proof_fetch`. `length`
// is set to that of the reply, `reply_sum` to that of its bytes. The caller writes the headers.
INLINE enum counter answer_proof(struct packet *packet, memory_t state, u64 hash, u32 *length, u64 *reply_sum)
{
	u8 *frame = packet->payload;
	u64 proofs = load64(state + STATE(proofs_at)), sum = 0;

	if (!proofs || packet->length < PROOF_BYTES || packet->length > PROOF_MAX_BYTES ||
	    !fits(frame, PROOF_BYTES, packet->end))
		return COUNT_HOST;
	u8 chain = frame[PROOF_CHAIN], query = frame[PROOF_QUERY];

	if (get32(frame) != PROOF_REQUEST || chain > CHAIN_BITCOIN || query > 15 ||
	    get16(frame + PROOF_STATUS) || get32(frame + PROOF_BODY_LENGTH))
		return COUNT_HOST;
	// Untrusted sources may be rate limited, which the host does.
	if (load64(state + STATE(flags)) & STATE_RATE_LIMITED && !is_trusted(state, &packet->source))
		return COUNT_HOST;

	memory_t tip = state + load64(state + STATE(tips_at)) + chain * sizeof(struct published_tip);
	u32 edition = load32(tip);

	read_barrier();
	u64 name[4] = { load64(tip + TIP(hash)), load64(tip + TIP(hash) + 8), load64(tip + TIP(hash) + 16),
			load64(tip + TIP(hash) + 24) };
	u64 height = load64(tip + TIP(height)), generation = load64(tip + TIP(generation)), key[PROOF_KEY_WORDS];
	u64 entry[PROOF_VALUE_WORDS] = { 0, 0 };

	if (edition % 2)
		return COUNT_CONTENDED;
	proof_key(frame, key);
	switch (table_find(state + proofs, hash, key, entry, PROOF_KEY_WORDS, PROOF_VALUE_WORDS)) {
	case FOUND:
		break;
	case ABSENT:
		return COUNT_HOST;
	default:
		return COUNT_CONTENDED;
	}
	// From another epoch, or proved against another tip's index.
	if (entry[1] >> 32 != generation >> 32 || (query == QUERY_INDEX && (u32)entry[1] != (u32)generation))
		return COUNT_HOST;

	struct value value;

	if (!value_find(&value, state + load64(state + STATE(values_at)), load64(state + STATE(value_lines)), entry[0],
			packet->length - PROOF_BYTES))
		return COUNT_HOST;
	u32 body = value.bits;

	// The host returns an error if the reply does not fit.
	if (body < TIP_BYTES || body > packet->length - PROOF_BYTES)
		return COUNT_HOST;
	if (!proof_request_sum(packet, state, &sum))
		return COUNT_HOST;
	if (!checksum_is_right(packet, sum))
		return COUNT_CHECKSUM;
	if (!fits(frame, PROOF_BYTES + TIP_BYTES, packet->end))
		return COUNT_HOST;
	if (!copy_body(packet, state, &value, body, &sum) || !value_is_there(&value) || load32(tip) != edition) {
		clear_padding(packet, state, body);
		return COUNT_CONTENDED;
	}
	// The body names the tip at the time of the proof. It also holds for the current tip, which replaces it.
#pragma clang loop unroll(full)
	for (u32 at = 0; at < TIP_BYTES / 8; at++)
		sum -= sum64(0, get64(frame + PROOF_BYTES + 8 * at));
	value_mark(&value);
	put32(frame, PROOF_REPLY);
	put32(frame + PROOF_BODY_LENGTH, be32(body));
	put64(frame + PROOF_REPLY_TIP_HASH, name[0]);
	put64(frame + PROOF_REPLY_TIP_HASH + 8, name[1]);
	put64(frame + PROOF_REPLY_TIP_HASH + 16, name[2]);
	put64(frame + PROOF_REPLY_TIP_HASH + 24, name[3]);
	put64(frame + PROOF_REPLY_TIP_HEIGHT, be64(height));
#pragma clang loop unroll(full)
	for (u32 at = 0; at < (PROOF_BYTES + TIP_BYTES) / 8; at++)
		sum = sum64(sum, get64(frame + 8 * at));
	*length = PROOF_BYTES + body;
	*reply_sum = sum;
	return COUNT_PROOF;
}

#endif
