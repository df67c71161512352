// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// In-kernel generator of compact frames and proof frames, for measurements. The kernel runs `generate`
// repeatedly and sends each frame through the interface (`BPF_PROG_TEST_RUN` with live frames); `receive`, on
// the same interface, takes the replies. Both use the same clock, and neither needs a system call per frame.
#include <linux/bpf.h>

#include "compact.h"
#include "proof.h"
#include "request.h"

#define SEC(name) __attribute__((section(name), used))

// Source port of requests.
#define GENERATOR_PORT 4000

#define HEADERS (ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES)
#define FRAME_BYTES (HEADERS + COMPACT_BYTES)
#define PROOF_FRAME_BYTES (HEADERS + 8 * PROOF_WORDS)

// Amounts of a TRANSFER (to the next account) and of an ISSUE.
#define AMOUNT 1
#define PLENTY 1000000

#define GENERATOR(field) __builtin_offsetof(struct generator, field)
#define TALLY(field) __builtin_offsetof(struct tally, field)

// Number of replies that are timed individually; after these, every sixteenth is. Reading the clock takes about
// 30 ns in a virtual machine, as long as all other work on a reply, so the error in a run's duration is at most
// 0.2 percent.
#define TIMED 10000
#define RARELY 16

// The arena; the loader fills in its address.
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

// Increments a counter that only this processor writes. Returns its previous value.
INLINE u64 count(memory_t at)
{
	u64 value = load64(at);

	store64(at, value + 1);
	return value;
}

INLINE memory_t tally_of(u32 processor)
{
	memory_t generator = (memory_t)&arena;

	return generator + load64(generator + GENERATOR(tallies_at)) + processor * sizeof(struct tally);
}

// The next request: a transaction id, and its account, numbered from 0.
struct next {
	u32 transaction;
	u32 account;
};

// Writes the headers, and returns what to put after them. The frame's previous user may have overwritten all of
// it.
INLINE struct next next_request(u8 *start)
{
	memory_t generator = (memory_t)&arena;

#pragma clang loop unroll(full)
	for (u32 at = 0; at < HEADERS / 8; at++)
		put64(start + 8 * at, load64(generator + 8 * at));
	put16(start + HEADERS - 2, load64(generator + 8 * (HEADERS / 8)));

	u32 processor = bpf_get_smp_processor_id(), accounts = load64(generator + GENERATOR(accounts));
	struct next next = { .transaction = load64(generator + GENERATOR(transactions)) };
	memory_t tally = tally_of(processor);
	u64 made = count(tally + TALLY(made));

	if (load64(generator + GENERATOR(any))) {
		// Distinct on each processor.
		next.transaction += made * (u32)load64(generator + GENERATOR(processors)) + processor;
		// The constants of Numerical Recipes: an order that no cache predicts.
		u32 spread = (next.transaction * 1664525 + 1013904223) * 1664525 + 1013904223;

		next.account = ((u64)spread * accounts) >> 32;
	} else {
		u32 number = add64(generator + GENERATOR(ordered), 1);

		next.transaction += number;
		next.account = number % (accounts ? accounts : 1);
	}
	if (made == 0)
		store64(tally + TALLY(first), bpf_ktime_get_ns());
	return next;
}

SEC("generate") int generate_request(struct xdp_md *context)
{
	memory_t generator = (memory_t)&arena;
	u8 *start = (u8 *)(long)context->data, *end = (u8 *)(long)context->data_end, *frame = start + HEADERS;
	u32 command = load64(generator + GENERATOR(command));

	if (!fits(start, FRAME_BYTES, end))
		return XDP_ABORTED;
	struct next next = next_request(start);

	if (command == GENERATE_PROOF) {
		if (!fits(start, PROOF_FRAME_BYTES, end))
			return XDP_ABORTED;
		write_proof(frame, next.account);
		put32(frame + HEADER_ID, be32(next.transaction));
		return XDP_TX;
	}
	u32 account = load64(generator + GENERATOR(lowest)) + next.account;
	bool transfers = command == COMMAND_TRANSFER;

	write_compact(frame, command, next.transaction, account, transfers ? AMOUNT : command == COMMAND_ISSUE ? PLENTY : 0);
	put32(frame + COMPACT_DESTINATION, transfers ? be32(account + 1) : 0);
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

	u64 before = count(tally + TALLY(replies));
	u32 status_at = HEADERS + (get32(start + HEADERS) == PROOF_REPLY ? 10 : 20);

	if (!get16(start + status_at))
		count(tally + TALLY(good));
	if (before < TIMED || before % RARELY == 0)
		store64(tally + TALLY(last), bpf_ktime_get_ns());
	return XDP_DROP;
}

// For the other end, if no program is measured there: a veth pair delivers frames only if a program is
// attached.
SEC("pass") int pass_all(struct xdp_md *context)
{
	return context->data < context->data_end ? XDP_PASS : XDP_ABORTED;
}

// For the other end: returns a request as if it were its reply, with no work done. This measures the cost of
// generator and cable.
SEC("reflect") int reflect_request(struct xdp_md *context)
{
	u8 *start = (u8 *)(long)context->data, *end = (u8 *)(long)context->data_end;
	u8 *ip = start + ETHERNET_BYTES, *udp = ip + IPV4_BYTES;

	if (!fits(start, FRAME_BYTES, end))
		return XDP_PASS;
	if (be16(get16(start + 12)) != ETHERTYPE_IPV4 || ip[9] != PROTOCOL_UDP || be16(get16(udp)) != GENERATOR_PORT)
		return XDP_PASS;
	u32 mac = get32(start), address = get32(ip + 12);
	u16 mac_rest = get16(start + 4), port = get16(udp);

	put32(start, get32(start + 6));
	put16(start + 4, get16(start + 10));
	put32(start + 6, mac);
	put16(start + 10, mac_rest);
	put32(ip + 12, get32(ip + 16));
	put32(ip + 16, address);
	put16(udp, get16(udp + 2));
	put16(udp + 2, port);
	return XDP_TX;
}

SEC("license") char _license[] = "Dual MIT/GPL";
