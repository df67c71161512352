// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// Answers frames of all kinds: from the wire to the reply.
#ifndef TURNPIKE_ANSWER_H
#define TURNPIKE_ANSWER_H

#include "compact.h"
#include "proof.h"

// Finds the datagram in a frame, and prefetches the memory of its answer while its addresses are checked.
// `hash` is passed on to `answer`. Returns false if the frame must be left to the host.
INLINE bool is_for_node(struct packet *packet, memory_t state, u64 *hash)
{
	if (!parse(packet, state))
		return false;
	*hash = packet->length == COMPACT_BYTES ? refer_fetch(packet, state) : proof_fetch(packet, state);
	return is_addressed(packet, state);
}

INLINE bool is_answered(enum counter counter)
{
	return counter <= COUNT_PROOF;
}

// Turns a frame into its reply if the tables have the answer; otherwise leaves it unmodified. `length` is set
// to that of the reply's payload, which is followed only by padding.
INLINE enum counter answer(struct packet *packet, memory_t state, u64 hash, u32 *length)
{
	u64 sum = 0;

	*length = packet->length;
	enum counter counter = packet->length == COMPACT_BYTES ? answer_compact(packet, state, hash, &sum) :
								 answer_proof(packet, state, hash, length, &sum);

	if (is_answered(counter))
		turn_around(packet, *length, sum);
	return counter;
}

#endif
