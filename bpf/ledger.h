// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// The in-NIC ledger: accounts, and what is remembered of the last operations, in a store of its own that the program
// changes itself. The same commands and statuses as those of crates/ledger; ids and amounts have the 32 bits of compact frames.
//
// The store is divided into stripes. Who changes an account holds the lock of its stripe; both locks of a transfer are
// taken by the caller, the one of the lower stripe first. Balances may be read without one: accounts are only ever added, and
// a balance changes in one store.
#ifndef TURNPIKE_LEDGER_H
#define TURNPIKE_LEDGER_H

#include "retries.h"

#define LEDGER(field) __builtin_offsetof(struct ledger_header, field)
#define ACCOUNTS(field) __builtin_offsetof(struct account_bucket, field)

// Adds to a counter that others add to. Gives what it was.
INLINE u64 add64(memory_t at, u64 value)
{
	return __sync_fetch_and_add((u64 SHARED *)at, value);
}

// Where an account is, or would be.
struct account {
	enum found found;
	memory_t balance;
	// The last bucket that was looked at.
	memory_t bucket;
};

INLINE u32 first_account_bucket(memory_t ledger, u32 id)
{
	u64 hash = id ^ load64(ledger + LEDGER(secret));

	// Ids are numbers in a row, as a rule. How evenly one product spreads those depends on the factor: one secret in four hundred
	// would bring more to a bucket than are looked at. So the bits above come down to be multiplied once more, by 2^64
	// divided by the golden ratio.
	hash = (hash ^ hash >> 32) * (load64(ledger + LEDGER(secret) + 8) | 1);
	hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15;
	return hash >> ((64 - load64(ledger + LEDGER(bucket_bits))) & 63);
}

INLINE u32 stripe_of(u32 bucket)
{
	return bucket % STRIPES;
}

// What `ledger_execute` came to.
enum outcome {
	EXECUTED,
	// A retry, which gets its first result, or a transaction id that was used for something else. Nothing was done.
	REPEATED,
	// More buckets overflow into each other than are looked at. Nothing was done.
	CROWDED,
	// There is no place to remember it. Nothing was done.
	FULL,
};

// Finds an account. `CONTENDED` where there are more buckets than are looked at.
INLINE struct account account_find(memory_t ledger, u32 bucket, u32 id)
{
	memory_t buckets = ledger + load64(ledger + LEDGER(buckets_at));
	struct account account = { .found = ABSENT, .bucket = buckets + (u64)bucket * sizeof(struct account_bucket) };

	for (u32 depth = 0; depth < BUCKETS; depth++) {
		u32 count = load32(account.bucket + ACCOUNTS(count));

		read_barrier();
#pragma clang loop unroll(full)
		for (u32 at = 0; at < BUCKET_ACCOUNTS; at++) {
			if (at < count && load32(account.bucket + ACCOUNTS(ids) + 4 * at) == id) {
				account.found = FOUND;
				account.balance = account.bucket + ACCOUNTS(balances) + 8 * at;
				return account;
			}
		}
		u32 next = load32(account.bucket + ACCOUNTS(next));

		if (!next)
			return account;
		account.bucket = buckets + (u64)next * sizeof(struct account_bucket);
	}
	account.found = CONTENDED;
	return account;
}

// Adds an account with a balance of 0 behind the last of its buckets.
INLINE u16 account_create(memory_t ledger, const struct account *account, u32 id)
{
	memory_t bucket = account->bucket;
	u32 count = load32(bucket + ACCOUNTS(count));

	if (add64(ledger + LEDGER(accounts), 1) >= load64(ledger + LEDGER(limit))) {
		add64(ledger + LEDGER(accounts), -1ull);
		return STATUS_TABLE_FULL;
	}
	if (count >= BUCKET_ACCOUNTS) {
		// There is always one: each has a full one before it, and there are as many as full ones can be.
		u32 next = (1u << (load64(ledger + LEDGER(bucket_bits)) & 31)) + add64(ledger + LEDGER(overflows), 1);

		store32(bucket + ACCOUNTS(next), next);
		bucket = ledger + load64(ledger + LEDGER(buckets_at)) + (u64)next * sizeof(struct account_bucket);
		count = 0;
	}
	store32(bucket + ACCOUNTS(ids) + 4 * (count % BUCKET_ACCOUNTS), id);
	// Whoever sees the account sees its id and balance, which was zero from the beginning.
	write_barrier();
	store32(bucket + ACCOUNTS(count), count + 1);
	return STATUS_OK;
}

