//! The scrub: reads all blocks again and again and compares them with their checksums.
//!
//! Damage is found while there is a backup or another replica to restore from, not years later.
use super::chain_state::ChainState;
use super::error::Error;
use super::record::{Record, Section};
use std::sync::Arc;

/// Bytes read per step.
const STEP: usize = 256 << 10;

/// A walk over all blocks from genesis to the tip, in steps.
#[derive(Debug)]
pub struct Scrub {
    chain_state: Arc<ChainState>,
    height: u64,
    /// The block being read, and the position in it.
    current: Option<Part>,
    buffer: Vec<u8>,
}

/// A section being read.
#[derive(Debug)]
struct Part {
    record: Record,
    section: usize,
    /// Bytes of the section read so far.
    read: u64,
    hasher: blake3::Hasher,
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scrubbed {
    /// Bytes read.
    pub bytes: u64,
    /// Whether the tip was reached. The next step starts again at genesis.
    pub is_complete: bool,
}

impl Scrub {
    pub(super) fn new(chain_state: Arc<ChainState>) -> Self {
        Self { chain_state, height: 0, current: None, buffer: vec![0; STEP] }
    }

    /// Reads on, 256 KiB or up to the tip. The chain logs and remembers damage, and the scrub continues after it.
    pub fn step(&mut self) -> Scrubbed {
        let mut bytes = 0;
        while bytes < STEP as u64 {
            if self.height > self.chain_state.tip().height() {
                self.height = 0;
                return Scrubbed { bytes, is_complete: true };
            }
            match self.read_on(STEP as u64 - bytes) {
                Ok(read) => bytes += read,
                Err(_) => {
                    // The error is in the chain's log of damage, or it is the disk's, which the next read may not have.
                    bytes += STEP as u64;
                    self.next_block();
                }
            }
        }
        Scrubbed { bytes, is_complete: false }
    }

    fn next_block(&mut self) {
        self.height += 1;
        self.current = None;
    }

    /// Reads on in one section, `most` bytes of it.
    fn read_on(&mut self, most: u64) -> Result<u64, Error> {
        let store = &self.chain_state.store;
        let part = match &mut self.current {
            Some(part) => part,
            None => {
                let record = store.record(self.height)?;
                // Of a pruned block the record is all that there is.
                let is_retained = self.height >= store.first_retained();
                let section = if is_retained { 0 } else { Section::ALL.len() };
                self.current = Some(Part { record, section, read: 0, hasher: blake3::Hasher::new() });
                return Ok(size_of::<Record>() as u64);
            }
        };
        let Some(&section) = Section::ALL.get(part.section) else {
            self.next_block();
            return Ok(0);
        };
        let range = part.record.section(section);
        let count = (range.end - range.start - part.read).min(most).min(STEP as u64);
        let buffer = &mut self.buffer[..count as usize];
        store.read_part(&part.record, section, part.read, buffer)?;
        part.hasher.update(buffer);
        part.read += count;
        if part.read == range.end - range.start {
            if !part.record.has_checksum(section, &part.hasher.finalize()) {
                store.damaged(&part.record, section.damage());
            }
            part.section += 1;
            part.read = 0;
            part.hasher.reset();
        }
        Ok(count)
    }
}
