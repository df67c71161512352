//! Bitcoin as a source of proofs, and the changes of its active branch as announcements.

use std::sync::Arc;

use chain::bitcoin::{BitcoinChain, Change, ChangeKind, Error, Observer, Proof, Tip as ChainTip};
use wire::{Chain, ProofReply, Query, U16, U32, U64};
use zerocopy::{FromZeros, IntoBytes};

use crate::{
    Cache, Refusal, Source, Tip,
    source::{behind_request, failed, malformed, request_of},
};

/// Proves from imported Bitcoin blocks.
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
            // Bitcoin has no index root, so nothing could be proved of an entry.
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
        // A coinbase that the field cannot tell the length of fits no datagram either.
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

/// Makes the tip of a chain of Bitcoin known to a cache: without it nothing of the chain is kept.
pub fn begin(cache: &Cache, chain: &BitcoinChain) {
    if let Some(tip) = tip_of(chain) {
        cache.reorganise(Chain::Bitcoin, tip);
    }
}

fn tip_of(chain: &BitcoinChain) -> Option<Tip> {
    chain.view().tip().map(|tip| Tip { hash: tip.hash, height: tip.height.into() })
}

/// Announces to a cache what an importer changes, while the cache is served from.
#[derive(Debug)]
pub struct BitcoinAnnouncer {
    cache: Arc<Cache>,
    /// The tip, while no block has left the branch since.
    last: Option<Tip>,
}

impl BitcoinAnnouncer {
    /// Makes the tip of a chain known to a cache, to which the changes from now on go.
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
                // Until a block of the new branch comes, the tip is one that left: no reply is as of it any more.
                self.cache.reorganise(Chain::Bitcoin, tip);
                self.last = None;
            }
        }
    }
}
