//! Threads for requests that take a call to the node, so that nobody else waits for it.
use std::{
    io,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Instant,
};

use super::inbox::{Answer, Asked, Inbox};
use crate::session::Session;

/// Number of calls that Bitcoin Core answers at once.
const THREADS: usize = 4;

/// A message whose answer takes the node. A connection has at most one, and reads nothing meanwhile, so there are no
/// more than connections.
pub struct Question {
    pub session: Session,
    /// Without the end of the line.
    pub message: Vec<u8>,
    pub asked_by: Asked,
}

/// Threads that call the node, and the queue of their questions. The threads end after its last clone is dropped.
#[derive(Clone)]
pub struct BitcoindPool(mpsc::Sender<(Question, Inbox)>);

impl BitcoindPool {
    /// Starts the threads.
    pub fn start() -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel::<(Question, Inbox)>();
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..THREADS {
            let receiver = Arc::clone(&receiver);
            let next = move || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let run = move || {
                net::yield_to_others();
                while let Ok((question, inbox)) = next() {
                    let Question { mut session, message, asked_by } = question;
                    let mut reply = Vec::new();
                    session.message(&message, &mut reply, Instant::now());
                    inbox.answer(Answer { session, reply, to: asked_by });
                }
            };
            thread::Builder::new().name("electrum-asker".into()).spawn(run)?;
        }
        Ok(Self(sender))
    }

    /// Queues a question. Its answer goes to an inbox.
    pub fn ask(&self, question: Question, inbox: Inbox) {
        // The threads outlive this sender.
        let _ = self.0.send((question, inbox));
    }
}
