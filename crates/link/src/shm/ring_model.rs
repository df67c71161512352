//! Rings under a model checker that explores all interleavings of two threads, and against a plain queue.

use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};

use loom::sync::{Arc, atomic};
use proptest::prelude::*;

use super::*;

/// The words of both sides: what the reader wants to be woken for, a ring of messages, a ring of returned buffers.
struct Both<const RING: usize> {
    wants: [atomic::AtomicU64; 1],
    messages: [atomic::AtomicU64; RING],
    given_back: [atomic::AtomicU64; RING],
    /// The bell of the reader.
    rung: loom::sync::Mutex<bool>,
    bell: loom::sync::Condvar,
}

impl<const RING: usize> Both<RING> {
    fn new() -> Arc<Self> {
        let zeroed = || std::array::from_fn(|_| atomic::AtomicU64::new(0));
        Arc::new(Self {
            wants: [atomic::AtomicU64::new(0)],
            messages: zeroed(),
            given_back: zeroed(),
            rung: loom::sync::Mutex::new(false),
            bell: loom::sync::Condvar::new(),
        })
    }

    fn ring(&self) {
        *self.rung.lock().unwrap() = true;
        self.bell.notify_one();
    }

    fn sleep(&self) {
        let mut rung = self.rung.lock().unwrap();
        while !std::mem::take(&mut *rung) {
            rung = self.bell.wait(rung).unwrap();
        }
    }
}

impl<const N: usize> Words for [atomic::AtomicU64; N] {
    fn load(&self, at: usize) -> u64 {
        self[at].load(Acquire)
    }

    fn store(&self, at: usize, value: u64) {
        self[at].store(value, Release);
    }

    fn fence(&self) {
        atomic::fence(SeqCst);
    }
}

fn entry(index: u16) -> Entry {
    Entry { index, length: u32::from(index) * 3 }
}

#[test]
fn a_reader_that_sleeps_is_woken_in_every_interleaving() {
    loom::model(|| {
        let both = Both::<2>::new();
        let writers = Arc::clone(&both);
        let writer = loom::thread::spawn(move || {
            let (mut ring, mut bell) = (Writer::new(2), Bell::default());
            for index in 0..2 {
                ring.push(&writers.messages, entry(index));
                if bell.is_due(&writers.wants, 0, Wants::MESSAGES) {
                    writers.ring();
                }
            }
        });
        let (mut ring, mut wants) = (Reader::new(2), Wants::new());
        let mut next = 0;
        while next < 2 {
            if let Some(got) = ring.pop(&both.messages).unwrap() {
                assert_eq!(got, entry(next));
                next += 1;
            } else if wants.sleep(&both.wants, 0, Wants::MESSAGES, || ring.has_next(&both.messages)) {
                // If a bell were lost, the model would find a deadlock.
                both.sleep();
                wants.wake(&both.wants, 0);
            }
        }
        writer.join().unwrap();
    });
}

#[test]
fn what_is_behind_an_entry_is_there_with_it() {
    loom::model(|| {
        let both = Both::<2>::new();
        // A buffer that goes to the reader and back: its bytes are a cell, which the model checks for races.
        let buffer = Arc::new(loom::cell::UnsafeCell::new(0_u64));
        let (writers, writers_buffer) = (Arc::clone(&both), Arc::clone(&buffer));
        let writer = loom::thread::spawn(move || {
            let (mut ring, mut returns) = (Writer::new(2), Reader::new(2));
            for value in 1..=2 {
                // SAFETY: the writer owns the buffer at the beginning and after its return.
                writers_buffer.with_mut(|bytes| unsafe { *bytes = value });
                ring.push(&writers.messages, entry(0));
                while value == 1 && returns.pop(&writers.given_back).unwrap().is_none() {
                    loom::thread::yield_now();
                }
            }
        });
        let (mut ring, mut returns) = (Reader::new(2), Writer::new(2));
        for value in 1..=2 {
            while ring.pop(&both.messages).unwrap().is_none() {
                loom::thread::yield_now();
            }
            // SAFETY: the entry says that the reader owns the buffer.
            buffer.with(|bytes| assert_eq!(unsafe { *bytes }, value));
            returns.push(&both.given_back, entry(0));
        }
        writer.join().unwrap();
    });
}

