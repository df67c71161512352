//! `cargo run --release -p turnpike-simulator -- --seed N --hours H`
#![allow(clippy::unwrap_used)]

use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use turnpike_simulator::{Settings, run};

const USAGE: &str = "usage: turnpike-simulator [--seed N] [--hours H]";

fn parse(mut arguments: impl Iterator<Item = String>) -> Option<Settings> {
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut settings = Settings { seed: clock.as_nanos() as u64, duration: Duration::from_secs(3600) };
    while let Some(argument) = arguments.next() {
        let value = arguments.next()?;
        match argument.as_str() {
            "--seed" => settings.seed = value.parse().ok()?,
            "--hours" => settings.duration = Duration::try_from_secs_f64(value.parse::<f64>().ok()? * 3600.0).ok()?,
            _ => return None,
        }
    }
    Some(settings)
}

fn main() -> ExitCode {
    let Some(settings) = parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    // Before anything can go wrong, so that the run can be repeated.
    println!("seed {}, {:.2} hours", settings.seed, settings.duration.as_secs_f64() / 3600.0);
    let start = Instant::now();
    let report = run(settings);
    println!("{report:#?}\nnothing wrong; {:.1} seconds", start.elapsed().as_secs_f64());
    ExitCode::SUCCESS
}
