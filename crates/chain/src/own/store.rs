//! The blocks of our own chain in flat files.
use super::catalog::{Catalog, Commit};
use super::damage::DamageLog;
use super::error::{Damage, DamagedBlock, Error};
use super::partition_point::partition_point;
use super::record::{Checksum, RECORD_SIZE, Record, RecordParts, Section, Tail, checksum};
use super::retained::Retained;
use super::root_schedule::RootSchedule;
use crate::flat::{FlatFile, SEGMENT};
use crate::ids;
use crate::links::Links;
use crate::merkle::{SignedTail, Tree, group, leaves, path, path_from_leaves};
use spv::{Hash, Locator, SealedHeader, ZERO_HASH, verify_path};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use storage::{Directory, Mode};
use wire::{AccountId, Operation, TransactionId};
use zerocopy::byteorder::little_endian::U32;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

/// Source of paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Levels {
    /// Stored nodes.
    #[default]
    Stored,
    /// The whole block, hashed for each path: the baseline that stored nodes are compared with.
    Rebuilt,
}

/// Storage options of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Segment size of the flat files in bytes, a multiple of a page; fixed for an existing chain.
    pub segment_size: u64,
    /// Source of paths.
    pub levels: Levels,
    /// Which blocks state the index root.
    pub roots: RootSchedule,
}

impl Default for Options {
    fn default() -> Self {
        Self { segment_size: SEGMENT, levels: Levels::Stored, roots: RootSchedule::NODE }
    }
}

/// A block whose operations are in the blocks file, but not committed.
#[derive(Debug)]
pub(crate) struct Staged {
    /// Offset of its operations.
    pub(crate) offset: u64,
    end: u64,
}

/// Data derived from the operations of a block alone.
pub(crate) struct Derived {
    pub(crate) tree: Tree,
    ids: Vec<U32>,
    /// Checksum of the operations.
    checksum: Checksum,
}

impl Derived {
    /// For a block after the one with this hash.
    pub(crate) fn new(previous: &Hash, operations: &[Operation], tails: &[SignedTail]) -> Self {
        Self {
            tree: Tree::new(operations, tails),
            ids: ids::build(&ids_key(previous), operations),
            checksum: checksum(operations.as_bytes()),
        }
    }
}

/// The data that completes a staged block.
pub(crate) struct Completion<'a> {
    pub(crate) sealed: SealedHeader,
    pub(crate) hash: Hash,
    pub(crate) end_sequence: u64,
    pub(crate) transactions_before: u64,
    pub(crate) issued: u128,
    pub(crate) derived: &'a Derived,
    pub(crate) tails: &'a [SignedTail],
    pub(crate) links: &'a [Links],
}

/// The store.
#[derive(Debug)]
pub(crate) struct Store {
    directory: Arc<dyn Directory>,
    records: FlatFile,
    blocks: FlatFile,
    /// Height of the first retained block.
    first_retained: AtomicU64,
    catalog: Box<dyn Catalog>,
    levels: Levels,
    roots: RootSchedule,
    damage: DamageLog,
}

impl Store {
    /// Opens the store and truncates it to what is committed.
    pub(crate) fn open(
        directory: &Arc<dyn Directory>,
        catalog: Box<dyn Catalog>,
        options: Options,
    ) -> Result<(Self, Option<Commit>), Error> {
        // Before anybody sees a block that the machine could still lose, or its successor is sealed.
        catalog.sync()?;
        let last = catalog.last()?;
        if last.is_none() && has_blocks(directory)? {
            return Err(Error::CatalogDamaged);
        }
        let (records, blocks) = last.map_or((0, 0), |commit| (commit.records.get(), commit.blocks.get()));
        let retained = Retained::read(directory)?;
        let store = Self {
            directory: Arc::clone(directory),
            records: FlatFile::open(Arc::clone(directory), "records", options.segment_size, 0, records)?,
            blocks: FlatFile::open(Arc::clone(directory), "blocks", options.segment_size, retained.offset, blocks)?,
            first_retained: AtomicU64::new(retained.height),
            catalog,
            levels: options.levels,
            roots: options.roots,
            damage: DamageLog::default(),
        };
        if let Some(commit) = last {
            let tip = store.record(commit.height.get())?;
            let fits = (commit.height.get() + 1) * RECORD_SIZE == records && tip.end() == blocks;
            if !fits || tip.header.hash() != commit.hash || tip.end_sequence.get() != commit.end_sequence.get() {
                return Err(Error::CatalogDamaged);
            }
        }
        // A file of another chain would hide blocks that are there.
        if retained != Retained::default() && store.retained_at(retained.height)? != retained {
            return Err(store.damaged_record(retained.height, Damage::Record));
        }
        Ok((store, last))
    }

