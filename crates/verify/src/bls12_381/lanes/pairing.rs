//! Pairings that are not multiplied together, one in each lane.

use ::blst::{blst_fp12, blst_fp12_conjugate, blst_fp12_frobenius_map, blst_fp12_inverse, blst_fp12_mul};
use ::blst::{blst_p1_affine, blst_p2_affine};

use super::fp12::Fp12;
use super::miller::{PARAMETER, miller_loops};
use crate::bls12_381::portable::result;
use crate::lanes::Vector;

/// The pairing of each pair. No point may be at infinity.
#[inline(always)]
pub(in crate::bls12_381) fn pairings<V: Vector>(
    any: V,
    pairs: &[(&blst_p1_affine, &blst_p2_affine)],
) -> Vec<blst_fp12> {
    let mut pairings = Vec::with_capacity(pairs.len());
    for pairs in pairs.chunks(V::LANES) {
        let values: Vec<_> = miller_loops(any, pairs).elements().iter().map(easy_part).collect();
        let values = hard_part(any, &Fp12::load(any, |lane| &values[lane]));
        pairings.extend(values.elements().into_iter().take(pairs.len()));
    }
    pairings
}

/// The value to the power of (p^6 - 1) (p² + 1): an element of the cyclotomic subgroup. Most of it is an inversion,
/// which lanes do no faster.
fn easy_part(value: &blst_fp12) -> blst_fp12 {
    let inverse: blst_fp12 = result!(blst_fp12_inverse(value));
    let mut conjugate = *value;
    // SAFETY: the call reads and writes its argument.
    unsafe { blst_fp12_conjugate(&mut conjugate) };
    let power: blst_fp12 = result!(blst_fp12_mul(&conjugate, &inverse));
    let frobenius: blst_fp12 = result!(blst_fp12_frobenius_map(&power, 2));
    result!(blst_fp12_mul(&power, &frobenius))
}

/// The value to the power of 3 (p^4 - p² + 1) / r = (z - 1)² (z + p) (z² + p² - 1) + 3, see
/// [`crate::bls12_381::Fp12::final_exponentiation`].
#[inline(always)]
pub(super) fn hard_part<V: Vector>(any: V, value: &Fp12<V>) -> Fp12<V> {
    let a = power(value).multiply(&value.conjugate());
    let b = power(&a).multiply(&a.conjugate());
    let c = power(&b).multiply(&b.frobenius(1, &Fp12::frobenius_factors(any, 1)));
    let d = power(&power(&c)).multiply(&c.frobenius(2, &Fp12::frobenius_factors(any, 2))).multiply(&c.conjugate());
    d.multiply(&value.cyclotomic_square().multiply(value))
}

/// The value to the power of the parameter z, which is negative.
#[inline(always)]
fn power<V: Vector>(value: &Fp12<V>) -> Fp12<V> {
    value.any().call(
        #[inline(always)]
        || {
            let mut power = *value;
            for bit in (0..PARAMETER.ilog2()).rev() {
                power = power.cyclotomic_square();
                if PARAMETER >> bit & 1 == 1 {
                    power = power.multiply(value);
                }
            }
            power.conjugate()
        },
    )
}
