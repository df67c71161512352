//! The in-NIC ledger: the program of `bpf/ledger.bpf.c`, its store, its locks and its ring.
//!
//! It executes compact frames in the driver and answers at `accepted`: a crash loses what is not in the journal yet.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::Duration,
};

use crate::{
    Arena, Committed, Error, InNicConfig, LedgerCounter, MOST_RETENTION, RetryFill, State, TestRun, Tick, btf,
    committed::CommittedRing,
    error::refused,
    loader,
    program::{count, possible_processors},
    shared_layout::STRIPES,
    store::InNicStore,
    sys,
};

/// The object that `build.rs` compiled from `bpf/ledger.bpf.c`: empty without a compiler.
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ledger.o"));

/// The same for `bpf/ledger_bench.bpf.c`.
const BENCH_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ledger_bench.o"));

/// The loaded program with its maps and its store.
#[derive(Debug)]
pub struct InNicLedger {
    arena: Arena,
    store: InNicStore,
    ring: CommittedRing,
    program: OwnedFd,
    counters: OwnedFd,
    processors: usize,
}

impl InNicLedger {
    /// Loads the program over an empty store. The secret determines the places of accounts.
    pub fn load(config: &InNicConfig, secret: [u64; 2]) -> Result<Self, Error> {
        let locks = make_locks().map_err(refused("a map of locks"))?;
        Self::load_with(config, secret, &locks, (OBJECT, "xdp"))
    }

    /// Loads it after a generator of transfers, for measurements: each run transfers between two of the accounts 1 to
    /// `accounts` + 1.
    pub fn load_bench(config: &InNicConfig, secret: [u64; 2], accounts: u32) -> Result<Self, Error> {
        let locks = make_locks().map_err(refused("a map of locks"))?;
        let nic = Self::load_with(config, secret, &locks, (BENCH_OBJECT, "bench"))?;
        nic.state().set_bench_accounts(accounts);
        Ok(nic)
    }

    fn load_with(
        config: &InNicConfig,
        secret: [u64; 2],
        locks: &OwnedFd,
        (object, section): (&[u8], &str),
    ) -> Result<Self, Error> {
        if config.retention > MOST_RETENTION {
            return Err(Error::Retention(config.retention));
        }
        let arena = Arena::with_room_for(&[InNicStore::bytes(config)])?;
        let store = InNicStore::within(&arena, config, secret)?;
        store.populate();
        let ring = CommittedRing::new(config.ring)?;
        let counters = sys::create_map(sys::MAP_PERCPU_ARRAY, "counters", [4, 8], LedgerCounter::COUNT, 0);
        let counters = counters.map_err(refused("a map"))?;
        let maps = [("counters", counters.as_fd()), ("locks", locks.as_fd()), ("ring", ring.map())];
        let program = loader::load(object, section, &arena, &maps, true)?;
        Ok(Self { store, ring, program, counters, processors: possible_processors(), arena })
    }

    /// The state page: which senders the program answers.
    pub fn state(&self) -> State {
        self.arena.state()
    }

    /// Adds an account with its balance, before the program is attached.
    pub fn insert(&mut self, account: u32, balance: u64) -> Result<(), Error> {
        if self.store.insert(account, balance) { Ok(()) } else { Err(Error::NoPlace(account)) }
    }

    /// Remembers an operation executed `age` ago, so that its retry is recognised, before the program is attached.
    /// Operations come in order, up to the one that it [continues after](Self::begin_after).
    pub fn remember(&mut self, committed: &Committed, age: Duration) -> Result<(), Error> {
        let now = Tick::now();
        if self.store.remember(committed, now.before(age), now) { Ok(()) } else { Err(Error::Retries) }
    }

    /// Continues after a sequence, remembering nothing.
    pub fn begin_after(&mut self, sequence: u64) {
        self.store.begin_after(sequence);
        self.ring.begin(sequence + 1);
    }

    /// Takes up to `limit` operations from the ring, and passes those that are next in the order of execution to
    /// `give`. Returns how many it took.
    pub fn drain(&mut self, limit: usize, give: impl FnMut(&Committed)) -> usize {
        self.ring.drain(limit, give)
    }

    /// Number of operations taken from the ring ahead of an earlier one.
    pub fn early(&self) -> usize {
        self.ring.early()
    }

