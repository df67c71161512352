//! The error frame, and the error of parsing a request.

use crate::{
    AssetsFrame, BatchHeader, ChangeFrame, CompactFrame, ErrorFrame, FeedFrame, FinalityFrame, FrameHeader, FullFrame,
    FullReply, HeadersFrame, HistoryFrame, InfoFrame, Promise, ProofRequest, Status, UnknownStatus, VerifyHeader,
};
use core::fmt;
use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, IntoBytes};

impl ErrorFrame {
    /// The type of error frames.
    pub const TYPE: u8 = crate::ERROR_TYPE;

    /// An error frame.
    pub const fn new(id: u32, status: Status, detail: u32) -> Self {
        Self {
            header: FrameHeader::with_code(Self::TYPE, id),
            status: U16::from_bytes(status.code().to_be_bytes()),
            reserved: U16::ZERO,
            detail: U32::from_bytes(detail.to_be_bytes()),
        }
    }

    /// The status.
    pub fn status(&self) -> Result<Status, UnknownStatus> {
        Status::try_from(self.status.get())
    }

    /// Writes the frame over a request and returns its length, or 0 if the request is shorter and so gets no reply.
    pub fn write_over(&self, request: &mut [u8]) -> usize {
        match self.write_to_prefix(request) {
            Ok(()) => Self::LENGTH,
            Err(_) => 0,
        }
    }
}

/// The form of the answer to a refused request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Not at all.
    Silence,
    /// With an error frame.
    Error,
    Compact,
    Full,
    Batch,
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

/// Why bytes are not a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The status for the sender.
    pub status: Status,
    /// The id for the answer, 0 if none could be read.
    pub id: u32,
    pub(crate) shape: Shape,
}

impl ParseError {
    /// The error of a frame whose type is unknown where it arrived.
    pub const fn unknown_type(id: u32) -> Self {
        Self { status: Status::UnknownCommand, id, shape: Shape::Error }
    }

    /// Whether the sender gets an answer.
    ///
    /// Replies get none, because two nodes could be made to answer each other forever; nor do frames shorter than an
    /// answer.
    pub fn is_answered(&self) -> bool {
        self.shape != Shape::Silence
    }

    /// Writes the answer over the refused datagram and returns its length, or 0 if there is none.
    pub fn write_reply(&self, datagram: &mut [u8]) -> usize {
        let status = self.status;
        let done = match self.shape {
            Shape::Silence => None,
            Shape::Error => return ErrorFrame::new(self.id, status, 0).write_over(datagram),
            Shape::Compact => CompactFrame::mut_from_prefix(datagram).ok().map(|(frame, _)| {
                frame.set_reply(status, 0);
                CompactFrame::LENGTH
            }),
            Shape::Full => FullFrame::mut_from_prefix(datagram).ok().map(|(frame, _)| {
                frame.set_reply(status, 0, Promise::Default);
                FullReply::LENGTH
            }),
            Shape::Batch => BatchHeader::mut_from_prefix(datagram).ok().map(|(frame, _)| {
                frame.set_reply(status, Promise::Default);
                BatchHeader::LENGTH
            }),
            Shape::Proof => ProofRequest::mut_from_prefix(datagram).ok().map(|(frame, _)| {
                frame.set_reply(status, 0);
                ProofRequest::LENGTH
            }),
            Shape::Headers => HeadersFrame::mut_from_prefix(datagram).ok().map(|(frame, _)| {
                frame.set_refusal(status);
                HeadersFrame::LENGTH
            }),
            Shape::Info => InfoFrame::mut_from_prefix(datagram).ok().map(|(frame, _)| {
                frame.header.set_reply();
                frame.status = U16::new(status.code());
                InfoFrame::LENGTH
            }),
            Shape::Verify => VerifyHeader::mut_from_prefix(datagram).ok().map(|(frame, _)| {
                frame.set_reply(status);
                VerifyHeader::LENGTH
            }),
            Shape::Finality => FinalityFrame::mut_from_prefix(datagram).ok().map(|(frame, _)| {
                frame.set_refusal(status);
                FinalityFrame::LENGTH
            }),
            Shape::Change => ChangeFrame::mut_from_prefix(datagram).ok().map(|(frame, _)| {
                frame.set_reply(status);
                ChangeFrame::LENGTH
            }),
            Shape::Feed => FeedFrame::mut_from_prefix(datagram).ok().map(|(frame, _)| {
                frame.set_refusal(status);
                FeedFrame::LENGTH
            }),
            Shape::History => HistoryFrame::mut_from_prefix(datagram).ok().map(|(frame, _)| {
                frame.set_refusal(status);
                HistoryFrame::LENGTH
            }),
            Shape::Assets => AssetsFrame::mut_from_prefix(datagram).ok().map(|(frame, _)| {
                frame.set_refusal(status);
                AssetsFrame::LENGTH
            }),
        };
        done.unwrap_or(0)
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused frame {}: {}", self.id, self.status)
    }
}

impl core::error::Error for ParseError {}
