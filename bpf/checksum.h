// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// The Internet checksum (RFC 1071), in the byte order of the machine, which its sum does not depend on.
#ifndef TURNPIKE_CHECKSUM_H
#define TURNPIKE_CHECKSUM_H

#include "memory.h"

// Adds 8 bytes to a sum.
INLINE u64 sum64(u64 sum, u64 bytes)
{
	return sum + (u32)bytes + (bytes >> 32);
}

// The sum in 16 bits, of less than 2^48: that of 64 KiB and more.
INLINE u16 fold_sum(u64 sum)
{
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

#endif
