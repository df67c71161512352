//! Measures what an operation costs the client: processor time of its thread, against a node that answers everything
//! with OK.
//!
//! `cargo run --release -p turnpike-client --example bench_pipeline [OPERATIONS]`
#![allow(clippy::unwrap_used)]

use std::net::{SocketAddr, UdpSocket};
use std::ops::ControlFlow;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use turnpike_client::load::{self, Choice, Distribution, Format, Mix, Operations, Pace, Until};
use turnpike_client::{Options, Pipeline};
use wire::{BatchFormat, Promise, REPLY_BIT};

/// Runs of each case; the median is printed.
const RUNS: usize = 5;

fn main() {
    let operations = std::env::args().nth(1).map_or(4_000_000, |text| text.parse().unwrap());
    let node = echo();
    println!("{:<44} {:>12} {:>14} {:>8}", "case", "operations/s", "client ns each", "retries");
    let wide = Format::Batch(BatchFormat::Operation);
    let compact = Format::Batch(BatchFormat::Compact);
    for (name, format, batch, window, share) in [
        ("operations, 1023 a datagram, 16 in flight", wide, 1023, 16, 1),
        ("compact, 2728 a datagram, 16 in flight", compact, 2728, 16, 1),
        ("compact, 60 a datagram, 64 in flight", compact, 60, 64, 2),
        ("operations, 22 a datagram, 64 in flight", wide, 22, 64, 4),
        ("operations, 1 a datagram, 64 in flight", wide, 1, 64, 40),
        ("operations, 1 a datagram, 1 in flight", wide, 1, 1, 80),
    ] {
        let mut runs: Vec<_> = (0..RUNS).map(|_| run(node, format, batch, window, operations / share)).collect();
        runs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (cost, rate, retries) = runs[RUNS / 2];
        println!("{name:<44} {rate:>12.0} {cost:>14.1} {retries:>8}");
    }
}

/// Nanoseconds of client time per operation, operations per second, datagrams sent again.
fn run(node: SocketAddr, format: Format, batch: u16, window: usize, operations: u64) -> (f64, f64, u64) {
    let mut pipeline = Pipeline::connect(node, &Options { window, ..Options::default() }).unwrap();
    let choice = Choice::new(Distribution::Uniform, 1, 2_000_000, 1);
    let mut workload = Operations::new(Mix::Transfer, format, batch, Promise::Accepted, choice).unwrap();
    let until = Until::operations(operations);
    let before = thread_time();
    let report = load::run(&mut pipeline, &mut workload, Pace::Closed, until, |_| ControlFlow::Continue(())).unwrap();
    let spent = thread_time() - before;
    assert_eq!((report.ok(), report.lost), (operations, 0));
    (spent.as_nanos() as f64 / operations as f64, report.rate(), report.retries)
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A node that answers each batch with itself: all statuses are 0 already.
fn echo() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let _ = rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, 16 << 20);
    let address = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            buffer[3] |= REPLY_BIT;
            let _ = socket.send_to(&buffer[..length], from);
        }
    });
    address
}
