// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// The in-NIC ledger as an XDP program: executes compact frames where they lie, on a store of its own, and streams what it
// executed to user space. Accepted only: a crash loses what the ring held.
#include <linux/bpf.h>

#include "ledger.h"

#define SEC(name) __attribute__((section(name), used))

// What the program counts. Twin of `LedgerCounter` in crates/xdp/src/in_nic.rs.
enum ledger_counter {
	// Executed, and in the ring.
	LEDGER_EXECUTED,
	// Answered without a trace: REFER, retries, transaction ids used again.
	LEDGER_ANSWERED,
	// Left to the host: malformed, from who is not trusted, of another kind.
	LEDGER_HOST,
	// Left to the host because the checksum was wrong.
	LEDGER_CHECKSUM,
	// Left to the host because the ring had no room: nothing was done.
	LEDGER_RING_FULL,
	// Left to the host because a lock could not be had: nothing was done.
	LEDGER_LOCKED,
	LEDGER_COUNTERS,
};

// Maps, made and named by the loader (crates/xdp/src/in_nic.rs).
SEC(".maps") struct { int unused; } counters, locks, ring;

// The arena; the loader puts its address here.
struct state SHARED arena;

// A value of the map `locks`. The kernel's verifier knows a lock by the type that the loader tells it.
struct stripe_lock;

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static void *(*const bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)BPF_FUNC_ringbuf_reserve;
static void (*const bpf_ringbuf_submit)(void *data, u64 flags) = (void *)BPF_FUNC_ringbuf_submit;
static void (*const bpf_ringbuf_discard)(void *data, u64 flags) = (void *)BPF_FUNC_ringbuf_discard;

extern int bpf_res_spin_lock(struct stripe_lock *lock) __attribute__((section(".ksyms")));
extern void bpf_res_spin_unlock(struct stripe_lock *lock) __attribute__((section(".ksyms")));

INLINE void count(enum ledger_counter counter)
{
	u32 key = counter;
	u64 *number = bpf_map_lookup_elem(&counters, &key);

	if (number)
		*number += 1;
}

INLINE struct stripe_lock *lock_of(u32 stripe)
{
	return bpf_map_lookup_elem(&locks, &stripe);
}

// Executes an operation under the locks that it needs. False where it did not get them.
INLINE bool execute_locked(memory_t ledger, const struct operation *operation, struct remembered *result, u64 *sequence)
{
	u32 source = stripe_of(first_account_bucket(ledger, operation->source)), destination = source;
	enum found found;

	if (operation->command == COMMAND_TRANSFER)
		destination = stripe_of(first_account_bucket(ledger, operation->destination));
	// In the order of their addresses, so that no two wait for each other.
	struct stripe_lock *lower = lock_of(source < destination ? source : destination);
	struct stripe_lock *upper = lock_of(source < destination ? destination : source);
	// The verifier follows a number that it knows better than a comparison of two that it does not.
	u32 both = source != destination ? 1 : 0;

	asm volatile("" : "+r"(both));
	if (!lower || !upper)
		return false;
	if (bpf_res_spin_lock(lower))
		return false;
	if (both && bpf_res_spin_lock(upper)) {
		bpf_res_spin_unlock(lower);
		return false;
	}
	*sequence = ledger_execute(ledger, operation, result, &found);
	if (both)
		bpf_res_spin_unlock(upper);
	bpf_res_spin_unlock(lower);
	return found != CONTENDED;
}

// Executes CREATE, ISSUE or TRANSFER. The room in the ring is reserved before anything is changed, so what was executed is
// never missing there.
INLINE enum ledger_counter execute(memory_t ledger, const struct operation *operation, struct remembered *result)
{
	u64 sequence = 0;

	ledger_fetch(ledger, operation);
	struct committed *committed = bpf_ringbuf_reserve(&ring, sizeof(struct committed), 0);

	if (!committed)
		return LEDGER_RING_FULL;
	bool executed = execute_locked(ledger, operation, result, &sequence);

	// User space looks every so often, which costs less than to wake it.
	if (!executed || !sequence) {
		bpf_ringbuf_discard(committed, BPF_RB_NO_WAKEUP);
		return executed ? LEDGER_ANSWERED : LEDGER_LOCKED;
	}
	committed->sequence = sequence;
	committed->value = result->value;
	committed->command = operation->command;
	committed->transaction = operation->transaction;
	committed->source = operation->source;
	committed->destination = operation->destination;
	committed->amount = operation->amount;
	committed->status = result->status;
	bpf_ringbuf_submit(committed, BPF_RB_NO_WAKEUP);
	return LEDGER_EXECUTED;
}

INLINE enum ledger_counter answer(struct packet *packet, memory_t state)
{
	u8 *frame = packet->payload;
	memory_t ledger = state + load64(state + STATE(ledger_at));
	struct operation operation;
	struct remembered result = { 0, 0 };

	if (ledger == state || !compact_request(packet, &operation) || !is_trusted(state, &packet->source))
		return LEDGER_HOST;
	if (!checksum_is_right(packet, compact_sum(frame)))
		return LEDGER_CHECKSUM;

	enum ledger_counter counter = LEDGER_ANSWERED;

	if (operation.command != COMMAND_REFER)
		counter = execute(ledger, &operation, &result);
	else if (ledger_refer(ledger, &operation, &result) == CONTENDED)
		counter = LEDGER_LOCKED;
	if (counter <= LEDGER_ANSWERED) {
		compact_result(frame, &result);
		turn_around(packet, COMPACT_BYTES, compact_sum(frame));
	}
	return counter;
}

SEC("xdp") int turnpike_ledger(struct xdp_md *context)
{
	memory_t state = (memory_t)&arena;
	struct packet packet = { .start = (u8 *)(long)context->data, .end = (u8 *)(long)context->data_end };

	if (!parse(&packet, state) || !is_addressed(&packet, state))
		return XDP_PASS;
	enum ledger_counter counter = answer(&packet, state);

	count(counter);
	return counter <= LEDGER_ANSWERED ? XDP_TX : XDP_PASS;
}

// Executes again what is in the journal: it does not go into the ring. The packet is a compact frame and nothing else, for
// `BPF_PROG_TEST_RUN` before the program is attached.
SEC("restore") int turnpike_restore(struct xdp_md *context)
{
	memory_t state = (memory_t)&arena;
	struct packet packet = {
		.end = (u8 *)(long)context->data_end,
		.payload = (u8 *)(long)context->data,
		.length = COMPACT_BYTES,
	};
	struct operation operation;
	struct remembered result = { 0, 0 };
	u64 sequence = 0;

	if (!compact_request(&packet, &operation) || operation.command == COMMAND_REFER)
		return XDP_PASS;
	if (!execute_locked(state + load64(state + STATE(ledger_at)), &operation, &result, &sequence) || !sequence)
		return XDP_PASS;
	compact_result(packet.payload, &result);
	return XDP_TX;
}

SEC("license") char _license[] = "Dual MIT/GPL";
