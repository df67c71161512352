//! Requests proofs and verifies them.

use spv::{HeaderChain, IndexEntry, IndexProof, IndexProofError, ProofError, TransactionProof, asset_id, bitcoin};
use wire::{
    AccountId, Chain, Operation, ProofRequest, Query, Reply, TransactionId, key_of_locator, key_of_transaction,
};
use zerocopy::{FromBytes, IntoBytes};

use crate::{Client, Error};

/// Initial room for replies: all proofs of our own chain fit, and most of Bitcoin.
const FIRST_ROOM: usize = wire::ETHERNET_DATAGRAM;

/// A transaction of our own chain, proved to be in a block.
#[derive(Clone, Debug)]
pub struct ProvedTransaction {
    /// Height of its block.
    pub height: u64,
    /// Hash of its block.
    pub block: [u8; 32],
    /// Its position in the block.
    pub position: u32,
    /// The operation.
    pub operation: Operation,
    /// Height of the node's tip at the time of the reply.
    pub tip_height: u64,
    /// The whole reply, which anybody can verify again.
    pub reply: Vec<u8>,
}

/// A proved index entry of an account.
#[derive(Clone, Debug)]
pub struct ProvedEntry {
    /// Its entry, or `None` if the account is proved not to exist.
    pub entry: Option<IndexEntry>,
    /// Height of the block that the proof is for.
    pub height: u64,
    /// The whole reply, which anybody can verify again.
    pub reply: Vec<u8>,
}

/// A transaction, proved to be in a Bitcoin block.
#[derive(Clone, Debug)]
pub struct ProvedBitcoin {
    /// Its hash, in internal byte order.
    pub transaction: [u8; 32],
    /// Height of its block.
    pub height: u32,
    /// Hash of its block.
    pub block: [u8; 32],
    /// Its position in the block.
    pub position: u32,
    /// Number of transactions in the block, confirmed by the coinbase in the reply.
    pub transactions: u32,
    /// The whole reply, which anybody can verify again.
    pub reply: Vec<u8>,
}

/// Converts a reply with a Bitcoin proof to the form that a verifier takes.
pub fn bitcoin_proof<'a>(reply: &wire::TransactionProof<'a>) -> bitcoin::TransactionProof<'a> {
    bitcoin::TransactionProof {
        leaf: &reply.fixed.leaf,
        position: reply.fixed.position.get(),
        transactions: reply.fixed.transaction_count.get(),
        path: reply.path,
        coinbase: reply.coinbase,
        coinbase_path: reply.coinbase_path,
    }
}

impl Client {
    /// Requests the proof of an account's latest transaction. It proves that the transaction is in a block and is the
    /// account's; only [`Self::prove_index`] proves that there is no later one.
    pub fn prove_latest(&mut self, chain: &mut HeaderChain, account: AccountId) -> Result<ProvedTransaction, Error> {
        self.prove(chain, Query::Latest, account.into(), |proof| proof.involves(&account.0))
    }

    /// Requests the proof of a transaction by its id and its source.
    pub fn prove_transaction(
        &mut self,
        chain: &mut HeaderChain,
        transaction: TransactionId,
        source: AccountId,
    ) -> Result<ProvedTransaction, Error> {
        let asked = Some((transaction.0, source.0));
        self.prove(chain, Query::Transaction, key_of_transaction(transaction, source), |proof| {
            proof.transaction_id() == asked
        })
    }

    /// Requests the proof of the transaction at a position in the chain.
    pub fn prove_locator(
        &mut self,
        chain: &mut HeaderChain,
        height: u64,
        position: u32,
    ) -> Result<ProvedTransaction, Error> {
        self.prove(chain, Query::Locator, key_of_locator(height, position), |proof| {
            (proof.height, proof.position) == (height, position)
        })
    }

    /// Requests the proof of an account's balance and of the position of its latest transaction, or that the account
    /// does not exist.
    pub fn prove_index(&mut self, chain: &mut HeaderChain, account: AccountId) -> Result<ProvedEntry, Error> {
        let reply = self.proof(Chain::Own, Query::Index, account.into())?;
        let proof = IndexProof::parse(&reply)?;
        let verified =
            self.sync_until(chain, IndexProofError::UnknownBlock, |chain| proof.verify(&account.0, chain))?;
        Ok(ProvedEntry { entry: verified?, height: proof.height, reply: reply.clone() })
    }

