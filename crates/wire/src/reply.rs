//! Parsing of all replies.

use crate::{
    AssetTotal, AssetsFrame, BatchEntries, BatchHeader, Chain, ChangeFrame, CompactFrame, ErrorFrame, FeedEntry,
    FeedFrame, FeedTail, FinalityFrame, FrameHeader, FrameType, FullReply, HeadersFrame, HistoryEntry, HistoryFrame,
    IndexEntry, IndexReply, InfoFrame, MAGIC, ProofReply, ProofRequest, Query, REPLY_BIT, Status, VERSION,
    VerifyHeader, VerifyResult,
};
use core::fmt;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// A reply of a node. Its variable parts have the lengths given in it; nothing else in it may be trusted.
#[derive(Clone, Copy, Debug)]
pub enum Reply<'a> {
    /// To a compact transfer frame.
    Compact(&'a CompactFrame),
    /// To a full transfer frame.
    Full(&'a FullReply),
    /// To a batch frame.
    Batch(BatchReply<'a>),
    /// To a proof frame with query 1, 2 or 3.
    Proof(TransactionProof<'a>),
    /// To a proof frame with query 4.
    Index(IndexProof<'a>),
    /// To a proof frame that was refused.
    ProofRefused(&'a ProofRequest, Status),
    /// To a headers frame.
    Headers(HeadersReply<'a>),
    /// To an info frame.
    Info(&'a InfoFrame),
    /// To a verify frame.
    Verify(VerifyReply<'a>),
    /// To a finality frame.
    Finality(FinalityReply<'a>),
    /// To a member change frame.
    Change(&'a ChangeFrame),
    /// To a feed frame: one of many.
    Feed(FeedReply<'a>),
    /// To a history frame.
    History(HistoryReply<'a>),
    /// To an assets frame.
    Assets(AssetsReply<'a>),
    /// To anything else that was refused.
    Error(&'a ErrorFrame, Status),
}

/// Reply to a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchReply<'a> {
    /// Its header.
    pub header: &'a BatchHeader,
    /// Status of the batch as a whole; if it is not `OK` there may be no entries.
    pub status: Status,
    /// Its entries.
    pub entries: BatchEntries<'a>,
}

/// Proof of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct TransactionProof<'a> {
    /// The fixed part.
    pub fixed: &'a ProofReply,
    /// Nodes from the leaf up.
    pub path: &'a [[u8; 32]],
    /// The transaction: 64 or 184 bytes on the own chain, absent on Bitcoin.
    pub transaction: &'a [u8],
    /// Bitcoin: nodes from the coinbase transaction up.
    pub coinbase_path: &'a [[u8; 32]],
    /// Bitcoin: the coinbase transaction without witness.
    pub coinbase: &'a [u8],
}

/// Proof of an index entry, or of its absence.
#[derive(Clone, Copy, Debug)]
pub struct IndexProof<'a> {
    /// The fixed part.
    pub fixed: &'a IndexReply,
    /// Nodes from the leaf up.
    pub path: &'a [[u8; 32]],
    /// The leaf's entries.
    pub entries: &'a [IndexEntry],
}

/// Reply to a headers frame.
#[derive(Clone, Copy, Debug)]
pub struct HeadersReply<'a> {
    /// The fixed part.
    pub fixed: &'a HeadersFrame,
    /// Its status.
    pub status: Status,
    /// The headers, `fixed.count` of `fixed.header_size` bytes.
    pub headers: &'a [u8],
}

/// Reply to a verify frame.
#[derive(Clone, Copy, Debug)]
pub struct VerifyReply<'a> {
    /// Its header.
    pub header: &'a VerifyHeader,
    /// Its status.
    pub status: Status,
    /// The results, in the order of the messages; empty if the status is not `OK`.
    pub results: &'a [VerifyResult],
}

/// Reply to a finality frame.
#[derive(Clone, Copy, Debug)]
pub struct FinalityReply<'a> {
    /// The fixed part.
    pub fixed: &'a FinalityFrame,
    /// Its status.
    pub status: Status,
    /// The keys of the generation's replicas, by number; empty if the status is not `OK`.
    pub keys: &'a [[u8; FinalityFrame::KEY]],
    /// The newest certificate, empty if there is none; for an earlier generation, the change that ended it.
    pub certificate: &'a [u8],
}

/// Reply to a feed frame.
#[derive(Clone, Copy, Debug)]
pub struct FeedReply<'a> {
    /// The fixed part.
    pub fixed: &'a FeedFrame,
    /// Its status; if it is not `OK`, this is the last reply.
    pub status: Status,
    /// The operations; none in a heartbeat.
    pub entries: &'a [FeedEntry],
    /// What the signed ones have in addition, if that was requested.
    pub tails: &'a [FeedTail],
}

/// Reply to a history frame.
#[derive(Clone, Copy, Debug)]
pub struct HistoryReply<'a> {
    /// The fixed part.
    pub fixed: &'a HistoryFrame,
    /// Its status.
    pub status: Status,
    /// The transactions, the newest first; none if the status is not `OK`.
    pub entries: &'a [HistoryEntry],
}

/// Reply to an assets frame.
#[derive(Clone, Copy, Debug)]
pub struct AssetsReply<'a> {
    /// The fixed part.
    pub fixed: &'a AssetsFrame,
    /// Its status.
    pub status: Status,
    /// The assets, by ascending code; none if the status is not `OK`.
    pub totals: &'a [AssetTotal],
}

/// Why bytes are not a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyError {
    /// Not a frame of this protocol, or not a reply.
    NotAReply,
    /// A reply of another version.
    UnsupportedVersion(u8),
    /// Its length does not match its fields.
    WrongLength,
    /// A field has a value unknown to this version.
    UnknownCode,
}

impl fmt::Display for ReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAReply => {
                f.write_str("the datagram is no reply of a Turnpike node; check the address and the port")
            }
            Self::UnsupportedVersion(version) => {
                write!(f, "the node speaks version {version} of the protocol; use a client of that version")
            }
            Self::WrongLength => {
                f.write_str("the reply's length is not the one its fields ask for; the node is faulty")
            }
            Self::UnknownCode => {
                f.write_str("the reply has a code unknown to this version; use a client of the node's version")
            }
        }
    }
}

impl core::error::Error for ReplyError {}

impl<'a> Reply<'a> {
    /// Parses the bytes of a datagram as a reply.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ReplyError> {
        let (header, _) = FrameHeader::ref_from_prefix(bytes).map_err(|_| ReplyError::NotAReply)?;
        if header.magic.get() != MAGIC {
            let frame = CompactFrame::ref_from_bytes(bytes).map_err(|_| ReplyError::NotAReply)?;
            frame.status().map_err(|_| ReplyError::UnknownCode)?;
            return Ok(Self::Compact(frame));
        }
        if header.kind & REPLY_BIT == 0 {
            return Err(ReplyError::NotAReply);
        }
        if header.version != VERSION {
            return Err(ReplyError::UnsupportedVersion(header.version));
        }
        if header.kind == ErrorFrame::TYPE {
            let frame = ErrorFrame::ref_from_bytes(bytes).map_err(|_| ReplyError::WrongLength)?;
            return Ok(Self::Error(frame, known(frame.status())?));
        }
        match FrameType::try_from(header.kind & !REPLY_BIT) {
            Ok(FrameType::Full) => {
                let reply = FullReply::ref_from_bytes(bytes).map_err(|_| ReplyError::WrongLength)?;
                known(reply.operation.status())?;
                Ok(Self::Full(reply))
            }
            Ok(FrameType::Batch) => BatchReply::parse(bytes).map(Self::Batch),
            Ok(FrameType::Proof) => Self::parse_proof(bytes),
            Ok(FrameType::Headers) => HeadersReply::parse(bytes).map(Self::Headers),
            Ok(FrameType::Info) => {
                let reply = InfoFrame::ref_from_bytes(bytes).map_err(|_| ReplyError::WrongLength)?;
                known(reply.status())?;
                Ok(Self::Info(reply))
            }
            Ok(FrameType::Verify) => VerifyReply::parse(bytes).map(Self::Verify),
            Ok(FrameType::Finality) => FinalityReply::parse(bytes).map(Self::Finality),
            Ok(FrameType::Change) => {
                let reply = ChangeFrame::ref_from_bytes(bytes).map_err(|_| ReplyError::WrongLength)?;
                known(reply.status())?;
                Ok(Self::Change(reply))
            }
            Ok(FrameType::Feed) => FeedReply::parse(bytes).map(Self::Feed),
            Ok(FrameType::History) => HistoryReply::parse(bytes).map(Self::History),
            Ok(FrameType::Assets) => AssetsReply::parse(bytes).map(Self::Assets),
            Err(_) => Err(ReplyError::UnknownCode),
        }
    }

    fn parse_proof(bytes: &'a [u8]) -> Result<Self, ReplyError> {
        let (request, rest) = ProofRequest::ref_from_prefix(bytes).map_err(|_| ReplyError::WrongLength)?;
        let status = known(request.status())?;
        if !status.is_ok() {
            return Ok(Self::ProofRefused(request, status));
        }
        let query = known(request.query())?;
        let chain = known(request.chain())?;
        if u32::try_from(rest.len()).is_ok_and(|length| length < request.body_length.get()) {
            return Err(ReplyError::WrongLength);
        }
        if query == Query::Index {
            let (fixed, rest) = IndexReply::ref_from_prefix(bytes).map_err(|_| ReplyError::WrongLength)?;
            let (path, rest) = hashes(rest, fixed.depth)?;
            let (entries, _) = <[IndexEntry]>::ref_from_prefix_with_elems(rest, usize::from(fixed.entry_count))
                .map_err(|_| ReplyError::WrongLength)?;
            check_body(request, fixed.frame_length())?;
            return Ok(Self::Index(IndexProof { fixed, path, entries }));
        }
        let (fixed, rest) = ProofReply::ref_from_prefix(bytes).map_err(|_| ReplyError::WrongLength)?;
        let (path, rest) = hashes(rest, fixed.depth)?;
        let (transaction, rest) = take(rest, fixed.transaction_length.get())?;
        let (coinbase_path, rest) = hashes(rest, if chain == Chain::Bitcoin { fixed.depth } else { 0 })?;
        let (coinbase, _) = take(rest, fixed.coinbase_length.get())?;
        check_body(request, fixed.frame_length())?;
        Ok(Self::Proof(TransactionProof { fixed, path, transaction, coinbase_path, coinbase }))
    }

    /// The id of the request that this answers; in a compact frame the transaction id.
    pub fn id(&self) -> u32 {
        match self {
            Self::Compact(frame) => frame.transaction.get(),
            Self::Full(frame) => frame.header.id.get(),
            Self::Batch(frame) => frame.header.header.id.get(),
            Self::Proof(frame) => frame.fixed.request.header.id.get(),
            Self::Index(frame) => frame.fixed.request.header.id.get(),
            Self::ProofRefused(frame, _) => frame.header.id.get(),
            Self::Headers(frame) => frame.fixed.header.id.get(),
            Self::Info(frame) => frame.header.id.get(),
            Self::Verify(frame) => frame.header.header.id.get(),
            Self::Finality(frame) => frame.fixed.header.id.get(),
            Self::Change(frame) => frame.header.id.get(),
            Self::Feed(frame) => frame.fixed.header.id.get(),
            Self::History(frame) => frame.fixed.header.id.get(),
            Self::Assets(frame) => frame.fixed.header.id.get(),
            Self::Error(frame, _) => frame.header.id.get(),
        }
    }
}

