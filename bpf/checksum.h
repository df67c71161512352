// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// The Internet checksum (RFC 1071), in machine byte order, on which the sum does not depend.
#ifndef TURNPIKE_CHECKSUM_H
#define TURNPIKE_CHECKSUM_H

#include "memory.h"

// Adds 8 bytes to a sum.
INLINE u64 sum64(u64 sum, u64 bytes)
{
	return sum + (u32)bytes + (bytes >> 32);
}

// Folds a sum below 2^48 into 16 bits: enough for more than 64 KiB.
INLINE u16 fold_sum(u64 sum)
{
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

#endif
