//! Parsing of all requests.

use crate::error::Shape;
use crate::{
    AssetsFrame, Batch, BatchEntries, BatchEntriesMut, BatchFormat, BatchHeader, BatchMut, ChangeFrame, CompactFrame,
    ErrorFrame, FeedFrame, FinalityFrame, FrameHeader, FrameType, FullFrame, HeadersFrame, HistoryFrame, InfoFrame,
    MAGIC, ParseError, ProofRequest, REPLY_BIT, Status, VERSION, Verify,
};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// A request, checked as far as possible without the ledger.
///
/// The entries of a batch are not checked: each gets its own status from its `check`.
#[derive(Clone, Copy, Debug)]
pub enum Frame<'a> {
    /// Compact transfer frame.
    Compact(&'a CompactFrame),
    /// Full transfer frame.
    Full(&'a FullFrame),
    /// Batch frame.
    Batch(Batch<'a>),
    /// Proof frame.
    Proof(Padded<'a, ProofRequest>),
    /// Headers frame.
    Headers(Padded<'a, HeadersFrame>),
    /// Info frame.
    Info(&'a InfoFrame),
    /// Verify frame.
    Verify(Verify<'a>),
    /// Finality frame.
    Finality(Padded<'a, FinalityFrame>),
    /// Member change frame.
    Change(&'a ChangeFrame),
    /// Feed frame.
    Feed(&'a FeedFrame),
    /// History frame.
    History(Padded<'a, HistoryFrame>),
    /// Assets frame.
    Assets(Padded<'a, AssetsFrame>),
}

/// A request that zeros follow, up to the maximum length of the reply.
#[derive(Clone, Copy, Debug)]
pub struct Padded<'a, T> {
    /// The request.
    pub request: &'a T,
    /// Maximum length of a reply that the client accepts.
    pub room: usize,
}

impl<'a, T: FromBytes + KnownLayout + Immutable + Unaligned> Padded<'a, T> {
    fn cast(bytes: &'a [u8]) -> Option<Self> {
        let (request, _) = T::ref_from_prefix(bytes).ok()?;
        Some(Self { request, room: bytes.len() })
    }
}

/// A request in its receive buffer, which its reply overwrites.
#[derive(Debug)]
pub enum FrameMut<'a> {
    /// Compact transfer frame.
    Compact(&'a mut CompactFrame),
    /// Full transfer frame.
    Full(&'a mut FullFrame),
    /// Batch frame.
    Batch(BatchMut<'a>),
    /// Proof frame, with its padding.
    Proof(&'a mut ProofRequest, &'a mut [u8]),
    /// Headers frame, with its padding.
    Headers(&'a mut HeadersFrame, &'a mut [u8]),
    /// Info frame.
    Info(&'a mut InfoFrame),
    /// Verify frame, all of its bytes: [`write_verify_reply`](crate::write_verify_reply) writes the reply.
    Verify(&'a mut [u8]),
    /// Finality frame, with its padding.
    Finality(&'a mut FinalityFrame, &'a mut [u8]),
    /// Member change frame.
    Change(&'a mut ChangeFrame),
    /// Feed frame.
    Feed(&'a mut FeedFrame),
    /// History frame, with its padding.
    History(&'a mut HistoryFrame, &'a mut [u8]),
    /// Assets frame, with its padding.
    Assets(&'a mut AssetsFrame, &'a mut [u8]),
}

impl<'a> Frame<'a> {
    /// Parses the bytes of a datagram as a request.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let kind = Kind::parse(bytes)?;
        Self::cast(kind, bytes).ok_or(kind.mismatch())
    }

    fn cast(kind: Kind, bytes: &'a [u8]) -> Option<Self> {
        Some(match kind {
            Kind::Compact => Self::Compact(CompactFrame::ref_from_bytes(bytes).ok()?),
            Kind::Full => Self::Full(FullFrame::ref_from_bytes(bytes).ok()?),
            Kind::Batch(format) => {
                let (header, entries) = BatchHeader::ref_from_prefix(bytes).ok()?;
                Self::Batch(Batch { header, entries: BatchEntries::parse(format, entries)? })
            }
            Kind::Proof => Self::Proof(Padded::cast(bytes)?),
            Kind::Headers => Self::Headers(Padded::cast(bytes)?),
            Kind::Info => Self::Info(InfoFrame::ref_from_bytes(bytes).ok()?),
            Kind::Verify => Self::Verify(Verify::check(bytes)?.1?),
            Kind::Finality => Self::Finality(Padded::cast(bytes)?),
            Kind::Change => Self::Change(ChangeFrame::ref_from_bytes(bytes).ok()?),
            Kind::Feed => Self::Feed(FeedFrame::ref_from_bytes(bytes).ok()?),
            Kind::History => Self::History(Padded::cast(bytes)?),
            Kind::Assets => Self::Assets(Padded::cast(bytes)?),
        })
    }
}

impl<'a> FrameMut<'a> {
    /// Parses the bytes of a datagram as a request, for a reply in place.
    pub fn parse(bytes: &'a mut [u8]) -> Result<Self, ParseError> {
        let kind = Kind::parse(bytes)?;
        Self::cast(kind, bytes).ok_or(kind.mismatch())
    }

    fn cast(kind: Kind, bytes: &'a mut [u8]) -> Option<Self> {
        Some(match kind {
            Kind::Compact => Self::Compact(CompactFrame::mut_from_bytes(bytes).ok()?),
            Kind::Full => Self::Full(FullFrame::mut_from_bytes(bytes).ok()?),
            Kind::Batch(format) => {
                let (header, entries) = BatchHeader::mut_from_prefix(bytes).ok()?;
                Self::Batch(BatchMut { header, entries: BatchEntriesMut::parse(format, entries)? })
            }
            Kind::Proof => {
                let (request, padding) = ProofRequest::mut_from_prefix(bytes).ok()?;
                Self::Proof(request, padding)
            }
            Kind::Headers => {
                let (request, padding) = HeadersFrame::mut_from_prefix(bytes).ok()?;
                Self::Headers(request, padding)
            }
            Kind::Info => Self::Info(InfoFrame::mut_from_bytes(bytes).ok()?),
            Kind::Verify => Self::Verify(bytes),
            Kind::Finality => {
                let (request, padding) = FinalityFrame::mut_from_prefix(bytes).ok()?;
                Self::Finality(request, padding)
            }
            Kind::Change => Self::Change(ChangeFrame::mut_from_bytes(bytes).ok()?),
            Kind::Feed => Self::Feed(FeedFrame::mut_from_bytes(bytes).ok()?),
            Kind::History => {
                let (request, padding) = HistoryFrame::mut_from_prefix(bytes).ok()?;
                Self::History(request, padding)
            }
            Kind::Assets => {
                let (request, padding) = AssetsFrame::mut_from_prefix(bytes).ok()?;
                Self::Assets(request, padding)
            }
        })
    }
}

/// Kind of a checked request.
#[derive(Clone, Copy)]
enum Kind {
    Compact,
    Full,
    Batch(BatchFormat),
    Proof,
    Headers,
    Info,
    Verify,
    Finality,
    Change,
    Feed,
    History,
    Assets,
}

impl Kind {
    /// All checks, in one place for both kinds of views.
    fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let Ok((header, _)) = FrameHeader::ref_from_prefix(bytes) else {
            return Err(ParseError { status: Status::Malformed, id: 0, shape: Shape::Silence });
        };
        if header.magic.get() != MAGIC {
            return Self::of_compact(bytes, header);
        }
        let refuse = |status, shape| Err(ParseError { status, id: header.id.get(), shape });
        let error = if bytes.len() < ErrorFrame::LENGTH { Shape::Silence } else { Shape::Error };
        if header.kind & REPLY_BIT != 0 {
            return refuse(Status::Malformed, Shape::Silence);
        }
        if header.version != VERSION {
            return refuse(Status::UnsupportedVersion, error);
        }
        let Ok(kind) = FrameType::try_from(header.kind) else {
            return refuse(Status::UnknownCommand, error);
        };
        let checked = match kind {
            FrameType::Full => FullFrame::ref_from_bytes(bytes).ok().map(|frame| (frame.signed.check(), Self::Full)),
            FrameType::Batch => BatchHeader::ref_from_prefix(bytes).ok().and_then(|(batch, _)| match batch.format() {
                Err(status) => Some((status, Self::Batch(BatchFormat::Compact))),
                Ok(format) => (batch.frame_length() == Ok(bytes.len())).then(|| (batch.check(), Self::Batch(format))),
            }),
            FrameType::Proof => padded(bytes, ProofRequest::check).map(|status| (status, Self::Proof)),
            FrameType::Headers => padded(bytes, HeadersFrame::check).map(|status| (status, Self::Headers)),
            FrameType::Info => InfoFrame::ref_from_bytes(bytes).ok().map(|frame| (frame.check(), Self::Info)),
            FrameType::Verify => Verify::check(bytes).map(|(status, _)| (status, Self::Verify)),
            FrameType::Finality => padded(bytes, FinalityFrame::check).map(|status| (status, Self::Finality)),
            FrameType::Change => ChangeFrame::ref_from_bytes(bytes).ok().map(|frame| (frame.check(), Self::Change)),
            FrameType::Feed => FeedFrame::ref_from_bytes(bytes).ok().map(|frame| (frame.check(), Self::Feed)),
            FrameType::History => padded(bytes, HistoryFrame::check).map(|status| (status, Self::History)),
            FrameType::Assets => padded(bytes, AssetsFrame::check).map(|status| (status, Self::Assets)),
        };
        match checked {
            Some((Status::Ok, parsed)) => Ok(parsed),
            Some((status, _)) => refuse(status, Shape::Framed(kind)),
            None => refuse(Status::Malformed, error),
        }
    }

    fn of_compact(bytes: &[u8], header: &FrameHeader) -> Result<Self, ParseError> {
        // The transaction id is in the place of the other frames' id.
        let refuse = |status, shape| Err(ParseError { status, id: header.id.get(), shape });
        match CompactFrame::ref_from_bytes(bytes) {
            Ok(frame) => match frame.check() {
                Status::Ok => Ok(Self::Compact),
                // Only this distinguishes compact replies from requests: answering one would never end.
                Status::Malformed if frame.status.get() == Status::Malformed.code() => {
                    refuse(Status::Malformed, Shape::Silence)
                }
                status => refuse(status, Shape::Compact),
            },
            Err(_) if bytes.len() < ErrorFrame::LENGTH => refuse(Status::Malformed, Shape::Silence),
            Err(_) => refuse(Status::Malformed, Shape::Error),
        }
    }

    /// The error of a cast that the checks have excluded.
    fn mismatch(self) -> ParseError {
        ParseError { status: Status::Malformed, id: 0, shape: Shape::Silence }
    }
}

/// The status of a request that is followed by padding: `MALFORMED` if that is not zero. `None` if it is too short.
fn padded<T: FromBytes + KnownLayout + Immutable + Unaligned>(
    bytes: &[u8],
    check: impl FnOnce(&T) -> Status,
) -> Option<Status> {
    let (request, padding) = T::ref_from_prefix(bytes).ok()?;
    Some(match check(request) {
        Status::Ok if !is_zero(padding) => Status::Malformed,
        status => status,
    })
}

/// Whether all bytes are zero: in blocks, which compile to vector instructions.
fn is_zero(bytes: &[u8]) -> bool {
    let (blocks, rest) = bytes.as_chunks::<64>();
    blocks.iter().all(|block| block.iter().fold(0, |all, byte| all | byte) == 0) && rest.iter().all(|&byte| byte == 0)
}
