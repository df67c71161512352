// SPDX-License-Identifier: Apache-2.0 OR MIT OR GPL-2.0-only
// Where the fields of frames are. Made by schema/generate.py of schema/frames.toml; change that.
#ifndef TURNPIKE_FRAMES_H
#define TURNPIKE_FRAMES_H

// The first 8 bytes of all frames except the compact one.
enum frame_header {
	// `0x5450`, "TP".
	HEADER_MAGIC = 0,
	// Version, `0x01`.
	HEADER_VERSION = 2,
	// Type; replies have `0x80` added, `0xff` is an error.
	HEADER_KIND = 3,
	// Id: chosen by the client, echoed.
	HEADER_ID = 4,
	// Its length, without what may follow.
	HEADER_BYTES = 8,
};

// The frame of the in-NIC transfer paper, 22 bytes.
enum compact_frame {
	// Command.
	COMPACT_COMMAND = 0,
	// Transaction id; names the operation, together with the source.
	COMPACT_TRANSACTION = 4,
	// Source: the account that the operation is about.
	COMPACT_SOURCE = 8,
	// Destination: the receiver of a transfer, else 0.
	COMPACT_DESTINATION = 12,
	// Amount; in the reply the value, or 0xffffffff if it is larger.
	COMPACT_AMOUNT = 16,
	// Status; 0 in requests.
	COMPACT_STATUS = 20,
	// Its length, without what may follow.
	COMPACT_BYTES = 22,
};

// Request of a proof, 48 bytes, and the first 48 bytes of its reply.
enum proof_request {
	// Header.
	PROOF_HEADER = 0,
	// Chain: 0 the node's own, 1 Bitcoin.
	PROOF_CHAIN = 8,
	// Query: 1 latest by address, 2 by transaction id, 3 by locator, 4 index entry of an address.
	PROOF_QUERY = 9,
	// Status; 0 in requests.
	PROOF_STATUS = 10,
	// Reserved; in replies the number of bytes used after the first 48.
	PROOF_BODY_LENGTH = 12,
	// Key: the subject of the query.
	PROOF_KEY = 16,
	// Its length, without what may follow.
	PROOF_BYTES = 48,
};

// Fixed part of the reply to queries 1, 2 and 3, 176 bytes.
enum proof_reply {
	// The request with its status.
	PROOF_REPLY_REQUEST = 0,
	// Hash of the tip that the reply is based on.
	PROOF_REPLY_TIP_HASH = 48,
	// Height of that tip.
	PROOF_REPLY_TIP_HEIGHT = 80,
	// Hash of the block.
	PROOF_REPLY_BLOCK_HASH = 88,
	// Height of the block.
	PROOF_REPLY_BLOCK_HEIGHT = 120,
	// Number of transactions in the block.
	PROOF_REPLY_TRANSACTION_COUNT = 128,
	// Position of the transaction.
	PROOF_REPLY_POSITION = 132,
	// Depth: number of nodes in the path, ceil(log2 of the number of transactions).
	PROOF_REPLY_DEPTH = 136,
	// Reserved.
	PROOF_REPLY_RESERVED = 137,
	// Length of the transaction; 0 on Bitcoin.
	PROOF_REPLY_TRANSACTION_LENGTH = 138,
	// Length of the coinbase transaction; 0 on the own chain.
	PROOF_REPLY_COINBASE_LENGTH = 140,
	// Reserved.
	PROOF_REPLY_RESERVED_END = 142,
	// Leaf: the transaction's hash.
	PROOF_REPLY_LEAF = 144,
	// Its length, without what may follow.
	PROOF_REPLY_BYTES = 176,
};

#endif
