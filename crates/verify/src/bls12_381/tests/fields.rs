use ::blst::*;
use proptest::prelude::*;

use crate::bls12_381::field::Field;
use crate::bls12_381::portable::result;
use crate::bls12_381::words::PRIME;
use crate::bls12_381::{Fp, Fp2, Fp12, products};

/// Numbers below p around its special values and those of its words, and others; in Montgomery's form.
pub(in crate::bls12_381) fn elements() -> impl Strategy<Value = Fp> {
    let word = prop_oneof![any::<u64>(), prop::sample::select(vec![0, 1, u64::MAX, 1 << 52, (1 << 52) - 1, 1 << 63])];
    let near = prop::sample::select(vec![[0; 6], PRIME, [0, 0, 0, 1, 0, 0], PRIME.map(|word| word / 2)]);
    let near = (near, -3_i64..3).prop_map(|(mut number, distance)| {
        number[0] = number[0].wrapping_add_signed(distance);
        number
    });
    prop_oneof![prop::array::uniform6(word), near].prop_map(|mut number: [u64; 6]| {
        if number.iter().rev().ge(PRIME.iter().rev()) {
            number[5] %= PRIME[5];
        }
        Fp(blst_fp { l: number })
    })
}

fn pairs() -> impl Strategy<Value = Fp2> {
    (elements(), elements()).prop_map(|(c0, c1)| Fp2::new(c0, c1))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_field_agrees_with_blst(a in elements(), b in elements()) {
        prop_assert_eq!((a + b).0, result!(blst_fp_add(&a.0, &b.0)));
        prop_assert_eq!((a - b).0, result!(blst_fp_sub(&a.0, &b.0)));
        prop_assert_eq!((a * b).0, result!(blst_fp_mul(&a.0, &b.0)));
        prop_assert_eq!((-a).0, result!(blst_fp_cneg(&a.0, true)));
        prop_assert_eq!(a.square().0, result!(blst_fp_sqr(&a.0)));
        prop_assert_eq!(a.equals(&b), a == b);
        prop_assert!(a.equals(&(a + b - b)));
        prop_assert_eq!(products::in_fp(&[a, b], 3), [a.square().square(), b.square().square()]);
    }

    #[test]
    fn its_extension_agrees_with_blst(a in pairs(), b in pairs()) {
        prop_assert_eq!((a + b).0, result!(blst_fp2_add(&a.0, &b.0)));
        prop_assert_eq!((a - b).0, result!(blst_fp2_sub(&a.0, &b.0)));
        prop_assert_eq!((-a).0, result!(blst_fp2_cneg(&a.0, true)));
        prop_assert_eq!(a * Fp2::new(b.coefficients()[0], Fp::default()), a.times(b.coefficients()[0]));
        prop_assert_eq!(a.equals(&b), a == b);
    }
}

#[test]
fn products_in_fp12_agree_with_blst() {
    let elements =
        Vec::from_iter((0..9).map(|number| Fp12::new(std::array::from_fn(|at| Fp::from(number * at as u64 + 1)))));
    let products = elements.iter().map(|element| *element * *element * *element).collect::<Vec<_>>();
    assert_eq!(products::in_fp12(&elements, 2), products);
}
