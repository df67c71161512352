//! Frames of the Turnpike protocol: layouts, parsing, building.
//!
//! Every frame is a `#[repr(C)]` structure of big-endian fields without padding, so a received datagram is used in
//! place: [`Frame::parse`] checks it and returns references into it, and the reply overwrites it. Nothing here
//! allocates, and no bytes can make it panic. The layouts are those of `docs/protocol.md`, name by name.
//!
//! ```
//! use turnpike_wire::{Command, CompactFrame, Frame};
//! use zerocopy::IntoBytes;
//!
//! let request = CompactFrame::new(Command::Transfer, 7, 1, 2, 50);
//! let Ok(Frame::Compact(received)) = Frame::parse(request.as_bytes()) else {
//!     unreachable!("a compact frame");
//! };
//! assert_eq!(received.command(), Ok(Command::Transfer));
//! ```
//!
//! Start with [`Frame`] (`frame`), which parses every request, then `operation` and `reply`. `schema/` generates
//! `layouts` and `codes`.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod assets;
mod batch;
mod change;
mod codes;
mod command;
mod compact;
mod error;
mod fast_path;
mod feed;
mod finality;
mod frame;
mod full;
mod header;
mod headers;
mod history;
pub mod holds;
mod ids;
mod info;
mod layouts;
pub mod linked;
mod macros;
mod operation;
mod proof;
mod reply;
mod status;
mod verify;

pub use batch::{Batch, BatchEntries, BatchEntriesMut, BatchMut};
pub use codes::{
    BatchFormat, Chain, Command, DEFAULT_PORT, ERROR_TYPE, ETHERNET_DATAGRAM, FrameType, MAGIC, MAX_DATAGRAM,
    MESSAGE_REPLY_BIT, MIN_DATAGRAM, Promise, Query, REPLY_BIT, Status, VERSION, VerifyCommand, VerifyingKeyId,
};
pub use error::{ParseError, write_refusal};
pub use fast_path::ParsedVote;
pub use frame::{Frame, FrameMut, Padded};
pub use ids::{AccountId, ParseIdError, TransactionId};
pub use layouts::{
    AssetTotal, AssetsFrame, BatchHeader, BlsBody, ChangeFrame, CompactEntry, CompactFrame, DelayBody, EcdsaBody,
    EquihashBody, ErrorFrame, FastBatch, FastCertificate, FastClosingReport, FastOrder, FastReport, FastVote,
    FeedEntry, FeedFrame, FeedTail, FinalityFrame, FrameHeader, FullFrame, FullReply, Groth16Body, HeadersFrame,
    HistoryEntry, HistoryFrame, IndexEntry, IndexReply, InfoFrame, MerkleBody, MessageHeader, Operation, ProofReply,
    ProofRequest, SchnorrBody, SignedOperation, VerifyHeader, VerifyResult,
};
pub use proof::{key_of_locator, key_of_transaction};
pub use reply::{
    AssetsReply, BatchReply, FeedReply, FinalityReply, HeadersReply, HistoryReply, IndexProof, Reply, ReplyError,
    TransactionProof, VerifyReply,
};
pub use status::UnknownStatus;
pub use verify::{MAX_PAIRS, PairBytes, Verification, Verify, write_verify_reply};

pub use zerocopy::byteorder::big_endian::{U16, U32, U64};
