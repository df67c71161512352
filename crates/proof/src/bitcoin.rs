//! Bitcoin as a source of proofs, and the announcement of changes to its active branch.

use std::sync::Arc;

use chain::bitcoin::{BitcoinChain, Change, ChangeKind, Error, Observer, Proof, Tip as ChainTip};
use wire::{Chain, ProofReply, Query, U16, U32, U64};
use zerocopy::{FromZeros, IntoBytes};

use crate::{
    Cache, Refusal, Source, Tip,
    source::{behind_request, failed, malformed, request_of},
};

/// A source of proofs from imported Bitcoin blocks.
#[derive(Clone)]
pub struct BitcoinSource(BitcoinChain);

impl BitcoinSource {
    /// Proves what is in `chain`.
    pub fn new(chain: BitcoinChain) -> Self {
        Self(chain)
    }
}

impl Source for BitcoinSource {
    fn prove(&self, query: Query, key: &[u8; 32], body: &mut Vec<u8>) -> Result<(), Refusal> {
        let view = self.0.view();
        let tip = view.tip().ok_or(Refusal::NotFound)?;
        let locator = match query {
            Query::Latest => view.latest(key).map_err(failed)?,
            Query::Transaction => view.transaction(key).map_err(failed)?,
            Query::Locator => {
                let (height, position) = request_of(key).locator().map_err(malformed)?;
                u32::try_from(height).ok().map(|height| spv::Locator { height, position })
            }
            // Bitcoin has no index root to prove an entry against.
            Query::Index => return Err(Refusal::NoSuchQuery),
        };
        let proof = match view.proof(locator.ok_or(Refusal::NotFound)?) {
            Ok(proof) => proof.ok_or(Refusal::NotFound)?,
            Err(Error::NotProvable { .. }) => return Err(Refusal::NotProvable),
            Err(error) => return Err(failed(error)),
        };
        write(&tip, &proof, body)
    }
}

fn write(tip: &ChainTip, proof: &Proof, body: &mut Vec<u8>) -> Result<(), Refusal> {
    let fixed = ProofReply {
        tip_hash: tip.hash,
        tip_height: U64::new(tip.height.into()),
        block_hash: proof.block.hash,
        block_height: U64::new(proof.locator.height.into()),
        transaction_count: U32::new(proof.block.transactions),
        position: U32::new(proof.locator.position),
        depth: proof.path.len() as u8,
        // A coinbase too long for this field does not fit a datagram either.
        coinbase_length: U16::new(u16::try_from(proof.coinbase.len()).map_err(|_| Refusal::NotProvable)?),
        leaf: proof.leaf,
        ..ProofReply::new_zeroed()
    };
    behind_request(fixed.as_bytes(), body);
    body.extend_from_slice(proof.path.as_flattened());
    body.extend_from_slice(proof.coinbase_path.as_flattened());
    body.extend_from_slice(&proof.coinbase);
    Ok(())
}

/// Announces the tip of a Bitcoin chain to a cache, which accepts no reply of the chain until then.
pub fn begin(cache: &Cache, chain: &BitcoinChain) {
    if let Some(tip) = tip_of(chain) {
        cache.reorganise(Chain::Bitcoin, tip);
    }
}

fn tip_of(chain: &BitcoinChain) -> Option<Tip> {
    chain.view().tip().map(|tip| Tip { hash: tip.hash, height: tip.height.into() })
}

/// Announces to a cache, while it serves, what an importer changes.
#[derive(Debug)]
pub struct BitcoinAnnouncer {
    cache: Arc<Cache>,
    /// The tip; `None` from the moment a block leaves the branch until the next one joins.
    last: Option<Tip>,
}

impl BitcoinAnnouncer {
    /// Announces the chain's tip to the cache, and from then on its changes.
    pub fn new(cache: Arc<Cache>, chain: &BitcoinChain) -> Self {
        begin(&cache, chain);
        Self { cache, last: tip_of(chain) }
    }
}

impl Observer for BitcoinAnnouncer {
    fn changed(&mut self, change: &Change) {
        let tip = Tip { hash: change.hash, height: change.height.into() };
        match (change.kind, self.last) {
            (ChangeKind::Connected, Some(last)) if last.height + 1 == tip.height => {
                let touched = change.scripts.iter().copied();
                self.cache.announce(Chain::Bitcoin, &last.hash, tip, touched);
                self.last = Some(tip);
            }
            (ChangeKind::Connected, _) => {
                self.cache.reorganise(Chain::Bitcoin, tip);
                self.last = Some(tip);
            }
            (ChangeKind::Disconnected, _) => {
                // Until the new branch's first block arrives, the published tip is one that left, and no reply is as of
                // it.
                self.cache.reorganise(Chain::Bitcoin, tip);
                self.last = None;
            }
        }
    }
}
