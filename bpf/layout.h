// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// What lies in memory that user space shares. Made by schema/generate.py of schema/layouts.toml; change that.
#ifndef TURNPIKE_LAYOUT_H
#define TURNPIKE_LAYOUT_H

#include "memory.h"
#include "protocol.h"

// Slots of a bucket, which fill a cache line.
#define SLOTS 8

// Locks shared by the values, selected by the low bits of the entry's index. They take 4 KiB, which stay in
// the writer's first-level cache; a lock per entry would cost memory, and the bucket's lock a second cache
// miss.
#define VALUE_LOCKS 1024

// Entries of a group, which takes one cache line per word of an entry.
#define GROUP 8

// Secret words of the hash function.
#define SECRETS 16

// Bytes of a line of the value store.
#define VALUE_LINE_BYTES 64

// Bytes of the store's header before a value.
#define VALUE_HEADER_BYTES 8

// Maximum number of lines of a value to prefetch together: half a kilobyte.
#define VALUE_FETCHED 8

// In a head: the value was read since the last pass of the eviction search.
#define VALUE_MARK 0x80000000u

// Words in a line of the index of retries: a cache line. Seven slots, and the largest number that did not
// fit.
#define LINE_WORDS 8

// Slots of a line.
#define LINE_SLOTS 7

// Maximum number of the node's addresses that the program knows; datagrams to others go to the host.
#define MAX_ADDRESSES 16

// Maximum number of trusted prefixes that the program knows; the host knows all of them.
#define MAX_PREFIXES 64

// Flag: frames that request no promise are answered at `durable`, or `final`.
#define STATE_DURABLE 1

// Flag: untrusted senders are rate-limited, so their datagrams go to the host.
#define STATE_RATE_LIMITED 2

// Flag: the interface is the loopback, which carries the host's own source addresses.
#define STATE_LOOPBACK 4

// Flag: datagrams that the program does not answer go to the node's AF_XDP socket, not to the host's network
// stack.
#define STATE_REDIRECT 8

// Longest frame that fits in such a socket: a page without the kernel's headroom before a frame
// (`XDP_PACKET_HEADROOM`).
#define SOCKET_BYTES 3840

// Bytes of each processor's memory for a request to the key-value store and its reply, with some spare.
#define KV_WORK_BYTES 2048

// Stripes, each with its own lock: enough that the processors of a large machine rarely contend.
#define STRIPES 4096

// Accounts of a bucket.
#define BUCKET_ACCOUNTS 4

// Buckets that a search visits: 32 accounts, with a mean of two. With a secret hash more practically never
// occur.
#define BUCKETS 8

// Entries of a set: two cache lines of them.
#define SET_ENTRIES 20

// Time is counted in 2^24 nanoseconds, a sixtieth of a second.
#define TICK_BITS 24

// Ticks by which an operation's tick may lag its execution, about half a second: the longest wait of a
// processor for two locks, by a coarse clock. So another processor's tick may lead by the same.
#define TICKS_LATE 32

// The remembered bits of a tick.
#define WHEN_TICKS 0xffffffu

// In `when`: the command's bits, 0 if nothing is remembered.
#define WHEN_COMMAND 192

// Shift of the command in `when`.
#define WHEN_COMMAND_SHIFT 6

// In `when`: the status's bits.
#define WHEN_STATUS 63

// A power of two above the largest status that is counted by command.
#define STATUSES 32

// In place of a command: the proof of an address' latest transaction.
#define GENERATE_PROOF 0

// Words of a request's headers, with padding.
#define GENERATE_HEADER_WORDS 6

// Words of a proof's body after the tip, in measurements and tests.
#define BODY_WORDS 32

// Maximum number of shards of a store.
#define MIRROR_SHARDS 256

// Offset of the slots: the header has its own page.
#define MIRROR_SLOTS_AT 4096

// Bytes of the longest key (memcached's protocol.txt).
#define MAX_KEY 250

// Slots that a key may be in.
#define MIRROR_WAYS 2

// Maximum number of words of a reply, so that a slot has 512 bytes: a value of 100 bytes fits after the
// longest key.
#define MIRROR_TEXT_WORDS 60

