//! The fixed parts of the frames, field after field.
//!
//! Made by schema/generate.py of schema/frames.toml; change that.

use crate::{AccountId, TransactionId, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first 8 bytes of all frames except the compact one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct FrameHeader {
    /// `0x5450`, "TP".
    pub magic: U16,
    /// Version, `0x01`.
    pub version: u8,
    /// Type; replies have `0x80` added, `0xff` is an error.
    pub kind: u8,
    /// Id: chosen by the client, echoed.
    pub id: U32,
}

impl FrameHeader {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 8;
}

const _: () = {
    assert!(size_of::<FrameHeader>() == FrameHeader::LENGTH);
    assert!(core::mem::offset_of!(FrameHeader, magic) == 0);
    assert!(core::mem::offset_of!(FrameHeader, version) == 2);
    assert!(core::mem::offset_of!(FrameHeader, kind) == 3);
    assert!(core::mem::offset_of!(FrameHeader, id) == 4);
};

/// The frame of the in-NIC transfer paper, 22 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct CompactFrame {
    /// Command.
    pub command: U32,
    /// Transaction id; names the operation, together with the source.
    pub transaction: U32,
    /// Source: the account that the operation is about.
    pub source: U32,
    /// Destination: the receiver of a transfer, else 0.
    pub destination: U32,
    /// Amount; in the reply the value, or 0xffffffff if it is larger.
    pub amount: U32,
    /// Status; 0 in requests.
    pub status: U16,
}

impl CompactFrame {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 22;
}

const _: () = {
    assert!(size_of::<CompactFrame>() == CompactFrame::LENGTH);
    assert!(core::mem::offset_of!(CompactFrame, command) == 0);
    assert!(core::mem::offset_of!(CompactFrame, transaction) == 4);
    assert!(core::mem::offset_of!(CompactFrame, source) == 8);
    assert!(core::mem::offset_of!(CompactFrame, destination) == 12);
    assert!(core::mem::offset_of!(CompactFrame, amount) == 16);
    assert!(core::mem::offset_of!(CompactFrame, status) == 20);
};

/// A compact frame in a batch, 24 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct CompactEntry {
    /// The frame.
    pub frame: CompactFrame,
    /// Reserved.
    pub reserved: U16,
}

impl CompactEntry {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 24;
}

const _: () = {
    assert!(size_of::<CompactEntry>() == CompactEntry::LENGTH);
    assert!(core::mem::offset_of!(CompactEntry, frame) == 0);
    assert!(core::mem::offset_of!(CompactEntry, reserved) == 22);
};

/// The reply to a frame that cannot be answered in its own format, 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ErrorFrame {
    /// Header with the request's id.
    pub header: FrameHeader,
    /// Status.
    pub status: U16,
    /// Reserved.
    pub reserved: U16,
    /// Detail: for `REPLY_TOO_LARGE` the length needed, else 0.
    pub detail: U32,
}

impl ErrorFrame {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 16;
}

const _: () = {
    assert!(size_of::<ErrorFrame>() == ErrorFrame::LENGTH);
    assert!(core::mem::offset_of!(ErrorFrame, header) == 0);
    assert!(core::mem::offset_of!(ErrorFrame, status) == 8);
    assert!(core::mem::offset_of!(ErrorFrame, reserved) == 10);
    assert!(core::mem::offset_of!(ErrorFrame, detail) == 12);
};

/// One operation, 64 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Operation {
    /// Flags; bit 0: the transaction id is a UUIDv7 and carries a time.
    pub flags: u8,
    /// Command.
    pub command: u8,
    /// Status; 0 in requests.
    pub status: U16,
    /// Contract code: the contract that the operation belongs to; the ledger does not interpret it.
    pub contract: U32,
    /// Transaction id; names the operation, together with the source or the payer.
    pub transaction: TransactionId,
    /// Source: the account that the operation is about.
    pub source: AccountId,
    /// Destination: the receiver of a transfer, or the payer of a CREATE's deposit; else 0.
    pub destination: AccountId,
    /// Amount; in replies the value.
    pub amount: U64,
}

impl Operation {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 64;
}

