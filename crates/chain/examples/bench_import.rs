//! Imports block files into a new store and prints how long it took; `bench/import` compares that with btcd.
//!
//! Files that do not begin with genesis are imported from their first block on, if that block states its height.
//!
//! usage: bench_import FILE|FOLDER STORE
#![allow(clippy::unwrap_used)]

use spv::bitcoin::Network;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use storage::RealDirectory;
use turnpike_chain::bitcoin::{BitcoinChain, BlockFiles, Importer, Options, Start};

fn main() {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(blocks), Some(store)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: bench_import FILE|FOLDER STORE");
        std::process::exit(2);
    };
    let started = Instant::now();
    let files = BlockFiles::find(&blocks, Network::Mainnet).unwrap();
    let options = Options { start: Start::first_of(&files).ok(), ..Options::new(Network::Mainnet) };
    let directory = Arc::new(RealDirectory::create(&store).unwrap());
    let chain = BitcoinChain::open(directory, &store.join("index"), &options).unwrap();
    let opened = started.elapsed();
    let mut importer = Importer::new(&chain, ()).unwrap();
    let summary = importer.import(&files).unwrap();
    let imported = started.elapsed();
    println!(
        "{} blocks, {} transactions in {:.1} ms (opening {:.1} ms), {} commits",
        summary.connected,
        summary.transactions,
        imported.as_secs_f64() * 1e3,
        opened.as_secs_f64() * 1e3,
        summary.commits
    );
}
