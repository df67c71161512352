//! Journal, builder and recovery together, on a disk in memory: each durable operation ends up in one block, in order,
//! and a restart at any moment restores the ledger.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
    time::Duration,
};

use chain::own::{FileCatalog, OwnChain, RootSchedule, Sealer, SealingError};
use common::{account, signed, transaction};
use model::{Model, Outcome};
use proptest::prelude::*;
use spv::{BlockHeader, Hash, Seal, SealingKey};
use storage::{Faults, SimulatedDisk};
use turnpike_ledger::{
    Ledger, Limits, Now, Secret, Snapshots,
    builder::{self, BlockBuilder},
    journal::{self, Batch, Journal, JournalRecall, PAGE},
    recover, retries,
};
use wire::{Operation, Promise, SignedOperation, Status};

const SECOND: u64 = 1_000_000;

/// Retries are recognised for longer than a test takes.
const LIMITS: Limits = limits(Duration::from_secs(10_000));

/// Less than the time between two blocks of a test.
const SHORT: Duration = Duration::from_secs(10);

const fn limits(time: Duration) -> Limits {
    let retries = retries::Limits { operations: 1 << 14, retention: time, signed: 1 << 14, replay: time };
    Limits { accounts: 40, retries }
}

/// Number of failures that cause an empty block.
const FAILURES: u64 = 1024;

/// Number of transactions that cause a snapshot, while accounts are few.
const SNAPSHOT_TRANSACTIONS: u64 = 150;

fn options(transactions: u32, limits: &Limits) -> builder::Options {
    let interval = Duration::from_secs(1);
    let snapshots =
        Snapshots { interval: Duration::from_secs(5), transactions: SNAPSHOT_TRANSACTIONS, retention: None };
    let retries::Limits { retention, replay, .. } = limits.retries;
    builder::Options { transactions, interval, snapshots, failures: FAILURES, retention, replay }
}

/// A signer outside the node, which outlives it. It seals one header per height and never another one.
#[derive(Clone, Debug, Default)]
struct Module(Arc<Mutex<Memory>>);

#[derive(Debug, Default)]
struct Memory {
    sealed: HashMap<u64, Hash>,
    /// Its replies are lost.
    mute: bool,
}

impl Module {
    fn key() -> SealingKey {
        SealingKey::from_bytes(&[1; 32]).unwrap()
    }

    fn set_mute(&self, mute: bool) {
        self.0.lock().unwrap().mute = mute;
    }
}

impl Sealer for Module {
    fn seal(&mut self, header: &BlockHeader) -> Result<Seal, SealingError> {
        let mut memory = self.0.lock().unwrap();
        let first = *memory.sealed.entry(header.height.get()).or_insert(header.hash());
        assert_eq!(first, header.hash(), "two headers of height {} are to be sealed", header.height);
        if memory.mute { Err("no answer".into()) } else { Ok(Self::key().seal(header).seal) }
    }
}

/// A node without network and threads.
struct Machine {
    module: Module,
    disk: SimulatedDisk,
    journal: Journal,
    batch: Batch,
    ledger: Ledger,
    builder: BlockBuilder,
    transactions: u32,
    limits: Limits,
    roots: RootSchedule,
    now: u64,
    /// When the ledger was created.
    started: u64,
    /// Timestamp of signed operations, if not `now`.
    signed_at: Option<u64>,
}

impl Machine {
    fn start(disk: SimulatedDisk, transactions: u32, now: u64) -> Self {
        Self::with(LIMITS, disk, Module::default(), transactions, now)
    }

    /// Some blocks state no index root.
    fn with_fewer_roots(disk: SimulatedDisk, transactions: u32, now: u64) -> Self {
        let roots = RootSchedule { small_block: 12, eighths: 48 };
        Self::open(LIMITS, roots, disk, Module::default(), transactions, now)
    }

    fn with(limits: Limits, disk: SimulatedDisk, module: Module, transactions: u32, now: u64) -> Self {
        Self::open(limits, RootSchedule::NODE, disk, module, transactions, now)
    }

