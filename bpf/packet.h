// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// From an Ethernet frame to its UDP datagram, and back as a reply: packet selector and generator.
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

// Default of most systems (RFC 1700).
#define TIME_TO_LIVE 64

struct packet {
	u8 *start;
	u8 *end;
	u8 *ip;
	// Preceded by at least 40 bytes of headers: of IPv6, or of IPv4 and more.
	u8 *udp;
	u8 *payload;
	// Payload length according to the headers; it may exceed what is in memory.
	u32 length;
	bool ipv6;
	struct address source;
	struct address destination;
	// Sum of the pseudo header, without the length.
	u64 pseudo;
};

// Whether this many bytes are present. The compiler must not reverse the comparison: the verifier recognises
// only this form.
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

// Whether a reply may be sent to a packet's source address. Sources that the host would not answer either, or
// must judge, are passed to it.
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
	// Multicast, and link-local, which is only meaningful on one interface.
	return source->high >> 56 != 0xff && source->high >> 54 != 0xfe80 >> 6;
}

INLINE bool parse_ipv4(struct packet *packet, const u8 *ip)
{
	if (!fits(ip, IPV4_BYTES, packet->end))
		return false;
	// No options, not a fragment (more fragments, or an offset), and UDP.
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
	// No extension headers, which include fragments.
	if (ip[0] >> 4 != 6 || ip[6] != PROTOCOL_UDP)
		return false;
	packet->length = be16(get16(ip + 4)) - UDP_BYTES;
	packet->source = (struct address){ be64(get64(ip + 8)), be64(get64(ip + 16)) };
	packet->destination = (struct address){ be64(get64(ip + 24)), be64(get64(ip + 32)) };
	packet->pseudo = sum64(sum64(sum64(sum64(PROTOCOL_UDP << 8, get64(ip + 8)), get64(ip + 16)), get64(ip + 24)),
			       get64(ip + 32));
	// Mapped addresses do not appear on the wire.
	return !is_mapped(&packet->source) && !is_mapped(&packet->destination);
}

// Finds the datagram in a frame addressed to the node's port. Returns false if the frame must be left to the
// host.
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

	// Merges all paths for the verifier.
	packet->ip = start + widen(state, offset, 32);
	packet->ipv6 = widen(state, type == ETHERTYPE_IPV6, 2);
	packet->length = widen(state, packet->length, 65536);
	packet->udp = packet->ip + widen(state, type == ETHERTYPE_IPV6 ? IPV6_BYTES : IPV4_BYTES, 64);
	packet->payload = packet->udp + UDP_BYTES;
	if (!fits(packet->ip, IPV6_BYTES, packet->end) || !fits(packet->udp, UDP_BYTES, packet->end))
		return false;
	u16 from = be16(get16(packet->udp)), port = load64(state + STATE(port));

	// A source port equal to our own would be another node, and two nodes could be made to answer each other
	// forever.
	return be16(get16(packet->udp + 2)) == port && from != port && from != 0 &&
	       be16(get16(packet->udp + 4)) == packet->length + UDP_BYTES;
}

// Whether the addresses are right, too.
INLINE bool is_addressed(const struct packet *packet, memory_t state)
{
	return may_answer(&packet->source, load64(state + STATE(flags))) && is_own(state, &packet->destination);
}

// Whether a datagram's checksum is right, given the sum of its payload.
INLINE bool checksum_is_right(const struct packet *packet, u64 payload)
{
	u16 checksum = get16(packet->udp + 6);
	u64 pseudo = packet->pseudo + be16(packet->length + UDP_BYTES);

	// Either no checksum was sent, which IPv6 does not allow; or a sender on this machine left it to a device, and
	// the field holds the sum of the pseudo header.
	if (checksum == 0)
		return !packet->ipv6;
	return fold_sum(sum64(pseudo, get64(packet->udp)) + payload) == 0xffff || checksum == fold_sum(pseudo);
}

// Turns the headers of a request into those of its reply, whose payload is already in place, with this length
// and sum. Does not change the length of the frame. Reads nothing that was just written: a load that spans
// several small stores stalls until all earlier ones are done.
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

		// Traffic class and flow label are cleared: those of the request belong to its sender.
		put32(ip, 0x60);
		put16(ip + 4, be16(length + UDP_BYTES));
		ip[7] = TIME_TO_LIVE;
		put64(ip + 8, get64(ip + 24));
		put64(ip + 16, get64(ip + 32));
		put64(ip + 24, high);
		put64(ip + 32, low);
	} else {
		u32 address = get32(ip + 12);

		// No type of service; not to be fragmented, so no identification is needed (RFC 6864).
		ip[1] = 0;
		put16(ip + 2, be16(length + IPV4_BYTES + UDP_BYTES));
		put32(ip + 4, 0x40 << 16);
		ip[8] = TIME_TO_LIVE;
		// The pseudo header already includes the protocol and the addresses.
		put16(ip + 10, ~fold_sum(packet->pseudo + 0x45 + be16(length + IPV4_BYTES + UDP_BYTES) + 0x40 + TIME_TO_LIVE));
		put32(ip + 12, get32(ip + 16));
		put32(ip + 16, address);
	}

	u16 from = get16(udp), to = get16(udp + 2);
	// The length counts twice, as the pseudo header includes it, too.
	u16 checksum = ~fold_sum(packet->pseudo + from + to + 2 * (u64)be16(length + UDP_BYTES) + payload);

	put16(udp, to);
	put16(udp + 2, from);
	put16(udp + 4, be16(length + UDP_BYTES));
	// A sum of zero is sent as all ones: zero means no checksum (RFC 768).
	put16(udp + 6, checksum ? checksum : 0xffff);
}

#endif