const _: () = {
    assert!(size_of::<Operation>() == Operation::LENGTH);
    assert!(core::mem::offset_of!(Operation, flags) == 0);
    assert!(core::mem::offset_of!(Operation, command) == 1);
    assert!(core::mem::offset_of!(Operation, status) == 2);
    assert!(core::mem::offset_of!(Operation, contract) == 4);
    assert!(core::mem::offset_of!(Operation, transaction) == 8);
    assert!(core::mem::offset_of!(Operation, source) == 24);
    assert!(core::mem::offset_of!(Operation, destination) == 40);
    assert!(core::mem::offset_of!(Operation, amount) == 56);
};

/// One operation with the signature of an authorised key, 184 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct SignedOperation {
    /// Operation (its transaction id is the paper's UUID).
    pub operation: Operation,
    /// Timestamp, microseconds since the Unix epoch.
    pub timestamp: U64,
    /// Nonce: distinguishes operations signed within one microsecond.
    pub nonce: U32,
    /// Promise requested; in replies the one made.
    pub promise: u8,
    /// Reserved.
    pub reserved: [u8; 3],
    /// Public key, secp256k1, compressed.
    pub public_key: [u8; 33],
    /// Reserved.
    pub reserved_key: [u8; 7],
    /// Signature: ECDSA, r ‖ s, low s.
    pub signature: [u8; 64],
}

impl SignedOperation {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 184;
}

const _: () = {
    assert!(size_of::<SignedOperation>() == SignedOperation::LENGTH);
    assert!(core::mem::offset_of!(SignedOperation, operation) == 0);
    assert!(core::mem::offset_of!(SignedOperation, timestamp) == 64);
    assert!(core::mem::offset_of!(SignedOperation, nonce) == 72);
    assert!(core::mem::offset_of!(SignedOperation, promise) == 76);
    assert!(core::mem::offset_of!(SignedOperation, reserved) == 77);
    assert!(core::mem::offset_of!(SignedOperation, public_key) == 80);
    assert!(core::mem::offset_of!(SignedOperation, reserved_key) == 113);
    assert!(core::mem::offset_of!(SignedOperation, signature) == 120);
};

/// Request of one signed operation, 192 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct FullFrame {
    /// Header: its id is the paper's serial transaction id.
    pub header: FrameHeader,
    /// The operation.
    pub signed: SignedOperation,
}

impl FullFrame {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 192;
}

const _: () = {
    assert!(size_of::<FullFrame>() == FullFrame::LENGTH);
    assert!(core::mem::offset_of!(FullFrame, header) == 0);
    assert!(core::mem::offset_of!(FullFrame, signed) == 8);
};

/// Reply to a full transfer frame: the request's first 88 bytes with status, value and promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct FullReply {
    /// Header with the request's id.
    pub header: FrameHeader,
    /// The request's, with status and value.
    pub operation: Operation,
    /// The request's.
    pub timestamp: U64,
    /// The request's.
    pub nonce: U32,
    /// Promise made.
    pub promise: u8,
    /// Reserved.
    pub reserved: [u8; 3],
}

impl FullReply {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 88;
}

const _: () = {
    assert!(size_of::<FullReply>() == FullReply::LENGTH);
    assert!(core::mem::offset_of!(FullReply, header) == 0);
    assert!(core::mem::offset_of!(FullReply, operation) == 8);
    assert!(core::mem::offset_of!(FullReply, timestamp) == 72);
    assert!(core::mem::offset_of!(FullReply, nonce) == 80);
    assert!(core::mem::offset_of!(FullReply, promise) == 84);
    assert!(core::mem::offset_of!(FullReply, reserved) == 85);
};

/// The first 16 bytes of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct BatchHeader {
    /// Header.
    pub header: FrameHeader,
    /// Count: number of operations, from 1.
    pub count: U16,
    /// Format: 0 compact, 1 operation, 2 signed operation.
    pub format: u8,
    /// Promise requested; in the reply the one made.
    pub promise: u8,
    /// Status of the batch as a whole; 0 in requests.
    pub status: U16,
    /// Reserved.
    pub reserved: U16,
}

impl BatchHeader {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 16;
}

