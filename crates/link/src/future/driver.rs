//! The driver, which watches channels for tasks.

use std::{
    os::fd::{AsFd, BorrowedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::io::Errno;

use super::watched_endpoint::{Endpoint, WatchedEndpoint};
use crate::{
    Channel, Error, ServerChannel, Waker,
    error::Tried,
    events::Events,
    notify::{Doorbell, Notify},
};

/// The token of the driver's own doorbell, which no channel has.
const DOORBELL: u64 = u64::MAX;

/// How long queued data may take to reach the peer after the channel was dropped: enough for a live TCP peer to answer
/// a few retransmissions.
const LINGER: Duration = Duration::from_secs(5);

/// Watches channels, on its own thread or wherever an [`EventLoop`] is turned. It ends when the last clone, half and
/// server are dropped.
#[derive(Clone, Debug)]
pub struct Driver(Arc<Owner>);

/// Ends the thread when it is dropped.
#[derive(Debug)]
struct Owner(Arc<DriverState>);

#[derive(Debug)]
struct DriverState {
    events: Events,
    doorbell: Arc<Doorbell>,
    endpoints: Mutex<WatchedEndpoints>,
}

#[derive(Debug, Default)]
struct WatchedEndpoints {
    slots: Vec<Option<Arc<WatchedEndpoint>>>,
    free: Vec<usize>,
    /// Tokens of server channels, which have deadlines.
    servers: Vec<usize>,
    /// Dropped channels, with the deadline until which they may continue to send.
    lingering: Vec<(usize, Instant)>,
    is_over: bool,
}

impl Driver {
    /// Creates a driver and starts its thread.
    ///
    /// # Errors
    ///
    /// [`Error::System`] if the process has run out of descriptors or threads.
    pub fn new() -> Result<Self, Error> {
        let (driver, mut events) = Self::without_thread()?;
        let started = thread::Builder::new().name("link".into()).spawn(move || events.run());
        started.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN)).tried("start a thread")?;
        Ok(driver)
    }

    /// Creates a driver without a thread. Tasks wake only when the returned [`EventLoop`] is turned.
    ///
    /// # Errors
    ///
    /// [`Error::System`] if the process has run out of descriptors.
    pub fn without_thread() -> Result<(Self, EventLoop), Error> {
        let (events, doorbell) = (Events::new()?, Doorbell::new()?);
        events.watch_level(doorbell.as_fd(), DOORBELL)?;
        let state = Arc::new(DriverState { events, doorbell, endpoints: Mutex::default() });
        let events = EventLoop { state: Arc::clone(&state), happened: Vec::new(), tokens: Vec::new() };
        Ok((Self(Arc::new(Owner(state))), events))
    }

    pub(super) fn watch(&self, mut channel: Channel) -> Result<Guard, Error> {
        channel.set_watched(true);
        self.insert(Endpoint::Channel(channel))
    }

    pub(super) fn watch_server(&self, server: ServerChannel) -> Result<Guard, Error> {
        self.insert(Endpoint::Server(server))
    }

    fn insert(&self, endpoint: Endpoint) -> Result<Guard, Error> {
        let state = &self.0.0;
        let is_server = matches!(endpoint, Endpoint::Server(_));
        let mut endpoints = state.endpoints();
        let token = endpoints.free.last().copied().unwrap_or(endpoints.slots.len());
        let watched = WatchedEndpoint::new(endpoint, Notify::new(Arc::clone(&state.doorbell), token));
        watched.with_descriptor(|descriptor| state.events.watch(descriptor, token as u64))?;
        if endpoints.free.pop().is_none() {
            endpoints.slots.push(None);
        }
        endpoints.slots[token] = Some(Arc::clone(&watched));
        if is_server {
            endpoints.servers.push(token);
        }
        drop(endpoints);
        // Edges from before are not reported, so assume one.
        watched.look(Some(true));
        Ok(Guard { driver: self.clone(), token, watched })
    }
}

/// Processes the events of a driver's channels. For a runtime that waits for descriptors itself, so that waking a task
/// involves no other thread: the descriptor is readable when there are events.
#[derive(Debug)]
pub struct EventLoop {
    state: Arc<DriverState>,
    happened: Vec<(usize, bool)>,
    tokens: Vec<usize>,
}

/// When to turn an [`EventLoop`] next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextTurn {
    /// At once.
    Now,
    /// When the descriptor is readable, or at a deadline.
    Readable {
        /// The deadline, if any.
        until: Option<Instant>,
    },
    /// Never: driver, halves and servers are gone.
    Over,
}

