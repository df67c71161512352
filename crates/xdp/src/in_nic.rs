//! The in-NIC ledger: the program of `bpf/ledger.bpf.c`, its store, its locks and its ring.
//!
//! It executes compact frames in the driver and answers at `accepted`: a crash loses what the ring held.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use crate::{
    Arena, Committed, Error, State, TestRun, btf,
    committed::CommittedRing,
    error::refused,
    loader,
    program::{count, possible_processors},
    store::{InNicStore, STRIPES},
    sys,
};

/// What `build.rs` made of `bpf/ledger.bpf.c`: empty where there was no compiler.
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ledger.o"));

/// How much an in-NIC ledger holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InNicConfig {
    /// Number of accounts.
    pub accounts: usize,
    /// Bytes of the ring, a power of two: 48 for each operation that is not in the journal yet.
    pub ring: usize,
}

/// The default ring takes 350,000 operations, which a journal that hangs for a tenth of a second leaves at 3 million a second.
impl Default for InNicConfig {
    fn default() -> Self {
        Self { accounts: 1 << 20, ring: 16 << 20 }
    }
}

/// What the program counts. Twin of `enum ledger_counter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum LedgerCounter {
    /// Executed, and in the ring.
    Executed,
    /// Answered without a trace: REFER, retries, transaction ids used again.
    Answered,
    /// Left to the host: malformed, from who is not trusted, of another kind.
    Host,
    /// Left to the host because the checksum was wrong.
    Checksum,
    /// Left to the host because the ring had no room: nothing was done.
    RingFull,
    /// Left to the host because a lock could not be had: nothing was done.
    Locked,
}

impl LedgerCounter {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::Executed, Self::Answered, Self::Host, Self::Checksum, Self::RingFull, Self::Locked];

    /// Its name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Executed => "executed",
            Self::Answered => "answered",
            Self::Host => "host",
            Self::Checksum => "checksum",
            Self::RingFull => "ring_full",
            Self::Locked => "locked",
        }
    }
}

/// Why an operation of the journal could not be executed again.
#[derive(Debug, thiserror::Error)]
pub enum NotRestored {
    /// The kernel refused to run the program.
    #[error("the kernel refuses to run the in-NIC ledger: {0}")]
    Kernel(#[from] io::Error),
    /// The program did not take it.
    #[error("it is no operation of an in-NIC ledger's, or was executed already")]
    Refused,
}

/// The program, loaded, and all that it works on.
#[derive(Debug)]
pub struct InNicLedger {
    arena: Arena,
    store: InNicStore,
    ring: CommittedRing,
    program: OwnedFd,
    restore: OwnedFd,
    counters: OwnedFd,
    processors: usize,
}

impl InNicLedger {
    /// Loads the program over an empty store. The secret decides where accounts lie.
    pub fn load(config: &InNicConfig, secret: [u64; 2]) -> Result<Self, Error> {
        let arena = Arena::with_room_for(&[InNicStore::bytes(config.accounts)])?;
        let store = InNicStore::within(&arena, config.accounts, secret)?;
        store.populate();
        let ring = CommittedRing::new(config.ring)?;
        let entries = LedgerCounter::ALL.len() as u32;
        let counters = sys::create_map(sys::MAP_PERCPU_ARRAY, "counters", [4, 8], entries, 0);
        let counters = counters.map_err(refused("a map"))?;
        let locks = make_locks().map_err(refused("a map of locks"))?;
        let maps = [("counters", counters.as_fd()), ("locks", locks.as_fd()), ("ring", ring.map())];
        let load = |section| loader::load(OBJECT, section, &arena, &maps, true);
        let (program, restore) = (load("xdp")?, load("restore")?);
        Ok(Self { store, ring, program, restore, counters, processors: possible_processors(), arena })
    }

    /// Whom the program answers.
    pub fn state(&self) -> State {
        self.arena.state()
    }

    /// Executes an operation of the journal again: a compact frame, which becomes its reply.
    pub fn restore(&mut self, frame: &mut [u8]) -> Result<(), NotRestored> {
        let run = TestRun::of(self.restore.as_fd(), frame, 1)?;
        if !run.replies() || run.packet.len() != frame.len() {
            return Err(NotRestored::Refused);
        }
        frame.copy_from_slice(&run.packet);
        self.ring.begin(self.store.sequence() + 1);
        Ok(())
    }

    /// Takes at most `limit` operations out of the ring, and gives those whose turn it is in the order in which they were
    /// executed. Tells how many it took.
    pub fn drain(&mut self, limit: usize, give: impl FnMut(&Committed)) -> usize {
        self.ring.drain(limit, give)
    }

    /// Operations that were taken out of the ring before others that come first.
    pub fn early(&self) -> usize {
        self.ring.early()
    }

    /// How often something happened, on all processors together.
    pub fn count(&self, counter: LedgerCounter) -> u64 {
        count(self.counters.as_fd(), counter as u32, self.processors)
    }

    /// Number of accounts.
    pub fn accounts(&self) -> u64 {
        self.store.accounts()
    }

    /// Sequence of the last operation that was executed.
    pub fn sequence(&self) -> u64 {
        self.store.sequence()
    }

    /// All accounts and their balances, in no order; as of one moment only while nothing is executed.
    pub fn balances(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.store.balances()
    }

    /// Runs the program on a packet, which begins with its Ethernet header, `repeat` times.
    pub fn test_run(&self, packet: &[u8], repeat: u32) -> io::Result<TestRun> {
        TestRun::of(self.program.as_fd(), packet, repeat)
    }
}

impl AsFd for InNicLedger {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.program.as_fd()
    }
}

fn make_locks() -> io::Result<OwnedFd> {
    let types = sys::load_types(&btf::with_lock())?;
    let types = sys::Types { set: types.as_fd(), key: btf::LOCK_KEY, value: btf::LOCK_VALUE };
    sys::create_typed_map(sys::MAP_ARRAY, "locks", [4, 4], STRIPES as u32, 0, Some(types))
}
