//! Montgomery arithmetic modulo an odd number of any length, on the fastest backend that this processor has.
//!
//! The lengths of the common moduli are compiled in as constants.

#[cfg(target_arch = "x86_64")]
use super::adx::Adx;
#[cfg(target_arch = "x86_64")]
use super::fma::{self, Fma};
#[cfg(target_arch = "x86_64")]
use super::ifma::{self, Ifma};
use super::ring::{InRing, Ring};
use super::words::{
    MAX_WORDS, Portable, Row, double, is_below, product, reduce, square, subtract, subtract_if_not_below,
};

/// A processor's rows, chosen at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backend {
    /// With vectors for chained squarings.
    #[cfg(target_arch = "x86_64")]
    Ifma(Ifma),
    #[cfg(target_arch = "x86_64")]
    Fma(Fma),
    #[cfg(target_arch = "x86_64")]
    Adx(Adx),
    Portable,
}

impl Backend {
    /// The backends that this processor has, the fastest first.
    pub(super) fn all() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        let own = [Ifma::get().map(Self::Ifma), Fma::get().map(Self::Fma), Adx::get().map(Self::Adx)];
        #[cfg(not(target_arch = "x86_64"))]
        let own = [];
        own.into_iter().flatten().chain([Self::Portable]).collect()
    }
}

/// An odd modulus, and the constants for reducing by it.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    pub(super) modulus: Box<[u64]>,
    /// -1 / modulus, modulo 2^64.
    pub(super) negated_inverse: u64,
    backend: Backend,
    #[cfg(target_arch = "x86_64")]
    vectors: Option<Vectors>,
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        self.modulus == other.modulus && self.backend == other.backend
    }
}

impl Eq for Kernel {}

/// What the vectors are used for: all products, or only squarings in a chain.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Debug)]
enum Vectors {
    Ifma(Box<ifma::Modulus>),
    Fma(Box<fma::Squarer>),
}

/// The words are the element.
impl Ring for Kernel {
    type Element = Box<[u64]>;

    fn enter(&self, words: &[u64]) -> Self::Element {
        words.into()
    }

    fn leave(&self, element: &Self::Element) -> Box<[u64]> {
        element.clone()
    }

    fn plain(&self, element: &Self::Element) -> Box<[u64]> {
        let mut plain = element.clone();
        let mut one: Box<[u64]> = vec![0; plain.len()].into();
        one[0] = 1;
        Kernel::multiply(self, &mut plain, &one);
        plain
    }

    fn multiply(&self, a: &mut Self::Element, b: &Self::Element) {
        Kernel::multiply(self, a, b);
    }

    fn square(&self, a: &mut Self::Element, times: u64) {
        Kernel::square(self, a, times);
    }
}

/// Calls a function with the backend's rows; the portable backend knows common lengths at compile time.
macro_rules! on_backend {
    ($kernel:expr, $function:ident, $($argument:expr),*) => {
        match ($kernel.backend, $kernel.modulus.len()) {
            #[cfg(target_arch = "x86_64")]
            (Backend::Ifma(Ifma(Some(adx))) | Backend::Fma(Fma(Some(adx))) | Backend::Adx(adx), length) => $function(adx, length, $kernel, $($argument),*),
            (_, 4) => $function(Portable, 4, $kernel, $($argument),*),
            (_, 16) => $function(Portable, 16, $kernel, $($argument),*),
            (_, 32) => $function(Portable, 32, $kernel, $($argument),*),
            (_, 33) => $function(Portable, 33, $kernel, $($argument),*),
            (_, length) => $function(Portable, length, $kernel, $($argument),*),
        }
    };
}

impl Kernel {
    /// A kernel for an odd modulus.
    pub(super) fn new(modulus: Box<[u64]>, backend: Backend) -> Self {
        assert!(modulus.len() <= MAX_WORDS && modulus[0] & 1 == 1, "a modulus that is odd and not too long");
        // Each step doubles the number of correct bits; the first three are those of the odd number, which is its own
        // inverse modulo 8.
        let inverse = (0..5)
            .fold(modulus[0], |inverse, _| inverse.wrapping_mul(2_u64.wrapping_sub(modulus[0].wrapping_mul(inverse))));
        let negated_inverse = inverse.wrapping_neg();
        #[cfg(target_arch = "x86_64")]
        let vectors = match backend {
            Backend::Ifma(ifma) => ifma::Modulus::new(ifma, &modulus, negated_inverse).map(Vectors::Ifma),
            Backend::Fma(fma) => fma::Squarer::new(fma, &modulus, negated_inverse).map(Vectors::Fma),
            _ => None,
        };
        Self {
            modulus,
            negated_inverse,
            backend,
            #[cfg(target_arch = "x86_64")]
            vectors,
        }
    }

