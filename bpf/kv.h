// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// Single-key gets over UDP in memcached's ASCII protocol (its protocol.txt), answered from the store's mirror.
#ifndef TURNPIKE_KV_H
#define TURNPIKE_KV_H

#include "mirror.h"
#include "packet.h"

// Bytes of a request before its key: the datagram's header, and `get `.
#define KV_KEY_AT 12

// The shortest request has a key of one byte; the longest is as long as the longest possible reply, because
// untrusted senders must pad their requests to the reply's length. Longer ones go to the host.
#define KV_SHORTEST (KV_KEY_AT + 3)
#define KV_LONGEST 512

// A request starts four bytes into its memory, so that the key is word-aligned.
#define KV_REQUEST_AT 4
#define KV_KEY_WORD ((KV_REQUEST_AT + KV_KEY_AT) / 8)

// Spaces allowed after a key: the key's word and another pair of words are initialised for them.
#define KV_SPACES 24
#define KV_REQUEST_WORDS ((KV_REQUEST_AT + KV_LONGEST + KV_SPACES + 7) / 8)

#define KV_ONES 0x0101010101010101ull
#define KV_SPACE (' ' * KV_ONES)

// A reply starts two bytes into its memory, so that its text is word-aligned. Before the text it has the
// request's number, the datagram's sequence number, and the total number of datagrams.
#define KV_REPLY_AT 2
#define KV_REPLY_BYTES 6

// Expiry of an item that never expires.
#define KV_NEVER (~0ull)

// More than all headers before a request: Ethernet with two tags, IPv6, UDP.
#define KV_HEADERS_BYTES 128

// Memory for a request and its reply: more than fits on a program's stack.
struct kv_work {
	u64 request[KV_REQUEST_WORDS];
	u64 reply[1 + MIRROR_TEXT_WORDS];
	u64 headers[KV_HEADERS_BYTES / 8];
};

_Static_assert(sizeof(struct kv_work) <= KV_WORK_BYTES, "the map's values hold it");

struct kv_reply {
	// Bytes of the payload.
	u32 length;
	u64 sum;
	// As in the mirror.
	struct mirrored item;
};

INLINE u8 *kv_bytes(u64 *words)
{
	return (u8 *)words;
}

// Whether a datagram may be a request; if so, copy its payload to the memory.
INLINE bool kv_is_request(const struct packet *packet)
{
	return packet->length >= KV_SHORTEST && packet->length <= KV_LONGEST;
}

// Sum of a request. The rest of its last word must be zero.
INLINE u64 kv_request_sum(const struct kv_work *work, u32 length)
{
	u32 words = (KV_REQUEST_AT + length + 7) / 8;
	u64 sum = 0;

	for (u32 word = 0; word < KV_REQUEST_WORDS && word < words; word++)
		sum = sum64(sum, work->request[word]);
	return sum;
}

// Extracts the key of a single-key request: it stays in place, padded with zeros. Returns its length; 0 if this
// is not such a request.
INLINE u32 kv_key(struct kv_work *work, u32 length)
{
	u8 *bytes = kv_bytes(work->request) + KV_REQUEST_AT, *end = bytes + length - 2;
	u32 words = (KV_REQUEST_AT + length - 2 + KV_SPACES) / 8, key_bytes = 0;
	// `open`: all bits set until the key ends. `other`: anything but spaces after the key.
	u64 open = ~0ull, other = 0;

	// Must be the first of one datagram, with this command only, in lower case.
	if (get16(bytes + 2) || be16(get16(bytes + 4)) > 1 || get32(bytes + 8) != ('g' | 'e' << 8 | 't' << 16 | ' ' << 24))
		return 0;
	if (get16(end) != ('\r' | '\n' << 8))
		return 0;
	put64(end, KV_SPACE);
	put64(end + 8, KV_SPACE);
	put64(end + 16, KV_SPACE);
	for (u32 word = KV_KEY_WORD; word < KV_REQUEST_WORDS && word < words; word++) {
		u64 text = work->request[word];
		// The highest bit of the first byte that is a space or lower; higher bits may be wrong.
		u64 low = (text - (' ' + 1) * KV_ONES) & ~text & (0x80 * KV_ONES), first = low & -low;
		// The key's bytes in this word, without a branch.
		u64 mask = open & ((first >> 7) - 1);

		other |= (text ^ KV_SPACE) & ~mask;
		work->request[word] = text & mask;
		key_bytes += (mask & KV_ONES) * KV_ONES >> 56;
		open &= ((low | -low) >> 63) - 1;
	}
	return other || key_bytes > MAX_KEY ? 0 : key_bytes;
}

// Builds the reply to the request in the memory, if the mirror has the item.
INLINE enum kv_counter kv_answer(const struct packet *packet, memory_t state, struct kv_work *work, struct kv_reply *reply)
{
	u32 length = widen(state, packet->length, 1024);

	if (length < KV_SHORTEST || length > KV_LONGEST)
		return KV_HOST;
	u64 sum = kv_request_sum(work, length);
	u32 key_bytes = widen(state, kv_key(work, length), 256);

	if (!key_bytes)
		return KV_HOST;
	if (!checksum_is_right(packet, sum))
		return KV_CHECKSUM;
	switch (mirror_find(state + load64(state + STATE(mirror_at)), work->request + KV_KEY_WORD, key_bytes, work->reply + 1,
			    &reply->sum, &reply->item)) {
	case FOUND:
		break;
	case ABSENT:
		return KV_MISS;
	default:
		return KV_CONTENDED;
	}
	reply->length = KV_REPLY_BYTES + reply->item.text_bytes;
	// Prevents amplification: a spoofed source address must not receive more than the sender spent.
	if (reply->length > length && !is_trusted(state, &packet->source))
		return KV_HOST;
	// The first datagram of one.
	u16 number = get16(kv_bytes(work->request) + KV_REQUEST_AT);

	put16(kv_bytes(work->reply) + KV_REPLY_AT, number);
	put32(kv_bytes(work->reply) + KV_REPLY_AT + 2, be32(1));
	reply->sum += number + be16(1);
	return KV_HIT;
}

// Whether the item has expired; the host then answers.
INLINE bool kv_is_over(const struct kv_reply *reply, u64 now)
{
	return reply->item.expires <= now;
}

#endif
