//! First stage: the packet selector.
//!
//! Decides what a datagram is and whether its sender may ask for it. Nothing is written and nothing is executed here.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use wire::{BatchEntries, BatchFormat, Frame, ParseError, Promise, Status};

use crate::backend::Peer;
use crate::controller::QueryKind;
use crate::cost::Costs;
use crate::prefix::Prefix;
use crate::rate::{RateLimit, RateLimiter, Verdict};

/// Whom a service is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audience {
    /// Trusted prefixes.
    #[default]
    Trusted,
    /// Everyone.
    All,
}

/// Who may send what.
#[derive(Clone, Debug, Default)]
pub struct SelectorConfig {
    /// Where unsigned operations are taken from.
    pub trusted: Vec<Prefix>,
    /// The limit of each prefix that is not trusted; none if there is no limit.
    pub rate_limit: Option<RateLimit>,
    /// The limit of each prefix that is trusted; none if there is no limit.
    pub trusted_rate_limit: Option<RateLimit>,
    /// Whose verify frames are answered.
    pub verify: Audience,
    /// What requests cost.
    pub costs: Arc<Costs>,
}

/// What a datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// A compact transfer frame from a trusted sender.
    Compact,
    /// A batch of unsigned operations from a trusted sender, and the promise that it asks for.
    Batch(BatchFormat, Promise),
    /// A full transfer frame, or a batch of signed operations.
    Signed,
    /// An approval of a change of the set of replicas.
    Change,
    /// A question that changes nothing.
    Query(QueryKind),
    /// A frame that is refused.
    Refuse(Status),
    /// Not a frame; the error knows how to answer it.
    Error(ParseError),
    /// A datagram that gets no answer.
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

    /// Replaces the limit of each prefix that is not trusted. What prefixes have spent is forgotten.
    pub fn set_rate_limit(&mut self, limit: Option<RateLimit>) {
        self.limiter = limit.map(RateLimiter::new);
    }

    /// Selects what is to be done with a datagram.
    pub fn select(&mut self, peer: &Peer, datagram: &[u8], now: Instant) -> Selection {
        // From its own port another node would speak, and two nodes could be made to answer each other for ever. Port 0
        // cannot be answered.
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
            // A connection's sender is who he says, and takes one answer before he sends much more.
            Verdict::Drop if peer.connection.is_none() => Selection::Drop,
            Verdict::Refuse | Verdict::Drop => Selection::Refuse(Status::RateLimited),
        }
    }

    /// What a frame is and how many operations it is worth.
    fn classify(&self, frame: &Frame<'_>, trusted: bool) -> (Selection, u32) {
        match frame {
            Frame::Compact(_) if trusted => (Selection::Compact, 1),
            Frame::Batch(batch) => {
                let count = u32::from(batch.header.count.get());
                // The parser has checked both.
                let promise = batch.header.promise().unwrap_or(Promise::Default);
                match batch.entries {
                    BatchEntries::Signed(_) => (Selection::Signed, count),
                    // To refuse the whole costs no more than a single frame.
                    _ if !trusted => (Selection::Refuse(Status::NotTrusted), 1),
                    BatchEntries::Compact(_) => (Selection::Batch(BatchFormat::Compact, promise), count),
                    BatchEntries::Operation(_) => (Selection::Batch(BatchFormat::Operation, promise), count),
                }
            }
            Frame::Compact(_) => (Selection::Refuse(Status::NotTrusted), 1),
            Frame::Full(_) => (Selection::Signed, 1),
            // It has a signature, as a signed operation has.
            Frame::Change(_) => (Selection::Change, 1),
            Frame::Proof(_) => (Selection::Query(QueryKind::Proof), 1),
            Frame::Headers(_) => (Selection::Query(QueryKind::Headers), 1),
            Frame::Info(_) => (Selection::Query(QueryKind::Info), 1),
            Frame::Finality(_) => (Selection::Query(QueryKind::Finality), 1),
            Frame::Verify(_) if !trusted && self.verify == Audience::Trusted => {
                (Selection::Refuse(Status::NotTrusted), 1)
            }
            Frame::Verify(verify) => (Selection::Query(QueryKind::Verify), self.costs.operations(verify)),
        }
    }
}
