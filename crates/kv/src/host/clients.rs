//! Clients by datagram: the NIC answers them, or leaves requests to this thread.

use std::{io, net::SocketAddr, sync::Arc};

use net::Prefix;

use super::{NicHost, Output};
use crate::{
    replies::Replies,
    service::Service,
    session::{
        Session,
        datagram::{self, LONGEST_REPLY},
    },
};

/// The side of the host that serves clients by datagram, on one thread.
#[derive(Debug)]
pub struct NicClients {
    session: Session,
    reply: Replies,
    output: Output,
    trusted: Vec<Prefix>,
}

impl NicClients {
    /// Only clients of `trusted` prefixes get replies that are longer than their requests.
    pub fn new(service: &Arc<Service>, trusted: &[Prefix]) -> Self {
        Self {
            session: Session::for_datagrams(service),
            reply: Replies::new(LONGEST_REPLY),
            output: Output::default(),
            trusted: trusted.to_vec(),
        }
    }

    /// Advances the NIC by some cycles, executes the requests that it leaves to the host, and
    /// appends replies. Returns whether there
    /// is more to do.
    pub fn advance(
        &mut self,
        nic: &NicHost,
        service: &Service,
        departed: &mut Vec<(SocketAddr, Vec<u8>)>,
    ) -> io::Result<bool> {
        let mut is_busy = nic.advance(service, &mut self.output)?;
        departed.append(&mut self.output.departed);
        let now = service.store.clock().now();
        for (peer, datagram) in self.output.requests.drain(..) {
            self.reply.clear();
            is_busy = true;
            let frame = datagram::execute(&mut self.session, &service.store, &datagram, &mut self.reply, now);
            let longest = datagram::longest(&self.trusted, &peer, datagram.len());
            if let Some(frame) = frame
                && datagram::with_headers(&self.reply) <= longest
            {
                nic.reply(service, peer, frame, &self.reply);
            }
        }
        Ok(is_busy)
    }

    /// Bytes of memory that it keeps.
    pub fn bytes(&self) -> usize {
        self.reply.capacity()
    }
}
