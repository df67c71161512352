//! The host's part of a sum of multiples whose bucket additions run elsewhere, as in the engine of `rtl/verify`: it
//! assigns points to the buckets of windows, and combines the sums of all buckets.
//!
//! Scalars are split as in [`multiply_and_add`](super::multiply_and_add): into halves by the groups' endomorphism, and
//! halves into signed digits. So there are two windows per digit of a half, and both take the points unchanged; the
//! endomorphism is applied to the sums.
//!
//! The last digit may have few bits. Its points would go to few buckets, in which additions are sequential. So each of
//! its digits has as many buckets as there is room for, and points are distributed over them in rotation.

use std::iter;

use super::digits::{self, Plan};
use super::field::Field;
use super::multiple::limbs;
use super::{CurvePoint, Group, Point, Rule, Scalar};

/// Scalars split into digits.
#[derive(Clone, Debug)]
pub struct Windows {
    plan: Plan,
    halves: Vec<[i128; 2]>,
}

/// The addition of a point to a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addition {
    /// Index of the point.
    pub point: usize,
    /// Index of the bucket in the window.
    pub bucket: usize,
    /// Whether to add the point's negative.
    pub negate: bool,
}

impl Windows {
    /// Splits the multiples of some points into digits of `bits` bits, from 3 to 17. A point at infinity goes to no
    /// bucket.
    ///
    /// # Panics
    ///
    /// If the numbers of points and scalars differ, or `bits` is out of range.
    pub fn new<G: Group>(bits: u32, points: &[Point<G>], scalars: &[Scalar]) -> Self {
        assert_eq!(points.len(), scalars.len(), "each point has a scalar");
        assert!((3..=17).contains(&bits), "digits have from 3 to 17 bits");
        let half = |(point, scalar): (&Point<G>, &Scalar)| {
            if point.is_infinity() { [0; 2] } else { digits::split(limbs(&scalar.little_endian())) }
        };
        Self { plan: Plan::with_bits(bits), halves: iter::zip(points, scalars).map(half).collect() }
    }

    /// Number of windows.
    pub const fn count(&self) -> usize {
        2 * self.plan.windows
    }

    /// Number of buckets in a window.
    pub const fn buckets(&self) -> usize {
        self.plan.buckets()
    }

    /// Number of distinct nonzero absolute digits in a window.
    fn digits(&self, window: usize) -> usize {
        if window / 2 + 1 == self.plan.windows { self.plan.last() } else { self.buckets() }
    }

    /// The additions to the buckets of a window.
    pub fn additions(&self, window: usize) -> impl Iterator<Item = Addition> {
        let digits = self.digits(window);
        let each = self.buckets() / digits;
        self.halves.iter().enumerate().filter_map(move |(point, half)| {
            let digit = self.plan.digit(half[window % 2], window / 2);
            let bucket = (digit.unsigned_abs() as usize).checked_sub(1)? + point % each * digits;
            Some(Addition { point, bucket, negate: digit < 0 })
        })
    }

    /// Computes the sum of multiples from the sums of the buckets of each window: Jacobian coordinates, `None` for an
    /// empty bucket.
    ///
    /// # Errors
    ///
    /// The rule that the result breaks: then the sums are not points of the group.
    ///
    /// # Panics
    ///
    /// If `sums` does not have all buckets of all windows.
    pub fn join<G: Group>(&self, sums: &[Option<[G::Element; 3]>]) -> Result<Point<G>, Rule> {
        assert_eq!(sums.len(), self.count() * self.buckets(), "each bucket has a sum");
        let windows = sums.chunks_exact(self.buckets()).enumerate();
        let windows = Vec::from_iter(windows.map(|(at, buckets)| window::<G>(buckets, self.digits(at))));
        let (pairs, _) = windows.as_chunks();
        let sum = pairs.iter().rev().fold(G::Jacobian::default(), |sum, [first, second]| {
            let doubled = (0..self.plan.bits).fold(sum, |sum, _| G::add(&sum, &sum));
            G::add(&G::add(&doubled, first), &image::<G>(second))
        });
        let point = G::to_affine(&sum);
        if !G::is_on_curve(&point) {
            return Err(Rule::NotOnCurve);
        }
        CurvePoint(point).in_subgroup()
    }
}

/// The sum of each bucket times its digit: the sum of the running sums from the last digit down.
fn window<G: Group>(buckets: &[Option<[G::Element; 3]>], digits: usize) -> G::Jacobian {
    let (_, sum) = (0..digits).rev().fold(Default::default(), |(last, sum), digit| {
        let of_digit = buckets[digit..].iter().step_by(digits).flatten();
        let last = of_digit.fold(last, |last, bucket| G::add(&last, &G::from_jacobian(bucket.map(Into::into))));
        (last, G::add(&sum, &last))
    });
    sum
}

/// The point times the square of the curve's parameter.
fn image<G: Group>(point: &G::Jacobian) -> G::Jacobian {
    let [x, y, z] = G::jacobian(point).map(G::Element::from);
    G::from_jacobian([x.times(G::CUBE_ROOT), -y, z].map(Into::into))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bls12_381::tests::{points, scalars};
    use crate::bls12_381::{G1, G2, multiply_and_add};

    /// Adds points to buckets as the engine does.
    fn check<G: Group>(bits: u32, points: &[Point<G>], scalars: &[Scalar]) {
        let windows = Windows::new(bits, points, scalars);
        let mut sums = Vec::new();
        for window in 0..windows.count() {
            let mut buckets = vec![Point::<G>::default(); windows.buckets()];
            for Addition { point, bucket, negate } in windows.additions(window) {
                let point = if negate { points[point].negate() } else { points[point] };
                buckets[bucket] = buckets[bucket].add(&point);
            }
            sums.extend(buckets.iter().map(|sum| sum.coordinates().map(|(x, y)| [x, y, G::Element::one()])));
        }
        assert_eq!(windows.join(&sums), Ok(multiply_and_add(points, scalars)), "{bits} bits");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(8))]

        #[test]
        fn windows_come_to_the_sum(
            items in prop::collection::vec((points::<G1>(), points::<G2>(), scalars()), 0..8), bits in 3_u32..8, again in any::<bool>(),
        ) {
            let mut items = items;
            if again {
                items.extend(items.clone().into_iter().map(|(left, right, scalar)| (left.negate(), right, -scalar)));
            }
            let scalars = Vec::from_iter(items.iter().map(|item| item.2));
            check(bits, &Vec::from_iter(items.iter().map(|item| item.0)), &scalars);
            check(bits, &Vec::from_iter(items.iter().map(|item| item.1)), &scalars);
        }
    }

    #[test]
    fn what_is_not_of_the_group_is_told() {
        let generator = Point::<G1>::generator();
        let windows = Windows::new(3, &[generator], &[Scalar::from(1_u64)]);
        let Some((x, y)) = generator.coordinates() else { panic!("the generator is not at infinity") };
        let mut sums = vec![None; windows.count() * windows.buckets()];
        assert_eq!(windows.join::<G1>(&sums), Ok(Point::default()));
        sums[0] = Some([x, y, Field::one()]);
        assert_eq!(windows.join(&sums), Ok(generator));
        sums[0] = Some([x, x, Field::one()]);
        assert_eq!(windows.join::<G1>(&sums), Err(Rule::NotOnCurve));
    }
}
