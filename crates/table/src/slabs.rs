//! Allocation of a value store's blocks: chunks of equal size, each divided into blocks of one size.
//!
//! This module keeps only numbers, not the memory. A chunk without blocks in use can be divided again, for another
//! size.

/// Size of a line in bytes, the unit of everything here.
pub(crate) use crate::shared_layout::VALUE_LINE_BYTES as LINE;

/// Lines per chunk: 16 KiB. Ten blocks of 1.5 KiB fit, with little left over; dividing one again evicts at most 256
/// values.
pub(crate) const CHUNK_LINES: usize = 256;

/// Class of an undivided chunk.
const WHOLE: u16 = 0;

/// No chunk.
const NONE: u32 = u32::MAX;

/// 256 lines of memory.
#[derive(Clone, Debug)]
struct Chunk {
    /// Lines per block.
    class: u16,
    used: u16,
    /// A bit for each block in use.
    map: [u64; CHUNK_LINES / 64],
    /// Its position among the chunks of its class.
    place: u32,
    /// Its position among those of them with free blocks.
    open_place: u32,
}

/// Chunks divided into blocks of one size.
#[derive(Clone, Debug, Default)]
struct Class {
    chunks: Vec<u32>,
    open: Vec<u32>,
    /// Where the search for a victim continues: the position of a chunk, and a block.
    hand: (usize, usize),
}

/// The blocks of a value store.
#[derive(Debug)]
pub(crate) struct Slabs {
    chunks: Vec<Chunk>,
    /// Indexed by the lines of a block.
    classes: Vec<Class>,
    whole: Vec<u32>,
    /// Where the search for a chunk to divide again continues.
    hand: usize,
}

impl Slabs {
    /// All memory free: `chunks` chunks, and blocks of up to `largest` lines.
    pub(crate) fn new(chunks: usize, largest: usize) -> Self {
        let chunk = Chunk { class: WHOLE, used: 0, map: Default::default(), place: NONE, open_place: NONE };
        Self {
            chunks: vec![chunk; chunks],
            classes: vec![Class::default(); largest + 1],
            whole: (0..chunks as u32).rev().collect(),
            hand: 0,
        }
    }

    /// Allocates a block of `lines` lines, and returns its first line.
    pub(crate) fn take(&mut self, lines: usize) -> Option<u32> {
        let class = self.classes.get_mut(lines).filter(|_| lines > 0)?;
        let chunk = match class.open.last() {
            Some(chunk) => *chunk,
            None => {
                let chunk = self.whole.pop()?;
                let cut = &mut self.chunks[chunk as usize];
                cut.class = lines as u16;
                cut.place = class.chunks.len() as u32;
                class.chunks.push(chunk);
                cut.open_place = class.open.len() as u32;
                class.open.push(chunk);
                chunk
            }
        };
        let cut = &mut self.chunks[chunk as usize];
        let block = (0..CHUNK_LINES / lines).find(|block| cut.map[block / 64] >> (block % 64) & 1 == 0)?;
        cut.map[block / 64] |= 1 << (block % 64);
        cut.used += 1;
        if usize::from(cut.used) == CHUNK_LINES / lines {
            self.close(lines, chunk);
        }
        Some(chunk * CHUNK_LINES as u32 + (block * lines) as u32)
    }

    /// Frees a block.
    pub(crate) fn give(&mut self, line: u32) {
        let Some((chunk, block)) = self.block_at(line) else { return };
        let cut = &mut self.chunks[chunk as usize];
        cut.map[block / 64] &= !(1 << (block % 64));
        cut.used -= 1;
        let lines = usize::from(cut.class);
        if cut.open_place == NONE {
            cut.open_place = self.classes[lines].open.len() as u32;
            self.classes[lines].open.push(chunk);
        }
        if cut.used == 0 {
            self.close(lines, chunk);
            let cut = &mut self.chunks[chunk as usize];
            let place = std::mem::replace(&mut cut.place, NONE) as usize;
            cut.class = WHOLE;
            let members = &mut self.classes[lines].chunks;
            members.swap_remove(place);
            if let Some(moved) = members.get(place) {
                self.chunks[*moved as usize].place = place as u32;
            }
            self.whole.push(chunk);
        }
    }

    /// Removes a chunk from the list of those with free blocks.
    fn close(&mut self, lines: usize, chunk: u32) {
        let place = std::mem::replace(&mut self.chunks[chunk as usize].open_place, NONE);
        if place != NONE {
            let open = &mut self.classes[lines].open;
            open.swap_remove(place as usize);
            if let Some(moved) = open.get(place as usize) {
                self.chunks[*moved as usize].open_place = place;
            }
        }
    }

