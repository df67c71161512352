//! `turnpike feed`: prints the operations that a node journals.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::time::Duration;

use client::{Feed, FeedPart, Options};
use serde::Serialize;
use wire::{Command, FeedEntry, Status};

use crate::cli::{FeedArgs, NODE_PORT};
use crate::error::Error;
use crate::operation_text::OperationText;
use crate::output::Output;

/// How long a node may be away: a restart that replays a long journal takes less.
const GIVE_UP_AFTER: Duration = Duration::from_secs(60);

/// An operation of the feed.
#[derive(Serialize)]
struct Row {
    sequence: u64,
    /// Microseconds since the Unix epoch.
    timestamp: u64,
    promise: &'static str,
    command: &'static str,
    status: &'static str,
    transaction: String,
    source: String,
    destination: String,
    amount: u64,
    /// The balance of the source after it.
    balance: u64,
    contract: u32,
}

/// Runs `turnpike feed`.
pub fn run(args: &FeedArgs, output: Output) -> Result<(), Error> {
    let node = args.node.resolve(NODE_PORT)?.remove(0);
    let options = Options { give_up_after: GIVE_UP_AFTER, ..Options::default() };
    let mut feed = Feed::new(node, args.from, args.account, &options);
    let is_over = |cursor: u64| args.until.is_some_and(|until| cursor > until);
    let mut out = BufWriter::new(io::stdout().lock());
    while !is_over(feed.cursor()) {
        let part = feed.receive().map_err(Error::other)?;
        let wanted = part.entries.iter().take_while(|entry| !is_over(entry.sequence.get()));
        let written = wanted.map(|entry| row(&part, entry)).try_for_each(|row| write(&mut out, &row, output));
        match written.and_then(|()| out.flush()) {
            Ok(()) => {}
            // The reader has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(Error::Failed(format!("cannot write to standard output: {error}"))),
        }
    }
    Ok(())
}

fn row(part: &FeedPart<'_>, entry: &FeedEntry) -> Row {
    let FeedEntry { sequence, operation, value } = entry;
    Row {
        sequence: sequence.get(),
        timestamp: part.timestamp,
        promise: part.promise.name(),
        command: operation.command().map_or("unknown", Command::name),
        status: operation.status().map_or("unknown", Status::name),
        transaction: operation.transaction.to_string(),
        source: operation.source.to_string(),
        destination: operation.destination.to_string(),
        amount: operation.amount.get(),
        balance: value.get(),
        contract: operation.contract.get(),
    }
}

/// Writes a row as one line of JSON, or as text.
fn write(out: &mut impl Write, row: &Row, output: Output) -> io::Result<()> {
    if output.is_json() {
        serde_json::to_writer(&mut *out, row)?;
        return writeln!(out);
    }
    let Row { sequence, timestamp, command, status, transaction, source, destination, amount, .. } = row;
    let operation = OperationText { command, amount: *amount, source, destination, transaction };
    let (seconds, microseconds) = (timestamp / 1_000_000, timestamp % 1_000_000);
    let (title, lines) = (operation.title(), operation.lines("  "));
    writeln!(out, "{sequence}  {seconds}.{microseconds:06}  {status}  {title}{lines}")
}
