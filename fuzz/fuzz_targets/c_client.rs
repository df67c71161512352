//! A node that sends a C program any replies to a batch: each operation gets a result that a reply to it states, and
//! nothing is written past the results.
//!
//! The node runs beside the target, over a real connection. The input has the replies to successive frames: changes to
//! the honest reply, any bytes with the id of the request, or the end of the connection. After it the node is honest,
//! so that a run is short.
#![no_main]

use std::{
    ffi::CString,
    io::{Read, Write},
    mem::MaybeUninit,
    net::{TcpListener, TcpStream},
    ptr::null_mut,
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
    thread,
};

use c_client::{
    Client, ClientStatus, Command, Error, Execution, Id, Operation, OperationResult, Options, turnpike_client_open,
    turnpike_read_info, turnpike_submit,
};
use libfuzzer_sys::fuzz_target;
use wire::{BatchMut, FrameMut, InfoFrame, MAX_DATAGRAM, Promise, Reply, Status};

/// Operations of a call: more would only take longer to change.
const OPERATIONS: usize = 3;
/// What the results lie between.
const GUARD: OperationResult = OperationResult {
    value: 0xa5a5_a5a5_a5a5_a5a5,
    status: ClientStatus::TurnpikeInternal,
    refusal: ClientStatus::TurnpikeInternal,
    promise: 0xa5,
    execution: Execution::Unknown,
    reserved: 0xa5a5,
};
/// The client repeats a frame whose reply it ignores after the first of these, and gives up after the second.
const RETRY_MILLISECONDS: u32 = 2;
const TIMEOUT_MILLISECONDS: u32 = 20;

/// The node's replies to come, and those that it sent.
#[derive(Default)]
struct Script {
    replies: Vec<u8>,
    sent: Vec<Vec<u8>>,
}

static SCRIPT: Mutex<Script> = Mutex::new(Script { replies: Vec::new(), sent: Vec::new() });

fn script() -> MutexGuard<'static, Script> {
    SCRIPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The address of a client in C, which any thread may use.
struct Shared(*const Client);
// SAFETY: the header allows it.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

static CLIENT: LazyLock<Shared> = LazyLock::new(|| {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("a listener has an address").to_string();
    thread::spawn(move || listener.incoming().flatten().for_each(|stream| drop(thread::spawn(|| serve(stream)))));
    let address = CString::new(address).expect("an address has no zeros");
    let options = Options {
        size: size_of::<Options>() as u32,
        connections: 1,
        retry_ms: RETRY_MILLISECONDS,
        timeout_ms: TIMEOUT_MILLISECONDS,
        ..Options::default()
    };
    let mut client = null_mut();
    // SAFETY: all pointers are to locals.
    let status = unsafe { turnpike_client_open(&address.as_ptr(), 1, &options, &mut client, null_mut()) };
    assert_eq!(status, ClientStatus::TurnpikeOk);
    Shared(client)
});

/// Answers the frames of a connection, until one gets no reply.
fn serve(mut stream: TcpStream) {
    let mut prefix = [0; 4];
    while stream.read_exact(&mut prefix).is_ok() {
        let mut frame = vec![0; u32::from_be_bytes(prefix) as usize];
        if stream.read_exact(&mut frame).is_err() {
            return;
        }
        let Some(reply) = script().reply(frame) else { return };
        let bytes = [&(reply.len() as u32).to_be_bytes(), &reply[..]].concat();
        if stream.write_all(&bytes).is_err() {
            return;
        }
    }
}

