//! The journal on a failing disk: no durable operation is ever lost, and damage never goes unnoticed.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proptest::prelude::*;
use storage::{Faults, Random, RealDirectory, SimulatedDisk};
use turnpike_ledger::journal::{
    BATCH_HEADER_LENGTH, Batch, Behind, Due, Error, Journal, Newest, Opened, Options, PAGE, Record, Submitter,
    group_commit,
};
use wire::{AccountId, Operation, Promise, SignedOperation, Status, TransactionId};

/// Segments of four pages, one of which is the header: a journal turns to a new segment often.
fn options() -> Options {
    Options { segment_bytes: 4 * PAGE, batch_bytes: 3 * PAGE as usize, key: [7; 32] }
}

fn id(number: u64) -> [u8; 16] {
    u128::from(number).to_be_bytes()
}

/// The time that an operation carries. Later operations may carry earlier times.
fn time(sequence: u64) -> u64 {
    1_000 * (1 + sequence * 37 % 101)
}

/// The operation with this sequence; every seventh is signed, every fifth has a timed id. No two are alike.
fn operation(sequence: u64, salt: u64) -> Operation {
    let transaction = match sequence % 5 {
        0 => TransactionId::timed(time(sequence) / 1_000, sequence.into()),
        _ => TransactionId(id(sequence)),
    };
    let operation = Operation::transfer(transaction, AccountId(id(salt)), AccountId(id(sequence + 1)), sequence * 3);
    let mut operation = if sequence.is_multiple_of(5) { operation.timed() } else { operation };
    operation.status.set(Status::InsufficientBalance.code());
    operation
}

fn signed(sequence: u64, salt: u64) -> Option<SignedOperation> {
    let key = [sequence as u8; 33];
    let signed =
        SignedOperation::unsigned(operation(sequence, salt), time(sequence), salt as u32, Promise::Durable, key);
    (sequence % 7 == 3).then_some(signed)
}

/// The newest times that operations up to `last` carry. For signed ones only the signature's time counts.
fn newest(last: u64) -> Newest {
    let most =
        |is_told: fn(u64) -> bool| (1..=last).filter(|&sequence| is_told(sequence)).map(time).max().unwrap_or(0).into();
    Newest { signed: most(|sequence| sequence % 7 == 3), ids: most(|sequence| sequence % 5 == 0 && sequence % 7 != 3) }
}

/// The operations given to a journal: the salt of each, by sequence from 1.
#[derive(Default)]
struct Model {
    salts: Vec<u64>,
    durable: u64,
    /// Operations before this one were pruned.
    first: u64,
}

impl Model {
    fn fill(&mut self, batch: &mut Batch, count: u64, salt: u64) {
        for _ in 0..count {
            let sequence = self.salts.len() as u64 + 1;
            self.salts.push(salt);
            match signed(sequence, salt) {
                Some(signed) => batch.push_signed(&signed, sequence ^ salt),
                None => batch.push(&operation(sequence, salt), sequence ^ salt),
            }
        }
    }

    /// After a restart the journal must hold everything durable and nothing that was never submitted. Operations that
    /// were not durable may be lost; the model then drops them.
    fn check(&mut self, journal: &Journal, opened: &Opened) {
        self.accept(journal, opened);
        self.read(journal, opened.first_sequence);
    }

    fn accept(&mut self, journal: &Journal, opened: &Opened) {
        assert!(opened.first_sequence <= self.first.max(1), "{opened:?} {}", self.first);
        assert!(opened.last_sequence >= self.durable, "durable up to {}, but {opened:?}", self.durable);
        assert!(opened.last_sequence <= self.salts.len() as u64);
        assert_eq!(journal.next_sequence(), opened.last_sequence + 1);
        assert_eq!(journal.newest(), newest(opened.last_sequence));
        self.salts.truncate(opened.last_sequence as usize);
        self.durable = opened.last_sequence;
    }

    /// Reads from a sequence on and compares.
    fn read(&self, journal: &Journal, from: u64) {
        let mut reader = journal.log().reader(from).unwrap();
        let (mut sequence, mut timestamp) = (from, 0);
        assert_eq!((reader.next_sequence(), reader.behind()), (from, self.durable + 1 - from));
        while let Some(batch) = reader.next().unwrap() {
            assert_eq!(batch.first_sequence, sequence);
            // A batch read from its middle carries the newest times before the whole batch.
            if sequence > from {
                assert_eq!(batch.newest, newest(sequence - 1));
            }
            assert!(batch.timestamp >= timestamp);
            timestamp = batch.timestamp;
            let mut tails = batch.signed();
            for (position, &Record { operation: found, value }) in batch.records.iter().enumerate() {
                let salt = self.salts[sequence as usize - 1];
                assert_eq!(found, operation(sequence, salt));
                assert_eq!(value.get(), sequence ^ salt);
                if let Some(signed) = signed(sequence, salt) {
                    assert_eq!(tails.next(), Some((position, signed)));
                }
                sequence += 1;
            }
            assert_eq!(tails.next(), None);
            assert_eq!(batch.last_sequence() + 1, sequence);
        }
        assert_eq!((sequence, reader.next_sequence(), reader.behind()), (self.durable + 1, sequence, 0));
    }
}

fn open(disk: &SimulatedDisk) -> Result<(Journal, Opened), Error> {
    Journal::open(disk.root(), &options())
}