// The first bytes of a table's memory.
struct table_header {
	// "TPTABLE" and the version of the layout.
	u64 magic;
	// Bytes of a key and of a value.
	u64 sizes[2];
	// Number of buckets.
	u64 buckets;
	// Number of entries.
	u64 capacity;
	// Offset of the values' locks.
	u64 locks_at;
	// Offset of the buckets.
	u64 buckets_at;
	// Offset of the entries.
	u64 entries_at;
	// Secret words of the hash function.
	u64 secrets[SECRETS];
	// Entries in use.
	u64 len;
	// Zero.
	u64 reserved[7];
};
_Static_assert(__builtin_offsetof(struct table_header, magic) == 0, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct table_header, sizes) == 8, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct table_header, buckets) == 24, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct table_header, capacity) == 32, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct table_header, locks_at) == 40, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct table_header, buckets_at) == 48, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct table_header, entries_at) == 56, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct table_header, secrets) == 64, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct table_header, len) == 192, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct table_header, reserved) == 200, "schema/layouts.toml");
_Static_assert(sizeof(struct table_header) == 256, "schema/layouts.toml");

// A cache line with eight slots.
struct bucket {
	// Sixteen bits of each slot's hash; 0 if the slot is free.
	u64 tags[2];
	// Each slot's entry.
	u32 entries[SLOTS];
	// The bucket's sequence lock.
	u32 sequence;
	// Slots whose keys are in their second bucket, as bits.
	u32 displaced;
	// Number of keys that went to their second bucket, four bits for each value of the lowest four bits of a tag.
	u64 overflow;
};
_Static_assert(__builtin_offsetof(struct bucket, tags) == 0, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct bucket, entries) == 16, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct bucket, sequence) == 48, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct bucket, displaced) == 52, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct bucket, overflow) == 56, "schema/layouts.toml");
_Static_assert(sizeof(struct bucket) == 64, "schema/layouts.toml");

// A published value begins with its sequence lock; the words follow.
struct published {
	// The sequence lock.
	u32 sequence;
	// Zero.
	u32 reserved;
};
_Static_assert(__builtin_offsetof(struct published, sequence) == 0, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct published, reserved) == 4, "schema/layouts.toml");
_Static_assert(sizeof(struct published) == 8, "schema/layouts.toml");

// The header of a window of retries.
struct window_header {
	// The secret key of the hash function.
	u64 key[6];
	// Lines of the index.
	u32 lines;
	// 2^`ring_bits` records are in the ring.
	u32 ring_bits;
	// Records with sequences from `written` to `begun`, exclusive, are being written.
	u64 begun;
	// See `begun`.
	u64 written;
	// Sequences before this one are forgotten.
	u64 first;
	// Zero.
	u64 reserved[6];
};
_Static_assert(__builtin_offsetof(struct window_header, key) == 0, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct window_header, lines) == 48, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct window_header, ring_bits) == 52, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct window_header, begun) == 56, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct window_header, written) == 64, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct window_header, first) == 72, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct window_header, reserved) == 80, "schema/layouts.toml");
_Static_assert(sizeof(struct window_header) == 128, "schema/layouts.toml");

// A record of the journal: an operation as on the wire, with its status, then the value of its reply. All of
// it is big-endian.
struct record {
	// Flags (8 bits), command (8), status (16), contract code (32).
	u64 head;
	// The transaction id.
	u64 transaction[2];
	// The source's id.
	u64 source[2];
	// The destination's id.
	u64 destination[2];
	// The amount as requested.
	u64 amount;
	// The value of the reply.
	u64 value;
};
_Static_assert(__builtin_offsetof(struct record, head) == 0, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct record, transaction) == 8, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct record, source) == 24, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct record, destination) == 40, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct record, amount) == 56, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct record, value) == 64, "schema/layouts.toml");
_Static_assert(sizeof(struct record) == 72, "schema/layouts.toml");

// An address as two numbers; those of IPv4 are mapped into IPv6.
struct address {
	// The first eight bytes.
	u64 high;
	// The last eight bytes.
	u64 low;
};
_Static_assert(__builtin_offsetof(struct address, high) == 0, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct address, low) == 8, "schema/layouts.toml");
_Static_assert(sizeof(struct address) == 16, "schema/layouts.toml");