    /// The name of what chained squarings run on.
    pub(super) fn backend(&self) -> &'static str {
        #[cfg(target_arch = "x86_64")]
        match (&self.vectors, self.backend) {
            (Some(Vectors::Ifma(_)), _) => return "AVX-512 IFMA",
            (Some(Vectors::Fma(_)), _) => return "AVX2 and FMA",
            (None, Backend::Ifma(Ifma(Some(_))) | Backend::Fma(Fma(Some(_))) | Backend::Adx(_)) => return "ADX",
            _ => {}
        }
        "portable"
    }

    /// `a` becomes a · b / 2^(64 · words).
    pub(super) fn multiply(&self, a: &mut [u64], b: &[u64]) {
        on_backend!(self, multiply, a, b);
    }

    /// `a` becomes a² / 2^(64 · words), `times` times over.
    pub(super) fn square(&self, a: &mut [u64], times: u64) {
        #[cfg(target_arch = "x86_64")]
        match &self.vectors {
            Some(Vectors::Ifma(modulus)) if modulus.is_worth(times) => return modulus.square_words(a, times),
            Some(Vectors::Fma(squarer)) if squarer.is_worth(times) => {
                return squarer.square(&self.modulus, a, times, |a, b| self.multiply(a, b));
            }
            _ => {}
        }
        on_backend!(self, square_times, a, times);
    }

    /// Does work that consists of many products, where they are fastest.
    pub(super) fn many<W: InRing>(&self, work: W) -> W::Output {
        #[cfg(target_arch = "x86_64")]
        if let Some(Vectors::Ifma(modulus)) = &self.vectors {
            return work.run(&**modulus);
        }
        work.run(self)
    }

    /// Doubles `a`, which is below the modulus before and after. Returns whether it had to be reduced.
    pub(super) fn double(&self, a: &mut [u64]) -> bool {
        double(a, &self.modulus)
    }

    /// `a` becomes a + b. All are below the modulus.
    pub(super) fn add(&self, a: &mut [u64], b: &[u64]) {
        let mut carry = false;
        for (a, b) in a.iter_mut().zip(b) {
            let (sum, first) = a.overflowing_add(*b);
            let (sum, second) = sum.overflowing_add(carry.into());
            (*a, carry) = (sum, first | second);
        }
        subtract_if_not_below(a, &mut carry.into(), &self.modulus);
    }

    /// `a`, which is not 0, becomes the modulus minus `a`.
    pub(super) fn negate(&self, a: &mut [u64]) {
        let mut borrow = false;
        for (word, modulus) in a.iter_mut().zip(&self.modulus) {
            (*word, borrow) = subtract(*modulus, *word, borrow);
        }
        debug_assert!(!borrow, "the number was below the modulus");
    }

    /// Whether `a` is below the modulus.
    pub(super) fn is_below(&self, a: &[u64]) -> bool {
        is_below(a, &self.modulus)
    }
}

#[inline(always)]
fn multiply<R: Row>(row: R, length: usize, kernel: &Kernel, a: &mut [u64], b: &[u64]) {
    let (a, b, modulus) = (&mut a[..length], &b[..length], &kernel.modulus[..length]);
    let mut wide = [0; 2 * MAX_WORDS];
    let wide = &mut wide[..2 * length];
    product(row, a, b, wide);
    reduce(row, wide, modulus, kernel.negated_inverse, a);
}

#[inline(always)]
fn square_times<R: Row>(row: R, length: usize, kernel: &Kernel, a: &mut [u64], times: u64) {
    let (a, modulus) = (&mut a[..length], &kernel.modulus[..length]);
    let mut wide = [0; 2 * MAX_WORDS];
    let wide = &mut wide[..2 * length];
    for _ in 0..times {
        square(row, a, wide);
        reduce(row, wide, modulus, kernel.negated_inverse, a);
    }
}
