//! `turnpike load`: puts load on a node.

mod electrum;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::time::Duration;

use client::load::{self, Choice, Distribution, Format, Mix, Operations, Pace, Proofs, Report, Until};
use client::{Client, Options, Pipeline};
use serde::Serialize;
use wire::{AccountId, BatchFormat, Chain, ETHERNET_DATAGRAM, Operation, Promise, Query};

use crate::cli::{DistributionArg, LoadArgs, MixArg};
use crate::error::Error;
use crate::output::{Output, thousands};

/// Balance to which every account of the load is topped up, so that transfers of 1 do not run dry.
const FUNDS: u64 = 1_000_000;

/// The number of the first account.
const FIRST_ACCOUNT: u64 = 1;

/// Accounts that requests for proofs hit in the cache, with `--hits`: their proofs fit the smallest cache.
const HOT_ACCOUNTS: u32 = 1000;

/// The most operations that are signed before a run: half a minute of signing and a minute of checking, within the
/// node's replay window of two minutes.
const SIGNED_LIMIT: u64 = 1_000_000;

/// The result of `load`.
#[derive(Serialize)]
struct LoadReport {
    operations: u64,
    seconds: f64,
    operations_per_second: f64,
    /// The weakest promise of the replies; none for proofs.
    promise: Option<&'static str>,
    datagrams: u64,
    retries: u64,
    lost: u64,
    wrong: u64,
    statuses: BTreeMap<&'static str, u64>,
    latency_p50_us: f64,
    latency_p99_us: f64,
    latency_p999_us: f64,
    latency_max_us: f64,
}

/// Runs `turnpike load`.
pub fn run(args: &LoadArgs, output: Output) -> Result<(), Error> {
    if let Some(address) = args.electrum.electrum {
        return electrum::run(address, args, output);
    }
    let of_compact = promise_of_compact_frames(args)?;
    let promise = args.promise.map_or(Promise::Durable, Promise::from);
    let datagram = args.batch_bytes();
    let (node, preparing) = args.endpoint(promise)?;
    let options = Options { window: args.in_flight as usize, datagram: Some(datagram), ..preparing.clone() };
    let mut pipeline = Pipeline::connect(node, &preparing).map_err(Error::other)?;
    let bar = output.bar("accounts", u64::from(args.accounts) * 2);
    let balances =
        load::prepare(&mut pipeline, FIRST_ACCOUNT, args.accounts, FUNDS, promise, |sent| bar.set_position(sent));
    bar.finish_and_clear();
    let balances = balances.map_err(Error::other)?;
    let mut pipeline = Pipeline::connect(node, &options).map_err(Error::other)?;

    let choice = Choice::new(args.distribution.into(), FIRST_ACCOUNT, args.accounts, args.seed);
    let pace = if args.rate == 0 { Pace::Closed } else { Pace::Open(args.rate as f64) };
    let until = Until::operations(args.operations);
    let bar = output.bar("operations", args.operations);
    let progress = |report: &Report| {
        bar.set_position(report.answered);
        ControlFlow::Continue(())
    };
    let report = match args.mix.operations() {
        None => {
            let mut workload = proofs(&mut pipeline, args, choice)?;
            load::run(&mut pipeline, &mut workload, pace, until, progress)
        }
        Some(mix) => {
            let format = if args.batch == 0 { Format::CompactFrame } else { Format::Batch(args.entries()) };
            let workload = Operations::new(mix, format, args.batch, promise, choice).map_err(Error::other)?;
            let workload = if args.check { workload.following(balances) } else { workload };
            let mut workload = sign(args, workload, promise)?;
            let report = load::run(&mut pipeline, &mut workload, pace, until, progress);
            if let Some(expected) = workload.balances().filter(|_| mix != Mix::Refer) {
                let differing = load::check(&mut pipeline, expected).map_err(Error::other)?;
                if differing > 0 {
                    return Err(Error::Failed(format!("{differing} balances differ from the sum of replies")));
                }
            }
            report
        }
    }
    .map_err(Error::other)?;
    bar.finish_and_clear();
    let promise = report.promise.or(of_compact.filter(|_| args.mix != MixArg::Proof));
    let report = LoadReport::new(&report, promise);
    output.result(&report, LoadReport::describe);
    if report.lost > 0 || report.wrong > 0 {
        return Err(Error::Failed(format!("{} operations got no answer, {} a wrong one", report.lost, report.wrong)));
    }
    Ok(())
}