    fn open(
        limits: Limits,
        roots: RootSchedule,
        disk: SimulatedDisk,
        module: Module,
        transactions: u32,
        now: u64,
    ) -> Self {
        let root = disk.root();
        let options_of_journal =
            journal::Options { segment_bytes: 16 * PAGE, batch_bytes: 8 * PAGE as usize, key: [7; 32] };
        let (journal, _) = Journal::open(root.directory("journal").unwrap(), &options_of_journal).unwrap();
        let directory = root.directory("chain").unwrap();
        let catalog = Box::new(FileCatalog::new(directory.clone()));
        let key = Module::key();
        let genesis = key.seal(&BlockHeader::genesis("test", &[1; 16], 0, &key.public()));
        let options_of_chain = chain::own::Options { segment_size: 1 << 20, roots, ..Default::default() };
        let chain = OwnChain::open(directory, catalog, options_of_chain, || Ok(genesis)).unwrap();
        let ledger = recover(limits, Secret::default(), &chain, journal.log()).unwrap();
        let (log, options) = (journal.log().clone(), options(transactions, &limits));
        let builder = BlockBuilder::new(chain, Box::new(module.clone()), log, options, (), now).unwrap();
        let (batch, signed_at, started) = (Batch::new(), None, now);
        Self { module, disk, journal, batch, ledger, builder, transactions, limits, roots, now, started, signed_at }
    }

    fn restart(self) -> Self {
        let Self { module, disk, journal, builder, transactions, limits, roots, now, .. } = self;
        drop((journal, builder));
        disk.crash();
        Self::open(limits, roots, disk, module, transactions, now + 1)
    }

    /// Executes operations and makes them durable; every third is signed. Returns statuses and values.
    fn execute(&mut self, operations: &[Operation]) -> Vec<(Status, u64)> {
        let mut answers = Vec::new();
        for operation in operations {
            self.now += 1;
            let (mut values, batch) = ([0], &mut self.batch);
            let now = Now { elapsed: self.now - self.started, unix: self.now };
            let status = if is_signed(operation) {
                let signed_at = self.signed_at.unwrap_or(self.now);
                let signed = SignedOperation::unsigned(*operation, signed_at, 0, Promise::Durable, [3; 33]);
                let mut entries = [signed];
                self.ledger.execute(&mut entries, &mut values, now, |signed, value| batch.push_signed(signed, value));
                entries[0].operation.status()
            } else {
                let mut entries = [*operation];
                self.ledger.execute(&mut entries, &mut values, now, |operation, value| batch.push(operation, value));
                entries[0].status()
            };
            answers.push((status.unwrap(), values[0]));
            if self.batch.len() == 50 {
                self.journal.commit(&mut self.batch, self.now).unwrap();
            }
        }
        self.journal.commit(&mut self.batch, self.now).unwrap();
        answers
    }

    /// Builds until there is nothing to do, then closes the open block.
    fn settle(&mut self) {
        while self.builder.step(self.now).unwrap() {}
        self.now += 2 * SECOND;
        while self.builder.step(self.now).unwrap() {}
        assert!(!self.builder.is_open());
    }

    /// The heights of the snapshots on the disk.
    fn snapshots(&self) -> Vec<u64> {
        let files = self.disk.files();
        let names = files.iter().filter_map(|path| path.file_name()?.to_str()?.strip_prefix("index-"));
        let mut heights = Vec::from_iter(names.map(|height| height.parse::<u64>().unwrap()));
        heights.sort_unstable();
        heights
    }

    /// All transactions of the chain.
    fn settled(&self) -> Vec<Operation> {
        let reader = self.builder.chain();
        let heights = 1..=self.builder.tip().height();
        let positions = |height| {
            let reader = reader.clone();
            (0..).map_while(move |position| reader.by_locator(height, position).unwrap().map(|found| found.operation))
        };
        heights.flat_map(positions).collect()
    }
}

fn is_signed(operation: &Operation) -> bool {
    operation.transaction.to_u128().is_multiple_of(3)
}

