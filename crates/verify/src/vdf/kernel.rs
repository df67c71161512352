//! Montgomery arithmetic on numbers of any length: 64-bit words, the lowest first.
//!
//! A squaring is one: the products off the diagonal are computed once and doubled, which leaves three quarters of the work of a
//! multiplication including the reduction. The lengths of the common moduli are known to the compiler.

#[cfg(target_arch = "x86_64")]
use super::adx::Adx;
#[cfg(target_arch = "x86_64")]
use super::fma::{self, Fma};
#[cfg(target_arch = "x86_64")]
use super::ifma::{self, Ifma};

/// The most words of a number: 4,096 bits, and a word for the check prime.
pub(super) const MAX_WORDS: usize = 65;

/// What everything is made of: rows of a product.
pub(super) trait Row: Copy {
    /// Adds `a` · `factor` + `carry` to `sum`. Gives what is carried out of it.
    fn add(self, sum: &mut [u64], a: &[u64], factor: u64, carry: u64) -> u64;
}

/// Rows on any processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

impl Row for Portable {
    #[inline(always)]
    fn add(self, sum: &mut [u64], a: &[u64], factor: u64, carry: u64) -> u64 {
        let mut carry = carry;
        for (sum, a) in sum.iter_mut().zip(a) {
            (*sum, carry) = multiply_add(*sum, *a, factor, carry);
        }
        carry
    }
}

/// Rows of a processor, chosen at run time.
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
    /// Those that this processor has, the fastest first.
    pub(super) fn all() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        let own = [Ifma::get().map(Self::Ifma), Fma::get().map(Self::Fma), Adx::get().map(Self::Adx)];
        #[cfg(not(target_arch = "x86_64"))]
        let own = [];
        own.into_iter().flatten().chain([Self::Portable]).collect()
    }
}

/// A modulus, odd, and what its reduction needs.
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

/// What vectors do: all products, or squarings in a chain.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Debug)]
enum Vectors {
    Ifma(Box<ifma::Modulus>),
    Fma(Box<fma::Squarer>),
}

/// Products modulo a number, of elements in a form of its own, which many of them are worth to be brought to.
pub(super) trait Ring: Sync {
    /// A number in that form.
    type Element: Clone + Send + Sync;

    /// The element of a number, in words in Montgomery's form.
    fn enter(&self, words: &[u64]) -> Self::Element;

    /// The number of an element, in words in Montgomery's form.
    fn leave(&self, element: &Self::Element) -> Box<[u64]>;

    /// The same out of Montgomery's form.
    fn plain(&self, element: &Self::Element) -> Box<[u64]>;

    /// `a` becomes a · b.
    fn multiply(&self, a: &mut Self::Element, b: &Self::Element);

    /// `a` is squared so many times.
    fn square(&self, a: &mut Self::Element, times: u64);
}

/// Words as they are.
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

/// Work on a [`Ring`], whichever it is.
pub(super) trait InRing {
    /// What comes of it.
    type Output;

    /// Does it.
    fn run<R: Ring>(self, ring: &R) -> Self::Output;
}

