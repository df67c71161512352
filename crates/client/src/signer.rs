//! Signing operations.

use std::time::{SystemTime, UNIX_EPOCH};

use secp256k1::{Message, PublicKey, SECP256K1, SecretKey};
use spv::hash::{TRANSFER_TAG, TaggedHash, account_hash, linked_hash};
use wire::{AccountId, Operation, Promise, SignedOperation, TransactionId};

use crate::Error;

/// Signs the operations of one key on one network.
pub struct Signer {
    secret: SecretKey,
    public: [u8; 33],
    account: AccountId,
    network: [u8; 32],
    tag: TaggedHash,
    nonce: u32,
}

impl std::fmt::Debug for Signer {
    /// The secret key is not shown.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer").field("account", &self.account).finish_non_exhaustive()
    }
}

impl Signer {
    /// A signer for a network, which the info frame names.
    pub fn new(secret: SecretKey, network: [u8; 32]) -> Self {
        let public = PublicKey::from_secret_key(SECP256K1, &secret).serialize();
        let account = AccountId::keyed(&account_hash(&public));
        Self { secret, public, account, network, tag: TaggedHash::new(TRANSFER_TAG), nonce: 0 }
    }

    /// The account that the key is bound to.
    pub fn account(&self) -> AccountId {
        self.account
    }

    /// The public key, compressed.
    pub fn public_key(&self) -> &[u8; 33] {
        &self.public
    }

    /// Signs an operation as of now.
    pub fn sign(&mut self, operation: Operation, promise: Promise) -> Result<SignedOperation, Error> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| Error::Clock)?;
        let timestamp = u64::try_from(now.as_micros()).map_err(|_| Error::Clock)?;
        self.nonce = self.nonce.wrapping_add(1);
        Ok(self.sign_at(operation, timestamp, self.nonce, promise))
    }

    /// Signs operations as of now as a [linked chain](wire::linked): they succeed or fail together. Their transaction
    /// ids are made from the chain, and replace those given. They go into one batch, in this order.
    pub fn sign_chain(&mut self, operations: &[Operation], promise: Promise) -> Result<Vec<SignedOperation>, Error> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| Error::Clock)?;
        let timestamp = u64::try_from(now.as_micros()).map_err(|_| Error::Clock)?;
        let unsigned = operations.iter().map(|operation| {
            self.nonce = self.nonce.wrapping_add(1);
            SignedOperation::unsigned(*operation, timestamp, self.nonce, promise, self.public)
        });
        let mut chain = Vec::from_iter(unsigned);
        bind(&mut chain);
        chain.iter_mut().for_each(|signed| self.sign_bound(signed));
        Ok(chain)
    }

    /// Signs an operation of a chain that is [bound](bind), if it has this signer's key.
    pub fn sign_bound(&self, signed: &mut SignedOperation) {
        if signed.public_key == self.public {
            *signed = self.signed(*signed);
        }
    }

    /// Signs an operation as of a time in microseconds since the Unix epoch.
    pub fn sign_at(&self, operation: Operation, timestamp: u64, nonce: u32, promise: Promise) -> SignedOperation {
        self.signed(SignedOperation::unsigned(operation, timestamp, nonce, promise, self.public))
    }

    fn signed(&self, mut signed: SignedOperation) -> SignedOperation {
        let digest = self.tag.hash(&[&self.network, signed.signed_bytes()]);
        signed.signature = SECP256K1.sign_ecdsa(Message::from_digest(digest), &self.secret).serialize_compact();
        signed
    }
}

/// Turns unsigned operations of any keys into a [linked chain](wire::linked): sets their flags, and the transaction ids
/// that commit to the chain. Each signature then stands for the whole chain. At most 64 operations, and no REFER.
pub fn bind(chain: &mut [SignedOperation]) {
    let last = chain.len().saturating_sub(1);
    for (position, signed) in chain.iter_mut().enumerate() {
        signed.operation.flags = Operation::BOUND | if position < last { Operation::LINKED } else { 0 };
    }
    let hash = linked_hash(chain.iter().map(SignedOperation::bytes_in_chain));
    for (position, signed) in chain.iter_mut().enumerate() {
        signed.operation.transaction = TransactionId::bound(&hash, position);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secp256k1::ecdsa::Signature;

    #[test]
    fn signatures_verify_and_bind_the_network() {
        let secret = SecretKey::from_byte_array([7; 32]).unwrap();
        let mut signer = Signer::new(secret, [1; 32]);
        assert!(signer.account().is_keyed());
        let operation = Operation::transfer(5_u32.into(), signer.account(), 1_u32.into(), 10);
        let signed = signer.sign(operation, Promise::Durable).unwrap();
        assert!(signed.check().is_ok());
        let public = PublicKey::from_slice(&signed.public_key).unwrap();
        let signature = Signature::from_compact(&signed.signature).unwrap();
        let digest = |network: [u8; 32]| {
            Message::from_digest(TaggedHash::new(TRANSFER_TAG).hash(&[&network, signed.signed_bytes()]))
        };
        assert!(SECP256K1.verify_ecdsa(digest([1; 32]), &signature, &public).is_ok());
        assert!(SECP256K1.verify_ecdsa(digest([2; 32]), &signature, &public).is_err());
        let mut low = signature;
        low.normalize_s();
        assert_eq!(low, signature);
        assert_ne!(signer.sign(operation, Promise::Durable).unwrap().nonce, signed.nonce);
    }
}