impl<'a> BatchReply<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, ReplyError> {
        let (header, rest) = BatchHeader::ref_from_prefix(bytes).map_err(|_| ReplyError::WrongLength)?;
        let status = known(header.status())?;
        if !status.is_ok() {
            // No operation was processed, so there is nothing to read.
            return Ok(Self { header, status, entries: BatchEntries::Operation(&[]) });
        }
        known(header.promise())?;
        let format = known(header.format())?;
        if header.frame_length() != Ok(bytes.len()) {
            return Err(ReplyError::WrongLength);
        }
        let entries = BatchEntries::parse(format, rest).ok_or(ReplyError::WrongLength)?;
        Ok(Self { header, status, entries })
    }
}

impl<'a> VerifyReply<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, ReplyError> {
        let (header, rest) = VerifyHeader::ref_from_prefix(bytes).map_err(|_| ReplyError::WrongLength)?;
        let status = known(header.status())?;
        let results = <[VerifyResult]>::ref_from_bytes(rest).map_err(|_| ReplyError::WrongLength)?;
        let expected = if status.is_ok() { usize::from(header.count.get()) } else { 0 };
        if results.len() != expected {
            return Err(ReplyError::WrongLength);
        }
        Ok(Self { header, status, results })
    }
}

impl<'a> HeadersReply<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, ReplyError> {
        let (fixed, rest) = HeadersFrame::ref_from_prefix(bytes).map_err(|_| ReplyError::WrongLength)?;
        let status = known(fixed.status())?;
        if !status.is_ok() {
            return Ok(Self { fixed, status, headers: &[] });
        }
        let chain = known(fixed.chain())?;
        if usize::from(fixed.header_size.get()) != HeadersFrame::size_of_header(chain) {
            return Err(ReplyError::UnknownCode);
        }
        let length = fixed.frame_length() - HeadersFrame::LENGTH;
        let headers = rest.get(..length).ok_or(ReplyError::WrongLength)?;
        Ok(Self { fixed, status, headers })
    }
}

