//! Work in turns: jobs of very different sizes, of which each gets a slice of time and then waits behind the others, so
//! that a small job waits for slices of large ones and never for all of them. What waits is bounded by its cost, not by
//! its number, and a prefix that is not trusted leaves as much room as it takes.

use std::{
    collections::{HashMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use nic::Sharer;

use crate::{
    Error,
    threads::{join, spawn},
};

/// How nice the threads are to all others of the node (`nice`, from 0 to 19): where processors are short they get a
/// tenth of what another thread gets, which is little, and not nothing.
const NICENESS: i32 = 10;

/// A piece of work that can be done a slice at a time.
pub trait Job: Send + 'static {
    /// The time of a processor that is left of it, as far as can be told.
    fn cost(&self) -> Duration;

    /// Whose room it takes.
    fn sharer(&self) -> Sharer;
}

/// How much is done in a turn, and how much may wait.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The jobs that a thread takes in a turn cost so much together, but for the last of them.
    pub slice: Duration,
    /// While so much waits for trusted senders no more is taken of them, and as much of all others together.
    pub waiting: Duration,
}

/// Threads that do jobs in turns. Dropping it ends them after the slices that they are at; what waits is forgotten.
pub struct Turns<J> {
    shared: Arc<Shared<J>>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared<J> {
    state: Mutex<JobQueue<J>>,
    /// Signalled when a job was added and when all is to end.
    added: Condvar,
    limits: Limits,
    threads: usize,
}

struct JobQueue<J> {
    /// Jobs, and what each is counted with in `costs`.
    waiting: VecDeque<(J, Duration)>,
    costs: Costs,
    closed: bool,
}

/// Whose room a job takes, and how much of it.
type Share = (Sharer, Duration);

/// What all jobs cost that wait or that a thread is at.
#[derive(Default)]
struct Costs {
    /// By whose room they take; no more entries than jobs.
    of: HashMap<Sharer, Duration>,
    /// Those that are not trusted, together.
    strangers: Duration,
}

impl Costs {
    fn add(&mut self, sharer: Sharer, cost: Duration) {
        *self.of.entry(sharer).or_default() += cost;
        if sharer != Sharer::Trusted {
            self.strangers += cost;
        }
    }

    fn subtract(&mut self, sharer: Sharer, cost: Duration) {
        if let Some(sum) = self.of.get_mut(&sharer) {
            *sum = sum.saturating_sub(cost);
            if sum.is_zero() {
                self.of.remove(&sharer);
            }
        }
        if sharer != Sharer::Trusted {
            self.strangers = self.strangers.saturating_sub(cost);
        }
    }

    /// Whether more may wait. A prefix has to leave as much room as it takes (the dynamic threshold of Choudhury and
    /// Hahne for shared buffers, 1998): however many prefixes there are, there is room for another.
    fn has_room(&self, sharer: Sharer, most: Duration) -> bool {
        let own = self.of.get(&sharer).copied().unwrap_or_default();
        match sharer {
            Sharer::Trusted => own < most,
            Sharer::Stranger(_) => own < most.saturating_sub(self.strangers),
        }
    }
}

impl<J> Shared<J> {
    /// No thread panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, JobQueue<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the jobs of a turn, and what each is counted with; none once all is to end.
    fn take(&self) -> Option<(Vec<J>, Vec<Share>)>
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
        let (mut jobs, mut costs, mut sum) = (Vec::new(), Vec::new(), Duration::ZERO);
        while jobs.len() < most && sum < self.limits.slice {
            let Some((job, cost)) = state.waiting.pop_front() else { break };
            costs.push((job.sharer(), cost));
            sum += cost;
            jobs.push(job);
        }
        Some((jobs, costs))
    }

    /// Puts those that are not finished behind all others.
    fn put_back(&self, unfinished: Vec<J>, taken: Vec<Share>)
    where
        J: Job,
    {
        let mut state = self.lock();
        for (sharer, cost) in taken {
            state.costs.subtract(sharer, cost);
        }
        for job in unfinished {
            state.push(job, self.limits.waiting);
        }
    }
}

impl<J: Job> JobQueue<J> {
    /// A job of a stranger is counted with a quarter of the room at most, so that one that is larger than all of it
    /// leaves some.
    fn push(&mut self, job: J, most: Duration) {
        let cost = match job.sharer() {
            Sharer::Trusted => job.cost(),
            Sharer::Stranger(_) => job.cost().min(most / 4),
        };
        self.costs.add(job.sharer(), cost);
        self.waiting.push_back((job, cost));
    }
}

