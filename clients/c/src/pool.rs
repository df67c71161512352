//! The connections of a client, and the calls that wait for one.
//!
//! A call takes an idle connection. Without one it waits in a queue: the call that gives a connection back hands it
//! to the first in the queue, which sends its own operation together with the single operations that wait after it.
//! So nothing waits for a frame to fill, no thread is needed beside those of the callers, and each connection has a
//! frame in flight.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use client::Pipeline;
use wire::Promise;

use crate::failure::Failure;
use crate::frames::{self, Entries, Order};
use crate::options::Settings;
use crate::{ClientStatus, Execution, Operation, OperationResult};

/// Maximum number of operations in a frame that callers share: those that fit in the longest one.
const SHARED: usize = 1023;

/// The first pause after no node accepted a connection; doubled each time, up to a second.
const PAUSE: Duration = Duration::from_millis(20);

/// The result of an operation, and the reason that no connection could be used, if any.
type Done = (OperationResult, Option<Arc<str>>);

/// The right to use a connection. It is opened when it is first used, and again after an error.
#[derive(Debug, Default)]
struct Connection {
    /// For operations.
    pipeline: Option<Box<Pipeline>>,
    /// For reads.
    reader: Option<Box<client::Client>>,
}

/// A message to a waiting call.
#[derive(Debug)]
enum Message {
    /// It may use this connection.
    Lead(Connection),
    /// Another call has sent its operation, or the client was closed before.
    Done(Done),
}

/// A waiting call.
#[derive(Debug)]
struct Waiting {
    ticket: u64,
    /// An operation that may share a frame; `None` if the call needs a connection for itself.
    operation: Option<(Operation, Promise)>,
    sender: Sender<Message>,
}

#[derive(Debug, Default)]
struct State {
    idle: Vec<Connection>,
    waiting: VecDeque<Waiting>,
    tickets: u64,
}

/// The connections of a client.
#[derive(Debug)]
pub(crate) struct Pool {
    settings: Settings,
    state: Mutex<State>,
    is_closed: AtomicBool,
    /// How long the node recognises repetitions of operations whose ids carry no time, once it was asked.
    recognised: OnceLock<Duration>,
    retries: AtomicU64,
    turns: AtomicU64,
}

impl Pool {
    pub(crate) fn new(settings: Settings) -> Self {
        let idle = (0..settings.connections).map(|_| Connection::default()).collect();
        let state = Mutex::new(State { idle, ..State::default() });
        Self {
            settings,
            state,
            is_closed: AtomicBool::new(false),
            recognised: OnceLock::new(),
            retries: AtomicU64::new(0),
            turns: AtomicU64::new(0),
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Ends waiting calls, and those in flight within the wait of a frame's step.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        let waiting = std::mem::take(&mut self.lock().waiting);
        for waiting in waiting {
            let unsent = OperationResult::failed(ClientStatus::TurnpikeClosed, Execution::None);
            // Each waits, so this cannot fail.
            let _ = waiting.sender.send(Message::Done((unsent, None)));
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Number of repeated requests, and of switches to another node.
    pub(crate) fn counters(&self) -> (u64, u64) {
        (self.retries.load(Ordering::Relaxed), self.turns.load(Ordering::Relaxed))
    }

    /// No code that can panic runs with the lock, so the state is consistent.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes one operation, in a frame with those of other calls that wait.
    pub(crate) fn share(&self, operation: Operation, promise: Promise) -> Result<Done, Failure> {
        match self.acquire(Some((operation, promise)))? {
            Message::Done(done) => Ok(done),
            Message::Lead(connection) => Ok(self.lead(self.lease(connection), operation, promise)),
        }
    }

    /// Executes operations over a connection of their own.
    pub(crate) fn submit(
        &self,
        entries: Entries<'_>,
        order: Order,
        results: &mut [OperationResult],
    ) -> Result<Option<Arc<str>>, Failure> {
        Ok(self.execute(&mut self.exclusive()?, entries, order, results))
    }

    /// Reads by a client over a connection of its own.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&mut client::Client) -> Result<T, client::Error>,
    ) -> Result<T, Failure> {
        let mut lease = self.exclusive()?;
        let reader = match &mut lease.connection.reader {
            Some(reader) => reader,
            empty => {
                let Settings { node, client, .. } = &self.settings;
                let opened = self
                    .open(|| client::Client::connect(*node, client))
                    .map_err(|reason| Failure::new(ClientStatus::TurnpikeUnreachable, self.unreachable(&reason)))?;
                empty.insert(Box::new(opened))
            }
        };
        let before = (reader.retries(), reader.turns());
        let outcome = read(reader);
        self.count(before, (reader.retries(), reader.turns()));
        if let Err(client::Error::Socket { .. }) = outcome {
            lease.connection.reader = None;
        }
        Ok(outcome?)
    }

    /// Asks the node, once, how long it recognises repetitions of operations whose ids carry no time.
    pub(crate) fn limit_retries(&self) -> Result<(), Failure> {
        if self.recognised.get().is_none() {
            let milliseconds = self.read(|client| client.info())?.retry_milliseconds.get();
            let _ = self.recognised.set(Duration::from_millis(milliseconds.into()));
        }
        Ok(())
    }

    fn exclusive(&self) -> Result<Lease<'_>, Failure> {
        match self.acquire(None)? {
            Message::Lead(connection) => Ok(self.lease(connection)),
            Message::Done(_) => Err(Failure::of(ClientStatus::TurnpikeClosed)),
        }
    }

    fn lease(&self, connection: Connection) -> Lease<'_> {
        Lease { pool: self, connection }
    }

