//! The selector: reports which of many channels are ready.
//!
//! State: the slots of channels and server channels; `hot`, those that may be ready without a further event; `used`,
//! those that the user accessed since the last selection; the doorbell, through which other threads wake the selector
//! or name a channel to look at.
//!
//! [`Selector::select`] repeats these steps until a channel is ready, the waker was used or the time is over:
//!
//! 1. Once: forget the last selection, and flush the used channels.
//! 2. Look at each hot channel: make progress, and compare the ready operations with its interest. A ready one is
//!    selected and stays hot. A polled one (`shm://`) stays hot for a number of looks. Any other one asks to be woken:
//!    if something arrived meanwhile it stays hot, otherwise it is cold.
//! 3. If something is selected, return; after 16 such selections, ask the kernel for events first, without waiting.
//! 4. If channels are hot, repeat step 2; every 64 rounds, ask the kernel without waiting, and yield the processor.
//! 5. Otherwise announce the sleep at the doorbell, and sleep in the kernel until an event, the next deadline of a
//!    greeting, or the timeout. Each event makes its channel hot.
//!
//! No wake is lost: a channel publishes its wish before it looks a last time, and the doorbell announces the sleep
//! before it checks for calls. Readiness is level-triggered, although the kernel's events are edges: a channel stays
//! hot until a look finds nothing.

use std::{
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    Channel, Error, Operations, ServerChannel,
    events::Events,
    notify::{Doorbell, Notify, Waker},
    spinning::Spinning,
};

/// The token of the selector's own doorbell, which no channel has.
const DOORBELL: u64 = u64::MAX;

/// Selections that find work before the selector asks the kernel again. A system call costs about as much as this many
/// messages of a polled channel.
const UNASKED: u32 = 16;

/// The same for rounds that find nothing: some microseconds. It exceeds the minimum of looks, so that a selector that
/// spins least sleeps before it yields the processor.
const UNASKED_ROUNDS: u32 = 64;

/// Identifies a channel in a selector. The key of a removed channel stays invalid, even if its slot is reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SelectionKey {
    token: usize,
    generation: u32,
}

/// Owns channels and waits until some of them are ready (`java.nio.channels.Selector`).
///
/// Readiness is level-triggered: a channel that still has a message is in the next selection, too. Channels without
/// events cost nothing.
pub struct Selector {
    events: Events,
    doorbell: Arc<Doorbell>,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Slots of server channels, which have deadlines.
    servers: Vec<usize>,
    /// Slots that may be ready even without a further event.
    hot: Vec<usize>,
    /// Slots whose channels the user accessed since the last selection and may have sent on.
    used: Vec<usize>,
    selected: Vec<(SelectionKey, Operations)>,
    /// Scratch space for the tokens of one turn.
    tokens: Vec<usize>,
    /// Selections since the kernel was last asked.
    unasked: u32,
    spinning: Spinning,
}

struct Slot {
    generation: u32,
    entry: Option<Entry>,
}

struct Entry {
    endpoint: Endpoint,
    interest: Operations,
    notify: Arc<Notify>,
    /// The channel knows where to report returned buffers. It must be connected for that.
    is_notifying: bool,
    is_hot: bool,
    is_used: bool,
    is_selected: bool,
    /// Consecutive looks that found nothing.
    idle: u32,
}

enum Endpoint {
    Channel(Box<Channel>),
    Server(Box<ServerChannel>),
}

impl Selector {
    /// Creates a selector without channels.
    ///
    /// # Errors
    ///
    /// [`Error::System`] if the process has run out of descriptors.
    pub fn new() -> Result<Self, Error> {
        let events = Events::new()?;
        let doorbell = Doorbell::new()?;
        events.watch_level(doorbell.as_fd(), DOORBELL)?;
        Ok(Self {
            events,
            doorbell,
            slots: Vec::new(),
            free: Vec::new(),
            servers: Vec::new(),
            hot: Vec::new(),
            used: Vec::new(),
            selected: Vec::new(),
            tokens: Vec::new(),
            unasked: 0,
            spinning: Spinning::new(),
        })
    }

