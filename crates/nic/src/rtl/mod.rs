//! Backend `rtl`: the NIC of `rtl/nic`, simulated, between the network and the data path.
//!
//! ```text
//! sockets or a TAP device <-> ports [ NIC ] host <-> data path
//! ```
//!
//! Every datagram enters the NIC as an Ethernet packet, and every reply leaves it as one. What its engines do not take comes out
//! on the host's side and is answered by the data path, or, where it is ARP or an echo request, right here.
//!
//! The transfer engine executes compact frames, and batches of them. The node's ledger follows it ([`lockstep`]): each operation is executed
//! by the data path as well, in the NIC's order, and so gets into the journal. At [`Promise::Durable`] the NIC's reply is held
//! until the node has given the same; at [`Promise::Accepted`] it leaves at once. The accounts of compact frames have one
//! writer, the NIC, until something else is about to write them (a batch of 128-bit operations, a connection), it has no
//! room to remember another operation, or the two differ: then the NIC **hands over**, and the node answers everything until
//! it starts anew.
//!
//! Proofs are answered out of the NIC's cache ([`proofs`]), which the node fills and tells of blocks.
//!
//! The clock moves while a packet is inside. The thread of the data path moves it.

pub mod batches;
pub mod lockstep;
pub mod model;
pub mod packet;
pub mod proofs;
pub mod tap;
pub mod ticks;

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use wire::{BatchEntries, Chain, Command, CompactFrame, Frame, Operation, Promise, Status};
use zerocopy::{FromBytes, IntoBytes};

use crate::backend::{Backend, Batch, Message, Peer, Reply, Transmit, Waker};
use crate::counters::Counter;
use crate::csr;
use crate::frame::{self, Mac, Via};
use crate::prefix::Prefix;
use crate::wait::wait_for;
use batches::Batches;
use lockstep::{Carrier, Held, Lockstep, Record, Verdict};
use model::{LoadError, Meta, Model, from_host, to_host};
use proofs::{Announcement, Misses};
use tap::Tap;
use ticks::Ticks;

/// The hardware address of the node: administered locally, and "TPNI".
const MAC: Mac = [0x02, 0x54, 0x50, 0x4e, 0x49, 0x01];

/// Cycles between two looks at what came out: a word of 64 bytes takes eight on a port.
const TURN: u64 = 16;

/// Cycles that a packet may take: after reset the engines clear their memories, which takes a cycle for each place.
const PATIENCE: u64 = 1 << 24;

/// Replies that wait to enter the NIC; more are lost, as in the queue of a network card.
const QUEUE: usize = 1 << 16;

/// Packets that are taken from a TAP device at once.
const TAP_PACKETS: usize = 64;

/// How long the data path rests while the node is behind the NIC.
const NAP: Duration = Duration::from_micros(100);

/// Most addresses of a block that the NIC is told one by one: it takes some cycles for each.
const FORGOTTEN: usize = 1024;

/// What the transfer engine takes.
const ENGINE: u32 = csr::CONTROL_COMPACT | csr::CONTROL_BATCH;

/// The connection that stands for the NIC: replies to operations whose own reply has left already.
const NOBODY: u32 = u32::MAX;

/// How the backend uses the NIC.
#[derive(Clone, Debug)]
pub struct RtlConfig {
    /// The library that `make rtl` builds.
    pub library: PathBuf,
    /// The node's address; not the wildcard.
    pub own: SocketAddr,
    /// From where unsigned operations are taken, if the transfer engine is to take compact frames: the NIC knows one prefix
    /// of IPv4. The ledger has to be empty then.
    pub engine: Option<Prefix>,
    /// Whether the proof cache answers.
    pub proofs: bool,
    /// The promise of compact frames.
    pub promise: Promise,
    /// Operations that the ledger remembers for their retries. Where the NIC remembers more and answers at once, it executes
    /// none: it would answer what the ledger has no room for.
    pub retries: u64,
    /// How long an operation is remembered, at least.
    pub retention: Duration,
    /// The most accounts that the ledger holds.
    pub accounts: u64,
    /// Secret random bits for the hashes of its tables.
    pub secret: [u32; csr::SECRET_COUNT as usize],
    /// The same for the proof cache.
    pub proof_secret: [u32; csr::PROOF_SECRET_COUNT as usize],
    /// What memories begin with.
    pub seed: u64,
    /// Is told when the NIC hands over.
    pub told: fn(HandOver),
}

