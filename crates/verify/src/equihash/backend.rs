//! The hashes of a header's leaves, on a backend of the caller's choice.

use super::Parameters;
use super::blake2b::{AT_ONCE, Hash, Midstate};
#[cfg(target_arch = "x86_64")]
use super::x86;

/// A way of computing BLAKE2b.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// 8 lanes of AVX-512.
    Avx512,
    /// 4 lanes of AVX2.
    Avx2,
    /// Plain integers, on any processor.
    Portable,
}

impl Backend {
    /// All backends, the fastest first.
    pub const ALL: [Self; 3] = [Self::Avx512, Self::Avx2, Self::Portable];

    /// Whether this processor has the instructions that the backend needs.
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx512 | Self::Avx2 => false,
            Self::Portable => true,
        }
    }

    /// The fastest on this processor.
    pub fn fastest() -> Self {
        Self::ALL.into_iter().find(|backend| backend.is_available()).unwrap_or(Self::Portable)
    }
}

/// The hash function of one header's leaves.
pub(super) struct LeafHash {
    backend: Backend,
    midstate: Midstate,
}

impl LeafHash {
    /// # Panics
    ///
    /// If the backend is not available.
    pub(super) fn new(backend: Backend, parameters: &Parameters, input: &[u8]) -> Self {
        assert!(backend.is_available(), "the processor does not have the instructions of {backend:?}");
        Self { backend, midstate: Midstate::new(parameters, input) }
    }

    /// Computes the hashes of the first `count` indices. The others, whose hashes have no meaning, keep the lanes full.
    pub(super) fn hash(&self, indices: &[u32; AT_ONCE], count: usize, hashes: &mut [Hash; AT_ONCE]) {
        match self.backend {
            // SAFETY: `new` asserted that the processor has AVX-512 F.
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512 => unsafe { x86::avx512(&self.midstate, indices, count, hashes) },
            // SAFETY: `new` asserted that the processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2 => unsafe { x86::avx2(&self.midstate, indices, count, hashes) },
            #[cfg(not(target_arch = "x86_64"))]
            Backend::Avx512 | Backend::Avx2 => unreachable!("not available, which was checked when this was made"),
            // SAFETY: plain integers need no special instructions.
            Backend::Portable => unsafe { self.midstate.hash_lanes::<u64, 1>(indices, count, hashes) },
        }
    }
}
