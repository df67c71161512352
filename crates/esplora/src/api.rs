//! The paths of the API and what each returns.
use std::{
    net::IpAddr,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Instant,
};

use bitcoin::Network;
use electrum::{Path, Service};
use proof::Refusal;
use serde::Serialize;
use spv::{Hash, Locator};

use crate::{
    blocks, broadcast, mempool, merkle_block,
    reader::Reader,
    reply::{Age, Answer, Failure, Reply},
    scripts, transactions,
    values::{self, Id, MerkleValue, ScriptValue, Status, TransactionValue, WitnessMerkleValue, hex},
};

/// Transactions on a page.
const PAGE: usize = 25;
/// The most transactions of a script in the mempool that are listed.
const WAITING: usize = 50;
/// Blocks on a page.
const BLOCKS: u32 = 10;
/// Bytes of blocks and transactions that may be read for one request.
const ROOM: u64 = 64 << 20;
/// The most bytes that an output takes in a list.
const UNSPENT_BYTES: usize = 300;

/// Esplora's API over the blocks of a service, whose limits apply here, too.
#[derive(Clone, Debug)]
pub struct Api {
    service: Arc<Service>,
}

/// One request being answered.
struct Request<'a> {
    service: &'a Service,
    reader: Reader<'a>,
    /// The number of the branch being read.
    edition: u64,
    network: Network,
    /// Bytes of the longest reply.
    longest: usize,
}

impl Api {
    /// Serves the blocks of a service.
    pub fn new(service: Arc<Service>) -> Self {
        Self { service }
    }

    /// Answers a GET of a path, such as `/blocks/tip/height`, or a POST of the bytes in `posted`.
    pub fn answer(&self, path: &str, posted: Option<&[u8]>, address: IpAddr, now: Instant) -> Reply {
        let counts = &self.service.counts;
        let Some(share) = self.service.shares().connect(address, now) else {
            counts.refused_connections.fetch_add(1, Relaxed);
            return Failure::too_many("too many connections of your network prefix, or of all").into();
        };
        if let Some(debt) = share.debt(now) {
            counts.waits.fetch_add(1, Relaxed);
            let seconds = debt.as_secs() + 1;
            return Failure::too_many(format!("your network prefix asks for too much: wait {seconds} s")).into();
        }
        let snapshot = self.service.snapshot();
        let (room, longest) = match share.is_trusted() {
            true => (u64::MAX, usize::MAX),
            false => (ROOM, share.limits().reply),
        };
        let network = match snapshot.branch.view().network() {
            spv::bitcoin::Network::Mainnet => Network::Bitcoin,
            spv::bitcoin::Network::Testnet | spv::bitcoin::Network::Testnet4 => Network::Testnet,
            spv::bitcoin::Network::Regtest => Network::Regtest,
            spv::bitcoin::Network::Signet => Network::Signet,
        };
        let reader = Reader::new(&snapshot.branch, &self.service, room);
        let mut request = Request { service: &self.service, reader, edition: snapshot.edition, network, longest };
        let answer = match posted {
            Some(posted) => broadcast::post(&self.service, &mut request.reader, path, posted),
            None => request.answer(path),
        };
        let reply = match answer {
            Ok(reply) if reply.body.len() > longest => {
                counts.refused_replies.fetch_add(1, Relaxed);
                Failure::bad_request(format!("the response has more than {longest} bytes")).into()
            }
            Ok(reply) => reply,
            Err(failure) => failure.into(),
        };
        share.charge(request.reader.cost + reply.body.len() as u64 / 200, now);
        reply
    }
}

/// The hash of a transaction or block, from the text that Bitcoin displays.
fn hash(text: &str) -> Result<Hash, Failure> {
    let mut hash: Hash = values::parse(text).ok_or_else(|| Failure::bad_request("Invalid hex string"))?;
    hash.reverse();
    Ok(hash)
}

fn number(text: &str) -> Result<u32, Failure> {
    // No block has a height beyond 32 bits.
    let number: u64 = text.parse().map_err(|_| Failure::bad_request("Invalid number"))?;
    Ok(u32::try_from(number).unwrap_or(u32::MAX))
}

fn json(value: &impl Serialize) -> Answer {
    Ok(Reply::json(value, Age::Short))
}

