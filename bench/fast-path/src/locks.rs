//! The lock journal: the orders that a replica has voted for, synced before its votes leave.
//!
//! **Files.** Two segments of [`SEGMENT`] bytes, written with zeros when they are created, so that a sync later writes
//! data only and no metadata. Each has a generation; the newer one is appended to.
//!
//! **Record**: generation (8), bytes of orders (4), reserved (4), BLAKE3 of these and the orders (32), the orders. The
//! first record of a segment holds all locks that are held at that time.
//!
//! **Append.** All orders that are accepted together make one record. If it does not fit, the other segment begins with
//! the next generation and overwrites the older locks, which its first record repeats if they are still held.
//!
//! **Crash.** [`Locks::open`] takes the segment with the newest generation whose first record is valid, and reads
//! records up to the first that is not. A torn record was not synced, so no vote for its orders left. A crash between
//! the segments leaves the older one whole.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::Path,
};

use wire::FastOrder;
use zerocopy::{FromBytes, IntoBytes};

/// Bytes of a segment: the locks of [`MAX_LOCKS`](crate::state::MAX_LOCKS) orders and as much again.
pub const SEGMENT: u64 = 32 << 20;

const HEADER: usize = 16;
const HASH: usize = 32;
const FILES: [&str; 2] = ["locks-0", "locks-1"];

/// The lock journal.
#[derive(Debug)]
pub struct Locks {
    segments: [File; 2],
    /// Its parity selects the segment.
    generation: u64,
    /// Where the next record begins.
    end: u64,
    record: Vec<u8>,
}

impl Locks {
    /// Opens the journal in a directory, or creates it. Returns the orders in it, the oldest first: with those of
    /// settled slots.
    pub fn open(directory: &Path) -> io::Result<(Self, Vec<FastOrder>)> {
        let open = |name: &str| -> io::Result<File> {
            let file =
                OpenOptions::new().read(true).write(true).create(true).truncate(false).open(directory.join(name))?;
            let zeros = vec![0; 1 << 20];
            let mut length = file.metadata()?.len();
            while length < SEGMENT {
                let more = zeros.len().min((SEGMENT - length) as usize);
                file.write_all_at(&zeros[..more], length)?;
                length += more as u64;
            }
            file.sync_all()?;
            Ok(file)
        };
        let segments = [open(FILES[0])?, open(FILES[1])?];
        File::open(directory)?.sync_all()?;
        let mut found = (0, HEADER as u64, Vec::new());
        for (parity, file) in (0..).zip(&segments) {
            if let Some((generation, end, orders)) = read(file)?
                && generation % 2 == parity
                && generation > found.0
            {
                found = (generation, end, orders);
            }
        }
        let (generation, end, orders) = found;
        let mut locks = Self { segments, generation, end, record: Vec::new() };
        if generation == 0 {
            locks.begin(&[])?;
        }
        Ok((locks, orders))
    }

    /// Appends orders and syncs them. `held` returns all locks that are held, without these orders.
    pub fn append(&mut self, orders: &[FastOrder], held: impl FnOnce() -> Vec<FastOrder>) -> io::Result<()> {
        if self.end + record_length(orders.len()) > SEGMENT {
            self.begin(&held())?;
        }
        self.write(orders)
    }

    /// Begins the other segment.
    fn begin(&mut self, held: &[FastOrder]) -> io::Result<()> {
        self.generation += 1;
        self.end = 0;
        self.write(held)
    }

    fn write(&mut self, orders: &[FastOrder]) -> io::Result<()> {
        let orders = orders.as_bytes();
        let end = self.end + (HEADER + HASH + orders.len()) as u64;
        if end > SEGMENT {
            return Err(io::Error::other("the held locks do not fit a segment"));
        }
        let length = u32::try_from(orders.len()).map_err(io::Error::other)?;
        self.record.clear();
        self.record.extend_from_slice(&self.generation.to_be_bytes());
        self.record.extend_from_slice(&length.to_be_bytes());
        self.record.extend_from_slice(&[0; 4]);
        let hash = checksum(&self.record, orders);
        self.record.extend_from_slice(&hash);
        self.record.extend_from_slice(orders);
        let segment = &self.segments[(self.generation % 2) as usize];
        segment.write_all_at(&self.record, self.end)?;
        segment.sync_data()?;
        self.end = end;
        Ok(())
    }
}