impl<'a> FinalityReply<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, ReplyError> {
        let (fixed, rest) = FinalityFrame::ref_from_prefix(bytes).map_err(|_| ReplyError::WrongLength)?;
        let status = known(fixed.status())?;
        if !status.is_ok() {
            return Ok(Self { fixed, status, keys: &[], certificate: &[] });
        }
        let (keys, rest) = hashes(rest, fixed.replicas)?;
        let (certificate, _) = take(rest, fixed.certificate_size.get())?;
        Ok(Self { fixed, status, keys, certificate })
    }
}

impl<'a> FeedReply<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, ReplyError> {
        let (fixed, rest) = FeedFrame::ref_from_prefix(bytes).map_err(|_| ReplyError::WrongLength)?;
        let status = known(fixed.status())?;
        known(fixed.promise())?;
        let entries = <[FeedEntry]>::ref_from_prefix_with_elems(rest, fixed.count.get().into());
        let (entries, rest) = entries.map_err(|_| ReplyError::WrongLength)?;
        let tails = <[FeedTail]>::ref_from_bytes(rest).map_err(|_| ReplyError::WrongLength)?;
        if tails.len() != usize::from(fixed.signed.get()) || !(status.is_ok() || entries.is_empty()) {
            return Err(ReplyError::WrongLength);
        }
        Ok(Self { fixed, status, entries, tails })
    }
}

