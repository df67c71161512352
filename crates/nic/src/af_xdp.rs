//! Backend `af_xdp`: network frames of the node's port, taken from the driver, bypassing the host's network stack.
//!
//! The XDP program redirects what it does not answer itself ([`xdp::Socket`]). A reply replaces its request in place
//! and returns the same way, so neither routes nor neighbours are looked up. The host's sockets handle everything else:
//! fragments, large datagrams, other interfaces, a queue without room.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use net::Waker;
use xdp::{Receiver, Sender, Socket};

use crate::backend::{Backend, Batch, Memory, Message, Peer, Reply, Transmit};
use crate::counters::Counters;
use crate::frame;
use crate::udp::{UdpBackend, UdpTransmitter};
use crate::wait::Wait;

/// How often the host's socket comes first while there are always frames.
const HOST_FIRST: u32 = 16;

/// Frames, with the host's sockets next to them.
pub struct AfXdpBackend {
    host: UdpBackend,
    receivers: Vec<Receiver>,
    transmitter: AfXdpTransmitter,
    wait: Wait,
    turn: u32,
}

impl AfXdpBackend {
    /// Adds the sockets of an interface's queues, in order, to the host's. Without any it uses the host's alone.
    pub fn new(host: UdpBackend, sockets: Vec<Socket>, counters: Arc<Counters>) -> io::Result<Self> {
        let port = host.local_address()?.port();
        let (receivers, senders): (Vec<_>, Vec<_>) =
            sockets.into_iter().map(|socket| (socket.receiver, socket.sender.map(Mutex::new))).unzip();
        let wait = host.wait().also(receivers.iter().map(|receiver| receiver.socket().clone()));
        let transmitter = AfXdpTransmitter { host: host.transmitter()?, senders: senders.into(), port, counters };
        Ok(Self { host, receivers, transmitter, wait, turn: 0 })
    }
}

/// Takes frames from the queues until the batch is full. Returns whether there were any.
fn receive_frames(receivers: &mut [Receiver], transmitter: &AfXdpTransmitter, batch: &mut Batch, first: u32) -> bool {
    let count = receivers.len();
    let limit = batch.limit();
    for queue in (0..count).map(|at| (at + first as usize) % count) {
        let receiver = &mut receivers[queue];
        while batch.messages.len() < limit {
            let Some(frame) = receiver.receive() else { break };
            match frame::parse(&frame, queue as u8) {
                Some((peer, place)) => {
                    let offset = batch.memory.lend(queue, frame) + place.start;
                    batch.messages.push(Message { peer, offset, length: place.len(), segment: place.len() });
                }
                None => {
                    transmitter.counters.dropped.add(1);
                    receiver.give(frame);
                }
            }
        }
        // The kernel immediately gets replacements for the taken frames.
        if let Some(mut sender) = transmitter.sender(queue) {
            for _ in 0..receiver.missing() {
                let Some(frame) = sender.take() else { break };
                receiver.give(frame);
            }
        }
        receiver.publish();
    }
    transmitter.counters.frames.add(batch.messages.len() as u64);
    !batch.messages.is_empty()
}

impl Backend for AfXdpBackend {
    type Transmitter = AfXdpTransmitter;

    fn receive(&mut self, batch: &mut Batch, timeout: Duration) -> io::Result<()> {
        batch.messages.clear();
        let Self { host, receivers, transmitter, wait, turn } = self;
        for (queue, frame) in batch.memory.lent() {
            // Requests without a reply in place.
            let receiver = &mut receivers[queue];
            match transmitter.sender(queue) {
                Some(mut sender) if receiver.missing() == 0 => sender.put_back(frame),
                _ => receiver.give(frame),
            }
        }
        wait.until(timeout, || {
            *turn = turn.wrapping_add(1);
            if *turn % HOST_FIRST != 0 && receive_frames(receivers, transmitter, batch, *turn) {
                return Ok(true);
            }
            Ok(host.try_receive(batch)? || receive_frames(receivers, transmitter, batch, *turn))
        })
    }

    fn reply(&mut self, memory: &mut Memory, replies: &mut Vec<(Peer, Range<usize>)>) {
        let Self { transmitter: AfXdpTransmitter { host, senders, port, counters }, .. } = self;
        let mut outlet = Outlet::new(senders, *port);
        replies.retain(|(peer, place)| !outlet.send_in_place(memory, peer, place));
        counters.replies.add(outlet.finish() as u64);
        if !replies.is_empty() {
            let memory = &*memory;
            host.transmit(&mut replies.drain(..).map(|(peer, place)| Reply { peer, bytes: &memory[place] }));
        }
    }

