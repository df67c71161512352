//! Fourth stage: the packet generator.
//!
//! Writes replies over requests. A reply is never longer than its request.

use wire::{
    BatchEntriesMut, BatchHeader, CompactFrame, ErrorFrame, FrameHeader, FrameMut, FrameType, FullFrame, FullReply,
    MAGIC, Operation, Promise, REPLY_BIT, Status,
};
use zerocopy::FromBytes;

use crate::extractor::signed_operations;

/// The status that the store controller has written, which is always one of the protocol's.
fn status_of(operation: &Operation) -> Status {
    operation.status().unwrap_or(Status::StorageFailed)
}

/// Writes the reply to a compact frame or an unsigned batch over it and returns its length.
pub fn reply(datagram: &mut [u8], operations: &[Operation], values: &[u64], promise: Promise) -> usize {
    let length = datagram.len();
    match FrameMut::parse(datagram) {
        Ok(FrameMut::Compact(frame)) => {
            if let (Some(operation), Some(&value)) = (operations.first(), values.first()) {
                frame.set_reply(status_of(operation), value);
            }
            CompactFrame::LENGTH
        }
        Ok(FrameMut::Batch(batch)) => {
            batch.header.set_reply(Status::Ok, promise);
            let results = operations.iter().map(status_of).zip(values);
            match batch.entries {
                BatchEntriesMut::Compact(entries) => {
                    for (entry, (status, &value)) in entries.iter_mut().zip(results) {
                        entry.frame.set_reply(status, value);
                    }
                }
                BatchEntriesMut::Operation(entries) => {
                    for (entry, (status, &value)) in entries.iter_mut().zip(results) {
                        entry.set_reply(status, value);
                    }
                }
                BatchEntriesMut::Signed(_) => {}
            }
            length
        }
        _ => 0,
    }
}

/// Writes the reply to a full transfer frame or a signed batch, whose operations carry their statuses, over it and
/// returns its length.
pub fn reply_signed(datagram: &mut [u8], values: &[u64], promise: Promise) -> usize {
    let length = datagram.len();
    for (signed, &value) in signed_operations(datagram).unwrap_or_default().iter_mut().zip(values) {
        signed.set_reply(status_of(&signed.operation), value, promise);
    }
    match FullFrame::mut_from_bytes(datagram) {
        Ok(frame) if frame.header.kind == FrameType::Full as u8 => {
            frame.header.set_reply();
            FullReply::LENGTH
        }
        _ => match BatchHeader::mut_from_prefix(datagram) {
            Ok((header, _)) => {
                header.set_reply(Status::Ok, promise);
                length
            }
            Err(_) => 0,
        },
    }
}

/// Writes a refusal over a frame, a request or its reply, in the frame's own shape.
///
/// Returns the refusal's length; 0 if it does not fit, and so there is no answer. For `REPLY_TOO_LARGE`, `detail` is
/// the length needed; only an error frame has a place for it.
pub fn refuse(frame: &mut [u8], status: Status, detail: u32) -> usize {
    let Ok((header, _)) = FrameHeader::read_from_prefix(frame) else { return 0 };
    let error = ErrorFrame::new(header.id.get(), status, detail);
    if status == Status::ReplyTooLarge {
        return error.write_over(frame);
    }
    if header.magic.get() != MAGIC {
        return match CompactFrame::mut_from_bytes(frame) {
            Ok(compact) => {
                compact.set_reply(status, 0);
                CompactFrame::LENGTH
            }
            Err(_) => error.write_over(frame),
        };
    }
    let kind = FrameType::try_from(header.kind & !REPLY_BIT);
    let refused = kind.ok().and_then(|kind| wire::write_refusal(kind, frame, status));
    refused.unwrap_or_else(|| error.write_over(frame))
}
