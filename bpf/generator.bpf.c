// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// A generator of compact frames in the kernel, for measurements. The kernel runs `generate` as often as it is told, and sends each
// frame by the interface (`BPF_PROG_TEST_RUN` with live frames); `receive`, at the same interface, takes the replies. Both see
// one clock, and neither needs a system call for a frame.
#include <linux/bpf.h>

#include "compact.h"

#define SEC(name) __attribute__((section(name), used))

// The port that requests come from.
#define GENERATOR_PORT 4000

#define HEADERS (ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES)
#define FRAME_BYTES (HEADERS + COMPACT_BYTES)

// What TRANSFER moves, to the account after, and ISSUE gives.
#define AMOUNT 1
#define PLENTY 1000000

// The first page of the arena. Twin of crates/xdp/src/generator.rs.
struct generator {
	// The headers of a request, filled up to whole words.
	u64 headers[6];
	u64 command;
	u64 accounts;
	// Requests are for one account after the other, or for any.
	u64 any;
	// What transaction ids begin with.
	u64 transactions;
	// The lowest account.
	u64 lowest;
	u64 reserved[5];
	// Requests made of one account after the other.
	u64 ordered;
	u64 reserved_ordered[7];
	// What each processor counts by itself: a line that two of them wrote would take as long as a request.
	struct tally {
		// Requests made, and when the first was (CLOCK_MONOTONIC, nanoseconds).
		u64 made;
		u64 first;
		// Replies, those of them with status 0, and when the last one came.
		u64 replies;
		u64 good;
		u64 last;
		u64 reserved[3];
	} tallies[61];
};
_Static_assert(sizeof(struct tally) == 64 && sizeof(struct generator) == 4096, "as in generator.rs");

#define GENERATOR(field) __builtin_offsetof(struct generator, field)
#define TALLY(field) __builtin_offsetof(struct tally, field)

// Transaction ids of requests for any account: as many processors count their own.
#define INTERLEAVED 64

// The arena; the loader puts its address here.
struct generator SHARED arena;

static u64 (*const bpf_ktime_get_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)BPF_FUNC_get_smp_processor_id;

INLINE void store64(memory_t at, u64 value)
{
	*(volatile u64 SHARED *)at = value;
}

INLINE u64 add64(memory_t at, u64 value)
{
	return __sync_fetch_and_add((u64 SHARED *)at, value);
}

// Adds one to what only this processor writes, and tells what it was.
INLINE u64 count(memory_t at)
{
	u64 value = load64(at);

	store64(at, value + 1);
	return value;
}

// The tally of a processor. The loader takes care that there is one.
INLINE memory_t tally_of(u32 processor)
{
	return (memory_t)&arena + GENERATOR(tallies) + (processor & 63) * sizeof(struct tally);
}

SEC("generate") int generate_request(struct xdp_md *context)
{
	memory_t generator = (memory_t)&arena;
	u8 *start = (u8 *)(long)context->data, *end = (u8 *)(long)context->data_end, *frame = start + HEADERS;

	if (!fits(start, FRAME_BYTES, end))
		return XDP_ABORTED;
	// Whoever had the frame before may have written over all of it.
#pragma clang loop unroll(full)
	for (u32 at = 0; at < HEADERS / 8; at++)
		put64(start + 8 * at, load64(generator + 8 * at));
	put16(start + HEADERS - 2, load64(generator + 8 * (HEADERS / 8)));

	u32 processor = bpf_get_smp_processor_id(), accounts = load64(generator + GENERATOR(accounts));
	u32 command = load64(generator + GENERATOR(command)), lowest = load64(generator + GENERATOR(lowest));
	u32 transaction = load64(generator + GENERATOR(transactions)), chosen;
	memory_t tally = tally_of(processor);
	u64 made = count(tally + TALLY(made));

	if (load64(generator + GENERATOR(any))) {
		transaction += made * INTERLEAVED + processor;
		// The constants of Numerical Recipes: an order that no cache foresees.
		u32 spread = (transaction * 1664525 + 1013904223) * 1664525 + 1013904223;

		chosen = ((u64)spread * accounts) >> 32;
	} else {
		u32 number = add64(generator + GENERATOR(ordered), 1);

		transaction += number;
		chosen = number % (accounts ? accounts : 1);
	}
	bool transfers = command == COMMAND_TRANSFER;

	put32(frame, be32(command));
	put32(frame + 4, be32(transaction));
	put32(frame + 8, be32(lowest + chosen));
	put32(frame + 12, transfers ? be32(lowest + chosen + 1) : 0);
	put32(frame + 16, transfers ? be32(AMOUNT) : command == COMMAND_ISSUE ? be32(PLENTY) : 0);
	put16(frame + 20, 0);
	if (made == 0)
		store64(tally + TALLY(first), bpf_ktime_get_ns());
	return XDP_TX;
}

SEC("receive") int receive_reply(struct xdp_md *context)
{
	u8 *start = (u8 *)(long)context->data, *end = (u8 *)(long)context->data_end, *udp = start + HEADERS - UDP_BYTES;

	if (!fits(start, FRAME_BYTES, end))
		return XDP_PASS;
	if (be16(get16(start + 12)) != ETHERTYPE_IPV4 || start[ETHERNET_BYTES + 9] != PROTOCOL_UDP ||
	    be16(get16(udp + 2)) != GENERATOR_PORT)
		return XDP_PASS;
	memory_t tally = tally_of(bpf_get_smp_processor_id());

	count(tally + TALLY(replies));
	if (!get16(start + HEADERS + 20))
		count(tally + TALLY(good));
	store64(tally + TALLY(last), bpf_ktime_get_ns());
	return XDP_DROP;
}

// At the other end, where there is no program to be measured: a cable of two virtual ends takes frames only while there is one.
SEC("pass") int pass_all(struct xdp_md *context)
{
	return context->data < context->data_end ? XDP_PASS : XDP_ABORTED;
}

SEC("license") char _license[] = "Dual MIT/GPL";