fn operations(random: &mut impl FnMut(u64) -> u64, count: usize, ids: &mut u64) -> Vec<Operation> {
    let operation = |_| {
        // Some ids are reused, for retries and for other operations.
        *ids += 1;
        let id = transaction(if random(10) == 0 { random(*ids) } else { *ids });
        let (source, destination) = (account(random(45)), account(random(45)));
        match random(9) {
            0 => Operation::create(id, source),
            1 => Operation::create_for(id, source, destination, 1 + random(300)),
            2 => Operation::issue(id, source, 1 + random(1000)),
            _ => Operation::transfer(id, source, destination, random(300)),
        }
    };
    (0..count).map(operation).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn what_is_durable_is_settled_once(
        seed: u64, transactions in 1u32..200, rounds in prop::collection::vec((0usize..400, 0usize..30, any::<bool>(), any::<bool>()), 1..12),
    ) {
        let mut state = storage::Random::new(seed);
        let mut random = |limit: u64| state.number() % limit;
        let mut machine = Machine::start(SimulatedDisk::new(seed), transactions, SECOND);
        let mut model = Model::new(LIMITS.accounts);
        let (mut expected, mut ids) = (Vec::new(), 0);
        for (count, steps, restart, mute) in rounds {
            let operations = operations(&mut random, count, &mut ids);
            let answers = machine.execute(&operations);
            for (operation, answer) in operations.iter().zip(answers) {
                let outcome = match is_signed(operation) {
                    true => model.execute_signed(&signed(operation)),
                    false => model.execute(operation),
                };
                let Outcome { status, value, is_fresh } = outcome;
                prop_assert_eq!(answer, (status, value));
                if is_fresh && status == Status::Ok {
                    expected.push(*operation);
                }
            }
            for _ in 0..steps {
                machine.now += SECOND / 10;
                machine.module.set_mute(mute);
                let result = machine.builder.step(machine.now);
                prop_assert!(result.is_ok() || mute, "{result:?}");
            }
            machine.module.set_mute(false);
            if restart {
                machine = machine.restart();
                prop_assert_eq!(&machine.ledger.iter().collect::<BTreeMap<_, _>>(), model.balances());
                prop_assert_eq!(machine.ledger.issued(), model.issued());
            }
        }
        machine.settle();
        prop_assert!(machine.settled() == expected);
        let headers = machine.builder.chain().headers(1, usize::MAX).unwrap();
        prop_assert!(headers.iter().all(|sealed| sealed.header.transactions.get() <= transactions));
        prop_assert_eq!(machine.builder.tip().issued, model.issued());
    }
}

/// A block ends before a chain that does not fit, also across a crash, and takes a longer one whole.
#[test]
fn no_block_ends_inside_a_chain() {
    const LONGEST: u64 = 7;
    let mut machine = Machine::start(SimulatedDisk::new(11), 5, SECOND);
    let mut expected = vec![Operation::create(transaction(0), account(0))];
    machine.execute(&expected);
    let mut random = storage::Random::new(11);
    for chain in 1..60 {
        let length = 1 + random.number() % LONGEST;
        let has_failed = random.number().is_multiple_of(4);
        let mut operations = Vec::from_iter((1..=length).map(|position| {
            let amount = if has_failed && position == length { u64::MAX } else { position };
            Operation::issue(transaction(100 * chain + position), account(0), amount).linked()
        }));
        operations.last_mut().unwrap().flags = 0;
        let (mut entries, mut values, batch) = (operations.clone(), vec![0; operations.len()], &mut machine.batch);
        let now = Now { elapsed: machine.now - machine.started, unix: machine.now };
        machine.ledger.execute(&mut entries, &mut values, now, |operation, value| batch.push(operation, value));
        assert_eq!(entries.iter().all(|operation| operation.status() == Ok(Status::Ok)), !has_failed, "{entries:?}");
        if !has_failed {
            expected.extend(operations);
        }
        if random.number().is_multiple_of(3) {
            machine.journal.commit(&mut machine.batch, machine.now).unwrap();
            if random.number().is_multiple_of(3) {
                while machine.builder.step(machine.now).unwrap() {}
                machine = machine.restart();
            }
        }
    }
    machine.journal.commit(&mut machine.batch, machine.now).unwrap();
    machine.settle();
    assert_eq!(machine.settled(), expected);
    let reader = machine.builder.chain();
    let mut lengths = std::collections::BTreeSet::new();
    for height in 1..=machine.builder.tip().height() {
        let block = Vec::from_iter((0..).map_while(|position| reader.by_locator(height, position).unwrap()));
        assert!(!block.last().unwrap().operation.is_linked(), "block {height} ends inside a chain");
        assert!(block.len() <= 5 || block.iter().filter(|found| !found.operation.is_linked()).count() == 1);
        lengths.insert(block.len());
    }
    assert!(lengths.contains(&5) && lengths.contains(&7), "{lengths:?}");
}

