// The fuzzers have the model too; cargo does not know their flag.
#![allow(unexpected_cfgs)]

use ::blst::{blst_fp12, blst_p1_affine, blst_p2_affine};

#[cfg(target_arch = "x86_64")]
use crate::lanes::Ifma;
#[cfg(any(test, fuzzing))]
use crate::lanes::Model;
use crate::lanes::{Vector, has_ifma};

use super::pippenger::{self, OneByOne};
use super::{Group, lanes, portable};

/// A way of computing pairings and sums of multiples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backend {
    /// Eight Miller loops at once, in lanes of AVX-512 IFMA.
    Avx512Ifma,
    /// On any processor: blst.
    Portable,
    /// What runs on lanes, on a model of them where there are none.
    #[cfg(any(test, fuzzing))]
    Model,
}

/// From how many pairs on a vector of them is faster than blst, one after the other: by count of instructions, a vector takes as long
/// as two.
const FILLED: usize = 4;

impl Backend {
    /// All backends, the fastest first.
    #[cfg(test)]
    pub(super) const ALL: [Self; 3] = [Self::Avx512Ifma, Self::Portable, Self::Model];

    /// Whether this processor has the instructions that it needs.
    pub(super) fn is_available(self) -> bool {
        match self {
            Self::Avx512Ifma => has_ifma(),
            Self::Portable => true,
            #[cfg(any(test, fuzzing))]
            Self::Model => !has_ifma(),
        }
    }

    /// The fastest on this processor.
    pub(super) fn fastest() -> Self {
        if Self::Avx512Ifma.is_available() { Self::Avx512Ifma } else { Self::Portable }
    }

    /// The product of the Miller loops of pairs, none of which has a point at infinity; up to a factor that the final exponentiation
    /// makes one.
    ///
    /// # Panics
    ///
    /// If the backend is not available.
    pub(super) fn miller_loop(self, pairs: &[(&blst_p1_affine, &blst_p2_affine)]) -> blst_fp12 {
        assert!(self.is_available(), "the processor lacks the instructions of {self:?}");
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has the instructions.
            Self::Avx512Ifma if pairs.len() >= FILLED => unsafe {
                Ifma::start(
                    #[inline(always)]
                    |any| lanes::miller_loop(any, pairs),
                )
            },
            #[cfg(any(test, fuzzing))]
            // SAFETY: the model needs no special instructions.
            Self::Model => unsafe { Model::start(|any| lanes::miller_loop(any, pairs)) },
            _ => portable::miller_loop(pairs),
        }
    }

    /// The pairing of each pair, none of which has a point at infinity.
    ///
    /// # Panics
    ///
    /// If the backend is not available.
    pub(super) fn pairings(self, pairs: &[(&blst_p1_affine, &blst_p2_affine)]) -> Vec<blst_fp12> {
        assert!(self.is_available(), "the processor lacks the instructions of {self:?}");
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has the instructions.
            Self::Avx512Ifma if pairs.len() >= FILLED => unsafe {
                Ifma::start(
                    #[inline(always)]
                    |any| lanes::pairings(any, pairs),
                )
            },
            #[cfg(any(test, fuzzing))]
            // SAFETY: the model needs no special instructions.
            Self::Model => unsafe { Model::start(|any| lanes::pairings(any, pairs)) },
            _ => pairs.iter().map(|pair| portable::final_exponentiation(&portable::miller_loop(&[*pair]))).collect(),
        }
    }

    /// The sum of each point multiplied by its scalar, which is below 2^255. No point is at infinity.
    ///
    /// # Panics
    ///
    /// If the backend is not available.
    pub(super) fn multiply_and_add<G: Group>(self, points: &[G::Affine], scalars: &[[u64; 4]]) -> G::Jacobian {
        assert!(self.is_available(), "the processor lacks the instructions of {self:?}");
        match self {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has the instructions.
            Self::Avx512Ifma => unsafe {
                Ifma::start(|any| pippenger::multiply_and_add::<G>(lanes::InLanes(any), points, scalars))
            },
            #[cfg(any(test, fuzzing))]
            // SAFETY: the model needs no special instructions.
            Self::Model => unsafe {
                Model::start(|any| pippenger::multiply_and_add::<G>(lanes::InLanes(any), points, scalars))
            },
            Self::Portable => pippenger::multiply_and_add::<G>(OneByOne, points, scalars),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx512Ifma => unreachable!("it is not available"),
        }
    }
}
