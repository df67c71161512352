//! Round-robin work: jobs of very different sizes, each of which gets a slice of time and then waits after the others,
//! so that a small job waits for slices of large ones and never for whole ones. The queue is bounded by cost, not by
//! number, and an untrusted prefix must leave the same room that it takes.

use std::{
    collections::{HashMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use net::Sharer;

use crate::{
    Error,
    threads::{join, spawn},
};

/// Niceness of the threads (`nice`, from 0 to 19): when processors are short they get a tenth of another thread's
/// share.
const NICENESS: i32 = 10;

/// A piece of work that can be done a slice at a time.
pub trait SlicedWork: Send + 'static {
    /// The estimated processor time that the job still needs.
    fn cost(&self) -> Duration;

    /// Whose room it takes.
    fn sharer(&self) -> Sharer;
}

/// Limits of the work of a turn, and of waiting work.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Total cost of the jobs that a thread takes in a turn, without the last of them.
    pub slice: Duration,
    /// Maximum cost of waiting jobs of trusted senders, and the same of all others together.
    pub waiting: Duration,
}

/// Threads that do jobs in turns. Dropping it ends them after their present slices; waiting jobs are dropped.
pub struct Turns<J> {
    queue: Arc<SharedQueue<J>>,
    threads: Vec<JoinHandle<()>>,
}

/// The queue, which the threads share.
struct SharedQueue<J> {
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

/// The sender whose room a job uses, and its cost.
type Share = (Sharer, Duration);

/// Total cost of jobs that wait or are being worked on.
#[derive(Default)]
struct Costs {
    /// By whose room they take; no more entries than jobs.
    of: HashMap<Sharer, Duration>,
    /// All untrusted senders together.
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

    /// Whether another job may wait. A prefix must leave the same room that it takes (the dynamic threshold of
    /// Choudhury and Hahne for shared buffers, 1998): there is room for another prefix, however many there are.
    fn has_room(&self, sharer: Sharer, most: Duration) -> bool {
        let own = self.of.get(&sharer).copied().unwrap_or_default();
        match sharer {
            Sharer::Trusted => own < most,
            Sharer::Stranger(_) => own < most.saturating_sub(self.strangers),
        }
    }
}

impl<J> SharedQueue<J> {
    /// No thread panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, JobQueue<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the jobs of a turn, with their charges; none after a stop.
    fn take(&self) -> Option<(Vec<J>, Vec<Share>)>
    where
        J: SlicedWork,
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

    /// Puts unfinished jobs after all others.
    fn put_back(&self, unfinished: Vec<J>, taken: Vec<Share>)
    where
        J: SlicedWork,
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

impl<J: SlicedWork> JobQueue<J> {
    /// Charges a job of an untrusted prefix at most a quarter of the room, so that one larger than all of it leaves
    /// some.
    fn push(&mut self, job: J, most: Duration) {
        let cost = match job.sharer() {
            Sharer::Trusted => job.cost(),
            Sharer::Stranger(_) => job.cost().min(most / 4),
        };
        self.costs.add(job.sharer(), cost);
        self.waiting.push_back((job, cost));
    }
}

impl<J: SlicedWork> Turns<J> {
    /// Starts `threads` threads. A worker takes the jobs of a turn, and returns the unfinished ones. A worker that
    /// panics loses its jobs.
    pub fn start<W: FnMut(Vec<J>) -> Vec<J> + Send + 'static>(
        name: &str,
        threads: usize,
        limits: Limits,
        mut worker: impl FnMut() -> W,
    ) -> Result<Self, Error> {
        let state = Mutex::new(JobQueue { waiting: VecDeque::new(), costs: Costs::default(), closed: false });
        let queue = Arc::new(SharedQueue { state, added: Condvar::new(), limits, threads });
        // Dropping it, should a thread fail to start, ends those that did.
        let mut turns = Self { queue, threads: Vec::with_capacity(threads) };
        for number in 0..threads {
            let (queue, mut work) = (turns.queue.clone(), worker());
            turns.threads.push(spawn(&format!("{name}-{number}"), None, move || {
                if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
                    tracing::warn!(%error, "cannot lower the priority of verify frames");
                }
                while let Some((jobs, costs)) = queue.take() {
                    // The panic itself is reported by the panic hook.
                    let unfinished = catch_unwind(AssertUnwindSafe(|| work(jobs))).unwrap_or_default();
                    queue.put_back(unfinished, costs);
                }
            })?);
        }
        Ok(turns)
    }

    /// Adds a job, or returns it if there is no room.
    pub fn try_push(&self, job: J) -> Result<(), J> {
        let mut state = self.queue.lock();
        if !state.costs.has_room(job.sharer(), self.queue.limits.waiting) {
            return Err(job);
        }
        state.push(job, self.queue.limits.waiting);
        drop(state);
        self.queue.added.notify_one();
        Ok(())
    }
}

impl<J> Drop for Turns<J> {
    fn drop(&mut self) {
        self.queue.lock().closed = true;
        self.queue.added.notify_all();
        self.threads.drain(..).for_each(join);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Receiver, Sender};

    use super::*;

    /// The milliseconds left, and the sender.
    #[derive(Debug, PartialEq)]
    struct Toy(u64, Sharer);

    use Sharer::Trusted;

    /// A prefix that is not trusted.
    fn stranger(number: u8) -> Sharer {
        Sharer::new([192, 0, number, 1].into(), false)
    }

    impl SlicedWork for Toy {
        fn cost(&self) -> Duration {
            Duration::from_millis(self.0)
        }

        fn sharer(&self) -> Sharer {
            self.1
        }
    }

    const LIMITS: Limits = Limits { slice: Duration::from_millis(10), waiting: Duration::from_millis(100) };

    /// A thread that reports the jobs that it takes, then waits for permission to do ten milliseconds of the last.
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
        // Jobs being worked on count, and the last one may be larger than the room.
        turns.try_push(Toy(20, stranger(1))).unwrap();
        turns.try_push(Toy(15, stranger(1))).unwrap();
        // The prefix has 60 of 100, which is more than it leaves.
        let refused = turns.try_push(Toy(1, Sharer::new([192, 0, 1, 99].into(), false)));
        assert!(refused.is_err(), "addresses of a prefix are one sender");
        // Another prefix has room for half of the rest and no more.
        turns.try_push(Toy(30, stranger(2))).unwrap();
        assert_eq!(turns.try_push(Toy(1, stranger(2))), Err(Toy(1, stranger(2))));
        turns.try_push(Toy(5, stranger(3))).unwrap();
        // Trusted senders have their own room.
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
        assert_eq!(turns.queue.lock().costs.of[&Trusted], Duration::from_millis(99));
        go.send(()).unwrap();
    }
}
