//! A journal with arbitrarily damaged files, with valid digests: opening it fails or truncates it, what is read matches
//! the files, and a journal that opens can be continued.
#![no_main]

use std::sync::{Arc, OnceLock};

use ledger::journal::{Batch, Journal, Options, PAGE, Record};
use ledger::{Limits, Recovery, Secret, retries};
use libfuzzer_sys::fuzz_target;
use storage::{Directory, SimulatedDisk};
use turnpike_fuzz::{Files, damaged, read_all};
use wire::{Operation, Promise, SignedOperation};

/// Segments of four pages, one of which is the header.
fn options() -> Options {
    Options { segment_bytes: 4 * PAGE, batch_bytes: 3 * PAGE as usize, key: [7; 32] }
}

/// A journal of three segments with batches of various sizes, one of them empty.
fn files() -> &'static Files {
    static FILES: OnceLock<Files> = OnceLock::new();
    FILES.get_or_init(|| {
        let root = SimulatedDisk::new(0).root();
        let (mut journal, _) = Journal::open(Arc::clone(&root), &options()).expect("a new journal");
        let mut batch = Batch::new();
        for number in 1..=6_u32 {
            for account in 0..number * 3 {
                let id = number * 100 + account;
                batch.push(&Operation::create(id.into(), id.into()), 0);
                let issue = Operation::issue((id + 50).into(), id.into(), 5);
                batch.push_signed(&SignedOperation::unsigned(issue, 1, 0, Promise::Durable, [2; 33]), 5);
            }
            journal.commit(&mut batch, number.into()).expect("no faults were asked for");
        }
        journal.seal(7).expect("no faults were asked for");
        read_all(&*root)
    })
}

/// Reads and re-executes everything. Returns the number of operations, or `None` if reading fails.
fn read(journal: &Journal) -> Option<u64> {
    let log = journal.log();
    let first = log.first_sequence();
    let limits = Limits { accounts: 1024, retries: retries::Limits::with_operations(retries::MIN_CAPACITY) };
    let mut recovery = Recovery::new(limits, Secret::from_seed([1; 16]), 0, first).ok();
    let mut reader = log.reader(first).ok()?;
    let mut operations = 0;
    while let Some(batch) = reader.next().ok()? {
        operations += batch.records.len() as u64;
        if let Some(recovery) = &mut recovery {
            recovery.batch(batch.timestamp, batch.newest);
        }
        let mut signed = batch.signed();
        for Record { operation, value } in batch.records {
            let executed = recovery.as_mut().map(|recovery| recovery.operation(operation, value.get()));
            recovery = recovery.filter(|_| executed.is_some_and(|executed| executed.is_ok()));
        }
        assert!(signed.all(|(position, _)| position < batch.records.len()));
    }
    Some(operations)
}

fn bytes(directory: &dyn Directory) -> u64 {
    read_all(directory).iter().map(|(_, content)| content.len() as u64).sum()
}

fuzz_target!(|damage: &[u8]| {
    let root = damaged(files(), damage);
    let size = bytes(&*root);
    let Ok((mut journal, opened)) = Journal::open(Arc::clone(&root), &options()) else { return };
    let Some(operations) = read(&journal) else { return };
    assert!(operations * Record::LENGTH as u64 <= size);
    assert_eq!(operations, opened.last_sequence + 1 - opened.first_sequence);

    let mut batch = Batch::new();
    batch.push(&Operation::create(1_u32.into(), 1_u32.into()), 0);
    let Ok(last) = journal.commit(&mut batch, 9) else { return };
    assert_eq!(last, opened.last_sequence + 1);
    drop(journal);
    let (journal, again) = Journal::open(root, &options()).expect("what was open can be opened");
    assert_eq!((again.first_sequence, again.last_sequence), (opened.first_sequence, last));
    assert_eq!(read(&journal), Some(operations + 1));
});