/// Random commits, prunes, seals and reads.
fn work(journal: &mut Journal, model: &mut Model, random: &mut Random, commits: u64) -> Result<(), Error> {
    let mut batch = Batch::new();
    for _ in 0..commits {
        let room = batch.room(options().batch_bytes as u64) as u64;
        let count = if random.chance(0.5) { 1 } else { random.below(room + 1) };
        model.fill(&mut batch, count, random.number());
        model.durable = journal.commit(&mut batch, random.below(1000))?;
        assert_eq!(model.durable, model.salts.len() as u64);
        match random.below(8) {
            0 => journal.seal(random.below(1000))?,
            1 | 2 => journal.log().prepare()?,
            3 => {
                model.first = model.first.max(model.durable.saturating_sub(random.below(40)));
                journal.log().prune(model.first)?;
            }
            _ => {}
        }
    }
    Ok(())
}

#[test]
fn written_and_read_again() {
    let temporary = tempfile::tempdir().unwrap();
    let directory = || Arc::new(RealDirectory::open(temporary.path()).unwrap());
    let mut model = Model::default();
    let (mut journal, opened) = Journal::open(directory(), &options()).unwrap();
    assert_eq!(opened, Opened { first_sequence: 1, last_sequence: 0, torn: None });
    let mut batch = Batch::new();
    for count in [1, 0, 20, 3, 20, 20, 1] {
        model.fill(&mut batch, count, count);
        model.durable = journal.commit(&mut batch, 5).unwrap();
    }
    journal.seal(6).unwrap();
    for from in 1..=model.durable + 1 {
        model.read(&journal, from);
    }
    let error = journal.log().reader(model.durable + 2).unwrap_err();
    assert!(matches!(error, Error::NotThere { sequence: 67, first: 1, next: 66 }), "{error}");
    drop(journal);
    let (journal, opened) = Journal::open(directory(), &options()).unwrap();
    assert_eq!(opened, Opened { first_sequence: 1, last_sequence: 65, torn: None });
    model.read(&journal, 1);
}

/// A journal that starts after operations which it does not hold: their number and times count as if it held them.
#[test]
fn a_journal_begins_behind_others() {
    let before = Newest { signed: 7_000_000.into(), ids: 5.into() };
    for sequence in [1, 1 << 40, u64::MAX - (1 << 33)] {
        let disk = SimulatedDisk::new(11);
        let behind = Behind { sequence, newest: before, time: 9 };
        let mut journal = Journal::begin(disk.root(), &options(), &behind).unwrap();
        assert_eq!((journal.next_sequence(), journal.newest(), journal.log().timestamp()), (sequence + 1, before, 9));
        let mut batch = Batch::new();
        batch.push(&operation(5, 0), 1);
        assert_eq!(journal.commit(&mut batch, 10).unwrap(), sequence + 1);
        let error = Journal::begin(disk.root(), &options(), &behind).unwrap_err();
        assert!(matches!(error, Error::Exists { .. }), "{error}");
        drop(journal);
        disk.crash();
        let (journal, opened) = open(&disk).unwrap();
        let expected = Opened { first_sequence: sequence + 1, last_sequence: sequence + 1, torn: None };
        assert_eq!((opened, journal.next_sequence()), (expected, sequence + 2));
        assert_eq!(journal.newest(), Newest { ids: time(5).into(), ..before });
        let mut reader = journal.log().reader(sequence + 1).unwrap();
        let batch = reader.next().unwrap().unwrap();
        assert_eq!((batch.first_sequence, batch.newest, batch.records.len()), (sequence + 1, before, 1));
        let error = journal.log().reader(sequence).unwrap_err();
        assert!(matches!(error, Error::NotThere { .. }), "{error}");
    }
}

/// Exactly `room` more signed operations fit.
#[test]
fn a_batch_has_the_room_that_it_tells() {
    for before in [0, 1, 2, 3, 10, 25] {
        for bytes in [0, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE - 1, 3 * PAGE, 10 * PAGE] {
            let mut batch = Batch::new();
            // Plain and signed ones alternate.
            for sequence in 0..before {
                match sequence % 2 {
                    0 => batch.push(&operation(sequence, 1), 0),
                    _ => batch.push_signed(&signed(3, 1).unwrap(), 0),
                }
            }
            assert_eq!((batch.len() as u64, batch.is_empty()), (before, before == 0));
            let (mut room, whole) = (0, bytes / PAGE * PAGE);
            let told = batch.room(bytes);
            while room <= told {
                batch.push_signed(&signed(3, 1).unwrap(), 0);
                if batch.bytes() > whole {
                    break;
                }
                room += 1;
            }
            assert_eq!(room, told, "{before} before, {bytes} bytes");
        }
    }
}

#[test]
fn a_crash_at_any_change_loses_nothing_durable() {
    let mut tails = 0;
    for seed in 0..6 {
        for crash_at in 0.. {
            let disk = SimulatedDisk::new(seed * 10_000 + crash_at);
            let mut random = Random::new(seed);
            let mut model = Model::default();
            disk.crash_at(crash_at);
            let result = open(&disk).and_then(|(mut journal, _)| work(&mut journal, &mut model, &mut random, 25));
            // The second run crashes as well, during recovery or work.
            for _ in 0..2 {
                disk.crash();
                disk.crash_at(disk.changes() + random.below(30));
                if let Ok((mut journal, opened)) = open(&disk) {
                    tails += u64::from(opened.torn.is_some());
                    // Only accept here: by the time the model reads, the process may be dead already.
                    model.accept(&journal, &opened);
                    let _ = work(&mut journal, &mut model, &mut random, 10);
                }
            }
            disk.crash();
            let (mut journal, opened) = open(&disk).unwrap();
            model.check(&journal, &opened);
            work(&mut journal, &mut model, &mut random, 5).unwrap();
            model.read(&journal, model.first.max(journal.log().first_sequence()));
            if result.is_ok() {
                break;
            }
        }
    }
    assert!(tails > 0, "no torn batch was ever seen");
}

