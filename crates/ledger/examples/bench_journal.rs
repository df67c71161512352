//! Latency and throughput of the journal on a real disk.
//!
//! `cargo run --release -p turnpike-ledger --example bench_journal [DIRECTORY]`
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use figures::Figure;
use storage::{Directory, RealDirectory};
use turnpike_ledger::journal::{Batch, Journal, Options, Record, group_commit};
use wire::{AccountId, Operation, TransactionId};

fn operation(number: u64) -> Operation {
    let id = |number: u64| u128::from(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_be_bytes();
    Operation::transfer(
        TransactionId(id(number)),
        AccountId(id(number % 1000)),
        AccountId(id(number % 777)),
        number + 1,
    )
}

/// A journal in its own directory, with its second segment prepared as in a node that has run for a while.
fn open(parent: &tempfile::TempDir, name: &str) -> Journal {
    let directory = RealDirectory::create(parent.path().join(name)).unwrap();
    let journal = Journal::open(Arc::new(directory) as Arc<dyn Directory>, &Options::new([1; 32])).unwrap().0;
    journal.log().prepare().unwrap();
    journal
}

/// Processor time of all threads of this process, in ticks of 10 ms.
fn processor_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

fn print_latencies(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |part: f64| times[(times.len() as f64 * part) as usize].as_secs_f64() * 1e6;
    println!("{name:<44} p50 {:7.1} us   p99 {:7.1} us", at(0.5), at(0.99));
    Figure { name: &format!("journal: {name}"), value: at(0.5), unit: "us", peer: None }.record();
}

/// Batches of a fixed size, one after the other, on one thread.
fn bench_commits(parent: &tempfile::TempDir, size: u64, count: usize) {
    let mut journal = open(parent, &format!("commits-{size}"));
    let mut batch = Batch::new();
    let mut times = Vec::new();
    for number in 0..count as u64 {
        (0..size).for_each(|index| batch.push(&operation(number * size + index), 1));
        let start = Instant::now();
        journal.commit(&mut batch, number).unwrap();
        times.push(start.elapsed());
        // In a node a separate thread does this.
        journal.log().prepare().unwrap();
    }
    print_latencies(&format!("commit of {size}, no thread switched"), times);
}

/// One operation in flight from a thread to the committer and back; the reply is a byte through a socket.
fn bench_round_trip(parent: &tempfile::TempDir, count: u64) {
    use std::io::{Read, Write};
    let (submitter, mut committer, preparer) = group_commit(open(parent, "round-trip"));
    let (mut here, mut there) = std::os::unix::net::UnixStream::pair().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| preparer.run());
        scope.spawn(move || {
            while let Some(durable) = committer.commit_next() {
                durable.unwrap();
                there.write_all(&[1]).unwrap();
            }
        });
        let mut times = Vec::new();
        for number in 0..count {
            let start = Instant::now();
            submitter.begin().push(&operation(number), 1);
            submitter.wake();
            here.read_exact(&mut [0]).unwrap();
            times.push(start.elapsed());
        }
        submitter.stop();
        print_latencies("1 in flight, through the committer thread", times);
    });
}

/// Full speed, with a reader that follows and releases segments.
fn bench_throughput(parent: &tempfile::TempDir, total: u64, follows: bool) {
    let journal = open(parent, &format!("throughput-{follows}"));
    let log = journal.log().clone();
    let (submitter, mut committer, preparer) = group_commit(journal);
    let (start, processor) = (Instant::now(), processor_time());
    std::thread::scope(|scope| {
        scope.spawn(|| preparer.run());
        let commits = scope.spawn(move || {
            let mut commits = 0;
            while let Some(durable) = committer.commit_next() {
                durable.unwrap();
                commits += 1;
            }
            commits
        });
        let reader = scope.spawn(|| {
            let mut reader = log.reader(1).unwrap();
            let mut busy = Duration::ZERO;
            while follows && reader.next_sequence() <= total {
                let begin = Instant::now();
                while reader.next().unwrap().is_some() {}
                log.prune(reader.next_sequence().saturating_sub(1 << 20)).unwrap();
                busy += begin.elapsed();
                std::thread::sleep(Duration::from_millis(2));
            }
            busy
        });
        let (mut next, mut pushing) = (0, Duration::ZERO);
        while next < total {
            let begin = Instant::now();
            let mut submission = submitter.begin();
            let room = submission.room().unwrap().min(1000).min((total - next) as usize);
            (0..room as u64).for_each(|index| submission.push(&operation(next + index), 1));
            drop(submission);
            submitter.wake();
            next += room as u64;
            if room == 0 {
                std::thread::sleep(Duration::from_micros(50));
            } else {
                pushing += begin.elapsed();
            }
        }
        while submitter.durable() < total {
            std::thread::sleep(Duration::from_micros(50));
        }
        let (elapsed, processor) = (start.elapsed(), processor_time() - processor);
        submitter.stop();
        let commits = commits.join().unwrap();
        let rate = total as f64 / elapsed.as_secs_f64();
        let each = |time: Duration| time.as_secs_f64() * 1e9 / total as f64;
        let reading = if follows { format!(", {:.0} to read", each(reader.join().unwrap())) } else { String::new() };
        println!(
            "{:<44} {:.2} M operations/s, {:.0} MB/s, {commits} commits; ns of processor time each: {:.0}; \
             of them {:.0} to push{reading}",
            if follows { "throughput with a reader that follows" } else { "throughput without a reader" },
            rate / 1e6,
            rate * Record::LENGTH as f64 / 1e6,
            each(processor),
            each(pushing),
        );
    });
}

/// Time to open a journal with this number of operations: every digest is checked.
fn bench_open(parent: &tempfile::TempDir, total: u64) {
    let mut journal = open(parent, "open");
    let mut batch = Batch::new();
    for number in 0..total {
        batch.push(&operation(number), 1);
        if batch.len() == 10_000 || number + 1 == total {
            journal.commit(&mut batch, number).unwrap();
        }
    }
    drop(journal);
    let start = Instant::now();
    drop(open(parent, "open"));
    println!("{:<44} {:.0} ms", format!("opening a journal of {total}"), start.elapsed().as_secs_f64() * 1e3);
}

fn main() {
    let parent = match std::env::args_os().nth(1) {
        Some(directory) => tempfile::tempdir_in(directory),
        None => tempfile::tempdir(),
    };
    let parent = parent.unwrap();
    for (size, count) in [(1, 5000), (64, 2000), (1000, 1000), (3600, 500), (14_500, 200)] {
        bench_commits(&parent, size, count);
    }
    bench_round_trip(&parent, 5000);
    bench_throughput(&parent, 20_000_000, false);
    bench_throughput(&parent, 20_000_000, true);
    bench_open(&parent, 4_000_000);
}
