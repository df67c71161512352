//! The product of field elements, computed as each vector does it best.

#[cfg(any(test, fuzzing))]
use crate::lanes::Model;
#[cfg(target_arch = "x86_64")]
use crate::lanes::{Fma, Ifma};
use crate::lanes::{LIMB, Pair, Plain, Vector, wide};

use super::limbs::{FOLD, TOP, multiply_limbs, square_limbs, tight};

/// A vector that field elements are multiplied on.
pub(in crate::secp256k1) trait Kernel: Vector {
    /// Up to this many signatures, libsecp256k1 verifies them one after the other in less time than the lanes.
    const WORTH: usize = 1;

    /// The product of two field elements, in limbs as [`super::field::Element`] has them.
    fn multiply(a: &[Self; 5], b: &[Self; 5]) -> [Self; 5];

    /// The square of a field element.
    fn square(a: &[Self; 5]) -> [Self; 5];

    /// The product plus a sum.
    #[inline(always)]
    fn multiply_plus(a: &[Self; 5], b: &[Self; 5], sum: &[Self; 5]) -> [Self; 5] {
        plus(Self::multiply(a, b), sum)
    }

    /// The square plus a sum.
    #[inline(always)]
    fn square_plus(a: &[Self; 5], sum: &[Self; 5]) -> [Self; 5] {
        plus(Self::square(a), sum)
    }
}

#[inline(always)]
fn plus<V: Kernel>(mut product: [V; 5], sum: &[V; 5]) -> [V; 5] {
    for (limb, more) in product.iter_mut().zip(sum) {
        *limb = *limb + *more;
    }
    tight(product)
}

/// Products of limbs of 52 bits, as the lanes have them.
macro_rules! in_limbs {
    ($vector:ty, worth $worth:literal) => {
        impl Kernel for $vector {
            const WORTH: usize = $worth;

            #[inline(always)]
            fn multiply(a: &[Self; 5], b: &[Self; 5]) -> [Self; 5] {
                multiply_limbs(a, b, &[a[0].with(0); 5])
            }

            #[inline(always)]
            fn square(a: &[Self; 5]) -> [Self; 5] {
                square_limbs(a, &[a[0].with(0); 5])
            }

            #[inline(always)]
            fn multiply_plus(a: &[Self; 5], b: &[Self; 5], sum: &[Self; 5]) -> [Self; 5] {
                multiply_limbs(a, b, sum)
            }

            #[inline(always)]
            fn square_plus(a: &[Self; 5], sum: &[Self; 5]) -> [Self; 5] {
                square_limbs(a, sum)
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
in_limbs!(Ifma, worth 1);
#[cfg(target_arch = "x86_64")]
in_limbs!(Fma, worth 2);
#[cfg(any(test, fuzzing))]
in_limbs!(Model, worth 1);

impl<V: Kernel> Kernel for Pair<V> {
    const WORTH: usize = V::WORTH;

    #[inline(always)]
    fn multiply(a: &[Self; 5], b: &[Self; 5]) -> [Self; 5] {
        let ((a, c), (b, d)) = (limbs(a), limbs(b));
        Self::join(V::multiply(&a, &b), V::multiply(&c, &d))
    }

    #[inline(always)]
    fn square(a: &[Self; 5]) -> [Self; 5] {
        let (a, b) = limbs(a);
        Self::join(V::square(&a), V::square(&b))
    }

    #[inline(always)]
    fn multiply_plus(a: &[Self; 5], b: &[Self; 5], sum: &[Self; 5]) -> [Self; 5] {
        let ((a, c), (b, d), (e, f)) = (limbs(a), limbs(b), limbs(sum));
        Self::join(V::multiply_plus(&a, &b, &e), V::multiply_plus(&c, &d, &f))
    }

    #[inline(always)]
    fn square_plus(a: &[Self; 5], sum: &[Self; 5]) -> [Self; 5] {
        let ((a, b), (c, d)) = (limbs(a), limbs(sum));
        Self::join(V::square_plus(&a, &c), V::square_plus(&b, &d))
    }
}

#[inline(always)]
fn limbs<V: Vector>(limbs: &[Pair<V>; 5]) -> ([V; 5], [V; 5]) {
    let [a, b, c, d, e] = limbs;
    ([a.0, b.0, c.0, d.0, e.0], [a.1, b.1, c.1, d.1, e.1])
}

impl Kernel for Plain {
    // The function is so long that a call costs it nothing.
    #[inline(never)]
    fn multiply(a: &[Self; 5], b: &[Self; 5]) -> [Self; 5] {
        let mut columns = [0; 9];
        for i in 0..5 {
            for j in 0..5 {
                columns[i + j] += wide(a[i].0, b[j].0);
            }
        }
        reduce(columns)
    }

    #[inline(never)]
    fn square(a: &[Self; 5]) -> [Self; 5] {
        let mut columns = [0; 9];
        for i in 0..5 {
            columns[2 * i] += wide(a[i].0, a[i].0);
            for j in i + 1..5 {
                columns[i + j] += wide(2 * a[i].0, a[j].0);
            }
        }
        reduce(columns)
    }
}

/// The element with these columns, which are sums of at most five products of limbs each.
#[inline(always)]
fn reduce(mut columns: [u128; 9]) -> [Plain; 5] {
    // 2^260 is 16 times 2^256.
    let fold = 16 * FOLD;
    let mut upper = [0; 5];
    for at in 0..4 {
        upper[at] = columns[5 + at] as u64 & LIMB;
        let carry = columns[5 + at] >> 52;
        if at < 3 { columns[6 + at] += carry } else { upper[4] = carry as u64 }
    }
    let mut limbs = [0; 5];
    let mut carry = 0;
    for at in 0..5 {
        let column = columns[at] + wide(upper[at], fold) + carry;
        limbs[at] = column as u64 & LIMB;
        carry = column >> 52;
    }
    // The part above 2^256: at most 55 bits above 2^260, and four below.
    let over = (carry as u64) << 4 | limbs[4] >> 48;
    limbs[4] &= TOP;
    let mut carry = wide(over, FOLD);
    for limb in &mut limbs {
        carry += u128::from(*limb);
        *limb = carry as u64 & LIMB;
        carry >>= 52;
    }
    limbs.map(Plain)
}
