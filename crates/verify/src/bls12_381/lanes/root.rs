//! Square roots, one in each lane.

use super::field::Lanes;
use super::{Fp, Fp2};
use crate::bls12_381::words::{PRIME, Words};
use crate::lanes::{Mask, Vector, mask};

/// Square roots of elements; the negative of a root is the other root.
pub trait Root: Lanes {
    /// A square root if there is one, otherwise an arbitrary element.
    fn root(&self) -> Self;

    /// Lanes in which the element is larger than its negative, in the order of numbers; the coefficient of u counts
    /// first.
    fn is_larger(&self) -> Mask;
}

impl<V: Vector> Root for Fp<V> {
    #[inline(always)]
    fn root(&self) -> Self {
        in_fp(self)
    }

    fn is_larger(&self) -> Mask {
        let numbers = self.numbers();
        mask::<V>(|lane| is_above_half(&numbers[lane]))
    }
}

impl<V: Vector> Root for Fp2<V> {
    #[inline(always)]
    fn root(&self) -> Self {
        in_fp2(self)
    }

    fn is_larger(&self) -> Mask {
        let (c0, c1) = (self.c0.numbers(), self.c1.numbers());
        mask::<V>(|lane| is_above_half(if c1[lane] == [0; 6] { &c0[lane] } else { &c1[lane] }))
    }
}

/// A shift by fewer than 64 bits.
const fn right(number: Words, bits: u32) -> Words {
    let mut shifted = [0; 6];
    let mut at = 0;
    while at < 6 {
        let above = if at < 5 { number[at + 1] << (64 - bits) } else { 0 };
        shifted[at] = number[at] >> bits | above;
        at += 1;
    }
    shifted
}

/// (p - 1) / 2: of an element and its negative, the larger one is above it.
const HALF: Words = right(PRIME, 1);

/// (p - 3) / 4, of 379 bits.
const EXPONENT: Words = right(PRIME, 2);
const BITS: usize = 379;

/// Bits of the exponent per multiplication: more would take more powers than they save products.
const WINDOW: usize = 5;

fn is_above_half(number: &Words) -> bool {
    number.iter().rev().gt(HALF.iter().rev())
}

/// The element to the power of (p - 3) / 4: for a square the inverse of a root, by sliding windows. Cost: 379 squares
/// and 78 products are 99,400 fused multiply-adds.
#[inline(always)]
fn power<V: Vector>(element: &Fp<V>) -> Fp<V> {
    let bit = |at: usize| EXPONENT[at / 64] >> (at % 64) & 1;
    let mut odd = [*element; 1 << (WINDOW - 1)];
    let square = element.square();
    for at in 1..odd.len() {
        odd[at] = odd[at - 1].multiply(&square);
    }
    let mut power: Option<Fp<V>> = None;
    let mut above = BITS;
    while above > 0 {
        if let (Some(power), 0) = (&mut power, bit(above - 1)) {
            *power = squares(power, 1);
            above -= 1;
            continue;
        }
        let lowest = (above.saturating_sub(WINDOW)..above).find(|at| bit(*at) == 1).unwrap_or(above - 1);
        let digit = (lowest..above).rev().fold(0, |digit, at| 2 * digit + bit(at));
        let factor = odd[digit as usize / 2];
        power = Some(match power {
            Some(power) => squares(&power, above - lowest).multiply(&factor),
            None => factor,
        });
        above = lowest;
    }
    power.unwrap_or(*element)
}

/// Squares `times` times.
#[inline(always)]
fn squares<V: Vector>(element: &Fp<V>, times: usize) -> Fp<V> {
    element.any().call(
        #[inline(always)]
        || {
            let mut power = element.tight();
            for _ in 0..times {
                power = power.square_tight();
            }
            power
        },
    )
}

/// Roots of those elements that are squares.
#[inline(always)]
fn in_fp<V: Vector>(element: &Fp<V>) -> Fp<V> {
    Lanes::multiply(&power(element), element)
}

/// The same in Fp2 (Adj, Rodríguez-Henríquez: Square Root Computation over Even Extension Fields, algorithm 9, with the
/// inverse taken from the second power).
///
/// A root of a + b u is x + y u with x² - y² = a and 2 x y = b. So x² is (a + n) / 2 for one root n of the norm a² +
/// b². The power e = t^((p - 3) / 4) of t = (a + n) / 2 gives s = t e. If t is a square, s is its root x, and e is 1 /
/// x, so that y = b e / 2. If not, s² = -t, which is y² for the other n, and x is - b e / 2.
#[inline(always)]
fn in_fp2<V: Vector>(element: &Fp2<V>) -> Fp2<V> {
    let (a, b) = (&element.c0, &element.c1);
    let half = Fp::half(a.any());
    let norm = in_fp(&Lanes::square(a).plus(&Lanes::square(b)));
    let t = a.plus(&norm).multiply(&half);
    // If b is zero, the root of the norm may be -a: t must be a.
    let t = t.or_if(t.is_zero(), a);
    let e = power(&t);
    let s = t.multiply(&e);
    let other = b.multiply(&e).multiply(&half);
    let is_square = s.multiply(&e).minus(&Fp::one(a.any())).is_zero();
    Fp2 { c0: other.negative().or_if(is_square, &s), c1: s.or_if(is_square, &other) }
}