    fn retained_at(&self, height: u64) -> Result<Retained, Error> {
        Ok(Retained { height, offset: self.record(height)?.offset.get() })
    }

    /// Height of the first retained block: those before it are pruned.
    pub(crate) fn first_retained(&self) -> u64 {
        self.first_retained.load(Ordering::Acquire)
    }

    /// Prunes the blocks before a height: all of their sections. Their records stay. Disk space becomes free by the
    /// segment.
    pub(crate) fn prune(&self, height: u64) -> Result<(), Error> {
        assert!((self.first_retained()..self.len()).contains(&height), "pruning goes forward, and leaves the tip");
        let retained = self.retained_at(height)?;
        retained.write(&self.directory)?;
        self.first_retained.store(height, Ordering::Release);
        Ok(self.blocks.remove_before(retained.offset)?)
    }

    /// Fails if a block is pruned.
    fn check_retained(&self, height: u64) -> Result<(), Error> {
        let first = self.first_retained();
        if height < first { Err(Error::Pruned { height, first }) } else { Ok(()) }
    }

    /// Writes the operations of the next block.
    pub(crate) fn stage(&self, operations: &[Operation]) -> Result<Staged, Error> {
        let offset = self.blocks.committed();
        let mut blocks = self.blocks.append(offset);
        blocks.write(operations.as_bytes())?;
        Ok(Staged { offset, end: blocks.finish()? })
    }

    /// Writes the rest of a staged block and commits it, durably.
    pub(crate) fn complete(&self, staged: &Staged, block: &Completion<'_>) -> Result<(), Error> {
        let tail = |tail: &SignedTail| Tail { position: tail.position.into(), tail: tail.tail };
        let tails: Vec<Tail> = block.tails.iter().map(tail).collect();
        let mut blocks = self.blocks.append(staged.end);
        let mut write = |bytes: &[u8]| {
            blocks.write(bytes)?;
            Ok::<_, Error>(checksum(bytes))
        };
        let checksums = [
            block.derived.checksum,
            write(block.derived.tree.stored.as_flattened())?,
            write(block.derived.ids.as_bytes())?,
            write(tails.as_bytes())?,
            write(block.links.as_bytes())?,
        ];
        let end = blocks.finish()?;
        let parts = RecordParts {
            sealed: block.sealed,
            end_sequence: block.end_sequence,
            offset: staged.offset,
            transactions_before: block.transactions_before,
            issued: block.issued,
            tails: tails.len() as u32,
        };
        let record = Record::new(parts, checksums);
        assert_eq!(end, record.end(), "a block ends elsewhere than its record tells");
        let place = self.records.committed();
        self.records.write(place, record.as_bytes())?;
        self.blocks.sync(staged.offset, end)?;
        self.records.sync(place, place + RECORD_SIZE)?;
        self.catalog.commit(&Commit {
            height: block.sealed.header.height,
            hash: block.hash,
            end_sequence: block.end_sequence.into(),
            records: (place + RECORD_SIZE).into(),
            blocks: record.end().into(),
        })?;
        self.blocks.commit(record.end());
        self.records.commit(place + RECORD_SIZE);
        Ok(())
    }

    /// Records durably which block is about to be sealed, so that no other block of its height ever is.
    pub(crate) fn propose(&self, height: u64, hash: &Hash, end_sequence: u64) -> Result<(), Error> {
        let (records, blocks) = (self.records.committed().into(), self.blocks.committed().into());
        self.catalog.propose(&Commit {
            height: height.into(),
            hash: *hash,
            end_sequence: end_sequence.into(),
            records,
            blocks,
        })
    }

    /// The block last proposed for sealing.
    pub(crate) fn proposal(&self) -> Result<Option<Commit>, Error> {
        self.catalog.proposal()
    }

