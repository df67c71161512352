//! Additions of points in affine coordinates, one in each lane.

use super::Lanes;
use super::fp::negative_row;
use crate::bls12_381::field::Field;
use crate::bls12_381::pippenger::{Adder, Affine, Stored, Terms};
use crate::lanes::{Mask, Row, Vector, mask};

/// Adds as many pairs at once as a vector has lanes.
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
        left.multiply(right)
    }

    fn inverse(self, numbers: &Self::Numbers) -> Self::Numbers {
        numbers.inverse()
    }

    fn denominators<'a>(self, terms: impl Fn(usize) -> Terms<'a, Self::Point>) -> Self::Numbers {
        self.0.call(
            #[inline(always)]
            || {
                let left = E::Lanes::load_rows(self.0, |lane| &terms(lane).left.x);
                let right = E::Lanes::load_rows(self.0, |lane| &terms(lane).right.x);
                let denominators = right.minus(&left);
                // Hardly ever.
                let same = mask::<V>(|lane| terms(lane).left.has_x_of(terms(lane).right));
                if same == 0 {
                    return denominators;
                }
                let double = mask::<V>(|lane| terms(lane).is_double());
                let y = E::Lanes::load_rows(self.0, |lane| &terms(lane).left.y);
                denominators.or_if(same, &E::Lanes::one(self.0)).or_if(double, &y.twice())
            },
        )
    }

    fn sums<'a>(
        self,
        terms: impl Fn(usize) -> Terms<'a, Self::Point>,
        inverses: &Self::Numbers,
        mut sum: impl FnMut(usize, Self::Point),
    ) {
        self.0.call(
            #[inline(always)]
            || {
                let x1 = E::Lanes::load_rows(self.0, |lane| &terms(lane).left.x);
                let y1 = E::Lanes::load_rows(self.0, |lane| &terms(lane).left.y);
                let x2 = E::Lanes::load_rows(self.0, |lane| &terms(lane).right.x);
                let y2 = E::Lanes::load_rows(self.0, |lane| &terms(lane).right.y);
                let mut numerators = y2.minus(&y1);
                let double = mask::<V>(|lane| terms(lane).is_double());
                if double != 0 {
                    let square = x1.square();
                    numerators = numerators.or_if(double, &square.twice().plus(&square));
                }
                let slope = numerators.multiply(inverses);
                let x = slope.square().minus(&x1).minus(&x2);
                let y = slope.multiply(&x1.minus(&x)).minus(&y1);
                store::<V, E>(&x, &y, |lane, point| sum(lane, terms(lane).without_slope().unwrap_or(point)));
            },
        );
    }
}