#[test]
fn a_failed_sync_is_never_believed() {
    for seed in 0..200 {
        let disk = SimulatedDisk::new(seed);
        let mut random = Random::new(seed);
        let mut model = Model::default();
        let (mut journal, _) = open(&disk).unwrap();
        work(&mut journal, &mut model, &mut random, 6).unwrap();
        disk.set_faults(Faults { sync: 0.3, write: 0.1, ..Faults::default() });
        let error = work(&mut journal, &mut model, &mut random, 1000).unwrap_err();
        assert!(matches!(error, Error::Storage(_)), "{error}");
        disk.set_faults(Faults::default());
        // A failed preparation does no harm; a failed batch is final.
        if journal.failure().is_some() {
            let mut batch = Batch::new();
            assert!(matches!(journal.commit(&mut batch, 0), Err(Error::Failed(_))));
        }
        // The process restarts and reads from the page cache what the disk does not have. Then the power fails.
        disk.kill();
        let (journal, opened) = open(&disk).unwrap();
        model.check(&journal, &opened);
        disk.crash();
        let (journal, opened) = open(&disk).unwrap();
        model.check(&journal, &opened);
    }
}

/// The names of the segments.
fn segments(disk: &SimulatedDisk) -> Vec<String> {
    disk.root().list().unwrap().into_iter().filter(|name| name.starts_with("journal-")).collect()
}

/// Every byte that a journal of a few segments wrote: path, offset of its batch, offset of the byte.
fn written(disk: &SimulatedDisk) -> Vec<(PathBuf, u64, u64)> {
    let root = disk.root();
    let mut bytes = Vec::new();
    for name in segments(disk) {
        let content = root.read(&name).unwrap();
        let path = root.path().join(&name);
        bytes.extend((0..128).map(|byte| (path.clone(), 0, byte)));
        let mut offset = PAGE;
        while offset < content.len() as u64 && content[offset as usize..][..4] == *b"TPJB" {
            let field =
                |at: usize| u64::from(u32::from_be_bytes(content[offset as usize + at..][..4].try_into().unwrap()));
            let length = BATCH_HEADER_LENGTH as u64 + field(4) * 72 + field(8) * 124;
            bytes.extend((0..length).map(|byte| (path.clone(), offset, offset + byte)));
            offset += length.next_multiple_of(PAGE);
        }
    }
    bytes
}

#[test]
fn a_flipped_bit_anywhere_is_found() {
    // Two segments, and one.
    for counts in [&[1, 18, 3, 2][..], &[4, 5]] {
        let disk = SimulatedDisk::new(1);
        let mut model = Model::default();
        let (mut journal, _) = open(&disk).unwrap();
        let mut batch = Batch::new();
        for &count in counts {
            model.fill(&mut batch, count, count);
            model.durable = journal.commit(&mut batch, 5).unwrap();
        }
        journal.seal(6).unwrap();
        let bytes = written(&disk);
        let seal = bytes.iter().rev().find(|(_, offset, _)| *offset > 0).unwrap().clone();
        assert!(bytes.len() as u64 > 128 + counts.iter().sum::<u64>() * 72);
        for (index, (path, batch, byte)) in bytes.into_iter().enumerate() {
            let mask = 1 << (index % 8);
            disk.damage(&path, byte, mask).unwrap();
            disk.kill();
            match open(&disk) {
                Ok((journal, opened)) => {
                    // A damaged seal is truncated, and no operation is lost.
                    assert_eq!((&path, batch), (&seal.0, seal.1), "byte {byte}");
                    assert!(opened.torn.as_ref().is_some_and(|torn| torn.was_durable), "byte {byte}: {opened:?}");
                    model.check(&journal, &opened);
                }
                Err(Error::Damaged { path: found, offset, .. }) => {
                    assert_eq!((&found, offset), (&path, batch), "byte {byte}")
                }
                Err(error) => panic!("byte {byte}: {error}"),
            }
            disk.damage(&path, byte, mask).unwrap();
            disk.kill();
            // The batch is intact again, and marked as durable.
            let (journal, opened) = open(&disk).unwrap();
            model.check(&journal, &opened);
        }
    }
}

/// The last batch before a kill, with no batch and no seal after it: damage to any byte of it is detected.
#[test]
fn damage_to_the_last_batch_is_no_torn_tail() {
    for counts in [&[1][..], &[1, 18, 3, 2], &[4, 40]] {
        let disk = SimulatedDisk::new(1);
        let (mut journal, mut model, mut batch) = (open(&disk).unwrap().0, Model::default(), Batch::new());
        for &count in counts {
            model.fill(&mut batch, count, count);
            model.durable = journal.commit(&mut batch, 5).unwrap();
        }
        let bytes = written(&disk);
        let last = bytes.iter().rfind(|(_, offset, _)| *offset > 0).unwrap().clone();
        for (index, (path, batch, byte)) in
            bytes.into_iter().filter(|(path, batch, _)| (path, *batch) == (&last.0, last.1)).enumerate()
        {
            let mask = 1 << (index % 8);
            disk.damage(&path, byte, mask).unwrap();
            disk.kill();
            let error = open(&disk).unwrap_err();
            let is_named =
                matches!(&error, Error::Damaged { path: found, offset, .. } if (found, *offset) == (&path, batch));
            assert!(is_named, "byte {byte}: {error}");
            disk.damage(&path, byte, mask).unwrap();
        }
        let (journal, opened) = open(&disk).unwrap();
        model.check(&journal, &opened);
        drop(journal);
        // An operator accepts the loss by deleting the mark: the batch is then truncated, as without marks.
        disk.damage(&last.0, last.1 + 100, 1).unwrap();
        assert!(matches!(open(&disk), Err(Error::Damaged { .. })));
        disk.root().remove("durable").unwrap();
        let (_, opened) = open(&disk).unwrap();
        let torn = opened.torn.unwrap();
        assert!(torn.path == last.0 && torn.offset == last.1 && !torn.was_durable, "{torn:?}");
        assert_eq!(opened.last_sequence, counts[..counts.len() - 1].iter().sum::<u64>());
    }
}

