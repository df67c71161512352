use proptest::prelude::*;

use super::{points, scalars};
use crate::bls12_381::{G1, G2, Group, Point, Scalar, multiply_and_add, multiply_short_and_add};

fn check<G: Group>(points: &[Point<G>], scalars: &[Scalar], short: &[u128]) {
    let multiples = points.iter().zip(scalars).map(|(point, scalar)| point.multiply(scalar));
    assert_eq!(multiply_and_add(points, scalars), Point::sum(&Vec::from_iter(multiples)));
    let multiples = points.iter().zip(short).map(|(point, scalar)| point.multiply(&Scalar::from(*scalar)));
    let multiples = Vec::from_iter(multiples);
    assert_eq!(multiply_short_and_add(points, short), Point::sum(&multiples));
    let each = points.iter().zip(short).map(|(point, scalar)| point.multiply_short(*scalar));
    assert_eq!(Vec::from_iter(each), multiples);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// Infinity, points that are there twice, points and their negatives, zero and the order less one among them.
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
