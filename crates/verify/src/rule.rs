use crate::bls12_381::Rule as PairingRule;
use crate::equihash::{HeaderRule, Rule as EquihashRule};
use crate::secp256k1::Rule as SignatureRule;
use crate::vdf::{FormatError, Invalid, NumberError};

/// The rules of all schemes, each with a number that is its own for ever: the number of its bit in a result mask of the
/// wire, and the number that C and Python see. Zero stands for no broken rule, so every number is from 1 to 63.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleCode {
    /// The Equihash solution has the length that the parameters ask for.
    EquihashLength = 1,
    /// The two halves of a subtree agree in the bits of its level.
    EquihashCollision = 2,
    /// The half of a subtree with the lower first index comes first.
    EquihashOrder = 3,
    /// No index is in both halves of a subtree.
    EquihashDuplicate = 4,
    /// The XOR of all leaves is zero.
    EquihashRoot = 5,
    /// The header gives its solution's length in three bytes, and it is that of the chain.
    HeaderSolutionLength = 8,
    /// The header's target is a positive number of 256 bits.
    HeaderTarget = 9,
    /// The header's hash is not above its target.
    HeaderDifficulty = 10,
    /// r and s are in the range that the scheme has for them.
    SignatureRange = 16,
    /// s is at most half the order of the group.
    SignatureHighS = 17,
    /// The key is encoded as the scheme asks.
    KeyEncoding = 18,
    /// The key is a point of the curve.
    KeyNotOnCurve = 19,
    /// The signature is one of this message with this key.
    SignatureMismatch = 20,
    /// The signature has the length of its encoding.
    SignatureLength = 21,
    /// The DER signature is a sequence of two integers, and nothing else.
    SignatureDerStructure = 22,
    /// The integers of the DER signature are not negative.
    SignatureDerNegative = 23,
    /// The integers of the DER signature have no more leading zero bytes than they need.
    SignatureDerPadding = 24,
    /// The key is not in the hybrid form.
    KeyHybrid = 25,
    /// The key's coordinates are below the field's prime.
    KeyRange = 26,
    /// The first byte of the hybrid key tells whether its y is odd.
    KeyParity = 27,
    /// There is a point with the x that the signature has.
    NonceNotOnCurve = 28,
    /// The recovery id is from 0 to 3, and fits r.
    RecoveryId = 29,
    /// There is a key that the signature can be recovered to.
    NoKey = 30,
    /// The Merkle root is that of the leaves.
    MerkleRoot = 32,
    /// No two nodes side by side in a Merkle tree of Bitcoin are equal (CVE-2012-2459).
    MerkleRepeated = 33,
    /// An encoding of BLS12-381 has the length that it should have.
    PointLength = 40,
    /// The flag bits of a point go with its encoding.
    PointFlags = 41,
    /// A point with the infinity flag has no other bits set.
    PointInfinityBits = 42,
    /// The 16 bytes before each field element of EIP-2537 are zero.
    CoordinatePadding = 43,
    /// The coordinates of a point are below the field's prime.
    CoordinateRange = 44,
    /// The point is on the curve.
    PointNotOnCurve = 45,
    /// The point is in the subgroup of prime order.
    PointNotInSubgroup = 46,
    /// Scalars and public inputs are below the order of the group.
    ScalarRange = 47,
    /// The point is not at infinity, where it may not be.
    PointAtInfinity = 48,
    /// An aggregate has keys, and as many messages where each has its own.
    KeyCount = 49,
    /// The proof has as many public inputs as its verifying key asks for.
    InputCount = 50,
    /// The BLS signature is one of this message with this key.
    BlsMismatch = 51,
    /// The Groth16 proof holds for these public inputs with this verifying key.
    Groth16Mismatch = 52,
    /// The product of the pairings is one.
    PairingMismatch = 53,
    /// The proof of a delay has the form and the length that its modulus and its number of squarings ask for.
    DelayForm = 56,
    /// The modulus of a delay is odd and greater than 1.
    DelayModulus = 57,
    /// The numbers of a delay are below its modulus.
    DelayRange = 58,
    /// The input of a delay is not 0, 1 or -1.
    DelayInput = 59,
    /// Each output of a delay is the smaller one of itself and its negation.
    DelayCanonical = 60,
    /// Each output of a delay is proved.
    DelayMismatch = 61,
}

