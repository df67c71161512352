use ::blst::*;
use proptest::prelude::*;

use super::fp::Fp;
use super::fp2::Fp2;
use super::miller::miller_loops;
use super::pairing::hard_part;
use super::{miller_loop, pairings};
use crate::bls12_381::portable::{self, result};
use crate::bls12_381::tests::fields::elements;
use crate::bls12_381::words::PRIME;
use crate::bls12_381::{Fp as Element, G1, G2, Point, Scalar};
#[cfg(target_arch = "x86_64")]
use crate::lanes::Ifma;
use crate::lanes::{Mask, Model, Plain, Vector, has_ifma};

/// Runs a check on every vector that this processor has, and on the model of what it has not.
macro_rules! on_all_vectors {
    ($check:ident($($argument:expr),*)) => {{
        // SAFETY: these need no special instructions.
        unsafe {
            Plain::start(|any| $check(any, $($argument),*))?;
            if !has_ifma() {
                Model::start(|any| $check(any, $($argument),*))?;
            }
        }
        #[cfg(target_arch = "x86_64")]
        if has_ifma() {
            // SAFETY: the instructions are there.
            unsafe { Ifma::start(|any| $check(any, $($argument),*))? };
        }
    }};
}

/// One for each lane of the widest vector.
fn numbers() -> impl Strategy<Value = [Element; 8]> {
    prop::array::uniform8(elements())
}

fn check_field<V: Vector>(any: V, a: &[Element; 8], b: &[Element; 8]) -> Result<(), TestCaseError> {
    let (x, y) = (Fp::load(any, |lane| a[lane].0.l), Fp::load(any, |lane| b[lane].0.l));
    let check = |what: &str, result: &Fp<V>, expected: &dyn Fn(Element, Element) -> Element| {
        let expected: Vec<_> = (0..V::LANES).map(|lane| expected(a[lane], b[lane]).0.l).collect();
        prop_assert_eq!(result.words(), expected, "{}", what);
        Ok(())
    };
    check("loaded", &x, &|a, _| a)?;
    check("sum", &x.plus(&y), &|a, b| a + b)?;
    check("difference", &x.minus(&y), &|a, b| a - b)?;
    check("product", &x.tight().multiply_tight(&y.tight()), &|a, b| a * b)?;
    check("one", &Fp::one(any), &|_, _| Element::one())?;
    check("zero", &Fp::zero(any), &|_, _| Element::default())?;
    // Far below zero and far above p.
    let zero = Fp::zero(any);
    let most = (0..50).fold((zero, Element::default()), |(x, n), _| (x.minus(&y).minus(&y), n));
    let hundred = Element::from(100);
    check("negative", &most.0, &|_, b| -(b * hundred))?;
    check("folded", &most.0.folded(), &|_, b| -(b * hundred))?;
    check("square of a negative", &most.0.tight().multiply_tight(&most.0.tight()), &|_, b| b * b * hundred * hundred)?;
    let even: Mask = 0x55;
    let chosen: Vec<_> =
        (0..V::LANES).map(|lane| if even >> lane & 1 == 1 { b[lane].0.l } else { a[lane].0.l }).collect();
    prop_assert_eq!(x.or_if(even, &y).words(), chosen);
    Ok(())
}

fn check_fp2<V: Vector>(any: V, a: &[Element; 8], b: &[Element; 8]) -> Result<(), TestCaseError> {
    let left: Vec<blst_fp2> = (0..8).map(|lane| blst_fp2 { fp: [a[lane].0, b[lane].0] }).collect();
    let right: Vec<blst_fp2> = (0..8).map(|lane| blst_fp2 { fp: [b[7 - lane].0, a[lane / 2].0] }).collect();
    let (x, y) = (Fp2::load(any, |lane| &left[lane]), Fp2::load(any, |lane| &right[lane]));
    let (product, square, difference) = (x.multiply(&y).elements(), x.square().elements(), x.minus(&y).elements());
    let small = x.multiply_fp(&Fp::load(any, |lane| b[lane].0.l)).elements();
    let xi = x.times_xi().elements();
    for lane in 0..V::LANES {
        let (a, b) = (&left[lane], &right[lane]);
        prop_assert_eq!(product[lane], result!(blst_fp2_mul(a, b)));
        prop_assert_eq!(square[lane], result!(blst_fp2_sqr(a)));
        prop_assert_eq!(difference[lane], result!(blst_fp2_sub(a, b)));
        let factor = blst_fp2 { fp: [a.fp[1], blst_fp::default()] };
        prop_assert_eq!(small[lane], result!(blst_fp2_mul(a, &factor)));
        let factor = blst_fp2 { fp: [Element::one().0; 2] };
        prop_assert_eq!(xi[lane], result!(blst_fp2_mul(a, &factor)));
    }
    Ok(())
}