/// A mark that is damaged, missing or of another journal changes nothing; without segments a mark shows that they were
/// deleted.
#[test]
fn a_mark_is_made_anew() {
    let disk = SimulatedDisk::new(1);
    let (mut journal, mut model, mut batch) = (open(&disk).unwrap().0, Model::default(), Batch::new());
    model.fill(&mut batch, 3, 3);
    model.durable = journal.commit(&mut batch, 5).unwrap();
    drop(journal);
    let (root, mark) = (disk.root(), disk.root().path().join("durable"));
    let whole = root.read("durable").unwrap();
    assert_eq!(whole.len(), 64);
    for byte in 0..whole.len() as u64 {
        disk.damage(&mark, byte, 1 << (byte % 8)).unwrap();
        let (journal, opened) = open(&disk).unwrap();
        model.check(&journal, &opened);
        assert_eq!(root.read("durable").unwrap(), whole, "byte {byte}");
    }
    let other = Options { key: [8; 32], ..options() };
    let (mut other, _) = Journal::open(root.directory("other").unwrap(), &other).unwrap();
    for count in 1..9 {
        Model::default().fill(&mut batch, count, 3);
        other.commit(&mut batch, 5).unwrap();
    }
    root.replace("durable", &root.directory("other").unwrap().read("durable").unwrap()).unwrap();
    let (journal, opened) = open(&disk).unwrap();
    model.check(&journal, &opened);
    drop(journal);
    assert_eq!(root.read("durable").unwrap(), whole);
    for name in segments(&disk) {
        root.remove(&name).unwrap();
    }
    let error = open(&disk).unwrap_err();
    assert!(matches!(error, Error::Missing { .. }), "{error}");
}

/// A disk with a journal of batches with these numbers of operations, a page each, and the bytes of its first segment.
fn journal_of(counts: &[u64], salt: u64) -> (SimulatedDisk, String, Vec<u8>) {
    let disk = SimulatedDisk::new(17);
    let (mut journal, _) = open(&disk).unwrap();
    let (mut model, mut batch) = (Model::default(), Batch::new());
    for &count in counts {
        model.fill(&mut batch, count, salt);
        journal.commit(&mut batch, 5).unwrap();
    }
    let name = segments(&disk).remove(0);
    let bytes = disk.root().read(&name).unwrap();
    (disk, name, bytes)
}

/// An intact batch that is not the next one is not part of the journal: one of another history with the same key, with
/// the same or other operations before it, or from another place.
#[test]
fn a_batch_of_another_history_is_found() {
    let page = |number: usize| number * PAGE as usize..(number + 1) * PAGE as usize;
    let (_, _, same) = journal_of(&[2, 3], 8);
    let (_, _, other) = journal_of(&[4, 3], 8);
    for (from, source, to) in [(2, &same, 2), (2, &other, 2), (2, &same, 1), (1, &same, 2)] {
        let (disk, name, mut bytes) = journal_of(&[2, 3, 1], 1);
        bytes[page(to)].copy_from_slice(&source[page(from)]);
        disk.root().replace(&name, &bytes).unwrap();
        let error = open(&disk).unwrap_err();
        let is_there = matches!(&error, Error::Damaged { offset, .. } if *offset == to as u64 * PAGE);
        assert!(is_there, "page {from} at {to}: {error}");
    }
    // The second batch in place of the first, in a journal with nothing else.
    let (disk, name, mut bytes) = journal_of(&[2], 1);
    bytes[page(1)].copy_from_slice(&journal_of(&[2, 3], 1).2[page(2)]);
    disk.root().replace(&name, &bytes).unwrap();
    let error = open(&disk).unwrap_err();
    assert!(matches!(error, Error::Damaged { offset: PAGE, .. }), "{error}");
}

/// A segment has exactly its length, even if that is not a multiple of the megabyte that is written at once.
#[test]
fn a_segment_is_as_long_as_it_was_made() {
    let disk = SimulatedDisk::new(19);
    let segment_bytes = (3 << 20) + 5 * PAGE;
    let (journal, _) = Journal::open(disk.root(), &Options { segment_bytes, ..options() }).unwrap();
    journal.log().prepare().unwrap();
    for name in segments(&disk) {
        assert_eq!(disk.root().read(&name).unwrap().len() as u64, segment_bytes, "{name}");
    }
}

/// After older segments are pruned, the chain begins with the first batch that is left.
#[test]
fn a_broken_first_batch_is_found() {
    let disk = SimulatedDisk::new(18);
    let (mut journal, mut model) = (open(&disk).unwrap().0, Model::default());
    pages(&mut journal, &mut model, 4);
    journal.log().prune(4).unwrap();
    let name = segments(&disk).remove(0);
    drop(journal);
    disk.damage(disk.root().path().join(name), PAGE + 150, 1).unwrap();
    let error = open(&disk).unwrap_err();
    assert!(error.to_string().contains("its first batch is broken"), "{error}");
}

