//! Work in turns: jobs of very different sizes, of which each gets a slice of time and then waits behind the others, so that a small job
//! waits for slices of large ones and never for all of them. What waits is bounded by its cost, not by its number.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use crate::{Error, node::join, threads::spawn};

/// How nice the threads are to all others of the node (`nice`, from 0 to 19): where processors are short they get a tenth of what another
/// thread gets, which is little, and not nothing.
const NICENESS: i32 = 10;

/// A piece of work that can be done a slice at a time.
pub trait Job: Send + 'static {
    /// The time of a processor that is left of it, as far as can be told.
    fn cost(&self) -> Duration;

    /// Whether it is for somebody trusted.
    fn is_trusted(&self) -> bool;
}

/// How much is done in a turn, and how much may wait.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The jobs that a thread takes in a turn cost so much together, but for the last of them.
    pub slice: Duration,
    /// While so much waits for trusted senders no more is taken of them, and as much of all others.
    pub waiting: Duration,
}

/// Threads that do jobs in turns. Dropping it ends them after the slices that they are at; what waits is forgotten.
pub struct Turns<J> {
    shared: Arc<Shared<J>>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared<J> {
    state: Mutex<State<J>>,
    /// Signalled when a job was added and when all is to end.
    added: Condvar,
    limits: Limits,
    threads: usize,
}

struct State<J> {
    /// Jobs, and what each is counted with in `costs`.
    waiting: VecDeque<(J, Duration)>,
    /// Of all jobs that wait or that a thread is at: those of others, and those of trusted senders.
    costs: [Duration; 2],
    closed: bool,
}

impl<J> Shared<J> {
    /// No thread panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the jobs of a turn, and what they are counted with; none once all is to end.
    fn take(&self) -> Option<(Vec<J>, [Duration; 2])>
    where
        J: Job,
    {
        let mut state = self.lock();
        while state.waiting.is_empty() && !state.closed {
            state = self.added.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed {
            return None;
        }
        // What waits is for all threads.
        let most = state.waiting.len().div_ceil(self.threads);
        let (mut jobs, mut sums) = (Vec::new(), [Duration::ZERO; 2]);
        while jobs.len() < most && sums[0] + sums[1] < self.limits.slice {
            let Some((job, cost)) = state.waiting.pop_front() else { break };
            sums[usize::from(job.is_trusted())] += cost;
            jobs.push(job);
        }
        Some((jobs, sums))
    }

    /// Puts those that are not finished behind all others.
    fn put_back(&self, unfinished: Vec<J>, taken: [Duration; 2])
    where
        J: Job,
    {
        let mut state = self.lock();
        for (cost, taken) in state.costs.iter_mut().zip(taken) {
            *cost = cost.saturating_sub(taken);
        }
        for job in unfinished {
            state.push(job);
        }
    }
}

impl<J: Job> State<J> {
    fn push(&mut self, job: J) {
        let cost = job.cost();
        self.costs[usize::from(job.is_trusted())] += cost;
        self.waiting.push_back((job, cost));
    }
}

impl<J: Job> Turns<J> {
    /// Starts `threads` threads. A worker is given the jobs of a turn, and gives back those that it has not finished. One that panics loses
    /// the jobs that it had.
    pub fn start<W: FnMut(Vec<J>) -> Vec<J> + Send + 'static>(
        name: &str,
        threads: usize,
        limits: Limits,
        mut worker: impl FnMut() -> W,
    ) -> Result<Self, Error> {
        let state = Mutex::new(State { waiting: VecDeque::new(), costs: [Duration::ZERO; 2], closed: false });
        let shared = Arc::new(Shared { state, added: Condvar::new(), limits, threads });
        // Dropping it, should a thread fail to start, ends those that did.
        let mut turns = Self { shared, threads: Vec::with_capacity(threads) };
        for number in 0..threads {
            let (shared, mut work) = (turns.shared.clone(), worker());
            turns.threads.push(spawn(&format!("{name}-{number}"), None, move || {
                if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
                    tracing::warn!(%error, "verify frames are worked on at the priority of everything else");
                }
                while let Some((jobs, costs)) = shared.take() {
                    // The panic itself is reported by the panic hook.
                    let unfinished = catch_unwind(AssertUnwindSafe(|| work(jobs))).unwrap_or_default();
                    shared.put_back(unfinished, costs);
                }
            })?);
        }
        Ok(turns)
    }

