//! The NIC with its stream, and the requests that the host injects.

use std::{
    collections::VecDeque,
    fmt, io,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use nic::{
    backend::Peer,
    rtl::kv::{KvNic, LONGEST_DATAGRAM, Outcome, Sender, Streamed, block_class},
};
use zerocopy::IntoBytes;

use super::{Access, NicCounts, Output, items::NicItems};
use crate::{
    clock::{NEVER, OVER, Seconds},
    execute::binary,
    protocol::{
        binary::{Command, HEADER, Header, Parsed, REQUEST, Request, opcode, parse},
        udp::{self, Frame, LONGEST, datagrams},
    },
    replies::Replies,
    service::Service,
    store::{Mode, Store, Write},
};

/// Cycles until a request must be in the stream: after a reset the NIC first clears its table.
const PATIENCE: u64 = 1 << 24;

/// Items that are evicted for a write without room: some, so that the next writes have it.
const EVICTED: usize = 4;

/// The opaque number of requests that nobody waits for.
const UNAWAITED: u32 = 0;

/// Bytes of a reply that is executed in the stream: the longest value that is copied, and its headers.
const LONGEST_REPLY: usize = 1 << 20;

/// The state under the lock on the stream.
pub struct State {
    nic: KvNic,
    items: NicItems,
    /// Datagrams that the NIC left to the host, to be executed as requests on connections are.
    requests: VecDeque<(Peer, Vec<u8>)>,
    /// The opaque number of the last request that a thread waited for.
    opaque: u32,
    /// When the store flushes its items next.
    flush_at: Seconds,
    reply: Replies,
    datagram: Vec<u8>,
    /// Writes in the stream that the NIC has executed.
    writes: u64,
    /// The cycle at which all that had entered was in the counts.
    settled: u64,
    counts: Arc<NicCounts>,
}

impl State {
    pub fn new(nic: KvNic, counts: Arc<NicCounts>) -> Self {
        Self {
            nic,
            items: NicItems::new(),
            requests: VecDeque::new(),
            opaque: UNAWAITED,
            flush_at: NEVER,
            reply: Replies::new(LONGEST_REPLY),
            datagram: Vec::new(),
            writes: 0,
            settled: 0,
            counts,
        }
    }

    /// Sets the NIC's time, and removes its items that the store has flushed or evicted.
    pub fn keep_time(&mut self, service: &Service) -> io::Result<()> {
        let clock = service.store.clock();
        let now = clock.now();
        self.nic.set_time(u32::try_from(clock.since_1970(now)).unwrap_or(0));
        if self.flush_at != NEVER && self.flush_at <= now {
            self.flush_at = NEVER;
            self.flush(service)?;
        }
        self.remove_evicted(service)
    }

    /// Removes items from the NIC that the store has evicted. The NIC has none of them afterwards.
    fn remove_evicted(&mut self, service: &Service) -> io::Result<()> {
        loop {
            let evicted = service.store.take_evicted();
            let Some((last, others)) = evicted.split_last() else { return Ok(()) };
            others.iter().for_each(|key| self.remove(key));
            // Writes in the stream before it may evict more.
            self.pass(service, Injected { key: last, ..Injected::new(opcode::DELETEQ) })?;
        }
    }

    /// Removes all items from the NIC.
    fn flush(&mut self, service: &Service) -> io::Result<()> {
        self.pass(service, Injected::new(opcode::FLUSH)).map(drop)
    }

    pub fn enter(&mut self, peer: Peer, datagram: &[u8]) {
        self.nic.enter(peer, datagram);
    }

    pub fn reply(&mut self, peer: Peer, frame: &Frame, reply: &[u8]) {
        for (frame, part) in datagrams(frame.request, reply, LONGEST).into_iter().flatten() {
            self.datagram.clear();
            self.datagram.extend_from_slice(frame.as_bytes());
            self.datagram.extend_from_slice(part);
            self.nic.reply(peer, &self.datagram);
        }
    }

    pub fn advance(&mut self, service: &Service, output: &mut Output) -> io::Result<bool> {
        if self.nic.is_busy() {
            self.nic.step()?;
        } else if self.nic.cycle() != self.settled {
            // Replies have left by now, and do not wait for this.
            self.nic.settle()?;
            self.take_stream(service, None);
            self.count_reads();
            self.settled = self.nic.cycle();
        }
        self.take_stream(service, None);
        output.departed.extend(self.nic.departed());
        output.requests.extend(self.requests.drain(..));
        Ok(self.nic.is_busy() || self.nic.cycle() != self.settled)
    }

    /// Counts the reads that the NIC has executed: all that it has executed, except the writes in its stream.
    fn count_reads(&mut self) {
        self.counts.hits.store(self.nic.executed().saturating_sub(self.writes), Relaxed);
    }

    /// Waits for a position in the stream. Returns the number of the item if the NIC has stored it.
    pub fn order(&mut self, service: &Service, access: &Access<'_>) -> io::Result<Option<u64>> {
        let store = &service.store;
        match *access {
            Access::Write(write) if is_for_nic(store, write) => {
                let expiry = if write.expires == NEVER { 0 } else { store.clock().since_1970(write.expires) };
                let mut extras = [0; 8];
                extras[..4].copy_from_slice(&write.flags.to_be_bytes());
                extras[4..].copy_from_slice(&u32::try_from(expiry).unwrap_or(u32::MAX).to_be_bytes());
                let set =
                    Injected { extras: &extras, key: write.key, value: write.value, ..Injected::new(opcode::SETQ) };
                let cas = self.pass(service, set)?;
                match cas {
                    Some(cas) => self.items.add(store, class(write.key, write.value), write.key, cas),
                    None => self.evict(store, class(write.key, write.value)),
                }
                return Ok(cas);
            }
            Access::Write(&Write { key, .. }) | Access::Change(key) => {
                self.pass(service, Injected { key, ..Injected::new(opcode::DELETEQ) })?;
            }
            Access::Read => {
                self.pass(service, Injected::new(opcode::NOOP))?;
                self.count_reads();
            }
            Access::Flush(at) => {
                let is_now = at <= store.clock().now();
                self.flush_at = if is_now { NEVER } else { at };
                if is_now {
                    self.flush(service)?;
                }
            }
        }
        Ok(None)
    }

    /// Removes an item from the NIC, which may answer requests for it until then.
    pub fn remove(&mut self, key: &[u8]) {
        self.inject(Injected { key, ..Injected::new(opcode::DELETEQ) }, UNAWAITED);
    }

    /// Injects a request, and executes the stream until it arrives there. Returns the item's number if the NIC executed
    /// it.
    fn pass(&mut self, service: &Service, request: Injected<'_>) -> io::Result<Option<u64>> {
        self.opaque = self.opaque.wrapping_add(1).max(UNAWAITED + 1);
        self.inject(request, self.opaque);
        let begin = self.nic.cycle();
        loop {
            if let Some(cas) = self.take_stream(service, Some(self.opaque)) {
                return Ok(cas);
            }
            if self.nic.cycle() - begin > PATIENCE {
                return Err(io::Error::other("a request of the host is lost in the simulated NIC"));
            }
            self.nic.step()?;
        }
    }

    fn inject(&mut self, request: Injected<'_>, opaque: u32) {
        let Injected { opcode, extras, key, value } = request;
        let frame = Frame { request: 0.into(), sequence: 0.into(), count: 1.into(), reserved: 0.into() };
        let header = Header {
            magic: REQUEST,
            opcode,
            key_len: (key.len() as u16).into(),
            extras_len: extras.len() as u8,
            body_len: ((extras.len() + key.len() + value.len()) as u32).into(),
            opaque: opaque.into(),
            ..Header::default()
        };
        self.datagram.clear();
        for part in [frame.as_bytes(), header.as_bytes(), extras, key, value] {
            self.datagram.extend_from_slice(part);
        }
        self.nic.inject(&self.datagram);
    }

    /// Executes the requests that are in the stream, up to the host's own one with this number: returns the number of
    /// the item if the NIC has executed that.
    fn take_stream(&mut self, service: &Service, awaited: Option<u32>) -> Option<Option<u64>> {
        let now = service.store.clock().now();
        while let Some(streamed) = self.nic.next_streamed() {
            let Streamed { outcome, sender, datagram } = streamed;
            match sender {
                Sender::Host => {
                    let header =
                        request(&datagram).map(|request| (request.header.opaque.get(), request.header.cas.get()));
                    self.writes += u64::from(outcome == Outcome::Executed);
                    if let Some((opaque, cas)) = header
                        && Some(opaque) == awaited
                    {
                        return Some((outcome == Outcome::Executed).then_some(cas));
                    }
                }
                Sender::Answered => self.follow(service, &datagram, now),
                Sender::Client(peer) => self.take_passed(service, outcome, peer, datagram, now),
            }
        }
        None
    }

    /// Executes a write that the NIC has executed.
    fn follow(&mut self, service: &Service, datagram: &[u8], now: Seconds) {
        self.writes += 1;
        self.counts.writes.fetch_add(1, Relaxed);
        let Some(request) = request(datagram) else {
            debug_assert!(false, "the NIC executes whole requests only");
            return;
        };
        if !binary::follow(service, &request, now) {
            self.remove(request.key);
        } else if matches!(request.command, Command::Set | Command::Replace) {
            let class = class(request.key, request.value);
            self.items.add(&service.store, class, request.key, request.header.cas.get());
        }
    }

    /// Executes a request that the NIC left to the host, or queues it.
    fn take_passed(&mut self, service: &Service, outcome: Outcome, peer: Peer, datagram: Vec<u8>, now: Seconds) {
        let store = &service.store;
        self.counts.passed.fetch_add(1, Relaxed);
        let is_in_order = self.nic.is_in_order(&peer, &datagram);
        let (Some(request), Some((frame, _))) = (request(&datagram), udp::parse(&datagram)) else {
            return self.requests.push_back((peer, datagram));
        };
        // The NIC has no item of the key, or the request changes nothing, and so is executed here. Others may leave an
        // item to the NIC.
        let is_read = matches!(request.command, Command::Get { touch: false, .. });
        if outcome != Outcome::NoRoom && !(is_in_order && is_read) {
            return self.requests.push_back((peer, datagram));
        }
        if outcome == Outcome::NoRoom {
            self.counts.no_room.fetch_add(1, Relaxed);
            self.evict(store, class(request.key, request.value));
        }
        let mut reply = std::mem::replace(&mut self.reply, Replies::new(LONGEST_REPLY));
        reply.clear();
        binary::execute_in_order(service, &request, &mut reply, now);
        if reply.complete(store).is_err() {
            reply.discard(store);
            binary::refuse_long(&request, &mut reply);
        }
        self.reply(peer, frame, &reply);
        self.reply = reply;
    }

    /// Makes room for items of a class.
    fn evict(&mut self, store: &Store, class: usize) {
        for _ in 0..EVICTED {
            let Some(key) = self.items.evict(store, class) else { return };
            self.counts.evicted.fetch_add(1, Relaxed);
            self.remove(&key);
        }
    }
}

/// A request of the host.
struct Injected<'a> {
    opcode: u8,
    extras: &'a [u8],
    key: &'a [u8],
    value: &'a [u8],
}

