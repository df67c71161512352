//! Modular products, above all squarings, with AVX-512 IFMA: digits of 52 bits, eight per vector.
//!
//! A number stays in digits from one product to the next, anywhere below four times the modulus. All sums of a product
//! stay in registers, so all loops over them are unrolled.
//!
//! The product is summed up lane by lane ([`Terms`]), and reduced by Montgomery's method digit by digit. Normally each
//! digit would have to be multiplied to get the multiple of the modulus n that cancels it, and everything would wait
//! for that product. So n is replaced by its multiple k n that is -1 modulo 2^52: then the factor is the digit itself,
//! and (k n + 1) / 2^52 times the digit is added one digit further up. That would leave a result below k n; so the last
//! digit is cancelled with n.
//!
//! These processors start two vector products per cycle. Each digit still waits for the one before it, 8 cycles: a
//! product (4), the broadcast of its lane (3), and the addition of the carry (1). So the code first computes what the
//! next digit needs, and then fills the time: with other products of the previous digit, and with the upper half of the
//! number being reduced.

use std::arch::{asm, x86_64::*};
use std::ops::Range;

use super::adx::Adx;
use super::ring::Ring;
use super::words::{digit, power_of_two, subtract_if_not_below};

/// Bits of a digit.
const BITS: usize = 52;
const MASK: u64 = (1 << BITS) - 1;
/// Digits in a vector.
const LANES: usize = 8;
/// Supported lengths are multiples of this many digits, half a vector.
const HALF: usize = LANES / 2;
/// Maximum number of vectors in a number.
const MAX_VECTORS: usize = 6;

/// A loop of at most eight iterations, unrolled whatever its size: indexes become constants, and an array of vectors
/// becomes registers.
macro_rules! unrolled {
    ($at:ident in 0..$count:ident $body:block) => {{
        if 0 < $count {
            let $at = 0;
            $body
        }
        if 1 < $count {
            let $at = 1;
            $body
        }
        if 2 < $count {
            let $at = 2;
            $body
        }
        if 3 < $count {
            let $at = 3;
            $body
        }
        if 4 < $count {
            let $at = 4;
            $body
        }
        if 5 < $count {
            let $at = 5;
            $body
        }
        if 6 < $count {
            let $at = 6;
            $body
        }
        if 7 < $count {
            let $at = 7;
            $body
        }
    }};
}

/// Calls a function of a modulus in the version compiled for its length.
macro_rules! for_length {
    ($modulus:expr, $function:ident($($argument:expr),*)) => {
        // SAFETY: a modulus is created with an `Ifma`, so the processor has the instructions.
        unsafe {
            match $modulus.halves {
                5 => $modulus.$function::<3, 5>($($argument),*),
                6 => $modulus.$function::<3, 6>($($argument),*),
                10 => $modulus.$function::<5, 10>($($argument),*),
                11 => $modulus.$function::<6, 11>($($argument),*),
                _ => $modulus.$function::<6, 12>($($argument),*),
            }
        }
    };
}

/// Minimum number of squarings worth the conversion to digits and back, which takes more than two products.
const LEAST: u64 = 2;

/// Proof that the processor has AVX-512 IFMA, and usually ADX for the other work. Only [`Ifma::get`] creates one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ifma(pub(super) Option<Adx>);

impl Ifma {
    /// Detects the instructions.
    pub(super) fn get() -> Option<Self> {
        let is_there = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512ifma");
        is_there.then(|| Self(Adx::get()))
    }
}

/// Eight digits, in one cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
struct Vector([u64; LANES]);