    /// Which blocks state the index root.
    pub(crate) fn roots(&self) -> &RootSchedule {
        &self.roots
    }

    /// The number of blocks.
    pub(crate) fn len(&self) -> u64 {
        self.records.committed() / RECORD_SIZE
    }

    /// The record of a block.
    pub(crate) fn record(&self, height: u64) -> Result<Record, Error> {
        let mut record = Record::new_zeroed();
        self.records.read(height.saturating_mul(RECORD_SIZE), record.as_mut_bytes())?;
        record.check(height).ok_or_else(|| self.damaged_record(height, Damage::Record))
    }

    /// The damage found since the store was opened.
    pub(crate) fn damage(&self) -> &DamageLog {
        &self.damage
    }

    /// The error for damage to a block; logs and records it.
    pub(crate) fn damaged(&self, record: &Record, damage: Damage) -> Error {
        let height = record.header.height.get();
        let Some(section) = Section::ALL.into_iter().find(|section| section.damage() == damage) else {
            return self.damaged_record(height, damage);
        };
        let bytes = record.section(section);
        let (path, offset) = self.blocks.locate(bytes.start);
        self.damage.add(DamagedBlock { height, damage, path, offset, length: bytes.end - bytes.start })
    }

    /// The same for a block whose record is damaged, or does not follow from the previous one.
    pub(crate) fn damaged_record(&self, height: u64, damage: Damage) -> Error {
        let (path, offset) = self.records.locate(height.saturating_mul(RECORD_SIZE));
        self.damage.add(DamagedBlock { height, damage, path, offset, length: RECORD_SIZE })
    }

    /// Reads a part of a section, for callers that compute its checksum.
    pub(crate) fn read_part(&self, record: &Record, section: Section, from: u64, into: &mut [u8]) -> Result<(), Error> {
        self.read(record, section, from, into)
    }

    /// Reads elements of a section.
    fn read<T: FromBytes + IntoBytes>(
        &self,
        record: &Record,
        section: Section,
        first: u64,
        into: &mut [T],
    ) -> Result<(), Error> {
        let bytes = record.section(section);
        let start = bytes.start + first * size_of::<T>() as u64;
        let height = record.header.height.get();
        self.check_retained(height)?;
        if start + size_of_val(into) as u64 > bytes.end {
            return Err(self.damaged(record, section.damage()));
        }
        let read = self.blocks.read(start, into.as_mut_bytes());
        if read.is_err() {
            // It may have been pruned since the check above.
            self.check_retained(height)?;
        }
        Ok(read?)
    }

    /// Some operations of a block, unchecked.
    fn operations(&self, record: &Record, range: Range<u32>) -> Result<Vec<Operation>, Error> {
        let mut operations = vec![Operation::default(); range.len()];
        self.read(record, Section::Operations, range.start.into(), &mut operations)?;
        Ok(operations)
    }

    /// A whole section of a block, checked against its checksum.
    pub(crate) fn section<T: FromBytes + IntoBytes + Immutable + Clone>(
        &self,
        record: &Record,
        section: Section,
    ) -> Result<Vec<T>, Error> {
        let bytes = record.section(section);
        if bytes.end > self.blocks.committed() {
            return Err(self.damaged(record, section.damage()));
        }
        let count = (bytes.end - bytes.start) as usize / size_of::<T>();
        let mut elements = vec![T::new_zeroed(); count];
        self.read(record, section, 0, &mut elements)?;
        if checksum(elements.as_bytes()) == record.checksums[section as usize] {
            Ok(elements)
        } else {
            Err(self.damaged(record, section.damage()))
        }
    }

    /// The links of a transaction, unchecked: a caller that follows one checks where it leads.
    pub(crate) fn links(&self, record: &Record, position: u32) -> Result<Links, Error> {
        let mut links = [Links::NONE];
        self.read(record, Section::Links, position.into(), &mut links)?;
        Ok(links[0])
    }

