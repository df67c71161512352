// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// Compact transfer frames: the answers that change nothing.
#ifndef TURNPIKE_COMPACT_H
#define TURNPIKE_COMPACT_H

#include "frames.h"
#include "packet.h"
#include "table.h"
#include "window.h"

// Account keys have 16 bytes, of which compact frames carry the last four; the value is the balance.
#define ACCOUNT_KEY_WORDS 2
#define ACCOUNT_VALUE_WORDS 1

INLINE u64 compact_sum(const u8 *frame)
{
	return sum64(sum64((u64)get32(frame + 16) + get16(frame + 20), get64(frame)), get64(frame + 8));
}

// Whether an operation is well formed, by the rules of crates/wire/src/operation.rs. The host refuses those
// that are not.
INLINE bool operation_is_well_formed(const struct operation *operation)
{
	switch ((enum command)operation->command) {
	case COMMAND_CREATE:
	case COMMAND_REFER:
		return !operation->destination && !operation->amount;
	case COMMAND_ISSUE:
		return !operation->destination && operation->amount;
	case COMMAND_TRANSFER:
		return operation->amount && operation->source != operation->destination;
	}
	return false;
}

// Whether a command is executed, that is, changes anything.
INLINE bool is_executed(enum command command)
{
	switch (command) {
	case COMMAND_CREATE:
	case COMMAND_ISSUE:
	case COMMAND_TRANSFER:
		return true;
	case COMMAND_REFER:
		return false;
	}
	return false;
}

// Prefetches the memory of the answer to a REFER, before the request is checked. Returns the hash of the
// account; for any other frame, 0.
INLINE u64 refer_fetch(const struct packet *packet, memory_t state)
{
	u64 accounts = load64(state + STATE(accounts_at));
	const u8 *frame = packet->payload;

	if (!accounts || packet->length != COMPACT_BYTES || !fits(frame, COMPACT_BYTES, packet->end) ||
	    get32(frame + COMPACT_COMMAND) != be32(COMMAND_REFER))
		return 0;
	u64 key[ACCOUNT_KEY_WORDS] = { 0, (u64)get32(frame + COMPACT_SOURCE) << 32 };
	u64 hash = table_hash(state + accounts, key, ACCOUNT_KEY_WORDS);

	table_fetch(state + accounts, hash, ACCOUNT_KEY_WORDS + ACCOUNT_VALUE_WORDS);
	return hash;
}

INLINE enum counter refer(memory_t state, u64 hash, const struct operation *operation, struct remembered *result)
{
	u64 accounts = load64(state + STATE(accounts_at));
	u64 key[ACCOUNT_KEY_WORDS] = { 0, (u64)be32(operation->source) << 32 };

	if (!accounts)
		return COUNT_HOST;
	result->value = 0;
	switch (table_find(state + accounts, hash, key, &result->value, ACCOUNT_KEY_WORDS, ACCOUNT_VALUE_WORDS)) {
	case FOUND:
		result->status = STATUS_OK;
		return COUNT_REFER;
	case ABSENT:
		// It does not exist, or it is frozen.
		return COUNT_HOST;
	default:
		return COUNT_CONTENDED;
	}
}

INLINE enum counter retry(memory_t state, const struct operation *operation, struct remembered *result)
{
	struct window window = {
		.header = state + load64(state + STATE(window_at)),
		.index = state + load64(state + STATE(index_at)),
		.ring = state + load64(state + STATE(ring_at)),
	};

	if (window.header == state)
		return COUNT_HOST;
	switch (window_find(&window, operation, result)) {
	case FOUND:
		return COUNT_RETRY;
	case ABSENT:
		return COUNT_HOST;
	default:
		return COUNT_CONTENDED;
	}
}

// Extracts the operation of a datagram. Returns false if it is not a well-formed compact frame.
INLINE bool compact_request(const struct packet *packet, struct operation *operation)
{
	const u8 *frame = packet->payload;

	if (packet->length != COMPACT_BYTES || !fits(frame, COMPACT_BYTES, packet->end))
		return false;
	*operation = (struct operation){
		.command = be32(get32(frame + COMPACT_COMMAND)),
		.transaction = be32(get32(frame + COMPACT_TRANSACTION)),
		.source = be32(get32(frame + COMPACT_SOURCE)),
		.destination = be32(get32(frame + COMPACT_DESTINATION)),
		.amount = be32(get32(frame + COMPACT_AMOUNT)),
	};
	return !get16(frame + COMPACT_STATUS) && operation_is_well_formed(operation);
}

// Turns the frame of a request into that of its reply.
INLINE void compact_result(u8 *frame, const struct remembered *result)
{
	put32(frame + COMPACT_AMOUNT, be32(result->value >> 32 ? 0xffffffff : result->value));
	put16(frame + COMPACT_STATUS, be16(result->status));
}

// Turns a compact frame into its reply, if possible; `hash` comes from `refer_fetch`. The reply has the length
// of the request; `sum` is set to that of its bytes. The caller writes the headers.
INLINE enum counter answer_compact(struct packet *packet, memory_t state, u64 hash, u64 *sum)
{
	struct operation operation;

	if (!compact_request(packet, &operation) || !is_trusted(state, &packet->source))
		return COUNT_HOST;
	if (!checksum_is_right(packet, compact_sum(packet->payload)))
		return COUNT_CHECKSUM;

	struct remembered result = { 0, 0 };
	struct moment moment = moment_of(state);
	enum counter counter = is_executed(operation.command) ? retry(state, &operation, &result) :
								       refer(state, hash, &operation, &result);

	if (counter != COUNT_REFER && counter != COUNT_RETRY)
		return counter;
	if (!may_be_told(state, &moment))
		return COUNT_NOT_DURABLE;
	compact_result(packet->payload, &result);
	*sum = compact_sum(packet->payload);
	return counter;
}

#endif
