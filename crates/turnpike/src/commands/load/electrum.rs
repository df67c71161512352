//! `turnpike load --electrum`: puts load on an Electrum server, pipelined over several connections.

mod connection;
mod draw;
mod method;
mod processor;
mod requests;
mod sample;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::cli::LoadArgs;
use crate::error::Error;
use crate::output::{Output, thousands};

use connection::{Connection, Outcome};
use draw::Draw;
use method::Mix;
use sample::Sample;

/// The result of `load --electrum`.
#[derive(Serialize)]
struct ElectrumReport {
    server: String,
    requests: u64,
    seconds: f64,
    requests_per_second: f64,
    errors: u64,
    first_error: Option<String>,
    methods: BTreeMap<&'static str, u64>,
    latency_p50_us: f64,
    latency_p99_us: f64,
    latency_p999_us: f64,
    latency_max_us: f64,
    bytes_sent: u64,
    bytes_received: u64,
    /// Processor time of the server's process, if its id was given.
    processor_seconds: Option<f64>,
    requests_per_processor_second: Option<f64>,
}

/// Runs `turnpike load --electrum`.
pub fn run(address: SocketAddr, args: &LoadArgs, output: Output) -> Result<(), Error> {
    let options = &args.electrum;
    let mix = Mix::parse(&options.methods)?;
    let failed = |error| Error::Failed(format!("the Electrum server at {address}: {error}"));
    let mut connection = Connection::open(address).map_err(failed)?;
    let sample = Sample::take(&mut connection, options.sample, args.seed).map_err(failed)?;
    let server = connection.server().to_owned();
    drop(connection);
    let requests = mix.write(&sample);
    let connections = (0..options.connections).map(|_| Connection::open(address));
    let connections = connections.collect::<Result<Vec<_>, _>>().map_err(failed)?;

    let bar = output.bar("requests", args.operations);
    let answered = AtomicU64::new(0);
    let left = AtomicU64::new(args.operations);
    let used = options.pid.map(processor::used).transpose()?;
    let begin = Instant::now();
    let outcomes = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..)
            .zip(connections)
            .map(|(number, mut connection)| {
                let (requests, left, answered) = (&requests, &left, &answered);
                let draw = Draw::new(args.seed, number);
                scope.spawn(move || connection.load(requests, draw, options.depth.into(), left, answered))
            })
            .collect();
        while threads.iter().any(|thread| !thread.is_finished()) {
            bar.set_position(answered.load(Relaxed));
            // The threads are waited for below; this is for the eyes.
            std::thread::sleep(Duration::from_millis(1));
        }
        threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
    });
    let elapsed = begin.elapsed();
    let used =
        used.map(|before| Ok::<_, Error>(processor::used(options.pid.unwrap_or_default())? - before)).transpose()?;
    bar.finish_and_clear();
    let mut all = Outcome::new();
    for outcome in outcomes {
        let outcome = outcome.map_err(|_| Error::Failed("a thread of the load panicked".into()))?;
        all.add(&outcome.map_err(failed)?);
    }
    let report = ElectrumReport::new(server, &all, elapsed, used);
    output.result(&report, ElectrumReport::describe);
    match report.first_error {
        Some(error) => Err(Error::Failed(format!("{} requests failed, the first with: {error}", report.errors))),
        None => Ok(()),
    }
}

impl ElectrumReport {
    fn new(server: String, outcome: &Outcome, elapsed: Duration, used: Option<Duration>) -> Self {
        let requests: u64 = outcome.methods.values().sum();
        let at = |latencies: &Histogram<u64>, quantile| latencies.value_at_quantile(quantile) as f64 / 1e3;
        let processor_seconds = used.map(|used| used.as_secs_f64());
        Self {
            server,
            requests,
            seconds: elapsed.as_secs_f64(),
            requests_per_second: requests as f64 / elapsed.as_secs_f64(),
            errors: outcome.errors,
            first_error: outcome.first_error.clone(),
            methods: outcome.methods.clone(),
            latency_p50_us: at(&outcome.latencies, 0.5),
            latency_p99_us: at(&outcome.latencies, 0.99),
            latency_p999_us: at(&outcome.latencies, 0.999),
            latency_max_us: at(&outcome.latencies, 1.0),
            bytes_sent: outcome.bytes_sent,
            bytes_received: outcome.bytes_received,
            processor_seconds,
            requests_per_processor_second: processor_seconds
                .filter(|seconds| *seconds > 0.0)
                .map(|seconds| requests as f64 / seconds),
        }
    }

    fn describe(&self) -> String {
        let mut text = format!(
            "{}: {} requests in {:.3} s: {} a second, {} errors\n\
             latency: p50 {:.0} us, p99 {:.0} us, p99.9 {:.0} us, most {:.0} us\n{} bytes sent, {} received",
            self.server,
            thousands(self.requests),
            self.seconds,
            thousands(self.requests_per_second as u64),
            thousands(self.errors),
            self.latency_p50_us,
            self.latency_p99_us,
            self.latency_p999_us,
            self.latency_max_us,
            thousands(self.bytes_sent),
            thousands(self.bytes_received),
        );
        if let (Some(seconds), Some(rate)) = (self.processor_seconds, self.requests_per_processor_second) {
            let rate = thousands(rate as u64);
            text.push_str(&format!(
                "\nthe server used {seconds:.3} s of processor time: {rate} requests per second of it"
            ));
        }
        for (method, count) in &self.methods {
            text.push_str(&format!("\n  {:>14}  {method}", thousands(*count)));
        }
        text
    }
}
