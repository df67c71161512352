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
	// Requests made, and when the first was (CLOCK_MONOTONIC, nanoseconds).
	u64 made;
	u64 first;
	u64 reserved_made[6];
	// Replies, those of them with status 0, and when the last one came.
	u64 replies;
	u64 good;
	u64 last;
	u64 reserved_replies[5];
};
_Static_assert(sizeof(struct generator) == 256, "as in generator.rs");

#define GENERATOR(field) __builtin_offsetof(struct generator, field)

// The arena; the loader puts its address here.
struct generator SHARED arena;

static u64 (*const bpf_ktime_get_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;

INLINE void store64(memory_t at, u64 value)
{
	*(volatile u64 SHARED *)at = value;
}

INLINE u64 add64(memory_t at, u64 value)
{
	return __sync_fetch_and_add((u64 SHARED *)at, value);
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

	u64 number = add64(generator + GENERATOR(made), 1);
	u32 command = load64(generator + GENERATOR(command)), accounts = load64(generator + GENERATOR(accounts));
	u32 transaction = load64(generator + GENERATOR(transactions)) + number;
	// The constants of Numerical Recipes: an order that no cache foresees.
	u32 spread = (transaction * 1664525 + 1013904223) * 1664525 + 1013904223;
	u32 chosen = load64(generator + GENERATOR(any)) ? ((u64)spread * accounts) >> 32 : number % (accounts ? accounts : 1);
	u32 lowest = load64(generator + GENERATOR(lowest));
	bool transfers = command == COMMAND_TRANSFER;

	put32(frame, be32(command));
	put32(frame + 4, be32(transaction));
	put32(frame + 8, be32(lowest + chosen));
	put32(frame + 12, transfers ? be32(lowest + chosen + 1) : 0);
	put32(frame + 16, transfers ? be32(AMOUNT) : command == COMMAND_ISSUE ? be32(PLENTY) : 0);
	put16(frame + 20, 0);
	if (number == 0)
		store64(generator + GENERATOR(first), bpf_ktime_get_ns());
	return XDP_TX;
}

SEC("receive") int receive_reply(struct xdp_md *context)
{
	memory_t generator = (memory_t)&arena;
	u8 *start = (u8 *)(long)context->data, *end = (u8 *)(long)context->data_end, *udp = start + HEADERS - UDP_BYTES;

	if (!fits(start, FRAME_BYTES, end))
		return XDP_PASS;
	if (be16(get16(start + 12)) != ETHERTYPE_IPV4 || start[ETHERNET_BYTES + 9] != PROTOCOL_UDP ||
	    be16(get16(udp + 2)) != GENERATOR_PORT)
		return XDP_PASS;
	add64(generator + GENERATOR(replies), 1);
	if (!get16(start + HEADERS + 20))
		add64(generator + GENERATOR(good), 1);
	store64(generator + GENERATOR(last), bpf_ktime_get_ns());
	return XDP_DROP;
}

// At the other end, where there is no program to be measured: a cable of two virtual ends takes frames only while there is one.
SEC("pass") int pass_all(struct xdp_md *context)
{
	return context->data < context->data_end ? XDP_PASS : XDP_ABORTED;
}

SEC("license") char _license[] = "Dual MIT/GPL";
