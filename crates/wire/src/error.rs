//! The error frame, and the error of parsing a request.

use crate::{
    AssetsFrame, BatchHeader, ChangeFrame, CompactFrame, ErrorFrame, FeedFrame, FinalityFrame, FrameHeader, FrameType,
    FullReply, HeadersFrame, HistoryFrame, InfoFrame, Promise, ProofRequest, Status, UnknownStatus, VerifyHeader,
};
use core::fmt;
use zerocopy::byteorder::big_endian::{U16, U32};
use zerocopy::{FromBytes, IntoBytes, KnownLayout, Unaligned};

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
    /// With a compact frame.
    Compact,
    /// With the fixed part of a frame of this type.
    Framed(FrameType),
}

/// Turns a frame of this type, or its reply, into the reply that refuses it, in place. Returns its length; `None` if
/// the frame is shorter.
pub fn write_refusal(kind: FrameType, frame: &mut [u8], status: Status) -> Option<usize> {
    /// Overlays a layout, and has it refuse.
    fn over<T: FromBytes + IntoBytes + KnownLayout + Unaligned>(
        frame: &mut [u8],
        refuse: impl FnOnce(&mut T),
    ) -> Option<usize> {
        let (reply, _) = T::mut_from_prefix(frame).ok()?;
        refuse(reply);
        Some(size_of::<T>())
    }
    match kind {
        FrameType::Full => over(frame, |reply: &mut FullReply| reply.set_refusal(status)),
        FrameType::Batch => over(frame, |reply: &mut BatchHeader| reply.set_reply(status, Promise::Default)),
        FrameType::Proof => over(frame, |reply: &mut ProofRequest| reply.set_reply(status, 0)),
        FrameType::Headers => over(frame, |reply: &mut HeadersFrame| reply.set_refusal(status)),
        FrameType::Info => over(frame, |reply: &mut InfoFrame| {
            reply.header.set_reply();
            reply.status = U16::new(status.code());
        }),
        FrameType::Verify => over(frame, |reply: &mut VerifyHeader| reply.set_reply(status)),
        FrameType::Finality => over(frame, |reply: &mut FinalityFrame| reply.set_refusal(status)),
        FrameType::Change => over(frame, |reply: &mut ChangeFrame| reply.set_reply(status)),
        FrameType::Feed => over(frame, |reply: &mut FeedFrame| reply.set_refusal(status)),
        FrameType::History => over(frame, |reply: &mut HistoryFrame| reply.set_refusal(status)),
        FrameType::Assets => over(frame, |reply: &mut AssetsFrame| reply.set_refusal(status)),
    }
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
            Shape::Framed(kind) => write_refusal(kind, datagram, status),
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
