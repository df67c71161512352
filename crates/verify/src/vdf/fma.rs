//! Chained squarings with AVX2 and FMA: signed digits of 47 bits as doubles, four per vector.
//!
//! **A product of two digits** has up to 93 bits, more than a double. A sum of products is held in two doubles, `high`
//! and `low`. `high` lies near 1.5 · 2^99, where the last bit of a double is worth 2^47. A fused multiply-add to `high`
//! drops the bits below; a second one computes them exactly, as a · b - (what was added), and they go to `low`. That
//! takes four operations per product of four lanes, half of them on the multipliers and half on the adders, of which
//! Zen has two each. Rounding is to nearest, as everywhere in Rust, and loses nothing, as [`Squarer::square_times`]
//! shows. (The lanes of curves split products in another way, `lanes/fma.rs`: in five operations, into words with the
//! limbs of IFMA, for which their kernels are written.)
//!
//! **The reduction** is Montgomery's with all digits at once: the square's lower half times -1 / n modulo R is the
//! factor of the multiple of n that cancels that half. Reducing digit by digit would take as many products, but 44
//! carries that wait for each other instead of three.

use std::arch::asm;
use std::arch::x86_64::*;
use std::ops::Range;

use super::adx::Adx;
use super::words::{MAX_WORDS, Portable, Row, digit, power_of_two, subtract_if_not_below};
use crate::lanes::is_emulated;

/// Bits of a digit.
const BITS: usize = 47;
const MASK: i64 = (1 << BITS) - 1;
/// Digits in a vector.
const LANES: usize = 4;
/// Bits of a vector.
const VECTOR: usize = BITS * LANES;
/// Maximum number of vectors in a number: the sums have room for them.
const MAX_VECTORS: usize = 12;
/// Columns, of a vector each, whose sums are in registers at once.
const TILE: usize = 4;

/// Initial value of `high`: the middle of the range from 2^99 to 2^100, in which the last bit of a double is worth
/// 2^47.
const CENTER: f64 = 3.0 * (1_u128 << 98) as f64;
/// A unit of `low`, expressed in the next digit.
const CARRIED: f64 = 1.0 / (1_u64 << BITS) as f64;

/// Minimum number of squarings worth the conversion to digits and back, which takes more than two multiplications.
const LEAST: u64 = 8;

/// Proof that the processor has AVX2 and FMA, and usually ADX for the other work. Only [`Fma::get`] creates one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fma(pub(super) Option<Adx>);

impl Fma {
    /// Detects the instructions, except on the emulated processor of `scripts/test-avx512`, which does not give the
    /// same sums.
    pub(super) fn get() -> Option<Self> {
        let is_there = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        (is_there && !is_emulated()).then(|| Self(Adx::get()))
    }
}

type Vector = __m256d;
/// The digits of a number, from the lowest.
type Digits = [Vector; MAX_VECTORS + 1];

/// Four sums of products, for four adjacent digits.
#[derive(Clone, Copy)]
struct Column {
    high: Vector,
    low: Vector,
}

impl Column {
    /// Sums that consist only of these numbers so far.
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn new(low: Vector) -> Self {
        Self { high: _mm256_set1_pd(CENTER), low }
    }
}

/// A number's digits shifted up by zero to three lanes: the factors of each of four digits, so that products land in
/// their columns. There are zeros before the first vector and after the last, so that tiles may extend past the ends.
#[derive(Clone, Debug)]
struct Shifts([[Vector; LANES]; Shifts::LENGTH]);

impl Shifts {
    /// Zeros before the first vector.
    const FRONT: usize = TILE - 1;
    const LENGTH: usize = Self::FRONT + MAX_VECTORS + TILE;

    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn new(digits: &[Vector]) -> Self {
        let mut shifts = Self([[_mm256_setzero_pd(); LANES]; Self::LENGTH]);
        shifts.set(digits);
        shifts
    }

    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn set(&mut self, digits: &[Vector]) {
        let zero = _mm256_setzero_pd();
        let mut below = zero;
        for (shifts, digits) in self.0[Self::FRONT..].iter_mut().zip(digits.iter().copied().chain([zero])) {
            let two = _mm256_permute2f128_pd::<0x21>(below, digits);
            let [one, three] = [_mm256_shuffle_pd::<0b0101>(two, digits), _mm256_shuffle_pd::<0b0101>(below, two)];
            *shifts = [digits, one, two, three];
            below = digits;
        }
    }

    /// `count` vectors from `first` on, which may be before the first one.
    fn from(&self, first: isize, count: usize) -> &[[Vector; LANES]] {
        &self.0[(Self::FRONT as isize + first) as usize..][..count]
    }
}

