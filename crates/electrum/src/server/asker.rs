//! Threads that answer what the node behind this server has to be asked for, so that nobody else waits for it.
use std::{
    io,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Instant,
};

use super::inbox::{Answer, Asked, Inbox};
use crate::session::Session;

/// Bitcoin Core answers as many calls at once.
const THREADS: usize = 4;

/// A message whose answer takes the node. A connection has one at most, and reads nothing meanwhile, so there are no more than
/// connections.
pub struct Question {
    pub session: Session,
    /// Without the line's end.
    pub message: Vec<u8>,
    pub asked_by: Asked,
}

/// Where questions are left. The threads end after the last one is dropped.
#[derive(Clone)]
pub struct Asker(mpsc::Sender<(Question, Inbox)>);

impl Asker {
    /// Starts the threads.
    pub fn start() -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel::<(Question, Inbox)>();
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..THREADS {
            let receiver = Arc::clone(&receiver);
            let next = move || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let run = move || {
                nic::yield_to_others();
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

    /// Leaves a question. Its answer comes into an inbox.
    pub fn ask(&self, question: Question, inbox: Inbox) {
        // The threads end only after this sender.
        let _ = self.0.send((question, inbox));
    }
}
