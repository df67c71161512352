//! First stage: the packet selector.
//!
//! It classifies a datagram and decides whether its sender may request it. It writes and executes nothing.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use wire::{BatchEntries, BatchFormat, Frame, ParseError, Promise, Status};

use crate::backend::Peer;
use crate::controller::QueryKind;
use crate::cost::Costs;
use crate::rate::{RateLimit, RateLimiter, Verdict};
use net::Prefix;

/// Cost of a page of a history, in operations: a node examines at most 256 transactions for it, which takes as long as
/// the signatures of that many operations.
const HISTORY_COST: u32 = 32;

/// The senders that a service is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// Trusted prefixes.
    #[default]
    Trusted,
    /// Everyone.
    All,
}

/// Configuration of the selector.
#[derive(Clone, Debug, Default)]
pub struct SelectorConfig {
    /// Prefixes from which unsigned operations are accepted.
    pub trusted: Vec<Prefix>,
    /// The limit per untrusted prefix; `None` for no limit.
    pub rate_limit: Option<RateLimit>,
    /// The limit per trusted prefix; `None` for no limit.
    pub trusted_rate_limit: Option<RateLimit>,
    /// Senders whose verify frames are answered.
    pub verify: Audience,
    /// Costs of requests.
    pub costs: Arc<Costs>,
}

/// Classification of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// A compact transfer frame from a trusted sender.
    Compact,
    /// A batch of unsigned operations from a trusted sender, and the promise that it requests.
    Batch(BatchFormat, Promise),
    /// A full transfer frame, or a batch of signed operations.
    Signed,
    /// An approval of a change of the set of replicas.
    Change,
    /// A query.
    Query(QueryKind),
    /// A frame that is refused.
    Refuse(Status),
    /// Not a frame; the error determines the reply.
    Error(ParseError),
    /// A datagram that gets no reply.
    Drop,
}

/// The packet selector.
#[derive(Debug)]
pub struct Selector {
    trusted: Vec<Prefix>,
    limiter: Option<RateLimiter>,
    trusted_limiter: Option<RateLimiter>,
    verify: Audience,
    costs: Arc<Costs>,
    own_port: u16,
}

impl Selector {
    /// A selector for a node that listens on `local`.
    pub fn new(config: SelectorConfig, local: SocketAddr) -> Self {
        Self {
            trusted: config.trusted,
            limiter: config.rate_limit.map(RateLimiter::new),
            trusted_limiter: config.trusted_rate_limit.map(RateLimiter::new),
            verify: config.verify,
            costs: config.costs,
            own_port: local.port(),
        }
    }

    /// Whether an address is in a trusted prefix.
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|prefix| prefix.contains(address))
    }

    /// Replaces the limit per untrusted prefix. The usage so far is forgotten.
    pub fn set_rate_limit(&mut self, limit: Option<RateLimit>) {
        self.limiter = limit.map(RateLimiter::new);
    }

    /// Classifies a datagram.
    pub fn select(&mut self, peer: &Peer, datagram: &[u8], now: Instant) -> Selection {
        // A datagram from this port may come from another node, and two nodes could then answer each other forever.
        // Port 0 cannot be answered.
        if peer.connection.is_none() && (peer.address.port() == self.own_port || peer.address.port() == 0) {
            return Selection::Drop;
        }
        let ip = peer.address.ip();
        let trusted = self.trusts(ip);
        let (selection, cost) = match Frame::parse(datagram) {
            Err(error) if !error.is_answered() => return Selection::Drop,
            Err(error) => (Selection::Error(error), 1),
            Ok(frame) => self.classify(&frame, trusted),
        };
        let limiter = if trusted { &mut self.trusted_limiter } else { &mut self.limiter };
        let Some(limiter) = limiter else { return selection };
        match limiter.charge(ip, cost, now) {
            Verdict::Pass => {
                self.costs.charged.add(cost.into());
                selection
            }
            // A connection's sender is genuine, and takes one reply before it sends much more.
            Verdict::Drop if peer.connection.is_none() => Selection::Drop,
            Verdict::Refuse | Verdict::Drop => Selection::Refuse(Status::RateLimited),
        }
    }

    /// The kind of a frame, and its cost in operations.
    fn classify(&self, frame: &Frame<'_>, trusted: bool) -> (Selection, u32) {
        match frame {
            Frame::Compact(_) if trusted => (Selection::Compact, 1),
            Frame::Batch(batch) => {
                let count = u32::from(batch.header.count.get());
                // The parser has checked both.
                let promise = batch.header.promise().unwrap_or(Promise::Default);
                match batch.entries {
                    BatchEntries::Signed(_) => (Selection::Signed, count),
                    // Refusing the whole costs no more than a single frame.
                    _ if !trusted => (Selection::Refuse(Status::NotTrusted), 1),
                    BatchEntries::Compact(_) => (Selection::Batch(BatchFormat::Compact, promise), count),
                    BatchEntries::Operation(_) => (Selection::Batch(BatchFormat::Operation, promise), count),
                }
            }
            Frame::Compact(_) => (Selection::Refuse(Status::NotTrusted), 1),
            Frame::Full(_) => (Selection::Signed, 1),
            // It has a signature, like a signed operation.
            Frame::Change(_) => (Selection::Change, 1),
            // Connections pass their feed frames to the feeds, if the node serves any.
            Frame::Feed(feed) if trusted => (Selection::Error(ParseError::unknown_type(feed.header.id.get())), 1),
            Frame::Feed(_) => (Selection::Refuse(Status::NotTrusted), 1),
            Frame::Proof(_) => (Selection::Query(QueryKind::Proof), 1),
            Frame::Headers(_) => (Selection::Query(QueryKind::Headers), 1),
            Frame::Info(_) => (Selection::Query(QueryKind::Info), 1),
            Frame::Finality(_) => (Selection::Query(QueryKind::Finality), 1),
            Frame::History(_) => (Selection::Query(QueryKind::History), HISTORY_COST),
            Frame::Assets(_) => (Selection::Query(QueryKind::Assets), 1),
            Frame::Verify(_) if !trusted && self.verify == Audience::Trusted => {
                (Selection::Refuse(Status::NotTrusted), 1)
            }
            Frame::Verify(verify) => (Selection::Query(QueryKind::Verify), self.costs.operations(verify)),
        }
    }
}
