//! A window: operations in order of execution, forgotten in stretches of time.

use std::collections::VecDeque;

use wire::{Operation, Status};

use super::{
    Fill, Known, Memory, Recall,
    index::{self, Index, Span},
    ring::{self, Ring},
};
use crate::{journal::Record, secret::Secret};

/// Number of stretches per window: an operation is kept for at most a 64th longer than needed.
pub(super) const STRETCHES: u64 = 64;

/// A window can exceed its capacity by this fraction, for operations recovered from a journal. The index has room for
/// three quarters more.
pub(super) const SLACK: usize = 4;

/// The operations of one stretch of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// Number of its first operation.
    first: u64,
    /// When that one was executed.
    since: u64,
    /// End of the stretch: a multiple of its length.
    pub until: u64,
    /// The newest time that its operations carry.
    pub newest: u64,
    operations: usize,
}

/// The window.
#[derive(Debug)]
pub(super) struct Window {
    key: [u64; ring::KEYS],
    index: Index,
    ring: Ring,
    capacity: usize,
    stretches: VecDeque<Stretch>,
    held: usize,
    /// Held numbers are from `first` up to, but not including, `next`.
    span: Span,
    horizon: u64,
}

impl Window {
    /// Creates an empty window in the given memory, with a ring of `records` records.
    pub fn within(
        memory: Memory,
        capacity: usize,
        records: usize,
        next: u64,
        secret: &Secret,
    ) -> Result<Self, table::Error> {
        let needed = Memory::sizes_of(capacity, records);
        let given = [&memory.header, &memory.index, &memory.ring].map(table::Region::len);
        let too_small = |part: usize| table::Error::RegionTooSmall { given: given[part], needed: needed[part] };
        let key = secret.words();
        let index = Index::within(memory.index, capacity).ok_or(too_small(1))?;
        let ring = Ring::within(memory.header, memory.ring, records, next, index.lines(), key).ok_or(too_small(2))?;
        let span = Span { first: next, next };
        Ok(Self { key, index, ring, capacity, stretches: VecDeque::new(), held: 0, span, horizon: 0 })
    }