    /// The signed tails in a range of positions of a block, in ascending order; positions count from the start of the
    /// range.
    fn tails(&self, record: &Record, range: &Range<u32>) -> Result<Vec<SignedTail>, Error> {
        let read = |number| {
            let mut tail = [Tail::new_zeroed()];
            self.read(record, Section::Tails, number, &mut tail)?;
            Ok::<_, Error>(tail[0])
        };
        let count = u64::from(record.tails.get());
        let first = partition_point(0..count, |number| Ok(read(number)?.position.get() < range.start))?;
        let mut tails = Vec::new();
        for number in first..count.min(first + range.len() as u64) {
            let tail = read(number)?;
            if !range.contains(&tail.position.get()) {
                break;
            }
            tails.push(SignedTail { position: tail.position.get() - range.start, tail: tail.tail });
        }
        Ok(tails)
    }

    /// A transaction with its path, checked against the block's header: correct, whatever the disk did to it.
    pub(crate) fn prove(&self, record: &Record, position: u32) -> Result<Proven, Error> {
        self.prove_with(self.levels, record, position)
    }

    fn prove_with(&self, levels: Levels, record: &Record, position: u32) -> Result<Proven, Error> {
        let transactions = record.transactions();
        let range = match levels {
            Levels::Stored => group(transactions, position),
            Levels::Rebuilt => 0..transactions,
        };
        let within = (position - range.start) as usize;
        let operations = self.operations(record, range.clone())?;
        let tails = self.tails(record, &range)?;
        if tails.iter().any(|tail| tail.position as usize >= operations.len()) {
            return Err(self.damaged(record, Damage::Tails));
        }
        let leaves = leaves(&operations, &tails);
        let path = match levels {
            Levels::Rebuilt => path_from_leaves(&leaves, position),
            Levels::Stored => path(transactions, position, &leaves, |place| {
                let mut node = [ZERO_HASH];
                self.read(record, Section::Nodes, place.into(), &mut node).map(|()| node[0])
            })?,
        };
        let leaf = leaves[within];
        if verify_path(&record.header.transaction_root, transactions, position, &leaf, &path).is_err() {
            return Err(self.blame(record));
        }
        let tail = tails.iter().find(|tail| tail.position as usize == within).map(|tail| tail.tail);
        Ok(Proven { operation: operations[within], tail, leaf, path })
    }

    /// The error for a path that does not lead to the block's root: names the section with the wrong checksum.
    fn blame(&self, record: &Record) -> Error {
        let sections = [
            self.section::<Tail>(record, Section::Tails).err(),
            self.section::<Hash>(record, Section::Nodes).err(),
            self.section::<Operation>(record, Section::Operations).err(),
        ];
        sections.into_iter().flatten().next().unwrap_or_else(|| self.damaged(record, Damage::Operations))
    }

    /// An operation, checked against the block's header.
    pub(crate) fn operation(&self, record: &Record, position: u32) -> Result<Operation, Error> {
        Ok(self.prove_with(Levels::Stored, record, position)?.operation)
    }

    /// The position in a block of the transaction that `source` named `transaction`.
    pub(crate) fn find(
        &self,
        height: u64,
        transaction: &TransactionId,
        source: &AccountId,
    ) -> Result<Option<Locator>, Error> {
        let record = self.record(height)?;
        let read = |first: u64, words: &mut [U32]| self.read(&record, Section::Ids, first, words);
        let key = ids_key(&record.header.previous);
        for position in ids::candidates(&key, record.transactions(), transaction, source, read)? {
            let operation = self.operation(&record, position)?;
            if operation.transaction == *transaction && operation.namer() == *source {
                return Ok(Some(Locator { height: height as u32, position }));
            }
        }
        Ok(None)
    }
}

/// Whether there are blocks besides genesis, which may exist without a commit after a crash.
fn has_blocks(directory: &Arc<dyn Directory>) -> Result<bool, Error> {
    match directory.open("records-000000", Mode::Read) {
        Ok(file) => Ok(file.len()? > RECORD_SIZE),
        Err(storage::Error::NotFound { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A transaction, with the proof that it is in its block.
pub(crate) struct Proven {
    pub(crate) operation: Operation,
    pub(crate) tail: Option<[u8; crate::merkle::TAIL_SIZE]>,
    pub(crate) leaf: Hash,
    pub(crate) path: Vec<Hash>,
}

/// The key of a block's table of ids.
pub(crate) fn ids_key(previous: &Hash) -> ids::Key {
    let mut key = ids::Key::default();
    key.copy_from_slice(&previous[..16]);
    key
}