/// The products of one digit in some columns: each with its column, and the table and vector that hold the other
/// factors.
macro_rules! row {
    ($digit:literal, $row:literal, $($column:literal $table:ident $vector:literal),+) => {
        concat!(
            "vbroadcastsd {digit}, [{digits} + 8 * ", $digit, "]\n",
            $("vmovapd {rest", $column, "}, {high", $column, "}\n",)+
            $("vfmadd231pd {high", $column, "}, {digit}, [{", stringify!($table), "} + 128 * ", $vector, " + 32 * ", $row, "]\n",)+
            $("vsubpd {rest", $column, "}, {rest", $column, "}, {high", $column, "}\n",)+
            $("vfmadd231pd {rest", $column, "}, {digit}, [{", stringify!($table), "} + 128 * ", $vector, " + 32 * ", $row, "]\n",)+
            $("vaddpd {low", $column, "}, {low", $column, "}, {rest", $column, "}\n",)+
        )
    };
}

/// Adds the products of digits, one vector of them after the other, to columns; `shifts` begins with the factors of the
/// last vector in the first column.
macro_rules! tile {
    ($name:ident, $width:literal, $($column:literal $high:ident $low:ident $rest:ident)+) => {
        #[target_feature(enable = "avx2,fma")]
        #[inline]
        fn $name(columns: &mut [Column; $width], digits: &[Vector], shifts: &[[Vector; LANES]]) {
            assert!(!digits.is_empty() && shifts.len() == digits.len() - 1 + $width);
            $(let Column { high: mut $high, low: mut $low } = columns[$column];)+
            // SAFETY: the features are enabled. The loop runs once per vector of digits, and reads its four digits and
            // as many vectors of `shifts` as there are columns, each time one further down, the last time from the
            // first one on.
            unsafe {
                asm!(
                    "2:",
                    row!(0, 0, $($column table $column),+),
                    row!(1, 1, $($column table $column),+),
                    row!(2, 2, $($column table $column),+),
                    row!(3, 3, $($column table $column),+),
                    "add {digits}, 32",
                    "sub {table}, 128",
                    "dec {count}",
                    "jnz 2b",
                    $($high = inout(ymm_reg) $high, $low = inout(ymm_reg) $low, $rest = out(ymm_reg) _,)+
                    digit = out(ymm_reg) _,
                    digits = inout(reg) digits.as_ptr() => _,
                    table = inout(reg) shifts[digits.len() - 1..].as_ptr() => _,
                    count = inout(reg) digits.len() => _,
                    options(nostack, readonly),
                );
            }
            *columns = [$(Column { high: $high, low: $low }),+];
        }
    };
}
tile!(tile_of_3, 3, 0 high0 low0 rest0 1 high1 low1 rest1 2 high2 low2 rest2);
tile!(tile_of_4, 4, 0 high0 low0 rest0 1 high1 low1 rest1 2 high2 low2 rest2 3 high3 low3 rest3);

/// The same for the products of a number with itself on and above the diagonal, in a tile that begins with the square
/// of the first of these eight digits. `masked` holds the factors on the diagonal, see [`Prepared::masked`].
#[target_feature(enable = "avx2,fma")]
#[inline]
fn diagonal_tile(
    columns: &mut [Column; TILE],
    digits: &[Vector; 2],
    shifts: &[[Vector; LANES]; TILE],
    masked: &[[Vector; LANES]; 2],
) {
    let [mut first, mut second, mut third, mut fourth] = *columns;
    // SAFETY: the features are enabled, and all reads are inside the arrays: digits 0 to 7, vectors 0 to 3 of `shifts`,
    // both of `masked`.
    unsafe {
        asm!(
            row!(0, 0, 0 masked 0, 1 table 1, 2 table 2, 3 table 3),
            row!(1, 1, 0 masked 0, 1 table 1, 2 table 2, 3 table 3),
            row!(2, 2, 1 masked 0, 2 table 2, 3 table 3),
            row!(3, 3, 1 masked 0, 2 table 2, 3 table 3),
            row!(4, 0, 2 masked 1, 3 table 2),
            row!(5, 1, 2 masked 1, 3 table 2),
            row!(6, 2, 3 masked 1),
            row!(7, 3, 3 masked 1),
            high0 = inout(ymm_reg) first.high, low0 = inout(ymm_reg) first.low, rest0 = out(ymm_reg) _,
            high1 = inout(ymm_reg) second.high, low1 = inout(ymm_reg) second.low, rest1 = out(ymm_reg) _,
            high2 = inout(ymm_reg) third.high, low2 = inout(ymm_reg) third.low, rest2 = out(ymm_reg) _,
            high3 = inout(ymm_reg) fourth.high, low3 = inout(ymm_reg) fourth.low, rest3 = out(ymm_reg) _,
            digit = out(ymm_reg) _,
            digits = in(reg) digits.as_ptr(),
            table = in(reg) shifts.as_ptr(),
            masked = in(reg) masked.as_ptr(),
            options(nostack, readonly, preserves_flags),
        );
    }
    *columns = [first, second, third, fourth];
}