/// Truncation is detected whatever it removes: durable batches, batches whose loss the digest chain would not reveal,
/// or unused space.
#[test]
fn a_segment_cut_anywhere_is_found() {
    let disk = SimulatedDisk::new(1);
    let mut model = Model::default();
    let (mut journal, _) = open(&disk).unwrap();
    let mut batch = Batch::new();
    for count in [1, 18, 3, 2] {
        model.fill(&mut batch, count, count);
        model.durable = journal.commit(&mut batch, 5).unwrap();
    }
    journal.log().prepare().unwrap();
    let names = segments(&disk);
    assert!(names.len() > 2);
    for name in names {
        let whole = disk.root().read(&name).unwrap();
        for length in [0, 1, 127, 128, PAGE, PAGE + 500, 2 * PAGE, 4 * PAGE - 1] {
            disk.root().replace(&name, &whole[..length as usize]).unwrap();
            disk.kill();
            let error = open(&disk).unwrap_err();
            let expected = if length < 128 { 0 } else { length };
            assert!(
                matches!(&error, Error::Damaged { path, offset, .. } if path.ends_with(&name) && *offset == expected),
                "{name} cut to {length}: {error}"
            );
        }
        disk.root().replace(&name, &whole).unwrap();
    }
    // Bytes beyond a segment's length are ignored.
    let root = disk.root();
    let name = root.list().unwrap().pop().unwrap();
    let longer = [root.read(&name).unwrap(), vec![0x54; 3 * PAGE as usize]].concat();
    root.replace(&name, &longer).unwrap();
    disk.kill();
    let (mut journal, opened) = open(&disk).unwrap();
    model.check(&journal, &opened);
    work(&mut journal, &mut model, &mut Random::new(3), 20).unwrap();
}

#[test]
fn a_journal_of_another_version_is_refused() {
    let disk = SimulatedDisk::new(1);
    drop(open(&disk).unwrap());
    let root = disk.root();
    let name = &segments(&disk)[0];
    let mut first = root.read(name).unwrap();
    // The header of version 1, without a length.
    first[7] = 1;
    first[48..56].fill(0);
    let digest = blake3::keyed_hash(&[7; 32], &first[..96]);
    first[96..128].copy_from_slice(digest.as_bytes());
    root.replace(name, &first).unwrap();
    disk.kill();
    let error = open(&disk).unwrap_err();
    assert!(matches!(error, Error::OtherVersion { found: 1, expected: 2, .. }), "{error}");
}

#[test]
fn a_reader_finds_damage() {
    let disk = SimulatedDisk::new(2);
    let mut model = Model::default();
    let (mut journal, _) = open(&disk).unwrap();
    let mut batch = Batch::new();
    model.fill(&mut batch, 10, 1);
    journal.commit(&mut batch, 1).unwrap();
    disk.damage("/journal-0000000000000001", PAGE + 300, 4).unwrap();
    let error = journal.log().reader(1).unwrap().next().unwrap_err();
    assert!(matches!(error, Error::Damaged { offset: PAGE, .. }), "{error}");
}

#[test]
fn what_is_not_a_journal_is_refused() {
    let small = Options { batch_bytes: 4 * PAGE as usize, ..options() };
    assert!(matches!(Journal::open(SimulatedDisk::new(1).root(), &small), Err(Error::Options { .. })));

    let disk = SimulatedDisk::new(1);
    let (mut journal, _) = open(&disk).unwrap();
    work(&mut journal, &mut Model { first: 0, ..Model::default() }, &mut Random::new(5), 1).unwrap();
    let mut batch = Batch::new();
    for _ in 0..8 {
        Model::default().fill(&mut batch, 15, 0);
        journal.commit(&mut batch, 1).unwrap();
    }
    let root = disk.root();
    let names = segments(&disk);
    assert!(names.len() > 3);
    root.rename(&names[1], "elsewhere").unwrap();
    let error = open(&disk).unwrap_err();
    assert!(matches!(&error, Error::Missing { path } if path.ends_with(&names[1])), "{error}");

    // A segment of another journal in its place.
    let (other, _) = Journal::open(root.directory("other").unwrap(), &Options { key: [8; 32], ..options() }).unwrap();
    other.log().prepare().unwrap();
    let foreign = root.directory("other").unwrap().read(&names[1]).unwrap();
    root.replace(&names[1], &foreign).unwrap();
    let error = open(&disk).unwrap_err();
    assert!(matches!(&error, Error::Damaged { path, offset: 0, .. } if path.ends_with(&names[1])), "{error}");
}

#[test]
fn a_full_disk_is_found_while_there_is_room() {
    let disk = SimulatedDisk::new(3);
    // Space for two segments.
    disk.set_faults(Faults { capacity: 9 * PAGE, ..Faults::default() });
    let (mut journal, _) = open(&disk).unwrap();
    journal.log().prepare().unwrap();
    let mut model = Model::default();
    let mut batch = Batch::new();
    let mut told = false;
    loop {
        if journal.log().needs_preparation() {
            let error = journal.log().prepare().unwrap_err();
            assert!(error.is_full(), "{error}");
            told = true;
        }
        if journal.space() == 0 {
            break;
        }
        model.fill(&mut batch, 1, 1);
        model.durable = journal.commit(&mut batch, 1).unwrap();
    }
    assert!(told && journal.failure().is_none());
    assert_eq!(model.durable, 6, "both segments are full");
    // A journal that failed for lack of space reports that each time.
    model.fill(&mut batch, 1, 1);
    let error = journal.commit(&mut batch, 1).unwrap_err();
    assert!(error.is_full() && journal.commit(&mut batch, 1).unwrap_err().is_full(), "{error}");
    assert!(!open(&SimulatedDisk::new(21)).unwrap().0.log().reader(2).unwrap_err().is_full());
    drop(journal);
    model.salts.pop();
    batch.clear();
    let (mut journal, _) = open(&disk).unwrap();
    // Once space is free, the journal continues.
    disk.set_faults(Faults::default());
    journal.log().prepare().unwrap();
    work(&mut journal, &mut model, &mut Random::new(1), 10).unwrap();
    disk.crash();
    let (journal, opened) = open(&disk).unwrap();
    model.check(&journal, &opened);
}

