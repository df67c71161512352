//! How other threads reach a selector: to wake it, or to have it look at a channel.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use rustix::event::{EventfdFlags, eventfd};

use crate::error::{Error, Tried};

/// State shared by a selector and other threads.
#[derive(Debug)]
pub(crate) struct Doorbell {
    event: OwnedFd,
    /// The selector sleeps or is about to: only then does waking it take a system call.
    asleep: AtomicBool,
    woken: AtomicBool,
    has_tokens: AtomicBool,
    tokens: Mutex<Vec<usize>>,
}

impl Doorbell {
    pub(crate) fn new() -> Result<Arc<Self>, Error> {
        let event = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).tried("make an eventfd")?;
        Ok(Arc::new(Self {
            event,
            asleep: AtomicBool::new(false),
            woken: AtomicBool::new(false),
            has_tokens: AtomicBool::new(false),
            tokens: Mutex::new(Vec::new()),
        }))
    }

    fn ring(&self) {
        if self.asleep.load(SeqCst) {
            // Fails only if the counter is full: then the selector is already awake.
            let _ = rustix::io::write(&self.event, &1u64.to_ne_bytes());
        }
    }

    /// Announces that the selector is about to sleep; false if it must not.
    pub(crate) fn fall_asleep(&self) -> bool {
        self.asleep.store(true, SeqCst);
        let may = !self.woken.load(SeqCst) && !self.has_tokens.load(SeqCst);
        if !may {
            self.asleep.store(false, SeqCst);
        }
        may
    }

    pub(crate) fn awake(&self) {
        self.asleep.store(false, SeqCst);
    }

    pub(crate) fn drain(&self) {
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
    }

    /// Whether the selector was asked to return.
    pub(crate) fn take_woken(&self) -> bool {
        // Load first: a load is much cheaper than a swap, and the flag is rarely set.
        self.woken.load(SeqCst) && self.woken.swap(false, SeqCst)
    }

    /// Appends the tokens of channels that need a look to `into`.
    pub(crate) fn take_tokens(&self, into: &mut Vec<usize>) {
        if self.has_tokens.load(SeqCst) && self.has_tokens.swap(false, SeqCst) {
            into.append(&mut self.tokens.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

/// Ends a [`select`](crate::Selector::select) from another thread: the running one, or the next.
#[derive(Clone, Debug)]
pub struct Waker(pub(crate) Arc<Doorbell>);

impl Waker {
    /// Wakes the selector.
    pub fn wake(&self) {
        self.0.woken.store(true, SeqCst);
        self.0.ring();
    }
}

/// Asks a selector to look at one of its channels.
#[derive(Debug)]
pub(crate) struct Notify {
    doorbell: Arc<Doorbell>,
    token: usize,
    /// Already requested and not yet looked at: this bounds the list of tokens by the number of channels.
    is_pending: AtomicBool,
}

impl Notify {
    pub(crate) fn new(doorbell: Arc<Doorbell>, token: usize) -> Arc<Self> {
        Arc::new(Self { doorbell, token, is_pending: AtomicBool::new(false) })
    }

    pub(crate) fn notify(&self) {
        if self.is_pending.swap(true, SeqCst) {
            return;
        }
        self.doorbell.tokens.lock().unwrap_or_else(PoisonError::into_inner).push(self.token);
        self.doorbell.has_tokens.store(true, SeqCst);
        self.doorbell.ring();
    }

    /// Notes that the selector is about to look.
    pub(crate) fn seen(&self) {
        if self.is_pending.load(SeqCst) {
            self.is_pending.store(false, SeqCst);
        }
    }
}