const _: () = {
    assert!(size_of::<BatchHeader>() == BatchHeader::LENGTH);
    assert!(core::mem::offset_of!(BatchHeader, header) == 0);
    assert!(core::mem::offset_of!(BatchHeader, count) == 8);
    assert!(core::mem::offset_of!(BatchHeader, format) == 10);
    assert!(core::mem::offset_of!(BatchHeader, promise) == 11);
    assert!(core::mem::offset_of!(BatchHeader, status) == 12);
    assert!(core::mem::offset_of!(BatchHeader, reserved) == 14);
};

/// Request of a proof, 48 bytes, and the first 48 bytes of its reply.
///
/// In the request, zeros follow up to the length of the largest reply that the client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ProofRequest {
    /// Header.
    pub header: FrameHeader,
    /// Chain: 0 the node's own, 1 Bitcoin.
    pub chain: u8,
    /// Query: 1 latest by address, 2 by transaction id, 3 by locator, 4 index entry of an address.
    pub query: u8,
    /// Status; 0 in requests.
    pub status: U16,
    /// Reserved; in replies the number of bytes used after the first 48.
    pub body_length: U32,
    /// Key: the subject of the query.
    pub key: [u8; 32],
}

impl ProofRequest {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 48;
}

const _: () = {
    assert!(size_of::<ProofRequest>() == ProofRequest::LENGTH);
    assert!(core::mem::offset_of!(ProofRequest, header) == 0);
    assert!(core::mem::offset_of!(ProofRequest, chain) == 8);
    assert!(core::mem::offset_of!(ProofRequest, query) == 9);
    assert!(core::mem::offset_of!(ProofRequest, status) == 10);
    assert!(core::mem::offset_of!(ProofRequest, body_length) == 12);
    assert!(core::mem::offset_of!(ProofRequest, key) == 16);
};

/// Fixed part of the reply to queries 1, 2 and 3, 176 bytes.
///
/// Path, transaction, path of the coinbase transaction and coinbase transaction follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ProofReply {
    /// The request with its status.
    pub request: ProofRequest,
    /// Hash of the tip that the reply is based on.
    pub tip_hash: [u8; 32],
    /// Height of that tip.
    pub tip_height: U64,
    /// Hash of the block.
    pub block_hash: [u8; 32],
    /// Height of the block.
    pub block_height: U64,
    /// Number of transactions in the block.
    pub transaction_count: U32,
    /// Position of the transaction.
    pub position: U32,
    /// Depth: number of nodes in the path, ceil(log2 of the number of transactions).
    pub depth: u8,
    /// Reserved.
    pub reserved: u8,
    /// Length of the transaction; 0 on Bitcoin.
    pub transaction_length: U16,
    /// Length of the coinbase transaction; 0 on the own chain.
    pub coinbase_length: U16,
    /// Reserved.
    pub reserved_end: U16,
    /// Leaf: the transaction's hash.
    pub leaf: [u8; 32],
}

impl ProofReply {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 176;
}

const _: () = {
    assert!(size_of::<ProofReply>() == ProofReply::LENGTH);
    assert!(core::mem::offset_of!(ProofReply, request) == 0);
    assert!(core::mem::offset_of!(ProofReply, tip_hash) == 48);
    assert!(core::mem::offset_of!(ProofReply, tip_height) == 80);
    assert!(core::mem::offset_of!(ProofReply, block_hash) == 88);
    assert!(core::mem::offset_of!(ProofReply, block_height) == 120);
    assert!(core::mem::offset_of!(ProofReply, transaction_count) == 128);
    assert!(core::mem::offset_of!(ProofReply, position) == 132);
    assert!(core::mem::offset_of!(ProofReply, depth) == 136);
    assert!(core::mem::offset_of!(ProofReply, reserved) == 137);
    assert!(core::mem::offset_of!(ProofReply, transaction_length) == 138);
    assert!(core::mem::offset_of!(ProofReply, coinbase_length) == 140);
    assert!(core::mem::offset_of!(ProofReply, reserved_end) == 142);
    assert!(core::mem::offset_of!(ProofReply, leaf) == 144);
};

