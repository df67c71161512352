//! Chained squarings with AVX-512 IFMA: digits of 52 bits, eight in a vector.
//!
//! A number stays in digits from one squaring to the next, and anywhere below four times the modulus. Products are added up where they belong,
//! by loading the factor that is a vector at the right shift; so nothing is moved but the carries. Only what is above the
//! diagonal is multiplied, and doubled.
//!
//! The reduction is Montgomery's, a digit at a time. What each digit has to be multiplied by to know the multiple of the modulus that
//! takes it away is what everything would wait for. So the modulus n is replaced by its multiple k n that is -1 modulo 2^52: then the
//! factor is the digit itself, and what is added is (k n + 1) / 2^52 times the digit, a digit further up. That would leave a
//! result below k n; so the last digit is taken away with n.

use std::arch::x86_64::*;

use super::adx::Adx;
use super::kernel::{digit, power_of_two, subtract_if_not_below};

/// Bits of a digit.
const BITS: usize = 52;
const MASK: u64 = (1 << BITS) - 1;
/// Digits in a vector.
const LANES: usize = 8;
/// Bits of a vector.
const VECTOR: usize = BITS * LANES;
/// The most vectors of a number.
const MAX_VECTORS: usize = 6;
/// Zeros before and behind a number's digits, so that it can be loaded at any shift.
const PADDING: usize = 2 * LANES;

/// Squarings that are worth the way into digits and back, which takes two multiplications and more.
const LEAST: u64 = 8;

/// A processor with AVX-512 IFMA, and mostly ADX for what else there is to do. Only [`Ifma::get`] makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ifma(pub(super) Option<Adx>);

impl Ifma {
    /// The processor, if this one has the instructions.
    pub(super) fn get() -> Option<Self> {
        let is_there = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512ifma");
        is_there.then(|| Self(Adx::get()))
    }
}

/// The digits of a number, between zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Digits([u64; PADDING + LANES * MAX_VECTORS + PADDING]);

impl Digits {
    const ZERO: Self = Self([0; PADDING + LANES * MAX_VECTORS + PADDING]);

    fn of(words: &[u64]) -> Self {
        let mut digits = Self::ZERO;
        for (number, to) in digits.0[PADDING..][..LANES * MAX_VECTORS].iter_mut().enumerate() {
            *to = digit::<BITS>(words, number);
        }
        digits
    }

    /// Writes what fits into the words, and gives what is above them.
    fn write(&self, words: &mut [u64]) -> u64 {
        let digit = |number: usize| u128::from(self.0[PADDING + number]);
        let word = |at: usize| {
            let (number, shift) = (at * 64 / BITS, at * 64 % BITS);
            ((digit(number) | digit(number + 1) << BITS | digit(number + 2) << (2 * BITS)) >> shift) as u64
        };
        words.iter_mut().enumerate().for_each(|(at, to)| *to = word(at));
        word(words.len())
    }

    /// The digits from `place` on, which may be before the first one.
    ///
    /// # Safety
    ///
    /// The processor has AVX-512, and the digits are between the paddings' outer ends.
    #[inline(always)]
    unsafe fn load(&self, place: isize) -> __m512i {
        debug_assert!((-(PADDING as isize)..=(PADDING + LANES * (MAX_VECTORS - 1)) as isize).contains(&place));
        // SAFETY: the caller's promise; the load asks for no alignment.
        unsafe { _mm512_loadu_si512(self.0.as_ptr().offset(PADDING as isize + place).cast()) }
    }
}

/// A modulus, for squarings in digits.
#[derive(Clone, Debug)]
pub(super) struct Squarer {
    /// Vectors of a number.
    vectors: usize,
    modulus: Digits,
    /// k = -1 / modulus, modulo 2^52.
    factor: u64,
    /// (k · modulus + 1) / 2^52.
    above: Digits,
    /// By which a number in words, in Montgomery's form, is multiplied to be in that of digits, and back.
    to_digits: Box<[u64]>,
    to_words: Box<[u64]>,
}

impl Squarer {
    /// For a modulus of words and its negated inverse modulo 2^64, if it has one of the lengths that there is code for.
    pub(super) fn new(_: Ifma, modulus: &[u64], negated_inverse: u64) -> Option<Box<Self>> {
        let bits = 64 * modulus.len() - modulus.last()?.leading_zeros() as usize;
        // Room for numbers of eight times the modulus keeps them below four times.
        let vectors = (bits + 3).div_ceil(VECTOR);
        if !matches!(vectors, 3 | 5 | 6) {
            return None;
        }
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
        // With R = 2^(64 · words) and S = 2^(416 · vectors): S, as a R · S / R = a S; and R^2 / S.
        let (to_digits, to_words) =
            (power_of_two(VECTOR * vectors, modulus), power_of_two(128 * modulus.len() - VECTOR * vectors, modulus));
        let (modulus, above) = (Digits::of(modulus), Digits::of(&above));
        Some(Box::new(Self { vectors, modulus, factor, above, to_digits, to_words }))
    }

