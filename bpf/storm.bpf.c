// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// The XDP program between a request generator and a reply checker, for crates/xdp/tests/storm.rs: each run
// requests something that a writer is changing at the same time, and checks every byte of the answer, so
// millions of reads per second are checked in place. The writer publishes what it has done, and what it is
// about to do, in a page of the arena.
#include "turnpike.bpf.c"

#include "request.h"
#include "storm_layout.h"

// The page after the state: the test's first allocation.
#define STORM_AT 4096

enum kind { BALANCE, ADDED, RETRY, PROOF };
_Static_assert(PROOF + 1 == KINDS, "as many as are counted");

#define STORM(field) (STORM_AT + __builtin_offsetof(struct storm, field))

// The words of a block's hash, and of a body after its tip, are derived from their parameters.
#define TIP_WORD(height, at) ((height) * 0x9e3779b97f4a7c15ull + (at))
#define BODY_WORD(latest, address, at) ((latest) * 0xbf58476d1ce4e5b9ull + (address) * 0x94d049bb133111ebull + (at))

INLINE void add(memory_t at, u64 more)
{
	*(volatile u64 SHARED *)at = load64(at) + more;
}

// Whether a reply's checksums are right for its bytes.
INLINE bool reply_sum_is_right(u8 *start, u64 payload, u16 length)
{
	u8 *ip = start + ETHERNET_BYTES, *udp = ip + IPV4_BYTES;
	u64 sum = sum64((u64)(PROTOCOL_UDP << 8) + be16(UDP_BYTES + length) + payload, get64(ip + 12));

	return get16(udp + 6) && fold_sum(sum64(sum, get64(udp))) == 0xffff &&
	       fold_sum(sum64(sum64((u64)get32(ip + 16), get64(ip)), get64(ip + 8))) == 0xffff;
}

INLINE bool compact_is_right(u8 *start, u64 least, u64 most)
{
	u8 *frame = start + REQUEST_AT;
	u32 value = be32(get32(frame + COMPACT_AMOUNT));

	return get16(frame + COMPACT_STATUS) == 0 && least <= value && value <= most &&
	       reply_sum_is_right(start, compact_sum(frame), COMPACT_BYTES);
}

INLINE bool proof_is_right(u8 *start, u64 address, u64 least, u64 most)
{
	u8 *frame = start + REQUEST_AT;
	u64 height = be64(get64(frame + PROOF_REPLY_TIP_HEIGHT)), sum = 0, difference = 0;
	// Block `height` touches the addresses that are congruent to it modulo 8.
	u64 latest = height - ((height - address) & 7);

#pragma clang loop unroll(disable)
	for (u32 at = 0; at < 4; at++)
		difference |= get64(frame + PROOF_BYTES + 8 * at) ^ TIP_WORD(height, at);
#pragma clang loop unroll(disable)
	for (u32 at = 0; at < BODY_WORDS; at++)
		difference |= get64(frame + PROOF_BYTES + TIP_BYTES + 8 * at) ^ BODY_WORD(latest, address, at);
#pragma clang loop unroll(disable)
	for (u32 at = 0; at < PROOF_WORDS; at++)
		sum = sum64(sum, get64(frame + 8 * at));
	return !difference && least <= height && height <= most && get32(frame) == PROOF_REPLY &&
	       be32(get32(frame + PROOF_BODY_LENGTH)) == TIP_BYTES + 8 * BODY_WORDS && get64(frame + PROOF_KEY) == address + 1 &&
	       reply_sum_is_right(start, sum, 8 * PROOF_WORDS);
}

INLINE u32 account_of(memory_t state)
{
	return widen(state, load64(state + STORM(turn)) / KINDS, BUSY);
}

INLINE u32 address_of(memory_t state)
{
	return widen(state, load64(state + STORM(turn)) / KINDS, ADDRESSES);
}

// Writes the next request. Returns false if there is no room.
INLINE bool ask(struct xdp_md *context, memory_t state)
{
	u8 *start = (u8 *)(long)context->data, *frame = start + REQUEST_AT;

	if (!fits(start, REQUEST_AT + 8 * PROOF_WORDS, (u8 *)(long)context->data_end))
		return false;
	add(state + STORM(turn), 1);
	u64 turn = load64(state + STORM(turn)), added = load64(state + STORM(added));
	u32 kind = widen(state, turn, KINDS), account = account_of(state);
	u64 least = load64(state + STORM(done) + 8 * account);

	// Until there is something of that kind.
	if ((kind == ADDED && !added) || (kind == RETRY && !least))
		kind = BALANCE;
	write_envelope(start, load64(state + STATE(port)), kind == PROOF ? 8 * PROOF_WORDS : COMPACT_BYTES);
	if (kind == PROOF) {
		least = load64(state + STORM(announced));
		write_proof(frame, address_of(state));
	} else if (kind == RETRY) {
		write_compact(frame, COMMAND_ISSUE, ISSUES + least, 1 + account, 1);
	} else if (kind == ADDED) {
		write_compact(frame, COMMAND_REFER, turn, 1 + BUSY + (u32)(turn * 2654435761u) % (u32)added, 0);
	} else {
		write_compact(frame, COMMAND_REFER, turn, 1 + account, 0);
	}
	*(volatile u64 SHARED *)(state + STORM(kind)) = kind;
	*(volatile u64 SHARED *)(state + STORM(least)) = least;
	return true;
}

// Whether the request has become an answer that was true at some moment since it was made.
INLINE bool is_right(struct xdp_md *context, memory_t state, u32 kind)
{
	u8 *start = (u8 *)(long)context->data;
	u64 least = load64(state + STORM(least));

	if (!fits(start, REQUEST_AT + 8 * PROOF_WORDS, (u8 *)(long)context->data_end))
		return false;
	switch (kind) {
	case PROOF:
		return proof_is_right(start, address_of(state), least, load64(state + STORM(announcing)));
	case RETRY:
		return compact_is_right(start, least, least);
	case ADDED:
		return compact_is_right(start, 0, 0);
	default:
		return compact_is_right(start, least, load64(state + STORM(begun) + 8 * account_of(state)));
	}
}

SEC("storm") int read_and_check(struct xdp_md *context)
{
	memory_t state = (memory_t)&arena;

	if (!ask(context, state))
		return XDP_ABORTED;
	int verdict = serve(context);

	if (verdict == XDP_PASS) {
		add(state + STORM(left), 1);
		return XDP_PASS;
	}
	read_barrier();
	u32 kind = widen(state, load64(state + STORM(kind)), KINDS);
	bool right = verdict == XDP_TX && is_right(context, state, kind);

	add(state + (right ? STORM(right) : STORM(wrong)) + 8 * kind, 1);
	return verdict;
}