/// Fixed part of the reply to query 4, 104 bytes. Path and entries follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct IndexReply {
    /// The request with its status.
    pub request: ProofRequest,
    /// Hash of the block whose index root it is proved against.
    pub block_hash: [u8; 32],
    /// Its height.
    pub block_height: U64,
    /// Reserved.
    pub reserved: U64,
    /// Depth: number of nodes in the path.
    pub depth: u8,
    /// Number of entries in the leaf, at most 16 (more only at depth 64).
    pub entry_count: u8,
    /// Reserved.
    pub reserved_end: [u8; 6],
}

impl IndexReply {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 104;
}

const _: () = {
    assert!(size_of::<IndexReply>() == IndexReply::LENGTH);
    assert!(core::mem::offset_of!(IndexReply, request) == 0);
    assert!(core::mem::offset_of!(IndexReply, block_hash) == 48);
    assert!(core::mem::offset_of!(IndexReply, block_height) == 80);
    assert!(core::mem::offset_of!(IndexReply, reserved) == 88);
    assert!(core::mem::offset_of!(IndexReply, depth) == 96);
    assert!(core::mem::offset_of!(IndexReply, entry_count) == 97);
    assert!(core::mem::offset_of!(IndexReply, reserved_end) == 98);
};

/// An account in a leaf of the index, 32 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct IndexEntry {
    /// Account id.
    pub account: AccountId,
    /// Its balance.
    pub balance: U64,
    /// Height of the block of its latest transaction.
    pub height: U32,
    /// Position of its latest transaction in that block.
    pub position: U32,
}

impl IndexEntry {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 32;
}

const _: () = {
    assert!(size_of::<IndexEntry>() == IndexEntry::LENGTH);
    assert!(core::mem::offset_of!(IndexEntry, account) == 0);
    assert!(core::mem::offset_of!(IndexEntry, balance) == 16);
    assert!(core::mem::offset_of!(IndexEntry, height) == 24);
    assert!(core::mem::offset_of!(IndexEntry, position) == 28);
};

/// Request of headers, 64 bytes, and the first 64 bytes of its reply; the headers follow.
///
/// In the request, zeros follow up to the length of the largest reply that the client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct HeadersFrame {
    /// Header.
    pub header: FrameHeader,
    /// Chain: 0 the node's own, 1 Bitcoin.
    pub chain: u8,
    /// Reserved.
    pub reserved: u8,
    /// Status; 0 in requests.
    pub status: U16,
    /// Number of headers: requested, returned.
    pub count: U16,
    /// Reserved; in replies the size of a header (own chain 192: 128 and its seal, Bitcoin 80).
    pub header_size: U16,
    /// Height of the first.
    pub first_height: U64,
    /// Reserved; in replies the tip's height.
    pub tip_height: U64,
    /// Reserved; in replies the tip's hash.
    pub tip_hash: [u8; 32],
}

impl HeadersFrame {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 64;
}

const _: () = {
    assert!(size_of::<HeadersFrame>() == HeadersFrame::LENGTH);
    assert!(core::mem::offset_of!(HeadersFrame, header) == 0);
    assert!(core::mem::offset_of!(HeadersFrame, chain) == 8);
    assert!(core::mem::offset_of!(HeadersFrame, reserved) == 9);
    assert!(core::mem::offset_of!(HeadersFrame, status) == 10);
    assert!(core::mem::offset_of!(HeadersFrame, count) == 12);
    assert!(core::mem::offset_of!(HeadersFrame, header_size) == 14);
    assert!(core::mem::offset_of!(HeadersFrame, first_height) == 16);
    assert!(core::mem::offset_of!(HeadersFrame, tip_height) == 24);
    assert!(core::mem::offset_of!(HeadersFrame, tip_hash) == 32);
};

/// Request and reply of a node's properties, 128 bytes; in requests all zero after the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct InfoFrame {
    /// Header.
    pub header: FrameHeader,
    /// Status.
    pub status: U16,
    /// Promise of compact frames.
    pub promise: u8,
    /// Bit 0: serves Bitcoin; bit 1: reads only (storage failed).
    pub flags: u8,
    /// Largest datagram accepted.
    pub max_datagram: U32,
    /// Network id.
    pub network: [u8; 32],
    /// Height of the own tip.
    pub tip_height: U64,
    /// Hash of the own tip.
    pub tip_hash: [u8; 32],
    /// Height of the Bitcoin tip.
    pub bitcoin_height: U64,
    /// Number of accounts.
    pub accounts: U64,
    /// Last durable sequence.
    pub durable_sequence: U64,
    /// Program version, ASCII, zero padded.
    pub program: [u8; 12],
    /// Retry time: milliseconds for which a retry is recognised; 0 if the node does not report it.
    pub retry_milliseconds: U32,
}

