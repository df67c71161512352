//! `turnpike check`: audits a data directory.

use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;

use chain::own::{self, Levels, OwnReader};
use ledger::journal::Log;
use ledger::{Limits, Secret};
use node::signatures::{Location, Signatures};
use node::{Config, layout};
use serde::Serialize;
use spv::Authority;

use crate::cli::CheckArgs;
use crate::error::Error;
use crate::hex;
use crate::output::{Output, thousands};

/// The result of `check`.
#[derive(Serialize)]
struct Report {
    height: u64,
    /// Height of the first retained block; 0 if none is pruned.
    first_retained: u64,
    /// Height of the first block whose effects on balances were checked.
    first_replayed: u64,
    tip: String,
    network: String,
    /// The key that seals blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    chain_key: Option<String>,
    /// The hash of the set of replicas that order blocks, which no key seals.
    #[serde(skip_serializing_if = "Option::is_none")]
    founders: Option<String>,
    transactions: u64,
    accounts: usize,
    total: String,
    journal_from: u64,
    journal_to: u64,
    torn: bool,
    signatures: u64,
    /// Files of votes that a replica recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    votes: Option<usize>,
    bitcoin_height: Option<u32>,
    bitcoin_transactions: u64,
}

/// The comparison of several audited replicas.
#[derive(Serialize)]
struct Compared {
    replicas: usize,
    /// Up to here all have the same blocks.
    same_height: u64,
    highest: u64,
}

/// The hashes of a chain's headers, by height.
type Hashes = Vec<[u8; 32]>;

/// Headers that are read at a time.
const HEADERS: usize = 1024;

/// Runs `turnpike check`.
pub fn run(args: &CheckArgs, output: Output) -> Result<(), Error> {
    let (report, hashes) = check(&args.directory)?;
    output.result(&report, describe);
    if args.compare.is_empty() {
        return Ok(());
    }
    let mut compared = Compared { replicas: 1, same_height: report.height, highest: report.height };
    for directory in &args.compare {
        let (report, others) = check(directory)?;
        output.result(&report, describe);
        if let Some(height) = hashes.iter().zip(&others).position(|(one, other)| one != other) {
            let [one, other] = [&hashes, &others].map(|hashes| hex::encode(&hashes[height]));
            return Err(Error::Failed(format!(
                "{} and {} diverge at height {height}: they have blocks {one} and {other}. Final blocks are the same \
                 on all replicas: these are of different networks, or more than a third of the replicas lied",
                args.directory.display(),
                directory.display()
            )));
        }
        compared.replicas += 1;
        compared.same_height = compared.same_height.min(report.height);
        compared.highest = compared.highest.max(report.height);
    }
    output.result(&compared, |compared| {
        let Compared { replicas, same_height, highest } = compared;
        let (same, highest) = (thousands(*same_height), thousands(*highest));
        format!("compared   {replicas} replicas have the same blocks up to {same}; the highest has {highest}")
    });
    Ok(())
}

fn hashes(reader: &OwnReader, height: u64) -> Result<Hashes, Error> {
    let mut hashes = Hashes::new();
    while hashes.len() as u64 <= height {
        let headers = reader.headers(hashes.len() as u64, HEADERS).map_err(Error::other)?;
        if headers.is_empty() {
            break;
        }
        hashes.extend(headers.iter().map(|sealed| sealed.header.hash()));
    }
    Ok(hashes)
}

