//! The data path: runs the four stages over a backend.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use wire::{Promise, Status};

use crate::backend::{Backend, Batch, MESSAGE_BYTES, Memory, Message, Peer, Reply};
use crate::controller::{Answer, QueryKind, Release, StoreController};
use crate::counters::Counters;
use crate::extractor::{Extraction, check_signed, signed_operations, signed_promise};
use crate::generator;
use crate::held::{Class, Held, Pools};
use crate::parking::{Limits, Parking};
use crate::rate::RateLimit;
use crate::selector::{Selection, Selector};

/// Operations executed in one go: they and their values take 288 KiB, which stays in the second-level cache, and the
/// first replies do not wait for the last.
const CHUNK_OPERATIONS: usize = 4096;

/// Datagrams of signed operations executed before new ones are looked at.
const VERIFIED_AT_ONCE: usize = 256;

/// Bytes received at once while datagrams are large: they stay in the second-level cache until they are answered.
const RECEIVE_BYTES: usize = 512 << 10;

/// How long the data path sleeps without events. Everything wakes it; this is a safeguard.
const IDLE: Duration = Duration::from_millis(100);

/// The four stages over a backend, and the memory that requests are received into.
pub struct DataPath<B, C> {
    stages: Stages<B, C>,
    batch: Batch,
    /// There is work left for which nothing would wake the data path.
    pending: bool,
    /// New rate limits after a reload.
    rates: (Sender<Option<RateLimit>>, Receiver<Option<RateLimit>>),
}

struct Stages<B, C> {
    backend: B,
    selector: Selector,
    controller: C,
    parking: Parking,
    pools: Pools,
    counters: Arc<Counters>,
    messages: usize,
    extraction: Extraction,
    room: Limits,
    replies: Vec<(Peer, Range<usize>)>,
    /// When the present batch was received.
    received: Instant,
    /// How many of `replies` answer operations under the promise `accepted`.
    accepted: u64,
}

impl<B: Backend, C: StoreController> DataPath<B, C> {
    /// Assembles the stages. `messages` is the maximum to receive at once.
    pub fn new(
        backend: B,
        selector: Selector,
        controller: C,
        parking: Parking,
        pools: Pools,
        counters: Arc<Counters>,
        messages: usize,
    ) -> Self {
        let stages = Stages {
            room: parking.room(),
            backend,
            selector,
            controller,
            parking,
            pools,
            counters,
            messages,
            extraction: Extraction::default(),
            replies: Vec::new(),
            received: Instant::now(),
            accepted: 0,
        };
        Self { stages, batch: Batch::new(messages), pending: false, rates: mpsc::channel() }
    }

    /// A sender for a limit that replaces that of each untrusted prefix.
    pub fn rates(&self) -> Sender<Option<RateLimit>> {
        self.rates.0.clone()
    }

    /// Runs until `stop` is set (use the backend's waker then), and finishes what the backend has executed. Returns the
    /// store controller.
    pub fn run(mut self, stop: &AtomicBool) -> io::Result<C> {
        while !stop.load(Ordering::Acquire) {
            self.step(IDLE)?;
        }
        while !self.stages.backend.finish()? {
            self.step(IDLE)?;
        }
        Ok(self.stages.controller)
    }

    /// Receives once, waiting up to `timeout`, and does all available work.
    pub fn step(&mut self, timeout: Duration) -> io::Result<()> {
        let timeout = if self.pending { Duration::ZERO } else { timeout };
        self.stages.backend.receive(&mut self.batch, timeout)?;
        if let Some(limit) = self.rates.1.try_iter().last() {
            self.stages.selector.set_rate_limit(limit);
        }
        self.stages.work_on(&mut self.batch);
        self.pending = self.stages.work_on_verified();
        Ok(())
    }
}

impl<B: Backend, C: StoreController> Stages<B, C> {
    fn work_on(&mut self, batch: &mut Batch) {
        let Batch { memory, messages, .. } = batch;
        if messages.is_empty() {
            return;
        }
        let now = Instant::now();
        self.received = now;
        let mut datagrams = 0;
        for message in messages.iter() {
            for place in message.datagrams() {
                datagrams += 1;
                self.work_on_datagram(memory, message.peer, place, now);
                if self.extraction.operations.len() >= CHUNK_OPERATIONS {
                    self.execute(memory, false);
                }
            }
        }
        let bytes: usize = messages.iter().map(|message: &Message| message.length).sum();
        // Before the last replies are sent: a client with its reply can rely on being counted.
        self.counters.messages.add(messages.len() as u64);
        self.counters.datagrams.add(datagrams);
        self.counters.bytes.add(bytes as u64);
        let lone = datagrams == 1 && self.extraction.operations.len() == 1;
        self.execute(memory, lone);
        self.send(memory);
        let average = (bytes / messages.len()).clamp(1, MESSAGE_BYTES);
        batch.set_limit((RECEIVE_BYTES / average).clamp(1, self.messages));
    }

