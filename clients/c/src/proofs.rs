//! Proofs of balances and transactions. The safety requirements, the same for all functions, are at the beginning of
//! the header.
#![allow(clippy::missing_safety_doc, reason = "the texts are those of the header, which has it at its beginning")]

use client::ProvedTransaction;
use spv::{HeaderChain, IndexEntry};
use wire::{AccountId, SignedOperation, TransactionId};
use zerocopy::FromBytes;

use crate::error::run;
use crate::failure::Failure;
use crate::memory::{Buffer, Output, id, reference, slice};
use crate::{Chain, Client, ClientStatus, Error, Id, Operation};

/// Room for any proof, in bytes. Those of the ledger's own chain take less than 1,472 as a rule.
pub const TURNPIKE_PROOF_LENGTH: usize = 65507;

const _: () = assert!(TURNPIKE_PROOF_LENGTH == wire::MAX_DATAGRAM);

/// A proved balance.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BalanceProof {
    /// The balance, in the ledger's units; 0 if the account does not exist.
    pub balance: u64,
    /// Height of the block as of which the balance is proved.
    pub height: u64,
    /// Height of the block with the account's latest transaction.
    pub latest_height: u32,
    /// Position of that transaction in its block, from 0.
    pub latest_position: u32,
    /// Whether the account exists; if not, that is proved.
    pub exists: bool,
    /// Whether the account is frozen, so it cannot pay.
    pub is_frozen: bool,
    /// Whether the account is of another asset than 0: do not take its balance for one of asset 0.
    pub has_asset: bool,
    /// Zero.
    pub reserved: u8,
    /// The asset that the entry states, if the proof is for an id of turnpike_asset_id; else 0. It is that of the
    /// account if its height is at least, and its latest transaction at most, the latest transaction of the account.
    pub asset: u32,
}

/// A transaction that is proved to be in a block, so it was executed.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionProof {
    /// The operation.
    pub operation: Operation,
    /// Hash of its block's header.
    pub block: [u8; 32],
    /// Height of its block.
    pub height: u64,
    /// Height of the node's last block when it answered. Nothing proves it.
    pub tip_height: u64,
    /// Position of the transaction in its block, from 0.
    pub position: u32,
    /// Whether it was signed.
    pub is_signed: bool,
    /// Zero.
    pub reserved: [u8; 3],
}

impl BalanceProof {
    fn new(entry: Option<&IndexEntry>, height: u64) -> Self {
        let absent = Self { height, ..Self::default() };
        entry.map_or(absent, |entry| Self {
            balance: entry.balance.get(),
            latest_height: entry.latest().height,
            latest_position: entry.latest().position,
            exists: true,
            is_frozen: entry.is_frozen(),
            has_asset: entry.has_asset(),
            asset: entry.asset().unwrap_or(0),
            ..absent
        })
    }

    fn verify(chain: &HeaderChain, account: &Id, proof: &[u8]) -> Result<Self, Failure> {
        let proof = spv::IndexProof::parse(proof)?;
        Ok(Self::new(proof.verify(&account.bytes, chain)?.as_ref(), proof.height))
    }
}

impl TransactionProof {
    fn parse(proof: &spv::TransactionProof<'_>) -> Result<Self, Failure> {
        let wrong = |_| Failure::of(ClientStatus::TurnpikeWrongReply);
        let (operation, _) = wire::Operation::read_from_prefix(proof.transaction).map_err(wrong)?;
        Ok(Self {
            operation: Operation::from_wire(&operation),
            block: proof.block_hash,
            height: proof.height,
            tip_height: proof.tip_height,
            position: proof.position,
            is_signed: proof.transaction.len() == SignedOperation::LENGTH,
            reserved: [0; 3],
        })
    }

    fn verify(chain: &HeaderChain, proof: &[u8]) -> Result<Self, Failure> {
        let proof = spv::TransactionProof::parse(proof)?;
        proof.verify(chain)?;
        Self::parse(&proof)
    }
}

/// Proves the balance of an account, or that the account does not exist, as of a recent block. Fetches missing
/// headers of the chain, and on a chain that replicas order waits up to 5 s for a certificate.
///
/// `proof` has room for `capacity` bytes, and gets the proof itself, which turnpike_verify_balance verifies again
/// without a node; `length` is set to its length. All three may be NULL or 0. TURNPIKE_BUFFER if the room is too
/// small.
///
/// TURNPIKE_INVALID_PROOF if the proof does not hold, TURNPIKE_UNKNOWN_BLOCK if it is for a block that nobody vouches
/// for, otherwise as turnpike_chain_sync.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_prove_balance(
    client: *const Client,
    chain: *const Chain,
    account: *const Id,
    balance: *mut BalanceProof,
    proof: *mut u8,
    capacity: usize,
    length: *mut usize,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(error, || {
            let (client, chain, account) = (reference(client)?, reference(chain)?, AccountId(id(account)?.bytes));
            let (output, buffer) = (Output::required(balance)?, Buffer::new(proof, capacity, length)?);
            let proved = client.pool.read(|client| client.prove_index(&mut chain.lock(), account))?;
            output.set(BalanceProof::new(proved.entry.as_ref(), proved.height));
            buffer.set_if_wanted(&proved.reply)
        })
    }
}