    /// Adds a job, or gives it back if so much waits that it may not.
    pub fn try_push(&self, job: J) -> Result<(), J> {
        let mut state = self.shared.lock();
        if state.costs[usize::from(job.is_trusted())] >= self.shared.limits.waiting {
            return Err(job);
        }
        state.push(job);
        drop(state);
        self.shared.added.notify_one();
        Ok(())
    }
}

impl<J> Drop for Turns<J> {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.added.notify_all();
        self.threads.drain(..).for_each(join);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Receiver, Sender};

    use super::*;

    /// So many milliseconds are left, and by whom it is.
    #[derive(Debug, PartialEq)]
    struct Toy(u64, bool);

    impl Job for Toy {
        fn cost(&self) -> Duration {
            Duration::from_millis(self.0)
        }

        fn is_trusted(&self) -> bool {
            self.1
        }
    }

    const LIMITS: Limits = Limits { slice: Duration::from_millis(10), waiting: Duration::from_millis(100) };

    /// A thread that tells what it takes, and then waits for leave to do ten milliseconds of the last.
    fn start() -> (Turns<Toy>, Receiver<Vec<u64>>, Sender<()>) {
        let (tell, told) = mpsc::channel();
        let (go, leave) = mpsc::channel();
        let mut leave = Some(leave);
        let turns = Turns::start("test", 1, LIMITS, || {
            let (tell, leave) = (tell.clone(), leave.take().unwrap());
            move |mut jobs: Vec<Toy>| {
                tell.send(jobs.iter().map(|job| job.0).collect()).unwrap();
                leave.recv().unwrap();
                assert!(jobs.iter().all(|job| job.0 != 13), "a panic that the test wants");
                let last = jobs.pop().unwrap();
                if last.0 > 10 { vec![Toy(last.0 - 10, last.1)] } else { vec![] }
            }
        });
        (turns.unwrap(), told, go)
    }

    #[test]
    fn a_small_job_waits_for_a_slice_of_a_large_one() {
        let (turns, told, go) = start();
        turns.try_push(Toy(30, true)).unwrap();
        assert_eq!(told.recv().unwrap(), [30]);
        for small in [4, 5, 6, 7] {
            turns.try_push(Toy(small, true)).unwrap();
        }
        for expected in [&[4, 5, 6][..], &[7, 20], &[10]] {
            go.send(()).unwrap();
            assert_eq!(told.recv().unwrap(), expected);
        }
        go.send(()).unwrap();
    }

    #[test]
    fn what_waits_is_bounded_by_its_cost() {
        let (turns, told, go) = start();
        turns.try_push(Toy(90, false)).unwrap();
        assert_eq!(told.recv().unwrap(), [90]);
        // What a thread is at counts, and the last may be larger than the room.
        turns.try_push(Toy(25, false)).unwrap();
        assert_eq!(turns.try_push(Toy(1, false)), Err(Toy(1, false)));
        // Trusted senders have room of their own.
        turns.try_push(Toy(100, true)).unwrap();
        assert_eq!(turns.try_push(Toy(1, true)), Err(Toy(1, true)));
        for (expected, has_room) in [(25, false), (100, true), (80, true)] {
            go.send(()).unwrap();
            assert_eq!(told.recv().unwrap(), [expected]);
            let taken = turns.try_push(Toy(0, false));
            assert_eq!(taken.is_ok(), has_room, "after ten milliseconds more, at {expected}");
        }
        drop(go);
    }

    #[test]
    fn a_panic_costs_what_the_worker_had_and_gives_its_room_back() {
        let (turns, told, go) = start();
        turns.try_push(Toy(13, true)).unwrap();
        assert_eq!(told.recv().unwrap(), [13]);
        go.send(()).unwrap();
        turns.try_push(Toy(99, true)).unwrap();
        assert_eq!(told.recv().unwrap(), [99]);
        assert_eq!(turns.shared.lock().costs[1], Duration::from_millis(99));
        go.send(()).unwrap();
    }
}
