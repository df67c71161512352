//! Batches of orders: hashes, the root, and signatures.

use spv::{Hash, hash::NODE_TAG};
use verify::{BatchVerifier, secp256k1::schnorr, sha256::Tag, transfer::fast_order_digests};
use wire::{FastBatch, FastOrder};

use crate::genesis::NETWORK;

const NODE: Tag = Tag::new(NODE_TAG);

/// A batch of orders.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The orders.
    pub orders: Vec<FastOrder>,
    /// Their hashes.
    pub hashes: Vec<Hash>,
    /// The Merkle root of the hashes.
    pub root: Hash,
}

impl Batch {
    /// Parses a batch of a generation; `None` if it is malformed or of another generation.
    pub fn parse(bytes: &[u8], generation: u32) -> Option<Self> {
        let (header, orders) = FastBatch::parse(bytes)?;
        (header.generation.get() == generation).then(|| Self::new(orders.to_vec()))
    }

    /// Hashes orders. There must be at least one.
    pub fn new(orders: Vec<FastOrder>) -> Self {
        let signed: Vec<_> = orders.iter().map(FastOrder::signed_bytes).collect();
        let mut hashes = vec![[0; 32]; orders.len()];
        fast_order_digests(&NETWORK, &signed, &mut hashes);
        let root = root(&hashes);
        Self { orders, hashes, root }
    }
}

fn root(hashes: &[Hash]) -> Hash {
    let mut level = hashes.to_vec();
    while level.len() > 1 {
        let mut parents = vec![[0; 32]; level.len().div_ceil(2)];
        NODE.nodes(&level, &mut parents);
        level = parents;
    }
    level[0]
}

/// A signature to verify, or `None` if it cannot be parsed.
pub type Item<'a> = Option<schnorr::Signed<'a>>;

impl Batch {
    /// The signatures of the orders.
    pub fn items(&self) -> impl Iterator<Item = Item<'_>> {
        let parse =
            |(order, hash): (&'_ FastOrder, _)| schnorr::Signed::parse(hash, &order.signature, &order.public_key).ok();
        self.orders.iter().zip(self.hashes.iter().map(Hash::as_slice)).map(parse)
    }
}

/// Returns for each signature whether it is valid. Eight signatures in the lanes of a vector take hardly longer than
/// one, so verify together whatever has arrived.
pub fn verify(items: &[Item<'_>]) -> Vec<bool> {
    if items.len() <= 1 {
        return items.iter().map(|item| item.is_some_and(|item| schnorr::verify(&item).is_ok())).collect();
    }
    let mut verifier = schnorr::Verifier::default();
    items.iter().flatten().for_each(|item| verifier.push(*item));
    let mut verdicts = verifier.verify_each().iter();
    items.iter().map(|item| item.is_some() && verdicts.next().is_some_and(Result::is_ok)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::genesis::{GENERATION, Owner};
    use spv::hash::transaction_node;
    use zerocopy::IntoBytes;

    #[test]
    fn each_order_has_a_verdict_of_its_own() {
        let owners: Vec<_> = (0..4).map(Owner::new).collect();
        let order = |number: usize| owners[number].order(0, owners[0].account, 1);
        let mut forged = order(1);
        forged.operation.amount = 2.into();
        let mut of_another_key = order(2);
        of_another_key.public_key = owners[3].public_key;
        let mut no_key = order(3);
        no_key.public_key = [0xff; 32];
        let verdicts = |orders: &[FastOrder]| verify(&Vec::from_iter(Batch::new(orders.to_vec()).items()));
        let orders = [order(0), forged, order(2), of_another_key, no_key, order(3)];
        assert_eq!(verdicts(&orders), [true, false, true, false, false, true]);
        assert_eq!(verdicts(&orders[..1]), [true]);
        assert_eq!(verdicts(&orders[1..2]), [false]);
        assert_eq!(verdicts(&orders[4..5]), [false]);
    }

    #[test]
    fn the_root_is_that_of_the_transaction_tree() {
        let owner = Owner::new(0);
        let orders: Vec<_> = (0..3).map(|sequence| owner.order(sequence, owner.account, 1)).collect();
        let header = FastBatch::new(GENERATION, orders.len()).unwrap();
        let batch = Batch::parse(&[header.as_bytes(), orders.as_bytes()].concat(), GENERATION).unwrap();
        let [a, b, c] = batch.hashes[..] else { panic!("three orders have three hashes") };
        let expected = transaction_node(&transaction_node(&a, &b), &transaction_node(&c, &[0; 32]));
        assert_eq!(batch.root, expected);
        assert!(Batch::parse(&[header.as_bytes(), orders.as_bytes()].concat(), GENERATION + 1).is_none());
    }
}
