//! XDP next to sockets, over cables between network namespaces on this machine: `bench/xdp/run`.
//!
//! Requests are made in the kernel and sent by the interface, replies are counted there and taken by the same clock
//! (`bpf/generator.bpf.c`), so that no system call of a client's is in the figures. Both sides take turns in one run.

mod cable;
mod lookups;
mod processor;
mod software;
mod transfers;

use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, ValueEnum};

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// REFER and cached proofs: a node with sockets alone, next to one with the NIC tier
    Lookups,
    /// The in-NIC ledger next to a server with recvfrom and sendto
    Transfers,
}

#[derive(Parser)]
struct Options {
    /// What to measure; all unless told
    #[arg(value_enum)]
    what: Option<What>,
    /// Where journals go
    #[arg(long, default_value = "target/bench/xdp")]
    scratch: PathBuf,
    /// How often
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Accounts that are looked up
    #[arg(long, default_value_t = 2_000_000)]
    accounts: u32,
    /// Where to write the plot of transfers (SVG)
    #[arg(long)]
    plot: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let wanted = |what| options.what.is_none_or(|wanted| wanted == what);
    let mut result = Ok(());
    if wanted(What::Transfers) {
        result = transfers::run(&options.scratch, options.rounds, options.plot.as_ref());
    }
    if result.is_ok() && wanted(What::Lookups) {
        result = lookups::run(&options.scratch, options.rounds, options.accounts);
    }
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench/xdp: {error}");
            ExitCode::FAILURE
        }
    }
}
