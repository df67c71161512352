#[cfg(target_arch = "x86_64")]
use super::ifma;
use super::{PublicKey, Rule, ecdsa, portable, schnorr};

/// A way of verifying signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// 8 signatures at once, in lanes of AVX-512 IFMA.
    Avx512Ifma,
    /// libsecp256k1, one after the other, on any processor.
    Portable,
}

impl Backend {
    /// All backends, the fastest first.
    pub const ALL: [Self; 2] = [Self::Avx512Ifma, Self::Portable];

    /// Whether this processor has the instructions that it needs.
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Ifma => ifma::is_available(),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx512Ifma => false,
            Self::Portable => true,
        }
    }

    /// The fastest on this processor.
    pub fn fastest() -> Self {
        Self::ALL.into_iter().find(|backend| backend.is_available()).unwrap_or(Self::Portable)
    }

    /// Appends the verdict of each item.
    pub(super) fn verify_ecdsa(self, items: &[ecdsa::Signed], verdicts: &mut Vec<Result<(), Rule>>) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Ifma => ifma::verify_each(items, verdicts),
            _ => verdicts.extend(items.iter().map(portable::verify_ecdsa)),
        }
    }

    pub(super) fn recover(self, items: &[ecdsa::Recoverable]) -> Vec<Result<PublicKey, Rule>> {
        items.iter().map(portable::recover).collect()
    }

    /// Appends the verdict of each item.
    pub(super) fn verify_schnorr(self, items: &[schnorr::Signed<'_>], verdicts: &mut Vec<Result<(), Rule>>) {
        verdicts.extend(items.iter().map(portable::verify_schnorr));
    }
}