/// Adds the products of digits and another number to columns, the first of which is at `place`. `those` returns the
/// vectors of digits that contribute to the columns between two places.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn add_products(
    columns: &mut [Column],
    mut place: usize,
    digits: &Digits,
    number: &Shifts,
    those: impl Fn(usize, usize) -> Range<usize>,
) {
    let mut columns = columns;
    while !columns.is_empty() {
        let (tile, rest) = columns.split_at_mut(columns.len() / columns.len().div_ceil(TILE));
        let width = tile.len();
        let those = those(place, place + width);
        let shifts = number.from(place as isize - those.end as isize + 1, those.len() - 1 + width);
        let digits = &digits[those];
        match tile {
            [_, _, _] => tile_of_3(tile.as_mut_array().expect("three columns"), digits, shifts),
            _ => tile_of_4(tile.as_mut_array().expect("four, as six and more are threes and fours"), digits, shifts),
        }
        place += width;
        columns = rest;
    }
}

/// The carry from one column to the next, in units of that column's digits times 2^47: the last lane counts.
#[derive(Clone, Copy)]
struct Carry {
    /// `high` of the last column.
    high: Vector,
    /// What exceeds a digit in the last column.
    over: Vector,
}

impl Carry {
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn none() -> Self {
        Self { high: _mm256_setzero_pd(), over: _mm256_setzero_pd() }
    }

    /// One number per digit, below 2^53.
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn sum(&mut self, column: Column) -> Vector {
        let high = _mm256_sub_pd(column.high, _mm256_set1_pd(CENTER));
        let sum = _mm256_fmadd_pd(moved_up(self.high, high), _mm256_set1_pd(CARRIED), column.low);
        self.high = high;
        sum
    }

    /// Digits of up to 2^46 + 2^6, because the carry into a digit is not propagated further.
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn settle(&mut self, column: Column) -> Vector {
        let sum = self.sum(column);
        let center = _mm256_set1_pd(CENTER);
        // Rounded to a multiple of 2^47.
        let over = _mm256_sub_pd(_mm256_add_pd(sum, center), center);
        let digits = _mm256_fmadd_pd(moved_up(self.over, over), _mm256_set1_pd(CARRIED), _mm256_sub_pd(sum, over));
        self.over = over;
        digits
    }
}

/// Shifts the vector up by a lane; the last lane of `below` moves in.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn moved_up(below: Vector, this: Vector) -> Vector {
    _mm256_shuffle_pd::<0b0101>(_mm256_permute2f128_pd::<0x21>(below, this), this)
}

/// A number prepared for squaring.
struct Prepared {
    /// Its doubled digits, for the products above the diagonal.
    doubled: Digits,
    shifts: Shifts,
    /// For each vector, the factors of its doubled digits on the diagonal: half of the digit itself, the following
    /// digits, and zeros below. For the first two digits of the vector they are in the vector itself, for the others in
    /// the next one.
    masked: [[Vector; LANES]; MAX_VECTORS + 1],
}

impl Prepared {
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn new(digits: &[Vector]) -> Self {
        let zero = _mm256_setzero_pd();
        let masked = [[zero; LANES]; MAX_VECTORS + 1];
        let mut prepared = Self { doubled: [zero; MAX_VECTORS + 1], shifts: Shifts::new(&[]), masked };
        prepared.set(digits);
        prepared
    }

    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn set(&mut self, digits: &[Vector]) {
        let masks = [_mm256_setr_pd(0.5, 1.0, 1.0, 1.0), _mm256_setr_pd(0.0, 0.0, 0.5, 1.0)];
        self.shifts.set(digits);
        for (at, digits) in digits.iter().enumerate() {
            self.doubled[at] = _mm256_add_pd(*digits, *digits);
            let [here, next] = [self.shifts.0[Shifts::FRONT + at], self.shifts.0[Shifts::FRONT + at + 1]];
            let factors = [here[0], here[1], next[2], next[3]];
            self.masked[at] = std::array::from_fn(|row| _mm256_mul_pd(factors[row], masks[row % 2]));
        }
    }
}