    /// Returns a handle that wakes the selector from another thread.
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.doorbell))
    }

    /// Registers a channel for the operations in `interest`.
    ///
    /// # Errors
    ///
    /// [`Error::System`] if the kernel refuses to watch another descriptor.
    pub fn register(&mut self, channel: Channel, interest: Operations) -> Result<SelectionKey, Error> {
        self.insert(Endpoint::Channel(Box::new(channel)), interest)
    }

    /// Registers a server channel for [`Operations::ACCEPT`].
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register).
    pub fn register_server(&mut self, server: ServerChannel) -> Result<SelectionKey, Error> {
        self.insert(Endpoint::Server(Box::new(server)), Operations::ACCEPT)
    }

    fn insert(&mut self, mut endpoint: Endpoint, interest: Operations) -> Result<SelectionKey, Error> {
        let token = self.free.last().copied().unwrap_or(self.slots.len());
        self.events.watch(endpoint.descriptor(), token as u64)?;
        if self.free.pop().is_none() {
            self.slots.push(Slot { generation: 0, entry: None });
        }
        match &mut endpoint {
            Endpoint::Channel(channel) => {
                channel.set_watched(true);
                channel.set_flushed(true);
                // Edges from before the registration are not reported, so assume one.
                channel.signalled(true);
            }
            Endpoint::Server(_) => self.servers.push(token),
        }
        let notify = Notify::new(Arc::clone(&self.doorbell), token);
        let slot = &mut self.slots[token];
        slot.entry = Some(Entry {
            endpoint,
            interest,
            notify,
            is_notifying: false,
            is_hot: false,
            is_used: false,
            is_selected: false,
            idle: 0,
        });
        let generation = slot.generation;
        self.heat(token);
        Ok(SelectionKey { token, generation })
    }

    /// Removes a channel from the selector and returns it.
    ///
    /// # Errors
    ///
    /// [`Error::StaleKey`], also for the key of a server channel.
    pub fn deregister(&mut self, key: SelectionKey) -> Result<Channel, Error> {
        self.channel(key)?;
        match self.remove(key)? {
            Endpoint::Channel(mut channel) => {
                channel.set_notify(None);
                channel.set_watched(false);
                channel.set_flushed(false);
                Ok(*channel)
            }
            Endpoint::Server(_) => Err(Error::StaleKey),
        }
    }

    /// Removes a channel or a server channel and closes it.
    ///
    /// # Errors
    ///
    /// [`Error::StaleKey`].
    pub fn close(&mut self, key: SelectionKey) -> Result<(), Error> {
        self.remove(key).map(drop)
    }

    fn remove(&mut self, key: SelectionKey) -> Result<Endpoint, Error> {
        self.entry(key)?;
        let slot = &mut self.slots[key.token];
        let entry = slot.entry.take().ok_or(Error::StaleKey)?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(key.token);
        for tokens in [&mut self.hot, &mut self.used, &mut self.servers] {
            tokens.retain(|token| *token != key.token);
        }
        self.selected.retain(|(selected, _)| *selected != key);
        self.events.forget(entry.endpoint.descriptor())?;
        Ok(entry.endpoint)
    }

    /// Returns the channel of a key.
    ///
    /// # Errors
    ///
    /// [`Error::StaleKey`], also for the key of a server channel.
    pub fn channel(&mut self, key: SelectionKey) -> Result<&mut Channel, Error> {
        let slot = self.slots.get_mut(key.token).filter(|slot| slot.generation == key.generation);
        let Some(Entry { endpoint: Endpoint::Channel(channel), is_used, .. }) =
            slot.and_then(|slot| slot.entry.as_mut())
        else {
            return Err(Error::StaleKey);
        };
        if !std::mem::replace(is_used, true) {
            self.used.push(key.token);
        }
        Ok(channel)
    }

    /// Returns the server channel of a key.
    ///
    /// # Errors
    ///
    /// [`Error::StaleKey`], also for the key of a channel.
    pub fn server(&mut self, key: SelectionKey) -> Result<&mut ServerChannel, Error> {
        match &mut self.entry(key)?.endpoint {
            Endpoint::Server(server) => Ok(server),
            Endpoint::Channel(_) => Err(Error::StaleKey),
        }
    }

    /// Returns the operations that a channel is registered for.
    ///
    /// # Errors
    ///
    /// [`Error::StaleKey`].
    pub fn interest(&mut self, key: SelectionKey) -> Result<Operations, Error> {
        Ok(self.entry(key)?.interest)
    }

    /// Changes the operations that a channel is registered for, from the next selection on.
    ///
    /// # Errors
    ///
    /// [`Error::StaleKey`].
    pub fn set_interest(&mut self, key: SelectionKey, interest: Operations) -> Result<(), Error> {
        self.entry(key)?.interest = interest;
        self.heat(key.token);
        Ok(())
    }

    fn entry(&mut self, key: SelectionKey) -> Result<&mut Entry, Error> {
        let slot = self.slots.get_mut(key.token).filter(|slot| slot.generation == key.generation);
        slot.and_then(|slot| slot.entry.as_mut()).ok_or(Error::StaleKey)
    }

    /// Number of channels and server channels.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether the selector has no channels.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until a channel is ready, the timeout passes or the [waker](Self::waker) is used. Returns the number of
    /// ready channels; [`selected`](Self::selected) lists them.
    ///
    /// `None` waits forever, a timeout of zero does not wait.
    ///
    /// # Errors
    ///
    /// [`Error::System`]; nothing is lost then. A channel that failed counts as ready and reports its own error.
    pub fn select(&mut self, timeout: Option<Duration>) -> Result<usize, Error> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        for (key, _) in self.selected.drain(..) {
            if let Some(entry) = self.slots[key.token].entry.as_mut() {
                entry.is_selected = false;
            }
        }
        self.flush();
        for round in 1_u32.. {
            self.look_at_hot();
            // Ask the kernel rarely while there is work, and seldom while polling.
            if !self.selected.is_empty() && self.unasked < UNASKED {
                self.unasked += 1;
                self.doorbell.take_woken();
                break;
            }
            let is_idle = self.selected.is_empty() && self.hot.is_empty();
            if self.selected.is_empty() && !is_idle && round % UNASKED_ROUNDS != 0 && timeout != Some(Duration::ZERO) {
                std::hint::spin_loop();
                continue;
            }
            self.unasked = 0;
            self.ask(if is_idle { self.time_left(deadline) } else { Some(Duration::ZERO) })?;
            self.heat_servers();
            self.look_at_hot();
            let is_over = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if self.doorbell.take_woken() || !self.selected.is_empty() || is_over {
                break;
            }
            if !is_idle {
                // The thread that this one waits for may have no other processor.
                let begun = Instant::now();
                std::thread::yield_now();
                self.spinning.yielded(begun.elapsed());
            }
        }
        Ok(self.selected.len())
    }

    /// Sends what is queued in channels that the user accessed.
    fn flush(&mut self) {
        for token in self.used.drain(..) {
            if let Some(entry) = self.slots[token].entry.as_mut() {
                entry.is_used = false;
                if let Endpoint::Channel(channel) = &mut entry.endpoint {
                    channel.flush();
                }
            }
        }
    }

    /// How long the selector may sleep.
    fn time_left(&self, deadline: Option<Instant>) -> Option<Duration> {
        let earliest = deadline.into_iter().chain(self.next_greeting()).min()?;
        Some(earliest.saturating_duration_since(Instant::now()))
    }

    /// Asks the kernel for events. Sleeps until there is one, if time allows.
    fn ask(&mut self, time: Option<Duration>) -> Result<(), Error> {
        if time == Some(Duration::ZERO) || !self.doorbell.fall_asleep() {
            return self.wait(Some(Duration::ZERO));
        }
        let asleep = Instant::now();
        let waited = self.wait(time);
        self.doorbell.awake();
        self.spinning.slept(asleep.elapsed());
        waited
    }

    /// Returns the channels that the last selection found ready, with the operations that each is ready for.
    pub fn selected(&self) -> impl Iterator<Item = (SelectionKey, Operations)> + '_ {
        self.selected.iter().copied()
    }

    /// Takes events from the kernel and marks their channels hot.
    fn wait(&mut self, timeout: Option<Duration>) -> Result<(), Error> {
        let (slots, hot, doorbell) = (&mut self.slots, &mut self.hot, &self.doorbell);
        self.events.wait(timeout, |token, may_be_over| match token {
            DOORBELL => doorbell.drain(),
            token => {
                let token = token as usize;
                if let Some(entry) = slots.get_mut(token).and_then(|slot| slot.entry.as_mut()) {
                    entry.endpoint.signalled(may_be_over);
                    entry.heat(token, hot);
                }
            }
        })?;
        Ok(())
    }

    /// The next deadline for a greeting on a server channel.
    fn next_greeting(&self) -> Option<Instant> {
        self.servers.iter().filter_map(|token| self.deadline(*token)).min()
    }

    fn deadline(&self, token: usize) -> Option<Instant> {
        match &self.slots[token].entry.as_ref()?.endpoint {
            Endpoint::Server(server) => server.next_deadline(),
            Endpoint::Channel(_) => None,
        }
    }

    /// Marks server channels hot whose deadline has passed, although they have no event.
    fn heat_servers(&mut self) {
        for at in 0..self.servers.len() {
            let token = self.servers[at];
            if self.deadline(token).is_some_and(|deadline| deadline <= Instant::now()) {
                self.heat(token);
            }
        }
    }

    fn heat(&mut self, token: usize) {
        if let Some(entry) = self.slots[token].entry.as_mut() {
            entry.heat(token, &mut self.hot);
        }
    }

    /// Looks at all channels that had an event, or were ready at the last look.
    fn look_at_hot(&mut self) {
        let mut tokens = std::mem::take(&mut self.tokens);
        self.doorbell.take_tokens(&mut tokens);
        for token in tokens.drain(..) {
            if let Some(entry) = self.slots[token].entry.as_ref() {
                entry.notify.seen();
                self.heat(token);
            }
        }
        self.tokens = std::mem::replace(&mut self.hot, tokens);
        let looks = self.spinning.looks(self.tokens.len());
        for at in 0..self.tokens.len() {
            let token = self.tokens[at];
            let slot = &mut self.slots[token];
            let Some(entry) = slot.entry.as_mut() else { continue };
            let ready = entry.look();
            entry.is_hot = !ready.is_empty() || entry.is_awake(looks);
            if entry.is_hot {
                self.hot.push(token);
            }
            if !ready.is_empty() {
                entry.idle = 0;
                if !std::mem::replace(&mut entry.is_selected, true) {
                    self.selected.push((SelectionKey { token, generation: slot.generation }, ready));
                }
            }
        }
        self.tokens.clear();
    }
}

