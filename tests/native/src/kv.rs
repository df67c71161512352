//! The tier of the key-value store, together with the store.

use std::sync::Arc;

use kv::{
    clock::Seconds,
    protocol::udp,
    replies::Replies,
    service::{Service, Settings},
    session::{NextStep, Session},
    store::{self, Store, mirror_bytes},
    turn::Turn,
};
use nic::frame;
use xdp::Arena;
use zerocopy::IntoBytes;

use crate::{
    engine::Guarded,
    reference::{MAC, PORT, datagram as frame_of, own_addresses, trusted},
    writer::beside,
};

unsafe extern "C" {
    fn native_kv(start: *mut u8, bytes: u32, room: u32, memory: *mut u8, now: u64) -> u32;
}

/// Maximum bytes of a reply, the same as for replies of the host.
const LONGEST_REPLY: usize = 1 << 20;

/// Answers what the engine passes on: a connection to the store.
#[derive(Debug)]
pub struct KvHost {
    service: Arc<Service>,
    session: Session,
}

impl KvHost {
    fn new(service: Arc<Service>) -> Self {
        Self { session: Session::new(&service), service }
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.service.store
    }

    /// Executes requests, and returns the store's replies.
    pub fn execute(&mut self, requests: &[u8], now: Seconds) -> Vec<u8> {
        let (mut replies, mut turn) = (Replies::new(LONGEST_REPLY), Turn::for_datagram());
        self.session.start_over();
        let mut done = 0;
        loop {
            let progress = self.session.feed(&requests[done..], &mut replies, &mut turn, now);
            done += progress.consumed;
            let has_room =
                replies.complete(&self.service.store).expect("the store keeps a value that a reply refers to");
            if progress.next != NextStep::Send || !has_room {
                return replies.to_vec();
            }
        }
    }

    /// Handles a datagram like the host: executes it, and copies the requested items to the mirror. Returns the frame
    /// of its reply, if that fits one datagram.
    pub fn serve(&mut self, payload: &[u8], now: Seconds) -> Option<Vec<u8>> {
        let (header, requests) = udp::parse(payload)?;
        if !header.is_single() {
            return None;
        }
        let reply = self.execute(requests, now);
        if let Some(key) = udp::only_key(payload) {
            self.store().mirror(self.store().key(key), now);
        }
        let mut datagrams = udp::datagrams(header.request, &reply, udp::LONGEST)?;
        let (header, text) = datagrams.next()?;
        let (peer, place) = frame::parse(&frame_of(payload), 0)?;
        let mut turned = vec![0; place.start];
        turned.extend(header.as_bytes());
        turned.extend(text);
        frame::write_headers(&mut turned, &peer, &peer.via?, PORT);
        datagrams.next().is_none().then_some(turned)
    }
}

/// A store with its mirror in an arena of this process alone, and the C engine on top.
#[derive(Debug)]
pub struct KvEngine {
    arena: Arena,
    /// The store behind the engine.
    pub host: KvHost,
    packet: Guarded,
}

impl KvEngine {
    /// Creates an empty store and a mirror of the given sizes in bytes.
    pub fn new(memory: usize, mirror: usize) -> Self {
        let bytes = mirror_bytes(mirror);
        let arena = Arena::without_kernel(&[bytes]).expect("address space");
        let (region, offset) = arena.take(bytes).expect("the arena has room for it");
        let config = store::Config { memory, largest_item: 1 << 20, evict: true, threads: 2 };
        let store = Store::new(config).expect("memory");
        store.set_mirror(region).expect("the region is large enough");
        arena.state().set_mirror(offset);
        arena.state().set_listening(PORT, MAC, &own_addresses());
        arena.state().set_trusted(trusted());
        let service = Arc::new(Service::new(store, Settings::default()));
        Self { arena, host: KvHost::new(service), packet: Guarded::new() }
    }

    /// Like [`Self::answer`], with another connection to the store that takes a step before each load of the engine.
    pub fn answer_beside(
        &mut self,
        frame: &[u8],
        room: usize,
        now: Seconds,
        mut writer: impl FnMut(&mut KvHost) + 'static,
    ) -> Option<Vec<u8>> {
        let mut other = KvHost::new(self.host.service.clone());
        beside(move || writer(&mut other), || self.answer(frame, room, now))
    }

    /// Passes a frame to the engine at a given time, with `room` bytes for a longer reply. Returns the reply, or `None`
    /// if the frame passes unmodified.
    pub fn answer(&mut self, frame: &[u8], room: usize, now: Seconds) -> Option<Vec<u8>> {
        let with_room = [frame, &vec![0; room]].concat();
        let (start, _) = self.packet.put(&with_room);
        let now = self.host.store().clock().monotonic(now);
        // SAFETY: the packet has this length, followed by this much room, in its own memory; the store laid out the
        // arena that its first page describes, and only a writer on the same thread accesses it, between two loads.
        let length =
            unsafe { native_kv(start, frame.len() as u32, room as u32, self.arena.base().as_ptr(), now) } as usize;
        let after = self.packet.get(with_room.len());
        if length == 0 {
            assert_eq!(after, with_room, "what passes is as it came");
            return None;
        }
        Some(after[..length].to_vec())
    }
}