/// Words of one thread.
struct Plain(Vec<std::cell::Cell<u64>>);

impl Plain {
    fn new(buffers: u16) -> Self {
        Self(vec![std::cell::Cell::new(0); capacity(buffers) as usize])
    }
}

impl Words for Plain {
    fn load(&self, at: usize) -> u64 {
        self.0[at].get()
    }

    fn store(&self, at: usize, value: u64) {
        self.0[at].set(value);
    }

    fn fence(&self) {}
}

proptest! {
    #[test]
    fn a_ring_is_a_queue_from_any_position_on(buffers in 2_u16..70, start: u32, turns in prop::collection::vec(0_u16..70, 1..50)) {
        let words = Plain::new(buffers);
        let (mut writer, mut reader) = (Writer::new(buffers), Reader::new(buffers));
        // The state after this number of entries: the words hold the previous round.
        writer.position = start;
        reader.position = start;
        for back in 1..=writer.capacity.min(start) {
            let position = start - back;
            words.store((position & (writer.capacity - 1)) as usize, word(position, entry(7)));
        }
        let mut number = 0_u16;
        for turn in turns {
            let count = turn % (buffers + 1);
            for index in 0..count {
                writer.push(&words, entry(number.wrapping_add(index)));
            }
            for _ in 0..count {
                prop_assert!(reader.has_next(&words));
                prop_assert_eq!(reader.pop(&words), Ok(Some(entry(number))));
                number = number.wrapping_add(1);
            }
            prop_assert!(!reader.has_next(&words));
            prop_assert_eq!(reader.pop(&words), Ok(None));
        }
    }

    #[test]
    fn any_word_is_nothing_an_entry_or_told_as_neither(buffers in 2_u16..=4096, position: u32, scribbled: u64) {
        let words = Plain::new(buffers);
        let mut reader = Reader::new(buffers);
        reader.position = position;
        words.store((position & (reader.capacity - 1)) as usize, scribbled);
        match reader.pop(&words) {
            Ok(None) => prop_assert!(!reader.has_next(&words) || position >= reader.capacity),
            Ok(Some(got)) => prop_assert_eq!(word(position, got), scribbled),
            Err(Error::OutOfSequence { expected, got }) => prop_assert_ne!(expected, got),
            Err(other) => prop_assert!(false, "{}", other),
        }
    }
}

#[test]
fn zero_is_an_entry_once_the_stamp_is() {
    let words = Plain::new(4);
    let (mut writer, mut reader) = (Writer::new(4), Reader::new(4));
    (writer.position, reader.position) = (65_535, 65_535);
    words.store(3, word(65_531, entry(1)));
    assert_eq!(reader.pop(&words), Ok(None));
    writer.push(&words, entry(0));
    assert_eq!(words.load(3), 0, "the word of buffer 0, given back at a stamp of zero");
    assert_eq!(reader.pop(&words), Ok(Some(entry(0))));
}

#[test]
fn messages_pass_between_threads_in_mapped_memory() {
    const MESSAGES: u64 = 30;
    let memory = &crate::memory::Memory::private(4096).unwrap();
    let ring = |offset| Mapped { memory, offset };
    let buffer = |index: u16| 1024 + 64 * usize::from(index);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut sent, mut returns) = (Writer::new(2), Reader::new(2));
            for number in 0..MESSAGES {
                let index = if number < 2 { number as u16 } else { next(&mut returns, &ring(128)).index };
                // SAFETY: the writer owns the buffer at the beginning and after its return.
                unsafe { memory.slice_mut(buffer(index), 8) }.copy_from_slice(&number.to_le_bytes());
                sent.push(&ring(0), entry(index));
            }
        });
        let (mut received, mut given_back) = (Reader::new(2), Writer::new(2));
        for number in 0..MESSAGES {
            let got = next(&mut received, &ring(0));
            // SAFETY: the entry says that the reader owns the buffer.
            assert_eq!(unsafe { memory.slice(buffer(got.index), 8) }, number.to_le_bytes());
            given_back.push(&ring(128), entry(got.index));
        }
    });
}

fn next(reader: &mut Reader, words: &impl Words) -> Entry {
    loop {
        match reader.pop(words).unwrap() {
            Some(entry) => return entry,
            None => std::thread::yield_now(),
        }
    }
}