/// Why the NIC executes no operations any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOver {
    /// Somebody else is about to write its accounts.
    OtherWriter,
    /// Its memory of retries has no room, so it answered `BUSY`: the node's has more.
    Busy,
    /// The node answers otherwise: the NIC's tables are full, or smaller than the node's.
    Differs,
}

impl fmt::Display for HandOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherWriter => "an operation that is not a compact frame writes an account of its",
            Self::Busy => "its memory of retries is full",
            Self::Differs => "the node's answer is another one",
        })
    }
}

/// What the backend counts.
#[derive(Debug, Default)]
pub struct RtlCounters {
    /// Packets that entered through a port.
    pub entered: Counter,
    /// Packets that no engine took.
    pub passed: Counter,
    /// Proofs that the NIC answered.
    pub proofs: Counter,
    /// Proofs that it left to the node, to be filled in.
    pub misses: Counter,
    /// Proofs that were filled in.
    pub fills: Counter,
    /// Operations that the NIC executed or refused.
    pub executed: Counter,
    /// Operations that the node answered as the NIC did.
    pub same: Counter,
    /// Operations that the node answered otherwise.
    pub different: Counter,
    /// Requests below UDP that were answered.
    pub answered: Counter,
    /// Replies that found the queue full.
    pub lost: Counter,
    /// Cycles of the NIC's clock.
    pub cycles: Counter,
}

impl RtlCounters {
    /// All of them, by name.
    pub fn all(&self) -> [(&'static str, u64); 11] {
        [
            ("entered", self.entered.get()),
            ("passed", self.passed.get()),
            ("proofs", self.proofs.get()),
            ("misses", self.misses.get()),
            ("fills", self.fills.get()),
            ("executed", self.executed.get()),
            ("same", self.same.get()),
            ("different", self.different.get()),
            ("answered", self.answered.get()),
            ("lost", self.lost.get()),
            ("cycles", self.cycles.get()),
        ]
    }
}

/// What the ports are plugged into.
pub enum Network<B> {
    /// Sockets of this machine: datagrams become packets on the way in, and datagrams again on the way out. Frames of connections
    /// go past the NIC.
    Sockets(B),
    /// A TAP device, at port 0.
    Tap(Tap),
}

/// What the NIC is given by its host.
#[derive(Debug)]
enum Given {
    Reply(Peer, Vec<u8>),
    Announcement(Announcement),
}

/// What is on its way to the NIC.
#[derive(Debug, Default)]
struct Queue(Mutex<VecDeque<Given>>);

impl Queue {
    /// Appends a reply. Whether there was room.
    fn push(&self, reply: &Reply<'_>) -> bool {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = queue.len() < QUEUE;
        if has_room {
            queue.push_back(Given::Reply(reply.peer, reply.bytes.to_vec()));
        }
        has_room
    }

    /// Appends announcements, one behind the other. They are never lost.
    fn announce(&self, announcements: impl Iterator<Item = Announcement>) {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        queue.extend(announcements.map(Given::Announcement));
    }

    fn take(&self) -> VecDeque<Given> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Tells the NIC's proof cache of blocks, from any thread.
#[derive(Clone, Debug)]
pub struct Announcer {
    queue: Arc<Queue>,
    waker: Waker,
}

impl Announcer {
    /// A block extends a chain and touches addresses. Where these are many, the cache forgets the whole chain: that is quicker.
    pub fn extend(
        &self,
        chain: Chain,
        hash: [u8; 32],
        height: u64,
        parent: [u8; 32],
        touched: impl Iterator<Item = [u8; 32]> + Clone,
    ) {
        if touched.clone().nth(FORGOTTEN).is_some() {
            return self.reorganise(chain, hash, height);
        }
        let forgotten = touched.map(|address| Announcement::forget(chain, address));
        self.queue.announce(forgotten.chain([Announcement::extend(chain, hash, height, parent)]));
        self.waker.wake();
    }