impl Vector {
    const ZERO: Self = Self([0; LANES]);

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn load(&self) -> __m512i {
        // SAFETY: it has 64 bytes, aligned to 64.
        unsafe { _mm512_load_si512(self.0.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn store(&mut self, digits: __m512i) {
        // SAFETY: it has 64 bytes, aligned to 64.
        unsafe { _mm512_store_si512(self.0.as_mut_ptr().cast(), digits) }
    }
}

/// The digits of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Digits([Vector; MAX_VECTORS]);

impl Digits {
    fn from_words(words: &[u64]) -> Self {
        Self(std::array::from_fn(|at| Vector(std::array::from_fn(|lane| digit::<BITS>(words, LANES * at + lane)))))
    }

    /// A digit; zero after the last one.
    #[inline(always)]
    fn get(&self, number: usize) -> u64 {
        self.0.get(number / LANES).map_or(0, |vector| vector.0[number % LANES])
    }

    /// Propagates what exceeds 52 bits.
    #[cold]
    #[inline(never)]
    fn carry(&mut self) {
        let mut carry = 0;
        for digit in self.0.iter_mut().flat_map(|vector| &mut vector.0) {
            let sum = *digit + carry;
            (*digit, carry) = (sum & MASK, sum >> BITS);
        }
    }

    /// Writes what fits into the words and returns what exceeds them.
    fn write(&self, words: &mut [u64]) -> u64 {
        let digit = |number: usize| u128::from(self.get(number));
        let word = |at: usize| {
            let (number, shift) = (at * 64 / BITS, at * 64 % BITS);
            ((digit(number) | digit(number + 1) << BITS | digit(number + 2) << (2 * BITS)) >> shift) as u64
        };
        words.iter_mut().enumerate().for_each(|(at, to)| *to = word(at));
        word(words.len())
    }
}

/// The digits of a number, shifted up by at most eight lanes.
#[derive(Clone, Debug)]
struct Shifted([Vector; MAX_VECTORS + 1]);

impl Shifted {
    fn new(digits: &Digits, shift: usize) -> Self {
        let mut shifted = Self([Vector::ZERO; MAX_VECTORS + 1]);
        for number in 0..LANES * MAX_VECTORS {
            let to = number + shift;
            shifted.0[to / LANES].0[to % LANES] = digits.get(number);
        }
        shifted
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn load(&self, at: usize) -> __m512i {
        self.0[at].load()
    }
}

/// A modulus, with the constants that reduce numbers in digits.
#[derive(Clone, Debug)]
pub(super) struct Modulus {
    /// Its words.
    words: Box<[u64]>,
    /// Half vectors in a number.
    halves: usize,
    /// k = -1 / modulus, modulo 2^52.
    factor: u64,
    /// (k · modulus + 1) / 2^52, shifted up by one to eight lanes: every load is a whole cache line.
    above: [Shifted; LANES],
    /// The modulus at the position that cancels the last digit, and one lane further up.
    modulus: [Shifted; 2],
    /// The number of each lane. With a permutation known at compile time the compiler would emit two.
    lanes: [i64; LANES],
    /// Factors that convert a number in words, in Montgomery's form, to the form in digits, and back.
    to_digits: Digits,
    to_words: Digits,
}

impl Modulus {
    /// For a modulus in words and its negated inverse modulo 2^64, if its length is supported.
    pub(super) fn new(_: Ifma, modulus: &[u64], negated_inverse: u64) -> Option<Box<Self>> {
        let bits = 64 * modulus.len() - modulus.last()?.leading_zeros() as usize;
        // With room for eight times the modulus, numbers stay below four times it.
        let halves = match (bits + 3).div_ceil(BITS * HALF) {
            5 => 5,
            6 => 6,
            9 | 10 => 10,
            11 => 11,
            12 => 12,
            _ => return None,
        };
        let factor = negated_inverse & MASK;
        let mut product = Vec::with_capacity(modulus.len() + 1);
        let mut carry = 1;
        for word in modulus {
            let wide = u128::from(*word) * u128::from(factor) + carry;
            product.push(wide as u64);
            carry = wide >> 64;
        }
        product.push(carry as u64);
        let above: Vec<u64> = product.windows(2).map(|pair| pair[0] >> BITS | pair[1] << (64 - BITS)).collect();
        // With R = 2^(64 · words) and S = 2^(208 · halves): S² / R, as a R · (S² / R) / S = a S; and R.
        let (digits, length) = (BITS * HALF * halves, 64 * modulus.len());
        let power = |exponent| Digits::from_words(&power_of_two(exponent, modulus));
        let (to_digits, to_words) = (power(2 * digits - length), power(length));
        let (words, modulus, above) = (modulus.into(), Digits::from_words(modulus), Digits::from_words(&above));
        let last = (HALF * halves - 1) % LANES;
        Some(Box::new(Self {
            words,
            halves,
            factor,
            above: std::array::from_fn(|at| Shifted::new(&above, at + 1)),
            modulus: [last, last + 1].map(|shift| Shifted::new(&modulus, shift)),
            lanes: std::array::from_fn(|at| at as i64),
            to_digits,
            to_words,
        }))
    }

    /// Whether this number of squarings is worth the conversion.
    pub(super) fn is_worth(&self, times: u64) -> bool {
        times >= LEAST
    }

    /// Squares `a`, in Montgomery's form in words, `times` times.
    pub(super) fn square_words(&self, a: &mut [u64], times: u64) {
        let mut digits = self.enter(a);
        self.square_digits(&mut digits, times);
        self.write_product(&digits, &self.to_words, a);
    }

    /// Writes a product as words, below the modulus.
    fn write_product(&self, x: &Digits, y: &Digits, words: &mut [u64]) {
        let mut product = *x;
        self.multiply_digits(&mut product, y);
        let mut over = product.write(words);
        while subtract_if_not_below(words, &mut over, &self.words) {}
    }

    fn product(&self, x: &Digits, y: &Digits) -> Box<[u64]> {
        let mut words: Box<[u64]> = vec![0; self.words.len()].into();
        self.write_product(x, y, &mut words);
        words
    }

    fn multiply_digits(&self, x: &mut Digits, y: &Digits) {
        for_length!(self, multiply_once(x, y));
    }

    fn square_digits(&self, x: &mut Digits, times: u64) {
        for_length!(self, square_times(x, times));
    }

    /// Replaces the digits of x by those of x · y / 2^(208 · WIDE), modulo the modulus. Both have `N` vectors, the last
    /// of which may be half empty; their product has `WIDE` vectors.
    ///
    /// No lane overflows: in the product, and in the multiple of the modulus, each of the 4 WIDE digits adds two halves
    /// of a product, of 52 bits, to each lane: 16 · 12 · 2^52 at most, which is below 2^60. A carry to the next digit
    /// is below 2^8.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn multiply_once<const N: usize, const WIDE: usize>(&self, x: &mut Digits, y: &Digits) {
        const { assert!(N == WIDE.div_ceil(2) && N <= MAX_VECTORS) };
        // SAFETY: the features are enabled.
        unsafe {
            let pair = Pair::<N>::new(x, y);
            let reduced: [__m512i; N] = self.reduce::<N, WIDE>(pair.lower(), &pair);
            normalise(&reduced, x);
        }
    }

    /// Replaces the digits of x by those of x² / 2^(208 · WIDE), `times` times.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn square_times<const N: usize, const WIDE: usize>(&self, x: &mut Digits, times: u64) {
        const { assert!(N == WIDE.div_ceil(2) && N <= MAX_VECTORS) };
        for _ in 0..times {
            // SAFETY: the features are enabled.
            unsafe {
                let square = Square::<N>::new(x);
                let reduced: [__m512i; N] = self.reduce::<N, WIDE>(square.lower(), &square);
                normalise(&reduced, x);
            }
        }
    }

    /// Adds multiples of the modulus that cancel the digits of a product's lower half. Returns the upper half, which it
    /// sums up meanwhile.
    ///
    /// # Safety
    ///
    /// The processor must have AVX-512 IFMA; the same holds for everything inlined below.
    #[inline(always)]
    unsafe fn reduce<const N: usize, const WIDE: usize>(
        &self,
        lower: [__m512i; WIDE],
        terms: &impl Terms<N, WIDE>,
    ) -> [__m512i; N] {
        let count = HALF * WIDE;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let zero = _mm512_setzero_si512();
            let (mut wide, mut upper) = (lower, [zero; WIDE]);
            let mut digit = zero;
            unrolled!(t in 0..N {
                unrolled!(r in 0..LANES {
                    let place = LANES * t + r;
                    if place < count {
                        let before = digit;
                        digit = _mm512_permutexvar_epi64(_mm512_set1_epi64(opaque(self).lanes[r]), wide[t]);
                        digit = _mm512_add_epi64(digit, _mm512_srli_epi64::<{ BITS as u32 }>(before));
                        // The next digit is in the next vector, so it needs the rest first.
                        let is_last_lane = r == LANES - 1;
                        if is_last_lane {
                            self.add_rest(&mut wide, place, before);
                        }
                        self.add_first(&mut wide, place, before, digit);
                        if !is_last_lane {
                            self.add_rest(&mut wide, place, before);
                        }
                        // One lane per eighth of the digits.
                        if LANES * place % count < LANES {
                            let r = LANES - 1 - LANES * place / count;
                            terms.add::<true>(&mut upper, N..WIDE, r);
                            shift(&mut upper, N..WIDE);
                            terms.add::<false>(&mut upper, N..WIDE, r);
                        }
                    }
                });
            });
            for at in N..WIDE {
                wide[at] = _mm512_add_epi64(wide[at], upper[at]);
            }
            self.take_last(&mut wide, digit)
        }
    }

    /// Adds what the next digit waits for: the lower half of a product with the digit at this place, and the upper half
    /// of one with the previous digit.
    #[inline(always)]
    unsafe fn add_first<const WIDE: usize>(
        &self,
        wide: &mut [__m512i; WIDE],
        place: usize,
        before: __m512i,
        digit: __m512i,
    ) {
        let (to, r) = ((place + 1) / LANES, place % LANES);
        // SAFETY: the caller guarantees AVX-512 IFMA.
        unsafe {
            let factor = opaque(self).above[r].load(to - place / LANES);
            if place > 0 {
                wide[to] = _mm512_madd52hi_epu64(wide[to], before, factor);
            }
            if place < HALF * WIDE - 1 {
                wide[to] = _mm512_madd52lo_epu64(wide[to], digit, factor);
            }
        }
    }

    /// Adds the remaining products of the digit before this place, if there is one.
    #[inline(always)]
    unsafe fn add_rest<const WIDE: usize>(&self, wide: &mut [__m512i; WIDE], place: usize, before: __m512i) {
        if place == 0 {
            return;
        }
        let (t, r) = ((place - 1) / LANES, (place - 1) % LANES);
        let this = opaque(self);
        for q in 0..WIDE - t {
            let at = t + q;
            // SAFETY: the caller guarantees AVX-512 IFMA.
            unsafe {
                if is_reached::<WIDE>(q, r + 1) && at != place / LANES {
                    wide[at] = _mm512_madd52lo_epu64(wide[at], before, this.above[r].load(q));
                }
                if is_reached::<WIDE>(q, r + 2) && at != (place + 1) / LANES {
                    // Nine lanes up is one lane up, one vector further.
                    let high = if r + 1 < LANES { this.above[r + 1].load(q) } else { this.above[0].load(q - 1) };
                    wide[at] = _mm512_madd52hi_epu64(wide[at], before, high);
                }
            }
        }
    }

    /// Cancels the last digit of the lower half and returns the upper half.
    #[inline(always)]
    unsafe fn take_last<const N: usize, const WIDE: usize>(
        &self,
        wide: &mut [__m512i; WIDE],
        digit: __m512i,
    ) -> [__m512i; N] {
        let this = opaque(self);
        let [low, high] = &this.modulus;
        // SAFETY: the caller guarantees AVX-512 IFMA.
        unsafe {
            let zero = _mm512_setzero_si512();
            let factor = _mm512_madd52lo_epu64(zero, digit, _mm512_set1_epi64(this.factor as i64));
            for q in 0..=WIDE - N {
                let at = N - 1 + q;
                wide[at] = _mm512_madd52lo_epu64(wide[at], factor, low.load(q));
                wide[at] = _mm512_madd52hi_epu64(wide[at], factor, high.load(q));
            }
            let lowest = _mm512_set1_epi64(low.0[0].0[(HALF * WIDE - 1) % LANES] as i64);
            let carry = _mm512_srli_epi64::<{ BITS as u32 }>(_mm512_madd52lo_epu64(digit, factor, lowest));
            let mut upper = [zero; N];
            for at in 0..N {
                let next = if N + at < WIDE { wide[N + at] } else { zero };
                upper[at] =
                    if WIDE == 2 * N { next } else { _mm512_alignr_epi64::<{ HALF as i32 }>(next, wide[N + at - 1]) };
            }
            upper[0] = _mm512_mask_add_epi64(upper[0], 1, upper[0], carry);
            upper
        }
    }
}

impl Ring for Modulus {
    type Element = Digits;

