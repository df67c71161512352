// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// The in-NIC ledger as an XDP program: executes compact frames in place, on its own store, and streams executed
// operations to user space. Accepted only: a crash loses operations that are not in the journal yet.
#include <linux/bpf.h>

#include "ledger.h"

#define SEC(name) __attribute__((section(name), used))

// The largest status counted per command.
_Static_assert(STATUS_TRANSACTION_ID_REUSED < STATUSES, "a counter for each status that is answered");

// Maps, created and named by the loader (crates/xdp/src/in_nic.rs).
SEC(".maps") struct { int unused; } counters, locks, ring;

// The arena; the loader fills in its address.
struct state SHARED arena;

// A value of the map `locks`. The kernel's verifier recognises a lock by the type that the loader declares
// (crates/xdp/src/btf.rs).
struct stripe_lock {
	u32 lock;
	// Whether a processor holds the lock, for those that only look: the lock itself may not be read.
	u32 held;
};

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static void *(*const bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)BPF_FUNC_ringbuf_reserve;
static void (*const bpf_ringbuf_submit)(void *data, u64 flags) = (void *)BPF_FUNC_ringbuf_submit;
static u64 (*const bpf_ktime_get_coarse_ns)(void) = (void *)BPF_FUNC_ktime_get_coarse_ns;
static void (*const bpf_ringbuf_discard)(void *data, u64 flags) = (void *)BPF_FUNC_ringbuf_discard;

extern int bpf_res_spin_lock(struct stripe_lock *lock) __attribute__((section(".ksyms")));
extern void bpf_res_spin_unlock(struct stripe_lock *lock) __attribute__((section(".ksyms")));

INLINE void count(u32 counter)
{
	u64 *number = bpf_map_lookup_elem(&counters, &counter);

	if (number)
		*number += 1;
}

INLINE struct stripe_lock *lock_of(u32 stripe)
{
	return bpf_map_lookup_elem(&locks, &stripe);
}

// Counter of an answer.
INLINE u32 counter_of(enum ledger_counter first, const struct operation *operation, const struct remembered *result)
{
	return first + (operation->command - 1) * STATUSES + result->status;
}

INLINE bool is_held(struct stripe_lock *lock)
{
	return *(volatile u32 *)&lock->held;
}

INLINE void tell_held(struct stripe_lock *lock, bool held)
{
	*(volatile u32 *)&lock->held = held;
}

INLINE enum ledger_counter counter_of_outcome(enum outcome outcome)
{
	switch (outcome) {
	case EXECUTED:
		return LEDGER_EXECUTED;
	case REPEATED:
		return LEDGER_ANSWERED;
	case FULL:
		return LEDGER_FULL;
	default:
		return LEDGER_CROWDED;
	}
}

// Executes an operation under the locks that it needs.
INLINE enum ledger_counter execute_locked(memory_t ledger, const struct operation *operation, struct retry *retry,
					  struct remembered *result, u64 *sequence)
{
	u32 source = stripe_of(first_account_bucket(ledger, operation->source)), destination = source;
	// No function may be called while a lock is held.
	u64 now = bpf_ktime_get_coarse_ns() >> TICK_BITS;
	enum outcome outcome;

	if (has_destination(operation->command))
		destination = stripe_of(first_account_bucket(ledger, operation->destination));
	// In address order, to avoid deadlock.
	struct stripe_lock *lower = lock_of(source < destination ? source : destination);
	struct stripe_lock *upper = lock_of(source < destination ? destination : source);
	// The verifier tracks a known number better than a comparison of two unknown ones.
	u32 both = source != destination ? 1 : 0;