    /// Whether so many squarings are worth it.
    pub(super) fn is_worth(&self, times: u64) -> bool {
        times >= LEAST
    }

    /// `a`, in Montgomery's form in words, is squared so many times. `multiply` is that of words.
    pub(super) fn square(&self, modulus: &[u64], a: &mut [u64], times: u64, multiply: impl Fn(&mut [u64], &[u64])) {
        multiply(a, &self.to_digits);
        let mut digits = Digits::of(a);
        // SAFETY: whoever made this has an `Ifma`, so the processor has the instructions.
        unsafe {
            match self.vectors {
                3 => self.square_times::<3, 6>(&mut digits, times),
                5 => self.square_times::<5, 10>(&mut digits, times),
                _ => self.square_times::<6, 12>(&mut digits, times),
            }
        }
        let mut over = digits.write(a);
        while subtract_if_not_below(a, &mut over, modulus) {}
        multiply(a, &self.to_words);
    }

    /// The digits of x become those of x² / 2^(416 · N), modulo the modulus, so many times over. `WIDE` is twice `N`.
    ///
    /// No lane overflows: it takes at most 8 N products of 52 bits for the square, doubled, and 16 N for the reduction, each
    /// twice since of each product there are two halves: 2^61.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn square_times<const N: usize, const WIDE: usize>(&self, x: &mut Digits, times: u64) {
        const { assert!(WIDE == 2 * N && N <= MAX_VECTORS) };
        let [even, odd] = [_mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15)];
        for _ in 0..times {
            let mut wide = above_diagonal::<N, WIDE>(x);
            for q in 0..N {
                // SAFETY: the feature is there, and these are digits of the number, here and below.
                let digits = unsafe { x.load((LANES * q) as isize) };
                let low = _mm512_madd52lo_epu64(_mm512_setzero_si512(), digits, digits);
                let high = _mm512_madd52hi_epu64(_mm512_setzero_si512(), digits, digits);
                for (at, places) in [(2 * q, even), (2 * q + 1, odd)] {
                    let doubled = _mm512_add_epi64(wide[at], wide[at]);
                    wide[at] = _mm512_add_epi64(doubled, _mm512_permutex2var_epi64(low, places, high));
                }
            }
            let carry = self.reduce::<N, WIDE>(&mut wide);
            wide[N] = _mm512_mask_add_epi64(wide[N], 1, wide[N], carry);
            normalise::<N, WIDE>(&wide, x);
        }
    }

    /// Adds multiples of the modulus that take away the digits of the lower half. Gives what is carried into the upper one, in every
    /// lane.
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline]
    fn reduce<const N: usize, const WIDE: usize>(&self, wide: &mut [__m512i; WIDE]) -> __m512i {
        let mut carry = _mm512_setzero_si512();
        for t in 0..N {
            for r in 0..LANES - 1 {
                let digit = _mm512_permutexvar_epi64(_mm512_set1_epi64(r as i64), wide[t]);
                let digit = _mm512_add_epi64(digit, carry);
                carry = _mm512_srli_epi64::<{ BITS as u32 }>(digit);
                for q in 0..=N {
                    let place = (LANES * q) as isize - r as isize;
                    // SAFETY: as above.
                    let (low, high) = unsafe { (self.above.load(place - 1), self.above.load(place - 2)) };
                    wide[t + q] = _mm512_madd52lo_epu64(wide[t + q], digit, low);
                    wide[t + q] = _mm512_madd52hi_epu64(wide[t + q], digit, high);
                }
            }
            let digit = _mm512_permutexvar_epi64(_mm512_set1_epi64(LANES as i64 - 1), wide[t]);
            let digit = _mm512_add_epi64(digit, carry);
            if t < N - 1 {
                carry = _mm512_srli_epi64::<{ BITS as u32 }>(digit);
                for q in 1..=N {
                    let place = (LANES * q) as isize - LANES as isize;
                    // SAFETY: as above.
                    let (low, high) = unsafe { (self.above.load(place), self.above.load(place - 1)) };
                    wide[t + q] = _mm512_madd52lo_epu64(wide[t + q], digit, low);
                    wide[t + q] = _mm512_madd52hi_epu64(wide[t + q], digit, high);
                }
                // SAFETY: as above.
                let last = unsafe { self.above.load((LANES * N) as isize - 1) };
                wide[t + N + 1] = _mm512_madd52hi_epu64(wide[t + N + 1], digit, last);
            } else {
                let zero = _mm512_setzero_si512();
                let factor = _mm512_madd52lo_epu64(zero, digit, _mm512_set1_epi64(self.factor as i64));
                let lowest = _mm512_set1_epi64(self.modulus.0[PADDING] as i64);
                carry = _mm512_srli_epi64::<{ BITS as u32 }>(_mm512_madd52lo_epu64(digit, factor, lowest));
                for q in 1..=N {
                    let place = (LANES * q) as isize - LANES as isize;
                    // SAFETY: as above.
                    let (low, high) = unsafe { (self.modulus.load(place + 1), self.modulus.load(place)) };
                    wide[t + q] = _mm512_madd52lo_epu64(wide[t + q], factor, low);
                    wide[t + q] = _mm512_madd52hi_epu64(wide[t + q], factor, high);
                }
            }
        }
        carry
    }
}