impl Entry {
    /// Adds the entry to the hot ones unless it is already there.
    fn heat(&mut self, token: usize, hot: &mut Vec<usize>) {
        if !std::mem::replace(&mut self.is_hot, true) {
            hot.push(token);
        }
    }

    /// Makes progress without waiting, and returns which operations of the interest are ready.
    fn look(&mut self) -> Operations {
        match &mut self.endpoint {
            Endpoint::Channel(channel) => {
                channel.progress();
                if !self.is_notifying && channel.is_connected() {
                    self.is_notifying = true;
                    channel.set_notify(Some(Arc::clone(&self.notify)));
                }
                channel.ready() & self.interest
            }
            Endpoint::Server(server) => server.ready() & self.interest,
        }
    }
}

impl Entry {
    /// Whether to look at the entry again although it is not ready: it is still being polled, or something arrived
    /// meanwhile.
    fn is_awake(&mut self, looks: u32) -> bool {
        let Endpoint::Channel(channel) = &mut self.endpoint else { return false };
        if channel.is_polled() && self.idle < looks {
            self.idle += 1;
            return true;
        }
        self.idle = 0;
        !channel.rest(self.interest)
    }
}

impl Endpoint {
    fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Self::Channel(channel) => channel.descriptor(),
            Self::Server(server) => server.descriptor(),
        }
    }

    fn signalled(&mut self, may_be_over: bool) {
        match self {
            Self::Channel(channel) => channel.signalled(may_be_over),
            Self::Server(_) => {}
        }
    }
}

impl std::fmt::Debug for Selector {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Selector")
            .field("channels", &self.len())
            .field("selected", &self.selected)
            .finish_non_exhaustive()
    }
}