impl InfoFrame {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 128;
}

const _: () = {
    assert!(size_of::<InfoFrame>() == InfoFrame::LENGTH);
    assert!(core::mem::offset_of!(InfoFrame, header) == 0);
    assert!(core::mem::offset_of!(InfoFrame, status) == 8);
    assert!(core::mem::offset_of!(InfoFrame, promise) == 10);
    assert!(core::mem::offset_of!(InfoFrame, flags) == 11);
    assert!(core::mem::offset_of!(InfoFrame, max_datagram) == 12);
    assert!(core::mem::offset_of!(InfoFrame, network) == 16);
    assert!(core::mem::offset_of!(InfoFrame, tip_height) == 48);
    assert!(core::mem::offset_of!(InfoFrame, tip_hash) == 56);
    assert!(core::mem::offset_of!(InfoFrame, bitcoin_height) == 88);
    assert!(core::mem::offset_of!(InfoFrame, accounts) == 96);
    assert!(core::mem::offset_of!(InfoFrame, durable_sequence) == 104);
    assert!(core::mem::offset_of!(InfoFrame, program) == 112);
    assert!(core::mem::offset_of!(InfoFrame, retry_milliseconds) == 124);
};

/// Request of a certificate of replicas, 72 bytes, and the first 72 bytes of its reply; the keys of the replicas of a
/// generation and a certificate follow.
///
/// For the newest generation it is the newest certificate. For an earlier one it is the change that ended the generation,
/// with the signatures that decided it.
///
/// In the request, zeros follow up to the length of the largest reply that the client accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct FinalityFrame {
    /// Header.
    pub header: FrameHeader,
    /// Status; 0 in requests.
    pub status: U16,
    /// Bytes of the certificate; 0 if there is none yet.
    pub certificate_size: U16,
    /// Number of replicas in the generation.
    pub replicas: u8,
    /// Number of the answering replica in the voting set; 255 if it is not a member.
    pub replica: u8,
    /// Number of the leader.
    pub leader: u8,
    /// Reserved.
    pub reserved: u8,
    /// The leader's view.
    pub view: U64,
    /// Height of the last final block that was executed here.
    pub height: U64,
    /// Hash of its header.
    pub hash: [u8; 32],
    /// Generation: the requested one, and the one that the reply is about.
    pub generation: U32,
    /// The newest generation; 0 in requests.
    pub generations: U32,
}

impl FinalityFrame {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 72;
}

const _: () = {
    assert!(size_of::<FinalityFrame>() == FinalityFrame::LENGTH);
    assert!(core::mem::offset_of!(FinalityFrame, header) == 0);
    assert!(core::mem::offset_of!(FinalityFrame, status) == 8);
    assert!(core::mem::offset_of!(FinalityFrame, certificate_size) == 10);
    assert!(core::mem::offset_of!(FinalityFrame, replicas) == 12);
    assert!(core::mem::offset_of!(FinalityFrame, replica) == 13);
    assert!(core::mem::offset_of!(FinalityFrame, leader) == 14);
    assert!(core::mem::offset_of!(FinalityFrame, reserved) == 15);
    assert!(core::mem::offset_of!(FinalityFrame, view) == 16);
    assert!(core::mem::offset_of!(FinalityFrame, height) == 24);
    assert!(core::mem::offset_of!(FinalityFrame, hash) == 32);
    assert!(core::mem::offset_of!(FinalityFrame, generation) == 64);
    assert!(core::mem::offset_of!(FinalityFrame, generations) == 68);
};

/// Request that sends an approval of a change of the set to a replica, 200 bytes, and its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct ChangeFrame {
    /// Header.
    pub header: FrameHeader,
    /// Status; 0 in requests.
    pub status: U16,
    /// Reserved.
    pub reserved: [u8; 6],
    /// The approval.
    pub approval: [u8; 184],
}