fn check(directory: &Path) -> Result<(Report, Hashes), Error> {
    if !directory.is_dir() {
        return Err(Error::Input(format!("{} is not a data directory: no such folder", directory.display())));
    }
    let data = layout::open(directory).map_err(Error::other)?;
    let votes = node::check_votes(&data).map_err(Error::other)?;
    let (journal, opened) = layout::open_journal(&data).map_err(Error::other)?;
    let options = own::Options { levels: Levels::Stored, ..own::Options::default() };
    let chain = layout::open_chain(&data, options, || Err(own::Error::NoChain)).map_err(Error::other)?;
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut signatures = Signatures::start(chain.network_id(), processors).map_err(Error::other)?;
    let audit = own::audit(&chain, |block| {
        for tail in block.tails {
            let location = Location::Block { height: block.height, position: tail.position };
            signatures.push(location, tail.join(block.operations));
        }
        tracing::debug!(block.height, "block holds");
    })
    .map_err(Error::other)?;
    // Successful operations are in blocks, up to the point where the chain follows the journal.
    push_unsettled(journal.log(), audit.tip.end_sequence, &mut signatures)?;
    let signatures = signatures.finish().map_err(Error::other)?;
    // Operations of the journal after the chain are executed again, and must have the recorded results.
    let capacity = chain.with_index(|index| index.accounts()) as usize + journal_operations(&journal);
    let limits = Limits { accounts: capacity.max(16), ..Config::default().ledger.limits() };
    let secret = Secret::from_seed([0; 16]);
    let ledger = ledger::recover(limits, secret, &chain, journal.log()).map_err(Error::other)?;

    let bitcoin = layout::find_bitcoin(&data).map_err(Error::other)?;
    let (bitcoin_height, bitcoin_transactions) = match &bitcoin {
        Some(bitcoin) => {
            let view = bitcoin.view();
            let audited = view.audit(|height| tracing::debug!(height, "Bitcoin block holds")).map_err(Error::other)?;
            (view.tip().map(|tip| tip.height), audited)
        }
        None => (None, 0),
    };
    let hashes = hashes(&chain.reader(), audit.tip.height())?;
    let authority = hex::encode(&chain.authority().to_bytes());
    let is_sealed = matches!(chain.authority(), Authority::Key(_));
    let report = Report {
        height: audit.tip.height(),
        first_retained: audit.first_retained,
        first_replayed: audit.first_replayed,
        tip: hex::encode(&audit.tip.hash),
        network: hex::encode(&chain.network_id()),
        chain_key: is_sealed.then(|| authority.clone()),
        founders: (!is_sealed).then_some(authority),
        transactions: audit.tip.transactions,
        accounts: ledger.accounts(),
        total: ledger.issued().to_string(),
        journal_from: journal.log().first_sequence(),
        journal_to: journal.log().durable(),
        torn: opened.torn.is_some(),
        signatures,
        votes,
        bitcoin_height,
        bitcoin_transactions,
    };
    Ok((report, hashes))
}

/// Adds the signed operations of the journal that are in no block.
fn push_unsettled(log: &Arc<Log>, settled: u64, signatures: &mut Signatures) -> Result<(), Error> {
    let mut reader = log.reader(log.first_sequence()).map_err(Error::other)?;
    while let Some(batch) = reader.next().map_err(Error::other)? {
        for (position, signed) in batch.signed() {
            let sequence = batch.first_sequence + position as u64;
            if sequence > settled || !signed.operation.status().is_ok_and(|status| status.is_ok()) {
                signatures.push(Location::Journal { sequence }, signed);
            }
        }
    }
    Ok(())
}

/// Number of operations in the journal, which bounds the accounts that it creates.
fn journal_operations(journal: &ledger::journal::Journal) -> usize {
    let log = journal.log();
    usize::try_from((log.durable() + 1).saturating_sub(log.first_sequence())).unwrap_or(usize::MAX)
}

fn describe(report: &Report) -> String {
    let authority = match (&report.chain_key, &report.founders) {
        (Some(key), _) => format!("all are sealed\nchain key  {key}"),
        (None, founders) => format!("no key seals them\nfounders   {}", founders.as_deref().unwrap_or_default()),
    };
    let mut text = format!(
        "own chain  {} blocks, {} transactions; sums, links, roots and the index hold, and {authority}\nledger     {} accounts hold {}, which is what was issued, less deposits\n\
         journal    operations {} to {}; sums and links hold, and the results follow from the operations\n\
         signed     {} operations; their signatures hold",
        thousands(report.height),
        thousands(report.transactions),
        thousands(report.accounts as u64),
        report.total,
        thousands(report.journal_from),
        thousands(report.journal_to),
        thousands(report.signatures),
    );
    if report.first_retained > 0 {
        text.push_str(&format!(
            "\npruned     blocks before {}, of which the headers hold; balances start from the snapshot after block {}",
            thousands(report.first_retained),
            thousands(report.first_replayed - 1),
        ));
    }
    if report.torn {
        text.push_str("\n           an incomplete or empty batch at its end was cut off; it held no durable operation");
    }
    if let Some(votes) = report.votes {
        text.push_str(&format!("\nvotes      {votes} files; nothing that was recorded of them is missing or damaged"));
    }
    match report.bitcoin_height {
        Some(height) => text.push_str(&format!(
            "\nbitcoin    blocks to {}, {} transactions; sums, links, proof of work and roots hold",
            thousands(height.into()),
            thousands(report.bitcoin_transactions)
        )),
        None => text.push_str("\nbitcoin    none"),
    }
    text
}
