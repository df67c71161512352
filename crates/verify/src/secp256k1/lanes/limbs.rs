//! Arithmetic modulo p = 2^256 - 2^32 - 977 on numbers of five limbs of 52 bits, the lowest first, one in each lane.

use crate::lanes::{LIMB, Vector, add_product, columns, multiply, square, sums};

/// 2^256 - p.
pub(super) const FOLD: u64 = 0x1_0000_03d1;
/// The bits of the highest limb.
pub(super) const TOP: u64 = (1 << 48) - 1;
/// p.
pub(super) const PRIME: [u64; 5] = [0xf_fffe_ffff_fc2f, LIMB, LIMB, LIMB, TOP];

/// Reduces the limbs of a sum of elements to at most 52 bits, and the whole to below 2^256 + 2^218.
#[inline(always)]
pub(super) fn tight<V: Vector>(mut sum: [V; 5]) -> [V; 5] {
    let (fold, top) = (sum[0].with(FOLD), sum[0].with(TOP));
    // At most a few bits: no sum has more than 30 elements. Nor is it negative: each subtraction adds twice p.
    let over = sum[4].right::<48>();
    sum[4] = sum[4] & top;
    sum[0] = sum[0].add_low(over, fold);
    carry(sum)
}

/// Normalises limbs to 52 bits; the last keeps the excess.
#[inline(always)]
fn carry<V: Vector>(mut limbs: [V; 5]) -> [V; 5] {
    let limb = limbs[0].with(LIMB);
    for i in 0..4 {
        limbs[i + 1] = limbs[i + 1] + limbs[i].right_signed::<52>();
        limbs[i] = limbs[i] & limb;
    }
    limbs
}

/// Initial value of columns, so that none is negative if the lower parts of products may be: in total a multiple of p.
const fn bias<V: Vector>() -> [u64; 10] {
    // A column has at most six lower parts, of half of 2^52 each. So each column starts with four times 2^52 more, and
    // the next one with four less, which is the same value.
    const MOST: u64 = 4;
    let mut bias = [0; 10];
    if V::LEAST_LOW == 0 {
        return bias;
    }
    let mut at = 0;
    while at < 9 {
        bias[at] = (MOST << 52) - if at > 0 { MOST } else { 0 };
        at += 1;
    }
    // The middle column has what the highest column would lack: 2^260 is 16 times 2^256. And p more, so that the whole
    // is not negative.
    bias[4] -= MOST * 16 * FOLD;
    let mut at = 0;
    while at < 5 {
        bias[at] += PRIME[at];
        at += 1;
    }
    bias
}

/// Reduces the product with these columns, each of at most ten parts of products, plus a sum.
#[inline(always)]
fn reduce<V: Vector>(wide: [V; 10], sum: &[V; 5]) -> [V; 5] {
    let any = wide[0];
    let mut wide = wide;
    for (column, bias) in wide.iter_mut().zip(bias::<V>()) {
        *column = *column + any.with(bias);
    }
    let [a, b, c, d, e, mut upper @ ..] = wide;
    // The product is below 2^520, so the last column fits a limb.
    for i in 0..4 {
        upper[i + 1] = upper[i + 1] + upper[i].right::<52>();
    }
    // 2^260 is 16 times 2^256.
    let fold = any.with(16 * FOLD).factor();
    let [f, g, h, i, j] = *sum;
    let mut columns = columns(&[a + f, b + g, c + h, d + i, e + j, any.with(0)]);
    for (at, upper) in upper.into_iter().enumerate() {
        add_product::<V, 6>(&mut columns, at, upper.low_factor(), fold);
    }
    // What exceeds 2^256 has at most 42 bits.
    let [.., e, over] = sums::<V, 6>(&columns);
    let over = over.left::<4>() + e.right::<48>();
    add_product::<V, 6>(&mut columns, 0, over.factor(), any.with(FOLD).factor());
    let [a, b, c, d, ..] = sums::<V, 6>(&columns);
    carry([a, b, c, d, e & any.with(TOP)])
}

/// The product of numbers in limbs of at most 52 bits, plus a sum.
#[inline(always)]
pub(super) fn multiply_limbs<V: Vector>(a: &[V; 5], b: &[V; 5], sum: &[V; 5]) -> [V; 5] {
    reduce(multiply(a, b), sum)
}

/// As [`multiply_limbs`], of a number with itself.
#[inline(always)]
pub(super) fn square_limbs<V: Vector>(a: &[V; 5], sum: &[V; 5]) -> [V; 5] {
    reduce(square(a), sum)
}