INLINE struct retry ledger_retry(memory_t ledger, const struct operation *operation)
{
	return retry_of(ledger + LEDGER(retries), ledger, ledger + LEDGER(secret), ledger + LEDGER(sequence), operation);
}

// Whether an operation changes a second account.
INLINE bool has_destination(enum command command)
{
	switch (command) {
	case COMMAND_TRANSFER:
		return true;
	case COMMAND_CREATE:
	case COMMAND_ISSUE:
	case COMMAND_REFER:
		return false;
	}
	return false;
}

// Asks for the memory that `ledger_execute` reads first.
INLINE void ledger_fetch(memory_t ledger, const struct operation *operation, const struct retry *retry)
{
	memory_t buckets = ledger + load64(ledger + LEDGER(buckets_at));

	retry_fetch(retry);
	load64(buckets + (u64)first_account_bucket(ledger, operation->source) * sizeof(struct account_bucket));
	if (has_destination(operation->command))
		load64(buckets + (u64)first_account_bucket(ledger, operation->destination) * sizeof(struct account_bucket));
}

// The status and value of a REFER. Needs no lock.
INLINE enum found ledger_refer(memory_t ledger, const struct operation *operation, struct remembered *result)
{
	struct account source =
		account_find(ledger, first_account_bucket(ledger, operation->source), operation->source);

	result->status = source.found == FOUND ? STATUS_OK : STATUS_SOURCE_UNKNOWN;
	result->value = source.found == FOUND ? load64(source.balance) : 0;
	return source.found;
}

INLINE u16 ledger_issue(const struct operation *operation, const struct account *source, u64 *value)
{
	if (source->found != FOUND)
		return STATUS_SOURCE_UNKNOWN;
	if (*value + operation->amount < *value)
		return STATUS_OVERFLOW;
	*value += operation->amount;
	store64(source->balance, *value);
	return STATUS_OK;
}

INLINE u16 ledger_transfer(const struct operation *operation, const struct account *source,
			   const struct account *destination, u64 *value)
{
	u64 received;

	if (source->found != FOUND)
		return STATUS_SOURCE_UNKNOWN;
	if (destination->found != FOUND)
		return STATUS_DESTINATION_UNKNOWN;
	if (*value < operation->amount)
		return STATUS_INSUFFICIENT_BALANCE;
	received = load64(destination->balance);
	if (received + operation->amount < received)
		return STATUS_OVERFLOW;
	*value -= operation->amount;
	store64(source->balance, *value);
	store64(destination->balance, received + operation->amount);
	return STATUS_OK;
}

// What a command does, under the locks of both accounts' stripes. `value` is the source's balance.
INLINE u16 ledger_apply(memory_t ledger, const struct operation *operation, const struct account *source,
			const struct account *destination, u64 *value)
{
	switch ((enum command)operation->command) {
	case COMMAND_CREATE:
		return source->found == FOUND ? STATUS_ACCOUNT_EXISTS : account_create(ledger, source, operation->source);
	case COMMAND_ISSUE:
		return ledger_issue(operation, source, value);
	case COMMAND_TRANSFER:
		return ledger_transfer(operation, source, destination, value);
	case COMMAND_REFER:
		break;
	}
	return STATUS_UNKNOWN_COMMAND;
}

// Executes CREATE, ISSUE or TRANSFER, well formed, under the locks of both accounts' stripes, in the tick `now`. The sequence is that
// of what was executed.
INLINE enum outcome ledger_execute(memory_t ledger, const struct operation *operation, struct retry *retry, u64 now,
				   struct remembered *result, u64 *sequence)
{
	u32 bucket = first_account_bucket(ledger, operation->source);
	struct account source = account_find(ledger, bucket, operation->source), destination = { .found = ABSENT };

	if (source.found == CONTENDED)
		return CROWDED;
	result->value = source.found == FOUND ? load64(source.balance) : 0;
	retry->sequence = load64(ledger + LEDGER(sequence));
	retry->now = now;
	if (retry_find(retry, operation, result))
		return REPEATED;
	if (has_destination(operation->command) && source.found == FOUND) {
		destination = account_find(ledger, first_account_bucket(ledger, operation->destination), operation->destination);
		if (destination.found == CONTENDED)
			return CROWDED;
	}
	struct retry_entry entry = retry_take(retry);

	if (!entry.taken) {
		*result = (struct remembered){ .status = STATUS_BUSY };
		return FULL;
	}
	result->status = ledger_apply(ledger, operation, &source, &destination, &result->value);
	*sequence = add64(ledger + LEDGER(sequence), 1) + 1;
	retry_write(retry, &entry, *sequence, operation, result);
	return EXECUTED;
}

#endif
