// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// Frames of all kinds that are answered: from the wire to the reply.
#ifndef TURNPIKE_ANSWER_H
#define TURNPIKE_ANSWER_H

#include "compact.h"
#include "proof.h"

// Finds the datagram in a frame, and asks for the memory that its answer is in while its addresses are checked: `hash` is for `answer`. False
// where the frame is the host's business.
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

// Makes a frame its reply, if the tables have the answer; else it is as it came. `length` is that of the reply's payload then; behind it there is
// nothing but padding.
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