// A trusted prefix.
struct prefix {
	// Its first address.
	struct address network;
	// The bits that count.
	struct address mask;
};
_Static_assert(__builtin_offsetof(struct prefix, network) == 0, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct prefix, mask) == 16, "schema/layouts.toml");
_Static_assert(sizeof(struct prefix) == 32, "schema/layouts.toml");

// The first page of the arena: offsets of its parts, and the senders that the tier answers.
struct state {
	// Boolean settings.
	u64 flags;
	// Offset of the table of accounts in the arena; 0, as for all offsets, if absent.
	u64 accounts_at;
	// Offset of the header of the window of retries.
	u64 window_at;
	// Offset of its index.
	u64 index_at;
	// Offset of its records.
	u64 ring_at;
	// Offset of the table of the proof cache.
	u64 proofs_at;
	// Offset of its value store.
	u64 values_at;
	// Number of lines of the value store; the lines begin after their heads.
	u64 value_lines;
	// Offset of the tips of the chains.
	u64 tips_at;
	// The port that the node listens on.
	u64 port;
	// The interface's address, in the lower 48 bits, first byte lowest.
	u64 mac;
	// Number of addresses.
	u64 addresses;
	// Number of prefixes.
	u64 prefixes;
	// Always zero, which the kernel's verifier does not know.
	u64 zero;
	// Number of accounts that measurements use.
	u64 bench_accounts;
	// Offset of the store of the in-NIC ledger, if it runs.
	u64 ledger_at;
	// Offset of the mirror of the key-value store, if it runs.
	u64 mirror_at;
	// Number of the run of a program that generates requests to the key-value store.
	u64 bench_turn;
	// The rest of the cache line.
	u64 reserved_mirror[6];
	// No operation after this sequence has changed anything that is readable here.
	u64 announced;
	// The rest of the cache line.
	u64 reserved_announced[7];
	// All operations up to this sequence are in the journal, synced.
	u64 durable;
	// The rest of the cache line.
	u64 reserved_durable[7];
	// The node's own addresses.
	struct address address[MAX_ADDRESSES];
	// Trusted prefixes.
	struct prefix prefix[MAX_PREFIXES];
};
_Static_assert(__builtin_offsetof(struct state, flags) == 0, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, accounts_at) == 8, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, window_at) == 16, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, index_at) == 24, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, ring_at) == 32, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, proofs_at) == 40, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, values_at) == 48, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, value_lines) == 56, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, tips_at) == 64, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, port) == 72, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, mac) == 80, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, addresses) == 88, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, prefixes) == 96, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, zero) == 104, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, bench_accounts) == 112, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, ledger_at) == 120, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, mirror_at) == 128, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, bench_turn) == 136, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, reserved_mirror) == 144, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, announced) == 192, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, reserved_announced) == 200, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, durable) == 256, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, reserved_durable) == 264, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, address) == 320, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct state, prefix) == 576, "schema/layouts.toml");
_Static_assert(sizeof(struct state) == 2624, "schema/layouts.toml");

// The published tip of a chain: a sequence lock, then the fields that crates/proof writes.
struct published_tip {
	// The sequence lock.
	u32 sequence;
	// Zero.
	u32 reserved;
	// The tip's hash, as bytes.
	u64 hash[4];
	// Its height.
	u64 height;
	// Epoch (upper half) and number of the tip.
	u64 generation;
	// The rest of the cache line.
	u64 reserved_last;
};
_Static_assert(__builtin_offsetof(struct published_tip, sequence) == 0, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct published_tip, reserved) == 4, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct published_tip, hash) == 8, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct published_tip, height) == 40, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct published_tip, generation) == 48, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct published_tip, reserved_last) == 56, "schema/layouts.toml");
_Static_assert(sizeof(struct published_tip) == 64, "schema/layouts.toml");

