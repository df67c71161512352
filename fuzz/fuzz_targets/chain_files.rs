//! An own chain with arbitrarily damaged flat files and snapshots, with valid checksums, and a catalog that trusts
//! them: opening it fails, or the chain can be read, audited and extended.
#![no_main]

use std::sync::{Arc, OnceLock};

use chain::merkle::{SignedTail, TAIL_SIZE};
use chain::own::{Catalog, Commit, Error, FileCatalog, Levels, NextBlock, Options, OwnChain, RootSchedule, audit};
use libfuzzer_sys::fuzz_target;
use spv::{BlockHeader, SealedHeader, SealingKey};
use storage::{Directory, SimulatedDisk};
use turnpike_fuzz::{Files, damaged, read_all};
use wire::{AccountId, Operation, TransactionId};
use zerocopy::FromBytes;

/// Small, so that blocks cross segments.
const OPTIONS: Options = Options { segment_size: 8192, levels: Levels::Stored, roots: ROOTS };

/// Each block after the first has 48 transactions, so every other one states the index root.
const ROOTS: RootSchedule = RootSchedule { small_block: 0, eighths: 4 * ACCOUNTS as u64 / 3 };

/// Bytes of a record: first the header with its seal, then the position in the journal.
const RECORD: usize = 288;

const ACCOUNTS: u32 = 24;

fn key() -> SealingKey {
    SealingKey::from_bytes(&[1; 32]).expect("a key")
}

fn genesis() -> SealedHeader {
    key().seal(&BlockHeader::genesis("fuzz", &[0; 16], 1, &key().public()))
}

/// A block with transfers from each account to the next, the first of them signed.
fn append(chain: &mut OwnChain, number: u32) -> Result<(), Error> {
    let id = |account: u32| TransactionId::from(number << 16 | account);
    let mut operations: Vec<Operation> = match number {
        1 => (1..=ACCOUNTS).map(|account| Operation::create(id(account), account.into())).collect(),
        _ => Vec::new(),
    };
    operations.extend((1..=ACCOUNTS).map(|account| Operation::issue(id(account + 100), account.into(), 9)));
    let transfer =
        |account: u32| Operation::transfer(id(account + 200), account.into(), (account % ACCOUNTS + 1).into(), 3);
    operations.extend((1..=ACCOUNTS).map(transfer));
    let (end_sequence, timestamp) = (chain.tip().end_sequence + operations.len() as u64, number.into());
    let tails = [SignedTail { position: 3, tail: [1; TAIL_SIZE] }];
    chain.append(NextBlock { operations: &operations, tails: &tails, end_sequence, timestamp }, &mut key()).map(|_| ())
}

/// The files of a chain of four blocks, with a snapshot after the third; the second and fourth state no index root.
fn files() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let disk = SimulatedDisk::new(0);
        let catalog = Box::new(FileCatalog::new(disk.root().directory("catalog").expect("no faults were asked for")));
        let mut chain = OwnChain::open(disk.root(), catalog, OPTIONS, || Ok(genesis())).expect("a new chain");
        for number in 1..=4 {
            append(&mut chain, number).expect("a block that holds");
            let states_index = chain.tip().header.states_index();
            assert_eq!(states_index, number % 2 == 1, "block {number}");
            if number == 3 {
                assert!(chain.snapshot().expect("no faults were asked for"));
            }
        }
        read_all(&*disk.root())
    })
}

/// A catalog that takes the files for committed.
#[derive(Debug)]
struct Believing(Option<Commit>);

impl Believing {
    fn new(directory: &dyn Directory) -> Self {
        let whole = |name: &str| -> Vec<u8> {
            let files = read_all(directory).into_iter();
            files.filter(|(file, _)| file.starts_with(name)).flat_map(|(_, content)| content).collect()
        };
        let (records, blocks) = (whole("records-"), whole("blocks-"));
        let records = &records[..records.len() / RECORD * RECORD];
        let Some(last) = records.last_chunk::<RECORD>() else { return Self(None) };
        let (sealed, rest) = SealedHeader::read_from_prefix(last).expect("a record is longer than a header");
        let end_sequence = u64::from_le_bytes(rest[..8].try_into().expect("eight bytes"));
        Self(Some(Commit {
            height: (records.len() as u64 / RECORD as u64 - 1).into(),
            hash: sealed.hash(),
            end_sequence: end_sequence.into(),
            records: (records.len() as u64).into(),
            blocks: (blocks.len() as u64).into(),
        }))
    }
}

impl Catalog for Believing {
    fn last(&self) -> Result<Option<Commit>, Error> {
        Ok(self.0)
    }

    fn commit(&self, _commit: &Commit) -> Result<(), Error> {
        Ok(())
    }

    fn proposal(&self) -> Result<Option<Commit>, Error> {
        Ok(None)
    }

    fn propose(&self, _commit: &Commit) -> Result<(), Error> {
        Ok(())
    }

    fn sync(&self) -> Result<(), Error> {
        Ok(())
    }
}

fuzz_target!(|damage: &[u8]| {
    let root = damaged(files(), damage);
    let catalog = Box::new(Believing::new(&*root));
    let Ok(mut chain) = OwnChain::open(Arc::clone(&root), catalog, OPTIONS, || Ok(genesis())) else { return };
    let reader = chain.reader();
    let tip = chain.tip();
    let _ = audit(&chain, |_| {});
    let _ = reader.headers(0, 100);
    for account in 0..=ACCOUNTS {
        let id = AccountId::from(account);
        let _ = (reader.latest(&id), reader.index_entry(&id));
        let _ = reader.by_id(&TransactionId::from(2 << 16 | account + 100), &id);
        if let Ok(history) = reader.history(&id) {
            // Each step leads to an earlier transaction.
            let steps = history.take_while(|step| step.is_ok()).count() as u64;
            assert!(steps <= tip.transactions.max(tip.height() << 20), "{steps} steps");
        }
    }
    for height in 0..=tip.height().min(4) {
        for position in [0, 3, 60, u32::MAX] {
            let _ = reader.by_locator(height, position);
        }
    }
    let _ = append(&mut chain, 5);
});
