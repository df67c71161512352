use proptest::prelude::*;

use super::{bytes, points, vectors};
use crate::bls12_381::{Backend, CurvePoint, Fp, Fp2, G1, G2, Group, ORDER, PRIME, Point, Rule, Scalar};

fn name_of_rule(case: &str) -> Option<Rule> {
    let name = case.strip_prefix("deserialization_").unwrap();
    Some(match name.strip_prefix("fails_")? {
        // All bits but the first are zero: the point (0, 2), which is of order 3.
        "infinity_with_false_b_flag" => Rule::NotInSubgroup,
        "infinity_with_true_b_flag" | "with_b_flag_and_x_nonzero" => Rule::Infinity,
        "not_in_G1" | "not_in_G2" => Rule::NotInSubgroup,
        "not_in_curve" => Rule::NotOnCurve,
        "too_few_bytes" | "too_many_bytes" => Rule::Length,
        "with_b_flag_and_a_flag_true" | "with_wrong_c_flag" => Rule::Flags,
        name if name.starts_with('x') => Rule::Range,
        name => panic!("{name}"),
    })
}

fn deserialise<G: Group>(file: &str, field: &str, infinity_in_g2: Rule) {
    let vectors = vectors(file);
    for (name, case) in vectors.as_object().unwrap() {
        let encoded = bytes(&case["input"][field]);
        let found = Point::<G>::parse_compressed(&encoded);
        let mut expected = name_of_rule(name);
        if name.ends_with("infinity_with_false_b_flag") {
            expected = Some(infinity_in_g2);
        }
        assert_eq!(found.err(), expected, "{name}");
        assert_eq!(case["output"], found.is_ok(), "{name}");
        if let Ok(point) = found {
            assert_eq!(point.compressed(), encoded);
        }
    }
}

#[test]
fn ethereum() {
    deserialise::<G1>("ethereum/deserialization_g1.json", "pubkey", Rule::NotInSubgroup);
    // There is no y for an x of 0 on the curve of G2.
    deserialise::<G2>("ethereum/deserialization_g2.json", "signature", Rule::NotOnCurve);
}

/// Everything that can be wrong with the flags, in both encodings.
fn flags<G: Group>(zero_x: Result<(), Rule>) {
    let (finite, infinity) = (Point::<G>::generator(), Point::<G>::default());
    let zeros = |length: usize, is_infinity: bool| match (is_infinity, length == G::COMPRESSED) {
        (false, _) => (Ok(()), Err(Rule::Infinity)),
        (true, true) => (zero_x, Ok(())),
        // All zeros are not a point unless a flag says that it is infinity.
        (true, false) => (Err(Rule::NotOnCurve), Ok(())),
    };
    for point in [finite, infinity] {
        for mut encoded in [point.compressed(), point.uncompressed()] {
            let number = encoded[0] & 0x1f;
            let (without, with_infinity) = zeros(encoded.len(), point.is_infinity());
            for flags in (0..8).map(|bits| bits << 5) {
                encoded[0] = number | flags;
                let expected = match (encoded.len() == G::COMPRESSED, flags) {
                    (true, 0x80 | 0xa0) | (false, 0) => without,
                    (true, 0xc0) | (false, 0x40) => with_infinity,
                    _ => Err(Rule::Flags),
                };
                assert_eq!(CurvePoint::<G>::parse(&encoded).map(|_| ()), expected, "{flags:#x}");
            }
        }
    }
    let half = G::COMPRESSED;
    for length in (0..2 * half + 2).filter(|length| *length != half && *length != 2 * half) {
        assert_eq!(Point::<G>::parse(&vec![0; length]), Err(Rule::Length));
    }
    assert_eq!(Point::<G>::parse_compressed(&finite.uncompressed()), Err(Rule::Length));
}

#[test]
fn flags_go_with_encodings() {
    flags::<G1>(Ok(()));
    flags::<G2>(Err(Rule::NotOnCurve));
}