    /// A chain begins, or has another tip than the cache knows.
    pub fn reorganise(&self, chain: Chain, hash: [u8; 32], height: u64) {
        self.queue.announce([Announcement::reorganise(chain, hash, height)].into_iter());
        self.waker.wake();
    }
}

/// The simulated NIC.
pub struct RtlBackend<B> {
    nic: Nic,
    network: Network<B>,
    queue: Arc<Queue>,
    waker: Waker,
    counters: Arc<RtlCounters>,
}

/// Sends replies through the NIC from any thread.
pub struct RtlTransmitter<T> {
    queue: Arc<Queue>,
    waker: Waker,
    counters: Arc<RtlCounters>,
    /// For connections.
    direct: Option<T>,
}

impl<B: Backend> RtlBackend<B> {
    /// Loads the NIC, sets its registers and lets it run.
    pub fn new(config: &RtlConfig, network: Network<B>) -> Result<Self, RtlError> {
        let waker = match &network {
            Network::Sockets(sockets) => sockets.waker(),
            Network::Tap(_) => Waker::new().map_err(RtlError::System)?,
        };
        let counters = Arc::new(RtlCounters::default());
        let nic = Nic::new(config, counters.clone())?;
        Ok(Self { nic, network, queue: Arc::default(), waker, counters })
    }

    /// Who tells its proof cache of blocks.
    pub fn announcer(&self) -> Announcer {
        Announcer { queue: self.queue.clone(), waker: self.waker.clone() }
    }

    /// Whether its transfer engine takes operations.
    pub fn is_executing(&self) -> bool {
        self.nic.is_executing()
    }

    /// What it counts.
    pub fn counters(&self) -> Arc<RtlCounters> {
        self.counters.clone()
    }

    /// Lets the clock run until nothing is inside, and sends what comes out.
    fn turn(&mut self) -> io::Result<()> {
        self.nic.turn()?;
        let Nic { departed, .. } = &mut self.nic;
        match &mut self.network {
            Network::Sockets(sockets) => {
                let mut datagrams = departed.iter().filter_map(|(port, packet)| {
                    let (peer, place) = packet::destination(packet, *port)?;
                    Some(Reply { peer: Peer::new(peer.address), bytes: &packet[place] })
                });
                sockets.transmit(&mut datagrams);
            }
            Network::Tap(tap) => {
                let lost = departed.iter().filter(|(_, packet)| !tap.send(packet)).count();
                self.counters.lost.add(lost as u64);
            }
        }
        departed.clear();
        Ok(())
    }

    /// Waits for packets and gives them to the ports.
    fn take_packets(&mut self, batch: &mut Batch, timeout: Duration) -> io::Result<()> {
        match &mut self.network {
            Network::Sockets(sockets) => {
                sockets.receive(batch, timeout)?;
                for message in &batch.messages {
                    for place in message.datagrams() {
                        self.nic.take_datagram(message.peer, &batch.memory[place]);
                    }
                }
                batch.messages.clear();
            }
            Network::Tap(tap) => {
                wait_for(std::slice::from_ref(tap), &self.waker, timeout)?;
                for _ in 0..TAP_PACKETS {
                    let Some(packet) = tap.receive()? else { break };
                    self.nic.take_packet(0, packet);
                }
            }
        }
        Ok(())
    }
}

impl<B: Backend> Backend for RtlBackend<B> {
    type Transmitter = RtlTransmitter<B::Transmitter>;

    fn receive(&mut self, batch: &mut Batch, timeout: Duration) -> io::Result<()> {
        batch.messages.clear();
        for given in self.queue.take() {
            match given {
                Given::Reply(peer, reply) => self.nic.take_reply(peer, &reply),
                Given::Announcement(announcement) => self.nic.announce(&announcement),
            }
        }
        self.nic.give_up();
        self.turn()?;
        if self.nic.arrived.is_empty() {
            if self.nic.lockstep.is_full() {
                std::thread::sleep(NAP);
                return Ok(());
            }
            self.take_packets(batch, timeout)?;
            self.turn()?;
        }
        self.nic.deliver(batch);
        Ok(())
    }

    fn transmitter(&self) -> io::Result<Self::Transmitter> {
        let direct = match &self.network {
            Network::Sockets(sockets) => Some(sockets.transmitter()?),
            Network::Tap(_) => None,
        };
        let (queue, waker) = (self.queue.clone(), self.waker.clone());
        Ok(RtlTransmitter { queue, waker, counters: self.counters.clone(), direct })
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }

    fn local_address(&self) -> io::Result<SocketAddr> {
        Ok(self.nic.own)
    }
}

impl<B: Backend> Transmit for RtlBackend<B> {
    fn transmit(&mut self, replies: &mut dyn Iterator<Item = Reply<'_>>) -> usize {
        let direct = match &mut self.network {
            Network::Sockets(sockets) => Some(sockets),
            Network::Tap(_) => None,
        };
        transmit(&self.queue, &self.counters, direct, replies).0
    }
}

impl<T: Transmit> Transmit for RtlTransmitter<T> {
    fn transmit(&mut self, replies: &mut dyn Iterator<Item = Reply<'_>>) -> usize {
        let (sent, queued) = transmit(&self.queue, &self.counters, self.direct.as_mut(), replies);
        if queued {
            self.waker.wake();
        }
        sent
    }
}

/// Gives replies for connections to whoever has these, and queues the others for the NIC. How many were taken, and whether any
/// was queued.
fn transmit(
    queue: &Queue,
    counters: &RtlCounters,
    direct: Option<&mut impl Transmit>,
    replies: &mut dyn Iterator<Item = Reply<'_>>,
) -> (usize, bool) {
    let (mut queued, mut lost) = (0, 0);
    let mut connections = replies.filter(|reply| {
        if !matches!(reply.peer.connection, None | Some(NOBODY)) {
            return true;
        }
        if queue.push(reply) {
            queued += 1
        } else {
            lost += 1
        }
        false
    });
    let sent = match direct {
        Some(direct) => direct.transmit(&mut connections),
        None => connections.count(),
    };
    counters.lost.add(lost);
    (sent + queued, queued > 0)
}

/// Why there is no simulated NIC.
#[derive(Debug, thiserror::Error)]
pub enum RtlError {
    /// Its library.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The system.
    #[error("the system gives no event: {0}")]
    System(#[source] io::Error),
}

/// The NIC with its host: what is between the network and the data path.
struct Nic {
    model: Model,
    ports: u8,
    own: SocketAddr,
    trusted: Option<Prefix>,
    /// What the control register was last set to.
    control: u32,
    /// The time of its memory of retries, and what its register was last set to.
    ticks: Ticks,
    retry_tick: u32,
    /// Packets that were given to it and have not come out.
    inside: usize,
    /// What came out of ports.
    departed: Vec<(u8, Vec<u8>)>,
    /// Datagrams for the data path, and those that have to wait until the engine is empty, as they write its accounts.
    arrived: VecDeque<(Peer, Vec<u8>)>,
    late: Vec<(Peer, Vec<u8>)>,
    /// What the engine has done: records, and replies that it holds, those of compact frames and those of batches each in the same order.
    records: VecDeque<Record>,
    replies: VecDeque<(u8, Vec<u8>)>,
    batches: Batches,
    lockstep: Lockstep,
    misses: Misses,
    told: fn(HandOver),
    counters: Arc<RtlCounters>,
    packet: Vec<u8>,
}

impl Nic {
    fn new(config: &RtlConfig, counters: Arc<RtlCounters>) -> Result<Self, RtlError> {
        let mut model = Model::load(&config.library, config.seed)?;
        let ports = model.read(csr::PORTS).clamp(1, u8::MAX.into()) as u8;
        if let IpAddr::V4(own) = config.own.ip() {
            model.write(csr::ADDRESS, u32::from(own));
        }
        model.write(csr::UDP_PORT, config.own.port().into());
        model.write(csr::PROMISE, config.promise as u32);
        for (register, word) in (csr::SECRET..).step_by(4).zip(config.secret) {
            model.write(register, word);
        }
        for (register, word) in (csr::PROOF_SECRET..).step_by(4).zip(config.proof_secret) {
            model.write(register, word);
        }
        let mut control = csr::CONTROL_RUN;
        if config.proofs {
            control |= csr::CONTROL_PROOF;
        }
        let remembers_more = u64::from(model.read(csr::RETRIES)) > config.retries;
        let engine = config.engine.filter(|_| config.promise >= Promise::Durable || !remembers_more);
        if let Some(prefix) = engine
            && let IpAddr::V4(address) = prefix.address()
        {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix.length())).unwrap_or(0);
            model.write(csr::TRUSTED_ADDRESS, u32::from(address));
            model.write(csr::TRUSTED_MASK, mask);
            // More than fit are refused by the NIC; then the node's answer is another one, and it hands over.
            model.write(csr::ACCOUNT_LIMIT, u32::try_from(config.accounts).unwrap_or(u32::MAX));
            control |= ENGINE | csr::CONTROL_RECORD;
            if config.promise >= Promise::Durable {
                control |= csr::CONTROL_HOLD;
            }
        }
        model.write(csr::CONTROL, control);
        Ok(Self {
            model,
            ports,
            own: config.own,
            trusted: engine,
            control,
            ticks: Ticks::new(config.retention, Instant::now()),
            retry_tick: 0,
            inside: 0,
            departed: Vec::new(),
            arrived: VecDeque::new(),
            late: Vec::new(),
            records: VecDeque::new(),
            replies: VecDeque::new(),
            batches: Batches::default(),
            lockstep: Lockstep::default(),
            misses: Misses::default(),
            told: config.told,
            counters,
            packet: Vec::new(),
        })
    }