#[test]
fn segments_are_used_again() {
    let disk = SimulatedDisk::new(4);
    let (mut journal, _) = open(&disk).unwrap();
    let mut model = Model::default();
    let mut batch = Batch::new();
    for _ in 0..100 {
        model.fill(&mut batch, 10, 1);
        model.durable = journal.commit(&mut batch, 1).unwrap();
        model.first = model.durable;
        journal.log().prune(model.first).unwrap();
        journal.log().prepare().unwrap();
        assert!(disk.root().list().unwrap().len() <= 6);
    }
    let error = journal.log().reader(1).unwrap_err();
    assert!(matches!(error, Error::NotThere { sequence: 1, .. }), "{error}");
    disk.crash();
    let (journal, opened) = open(&disk).unwrap();
    model.check(&journal, &opened);
}

fn room_and_refusal(submitter: &Submitter) -> (Result<usize, Status>, Status) {
    let submission = submitter.begin();
    (submission.room(), submission.refusal())
}

/// Batches of a page each, three per segment, one every 100 microseconds.
fn pages(journal: &mut Journal, model: &mut Model, count: u64) {
    let mut batch = Batch::new();
    for _ in 0..count {
        model.fill(&mut batch, 1, 1);
        model.durable = journal.commit(&mut batch, 100 * model.salts.len() as u64).unwrap();
        journal.log().prepare().unwrap();
    }
}

#[test]
fn a_log_tells_where_a_time_begins() {
    let disk = SimulatedDisk::new(14);
    let (mut journal, mut model) = (open(&disk).unwrap().0, Model::default());
    let log = journal.log().clone();
    assert_eq!((log.first_sequence(), log.since(5, 1), log.timestamp()), (1, 1, 0));
    pages(&mut journal, &mut model, 30);
    assert_eq!((log.segments(), log.first_sequence(), log.timestamp()), (10, 1, 2_800));
    // Each segment has one place: its start.
    for (timestamp, sequence, expected) in [
        (0, 31, 1),
        (400, 31, 1),
        (401, 31, 4),
        (2_900, 31, 28),
        (2_900, 30, 28),
        (2_900, 27, 25),
        (2_900, 4, 4),
        (450, 3, 1),
    ] {
        assert_eq!(log.since(timestamp, sequence), expected, "{timestamp} {sequence}");
    }
    let spares = || disk.root().list().unwrap().iter().filter(|name| name.starts_with("spare-")).count();
    log.prune(3).unwrap();
    assert_eq!((log.segments(), log.first_sequence(), spares()), (10, 1, 0));
    log.prune(4).unwrap();
    assert_eq!((log.segments(), log.first_sequence(), log.since(0, 31), spares()), (9, 4, 4, 1));
    log.prune(u64::MAX).unwrap();
    assert_eq!((log.segments(), log.first_sequence(), log.since(0, 31), spares()), (1, 28, 28, 6));
    drop(journal);
    // A restart keeps the spares and the prepared segment.
    let (mut journal, _) = open(&disk).unwrap();
    assert!(spares() == 6 && !journal.log().needs_preparation());
    pages(&mut journal, &mut model, 1);
    assert_eq!(spares(), 5);
    drop(journal);
    // Files of another length are useless to a journal with longer segments.
    let longer = Options { segment_bytes: 8 * PAGE, ..options() };
    let (mut journal, _) = Journal::open(disk.root(), &longer).unwrap();
    assert!(spares() == 0 && journal.log().needs_preparation());
    pages(&mut journal, &mut model, 15);
    journal.log().prune(u64::MAX).unwrap();
    assert_eq!((journal.log().segments(), spares()), (1, 1), "the longer one");
    model.first = journal.log().first_sequence();
    model.read(&journal, model.first);
}

/// A segment without durable batches does not replace the one before it, on which the digest chain continues.
#[test]
fn the_last_segment_with_a_batch_stays() {
    let disk = SimulatedDisk::new(15);
    let (mut journal, mut model) = (open(&disk).unwrap().0, Model::default());
    pages(&mut journal, &mut model, 3);
    disk.set_faults(Faults { sync: 1.0, ..Faults::default() });
    let mut batch = Batch::new();
    model.fill(&mut batch, 1, 1);
    assert!(journal.failure().is_none());
    let error = journal.commit(&mut batch, 400).unwrap_err();
    assert_eq!(journal.failure().unwrap().to_string(), error.to_string());
    disk.set_faults(Faults::default());
    let log = journal.log();
    log.prune(u64::MAX).unwrap();
    assert_eq!((log.segments(), log.first_sequence()), (2, 1));
    drop(journal);
    disk.crash();
    let (journal, opened) = open(&disk).unwrap();
    model.check(&journal, &opened);
}

/// A thread that waits while everything is sealed takes over the sealing of what another thread commits.
#[test]
fn a_commit_is_sealed_by_who_waits() {
    let journal = open(&SimulatedDisk::new(16)).unwrap().0;
    let log = journal.log().clone();
    let (submitter, mut committer, _preparer) = group_commit(journal);
    // A new journal has nothing to seal.
    let (started, work) = (SystemTime::now(), committer.work());
    let (sender, due) = mpsc::channel();
    // If nobody wakes it, `wait` hangs in this thread.
    std::thread::spawn(move || sender.send(work.wait()));
    std::thread::sleep(Duration::from_millis(100));
    submitter.begin().push(&operation(1, 1), 1);
    assert_eq!(committer.commit().unwrap(), 1);
    assert_eq!(due.recv_timeout(Duration::from_secs(10)).unwrap(), Some(Due::Seal));
    // Batches carry the system time.
    let [started, now] =
        [started, SystemTime::now()].map(|time| time.duration_since(UNIX_EPOCH).unwrap().as_micros() as u64);
    let mut reader = log.reader(1).unwrap();
    assert!((started..=now).contains(&reader.next().unwrap().unwrap().timestamp));
}