#[test]
fn numbers_are_below_their_modulus() {
    let below = |modulus: &[u8]| {
        let mut number = modulus.to_vec();
        *number.last_mut().unwrap() -= 1;
        number
    };
    assert_eq!(Fp::parse(&PRIME), Err(Rule::Range));
    assert_eq!(Fp::parse(&[0xff; 48]), Err(Rule::Range));
    assert_eq!(Fp::parse(&below(&PRIME).try_into().unwrap()), Ok(-Fp::one()));
    assert_eq!(Scalar::parse(&ORDER), Err(Rule::ScalarRange));
    assert_eq!(Scalar::parse(&[0xff; 32]), Err(Rule::ScalarRange));
    assert_eq!(Scalar::parse(&below(&ORDER).try_into().unwrap()), Ok(-Scalar::from(1_u64)));
    assert_eq!(Scalar::reduce(&ORDER), Scalar::default());
    let mut little = ORDER;
    little.reverse();
    assert_eq!(Scalar::parse_little_endian(&little), Err(Rule::ScalarRange));
    assert_eq!((-Scalar::from(1_u64)).little_endian()[1..], little[1..]);
}

/// A point of each possible small order: the cofactor of G1 is 3 · 11² · 10177² · 859267² · 52437899², and 13² divides
/// that of G2.
#[test]
fn points_of_small_order_are_not_in_the_subgroup() {
    let two = Fp::from(2);
    let third = CurvePoint::<G1>::new(Fp::default(), two).unwrap();
    assert_eq!(third.add(&third).add(&third), CurvePoint::default());
    assert_eq!(third.in_subgroup(), Err(Rule::NotInSubgroup));
    // The part of a curve point outside the subgroup: multiplying by r removes the subgroup's part.
    let mut rest = Vec::new();
    for x in (1..).map(Fp::from).take(8) {
        for flags in [0x80, 0xa0] {
            let mut encoded = x.bytes();
            encoded[0] |= flags;
            if let Ok(point) = CurvePoint::<G1>::parse(&encoded) {
                assert_eq!(point.in_subgroup(), Err(Rule::NotInSubgroup));
                rest.push(times_order(point));
            }
        }
    }
    assert!(rest.len() > 4 && rest.iter().all(|point| !point.is_infinity() && point.in_subgroup().is_err()));
    let mut found = 0;
    for c0 in (1..).map(Fp::from).take(8) {
        let [x1, x0] = [Fp::one(), c0].map(|c| c.bytes());
        let mut encoded = [x1, x0].concat();
        encoded[0] |= 0x80;
        if let Ok(point) = CurvePoint::<G2>::parse(&encoded) {
            found += 1;
            assert_eq!(point.in_subgroup(), Err(Rule::NotInSubgroup));
            let rest = times_order(point);
            assert!(!rest.is_infinity() && rest.in_subgroup() == Err(Rule::NotInSubgroup));
        }
    }
    assert!(found > 1);
}

/// The order times a point of the curve, by doubling and adding.
fn times_order<G: Group>(point: CurvePoint<G>) -> CurvePoint<G> {
    ORDER.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).fold(
        CurvePoint::default(),
        |sum, bit| {
            let double = sum.add(&sum);
            if bit == 1 { double.add(&point) } else { double }
        },
    )
}

fn check_round_trip<G: Group>(point: Point<G>) {
    assert_eq!(Point::parse(&point.compressed()), Ok(point));
    assert_eq!(Point::parse(&point.uncompressed()), Ok(point));
    if let Some((x, y)) = point.coordinates() {
        assert_eq!(CurvePoint::<G>::new(x, y).unwrap().in_subgroup(), Ok(point));
    }
    assert!(times_order(point.on_curve()).is_infinity());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn encodings_round_trip(left in points::<G1>(), right in points::<G2>()) {
        check_round_trip(left);
        check_round_trip(right);
    }

    /// A flipped bit makes another point, or none.
    #[test]
    fn a_flipped_bit_is_noticed(point in points::<G1>(), bit in 0_usize..768) {
        for mut encoded in [point.compressed(), point.uncompressed()] {
            let bit = bit % (8 * encoded.len());
            encoded[bit / 8] ^= 1 << (bit % 8);
            prop_assert_ne!(Point::parse(&encoded), Ok(point));
        }
    }
}

