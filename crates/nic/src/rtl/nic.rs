//! The NIC with its host: everything between the network and the data path.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use zerocopy::IntoBytes;

use super::config::{RtlConfig, RtlError};
use super::counters::RtlCounters;
use super::device::{Device, Host};
use super::engine::Engine;
use super::model::Meta;
use super::packet;
use super::proofs::Misses;
use crate::backend::{Batch, Message, Peer};
use crate::counters::Counter;
use crate::csr::{self, Announcement, from_host, to_host};
use crate::frame;

/// Cycles between checks of the output: a word of 64 bytes takes eight on a port.
const TURN: u64 = 16;

/// Maximum cycles per packet: after reset the engines clear their memories, one place per cycle.
const PATIENCE: u64 = 1 << 24;

/// A counter of the backend that follows one of the NIC.
type Counted = (fn(&RtlCounters) -> &Counter, u32);

const PROOFS: [Counted; 2] = [(|all| &all.proofs, csr::PROOF_HITS), (|all| &all.fills, csr::FILLS)];
const VERIFIED: [Counted; 3] = [
    (|all| &all.signatures, csr::VERIFY_SIGNATURES),
    (|all| &all.roots, csr::VERIFY_ROOTS),
    (|all| &all.headers, csr::VERIFY_HEADERS),
];

/// The NIC, the state that follows its engines, and datagrams for the data path.
pub struct Nic<D = Device> {
    pub device: D,
    pub engine: Engine,
    misses: Misses,
    /// Datagrams for the data path, and those that must wait until the engine is empty, because they write its
    /// accounts.
    pub arrived: VecDeque<(Peer, Vec<u8>)>,
    pub late: Vec<(Peer, Vec<u8>)>,
    counters: Arc<RtlCounters>,
}

impl<D: Host> Nic<D> {
    /// Sets the registers of a NIC that does not run. Also returns the control bits to start it with.
    pub fn with_device(config: &RtlConfig, mut device: D, counters: Arc<RtlCounters>) -> (Self, u32) {
        device.write(csr::UDP_PORT, config.own.port().into());
        device.write(csr::PROMISE, config.promise as u32);
        device.write_all(csr::SECRET, &config.secret);
        let (engine, control) = Engine::set_up(config, &mut device, counters.clone());
        let (arrived, late) = (VecDeque::new(), Vec::new());
        (Self { device, engine, misses: Misses::default(), arrived, late, counters }, control)
    }

    /// Whether the NIC's transfer engine executes operations.
    pub fn is_executing(&self) -> bool {
        Engine::is_executing(&self.device)
    }

    /// Makes the node execute everything from now on.
    pub fn stop_executing(&mut self) {
        self.engine.stop(&mut self.device);
    }

    /// The node's address.
    pub fn own(&self) -> SocketAddr {
        self.device.own()
    }

