//! `turnpike proof`: fetches and verifies proofs.

use std::fs;
use std::path::Path;

use client::{Client, ProvedBitcoin, ProvedTransaction, bitcoin_proof};
use serde::Serialize;
use sha2::{Digest, Sha256};
use spv::{HeaderChain, bitcoin};
use wire::{AccountId, Operation, Reply};
use zerocopy::FromBytes;

use crate::against::{Against, Source, synchronise};
use crate::cli::{ProofCommand, ProofGetArgs};
use crate::error::Error;
use crate::header_file;
use crate::hex;
use crate::output::{Output, thousands};

/// What is proved of a transaction of the own chain.
#[derive(Serialize)]
struct TransactionReport {
    verified: bool,
    height: u64,
    block: String,
    position: u32,
    command: String,
    transaction: String,
    source: String,
    destination: String,
    amount: u64,
    against: Against,
}

/// What is proved of an account.
#[derive(Serialize)]
struct BalanceReport {
    verified: bool,
    height: u64,
    account: String,
    exists: bool,
    balance: u64,
    latest_height: Option<u32>,
    latest_position: Option<u32>,
    against: Against,
}

/// What is proved of a Bitcoin transaction.
#[derive(Serialize)]
struct BitcoinReport {
    verified: bool,
    /// None where no headers were given.
    height: Option<u32>,
    block: String,
    position: u32,
    transaction: String,
}

/// Runs `turnpike proof`.
pub fn run(command: &ProofCommand, output: Output) -> Result<(), Error> {
    match command {
        ProofCommand::Get(args) => get(args, output),
        ProofCommand::Verify { file, headers, first_height, network } => {
            verify(file, headers.as_deref(), *first_height, network.network_id, output)
        }
    }
}

fn get(args: &ProofGetArgs, output: Output) -> Result<(), Error> {
    let mut client = Client::connect(args.node.node, &args.node.options()).map_err(Error::other)?;
    let subject = &args.subject;
    let reply = if subject.bitcoin_script.is_some() || subject.bitcoin_transaction.is_some() {
        let mut chain = header_file::open_bitcoin(args.headers.as_deref(), args.network.into())?;
        client.sync_bitcoin_headers(&mut chain).map_err(Error::other)?;
        let proved = match (&subject.bitcoin_script, &subject.bitcoin_transaction) {
            (Some(script), _) => client.prove_bitcoin_latest(&mut chain, script_hash(script)?),
            (None, Some(transaction)) => client.prove_bitcoin(&mut chain, parse_bitcoin_transaction(transaction)?),
            (None, None) => return Err(Error::Input("name what to prove".into())),
        }
        .map_err(Error::other)?;
        if let Some(file) = &args.headers {
            header_file::write_bitcoin(file, &chain)?;
        }
        output.result(&BitcoinReport::of(&proved), BitcoinReport::describe);
        proved.reply
    } else {
        let network = args.pin.network_id;
        let source = Source::of(network, args.headers.as_deref());
        let mut chain = header_file::open_own(args.headers.as_deref(), &mut client, network)?;
        let replaced = if args.accept_reorganisation { synchronise(&mut client, &mut chain, true)?.1 } else { None };
        if let Some(replaced) = &replaced {
            output.progress(replaced.describe());
        }
        let reply = if let Some(account) = subject.balance {
            let proved = client.prove_index(&mut chain, account).map_err(Error::other)?;
            let report =
                BalanceReport::new(account, proved.height, proved.entry, Against::new(&chain, source, replaced));
            output.result(&report, BalanceReport::describe);
            proved.reply
        } else {
            let proved = get_transaction(&mut client, &mut chain, args)?;
            let report = TransactionReport::of(&proved, Against::new(&chain, source, replaced));
            output.result(&report, TransactionReport::describe);
            proved.reply
        };
        if let Some(file) = &args.headers {
            header_file::write_own(file, &chain)?;
        }
        reply
    };
    if let Some(file) = &args.out {
        fs::write(file, reply).map_err(|error| Error::file("write the proof", file, error))?;
    }
    Ok(())
}

