// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// The codes of the protocol. Made by schema/generate.py of schema/protocol.toml; change that.
#ifndef TURNPIKE_PROTOCOL_H
#define TURNPIKE_PROTOCOL_H

// "TP": no compact frame starts with it, because commands are small numbers.
#define MAGIC 0x5450
// The protocol's version.
#define VERSION 0x1
// Added to a request's type in its reply.
#define REPLY_BIT 0x80
// The type of an error frame.
#define ERROR_TYPE 0xff
// Added to the command of a message in its result.
#define MESSAGE_REPLY_BIT 0x80000000

// Type of a frame with a header.
enum frame_type {
	// Full transfer frame.
	TYPE_FULL = 1,
	// Batch frame.
	TYPE_BATCH = 2,
	// Proof frame.
	TYPE_PROOF = 3,
	// Headers frame.
	TYPE_HEADERS = 4,
	// Info frame.
	TYPE_INFO = 5,
	// Verify frame.
	TYPE_VERIFY = 6,
	// Finality frame.
	TYPE_FINALITY = 7,
	// Member change frame.
	TYPE_CHANGE = 8,
};

// Command of an operation.
enum command {
	// Creates the source account, with a balance of 0; the destination, if any, pays a deposit for it.
	COMMAND_CREATE = 1,
	// Adds new money to the source account.
	COMMAND_ISSUE = 2,
	// Moves money from the source to the destination.
	COMMAND_TRANSFER = 3,
	// Reads the balance of the source account.
	COMMAND_REFER = 4,
};

// Chain that a request is about.
enum chain {
	// The node's own chain.
	CHAIN_OWN = 0,
	// Bitcoin.
	CHAIN_BITCOIN = 1,
};

// Subject of a proof request.
enum query {
	// The latest transaction of an address.
	QUERY_LATEST = 1,
	// A transaction by its id.
	QUERY_TRANSACTION = 2,
	// A transaction by height and position.
	QUERY_LOCATOR = 3,
	// The index entry of an address.
	QUERY_INDEX = 4,
};

// Commands have the codes from 1 on.
#define COMMANDS 4

// The outcome of an operation or of a frame.
enum status {
	// done, at the promise that the reply names
	STATUS_OK = 0,
	// CREATE of an account that exists
	STATUS_ACCOUNT_EXISTS = 1,
	// the source account was never created
	STATUS_SOURCE_UNKNOWN = 2,
	// the destination account, or the payer of a deposit, was never created
	STATUS_DESTINATION_UNKNOWN = 3,
	// TRANSFER of more than the source holds, or a deposit of more than the payer's
	STATUS_INSUFFICIENT_BALANCE = 4,
	// the new balance would not fit in 64 bits
	STATUS_OVERFLOW = 5,
	// the account table is full, or the rest is reserved for trusted senders
	STATUS_TABLE_FULL = 6,
	// ISSUE, TRANSFER or deposit of 0
	STATUS_ZERO_AMOUNT = 16,
	// source and destination are the same, or source and payer
	STATUS_SELF_TRANSFER = 17,
	// the pair of source and transaction id was used for another operation
	STATUS_TRANSACTION_ID_REUSED = 18,
	// the transaction id is too old for its retries to be recognised
	STATUS_EXPIRED = 19,
	// unknown command
	STATUS_UNKNOWN_COMMAND = 32,
	// wrong length, or a field that must be zero is not
	STATUS_MALFORMED = 33,
	// an unsigned operation, or a verify frame, from outside the trusted prefixes
	STATUS_NOT_TRUSTED = 34,
	// no signature by a keyed account's key, or a key that may not [act for it](#signed-operation)
	STATUS_NOT_AUTHORISED = 35,
	// ISSUE by a key that is not in the configuration
	STATUS_NOT_ISSUER = 36,
	// outside the replay window, or a transaction id's time is over two seconds ahead
	STATUS_STALE_TIMESTAMP = 37,
	// the signature or the key does not verify
	STATUS_BAD_SIGNATURE = 38,
	// the sender's prefix is over its limit
	STATUS_RATE_LIMITED = 39,
	// the queue for this kind of request is full and nothing was done; retry
	STATUS_BUSY = 40,
	// the journal cannot be written; the node [answers reads only](#when-storage-fails)
	STATUS_STORAGE_FAILED = 41,
	// a frame of another protocol version
	STATUS_UNSUPPORTED_VERSION = 42,
	// [opening a keyed account](#keyed-accounts) needs an issuer, a deposit or a trusted sender
	STATUS_DEPOSIT_REQUIRED = 43,
	// a [member change](#member-change-frame) of an old generation, or while another change is decided
	STATUS_STALE_GENERATION = 44,
	// the replicas have not agreed on the operation within 5 s, or cannot; it may still be executed, retry with
	// the same id
	STATUS_NOT_FINAL = 45,
	// no such account, transaction or block
	STATUS_NOT_FOUND = 64,
	// the reply does not fit in the request's length; `detail` has the length needed
	STATUS_REPLY_TOO_LARGE = 65,
	// the block has a shape for which a proof would be ambiguous (CVE-2017-12842)
	STATUS_NOT_PROVABLE = 66,
	// the node does not serve that chain
	STATUS_UNKNOWN_CHAIN = 67,
};

#endif