    /// Hash of an operation's identity.
    #[inline(always)]
    pub fn hash(&self, operation: &Operation) -> u64 {
        let key = &self.key;
        let [namer, transaction] = [words(&operation.namer().0), words(&operation.transaction.0)];
        let namer = fold(namer[0] ^ key[0], namer[1] ^ key[1]);
        let transaction = fold(transaction[0] ^ key[2], transaction[1] ^ key[3]);
        fold(namer ^ key[4], transaction ^ key[5])
    }

    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        self.index.prefetch(hash);
    }

    /// Looks an operation up, comparing in full.
    #[inline]
    pub fn find(&self, hash: u64, operation: &Operation, mut recall: Option<&mut (dyn Recall + 'static)>) -> Known {
        let check = |number| {
            let record = match self.ring.get(number, self.span.next) {
                Some(record) => record,
                None => match self.recall(number, hash, recall.as_deref_mut()) {
                    Some(record) => record,
                    // It may be the same operation, which cannot be checked now; it must not be executed twice.
                    None => return Some(Known::Refused(Status::Busy)),
                },
            };
            compare(&record, operation)
        };
        self.index.find(hash, self.span, check).unwrap_or(Known::New)
    }

    /// Reads a record that only the journal has. A record that does not match this hash is damaged.
    #[cold]
    fn recall(&self, number: u64, hash: u64, recall: Option<&mut (dyn Recall + 'static)>) -> Option<Record> {
        let record = recall?.recall(number)?;
        (index::tag(self.hash(&record.operation)) == index::tag(hash)).then_some(record)
    }

    /// Whether there is no room for another operation.
    #[inline]
    pub fn is_full(&self) -> bool {
        !self.has_room(1)
    }

    /// Whether there is room for a number of further operations.
    #[inline]
    pub fn has_room(&self, operations: usize) -> bool {
        // The index stores 32 bits of a number.
        let numbers = self.span.next - self.span.first + operations as u64;
        self.held + operations <= self.capacity && numbers <= u64::from(u32::MAX)
    }

    /// Whether even the slack beyond the capacity is used up.
    pub fn is_overfull(&self) -> bool {
        self.held >= self.capacity + self.capacity / SLACK
    }

    /// Remembers a new operation under a number larger than all before.
    ///
    /// `time` is the time that it carries, 0 if none; `elapsed` is when it was executed. Stretches begin at multiples
    /// of `grain`, so that they are the same for all who execute the same operations at the same times, regardless of
    /// restarts.
    #[inline]
    pub fn push(&mut self, hash: u64, number: u64, record: &Record, time: u64, elapsed: u64, grain: u64) {
        assert!(number >= self.span.next, "the operation's number was assigned before");
        debug_assert!(!self.is_overfull());
        self.span.next = number;
        self.index.insert(hash, self.span);
        self.ring.put(number, record);
        self.span.next = number + 1;
        self.held += 1;
        match self.stretches.back_mut() {
            Some(last) if elapsed < last.until => {
                last.newest = last.newest.max(time);
                last.operations += 1;
            }
            _ => {
                let until = (elapsed / grain + 1) * grain;
                let stretch = Stretch { first: number, since: elapsed, until, newest: time, operations: 1 };
                self.stretches.push_back(stretch);
            }
        }
    }

    /// Forgets the oldest stretches while they are over.
    pub fn forget_while(&mut self, is_over: impl Fn(&Stretch) -> bool) {
        while let Some(oldest) = self.stretches.pop_front_if(|stretch| is_over(stretch)) {
            self.held -= oldest.operations;
            self.raise_horizon(oldest.newest);
            self.span.first = self.stretches.front().map_or(self.span.next, |stretch| stretch.first);
            self.ring.forget(self.span.first);
        }
    }

    /// The newest forgotten time: an operation that carries no newer one may have been executed.
    pub fn horizon(&self) -> u64 {
        self.horizon
    }

    /// Raises the horizon to a time, if operations before it are known to be missing.
    pub fn raise_horizon(&mut self, time: u64) {
        self.horizon = self.horizon.max(time);
    }

    /// How full the window is at a time.
    pub fn fill(&self, elapsed: u64) -> Fill {
        let age = self.stretches.front().map_or(0, |oldest| elapsed.saturating_sub(oldest.since));
        Fill { operations: self.held, capacity: self.capacity, age }
    }
}

/// The outcome that a record holds for an operation; `None` if its identity differs.
#[inline]
fn compare(record: &Record, operation: &Operation) -> Option<Known> {
    if record.operation.name() != operation.name() {
        return None;
    }
    let status = Status::try_from(record.operation.status.get()).unwrap_or(Status::Malformed);
    let requested = Operation { status: operation.status, ..record.operation };
    let is_same = requested == *operation;
    Some(if is_same {
        Known::Executed(status, record.value.get())
    } else {
        Known::Refused(Status::TransactionIdReused)
    })
}

/// An account or transaction id as two words.
#[inline(always)]
fn words(id: &[u8; 16]) -> [u64; 2] {
    let value = u128::from_be_bytes(*id);
    [(value >> 64) as u64, value as u64]
}

/// Folds both halves of a product: with secret words it is a hash whose collisions no outsider can choose.
#[inline(always)]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use wire::{AccountId, TransactionId};

    use super::*;
    use crate::testing::transfer;

    const CAPACITY: usize = 64;

    fn window(next: u64) -> Window {
        let memory = Memory::anonymous(Memory::sizes_of(CAPACITY, CAPACITY)).unwrap();
        Window::within(memory, CAPACITY, CAPACITY, next, &Secret::default()).unwrap()
    }

    fn push(window: &mut Window, number: u64, time: u64, elapsed: u64) {
        let operation = transfer(number, 1, 2, 3);
        let record = Record { operation, value: 0.into() };
        window.push(window.hash(&operation), number, &record, time, elapsed, 100);
    }

    /// The expected hash of an identity was computed independently: the kernel program computes the same.
    #[test]
    fn an_identity_has_this_hash() {
        let mut window = window(0);
        window.key = std::array::from_fn(|word| 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(word as u64 + 1));
        let hash =
            |source: u128, id: u128| window.hash(&Operation::refer(TransactionId::from(id), AccountId::from(source)));
        assert_eq!(hash(0, 0), 0xaf1f_32c6_1257_429e);
        let (source, id) = (0x0123_4567_89ab_cdef_fedc_ba98_7654_3210, 0xffff_ffff_0000_0000_0f1e_2d3c_4b5a_6978);
        assert_eq!(hash(source, id), 0x7904_b1fe_7d46_fe31);
    }

    /// Stretches begin and end at multiples of their length, whenever the first operation arrives, and are forgotten as
    /// a whole.
    #[test]
    fn operations_are_forgotten_in_stretches() {
        let mut window = window(10);
        for (number, time, elapsed) in [(10, 7, 250), (11, 9, 299), (12, 8, 300), (13, 0, 399), (15, 3, 720)] {
            push(&mut window, number, time, elapsed);
        }
        let stretches =
            window.stretches.iter().map(|each| (each.first, each.since, each.until, each.newest, each.operations));
        assert_eq!(Vec::from_iter(stretches), [(10, 250, 300, 9, 2), (12, 300, 400, 8, 2), (15, 720, 800, 3, 1)]);
        assert_eq!(window.fill(750), Fill { operations: 5, capacity: CAPACITY, age: 500 });
        window.forget_while(|stretch| stretch.until <= 400);
        assert_eq!((window.span.first, window.span.next, window.horizon()), (15, 16, 9));
        assert_eq!(window.fill(750), Fill { operations: 1, capacity: CAPACITY, age: 30 });
        window.forget_while(|_| true);
        assert_eq!((window.span.first, window.span.next, window.horizon()), (16, 16, 9));
        assert_eq!(window.fill(750), Fill { operations: 0, capacity: CAPACITY, age: 0 });
        window.raise_horizon(5);
        assert_eq!(window.horizon(), 9);
        window.raise_horizon(20);
        assert_eq!(window.horizon(), 20);
    }

    /// A window is full at its capacity and takes a quarter more from a journal; numbers must be distinguishable by 32
    /// bits.
    #[test]
    fn a_window_is_full() {
        let mut window = window(1);
        for number in 1..=80 {
            assert_eq!((window.is_full(), window.is_overfull()), (number > 64, false));
            push(&mut window, number, 0, number);
        }
        assert!(window.is_full() && window.is_overfull());
        let mut window = self::window(1);
        for (next, is_full) in [(1 << 32, true), ((1 << 32) - 1, false), (u64::MAX, true)] {
            window.span.next = next;
            assert_eq!(window.is_full(), is_full, "{next}");
        }
    }
}
