//! Queries that change nothing: info, headers, proofs.

use std::sync::{Arc, atomic::Ordering::Relaxed};

use chain::own::OwnReader;
use nic::{Answer, QueryKind};
use spv::HEADER_SIZE;
use wire::{Chain, FrameMut, HeadersFrame, InfoFrame, MAX_DATAGRAM, Promise, Status};
use zerocopy::IntoBytes;

use crate::shared::Shared;

/// Answers queries in place.
pub struct Queries {
    own: OwnReader,
    promise: Promise,
    shared: Arc<Shared>,
}

impl Queries {
    /// Answers out of the own chain.
    pub fn new(own: OwnReader, promise: Promise, shared: Arc<Shared>) -> Self {
        Self { own, promise, shared }
    }

    /// Answers a query, or tells who can.
    pub fn answer(&self, query: QueryKind, datagram: &mut [u8]) -> Answer {
        if query == QueryKind::Proof {
            return Answer::Defer;
        }
        match FrameMut::parse(datagram) {
            Ok(FrameMut::Info(info)) => {
                self.info(info);
                Answer::Reply(InfoFrame::LENGTH)
            }
            Ok(FrameMut::Headers(request, room)) => self.headers(request, room),
            Ok(_) => Answer::Refuse(Status::Malformed, 0),
            Err(error) => Answer::Refuse(error.status, 0),
        }
    }

    fn info(&self, info: &mut InfoFrame) {
        let tip = self.own.tip();
        info.header.kind |= wire::REPLY_BIT;
        info.status.set(Status::Ok.code());
        info.promise = self.promise.code();
        info.flags = if self.shared.storage_failed.load(Relaxed) { InfoFrame::READS_ONLY } else { 0 };
        info.max_datagram.set(MAX_DATAGRAM as u32);
        info.network = self.own.network_id();
        info.tip_height.set(tip.height());
        info.tip_hash = tip.hash;
        info.accounts.set(self.shared.accounts.load(Relaxed));
        info.durable_sequence.set(self.shared.durable());
        info.program = InfoFrame::program_field(env!("CARGO_PKG_VERSION"));
    }

    /// As many headers as asked for, as there are and as there is room for.
    fn headers(&self, request: &mut HeadersFrame, room: &mut [u8]) -> Answer {
        if request.chain != Chain::Own.code() {
            return Answer::Refuse(Status::UnknownChain, 0);
        }
        let tip = self.own.tip();
        let count = usize::from(request.count.get()).min(room.len() / HEADER_SIZE);
        let Ok(headers) = self.own.headers(request.first_height.get(), count) else {
            return Answer::Refuse(Status::StorageFailed, 0);
        };
        let bytes = headers.as_bytes();
        room[..bytes.len()].copy_from_slice(bytes);
        request.header.kind |= wire::REPLY_BIT;
        request.status.set(Status::Ok.code());
        request.count.set(headers.len() as u16);
        request.header_size.set(HEADER_SIZE as u16);
        request.tip_height.set(tip.height());
        request.tip_hash = tip.hash;
        Answer::Reply(HeadersFrame::LENGTH + bytes.len())
    }
}
