// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// From an Ethernet frame to the UDP datagram in it, and back as a reply: selector and generator of packets.
#ifndef TURNPIKE_PACKET_H
#define TURNPIKE_PACKET_H

#include "checksum.h"
#include "state.h"

#define ETHERNET_BYTES 14
#define VLAN_BYTES 4
#define VLAN_TAGS 2
#define IPV4_BYTES 20
#define IPV6_BYTES 40
#define UDP_BYTES 8

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd
#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_SERVICE_VLAN 0x88a8

#define PROTOCOL_UDP 17

// What systems send by default (RFC 1700).
#define TIME_TO_LIVE 64

struct packet {
	u8 *start;
	u8 *end;
	u8 *ip;
	// Behind 40 bytes of headers at least are there, of IPv6 or of IPv4 and more.
	u8 *udp;
	u8 *payload;
	// Bytes of payload that the headers tell of; not all need to be in memory.
	u32 length;
	bool ipv6;
	struct address source;
	struct address destination;
	// Sum of the pseudo header but for the length.
	u64 pseudo;
};

// Whether so many bytes are there. The compiler must not turn the comparison round: the verifier knows this form alone.
INLINE bool fits(const u8 *cursor, u32 bytes, const u8 *end)
{
	const u8 *after = cursor + bytes;

	asm volatile("" : "+r"(after));
	return after <= end;
}

INLINE bool is_mapped(const struct address *address)
{
	return address->high == 0 && address->low >> 32 == 0xffff;
}

// Whether a reply may be sent to where a packet says it came from. What the host would not answer either, or knows
// better, is passed to it.
INLINE bool may_answer(const struct address *source, u64 flags)
{
	if (is_mapped(source)) {
		u8 first = source->low >> 24;

		if (first == 0 || first >= 224)
			return false;
		return first != 127 || (flags & STATE_LOOPBACK);
	}
	if (source->high == 0 && source->low <= 1)
		return source->low == 1 && (flags & STATE_LOOPBACK);
	// Multicast, and link-local, which means something on one interface only.
	return source->high >> 56 != 0xff && source->high >> 54 != 0xfe80 >> 6;
}

INLINE bool parse_ipv4(struct packet *packet, const u8 *ip)
{
	if (!fits(ip, IPV4_BYTES, packet->end))
		return false;
	// No options, not a fragment (more of them, or an offset), and UDP.
	if (ip[0] != 0x45 || (be16(get16(ip + 6)) & 0x3fff) || ip[9] != PROTOCOL_UDP)
		return false;
	u64 sum = sum64(sum64((u64)get32(ip + 16), get64(ip)), get64(ip + 8));

	if (fold_sum(sum) != 0xffff)
		return false;
	packet->length = be16(get16(ip + 2)) - IPV4_BYTES - UDP_BYTES;
	packet->source = (struct address){ 0, 0xffff00000000ull | be32(get32(ip + 12)) };
	packet->destination = (struct address){ 0, 0xffff00000000ull | be32(get32(ip + 16)) };
	packet->pseudo = sum64(PROTOCOL_UDP << 8, get64(ip + 12));
	return true;
}

INLINE bool parse_ipv6(struct packet *packet, const u8 *ip)
{
	if (!fits(ip, IPV6_BYTES, packet->end))
		return false;
	// No extension headers, of which fragments are one.
	if (ip[0] >> 4 != 6 || ip[6] != PROTOCOL_UDP)
		return false;
	packet->length = be16(get16(ip + 4)) - UDP_BYTES;
	packet->source = (struct address){ be64(get64(ip + 8)), be64(get64(ip + 16)) };
	packet->destination = (struct address){ be64(get64(ip + 24)), be64(get64(ip + 32)) };
	packet->pseudo = sum64(sum64(sum64(sum64(PROTOCOL_UDP << 8, get64(ip + 8)), get64(ip + 16)), get64(ip + 24)),
			       get64(ip + 32));
	// Mapped addresses are not seen on a wire.
	return !is_mapped(&packet->source) && !is_mapped(&packet->destination);
}

