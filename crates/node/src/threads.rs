//! Threads: starting them, and waiting for their end.

use std::thread::{self, Builder, JoinHandle};

use crate::Error;

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
                tracing::warn!(thread = name, processor, %error, "cannot pin the thread: it runs on any processor");
            }
            work()
        }
    };
    Builder::new().name(name).spawn(run).map_err(|source| Error::System { what: "a thread", source })
}

/// Waits for the end of a thread, and logs a panic.
pub fn join(thread: JoinHandle<()>) {
    let name = thread.thread().name().unwrap_or_default().to_owned();
    if thread.join().is_err() {
        tracing::error!(thread = name, "the thread panicked");
    }
}

/// Name of a thread that executes operations.
pub(crate) const IO: &str = "io";
/// Name of the thread that writes the journal.
pub(crate) const JOURNAL: &str = "journal";
/// Name of the thread that executes what replicas ordered.
pub(crate) const EXECUTOR: &str = "executor";
/// Name of the thread that builds blocks.
pub(crate) const BUILDER: &str = "builder";

/// The threads that change or keep money, or clients' items. If one of them panics, the program's state may be wrong.
const KEEPERS: [&str; 6] = [IO, JOURNAL, EXECUTOR, BUILDER, kv::server::WORKER, kv::server::UDP];

/// Logs the reason of a panic after its backtrace, where an operator sees it, and aborts the process if the thread
/// changes or keeps money: it answers nothing after that, and the durable operations are those that a crash leaves. For
/// programs that run only a node.
pub fn abort_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        let current = thread::current();
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let reason = text.or(payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason given");
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(thread = current.name().unwrap_or_default(), place, "panicked: {reason}");
        if let Some(name) = current.name().filter(|name| KEEPERS.contains(name)) {
            tracing::error!(
                thread = name,
                "a thread panicked, so the node ends: run `turnpike check` before it starts again"
            );
            std::process::abort();
        }
    }));
}