    /// The chunk and the number of the block in use that starts at a line.
    fn block_at(&self, line: u32) -> Option<(u32, usize)> {
        let (chunk, offset) = (line / CHUNK_LINES as u32, line as usize % CHUNK_LINES);
        let cut = self.chunks.get(chunk as usize)?;
        let lines = usize::from(cut.class);
        let block = offset.checked_div(lines).filter(|block| block * lines == offset)?;
        (cut.map[block / 64] >> (block % 64) & 1 == 1).then_some((chunk, block))
    }

    /// Whether any chunk is divided into blocks of this many lines.
    pub(crate) fn has_class(&self, lines: usize) -> bool {
        self.classes.get(lines).is_some_and(|class| !class.chunks.is_empty())
    }

    /// The next block in use of this many lines, cyclically.
    pub(crate) fn next_of_class(&mut self, lines: usize) -> Option<u32> {
        let class = self.classes.get_mut(lines)?;
        // Once around: the rest of the first chunk, all others, and the start of the first.
        for _ in 0..=class.chunks.len() {
            let (place, from) = class.hand;
            if let Some(chunk) = class.chunks.get(place) {
                let cut = &self.chunks[*chunk as usize];
                let mut blocks = from..CHUNK_LINES / lines;
                if let Some(block) = blocks.find(|block| cut.map[block / 64] >> (block % 64) & 1 == 1) {
                    class.hand = (place, block + 1);
                    return Some(chunk * CHUNK_LINES as u32 + (block * lines) as u32);
                }
            }
            class.hand = (if place + 1 < class.chunks.len() { place + 1 } else { 0 }, 0);
        }
        None
    }

    /// The blocks in use of the next chunk, cyclically, that is divided into blocks of another size.
    pub(crate) fn next_chunk_but(&mut self, lines: usize) -> Vec<u32> {
        for _ in 0..self.chunks.len() {
            self.hand = if self.hand + 1 < self.chunks.len() { self.hand + 1 } else { 0 };
            let cut = &self.chunks[self.hand];
            let size = usize::from(cut.class);
            if cut.used > 0 && size != lines {
                let start = (self.hand * CHUNK_LINES) as u32;
                let blocks = (0..CHUNK_LINES / size).filter(|block| cut.map[block / 64] >> (block % 64) & 1 == 1);
                return blocks.map(|block| start + (block * size) as u32).collect();
            }
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_chunk_is_cut_anew_when_it_is_empty() {
        let mut slabs = Slabs::new(1, 24);
        let large: Vec<u32> = std::iter::from_fn(|| slabs.take(24)).collect();
        assert_eq!(large.len(), 10);
        assert_eq!(slabs.take(1), None);
        assert_eq!(slabs.next_chunk_but(1), large);
        assert!(slabs.next_chunk_but(24).is_empty());
        large.iter().for_each(|line| slabs.give(*line));
        assert_eq!(std::iter::from_fn(|| slabs.take(1)).count(), 256);
        assert!(!slabs.has_class(24));
    }

    #[test]
    fn sizes_that_there_are_not_are_refused() {
        let mut slabs = Slabs::new(3, 4);
        assert_eq!(slabs.take(0), None);
        assert_eq!(slabs.take(5), None);
        slabs.give(0);
        slabs.give(u32::MAX);
        assert_eq!(slabs.next_of_class(7), None);
        assert_eq!(slabs.next_of_class(0), None);
    }

    proptest! {
        #[test]
        fn blocks_never_overlap(
            steps in prop::collection::vec((any::<bool>(), 1..9_usize, any::<prop::sample::Index>()), 0..800),
        ) {
            let mut slabs = Slabs::new(3, 8);
            let mut used = BTreeMap::new();
            for (take, lines, which) in steps {
                if take {
                    match slabs.take(lines) {
                        Some(line) => {
                            let before = used.range(..=line).next_back().map_or(0, |(at, lines)| at + *lines as u32);
                            let after = used.range(line..).next().map_or(3 * 256, |(at, _)| *at);
                            prop_assert!(before <= line && line + lines as u32 <= after);
                            used.insert(line, lines);
                        }
                        None => prop_assert!(!used.is_empty()),
                    }
                } else if !used.is_empty() {
                    let line = *used.keys().nth(which.index(used.len())).unwrap();
                    used.remove(&line);
                    slabs.give(line);
                    slabs.give(line + 1000);
                }
            }
            for lines in 1..9 {
                let count = used.values().filter(|size| **size == lines).count();
                let mut seen = std::collections::BTreeSet::new();
                for _ in 0..count {
                    let line = slabs.next_of_class(lines).unwrap();
                    prop_assert_eq!(used.get(&line), Some(&lines));
                    prop_assert!(seen.insert(line), "a block came up twice in one round");
                }
                prop_assert!(count > 0 || slabs.next_of_class(lines).is_none());
            }
            used.keys().for_each(|line| slabs.give(*line));
            prop_assert_eq!(slabs.whole.len(), 3);
            prop_assert!(slabs.classes.iter().all(|class| class.chunks.is_empty() && class.open.is_empty()));
        }
    }
}