/// A modulus with constants for squarings in digits.
#[derive(Clone, Debug)]
pub(super) struct Squarer {
    /// Vectors in a number.
    vectors: usize,
    modulus: Shifts,
    /// -1 / modulus, modulo R.
    inverse: Shifts,
    /// Factors that convert a number in words, in Montgomery's form, to the form in digits, and back.
    to_digits: Box<[u64]>,
    to_words: Box<[u64]>,
}

impl Squarer {
    /// For a modulus in words and its negated inverse modulo 2^64, if its length is supported.
    pub(super) fn new(_: Fma, modulus: &[u64], negated_inverse: u64) -> Option<Box<Self>> {
        let bits = 64 * modulus.len() - modulus.last()?.leading_zeros() as usize;
        // R is at least eight times the modulus.
        let vectors = (bits + 3).div_ceil(VECTOR);
        if !matches!(vectors, 6 | 11 | 12) {
            return None;
        }
        let inverse = negated_inverse_of(modulus, negated_inverse, (VECTOR * vectors).div_ceil(64));
        let (to_digits, to_words) =
            (power_of_two(VECTOR * vectors, modulus), power_of_two(128 * modulus.len() - VECTOR * vectors, modulus));
        // SAFETY: an `Fma` exists, so the processor has the instructions.
        let [modulus, inverse] =
            [modulus, &inverse].map(|words| unsafe { Shifts::new(&from_words(words, LANES * vectors)[..vectors]) });
        Some(Box::new(Self { vectors, modulus, inverse, to_digits, to_words }))
    }

    /// Whether this number of squarings is worth the conversion.
    pub(super) fn is_worth(&self, times: u64) -> bool {
        times >= LEAST
    }

    /// Squares `a`, in Montgomery's form in words, `times` times. `multiply` multiplies numbers in words.
    pub(super) fn square(&self, modulus: &[u64], a: &mut [u64], times: u64, multiply: impl Fn(&mut [u64], &[u64])) {
        multiply(a, &self.to_digits);
        // SAFETY: `self` was created with an `Fma`, so the processor has the instructions.
        let mut over = unsafe {
            let mut digits = from_words(a, LANES * self.vectors);
            match self.vectors {
                6 => self.square_times::<6>(&mut digits, times),
                11 => self.square_times::<11>(&mut digits, times),
                _ => self.square_times::<12>(&mut digits, times),
            }
            to_words(&digits, modulus, a)
        };
        while subtract_if_not_below(a, &mut over, modulus) {}
        multiply(a, &self.to_words);
    }

    /// Replaces the digits of x by those of x² / R modulo the modulus n, `times` times, where R is 2^(188 · N).
    ///
    /// x is between -2 n and 2 n, before and after: 4 n² / R is at most n / 2, and the added multiple of n is little
    /// more.
    ///
    /// No rounding is lost. A digit is at most 2^46 + 2^6 and a sum has at most 4 N ≤ 48 products, so `high` is within
    /// little more than 48 · 2^92 of the middle, which leaves room for 2^98 = 64 · 2^92. An addition to `high` leaves
    /// at most 2^46 to `low`. There are at most 2 N + 1 of them for the square, where most products are doubled, and 4
    /// N for what is added to it; with the units of `high` moved to `low`, 2^45 for each product, that is (2 N + 1 + 2
    /// N + 4 N + 2 N) · 2^46 ≤ 121 · 2^46 < 2^53.
    #[target_feature(enable = "avx2,fma")]
    fn square_times<const N: usize>(&self, x: &mut Digits, times: u64) {
        const { assert!(N <= MAX_VECTORS && N >= 6) };
        let zero = _mm256_setzero_pd();
        let nothing = Column::new(zero);
        let mut number = Prepared::new(&x[..N]);
        let mut factor = [zero; MAX_VECTORS + 1];
        for _ in 0..times {
            // The square's lower half as digits, its upper half as sums.
            let mut wide = square::<N>(&number);
            let mut carry = Carry::none();
            for (digits, column) in factor.iter_mut().zip(&mut wide[..N]) {
                *digits = carry.settle(*column);
                *column = Column::new(*digits);
            }
            for column in &mut wide[N..] {
                *column = Column::new(carry.sum(*column));
            }
            wide[N].low = _mm256_fmadd_pd(moved_up(carry.over, zero), _mm256_set1_pd(CARRIED), wide[N].low);

            // The factor of n: only the lower half of this product is needed.
            let mut low = [nothing; MAX_VECTORS];
            add_products(&mut low[..N], 0, &factor, &self.inverse, |_, end| 0..end);
            let mut carry = Carry::none();
            for (digits, column) in factor.iter_mut().zip(&low[..N]) {
                *digits = carry.settle(*column);
            }

            // The lower half is now a multiple of R. Its topmost digit gives the multiple, because the others are too
            // small to change the rounding.
            add_products(&mut wide[N - 1..2 * N], N - 1, &factor, &self.modulus, |first, _| first.saturating_sub(N)..N);
            let mut carry = Carry::none();
            carry.settle(wide[N - 1]);
            for (digits, column) in x.iter_mut().zip(&wide[N..2 * N]) {
                *digits = carry.settle(*column);
            }
            number.set(&x[..N]);
        }
    }
}