impl RuleCode {
    /// All rules.
    ///
    /// cbindgen:ignore
    pub const ALL: [Self; 45] = [
        Self::EquihashLength,
        Self::EquihashCollision,
        Self::EquihashOrder,
        Self::EquihashDuplicate,
        Self::EquihashRoot,
        Self::HeaderSolutionLength,
        Self::HeaderTarget,
        Self::HeaderDifficulty,
        Self::SignatureRange,
        Self::SignatureHighS,
        Self::KeyEncoding,
        Self::KeyNotOnCurve,
        Self::SignatureMismatch,
        Self::SignatureLength,
        Self::SignatureDerStructure,
        Self::SignatureDerNegative,
        Self::SignatureDerPadding,
        Self::KeyHybrid,
        Self::KeyRange,
        Self::KeyParity,
        Self::NonceNotOnCurve,
        Self::RecoveryId,
        Self::NoKey,
        Self::MerkleRoot,
        Self::MerkleRepeated,
        Self::PointLength,
        Self::PointFlags,
        Self::PointInfinityBits,
        Self::CoordinatePadding,
        Self::CoordinateRange,
        Self::PointNotOnCurve,
        Self::PointNotInSubgroup,
        Self::ScalarRange,
        Self::PointAtInfinity,
        Self::KeyCount,
        Self::InputCount,
        Self::BlsMismatch,
        Self::Groth16Mismatch,
        Self::PairingMismatch,
        Self::DelayForm,
        Self::DelayModulus,
        Self::DelayRange,
        Self::DelayInput,
        Self::DelayCanonical,
        Self::DelayMismatch,
    ];

    /// The result mask of an item that breaks this rule.
    pub const fn mask(self) -> u64 {
        1 << self as u8
    }

    /// What the scheme says when the rule is broken.
    pub fn message(self) -> String {
        match self {
            Self::EquihashLength => EquihashRule::Length.to_string(),
            Self::EquihashCollision => EquihashRule::Collision.to_string(),
            Self::EquihashOrder => EquihashRule::Order.to_string(),
            Self::EquihashDuplicate => EquihashRule::Duplicate.to_string(),
            Self::EquihashRoot => EquihashRule::Root.to_string(),
            Self::HeaderSolutionLength => HeaderRule::SolutionLength.to_string(),
            Self::HeaderTarget => HeaderRule::Target.to_string(),
            Self::HeaderDifficulty => HeaderRule::Difficulty.to_string(),
            Self::SignatureRange => SignatureRule::Range.to_string(),
            Self::SignatureHighS => SignatureRule::HighS.to_string(),
            Self::KeyEncoding => SignatureRule::KeyEncoding.to_string(),
            Self::KeyNotOnCurve => SignatureRule::KeyNotOnCurve.to_string(),
            Self::SignatureMismatch => SignatureRule::Mismatch.to_string(),
            Self::SignatureLength => SignatureRule::SignatureLength.to_string(),
            Self::SignatureDerStructure => SignatureRule::DerStructure.to_string(),
            Self::SignatureDerNegative => SignatureRule::DerNegative.to_string(),
            Self::SignatureDerPadding => SignatureRule::DerPadding.to_string(),
            Self::KeyHybrid => SignatureRule::KeyHybrid.to_string(),
            Self::KeyRange => SignatureRule::KeyRange.to_string(),
            Self::KeyParity => SignatureRule::KeyParity.to_string(),
            Self::NonceNotOnCurve => SignatureRule::NonceNotOnCurve.to_string(),
            Self::RecoveryId => SignatureRule::RecoveryId.to_string(),
            Self::NoKey => SignatureRule::NoKey.to_string(),
            Self::MerkleRoot => "the Merkle root is not that of the leaves".to_owned(),
            Self::MerkleRepeated => "two nodes side by side in the Merkle tree are equal (CVE-2012-2459)".to_owned(),
            Self::PointLength => PairingRule::Length.to_string(),
            Self::PointFlags => PairingRule::Flags.to_string(),
            Self::PointInfinityBits => PairingRule::Infinity.to_string(),
            Self::CoordinatePadding => PairingRule::Padding.to_string(),
            Self::CoordinateRange => PairingRule::Range.to_string(),
            Self::PointNotOnCurve => PairingRule::NotOnCurve.to_string(),
            Self::PointNotInSubgroup => PairingRule::NotInSubgroup.to_string(),
            Self::ScalarRange => PairingRule::ScalarRange.to_string(),
            Self::PointAtInfinity => PairingRule::AtInfinity.to_string(),
            Self::KeyCount => PairingRule::KeyCount.to_string(),
            Self::InputCount => PairingRule::InputCount.to_string(),
            Self::BlsMismatch => PairingRule::SignatureMismatch.to_string(),
            Self::Groth16Mismatch => PairingRule::ProofMismatch.to_string(),
            Self::PairingMismatch => PairingRule::PairingMismatch.to_string(),
            Self::DelayForm => FormatError::Segments.to_string(),
            Self::DelayModulus => NumberError::NotAModulus.to_string(),
            Self::DelayRange => NumberError::OutOfRange.to_string(),
            Self::DelayInput => Invalid::Trivial.to_string(),
            Self::DelayCanonical => {
                "an output of the delay is not the smaller one of itself and its negation".to_owned()
            }
            Self::DelayMismatch => "the proof of the delay is wrong".to_owned(),
        }
    }
}