// The memory of retries, in the store's header.
struct retries_header {
	// Places of the log, a power of two, minus 1.
	u64 log_mask;
	// Sets of the index.
	u64 sets;
	// Offset of the log from the store's header.
	u64 log_at;
	// Offset of the sets from the store's header.
	u64 sets_at;
	// Ticks for which all operations are remembered, plus twice `TICKS_LATE`.
	u64 retention;
	// Upper bound of the machine's processors. Each has at most one operation in flight, so this number of places
	// of the log may be being written, and must not be read.
	u64 processors;
};
_Static_assert(__builtin_offsetof(struct retries_header, log_mask) == 0, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct retries_header, sets) == 8, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct retries_header, log_at) == 16, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct retries_header, sets_at) == 24, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct retries_header, retention) == 32, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct retries_header, processors) == 40, "schema/layouts.toml");
_Static_assert(sizeof(struct retries_header) == 48, "schema/layouts.toml");

// The first bytes of the in-NIC ledger's store.
struct ledger_header {
	// The secret key of its hash functions.
	u64 secret[2];
	// Accounts that may be created.
	u64 limit;
	// 2^`bucket_bits` buckets are found by hash; overflow buckets follow them.
	u64 bucket_bits;
	// Offset of the buckets from this header.
	u64 buckets_at;
	// The rest of the cache line.
	u64 reserved[3];
	// The memory of retries.
	struct retries_header retries;
	// The rest of the cache line.
	u64 reserved_retries[2];
	// Number of accounts. All processors write this and the following fields.
	u64 accounts;
	// Overflow buckets in use.
	u64 overflows;
	// Sequence of the last executed operation.
	u64 sequence;
	// The rest of the cache line.
	u64 reserved_written[5];
};
_Static_assert(__builtin_offsetof(struct ledger_header, secret) == 0, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct ledger_header, limit) == 16, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct ledger_header, bucket_bits) == 24, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct ledger_header, buckets_at) == 32, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct ledger_header, reserved) == 40, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct ledger_header, retries) == 64, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct ledger_header, reserved_retries) == 112, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct ledger_header, accounts) == 128, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct ledger_header, overflows) == 136, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct ledger_header, sequence) == 144, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct ledger_header, reserved_written) == 152, "schema/layouts.toml");
_Static_assert(sizeof(struct ledger_header) == 192, "schema/layouts.toml");

// A cache line with the accounts of one hash.
struct account_bucket {
	// Accounts in this bucket.
	u32 count;
	// The bucket that this one overflows into; 0 for none.
	u32 next;
	// Their ids.
	u32 ids[BUCKET_ACCOUNTS];
	// Their balances.
	u64 balances[BUCKET_ACCOUNTS];
	// The rest of the cache line.
	u64 reserved;
};
_Static_assert(__builtin_offsetof(struct account_bucket, count) == 0, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct account_bucket, next) == 4, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct account_bucket, ids) == 8, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct account_bucket, balances) == 24, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct account_bucket, reserved) == 56, "schema/layouts.toml");
_Static_assert(sizeof(struct account_bucket) == 64, "schema/layouts.toml");

// An executed operation, as user space reads it for its journal.
struct committed {
	// Its place in the order of execution, from 1.
	u64 sequence;
	// The source's balance after it.
	u64 value;
	// The command's code.
	u32 command;
	// The transaction id.
	u32 transaction;
	// The source account.
	u32 source;
	// The receiver of a transfer.
	u32 destination;
	// The amount as requested.
	u32 amount;
	// The status's code.
	u32 status;
};
_Static_assert(__builtin_offsetof(struct committed, sequence) == 0, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct committed, value) == 8, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct committed, command) == 16, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct committed, transaction) == 20, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct committed, source) == 24, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct committed, destination) == 28, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct committed, amount) == 32, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct committed, status) == 36, "schema/layouts.toml");
_Static_assert(sizeof(struct committed) == 40, "schema/layouts.toml");

