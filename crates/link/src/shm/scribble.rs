//! A peer that writes arbitrary data to its shared memory, for the fuzzer.

use std::{os::fd::AsFd, sync::Arc};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::{Open, Phase, Shm, layout::Layout, ring::Words, socket::Socket};
use crate::{Config, Error, Message, error::Tried, memory::Memory, transport::Transport};

/// One step of a run.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// The peer stores a word somewhere before its buffers.
    Scribble(u16, u64),
    /// The peer stores a word at the position of the next message, with the expected stamp.
    Message(u64),
    /// The peer returns the buffer of this index.
    GiveBack(u16),
    /// This side receives a message and keeps it.
    Receive,
    /// This side drops its oldest message.
    Release,
    /// This side sends a message.
    Send,
    /// This side rests and is woken.
    Rest,
}

/// Runs steps on a channel of `buffers` buffers of `buffer_bytes` bytes, with or without copying messages. Returns the
/// channel's error, if it failed.
///
/// # Panics
///
/// If a bound does not hold.
pub fn scribbled(steps: &[Step], buffers: u16, buffer_bytes: u32, is_copied: bool) -> Result<Option<Error>, Error> {
    let layout = Layout { buffers, buffer_bytes };
    let (near, _far) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::NONBLOCK, None)
        .tried("make a pair of sockets")?;
    let socket = Arc::new(Socket::new(near));
    let (ours, _) = Memory::shared(layout.bytes())?;
    let (peer, file) = Memory::shared(layout.bytes())?;
    let theirs = Memory::of_peer(file.as_fd(), layout.bytes())?;
    let open = Open::new(layout, Arc::new(ours), Arc::new(theirs), Arc::clone(&socket), is_copied)?;
    let mut channel =
        Shm { socket, config: Config::default(), phase: Phase::Open(Box::new(open)), is_signalled: false };

    let scribbler = super::Mapped { memory: &peer, offset: 0 };
    let words = layout.first_buffer() / size_of::<u64>();
    let (mut messages, mut returns) = (Due::new(layout.messages(), buffers), Due::new(layout.given_back(), buffers));
    let mut held: Vec<Message> = Vec::new();
    let mut sent = 0;
    let mut failure = None;
    for step in steps {
        match *step {
            Step::Scribble(at, word) => scribbler.store(usize::from(at) % words, word),
            Step::Message(word) => messages.put(&scribbler, word),
            Step::GiveBack(index) => returns.put(&scribbler, u64::from(index) << 32),
            Step::Receive => {
                let received = channel.receive();
                assert!(received.is_none() || failure.is_none(), "a message behind a rule that was broken");
                held.extend(received);
            }
            Step::Release if held.is_empty() => {}
            Step::Release => drop(held.remove(0)),
            Step::Send => {
                if let Some(buffer) = channel.buffer() {
                    assert_eq!(failure, None, "a buffer behind a rule that was broken");
                    sent += 1;
                    channel.send(buffer, false)?;
                }
            }
            Step::Rest => {
                channel.rest(crate::Operations::RECEIVE | crate::Operations::SEND);
                channel.signalled(false);
            }
        }
        if let Err(error) = channel.progress() {
            // A failure is permanent.
            assert_eq!(*failure.get_or_insert_with(|| error.clone()), error);
        }
        assert!(held.len() <= usize::from(buffers), "more messages than buffers");
        assert!(held.iter().all(|message| message.len() <= buffer_bytes as usize), "a message longer than its buffer");
        assert!(sent <= usize::from(buffers) + returns.put, "a buffer was sent that the peer has");
    }
    Ok(failure)
}

/// Where the reader of a ring looks next, if nothing was scribbled over it.
struct Due {
    first: usize,
    capacity: usize,
    put: usize,
}

impl Due {
    fn new(first: usize, buffers: u16) -> Self {
        Self { first: first / size_of::<u64>(), capacity: super::ring::capacity(buffers) as usize, put: 0 }
    }

    fn put(&mut self, words: &impl Words, word: u64) {
        let stamp = (self.put as u64 + 1) << 48;
        words.store(self.first + self.put % self.capacity, stamp | (word & (u64::MAX >> 16)));
        self.put += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn step() -> impl Strategy<Value = Step> {
        let message = (0..6_u64, 0..80_u64).prop_map(|(index, length)| Step::Message(index << 32 | length));
        prop_oneof![
            1 => (any::<u16>(), any::<u64>()).prop_map(|(at, word)| Step::Scribble(at, word)),
            8 => message,
            4 => (0..5_u16).prop_map(Step::GiveBack),
            8 => Just(Step::Receive),
            6 => Just(Step::Release),
            6 => Just(Step::Send),
            2 => Just(Step::Rest),
        ]
    }

    proptest! {
        #[test]
        fn whatever_is_scribbled_bounds_hold(steps in vec(step(), 0..200), is_copied: bool) {
            scribbled(&steps, 4, 64, is_copied).unwrap();
        }
    }

    #[test]
    fn rules_that_are_broken_are_told_apart() {
        let end = |steps: &[Step]| scribbled(steps, 4, 64, false).unwrap();
        let message = |index: u64, length| Step::Message(index << 32 | length);
        assert_eq!(end(&[message(0, 64), Step::Receive, Step::Release, message(0, 1), Step::Receive]), None);
        assert_eq!(end(&[message(0, 65), Step::Receive]), Some(Error::TooLong { length: 65, limit: 64 }));
        assert_eq!(end(&[message(4, 1), Step::Receive]), Some(Error::NotItsToSend));
        assert_eq!(end(&[message(0, 1), message(0, 1), Step::Receive, Step::Receive]), Some(Error::NotItsToSend));
        assert_eq!(end(&[Step::Send, Step::GiveBack(0)]), None);
        assert_eq!(end(&[Step::Send, Step::GiveBack(3)]), Some(Error::NotItsBuffer));
        assert_eq!(end(&[Step::GiveBack(3)]), Some(Error::NotItsBuffer));
    }
}
