// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// What lies in memory that user space shares. Made by schema/generate.py of schema/layouts.toml; change that.
#ifndef TURNPIKE_STORM_LAYOUT_H
#define TURNPIKE_STORM_LAYOUT_H

#include "memory.h"

// Accounts that the writer pays into continuously.
#define BUSY 16

// Kinds of requests: balances, new accounts, retries, proofs.
#define KINDS 4

// Addresses with proofs. Each block touches an eighth of them.
#define ADDRESSES 64

// An account's n-th ISSUE has this transaction id plus n, so that a retry reveals the balance at that time.
#define ISSUES 0x5f5e100u

// Shared state of the program and the writer of the test.
struct storm {
	// Number of the run.
	u64 turn;
	// Accounts added after the busy ones.
	u64 added;
	// Height of the last announced block.
	u64 announced;
	// Height of the block that is being announced, or was last.
	u64 announcing;
	// Right replies of each kind.
	u64 right[KINDS];
	// Wrong replies of each kind.
	u64 wrong[KINDS];
	// Requests left to the host.
	u64 left;
	// Kind of this run: kept here because the program needs all of its stack.
	u64 kind;
	// Minimum balance of an account in this run.
	u64 least;
	// The rest of the cache line.
	u64 reserved;
	// Minimum balance of each account.
	u64 done[BUSY];
	// Maximum balance of each account.
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
