use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::vec::Drain;

/// Threads that take pieces of work from a queue of bounded length.
///
/// Each thread has its own worker, created when the queue is started, whose buffers and batches are kept from one piece
/// of work to the next. Dropping the queue waits until all work in it is done.
pub struct WorkQueue<T> {
    shared: Arc<SharedQueue<T>>,
    threads: Vec<JoinHandle<()>>,
}

/// The queue, which the threads share.
struct SharedQueue<T> {
    state: Mutex<Queue<T>>,
    /// Signalled when work was added and when the queue is closed.
    added: Condvar,
    capacity: usize,
    threads: usize,
}

struct Queue<T> {
    waiting: VecDeque<T>,
    closed: bool,
}

impl<T> SharedQueue<T> {
    /// No thread panics while it holds the lock, and the state is consistent between any two statements.
    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a thread's share of the waiting work, at most `most` pieces; nothing once the queue is closed and empty.
    fn take(&self, most: usize, taken: &mut Vec<T>) {
        let mut state = self.lock();
        while state.waiting.is_empty() && !state.closed {
            state = self.added.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let count = most.min(state.waiting.len().div_ceil(self.threads));
        taken.extend(state.waiting.drain(..count));
    }

    fn close(&self) {
        self.lock().closed = true;
        self.added.notify_all();
    }
}

impl<T: Send + 'static> WorkQueue<T> {
    /// Starts `threads` threads with a worker each, and a queue of at most `capacity` pieces of work.
    ///
    /// A worker that panics loses the piece of work that it had, and continues with the next.
    pub fn start<W: FnMut(T) + Send + 'static>(
        name: &str,
        threads: usize,
        capacity: usize,
        mut worker: impl FnMut() -> W,
    ) -> io::Result<Self> {
        Self::start_gathering(name, threads, capacity, 1, || {
            let mut work = worker();
            move |pieces: Drain<'_, T>| pieces.for_each(&mut work)
        })
    }

    /// [`WorkQueue::start`] with workers that take several pieces of work at once, at most `most`, for work that is
    /// faster together.
    ///
    /// A worker leaves an equal share of the waiting work to each other thread. A worker that panics loses all the
    /// pieces that it had.
    pub fn start_gathering<W: FnMut(Drain<'_, T>) + Send + 'static>(
        name: &str,
        threads: usize,
        capacity: usize,
        most: usize,
        mut worker: impl FnMut() -> W,
    ) -> io::Result<Self> {
        let state = Mutex::new(Queue { waiting: VecDeque::with_capacity(capacity), closed: false });
        let shared = Arc::new(SharedQueue { state, added: Condvar::new(), capacity, threads });
        // If a thread fails to start, dropping the queue ends those that did.
        let mut queue = Self { shared, threads: Vec::with_capacity(threads) };
        for number in 0..threads {
            let shared = Arc::clone(&queue.shared);
            let mut work = worker();
            let run = move || {
                let mut pieces = Vec::with_capacity(most);
                loop {
                    shared.take(most, &mut pieces);
                    if pieces.is_empty() {
                        return;
                    }
                    // The panic hook reports the panic itself.
                    let _ = catch_unwind(AssertUnwindSafe(|| work(pieces.drain(..))));
                    pieces.clear();
                }
            };
            queue.threads.push(Builder::new().name(format!("{name}-{number}")).spawn(run)?);
        }
        Ok(queue)
    }

    /// Adds a piece of work, or returns it if the queue is full.
    pub fn try_push(&self, work: T) -> Result<(), T> {
        let mut state = self.shared.lock();
        if state.waiting.len() >= self.shared.capacity {
            return Err(work);
        }
        state.waiting.push_back(work);
        drop(state);
        self.shared.added.notify_one();
        Ok(())
    }

    /// Number of pieces of work that no thread has taken yet.
    pub fn len(&self) -> usize {
        self.shared.lock().waiting.len()
    }

    /// Whether no piece of work is waiting.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Drop for WorkQueue<T> {
    fn drop(&mut self) {
        self.shared.close();
        for thread in self.threads.drain(..) {
            // A worker's panic was caught, so the thread ends by returning.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn all_work_is_done_once_before_the_queue_is_gone() {
        let (sender, receiver) = mpsc::channel();
        let queue = WorkQueue::start("test", 3, 1000, || {
            let sender = sender.clone();
            move |number: u32| sender.send(number).unwrap()
        })
        .unwrap();
        for number in 0..1000 {
            queue.try_push(number).unwrap();
        }
        drop((queue, sender));
        let mut done: Vec<u32> = receiver.iter().collect();
        done.sort();
        assert_eq!(done, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn a_full_queue_gives_the_work_back() {
        let (started, wait_started) = mpsc::channel();
        let (go, wait_go) = mpsc::channel::<()>();
        let mut gate = Some(wait_go);
        let queue = WorkQueue::start("test", 1, 2, || {
            let (started, gate) = (started.clone(), gate.take().unwrap());
            move |_: u32| {
                started.send(()).unwrap();
                gate.recv().unwrap();
            }
        })
        .unwrap();
        queue.try_push(0).unwrap();
        wait_started.recv().unwrap();
        queue.try_push(1).unwrap();
        queue.try_push(2).unwrap();
        assert_eq!((queue.len(), queue.is_empty()), (2, false));
        assert_eq!(queue.try_push(3), Err(3));
        for _ in 0..3 {
            go.send(()).unwrap();
        }
        drop(queue);
        assert_eq!(wait_started.iter().take(2).count(), 2);
    }

    #[test]
    fn gathered_work_comes_in_pieces_of_what_waits() {
        let (sender, receiver) = mpsc::channel();
        let (go, wait_go) = mpsc::channel::<()>();
        let mut gate = Some(wait_go);
        let queue = WorkQueue::start_gathering("test", 1, 100, 8, || {
            let (sender, gate) = (sender.clone(), gate.take().unwrap());
            move |pieces: Drain<'_, u32>| {
                sender.send(pieces.collect::<Vec<_>>()).unwrap();
                gate.recv().unwrap();
            }
        })
        .unwrap();
        queue.try_push(0).unwrap();
        assert_eq!(receiver.recv().unwrap(), [0]);
        for number in 1..20 {
            queue.try_push(number).unwrap();
        }
        for expected in [1..9, 9..17, 17..20] {
            go.send(()).unwrap();
            assert_eq!(receiver.recv().unwrap(), expected.collect::<Vec<_>>());
        }
        go.send(()).unwrap();
        drop(queue);
    }

    #[test]
    fn gathering_threads_share_what_waits() {
        let (sender, receiver) = mpsc::channel();
        let mut gates = Vec::new();
        let queue = WorkQueue::start_gathering("test", 2, 100, 8, || {
            let (sender, number) = (sender.clone(), gates.len());
            let (go, wait_go) = mpsc::channel::<()>();
            gates.push(go);
            move |pieces: Drain<'_, u32>| {
                sender.send((number, pieces.len())).unwrap();
                let _ = wait_go.recv();
            }
        })
        .unwrap();
        let mut started = [0, 1].map(|piece| {
            queue.try_push(piece).unwrap();
            receiver.recv().unwrap()
        });
        started.sort();
        assert_eq!(started, [(0, 1), (1, 1)]);
        for piece in 2..11 {
            queue.try_push(piece).unwrap();
        }
        gates[0].send(()).unwrap();
        assert_eq!(receiver.recv().unwrap(), (0, 5));
        gates[1].send(()).unwrap();
        assert_eq!(receiver.recv().unwrap(), (1, 2));
        drop(gates);
        drop(queue);
        assert_eq!(receiver.try_iter().map(|(_, pieces)| pieces).sum::<usize>(), 2);
    }

    #[test]
    fn a_panic_costs_one_piece_of_work() {
        let (sender, receiver) = mpsc::channel();
        let queue = WorkQueue::start("test", 1, 8, || {
            let sender = sender.clone();
            move |number: u32| {
                assert_ne!(number, 1, "a panic that the test wants");
                sender.send(number).unwrap();
            }
        })
        .unwrap();
        for number in 0..3 {
            queue.try_push(number).unwrap();
        }
        drop((queue, sender));
        assert_eq!(receiver.iter().collect::<Vec<_>>(), [0, 2]);
    }
}
