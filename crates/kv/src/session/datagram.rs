//! Requests in a datagram, and the limits of their replies.

use net::Prefix;
use nic::backend::Peer;

use super::{NextStep, Session};
use crate::{
    protocol::udp::{Frame, HEADER, LONGEST, parse},
    replies::Replies,
    store::Store,
    turn::Turn,
};

/// Bytes of a reply at most.
pub const LONGEST_REPLY: usize = 1 << 20;

/// Executes the requests in a datagram.
pub fn execute<'a>(
    session: &mut Session,
    store: &Store,
    datagram: &'a [u8],
    reply: &mut Replies,
    now: u32,
) -> Option<&'a Frame> {
    let (frame, requests) = parse(datagram)?;
    if !frame.is_single() {
        reply.extend_from_slice(b"SERVER_ERROR multi-packet request not supported\r\n");
        return Some(frame);
    }
    session.start_over();
    let (mut done, mut turn) = (0, Turn::for_datagram());
    loop {
        let progress = session.feed(&requests[done..], reply, &mut turn, now);
        done += progress.consumed;
        let refusal: &[u8] = match progress.next {
            // More after a long value that still fits.
            NextStep::Send if reply.complete(store) == Ok(true) => continue,
            NextStep::More(_) | NextStep::Close if reply.complete(store).is_ok() => break,
            NextStep::Turn => b"SERVER_ERROR too many requests in a datagram\r\n",
            NextStep::Send | NextStep::More(_) | NextStep::Close | NextStep::Watch(_) => {
                b"SERVER_ERROR out of memory writing get response\r\n"
            }
        };
        reply.discard(store);
        reply.extend_from_slice(refusal);
        break;
    }
    (!reply.is_empty()).then_some(frame)
}

/// Bytes of all datagrams of a reply.
pub fn with_headers(reply: &[u8]) -> usize {
    reply.len() + reply.len().div_ceil(LONGEST - HEADER) * HEADER
}

/// Bytes of all datagrams that a peer may get for a request.
pub fn longest(trusted: &[Prefix], peer: &Peer, request: usize) -> usize {
    let trusted = trusted.iter().any(|prefix| prefix.contains(peer.address.ip()));
    // A spoofed source address must not receive more bytes than the request had.
    if trusted { usize::MAX } else { request }
}