/// Signs the share of the operations that is to be signed.
fn sign(args: &LoadArgs, workload: Operations, promise: Promise) -> Result<Operations, Error> {
    if args.signed == 0.0 {
        return Ok(workload);
    }
    if args.mix != MixArg::Transfer || args.batch == 0 {
        return Err(Error::Input("--signed goes with --mix transfer, in batches".into()));
    }
    let count = (args.operations as f64 * args.signed).ceil() as u64;
    if count > SIGNED_LIMIT {
        return Err(Error::Input(format!(
            "--signed: at most {SIGNED_LIMIT} operations can be signed, since signatures expire"
        )));
    }
    let (node, options) = args.endpoint(promise)?;
    let mut client = Client::connect(node, &options).map_err(Error::other)?;
    // Not one of the load's own accounts, whose balances are tracked.
    let bank = AccountId::from(u128::from(FIRST_ACCOUNT) + u128::from(args.accounts));
    let create = Operation::create(client::fresh_transaction_id().map_err(Error::other)?, bank).timed();
    // It exists already after an earlier run.
    client.execute(&create).map_err(Error::other)?;
    let choice = Choice::new(args.distribution.into(), FIRST_ACCOUNT, args.accounts, !args.seed);
    let signed = load::sign_transfers(&mut client, bank, count, promise, choice).map_err(Error::other)?;
    Ok(workload.with_signed(signed, args.signed))
}

/// Requests proofs of the accounts of `choice`; or, with a share of hits, that share for accounts requested before, and
/// the rest for new ones.
fn proofs(pipeline: &mut Pipeline, args: &LoadArgs, mut choice: Choice) -> Result<Proofs<'static>, Error> {
    let Some(hits) = args.hits else { return Ok(Proofs::latest(ETHERNET_DATAGRAM, choice)) };
    if args.accounts <= HOT_ACCOUNTS {
        return Err(Error::Input(format!("--hits needs more than {HOT_ACCOUNTS} accounts")));
    }
    let latest = |key: Box<dyn FnMut() -> u64>| {
        let mut key = key;
        Proofs::new(Chain::Own, Query::Latest, ETHERNET_DATAGRAM, move || AccountId::from(u128::from(key())).into())
    };
    let mut hot = (FIRST_ACCOUNT..=u64::from(HOT_ACCOUNTS)).cycle();
    let until = Until::operations(u64::from(HOT_ACCOUNTS) * 2);
    let mut warm_up = latest(Box::new(move || hot.next().unwrap_or(FIRST_ACCOUNT)));
    load::run(pipeline, &mut warm_up, Pace::Closed, until, |_| ControlFlow::Continue(())).map_err(Error::other)?;
    let cold = u64::from(HOT_ACCOUNTS) + FIRST_ACCOUNT..=u64::from(args.accounts);
    let (mut cold, hits) = (cold.cycle(), u64::from(hits));
    Ok(latest(Box::new(move || match choice.account() {
        drawn if drawn * 7919 % 100 < hits => FIRST_ACCOUNT + drawn % u64::from(HOT_ACCOUNTS),
        _ => cold.next().unwrap_or(FIRST_ACCOUNT),
    })))
}

