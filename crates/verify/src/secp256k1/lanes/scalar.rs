//! Numbers modulo the order of the group, in plain integers: the part of a verification before the points.

use super::inverse;

/// A number below the order, in 64-bit limbs, the lowest first.
pub(super) type Scalar = [u64; 4];

const ORDER: Scalar = [0xbfd25e8cd0364141, 0xbaaedce6af48a03b, 0xfffffffffffffffe, 0xffffffffffffffff];
/// -1 / order modulo 2^64.
const ORDER_INVERSE: u64 = 0x4b0dff665588b13f;
/// 2^256 modulo the order: one in Montgomery's form.
const ONE: Scalar = [0x402da1732fc9bebf, 0x4551231950b75fc4, 1, 0];
/// 2^512 modulo the order.
const SQUARE: Scalar = [0x896cf21467d7d140, 0x741496c20e7cf878, 0xe697f5e45bcd07c6, 0x9d671cd581c69bc5];

/// The number by which the curve's endomorphism multiplies points.
pub(super) const LAMBDA: Scalar = [0xdf02967c1b23bd72, 0x122e22ea20816678, 0xa5261c028812645a, 0x5363ad4cc05c30e0];

/// A small number.
pub(super) fn from_u64(number: u64) -> Scalar {
    [number, 0, 0, 0]
}

/// The limbs of a big-endian number of 256 bits.
pub(super) fn from_bytes(bytes: &[u8; 32]) -> [u64; 4] {
    let mut limbs = [0; 4];
    for (limb, bytes) in limbs.iter_mut().rev().zip(bytes.as_chunks().0) {
        *limb = u64::from_be_bytes(*bytes);
    }
    limbs
}

/// The big-endian bytes of a number of 256 bits.
pub(super) fn to_bytes(limbs: &[u64; 4]) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (bytes, limb) in bytes.as_chunks_mut().0.iter_mut().zip(limbs.iter().rev()) {
        *bytes = limb.to_be_bytes();
    }
    bytes
}

/// a - b, and whether that is negative.
fn subtract(a: Scalar, b: Scalar) -> (Scalar, bool) {
    let mut difference = [0; 4];
    let mut borrow = false;
    for i in 0..4 {
        (difference[i], borrow) = a[i].subtract_with(b[i], borrow);
    }
    (difference, borrow)
}

/// Subtraction with borrow, which stable integers lack.
trait Borrowing {
    fn subtract_with(self, other: u64, borrow: bool) -> (u64, bool);
}

impl Borrowing for u64 {
    fn subtract_with(self, other: u64, borrow: bool) -> (u64, bool) {
        let (once, first) = self.overflowing_sub(other);
        let (twice, second) = once.overflowing_sub(u64::from(borrow));
        (twice, first | second)
    }
}

/// Reduces a number below 2^256, which is below twice the order, modulo the order.
pub(super) fn reduce(number: [u64; 4]) -> Scalar {
    match subtract(number, ORDER) {
        (reduced, false) => reduced,
        (_, true) => number,
    }
}

/// a + b × c + carry, as lower and upper half.
fn multiply_add(a: u64, b: u64, c: u64, carry: u64) -> (u64, u64) {
    let wide = u128::from(a) + u128::from(b) * u128::from(c) + u128::from(carry);
    (wide as u64, (wide >> 64) as u64)
}

/// a × b / 2^256 modulo the order (Montgomery's multiplication).
pub(super) fn multiply(a: &Scalar, b: &Scalar) -> Scalar {
    let mut sum = [0u64; 6];
    for &word in b {
        let mut carry = 0;
        for i in 0..4 {
            (sum[i], carry) = multiply_add(sum[i], a[i], word, carry);
        }
        let (fifth, over) = sum[4].overflowing_add(carry);
        (sum[4], sum[5]) = (fifth, u64::from(over));
        let factor = sum[0].wrapping_mul(ORDER_INVERSE);
        (_, carry) = multiply_add(sum[0], factor, ORDER[0], 0);
        for i in 1..4 {
            (sum[i - 1], carry) = multiply_add(sum[i], factor, ORDER[i], carry);
        }
        let (fourth, over) = sum[4].overflowing_add(carry);
        (sum[3], sum[4]) = (fourth, sum[5] + u64::from(over));
    }
    let low = [sum[0], sum[1], sum[2], sum[3]];
    match subtract(low, ORDER) {
        (_, true) if sum[4] == 0 => low,
        (reduced, _) => reduced,
    }
}

/// a × b modulo the order.
pub(super) fn product(a: &Scalar, b: &Scalar) -> Scalar {
    multiply(&multiply(a, &SQUARE), b)
}

