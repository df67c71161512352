use crate::RuleCode;
use crate::bls12_381::Rule as PairingRule;
use crate::equihash::{HeaderRule, Rule as EquihashRule};
use crate::secp256k1::Rule as SignatureRule;
use crate::vdf::{FormatError, Invalid, NumberError};

impl RuleCode {
    /// The result mask of an item that breaks this rule.
    pub const fn mask(self) -> u64 {
        1 << self as u8
    }

    /// The scheme's message for the broken rule.
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
            Self::MerkleRoot => "the Merkle root does not match the leaves".to_owned(),
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
            Self::DelayCanonical => "an output of the delay is not the smaller of itself and its negation".to_owned(),
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
        assert_eq!(masks & 1, 0, "zero means that no rule is broken");
    }

    /// The numbers are the protocol's: new ones may be added, none may change.
    #[test]
    fn numbers_never_change() {
        let numbers = RuleCode::ALL.map(|rule| rule as u8);
        let others = (16..=30).chain([32, 33]).chain(40..=53).chain(56..=61);
        assert_eq!(numbers[..8], [1, 2, 3, 4, 5, 8, 9, 10]);
        assert!(numbers[8..].iter().copied().eq(others));
    }
}
