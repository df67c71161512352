//! A channel, or a server channel, that tasks and the driver share.

use std::{
    os::fd::BorrowedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::Instant,
};

use crate::{Channel, Error, Operations, ServerChannel, notify::Notify};

/// The operations that a task can wait for, each with room for one waker.
const WAITED_FOR: [Operations; 4] = [Operations::CONNECT, Operations::ACCEPT, Operations::RECEIVE, Operations::SEND];

#[derive(Debug)]
pub(super) struct WatchedEndpoint {
    state: Mutex<EndpointState>,
    pub(super) notify: Arc<Notify>,
}

#[derive(Debug)]
struct EndpointState {
    endpoint: Endpoint,
    wakers: Wakers,
    /// The channel knows where to report returned buffers. It must be connected for that.
    is_notifying: bool,
    is_abandoned: bool,
    is_closed: bool,
}

#[derive(Debug)]
pub(super) enum Endpoint {
    Channel(Channel),
    Server(ServerChannel),
}

/// Wakers of the waiting tasks, in the order of [`WAITED_FOR`].
type Wakers = [Option<Waker>; WAITED_FOR.len()];

impl WatchedEndpoint {
    pub(super) fn new(endpoint: Endpoint, notify: Arc<Notify>) -> Arc<Self> {
        let state = EndpointState {
            endpoint,
            wakers: Wakers::default(),
            is_notifying: false,
            is_abandoned: false,
            is_closed: false,
        };
        Arc::new(Self { state: Mutex::new(state), notify })
    }

    fn state(&self) -> MutexGuard<'_, EndpointState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn with_descriptor<T>(&self, act: impl FnOnce(BorrowedFd<'_>) -> T) -> T {
        act(self.state().endpoint.descriptor())
    }

    /// Applies `act` to the channel.
    ///
    /// # Panics
    ///
    /// For a server channel; no half holds the guard of one.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Channel) -> T) -> T {
        let mut state = self.state();
        match &mut state.endpoint {
            Endpoint::Channel(channel) => act(channel),
            Endpoint::Server(_) => unreachable!("halves are of channels"),
        }
    }

    /// Returns the result of `act`, or registers a waker for a later attempt.
    pub(super) fn poll<T>(
        &self,
        context: &mut Context<'_>,
        operation: Operations,
        act: impl FnOnce(&mut Channel) -> Result<Option<T>, Error>,
    ) -> Poll<Result<T, Error>> {
        let mut state = self.state();
        let Endpoint::Channel(channel) = &mut state.endpoint else { unreachable!("halves are of channels") };
        let done = act(channel).transpose();
        if done.is_none() {
            state.wait(operation, context);
        }
        // Progress made for one task may be what another one waits for.
        let ready = state.settle();
        drop(state);
        wake(ready);
        done.map_or(Poll::Pending, Poll::Ready)
    }

    pub(super) fn poll_accept(&self, context: &mut Context<'_>) -> Poll<Result<Channel, Error>> {
        let mut state = self.state();
        let Endpoint::Server(server) = &mut state.endpoint else { unreachable!("a server has no halves") };
        match server.accept().transpose() {
            Some(accepted) => Poll::Ready(accepted),
            None => {
                state.wait(Operations::ACCEPT, context);
                Poll::Pending
            }
        }
    }

    /// Makes progress and wakes the tasks that can continue. `signalled`: the descriptor signalled, and whether the
    /// peer may be gone.
    pub(super) fn look(&self, signalled: Option<bool>) {
        let mut state = self.state();
        if state.is_abandoned {
            state.close(signalled);
            return;
        }
        if let Endpoint::Channel(channel) = &mut state.endpoint {
            if let Some(may_be_over) = signalled {
                channel.signalled(may_be_over);
            }
            channel.progress();
            if channel.is_connected() && !state.is_notifying {
                state.is_notifying = true;
                state.set_notify(Some(Arc::clone(&self.notify)));
            }
        }
        let ready = state.settle();
        drop(state);
        wake(ready);
    }

    /// When a server channel must be looked at without an event.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        match &self.state().endpoint {
            Endpoint::Channel(_) => None,
            Endpoint::Server(server) => server.next_deadline(),
        }
    }

    /// Marks the channel as dropped: from now on a look closes it. Returns whether nothing is left to send.
    pub(super) fn abandon(&self) -> bool {
        let mut state = self.state();
        state.is_abandoned = true;
        state.set_notify(None);
        state.close(None);
        state.is_closed
    }

    /// Whether nothing was left to send at the last look.
    pub(super) fn is_closed(&self) -> bool {
        self.state().is_closed
    }
}

impl EndpointState {
    fn wait(&mut self, operation: Operations, context: &Context<'_>) {
        for (waker, waited_for) in self.wakers.iter_mut().zip(WAITED_FOR) {
            if waited_for == operation && !waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
                *waker = Some(context.waker().clone());
            }
        }
    }

    /// Takes the wakers of all tasks that can continue. The descriptor signals for the others.
    fn settle(&mut self) -> Wakers {
        let mut ready = Wakers::default();
        loop {
            if self.wakers.iter().all(Option::is_none) {
                return ready;
            }
            self.take_ready(&mut ready);
            if self.rest() {
                return ready;
            }
        }
    }

    fn take_ready(&mut self, taken: &mut Wakers) {
        let ready = match &mut self.endpoint {
            Endpoint::Channel(channel) => channel.ready(),
            Endpoint::Server(server) => server.ready(),
        };
        for ((waker, taken), operation) in self.wakers.iter_mut().zip(taken).zip(WAITED_FOR) {
            if ready.contains(operation) && waker.is_some() {
                *taken = waker.take();
            }
        }
    }

    /// Makes the descriptor signal what tasks wait for. Returns false if some of it is already there.
    fn rest(&mut self) -> bool {
        let Endpoint::Channel(channel) = &mut self.endpoint else { return true };
        let waiting = self.wakers.iter().zip(WAITED_FOR).filter(|(waker, _)| waker.is_some());
        channel.rest(waiting.fold(Operations::NONE, |set, (_, operation)| set | operation))
    }

    fn set_notify(&mut self, notify: Option<Arc<Notify>>) {
        if let Endpoint::Channel(channel) = &mut self.endpoint {
            channel.set_notify(notify);
        }
    }

    fn close(&mut self, signalled: Option<bool>) {
        self.is_closed = match &mut self.endpoint {
            Endpoint::Channel(channel) => {
                if let Some(may_be_over) = signalled {
                    channel.signalled(may_be_over);
                }
                channel.close()
            }
            Endpoint::Server(_) => true,
        };
    }
}

impl Endpoint {
    fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Self::Channel(channel) => channel.descriptor(),
            Self::Server(server) => server.descriptor(),
        }
    }
}

fn wake(wakers: Wakers) {
    wakers.into_iter().flatten().for_each(Waker::wake);
}
