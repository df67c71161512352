// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// What lies in memory that user space shares. Made by schema/generate.py of schema/layouts.toml; change that.
#ifndef TURNPIKE_STORM_LAYOUT_H
#define TURNPIKE_STORM_LAYOUT_H

#include "memory.h"

// Accounts that the writer pays into all the time.
#define BUSY 16

// Kinds of requests: balances, new accounts, retries, proofs.
#define KINDS 4

// Addresses that there are proofs of. Each block touches an eighth of them.
#define ADDRESSES 64

// An account's n-th ISSUE has this transaction id and n, so that a retry tells what the balance was.
#define ISSUES 0x5f5e100u

// What the program and the writer of the test tell each other.
struct storm {
	// Number of the run.
	u64 turn;
	// Accounts that were added behind the busy ones.
	u64 added;
	// Height of the last block that was announced.
	u64 announced;
	// Height of the one that is or was being announced.
	u64 announcing;
	// Of answers of each kind, those that are right.
	u64 right[KINDS];
	// Of answers of each kind, those that are not.
	u64 wrong[KINDS];
	// Requests left to the host.
	u64 left;
	// Of this run: kept here while the program runs, which needs all of its stack itself.
	u64 kind;
	// Of this run: what an account holds at least.
	u64 least;
	// The rest of the cache line.
	u64 reserved;
	// How much each account holds at least.
	u64 done[BUSY];
	// How much each account holds at most.
	u64 begun[BUSY];
};
_Static_assert(__builtin_offsetof(struct storm, turn) == 0, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct storm, added) == 8, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct storm, announced) == 16, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct storm, announcing) == 24, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct storm, right) == 32, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct storm, wrong) == 64, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct storm, left) == 96, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct storm, kind) == 104, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct storm, least) == 112, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct storm, reserved) == 120, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct storm, done) == 128, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct storm, begun) == 256, "schema/layouts.toml");
_Static_assert(sizeof(struct storm) == 384, "schema/layouts.toml");

#endif
