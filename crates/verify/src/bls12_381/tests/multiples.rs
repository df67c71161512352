use proptest::prelude::*;

use super::{points, scalars};
use crate::bls12_381::backend::Backend;
use crate::bls12_381::{G1, G2, Group, Point, Scalar};
use crate::bls12_381::{
    multiply_and_add, multiply_each, multiply_each_on, multiply_short_and_add, multiply_short_each,
};

fn check<G: Group>(points: &[Point<G>], scalars: &[Scalar], short: &[u128]) {
    let multiples = points.iter().zip(scalars).map(|(point, scalar)| point.multiply(scalar));
    assert_eq!(multiply_and_add(points, scalars), Point::sum(&Vec::from_iter(multiples)));
    check_backends(points, scalars);
    let multiples = Vec::from_iter(points.iter().zip(scalars).map(|(point, scalar)| point.multiply(scalar)));
    assert_eq!(multiply_each(points, scalars), multiples);
    for backend in Backend::tested() {
        assert_eq!(multiply_each_on(backend, points, scalars), multiples, "{backend:?}");
    }
    let multiples = points.iter().zip(short).map(|(point, scalar)| point.multiply(&Scalar::from(*scalar)));
    let multiples = Vec::from_iter(multiples);
    assert_eq!(multiply_short_and_add(points, short), Point::sum(&multiples));
    let each = points.iter().zip(short).map(|(point, scalar)| point.multiply_short(*scalar));
    assert_eq!(Vec::from_iter(each), multiples);
    assert_eq!(multiply_short_each(points, short), multiples);
}

/// Checks all backends, for any number of points.
fn check_backends<G: Group>(points: &[Point<G>], scalars: &[Scalar]) {
    let finite = points.iter().zip(scalars).filter(|(point, _)| !point.is_infinity());
    let (affine, limbs): (Vec<_>, Vec<_>) = finite
        .map(|(point, scalar)| {
            let bytes = scalar.little_endian();
            (point.0, std::array::from_fn(|at| u64::from_le_bytes(bytes.as_chunks().0[at])))
        })
        .unzip();
    for backend in Backend::tested() {
        let sum = Point(G::to_affine(&backend.multiply_and_add::<G>(&affine, &limbs)));
        assert_eq!(sum, multiply_and_add(points, scalars), "{backend:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Includes infinity, repeated points, points and their negatives, zero and the order minus one.
    #[test]
    fn sums_of_multiples(
        items in prop::collection::vec((points::<G1>(), points::<G2>(), scalars(), any::<u128>()), 0..40), again in any::<bool>(),
    ) {
        let mut items = items;
        if again {
            items.extend(items.clone().into_iter().map(|(left, right, scalar, short)| (left.negate(), right, -scalar, short)));
        }
        let short = Vec::from_iter(items.iter().map(|item| item.3));
        let scalars = Vec::from_iter(items.iter().map(|item| item.2));
        check(&Vec::from_iter(items.iter().map(|item| item.0)), &scalars, &short);
        check(&Vec::from_iter(items.iter().map(|item| item.1)), &scalars, &short);
    }
}

#[test]
fn multiples_of_the_generator_add_up() {
    let generator = Point::<G1>::generator();
    let points = vec![generator; 300];
    let scalars = Vec::from_iter((0..300_u64).map(Scalar::from));
    assert_eq!(multiply_and_add(&points, &scalars), generator.multiply(&Scalar::from(299 * 300 / 2_u64)));
    assert_eq!(multiply_and_add::<G1>(&[], &[]), Point::default());
}

/// Thousands in one bucket, and sums that cancel out.
#[test]
fn the_same_point_and_scalar_again_and_again() {
    let point = Point::<G1>::generator();
    let scalar = -Scalar::from(0x1234_5678_9abc_def0_u64);
    for count in [32_u64, 33, 5000] {
        let points = vec![point; count as usize];
        let scalars = vec![scalar; count as usize];
        assert_eq!(multiply_and_add(&points, &scalars), point.multiply(&(scalar * Scalar::from(count))));
        let points = Vec::from_iter((0..count).map(|at| if at % 2 == 0 { point } else { point.negate() }));
        let odd = if count % 2 == 0 { Point::default() } else { point.multiply(&scalar) };
        assert_eq!(multiply_and_add(&points, &scalars), odd);
        check_backends(&points[..33.min(points.len())], &scalars[..33.min(points.len())]);
    }
}