    /// Waits for a connection, or until another call has sent the operation.
    fn acquire(&self, operation: Option<(Operation, Promise)>) -> Result<Message, Failure> {
        let (sender, receiver) = channel();
        let ticket = {
            let mut state = self.lock();
            if self.is_closed() {
                return Err(Failure::of(ClientStatus::TurnpikeClosed));
            }
            if let Some(connection) = state.idle.pop() {
                return Ok(Message::Lead(connection));
            }
            state.tickets += 1;
            let ticket = state.tickets;
            state.waiting.push_back(Waiting { ticket, operation, sender });
            ticket
        };
        self.wait(&receiver, ticket, operation.is_some())
    }

    fn wait(&self, receiver: &Receiver<Message>, ticket: u64, is_operation: bool) -> Result<Message, Failure> {
        let lost = || {
            // A panic has ended the call that had taken the operation.
            let execution = if is_operation { Execution::Unknown } else { Execution::None };
            Failure { execution, ..Failure::internal() }
        };
        match receiver.recv_timeout(self.settings.timeout()) {
            Ok(message) => return Ok(message),
            Err(RecvTimeoutError::Disconnected) => return Err(lost()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let mut state = self.lock();
        if let Some(place) = state.waiting.iter().position(|waiting| waiting.ticket == ticket) {
            state.waiting.remove(place);
            let waited = self.settings.timeout();
            let message = format!(
                "every connection was in use for {waited:?}, so nothing was sent; raise `connections` or `timeout_ms`"
            );
            return Err(Failure::new(ClientStatus::TurnpikeNoReply, message));
        }
        drop(state);
        // Another call has taken it out of the queue, and sends its result within the timeout.
        receiver.recv().map_err(|_| lost())
    }

    /// Takes the single operations at the front of the queue that may share a frame with one at this promise.
    fn followers(&self, promise: Promise) -> Vec<(Operation, Sender<Message>)> {
        let mut followers = Vec::new();
        let mut state = self.lock();
        while followers.len() + 1 < SHARED {
            let is_one = |waiting: &Waiting| waiting.operation.is_some_and(|(_, requested)| requested == promise);
            let Some(waiting) = state.waiting.pop_front_if(|waiting| is_one(waiting)) else { break };
            if let Some((operation, _)) = waiting.operation {
                followers.push((operation, waiting.sender));
            }
        }
        followers
    }

    /// Sends an operation, and those that wait after it.
    fn lead(&self, mut lease: Lease<'_>, operation: Operation, promise: Promise) -> Done {
        let followers = self.followers(promise);
        if followers.is_empty() {
            let mut result = [OperationResult::NOT_SENT];
            let entries = Entries::Operations(std::slice::from_ref(&operation), promise);
            let detail = self.execute(&mut lease, entries, Order::AsGiven, &mut result);
            return (result[0], detail);
        }
        let operations =
            Vec::from_iter([operation].into_iter().chain(followers.iter().map(|(operation, _)| *operation)));
        let mut results = vec![OperationResult::NOT_SENT; operations.len()];
        let entries = Entries::Operations(&operations, promise);
        let detail = self.execute(&mut lease, entries, Order::AsGiven, &mut results);
        // The next frame may leave before the followers wake.
        drop(lease);
        for ((_, sender), result) in followers.iter().zip(&results[1..]) {
            // Each waits, so this cannot fail.
            let _ = sender.send(Message::Done((*result, detail.clone())));
        }
        (results[0], detail)
    }

    /// Executes operations over a connection. Returns the reason that it could not be used, if any.
    fn execute(
        &self,
        lease: &mut Lease<'_>,
        entries: Entries<'_>,
        order: Order,
        results: &mut [OperationResult],
    ) -> Option<Arc<str>> {
        let pipeline = match &mut lease.connection.pipeline {
            Some(pipeline) => pipeline,
            empty => {
                let Settings { node, client, .. } = &self.settings;
                match self.open(|| Pipeline::connect(*node, client)) {
                    Ok(opened) => empty.insert(Box::new(opened)),
                    Err(reason) => {
                        let is_closed = self.is_closed();
                        let status =
                            if is_closed { ClientStatus::TurnpikeClosed } else { ClientStatus::TurnpikeUnreachable };
                        results.fill(OperationResult::failed(status, Execution::None));
                        return (!is_closed).then(|| self.unreachable(&reason).into());
                    }
                }
            }
        };
        if let Some(recognised) = self.recognised.get() {
            pipeline.limit_retries(*recognised);
        }
        let before = (pipeline.window().retries(), pipeline.turns());
        let outcome = frames::execute(pipeline, entries, order, results, || self.is_closed());
        self.count(before, (pipeline.window().retries(), pipeline.turns()));
        let error = outcome.err()?;
        lease.connection.pipeline = None;
        Some(error.to_string().into())
    }

    /// Opens a connection to a node that accepts one, until the time is over.
    fn open<T>(&self, connect: impl Fn() -> Result<T, client::Error>) -> Result<T, client::Error> {
        let (since, mut pause) = (Instant::now(), PAUSE);
        loop {
            match connect() {
                Err(_) if since.elapsed() + pause < self.settings.timeout() && !self.is_closed() => {
                    std::thread::sleep(pause);
                    pause = (2 * pause).min(Duration::from_secs(1)).min(self.settings.timeout() / 8);
                }
                outcome => return outcome,
            }
        }
    }

    fn unreachable(&self, reason: &client::Error) -> String {
        format!("no node of {} accepted a connection, so nothing was sent: {reason}", self.settings.names)
    }

    fn count(&self, before: (u64, u64), after: (u64, u64)) {
        self.retries.fetch_add(after.0.saturating_sub(before.0), Ordering::Relaxed);
        self.turns.fetch_add(after.1.saturating_sub(before.1), Ordering::Relaxed);
    }

    /// Passes a connection on to the first call in the queue.
    fn give_back(&self, mut connection: Connection) {
        let mut state = self.lock();
        while let Some(waiting) = state.waiting.pop_front() {
            match waiting.sender.send(Message::Lead(connection)) {
                Ok(()) => return,
                Err(unsent) => {
                    // A call leaves the queue before it stops waiting, so somebody waits.
                    let Message::Lead(returned) = unsent.0 else { return };
                    connection = returned;
                }
            }
        }
        state.idle.push(connection);
    }
}

/// A connection in use, which returns to the pool when it is dropped.
#[derive(Debug)]
struct Lease<'a> {
    pool: &'a Pool,
    connection: Connection,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let connection = std::mem::take(&mut self.connection);
        // After a panic a connection may be in any state.
        let is_sound = !std::thread::panicking();
        self.pool.give_back(if is_sound { connection } else { Connection::default() });
    }
}