	asm volatile("" : "+r"(both));
	if (!lower || !upper)
		return LEDGER_LOCKED;
	if (is_held(lower) || is_held(upper))
		count(LEDGER_WAITED);
	if (bpf_res_spin_lock(lower))
		return LEDGER_LOCKED;
	if (both && bpf_res_spin_lock(upper)) {
		bpf_res_spin_unlock(lower);
		return LEDGER_LOCKED;
	}
	tell_held(lower, true);
	tell_held(upper, true);
	outcome = ledger_execute(ledger, operation, retry, now, result, sequence);
	tell_held(upper, false);
	tell_held(lower, false);
	if (both)
		bpf_res_spin_unlock(upper);
	bpf_res_spin_unlock(lower);
	return counter_of_outcome(outcome);
}

// Executes CREATE, ISSUE or TRANSFER. Reserves room in the ring before changing anything, so the ring never
// misses an executed operation.
INLINE enum ledger_counter execute(memory_t ledger, const struct operation *operation, struct retry *retry,
				   struct remembered *result)
{
	u64 sequence = 0;
	struct committed *committed = bpf_ringbuf_reserve(&ring, sizeof(struct committed), 0);

	if (!committed)
		return LEDGER_RING_FULL;
	enum ledger_counter counter = execute_locked(ledger, operation, retry, result, &sequence);

	// User space polls, which is cheaper than waking it.
	if (counter != LEDGER_EXECUTED) {
		bpf_ringbuf_discard(committed, BPF_RB_NO_WAKEUP);
		return counter;
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

// A request: its operation, and where its retry is remembered.
struct request {
	bool is_there;
	struct operation operation;
	struct retry retry;
};

// Extracts the request from a datagram, and prefetches all of the answer's memory at once, before the sender is
// checked: taking the first lock waits for loads in flight.
INLINE void take_request(const struct packet *packet, memory_t state, struct request *request)
{
	memory_t ledger = state + load64(state + STATE(ledger_at));

	request->is_there = ledger != state && compact_request(packet, &request->operation);
	if (!request->is_there || !is_executed(request->operation.command))
		return;
	request->retry = ledger_retry(ledger, &request->operation);
	ledger_fetch(ledger, &request->operation, &request->retry);
}

// Answers a frame in place, and counts. Returns whether there is a reply.
INLINE bool answer(struct packet *packet, memory_t state, struct request *request)
{
	u8 *frame = packet->payload;
	memory_t ledger = state + load64(state + STATE(ledger_at));
	struct operation *operation = &request->operation;
	struct remembered result = { 0, 0 };
	enum ledger_counter counter = LEDGER_ANSWERED;

	if (!request->is_there || !is_trusted(state, &packet->source))
		counter = LEDGER_HOST;
	else if (!checksum_is_right(packet, compact_sum(frame)))
		counter = LEDGER_CHECKSUM;
	else if (is_executed(operation->command))
		counter = execute(ledger, operation, &request->retry, &result);
	else if (ledger_refer(ledger, operation, &result) == CONTENDED)
		counter = LEDGER_CROWDED;
	if (counter < LEDGER_FULL) {
		count(counter);
		return false;
	}
	// Before the headers are swapped: they do not depend on the operation, so the verifier need not follow each
	// outcome separately.
	count(counter == LEDGER_FULL ? counter : counter_of(counter, operation, &result));
	compact_result(frame, &result);
	turn_around(packet, COMPACT_BYTES, compact_sum(frame));
	return true;
}

INLINE int serve(struct xdp_md *context)
{
	memory_t state = (memory_t)&arena;
	struct packet packet = { .start = (u8 *)(long)context->data, .end = (u8 *)(long)context->data_end };
	struct request request = { .is_there = false };

	if (!parse(&packet, state))
		return XDP_PASS;
	take_request(&packet, state, &request);
	if (!is_addressed(&packet, state))
		return XDP_PASS;
	return answer(&packet, state, &request) ? XDP_TX : XDP_PASS;
}

SEC("xdp") int turnpike_ledger(struct xdp_md *context)
{
	return serve(context);
}

SEC("license") char _license[] = "Dual MIT/GPL";