impl Request<'_> {
    fn answer(&mut self, path: &str) -> Answer {
        let parts: Vec<&str> = path.strip_prefix('/').unwrap_or(path).split('/').collect();
        match parts[..] {
            ["blocks", "tip", "height"] => Ok(Reply::text(self.tip().to_string(), Age::Short)),
            ["blocks", "tip", "hash"] => self.hash_at(self.tip(), Age::Short),
            ["blocks"] => self.blocks(self.tip()),
            ["blocks", first] => self.blocks(number(first).unwrap_or(self.tip())),
            ["block-height", height] => {
                let height = number(height)?;
                self.hash_at(height, self.depth(height))
            }
            ["block", block] => {
                let height = blocks::height(&self.reader, &hash(block)?)?;
                Ok(Reply::json(&blocks::value(&mut self.reader, height)?, Age::Long))
            }
            ["block", block, ref rest @ ..] => self.block(&hash(block)?, rest, path),
            ["tx", transaction, ref rest @ ..] => self.transaction(&hash(transaction)?, rest, path),
            ["address", address, ref rest @ ..] => {
                let script = scripts::of_address(address, self.network)?;
                self.script(&script, (Some(address), None), rest, path)
            }
            ["scripthash", script, ref rest @ ..] => {
                self.script(&scripts::of_hash(script)?, (None, Some(script)), rest, path)
            }
            ["mempool"] => json(&mempool::value(self.service)),
            ["mempool", "txids"] => json(&mempool::hashes(self.service)),
            ["mempool", "recent"] => json(&mempool::recent(self.service)),
            ["fee-estimates"] => json(&mempool::estimates(self.service, self.edition)),
            ["address-prefix", _] => Err(Failure::bad_request("address search disabled")),
            _ => Err(unknown(path)),
        }
    }

    fn tip(&self) -> u32 {
        self.reader.branch.tip().height
    }

    fn depth(&self, height: u32) -> Age {
        Age::Depth { height, tip: self.tip() }
    }

    fn hash_at(&self, height: u32, age: Age) -> Answer {
        let hash = blocks::hash_at(&self.reader, height)?;
        Ok(Reply::text(spv::bitcoin::display(&hash).to_string(), age))
    }

    /// The newest blocks from height `first` downwards.
    fn blocks(&mut self, first: u32) -> Answer {
        blocks::hash_at(&self.reader, first)?;
        let heights = (0..=first).rev().take(BLOCKS as usize);
        let values: Vec<_> = heights.map(|height| blocks::value(&mut self.reader, height)).collect::<Result<_, _>>()?;
        json(&values)
    }

    fn block(&mut self, block: &Hash, rest: &[&str], path: &str) -> Answer {
        if rest == ["status"] {
            let status = blocks::status(&self.reader, block)?;
            let age = status.height.map_or(Age::Short, |height| self.depth(height));
            return Ok(Reply::json(&status, age));
        }
        let height = || blocks::height(&self.reader, block);
        match *rest {
            ["header"] => {
                let header = self.reader.branch.header(height()?)?;
                Ok(Reply::text(hex(&header.unwrap_or([0; 80])), Age::Long))
            }
            ["raw"] => {
                let height = height()?;
                Ok(Reply::bytes(blocks::bytes(&mut self.reader, height)?, Age::Long))
            }
            ["txids"] => {
                let height = height()?;
                Ok(Reply::json(&blocks::transactions(&mut self.reader, height)?, Age::Long))
            }
            ["txid", position] => {
                let locator = Locator { position: number(position)?, height: height()? };
                let hash = self.reader.branch.transaction_hash(locator)?;
                let hash = hash.ok_or_else(|| Failure::not_found("tx index out of range"))?;
                Ok(Reply::text(spv::bitcoin::display(&hash).to_string(), Age::Long))
            }
            ["txs"] => self.block_page(height()?, 0),
            ["txs", first] => self.block_page(height()?, number(first).unwrap_or(0)),
            _ => Err(unknown(path)),
        }
    }

    fn block_page(&mut self, height: u32, first: u32) -> Answer {
        if !first.is_multiple_of(PAGE as u32) {
            return Err(Failure::bad_request(format!("start index must be a multiple of {PAGE}")));
        }
        let count = self.reader.branch.transactions(height).unwrap_or_default();
        if first >= count {
            return Err(Failure::bad_request("start index out of range"));
        }
        let page: Vec<_> = (first..count).take(PAGE).map(|position| Locator { height, position }).collect();
        let age = self.depth(height);
        Ok(Reply::json(&self.values(&page)?, age))
    }

    fn values(&mut self, locators: &[Locator]) -> Result<Vec<TransactionValue>, Failure> {
        let mut values = Vec::with_capacity(locators.len());
        for locator in locators {
            values.push(transactions::value(&mut self.reader, self.network, *locator)?);
        }
        Ok(values)
    }

    fn transaction(&mut self, transaction: &Hash, rest: &[&str], path: &str) -> Answer {
        let found = self.reader.locate(transaction)?;
        let age = found.map_or(Age::Short, |locator| self.depth(locator.height));
        let status = found.map(|locator| self.reader.status(locator)).transpose()?.unwrap_or_default();
        let mut bytes = || match found {
            Some(locator) => Ok(self.reader.transaction(locator)?.1),
            None => self.reader.waiting(transaction)?.ok_or_else(|| Failure::not_found("Transaction not found")),
        };
        match *rest {
            [] => {
                let bytes = bytes()?;
                let value = transactions::value_of(&mut self.reader, self.network, (transaction, &bytes), status)?;
                Ok(Reply::json(&value, age))
            }
            ["status"] => Ok(Reply::json(&status, age)),
            ["hex"] => Ok(Reply::text(hex(&bytes()?), age)),
            ["raw"] => Ok(Reply::bytes(bytes()?, age)),
            ["merkle-proof"] => {
                let Path { locator, nodes, .. } = self.path(transaction)?;
                let merkle = nodes.into_iter().map(Id).collect();
                let value = MerkleValue { block_height: locator.height, merkle, pos: locator.position };
                Ok(Reply::json(&value, age))
            }
            ["witness-merkle-proof"] => {
                let locator = found.ok_or_else(unconfirmed)?;
                let tree = self.service.witness_tree((self.reader.branch, self.edition), locator.height)?;
                let (tree, read) = tree.ok_or_else(unconfirmed)?;
                self.reader.charge(read)?;
                let proved = tree.leaf_and_path(locator.position).filter(|_| tree.is_committed());
                let (_, nodes) = proved.ok_or_else(|| Failure::not_found("The block commits to no witnesses"))?;
                let merkle = nodes.into_iter().map(Id).collect();
                let (block_height, pos, witness_root) = (locator.height, locator.position, Id(tree.root()));
                Ok(Reply::json(&WitnessMerkleValue { block_height, merkle, pos, witness_root }, age))
            }
            ["merkleblock-proof"] => {
                let Path { locator, nodes, .. } = self.path(transaction)?;
                let transactions = self.reader.branch.transactions(locator.height).unwrap_or_default();
                let header = self.reader.branch.header(locator.height)?.ok_or_else(unconfirmed)?;
                let position = locator.position;
                let proven = merkle_block::Proven { leaf: transaction, position, transactions, path: &nodes };
                Ok(Reply::text(hex(&merkle_block::encode(&header, &proven)), age))
            }
            ["outspend", output] => json(&transactions::spending(&mut self.reader, transaction, number(output)?)?),
            ["outspends"] => {
                let bytes = bytes()?;
                json(&transactions::spendings(&mut self.reader, found, (transaction, &bytes))?)
            }
            _ => Err(unknown(path)),
        }
    }

    /// The path of a transaction, from the cache of proofs.
    fn path(&mut self, transaction: &Hash) -> Result<Path, Failure> {
        self.service.path(transaction).map_err(|refusal| match refusal {
            Refusal::NotFound => unconfirmed(),
            Refusal::NotProvable => Failure::bad_request(
                "the block has a transaction of 64 bytes, for which paths are ambiguous (CVE-2017-12842)",
            ),
            Refusal::NoSuchQuery | Refusal::Malformed | Refusal::Pruned | Refusal::Failed(_) => {
                Failure::internal(&refusal)
            }
        })
    }

    fn script(
        &mut self,
        script: &Hash,
        (address, scripthash): (Option<&str>, Option<&str>),
        rest: &[&str],
        path: &str,
    ) -> Answer {
        match *rest {
            [] => {
                let chain_stats = scripts::stats(&mut self.reader, &self.service.sums, self.edition, script)?;
                let mempool_stats = scripts::waiting_stats(&mut self.reader, script);
                json(&ScriptValue { address, chain_stats, mempool_stats, scripthash })
            }
            ["txs"] => {
                let mut values = self.waiting(script)?;
                values.extend(self.script_page(script, None)?);
                json(&values)
            }
            ["txs", "chain"] => json(&self.script_page(script, None)?),
            // A text that is not a hash is treated as absent.
            ["txs", "chain", last_seen] => json(&self.script_page(script, hash(last_seen).ok().as_ref())?),
            ["txs", "mempool"] => json(&self.waiting(script)?),
            ["utxo"] => json(&scripts::unspent(&mut self.reader, script, self.longest / UNSPENT_BYTES)?),
            _ => Err(unknown(path)),
        }
    }

    fn script_page(&mut self, script: &Hash, last_seen: Option<&Hash>) -> Result<Vec<TransactionValue>, Failure> {
        let locators = scripts::history(&mut self.reader, script, last_seen, PAGE)?;
        self.values(&locators)
    }

    /// A script's transactions in the mempool. Those that leave it meanwhile are omitted.
    fn waiting(&mut self, script: &Hash) -> Result<Vec<TransactionValue>, Failure> {
        let mut values = Vec::new();
        for hash in scripts::waiting(&mut self.reader, script, WAITING) {
            if let Some(bytes) = self.reader.waiting(&hash)? {
                let found = (&hash, &*bytes);
                values.push(transactions::value_of(&mut self.reader, self.network, found, Status::default())?);
            }
        }
        Ok(values)
    }
}

fn unconfirmed() -> Failure {
    Failure::not_found("Transaction not found or is unconfirmed")
}

fn unknown(path: &str) -> Failure {
    Failure::not_found(format!("endpoint does not exist {path:?}"))
}