fn get_transaction(
    client: &mut Client,
    chain: &mut HeaderChain,
    args: &ProofGetArgs,
) -> Result<ProvedTransaction, Error> {
    let subject = &args.subject;
    if let Some(account) = subject.latest {
        return client.prove_latest(chain, account).map_err(Error::other);
    }
    if let Some(transaction) = subject.transaction {
        let source = args.source.ok_or_else(|| {
            Error::Input("an id is unique among the operations of one account only: name it with --source".into())
        })?;
        return client.prove_transaction(chain, transaction, source).map_err(Error::other);
    }
    let locator = subject.locator.as_deref().unwrap_or_default();
    let parsed =
        locator.split_once(':').and_then(|(height, position)| Some((height.parse().ok()?, position.parse().ok()?)));
    let (height, position) =
        parsed.ok_or_else(|| Error::Input(format!("{locator} is no locator: HEIGHT:POSITION, such as 17:3")))?;
    client.prove_locator(chain, height, position).map_err(Error::other)
}

fn verify(
    file: &Path,
    headers: Option<&Path>,
    first_height: Option<u32>,
    network: Option<[u8; 32]>,
    output: Output,
) -> Result<(), Error> {
    let bytes = fs::read(file).map_err(|error| Error::file("read the proof", file, error))?;
    match Reply::parse(&bytes) {
        Ok(Reply::Proof(reply)) if reply.fixed.request.chain().is_ok_and(|chain| chain == wire::Chain::Bitcoin) => {
            let chain = read_bitcoin_headers(needed(headers)?, first_height)?;
            let (height, header) = active(&chain, &reply.fixed.block_hash)?;
            let proof = bitcoin_proof(&reply);
            proof.verify(header).map_err(Error::other)?;
            let report = BitcoinReport {
                verified: true,
                height: Some(height),
                block: bitcoin::display(&reply.fixed.block_hash).to_string(),
                position: proof.position,
                transaction: bitcoin::display(proof.leaf).to_string(),
            };
            output.result(&report, BitcoinReport::describe);
        }
        Ok(Reply::Proof(_)) => {
            let chain = header_file::read_own(needed(headers)?, network)?;
            let proof = spv::TransactionProof::parse(&bytes).map_err(Error::other)?;
            proof.verify(&chain).map_err(Error::other)?;
            let (operation, _) = Operation::read_from_prefix(proof.transaction)
                .map_err(|_| Error::Failed("the proof holds no transaction".into()))?;
            let against = Against::new(&chain, Source::of(network, headers), None);
            let report = TransactionReport::new(proof.height, &proof.block_hash, proof.position, &operation, against);
            output.result(&report, TransactionReport::describe);
        }
        Ok(Reply::Index(reply)) => {
            let chain = header_file::read_own(needed(headers)?, network)?;
            let proof = spv::IndexProof::parse(&bytes).map_err(Error::other)?;
            let mut account = [0; 16];
            account.copy_from_slice(&reply.fixed.request.key[..16]);
            let entry = proof.verify(&account, &chain).map_err(Error::other)?;
            let against = Against::new(&chain, Source::of(network, headers), None);
            let report = BalanceReport::new(AccountId(account), proof.height, entry, against);
            output.result(&report, BalanceReport::describe);
        }
        _ => verify_merkle_block(&bytes, headers, first_height, output)?,
    }
    Ok(())
}