    fn enter(&self, words: &[u64]) -> Digits {
        let mut digits = Digits::from_words(words);
        self.multiply_digits(&mut digits, &self.to_digits);
        digits
    }

    fn leave(&self, element: &Digits) -> Box<[u64]> {
        self.product(element, &self.to_words)
    }

    fn plain(&self, element: &Digits) -> Box<[u64]> {
        self.product(element, &Digits::from_words(&[1]))
    }

    fn multiply(&self, a: &mut Digits, b: &Digits) {
        self.multiply_digits(a, b);
    }

    fn square(&self, a: &mut Digits, times: u64) {
        self.square_digits(a, times);
    }
}

/// Returns the same reference, hidden from the compiler: so it loads the values again instead of spilling them to the
/// stack.
#[inline(always)]
fn opaque<T>(reference: &T) -> &T {
    let mut pointer: *const T = reference;
    // SAFETY: nothing happens, so it is the same reference.
    unsafe {
        asm!("/* {} */", inout(reg) pointer, options(readonly, nostack, preserves_flags));
        &*pointer
    }
}

/// Whether a number of `HALF` · `WIDE` digits, shifted up by `shift` lanes, has any digit in vector `at`.
const fn is_reached<const WIDE: usize>(at: usize, shift: usize) -> bool {
    shift < LANES * (at + 1) && LANES * at < HALF * WIDE + shift
}

/// The products of digits that sum up to a product of numbers.
///
/// From the last lane to the first, each digit of one number in this lane is multiplied by whole vectors of the other
/// number; then all sums are shifted up by one lane. The upper halves of products belong one lane further up, so they
/// are added before the shift.
trait Terms<const N: usize, const WIDE: usize> {
    /// Adds the products with the digits in lane `r` to the sums in the range: their upper or their lower halves.
    ///
    /// # Safety
    ///
    /// The processor must have AVX-512 IFMA.
    unsafe fn add<const HIGH: bool>(&self, sums: &mut [__m512i; WIDE], range: Range<usize>, r: usize);

