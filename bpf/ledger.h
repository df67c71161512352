// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// The in-NIC ledger: accounts and remembered operations, in a store that the program itself changes. Commands
// and statuses are those of crates/ledger; ids and amounts have the 32 bits of compact frames.
//
// The store is divided into stripes. Changing an account requires the lock of its stripe; the caller takes both
// locks of a transfer, the lower stripe's first. Balances may be read without a lock: accounts are only ever
// added, and a balance changes in a single store.
#ifndef TURNPIKE_LEDGER_H
#define TURNPIKE_LEDGER_H

#include "retries.h"

#define LEDGER(field) __builtin_offsetof(struct ledger_header, field)
#define ACCOUNTS(field) __builtin_offsetof(struct account_bucket, field)

// Atomically adds to a counter. Returns its previous value.
INLINE u64 add64(memory_t at, u64 value)
{
	return __sync_fetch_and_add((u64 SHARED *)at, value);
}

// Place of an account, or where it would be.
struct account {
	enum found found;
	memory_t balance;
	// The last bucket searched.
	memory_t bucket;
};

INLINE u32 first_account_bucket(memory_t ledger, u32 id)
{
	u64 hash = id ^ load64(ledger + LEDGER(secret));

	// Ids are usually consecutive numbers. How evenly one product spreads them depends on the factor: with one
	// secret in four hundred, some bucket would get more than a lookup searches. So the upper bits are folded down
	// and multiplied once more, by 2^64 divided by the golden ratio.
	hash = (hash ^ hash >> 32) * (load64(ledger + LEDGER(secret) + 8) | 1);
	hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15;
	return hash >> ((64 - load64(ledger + LEDGER(bucket_bits))) & 63);
}

INLINE u32 stripe_of(u32 bucket)
{
	return bucket % STRIPES;
}

// Outcome of `ledger_execute`.
enum outcome {
	EXECUTED,
	// A retry, which gets its first result, or a transaction id used for something else. Nothing changed.
	REPEATED,
	// More overflow buckets in a chain than a lookup searches. Nothing changed.
	CROWDED,
	// No place to remember the operation. Nothing changed.
	FULL,
};

// Finds an account. `CONTENDED` if its chain has more buckets than a lookup searches.
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

// Adds an account with a balance of 0 to the last of its buckets.
INLINE u16 account_create(memory_t ledger, const struct account *account, u32 id)
{
	memory_t bucket = account->bucket;
	u32 count = load32(bucket + ACCOUNTS(count));

	if (add64(ledger + LEDGER(accounts), 1) >= load64(ledger + LEDGER(limit))) {
		add64(ledger + LEDGER(accounts), -1ull);
		return STATUS_TABLE_FULL;
	}
	if (count >= BUCKET_ACCOUNTS) {
		// A spare bucket always exists: each is preceded by a full one, and there are as many spares as full buckets
		// are possible.
		u32 next = (1u << (load64(ledger + LEDGER(bucket_bits)) & 31)) + add64(ledger + LEDGER(overflows), 1);

		store32(bucket + ACCOUNTS(next), next);
		bucket = ledger + load64(ledger + LEDGER(buckets_at)) + (u64)next * sizeof(struct account_bucket);
		count = 0;
	}
	store32(bucket + ACCOUNTS(ids) + 4 * (count % BUCKET_ACCOUNTS), id);
	// A reader that sees the count also sees the id and the balance, which was always zero.
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

// Prefetches the memory that `ledger_execute` reads first.
INLINE void ledger_fetch(memory_t ledger, const struct operation *operation, const struct retry *retry)
{
	memory_t buckets = ledger + load64(ledger + LEDGER(buckets_at));

	retry_fetch(retry);
	load64(buckets + (u64)first_account_bucket(ledger, operation->source) * sizeof(struct account_bucket));
	if (has_destination(operation->command))
		load64(buckets + (u64)first_account_bucket(ledger, operation->destination) * sizeof(struct account_bucket));
}

// Status and value of a REFER. Needs no lock.
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

// Applies a command under the locks of both accounts' stripes. `value` is the source's balance.
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

// Executes a well-formed CREATE, ISSUE or TRANSFER under the locks of both accounts' stripes, in tick `now`.
// `sequence` is set to that of the executed operation.
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