impl ChangeFrame {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 200;
}

const _: () = {
    assert!(size_of::<ChangeFrame>() == ChangeFrame::LENGTH);
    assert!(core::mem::offset_of!(ChangeFrame, header) == 0);
    assert!(core::mem::offset_of!(ChangeFrame, status) == 8);
    assert!(core::mem::offset_of!(ChangeFrame, reserved) == 10);
    assert!(core::mem::offset_of!(ChangeFrame, approval) == 16);
};

/// The first 16 bytes of a verify frame; messages follow, or in replies [`VerifyResult`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct VerifyHeader {
    /// Header.
    pub header: FrameHeader,
    /// Count: number of messages, from 1.
    pub count: U16,
    /// Reserved.
    pub reserved: U16,
    /// Status of the frame as a whole; 0 in requests.
    pub status: U16,
    /// Reserved.
    pub reserved_end: U16,
}

impl VerifyHeader {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 16;
}

const _: () = {
    assert!(size_of::<VerifyHeader>() == VerifyHeader::LENGTH);
    assert!(core::mem::offset_of!(VerifyHeader, header) == 0);
    assert!(core::mem::offset_of!(VerifyHeader, count) == 8);
    assert!(core::mem::offset_of!(VerifyHeader, reserved) == 10);
    assert!(core::mem::offset_of!(VerifyHeader, status) == 12);
    assert!(core::mem::offset_of!(VerifyHeader, reserved_end) == 14);
};

/// The first 16 bytes of a message of a verify frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct MessageHeader {
    /// Command; in results with `0x80000000` added.
    pub command: U32,
    /// Length of the message, including these 16 bytes.
    pub length: U32,
    /// Index: chosen by the client, echoed.
    pub index: U64,
}

impl MessageHeader {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 16;
}

const _: () = {
    assert!(size_of::<MessageHeader>() == MessageHeader::LENGTH);
    assert!(core::mem::offset_of!(MessageHeader, command) == 0);
    assert!(core::mem::offset_of!(MessageHeader, length) == 4);
    assert!(core::mem::offset_of!(MessageHeader, index) == 8);
};

/// The reply to a message, 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct VerifyResult {
    /// The request's first 16 bytes, with the reply's command and length.
    pub message: MessageHeader,
    /// Result mask: 0 if all is valid, else the bit of the first broken rule.
    pub result_mask: U64,
    /// Cycle count: cycles of the node's time-stamp counter, or nanoseconds on processors without one.
    pub cycle_count: U64,
}

impl VerifyResult {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 32;
}

const _: () = {
    assert!(size_of::<VerifyResult>() == VerifyResult::LENGTH);
    assert!(core::mem::offset_of!(VerifyResult, message) == 0);
    assert!(core::mem::offset_of!(VerifyResult, result_mask) == 16);
    assert!(core::mem::offset_of!(VerifyResult, cycle_count) == 24);
};

/// Body of an Equihash message, 16 bytes; the header follows, as in a block: 140 bytes, the solution's length, the solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct EquihashBody {
    /// N: bits of a leaf.
    pub n: U16,
    /// K: levels of the tree.
    pub k: u8,
    /// Flags; bit 0: do not compare the header's hash with its target.
    pub flags: u8,
    /// Reserved.
    pub reserved: U32,
    /// The chain's personalisation.
    pub personalisation: [u8; 8],
}

impl EquihashBody {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 16;
}

const _: () = {
    assert!(size_of::<EquihashBody>() == EquihashBody::LENGTH);
    assert!(core::mem::offset_of!(EquihashBody, n) == 0);
    assert!(core::mem::offset_of!(EquihashBody, k) == 2);
    assert!(core::mem::offset_of!(EquihashBody, flags) == 3);
    assert!(core::mem::offset_of!(EquihashBody, reserved) == 4);
    assert!(core::mem::offset_of!(EquihashBody, personalisation) == 8);
};

