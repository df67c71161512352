//! `turnpike replay`: sends the transactions of a capture, as the papers did with Tcpreplay.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::Serialize;
use wire::{BatchEntries, Frame, FrameHeader, MAX_DATAGRAM, Reply};
use zerocopy::FromBytes;

use crate::capture;
use crate::cli::{NODE_PORT, ReplayArgs};
use crate::error::Error;
use crate::output::{Output, thousands};

/// Requests that wait for a reply before the next is sent: few enough for the smallest socket buffers.
const WINDOW: usize = 64;

/// The longest latency that is recorded, in nanoseconds; no reply is awaited longer.
const LATENCY_LIMIT: u64 = 60_000_000_000;

/// The result of `replay`.
#[derive(Serialize)]
struct Report {
    packets: u64,
    requests: u64,
    skipped: u64,
    replies: u64,
    lost: u64,
    statuses: BTreeMap<String, u64>,
    seconds: f64,
    requests_per_second: f64,
    latency_p50_us: f64,
    latency_p99_us: f64,
}

/// Runs `turnpike replay`.
pub fn run(args: &ReplayArgs, output: Output) -> Result<(), Error> {
    let mut requests = VecDeque::new();
    let mut skipped = 0;
    let packets = capture::read(&args.file, |datagram| {
        if args.port.is_some_and(|port| port != datagram.port) {
            return;
        }
        match Frame::parse(&datagram.payload) {
            Ok(_) => requests.push_back(datagram),
            Err(_) => skipped += 1,
        }
    })
    .map_err(Error::other)?;
    if requests.is_empty() {
        return Err(Error::Input(format!(
            "{} contains no transactions: {packets} packets, {skipped} UDP payloads that are not frames",
            args.file.display()
        )));
    }
    let count = requests.len() as u64;
    let node = args.node.resolve(NODE_PORT)?[0];
    let mut replay = Replay::new(node).map_err(|error| socket_error(node, error))?;
    let started = Instant::now();
    replay.send_all(requests, args.timed, args.wait).map_err(|error| socket_error(node, error))?;
    let seconds = started.elapsed().as_secs_f64();
    let microseconds = |quantile| replay.latency.value_at_quantile(quantile) as f64 / 1000.0;
    let report = Report {
        packets,
        requests: count,
        skipped,
        replies: replay.replies,
        lost: count - replay.replies,
        requests_per_second: replay.replies as f64
            / replay.last_reply.map_or(seconds, |last| (last - started).as_secs_f64()),
        seconds,
        latency_p50_us: microseconds(0.5),
        latency_p99_us: microseconds(0.99),
        statuses: replay.statuses,
    };
    output.result(&report, describe);
    if report.lost > 0 {
        return Err(Error::Failed(format!(
            "{} requests got no reply within {:?}: check that a node runs at {}",
            report.lost, args.wait, node
        )));
    }
    Ok(())
}

fn describe(report: &Report) -> String {
    let mut text = format!(
        "{} requests of {} packets, {} replies, {} lost, in {:.3} s ({} a second); latency p50 {:.0} us, p99 {:.0} us",
        thousands(report.requests),
        thousands(report.packets),
        thousands(report.replies),
        thousands(report.lost),
        report.seconds,
        thousands(report.requests_per_second as u64),
        report.latency_p50_us,
        report.latency_p99_us,
    );
    for (status, count) in &report.statuses {
        text.push_str(&format!("\n  {:>12}  {status}", thousands(*count)));
    }
    text
}

fn socket_error(node: SocketAddr, error: io::Error) -> Error {
    Error::Failed(format!("can't exchange datagrams with {node}: {error}"))
}

/// Requests in flight, and the results of earlier ones.
struct Replay {
    socket: UdpSocket,
    /// Send times of requests, by frame id. A capture may reuse an id before it is answered.
    waiting: HashMap<u32, VecDeque<Instant>>,
    in_flight: usize,
    replies: u64,
    last_reply: Option<Instant>,
    statuses: BTreeMap<String, u64>,
    latency: Histogram<u64>,
    buffer: Vec<u8>,
}

