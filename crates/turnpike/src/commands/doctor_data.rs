//! `turnpike doctor --data`: what a data directory's disk and this machine's limits allow.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use node::disk::Disk;
use node::open_files;
use rustix::fs::fdatasync;

use super::doctor::Line;
use crate::error::Error;

/// Bytes written before each sync: the smallest batch of the journal, a page.
const PAGE: usize = 4096;
/// Syncs that are measured; the first ones, which also write metadata, are left out.
const SYNCS: usize = 200;
const WARM_UP: usize = 10;
/// Timeout of the measurement: a disk that needs longer is slow enough to report.
const PATIENCE: Duration = Duration::from_secs(5);
/// Threshold of a slow sync. One on a disk with power-loss protection takes a tenth of it, on an ordinary SSD some
/// milliseconds.
const SLOW: Duration = Duration::from_millis(5);
/// Two segments of the journal and a snapshot of a small table.
const LEAST_ROOM: u64 = 1 << 30;
/// Files that a node with all listeners at their defaults needs.
const FILES: u64 = 8192;

/// Looks at a directory, or at the nearest one above it that exists.
pub fn look(path: &Path) -> Result<Vec<Line>, Error> {
    let existing = path.ancestors().find(|above| above.is_dir()).unwrap_or(Path::new("."));
    let syncs = measure(existing).map_err(|source| Error::file("measure the syncs of", existing, source))?;
    let room = Disk::from_path(existing).map_err(|source| Error::file("read the file system of", existing, source))?;
    Ok(vec![sync(&syncs), space(room), clock(), files()])
}

/// Durations of syncs, ascending.
fn measure(directory: &Path) -> io::Result<Vec<Duration>> {
    // It is removed when it is closed, however this ends.
    let mut file: File = tempfile::tempfile_in(directory)?;
    let (began, mut durations) = (Instant::now(), Vec::new());
    // Space is written before it is synced, as the journal does it: syncing an overwrite changes no metadata.
    file.write_all(&vec![0; PAGE * (SYNCS + WARM_UP)])?;
    fdatasync(&file)?;
    for number in 0..SYNCS + WARM_UP {
        let start = Instant::now();
        std::os::unix::fs::FileExt::write_all_at(&file, &[1; PAGE], (number * PAGE) as u64)?;
        fdatasync(&file)?;
        if number >= WARM_UP {
            durations.push(start.elapsed());
        }
        if began.elapsed() > PATIENCE && !durations.is_empty() {
            break;
        }
    }
    durations.sort_unstable();
    Ok(durations)
}

fn sync(durations: &[Duration]) -> Line {
    let at = |percent: usize| durations[(durations.len() - 1) * percent / 100];
    let (median, slowest) = (at(50), at(99));
    let advice = "replies at `durable` wait for a sync: use a disk with power-loss protection, or one that nothing else writes to";
    Line {
        what: "fdatasync".into(),
        good: slowest <= SLOW,
        how: format!("p50 {median:.1?}, p99 {slowest:.1?}, {} syncs of a page", durations.len()),
        advice: if slowest <= SLOW { String::new() } else { advice.into() },
    }
}

fn space(Disk { size, free }: Disk) -> Line {
    let good = free >= LEAST_ROOM;
    let gigabytes = |bytes: u64| bytes as f64 / 1e9;
    let how = format!("{:.1} GB free of {:.1} GB", gigabytes(free), gigabytes(size));
    let advice = if good { "" } else { "free some space: operations are refused when the journal has no room" };
    Line { what: "space".into(), good, how, advice: advice.into() }
}

fn clock() -> Line {
    let (good, how) = match node::clock::is_synchronised() {
        Some(true) => (true, "synchronised by NTP"),
        Some(false) => (false, "not synchronised by NTP"),
        None => (false, "unknown: the kernel refuses to report it"),
    };
    let advice = if good { "" } else { "run an NTP client such as chrony: signed operations and blocks carry times" };
    Line { what: "clock".into(), good, how: how.into(), advice: advice.into() }
}

fn files() -> Line {
    // This process has raised its own limit, as a node does.
    let limit = open_files::limit();
    let good = limit >= FILES;
    let advice =
        if good { "" } else { "raise the hard limit (`ulimit -Hn`, `LimitNOFILE=` of systemd): connections are files" };
    Line { what: "open files".into(), good, how: format!("limit {limit}"), advice: advice.into() }
}