/// The promise of the node's replies to compact frames, which carry none; `None` if no such frames are sent. The
/// command ends at once if no node listens, though load continues through a restart.
fn promise_of_compact_frames(args: &LoadArgs) -> Result<Option<Promise>, Error> {
    let info = args.node.connect()?.info().map_err(Error::other)?;
    if args.batch > 0 {
        return Ok(None);
    }
    if args.entries() != BatchFormat::Compact {
        return Err(Error::Input(
            "--batch 0 sends compact frames, which have transfers and REFER only: use --batch 1".into(),
        ));
    }
    let promise = info.promise().map_err(Error::other)?;
    match args.promise.map(Promise::from) {
        Some(asked) if asked != promise => Err(Error::Input(format!(
            "--batch 0 sends compact frames, which carry no promise: the node answers them at `{}`. Omit --promise, or \
             use --batch 1",
            promise.name()
        ))),
        _ => Ok(Some(promise)),
    }
}

impl LoadArgs {
    /// The node, and the client options: load continues when a node restarts.
    fn endpoint(&self, promise: Promise) -> Result<(SocketAddr, Options), Error> {
        let (node, options) = self.node.endpoint()?;
        Ok((node, Options { promise, fail_if_unreachable: false, ..options }))
    }

    /// Bytes of the longest datagram: what the batch needs, and proofs of any length.
    fn batch_bytes(&self) -> usize {
        let header = size_of::<wire::BatchHeader>();
        let format = if self.signed > 0.0 { BatchFormat::Signed } else { self.entries() };
        (header + usize::from(self.batch) * format.entry_length()).clamp(ETHERNET_DATAGRAM, wire::MAX_DATAGRAM)
    }

    /// The format of unsigned operations in batches.
    fn entries(&self) -> BatchFormat {
        let is_compact = self.mix.operations().is_none_or(Mix::is_compact) && !self.full;
        if is_compact { BatchFormat::Compact } else { BatchFormat::Operation }
    }
}

impl MixArg {
    /// The kind of operations, if it is one.
    fn operations(self) -> Option<Mix> {
        match self {
            Self::Transfer => Some(Mix::Transfer),
            Self::Linked => Some(Mix::Linked),
            Self::TwoPhase => Some(Mix::TwoPhase),
            Self::Refer => Some(Mix::Refer),
            Self::Proof => None,
        }
    }
}

impl From<DistributionArg> for Distribution {
    fn from(distribution: DistributionArg) -> Self {
        match distribution {
            DistributionArg::Uniform => Self::Uniform,
            DistributionArg::Zipf => Self::Zipf,
            DistributionArg::HotPair => Self::HotPair,
        }
    }
}

impl LoadReport {
    fn new(report: &Report, promise: Option<Promise>) -> Self {
        let microseconds = |latency: Duration| latency.as_secs_f64() * 1e6;
        Self {
            operations: report.answered,
            seconds: report.elapsed.as_secs_f64(),
            operations_per_second: report.rate(),
            promise: promise.map(Promise::name),
            datagrams: report.datagrams,
            retries: report.retries,
            lost: report.lost,
            wrong: report.wrong,
            statuses: report.statuses().map(|(status, count)| (status.name(), count)).collect(),
            latency_p50_us: microseconds(report.latency_at(0.5)),
            latency_p99_us: microseconds(report.latency_at(0.99)),
            latency_p999_us: microseconds(report.latency_at(0.999)),
            latency_max_us: microseconds(report.latency_at(1.0)),
        }
    }

    fn describe(&self) -> String {
        let mut text = format!(
            "{} operations in {:.3} s: {} a second{}\nlatency of a datagram: p50 {:.0} us, p99 {:.0} us, p99.9 {:.0} us, most {:.0} us\n\
             {} datagrams, {} sent again, {} operations lost",
            thousands(self.operations),
            self.seconds,
            thousands(self.operations_per_second as u64),
            self.promise.map(|promise| format!(", {promise}")).unwrap_or_default(),
            self.latency_p50_us,
            self.latency_p99_us,
            self.latency_p999_us,
            self.latency_max_us,
            thousands(self.datagrams),
            thousands(self.retries),
            thousands(self.lost),
        );
        for (status, count) in &self.statuses {
            text.push_str(&format!("\n  {:>14}  {status}", thousands(*count)));
        }
        text
    }
}