    /// Requests the proof of the asset of an account or a hold whose entry [is proved](Self::prove_index). If the entry
    /// has no mark, it is 0 without another proof.
    pub fn prove_asset(&mut self, chain: &mut HeaderChain, entry: &IndexEntry) -> Result<u32, Error> {
        if !entry.is_account() && !entry.is_hold() {
            return Err(Error::NoAccount);
        }
        if !entry.has_asset() {
            return Ok(0);
        }
        let proved = self.prove_index(chain, AccountId(asset_id(&entry.account)))?;
        // An older proof, or an asset that was stated later, may be of an account that was closed and opened again.
        let is_as_new = proved.height >= entry.height.get().into();
        let stated = proved.entry.filter(|stated| is_as_new && stated.latest() <= entry.latest());
        stated.and_then(|stated| stated.asset()).ok_or(Error::AssetChanged)
    }

    fn prove(
        &mut self,
        chain: &mut HeaderChain,
        query: Query,
        key: [u8; 32],
        fits: impl FnOnce(&TransactionProof<'_>) -> bool,
    ) -> Result<ProvedTransaction, Error> {
        let reply = self.proof(Chain::Own, query, key)?;
        let proof = TransactionProof::parse(&reply)?;
        self.sync_until(chain, ProofError::UnknownBlock, |chain| proof.verify(chain).map(drop))??;
        if !fits(&proof) {
            return Err(Error::OtherProof);
        }
        let (operation, _) = Operation::read_from_prefix(proof.transaction).map_err(|_| Error::WrongReply)?;
        let (height, block, position, tip_height) = (proof.height, proof.block_hash, proof.position, proof.tip_height);
        Ok(ProvedTransaction { height, block, position, operation, tip_height, reply })
    }

    /// Requests the proof that a transaction is in a Bitcoin block, by its hash in internal byte order.
    pub fn prove_bitcoin(
        &mut self,
        chain: &mut bitcoin::HeaderChain,
        transaction: [u8; 32],
    ) -> Result<ProvedBitcoin, Error> {
        let proved = self.prove_in_bitcoin(chain, Query::Transaction, transaction)?;
        if proved.transaction == transaction { Ok(proved) } else { Err(Error::OtherProof) }
    }

    /// Requests the proof of the latest transaction with an output to a script, given by its SHA-256. The caller must
    /// check that the transaction has such an output: a proof has the transaction's hash only.
    pub fn prove_bitcoin_latest(
        &mut self,
        chain: &mut bitcoin::HeaderChain,
        script_hash: [u8; 32],
    ) -> Result<ProvedBitcoin, Error> {
        self.prove_in_bitcoin(chain, Query::Latest, script_hash)
    }

    fn prove_in_bitcoin(
        &mut self,
        chain: &mut bitcoin::HeaderChain,
        query: Query,
        key: [u8; 32],
    ) -> Result<ProvedBitcoin, Error> {
        let bytes = self.proof(Chain::Bitcoin, query, key)?;
        let Ok(Reply::Proof(reply)) = Reply::parse(&bytes) else { return Err(Error::WrongReply) };
        let block = reply.fixed.block_hash;
        let mut found = chain.is_active(&block).then(|| chain.find(&block)).flatten();
        if found.is_none() {
            self.sync_bitcoin_headers(chain)?;
            found = chain.is_active(&block).then(|| chain.find(&block)).flatten();
        }
        let (height, header) = found.ok_or(Error::UnknownBlock)?;
        let proof = bitcoin_proof(&reply);
        proof.verify(header)?;
        let (transaction, position, transactions) = (*proof.leaf, proof.position, proof.transactions);
        Ok(ProvedBitcoin { transaction, height, block, position, transactions, reply: bytes })
    }

    /// Returns the bytes of the reply to a proof request, which is repeated with more room if the first was too little.
    fn proof(&mut self, chain: Chain, query: Query, key: [u8; 32]) -> Result<Vec<u8>, Error> {
        self.with_room(FIRST_ROOM, |client, room| client.proof_within(chain, query, key, room))
    }

    fn proof_within(&mut self, chain: Chain, query: Query, key: [u8; 32], room: usize) -> Result<Vec<u8>, Error> {
        self.exchange(
            |id, _| {
                let mut frame = ProofRequest::new(id, chain, query, key).as_bytes().to_vec();
                frame.resize(room, 0);
                Ok(frame)
            },
            |reply, bytes| match reply {
                Reply::Proof(_) | Reply::Index(_) => Ok(bytes.to_vec()),
                _ => Err(Error::WrongReply),
            },
        )
    }
}