impl<J: Job> Turns<J> {
    /// Starts `threads` threads. A worker is given the jobs of a turn, and gives back those that it has not finished.
    /// One that panics loses the jobs that it had.
    pub fn start<W: FnMut(Vec<J>) -> Vec<J> + Send + 'static>(
        name: &str,
        threads: usize,
        limits: Limits,
        mut worker: impl FnMut() -> W,
    ) -> Result<Self, Error> {
        let state = Mutex::new(JobQueue { waiting: VecDeque::new(), costs: Costs::default(), closed: false });
        let shared = Arc::new(Shared { state, added: Condvar::new(), limits, threads });
        // Dropping it, should a thread fail to start, ends those that did.
        let mut turns = Self { shared, threads: Vec::with_capacity(threads) };
        for number in 0..threads {
            let (shared, mut work) = (turns.shared.clone(), worker());
            turns.threads.push(spawn(&format!("{name}-{number}"), None, move || {
                if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
                    tracing::warn!(%error, "cannot lower the priority of verify frames");
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
        if !state.costs.has_room(job.sharer(), self.shared.limits.waiting) {
            return Err(job);
        }
        state.push(job, self.shared.limits.waiting);
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
    struct Toy(u64, Sharer);

    use Sharer::Trusted;

    /// A prefix that is not trusted.
    fn stranger(number: u8) -> Sharer {
        Sharer::of([192, 0, number, 1].into(), false)
    }

    impl Job for Toy {
        fn cost(&self) -> Duration {
            Duration::from_millis(self.0)
        }

        fn sharer(&self) -> Sharer {
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
        turns.try_push(Toy(30, Trusted)).unwrap();
        assert_eq!(told.recv().unwrap(), [30]);
        for small in [4, 5, 6, 7] {
            turns.try_push(Toy(small, Trusted)).unwrap();
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
        // It counts for 25, a quarter of the room.
        turns.try_push(Toy(40, stranger(1))).unwrap();
        assert_eq!(told.recv().unwrap(), [40]);
        // What a thread is at counts, and the last may be larger than the room.
        turns.try_push(Toy(20, stranger(1))).unwrap();
        turns.try_push(Toy(15, stranger(1))).unwrap();
        // The prefix has 60 of 100, which is more than it leaves.
        let refused = turns.try_push(Toy(1, Sharer::of([192, 0, 1, 99].into(), false)));
        assert!(refused.is_err(), "addresses of a prefix are one sender");
        // Another one has room, half of what is left and no more.
        turns.try_push(Toy(30, stranger(2))).unwrap();
        assert_eq!(turns.try_push(Toy(1, stranger(2))), Err(Toy(1, stranger(2))));
        turns.try_push(Toy(5, stranger(3))).unwrap();
        // Trusted senders have room of their own.
        turns.try_push(Toy(100, Trusted)).unwrap();
        assert_eq!(turns.try_push(Toy(1, Trusted)), Err(Toy(1, Trusted)));
        for (expected, sharer, has_room) in [
            (vec![20], stranger(1), false),
            (vec![15], stranger(2), false),
            (vec![30], stranger(2), true),
            (vec![5, 100], stranger(1), false),
            (vec![30], stranger(1), false),
            (vec![10], stranger(1), true),
        ] {
            go.send(()).unwrap();
            assert_eq!(told.recv().unwrap(), expected);
            let taken = turns.try_push(Toy(0, sharer));
            assert_eq!(taken.is_ok(), has_room, "after ten milliseconds more, at {expected:?}");
        }
        drop(go);
    }

    #[test]
    fn a_job_that_is_larger_than_all_room_leaves_some() {
        let (turns, told, go) = start();
        turns.try_push(Toy(1000, stranger(1))).unwrap();
        assert_eq!(told.recv().unwrap(), [1000]);
        turns.try_push(Toy(1000, stranger(1))).unwrap();
        assert!(turns.try_push(Toy(1, stranger(1))).is_err());
        turns.try_push(Toy(1, stranger(2))).unwrap();
        drop(go);
    }

    #[test]
    fn a_panic_costs_what_the_worker_had_and_gives_its_room_back() {
        let (turns, told, go) = start();
        turns.try_push(Toy(13, Trusted)).unwrap();
        assert_eq!(told.recv().unwrap(), [13]);
        go.send(()).unwrap();
        turns.try_push(Toy(99, Trusted)).unwrap();
        assert_eq!(told.recv().unwrap(), [99]);
        assert_eq!(turns.shared.lock().costs.of[&Trusted], Duration::from_millis(99));
        go.send(()).unwrap();
    }
}