/// Body of an ECDSA message, 168 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct EcdsaBody {
    /// Flags; bit 0: a high s is not valid.
    pub flags: u8,
    /// Length of the key: 33 or 65.
    pub key_length: u8,
    /// Reserved.
    pub reserved: U16,
    /// The signed digest.
    pub digest: [u8; 32],
    /// R ‖ s.
    pub signature: [u8; 64],
    /// The public key, compressed or not, and zeros.
    pub key: [u8; 65],
    /// Reserved.
    pub reserved_end: [u8; 3],
}

impl EcdsaBody {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 168;
}

const _: () = {
    assert!(size_of::<EcdsaBody>() == EcdsaBody::LENGTH);
    assert!(core::mem::offset_of!(EcdsaBody, flags) == 0);
    assert!(core::mem::offset_of!(EcdsaBody, key_length) == 1);
    assert!(core::mem::offset_of!(EcdsaBody, reserved) == 2);
    assert!(core::mem::offset_of!(EcdsaBody, digest) == 4);
    assert!(core::mem::offset_of!(EcdsaBody, signature) == 36);
    assert!(core::mem::offset_of!(EcdsaBody, key) == 100);
    assert!(core::mem::offset_of!(EcdsaBody, reserved_end) == 165);
};

/// Body of a BIP340 message, 128 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct SchnorrBody {
    /// The signed message.
    pub message: [u8; 32],
    /// The public key: the x of a point.
    pub key: [u8; 32],
    /// The signature.
    pub signature: [u8; 64],
}

impl SchnorrBody {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 128;
}

const _: () = {
    assert!(size_of::<SchnorrBody>() == SchnorrBody::LENGTH);
    assert!(core::mem::offset_of!(SchnorrBody, message) == 0);
    assert!(core::mem::offset_of!(SchnorrBody, key) == 32);
    assert!(core::mem::offset_of!(SchnorrBody, signature) == 64);
};

/// Body of a message with a Merkle tree of Bitcoin: its root; all its leaves follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct MerkleBody {
    /// The claimed root.
    pub root: [u8; 32],
}

impl MerkleBody {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 32;
}

const _: () = {
    assert!(size_of::<MerkleBody>() == MerkleBody::LENGTH);
    assert!(core::mem::offset_of!(MerkleBody, root) == 0);
};

/// Body of a message with a BLS signature, 144 bytes; the signed message follows, of any length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct BlsBody {
    /// The public key: a compressed point of G1.
    pub key: [u8; 48],
    /// The signature: a compressed point of G2.
    pub signature: [u8; 96],
}

impl BlsBody {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 144;
}

const _: () = {
    assert!(size_of::<BlsBody>() == BlsBody::LENGTH);
    assert!(core::mem::offset_of!(BlsBody, key) == 0);
    assert!(core::mem::offset_of!(BlsBody, signature) == 48);
};

/// Body of a message with a Groth16 proof, 200 bytes; its public inputs follow, 32 little-endian bytes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Groth16Body {
    /// Verifying key: 1 (Sapling spend), 2 (Sapling output) or 3 (Sprout).
    pub key: u8,
    /// Reserved.
    pub reserved: [u8; 7],
    /// A, B and C, compressed.
    pub proof: [u8; 192],
}

impl Groth16Body {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 200;
}

const _: () = {
    assert!(size_of::<Groth16Body>() == Groth16Body::LENGTH);
    assert!(core::mem::offset_of!(Groth16Body, key) == 0);
    assert!(core::mem::offset_of!(Groth16Body, reserved) == 1);
    assert!(core::mem::offset_of!(Groth16Body, proof) == 8);
};

/// The first 10 bytes of the proof of a delay. Modulus, input, the number of squarings, output and proof of each segment follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct DelayBody {
    /// `TPDELAY1`.
    pub magic: [u8; 8],
    /// Bytes of the modulus, and of every number.
    pub length: U16,
}

impl DelayBody {
    /// Its length in bytes, of a frame without what may follow.
    pub const LENGTH: usize = 10;
}

const _: () = {
    assert!(size_of::<DelayBody>() == DelayBody::LENGTH);
    assert!(core::mem::offset_of!(DelayBody, magic) == 0);
    assert!(core::mem::offset_of!(DelayBody, length) == 8);
};
