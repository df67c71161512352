// The fuzzers need the model, too; cargo does not know their flag.
#![allow(unexpected_cfgs)]

use super::lanes;
use super::schnorr::batch;
use super::{PublicKey, Rule, ecdsa, portable, schnorr};
use crate::lanes::{Plain, Vector, has_fma, has_ifma, run};

/// A way of verifying signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// 16 signatures at once, in lanes of AVX-512 IFMA.
    Avx512Ifma,
    /// Eight signatures at once, in lanes of AVX2 with the multiplications of FMA.
    Avx2Fma,
    /// Any processor: libsecp256k1, one signature at a time; for batches of Schnorr signatures, the same combined check
    /// as in the lanes, one point at a time.
    Portable,
    /// The code for lanes, on a model of them, for processors that lack them.
    #[cfg(any(test, fuzzing))]
    Model,
}

impl Backend {
    /// All backends, the fastest first.
    #[cfg(not(any(test, fuzzing)))]
    pub const ALL: [Self; 3] = [Self::Avx512Ifma, Self::Avx2Fma, Self::Portable];
    #[cfg(any(test, fuzzing))]
    /// All backends, the fastest first.
    pub const ALL: [Self; 4] = [Self::Avx512Ifma, Self::Avx2Fma, Self::Portable, Self::Model];

    /// The backends to test on this processor: an emulated one only tests what the host lacks.
    #[cfg(test)]
    pub(super) fn tested() -> impl Iterator<Item = Self> {
        let is_tested = |backend: &Self| *backend == Self::Avx512Ifma || !crate::lanes::is_emulated();
        let hardware =
            crate::testing::available(&[Self::Avx512Ifma, Self::Avx2Fma, Self::Portable], Self::is_available);
        let model = Some(Self::Model).filter(|model| model.is_available());
        hardware.into_iter().chain(model).filter(is_tested)
    }

    /// Whether this processor has the instructions that the backend needs.
    pub fn is_available(self) -> bool {
        match self {
            Self::Avx512Ifma => has_ifma(),
            Self::Avx2Fma => has_fma(),
            Self::Portable => true,
            #[cfg(any(test, fuzzing))]
            Self::Model => !has_ifma(),
        }
    }

    /// The fastest backend on this processor; in a build without optimisation, the portable one.
    ///
    /// libsecp256k1 is always optimised, while lanes are only fast if each of their operations is one instruction.
    pub fn fastest() -> Self {
        if cfg!(debug_assertions) {
            return Self::Portable;
        }
        Self::ALL.into_iter().find(|backend| backend.is_available()).unwrap_or(Self::Portable)
    }

    /// Appends the verdict of each item.
    pub(super) fn verify_ecdsa(self, items: &[ecdsa::signed::Signed], verdicts: &mut Vec<Result<(), Rule>>) {
        run!(
            self,
            [Avx512Ifma => Ifma, Avx2Fma => Fma],
            |any| lanes::ecdsa::verify_each(any, items, verdicts),
            verdicts.extend(items.iter().map(portable::ecdsa::verify))
        )
    }

    /// The key of each item.
    pub(super) fn recover(self, items: &[ecdsa::recoverable::Recoverable]) -> Vec<Result<PublicKey, Rule>> {
        run!(
            self,
            [Avx512Ifma => Ifma, Avx2Fma => Fma],
            |any| lanes::ecdsa::recover_each(any, items),
            items.iter().map(portable::ecdsa::recover).collect()
        )
    }

    /// Appends the verdict of each item.
    pub(super) fn verify_schnorr(self, items: &[schnorr::signed::Signed<'_>], verdicts: &mut Vec<Result<(), Rule>>) {
        run!(
            self,
            [Avx512Ifma => Ifma, Avx2Fma => Fma],
            |any| batch::verify(any, items, verdicts),
            // SAFETY: a plain word needs no special instructions.
            unsafe {
                Plain::start(
                    #[inline(always)]
                    |any| batch::verify(any, items, verdicts),
                )
            }
        )
    }
}