    fn transmitter(&self) -> io::Result<AfXdpTransmitter> {
        let AfXdpTransmitter { senders, port, counters, .. } = &self.transmitter;
        let host = self.host.transmitter()?;
        Ok(AfXdpTransmitter { host, senders: senders.clone(), port: *port, counters: counters.clone() })
    }

    fn waker(&self) -> Waker {
        self.host.waker()
    }

    fn local_address(&self) -> io::Result<SocketAddr> {
        self.host.local_address()
    }
}

impl Transmit for AfXdpBackend {
    fn transmit(&mut self, replies: &mut dyn Iterator<Item = Reply<'_>>) -> usize {
        self.transmitter.transmit(replies)
    }
}

/// Sends frames, and everything else from the host's socket.
pub struct AfXdpTransmitter {
    host: UdpTransmitter,
    /// By queue; `None` for a receive-only queue.
    senders: Arc<[Option<Mutex<Sender>>]>,
    port: u16,
    counters: Arc<Counters>,
}

impl AfXdpTransmitter {
    fn sender(&self, queue: usize) -> Option<MutexGuard<'_, Sender>> {
        lock(&self.senders, queue)
    }
}

impl Transmit for AfXdpTransmitter {
    fn transmit(&mut self, replies: &mut dyn Iterator<Item = Reply<'_>>) -> usize {
        let Self { host, senders, port, counters } = self;
        let mut outlet = Outlet::new(senders, *port);
        let sent = host.transmit(&mut replies.filter(|reply| !outlet.send(reply)));
        let framed = outlet.finish();
        counters.replies.add(framed as u64);
        sent + framed
    }
}

fn lock(senders: &[Option<Mutex<Sender>>], queue: usize) -> Option<MutexGuard<'_, Sender>> {
    Some(senders.get(queue)?.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Puts frames on the rings of several queues, locking one at a time: frames of a batch mostly go to one.
struct Outlet<'a> {
    senders: &'a [Option<Mutex<Sender>>],
    current: Option<(u8, MutexGuard<'a, Sender>)>,
    port: u16,
    sent: usize,
}

impl<'a> Outlet<'a> {
    fn new(senders: &'a [Option<Mutex<Sender>>], port: u16) -> Self {
        Self { senders, current: None, port, sent: 0 }
    }

    /// The ring of a queue, if it can send another frame.
    fn sender(&mut self, queue: u8) -> Option<&mut Sender> {
        if self.current.as_ref().is_none_or(|(current, _)| *current != queue) {
            self.flush();
            self.current = Some((queue, lock(self.senders, queue.into())?));
        }
        let (_, sender) = self.current.as_mut()?;
        sender.has_room().then_some(sender)
    }

    /// Sends a reply in the frame of its request. Returns whether it could.
    fn send_in_place(&mut self, memory: &mut Memory, peer: &Peer, place: &Range<usize>) -> bool {
        let (Some(via), port) = (peer.via, self.port) else { return false };
        let Some(sender) = self.sender(via.queue) else { return false };
        let Some(mut frame) = memory.take_back(place) else { return false };
        frame.set_length(frame::headers_length(peer, &via) + place.len());
        frame::write_headers(&mut frame, peer, &via, port);
        self.sent += usize::from(sender.push(frame));
        true
    }

    /// Sends a reply in a new frame. Returns whether it could.
    fn send(&mut self, reply: &Reply<'_>) -> bool {
        let Reply { peer, bytes } = reply;
        let (Some(via), port) = (peer.via, self.port) else { return false };
        let headers = frame::headers_length(peer, &via);
        if bytes.is_empty() || headers + bytes.len() > xdp::SOCKET_BYTES {
            return false;
        }
        let Some(mut frame) = self.sender(via.queue).and_then(Sender::take) else { return false };
        frame.set_length(headers + bytes.len());
        frame[headers..].copy_from_slice(bytes);
        frame::write_headers(&mut frame, peer, &via, port);
        let pushed = self.sender(via.queue).is_some_and(|sender| sender.push(frame));
        self.sent += usize::from(pushed);
        pushed
    }

    /// Makes the kernel send the frames on the ring.
    fn flush(&mut self) {
        if let Some((_, mut sender)) = self.current.take() {
            sender.send();
        }
    }

    /// Flushes. Returns the number of frames sent.
    fn finish(mut self) -> usize {
        self.flush();
        self.sent
    }
}