    fn is_executing(&self) -> bool {
        self.control & ENGINE != 0
    }

    /// A packet from the network.
    fn take_packet(&mut self, port: u8, packet: &[u8]) {
        if packet.is_empty() {
            return;
        }
        self.model.push(port, packet);
        self.inside += 1;
        self.counters.entered.add(1);
    }

    /// A datagram from a socket: as a packet from one of the ports, always the same for a sender.
    fn take_datagram(&mut self, peer: Peer, datagram: &[u8]) {
        if peer.connection.is_some() {
            return self.arrive(peer, datagram);
        }
        let from = peer.address;
        let port = (u32::from(from.port()) % u32::from(self.ports)) as u8;
        let way = Via::new(port, [mac_of(from), MAC], from.is_ipv6());
        let node = Peer { local: Some(from.ip()), ..Peer::new(self.own) };
        let mut packet = std::mem::take(&mut self.packet);
        packet::build(&mut packet, &node, &way, from.port(), datagram);
        self.take_packet(port, &packet);
        self.packet = packet;
    }

    fn announce(&mut self, announcement: &Announcement) {
        self.model.host_push(Meta { kind: from_host::ANNOUNCE, port: 0, id: 0 }, announcement.as_bytes());
    }

    /// Frees the ids of misses that the node does not answer.
    fn give_up(&mut self) {
        while let Some(id) = self.misses.given_up(Instant::now()) {
            self.fill(id, None);
        }
    }

    /// Answers a miss.
    fn fill(&mut self, id: u16, body: Option<&[u8]>) {
        match body {
            Some(body) => self.model.host_push(Meta { kind: from_host::FILL, port: 0, id }, body),
            None => self.model.host_push(Meta { kind: from_host::NONE, port: 0, id }, &[0]),
        }
    }

    /// A reply of the node's: if the NIC has given it already, it has to be the same.
    fn take_reply(&mut self, peer: Peer, reply: &[u8]) {
        if let Some((id, body)) = self.misses.answered(peer.address, reply) {
            self.fill(id, body);
        }
        match self.lockstep.compare(peer.address, reply) {
            Verdict::Same(held) => {
                self.counters.same.add(1);
                self.release(held.carrier, None);
            }
            Verdict::Different(held) => {
                self.counters.different.add(1);
                self.hand_over(HandOver::Differs);
                self.release(held.carrier, Some((peer, reply)));
            }
            Verdict::Unknown if peer.connection == Some(NOBODY) => {}
            Verdict::Unknown => self.reply(peer, reply),
        }
    }

    /// Lets a reply go, with what the node says instead where that is something else.
    fn release(&mut self, carrier: Carrier, other: Option<(Peer, &[u8])>) {
        match (carrier, other) {
            (Carrier::Sent, _) => {}
            (Carrier::Packet(port, packet), None) => self.send(port, &packet),
            (Carrier::Packet(..), Some((peer, reply))) => self.reply(peer, reply),
            (Carrier::Batch(entry), other) => {
                let Some(held) = self.batches.answer(entry, other.map(|(_, reply)| reply)) else { return };
                if !held.differs {
                    self.send(held.port, &held.packet);
                } else if let Some((peer, place)) = packet::destination(&held.packet, held.port) {
                    self.reply(peer, &held.packet[place]);
                }
            }
        }
    }