#[test]
fn the_coefficient_of_u_comes_first() {
    let (x, _) = Point::<G2>::generator().coordinates().unwrap();
    let [c0, c1] = x.coefficients();
    assert_eq!(Point::<G2>::generator().uncompressed()[..96], [c1.bytes(), c0.bytes()].concat());
    assert_eq!(x, Fp2::new(c0, c1));
}

/// Encodings of all kinds, including one breaking each rule, in one batch: each backend says what it says of one alone.
fn batches<G: Group>() {
    let point = |number: u64| Point::<G>::generator().multiply(&Scalar::from(number));
    let mut encodings = vec![Point::<G>::default().compressed(), vec![], vec![0x80], point(1).uncompressed()];
    encodings
        .extend((1..12).flat_map(|number| [point(number), point(number).negate()]).map(|point| point.compressed()));
    // All flags, on points and on zeros.
    for first in (0..8_u8).map(|bits| bits << 5) {
        for mut encoded in [point(3).compressed(), vec![0; G::COMPRESSED]] {
            encoded[0] = encoded[0] & 0x1f | first;
            encodings.push(encoded);
        }
    }
    // x of small numbers, which may be outside the subgroup or not on the curve at all, and around p, in each
    // coordinate.
    for (number, larger) in (0..24_u8).map(|number| (number, (number % 2) << 5)) {
        let mut encoded = vec![0; G::COMPRESSED];
        *encoded.last_mut().unwrap() = number;
        encoded[0] |= 0x80 | larger;
        encodings.push(encoded);
    }
    for at in (0..G::COMPRESSED).step_by(48) {
        for last in [0xa9, 0xaa, 0xab, 0xac] {
            let mut encoded = vec![0; G::COMPRESSED];
            encoded[at..at + 48].copy_from_slice(&PRIME);
            encoded[at + 47] = last;
            encoded[0] |= 0x80;
            encodings.push(encoded);
        }
    }
    // Points of the order that the subgroup leaves.
    let outside = encodings.iter().filter_map(|bytes| CurvePoint::<G>::parse(bytes).ok());
    let outside: Vec<_> = outside.filter(|point| point.in_subgroup().is_err()).map(times_order).collect();
    assert!(outside.len() > 8);
    encodings.extend(outside.iter().map(|point| Point::<G>(point.0).compressed()));
    let encodings: Vec<&[u8]> = encodings.iter().map(Vec::as_slice).collect();
    let expected: Vec<_> = encodings.iter().map(|bytes| Point::<G>::parse_compressed(bytes)).collect();
    for rule in [Rule::Length, Rule::Flags, Rule::Infinity, Rule::Range, Rule::NotOnCurve, Rule::NotInSubgroup] {
        assert!(expected.contains(&Err(rule)), "{rule}");
    }
    let on_curve: Vec<_> = encodings.iter().filter_map(|bytes| CurvePoint::<G>::parse(bytes).ok()).collect();
    let in_subgroup: Vec<_> = on_curve.iter().map(|point| point.in_subgroup()).collect();
    for backend in Backend::tested() {
        assert_eq!(Point::<G>::parse_compressed_each_on(backend, &encodings), expected, "{backend:?}");
        assert_eq!(CurvePoint::in_subgroup_each_on(backend, &on_curve), in_subgroup, "{backend:?}");
        assert_eq!(Point::<G>::parse_compressed_each_on(backend, &[]), []);
    }
}

#[test]
fn batches_say_what_is_said_of_one() {
    batches::<G1>();
    batches::<G2>();
}