// An operation in the log of retries.
struct remembered_operation {
	// The transaction id.
	u32 transaction;
	// The source account.
	u32 source;
	// The receiver of a transfer.
	u32 destination;
	// The amount as requested.
	u32 amount;
	// The reply's value, which has 32 bits.
	u32 value;
	// The lower 24 bits of the tick, which repeat after three days: an operation that then seems young is only
	// kept longer. Then two bits of the command and six of the status.
	u32 when;
};
_Static_assert(__builtin_offsetof(struct remembered_operation, transaction) == 0, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct remembered_operation, source) == 4, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct remembered_operation, destination) == 8, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct remembered_operation, amount) == 12, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct remembered_operation, value) == 16, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct remembered_operation, when) == 20, "schema/layouts.toml");
_Static_assert(sizeof(struct remembered_operation) == 24, "schema/layouts.toml");

// A set of the index of retries: it locates the operations of one hash.
struct retry_set {
	// The tick in which an operation of this set last went to its second set, plus 1; 0 for none.
	u32 overflowed;
	// The next entry to replace.
	u32 next;
	// Tag of each operation, compared first.
	u16 tags[SET_ENTRIES];
	// The lower half of each operation's sequence.
	u32 sequences[SET_ENTRIES];
};
_Static_assert(__builtin_offsetof(struct retry_set, overflowed) == 0, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct retry_set, next) == 4, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct retry_set, tags) == 8, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct retry_set, sequences) == 48, "schema/layouts.toml");
_Static_assert(sizeof(struct retry_set) == 128, "schema/layouts.toml");

// The first page of the generator's arena: the requests to generate.
struct generator {
	// The headers of a request, padded to whole words.
	u64 headers[GENERATE_HEADER_WORDS];
	// A command of the protocol, or GENERATE_PROOF.
	u64 command;
	// Number of accounts from the lowest on.
	u64 accounts;
	// Not 0: requests are for random accounts, not for one after the other.
	u64 any;
	// Prefix of transaction ids.
	u64 transactions;
	// The lowest account.
	u64 lowest;
	// Offset of the tallies in the arena, one per processor: a line that two processors write would cost as much
	// as a request.
	u64 tallies_at;
	// Number of tallies.
	u64 processors;
	// The rest of the cache line.
	u64 reserved[3];
	// Requests generated for one account after the other.
	u64 ordered;
	// The rest of the cache line.
	u64 reserved_ordered[7];
};
_Static_assert(__builtin_offsetof(struct generator, headers) == 0, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct generator, command) == 48, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct generator, accounts) == 56, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct generator, any) == 64, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct generator, transactions) == 72, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct generator, lowest) == 80, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct generator, tallies_at) == 88, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct generator, processors) == 96, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct generator, reserved) == 104, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct generator, ordered) == 128, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct generator, reserved_ordered) == 136, "schema/layouts.toml");
_Static_assert(sizeof(struct generator) == 192, "schema/layouts.toml");

// The counts of a processor: a cache line.
struct tally {
	// Requests generated.
	u64 made;
	// Time of the first request, in nanoseconds of the monotonic clock.
	u64 first;
	// Replies received.
	u64 replies;
	// Replies with status 0.
	u64 good;
	// Time of the last reply.
	u64 last;
	// The rest of the cache line.
	u64 reserved[3];
};
_Static_assert(__builtin_offsetof(struct tally, made) == 0, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct tally, first) == 8, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct tally, replies) == 16, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct tally, good) == 24, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct tally, last) == 32, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct tally, reserved) == 40, "schema/layouts.toml");
_Static_assert(sizeof(struct tally) == 64, "schema/layouts.toml");

// The first bytes of the mirror of a store.
struct mirror_header {
	// Secret words of the hash function, as in a table's header.
	u64 secrets[SECRETS];
	// Shards, a power of two, minus 1.
	u64 shards;
	// Sets of slots of each shard.
	u64 sets;
	// Zero.
	u64 reserved[6];
	// Number of flushes of each shard, in the lower 32 bits. A slot of another epoch is empty.
	u64 epochs[MIRROR_SHARDS];
};
_Static_assert(__builtin_offsetof(struct mirror_header, secrets) == 0, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct mirror_header, shards) == 128, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct mirror_header, sets) == 136, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct mirror_header, reserved) == 144, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct mirror_header, epochs) == 192, "schema/layouts.toml");
_Static_assert(sizeof(struct mirror_header) == 2240, "schema/layouts.toml");

