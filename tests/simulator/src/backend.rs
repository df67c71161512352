//! The node's end of the network.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use net::Waker;
use nic::backend::{MESSAGE_BYTES, Message};
use nic::{Backend, Batch, Peer, Reply, Transmit};

/// Address that the node listens on.
pub const NODE: &str = "10.0.0.1:7400";

/// A datagram, with the address of its client.
pub type Addressed = (SocketAddr, Vec<u8>);

/// Datagrams that arrived for the node, and those that it sent.
#[derive(Clone, Default)]
pub struct Port {
    inbox: Arc<Mutex<VecDeque<Addressed>>>,
    outbox: Arc<Mutex<Vec<Addressed>>>,
}

impl Port {
    pub fn deliver(&self, datagram: Addressed) {
        self.inbox.lock().unwrap().push_back(datagram);
    }

    pub fn is_empty(&self) -> bool {
        self.inbox.lock().unwrap().is_empty()
    }

    pub fn take_sent(&self) -> Vec<Addressed> {
        std::mem::take(&mut self.outbox.lock().unwrap())
    }
}

impl Transmit for Port {
    fn transmit(&mut self, replies: &mut dyn Iterator<Item = Reply<'_>>) -> usize {
        let mut outbox = self.outbox.lock().unwrap();
        let before = outbox.len();
        outbox.extend(replies.map(|reply| (reply.peer.address, reply.bytes.to_vec())));
        outbox.len() - before
    }
}

impl Backend for Port {
    type Transmitter = Self;

    fn receive(&mut self, batch: &mut Batch, _timeout: Duration) -> io::Result<()> {
        batch.messages.clear();
        let mut inbox = self.inbox.lock().unwrap();
        while batch.messages.len() < batch.limit() {
            let Some((address, bytes)) = inbox.pop_front() else { break };
            let offset = batch.messages.len() * MESSAGE_BYTES;
            batch.memory[offset..offset + bytes.len()].copy_from_slice(&bytes);
            batch.messages.push(Message {
                peer: Peer::new(address),
                offset,
                length: bytes.len(),
                segment: bytes.len(),
            });
        }
        Ok(())
    }

    fn transmitter(&self) -> io::Result<Self> {
        Ok(self.clone())
    }

    fn waker(&self) -> Waker {
        Waker::new().unwrap()
    }

    fn local_address(&self) -> io::Result<SocketAddr> {
        Ok(NODE.parse().unwrap())
    }
}