/// a + b modulo the order.
pub(super) fn add(a: &Scalar, b: &Scalar) -> Scalar {
    // a - (order - b), plus the order if that is negative.
    subtract_modulo(a, &negate(b))
}

/// -a modulo the order.
pub(super) fn negate(a: &Scalar) -> Scalar {
    subtract_modulo(&[0; 4], a)
}

fn subtract_modulo(a: &Scalar, b: &Scalar) -> Scalar {
    match subtract(*a, *b) {
        (difference, false) => difference,
        // Adding the order is subtracting what it lacks to 2^256.
        (difference, true) => subtract(difference, subtract([0; 4], ORDER).0).0,
    }
}

/// 1 / a in Montgomery's form, for an `a` in that form.
fn invert(a: &Scalar) -> Scalar {
    let inverse = inverse::invert(a, &ORDER);
    multiply(&multiply(&inverse, &SQUARE), &SQUARE)
}

/// Replaces each number by its inverse, in Montgomery's form, with a single inversion. None may be zero.
pub(super) fn invert_each(numbers: &mut [Scalar]) {
    let mut products = Vec::with_capacity(numbers.len());
    let mut product = ONE;
    for number in numbers.iter_mut() {
        *number = multiply(number, &SQUARE);
        products.push(product);
        product = multiply(&product, number);
    }
    let mut inverse = invert(&product);
    for (number, product) in numbers.iter_mut().zip(products).rev() {
        let next = multiply(&inverse, number);
        *number = multiply(&inverse, &product);
        inverse = next;
    }
}

/// A number between -2^128 and 2^128.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Half {
    pub(super) negative: bool,
    pub(super) magnitude: u128,
}

/// The lower 256 bits of a × b.
fn multiply_low(a: u128, b: &[u64; 4]) -> [u64; 4] {
    let mut product = [0; 4];
    for (at, word) in [a as u64, (a >> 64) as u64].into_iter().enumerate() {
        let mut carry = 0;
        for i in at..4 {
            (product[i], carry) = multiply_add(product[i], word, b[i - at], carry);
        }
    }
    product
}

/// a × b / 2^384, rounded.
fn multiply_high(a: &[u64; 4], b: &[u64; 4]) -> u128 {
    let mut product = [0u64; 8];
    for (at, &word) in b.iter().enumerate() {
        let mut carry = 0;
        for i in 0..4 {
            (product[at + i], carry) = multiply_add(product[at + i], a[i], word, carry);
        }
        product[at + 4] = carry;
    }
    let round = u128::from(product[5] >> 63);
    (u128::from(product[7]) << 64 | u128::from(product[6])) + round
}

fn to_half(number: [u64; 4]) -> Half {
    let negative = number[3] >> 63 == 1;
    let number = if negative { subtract([0; 4], number).0 } else { number };
    Half { negative, magnitude: u128::from(number[1]) << 64 | u128::from(number[0]) }
}

/// Splits k into two halves k1 and k2 with k = k1 + k2 × lambda modulo the order.
///
/// lambda is the number by which the curve's endomorphism (x, y) -> (beta x, y) multiplies points. Uses the lattice of
/// short vectors (a1, b1) and (a2, b2) with a + b × lambda = 0, as in "Guide to Elliptic Curve Cryptography", algorithm
/// 3.74; b2 = a1.
pub(super) fn split(k: &Scalar) -> [Half; 2] {
    const A1: [u64; 4] = [0xe86c90e49284eb15, 0x3086d221a7d46bcd, 0, 0];
    const MINUS_B1: [u64; 4] = [0x6f547fa90abfe4c3, 0xe4437ed6010e8828, 0, 0];
    const A2: [u64; 4] = [0x57c1108d9d44cfd8, 0x14ca50f7a8e2f3f6, 1, 0];
    /// 2^384 × b2 / order and 2^384 × -b1 / order, rounded.
    const G1: [u64; 4] = [0xe893209a45dbb031, 0x3daa8a1471e8ca7f, 0xe86c90e49284eb15, 0x3086d221a7d46bcd];
    const G2: [u64; 4] = [0x1571b4ae8ac47f71, 0x221208ac9df506c6, 0x6f547fa90abfe4c4, 0xe4437ed6010e8828];
    let c1 = multiply_high(k, &G1);
    let c2 = multiply_high(k, &G2);
    // The halves are shorter than 129 bits, so 256 bits with a sign are enough for intermediate results.
    let k1 = subtract(subtract(*k, multiply_low(c1, &A1)).0, multiply_low(c2, &A2)).0;
    let k2 = subtract(multiply_low(c1, &MINUS_B1), multiply_low(c2, &A1)).0;
    [to_half(k1), to_half(k2)]
}
