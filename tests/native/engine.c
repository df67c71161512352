// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// The engine headers as plain functions, without what needs the kernel: maps, locks, the ring.
#include <string.h>

// A writer may run between any two loads: tests let it run there.
void native_before_load(void);
#define before_load() native_before_load()

#include "answer.h"
#include "kv.h"
#include "ledger.h"

// Outcome of a frame: 0, it passes; otherwise the length of the reply in its place.
u32 native_tier(u8 *start, u32 bytes, memory_t memory);
u32 native_ledger(u8 *start, u32 bytes, memory_t memory, u64 now, struct committed *committed);
u32 native_kv(u8 *start, u32 bytes, u32 room, memory_t memory, u64 now);
void native_interrupt_changes(memory_t memory);
u16 native_fold_sum(u64 sum);

// As in bpf/turnpike.bpf.c.
u32 native_tier(u8 *start, u32 bytes, memory_t memory)
{
	struct packet packet = { .start = start, .end = start + bytes };

	u64 hash;
	u32 length;

	if (!is_for_node(&packet, memory, &hash) || !is_answered(answer(&packet, memory, hash, &length)))
		return 0;
	return bytes + length - packet.length;
}

// As in bpf/ledger.bpf.c, on one thread, in tick `now`. `committed` receives an operation for the journal; its sequence
// is nonzero.
u32 native_ledger(u8 *start, u32 bytes, memory_t memory, u64 now, struct committed *committed)
{
	struct packet packet = { .start = start, .end = start + bytes };
	memory_t ledger = memory + load64(memory + STATE(ledger_at));
	struct operation operation;
	struct remembered result = { 0, 0 };

	committed->sequence = 0;
	if (!parse(&packet, memory) || !is_addressed(&packet, memory) || !compact_request(&packet, &operation) ||
	    !is_trusted(memory, &packet.source) || !checksum_is_right(&packet, compact_sum(packet.payload)))
		return 0;
	if (operation.command == COMMAND_REFER) {
		if (ledger_refer(ledger, &operation, &result) == CONTENDED)
			return 0;
	} else {
		struct retry retry = ledger_retry(ledger, &operation);

		ledger_fetch(ledger, &operation, &retry);
		if (ledger_execute(ledger, &operation, &retry, now, &result, &committed->sequence) == CROWDED)
			return 0;
	}
	committed->value = result.value;
	committed->command = operation.command;
	committed->transaction = operation.transaction;
	committed->source = operation.source;
	committed->destination = operation.destination;
	committed->amount = operation.amount;
	committed->status = result.status;
	compact_result(packet.payload, &result);
	turn_around(&packet, COMPACT_BYTES, compact_sum(packet.payload));
	return bytes;
}

// As in bpf/kv.bpf.c, at a time of the monotonic clock. There is `room` after the frame for a longer reply.
u32 native_kv(u8 *start, u32 bytes, u32 room, memory_t memory, u64 now)
{
	struct packet packet = { .start = start, .end = start + bytes };
	struct kv_reply reply;
	// Uninitialised, as the previous request would have left it.
	struct kv_work work;

	memset(&work, 0xa5, sizeof(work));
	if (!parse(&packet, memory) || !is_addressed(&packet, memory) || !kv_is_request(&packet) ||
	    !fits(packet.payload, packet.length, packet.end))
		return 0;
	work.request[0] = 0;
	work.request[(KV_REQUEST_AT + packet.length) / 8] = 0;
	memcpy(kv_bytes(work.request) + KV_REQUEST_AT, packet.payload, packet.length);
	if (kv_answer(&packet, memory, &work, &reply) != KV_HIT || kv_is_over(&reply, now) ||
	    reply.length > packet.length + room)
		return 0;
	memcpy(packet.payload, kv_bytes(work.reply) + KV_REPLY_AT, reply.length);
	turn_around(&packet, reply.length, reply.sum);
	mirror_mark(&reply.item);
	return bytes + reply.length - packet.length;
}

// Leaves every bucket of the proofs' table in the state of an interrupted change.
void native_interrupt_changes(memory_t memory)
{
	u64 proofs = load64(memory + STATE(proofs_at));
	struct table table = table_at(memory + proofs);

	if (!proofs)
		__builtin_trap();
	for (u32 bucket = 0; bucket < table.buckets; bucket++)
		((struct bucket *)(table.memory + table.buckets_at))[bucket].sequence++;
}

u16 native_fold_sum(u64 sum)
{
	return fold_sum(sum);
}
