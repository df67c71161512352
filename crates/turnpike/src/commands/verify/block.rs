//! `turnpike verify block`: blocks of Bitcoin. Proof of work, the form of all transactions, the Merkle root, and the
//! signatures of inputs whose coins are known: from a file, or because an earlier block of the files made them.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use chain::bitcoin::{
    Block, BlockFiles, Claim, Coin, Coins, FileError, RawBlock, Rules, Scheme, Tree, Unclaimed, claims,
};
use spv::Hash;
use spv::bitcoin::{BlockHeader, Network, check_proof_of_work, display};
use verify::secp256k1::ecdsa::Policy;

use super::engine::{Engine, Verdict};
use super::report::{Outcome, Report};
use super::run::Work;
use super::signatures::{verify_ecdsa, verify_schnorr};
use super::{read, threads};
use crate::cli::VerifyBlockArgs;
use crate::error::Error;
use crate::output::Output;

/// From this height on of mainnet, signatures have to be in strict DER encoding (BIP66).
const STRICT_DER_HEIGHT: u64 = 363_725;

/// From this height on of mainnet, Taproot outputs have their meaning (BIP341); before, anybody may spend them.
const TAPROOT_HEIGHT: u64 = 709_632;

/// From this time on hashes of scripts have their meaning (BIP16); before, they are scripts as any other.
const SCRIPT_HASH_TIME: u32 = 1_333_238_400;

/// Maximum number of coins to keep for later blocks: about 2 GiB of memory.
const MAX_COINS: usize = 1 << 24;

const UNKNOWN_COIN: &str = "inputs: the coin that they spend is unknown; add --coins, or earlier blocks";
const OTHER_SCRIPT: &str = "inputs: scripts other than those of keys, key hashes, multisig and Taproot keys";
const NO_SCRIPTS: &str = "blocks' amounts, lock times, witness commitments, and scripts except signatures";
const UNLINKED: &str = "blocks' links: the previous block is not in the files";

/// A block with the coins that it spends.
struct Piece {
    file: Arc<str>,
    block: Vec<u8>,
    network: Network,
    /// For each input except the coinbase's.
    coins: Vec<Option<Coin>>,
}

/// Runs `turnpike verify block`.
pub fn run(args: &VerifyBlockArgs, output: Output) -> Result<Report, Error> {
    let network = args.network.into();
    let mut coins = Coins::default();
    for path in &args.coins {
        let file = Coins::parse(&read(path)?);
        coins.extend(file.map_err(|error| Error::Input(format!("{}: {error}", path.display())))?);
    }
    let files: Vec<BlockFiles> = args.files.files.iter().map(|path| find(path, network)).collect::<Result<_, _>>()?;
    let total = files.iter().map(BlockFiles::total_bytes).sum();
    let server = args.files.options.server.get()?;
    let mut work = Work::start(threads(&args.files.options), total, output, || {
        let mut engine = Engine::new(server.as_ref())?;
        Ok(move |piece: Piece| piece.verify(&mut engine))
    })?;
    let mut seen = Seen { coins, hashes: HashSet::new() };
    for files in &files {
        files.read(|path, block: RawBlock<'_>, _| -> Result<(), ReadError> {
            let coins = seen.look_at(block.bytes, &mut work);
            let file = path.display().to_string().into();
            Ok(work.push(Piece { file, block: block.bytes.to_vec(), network, coins })?)
        })?;
    }
    work.finish()
}

fn find(path: &Path, network: Network) -> Result<BlockFiles, Error> {
    BlockFiles::find(path, network).map_err(Error::other)
}

/// The end of reading blocks.
#[derive(Debug)]
struct ReadError(Error);

impl From<FileError> for ReadError {
    fn from(error: FileError) -> Self {
        Self(Error::other(error))
    }
}

impl From<Error> for ReadError {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        error.0
    }
}

/// State of earlier blocks for later ones.
struct Seen {
    coins: Coins,
    hashes: HashSet<Hash>,
}

impl Seen {
    /// The coins that a block spends, of those that are known; and those that it makes become known. Blocks that cannot
    /// be parsed have none.
    fn look_at(&mut self, bytes: &[u8], work: &mut Work<Piece>) -> Vec<Option<Coin>> {
        let Some(header) = BlockHeader::parse(bytes) else { return Vec::new() };
        let is_first = self.hashes.is_empty();
        let linked = header.previous == [0; 32] || self.hashes.contains(&header.previous);
        work.found().skip(UNLINKED, u64::from(!is_first && !linked));
        self.hashes.insert(header.hash());
        let Ok(block) = Block::parse(bytes) else { return Vec::new() };
        let mut spent = Vec::new();
        for (position, transaction) in block.transactions().iter().enumerate() {
            if position > 0 {
                spent.extend(transaction.inputs().map(|input| self.coins.spend(input.outpoint)));
            }
            let hash = transaction.hash();
            for (number, output) in (0_u32..).zip(transaction.outputs()) {
                if self.coins.len() >= MAX_COINS {
                    break;
                }
                let mut outpoint = [0; 36];
                outpoint[..32].copy_from_slice(&hash);
                outpoint[32..].copy_from_slice(&number.to_le_bytes());
                self.coins.add(outpoint, Coin { amount: output.amount, script: output.script.into() });
            }
        }
        spent
    }
}

