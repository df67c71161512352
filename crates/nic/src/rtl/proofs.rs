//! The NIC's proof cache, as its host sees it: misses that the node answers, and blocks that the node announces.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use wire::{Chain, FrameType, ProofRequest, Query, REPLY_BIT};
use zerocopy::{FromBytes, U64};

use crate::csr::{Announcement, change};

/// How long a miss keeps its id if the node does not answer it, which may happen under load.
const PATIENCE: Duration = Duration::from_secs(10);

impl Announcement {
    /// A block touches an address, whose latest transaction changes.
    pub fn forget(chain: Chain, address: [u8; 32]) -> Self {
        let place = chain.code() << 4 | Query::Latest.code();
        Self { operation: change::FORGET, place, address, ..Self::reorganise(chain, [0; 32], 0) }
    }

    /// A block extends its parent.
    pub fn extend(chain: Chain, hash: [u8; 32], height: u64, parent: [u8; 32]) -> Self {
        Self { operation: change::EXTEND, parent, ..Self::reorganise(chain, hash, height) }
    }

    /// The chain has another tip, and everything known of it is stale.
    pub fn reorganise(chain: Chain, hash: [u8; 32], height: u64) -> Self {
        let (place, height) = (chain.code() << 4, U64::new(height));
        Self { operation: change::REORGANISE, place, address: [0; 32], hash, height, parent: [0; 32] }
    }
}

/// A proof request that missed the cache.
#[derive(Debug)]
struct Miss {
    since: Instant,
    peer: SocketAddr,
    /// Number of the frame.
    number: [u8; 4],
    /// The NIC's id.
    id: u16,
}

/// Misses that the node has not answered, the oldest first. The NIC has at most 64 ids.
#[derive(Debug, Default)]
pub struct Misses(VecDeque<Miss>);

impl Misses {
    /// Stores the id of a request until it is answered.
    pub fn expect(&mut self, peer: SocketAddr, request: &[u8], id: u16, now: Instant) {
        let number = request.get(4..8).and_then(|number| number.try_into().ok()).unwrap_or_default();
        self.0.push_back(Miss { since: now, peer, number, id });
    }

    /// The id that a reply answers, and the body to fill the cache with, if the reply is a proof.
    pub fn answered<'a>(&mut self, peer: SocketAddr, reply: &'a [u8]) -> Option<(u16, Option<&'a [u8]>)> {
        let at = self.0.iter().position(|miss| miss.peer == peer && reply.get(4..8) == Some(&miss.number))?;
        let miss = self.0.remove(at)?;
        Some((miss.id, body(reply)))
    }

    /// The next id whose miss has timed out.
    pub fn given_up(&mut self, now: Instant) -> Option<u16> {
        let is_old = self.0.front().is_some_and(|miss| now.duration_since(miss.since) > PATIENCE);
        if is_old { self.0.pop_front().map(|miss| miss.id) } else { None }
    }
}

/// The body of a found proof.
fn body(reply: &[u8]) -> Option<&[u8]> {
    let (head, rest) = ProofRequest::ref_from_prefix(reply).ok()?;
    let is_proof = head.header.kind == FrameType::Proof as u8 | REPLY_BIT && head.status.get() == 0;
    let length = usize::try_from(head.body_length.get()).ok()?;
    if is_proof && length > 0 { rest.get(..length) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{U16, U32};
    use zerocopy::IntoBytes;

    #[test]
    fn announcements_are_what_the_rtl_reads() {
        let extend = Announcement::extend(Chain::Own, [1; 32], 0x0203, [4; 32]);
        let own = Chain::Own.code() << 4;
        let expected = [[2, own].as_slice(), &[0; 32], &[1; 32], &[0, 0, 0, 0, 0, 0, 2, 3], &[4; 32]].concat();
        assert_eq!(extend.as_bytes(), expected);
        let forget = Announcement::forget(Chain::Own, [7; 32]);
        assert_eq!(forget.as_bytes()[..34], [[1, own | 1].as_slice(), &[7; 32]].concat());
    }

    #[test]
    fn misses_are_answered_once() {
        let (peer, now) = (SocketAddr::from(([127, 0, 0, 1], 9)), Instant::now());
        let mut misses = Misses::default();
        let request = ProofRequest::new(5, Chain::Own, Query::Latest, [1; 32]);
        misses.expect(peer, request.as_bytes(), 3, now);
        let mut reply = request;
        reply.header.kind |= REPLY_BIT;
        reply.body_length = U32::new(2);
        let found = [reply.as_bytes(), &[8, 9]].concat();
        assert_eq!(misses.answered(SocketAddr::from(([127, 0, 0, 1], 8)), &found), None);
        assert_eq!(misses.answered(peer, &found), Some((3, Some([8, 9].as_slice()))));
        assert_eq!(misses.answered(peer, &found), None);
        misses.expect(peer, request.as_bytes(), 4, now);
        reply.status = U16::new(64);
        assert_eq!(misses.answered(peer, reply.as_bytes()), Some((4, None)));
        misses.expect(peer, request.as_bytes(), 6, now);
        assert_eq!(misses.given_up(now), None);
        assert_eq!(misses.given_up(now + 2 * PATIENCE), Some(6));
    }
}