const fn record_length(orders: usize) -> u64 {
    (HEADER + HASH + orders * FastOrder::LENGTH) as u64
}

fn checksum(header: &[u8], orders: &[u8]) -> [u8; HASH] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(header).update(orders);
    *hasher.finalize().as_bytes()
}

/// Reads a segment: its generation, the end of its last valid record, and its orders. `None` if its first record is not
/// valid.
fn read(file: &File) -> io::Result<Option<(u64, u64, Vec<FastOrder>)>> {
    let mut bytes = vec![0; SEGMENT as usize];
    file.read_exact_at(&mut bytes, 0)?;
    let (mut end, mut generation, mut found) = (0, None, Vec::new());
    while let Some((of_record, orders, length)) = record(&bytes[end..]) {
        if *generation.get_or_insert(of_record) != of_record {
            break;
        }
        found.extend_from_slice(orders);
        end += length;
    }
    Ok(generation.map(|generation| (generation, end as u64, found)))
}

/// Parses the record at the start of `bytes`: its generation, its orders and its length.
fn record(bytes: &[u8]) -> Option<(u64, &[FastOrder], usize)> {
    let (header, rest) = bytes.split_first_chunk::<HEADER>()?;
    let (hash, rest) = rest.split_first_chunk::<HASH>()?;
    let (generation, lengths) = header.split_first_chunk::<8>()?;
    let length = u32::from_be_bytes(*lengths.first_chunk()?) as usize;
    let (orders, _) = rest.split_at_checked(length)?;
    let orders_parsed = <[FastOrder]>::ref_from_bytes(orders).ok()?;
    let generation = u64::from_be_bytes(*generation);
    (generation > 0 && checksum(header, orders) == *hash).then_some((generation, orders_parsed, HEADER + HASH + length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::genesis::Owner;

    fn orders(range: std::ops::Range<u64>) -> Vec<FastOrder> {
        let owner = Owner::new(0);
        range.map(|sequence| owner.order(sequence, owner.account, 1)).collect()
    }

    #[test]
    fn synced_locks_are_found_and_a_torn_record_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (mut locks, found) = Locks::open(folder.path()).unwrap();
        assert_eq!(found, []);
        locks.append(&orders(0..2), Vec::new).unwrap();
        let before = locks.end;
        locks.append(&orders(2..5), Vec::new).unwrap();
        let end = locks.end;
        drop(locks);
        assert_eq!(Locks::open(folder.path()).unwrap().1, orders(0..5));
        let file = OpenOptions::new().read(true).write(true).open(folder.path().join(FILES[1])).unwrap();
        for at in [before, before + 9, before + 20, before + 100, end - 1] {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[byte[0] ^ 1], at).unwrap();
            let (mut locks, found) = Locks::open(folder.path()).unwrap();
            assert_eq!((found, locks.end), (orders(0..2), before), "byte {at}");
            // The next record overwrites it.
            locks.append(&orders(2..5), Vec::new).unwrap();
            assert_eq!(Locks::open(folder.path()).unwrap().1, orders(0..5));
        }
    }

    #[test]
    fn a_full_segment_hands_over_the_held_locks() {
        let folder = tempfile::tempdir().unwrap();
        let (mut locks, _) = Locks::open(folder.path()).unwrap();
        let (held, many) = (orders(0..3), vec![orders(7..8)[0]; 1024]);
        let first = locks.generation;
        while locks.generation < first + 3 {
            locks.append(&many, || held.clone()).unwrap();
        }
        let (again, found) = Locks::open(folder.path()).unwrap();
        assert_eq!((again.generation, again.end), (locks.generation, locks.end));
        assert_eq!(found, [&held[..], &many].concat());
        // A crash while the next segment's first record was written: the present segment counts.
        let next = (locks.generation + 1) % 2;
        let file = OpenOptions::new().write(true).open(folder.path().join(FILES[next as usize])).unwrap();
        file.write_all_at(&(locks.generation + 1).to_be_bytes(), 0).unwrap();
        let (again, found) = Locks::open(folder.path()).unwrap();
        assert_eq!((again.generation, found), (locks.generation, [&held[..], &many].concat()));
    }
}