impl Piece {
    fn verify(self, engine: &mut Engine) -> Result<Outcome, Error> {
        let mut outcome = Outcome::of_bytes(self.block.len());
        let header = BlockHeader::parse(&self.block);
        let name = match &header {
            Some(header) => format!("block {}", display(&header.hash())),
            None => "block".to_string(),
        };
        let at = || (self.file.to_string(), name.clone());
        let block = match Block::parse(&self.block) {
            Ok(block) => block,
            Err(error) => {
                outcome.count("blocks", Err(error), at);
                return Ok(outcome);
            }
        };
        let work = check_proof_of_work(self.network, block.header()).map(|_| ());
        outcome.count("proofs of work", work, at);
        let leaves = block.transactions().iter().map(|transaction| transaction.hash()).collect();
        let root = match Tree::build(leaves) {
            Ok(tree) if tree.root() == block.header().merkle_root => Ok(()),
            Ok(_) => Err("the Merkle root does not match the transactions".to_string()),
            Err(repeated) => Err(repeated.to_string()),
        };
        outcome.count("Merkle roots", root, at);
        outcome.skip(NO_SCRIPTS, 1);
        self.verify_inputs(&block, &name, engine, &mut outcome)?;
        Ok(outcome)
    }

    fn verify_inputs(
        &self,
        block: &Block<'_>,
        name: &str,
        engine: &mut Engine,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let height = self.height(block);
        let policy = if height >= STRICT_DER_HEIGHT { Policy::BITCOIN } else { Policy::BITCOIN_LAX };
        let rules =
            Rules { script_hashes: block.header().time.get() >= SCRIPT_HASH_TIME, taproot: height >= TAPROOT_HEIGHT };
        let mut inputs = Vec::new();
        let mut coins = &self.coins[..];
        for (position, transaction) in block.transactions().iter().enumerate().skip(1) {
            let (own, rest) = coins.split_at(transaction.inputs().count().min(coins.len()));
            coins = rest;
            for (number, claim) in claims(transaction, own, rules).into_iter().enumerate() {
                match claim {
                    None | Some(Err(Unclaimed::UnknownCoin)) => outcome.skip(UNKNOWN_COIN, 1),
                    Some(Err(Unclaimed::Other)) => outcome.skip(OTHER_SCRIPT, 1),
                    Some(claim) => inputs.push(Input::new(position, number, claim)),
                }
            }
        }
        while inputs.iter().any(Input::is_open) {
            for scheme in [Scheme::Ecdsa, Scheme::Schnorr] {
                let is_open = |input: &&mut Input<'_>| input.is_open() && input.claim.scheme == scheme;
                let mut open: Vec<&mut Input<'_>> = inputs.iter_mut().filter(is_open).collect();
                if open.is_empty() {
                    continue;
                }
                let pairs = open.iter().filter_map(|input| input.pair());
                let verdicts = match scheme {
                    Scheme::Ecdsa => verify_ecdsa(pairs, &[policy], engine)?,
                    Scheme::Schnorr => verify_schnorr(pairs, engine)?,
                };
                open.iter_mut().zip(verdicts).for_each(|(input, verdict)| input.tell(verdict));
            }
        }
        for Input { position, number, signatures, verdict, .. } in inputs {
            for _ in 0..signatures {
                outcome.count::<String>("signatures", Ok(()), || unreachable!());
            }
            let item = || (self.file.to_string(), format!("{name}, transaction {position}, input {number}"));
            outcome.count("inputs", verdict.unwrap_or(Ok(())), item);
        }
        Ok(())
    }

    /// The block's height, by which it is known which rules hold: the number that its coinbase begins with, in blocks
    /// from version 2 on; 0 in others. In networks that are for tests, all rules hold.
    fn height(&self, block: &Block<'_>) -> u64 {
        if self.network != Network::Mainnet {
            return u64::MAX;
        }
        let coinbase = block.transactions().first().and_then(|coinbase| coinbase.inputs().next());
        match coinbase.map(|input| input.script) {
            Some([length @ 1..=4, rest @ ..]) if block.header().version.get() >= 2 => {
                rest.iter().take((*length).into()).rev().fold(0, |height, byte| height << 8 | u64::from(*byte))
            }
            _ => 0,
        }
    }
}

/// An input whose claim is being checked, one signature after the other: each must match the next key, or a later one.
struct Input<'a> {
    position: usize,
    number: usize,
    claim: Claim<'a>,
    /// Keys that are used or passed over, and signatures that are found valid.
    keys: usize,
    signatures: usize,
    verdict: Option<Verdict>,
}

impl<'a> Input<'a> {
    fn new(position: usize, number: usize, claim: Result<Claim<'a>, Unclaimed>) -> Self {
        let (claim, verdict) = match claim {
            Ok(claim) => (claim, None),
            Err(unclaimed) => {
                let none = Claim { scheme: Scheme::Ecdsa, keys: Vec::new(), signatures: Vec::new() };
                (none, Some(Err(unclaimed.to_string())))
            }
        };
        Self { position, number, claim, keys: 0, signatures: 0, verdict }
    }

    fn is_open(&self) -> bool {
        self.verdict.is_none()
    }

    /// Digest, key and signature to be verified next.
    fn pair(&self) -> Option<(&[u8; 32], &[u8], &[u8])> {
        let signature = self.claim.signatures.get(self.signatures).filter(|_| self.is_open())?;
        Some((&signature.digest, self.claim.keys.get(self.keys)?, signature.bytes))
    }

    fn tell(&mut self, verdict: Verdict) {
        self.keys += 1;
        self.signatures += usize::from(verdict.is_ok());
        let missing = self.claim.signatures.len() - self.signatures;
        if missing == 0 {
            self.verdict = Some(Ok(()));
        } else if missing > self.claim.keys.len() - self.keys {
            // Verified last is what there was no other key for.
            self.verdict =
                Some(Err(verdict.err().unwrap_or_else(|| "a signature matches none of the keys".to_string())));
        }
    }
}
