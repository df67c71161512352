//! The content of one simulated file: durable, visible, and possible after a crash.

use std::collections::BTreeMap;

use super::SECTOR;
use crate::Random;

type Content = [u8; SECTOR];

/// A file's content. Sectors that are not there have no space reserved and read as zeros.
#[derive(Debug, Default)]
pub(super) struct Inode {
    sectors: BTreeMap<u64, Sector>,
    len: u64,
    durable_len: u64,
    /// Lengths since the last sync.
    pending_lens: Vec<u64>,
}

#[derive(Debug)]
struct Sector {
    /// The content that a running program reads.
    seen: Content,
    durable: Content,
    /// Versions since the last sync, each of which may survive a crash.
    pending: Vec<Content>,
}

const EMPTY: Sector = Sector { seen: [0; SECTOR], durable: [0; SECTOR], pending: Vec::new() };

impl Inode {
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// The number of sectors that have space on the disk.
    pub(super) fn sectors(&self) -> u64 {
        self.sectors.len() as u64
    }

    pub(super) fn read(&self, buffer: &mut [u8], offset: u64) -> usize {
        let end = self.len.min(offset.saturating_add(buffer.len() as u64));
        let mut done = 0;
        for piece in pieces(offset, end.saturating_sub(offset) as usize) {
            let target = &mut buffer[done..done + piece.len];
            match self.sectors.get(&piece.sector) {
                Some(sector) => target.copy_from_slice(&sector.seen[piece.start..piece.start + piece.len]),
                None => target.fill(0),
            }
            done += piece.len;
        }
        done
    }

    /// Writes until all is written or the disk is full; returns whether all was.
    pub(super) fn write(&mut self, data: &[u8], offset: u64, mut free: u64) -> bool {
        let mut done = 0;
        for piece in pieces(offset, data.len()) {
            let sector = match self.sectors.entry(piece.sector) {
                std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
                std::collections::btree_map::Entry::Vacant(_) if free == 0 => break,
                std::collections::btree_map::Entry::Vacant(entry) => {
                    free -= 1;
                    entry.insert(EMPTY)
                }
            };
            sector.seen[piece.start..piece.start + piece.len].copy_from_slice(&data[done..done + piece.len]);
            sector.pending.push(sector.seen);
            done += piece.len;
        }
        let end = offset + done as u64;
        if end > self.len && done > 0 {
            self.len = end;
            self.pending_lens.push(end);
        }
        done == data.len()
    }

    pub(super) fn set_len(&mut self, len: u64) {
        if len < self.len {
            // The truncated part reads as zeros if the file grows again.
            let cut = len % SECTOR as u64;
            for (&index, sector) in self.sectors.range_mut(len / SECTOR as u64..) {
                let keep = if index == len / SECTOR as u64 { cut as usize } else { 0 };
                sector.seen[keep..].fill(0);
                sector.pending.push(sector.seen);
            }
        }
        self.len = len;
        self.pending_lens.push(len);
    }

    /// Reserves space for the first `len` bytes; returns whether there was enough.
    pub(super) fn allocate(&mut self, len: u64, free: u64) -> bool {
        let sectors = len.div_ceil(SECTOR as u64);
        let missing = sectors - self.sectors.range(..sectors).count() as u64;
        if missing > free {
            return false;
        }
        for index in 0..sectors {
            self.sectors.entry(index).or_insert(EMPTY);
        }
        if len > self.len {
            self.set_len(len);
        }
        true
    }

    pub(super) fn sync(&mut self) {
        for sector in self.sectors.values_mut() {
            if let Some(last) = sector.pending.pop() {
                sector.durable = last;
                sector.pending.clear();
            }
        }
        if let Some(len) = self.pending_lens.pop() {
            self.durable_len = len;
            self.pending_lens.clear();
        }
    }

    /// A sync failed: sectors that it did not write count as written, though they never will be.
    pub(super) fn fail_sync(&mut self, random: &mut Random) {
        for sector in self.sectors.values_mut().filter(|sector| !sector.pending.is_empty()) {
            if random.chance(0.5) {
                sector.durable = sector.seen;
            }
            sector.pending.clear();
        }
    }

    pub(super) fn crash(&mut self, random: &mut Random) {
        self.durable_len = choose(self.durable_len, &mut self.pending_lens, random);
        self.len = self.durable_len;
        for (&index, sector) in &mut self.sectors {
            sector.durable = choose(sector.durable, &mut sector.pending, random);
            let inside = self.len.saturating_sub(index * SECTOR as u64).min(SECTOR as u64) as usize;
            sector.durable[inside..].fill(0);
            sector.seen = sector.durable;
        }
    }

    pub(super) fn damage(&mut self, offset: u64, mask: u8) {
        let sector = self.sectors.entry(offset / SECTOR as u64).or_insert(EMPTY);
        let position = (offset % SECTOR as u64) as usize;
        sector.seen[position] ^= mask;
        sector.durable[position] ^= mask;
    }
}

/// The durable version or one of those written since.
fn choose<T: Copy>(durable: T, pending: &mut Vec<T>, random: &mut Random) -> T {
    let survived = random.below(pending.len() as u64 + 1) as usize;
    let chosen = if survived == 0 { durable } else { pending[survived - 1] };
    pending.clear();
    chosen
}

struct Piece {
    sector: u64,
    start: usize,
    len: usize,
}

/// The parts of sectors that a range of bytes covers.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = Piece> {
    let end = offset + len as u64;
    let size = SECTOR as u64;
    let mut at = offset;
    std::iter::from_fn(move || {
        let next = end.min((at / size + 1) * size);
        let piece = Piece { sector: at / size, start: (at % size) as usize, len: (next - at) as usize };
        at = next;
        (piece.len > 0).then_some(piece)
    })
}
