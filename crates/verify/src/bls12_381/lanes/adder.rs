//! Additions of points in affine coordinates, one in each lane.

use super::Lanes;
use super::fp::negative_row;
use crate::bls12_381::field::Field;
use crate::bls12_381::pippenger::{Adder, Affine, Pair, Stored, Terms};
use crate::lanes::{Mask, Row, Vector, mask};

/// Adds one pair per lane of a vector at once.
#[derive(Clone, Copy)]
pub(in crate::bls12_381) struct InLanes<V>(pub(in crate::bls12_381) V);

/// Canonical coordinates in the lanes' form; zeros at infinity.
#[derive(Clone, Copy, Default)]
pub struct InRows<R> {
    x: R,
    y: R,
}

impl<R: Copy + Default + PartialEq + AsMut<[Row]>> Stored for InRows<R> {
    fn negative(&self) -> Self {
        let mut negative = *self;
        negative.y.as_mut().iter_mut().for_each(|row| *row = negative_row(row));
        negative
    }

    #[inline(always)]
    fn is_infinity(&self) -> bool {
        self.x == R::default() && self.y == R::default()
    }

    #[inline(always)]
    fn has_x_of(&self, other: &Self) -> bool {
        self.x == other.x
    }

    #[inline(always)]
    fn has_y_of(&self, other: &Self) -> bool {
        self.y == other.y
    }
}

/// Rows of a coordinate.
type Rows<V, E> = <<E as Field>::Lanes<V> as Lanes>::Rows;

/// Calls `point` with each lane's point.
#[inline(always)]
fn store<V: Vector, E: Field>(x: &E::Lanes<V>, y: &E::Lanes<V>, mut point: impl FnMut(usize, InRows<Rows<V, E>>)) {
    let mut rows = [[Rows::<V, E>::default(); Mask::BITS as usize]; 2];
    x.canonical().store(&mut rows[0][..V::LANES]);
    y.canonical().store(&mut rows[1][..V::LANES]);
    (0..V::LANES).for_each(|lane| point(lane, InRows { x: rows[0][lane], y: rows[1][lane] }));
}

impl<V: Vector, E: Field> Adder<E> for InLanes<V> {
    const PAIRS: usize = V::LANES;
    type Numbers = E::Lanes<V>;
    type Point = InRows<Rows<V, E>>;

    fn store(self, points: &[Affine<E>]) -> Vec<Self::Point> {
        let mut stored = Vec::with_capacity(points.len());
        for points in points.chunks(V::LANES) {
            let point = |lane: usize| points.get(lane).unwrap_or(&points[0]);
            self.0.call(
                #[inline(always)]
                || {
                    let (x, y) =
                        (E::Lanes::load(self.0, |lane| point(lane).x), E::Lanes::load(self.0, |lane| point(lane).y));
                    store::<V, E>(&x, &y, |lane, point| {
                        if lane < points.len() {
                            stored.push(point);
                        }
                    });
                },
            );
        }
        stored
    }

    fn load(self, points: &[Self::Point]) -> Vec<Affine<E>> {
        let mut loaded = Vec::with_capacity(points.len());
        for points in points.chunks(V::LANES) {
            let point = |lane: usize| points.get(lane).unwrap_or(&points[0]);
            let (x, y) = self.0.call(
                #[inline(always)]
                || {
                    (
                        E::Lanes::load_rows(self.0, |lane| &point(lane).x),
                        E::Lanes::load_rows(self.0, |lane| &point(lane).y),
                    )
                },
            );
            let each = x.elements().into_iter().zip(y.elements()).take(points.len());
            loaded.extend(each.map(|(x, y)| Affine { x, y }));
        }
        loaded
    }

    fn one(self) -> Self::Numbers {
        self.0.call(
            #[inline(always)]
            || E::Lanes::one(self.0),
        )
    }

    fn product(self, left: &Self::Numbers, right: &Self::Numbers) -> Self::Numbers {
        self.0.call(
            #[inline(always)]
            || left.multiply_tight(right),
        )
    }

    fn inverse(self, numbers: &Self::Numbers) -> Self::Numbers {
        numbers.inverse()
    }

