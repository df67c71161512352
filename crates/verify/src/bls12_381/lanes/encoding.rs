//! The arithmetic of parsing points, one in each lane.

use super::curve::{Affine, Curve};
use super::field::Lanes;
use super::root::Root;
use crate::bls12_381::encoding::CompressedPoint;
use crate::bls12_381::field::Field;
use crate::lanes::{Mask, Vector};

/// The y of each x, for a point on the curve; `None` for an x of no point.
#[inline(always)]
pub(in crate::bls12_381) fn uncompress<E: Field, V: Vector>(any: V, points: &[CompressedPoint<E>]) -> Vec<Option<E>> {
    let mut found = Vec::with_capacity(points.len());
    for points in points.chunks(V::LANES) {
        let point = |lane: usize| points.get(lane).unwrap_or(&points[0]);
        let x = E::Lanes::load(any, |lane| point(lane).x);
        let y = y_of(&x);
        let is_larger = y.is_larger();
        let is_on_curve = Affine { x, y }.is_on_curve();
        let each = y.elements().into_iter().zip(points).enumerate();
        found.extend(each.map(|(lane, (y, point))| {
            let has_wanted_sign = (is_larger >> lane & 1 == 1) == point.is_larger;
            (is_on_curve >> lane & 1 == 1).then_some(if has_wanted_sign { y } else { -y })
        }));
    }
    found
}

/// A square root of x³ + b, where it has one.
#[inline(always)]
fn y_of<L: Curve + Root>(x: &L) -> L {
    x.square().multiply(x).plus(&L::b(x.any())).root()
}

/// Whether each of these points of the curve is in the subgroup. None is at infinity.
#[inline(always)]
pub(in crate::bls12_381) fn are_in_subgroup<E: Field, V: Vector>(any: V, points: &[(E, E)]) -> Vec<bool> {
    let mut verdicts = Vec::with_capacity(points.len());
    for points in points.chunks(V::LANES) {
        let point = |lane: usize| points.get(lane).unwrap_or(&points[0]);
        let x = E::Lanes::load(any, |lane| point(lane).0);
        let y = E::Lanes::load(any, |lane| point(lane).1);
        let good: Mask = Affine { x, y }.is_in_subgroup();
        verdicts.extend((0..points.len()).map(|lane| good >> lane & 1 == 1));
    }
    verdicts
}
