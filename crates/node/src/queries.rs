//! Queries that change nothing: info, headers, finality, proofs, verification.

use std::sync::{Arc, atomic::Ordering::Relaxed};

use chain::{bitcoin::BitcoinChain, own::OwnReader};
use nic::{Answer, QueryKind};
use proof::Service;
use wire::{Chain, FrameMut, HeadersFrame, InfoFrame, MAX_DATAGRAM, Promise, Status};
use zerocopy::IntoBytes;

use crate::{Config, chain_queries::ChainQueries, node_state::NodeState};

/// Answers queries in place.
pub struct Queries {
    own: OwnReader,
    bitcoin: Option<BitcoinChain>,
    proofs: Service,
    promise: Promise,
    retry_milliseconds: u32,
    node_state: Arc<NodeState>,
}

impl Queries {
    /// Answers out of the chains; proofs out of the cache of `proofs`.
    pub fn new(
        own: OwnReader,
        bitcoin: Option<BitcoinChain>,
        proofs: Service,
        config: &Config,
        node_state: Arc<NodeState>,
    ) -> Self {
        // An hour at most.
        let retry_milliseconds = config.ledger.retry_seconds as u32 * 1000;
        let promise = if config.cluster.is_wanted() { Promise::Final } else { config.promise };
        Self { own, bitcoin, proofs, promise, retry_milliseconds, node_state }
    }

    /// Answers a query, or returns who can answer it.
    pub fn answer(&self, query: QueryKind, datagram: &mut [u8]) -> Answer {
        let is_of_chain = match query {
            QueryKind::Proof | QueryKind::Headers | QueryKind::History | QueryKind::Assets => true,
            QueryKind::Info | QueryKind::Verify | QueryKind::Finality => false,
        };
        if is_of_chain && self.node_state.has_diverged() {
            return Answer::Refuse(Status::Diverged, 0);
        }
        match query {
            QueryKind::Proof => return self.proofs.answer_cached(datagram).map_or(Answer::Defer, Answer::Reply),
            QueryKind::Verify | QueryKind::History | QueryKind::Assets => return Answer::Defer,
            QueryKind::Info | QueryKind::Headers | QueryKind::Finality => {}
        }
        match FrameMut::parse(datagram) {
            Ok(FrameMut::Info(info)) => {
                self.info(info);
                Answer::Reply(InfoFrame::LENGTH)
            }
            Ok(FrameMut::Headers(request, room)) => self.headers(request, room),
            Ok(FrameMut::Finality(request, room)) => match self.node_state.order() {
                Some(status) => status.answer(request, room, &self.own.tip()),
                None => Answer::Refuse(Status::NotFound, 0),
            },
            Ok(_) => Answer::Refuse(Status::Malformed, 0),
            Err(error) => Answer::Refuse(error.status, 0),
        }
    }

    /// Answers the queries about the own chain that [`answer`](Self::answer) defers.
    pub fn of_chain(&self) -> ChainQueries {
        ChainQueries::new(self.own.clone())
    }

    fn info(&self, info: &mut InfoFrame) {
        let tip = self.own.tip();
        info.header.set_reply();
        info.status.set(Status::Ok.code());
        info.promise = self.promise.code();
        info.flags = if self.node_state.is_reads_only() { InfoFrame::READS_ONLY } else { 0 };
        if self.node_state.followed().is_some() {
            info.flags |= InfoFrame::FOLLOWS;
        }
        if self.own.first_retained() > 0 {
            info.flags |= InfoFrame::PRUNED;
        }
        if let Some(bitcoin) = &self.bitcoin {
            info.flags |= InfoFrame::SERVES_BITCOIN;
            info.bitcoin_height.set(bitcoin.view().tip().map_or(0, |tip| tip.height.into()));
        }
        info.max_datagram.set(MAX_DATAGRAM as u32);
        info.network = self.own.network_id();
        info.tip_height.set(tip.height());
        info.tip_hash = tip.hash;
        info.accounts.set(self.node_state.accounts.load(Relaxed));
        info.durable_sequence.set(self.node_state.durable());
        info.retry_milliseconds.set(self.retry_milliseconds);
        info.program = InfoFrame::program_field(env!("CARGO_PKG_VERSION"));
    }

    /// Writes the requested headers, limited by the chain's end and the room.
    fn headers(&self, request: &mut HeadersFrame, room: &mut [u8]) -> Answer {
        let written = match (request.chain(), &self.bitcoin) {
            (Ok(Chain::Own), _) => self.own_headers(request, room),
            (Ok(Chain::Bitcoin), Some(bitcoin)) => bitcoin_headers(bitcoin, request, room),
            _ => return Answer::Refuse(Status::UnknownChain, 0),
        };
        match written {
            Ok(bytes) => {
                request.header.set_reply();
                request.status.set(Status::Ok.code());
                Answer::Reply(HeadersFrame::LENGTH + bytes)
            }
            Err(status) => Answer::Refuse(status, 0),
        }
    }

    fn own_headers(&self, request: &mut HeadersFrame, room: &mut [u8]) -> Result<usize, Status> {
        let tip = self.own.tip();
        request.tip_height.set(tip.height());
        request.tip_hash = tip.hash;
        let count = count(request, Chain::Own, room);
        let headers = self.own.headers(request.first_height.get(), count).map_err(|error| {
            tracing::error!(%error, "cannot read headers");
            Status::StorageFailed
        })?;
        Ok(write(request, room, Chain::Own, headers.as_bytes()))
    }
}

fn bitcoin_headers(bitcoin: &BitcoinChain, request: &mut HeadersFrame, room: &mut [u8]) -> Result<usize, Status> {
    let view = bitcoin.view();
    let tip = view.tip().ok_or(Status::NotFound)?;
    request.tip_height.set(tip.height.into());
    request.tip_hash = tip.hash;
    let count = count(request, Chain::Bitcoin, room);
    let headers = match u32::try_from(request.first_height.get()) {
        Ok(first) => view.headers(first, count as u32).map_err(|error| {
            tracing::error!(%error, "cannot read headers");
            Status::StorageFailed
        })?,
        Err(_) => Vec::new(),
    };
    Ok(write(request, room, Chain::Bitcoin, headers.as_bytes()))
}

/// Number of headers that are requested and have room.
fn count(request: &HeadersFrame, chain: Chain, room: &[u8]) -> usize {
    usize::from(request.count.get()).min(room.len() / HeadersFrame::size_of_header(chain))
}

/// Writes headers into the room after the frame; returns their bytes.
fn write(request: &mut HeadersFrame, room: &mut [u8], chain: Chain, headers: &[u8]) -> usize {
    let size = HeadersFrame::size_of_header(chain);
    room[..headers.len()].copy_from_slice(headers);
    request.count.set((headers.len() / size) as u16);
    request.header_size.set(size as u16);
    headers.len()
}
