//! Priorities of threads.

/// Niceness of a thread that yields: of a processor that it shares with another thread, it gets a quarter.
const NICENESS: i32 = 5;

/// Makes the calling thread yield to others on the same processor: long work must not delay what replies in
/// microseconds. Alone on a processor it runs as before.
pub fn yield_to_others() {
    // On Linux a niceness is a thread's. It may always be raised; if that failed, the thread would run as before.
    let _ = rustix::process::setpriority_process(None, NICENESS);
}