/// Verifies the output of Bitcoin Core's gettxoutproof, in binary or in hexadecimal as Core prints it.
fn verify_merkle_block(
    bytes: &[u8],
    headers: Option<&Path>,
    first_height: Option<u32>,
    output: Output,
) -> Result<(), Error> {
    let decoded = std::str::from_utf8(bytes).ok().and_then(|text| hex::decode(text.trim()));
    let block = bitcoin::MerkleBlock::parse(decoded.as_deref().unwrap_or(bytes)).map_err(|error| {
        Error::Input(format!("the file is neither a proof of `turnpike proof get` nor one of gettxoutproof: {error}"))
    })?;
    let matches = block.verify().map_err(Error::other)?;
    let hash = block.header().hash();
    let height = match headers {
        Some(file) => Some(active(&read_bitcoin_headers(file, first_height)?, &hash)?.0),
        None => {
            bitcoin::check_proof_of_work(bitcoin::Network::Mainnet, block.header()).map_err(Error::other)?;
            None
        }
    };
    for found in matches {
        let report = BitcoinReport {
            verified: true,
            height,
            block: bitcoin::display(&hash).to_string(),
            position: found.position,
            transaction: bitcoin::display(&found.hash).to_string(),
        };
        output.result(&report, BitcoinReport::describe);
    }
    Ok(())
}

fn needed(headers: Option<&Path>) -> Result<&Path, Error> {
    headers.ok_or_else(|| Error::Input("name the headers to verify against with --headers".into()))
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

fn script_hash(script: &str) -> Result<[u8; 32], Error> {
    let script = hex::decode(script).ok_or_else(|| Error::Input(format!("{script} is no script in hexadecimal")))?;
    Ok(Sha256::digest(&script).into())
}

/// A transaction's hash from how it is printed: in hexadecimal, last byte first.
fn parse_bitcoin_transaction(text: &str) -> Result<[u8; 32], Error> {
    let mut hash: [u8; 32] = hex::decode(text)
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| Error::Input(format!("{text} is no transaction: 64 hexadecimal digits expected")))?;
    hash.reverse();
    Ok(hash)
}

impl TransactionReport {
    fn of(proved: &ProvedTransaction, against: Against) -> Self {
        Self::new(proved.height, &proved.block, proved.position, &proved.operation, against)
    }

    fn new(height: u64, block: &[u8; 32], position: u32, operation: &Operation, against: Against) -> Self {
        Self {
            verified: true,
            height,
            block: hex::encode(block),
            position,
            command: operation
                .command()
                .map_or_else(|_| "unknown".into(), |command| format!("{command:?}").to_uppercase()),
            transaction: operation.transaction.to_string(),
            source: operation.source.to_string(),
            destination: operation.destination.to_string(),
            amount: operation.amount(),
            against,
        }
    }

    fn describe(&self) -> String {
        format!(
            "verified: {} of {} at position {} of block {}\nblock        {}\nsource       {}\ndestination  {}\ntransaction  {}{}",
            self.command,
            thousands(self.amount),
            self.position,
            self.height,
            self.block,
            self.source,
            self.destination,
            self.transaction,
            self.against.describe()
        )
    }
}

impl BalanceReport {
    fn new(account: AccountId, height: u64, entry: Option<spv::IndexEntry>, against: Against) -> Self {
        Self {
            verified: true,
            height,
            account: account.to_string(),
            exists: entry.is_some(),
            balance: entry.map_or(0, |entry| entry.balance.get()),
            latest_height: entry.map(|entry| entry.height.get()),
            latest_position: entry.map(|entry| entry.position.get()),
            against,
        }
    }

    fn describe(&self) -> String {
        let what = match (self.latest_height, self.latest_position) {
            (Some(height), Some(position)) => format!(
                "verified: account {} holds {} as of block {}\nlatest       position {position} of block {height}",
                self.account,
                thousands(self.balance),
                self.height
            ),
            _ => format!("verified: there is no account {} as of block {}", self.account, self.height),
        };
        what + &self.against.describe()
    }
}

impl BitcoinReport {
    fn of(proved: &ProvedBitcoin) -> Self {
        Self {
            verified: true,
            height: Some(proved.height),
            block: bitcoin::display(&proved.block).to_string(),
            position: proved.position,
            transaction: bitcoin::display(&proved.transaction).to_string(),
        }
    }

    fn describe(&self) -> String {
        let place = match self.height {
            Some(height) => format!("block {}", thousands(height.into())),
            None => "a block with proof of work, whose place in the chain was not checked (--headers does)".into(),
        };
        format!(
            "verified: transaction {} is at position {} of {place}\nblock        {}",
            self.transaction, self.position, self.block
        )
    }
}
