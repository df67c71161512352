use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::WorkQueue;

/// Threads that share the pieces of a job; the thread that starts the job is one of them.
///
/// Jobs of several threads may run at the same time. None waits for another: if all threads are busy, the thread that
/// started a job does it alone. The same happens in a child of `fork`, which has none of its parent's other threads.
pub struct Pool {
    threads: usize,
    queue: Option<WorkQueue<Arc<SharedClosure>>>,
}

impl Pool {
    /// Starts a pool of this many threads, including the one that calls [`Pool::each`]: one fewer is started.
    pub fn start(threads: usize) -> io::Result<Self> {
        let helpers = threads.saturating_sub(1);
        // Room for a few jobs at the same time; a job that finds no room has fewer helpers.
        let start = || WorkQueue::start("verify", helpers, 4 * helpers, || |job: Arc<SharedClosure>| job.help());
        Ok(Self { threads: helpers + 1, queue: (helpers > 0).then(start).transpose()? })
    }

    /// The number of threads, including the caller's.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Does the work on every piece, and returns when all of it is done. A panic in the work continues in the caller.
    pub fn each<P: Send>(&self, pieces: impl Iterator<Item = P> + Send, work: impl Fn(P) + Sync) {
        self.each_while(pieces, work, || true);
    }

    /// [`Pool::each`] for as long as `go_on` says so, which the calling thread asks before each of its pieces.
    ///
    /// Returns whether the work was done on every piece. If not, the pieces that were begun are done when this returns.
    pub fn each_while<P: Send>(
        &self,
        pieces: impl Iterator<Item = P> + Send,
        work: impl Fn(P) + Sync,
        mut go_on: impl FnMut() -> bool,
    ) -> bool {
        let helpers = (self.threads - 1).min(pieces.size_hint().0.saturating_sub(1));
        let (pieces, is_wanted) = (Mutex::new(pieces), AtomicBool::new(true));
        let do_one = || {
            let piece = lock(&pieces).next();
            piece.map(&work).is_some()
        };
        let share = || {
            loop {
                if !is_wanted.load(Ordering::Relaxed) || !do_one() {
                    return;
                }
            }
        };
        let mut own_share = || {
            loop {
                if !go_on() {
                    return is_wanted.store(false, Ordering::Relaxed);
                }
                if !do_one() {
                    return;
                }
            }
        };
        match &self.queue {
            Some(queue) if helpers > 0 => SharedClosure::run(queue, helpers, &share, &mut own_share),
            _ => own_share(),
        }
        is_wanted.into_inner()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A closure on the stack of the thread that started the job. It exists for as long as the job is open or has helpers.
struct SharedClosure {
    closure: *const (),
    call: unsafe fn(*const ()),
    state: Mutex<ClosureProgress>,
    /// Signalled when a helper is done.
    done: Condvar,
}

struct ClosureProgress {
    open: bool,
    helpers: usize,
    panic: Option<Box<dyn Any + Send>>,
}

// SAFETY: the closure is only called, and `SharedClosure::run` accepts only closures that several threads may call at
// once.
unsafe impl Send for SharedClosure {}
// SAFETY: shared access calls a closure that is `Sync`, because `run` requires that of it; a mutex guards the state.
unsafe impl Sync for SharedClosure {}

impl SharedClosure {
    /// Calls the closure in up to `helpers` threads, if the queue has room, and `own` in this one. Returns when all
    /// have returned.
    fn run<F: Fn() + Sync>(queue: &WorkQueue<Arc<Self>>, helpers: usize, closure: &F, own: impl FnOnce()) {
        /// # Safety
        ///
        /// The pointer is to a closure of this type, which exists until the call returns.
        unsafe fn call<F: Fn()>(closure: *const ()) {
            // SAFETY: the caller's promise.
            unsafe { (*closure.cast::<F>())() }
        }
        let job = Arc::new(Self {
            closure: std::ptr::from_ref(closure).cast(),
            call: call::<F>,
            state: Mutex::new(ClosureProgress { open: true, helpers: 0, panic: None }),
            done: Condvar::new(),
        });
        for _ in 0..helpers {
            if queue.try_push(Arc::clone(&job)).is_err() {
                break;
            }
        }
        // The closure must not disappear while a helper runs it, so a panic has to wait as well.
        let result = catch_unwind(AssertUnwindSafe(own));
        let panic = job.close();
        if let Some(panic) = result.err().or(panic) {
            resume_unwind(panic);
        }
    }

    /// Helps with the job, unless it is over.
    fn help(&self) {
        {
            let mut state = lock(&self.state);
            if !state.open {
                return;
            }
            state.helpers += 1;
        }
        // SAFETY: `run` made the two for each other, and waits for all helpers that began while the job was open.
        let result = catch_unwind(|| unsafe { (self.call)(self.closure) });
        let mut state = lock(&self.state);
        state.helpers -= 1;
        state.panic = state.panic.take().or(result.err());
        drop(state);
        self.done.notify_all();
    }

    /// Lets no more helpers in, and waits for those inside. Returns a panic of one of them.
    fn close(&self) -> Option<Box<dyn Any + Send>> {
        let mut state = lock(&self.state);
        state.open = false;
        while state.helpers > 0 {
            state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.panic.take()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn every_piece_is_done_once_before_the_job_returns() {
        for threads in [0, 1, 2, 5] {
            let pool = Pool::start(threads).unwrap();
            assert_eq!(pool.threads(), threads.max(1));
            for pieces in [0, 1, 2, 100] {
                let mut done = vec![0; pieces];
                pool.each(done.iter_mut(), |piece| *piece += 1);
                assert!(done.iter().all(|times| *times == 1));
            }
        }
    }

    #[test]
    fn a_job_that_is_not_wanted_any_more_ends_early() {
        for threads in [1, 3] {
            let pool = Pool::start(threads).unwrap();
            let done = AtomicUsize::new(0);
            let count = |_| {
                done.fetch_add(1, Ordering::Relaxed);
            };
            let mut asked = 0;
            let go_on = || {
                asked += 1;
                asked <= 5
            };
            assert!(!pool.each_while(0..usize::MAX, count, go_on));
            assert!(done.load(Ordering::Relaxed) >= 5);
            assert_eq!(asked, 6);
            // No thread continues.
            let before = done.load(Ordering::Relaxed);
            std::thread::sleep(std::time::Duration::from_millis(10));
            assert_eq!(done.load(Ordering::Relaxed), before);
            assert!(pool.each_while(0..10, count, || true));
            assert_eq!(done.into_inner(), before + 10);
        }
    }

    #[test]
    fn pieces_are_done_at_the_same_time() {
        let pool = Pool::start(3).unwrap();
        let (barrier, threads) = (Barrier::new(3), Mutex::new(HashSet::new()));
        pool.each(0..3, |_| {
            barrier.wait();
            threads.lock().unwrap().insert(std::thread::current().id());
        });
        assert_eq!(threads.lock().unwrap().len(), 3);
    }

    #[test]
    fn jobs_of_many_threads_share_a_pool() {
        let pool = Pool::start(3).unwrap();
        let sum = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        pool.each(0..10, |piece| {
                            sum.fetch_add(piece, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(sum.into_inner(), 8 * 50 * 45);
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_goes_on() {
        let pool = Pool::start(3).unwrap();
        for bad in 0..6 {
            let job = || pool.each(0..6, |piece| assert_ne!(piece, bad, "a panic that the test wants"));
            assert!(catch_unwind(AssertUnwindSafe(job)).is_err());
        }
        let done = AtomicUsize::new(0);
        pool.each(0..6, |_| {
            done.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(done.into_inner(), 6);
    }
}