/// Calls a function with the backend's rows; on any processor, with a length that the compiler knows if it is a common one.
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
    /// The kernel of an odd modulus.
    pub(super) fn new(modulus: Box<[u64]>, backend: Backend) -> Self {
        assert!(modulus.len() <= MAX_WORDS && modulus[0] & 1 == 1, "a modulus that is odd and not too long");
        // Each step doubles the number of bits that are right; the first three are in any odd number, its own inverse modulo 8.
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

    /// What chained squarings run on.
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

    /// Does work that is made of many products, where they are fastest.
    pub(super) fn many<W: InRing>(&self, work: W) -> W::Output {
        #[cfg(target_arch = "x86_64")]
        if let Some(Vectors::Ifma(modulus)) = &self.vectors {
            return work.run(&**modulus);
        }
        work.run(self)
    }

    /// `a` becomes 2a. It is below the modulus, before and after. Whether it had to be reduced.
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

    /// `a` becomes the modulus less `a`, which is not 0.
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

/// `sum` + `a` · `b` + `carry`, which always fits two words: the lower one and the upper one.
#[inline(always)]
fn multiply_add(sum: u64, a: u64, b: u64, carry: u64) -> (u64, u64) {
    let wide = u128::from(a) * u128::from(b) + u128::from(sum) + u128::from(carry);
    (wide as u64, (wide >> 64) as u64)
}

#[inline(always)]
fn subtract(a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let (difference, first) = a.overflowing_sub(b);
    let (difference, second) = difference.overflowing_sub(borrow.into());
    (difference, first | second)
}

#[inline(always)]
fn product<R: Row>(row: R, a: &[u64], b: &[u64], wide: &mut [u64]) {
    let length = a.len();
    wide.fill(0);
    for (place, factor) in b.iter().enumerate() {
        wide[place + length] = row.add(&mut wide[place..place + length], a, *factor, 0);
    }
}

#[inline(always)]
fn square<R: Row>(row: R, a: &[u64], wide: &mut [u64]) {
    let length = a.len();
    wide.fill(0);
    for place in 0..length - 1 {
        // What is above the diagonal.
        let (from, to) = (2 * place + 1, place + length);
        wide[to] = row.add(&mut wide[from..to], &a[place + 1..], a[place], 0);
    }
    let (mut shifted, mut carry) = (0, 0);
    for (pair, a) in wide.as_chunks_mut::<2>().0.iter_mut().zip(a) {
        let [low, high] = *pair;
        let doubled = [low << 1 | shifted, high << 1 | low >> 63];
        shifted = high >> 63;
        let (low, upper) = multiply_add(doubled[0], *a, *a, carry);
        let (high, over) = doubled[1].overflowing_add(upper);
        *pair = [low, high];
        carry = over.into();
    }
    debug_assert!(shifted == 0 && carry == 0, "a square fits");
}

/// `a` becomes wide / 2^(64 · words), below the modulus.
#[inline(always)]
fn reduce<R: Row>(row: R, wide: &mut [u64], modulus: &[u64], negated_inverse: u64, a: &mut [u64]) {
    let length = modulus.len();
    let mut over = false;
    for place in 0..length {
        let factor = wide[place].wrapping_mul(negated_inverse);
        let carry = row.add(&mut wide[place..place + length], modulus, factor, 0);
        let (sum, first) = wide[place + length].overflowing_add(carry);
        let (sum, second) = sum.overflowing_add(over.into());
        wide[place + length] = sum;
        over = first | second;
    }
    a.copy_from_slice(&wide[length..]);
    subtract_if_not_below(a, &mut over.into(), modulus);
}

fn is_below(a: &[u64], modulus: &[u64]) -> bool {
    a.iter().rev().lt(modulus.iter().rev())
}

/// The digit of so many bits with this number, the lowest being number 0; zero behind the last word.
#[cfg(target_arch = "x86_64")]
pub(super) fn digit<const BITS: usize>(words: &[u64], number: usize) -> u64 {
    let word = |at: usize| words.get(at).copied().unwrap_or(0);
    let (at, shift) = (number * BITS / 64, number * BITS % 64);
    (word(at) >> shift | word(at + 1).checked_shl(64 - shift as u32).unwrap_or(0)) & ((1 << BITS) - 1)
}

/// 2 to this power, modulo the modulus.
#[cfg(target_arch = "x86_64")]
pub(super) fn power_of_two(exponent: usize, modulus: &[u64]) -> Box<[u64]> {
    let mut power: Box<[u64]> = vec![0; modulus.len()].into();
    power[0] = 1;
    (0..exponent).for_each(|_| _ = double(&mut power, modulus));
    power
}

/// `a` becomes 2a, as [`Kernel::double`] says.
pub(super) fn double(a: &mut [u64], modulus: &[u64]) -> bool {
    let mut carry = 0;
    for word in a.iter_mut() {
        (*word, carry) = (*word << 1 | carry, *word >> 63);
    }
    subtract_if_not_below(a, &mut carry, modulus)
}

/// Subtracts the modulus from `over` · 2^(64 · words) + `a` if that is not below it. Whether it was not.
#[inline(always)]
pub(super) fn subtract_if_not_below(a: &mut [u64], over: &mut u64, modulus: &[u64]) -> bool {
    let is_reduced = *over != 0 || !is_below(a, modulus);
    if is_reduced {
        let mut borrow = false;
        for (a, modulus) in a.iter_mut().zip(modulus) {
            (*a, borrow) = subtract(*a, *modulus, borrow);
        }
        *over -= u64::from(borrow);
    }
    is_reduced
}
