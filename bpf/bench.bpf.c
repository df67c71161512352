// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// The XDP program with a request generator in front, for measurements: each run requests the next of many
// accounts, or a proof of its latest transaction. `BPF_PROG_TEST_RUN` then measures the rate of lookups on one
// processor, without a driver.
#include "turnpike.bpf.c"

#include "request.h"

SEC("bench") int refer_next(struct xdp_md *context)
{
	u8 *start = (u8 *)(long)context->data, *end = (u8 *)(long)context->data_end;
	u8 *frame = start + ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES;
	memory_t state = (memory_t)&arena;

	if (!fits(start, ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES + COMPACT_BYTES, end))
		return XDP_ABORTED;
	// Turns a reply back into a request: swaps the addresses again, and clears amount and status.
	struct packet packet = { .start = start, .end = end, .ip = start + ETHERNET_BYTES };

	if (be16(get16(start + ETHERNET_BYTES + IPV4_BYTES + 2)) != (u16)load64(state + STATE(port))) {
		packet.udp = packet.ip + IPV4_BYTES;
		packet.payload = frame;
		packet.pseudo = sum64(PROTOCOL_UDP << 8, get64(packet.ip + 12));
		put32(frame + COMPACT_AMOUNT, 0);
		put16(frame + COMPACT_STATUS, 0);
	} else {
		packet.udp = 0;
	}
	// Accounts in an order that no cache predicts (the constants of Numerical Recipes), out of bench_accounts.
	u32 transaction = get32(frame + COMPACT_TRANSACTION) * 1664525 + 1013904223, accounts = load64(state + STATE(bench_accounts));

	put32(frame + COMPACT_TRANSACTION, transaction);
	put32(frame + COMPACT_SOURCE, be32(1 + (u32)(((u64)transaction * accounts) >> 32)));
	if (packet.udp)
		turn_around(&packet, COMPACT_BYTES, compact_sum(frame));
	else
		put16(start + ETHERNET_BYTES + IPV4_BYTES + 6, 0);
	return serve(context);
}

SEC("prove") int prove_next(struct xdp_md *context)
{
	u8 *start = (u8 *)(long)context->data, *frame = start + REQUEST_AT;
	memory_t state = (memory_t)&arena;

	if (!fits(start, REQUEST_AT + 8 * PROOF_WORDS, (u8 *)(long)context->data_end))
		return XDP_ABORTED;
	// The request's number is the seed of the next one.
	u32 number = get32(frame + HEADER_ID) * 1664525 + 1013904223, accounts = load64(state + STATE(bench_accounts));

	write_envelope(start, load64(state + STATE(port)), 8 * PROOF_WORDS);
	write_proof(frame, ((u64)number * accounts) >> 32);
	put32(frame + HEADER_ID, number);
	return serve(context);
}