/// Group commit without threads: each side sees what the others did.
#[test]
fn group_commit_step_by_step() {
    let disk = SimulatedDisk::new(12);
    let (mut journal, _) = open(&disk).unwrap();
    let mut batch = Batch::new();
    Model::default().fill(&mut batch, 2, 1);
    journal.commit(&mut batch, 5).unwrap();
    let log = journal.log().clone();
    let (submitter, committer, preparer) = group_commit(journal);
    let mut committer = committer.with_clock(|| 77);
    let work = committer.work();
    let room_of = |pages: u64| Ok(Batch::new().room(pages * PAGE));
    assert!(!work.is_due() && submitter.failure().is_none());

    // Two of the segment's three pages are left.
    let mut submission = submitter.begin();
    assert_eq!((submission.last_sequence(), submission.room(), submission.refusal()), (2, room_of(2), Status::Busy));
    submission.push_signed(&signed(3, 1).unwrap(), 3);
    submission.push(&operation(4, 1), 4);
    assert_eq!(submission.last_sequence(), 4);
    drop(submission);
    assert!(work.is_due());
    assert_eq!((work.wait(), submitter.durable()), (Some(Due::Commit), 2));
    assert_eq!((committer.commit().unwrap(), submitter.durable()), (4, 4));
    assert_eq!(log.reader(3).unwrap().next().unwrap().unwrap().timestamp, 77);
    assert!(!work.is_due());
    assert_eq!(submitter.begin().room(), room_of(1));

    // A wakeup causes a commit, even without operations.
    submitter.wake();
    assert!(work.is_due());
    assert_eq!((work.wait(), committer.commit().unwrap()), (Some(Due::Commit), 4));
    assert!(!work.is_due());

    // An idle committer seals; then nothing fits until there is another segment.
    assert_eq!(work.wait(), Some(Due::Seal));
    committer.seal().unwrap();
    assert_eq!(room_and_refusal(&submitter), (Ok(0), Status::Busy));
    disk.set_faults(Faults { capacity: disk.used(), ..Faults::default() });
    preparer.prepare().unwrap_err();
    assert!(submitter.failure().unwrap().is_full());
    let refused = (Err(Status::StorageFailed), Status::StorageFailed);
    assert_eq!(room_and_refusal(&submitter), refused);
    disk.set_faults(Faults::default());
    preparer.prepare().unwrap();
    assert!(submitter.failure().is_none());
    assert_eq!(room_and_refusal(&submitter), (room_of(3), Status::Busy));

    // On a full disk operations are accepted while they fit.
    submitter.begin().push(&operation(5, 1), 5);
    assert_eq!(committer.commit().unwrap(), 5);
    disk.set_faults(Faults { capacity: disk.used(), ..Faults::default() });
    preparer.prepare().unwrap_err();
    assert_eq!(room_and_refusal(&submitter), (room_of(2), Status::StorageFailed));

    // Stopping seals first.
    submitter.stop();
    assert!(work.is_due());
    assert_eq!(work.wait(), Some(Due::Seal));
    committer.seal().unwrap();
    assert_eq!(work.wait(), None);
    assert!(committer.commit_next().is_none());
}

/// A batch that does not fit in the rest of the segment goes to the next one, whose rest then counts as room.
#[test]
fn group_commit_turns_to_the_next_segment() {
    let disk = SimulatedDisk::new(20);
    let (mut journal, mut model) = (open(&disk).unwrap().0, Model::default());
    pages(&mut journal, &mut model, 1);
    let (submitter, mut committer, preparer) = group_commit(journal);
    for (pages, left) in [(3, 0), (2, 1)] {
        preparer.prepare().unwrap();
        let mut submission = submitter.begin();
        // As many as fit in this number of pages.
        let count = Batch::new().room(pages * PAGE);
        for sequence in model.salts.len() as u64 + 1..=(model.salts.len() + count) as u64 {
            model.salts.push(1);
            submission
                .push_signed(&SignedOperation::unsigned(operation(sequence, 1), 0, 0, Promise::Durable, [0; 33]), 0);
        }
        drop(submission);
        model.durable = committer.commit().unwrap();
        assert_eq!(room_and_refusal(&submitter), (Ok(Batch::new().room(left * PAGE)), Status::Busy));
    }
}

/// A failure is permanent and keeps its reason.
#[test]
fn group_commit_fails_for_good() {
    let disk = SimulatedDisk::new(13);
    let (submitter, mut committer, _preparer) = group_commit(open(&disk).unwrap().0);
    submitter.begin().push(&operation(1, 1), 1);
    committer.commit_next().unwrap().unwrap();
    disk.set_faults(Faults { sync: 1.0, ..Faults::default() });
    submitter.begin().push(&operation(2, 1), 2);
    committer.commit_next().unwrap().unwrap_err();
    disk.set_faults(Faults::default());
    assert!(!submitter.failure().unwrap().is_full());
    let cause = submitter.failure().unwrap().to_string();
    let refused = (Err(Status::StorageFailed), Status::StorageFailed);
    assert_eq!((room_and_refusal(&submitter), submitter.durable()), (refused, 1));
    submitter.wake();
    committer.commit_next().unwrap().unwrap_err();
    assert_eq!(submitter.failure().unwrap().to_string(), cause, "the first failure is the cause");
    // Nothing more is written, not even a seal.
    let changes = disk.changes();
    committer.seal().unwrap();
    assert_eq!(disk.changes(), changes);
    submitter.stop();
    assert!(committer.commit_next().is_none());
}

