// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// The key-value store's program with a generator of gets in front, for measurements: each run requests one of
// many keys. `BPF_PROG_TEST_RUN` then measures the cost of a get on one processor, without a driver.
#include "kv.bpf.c"

#include "request.h"

// Four characters that encode the number, and a fixed rest: as long as the mean key of bench/kv.
#define KEY_BYTES 92
#define REQUEST_BYTES (KV_KEY_AT + KEY_BYTES + 2)
#define FRAME_BYTES (REQUEST_AT + REQUEST_BYTES)

// Six bits of a number as a character, from '0' on.
#define CHARACTER(number, at) (('0' + ((number) >> 6 * (at) & 63)) << 8 * (at))

INLINE void write_get(u8 *payload, u32 number)
{
	put32(payload, 0);
	put32(payload + 4, be16(1));
	put32(payload + 8, 'g' | 'e' << 8 | 't' << 16 | ' ' << 24);
	put32(payload + KV_KEY_AT, CHARACTER(number, 0) | CHARACTER(number, 1) | CHARACTER(number, 2) | CHARACTER(number, 3));
#pragma clang loop unroll(full)
	for (u32 at = 4; at < KEY_BYTES; at += 8)
		put64(payload + KV_KEY_AT + at, 'k' * KV_ONES);
	put16(payload + KV_KEY_AT + KEY_BYTES, '\r' | '\n' << 8);
}
_Static_assert((KEY_BYTES - 4) % 8 == 0, "whole words are written");

SEC("bench") int get_next(struct xdp_md *context)
{
	memory_t state = (memory_t)&arena;
	// The reply of the previous run was longer.
	int less = FRAME_BYTES - (int)(context->data_end - context->data);

	if (less && bpf_xdp_adjust_tail(context, less))
		return XDP_ABORTED;
	u8 *start = (u8 *)(long)context->data;

	if (!fits(start, FRAME_BYTES, (u8 *)(long)context->data_end))
		return XDP_ABORTED;
	u64 turn = load64(state + STATE(bench_turn)) + 1;

	*(volatile u64 SHARED *)(state + STATE(bench_turn)) = turn;
	// Keys in an order that no cache predicts (2^32 divided by the golden ratio).
	write_get(start + REQUEST_AT, ((u64)((u32)turn * 2654435761u) * load64(state + STATE(bench_accounts))) >> 32);
	write_envelope(start, load64(state + STATE(port)), REQUEST_BYTES);
	return serve(context);
}
