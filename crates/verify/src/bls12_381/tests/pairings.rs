use proptest::prelude::*;

use super::{from_hex, points, scalars};
use crate::bls12_381::backend::Backend;
use crate::bls12_381::pairing::finite;
use crate::bls12_381::{
    Fp, Fp2, Fp12, G1, G2, Point, Scalar, is_product_one, miller_loop, multi_pairing, pairing, pairings,
};

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
        let each = Vec::from_iter(pairs.iter().map(|(left, right)| pairing(left, right)));
        let product = each.iter().fold(Fp12::one(), |product, one| product * *one);
        assert_eq!(pairings(&pairs), each);
        assert_eq!(multi_pairing(&pairs), product);
        assert_eq!(miller_loop(&pairs).final_exponentiation(), product);
        for backend in Backend::tested() {
            let value = Fp12(backend.miller_loop(&finite(&pairs)));
            assert_eq!(value.final_exponentiation(), product, "{count} pairs on {backend:?}");
        }
        let sum = (0..count).map(|number| (number % 5) * (number % 7)).sum::<u64>();
        assert_eq!(product, pairing(&Point::generator().multiply(&Scalar::from(sum)), &Point::generator()));
    }
}

/// 1 + 2 u + 3 v + ... to the power of 3 (p^12 - 1) / r, computed with plain big integers, modulo w^12 - 2 w^6 + 2.
const POWER: [&str; 12] = [
    "09ec3161bd9e7442885d9a5003c62d24da10176b5c0cf1f6b25539e17fccae6eb440c4bb20157b25e276afe09e3adc30",
    "0e637f05c38a877ea28b2f94ea0100d6b913241b16b11cca7af03b92d69ea87574b77c878c9b3dcb47adfcd69311e00b",
    "11ee03dbfb8473297afc1ecd192088de0aa665d85607ac107aec8ad15bdfe291adc4a561bf5263a89ee1efc11eb5d3c9",
    "0ecbb2ff827a6aa034e813ac551040d6c06effb1f27372ce743302bc56013e3a5edde28d66acc2b21281c79a322464f2",
    "09a0e0be17e1c12f29114fa361bb59389b259e9f2dfa905d2c3cc6f58fb7a105f921188e188035a9b989f8e3f4a831da",
    "07116f0252632816d7040e719838172bbc89a383dc5f2e3454b436bdcdd32c9ae0e3da53a863fa3b0cd5d04c796b2443",
    "0516ef439fc87fd2dbabe3b27fda4ccc74ed7f81593743d178581533c7b2b7cb07debeda4fdf487b00d62af18aeefc27",
    "14797f842bff1cbd7cc8fe138bcf9e229b5b2df4ec2ff5d67e6606b7b319504d908a380d697c2f99763dfecb61e9effe",
    "0cdafa84c22b742b5bfb5ac065c9ecb86e12b06e235c0ac74fc990128524b4a548cb8cc1b5025bc434bf221ca37cb2e7",
    "0879daa12376c4dd77ac19348184e3b5799f56f5f9d3b420acdd6f6dbcbc4e109327728628ee255e604508ffa0c6a06b",
    "145fe8afbe79d32ee10e485419040b3b563a318531fd64db812245284857aa52686719c8b1105a486ff298667b2bd3c2",
    "13ba5184d194323878c427ff2cd1865dc123099693e2700f6fd472e6c2b0b98f9ca2aad9516cc52ae2cf79b6e7c0cefe",
];

#[test]
fn the_exponent_is_three_times_that_of_the_tate_pairing() {
    let element = Fp12::new(std::array::from_fn(|at| Fp::from(at as u64 + 1)));
    let expected = POWER.map(|digits| Fp::parse(from_hex(digits).as_slice().try_into().unwrap()).unwrap());
    assert_eq!(element.final_exponentiation().coefficients(), expected);
}

/// Products of coefficients, by the definition of the tower.
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
