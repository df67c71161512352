//! The scrub in the background: reads all blocks at a bounded rate and compares them with their checksums.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::JoinHandle,
    time::Duration,
};

use chain::own::OwnReader;

use crate::{
    Error,
    threads::{join, spawn},
};

/// Bytes that are read in a second: 350 GB a day, and a few percent of what the slowest disk delivers.
const RATE: u64 = 4 << 20;
/// Between the end of a walk over all blocks and the next one.
const PAUSE: Duration = Duration::from_secs(3600);

/// The thread that scrubs. Dropping it ends the thread.
#[derive(Debug)]
pub struct Scrubber {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Scrubber {
    /// Starts to scrub the blocks of a chain.
    pub fn start(reader: OwnReader) -> Result<Self, Error> {
        let (stop, stopped) = channel();
        let thread = spawn("scrub", None, move || run(&reader, &stopped))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Scrubber {
    fn drop(&mut self) {
        self.stop = None;
        self.thread.take().into_iter().for_each(join);
    }
}

fn run(reader: &OwnReader, stopped: &Receiver<()>) {
    let mut scrub = reader.scrub();
    loop {
        let step = scrub.step();
        let pause = if step.is_complete { PAUSE } else { Duration::from_micros(step.bytes * 1_000_000 / RATE) };
        if !matches!(stopped.recv_timeout(pause), Err(RecvTimeoutError::Timeout)) {
            return;
        }
    }
}
