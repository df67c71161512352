//! Transfers that are signed before the run, so that it measures the node and not the signing.

use std::num::NonZero;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use secp256k1::SecretKey;
use wire::{AccountId, Operation, Promise, SignedOperation, Status, TransactionId};

use super::Choice;
use crate::{Client, Error, Receipt, Signer, fresh_transaction_id, random};

/// Number of keyed accounts that sign transfers: more than the distinct keys in any batch of a verifier.
const KEYS: u64 = 256;

/// Signs `count` transfers of 1 from new keyed accounts to accounts that `choice` returns. The account `bank` receives
/// an issue and funds the keyed accounts. Send the operations in order, and before the end of the node's replay window.
pub fn sign_transfers(
    client: &mut Client,
    bank: AccountId,
    count: u64,
    promise: Promise,
    mut choice: Choice,
) -> Result<Vec<SignedOperation>, Error> {
    let network = client.info()?.network;
    let keys = KEYS.min(count);
    let mut signers = (0..keys).map(|_| new_signer(network)).collect::<Result<Vec<_>, Error>>()?;
    let each = count.div_ceil(keys.max(1));
    done(client.issue(bank, keys * each))?;
    for signer in &mut signers {
        let create = Operation::create(fresh_transaction_id()?, signer.account()).timed();
        done(client.execute_signed(&signer.sign(create, promise)?))?;
        done(client.transfer(bank, signer.account(), each))?;
    }

    let series = random()? >> 64 << 64;
    let transfers: Vec<_> = (0..count)
        .map(|number| {
            let signer = &signers[(number % keys) as usize];
            let destination = AccountId::from(u128::from(choice.account()));
            let id = TransactionId::from(series | u128::from(number));
            (signer, Operation::transfer(id, signer.account(), destination, 1))
        })
        .collect();
    // Ascending, and none of them ahead of the clock: a timestamp older than what a node has forgotten is stale.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| Error::Clock)?;
    let first = u64::try_from(now.as_micros()).map_err(|_| Error::Clock)?.saturating_sub(count);
    let sign = |(number, (signer, transfer)): (u64, &(&Signer, Operation))| {
        signer.sign_at(*transfer, first + number, number as u32, promise)
    };
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let share = transfers.len().div_ceil(processors).max(1);
    Ok(thread::scope(|scope| {
        let threads: Vec<_> = transfers
            .chunks(share)
            .enumerate()
            .map(|(part, transfers)| {
                let numbers = (part * share) as u64..;
                scope.spawn(move || numbers.zip(transfers).map(sign).collect::<Vec<_>>())
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    }))
}

fn new_signer(network: [u8; 32]) -> Result<Signer, Error> {
    let mut secret = [0; 32];
    loop {
        getrandom::fill(&mut secret).map_err(Error::Random)?;
        // All but one in 2^128 are keys.
        if let Ok(secret) = SecretKey::from_byte_array(secret) {
            return Ok(Signer::new(secret, network));
        }
    }
}

/// An operation that must succeed.
fn done(receipt: Result<Receipt, Error>) -> Result<(), Error> {
    let receipt = receipt?;
    if receipt.status == Status::Ok { Ok(()) } else { Err(Error::Refused(receipt.status)) }
}
