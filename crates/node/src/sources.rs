//! The chains as the proof service wants them: bodies of replies.

use chain::{
    bitcoin::{self, BitcoinChain},
    own::{OwnReader, TransactionAnswer},
};
use proof::{Refusal, Source};
use spv::Locator;
use wire::{IndexReply, Operation, ProofReply, ProofRequest, Query, SignedOperation};
use zerocopy::{FromZeros, IntoBytes};

/// Proofs of the own chain.
pub struct OwnSource(pub OwnReader);

/// Proofs of Bitcoin.
pub struct BitcoinSource(pub BitcoinChain);

/// The request that a key belongs to, for what its fields mean.
fn request(key: &[u8; 32]) -> ProofRequest {
    ProofRequest { key: *key, ..ProofRequest::new_zeroed() }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Refusal {
    Refusal::Failed(Box::new(error))
}

impl Source for OwnSource {
    fn prove(&self, query: Query, key: &[u8; 32], body: &mut Vec<u8>) -> Result<(), Refusal> {
        let request = request(key);
        let malformed = |_| Refusal::Malformed;
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
            Query::Index => return self.prove_index(&request, body),
        };
        write_transaction(&answer.map_err(failed)?.ok_or(Refusal::NotFound)?, body);
        Ok(())
    }
}

impl OwnSource {
    fn prove_index(&self, request: &ProofRequest, body: &mut Vec<u8>) -> Result<(), Refusal> {
        let account = request.account().map_err(|_| Refusal::Malformed)?;
        let answer = self.0.index_entry(&account).map_err(failed)?;
        let (path, entries) = (&answer.proof.path, &answer.proof.entries);
        let reply = IndexReply {
            block_hash: answer.block_hash,
            block_height: answer.height.into(),
            depth: path.len() as u8,
            // More than 16 only where that many paths agree in all 64 bits.
            entry_count: u8::try_from(entries.len()).map_err(|_| Refusal::NotProvable)?,
            ..IndexReply::new_zeroed()
        };
        body.extend_from_slice(&reply.as_bytes()[ProofRequest::LENGTH..]);
        body.extend_from_slice(path.as_bytes());
        body.extend_from_slice(entries.as_bytes());
        Ok(())
    }
}

fn write_transaction(answer: &TransactionAnswer, body: &mut Vec<u8>) {
    let length = if answer.tail.is_some() { SignedOperation::LENGTH } else { Operation::LENGTH };
    let reply = ProofReply {
        tip_hash: answer.tip_hash,
        tip_height: answer.tip_height.into(),
        block_hash: answer.block_hash,
        block_height: answer.height.into(),
        transaction_count: answer.transactions.into(),
        position: answer.position.into(),
        depth: answer.path.len() as u8,
        transaction_length: (length as u16).into(),
        leaf: answer.leaf,
        ..ProofReply::new_zeroed()
    };
    body.extend_from_slice(&reply.as_bytes()[ProofRequest::LENGTH..]);
    body.extend_from_slice(answer.path.as_bytes());
    body.extend_from_slice(answer.operation.as_bytes());
    body.extend_from_slice(answer.tail.as_ref().map_or(&[], |tail| &tail[..]));
}

impl Source for BitcoinSource {
    fn prove(&self, query: Query, key: &[u8; 32], body: &mut Vec<u8>) -> Result<(), Refusal> {
        let view = self.0.view();
        let locator = match query {
            Query::Latest => view.latest(key).map_err(failed)?,
            Query::Transaction => view.transaction(key).map_err(failed)?,
            Query::Locator => {
                let (height, position) = request(key).locator().map_err(|_| Refusal::Malformed)?;
                u32::try_from(height).ok().map(|height| Locator { height, position })
            }
            Query::Index => return Err(Refusal::NoSuchQuery),
        };
        let (tip, locator) = view.tip().zip(locator).ok_or(Refusal::NotFound)?;
        let proof = match view.proof(locator) {
            Err(bitcoin::Error::NotProvable { .. }) => return Err(Refusal::NotProvable),
            result => result.map_err(failed)?.ok_or(Refusal::NotFound)?,
        };
        let reply = ProofReply {
            tip_hash: tip.hash,
            tip_height: u64::from(tip.height).into(),
            block_hash: proof.block.hash,
            block_height: u64::from(locator.height).into(),
            transaction_count: proof.block.transactions.into(),
            position: locator.position.into(),
            depth: proof.path.len() as u8,
            // A coinbase whose length does not fit could not be in a datagram either.
            coinbase_length: u16::try_from(proof.coinbase.len()).map_err(|_| Refusal::NotProvable)?.into(),
            leaf: proof.leaf,
            ..ProofReply::new_zeroed()
        };
        body.extend_from_slice(&reply.as_bytes()[ProofRequest::LENGTH..]);
        body.extend_from_slice(proof.path.as_bytes());
        body.extend_from_slice(proof.coinbase_path.as_bytes());
        body.extend_from_slice(&proof.coinbase);
        Ok(())
    }
}