    fn work_on_datagram(&mut self, memory: &mut Memory, peer: Peer, place: Range<usize>, now: Instant) {
        let datagram = &mut memory[place.clone()];
        let length = match self.selector.select(&peer, datagram, now) {
            Selection::Compact | Selection::Batch(..) if self.controller.orders() => match self.order(peer, datagram) {
                Some(length) => length,
                None => return,
            },
            Selection::Compact => return self.extract(memory, peer, place, Promise::Default),
            Selection::Batch(_, promise) => return self.extract(memory, peer, place, promise),
            Selection::Signed => {
                check_signed(datagram);
                match self.hold_signed(peer, datagram).and_then(|held| self.controller.verify(held).ok()) {
                    Some(()) => return,
                    None => self.refuse_busy(datagram, Class::Signed),
                }
            }
            Selection::Change if !self.controller.orders() => self.refuse(datagram, Status::NotFound, 0),
            Selection::Change => {
                match self.hold_signed(peer, datagram).and_then(|held| self.controller.change(held).ok()) {
                    Some(()) => return,
                    None => self.refuse_busy(datagram, Class::Signed),
                }
            }
            Selection::Query(kind) => match self.answer(kind, peer, datagram) {
                Some(length) => length,
                None => return,
            },
            Selection::Refuse(status) => self.refuse(datagram, status, 0),
            Selection::Error(error) => {
                self.counters.refuse(error.status);
                error.write_reply(datagram)
            }
            Selection::Drop => return self.counters.dropped.add(1),
        };
        if length > 0 {
            self.replies.push((peer, place.start..place.start + length));
        }
    }

    /// Holds a datagram with signatures for verification, if there is room.
    fn hold_signed(&self, peer: Peer, datagram: &[u8]) -> Option<Held> {
        self.pools.hold(Class::Signed, peer, self.selector.trusts(peer.address.ip()), datagram)
    }

    /// Adds the operations of a datagram to the list, if its reply has room to wait.
    fn extract(&mut self, memory: &mut Memory, peer: Peer, place: Range<usize>, promise: Promise) {
        let promise = self.promise(promise);
        if promise >= Promise::Durable && !self.take_room(place.len()) {
            let length = self.refuse(&mut memory[place.clone()], Status::Busy, 0);
            return self.replies.push((peer, place.start..place.start + length));
        }
        self.extraction.extract(&memory[place.clone()], place, peer, promise);
    }

    /// Has unsigned operations ordered. Returns the length of the refusal, or `None` if they are.
    fn order(&mut self, peer: Peer, datagram: &mut [u8]) -> Option<usize> {
        let held = self.pools.hold(Class::Ordered, peer, true, datagram);
        match held.and_then(|held| self.controller.order(held).ok()) {
            Some(()) => None,
            None => Some(self.refuse_busy(datagram, Class::Ordered)),
        }
    }

    fn promise(&self, asked: Promise) -> Promise {
        if asked == Promise::Default { self.controller.default_promise() } else { asked }
    }

    /// Reserves room in the parking for a reply.
    fn take_room(&mut self, bytes: usize) -> bool {
        if self.room.replies == 0 || self.room.bytes < bytes {
            // The journal may have removed some since.
            self.room = self.parking.room();
            let waiting = &self.extraction.requests;
            self.room.replies = self.room.replies.saturating_sub(waiting.len());
            let bytes: usize = waiting.iter().map(|request| request.place.len()).sum();
            self.room.bytes = self.room.bytes.saturating_sub(bytes);
        }
        if self.room.replies == 0 || self.room.bytes < bytes {
            return false;
        }
        self.room.replies -= 1;
        self.room.bytes -= bytes;
        true
    }