/// The columns of a number's square, followed by some zeros.
#[target_feature(enable = "avx2,fma")]
#[inline]
fn square<const N: usize>(number: &Prepared) -> [Column; 2 * MAX_VECTORS] {
    let mut wide = [Column::new(_mm256_setzero_pd()); 2 * MAX_VECTORS];
    for (tile, columns) in wide.as_chunks_mut::<TILE>().0[..(2 * N).div_ceil(TILE)].iter_mut().enumerate() {
        // The vector whose square is in the first column; earlier ones contribute only products above the diagonal.
        let middle = tile * TILE / 2;
        let first = (tile * TILE).saturating_sub(N).min(middle);
        if first < middle {
            let shifts = number.shifts.from(middle as isize + 1, middle - first - 1 + TILE);
            tile_of_4(columns, &number.doubled[first..middle], shifts);
        }
        let shifts = number.shifts.from(middle as isize, TILE);
        let (digits, masked) = (number.doubled[middle..].first_chunk(), number.masked[middle..].first_chunk());
        let parts = digits.zip(shifts.as_array()).zip(masked);
        let ((digits, shifts), masked) = parts.expect("the arrays are longer than a number");
        diagonal_tile(columns, digits, shifts, masked);
    }
    wide
}

/// The lowest signed digits of a number in words; a carry out of them is dropped.
#[target_feature(enable = "avx2,fma")]
fn from_words(words: &[u64], count: usize) -> Digits {
    let mut digits = [[0.0; LANES]; MAX_VECTORS + 1];
    let mut carry = 0;
    for (number, signed) in digits.as_flattened_mut()[..count].iter_mut().enumerate() {
        let sum = digit::<BITS>(words, number) as i64 + carry;
        carry = i64::from(sum > 1 << (BITS - 1));
        *signed = (sum - (carry << BITS)) as f64;
    }
    digits.map(|[a, b, c, d]| _mm256_setr_pd(a, b, c, d))
}

/// Writes digits plus twice the modulus, a positive sum, to words and returns what exceeds them.
#[target_feature(enable = "avx2,fma")]
fn to_words(digits: &Digits, modulus: &[u64], words: &mut [u64]) -> u64 {
    let mut all = [0; MAX_WORDS + 1];
    let (mut carry, mut bits, mut filled, mut at) = (0, 0_u128, 0, 0);
    for (number, vector) in digits.iter().enumerate() {
        let mut lanes = [0.0; LANES];
        // SAFETY: the feature is enabled, and the store needs no alignment.
        unsafe { _mm256_storeu_pd(lanes.as_mut_ptr(), *vector) };
        for (lane, signed) in lanes.into_iter().enumerate() {
            let sum = signed as i64 + 2 * digit::<BITS>(modulus, LANES * number + lane) as i64 + carry;
            carry = sum >> BITS;
            bits |= ((sum & MASK) as u128) << filled;
            filled += BITS;
            if filled >= 64 {
                all[at] = bits as u64;
                (at, bits, filled) = (at + 1, bits >> 64, filled - 64);
            }
        }
    }
    all[at] = bits as u64;
    debug_assert!(carry == 0 && all[words.len() + 1..].iter().all(|word| *word == 0), "below four times the modulus");
    words.copy_from_slice(&all[..words.len()]);
    all[words.len()]
}

/// -1 / modulus, modulo 2^(64 · length).
fn negated_inverse_of(modulus: &[u64], lowest: u64, length: usize) -> Vec<u64> {
    let mut modulus = modulus.to_vec();
    modulus.resize(length, 0);
    // 1 plus multiples of the modulus, until the words are zero.
    let mut sum = vec![0_u64; length];
    sum[0] = 1;
    let multiply = |at: usize| {
        let factor = sum[at].wrapping_mul(lowest);
        Portable.add(&mut sum[at..], &modulus[..length - at], factor, 0);
        factor
    };
    (0..length).map(multiply).collect()
}