impl EventLoop {
    /// Makes progress and wakes the tasks that can continue, without waiting. It consumes the readability from before
    /// the turn.
    pub fn turn(&mut self) -> NextTurn {
        let is_all = self.pass(Some(Duration::ZERO));
        if self.state.is_over() {
            return NextTurn::Over;
        }
        // Order matters: a ring from now on makes the descriptor readable.
        let sleeps = self.state.doorbell.fall_asleep();
        if is_all && sleeps { NextTurn::Readable { until: self.state.next_deadline() } } else { NextTurn::Now }
    }

    /// Turns until the driver has ended.
    fn run(&mut self) {
        while !self.state.is_over() {
            let deadline = self.state.next_deadline();
            let wait = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            self.pass(if self.state.doorbell.fall_asleep() { wait } else { Some(Duration::ZERO) });
        }
    }

    /// Waits up to `wait` for events and handles them. Returns whether those were all.
    fn pass(&mut self, wait: Option<Duration>) -> bool {
        let Self { state, happened, tokens } = self;
        // An error would mean bad arguments, which do not change; the doorbell and the deadlines work without it.
        let is_all = state.events.wait(wait, |token, may_be_over| match token {
            DOORBELL => state.doorbell.drain(),
            token => happened.push((token as usize, may_be_over)),
        });
        state.doorbell.awake();
        happened.drain(..).for_each(|(token, may_be_over)| state.look(token, Some(may_be_over)));
        state.doorbell.take_tokens(tokens);
        tokens.drain(..).for_each(|token| state.look(token, None));
        state.look_late();
        state.end_lingering();
        state.doorbell.take_woken();
        is_all.unwrap_or(true)
    }
}

impl AsFd for EventLoop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.state.events.as_fd()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.endpoints().is_over = true;
        Waker(Arc::clone(&self.0.doorbell)).wake();
    }
}

/// Keeps a channel registered with its driver.
#[derive(Debug)]
pub(super) struct Guard {
    driver: Driver,
    token: usize,
    watched: Arc<WatchedEndpoint>,
}

impl Guard {
    pub(super) fn watched(&self) -> &WatchedEndpoint {
        &self.watched
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let state = &self.driver.0.0;
        let mut endpoints = state.endpoints();
        if self.watched.abandon() {
            state.remove(&mut endpoints, self.token);
        } else {
            endpoints.lingering.push((self.token, Instant::now() + LINGER));
            drop(endpoints);
            Waker(Arc::clone(&state.doorbell)).wake();
        }
    }
}

impl DriverState {
    fn endpoints(&self) -> MutexGuard<'_, WatchedEndpoints> {
        self.endpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, endpoints: &mut WatchedEndpoints, token: usize) {
        endpoints.servers.retain(|server| *server != token);
        if let Some(watched) = endpoints.slots[token].take() {
            // Fails only for a descriptor that is not watched.
            let _ = watched.with_descriptor(|descriptor| self.events.forget(descriptor));
            endpoints.free.push(token);
        }
    }

    fn look(&self, token: usize, signalled: Option<bool>) {
        // If the token was reused, the new channel gets one superfluous look.
        let watched = self.endpoints().slots.get(token).cloned().flatten();
        if let Some(watched) = watched {
            if signalled.is_none() {
                watched.notify.seen();
            }
            watched.look(signalled);
        }
    }

    /// Looks at servers whose deadline has passed.
    fn look_late(&self) {
        let now = Instant::now();
        let endpoints = self.endpoints();
        let is_late = |token: &usize| {
            let watched = endpoints.slots[*token].as_ref();
            watched.and_then(|watched| watched.next_deadline()).is_some_and(|deadline| deadline <= now)
        };
        let late = Vec::from_iter(endpoints.servers.iter().copied().filter(is_late));
        drop(endpoints);
        late.into_iter().for_each(|token| self.look(token, None));
    }

    fn is_over(&self) -> bool {
        let endpoints = self.endpoints();
        endpoints.is_over && endpoints.lingering.is_empty()
    }

    fn next_deadline(&self) -> Option<Instant> {
        let endpoints = self.endpoints();
        let servers = endpoints.servers.iter().filter_map(|token| endpoints.slots[*token].as_ref()?.next_deadline());
        servers.chain(endpoints.lingering.iter().map(|(_, until)| *until)).min()
    }

    fn end_lingering(&self) {
        let mut endpoints = self.endpoints();
        let now = Instant::now();
        let lingering = std::mem::take(&mut endpoints.lingering);
        for (token, until) in lingering {
            let is_closed = endpoints.slots[token].as_ref().is_none_or(|watched| watched.is_closed());
            if is_closed || now >= until {
                self.remove(&mut endpoints, token);
            } else {
                endpoints.lingering.push((token, until));
            }
        }
    }
}