impl Script {
    /// The next reply: a kind, a length, and then the bytes before and after the id, or changes of the honest reply
    /// (place, mask).
    fn reply(&mut self, frame: Vec<u8>) -> Option<Vec<u8>> {
        let &[kind, length, ..] = &self.replies[..] else {
            self.replies.clear();
            let reply = honest(frame);
            self.sent.push(reply.clone());
            return Some(reply);
        };
        let end = (2 + usize::from(length)).min(self.replies.len());
        let body: Vec<u8> = self.replies.drain(..end).skip(2).collect();
        let id: [u8; 4] = frame[4..8].try_into().ok()?;
        let mut reply = honest(frame);
        match kind % 8 {
            0 | 1 => reply = [body.get(..4).unwrap_or(&reply[..4]), &id, body.get(4..).unwrap_or_default()].concat(),
            2 => return None,
            kind => {
                for change in body.chunks_exact(3) {
                    let at = usize::from(u16::from_be_bytes([change[0], change[1]])) % reply.len();
                    // The id decides only whether the client looks at the rest.
                    reply[at] ^= if (4..8).contains(&at) { 0 } else { change[2] };
                }
                reply.truncate(if kind == 3 { body.len().max(8) } else { reply.len() });
            }
        }
        self.sent.push(reply.clone());
        Some(reply)
    }
}

/// The reply of a node that executes everything.
fn honest(mut frame: Vec<u8>) -> Vec<u8> {
    let length = match FrameMut::parse(&mut frame) {
        Ok(FrameMut::Batch(BatchMut { header, mut entries })) => {
            header.set_reply(Status::Ok, Promise::Durable);
            for index in 0..entries.as_ref().len() {
                entries.set_reply(index, Status::Ok, 7, Promise::Durable);
            }
            header.frame_length().expect("a batch of the client")
        }
        Ok(FrameMut::Info(info)) => {
            info.header.set_reply();
            info.retry_milliseconds = 60_000.into();
            InfoFrame::LENGTH
        }
        _ => panic!("the client sends batches and info frames only"),
    };
    frame.truncate(length.min(MAX_DATAGRAM));
    frame
}

/// Whether a reply states that an operation was executed, at its place in the batch.
fn states(reply: &[u8], index: usize, operation: &Operation) -> bool {
    let Ok(Reply::Batch(batch)) = Reply::parse(reply) else { return false };
    let Some(entry) = batch.entries.operation(index) else { return false };
    batch.status.is_ok()
        && entry.status() == Ok(Status::Ok)
        && (entry.transaction.0, entry.source.0) == (operation.transaction.bytes, operation.source.bytes)
}

fuzz_target!(|data: &[u8]| {
    *script() = Script { replies: data.to_vec(), sent: Vec::new() };
    let account = |number: u8| Id { bytes: std::array::from_fn(|at| if at == 15 { number } else { 0 }) };
    let mut operations = [1, 2, 3].map(|number| Operation {
        command: Command::Issue as u8,
        source: account(number),
        amount: 5,
        ..Operation::default()
    });
    let mut results = [GUARD; OPERATIONS + 2];
    let mut error = MaybeUninit::<Error>::uninit();
    // SAFETY: the client is never freed, and the arrays have this length.
    let status = unsafe {
        let (operations, results) = (operations.as_mut_ptr(), results.as_mut_ptr().add(1));
        turnpike_submit(CLIENT.0, operations, OPERATIONS, 0, 0, results, error.as_mut_ptr())
    };
    // SAFETY: a call writes it, whatever it returns.
    let error = unsafe { error.assume_init() };
    assert!(error.status == status && error.message.contains(&0), "the error is that of the call");
    assert_eq!((results[0], results[OPERATIONS + 1]), (GUARD, GUARD), "only results are written");
    let sent = std::mem::take(&mut script().sent);
    let results = &results[1..=OPERATIONS];
    for (index, result) in results.iter().enumerate() {
        assert_eq!(result.reserved, 0);
        let is_done = result.execution == Execution::Done;
        assert_eq!(is_done, result.status == ClientStatus::TurnpikeOk);
        assert!(!is_done || sent.iter().any(|reply| states(reply, index, &operations[index])), "{result:?}");
    }
    let is_done = results.iter().all(|result| result.execution == Execution::Done);
    assert_eq!(is_done, status == ClientStatus::TurnpikeOk);
    // The rest of the input answers a read.
    let mut info = MaybeUninit::uninit();
    // SAFETY: as above.
    let read = unsafe { turnpike_read_info(CLIENT.0, info.as_mut_ptr(), null_mut()) };
    assert!(![status, read].contains(&ClientStatus::TurnpikeInternal), "a call panicked");
});