/// A sealed block is rebuilt identically, whatever happened since: more operations in the journal, a crash, other
/// limits.
#[test]
fn a_block_that_was_sealed_is_never_another_one() {
    // The limit before and after, and the transactions of the block: all of a batch of the journal, or a part.
    for (before, after, count) in [(100, 7, 30), (20, 25, 20)] {
        let mut machine = Machine::start(SimulatedDisk::new(9), before, SECOND);
        let creates: Vec<_> = (0..30).map(|number| Operation::create(transaction(number), account(number))).collect();
        machine.execute(&creates);
        machine.module.set_mute(true);
        while machine.builder.step(machine.now).is_ok_and(|has_worked| has_worked) {}
        machine.now += 2 * SECOND;
        assert!(machine.builder.step(machine.now).is_err());
        let more: Vec<_> = (0..30).map(|id| Operation::issue(transaction(100 + id), account(id), 1)).collect();
        machine.execute(&more);
        for _ in 0..3 {
            machine.now += 2 * SECOND;
            let error = machine.builder.step(machine.now).unwrap_err();
            assert!(error.to_string().contains("block 1 is not sealed: no answer"), "{error}");
        }
        machine.transactions = after;
        let mut machine = machine.restart();
        assert!((0..9).any(|_| machine.builder.step(machine.now).is_err()));
        assert_eq!(machine.builder.tip().height(), 0);
        machine.module.set_mute(false);
        machine.settle();
        assert_eq!(machine.builder.chain().headers(1, 1).unwrap()[0].header.transactions.get(), count);
        assert_eq!(machine.settled(), [creates, more].concat());
    }
}

/// After `finish` everything in the journal is in a block, and there is a snapshot of the last one.
#[test]
fn what_is_open_is_closed_at_the_end() {
    let mut machine = Machine::start(SimulatedDisk::new(10), 100, SECOND);
    let creates: Vec<_> = (0..30).map(|number| Operation::create(transaction(number), account(number))).collect();
    machine.execute(&creates);
    while machine.builder.step(machine.now).unwrap() {}
    assert_eq!((machine.builder.tip().height(), machine.builder.sequence()), (0, 30));
    machine.builder.finish().unwrap();
    assert_eq!((machine.builder.tip().height(), machine.settled()), (1, creates));
    assert_eq!(machine.snapshots(), [1]);
    let mut machine = machine.restart();
    let changes = machine.disk.changes();
    machine.builder.finish().unwrap();
    assert_eq!(machine.disk.changes(), changes, "there was nothing to do");
}

/// An empty block that states the index root follows one that does not: at the end or an interval later, also if the
/// machine crashes before.
#[test]
fn an_idle_builder_states_the_index_root() {
    let mut machine = Machine::with_fewer_roots(SimulatedDisk::new(12), 20, SECOND);
    let creates: Vec<_> = (0..10).map(|number| Operation::create(transaction(number), account(number))).collect();
    let issues: Vec<_> =
        (10..85).map(|number| Operation::issue(transaction(number), account(number % 10), 1)).collect();
    machine.execute(&creates);
    machine.settle();
    machine.execute(&issues[..20]);
    while machine.builder.step(machine.now).unwrap() {}
    let states_index =
        |machine: &Machine, height| machine.builder.chain().headers(height, 1).unwrap()[0].header.states_index();
    assert_eq!((machine.builder.tip().height(), machine.builder.tip().index_height), (2, 1));
    let mut machine = machine.restart();
    assert_eq!((machine.builder.tip().height(), machine.builder.tip().index_height), (2, 1));
    machine.settle();
    let tip = machine.builder.tip();
    assert_eq!((tip.height(), tip.index_height, tip.header.transactions.get()), (3, 3, 0));
    assert_eq!(tip.end_sequence, 30);
    machine.settle();
    assert_eq!(machine.builder.tip(), tip, "one is enough");
    // With a load, blocks follow each other, and none is empty.
    machine.execute(&issues[20..60]);
    machine.settle();
    assert_eq!([4, 5, 6].map(|height| states_index(&machine, height)), [false, false, true]);
    machine.execute(&issues[60..]);
    while machine.builder.step(machine.now).unwrap() {}
    machine.builder.finish().unwrap();
    assert_eq!([7, 8].map(|height| states_index(&machine, height)), [false, true]);
    assert_eq!(machine.snapshots().last(), Some(&8));
    assert!(machine.settled() == [creates, issues].concat());
}

