//! The driver, which watches channels for tasks.

use std::{
    os::fd::{AsFd, BorrowedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::io::Errno;

use super::place::{Endpoint, Place};
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
struct Owner(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    events: Events,
    doorbell: Arc<Doorbell>,
    places: Mutex<Places>,
}

#[derive(Debug, Default)]
struct Places {
    places: Vec<Option<Arc<Place>>>,
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
        let shared = Arc::new(Shared { events, doorbell, places: Mutex::default() });
        let events = EventLoop { shared: Arc::clone(&shared), happened: Vec::new(), tokens: Vec::new() };
        Ok((Self(Arc::new(Owner(shared))), events))
    }

    pub(super) fn watch(&self, mut channel: Channel) -> Result<Guard, Error> {
        channel.set_watched(true);
        self.insert(Endpoint::Channel(channel))
    }

    pub(super) fn watch_server(&self, server: ServerChannel) -> Result<Guard, Error> {
        self.insert(Endpoint::Server(server))
    }

    fn insert(&self, endpoint: Endpoint) -> Result<Guard, Error> {
        let shared = &self.0.0;
        let is_server = matches!(endpoint, Endpoint::Server(_));
        let mut places = shared.places();
        let token = places.free.last().copied().unwrap_or(places.places.len());
        let place = Place::new(endpoint, Notify::new(Arc::clone(&shared.doorbell), token));
        place.with_descriptor(|descriptor| shared.events.watch(descriptor, token as u64))?;
        if places.free.pop().is_none() {
            places.places.push(None);
        }
        places.places[token] = Some(Arc::clone(&place));
        if is_server {
            places.servers.push(token);
        }
        drop(places);
        // Edges from before are not reported, so assume one.
        place.look(Some(true));
        Ok(Guard { driver: self.clone(), token, place })
    }
}

/// Processes the events of a driver's channels. For a runtime that waits for descriptors itself, so that waking a task
/// involves no other thread: the descriptor is readable when there are events.
#[derive(Debug)]
pub struct EventLoop {
    shared: Arc<Shared>,
    happened: Vec<(usize, bool)>,
    tokens: Vec<usize>,
}

/// When to turn an [`EventLoop`] next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
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
    pub fn turn(&mut self) -> Next {
        let is_all = self.pass(Some(Duration::ZERO));
        if self.shared.is_over() {
            return Next::Over;
        }
        // Order matters: a ring from now on makes the descriptor readable.
        let sleeps = self.shared.doorbell.fall_asleep();
        if is_all && sleeps { Next::Readable { until: self.shared.next_deadline() } } else { Next::Now }
    }

    /// Turns until the driver has ended.
    fn run(&mut self) {
        while !self.shared.is_over() {
            let deadline = self.shared.next_deadline();
            let wait = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            self.pass(if self.shared.doorbell.fall_asleep() { wait } else { Some(Duration::ZERO) });
        }
    }

    /// Waits up to `wait` for events and handles them. Returns whether those were all.
    fn pass(&mut self, wait: Option<Duration>) -> bool {
        let Self { shared, happened, tokens } = self;
        // An error would mean bad arguments, which do not change; the doorbell and the deadlines work without it.
        let is_all = shared.events.wait(wait, |token, may_be_over| match token {
            DOORBELL => shared.doorbell.drain(),
            token => happened.push((token as usize, may_be_over)),
        });
        shared.doorbell.awake();
        happened.drain(..).for_each(|(token, may_be_over)| shared.look(token, Some(may_be_over)));
        shared.doorbell.take_tokens(tokens);
        tokens.drain(..).for_each(|token| shared.look(token, None));
        shared.look_late();
        shared.end_lingering();
        shared.doorbell.take_woken();
        is_all.unwrap_or(true)
    }
}

impl AsFd for EventLoop {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.events.as_fd()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.places().is_over = true;
        Waker(Arc::clone(&self.0.doorbell)).wake();
    }
}

/// Keeps a channel registered with its driver.
#[derive(Debug)]
pub(super) struct Guard {
    driver: Driver,
    token: usize,
    place: Arc<Place>,
}

impl Guard {
    pub(super) fn place(&self) -> &Place {
        &self.place
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let shared = &self.driver.0.0;
        let mut places = shared.places();
        if self.place.abandon() {
            shared.remove(&mut places, self.token);
        } else {
            places.lingering.push((self.token, Instant::now() + LINGER));
            drop(places);
            Waker(Arc::clone(&shared.doorbell)).wake();
        }
    }
}

impl Shared {
    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, places: &mut Places, token: usize) {
        places.servers.retain(|server| *server != token);
        if let Some(place) = places.places[token].take() {
            // Fails only for a descriptor that is not watched.
            let _ = place.with_descriptor(|descriptor| self.events.forget(descriptor));
            places.free.push(token);
        }
    }

    fn look(&self, token: usize, signalled: Option<bool>) {
        // If the token was reused, the new channel gets one superfluous look.
        let place = self.places().places.get(token).cloned().flatten();
        if let Some(place) = place {
            if signalled.is_none() {
                place.notify.seen();
            }
            place.look(signalled);
        }
    }

    /// Looks at servers whose deadline has passed.
    fn look_late(&self) {
        let now = Instant::now();
        let places = self.places();
        let is_late = |token: &usize| {
            let place = places.places[*token].as_ref();
            place.and_then(|place| place.next_deadline()).is_some_and(|deadline| deadline <= now)
        };
        let late = Vec::from_iter(places.servers.iter().copied().filter(is_late));
        drop(places);
        late.into_iter().for_each(|token| self.look(token, None));
    }

    fn is_over(&self) -> bool {
        let places = self.places();
        places.is_over && places.lingering.is_empty()
    }

    fn next_deadline(&self) -> Option<Instant> {
        let places = self.places();
        let servers = places.servers.iter().filter_map(|token| places.places[*token].as_ref()?.next_deadline());
        servers.chain(places.lingering.iter().map(|(_, until)| *until)).min()
    }

    fn end_lingering(&self) {
        let mut places = self.places();
        let now = Instant::now();
        let lingering = std::mem::take(&mut places.lingering);
        for (token, until) in lingering {
            let is_closed = places.places[token].as_ref().is_none_or(|place| place.is_closed());
            if is_closed || now >= until {
                self.remove(&mut places, token);
            } else {
                places.lingering.push((token, until));
            }
        }
    }
}
