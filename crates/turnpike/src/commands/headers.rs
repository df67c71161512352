//! `turnpike headers`: synchronises headers into a file.

use client::Client;
use serde::Serialize;
use spv::bitcoin;

use crate::cli::{ChainArg, HeadersArgs};
use crate::error::Error;
use crate::header_file;
use crate::hex;
use crate::output::{Output, thousands};

/// What `headers` prints.
#[derive(Serialize)]
struct Report {
    chain: &'static str,
    new: u64,
    height: u64,
    tip: String,
}

/// Runs `turnpike headers`.
pub fn run(args: &HeadersArgs, output: Output) -> Result<(), Error> {
    let mut client = Client::connect(args.node.node, &args.node.options()).map_err(Error::other)?;
    let report = match args.chain {
        ChainArg::Own => {
            let mut chain = header_file::open_own(Some(&args.file), &mut client)?;
            let new = client.sync_headers(&mut chain).map_err(Error::other)?;
            header_file::write_own(&args.file, &chain)?;
            Report { chain: "own", new, height: chain.height(), tip: hex::encode(chain.tip_hash()) }
        }
        ChainArg::Bitcoin => {
            let mut chain = header_file::open_bitcoin(Some(&args.file), args.network.into())?;
            let new = client.sync_bitcoin_headers(&mut chain).map_err(Error::other)?;
            header_file::write_bitcoin(&args.file, &chain)?;
            let tip = bitcoin::display(chain.tip_hash()).to_string();
            Report { chain: "bitcoin", new, height: chain.height().into(), tip }
        }
    };
    output.result(&report, |report| {
        format!("{} new headers, height {}, tip {}", thousands(report.new), thousands(report.height), report.tip)
    });
    Ok(())
}
