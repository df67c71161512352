//! `turnpike proof get`: fetches a proof, and verifies it against headers that are synchronised from the node.

use std::fs;

use client::Client;
use sha2::{Digest, Sha256};

use super::report::{BalanceReport, BitcoinReport, TransactionReport};
use super::subject::{Patience, Subject};
use crate::against::{Against, Source, synchronise};
use crate::cli::ProofGetArgs;
use crate::error::Error;
use crate::header_file;
use crate::hex;
use crate::output::Output;

/// Fetches a proof, and prints what it proves.
pub fn get(args: &ProofGetArgs, output: Output) -> Result<(), Error> {
    let mut client = args.node.connect()?;
    let reply = if args.subject.bitcoin_script.is_some() || args.subject.bitcoin_transaction.is_some() {
        get_bitcoin(&mut client, args, output)?
    } else {
        get_own(&mut client, args, output)?
    };
    if let Some(file) = &args.out {
        fs::write(file, reply).map_err(|error| Error::file("write the proof", file, error))?;
    }
    Ok(())
}

/// Fetches a proof of the own chain; returns the whole reply.
fn get_own(client: &mut Client, args: &ProofGetArgs, output: Output) -> Result<Vec<u8>, Error> {
    let subject = Subject::parse(args)?;
    let network = args.pin.network_id;
    let source = Source::new(network, args.headers.as_deref());
    let mut chain = header_file::open_own(args.headers.as_deref(), client, network)?;
    if args.is_final && chain.key().is_some() {
        return Err(Error::Failed(
            "this network is sealed by one key, so it has no certificates of finality: omit --final, or ask a replica \
             of a cluster"
                .into(),
        ));
    }
    let replaced = if args.accept_reorganisation { synchronise(client, &mut chain, true)?.1 } else { None };
    if let Some(replaced) = &replaced {
        output.progress(replaced.describe());
    }
    let patience = Patience::new(args.wait);
    let reply = if let Subject::Balance(account) = subject {
        let proved = patience.index(client, &mut chain, account)?;
        let asset = proved.entry.map(|entry| client.prove_asset(&mut chain, &entry)).transpose();
        let asset = asset.map_err(Error::other)?;
        let against = Against::new(&chain, source, replaced);
        let report = BalanceReport::new(account, proved.height, proved.entry, asset, against);
        output.result(&report, BalanceReport::describe);
        proved.reply
    } else {
        let proved = patience.transaction(client, &mut chain, subject)?;
        let report = TransactionReport::from_proved(&proved, Against::new(&chain, source, replaced));
        output.result(&report, TransactionReport::describe);
        proved.reply
    };
    if let Some(file) = &args.headers {
        header_file::write_own(file, &chain)?;
    }
    Ok(reply)
}

/// Fetches a proof of Bitcoin; returns the whole reply.
fn get_bitcoin(client: &mut Client, args: &ProofGetArgs, output: Output) -> Result<Vec<u8>, Error> {
    let subject = &args.subject;
    let mut chain = header_file::open_bitcoin(args.headers.as_deref(), args.network.into())?;
    client.sync_bitcoin_headers(&mut chain).map_err(Error::other)?;
    let proved = match (&subject.bitcoin_script, &subject.bitcoin_transaction) {
        (Some(script), _) => client.prove_bitcoin_latest(&mut chain, script_hash(script)?),
        (None, Some(transaction)) => client.prove_bitcoin(&mut chain, parse_bitcoin_transaction(transaction)?),
        (None, None) => return Err(Error::Input("name the subject to prove".into())),
    }
    .map_err(Error::other)?;
    if let Some(file) = &args.headers {
        header_file::write_bitcoin(file, &chain)?;
    }
    output.result(&BitcoinReport::from_proved(&proved), BitcoinReport::describe);
    Ok(proved.reply)
}

fn script_hash(script: &str) -> Result<[u8; 32], Error> {
    let script = hex::decode(script).ok_or_else(|| Error::Input(format!("{script} is not a script in hexadecimal")))?;
    Ok(Sha256::digest(&script).into())
}

/// A transaction's hash from how it is printed: in hexadecimal, last byte first.
fn parse_bitcoin_transaction(text: &str) -> Result<[u8; 32], Error> {
    let mut hash: [u8; 32] = hex::decode(text)
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| Error::Input(format!("{text} is not a transaction: expected 64 hexadecimal digits")))?;
    hash.reverse();
    Ok(hash)
}