    /// Sends a reply of the node's.
    fn reply(&mut self, peer: Peer, reply: &[u8]) {
        // A peer without a way is a connection that is gone.
        let Some(way) = peer.via else { return };
        let mut packet = std::mem::take(&mut self.packet);
        packet::build(&mut packet, &peer, &way, self.own.port(), reply);
        self.send(way.queue, &packet);
        self.packet = packet;
    }

    fn send(&mut self, port: u8, packet: &[u8]) {
        self.model.host_push(Meta { kind: from_host::SEND, port, id: 0 }, packet);
        self.inside += 1;
    }

    /// Lets the clock run until nothing is inside.
    fn turn(&mut self) -> io::Result<()> {
        self.tick();
        let begin = self.model.cycle();
        let mut moved = begin;
        while self.inside > 0 || !self.replies.is_empty() || self.batches.is_waiting() || self.model.host_waiting() > 0
        {
            self.model.step(TURN).map_err(io::Error::other)?;
            if self.take_out() {
                moved = self.model.cycle();
            } else if self.model.cycle() - moved > PATIENCE {
                return Err(io::Error::other(format!("{} packets do not leave the simulated NIC", self.inside)));
            }
        }
        if self.is_executing() && self.model.cycle() != begin {
            // A record may leave behind its reply.
            self.model.step(2 * TURN).map_err(io::Error::other)?;
            self.take_out();
            self.ticks.executed(Instant::now());
        }
        self.arrived.extend(self.late.drain(..));
        if self.control & csr::CONTROL_PROOF != 0 && self.model.cycle() != begin {
            for (counter, register) in [(&self.counters.proofs, csr::PROOF_HITS), (&self.counters.fills, csr::FILLS)] {
                let counted = self.model.counter(register);
                counter.add(counted - counter.get());
            }
        }
        self.counters.cycles.add(self.model.cycle() - begin);
        Ok(())
    }

    /// Tells the engine how time has passed.
    fn tick(&mut self) {
        if !self.is_executing() {
            return;
        }
        for _ in 0..self.ticks.due(Instant::now()) {
            self.retry_tick ^= 1;
            self.model.write(csr::RETRY_TICK, self.retry_tick);
        }
    }

    /// Takes what has come out of the NIC. Whether anything has.
    fn take_out(&mut self) -> bool {
        let mut has_moved = false;
        for port in 0..self.ports {
            while let Some(packet) = self.model.pop(port) {
                self.departed.push((port, packet.to_vec()));
                self.inside -= 1;
                has_moved = true;
            }
        }
        while let Some((meta, packet)) = self.model.host_pop() {
            let packet = packet.to_vec();
            has_moved = true;
            match meta.kind {
                to_host::RECORD => self.records.extend(Record::read_from_bytes(&packet)),
                to_host::REPLY => {
                    self.inside -= 1;
                    match packet::destination(&packet, meta.port) {
                        Some((_, place)) if place.len() != CompactFrame::LENGTH => self.batches.hold(batches::Held {
                            port: meta.port,
                            packet,
                            payload: place.start,
                            differs: false,
                        }),
                        _ => self.replies.push_back((meta.port, packet)),
                    }
                }
                to_host::MISS => {
                    self.inside -= 1;
                    self.counters.misses.add(1);
                    if let Some((peer, place)) = frame::parse(&packet, meta.port) {
                        self.misses.expect(peer.address, &packet[place], meta.id, Instant::now());
                    }
                    self.take_passed(meta.port, packet);
                }
                _ => {
                    self.inside -= 1;
                    self.take_passed(meta.port, packet);
                }
            }
        }
        self.follow();
        has_moved
    }

    /// A packet that no engine took.
    fn take_passed(&mut self, port: u8, mut packet: Vec<u8>) {
        self.counters.passed.add(1);
        let is_own = packet::destination(&packet, port).is_some_and(|(peer, _)| peer.address == self.own);
        if is_own && let Some((peer, place)) = frame::parse(&packet, port) {
            return self.arrive(peer, &packet[place]);
        }
        if let IpAddr::V4(own) = self.own.ip()
            && packet::answer(&mut packet, MAC, own)
        {
            self.counters.answered.add(1);
            self.send(port, &packet);
        }
    }