    fn denominators(self, points: &[Self::Point], pairs: &[Pair]) -> Self::Numbers {
        self.0.call(
            #[inline(always)]
            || {
                let pairs = Pairs { points, pairs };
                let left = E::Lanes::load_rows(self.0, |lane| &pairs.point(lane, 0).x);
                let right = E::Lanes::load_rows(self.0, |lane| &pairs.point(lane, 1).x);
                let denominators = right.minus(&left);
                // Very rare.
                if are_special(&left, &right) != 0 {
                    let y = E::Lanes::load_rows(self.0, |lane| &pairs.point(lane, 0).y);
                    let same = mask::<V>(|lane| pairs.terms(lane).have_same_x());
                    let double = mask::<V>(|lane| pairs.terms(lane).is_double());
                    let y = y.or_if(pairs.negative::<V>(0), &y.negative());
                    return denominators.or_if(same, &E::Lanes::one(self.0)).or_if(double, &y.twice()).tight();
                }
                denominators.tight()
            },
        )
    }

    fn sums(self, points: &mut [Self::Point], pairs: &[Pair], inverses: &Self::Numbers, places: &[u32]) {
        self.0.call(
            #[inline(always)]
            || {
                let pairs = Pairs { points: &*points, pairs };
                let x1 = E::Lanes::load_rows(self.0, |lane| &pairs.point(lane, 0).x);
                let y1 = E::Lanes::load_rows(self.0, |lane| &pairs.point(lane, 0).y);
                let x2 = E::Lanes::load_rows(self.0, |lane| &pairs.point(lane, 1).x);
                let y2 = E::Lanes::load_rows(self.0, |lane| &pairs.point(lane, 1).y);
                let y1 = y1.or_if(pairs.negative::<V>(0), &y1.negative());
                let y2 = y2.or_if(pairs.negative::<V>(1), &y2.negative());
                let mut numerators = y2.minus(&y1);
                let special = are_special(&x1, &x2);
                if special != 0 {
                    let double = mask::<V>(|lane| pairs.terms(lane).is_double());
                    let square = x1.square();
                    numerators = numerators.or_if(double, &square.twice().plus(&square));
                }
                let slope = numerators.tight().multiply_tight(inverses);
                let x = slope.square_tight().minus(&x1).minus(&x2);
                let y = slope.multiply_tight(&x1.minus(&x).tight()).minus(&y1);
                // Computed before the terms are overwritten.
                let mut without_slope = Vec::new();
                if special != 0 {
                    let each = places.iter().enumerate();
                    let sum = |(lane, place): (usize, &u32)| Some((*place, pairs.terms(lane).without_slope()?));
                    without_slope.extend(each.filter_map(sum));
                }
                store::<V, E>(&x, &y, |lane, point| {
                    if let Some(place) = places.get(lane) {
                        points[*place as usize] = point;
                    }
                });
                without_slope.into_iter().for_each(|(place, sum)| points[place as usize] = sum);
            },
        );
    }
}

/// Lanes in which a point may be at infinity, which has an x of zero, or both points may have the same x.
#[inline(always)]
fn are_special<L: Lanes>(left: &L, right: &L) -> Mask {
    left.may_be_zero() | right.may_be_zero() | right.minus(left).may_be_zero()
}

/// A pair of points in each lane; lanes without one repeat the last.
struct Pairs<'a, R> {
    points: &'a [InRows<R>],
    pairs: &'a [Pair],
}

impl<R: Copy + Default + PartialEq + AsMut<[Row]>> Pairs<'_, R> {
    #[inline(always)]
    fn pair(&self, lane: usize) -> Pair {
        self.pairs[lane.min(self.pairs.len() - 1)]
    }

    #[inline(always)]
    fn point(&self, lane: usize, side: usize) -> &InRows<R> {
        &self.points[self.pair(lane)[side].at()]
    }

    /// Lanes in which the negative of the point is used.
    #[inline(always)]
    fn negative<V: Vector>(&self, side: usize) -> Mask {
        mask::<V>(|lane| self.pair(lane)[side].is_negative())
    }

    fn terms(&self, lane: usize) -> Terms<InRows<R>> {
        Terms::new(self.points, self.pair(lane))
    }
}
