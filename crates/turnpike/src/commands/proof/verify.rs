//! `turnpike proof verify`: verifies proofs out of files, without a node.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use client::bitcoin_proof;
use spv::bitcoin;
use wire::{AccountId, Operation, Reply};
use zerocopy::FromBytes;

use super::report::{BalanceReport, BitcoinReport, TransactionReport, Tree};
use crate::against::{Against, Source};
use crate::cli::ProofVerifyArgs;
use crate::error::Error;
use crate::header_file;
use crate::hex;
use crate::output::Output;

/// Verifies the proof in a file.
pub fn verify(args: &ProofVerifyArgs, output: Output) -> Result<(), Error> {
    let ProofVerifyArgs { file, headers, first_height, network, .. } = args;
    let (headers, first_height, network) = (headers.as_deref(), *first_height, network.network_id);
    let bytes = fs::read(file).map_err(|error| Error::file("read the proof", file, error))?;
    let reply = Reply::parse(&bytes);
    if matches!(reply, Ok(Reply::Proof(_) | Reply::Index(_)))
        && (args.transactions.is_some() || args.coinbase.is_some())
    {
        return Err(Error::Input("--transactions and --coinbase are for the output of gettxoutproof only".into()));
    }
    match reply {
        Ok(Reply::Proof(reply)) if reply.fixed.request.chain().is_ok_and(|chain| chain == wire::Chain::Bitcoin) => {
            let chain = read_bitcoin_headers(needed(headers)?, first_height)?;
            let (height, header) = active(&chain, &reply.fixed.block_hash)?;
            let proof = bitcoin_proof(&reply);
            proof.verify(header).map_err(Error::other)?;
            // The proof has the coinbase, which shows the depth.
            let tree = Tree { transactions: proof.transactions, is_depth_checked: true };
            let report = BitcoinReport::new(Some(height), &reply.fixed.block_hash, proof.position, proof.leaf, tree);
            output.result(&report, BitcoinReport::describe);
        }
        Ok(Reply::Proof(_)) => {
            let chain = header_file::read_own(needed(headers)?, network)?;
            let proof = spv::TransactionProof::parse(&bytes).map_err(Error::other)?;
            proof.verify(&chain).map_err(Error::other)?;
            let (operation, _) = Operation::read_from_prefix(proof.transaction)
                .map_err(|_| Error::Failed("the proof contains no transaction".into()))?;
            let against = Against::new(&chain, Source::new(network, headers), None);
            let report = TransactionReport::new(proof.height, &proof.block_hash, proof.position, &operation, against);
            output.result(&report, TransactionReport::describe);
        }
        Ok(Reply::Index(reply)) => {
            let chain = header_file::read_own(needed(headers)?, network)?;
            let proof = spv::IndexProof::parse(&bytes).map_err(Error::other)?;
            let mut account = [0; 16];
            account.copy_from_slice(&reply.fixed.request.key[..16]);
            let entry = proof.verify(&account, &chain).map_err(Error::other)?;
            if entry.is_some_and(|entry| !entry.is_account() && !entry.is_hold()) {
                return Err(Error::other(client::Error::NoAccount));
            }
            let against = Against::new(&chain, Source::new(network, headers), None);
            let report = BalanceReport::new(AccountId(account), proof.height, entry, None, against);
            output.result(&report, BalanceReport::describe);
        }
        _ => verify_merkle_block(&bytes, args, output)?,
    }
    Ok(())
}

/// Verifies the output of Bitcoin Core's gettxoutproof, in binary or in hexadecimal as Core prints it.
///
/// A Merkle block does not show how deep its tree is: with a smaller number of transactions an inner node passes for
/// one (CVE-2017-12842). Only a number of transactions that is known to be right, or the coinbase, excludes that.
fn verify_merkle_block(bytes: &[u8], args: &ProofVerifyArgs, output: Output) -> Result<(), Error> {
    let bytes = binary(bytes);
    let block = bitcoin::MerkleBlock::parse(&bytes).map_err(|error| {
        Error::Input(format!("the file contains no proof of `turnpike proof get` or gettxoutproof: {error}"))
    })?;
    let transactions = block.transactions();
    if let Some(expected) = args.transactions.filter(|&expected| expected != transactions) {
        return Err(Error::Failed(format!(
            "the proof is for a block of {transactions} transactions, but --transactions is {expected}"
        )));
    }
    let matches = match &args.coinbase {
        Some(file) => block.verify_with_coinbase(&read_coinbase(file)?),
        None => block.verify(),
    }
    .map_err(Error::other)?;
    if matches.is_empty() {
        return Err(Error::Failed("the proof names no transaction, so it proves nothing".into()));
    }
    let is_depth_checked = args.transactions.is_some() || args.coinbase.is_some();
    let tree = Tree { transactions, is_depth_checked };
    let hash = block.header().hash();
    let height = match &args.headers {
        Some(file) => Some(active(&read_bitcoin_headers(file, args.first_height)?, &hash)?.0),
        None => {
            bitcoin::check_proof_of_work(bitcoin::Network::Mainnet, block.header()).map_err(Error::other)?;
            None
        }
    };
    for found in matches {
        let report = BitcoinReport::new(height, &hash, found.position, &found.hash, tree);
        output.result(&report, BitcoinReport::describe);
    }
    Ok(())
}

/// The bytes of a file that is binary, or in hexadecimal as Bitcoin Core prints it.
fn binary(bytes: &[u8]) -> Cow<'_, [u8]> {
    let decoded = std::str::from_utf8(bytes).ok().and_then(|text| hex::decode(text.trim()));
    decoded.map_or(Cow::Borrowed(bytes), Cow::Owned)
}

/// A coinbase transaction without its witness.
fn read_coinbase(file: &Path) -> Result<Vec<u8>, Error> {
    let bytes = fs::read(file).map_err(|error| Error::file("read the coinbase", file, error))?;
    let coinbase = bitcoin::WitnessCoinbase::parse(&binary(&bytes));
    let coinbase = coinbase.map_err(|error| Error::Input(format!("--coinbase {}: {error}", file.display())))?;
    Ok(coinbase.stripped)
}

fn needed(headers: Option<&Path>) -> Result<&Path, Error> {
    headers.ok_or_else(|| Error::Input("set the headers to verify against with --headers".into()))
}

/// Headers of any network that begins with its genesis, or of mainnet from a trusted height on.
fn read_bitcoin_headers(file: &Path, first_height: Option<u32>) -> Result<bitcoin::HeaderChain, Error> {
    let bytes = fs::read(file).map_err(|error| Error::file("read the headers", file, error))?;
    let first = bitcoin::BlockHeader::parse(bytes.get(..bitcoin::HEADER_SIZE).unwrap_or_default());
    let network = first
        .and_then(|first| bitcoin::Network::ALL.into_iter().find(|network| network.genesis().hash() == first.hash()))
        .unwrap_or(bitcoin::Network::Mainnet);
    header_file::read_bitcoin(file, network, first_height)
}

fn active<'a>(chain: &'a bitcoin::HeaderChain, block: &[u8; 32]) -> Result<(u32, &'a bitcoin::BlockHeader), Error> {
    chain.is_active(block).then(|| chain.find(block)).flatten().ok_or_else(|| {
        Error::Failed(format!(
            "block {} is not in the chain of the headers; synchronise them with `turnpike headers`",
            bitcoin::display(block)
        ))
    })
}
