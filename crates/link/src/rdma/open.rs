//! The established connection: messages, credits, and which sends are signalled.
//!
//! - At the start: post a receive for each buffer, and three more for two frames of credits and a close, before the
//!   peer can send.
//! - On a dropped message: post its buffer again, then grant the credit. So no message arrives without a posted
//!   receive.
//! - On a received frame: add its credits. A message goes to the inbox; the buffer of a frame of credits is posted
//!   again; a close ends the channel.
//! - On each send: count it. Every n-th one ([`Config::signal_every`]) is signalled. Its completion completes all sends
//!   before it, and frees their buffers. So there are n more buffers than credits, and at most n frames without a
//!   message in flight.
//! - On completions: handle all that are there. If there are none, arm the channel and look once more.
//! - On drop: send a close, and wait up to 250 ms for the device to finish.

use std::{
    collections::VecDeque,
    iter,
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{
    immediate::{Immediate, Kind},
    queue::{Completion, Queue, Send},
    verbs::Id,
};
use crate::{
    Buffer, Config, Counters, Error, Message, Operations,
    credits::Credits,
    notify::Notify,
    pool::{FreeList, Lease, Pool, lease, private_pool},
    tcp::frame::Greeting,
};

/// Receives beyond those covered by credits: for two credit frames and a close.
const SPARE_RECEIVES: u16 = 3;

/// How long dropping a channel waits for the device to finish its sends, because nobody can do so later.
const LINGER: Duration = Duration::from_millis(250);

pub(super) struct Open {
    queue: Queue,
    send_pool: Arc<Pool<FreeList>>,
    receive_pool: Arc<Pool<FreeList>>,
    room: u32,
    credits: Credits,
    /// Sends that may be incomplete, in order, with the buffer that each occupies.
    in_flight: VecDeque<Option<u16>>,
    /// The number of the first of them.
    first: u64,
    /// How many of them occupy no buffer: frames without a message.
    bare: u16,
    signal_every: u16,
    unsignalled: u16,
    /// The completion channel will report the next completion.
    is_armed: bool,
    inbox: VecDeque<Message>,
    end: Option<Error>,
    counters: Counters,
}

impl Open {
    /// Creates a queue pair and posts all receives before the peer can send.
    pub(super) fn new(id: &Arc<Id>, config: &Config) -> Result<Self, Error> {
        let (buffers, bytes) = (config.buffers, config.buffer_bytes);
        // Buffers of sends after the last signalled one stay occupied until the next signal: they come on top.
        let send_pool = private_pool(buffers + config.signal_every, bytes, 1)?;
        // Credits that justify a frame of their own: at least half of the buffers, so that no more credit frames arrive
        // than there are spare receives. A peer without credits has received all earlier credit frames, so a single
        // credit justifies one.
        let worth = buffers.div_ceil(2);
        let receive_pool = private_pool(buffers + SPARE_RECEIVES, bytes, worth)?;
        // Bare frames may fill one signal period, whose signalled send completes them; the close needs one more slot.
        let sends = buffers + config.signal_every + config.signal_every + 1;
        let mut queue = Queue::new(id, u32::from(sends), Arc::clone(&send_pool), Arc::clone(&receive_pool), bytes)?;
        queue.post_receives(iter::from_fn(|| lease(&receive_pool)))?;
        Ok(Self {
            queue,
            send_pool,
            room: bytes,
            credits: Credits::new(buffers, worth),
            in_flight: VecDeque::with_capacity(usize::from(sends)),
            first: 0,
            bare: 0,
            signal_every: config.signal_every,
            unsignalled: 0,
            is_armed: false,
            inbox: VecDeque::with_capacity(usize::from(receive_pool.home().len())),
            receive_pool,
            end: None,
            counters: Counters::default(),
        })
    }

    /// Applies the peer's greeting.
    pub(super) fn greet(&mut self, theirs: Greeting) {
        self.room = self.room.min(theirs.buffer_bytes);
        self.credits.greet(theirs.buffers);
    }

    /// Takes the event of the completion channel, if any.
    pub(super) fn take_events(&mut self) -> Result<(), Error> {
        if self.queue.take_events()? {
            self.is_armed = false;
        }
        Ok(())
    }

    /// Receives messages and grants credits. `is_gone`: the peer has disconnected.
    pub(super) fn progress(&mut self, is_gone: bool) -> Result<(), Error> {
        let moved = self.collect().and_then(|()| self.take_completions()).and_then(|()| self.collect());
        if let Err(error) = moved {
            self.end.get_or_insert(error);
        }
        if is_gone {
            self.end.get_or_insert(Error::Lost);
        }
        self.end.clone().map_or(Ok(()), Err)
    }

    /// Collects what users returned: unsent buffers with their credits, and messages whose buffers are free again.
    fn collect(&mut self) -> Result<(), Error> {
        self.credits.unspend(self.send_pool.home().take_all_given_back());
        let given_back = self.receive_pool.home().take_given_back();
        self.receive_again(given_back)?;
        if self.credits.is_frame_due(self.receive_pool.home()) && self.bare < self.signal_every {
            self.post(Kind::Credits, None, false)?;
        }
        Ok(())
    }

    /// Posts receives for returned buffers, before the peer is granted credits for them.
    fn receive_again(&mut self, count: u16) -> Result<(), Error> {
        if count > 0 {
            let pool = &self.receive_pool;
            self.queue.post_receives(iter::from_fn(|| lease(pool)).take(usize::from(count)))?;
            self.credits.returned(count);
        }
        Ok(())
    }

    /// Handles all completions. It ends, because at most what was posted completes, and received buffers are posted
    /// again only when users return them.
    fn take_completions(&mut self) -> Result<(), Error> {
        let mut failure = None;
        loop {
            let count = self.queue.poll()?;
            if count == 0 {
                if self.is_armed || failure.is_some() {
                    return failure.map_or(Ok(()), Err);
                }
                self.queue.arm()?;
                self.is_armed = true;
                // Completions from before arming are not signalled.
                continue;
            }
            for at in 0..count {
                match self.queue.completion(at) {
                    Completion::Sent(number) => self.sent(number),
                    Completion::Received { lease, bytes, immediate } => self.received(lease, bytes, immediate)?,
                    // Frames received before the failure still count, above all a close.
                    Completion::Failed(error) => failure = failure.or(Some(error)),
                }
            }
        }
    }

    /// Completes all sends up to a number: the device processes them in order.
    fn sent(&mut self, number: u64) {
        while self.first <= number {
            match self.in_flight.pop_front() {
                Some(Some(index)) => self.send_pool.home().put(index),
                Some(None) => self.bare -= 1,
                None => break,
            }
            self.first += 1;
        }
    }

    fn received(&mut self, lease: Lease, bytes: u32, immediate: Option<u32>) -> Result<(), Error> {
        let immediate = immediate.ok_or(Error::BadFrame("the immediate data is missing"))?;
        let Immediate { credits, kind } = Immediate::decode(immediate, bytes)?;
        self.credits.earn(credits.into())?;
        match kind {
            Kind::Message => {
                self.credits.received()?;
                self.inbox.push_back(Message::new(lease, bytes as usize));
                self.counters.received += 1;
                Ok(())
            }
            Kind::Credits => self.queue.post_receives(iter::once(lease)),
            Kind::Close => Err(Error::Closed),
        }
    }

    fn post(&mut self, kind: Kind, message: Option<(Lease, usize)>, must_signal: bool) -> Result<(), Error> {
        let credits = self.credits.grant(self.receive_pool.home());
        self.unsignalled += 1;
        let is_signalled = must_signal || self.unsignalled >= self.signal_every;
        if is_signalled {
            self.unsignalled = 0;
            self.counters.signalled += 1;
        }
        self.bare += u16::from(message.is_none());
        self.counters.sent += 1;
        let number = self.first + self.in_flight.len() as u64;
        let send = Send { number, immediate: Immediate { credits, kind }.encode(), is_signalled };
        let index = self.queue.post_send(&send, message)?;
        self.in_flight.push_back(index);
        Ok(())
    }

    /// Sends the close frame and waits, for a limited time, until all sends have completed.
    pub(super) fn close(&mut self) {
        let last = self.first + self.in_flight.len() as u64;
        if self.end.is_some() || self.post(Kind::Close, None, true).is_err() {
            return;
        }
        let deadline = Instant::now() + LINGER;
        while self.first <= last && self.end.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            let _ = self.take_events();
            let _ = self.progress(false);
            if left.is_zero() {
                return;
            }
            if self.first <= last && self.end.is_none() {
                let mut descriptor = [PollFd::new(&self.queue, PollFlags::IN)];
                let _ = poll(&mut descriptor, Timespec::try_from(left).ok().as_ref());
            }
        }
    }

    pub(super) fn ready(&self) -> Operations {
        Operations::RECEIVE.when(!self.inbox.is_empty())
            | Operations::SEND.when(self.credits.may_send() && self.send_pool.home().len() > 0)
    }

    pub(super) fn buffer(&mut self) -> Option<Buffer> {
        if !self.credits.may_send() {
            return None;
        }
        let lease = lease(&self.send_pool)?;
        self.credits.spend();
        Some(Buffer::new(lease, self.room as usize))
    }

    pub(super) fn send(&mut self, buffer: Buffer) -> Result<(), Error> {
        assert!(buffer.lease().is_of(&self.send_pool), "a buffer is sent by the channel that it came from");
        let given_back = self.receive_pool.home().take_all_given_back();
        self.receive_again(given_back)?;
        self.post(Kind::Message, Some(buffer.into_parts()), false)
    }

    pub(super) fn receive(&mut self) -> Option<Message> {
        let message = self.inbox.pop_front()?;
        if self.inbox.is_empty() {
            self.credits.took_last(self.receive_pool.home());
        }
        Some(message)
    }

    pub(super) fn set_notify(&mut self, notify: Option<Arc<Notify>>) {
        self.send_pool.home().set_notify(notify.clone());
        self.receive_pool.home().set_notify(notify);
    }

    pub(super) fn counters(&self) -> Counters {
        self.counters
    }
}

impl AsFd for Open {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }
}