    /// A datagram for the data path. If it writes accounts that the NIC writes, the NIC ceases to, and what it has under way comes
    /// first.
    fn arrive(&mut self, peer: Peer, datagram: &[u8]) {
        let is_trusted = self.trusted.is_some_and(|prefix| prefix.contains(peer.address.ip()));
        if self.is_executing() && writes_compact(datagram, is_trusted) {
            self.hand_over(HandOver::OtherWriter);
            self.late.push((peer, datagram.to_vec()));
        } else if self.late.is_empty() {
            self.arrived.push_back((peer, datagram.to_vec()));
        } else {
            self.late.push((peer, datagram.to_vec()));
        }
    }

    /// Gives the data path what the engine has executed.
    fn follow(&mut self) {
        let holds = self.control & csr::CONTROL_HOLD != 0;
        while let Some(record) = self.records.front() {
            // Where replies are held, the record waits for its own.
            let (carrier, peer) = if !holds {
                (Carrier::Sent, Some(nobody(self.trusted)))
            } else if record.in_batch != 0 {
                let Some((entry, held)) = self.batches.next_entry() else { return };
                (Carrier::Batch(entry), packet::destination(&held.packet, held.port).map(|(peer, _)| peer))
            } else {
                let Some((port, packet)) = self.replies.pop_front() else { return };
                let peer = packet::destination(&packet, port).map(|(peer, _)| peer);
                (Carrier::Packet(port, packet), peer)
            };
            let (request, reply) = (record.request(), record.reply());
            self.records.pop_front();
            self.counters.executed.add(1);
            if reply.status() == Ok(Status::Busy) {
                self.hand_over(HandOver::Busy);
            }
            match (request, peer) {
                (Some(request), Some(peer)) => {
                    self.lockstep.expect(peer.address, Held { reply, carrier });
                    self.arrived.push_back((peer, request.as_bytes().to_vec()));
                }
                // Refused without the ledger.
                _ => self.release(carrier, None),
            }
        }
    }

    /// From now on the node executes everything.
    fn hand_over(&mut self, why: HandOver) {
        if self.is_executing() {
            self.control &= !ENGINE;
            self.model.write(csr::CONTROL, self.control);
            (self.told)(why);
        }
    }

    /// Fills the batch with what has arrived.
    fn deliver(&mut self, batch: &mut Batch) {
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

/// The hardware address that stands for a peer behind a socket.
fn mac_of(peer: SocketAddr) -> Mac {
    let [a, b, c, d] = match peer.ip() {
        IpAddr::V4(v4) => v4.octets(),
        IpAddr::V6(v6) => (v6.to_bits() as u32).to_be_bytes(),
    };
    [0x02, 0x00, a, b, c, d]
}

/// Who asks for operations whose replies have left.
fn nobody(trusted: Option<Prefix>) -> Peer {
    let address = trusted.map_or(Ipv4Addr::LOCALHOST.into(), |prefix| prefix.address());
    Peer { connection: Some(NOBODY), ..Peer::new(SocketAddr::new(address, 0)) }
}

/// Whether a datagram has an operation that changes an account of compact frames, or may change it.
fn writes_compact(datagram: &[u8], is_trusted: bool) -> bool {
    let writes = |operation: &Operation| {
        let transfers = operation.command() == Ok(Command::Transfer);
        operation.command() != Ok(Command::Refer)
            && (operation.source.to_compact().is_some() || (transfers && operation.destination.to_compact().is_some()))
    };
    match Frame::parse(datagram) {
        Ok(Frame::Compact(frame)) => is_trusted && frame.command() != Ok(Command::Refer),
        Ok(Frame::Full(frame)) => writes(&frame.signed.operation),
        Ok(Frame::Batch(batch)) => match batch.entries {
            BatchEntries::Compact(entries) => {
                is_trusted && entries.iter().any(|entry| entry.frame.command() != Ok(Command::Refer))
            }
            BatchEntries::Operation(operations) => is_trusted && operations.iter().any(writes),
            BatchEntries::Signed(signed) => signed.iter().any(|signed| writes(&signed.operation)),
        },
        _ => false,
    }
}
