//! Second stage: the command extractor.
//!
//! It collects the operations of many datagrams in one list, each with the outcome of the stateless checks, so that the
//! store controller executes them in one go. [Linked chains](wire::linked) are checked here, where the end of a batch
//! is known: the list does not show it, and a chain that a batch cuts off would continue in the next one.

use std::ops::Range;

use wire::{
    BatchEntries, BatchFormat, BatchHeader, Frame, FrameHeader, FrameType, FullFrame, Operation, Promise,
    SignedOperation, Status, U16, linked,
};
use zerocopy::FromBytes;

use crate::backend::Peer;

/// A datagram whose operations were extracted.
#[derive(Clone, Debug)]
pub struct Request {
    /// Who sent it.
    pub peer: Peer,
    /// Its range in the memory of the batch.
    pub place: Range<usize>,
    /// The format of its entries; `None` for a compact frame.
    pub format: Option<BatchFormat>,
    /// The promise that it requests, not [`Promise::Default`].
    pub promise: Promise,
    /// Its operations in the list.
    pub operations: Range<usize>,
}

/// The operations of a chunk of datagrams.
#[derive(Debug, Default)]
pub struct Extraction {
    /// The datagrams.
    pub requests: Vec<Request>,
    /// Their operations.
    pub operations: Vec<Operation>,
    /// The source's balance after each operation, filled in by the store controller.
    pub values: Vec<u64>,
}

impl Extraction {
    /// Clears everything but keeps the memory.
    pub fn clear(&mut self) {
        self.requests.clear();
        self.operations.clear();
        self.values.clear();
    }

    /// Appends the operations of a datagram that the selector classified as a compact frame or an unsigned batch.
    pub fn extract(&mut self, datagram: &[u8], place: Range<usize>, peer: Peer, promise: Promise) {
        let first = self.operations.len();
        let format = match Frame::parse(datagram) {
            Ok(Frame::Compact(frame)) => {
                self.operations.push(checked(frame.to_operation(), frame.check()));
                None
            }
            Ok(Frame::Batch(batch)) => match batch.entries {
                BatchEntries::Compact(entries) => {
                    let operations = entries.iter().map(|entry| checked(entry.frame.to_operation(), entry.check()));
                    self.operations.extend(operations);
                    Some(BatchFormat::Compact)
                }
                BatchEntries::Operation(entries) => {
                    self.operations.extend(entries.iter().map(|entry| checked(*entry, entry.check())));
                    linked::refuse_broken(&mut self.operations[first..]);
                    Some(BatchFormat::Operation)
                }
                BatchEntries::Signed(_) => return,
            },
            _ => return,
        };
        self.values.resize(self.operations.len(), 0);
        self.requests.push(Request { peer, place, format, promise, operations: first..self.operations.len() });
    }
}

/// Sets the status of an operation that is refused.
#[inline]
fn checked(mut operation: Operation, status: Status) -> Operation {
    let status = match status {
        // Only its key may act for a keyed account, even from a trusted prefix.
        Status::Ok if operation.acts_for_key() => Status::NotAuthorised,
        status => status,
    };
    operation.status = U16::new(status.code());
    operation
}

/// The signed operations of a full transfer frame or a batch, in place. `None` if the datagram is neither.
///
/// Use it after the selector: it checks the form, but not that fields have the values of a request, because workers
/// write statuses into it.
pub fn signed_operations(datagram: &mut [u8]) -> Option<&mut [SignedOperation]> {
    let (header, _) = FrameHeader::ref_from_prefix(datagram).ok()?;
    match FrameType::try_from(header.kind).ok()? {
        FrameType::Full => {
            let frame = FullFrame::mut_from_bytes(datagram).ok()?;
            Some(std::slice::from_mut(&mut frame.signed))
        }
        FrameType::Batch => {
            let (header, entries) = BatchHeader::mut_from_prefix(datagram).ok()?;
            if header.format() != Ok(BatchFormat::Signed) {
                return None;
            }
            <[SignedOperation]>::mut_from_bytes(entries).ok()
        }
        _ => None,
    }
}

/// Writes the status of the stateless checks into each signed operation of a datagram.
pub fn check_signed(datagram: &mut [u8]) {
    let operations = signed_operations(datagram).unwrap_or_default();
    for signed in &mut *operations {
        signed.operation.status = U16::new(signed.check().code());
    }
    linked::refuse_broken(operations);
}

/// The promise that a full transfer frame or a batch of signed operations requests.
pub fn signed_promise(datagram: &[u8]) -> Promise {
    let asked = match FullFrame::ref_from_bytes(datagram) {
        Ok(frame) if frame.header.kind == FrameType::Full as u8 => frame.signed.promise(),
        _ => BatchHeader::ref_from_prefix(datagram).map_or(Ok(Promise::Default), |(header, _)| header.promise()),
    };
    asked.unwrap_or(Promise::Default)
}
