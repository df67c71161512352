//! Verifies the seals of many headers in batches. With wide vectors a batch takes a tenth of the time of individual
//! signatures.

use spv::{ChainKey, CheckSeals, Hash, Seal, hash::seal_message};
use verify::BatchVerifier;
use verify::secp256k1::schnorr::{Signed, Verifier};

/// Number of headers per batch: a larger batch takes no less time per signature.
pub const AT_ONCE: usize = 1024;

/// Verifies seals in batches.
#[derive(Clone, Copy, Debug)]
pub struct SealBatches;

impl CheckSeals for SealBatches {
    fn first_forged(&mut self, key: &ChainKey, seals: &[(Hash, Seal)]) -> Option<usize> {
        let key = key.to_bytes();
        let messages: Vec<Hash> = seals.iter().map(|(hash, _)| seal_message(hash)).collect();
        let mut batch = Verifier::default();
        // The batch then ends before the first malformed seal, and its errors come first.
        let malformed = seals.iter().zip(&messages).position(|((_, seal), message)| {
            Signed::parse(message, &seal.0, &key).map(|item| batch.push(item)).is_err()
        });
        batch.verify_all().err().map(|(position, _)| position).or(malformed)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;
    use spv::{BlockHeader, OneByOne, SealingKey};

    use super::*;

    /// A modification of a seal.
    #[derive(Clone, Copy, Debug)]
    enum Change {
        Bit(usize),
        OfAnother,
        OutOfRange,
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![(0..512_usize).prop_map(Change::Bit), Just(Change::OfAnother), Just(Change::OutOfRange)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_first_forged_is_that_of_one_by_one(
            count in 0..40_usize,
            changes in prop::collection::vec((any::<prop::sample::Index>(), change()), 0..3),
        ) {
            let key = SealingKey::from_bytes(&[7; 32]).unwrap();
            let mut header = BlockHeader::genesis("test", &[1; 16], 0, &key.public());
            let mut seals = Vec::from_iter((0..count as u64).map(|height| {
                header.height = height.into();
                (header.hash(), key.seal(&header).seal)
            }));
            if count > 0 {
                for (at, change) in changes {
                    let at = at.index(count);
                    match change {
                        Change::Bit(bit) => seals[at].1.0[bit / 8] ^= 1 << (bit % 8),
                        Change::OfAnother => seals[at].1 = seals[(at + 1) % count].1,
                        Change::OutOfRange => seals[at].1.0[32..].fill(255),
                    }
                }
            }
            let expected = OneByOne.first_forged(&key.public(), &seals);
            prop_assert_eq!(SealBatches.first_forged(&key.public(), &seals), expected);
        }
    }
}