    /// Unread bytes of the ring, and its size.
    pub fn ring_bytes(&self) -> (u64, u64) {
        self.ring.bytes()
    }

    /// Value of a counter, summed over all processors.
    pub fn count(&self, counter: LedgerCounter) -> u64 {
        counter.number().map_or(0, |number| count(self.counters.as_fd(), number, self.processors))
    }

    /// Number of accounts.
    pub fn accounts(&self) -> u64 {
        self.store.accounts()
    }

    /// Sequence of the last operation that was executed.
    pub fn sequence(&self) -> u64 {
        self.store.sequence()
    }

    /// How full the memory of retries is with operations that may not be forgotten yet.
    pub fn retries(&self) -> RetryFill {
        self.store.fill(Tick::now())
    }

    /// All accounts and their balances, in no particular order; consistent only while nothing is executed.
    pub fn balances(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.store.balances()
    }

    /// Runs the program on a packet, which begins with its Ethernet header, `repeat` times.
    pub fn test_run(&self, packet: &[u8], repeat: u32) -> io::Result<TestRun> {
        TestRun::run(self.program.as_fd(), packet, repeat)
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
    sys::create_typed_map(sys::MAP_ARRAY, "locks", [4, 8], STRIPES as u32, 0, Some(types))
}

impl LedgerCounter {
    /// Whether it counts frames left to the host.
    pub const fn is_left_to_host(self) -> bool {
        match self {
            Self::Host | Self::Checksum | Self::RingFull | Self::Locked | Self::Crowded => true,
            Self::Waited | Self::Full | Self::Executed { .. } | Self::Answered { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::{Command, CompactFrame, Status};
    use zerocopy::IntoBytes;

    use super::*;
    use crate::{generator, shared_layout::STATUSES};

    #[test]
    fn every_counter_has_a_number_of_its_own() {
        let answered = Status::ALL.iter().filter(|status| u32::from(status.code()) < STATUSES);
        let pairs = Command::COMPACT.iter().flat_map(|command| answered.clone().map(move |status| (*command, *status)));
        let answers = pairs.flat_map(|(command, status)| {
            [LedgerCounter::Executed { command, status }, LedgerCounter::Answered { command, status }]
        });
        let mut numbers = Vec::new();
        for counter in LedgerCounter::PLAIN.into_iter().chain(answers) {
            let number = counter.number().unwrap();
            assert!(number < LedgerCounter::COUNT && !numbers.contains(&number), "{counter:?}");
            numbers.push(number);
        }
        assert_eq!(LedgerCounter::Answered { command: Command::Create, status: Status::UnknownCommand }.number(), None);
    }

    #[test]
    fn a_lock_that_another_processor_holds_is_counted() {
        const MACS: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1]];
        let locks = make_locks();
        let nic = locks.map_err(refused("a map of locks")).and_then(|locks| {
            for stripe in 0..STRIPES as u32 {
                // The upper half marks the lock as held; the lock itself is left unchanged.
                sys::update(locks.as_fd(), stripe, 1 << 32).map_err(refused("to mark a lock as held"))?;
            }
            let config = InNicConfig { accounts: 64, retries: 64, ring: 4096, ..InNicConfig::default() };
            InNicLedger::load_with(&config, [7, 9], &locks, (OBJECT, "xdp"))
        });
        let nic = match nic {
            Ok(nic) => nic,
            Err(error @ Error::Verifier { .. }) => panic!("{error}"),
            Err(error) => return skip::lacking(skip::Ability::Bpf, error),
        };
        let (client, server) = ("10.0.0.2".parse().unwrap(), "10.0.0.1:7400".parse().unwrap());
        nic.state().set_listening(7400, MACS[1], &["10.0.0.1".parse().unwrap()]);
        nic.state().set_trusted([("10.0.0.0".parse().unwrap(), 8)]);
        for (transaction, waited) in [(1, 1), (2, 1)] {
            let request = CompactFrame::new(Command::Create, transaction, 5, 0, 0);
            let frame = [&generator::headers(MACS[0], MACS[1], client, server)[..], request.as_bytes()].concat();
            assert!(nic.test_run(&frame, 1).unwrap().replies());
            // The previous holder marked it as free.
            assert_eq!(nic.count(LedgerCounter::Waited), waited);
        }
    }
}