/// # Safety
///
/// The pointers are NULL or to what their functions say, which nobody else uses until the call that has them returns.
unsafe fn prove(
    client: *const Client,
    chain: *const Chain,
    transaction: *mut TransactionProof,
    proof: (*mut u8, usize, *mut usize),
    error: *mut Error,
    ask: impl FnOnce() -> Result<Asked, Failure>,
) -> ClientStatus {
    let (bytes, capacity, length) = proof;
    // SAFETY: the caller's promise.
    unsafe {
        run(error, || {
            let (client, chain) = (reference(client)?, reference(chain)?);
            let (output, buffer) = (Output::required(transaction)?, Buffer::new(bytes, capacity, length)?);
            let asked = ask()?;
            let proved = client.pool.read(|client| asked.prove(client, &mut chain.lock()))?;
            output.set(TransactionProof::parse(&spv::TransactionProof::parse(&proved.reply)?)?);
            buffer.set_if_wanted(&proved.reply)
        })
    }
}

/// The transaction that a call asks for.
enum Asked {
    ById(TransactionId, AccountId),
    Latest(AccountId),
    At(u64, u32),
}

impl Asked {
    fn prove(self, client: &mut client::Client, chain: &mut HeaderChain) -> Result<ProvedTransaction, client::Error> {
        match self {
            Self::ById(transaction, source) => client.prove_transaction(chain, transaction, source),
            Self::Latest(account) => client.prove_latest(chain, account),
            Self::At(height, position) => client.prove_locator(chain, height, position),
        }
    }
}

/// Proves a transaction by its id and its source, which for a creation with a deposit is the payer.
/// TURNPIKE_NOT_FOUND if it is not in a block (yet). Otherwise like turnpike_prove_balance;
/// turnpike_verify_transaction verifies the proof again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_prove_transaction(
    client: *const Client,
    chain: *const Chain,
    id: *const Id,
    source: *const Id,
    transaction: *mut TransactionProof,
    proof: *mut u8,
    capacity: usize,
    length: *mut usize,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    let ids = || unsafe { Ok::<_, Failure>((self::id(id)?.bytes, self::id(source)?.bytes)) };
    let ask = || ids().map(|(id, source)| Asked::ById(TransactionId(id), AccountId(source)));
    // SAFETY: the caller's promise.
    unsafe { prove(client, chain, transaction, (proof, capacity, length), error, ask) }
}

/// Proves that a transaction is an account's and in a block: the latest, according to the node. Only
/// turnpike_prove_balance proves that there is no later one. Otherwise like turnpike_prove_transaction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_prove_latest(
    client: *const Client,
    chain: *const Chain,
    account: *const Id,
    transaction: *mut TransactionProof,
    proof: *mut u8,
    capacity: usize,
    length: *mut usize,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    let ask = || unsafe { id(account) }.map(|account| Asked::Latest(AccountId(account.bytes)));
    // SAFETY: the caller's promise.
    unsafe { prove(client, chain, transaction, (proof, capacity, length), error, ask) }
}

/// Proves the transaction at a position of the block at a height; positions begin at 0. Otherwise like
/// turnpike_prove_transaction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_prove_at(
    client: *const Client,
    chain: *const Chain,
    height: u64,
    position: u32,
    transaction: *mut TransactionProof,
    proof: *mut u8,
    capacity: usize,
    length: *mut usize,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe { prove(client, chain, transaction, (proof, capacity, length), error, || Ok(Asked::At(height, position))) }
}

/// Verifies a proof of turnpike_prove_balance against the chain, without a node. TURNPIKE_UNKNOWN_BLOCK if the chain
/// lacks the block, TURNPIKE_INVALID_PROOF if the proof does not hold for this account.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_verify_balance(
    chain: *const Chain,
    account: *const Id,
    proof: *const u8,
    length: usize,
    balance: *mut BalanceProof,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(error, || {
            let (chain, account, proof) = (reference(chain)?, id(account)?, slice(proof, length)?);
            let output = Output::required(balance)?;
            output.set(BalanceProof::verify(&chain.lock(), &account, proof)?);
            Ok(())
        })
    }
}

/// Verifies a proof of a transaction against the chain, without a node: compare the operation with the one that you
/// expect. TURNPIKE_UNKNOWN_BLOCK if the chain lacks the block, TURNPIKE_INVALID_PROOF if the proof does not hold.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_verify_transaction(
    chain: *const Chain,
    proof: *const u8,
    length: usize,
    transaction: *mut TransactionProof,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(error, || {
            let (chain, proof) = (reference(chain)?, slice(proof, length)?);
            let output = Output::required(transaction)?;
            output.set(TransactionProof::verify(&chain.lock(), proof)?);
            Ok(())
        })
    }
}