    /// Computes the sums of the lower vectors, including what they add to the first vector above.
    ///
    /// # Safety
    ///
    /// The processor must have AVX-512 IFMA.
    #[inline(always)]
    unsafe fn lower(&self) -> [__m512i; WIDE] {
        // SAFETY: the caller guarantees AVX-512 IFMA.
        unsafe {
            let mut wide = [_mm512_setzero_si512(); WIDE];
            self.add::<true>(&mut wide, 0..N, LANES - 1);
            unrolled!(lane in 0..LANES {
                let r = LANES - 1 - lane;
                // There is no other work yet, so use separate sums that do not wait for the earlier ones.
                let mut sums = [_mm512_setzero_si512(); WIDE];
                self.add::<false>(&mut sums, 0..N, r);
                if r > 0 {
                    self.add::<true>(&mut sums, 0..N, r - 1);
                }
                shift(&mut wide, 0..N + 1);
                for at in 0..N {
                    wide[at] = _mm512_add_epi64(wide[at], sums[at]);
                }
            });
            wide
        }
    }
}

/// Adds a vector product to a sum: its upper or its lower halves.
#[inline(always)]
unsafe fn multiply_add<const HIGH: bool>(sum: __m512i, a: __m512i, b: __m512i) -> __m512i {
    // SAFETY: the caller guarantees AVX-512 IFMA.
    unsafe { if HIGH { _mm512_madd52hi_epu64(sum, a, b) } else { _mm512_madd52lo_epu64(sum, a, b) } }
}

/// The product of two numbers.
struct Pair<'a, const N: usize> {
    digits: &'a Digits,
    vectors: [__m512i; N],
}