impl Replay {
    fn new(node: SocketAddr) -> io::Result<Self> {
        Ok(Self {
            socket: client::connected(node, None)?,
            waiting: HashMap::new(),
            in_flight: 0,
            replies: 0,
            last_reply: None,
            statuses: BTreeMap::new(),
            latency: Histogram::new_with_max(LATENCY_LIMIT, 3).map_err(io::Error::other)?,
            buffer: vec![0; MAX_DATAGRAM],
        })
    }

    fn send_all(&mut self, requests: VecDeque<capture::Datagram>, timed: bool, wait: Duration) -> io::Result<()> {
        let started = Instant::now();
        for request in requests {
            if timed {
                while let Some(left) = request.time.checked_sub(started.elapsed()).filter(|left| !left.is_zero()) {
                    self.receive(left)?;
                }
            }
            while !timed && self.in_flight >= WINDOW {
                if !self.receive(wait)? {
                    // Lost requests stay lost: the window opens again so that the rest can be sent.
                    self.in_flight = 0;
                }
            }
            let (header, _) = FrameHeader::ref_from_prefix(&request.payload)
                .map_err(|_| io::Error::other("a request that was parsed has a header"))?;
            self.waiting.entry(header.id.get()).or_default().push_back(Instant::now());
            self.in_flight += 1;
            self.socket.send(&request.payload)?;
        }
        while self.in_flight > 0 && self.receive(wait)? {}
        Ok(())
    }

    /// Receives one reply; false if none arrives in time.
    fn receive(&mut self, timeout: Duration) -> io::Result<bool> {
        self.socket.set_read_timeout(Some(timeout.max(Duration::from_micros(1))))?;
        let length = match self.socket.recv(&mut self.buffer) {
            Ok(length) => length,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        let Ok(reply) = Reply::parse(&self.buffer[..length]) else {
            return Ok(true);
        };
        let Some(sent) = self.waiting.get_mut(&reply.id()).and_then(VecDeque::pop_front) else {
            return Ok(true);
        };
        let now = Instant::now();
        self.latency.saturating_record(u64::try_from((now - sent).as_nanos()).unwrap_or(u64::MAX));
        self.last_reply = Some(now);
        self.in_flight = self.in_flight.saturating_sub(1);
        self.replies += 1;
        let mut count = |status: Option<wire::Status>| {
            let name = status.map_or_else(|| "unknown status".to_string(), |status| status.name().to_string());
            *self.statuses.entry(name).or_default() += 1;
        };
        match reply {
            Reply::Compact(frame) => count(frame.status().ok()),
            Reply::Full(frame) => count(frame.operation.status().ok()),
            Reply::Batch(batch) => match batch.entries {
                _ if !batch.status.is_ok() => count(Some(batch.status)),
                BatchEntries::Compact(entries) => entries.iter().for_each(|entry| count(entry.frame.status().ok())),
                BatchEntries::Operation(entries) => entries.iter().for_each(|entry| count(entry.status().ok())),
                BatchEntries::Signed(entries) => entries.iter().for_each(|entry| count(entry.operation.status().ok())),
            },
            Reply::Error(_, status) | Reply::ProofRefused(_, status) => count(Some(status)),
            Reply::Headers(headers) => count(Some(headers.status)),
            Reply::Verify(verify) => count(Some(verify.status)),
            Reply::Finality(finality) => count(Some(finality.status)),
            Reply::Feed(feed) => count(Some(feed.status)),
            Reply::History(history) => count(Some(history.status)),
            Reply::Assets(assets) => count(Some(assets.status)),
            Reply::Change(change) => count(change.status().ok()),
            Reply::Proof(_) | Reply::Index(_) | Reply::Info(_) => count(Some(wire::Status::Ok)),
        }
        Ok(true)
    }
}