impl EquihashRule {
    /// The rule's number among those of all schemes.
    pub const fn code(self) -> RuleCode {
        match self {
            Self::Length => RuleCode::EquihashLength,
            Self::Collision => RuleCode::EquihashCollision,
            Self::Order => RuleCode::EquihashOrder,
            Self::Duplicate => RuleCode::EquihashDuplicate,
            Self::Root => RuleCode::EquihashRoot,
        }
    }
}

impl HeaderRule {
    /// The rule's number among those of all schemes.
    pub const fn code(self) -> RuleCode {
        match self {
            Self::SolutionLength => RuleCode::HeaderSolutionLength,
            Self::Target => RuleCode::HeaderTarget,
            Self::Difficulty => RuleCode::HeaderDifficulty,
            Self::Solution(rule) => rule.code(),
        }
    }
}

impl SignatureRule {
    /// The rule's number among those of all schemes.
    pub const fn code(self) -> RuleCode {
        match self {
            Self::Range => RuleCode::SignatureRange,
            Self::HighS => RuleCode::SignatureHighS,
            Self::KeyEncoding => RuleCode::KeyEncoding,
            Self::KeyNotOnCurve => RuleCode::KeyNotOnCurve,
            Self::Mismatch => RuleCode::SignatureMismatch,
            Self::SignatureLength => RuleCode::SignatureLength,
            Self::DerStructure => RuleCode::SignatureDerStructure,
            Self::DerNegative => RuleCode::SignatureDerNegative,
            Self::DerPadding => RuleCode::SignatureDerPadding,
            Self::KeyHybrid => RuleCode::KeyHybrid,
            Self::KeyRange => RuleCode::KeyRange,
            Self::KeyParity => RuleCode::KeyParity,
            Self::NonceNotOnCurve => RuleCode::NonceNotOnCurve,
            Self::RecoveryId => RuleCode::RecoveryId,
            Self::NoKey => RuleCode::NoKey,
        }
    }
}

impl PairingRule {
    /// The rule's number among those of all schemes.
    pub const fn code(self) -> RuleCode {
        match self {
            Self::Length => RuleCode::PointLength,
            Self::Flags => RuleCode::PointFlags,
            Self::Infinity => RuleCode::PointInfinityBits,
            Self::Padding => RuleCode::CoordinatePadding,
            Self::Range => RuleCode::CoordinateRange,
            Self::NotOnCurve => RuleCode::PointNotOnCurve,
            Self::NotInSubgroup => RuleCode::PointNotInSubgroup,
            Self::ScalarRange => RuleCode::ScalarRange,
            Self::AtInfinity => RuleCode::PointAtInfinity,
            Self::KeyCount => RuleCode::KeyCount,
            Self::InputCount => RuleCode::InputCount,
            Self::SignatureMismatch => RuleCode::BlsMismatch,
            Self::ProofMismatch => RuleCode::Groth16Mismatch,
            Self::PairingMismatch => RuleCode::PairingMismatch,
        }
    }
}

impl From<SignatureRule> for RuleCode {
    fn from(rule: SignatureRule) -> Self {
        rule.code()
    }
}

impl From<PairingRule> for RuleCode {
    fn from(rule: PairingRule) -> Self {
        rule.code()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_bit_and_a_message_of_its_own() {
        let mut masks = 0;
        let mut messages = Vec::new();
        for rule in RuleCode::ALL {
            assert_eq!(masks & rule.mask(), 0, "{rule:?}");
            masks |= rule.mask();
            assert!(!messages.contains(&rule.message()), "{rule:?}");
            messages.push(rule.message());
        }
        assert_eq!(masks & 1, 0, "zero stands for no broken rule");
    }

    /// The numbers are those of the protocol: they may be added to, but none may change.
    #[test]
    fn numbers_never_change() {
        let numbers = RuleCode::ALL.map(|rule| rule as u8);
        let others = (16..=30).chain([32, 33]).chain(40..=53).chain(56..=61);
        assert_eq!(numbers[..8], [1, 2, 3, 4, 5, 8, 9, 10]);
        assert!(numbers[8..].iter().copied().eq(others));
    }
}