impl<'a, const N: usize> Pair<'a, N> {
    #[inline(always)]
    unsafe fn new(x: &'a Digits, y: &Digits) -> Self {
        // SAFETY: the caller guarantees AVX-512 IFMA.
        unsafe {
            let mut vectors = [_mm512_setzero_si512(); N];
            for (vector, digits) in vectors.iter_mut().zip(&y.0) {
                *vector = digits.load();
            }
            Self { digits: x, vectors }
        }
    }
}

impl<const N: usize, const WIDE: usize> Terms<N, WIDE> for Pair<'_, N> {
    #[inline(always)]
    unsafe fn add<const HIGH: bool>(&self, sums: &mut [__m512i; WIDE], range: Range<usize>, r: usize) {
        unrolled!(p in 0..N {
            unrolled!(q in 0..N {
                if range.start <= p + q && p + q < range.end && LANES * p + r < HALF * WIDE {
                    // SAFETY: the caller guarantees AVX-512 IFMA.
                    unsafe {
                        let digit = _mm512_set1_epi64(self.digits.get(LANES * p + r) as i64);
                        sums[p + q] = multiply_add::<HIGH>(sums[p + q], digit, self.vectors[q]);
                    }
                }
            });
        });
    }
}

/// The square of a number: each product of two different vectors occurs twice, so the upper of the two is doubled
/// beforehand.
struct Square<'a, const N: usize> {
    digits: &'a Digits,
    vectors: [__m512i; N],
    /// Each vector doubled, without a carry into it.
    first: [__m512i; N],
    /// Each vector doubled, with the carry from the one below.
    further: [__m512i; N],
}

