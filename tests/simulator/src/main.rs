//! The simulator's program: one seed, or with `--operations` a series of seeds on all processors.
#![allow(clippy::unwrap_used)]

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::panic;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use turnpike_simulator::{Report, Settings, run};

const USAGE: &str = "usage: turnpike-simulator [--seed N] [--hours H] [--operations N] [--jobs N] [--record FILE]

Simulates H hours (1) from seed N (the clock). With --operations it goes on with the following seeds until they have
executed N operations in all, --jobs seeds at a time (one for each processor). --record appends a line to FILE.";

/// Simulated time of each seed when there are several: the cost of an operation grows with the history before it.
const HOURS_OF_EACH: f64 = 0.25;

struct Options {
    seed: u64,
    hours: Option<f64>,
    operations: Option<u64>,
    jobs: usize,
    record: Option<PathBuf>,
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Options> {
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    let mut options = Options { seed: clock.as_nanos() as u64, hours: None, operations: None, jobs, record: None };
    while let Some(argument) = arguments.next() {
        let value = arguments.next()?;
        match argument.as_str() {
            "--seed" => options.seed = value.parse().ok()?,
            "--hours" => options.hours = Some(value.parse().ok()?),
            "--operations" => options.operations = Some(value.parse().ok()?),
            "--jobs" => options.jobs = value.parse().ok().filter(|jobs| *jobs > 0)?,
            "--record" => options.record = Some(value.into()),
            _ => return None,
        }
    }
    Some(options)
}

/// Runs the seeds from `seed` on until they have executed this number of operations. Returns the number of seeds and
/// their reports' sum, or the seed that failed.
fn campaign(seed: u64, duration: Duration, operations: u64, jobs: usize) -> Result<(u64, Report), u64> {
    let (next, executed) = (AtomicU64::new(seed), AtomicU64::new(0));
    let work = || -> Result<Report, u64> {
        let mut sum = Report::default();
        while executed.load(Relaxed) < operations {
            let seed = next.fetch_add(1, Relaxed);
            let report = panic::catch_unwind(|| run(Settings { seed, duration })).map_err(|_| seed)?;
            let total = executed.fetch_add(report.operations, Relaxed) + report.operations;
            println!("seed {seed}: {} operations, {} crashes; {total} in all", report.operations, report.crashes);
            sum += report;
        }
        Ok(sum)
    };
    let results: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let mut sum = Report::default();
    for result in results {
        sum += result?;
    }
    Ok((next.load(Relaxed) - seed, sum))
}

/// Appends a line about the run to a table.
fn record(file: &Path, seed: u64, seeds: u64, report: &Report) -> io::Result<()> {
    let day = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs() / (24 * 3600);
    let commit = std::env::var("TURNPIKE_COMMIT").unwrap_or_else(|_| "unknown".into());
    let is_new = !file.exists();
    let mut file = OpenOptions::new().create(true).append(true).open(file)?;
    if is_new {
        writeln!(file, "day\tcommit\tfirst seed\tseeds\toperations\tcrashes\tblocks\tproofs")?;
    }
    let Report { operations, crashes, blocks, proofs, .. } = report;
    writeln!(file, "{day}\t{commit}\t{seed}\t{seeds}\t{operations}\t{crashes}\t{blocks}\t{proofs}")
}

fn main() -> ExitCode {
    let Some(options) = parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    let (hours, jobs) = match options.operations {
        Some(_) => (options.hours.unwrap_or(HOURS_OF_EACH), options.jobs),
        None => (options.hours.unwrap_or(1.0), 1),
    };
    let Ok(duration) = Duration::try_from_secs_f64(hours * 3600.0) else {
        eprintln!("--hours takes a number of hours, for example 0.25");
        return ExitCode::FAILURE;
    };
    // Before anything can go wrong, so that the run can be repeated.
    println!("seed {}, {hours:.2} hours", options.seed);
    let start = Instant::now();
    // Without a number of operations, the first seed has executed enough.
    let (seeds, report) = match campaign(options.seed, duration, options.operations.unwrap_or(1), jobs) {
        Ok(results) => results,
        Err(seed) => {
            eprintln!("seed {seed} failed: repeat it with --seed {seed} --hours {hours}");
            return ExitCode::FAILURE;
        }
    };
    println!("{report:#?}\nnothing wrong in {seeds} seeds; {:.1} seconds", start.elapsed().as_secs_f64());
    if let Some(file) = &options.record
        && let Err(error) = record(file, options.seed, seeds, &report)
    {
        eprintln!("cannot write {}: {error}", file.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
