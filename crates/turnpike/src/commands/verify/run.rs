//! Pieces of work for all processors, and a progress bar over the bytes of the files.

use std::io;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use verify::WorkQueue;

use super::report::{Outcome, Report};
use crate::error::Error;
use crate::output::Output;

/// Pieces of work that wait, for each thread: enough that none is without work while the next is cut.
const WAITING: usize = 4;

/// A queue of pieces of work.
pub struct Work<T> {
    queue: WorkQueue<T>,
    outcomes: Receiver<Result<Outcome, Error>>,
    found: Outcome,
    bar: ProgressBar,
    pending: u64,
    started: Instant,
}

impl<T: Send + 'static> Work<T> {
    /// Starts threads, each with its own worker. `bytes` is the length of all files.
    pub fn start<W: FnMut(T) -> Result<Outcome, Error> + Send + 'static>(
        threads: usize,
        bytes: u64,
        output: Output,
        mut worker: impl FnMut() -> Result<W, Error>,
    ) -> Result<Self, Error> {
        let (sender, outcomes) = channel();
        let workers = (0..threads).map(|_| worker()).collect::<Result<Vec<W>, Error>>()?;
        let mut workers = workers.into_iter();
        let queue = WorkQueue::start("verify", threads, WAITING * threads, || {
            let (sender, mut worker) = (sender.clone(), workers.next());
            move |piece| {
                if let Some(worker) = &mut worker {
                    // Nobody waits for it only after another piece has failed.
                    let _ = sender.send(worker(piece));
                }
            }
        })
        .map_err(|error: io::Error| Error::other(error))?;
        let template = "{bar:40} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} eta {eta}";
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = if output.is_json() { ProgressBar::hidden() } else { ProgressBar::new(bytes).with_style(style) };
        Ok(Self { queue, outcomes, found: Outcome::default(), bar, pending: 0, started: Instant::now() })
    }

    /// Adds a piece of work, after waiting for others to finish if enough are queued.
    pub fn push(&mut self, mut piece: T) -> Result<(), Error> {
        while let Err(back) = self.queue.try_push(piece) {
            piece = back;
            let outcome = self.outcomes.recv().map_err(|_| lost())?;
            self.take(outcome)?;
        }
        self.pending += 1;
        while let Ok(outcome) = self.outcomes.try_recv() {
            self.take(outcome)?;
        }
        Ok(())
    }

    /// The results outside the pieces of work.
    pub fn found(&mut self) -> &mut Outcome {
        &mut self.found
    }

    /// Waits until all is done.
    pub fn finish(mut self) -> Result<Report, Error> {
        let Self { queue, outcomes, .. } = &mut self;
        // All work is done once the queue is gone.
        drop(std::mem::replace(queue, WorkQueue::start("verify", 0, 0, || |_| {}).map_err(Error::other)?));
        let rest: Vec<_> = outcomes.try_iter().collect();
        rest.into_iter().try_for_each(|outcome| self.take(outcome))?;
        self.bar.finish_and_clear();
        if self.pending > 0 {
            return Err(lost());
        }
        Ok(Report::new(self.found, self.started.elapsed()))
    }

    fn take(&mut self, outcome: Result<Outcome, Error>) -> Result<(), Error> {
        self.pending -= 1;
        self.found.add(outcome?);
        self.bar.set_position(self.found.bytes);
        Ok(())
    }
}

fn lost() -> Error {
    Error::Failed("a worker ended without a verdict: this is a bug, see its message above".to_string())
}