/// A snapshot is written when its interval is over or after many transactions: 150, or the number of accounts.
#[test]
fn snapshots_are_written_in_time() {
    let limits = Limits { accounts: 200, ..LIMITS };
    let mut machine = Machine::with(limits, SimulatedDisk::new(11), Module::default(), 1000, SECOND);
    let mut ids = 0;
    let mut block = |machine: &mut Machine, creates: u64, issues: u64| {
        let create = |number| Operation::create(transaction(1000 + number), account(number));
        let mut operations: Vec<_> = (0..creates).map(create).collect();
        operations.extend((ids..ids + issues).map(|id| Operation::issue(transaction(2000 + id), account(1), 1)));
        ids += issues;
        assert!(machine.execute(&operations).iter().all(|(status, _)| status.is_ok()));
        machine.settle();
        machine.snapshots()
    };
    // A block closes 2 s after its first transaction, and a snapshot is written after 5 s.
    assert_eq!(block(&mut machine, 2, 8), []);
    assert_eq!(block(&mut machine, 0, 10), []);
    assert_eq!(block(&mut machine, 0, 10), [3]);
    assert_eq!(block(&mut machine, 0, SNAPSHOT_TRANSACTIONS - 1), [3]);
    assert_eq!(block(&mut machine, 0, 1), [3, 5]);
    assert_eq!(block(&mut machine, 0, SNAPSHOT_TRANSACTIONS), [5, 6]);
    // Of 160 accounts.
    let creates: Vec<_> =
        (2..160).map(|number| Operation::create(transaction(1000 + number), account(number))).collect();
    machine.execute(&creates);
    assert_eq!(block(&mut machine, 0, 1), [5, 6]);
    assert_eq!(block(&mut machine, 0, 1), [6, 8]);
}

#[test]
fn a_full_disk_holds_blocks_up_and_loses_nothing() {
    let mut machine = Machine::start(SimulatedDisk::new(5), 100, SECOND);
    let creates: Vec<_> = (0..40).map(|number| Operation::create(transaction(number), account(number))).collect();
    machine.execute(&creates);
    let issues: Vec<_> = (0..400).map(|id| Operation::issue(transaction(100 + id), account(id % 40), 1)).collect();
    machine.execute(&issues);
    let capacity = machine.disk.used() + 100;
    machine.disk.set_faults(Faults { capacity, ..Faults::default() });
    let mut failed = 0;
    for _ in 0..20 {
        failed += usize::from(machine.builder.step(machine.now).is_err());
    }
    assert!(failed > 10, "{failed}");
    assert_eq!(machine.builder.tip().height(), 0);
    machine.disk.set_faults(Faults::default());
    machine.settle();
    assert_eq!(machine.settled(), [creates, issues].concat());
}

#[test]
fn failures_alone_do_not_keep_the_journal() {
    let window = FAILURES;
    let limits = limits(Duration::from_secs(1));
    let mut machine = Machine::with(limits, SimulatedDisk::new(7), Module::default(), 100, SECOND);
    machine.execute(&[Operation::create(transaction(1), account(1))]);
    machine.settle();
    assert_eq!(machine.builder.tip().height(), 1);
    let fail = |machine: &mut Machine, ids: std::ops::Range<u64>| {
        let issues: Vec<_> = ids.map(|id| Operation::issue(transaction(id), account(2), 1)).collect();
        assert!(machine.execute(&issues).iter().all(|(status, _)| *status == Status::SourceUnknown));
        machine.settle();
    };
    fail(&mut machine, 100..100 + window - 1);
    assert_eq!(machine.builder.tip().height(), 1, "less than the journal keeps anyway");
    for round in 1..=4 {
        fail(&mut machine, 10_000 * round..10_000 * round + window);
    }
    let tip = machine.builder.tip();
    assert!((2..=6).contains(&tip.height()) && tip.transactions == 1, "{tip:?}");
    let log = machine.journal.log();
    assert!(log.durable() - log.first_sequence() < 3 * window, "{} to {}", log.first_sequence(), log.durable());

    let mut machine = machine.restart();
    fail(&mut machine, 50_000..50_000 + 2 * window);
    machine.execute(&[Operation::issue(transaction(2), account(1), 5)]);
    machine.settle();
    assert_eq!(machine.settled().len(), 2);
}

