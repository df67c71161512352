//! The interface that kernels of curves are written against: a [`Vector`] of a few 64-bit words, on which a processor
//! does the same at once.
//!
//! A kernel is written once for all vectors: AVX-512 IFMA, AVX2 with FMA (two vectors may be used side by side), one
//! plain word for other processors, and, for tests, a model of the first.

// The fuzzers need the model, too; cargo does not know their flag.
#![allow(unexpected_cfgs)]

#[cfg(target_arch = "x86_64")]
mod fma;
#[cfg(target_arch = "x86_64")]
mod ifma;
#[cfg(any(test, fuzzing))]
mod model;
mod plain;
#[cfg(test)]
mod tests;
mod vector;

#[cfg(target_arch = "x86_64")]
pub(crate) use fma::Fma;
#[cfg(target_arch = "x86_64")]
pub(crate) use ifma::Ifma;
#[cfg(any(test, fuzzing))]
pub(crate) use model::Model;
pub(crate) use plain::{Plain, wide};
pub(crate) use vector::{LIMB, Pair, add_product, columns, columns_are_words, mask, multiply, square, sums, unrolled};
pub use vector::{Mask, Row, Vector};

/// Runs work on a backend: `$lanes` with the vector of the backend's arm, if there is one that takes the work,
/// otherwise `$portable`.
///
/// The enumeration `Backend` at the place of use has a variant for each arm, and `Portable` and `Model`.
///
/// # Panics
///
/// If the backend is not available.
macro_rules! run {
    (
        $backend:expr, [$($name:ident $(if $is_worth_it:expr)? => $vector:ident),*],
        |$any:ident| $lanes:expr, $portable:expr
    ) => {{
        assert!($backend.is_available(), "the processor lacks the instructions of {:?}", $backend);
        match $backend {
            $(
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the processor has the instructions.
                Backend::$name $(if $is_worth_it)? => unsafe {
                    #[cfg(test)]
                    $crate::lanes::STARTED.with(|started| started.set(started.get() + 1));
                    <$crate::lanes::$vector as $crate::lanes::Vector>::start(
                        #[inline(always)]
                        |$any| $lanes,
                    )
                },
            )*
            #[cfg(any(test, fuzzing))]
            // SAFETY: the model needs no special instructions.
            Backend::Model => unsafe { <$crate::lanes::Model as $crate::lanes::Vector>::start(|$any| $lanes) },
            _ => $portable,
        }
    }};
}
pub(crate) use run;

#[cfg(test)]
thread_local! {
    /// How often this thread has begun work on a processor's vectors.
    pub(crate) static STARTED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Whether the tests run on an emulated processor, which miscalculates with ADX (`scripts/test-avx512`).
#[cfg(any(test, target_arch = "x86_64"))]
pub(crate) fn is_emulated() -> bool {
    static IS_EMULATED: std::sync::LazyLock<bool> = std::sync::LazyLock::new(|| std::env::var_os("EMULATED").is_some());
    cfg!(test) && *IS_EMULATED
}

/// Whether this processor has AVX-512 IFMA.
pub(crate) fn has_ifma() -> bool {
    #[cfg(target_arch = "x86_64")]
    return ifma::is_available();
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Whether this processor has AVX2 and FMA.
///
/// `false` on an emulated processor, since most processors have them and run the tests natively.
pub(crate) fn has_fma() -> bool {
    #[cfg(target_arch = "x86_64")]
    return fma::is_available() && !is_emulated();
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}
