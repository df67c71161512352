//! `turnpike headers`: synchronises headers into a file.

use serde::Serialize;
use spv::bitcoin;

use crate::against::{Against, Source, synchronise};
use crate::cli::{ChainArg, HeadersArgs};
use crate::error::Error;
use crate::header_file;
use crate::hex;
use crate::output::{Output, thousands};

/// The result of `headers`.
#[derive(Serialize)]
struct Report {
    chain: &'static str,
    new: u64,
    height: u64,
    tip: String,
    /// Of the own chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<Against>,
    /// Number of reverted headers.
    replaced: u64,
}

/// Runs `turnpike headers`.
pub fn run(args: &HeadersArgs, output: Output) -> Result<(), Error> {
    let mut client = args.node.connect()?;
    let report = match args.chain {
        ChainArg::Own => {
            let network = args.pin.network_id;
            let source = Source::new(network, Some(&args.file));
            let mut chain = header_file::open_own(Some(&args.file), &mut client, network)?;
            let (new, replaced) = synchronise(&mut client, &mut chain, args.accept_reorganisation)?;
            header_file::write_own(&args.file, &chain)?;
            if let Some(replaced) = &replaced {
                output.progress(replaced.describe());
            }
            Report {
                chain: "own",
                new,
                height: chain.height(),
                tip: hex::encode(chain.tip_hash()),
                replaced: replaced.as_ref().map_or(0, |replaced| replaced.gone.len() as u64),
                against: Some(Against::new(&chain, source, replaced)),
            }
        }
        ChainArg::Bitcoin => {
            let mut chain = header_file::open_bitcoin(Some(&args.file), args.network.into())?;
            let new = client.sync_bitcoin_headers(&mut chain).map_err(Error::other)?;
            header_file::write_bitcoin(&args.file, &chain)?;
            let tip = bitcoin::display(chain.tip_hash()).to_string();
            Report { chain: "bitcoin", new, height: chain.height().into(), tip, against: None, replaced: 0 }
        }
    };
    output.result(&report, |report| {
        let against = report.against.as_ref().map(Against::describe).unwrap_or_default();
        let (new, height, tip) = (thousands(report.new), thousands(report.height), &report.tip);
        format!("{new} new headers, height {height}, tip {tip}{against}")
    });
    Ok(())
}
