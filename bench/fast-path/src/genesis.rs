//! The network that is measured: keys of accounts and replicas, and balances to start with. Everything follows from
//! numbers, so that processes agree without exchanging it.

use std::sync::LazyLock;

use secp256k1::{Keypair, SECP256K1};
use spv::{Hash, hash::account_hash};
use verify::sha256::Tag;
use wire::{AccountId, FastOrder, Operation, TransactionId};
use zerocopy::IntoBytes;

/// The network id.
pub const NETWORK: Hash = [0xfa; 32];

/// The generation of the replica set. The prototype has one.
pub const GENERATION: u32 = 0;

/// The balance that every account starts with.
pub const BALANCE: u64 = 1 << 32;

/// The number of replicas, of which one may be Byzantine.
pub const REPLICAS: usize = 4;

/// Votes that certify an order: n - f.
pub const QUORUM: usize = 3;

const KEYS: Tag = Tag::new("turnpike/bench/fast-path/key");

fn keypair(purpose: u8, number: u32) -> Keypair {
    // A hash that is no valid key has never been seen, but costs only another number.
    let key = |retry: u8| {
        let secret = KEYS.hash_parts(&[&[purpose, retry], &number.to_be_bytes()]);
        Keypair::from_seckey_byte_array(SECP256K1, secret).ok()
    };
    (0..=u8::MAX).find_map(key).expect("half of 2^256 hashes are valid keys")
}

/// The key of a replica.
pub fn replica(number: u8) -> Keypair {
    keypair(0, u32::from(number))
}

/// The public keys of all replicas, by number.
pub fn replica_keys() -> &'static [[u8; 32]; REPLICAS] {
    static KEYS: LazyLock<[[u8; 32]; REPLICAS]> =
        LazyLock::new(|| std::array::from_fn(|number| replica(number as u8).x_only_public_key().0.serialize()));
    &KEYS
}

/// An account and its key.
#[derive(Clone, Debug)]
pub struct Owner {
    /// The account that the key is bound to.
    pub account: AccountId,
    /// The x coordinate of the public key.
    pub public_key: [u8; 32],
    keypair: Keypair,
}

impl Owner {
    /// The owner with this number.
    pub fn new(number: u32) -> Self {
        let keypair = keypair(1, number);
        let public_key = keypair.x_only_public_key().0.serialize();
        // BIP340 takes the point with the even y.
        let mut compressed = [2; 33];
        compressed[1..].copy_from_slice(&public_key);
        Self { account: AccountId::keyed(&account_hash(&compressed)), public_key, keypair }
    }

    /// A signed order of a transfer.
    pub fn order(&self, sequence: u64, destination: AccountId, amount: u64) -> FastOrder {
        let transaction = TransactionId::from(u128::from(sequence));
        let transfer = Operation::transfer(transaction, self.account, destination, amount);
        let mut order = FastOrder::unsigned(transfer, sequence, self.public_key);
        let mut hash = [[0; 32]];
        verify::transfer::fast_order_digests(&NETWORK, &[order.signed_bytes()], &mut hash);
        order.signature = SECP256K1.sign_schnorr_no_aux_rand(&hash[0], &self.keypair).to_byte_array();
        debug_assert_eq!(order.as_bytes().len(), FastOrder::LENGTH);
        order
    }
}
