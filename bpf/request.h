// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// Requests that a program makes itself, for measurements and tests without a driver.
#ifndef TURNPIKE_REQUEST_H
#define TURNPIKE_REQUEST_H

#include "compact.h"
#include "proof.h"

#define REQUEST_AT (ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES)

// The body of every proof: the tip and some words.
#define PROOF_WORDS ((PROOF_BYTES + TIP_BYTES) / 8 + BODY_WORDS)

// Ethernet, IPv4 and UDP from 10.0.0.2 to 10.0.0.1.
INLINE void write_envelope(u8 *start, u16 port, u16 payload)
{
	u8 *ip = start + ETHERNET_BYTES, *udp = ip + IPV4_BYTES;

	put64(start, 0x0002010000000002);
	put32(start + 8, 0x02000000);
	put16(start + 12, be16(ETHERTYPE_IPV4));
	put16(ip, 0x45);
	put16(ip + 2, be16(IPV4_BYTES + UDP_BYTES + payload));
	put32(ip + 4, 0x40 << 16);
	put32(ip + 8, TIME_TO_LIVE | PROTOCOL_UDP << 8);
	put32(ip + 12, 0x0200000a);
	put32(ip + 16, 0x0100000a);
	put16(ip + 10, ~fold_sum(sum64(sum64((u64)get32(ip + 16), get64(ip)), get64(ip + 8))));
	put16(udp, be16(4000));
	put16(udp + 2, be16(port));
	put16(udp + 4, be16(UDP_BYTES + payload));
	put16(udp + 6, 0);
}

INLINE void write_compact(u8 *frame, u32 command, u32 transaction, u32 source, u32 amount)
{
	put32(frame + COMPACT_COMMAND, be32(command));
	put32(frame + COMPACT_TRANSACTION, be32(transaction));
	put32(frame + COMPACT_SOURCE, be32(source));
	put32(frame + COMPACT_DESTINATION, 0);
	put32(frame + COMPACT_AMOUNT, be32(amount));
	put16(frame + COMPACT_STATUS, 0);
}

INLINE void write_proof(u8 *frame, u64 address)
{
#pragma clang loop unroll(disable)
	for (u32 at = 0; at < PROOF_WORDS; at++)
		put64(frame + 8 * at, 0);
	put32(frame, PROOF_REQUEST);
	frame[PROOF_QUERY] = QUERY_LATEST;
	put64(frame + PROOF_KEY, address + 1);
}

#endif