impl<'a, const N: usize> Square<'a, N> {
    #[inline(always)]
    unsafe fn new(digits: &'a Digits) -> Self {
        // SAFETY: the caller guarantees AVX-512 IFMA.
        unsafe {
            let zero = _mm512_setzero_si512();
            let mask = _mm512_set1_epi64(MASK as i64);
            let (mut vectors, mut first, mut further) = ([zero; N], [zero; N], [zero; N]);
            let mut carried = zero;
            for at in 0..N {
                let vector = digits.0[at].load();
                let doubled = _mm512_and_si512(_mm512_add_epi64(vector, vector), mask);
                let carry = _mm512_srli_epi64::<{ BITS as u32 - 1 }>(vector);
                vectors[at] = vector;
                first[at] = _mm512_or_si512(doubled, _mm512_alignr_epi64::<7>(carry, zero));
                further[at] = _mm512_or_si512(doubled, _mm512_alignr_epi64::<7>(carry, carried));
                carried = carry;
            }
            Self { digits, vectors, first, further }
        }
    }
}

impl<const N: usize, const WIDE: usize> Terms<N, WIDE> for Square<'_, N> {
    #[inline(always)]
    unsafe fn add<const HIGH: bool>(&self, sums: &mut [__m512i; WIDE], range: Range<usize>, r: usize) {
        unrolled!(p in 0..N {
            unrolled!(q in 0..N {
                if p <= q && range.start <= p + q && p + q < range.end && LANES * p + r < HALF * WIDE {
                    let factor = match q - p {
                        0 => self.vectors[q],
                        1 => self.first[q],
                        _ => self.further[q],
                    };
                    // SAFETY: the caller guarantees AVX-512 IFMA.
                    unsafe {
                        let digit = _mm512_set1_epi64(self.digits.get(LANES * p + r) as i64);
                        sums[p + q] = multiply_add::<HIGH>(sums[p + q], digit, factor);
                    }
                }
            });
        });
    }
}

/// Shifts all sums in the range up by one lane.
#[inline(always)]
unsafe fn shift<const WIDE: usize>(sums: &mut [__m512i; WIDE], range: Range<usize>) {
    // SAFETY: the caller guarantees AVX-512 IFMA.
    unsafe {
        for at in (range.start + 1..range.end).rev() {
            sums[at] = _mm512_alignr_epi64::<7>(sums[at], sums[at - 1]);
        }
        sums[range.start] = _mm512_alignr_epi64::<7>(sums[range.start], _mm512_setzero_si512());
    }
}

