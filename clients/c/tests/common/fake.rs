//! A node in the test's process, which treats requests and replies as the test says.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use model::{Model, Outcome};
use wire::{BatchEntriesMut, BatchMut, FrameMut, InfoFrame, Operation, Promise, Status};

/// What a fake node does with a frame: it may change the reply, and returns what to send; `None` ends the connection.
pub type Fault = dyn FnMut(&[u8], Vec<u8>) -> Option<Vec<Vec<u8>>> + Send;

/// Decides the status of an operation before the ledger does.
pub type Refuse = dyn FnMut(&Operation) -> Status + Send;

struct State {
    ledger: Model,
    fault: Box<Fault>,
    refuse: Box<Refuse>,
}

/// A fake node with a ledger, which serves until the test ends.
pub struct FakeNode {
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl FakeNode {
    pub fn start(fault: impl FnMut(&[u8], Vec<u8>) -> Option<Vec<Vec<u8>>> + Send + 'static) -> Self {
        Self::refusing(fault, |_| Status::Ok)
    }

    pub fn refusing(
        fault: impl FnMut(&[u8], Vec<u8>) -> Option<Vec<Vec<u8>>> + Send + 'static,
        refuse: impl FnMut(&Operation) -> Status + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = State { ledger: Model::default(), fault: Box::new(fault), refuse: Box::new(refuse) };
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                thread::spawn(move || serve(connection, &state));
            }
        });
        Self { address, state }
    }

    /// Number of operations that were executed.
    pub fn executed(&self) -> u64 {
        self.state.lock().unwrap().ledger.last_sequence()
    }

    pub fn balance(&self, account: wire::AccountId) -> u64 {
        self.state.lock().unwrap().ledger.balance(account)
    }
}

fn serve(mut connection: TcpStream, state: &Mutex<State>) {
    loop {
        let mut length = [0; 4];
        if connection.read_exact(&mut length).is_err() {
            return;
        }
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        if connection.read_exact(&mut frame).is_err() {
            return;
        }
        let mut state = state.lock().unwrap();
        let reply = state.reply(frame.clone());
        let replies = (state.fault)(&frame, reply);
        drop(state);
        let Some(replies) = replies else {
            let _ = connection.shutdown(Shutdown::Both);
            return;
        };
        for reply in replies {
            let framed = [&(reply.len() as u32).to_be_bytes(), reply.as_slice()].concat();
            if connection.write_all(&framed).is_err() {
                return;
            }
        }
    }
}

impl State {
    fn reply(&mut self, mut frame: Vec<u8>) -> Vec<u8> {
        let length = match FrameMut::parse(&mut frame).unwrap() {
            FrameMut::Batch(BatchMut { header, mut entries }) => {
                header.set_reply(Status::Ok, Promise::Durable);
                for index in 0..entries.as_ref().len() {
                    let operation = entries.as_ref().operation(index).unwrap();
                    let (status, value) = self.execute(&operation);
                    entries.set_reply(index, status, value, Promise::Durable);
                }
                if let BatchEntriesMut::Compact(_) = entries {
                    panic!("the client sends no compact frames")
                }
                header.frame_length().unwrap()
            }
            FrameMut::Info(info) => {
                info.header.set_reply();
                info.retry_milliseconds = 1000.into();
                InfoFrame::LENGTH
            }
            _ => panic!("the test sends no such frame"),
        };
        frame.truncate(length);
        frame
    }

    fn execute(&mut self, operation: &Operation) -> (Status, u64) {
        match (self.refuse)(operation) {
            Status::Ok => {
                let Outcome { status, value, .. } = self.ledger.execute(operation);
                (status, value)
            }
            status => (status, 0),
        }
    }
}

/// A refusal of a whole batch.
pub fn refusal(reply: &[u8], status: Status) -> Vec<u8> {
    let mut refusal = reply[..16].to_vec();
    refusal[12..14].copy_from_slice(&status.code().to_be_bytes());
    refusal
}