impl Injected<'_> {
    fn new(opcode: u8) -> Self {
        Self { opcode, extras: &[], key: &[], value: &[] }
    }
}

/// The only request in a datagram, whatever the length of its value.
fn request(datagram: &[u8]) -> Option<Request<'_>> {
    let (frame, bytes) = udp::parse(datagram)?;
    match parse(bytes, usize::MAX) {
        Parsed::Request(request) if frame.is_single() => {
            (bytes.len() == HEADER + request.header.body_len.get() as usize).then_some(request)
        }
        _ => None,
    }
}

/// The class of the block that an item takes in the NIC.
fn class(key: &[u8], value: &[u8]) -> usize {
    block_class(key.len() + value.len())
}

/// Whether a write does not depend on the item, and its item fits the NIC.
fn is_for_nic(store: &Store, write: &Write<'_>) -> bool {
    const FIXED: usize = udp::HEADER + HEADER + 8;
    let len = write.key.len() + write.value.len();
    let is_set = write.mode == Mode::Set && write.cas == 0 && write.new_cas.is_none();
    // The NIC would repeat a key in base64 as it is.
    is_set
        && !write.binary_key
        && !write.key.is_empty()
        && write.expires != OVER
        && FIXED + len <= LONGEST_DATAGRAM
        && store.has_room_for(len)
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("nic", &self.nic).finish_non_exhaustive()
    }
}
