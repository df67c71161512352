//! What the threads of a node do, one function each.

use std::{
    sync::atomic::Ordering::Relaxed,
    thread::{Builder, JoinHandle},
};

use ledger::journal::Committer;
use nic::{Departures, Transmit};
use wire::Status;

use crate::{Error, shared::Shared};

/// Starts a thread; `processor` pins it.
pub fn spawn<T: Send + 'static>(
    name: &str,
    processor: Option<usize>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Error> {
    let name = name.to_owned();
    let run = {
        let name = name.clone();
        move || {
            if let Some(processor) = processor
                && let Err(error) = nic::pin_thread(processor)
            {
                tracing::warn!(thread = name, processor, %error, "cannot pin the thread; it runs anywhere");
            }
            work()
        }
    };
    Builder::new().name(name).spawn(run).map_err(|source| Error::System { what: "a thread", source })
}

/// Commits what was submitted and sends the replies that waited for it, until the journal is closed.
pub fn commit(mut committer: Committer, mut departures: Departures, mut transmit: impl Transmit, shared: &Shared) {
    while let Some(result) = committer.commit() {
        match result {
            Ok(durable) => departures.release(durable, &mut transmit),
            Err(error) => {
                if !shared.storage_failed.swap(true, Relaxed) {
                    tracing::error!(%error, "the journal cannot be written: reads only from now on");
                }
                departures.refuse(Status::StorageFailed, &mut transmit);
            }
        }
    }
}
