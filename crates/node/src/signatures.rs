//! Checks signatures of stored operations, on all processors.

use std::{
    fmt, mem,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use verify::{
    BatchVerifier, Pool,
    secp256k1::ecdsa::{Policy, Signed, Verifier},
    transfer,
};
use wire::{Command, SignedOperation};

use crate::{Error, admission::account_of};

/// Operations that are gathered before they are checked: enough for all processors to have work for some milliseconds.
const GATHERED: usize = 1 << 14;

/// Number of operations per job: whole groups for the vector kernels, and few enough that all processors end at about
/// the same time.
const SHARE: usize = 256;

/// Location of a stored operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// In a block.
    Block {
        /// The block's height.
        height: u64,
        /// The operation's position in it.
        position: u32,
    },
    /// In the journal.
    Journal {
        /// The operation's sequence.
        sequence: u64,
    },
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block { height, position } => write!(formatter, "position {position} of block {height}"),
            Self::Journal { sequence } => write!(formatter, "operation {sequence} of the journal"),
        }
    }
}

/// An operation that its signature does not stand for, so that it was never admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsigned {
    /// The signature is not one of the operation on this network.
    #[error("{0}: the signature is not valid; restore the data directory from a copy")]
    Signature(Location),
    /// The key is not that of the account.
    #[error("{0}: the key does not belong to the account; restore the data directory from a copy")]
    Key(Location),
}

/// Checks the signatures of operations, added one after the other. The issuers are configuration that may have changed
/// since; so an ISSUE is valid with any key, and so is a CREATE without a payer.
pub struct Signatures {
    network: [u8; 32],
    pool: Pool,
    gathered: Vec<(Location, SignedOperation)>,
    checked: u64,
    failure: Option<Unsigned>,
}

impl Signatures {
    /// Starts a check of the operations of a network, on `threads` threads.
    pub fn start(network: [u8; 32], threads: usize) -> Result<Self, Error> {
        let pool = Pool::start(threads).map_err(|source| Error::System { what: "a thread", source })?;
        Ok(Self { network, pool, gathered: Vec::with_capacity(GATHERED), checked: 0, failure: None })
    }

    /// Adds a stored operation. The result is returned at the end.
    pub fn push(&mut self, location: Location, mut signed: SignedOperation) {
        // Requests are signed, and have no status yet.
        signed.operation.status.set(0);
        self.gathered.push((location, signed));
        if self.gathered.len() == GATHERED {
            self.check();
        }
    }

    /// Checks the last ones. Gives how many there were, or the first that does not hold.
    pub fn finish(mut self) -> Result<u64, Unsigned> {
        self.check();
        self.failure.map_or(Ok(self.checked), Err)
    }

    fn check(&mut self) {
        let mut gathered = mem::take(&mut self.gathered);
        let first = AtomicUsize::new(usize::MAX);
        if self.failure.is_none() {
            self.pool.each(gathered.chunks(SHARE).enumerate(), |(share, operations)| {
                if let Some(position) = first_unsigned(&self.network, operations) {
                    first.fetch_min(share * SHARE + position, Relaxed);
                }
            });
        }
        self.checked += gathered.len() as u64;
        self.failure = self.failure.or_else(|| {
            let (location, signed) = gathered.get(first.into_inner())?;
            Some(if is_of_account(signed) { Unsigned::Signature(*location) } else { Unsigned::Key(*location) })
        });
        gathered.clear();
        self.gathered = gathered;
    }
}

/// The first operation that does not hold.
fn first_unsigned(network: &[u8; 32], operations: &[(Location, SignedOperation)]) -> Option<usize> {
    let mut verifier = Verifier::default();
    let is_malformed = |(_, signed): &(Location, SignedOperation)| {
        let digest = transfer::digest(network, signed.signed_bytes());
        match Signed::parse(Policy::COMPACT, digest, &signed.signature, &signed.public_key) {
            Ok(item) if is_of_account(signed) => {
                verifier.push(item);
                false
            }
            _ => true,
        }
    };
    // Operations before the first malformed one are in the batch then, and are reported first.
    let malformed = operations.iter().position(is_malformed);
    verifier.verify_each().iter().position(Result::is_err).or(malformed)
}

/// Whether the key may speak for the account.
fn is_of_account(signed: &SignedOperation) -> bool {
    let operation = &signed.operation;
    let account = || account_of(&signed.public_key);
    match (operation.command(), operation.payer()) {
        (Ok(Command::Issue | Command::Freeze | Command::Unfreeze), _) => true,
        (Ok(Command::Create | Command::Open), payer) => {
            operation.source.is_keyed() && payer.is_none_or(|payer| payer == account())
        }
        (Ok(Command::Transfer | Command::Refer | Command::Hold | Command::Close), _)
        | (Ok(Command::Capture | Command::Release | Command::Reclaim), _) => operation.signer() == account(),
        (Err(_), _) => false,
    }
}

#[cfg(test)]
mod tests {
    use client::Signer;
    use secp256k1::SecretKey;
    use wire::{AccountId, Operation, Promise};

    use super::*;

    const NETWORK: [u8; 32] = [5; 32];

    fn check(operations: &[SignedOperation]) -> Result<u64, Unsigned> {
        let mut signatures = Signatures::start(NETWORK, 3).unwrap();
        for (position, signed) in (0..).zip(operations) {
            signatures.push(Location::Block { height: 7, position }, *signed);
        }
        signatures.finish()
    }

    #[test]
    fn the_first_that_does_not_hold_is_named() {
        let mut signer = Signer::new(SecretKey::from_byte_array([7; 32]).unwrap(), NETWORK);
        let account = signer.account();
        let mut sign = |operation| signer.sign(operation, Promise::Durable).unwrap();
        let one = sign(Operation::transfer(1_u32.into(), account, 2_u32.into(), 3));
        // More than are gathered, so that the first ones are checked before the last are there.
        let mut operations = vec![one; GATHERED + 3 * SHARE];
        operations[9] = sign(Operation::issue(2_u32.into(), 1_u32.into(), 5));
        operations[10].operation.status.set(4);
        // An issuer opens anyone's keyed account; otherwise the payer signs.
        let other = AccountId::keyed(&[4; 32]);
        operations[11] = sign(Operation::create(3_u32.into(), other));
        operations[12] = sign(Operation::create_for(4_u32.into(), other, account, 5));
        assert_eq!(check(&operations), Ok(operations.len() as u64));

        for wrong in [
            Operation::create(5_u32.into(), 8_u32.into()),
            Operation::create_for(6_u32.into(), account, other, 5),
            Operation::create_for(7_u32.into(), 8_u32.into(), account, 5),
        ] {
            let of_another = Unsigned::Key(Location::Block { height: 7, position: 1 });
            assert_eq!(check(&[one, sign(wrong)]), Err(of_another), "{wrong:?}");
        }

        let location = |position| Location::Block { height: 7, position };
        operations[GATHERED + 2 * SHARE + 5] = sign(Operation::transfer(1_u32.into(), 1_u32.into(), account, 3));
        assert_eq!(check(&operations), Err(Unsigned::Key(location((GATHERED + 2 * SHARE + 5) as u32))));
        operations[GATHERED + 1].operation.amount.set(4);
        assert_eq!(check(&operations), Err(Unsigned::Signature(location(GATHERED as u32 + 1))));
    }
}