/// The same pairings as blst's, of pairs that fill no vector, one, and more than one.
fn check_pairings<V: Vector>(any: V, pairs: &[(Point<G1>, Point<G2>)]) -> Result<(), TestCaseError> {
    for count in [1, V::LANES, V::LANES + 1] {
        let pairs: Vec<_> = pairs[..count].iter().map(|(left, right)| (&left.0, &right.0)).collect();
        let product = portable::final_exponentiation(&miller_loop(any, &pairs));
        prop_assert_eq!(product, portable::final_exponentiation(&portable::miller_loop(&pairs)), "{}", count);
        let each = pairs.iter().map(|pair| portable::final_exponentiation(&portable::miller_loop(&[*pair])));
        prop_assert_eq!(pairings(any, &pairs), each.collect::<Vec<_>>(), "{}", count);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_field_agrees_with_blst(a in numbers(), b in numbers()) {
        on_all_vectors!(check_field(&a, &b));
    }

    #[test]
    fn its_extension_agrees_with_blst(a in numbers(), b in numbers()) {
        on_all_vectors!(check_fp2(&a, &b));
    }
}

#[test]
fn pairings_agree_with_blst() -> Result<(), TestCaseError> {
    let pair = |number: u64| {
        let (left, right) = (Scalar::from(number), Scalar::from(3 * number + 1).inverse());
        (Point::generator().multiply(&left), Point::generator().multiply(&right))
    };
    let pairs: Vec<_> = (1..=9).map(pair).collect();
    on_all_vectors!(check_pairings(&pairs));
    Ok(())
}

/// What each vector makes of the same numbers, which need not be coordinates of points: the formulas are the same for all numbers.
fn values<V: Vector>(any: V, numbers: &[[Element; 6]]) -> Vec<blst_fp12> {
    let element = |a: Element, b: Element| blst_fp2 { fp: [a.0, b.0] };
    let point = |[a, b, c, d, e, f]: [Element; 6]| {
        let right = blst_p2_affine { x: element(c, d), y: element(e, f) };
        (blst_p1_affine { x: a.0, y: b.0 }, right)
    };
    let pairs: Vec<_> = numbers.iter().map(|numbers| point(*numbers)).collect();
    let values = pairs.chunks(V::LANES).flat_map(|pairs| {
        let pairs: Vec<_> = pairs.iter().map(|(left, right)| (left, right)).collect();
        let value = miller_loops(any, &pairs);
        let power = hard_part(any, &value);
        value.elements().into_iter().zip(power.elements()).take(pairs.len()).collect::<Vec<_>>()
    });
    values.flat_map(|(value, power)| [value, power]).collect()
}

/// This one needs no other library: blst is wrong on the processor that Bochs 2.7 emulates.
#[test]
fn eight_lanes_agree_with_one() {
    let mut state = 0_u64;
    let mut word = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ state >> 29
    };
    let mut element = || {
        let mut words = std::array::from_fn(|_| word());
        words[5] %= PRIME[5];
        Element(blst_fp { l: words })
    };
    let numbers: Vec<[Element; 6]> = (0..8).map(|_| std::array::from_fn(|_| element())).collect();
    // SAFETY: a plain word needs no special instructions.
    let expected = unsafe { Plain::start(|any| values(any, &numbers)) };
    #[cfg(target_arch = "x86_64")]
    if has_ifma() {
        // SAFETY: the instructions are there.
        assert_eq!(unsafe { Ifma::start(|any| values(any, &numbers)) }, expected);
        return;
    }
    // SAFETY: the model needs no special instructions.
    assert_eq!(unsafe { Model::start(|any| values(any, &numbers)) }, expected);
}
