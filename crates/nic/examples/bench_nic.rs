//! Cost of the data path alone: a store controller that does nothing, client and node in one process over loopback.
//! Prints operations per second with batch frames, and the round-trip time of a compact frame.
#![allow(missing_docs, clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use turnpike_nic::parking::{Limits, parking};
use turnpike_nic::selector::{Selector, SelectorConfig};
use turnpike_nic::{
    Answer, Backend, Batch, Counters, DataPath, Held, Peer, Pools, QueryKind, Release, Reply, StoreController,
    Transmit, UdpBackend, UdpConfig,
};
use wire::{
    BatchFormat, BatchHeader, Command, CompactEntry, CompactFrame, MAX_DATAGRAM, Operation, Promise, SignedOperation,
    Status,
};
use zerocopy::IntoBytes;

/// Does nothing.
struct Nothing;

impl StoreController for Nothing {
    fn default_promise(&self) -> Promise {
        Promise::Accepted
    }
    fn execute(&mut self, _operations: &mut [Operation], _values: &mut [u64]) {}
    fn execute_signed(&mut self, _operations: &mut [SignedOperation], _values: &mut [u64]) {}
    fn release(&mut self, promise: Promise) -> Release {
        Release::Now(promise)
    }
    fn answer(&mut self, _kind: QueryKind, _datagram: &mut [u8], _peer: &Peer) -> Answer {
        Answer::Refuse(Status::NotFound, 0)
    }
    fn defer(&mut self, _kind: QueryKind, held: Held) -> Result<(), Held> {
        Err(held)
    }
    fn verify(&mut self, held: Held) -> Result<(), Held> {
        Err(held)
    }
    fn verified(&mut self) -> Option<Held> {
        None
    }
    fn commit(&mut self, _lone: bool) {}
}

/// Keeps `window` copies of a datagram in flight for a while. Returns how many were answered, and the median round-trip
/// time.
fn drive(client: &mut UdpBackend, peer: Peer, datagram: &[u8], window: usize, time: Duration) -> (usize, Duration) {
    let mut batch = Batch::new(64);
    let mut times = Vec::new();
    let mut answered = 0;
    let start = Instant::now();
    let mut sent = start;
    client.transmit(&mut std::iter::repeat_n(Reply { peer, bytes: datagram }, window));
    while start.elapsed() < time {
        client.receive(&mut batch, Duration::from_millis(100)).unwrap();
        let back = batch.messages.iter().flat_map(|message| message.datagrams()).count();
        times.push(sent.elapsed());
        answered += back;
        sent = Instant::now();
        client.transmit(&mut std::iter::repeat_n(Reply { peer, bytes: datagram }, back));
    }
    // No leftover of this run may be taken for a reply in the next.
    while !batch.messages.is_empty() {
        client.receive(&mut batch, Duration::from_millis(20)).unwrap();
    }
    times.sort();
    (answered, times[times.len() / 2])
}

fn main() {
    let counters = Arc::new(Counters::default());
    let backend = UdpBackend::bind(&UdpConfig::new("127.0.0.1:0".parse().unwrap()), counters.clone()).unwrap();
    let local = backend.local_address().unwrap();
    let (peer, waker, stop) = (Peer::new(local), backend.waker(), Arc::new(AtomicBool::new(false)));
    let config = SelectorConfig { trusted: vec!["127.0.0.0/8".parse().unwrap()], ..SelectorConfig::default() };
    let (parking, _departures) = parking(Limits::default());
    let pool = Pools::default();
    let path = DataPath::new(backend, Selector::new(config, local), Nothing, parking, pool, counters, 64);
    let stopped = stop.clone();
    let node = std::thread::spawn(move || path.run(&stopped).map(drop));

    let counters = Arc::new(Counters::default());
    let mut client = UdpBackend::bind(&UdpConfig::new("127.0.0.1:0".parse().unwrap()), counters).unwrap();
    let frame = CompactFrame::new(Command::Transfer, 1, 1, 2, 3);
    let second = Duration::from_secs(1);
    for format in [BatchFormat::Compact, BatchFormat::Operation] {
        let count = format.entries_in(MAX_DATAGRAM);
        let header = BatchHeader::new(1, format, count as u16, Promise::Accepted);
        let (entry, operation) = (CompactEntry::from(frame), frame.to_operation());
        let entry = if format == BatchFormat::Compact { entry.as_bytes() } else { operation.as_bytes() };
        let datagram = [header.as_bytes(), &entry.repeat(count)].concat();
        for window in [1, 8] {
            let (answered, _) = drive(&mut client, peer, &datagram, window, second);
            let millions = (answered * count) as f64 / 1e6;
            println!("batches of {count} {format:?}, {window} in flight: {millions:.1} million operations/s");
        }
    }
    for window in [64, 1] {
        let (answered, median) = drive(&mut client, peer, frame.as_bytes(), window, second);
        println!("compact frames, {window} in flight: {answered} operations/s, median {median:?}");
    }
    stop.store(true, Ordering::Release);
    waker.wake();
    node.join().unwrap().unwrap();
}