    /// Whether there are datagrams for the data path.
    pub fn has_arrived(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// Whether the node is so far behind that nothing more should enter.
    pub fn is_full(&self) -> bool {
        self.engine.is_full()
    }

    /// Informs the proof cache about a block.
    pub fn announce(&mut self, announcement: &Announcement) {
        self.device.tell(from_host::ANNOUNCE, 0, announcement.as_bytes());
    }

    /// Frees the ids of misses that the node did not answer in time.
    pub fn give_up(&mut self) {
        while let Some(id) = self.misses.given_up(Instant::now()) {
            self.fill(id, None);
        }
    }

    /// Answers a miss.
    fn fill(&mut self, id: u16, body: Option<&[u8]>) {
        match body {
            Some(body) => self.device.tell(from_host::FILL, id, body),
            None => self.device.tell(from_host::NONE, id, &[0]),
        }
    }

    /// Handles a reply of the node.
    pub fn take_reply(&mut self, peer: Peer, reply: &[u8]) {
        if let Some((id, body)) = self.misses.answered(peer.address, reply) {
            self.fill(id, body);
        }
        self.engine.compare(&mut self.device, peer, reply);
    }

    /// Handles a packet on the host's stream. Call [`follow`](Self::follow) after one or more.
    pub fn take_host(&mut self, meta: Meta, packet: Vec<u8>) {
        match meta.kind {
            to_host::RECORD => self.engine.take_record(&packet),
            to_host::REPLY => self.engine.take_reply(meta.port, packet),
            to_host::MISS => {
                self.counters.misses.add(1);
                if let Some((peer, place)) = frame::parse(&packet, meta.port) {
                    self.misses.expect(peer.address, &packet[place], meta.id, Instant::now());
                }
                self.take_passed(meta.port, packet);
            }
            _ => self.take_passed(meta.port, packet),
        }
    }

    /// Passes operations that the engine has executed to the data path.
    pub fn follow(&mut self) {
        self.engine.follow(&mut self.device, &mut self.arrived);
    }

    /// Handles a packet that no engine took.
    fn take_passed(&mut self, port: u8, mut packet: Vec<u8>) {
        self.counters.passed.add(1);
        let own = self.device.own();
        let is_own = packet::destination(&packet, port).is_some_and(|(peer, _)| peer.address == own);
        if is_own && let Some((peer, place)) = frame::parse(&packet, port) {
            return self.arrive(peer, &packet[place]);
        }
        if let IpAddr::V4(own) = own.ip()
            && packet::answer(&mut packet, self.device.mac(), own)
        {
            self.counters.answered.add(1);
            self.device.send(port, &packet);
        }
    }

    /// Queues a datagram for the data path. If it writes accounts of the engine, or if the engine has stopped for
    /// another reason, the engine's operations in flight come first.
    fn arrive(&mut self, peer: Peer, datagram: &[u8]) {
        if self.engine.yields_to(&mut self.device, peer, datagram) || self.engine.is_stopping() {
            self.late.push((peer, datagram.to_vec()));
        } else {
            self.arrived.push_back((peer, datagram.to_vec()));
        }
    }

    /// Queues the datagrams that waited until the engine was empty.
    pub fn release_late(&mut self) {
        self.engine.has_stopped();
        self.arrived.extend(self.late.drain(..));
    }

    /// Fills the batch with arrived datagrams.
    pub fn deliver(&mut self, batch: &mut Batch) {
        let mut offset = 0;
        while batch.messages.len() < batch.limit() {
            let Some((peer, datagram)) = self.arrived.front() else { return };
            let (peer, length) = (*peer, datagram.len());
            let Some(place) = batch.memory.own().get_mut(offset..offset + length) else { return };
            place.copy_from_slice(datagram);
            batch.messages.push(Message { peer, offset, length, segment: length });
            offset += length;
            self.arrived.pop_front();
        }
    }
}

impl Nic {
    /// Loads the NIC, sets its registers and starts it.
    pub fn new(config: &RtlConfig, counters: Arc<RtlCounters>) -> Result<Self, RtlError> {
        let device = Device::load(&config.library, config.own, config.seed, counters.clone())?;
        let (mut nic, mut control) = Self::with_device(config, device, counters);
        let device = &mut nic.device;
        device.write_all(csr::PROOF_SECRET, &config.proof_secret);
        if config.proofs {
            control |= csr::CONTROL_PROOF;
        }
        if device.read(csr::VERIFY_ENGINES) != 0 && config.verify.is_some_and(|prefix| device.trust(prefix)) {
            control |= csr::CONTROL_VERIFY;
        }
        device.start(control);
        Ok(nic)
    }

    /// The packets that left by ports and were not taken yet.
    pub fn departed(&mut self) -> &mut Vec<(u8, Vec<u8>)> {
        self.device.departed()
    }

    /// Passes in a packet from the network.
    pub fn take_packet(&mut self, port: u8, packet: &[u8]) {
        self.device.enter(port, packet);
    }

    /// Passes in a datagram from a socket, or a frame of a connection, which bypasses the NIC.
    pub fn take_datagram(&mut self, peer: Peer, datagram: &[u8]) {
        if peer.connection.is_some() {
            return self.arrive(peer, datagram);
        }
        self.device.enter_datagram(peer, datagram);
    }

    /// Advances the clock until nothing is inside.
    pub fn turn(&mut self) -> io::Result<()> {
        self.engine.tick(&mut self.device);
        let begin = self.device.cycle();
        let mut moved = begin;
        while self.device.is_busy() || self.engine.is_waiting() {
            self.device.step(TURN)?;
            if self.take_out() {
                moved = self.device.cycle();
            } else if self.device.cycle() - moved > PATIENCE {
                let inside = self.device.inside();
                return Err(io::Error::other(format!("{inside} packets do not leave the simulated NIC")));
            }
        }
        if self.is_executing() && self.device.cycle() != begin {
            // A record may leave after its reply.
            self.device.step(2 * TURN)?;
            self.take_out();
            self.engine.has_run();
        }
        self.release_late();
        if self.device.cycle() != begin {
            self.count(csr::CONTROL_PROOF, &PROOFS);
            self.count(csr::CONTROL_VERIFY, &VERIFIED);
        }
        self.counters.cycles.add(self.device.cycle() - begin);
        Ok(())
    }

    /// Updates counters from those of an engine, if it is on.
    fn count(&mut self, control: u32, counted: &[Counted]) {
        if !self.device.has(control) {
            return;
        }
        for (counter, register) in counted {
            let counter = counter(&self.counters);
            counter.add(self.device.counter(*register) - counter.get());
        }
    }

    /// Takes output of the NIC. Returns whether there was any.
    fn take_out(&mut self) -> bool {
        let mut has_moved = self.device.take_departed();
        while let Some((meta, packet)) = self.device.take_host() {
            has_moved = true;
            self.take_host(meta, packet);
        }
        self.follow();
        has_moved
    }
}