// Finds the datagram in a frame that is for the node, as its ports tell. False where the frame is the host's business.
INLINE bool parse(struct packet *packet, memory_t state)
{
	u8 *start = packet->start;

	if (!fits(start, ETHERNET_BYTES, packet->end))
		return false;
	if ((get32(start) | (u64)get16(start + 4) << 32) != load64(state + STATE(mac)))
		return false;
	u16 type = be16(get16(start + 12));
	u32 offset = ETHERNET_BYTES;

#pragma clang loop unroll(full)
	for (u32 tag = 0; tag < VLAN_TAGS; tag++) {
		if (type != ETHERTYPE_VLAN && type != ETHERTYPE_SERVICE_VLAN)
			break;
		if (!fits(start + offset, VLAN_BYTES, packet->end))
			return false;
		type = be16(get16(start + offset + 2));
		offset += VLAN_BYTES;
	}
	if (type == ETHERTYPE_IPV4 ? !parse_ipv4(packet, start + offset) :
				     type != ETHERTYPE_IPV6 || !parse_ipv6(packet, start + offset))
		return false;

	// From here on all paths are one.
	packet->ip = start + widen(state, offset, 32);
	packet->ipv6 = widen(state, type == ETHERTYPE_IPV6, 2);
	packet->length = widen(state, packet->length, 65536);
	packet->udp = packet->ip + widen(state, type == ETHERTYPE_IPV6 ? IPV6_BYTES : IPV4_BYTES, 64);
	packet->payload = packet->udp + UDP_BYTES;
	if (!fits(packet->ip, IPV6_BYTES, packet->end) || !fits(packet->udp, UDP_BYTES, packet->end))
		return false;
	u16 from = be16(get16(packet->udp)), port = load64(state + STATE(port));

	// From its own port another node would speak, and two nodes could be made to answer each other for ever.
	return be16(get16(packet->udp + 2)) == port && from != port && from != 0 &&
	       be16(get16(packet->udp + 4)) == packet->length + UDP_BYTES;
}

// Whether it is for the node by its addresses, too.
INLINE bool is_addressed(const struct packet *packet, memory_t state)
{
	return may_answer(&packet->source, load64(state + STATE(flags))) && is_own(state, &packet->destination);
}

// Whether the checksum of a datagram is right, given the sum of its payload.
INLINE bool checksum_is_right(const struct packet *packet, u64 payload)
{
	u16 checksum = get16(packet->udp + 6);
	u64 pseudo = packet->pseudo + be16(packet->length + UDP_BYTES);

	// None was sent, which IPv6 does not allow; or none was computed, because the sender is on this very machine and
	// left it to a device: there is the sum of the pseudo header then.
	if (checksum == 0)
		return !packet->ipv6;
	return fold_sum(sum64(pseudo, get64(packet->udp)) + payload) == 0xffff || checksum == fold_sum(pseudo);
}

// Makes the headers of a request those of its reply, whose payload is there already and has this length and sum. The
// length of the frame is left as it is. Nothing that has been written is read again: to gather small stores into a larger load
// the processor waits until all that comes before them is done.
INLINE void turn_around(struct packet *packet, u32 length, u64 payload)
{
	u8 *start = packet->start, *ip = packet->ip, *udp = packet->udp;
	u32 mac = get32(start);
	u16 mac_rest = get16(start + 4);

	put32(start, get32(start + 6));
	put16(start + 4, get16(start + 10));
	put32(start + 6, mac);
	put16(start + 10, mac_rest);

	if (packet->ipv6) {
		u64 high = get64(ip + 8), low = get64(ip + 16);

		// No traffic class and no flow label: those of the request are its sender's.
		put32(ip, 0x60);
		put16(ip + 4, be16(length + UDP_BYTES));
		ip[7] = TIME_TO_LIVE;
		put64(ip + 8, get64(ip + 24));
		put64(ip + 16, get64(ip + 32));
		put64(ip + 24, high);
		put64(ip + 32, low);
	} else {
		u32 address = get32(ip + 12);

		// No type of service, not to be fragmented, which makes an identification needless (RFC 6864).
		ip[1] = 0;
		put16(ip + 2, be16(length + IPV4_BYTES + UDP_BYTES));
		put32(ip + 4, 0x40 << 16);
		ip[8] = TIME_TO_LIVE;
		// The pseudo header has the protocol and the addresses already.
		put16(ip + 10, ~fold_sum(packet->pseudo + 0x45 + be16(length + IPV4_BYTES + UDP_BYTES) + 0x40 + TIME_TO_LIVE));
		put32(ip + 12, get32(ip + 16));
		put32(ip + 16, address);
	}

	u16 from = get16(udp), to = get16(udp + 2);
	// Twice the length: the pseudo header has it, too.
	u16 checksum = ~fold_sum(packet->pseudo + from + to + 2 * (u64)be16(length + UDP_BYTES) + payload);

	put16(udp, to);
	put16(udp + 2, from);
	put16(udp + 4, be16(length + UDP_BYTES));
	// A sum of zero is sent as its other representation: zero means that there is none (RFC 768).
	put16(udp + 6, checksum ? checksum : 0xffff);
}

#endif