#[test]
fn three_threads() {
    let temporary = tempfile::tempdir().unwrap();
    let options = Options { segment_bytes: 64 * PAGE, batch_bytes: 16 * PAGE as usize, key: [7; 32] };
    let directory = Arc::new(RealDirectory::open(temporary.path()).unwrap());
    let (journal, _) = Journal::open(directory.clone(), &options).unwrap();
    let log = journal.log().clone();
    let (submitter, mut committer, preparer) = group_commit(journal);
    let mut model = Model::default();
    std::thread::scope(|scope| {
        scope.spawn(|| preparer.run());
        scope.spawn(move || {
            let mut last = 0;
            while let Some(durable) = committer.commit_next() {
                let durable = durable.unwrap();
                assert!(durable >= last);
                last = durable;
            }
        });
        let mut reader = log.reader(1).unwrap();
        let mut batch = Batch::new();
        while model.salts.len() < 30_000 {
            let mut submission = submitter.begin();
            for _ in 0..submission.room().unwrap().min(100) {
                let sequence = model.salts.len() as u64 + 1;
                model.fill(&mut batch, 1, 9);
                match signed(sequence, 9) {
                    Some(signed) => submission.push_signed(&signed, sequence ^ 9),
                    None => submission.push(&operation(sequence, 9), sequence ^ 9),
                }
            }
            drop(submission);
            submitter.wake();
            batch.clear();
            while reader.next().unwrap().is_some() {}
            log.prune(reader.next_sequence().saturating_sub(5000)).unwrap();
        }
        submitter.stop();
    });
    assert_eq!(submitter.durable(), model.salts.len() as u64);
    let (journal, opened) = Journal::open(directory, &options).unwrap();
    assert!(journal.is_sealed() && opened.torn.is_none());
    (model.durable, model.first) = (submitter.durable(), opened.first_sequence);
    model.check(&journal, &opened);
}

#[test]
fn a_full_disk_refuses_before_anything_is_executed() {
    let disk = SimulatedDisk::new(6);
    let (journal, _) = open(&disk).unwrap();
    disk.set_faults(Faults { capacity: 4 * PAGE, ..Faults::default() });
    let (submitter, mut committer, preparer) = group_commit(journal);
    std::thread::scope(|scope| {
        scope.spawn(|| preparer.run());
        scope.spawn(move || while committer.commit_next().is_some_and(|durable| durable.is_ok()) {});
        let mut sequence = 0;
        loop {
            let mut submission = submitter.begin();
            match submission.room() {
                Ok(0) => {}
                Ok(_) => {
                    sequence += 1;
                    submission.push(&operation(sequence, 1), sequence);
                }
                Err(status) => {
                    assert_eq!(status, Status::StorageFailed);
                    break;
                }
            }
            drop(submission);
            submitter.wake();
            std::thread::yield_now();
        }
        assert!(submitter.failure().unwrap().is_full());
        disk.set_faults(Faults::default());
        while submitter.begin().room().is_err() {
            std::thread::yield_now();
        }
        submitter.stop();
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn damage_of_any_kind_is_an_error_or_harmless(seed: u64, spots in 1..6u64, length in 1..200u64, is_header: bool) {
        let mut random = Random::new(seed);
        let disk = SimulatedDisk::new(random.number());
        let mut model = Model::default();
        let (mut journal, _) = open(&disk).unwrap();
        work(&mut journal, &mut model, &mut random, 12).unwrap();
        let files = disk.files();
        for _ in 0..spots {
            let path = &files[random.below(files.len() as u64) as usize];
            let page = random.below(4) * PAGE;
            let start = if is_header { page } else { random.below(4 * PAGE - length) };
            for offset in start..start + length {
                disk.damage(path, offset, random.number() as u8).unwrap();
            }
        }
        // A concurrent reader gets an error or correct data.
        let mut sequence = journal.log().first_sequence();
        let mut reader = journal.log().reader(sequence).unwrap();
        while let Ok(Some(batch)) = reader.next() {
            for record in batch.records {
                prop_assert_eq!(record.operation, operation(sequence, model.salts[sequence as usize - 1]));
                sequence += 1;
            }
        }
        disk.kill();
        match open(&disk) {
            // Unsealed operations may have been taken for a torn batch.
            Ok((journal, opened)) => {
                model.durable = opened.last_sequence;
                model.check(&journal, &opened);
            }
            Err(Error::Damaged { .. } | Error::OtherVersion { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn faults_and_crashes(seed: u64, lives in 1..6u64, sync in 0.0..0.05, write in 0.0..0.05, capacity in 12..60u64) {
        let mut random = Random::new(seed);
        let disk = SimulatedDisk::new(random.number());
        let mut model = Model::default();
        for _ in 0..lives {
            disk.set_faults(Faults { sync, write, read: 0.0, capacity: capacity * PAGE });
            if random.chance(0.5) {
                disk.crash_at(disk.changes() + random.below(200));
            }
            if let Ok((mut journal, opened)) = open(&disk) {
                model.check(&journal, &opened);
                let commits = random.below(40);
                let _ = work(&mut journal, &mut model, &mut random, commits);
            }
            if random.chance(0.5) { disk.kill() } else { disk.crash() }
        }
        disk.set_faults(Faults::default());
        let (journal, opened) = open(&disk).unwrap();
        model.check(&journal, &opened);
    }
}
