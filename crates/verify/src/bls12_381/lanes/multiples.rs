//! Multiples of points, a point and its scalar in each lane.
//!
//! The endomorphism splits a scalar into two shorter ones in G1 and four in G2, which share the doublings; each of them
//! is cut into signed digits of five bits. The limit: 404,894 fused multiply-adds for eight points of G1, and 762,816
//! in G2.

use std::array::from_fn;

use super::curve::{Affine, Curve, Jacobian};
use super::field::Lanes;
use crate::bls12_381::digits::Plan;
use crate::bls12_381::field::Field;
use crate::lanes::{Mask, Vector, mask};

/// Bits of a digit: four would mean more additions, six more multiples to prepare, than they save.
const DIGIT: u32 = 5;

/// The multiples that digits need, up to half of 2^[`DIGIT`].
const MULTIPLES: usize = 1 << (DIGIT - 1);

/// The most parts that a scalar is split into.
const PARTS: usize = 4;

/// Multiples of points in the subgroup, none of them at infinity, by scalars below 2^255.
///
/// `None` where the formulas fail: where the multiple is infinity, and in a few cases that only occur if somebody
/// searches for them.
#[inline(always)]
pub(in crate::bls12_381) fn multiply_each<E: Field, V: Vector>(
    any: V,
    points: &[(E, E)],
    scalars: &[[u64; 4]],
) -> Vec<Option<(E, E)>> {
    assert_eq!(points.len(), scalars.len());
    let mut multiples = Vec::with_capacity(points.len());
    for (points, scalars) in points.chunks(V::LANES).zip(scalars.chunks(V::LANES)) {
        let point = |lane: usize| points.get(lane).unwrap_or(&points[0]);
        let x = E::Lanes::load(any, |lane| point(lane).0);
        let y = E::Lanes::load(any, |lane| point(lane).1);
        let sum = multiply::<E::Lanes<V>>(&Affine { x, y }, scalars);
        let is_infinite = sum.z.is_zero();
        let inverse = sum.z.or_if(is_infinite, &E::Lanes::one(any)).inverse();
        let Affine { x, y } = affine(&sum, &inverse);
        let each = x.elements().into_iter().zip(y.elements()).take(points.len()).enumerate();
        multiples.extend(each.map(|(lane, point)| (is_infinite >> lane & 1 == 0).then_some(point)));
    }
    multiples
}

/// x and y, from the inverse of Z.
#[inline(always)]
fn affine<L: Curve>(point: &Jacobian<L>, inverse: &L) -> Affine<L> {
    let square = inverse.square();
    Affine { x: point.x.multiply(&square), y: point.y.multiply(&square.multiply(inverse)) }
}

/// Where the formulas fail, Z is zero. Lanes without a scalar use the scalar zero.
#[inline(always)]
fn multiply<L: Curve>(point: &Affine<L>, scalars: &[[u64; 4]]) -> Jacobian<L> {
    let any = point.x.any();
    let plan = Plan::with_bits(DIGIT);
    let table = Table::new(point);
    let parts: Vec<_> = scalars.iter().map(|scalar| L::split(*scalar)).collect();
    let mut sum = Jacobian { x: L::one(any), y: L::one(any), z: L::zero(any) };
    let mut begun: Mask = 0;
    for window in (0..plan.windows).rev() {
        for _ in 0..if begun == 0 { 0 } else { plan.bits } {
            sum = sum.double();
        }
        for part in 0..PARTS / L::POWER {
            let digits: [i32; Mask::BITS as usize] =
                from_fn(|lane| parts.get(lane).map_or(0, |parts| plan.digit(parts[part], window)));
            let used = mask::<L::Vector>(|lane| digits[lane] != 0);
            // Short scalars have no digits in most windows of some parts.
            if used != 0 {
                let term = table.get(any, part, &digits);
                let next = sum.add(&term).or_if(!begun, &Jacobian::from(&term));
                sum = sum.or_if(used, &next);
                begun |= used;
            }
        }
    }
    sum
}

/// Multiples of each lane's point, and their images under the powers of the endomorphism.
struct Table<L: Lanes> {
    /// For each part, each multiple, each lane.
    rows: Vec<(L::Rows, L::Rows)>,
}

impl<L: Curve> Table<L> {
    #[inline(always)]
    fn new(point: &Affine<L>) -> Self {
        let any = point.x.any();
        let mut multiples = [Jacobian::from(point); MULTIPLES];
        for at in 1..MULTIPLES {
            // Twice the multiple with half the number, or one more than the one before.
            multiples[at] = if at % 2 == 1 { multiples[at / 2].double() } else { multiples[at - 1].add(point) };
        }
        // Products of all the Z before each one, so that all share one inversion.
        let mut products = [L::one(any); MULTIPLES];
        for at in 1..MULTIPLES {
            products[at] = products[at - 1].multiply(&multiples[at - 1].z);
        }
        let mut inverse = products[MULTIPLES - 1].multiply(&multiples[MULTIPLES - 1].z).inverse();
        let lanes = <L::Vector as Vector>::LANES;
        let mut rows = vec![Default::default(); PARTS / L::POWER * MULTIPLES * lanes];
        for at in (0..MULTIPLES).rev() {
            let mut image = affine(&multiples[at], &inverse.multiply(&products[at]));
            inverse = inverse.multiply(&multiples[at].z);
            for part in 0..PARTS / L::POWER {
                let first = (part * MULTIPLES + at) * lanes;
                store(&image, &mut rows[first..first + lanes]);
                image = L::endomorphism(&image);
            }
        }
        Self { rows }
    }

    /// The multiple that each lane's digit selects; any for a digit of zero.
    #[inline(always)]
    fn get(&self, any: L::Vector, part: usize, digits: &[i32]) -> Affine<L> {
        let lanes = <L::Vector as Vector>::LANES;
        let row = |lane: usize| {
            let at = digits[lane].unsigned_abs().max(1) as usize - 1;
            &self.rows[(part * MULTIPLES + at) * lanes + lane]
        };
        let (x, y) = (L::load_rows(any, |lane| &row(lane).0), L::load_rows(any, |lane| &row(lane).1));
        Affine { x, y: y.or_if(mask::<L::Vector>(|lane| digits[lane] < 0), &y.negative()) }
    }
}

/// Coordinates that the endomorphism left negative are folded before they are stored.
#[inline(always)]
fn store<L: Lanes>(point: &Affine<L>, rows: &mut [(L::Rows, L::Rows)]) {
    let mut each = [L::Rows::default(); Mask::BITS as usize];
    let each = &mut each[..rows.len()];
    point.x.folded().store(each);
    rows.iter_mut().zip(&*each).for_each(|(rows, x)| rows.0 = *x);
    point.y.folded().store(each);
    rows.iter_mut().zip(&*each).for_each(|(rows, y)| rows.1 = *y);
}
