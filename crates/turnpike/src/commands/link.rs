//! `turnpike link`: measures message channels, and answers those who do.

use std::path::Path;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use std::time::Duration;

use hdrhistogram::Histogram;
use link::{
    Config, Identity, SecretKey,
    measure::{Prober, Responder, Role},
};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use storage::key_file;

use crate::cli::{LinkChannelArgs, LinkCommand, LinkPingArgs, LinkServeArgs, LinkThroughputArgs};
use crate::commands::key::not_a_key;
use crate::error::Error;
use crate::output::{Output, thousands};

/// Longer round trips count as this, a minute: the histogram is sized for it, and does not grow.
const LONGEST_NANOSECONDS: u64 = 60_000_000_000;

/// Printed by `link serve` when it is ready.
#[derive(Serialize)]
struct Serving {
    address: String,
}

/// The result of `link key`.
#[derive(Serialize)]
struct Key {
    public_key: String,
}

/// The result of `link ping`.
#[derive(Serialize)]
struct Ping {
    bytes: u32,
    count: u64,
    min_us: f64,
    p50_us: f64,
    p90_us: f64,
    p99_us: f64,
    p999_us: f64,
    max_us: f64,
    round_trips_per_second: f64,
    /// Round trips by time: in buckets that double, each with its upper end.
    histogram: Vec<Bucket>,
}

/// Round trips that took up to so long, and longer than the bucket before.
#[derive(Serialize)]
struct Bucket {
    up_to_us: f64,
    count: u64,
}

/// The result of `link throughput`.
#[derive(Serialize)]
struct Throughput {
    bytes: u32,
    count: u64,
    seconds: f64,
    messages_per_second: f64,
    megabytes_per_second: f64,
}

/// Runs `turnpike link`.
pub fn run(command: &LinkCommand, output: Output) -> Result<(), Error> {
    match command {
        LinkCommand::Serve(args) => serve(args, output),
        LinkCommand::Ping(args) => ping(args, output),
        LinkCommand::Throughput(args) => throughput(args, output),
        LinkCommand::Key { file } => key(file, output),
    }
}

fn key(file: &Path, output: Output) -> Result<(), Error> {
    let key = if file.exists() {
        read_key(file)?
    } else {
        let key = SecretKey::generate().map_err(Error::other)?;
        key_file::create(file, key.as_bytes()).map_err(Error::other)?;
        key
    };
    let report = Key { public_key: key.public().map_err(Error::other)?.to_string() };
    output.result(&report, |report| format!("public key  {}", report.public_key));
    Ok(())
}

fn read_key(file: &Path) -> Result<SecretKey, Error> {
    let bytes = key_file::read(file).map_err(Error::other)?;
    bytes.map(SecretKey::from_bytes).ok_or_else(|| not_a_key(file))
}

fn config(args: &LinkChannelArgs) -> Result<Config, Error> {
    let identity = match &args.key {
        Some(file) => Some(Arc::new(Identity::new(read_key(file)?, args.peer.clone()).map_err(Error::other)?)),
        None => None,
    };
    Ok(Config { buffers: args.buffers, buffer_bytes: args.buffer_bytes, identity, ..Config::default() })
}

fn serve(args: &LinkServeArgs, output: Output) -> Result<(), Error> {
    let mut signals = Signals::new([SIGINT, SIGTERM])
        .map_err(|error| Error::Failed(format!("the system refuses to report signals: {error}")))?;
    let mut responder = Responder::bind(&args.channel.address, &config(&args.channel)?).map_err(Error::other)?;
    output.result(&Serving { address: responder.address().to_string() }, |ready| format!("serving  {}", ready.address));
    let is_over = Arc::new(AtomicBool::new(false));
    let (ends, waker) = (Arc::clone(&is_over), responder.waker());
    std::thread::spawn(move || {
        signals.forever().next();
        ends.store(true, Relaxed);
        waker.wake();
    });
    responder.run(&is_over).map_err(Error::other)
}

fn connect(args: &LinkChannelArgs, bytes: u32, role: Role) -> Result<Prober, Error> {
    if bytes > args.buffer_bytes {
        return Err(Error::Input(format!(
            "--bytes: a message must fit in a buffer: set --buffer-bytes {bytes} on both sides"
        )));
    }
    Prober::connect(&args.address, &config(args)?, role).map_err(Error::other)
}

fn ping(args: &LinkPingArgs, output: Output) -> Result<(), Error> {
    let mut prober = connect(&args.channel, args.bytes, Role::Echo)?;
    let bar = output.bar("pings", args.count);
    let mut times = Histogram::<u64>::new_with_max(LONGEST_NANOSECONDS, 3).map_err(Error::other)?;
    let mut all = Duration::ZERO;
    for number in 0..args.count {
        let time = prober.round_trip(args.bytes as usize).map_err(Error::other)?;
        all += time;
        times.saturating_record(time.as_nanos() as u64);
        if number % 1024 == 0 {
            bar.set_position(number);
        }
    }
    bar.finish_and_clear();
    let microseconds = |nanoseconds: u64| nanoseconds as f64 / 1e3;
    let at = |quantile| microseconds(times.value_at_quantile(quantile));
    let buckets = times.iter_log(1024, 2.0).filter(|bucket| bucket.count_since_last_iteration() > 0);
    let report = Ping {
        bytes: args.bytes,
        count: args.count,
        min_us: microseconds(times.min()),
        p50_us: at(0.5),
        p90_us: at(0.9),
        p99_us: at(0.99),
        p999_us: at(0.999),
        max_us: microseconds(times.max()),
        round_trips_per_second: args.count as f64 / all.as_secs_f64(),
        histogram: buckets
            .map(|bucket| Bucket {
                up_to_us: microseconds(bucket.value_iterated_to()),
                count: bucket.count_since_last_iteration(),
            })
            .collect(),
    };
    output.result(&report, Ping::describe);
    Ok(())
}

impl Ping {
    fn describe(&self) -> String {
        let most = self.histogram.iter().map(|bucket| bucket.count).max().unwrap_or(1);
        let rows = self.histogram.iter().map(|Bucket { up_to_us, count }| {
            let stars = "*".repeat((count * 40).div_ceil(most) as usize);
            format!("\n  up to {up_to_us:>10.1} us {:>12}  {stars}", thousands(*count))
        });
        format!(
            "{} round trips of {} bytes, {} a second\n\
             min {:.2} us, p50 {:.2}, p90 {:.2}, p99 {:.2}, p999 {:.2}, max {:.2}{}",
            thousands(self.count),
            self.bytes,
            thousands(self.round_trips_per_second as u64),
            self.min_us,
            self.p50_us,
            self.p90_us,
            self.p99_us,
            self.p999_us,
            self.max_us,
            rows.collect::<String>(),
        )
    }
}

fn throughput(args: &LinkThroughputArgs, output: Output) -> Result<(), Error> {
    let mut prober = connect(&args.channel, args.bytes, Role::Drop)?;
    let message = vec![0x5a; args.bytes as usize];
    let time = prober.stream(&message, args.count).map_err(Error::other)?.as_secs_f64();
    let rate = args.count as f64 / time;
    let report = Throughput {
        bytes: args.bytes,
        count: args.count,
        seconds: time,
        messages_per_second: rate,
        megabytes_per_second: rate * f64::from(args.bytes) / 1e6,
    };
    output.result(&report, |report| {
        format!(
            "{} messages of {} bytes in {:.3} s: {} a second, {:.0} MB/s",
            thousands(report.count),
            report.bytes,
            report.seconds,
            thousands(report.messages_per_second as u64),
            report.megabytes_per_second,
        )
    });
    Ok(())
}