    /// Executes the extracted operations and replies to their requests, or parks the replies.
    fn execute(&mut self, memory: &mut Memory, lone: bool) {
        if self.extraction.requests.is_empty() {
            return;
        }
        let Extraction { requests, operations, values } = &mut self.extraction;
        self.controller.execute(operations, values);
        for request in requests.iter() {
            let (operations, values) = (&operations[request.operations.clone()], &values[request.operations.clone()]);
            let datagram = &mut memory[request.place.clone()];
            match self.controller.release(request.promise) {
                Release::Now(given) => {
                    let length = generator::reply(datagram, operations, values, given);
                    self.accepted += 1;
                    self.replies.push((request.peer, request.place.start..request.place.start + length));
                }
                Release::Durable(sequence) => {
                    let length = generator::reply(datagram, operations, values, Promise::Durable);
                    let reply = Reply { peer: request.peer, bytes: &datagram[..length] };
                    self.parking.park(sequence, self.received, std::iter::once(reply));
                }
            }
        }
        self.counters.count_operations(operations.iter().map(|operation| operation.command));
        self.extraction.clear();
        self.send(memory);
        self.controller.commit(lone);
    }

    /// Sends the replies that need not wait.
    fn send(&mut self, memory: &mut Memory) {
        if !self.replies.is_empty() {
            self.backend.reply(memory, &mut self.replies);
            let accepted = std::mem::take(&mut self.accepted);
            if accepted > 0 {
                self.counters.latency(Promise::Accepted).record(self.received.elapsed(), accepted);
            }
        }
    }

    fn refuse(&mut self, datagram: &mut [u8], status: Status, detail: u32) -> usize {
        self.counters.refuse(status);
        generator::refuse(datagram, status, detail)
    }

    /// Refuses a datagram for lack of buffers in its class.
    fn refuse_busy(&mut self, datagram: &mut [u8], class: Class) -> usize {
        self.counters.busy(class).add(1);
        self.refuse(datagram, Status::Busy, 0)
    }

    /// Answers a query in place: returns the reply's length, or `None` if a worker replies.
    fn answer(&mut self, kind: QueryKind, peer: Peer, datagram: &mut [u8]) -> Option<usize> {
        self.counters.queries.add(1);
        match self.controller.answer(kind, datagram, &peer) {
            Answer::Reply(length) => Some(length.min(datagram.len())),
            Answer::Refuse(status, detail) => Some(self.refuse(datagram, status, detail)),
            Answer::Defer => {
                let class = match kind {
                    QueryKind::Verify => Class::Verify,
                    QueryKind::History | QueryKind::Assets => Class::History,
                    _ => Class::Proof,
                };
                let held = self.pools.hold(class, peer, self.selector.trusts(peer.address.ip()), datagram);
                match held.and_then(|held| self.controller.defer(kind, held).ok()) {
                    Some(()) => None,
                    None => Some(self.refuse_busy(datagram, class)),
                }
            }
        }
    }

    /// Executes signed operations that workers have verified. Returns whether there may be more.
    fn work_on_verified(&mut self) -> bool {
        for _ in 0..VERIFIED_AT_ONCE {
            let Some(mut held) = self.controller.verified() else { return false };
            if self.controller.orders() {
                self.order_verified(held);
                continue;
            }
            self.execute_verified(&mut held);
            self.controller.commit(false);
        }
        true
    }

    /// Has verified signed operations ordered.
    fn order_verified(&mut self, held: Held) {
        let peer = held.peer;
        if let Err(mut held) = self.controller.order(held) {
            let length = self.refuse_busy(&mut held, Class::Signed);
            self.backend.transmit(&mut std::iter::once(Reply { peer, bytes: &held[..length] }));
        }
    }

    fn execute_verified(&mut self, held: &mut Held) {
        let (peer, since) = (held.peer, held.since);
        let promise = self.promise(signed_promise(held));
        if promise >= Promise::Durable && !self.take_room(held.len()) {
            let length = self.refuse(held, Status::Busy, 0);
            self.backend.transmit(&mut std::iter::once(Reply { peer, bytes: &held[..length] }));
            return;
        }
        let Some(operations) = signed_operations(held) else { return };
        let values = &mut self.extraction.values;
        values.resize(operations.len(), 0);
        self.counters.count_operations(operations.iter().map(|signed| signed.operation.command));
        self.controller.execute_signed(operations, values);
        let release = self.controller.release(promise);
        let given = match release {
            Release::Now(given) => given,
            Release::Durable(_) => Promise::Durable,
        };
        let length = generator::reply_signed(held, values, given);
        values.clear();
        let mut reply = std::iter::once(Reply { peer, bytes: &held[..length] });
        match release {
            Release::Now(_) => {
                self.backend.transmit(&mut reply);
                self.counters.latency(Promise::Accepted).record(since.elapsed(), 1);
            }
            Release::Durable(sequence) => self.parking.park(sequence, since, reply),
        }
    }
}
