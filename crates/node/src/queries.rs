//! Queries that change nothing: info, headers, proofs.

use std::sync::{
    Arc,
    atomic::Ordering::{Acquire, Relaxed},
};

use nic::{Answer, QueryKind};
use wire::{FrameMut, InfoFrame, MAX_DATAGRAM, Promise, Status};

use crate::shared::Shared;

/// Answers queries in place.
pub struct Queries {
    network: [u8; 32],
    promise: Promise,
    shared: Arc<Shared>,
}

impl Queries {
    /// Answers for a node of this network.
    pub fn new(network: [u8; 32], promise: Promise, shared: Arc<Shared>) -> Self {
        Self { network, promise, shared }
    }

    /// Answers a query, or tells who can.
    pub fn answer(&self, _kind: QueryKind, datagram: &mut [u8]) -> Answer {
        match FrameMut::parse(datagram) {
            Ok(FrameMut::Info(info)) => {
                self.info(info);
                Answer::Reply(InfoFrame::LENGTH)
            }
            Ok(_) => Answer::Refuse(Status::UnknownChain, 0),
            Err(error) => Answer::Refuse(error.status, 0),
        }
    }

    fn info(&self, info: &mut InfoFrame) {
        info.header.kind |= wire::REPLY_BIT;
        info.status.set(Status::Ok.code());
        info.promise = self.promise.code();
        info.flags = if self.shared.storage_failed.load(Relaxed) { InfoFrame::READS_ONLY } else { 0 };
        info.max_datagram.set(MAX_DATAGRAM as u32);
        info.network = self.network;
        info.tip_height.set(self.shared.height.load(Acquire));
        info.accounts.set(self.shared.accounts.load(Relaxed));
        info.durable_sequence.set(self.shared.durable());
        info.program = InfoFrame::program_field(env!("CARGO_PKG_VERSION"));
    }
}
