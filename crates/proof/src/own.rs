//! The own chain as a source of proofs, and its blocks as announcements.

use chain::own::{OwnReader, Tip as ChainTip, TransactionAnswer};
use wire::{Chain, IndexReply, Operation, ProofReply, ProofRequest, Query, U16, U32, U64};
use zerocopy::{FromZeros, IntoBytes};

use crate::{
    Cache, Refusal, Source, Tip,
    source::{behind_request, failed, malformed, request_of},
};

/// A source of proofs from the own chain.
#[derive(Clone, Debug)]
pub struct OwnSource(OwnReader);

impl OwnSource {
    /// Proves what `reader` reads.
    pub fn new(reader: OwnReader) -> Self {
        Self(reader)
    }

    fn prove_entry(&self, request: &ProofRequest, body: &mut Vec<u8>) -> Result<(), Refusal> {
        let answer = self.0.index_entry(&request.account().map_err(malformed)?).map_err(failed)?;
        let fixed = IndexReply {
            block_hash: answer.block_hash,
            block_height: U64::new(answer.height),
            depth: answer.proof.path.len() as u8,
            // More than 16 only if that many accounts have the same path, in all 64 bits.
            entry_count: u8::try_from(answer.proof.entries.len()).map_err(|_| Refusal::NotProvable)?,
            ..IndexReply::new_zeroed()
        };
        behind_request(fixed.as_bytes(), body);
        body.extend_from_slice(answer.proof.path.as_flattened());
        body.extend_from_slice(answer.proof.entries.as_bytes());
        Ok(())
    }
}

impl Source for OwnSource {
    fn prove(&self, query: Query, key: &[u8; 32], body: &mut Vec<u8>) -> Result<(), Refusal> {
        let request = request_of(key);
        let answer = match query {
            Query::Latest => self.0.latest(&request.account().map_err(malformed)?),
            Query::Transaction => {
                let (transaction, source) = request.transaction();
                self.0.by_id(&transaction, &source)
            }
            Query::Locator => {
                let (height, position) = request.locator().map_err(malformed)?;
                self.0.by_locator(height, position)
            }
            Query::Index => return self.prove_entry(&request, body),
        };
        let answer = answer.map_err(|error| match error {
            chain::own::Error::Pruned { .. } => Refusal::Pruned,
            error => failed(error),
        });
        write(&answer?.ok_or(Refusal::NotFound)?, body);
        Ok(())
    }
}

fn write(answer: &TransactionAnswer, body: &mut Vec<u8>) {
    let tail = answer.tail.as_ref().map_or(&[][..], |tail| tail.as_slice());
    let fixed = ProofReply {
        tip_hash: answer.tip_hash,
        tip_height: U64::new(answer.tip_height),
        block_hash: answer.block_hash,
        block_height: U64::new(answer.height),
        transaction_count: U32::new(answer.transactions),
        position: U32::new(answer.position),
        depth: answer.path.len() as u8,
        transaction_length: U16::new((Operation::LENGTH + tail.len()) as u16),
        leaf: answer.leaf,
        ..ProofReply::new_zeroed()
    };
    behind_request(fixed.as_bytes(), body);
    body.extend_from_slice(answer.path.as_flattened());
    body.extend_from_slice(answer.operation.as_bytes());
    body.extend_from_slice(tail);
}

impl Cache {
    /// Announces the tip of the own chain when a node starts.
    pub fn begin_own(&self, tip: &ChainTip) {
        self.reorganise(Chain::Own, Tip { hash: tip.hash, height: tip.height() });
    }

    /// Announces a block that extends the own chain, once readers of the chain see it.
    pub fn announce_own(&self, tip: &ChainTip, operations: &[Operation]) {
        let parent = tip.header.previous;
        self.announce(Chain::Own, &parent, Tip { hash: tip.hash, height: tip.height() }, touched(operations));
    }
}

/// The accounts that operations of the own chain touch, as in requests.
pub fn touched(operations: &[Operation]) -> impl Iterator<Item = [u8; 32]> + Clone {
    let accounts = operations
        .iter()
        .flat_map(|operation| [Some(operation.source), operation.other_account()].into_iter().flatten());
    accounts.map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::AccountId;

    #[test]
    fn all_whose_balance_or_history_changes_are_touched() {
        let id = 1_u32.into();
        let operations = [
            Operation::create(id, 1_u32.into()),
            Operation::create_for(id, 2_u32.into(), 3_u32.into(), 5),
            Operation::issue(id, 4_u32.into(), 5),
            Operation::transfer(id, 5_u32.into(), 6_u32.into(), 5),
        ];
        let expected: Vec<[u8; 32]> = (1..=6_u32).map(|account| AccountId::from(account).into()).collect();
        assert_eq!(touched(&operations).collect::<Vec<_>>(), expected);
    }
}
