//! `turnpike info`: a node's properties and the state of its chains.

use std::thread::sleep;
use std::time::{Duration, Instant};

use client::{Client, Finality};
use serde::Serialize;
use spv::bitcoin;
use wire::{InfoFrame, Promise};

use crate::cli::InfoArgs;
use crate::error::Error;
use crate::hex;
use crate::output::{Output, thousands};

/// The result of `info`.
#[derive(Serialize)]
struct Report {
    program: String,
    network: String,
    promise: &'static str,
    reads_only: bool,
    /// It follows another node.
    follower: bool,
    accounts: u64,
    durable_sequence: u64,
    height: u64,
    /// Whether older blocks are pruned: their transactions cannot be proved.
    pruned: bool,
    tip: String,
    bitcoin_height: Option<u64>,
    largest_datagram: u32,
    /// If the node is a replica.
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<Order>,
}

/// A replica's report about the order.
#[derive(Serialize)]
struct Order {
    /// None where it is of no set.
    replica: Option<u8>,
    replicas: u8,
    leader: u8,
    view: u64,
    /// Number of changes of the set of replicas.
    generation: u32,
    /// The signers of the newest certificate.
    signers: Vec<u32>,
}

/// Pause of `--wait` between requests.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs `turnpike info`.
pub fn run(args: &InfoArgs, output: Output) -> Result<(), Error> {
    let (mut client, info) = ask(args)?;
    let order = if info.promise() == Ok(Promise::Final) { Some(order(&mut client)?) } else { None };
    let report = Report {
        program: info.program().to_string(),
        network: hex::encode(&info.network),
        promise: info.promise().map_or("unknown", wire::Promise::name),
        reads_only: info.reads_only(),
        follower: info.follows(),
        accounts: info.accounts.get(),
        durable_sequence: info.durable_sequence.get(),
        height: info.tip_height.get(),
        pruned: info.has_pruned(),
        tip: hex::encode(&info.tip_hash),
        bitcoin_height: info.serves_bitcoin().then(|| info.bitcoin_height.get()),
        largest_datagram: info.max_datagram.get(),
        order,
    };
    output.result(&report, describe);
    Ok(())
}

/// The node's answer: the first, or with `--wait` the first within that time.
fn ask(args: &InfoArgs) -> Result<(Client, InfoFrame), Error> {
    let started = Instant::now();
    loop {
        let answer = args.node.connect().and_then(|mut client| {
            let info = client.info().map_err(Error::other)?;
            Ok((client, info))
        });
        if answer.is_ok() || args.wait.is_none_or(|wait| started.elapsed() >= wait) {
            return answer;
        }
        sleep(PAUSE);
    }
}

fn order(client: &mut Client) -> Result<Order, Error> {
    let finality = client.finality().map_err(Error::other)?;
    let Finality { replica, replicas, leader, view, generation, vouched, .. } = finality;
    let signers = vouched.map(|vouched| vouched.certificate.signers().collect()).unwrap_or_default();
    Ok(Order { replica, replicas, leader, view, generation, signers })
}

fn describe(report: &Report) -> String {
    let mut text = format!(
        "program           {}\nnetwork           {}\npromise           {}\naccounts          {}\ndurable sequence  {}\nblocks            {}{}\n\
         tip               {}\nlargest datagram  {}\nbitcoin           ",
        report.program,
        report.network,
        report.promise,
        thousands(report.accounts),
        thousands(report.durable_sequence),
        thousands(report.height),
        if report.pruned { "; transactions of old blocks are pruned and cannot be proved" } else { "" },
        report.tip,
        report.largest_datagram,
    );
    match report.bitcoin_height {
        Some(height) => text.push_str(&format!("up to block {}", thousands(height))),
        None => text.push_str(&format!(
            "not served; `turnpike import bitcoin` reads blocks of the {} network",
            bitcoin::Network::Mainnet.name()
        )),
    }
    if let Some(Order { replica, replicas, leader, view, generation, signers }) = &report.order {
        let replica = replica.map_or("none".into(), |replica| replica.to_string());
        text.push_str(&format!(
            "\nreplica           {replica} of {replicas}; {leader} leads view {}\ngeneration        {generation}\n\
             certificate       {} of {replicas} signed",
            thousands(*view),
            signers.len()
        ));
    }
    if report.follower {
        text.push_str(
            "\nThe node follows another one, and answers reads only. /status over HTTP has its address and the lag.",
        );
    }
    if report.reads_only {
        text.push_str("\nThe node cannot write its journal, and answers reads only. Check its log and its disk.");
    }
    text
}
