//! Merkle paths of transactions: from the cache of proofs, or proved and then cached.
use std::sync::Arc;

use chain::bitcoin::BitcoinChain;
use proof::{BitcoinSource, Cache, Lookup, Refusal, Source};
use spv::{Hash, Locator};
use wire::{Chain, ProofReply, ProofRequest, Query};
use zerocopy::FromBytes;

/// Maximum length of a cached reply: what fits a datagram.
const ROOM: usize = wire::ETHERNET_DATAGRAM;

/// The path of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Location of the transaction.
    pub locator: Locator,
    /// Its hash.
    pub hash: Hash,
    /// From the bottom up.
    pub nodes: Vec<Hash>,
}

/// Source of paths.
pub struct Paths {
    source: BitcoinSource,
    cache: Option<Arc<Cache>>,
}

impl Paths {
    pub fn new(chain: BitcoinChain, cache: Option<Arc<Cache>>) -> Self {
        Self { source: BitcoinSource::new(chain), cache }
    }

    /// The path of a transaction by its hash.
    pub fn of_transaction(&self, hash: &Hash) -> Result<Path, Refusal> {
        self.get(Query::Transaction, hash)
    }

    /// The path of a transaction by its location.
    pub fn of_locator(&self, locator: Locator) -> Result<Path, Refusal> {
        self.get(Query::Locator, &wire::key_of_locator(locator.height.into(), locator.position))
    }

    fn get(&self, query: Query, key: &[u8; 32]) -> Result<Path, Refusal> {
        let mut room = [0; ROOM];
        if let Some(cache) = &self.cache
            && let Lookup::Hit(length) = cache.get(Chain::Bitcoin, query, key, &mut room)
        {
            return read(&room[..length]);
        }
        let mut body = Vec::new();
        self.source.prove(query, key, &mut body)?;
        if let Some(cache) = &self.cache {
            cache.fill(Chain::Bitcoin, query, key, &body);
        }
        read(&body)
    }
}

/// Reads the body of a proof's reply, which follows the request.
fn read(body: &[u8]) -> Result<Path, Refusal> {
    const FIXED: usize = ProofReply::LENGTH - ProofRequest::LENGTH;
    let (fixed, rest) = body.split_at_checked(FIXED).ok_or(Refusal::Malformed)?;
    let mut whole = [0; ProofReply::LENGTH];
    whole[ProofRequest::LENGTH..].copy_from_slice(fixed);
    let reply = ProofReply::read_from_bytes(&whole).map_err(|_| Refusal::Malformed)?;
    let (nodes, _) = rest.as_chunks::<32>();
    let nodes = nodes.get(..reply.depth.into()).ok_or(Refusal::Malformed)?.to_vec();
    let height = u32::try_from(reply.block_height.get()).map_err(|_| Refusal::Malformed)?;
    Ok(Path { locator: Locator { height, position: reply.position.get() }, hash: reply.leaf, nodes })
}
