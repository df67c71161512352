//! Runs the conformance suite against a node: a line for each case, and a count at the end.

use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use turnpike_conformance::{SmallMemory, Summary, Target, cases, run};

/// Asks a node everything that the protocol promises
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The node's address
    #[arg(default_value = "127.0.0.1:7400")]
    node: SocketAddr,
    /// Only the cases whose name contains this
    #[arg(default_value = "")]
    filter: String,
    /// A local address that the node trusts
    #[arg(long, default_value = "127.0.0.1")]
    trusted: IpAddr,
    /// A local address that the node does not trust
    #[arg(long)]
    stranger: Option<IpAddr>,
    /// The secret key of an issuer, 64 hexadecimal digits
    #[arg(long, value_parser = secret)]
    issuer: Option<[u8; 32]>,
    /// The least deposit that the node takes for opening an account
    #[arg(long, default_value_t = 100)]
    deposit: u64,
    /// The node holds few accounts and reserves some of them: fill its table
    #[arg(long)]
    small_table: bool,
    /// The node limits the rate of strangers
    #[arg(long)]
    rate_limited: bool,
    /// Seconds until a transaction is in a block, at most
    #[arg(long, default_value_t = 30)]
    block_patience: u64,
    /// The most operations that the node remembers for retries: fill its memory
    #[arg(long, requires = "retry_seconds")]
    retry_operations: Option<usize>,
    /// For how many seconds it does
    #[arg(long, requires = "retry_operations")]
    retry_seconds: Option<u64>,
    /// Print the names of the cases and do nothing
    #[arg(long)]
    list: bool,
}

fn secret(text: &str) -> Result<[u8; 32], String> {
    let digits = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(digits).collect();
    bytes.and_then(|bytes| bytes.try_into().ok()).ok_or("a secret key has 64 hexadecimal digits".to_owned())
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.list {
        for case in cases::all() {
            println!("{}", case.name);
        }
        return ExitCode::SUCCESS;
    }
    let target = Target {
        node: arguments.node,
        trusted: arguments.trusted,
        stranger: arguments.stranger,
        issuer: arguments.issuer,
        deposit: arguments.deposit,
        small_table: arguments.small_table,
        rate_limited: arguments.rate_limited,
        block_patience: Duration::from_secs(arguments.block_patience),
        retries: arguments
            .retry_operations
            .zip(arguments.retry_seconds.map(Duration::from_secs))
            .map(|(operations, time)| SmallMemory { operations, time }),
    };
    let outcomes = match run(&target, &arguments.filter, |outcome| println!("{outcome}")) {
        Ok(outcomes) => outcomes,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let summary = Summary::from_outcomes(&outcomes);
    println!("{summary}");
    if summary.failed == 0 && summary.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