// An item's reply to `get`, as sent by UDP.
struct mirror_slot {
	// The slot's sequence lock.
	u32 sequence;
	// The epoch of its shard when the slot was written.
	u32 epoch;
	// The key's hash; 0 if the slot is empty.
	u64 hash;
	// When the item expires, in nanoseconds of the monotonic clock; all bits set for never.
	u64 expires;
	// Bytes of the key.
	u16 key_bytes;
	// Bytes of the text in use; the rest of their last word is zero.
	u16 text_bytes;
	// Not 0: read since the last check. The program writes this.
	u32 used;
	// The last two bytes of a reply's header, which are zero, and the reply, from `VALUE` to `END`. So the key is
	// aligned to a word.
	u64 text[MIRROR_TEXT_WORDS];
};
_Static_assert(__builtin_offsetof(struct mirror_slot, sequence) == 0, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct mirror_slot, epoch) == 4, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct mirror_slot, hash) == 8, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct mirror_slot, expires) == 16, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct mirror_slot, key_bytes) == 24, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct mirror_slot, text_bytes) == 26, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct mirror_slot, used) == 28, "schema/layouts.toml");
_Static_assert(__builtin_offsetof(struct mirror_slot, text) == 32, "schema/layouts.toml");
_Static_assert(sizeof(struct mirror_slot) == 512, "schema/layouts.toml");

// Counters of the tier.
enum counter {
	// REFER answered.
	COUNT_REFER = 0,
	// Retries answered.
	COUNT_RETRY = 1,
	// Proofs answered.
	COUNT_PROOF = 2,
	// Datagrams for the node left to the host: of another kind, from an untrusted sender, or not known to the
	// tier.
	COUNT_HOST = 3,
	// Left to the host because something was not durable yet.
	COUNT_NOT_DURABLE = 4,
	// Left to the host because the writer was changing the same data.
	COUNT_CONTENDED = 5,
	// Left to the host because the checksum was wrong: the host drops them.
	COUNT_CHECKSUM = 6,
	// Replies lost because the frame could not be shortened.
	COUNT_LOST = 7,
};

#define COUNTERS (8)

// Counters of the in-NIC ledger.
enum ledger_counter {
	// Left to the host: malformed, from an untrusted sender, or of another kind.
	LEDGER_HOST = 0,
	// Left to the host because the checksum was wrong.
	LEDGER_CHECKSUM = 1,
	// Left to the host because the ring had no room: nothing was done.
	LEDGER_RING_FULL = 2,
	// Left to the host because a lock was not available: nothing was done.
	LEDGER_LOCKED = 3,
	// Left to the host because the chain of overflow buckets is too long to search: nothing was done.
	LEDGER_CROWDED = 4,
	// Had to wait for a lock of another processor, executed or not.
	LEDGER_WAITED = 5,
	// Answered `BUSY` because all remembered operations are too young to be replaced: nothing was done.
	LEDGER_FULL = 6,
	// By command and status: executed, and in the ring.
	LEDGER_EXECUTED = 7 + 0 * COMMANDS * STATUSES,
	// By command and status: answered without a trace: REFER, retries, transaction ids used again.
	LEDGER_ANSWERED = 7 + 1 * COMMANDS * STATUSES,
};

#define LEDGER_COUNTERS (7 + 2 * COMMANDS * STATUSES)

// Counters of datagrams to the key-value store.
enum kv_counter {
	// Gets answered.
	KV_HIT = 0,
	// Left to the host: not a get of one key, or one whose reply is longer and whose sender is not trusted.
	KV_HOST = 1,
	// Gets left to the host because the mirror does not have the key.
	KV_MISS = 2,
	// Gets left to the host because the writer was changing the slot.
	KV_CONTENDED = 3,
	// Left to the host because the checksum was wrong: the host drops them.
	KV_CHECKSUM = 4,
	// Gets left to the host because the frame had no room for the reply.
	KV_ROOM = 5,
	// Replies lost because the frame could not be shortened.
	KV_LOST = 6,
};

#define KV_COUNTERS (7)

#endif
