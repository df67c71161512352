// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// The in-NIC ledger with a request generator in front, for measurements: each run transfers between two of many
// accounts, with a new transaction id. `BPF_PROG_TEST_RUN` then measures the rate of transfers on one
// processor, without a driver.
#include "ledger.bpf.c"

#include "request.h"

SEC("bench") int transfer_next(struct xdp_md *context)
{
	u8 *start = (u8 *)(long)context->data, *frame = start + REQUEST_AT;
	memory_t state = (memory_t)&arena;

	if (!fits(start, REQUEST_AT + COMPACT_BYTES, (u8 *)(long)context->data_end))
		return XDP_ABORTED;
	// Accounts in an order that no cache predicts (the constants of Numerical Recipes), out of bench_accounts; ids
	// do not repeat.
	u32 transaction = be32(get32(frame + COMPACT_TRANSACTION)) * 1664525 + 1013904223, accounts = load64(state + STATE(bench_accounts));
	u32 other = transaction * 0x9e3779b1u;
	u32 source = 1 + (u32)(((u64)transaction * accounts) >> 32), destination = 1 + (u32)(((u64)other * accounts) >> 32);

	write_envelope(start, load64(state + STATE(port)), COMPACT_BYTES);
	write_compact(frame, COMMAND_TRANSFER, transaction, source, 1);
	put32(frame + COMPACT_DESTINATION, be32(destination != source ? destination : accounts + 1));
	return serve(context);
}
