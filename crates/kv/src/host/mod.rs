//! The host of the NIC's key-value store (`docs/rtl-kv.md`): one store for the clients that the NIC answers and for all
//! others.
//!
//! The NIC caches items of the store. All requests are executed one after the other, in the order of the NIC's
//! stream:
//!
//! - A request that the NIC has executed is executed here when it arrives in the stream.
//! - A thread that executes another request first injects a request, and [waits](NicHost::order) until that is in the
//!   stream: this is its position. It keeps the lock on the stream until it has executed its request, so nothing of the
//!   stream comes between.
//! - Before a write, the injected request removes the key's item from the NIC, or stores the new one there.
//! - Before a read, it is one that the NIC leaves to the host. All writes acknowledged before are then executed here.
//!
//! Whoever has the lock drives the NIC's clock. In hardware the clock runs by itself, and the lock is that of the
//! stream's reader.

mod clients;
mod items;
mod position;
mod state;

use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use std::{fmt, io, net::SocketAddr, sync::Arc};

use nic::{backend::Peer, rtl::kv::KvNic};

pub use clients::NicClients;
pub use position::{Access, Position};
use state::State;

use crate::{protocol::udp::Frame, service::Service, store::Ahead};

/// The NIC, and the position in its stream.
pub struct NicHost {
    /// Held while waiting for `state`, so that no thread that locks `state` over and over keeps another one out.
    next: Mutex<()>,
    state: Mutex<State>,
    counts: Arc<NicCounts>,
}

/// Counts of requests by datagram.
#[derive(Debug, Default)]
pub struct NicCounts {
    hits: AtomicU64,
    writes: AtomicU64,
    passed: AtomicU64,
    no_room: AtomicU64,
    evicted: AtomicU64,
}

impl NicCounts {
    /// All counts, by name; the first counts the gets that the NIC answered.
    pub fn all(&self) -> [(&'static str, u64); 5] {
        [
            ("hit", self.hits.load(Relaxed)),
            ("write", self.writes.load(Relaxed)),
            ("passed", self.passed.load(Relaxed)),
            ("no_room", self.no_room.load(Relaxed)),
            ("evicted", self.evicted.load(Relaxed)),
        ]
    }
}

/// Output of some cycles.
#[derive(Debug, Default)]
struct Output {
    /// Datagrams for clients.
    departed: Vec<(SocketAddr, Vec<u8>)>,
    /// Datagrams of clients that are to be executed as requests on connections are.
    requests: Vec<(Peer, Vec<u8>)>,
}

impl NicHost {
    /// A host of a NIC that has no item yet.
    pub fn new(nic: KvNic) -> Self {
        let counts = Arc::<NicCounts>::default();
        let state = Mutex::new(State::new(nic, Arc::clone(&counts)));
        Self { next: Mutex::default(), state, counts }
    }

    /// Its counts, for the store.
    pub fn counts(&self) -> &NicCounts {
        &self.counts
    }

    /// The part of the store that it answers ahead of.
    pub(crate) fn ahead(&self) -> impl Ahead + use<> {
        Answers(Arc::clone(&self.counts))
    }

    /// Passes in datagrams of clients.
    pub fn enter<'a>(&self, service: &Service, datagrams: impl Iterator<Item = (Peer, &'a [u8])>) {
        let mut state = self.lock(service);
        datagrams.for_each(|(peer, datagram)| state.enter(peer, datagram));
    }

    /// Sends a reply to a client.
    fn reply(&self, service: &Service, peer: Peer, frame: &Frame, reply: &[u8]) {
        self.lock(service).reply(peer, frame, reply);
    }

    /// Advances the NIC by some cycles if packets are inside, executes its stream, and appends the output.
    /// Returns whether packets are still inside.
    fn advance(&self, service: &Service, output: &mut Output) -> io::Result<bool> {
        self.lock(service).advance(service, output)
    }

    /// Waits for a position in the stream at which a request may be executed. Until it is dropped, nothing else is
    /// executed.
    ///
    /// # Panics
    ///
    /// If an assertion of the NIC fails: nothing that the store has is known to be right then.
    pub fn order(&self, service: &Service, access: &Access<'_>) -> Position<'_> {
        let mut state = self.lock(service);
        let cas = state.order(service, access).expect("the simulated NIC works");
        Position::new(state, cas)
    }

    fn lock(&self, service: &Service) -> MutexGuard<'_, State> {
        let next = self.next.lock().expect("no thread panics while it waits");
        let mut state = self.state.lock().expect("the simulated NIC works");
        drop(next);
        state.keep_time(service).expect("the simulated NIC works");
        state
    }
}

impl fmt::Debug for NicHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NicHost").field("counts", &self.counts).finish_non_exhaustive()
    }
}

/// What the NIC has answered, as the store counts it.
#[derive(Debug)]
struct Answers(Arc<NicCounts>);

impl Ahead for Answers {
    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.0.all().to_vec()
    }

    fn place(&self) -> String {
        "simulated NIC".to_owned()
    }

    fn stop(&self) {}
}
