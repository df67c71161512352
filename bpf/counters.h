// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// What the tier counts. Twin of `Counter` in crates/xdp/src/counters.rs.
#ifndef TURNPIKE_COUNTERS_H
#define TURNPIKE_COUNTERS_H

enum counter {
	// Answered here.
	COUNT_REFER,
	COUNT_RETRY,
	COUNT_PROOF,
	// Datagrams for the node that the host answers: of another kind, from who is not trusted, or not known here.
	COUNT_HOST,
	// As these, because there was something that is not durable yet.
	COUNT_NOT_DURABLE,
	// As these, because the writer was at work just there.
	COUNT_CONTENDED,
	// As these, because the checksum was wrong: the host drops them.
	COUNT_CHECKSUM,
	// Replies lost because the frame could not be shortened.
	COUNT_LOST,
	COUNTERS,
};

#endif
