use proptest::prelude::*;

use super::{points, scalars};
use crate::bls12_381::{Fp, Fp2, Fp12, G1, G2, Point, Scalar, is_product_one, miller_loop, multi_pairing, pairing};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn pairings_are_bilinear(left in points::<G1>(), right in points::<G2>(), a in scalars(), b in scalars()) {
        let product = pairing(&left.multiply(&(a * b)), &right);
        prop_assert_eq!(pairing(&left.multiply(&a), &right.multiply(&b)), product);
        prop_assert!(is_product_one(&[(left.multiply(&a), right.multiply(&b)), (left.multiply(&b).negate(), right.multiply(&a))]));
        prop_assert_eq!(product.is_one(), left.is_infinity() || right.is_infinity() || (a * b).is_zero());
    }
}

/// More pairs than blst takes at once, with points at infinity among them.
#[test]
fn products_of_many_pairings() {
    let pair = |number: u64| {
        let left = Point::<G1>::generator().multiply(&Scalar::from(number % 5));
        (left, Point::<G2>::generator().multiply(&Scalar::from(number % 7)))
    };
    for count in [0, 1, 2, 15, 16, 17, 33, 40] {
        let pairs = Vec::from_iter((0..count).map(pair));
        let product =
            pairs.iter().map(|(left, right)| pairing(left, right)).fold(Fp12::one(), |product, one| product * one);
        assert_eq!(multi_pairing(&pairs), product);
        assert_eq!(miller_loop(&pairs).final_exponentiation(), product);
        let sum = (0..count).map(|number| (number % 5) * (number % 7)).sum::<u64>();
        assert_eq!(product, pairing(&Point::generator().multiply(&Scalar::from(sum)), &Point::generator()));
    }
}

/// Products of coefficients by the definition of the tower.
#[test]
fn the_tower_is_what_it_is_said_to_be() {
    let element = |seed: u64| Fp12::new(std::array::from_fn(|at| Fp::from(seed + at as u64) * -Fp::from(977)));
    let (left, right) = (element(3), element(10_007));
    // w^12 - 2 w^6 + 2 = 0: w² = v, v³ = u + 1, u² = -1. The coefficient of u^i v^j w^k stands at 6 k + 2 j + i.
    let power = |at: usize| at / 6 + 2 * (at / 2 % 3);
    let mut product = [Fp2::default(); 6];
    let coefficient = |of: &Fp12, at: usize| Fp2::new(of.coefficients()[2 * at], of.coefficients()[2 * at + 1]);
    for i in 0..6 {
        for j in 0..6 {
            let (power, factor) = (power(2 * i) + power(2 * j), coefficient(&left, i) * coefficient(&right, j));
            let factor = if power >= 6 { factor * Fp2::new(Fp::one(), Fp::one()) } else { factor };
            let at = (power % 6 % 2) * 3 + power % 6 / 2;
            product[at] = product[at] + factor;
        }
    }
    let product = Fp12::new(std::array::from_fn(|at| product[at / 2].coefficients()[at % 2]));
    assert_eq!(left * right, product);
    assert!((left * left.inverse()).is_one());
    assert_eq!(left + right - right, left);
}