/// Signed operations stay in the journal as long as they are accepted, unless they take more than 16 segments.
#[test]
fn signed_operations_keep_the_journal_while_it_is_small() {
    let retries = retries::Limits { retention: SHORT, ..LIMITS.retries };
    let limits = Limits { retries, ..LIMITS };
    let mut machine = Machine::with(limits, SimulatedDisk::new(12), Module::default(), 1000, SECOND);
    machine.execute(&[Operation::create(transaction(0), account(0))]);
    let (mut ids, mut segments) = (1..1_000_000, 0);
    while machine.journal.log().first_sequence() == 1 {
        segments = machine.journal.log().segments();
        assert!(segments <= 16, "{segments} segments");
        machine.now += 20 * SECOND;
        let issues = ids.by_ref().take(100).map(|id| Operation::issue(transaction(id), account(0), 1));
        machine.execute(&Vec::from_iter(issues));
        machine.settle();
    }
    assert_eq!(segments, 16, "it was cut earlier");
    // Operations not older than the retention are still there.
    let log = machine.journal.log();
    assert!(log.segments() <= 2 && log.first_sequence() <= log.durable() - 99, "{}", log.first_sequence());
}

#[test]
fn the_journal_keeps_what_is_not_settled_and_what_is_remembered() {
    let limits = limits(Duration::from_secs(10));
    let mut machine = Machine::with(limits, SimulatedDisk::new(6), Module::default(), 100, SECOND);
    let creates: Vec<_> = (0..40).map(|number| Operation::create(transaction(number), account(number))).collect();
    machine.execute(&creates);
    let issue = |machine: &mut Machine, ids: std::ops::Range<u64>| {
        let issues: Vec<_> = ids.map(|id| Operation::issue(transaction(100 + id), account(id % 40), 1)).collect();
        machine.execute(&issues)
    };
    let mut first = issue(&mut machine, 0..6000);
    machine.settle();
    assert_eq!(machine.journal.log().first_sequence(), 1, "all of it is remembered");
    machine.now += 9 * SECOND;
    first.extend(issue(&mut machine, 6000..9000));
    machine.settle();
    machine.now += 5 * SECOND;
    // Of the first operations only those remain that share a segment, or a place in one, with the second ones.
    first.extend(issue(&mut machine, 9000..9100));
    machine.settle();
    let kept = machine.journal.log().first_sequence();
    assert!((4000..=6041).contains(&kept), "{kept}");

    let mut machine = machine.restart();
    let last = machine.ledger.last_sequence();
    assert_eq!(issue(&mut machine, 6000..9100), first[6000..]);
    assert_eq!(machine.ledger.last_sequence(), last, "retries were executed again");
    // A forgotten operation looks new, unless it is signed.
    machine.signed_at = Some(SECOND + 1);
    let forgotten = issue(&mut machine, 0..30);
    assert!((0..30).filter(|id| (100 + id) % 3 == 0).all(|id| forgotten[id].0 == Status::StaleTimestamp));
}

/// A retry gets its first reply from the journal if memory no longer holds the record.
#[test]
fn old_retries_are_answered_from_the_journal() {
    let mut machine = Machine::start(SimulatedDisk::new(8), 100, SECOND);
    let creates: Vec<_> = (0..40).map(|number| Operation::create(transaction(number), account(number))).collect();
    machine.execute(&creates);
    let issues: Vec<_> = (0..9000).map(|id| Operation::issue(transaction(100 + id), account(id % 40), 1)).collect();
    let first = machine.execute(&issues);
    let mut recall = JournalRecall::new(machine.journal.log().clone());
    for sequence in (1..=9040).rev().step_by(7).chain(1..9040) {
        let record = recall.record(sequence).unwrap().unwrap();
        let expected = creates.iter().chain(&issues).nth(sequence as usize - 1).unwrap();
        assert_eq!(Operation { status: 0.into(), ..record.operation }, *expected);
    }
    assert!(recall.record(9041).unwrap().is_none());
    // A recovered ledger with this little memory has only the last records.
    let limits = Limits { retries: retries::Limits { operations: 9040, ..LIMITS.retries }, ..LIMITS };
    let Machine { disk, journal, builder, now, .. } = machine;
    drop((journal, builder));
    disk.crash();
    let mut machine = Machine::with(limits, disk, Module::default(), 100, now + 1);
    assert_eq!(machine.execute(&issues), first);
    assert_eq!(machine.ledger.last_sequence(), 9040);
}
