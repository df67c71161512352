//! Headers of Zcash: the Equihash solution and the difficulty target.

use thiserror::Error;

use super::{Backend, Parameters, Rule, Solution, verify_on};
use crate::sha256::sha256d;

/// The length of a header with a (200,9) solution.
pub const ZCASH_HEADER_LENGTH: usize = INPUT + 3 + Parameters::ZCASH.solution_length();

/// Bytes up to and including the nonce.
const INPUT: usize = 140;

/// Where the target is, in compact form.
const BITS: usize = 104;

/// A header of Zcash or one of its relatives: 140 bytes, and a solution with its length before it.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a> {
    bytes: &'a [u8],
    solution: &'a [u8],
}

/// A rule that a header may break, in the order of checking. Each variant states the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HeaderRule {
    /// The solution is as long as the chain's parameters ask; 1,344 bytes in Zcash.
    #[error("the solution's length is not the one that the chain's parameters ask for")]
    SolutionLength,
    /// The target is a positive number of 256 bits.
    #[error("the difficulty target is zero, negative or too large")]
    Target,
    /// The header's hash is not above the target.
    #[error("the header's hash is above the difficulty target")]
    Difficulty,
    /// The solution is one.
    #[error(transparent)]
    Solution(#[from] Rule),
}

impl<'a> Header<'a> {
    /// The header at the start of a block, whatever the length of its solution.
    ///
    /// `None` if there are too few bytes, or the length is not in its shortest form.
    pub fn first_of(block: &'a [u8]) -> Option<Self> {
        let (prefix, length) = match *block.get(INPUT..)? {
            [0xfd, low, high, ..] => (3, u16::from_le_bytes([low, high])),
            [length @ ..0xfd, ..] => (1, length.into()),
            // No parameters have solutions of 65,536 bytes or more.
            _ => return None,
        };
        if prefix == 3 && length < 0xfd {
            return None;
        }
        let bytes = block.get(..INPUT + prefix + usize::from(length))?;
        Some(Self { bytes, solution: &bytes[INPUT + prefix..] })
    }

    /// The header as it is encoded.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The Equihash problem and its solution.
    pub fn solution(&self) -> Solution<'a> {
        Solution { input: &self.bytes[..INPUT], indices: self.solution }
    }

    /// The hash, in the byte order of the hash function.
    pub fn hash(&self) -> [u8; 32] {
        sha256d(self.bytes)
    }

    /// Checks, with the parameters of Zcash, that the header shows the work that its own target requires.
    ///
    /// The caller checks whether that target is the one that the chain requires.
    pub fn verify(&self) -> Result<(), HeaderRule> {
        self.check(Backend::fastest(), &Parameters::ZCASH)
    }

    /// [`Header::verify`], with the solution checked on the given backend, which must be available.
    pub fn verify_on(&self, backend: Backend) -> Result<(), HeaderRule> {
        self.check(backend, &Parameters::ZCASH)
    }

    /// [`Header::verify`] with the parameters of another chain.
    pub fn verify_with(&self, parameters: &Parameters) -> Result<(), HeaderRule> {
        self.check(Backend::fastest(), parameters)
    }

    fn check(&self, backend: Backend, parameters: &Parameters) -> Result<(), HeaderRule> {
        if self.solution.len() != parameters.solution_length() {
            return Err(HeaderRule::SolutionLength);
        }
        let mut bits = [0; 4];
        bits.copy_from_slice(&self.bytes[BITS..BITS + 4]);
        let target = target(u32::from_le_bytes(bits)).ok_or(HeaderRule::Target)?;
        // The hash before the solution, as it is cheaper.
        let mut hash = self.hash();
        hash.reverse();
        if hash > target {
            return Err(HeaderRule::Difficulty);
        }
        Ok(verify_on(backend, parameters, &self.solution())?)
    }
}

/// A target in compact form, big-endian: a length in bytes, and the first three of them with a sign.
fn target(bits: u32) -> Option<[u8; 32]> {
    let length = (bits >> 24) as usize;
    let digits = bits & 0x7f_ffff;
    let negative = bits & 0x80_0000 != 0;
    let mut target = [0; 32];
    for (place, digit) in digits.to_be_bytes()[1..].iter().enumerate() {
        // The digit's place from the right.
        match (length.checked_sub(place + 1), digit) {
            (_, 0) | (None, _) => {}
            (Some(place), digit) => *target.get_mut(31_usize.checked_sub(place)?)? = *digit,
        }
    }
    (!negative && target != [0; 32]).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let at = |place: usize, bytes: &[u8]| {
            let mut target = [0; 32];
            target[place..place + bytes.len()].copy_from_slice(bytes);
            Some(target)
        };
        assert_eq!(target(0x1d00ffff), at(4, &[0xff, 0xff]));
        assert_eq!(target(0x1f07ffff), at(1, &[0x07, 0xff, 0xff]));
        assert_eq!(target(0x2007ffff), at(0, &[0x07, 0xff, 0xff]));
        assert_eq!(target(0x207fffff), at(0, &[0x7f, 0xff, 0xff]));
        assert_eq!(target(0x2100ffff), at(0, &[0xff, 0xff]));
        assert_eq!(target(0x220000ff), at(0, &[0xff]));
        assert_eq!(target(0x2101ffff), None, "too large");
        assert_eq!(target(0x230000ff), None, "too large");
        assert_eq!(target(0xff0000ff), None, "too large");
        assert_eq!(target(0x01123456), at(31, &[0x12]));
        assert_eq!(target(0x02123456), at(30, &[0x12, 0x34]));
        assert_eq!(target(0x00123456), None, "zero");
        assert_eq!(target(0x1d000000), None, "zero");
        assert_eq!(target(0x1d800001), None, "negative");
    }
}
