// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// The first page of the arena: where everything is, and whom the tier answers. Twin of crates/xdp/src/state.rs.
#ifndef TURNPIKE_STATE_H
#define TURNPIKE_STATE_H

#include "memory.h"

#define MAX_ADDRESSES 16
#define MAX_PREFIXES 64

// Frames that ask for no promise are answered at `durable`.
#define STATE_DURABLE 1
// Who is not trusted is rate-limited, which is for the host.
#define STATE_RATE_LIMITED 2
// The interface is the loopback: addresses of the host itself come from there.
#define STATE_LOOPBACK 4
// What is not answered goes to a socket of the node's (AF_XDP) instead of the host's network stack.
#define STATE_REDIRECT 8

// Addresses are two big-endian words; those of IPv4 are mapped into IPv6.
struct address {
	u64 high;
	u64 low;
};

struct prefix {
	struct address network;
	struct address mask;
};

struct state {
	u64 flags;
	// Offsets in the arena; 0 where there is none.
	u64 accounts_at;
	u64 window_at;
	u64 index_at;
	u64 ring_at;
	u64 proofs_at;
	u64 values_at;
	// Lines of the value store: behind their heads the lines begin.
	u64 value_lines;
	u64 tips_at;
	u64 port;
	// The interface's address, in the lower 48 bits, first byte lowest.
	u64 mac;
	u64 addresses;
	u64 prefixes;
	// Always zero, which nobody knows (see `forget`).
	u64 zero;
	// Of how many accounts measurements ask.
	u64 bench_accounts;
	// The store of the in-NIC ledger, where that is what runs.
	u64 ledger_at;
	// No operation beyond this sequence has changed anything that can be read here.
	u64 announced;
	u64 reserved_announced[7];
	// All operations up to this sequence are in the journal, synced.
	u64 durable;
	u64 reserved_durable[7];
	struct address address[MAX_ADDRESSES];
	struct prefix prefix[MAX_PREFIXES];
};
_Static_assert(sizeof(struct state) == 2560, "as in state.rs, and within a page");

#define STATE(field) __builtin_offsetof(struct state, field)

// A number below a power of two, of which the verifier is to know no more than that. It follows every path that a program
// may take for as long as two of them differ in anything that it knows, so those that are to be looked at as one have to be
// made to look the same.
INLINE u32 forget(memory_t state, u32 number, u32 limit)
{
	return (number + load64(state + STATE(zero))) & (limit - 1);
}

// Whether an answer that depends on what has been read just now may be given.
INLINE bool may_be_told(memory_t state)
{
	if (!(load64(state + STATE(flags)) & STATE_DURABLE))
		return true;
	// In this order: the writer announces before it changes anything.
	read_barrier();
	u64 announced = load64(state + STATE(announced));

	read_barrier();
	return load64(state + STATE(durable)) >= announced;
}

INLINE bool is_own(memory_t state, const struct address *address)
{
	u64 count = load64(state + STATE(addresses));

	for (u32 at = 0; at < MAX_ADDRESSES && at < count; at++) {
		memory_t own = state + STATE(address) + at * sizeof(struct address);

		if (address->high == load64(own) && address->low == load64(own + 8))
			return true;
	}
	return false;
}

INLINE bool is_trusted(memory_t state, const struct address *address)
{
	u64 count = load64(state + STATE(prefixes));

	for (u32 at = 0; at < MAX_PREFIXES && at < count; at++) {
		memory_t prefix = state + STATE(prefix) + at * sizeof(struct prefix);

		if ((address->high & load64(prefix + 16)) == load64(prefix) &&
		    (address->low & load64(prefix + 24)) == load64(prefix + 8))
			return true;
	}
	return false;
}

#endif
