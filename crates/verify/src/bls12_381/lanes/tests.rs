use ::blst::*;
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

use super::fp::Fp;
use super::fp2::Fp2;
use super::miller::miller_loops;
use super::pairing::hard_part;
use super::{InLanes, Lanes, Root, are_in_subgroup, miller_loop, multiply_each, pairings, uncompress};
use crate::bls12_381::encoding::CompressedPoint;
use crate::bls12_381::field::Field;
use crate::bls12_381::pippenger;
use crate::bls12_381::portable::{self, result};
use crate::bls12_381::tests::fields::elements;
use crate::bls12_381::words::PRIME;
use crate::bls12_381::{CurvePoint, Fp as Element, Fp2 as Element2, G1, G2, Group, ORDER, Point, Scalar};
#[cfg(target_arch = "x86_64")]
use crate::lanes::Ifma;
use crate::lanes::{Mask, Model, Plain, Vector, has_ifma, is_emulated, mask};

/// Runs a check on every vector that this processor has, and on the model of those that it lacks.
macro_rules! on_all_vectors {
    ($check:ident $(::<$group:ty>)? ($($argument:expr),*)) => {{
        // An emulated processor only tests what the host lacks.
        if !is_emulated() {
            // SAFETY: a plain word needs no special instructions.
            unsafe { Plain::start(|any| $check $(::<$group, _>)? (any, $($argument),*))? };
        }
        if !has_ifma() {
            // SAFETY: the model needs no special instructions.
            unsafe { Model::start(|any| $check $(::<$group, _>)? (any, $($argument),*))? };
        }
        #[cfg(target_arch = "x86_64")]
        if has_ifma() {
            // SAFETY: the processor has the instructions.
            unsafe { Ifma::start(|any| $check $(::<$group, _>)? (any, $($argument),*))? };
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
    check("square", &x.tight().square_tight(), &|a, _| a * a)?;
    check("square of a negative, as such", &most.0.tight().square_tight(), &|_, b| b * b * hundred * hundred)?;
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

/// A root is found exactly where blst finds one, and numbers compare as their bytes do.
fn check_roots<V: Vector, E: Field>(
    any: V,
    elements: &[E],
    has_root: fn(&E) -> bool,
    bytes: fn(&E) -> Vec<u8>,
) -> Result<(), TestCaseError> {
    for elements in elements.chunks(V::LANES) {
        let at = |lane: usize| elements[lane % elements.len()];
        let x = E::Lanes::load(any, at);
        let root = x.root();
        let expected = mask::<V>(|lane| has_root(&at(lane)));
        prop_assert_eq!(root.square().minus(&x).is_zero(), expected);
        let square = x.square();
        let again = square.root();
        prop_assert_eq!(again.square().minus(&square).is_zero(), mask::<V>(|_| true));
        prop_assert_eq!(x.is_zero(), mask::<V>(|lane| at(lane) == E::default()));
        let larger = mask::<V>(|lane| bytes(&at(lane)) > bytes(&-at(lane)));
        prop_assert_eq!(x.is_larger(), larger);
        let mut rows = vec![Default::default(); V::LANES];
        x.folded().store(&mut rows);
        let loaded = E::Lanes::load_rows(any, |lane| &rows[V::LANES - 1 - lane]);
        prop_assert!(loaded.elements().into_iter().rev().eq((0..V::LANES).map(at)));
    }
    Ok(())
}

fn check_all_roots<V: Vector>(any: V, a: &[Element; 8], b: &[Element; 8]) -> Result<(), TestCaseError> {
    let corners = [Element::default(), Element::one(), -Element::one(), Element::from(2)];
    let elements: Vec<_> = corners.into_iter().chain(*a).collect();
    let has_root = |element: &Element| {
        let mut root = blst_fp::default();
        // SAFETY: the call writes its first argument and reads the other.
        unsafe { blst_fp_sqrt(&mut root, &element.0) }
    };
    check_roots(any, &elements, has_root, |element| element.bytes().to_vec())?;
    // Numbers without u, and with nothing but u, are among those.
    let zero = Element::default();
    let mut elements: Vec<_> = corners.iter().flat_map(|a| corners.iter().map(|b| Element2::new(*a, *b))).collect();
    elements.extend(
        a.iter().zip(b).flat_map(|(a, b)| [(*a, *b), (*a, zero), (zero, *b)]).map(|(a, b)| Element2::new(a, b)),
    );
    let has_root = |element: &Element2| {
        let mut root = blst_fp2::default();
        // SAFETY: the call writes its first argument, a local variable, and reads the other.
        unsafe { blst_fp2_sqrt(&mut root, &element.0) }
    };
    check_roots(any, &elements, has_root, |element| {
        let [c0, c1] = element.coefficients();
        [c1.bytes(), c0.bytes()].concat()
    })
}

/// blst's coordinates of a point that is not at infinity.
fn coordinates<G: Group>(point: &G::Affine) -> (G::Element, G::Element) {
    let (x, y) = G::coordinates(point);
    (x.into(), y.into())
}

/// Points whose x is made of a few small numbers: blst knows which exist, and that they are outside the subgroup.
fn check_points_of_the_curve<G: Group, V: Vector>(any: V, count: u64) -> Result<(), TestCaseError> {
    let xs = (0..count).map(|number| {
        let mut bytes = vec![0; G::COMPRESSED];
        *bytes.last_mut().unwrap() = number as u8;
        G::parse_coordinate(&bytes).unwrap()
    });
    let points = Vec::from_iter(xs.map(|x| CompressedPoint { x, is_larger: x == G::Element::one() }));
    let found = uncompress(any, &points);
    let mut on_curve = Vec::new();
    for (number, (point, y)) in points.iter().zip(found).enumerate() {
        let mut bytes = vec![0; G::COMPRESSED];
        *bytes.last_mut().unwrap() = number as u8;
        bytes[0] |= if point.is_larger { 0xa0 } else { 0x80 };
        let expected = CurvePoint::<G>::parse(&bytes).ok().map(|point| coordinates::<G>(&point.0));
        prop_assert_eq!(y.map(|y| (point.x, y)), expected, "{}", number);
        on_curve.extend(expected);
    }
    prop_assert!(on_curve.len() as u64 > count / 4);
    let in_subgroup = on_curve.iter().map(|(x, y)| CurvePoint::<G>::new(*x, *y).unwrap().in_subgroup().is_ok());
    prop_assert_eq!(are_in_subgroup(any, &on_curve), Vec::from_iter(in_subgroup));
    Ok(())
}

/// Multiples equal blst's, are in the subgroup, and are found again by their x. Scalars include the edges of the split.
fn check_multiples<G: Group, V: Vector>(any: V, count: usize) -> Result<(), TestCaseError> {
    let z = Scalar::from(0xd201_0000_0001_0000_u64);
    let (one, order) = (Scalar::from(1_u64), Scalar::default());
    let numbers =
        [one, -one, z, z * z, z * z * z - one, Scalar::from(16_u64), order, Scalar::reduce(&[0x5a; 32]), z * z - one];
    let generator = Point::<G>::generator();
    let points = Vec::from_iter((0..count as u64).map(|at| generator.multiply(&Scalar::from(at + 1).inverse())));
    let points = Vec::from_iter(points.iter().map(|point| coordinates::<G>(&point.0)));
    let scalars = Vec::from_iter(numbers.iter().cycle().take(count));
    let limbs =
        |scalar: &Scalar| std::array::from_fn(|at| u64::from_le_bytes(scalar.little_endian().as_chunks().0[at]));
    let multiples = multiply_each(any, &points, &Vec::from_iter(scalars.iter().map(|scalar| limbs(scalar))));
    for (at, multiple) in multiples.iter().enumerate() {
        let point = generator.multiply(&(Scalar::from(at as u64 + 1).inverse() * *scalars[at]));
        prop_assert_eq!(*multiple, point.coordinates(), "{}", at);
    }
    // With a point twice, and a point and its negative.
    let (first, (x, y)) = (points[0], points[1]);
    let terms = Vec::from_iter(points.iter().copied().chain([first, (x, -y)]));
    let affine = Vec::from_iter(terms.iter().map(|(x, y)| G::from_coordinates((*x).into(), (*y).into())));
    let doubled = [scalars[0], scalars[1]];
    let all = Vec::from_iter(scalars.iter().copied().chain(doubled).map(limbs));
    let sum = Point::<G>(G::to_affine(&pippenger::multiply_and_add::<G>(InLanes(any), &affine, &all)));
    let each = terms.iter().zip(scalars.iter().copied().chain(doubled));
    let each =
        each.map(|((x, y), scalar)| CurvePoint::<G>::new(*x, *y).unwrap().in_subgroup().unwrap().multiply(scalar));
    prop_assert_eq!(sum, Point::sum(&Vec::from_iter(each)));
    let finite: Vec<_> = multiples.into_iter().flatten().collect();
    prop_assert_eq!(are_in_subgroup(any, &finite), vec![true; finite.len()]);
    let wrong = Vec::from_iter(finite.iter().map(|(x, y)| (*x, *y + G::Element::one())));
    prop_assert_eq!(are_in_subgroup(any, &wrong), vec![false; finite.len()]);
    let encodings = Vec::from_iter(finite.iter().map(|(x, _)| CompressedPoint { x: *x, is_larger: false }));
    let expected = finite.iter().map(|(x, y)| {
        let encoded = CurvePoint::<G>::new(*x, *y).unwrap().in_subgroup().unwrap().compressed();
        Some(if encoded[0] & 0x20 == 0 { *y } else { -*y })
    });
    prop_assert_eq!(uncompress(any, &encodings), Vec::from_iter(expected));
    Ok(())
}

/// Scalars not below the order, which do not occur: where the formulas cannot handle them, they say so.
fn check_large_scalars<G: Group, V: Vector>(any: V) -> Result<(), TestCaseError> {
    let order: [u64; 4] = std::array::from_fn(|at| u64::from_be_bytes(ORDER.as_chunks().0[3 - at]));
    let generator = Point::<G>::generator();
    let scalars = Vec::from_iter((0..40).map(|above| [order[0] + above, order[1], order[2], order[3]]));
    let multiples = multiply_each(any, &[coordinates::<G>(&generator.0); 40], &scalars);
    prop_assert_eq!(multiples[0], None);
    for (above, multiple) in multiples.into_iter().enumerate() {
        prop_assert!(
            multiple.is_none_or(|point| Some(point) == generator.multiply(&Scalar::from(above as u64)).coordinates())
        );
    }
    Ok(())
}

/// The same pairings as blst's, for pairs that fill less than a vector, one, and more than one.
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn roots_agree_with_blst(a in numbers(), b in numbers()) {
        on_all_vectors!(check_all_roots(&a, &b));
    }
}

#[test]
fn points_agree_with_blst() -> Result<(), TestCaseError> {
    // On an emulated processor, one vector of eight lanes is enough.
    blst_without_adx_where_emulated();
    let (count, xs) = if is_emulated() { (8, 8) } else { (20, 40) };
    on_all_vectors!(check_points_of_the_curve::<G1>(xs));
    on_all_vectors!(check_points_of_the_curve::<G2>(xs));
    on_all_vectors!(check_multiples::<G1>(count));
    on_all_vectors!(check_multiples::<G2>(count));
    Ok(())
}

#[test]
fn multiples_by_more_than_the_order_are_right_or_not_there() -> Result<(), TestCaseError> {
    on_all_vectors!(check_large_scalars::<G1>());
    on_all_vectors!(check_large_scalars::<G2>());
    Ok(())
}

/// The processor that Bochs 2.7 emulates miscalculates with ADX, so blst is told that it has none.
fn blst_without_adx_where_emulated() {
    unsafe extern "C" {
        static mut __blst_platform_cap: std::ffi::c_int;
    }
    if is_emulated() {
        // SAFETY: the variable is blst's, which only reads it; emulated tests have one thread.
        unsafe { __blst_platform_cap = 0 };
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

/// What each vector computes from the same numbers, which need not be coordinates of points: the formulas are the same
/// for all numbers.
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

/// The first bytes of the SHA-256 of what plain words compute from the test's numbers, which takes a minute on an
/// emulated processor.
const VALUES: u64 = 0xb5db_e7cc_8cc7_190b;

#[test]
fn eight_lanes_agree_with_one() {
    blst_without_adx_where_emulated();
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
    let hash = |values: Vec<blst_fp12>| {
        let numbers = values.iter().flat_map(|value| value.fp6).flat_map(|value| value.fp2).flat_map(|value| value.fp);
        let bytes = Vec::from_iter(numbers.flat_map(|number| number.l).flat_map(u64::to_le_bytes));
        u64::from_be_bytes(Sha256::digest(bytes).as_chunks().0[0])
    };
    if !is_emulated() {
        // SAFETY: a plain word needs no special instructions.
        assert_eq!(hash(unsafe { Plain::start(|any| values(any, &numbers)) }), VALUES);
    }
    #[cfg(target_arch = "x86_64")]
    if has_ifma() {
        // SAFETY: the processor has the instructions.
        assert_eq!(hash(unsafe { Ifma::start(|any| values(any, &numbers)) }), VALUES);
        return;
    }
    // SAFETY: the model needs no special instructions.
    assert_eq!(hash(unsafe { Model::start(|any| values(any, &numbers)) }), VALUES);
}