/// The products of different digits, each once, added up where they belong.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn above_diagonal<const N: usize, const WIDE: usize>(x: &Digits) -> [__m512i; WIDE] {
    /// The lanes above one.
    fn lanes_above(lane: isize) -> __mmask8 {
        (0..LANES as isize).filter(|other| *other > lane).fold(0, |mask, lane| mask | 1 << lane)
    }

    let mut wide = [_mm512_setzero_si512(); WIDE];
    for r in 0..LANES as isize {
        // Where the other digit is the greater one, for the vector with this digit and the next; further up it is everywhere.
        let low_lanes = [lanes_above(2 * r), lanes_above(2 * r - 8)];
        let high_lanes = [lanes_above(2 * r + 1), lanes_above(2 * r - 7)];
        for p in 0..N {
            let digit = _mm512_set1_epi64(x.0[PADDING + LANES * p + r as usize] as i64);
            for q in p..=N {
                let place = (LANES * q) as isize - r;
                // SAFETY: the feature is there, and these are digits of the number or zeros around them.
                let (low, high) = unsafe { (x.load(place), x.load(place - 1)) };
                let [low_lanes, high_lanes] =
                    [low_lanes, high_lanes].map(|lanes| lanes.get(q - p).copied().unwrap_or(0xff));
                wide[p + q] = _mm512_mask_madd52lo_epu64(wide[p + q], low_lanes, digit, low);
                wide[p + q] = _mm512_mask_madd52hi_epu64(wide[p + q], high_lanes, digit, high);
            }
        }
    }
    wide
}

/// Carries what is above 52 bits in the upper half on, and stores it.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline]
fn normalise<const N: usize, const WIDE: usize>(wide: &[__m512i; WIDE], x: &mut Digits) {
    let mask = _mm512_set1_epi64(MASK as i64);
    let mut digits = [_mm512_setzero_si512(); N];
    let mut carried = _mm512_setzero_si512();
    // Digits that carry one on, and those that do if one is carried to them. From here on, it is never more than one.
    let (mut generate, mut propagate) = (0_u64, 0_u64);
    for (at, (digits, wide)) in digits.iter_mut().zip(&wide[N..]).enumerate() {
        let carry = _mm512_srli_epi64::<{ BITS as u32 }>(*wide);
        *digits = _mm512_add_epi64(_mm512_and_si512(*wide, mask), _mm512_alignr_epi64::<7>(carry, carried));
        carried = carry;
        generate |= u64::from(_mm512_cmpgt_epu64_mask(*digits, mask)) << (LANES * at);
        propagate |= u64::from(_mm512_cmpeq_epu64_mask(*digits, mask)) << (LANES * at);
    }
    // An addition carries through the ones of `propagate` as the digits do.
    let carries = (generate << 1).wrapping_add(propagate) ^ propagate;
    for (at, digits) in digits.into_iter().enumerate() {
        let lanes = (carries >> (LANES * at)) as __mmask8;
        let digits = _mm512_mask_add_epi64(digits, lanes, digits, _mm512_set1_epi64(1));
        // SAFETY: eight of the number's digits; the store asks for no alignment.
        unsafe {
            let to = x.0[PADDING + LANES * at..][..LANES].as_mut_ptr();
            _mm512_storeu_si512(to.cast(), _mm512_and_si512(digits, mask));
        }
    }
}