impl<'a> HistoryReply<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, ReplyError> {
        let (fixed, rest) = HistoryFrame::ref_from_prefix(bytes).map_err(|_| ReplyError::WrongLength)?;
        let status = known(fixed.status())?;
        Ok(Self { fixed, status, entries: rows(rest, fixed.count.get(), status)? })
    }
}

impl<'a> AssetsReply<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, ReplyError> {
        let (fixed, rest) = AssetsFrame::ref_from_prefix(bytes).map_err(|_| ReplyError::WrongLength)?;
        let status = known(fixed.status())?;
        Ok(Self { fixed, status, totals: rows(rest, fixed.count.get(), status)? })
    }
}

/// The rows that make up the rest of a reply; a refusal has none.
fn rows<T: FromBytes + KnownLayout + Immutable + Unaligned>(
    rest: &[u8],
    count: u16,
    status: Status,
) -> Result<&[T], ReplyError> {
    let rows = <[T]>::ref_from_bytes(rest).map_err(|_| ReplyError::WrongLength)?;
    if rows.len() == usize::from(count) && (status.is_ok() || rows.is_empty()) {
        Ok(rows)
    } else {
        Err(ReplyError::WrongLength)
    }
}

fn known<T, E>(code: Result<T, E>) -> Result<T, ReplyError> {
    code.map_err(|_| ReplyError::UnknownCode)
}

fn hashes(bytes: &[u8], count: u8) -> Result<(&[[u8; 32]], &[u8]), ReplyError> {
    <[[u8; 32]]>::ref_from_prefix_with_elems(bytes, usize::from(count)).map_err(|_| ReplyError::WrongLength)
}

fn take(bytes: &[u8], length: u16) -> Result<(&[u8], &[u8]), ReplyError> {
    bytes.split_at_checked(usize::from(length)).ok_or(ReplyError::WrongLength)
}

/// The parts must have exactly the reply's body length.
fn check_body(request: &ProofRequest, frame_length: usize) -> Result<(), ReplyError> {
    let body = frame_length - ProofRequest::LENGTH;
    if u32::try_from(body) == Ok(request.body_length.get()) { Ok(()) } else { Err(ReplyError::WrongLength) }
}