/// Propagates what exceeds 52 bits and stores the digits.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn normalise<const N: usize>(sums: &[__m512i; N], x: &mut Digits) {
    let mask = _mm512_set1_epi64(MASK as i64);
    let (mut carried, mut all) = (_mm512_setzero_si512(), _mm512_setzero_si512());
    for (sum, to) in sums.iter().zip(&mut x.0) {
        let carry = _mm512_srli_epi64::<{ BITS as u32 }>(*sum);
        let digits = _mm512_add_epi64(_mm512_and_si512(*sum, mask), _mm512_alignr_epi64::<7>(carry, carried));
        carried = carry;
        all = _mm512_or_si512(all, digits);
        to.store(digits);
    }
    // Carries are below 2^8. So only a digit close to 2^52 passes one on, which is rare.
    if _mm512_cmpgt_epu64_mask(all, mask) != 0 {
        x.carry();
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel::{Backend, Kernel};
    use super::*;

    /// Patterns of words: digits at their limits next to each other, and arbitrary ones.
    const FILLS: [fn(u64) -> u64; 5] = [
        |_| 0,
        |_| u64::MAX,
        |at| if at % 2 == 0 { 0 } else { u64::MAX },
        |at| if at % 5 < 3 { u64::MAX } else { 1 },
        |at| (at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(at as u32),
    ];

    /// A number of `bits` bits.
    fn filled(bits: usize, fill: fn(u64) -> u64) -> Vec<u64> {
        let mut words: Vec<u64> = (0..bits.div_ceil(64) as u64).map(fill).collect();
        if let Some(last) = words.last_mut() {
            let unused = (64 - bits % 64) % 64;
            *last = *last << unused >> unused | 1 << ((bits - 1) % 64);
        }
        words
    }

    /// The number, below four times n, modulo n.
    fn words(digits: &Digits, modulus: &[u64]) -> Vec<u64> {
        let mut words = vec![0; modulus.len()];
        let mut over = digits.write(&mut words);
        let subtracted = (0..4).take_while(|_| subtract_if_not_below(&mut words, &mut over, modulus)).count();
        assert!(subtracted < 4 && over == 0, "a number below four times the modulus");
        words
    }

    #[track_caller]
    fn without_ifma() {
        skip::lacking(skip::Ability::Processor, "the processor has no AVX-512 IFMA");
    }

    #[test]
    fn a_product_of_any_digits_is_right_and_not_too_long() {
        let Some(ifma) = Ifma::get() else { return without_ifma() };
        for halves in [5, 6, 10, 11, 12] {
            let most = BITS * HALF * halves - 3;
            for bits in [most, most - 1, most - 24, most - BITS * HALF + 1] {
                for fill in FILLS {
                    let mut modulus = filled(bits, fill);
                    modulus[0] |= 1;
                    let kernel = Kernel::new(modulus.clone().into(), Backend::Portable);
                    let in_digits = Modulus::new(ifma, &modulus, kernel.negated_inverse).unwrap();
                    assert_eq!(in_digits.halves, halves);
                    // Below 2^(bits + 1), which is at most four times the modulus.
                    let numbers = FILLS.map(|fill| Digits::from_words(&filled(bits + 1, fill)));
                    for (x, y) in numbers.iter().flat_map(|x| numbers.iter().map(move |y| (x, y))) {
                        let check = |product: &Digits| {
                            assert!(product.0.iter().all(|vector| vector.0.iter().all(|digit| *digit <= MASK)));
                            let mut expected = words(x, &modulus);
                            kernel.multiply(&mut expected, &words(y, &modulus));
                            let mut product = words(product, &modulus);
                            kernel.multiply(&mut product, &power_of_two(BITS * HALF * halves, &modulus));
                            assert_eq!(product, expected, "{bits} bits");
                        };
                        let mut product = *x;
                        in_digits.multiply_digits(&mut product, y);
                        check(&product);
                        if x == y {
                            let mut square = *x;
                            in_digits.square_digits(&mut square, 1);
                            check(&square);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn carries_go_through_digits_that_are_all_ones() {
        if Ifma::get().is_none() {
            return without_ifma();
        }
        let most = MASK | 0xff << BITS;
        for (from, to) in [(0, 1), (0, 23), (7, 9), (3, 22)] {
            for before in [MASK, most] {
                let mut sums = Digits::from_words(&[]);
                for number in from..to {
                    sums.0[number / LANES].0[number % LANES] = MASK;
                }
                sums.0[from / LANES].0[from % LANES] = before;
                let (mut expected, mut found) = (sums, Digits::from_words(&[]));
                expected.carry();
                // SAFETY: the processor has the instructions.
                unsafe { normalise(&[sums.0[0].load(), sums.0[1].load(), sums.0[2].load()], &mut found) };
                assert_eq!(found, expected);
            }
        }
    }
}
