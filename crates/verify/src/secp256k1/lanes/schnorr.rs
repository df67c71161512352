//! BIP340 in lanes.
//!
//! A signature is good if s G - e P is the point with an even y and r as its x. For many signatures at once, it is
//! enough that the sum of all s G - e P - R, each times an unpredictable factor, is zero.

use std::collections::HashMap;

use super::combination::{Terms, combine, decompress, times_lambda};
use super::field::Element;
use super::kernel::Kernel;
use super::multiple::Multiples;
use super::scalar::{self, Half};
use crate::lanes::{Mask, Pair, Row, Vector};
use crate::secp256k1::PublicKey;
use crate::secp256k1::schnorr::challenge::Challenged;

/// What the lanes can say about a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::secp256k1) enum Finding {
    Good,
    KeyNotOnCurve,
    Mismatch,
    /// An addition met a case that its formula cannot handle.
    Unsure,
}

/// The finding for each item on its own.
#[inline(always)]
pub(in crate::secp256k1) fn verify_each<V: Kernel>(any: V, items: &[Challenged]) -> Vec<Finding> {
    let term = |item: &Challenged| {
        let e = scalar::reduce(scalar::from_bytes(&item.e));
        Terms::new(&PublicKey::from_x(item.key, false), scalar::from_bytes(&item.s), &scalar::negate(&e))
    };
    let terms: Vec<Terms> = items.iter().map(term).collect();
    let mut findings = Vec::with_capacity(items.len());
    for (items, terms) in items.chunks(V::LANES).zip(terms.chunks(V::LANES)) {
        let at = |lane: usize| lane.min(items.len() - 1);
        let (sum, on_curve) = combine(any, |lane| &terms[at(lane)]);
        let (unsure, good) = any.call(
            #[inline(always)]
            || {
                let nonce = sum.to_affine();
                let r = Element::load(any, |lane| scalar::from_bytes(&items[at(lane)].r));
                let equal = nonce.x.less(&r).is_zero();
                (sum.z.is_zero(), equal & !nonce.y.is_odd())
            },
        );
        findings.extend((0..items.len()).map(|lane| {
            let is = |mask: Mask| mask >> lane & 1 == 1;
            match () {
                () if !is(on_curve) => Finding::KeyNotOnCurve,
                () if is(unsure) => Finding::Unsure,
                () if is(good) => Finding::Good,
                () => Finding::Mismatch,
            }
        }));
    }
    findings
}

/// A point with an even y, and lambda times it.
pub(in crate::secp256k1) type Point = [Row; 2];

/// The points with these x and an even y; `None` for an x of no point.
#[inline(always)]
pub(in crate::secp256k1) fn points<V: Kernel>(any: V, xs: &[[u8; 32]]) -> Vec<Option<Point>> {
    let any = Pair::new(any);
    let mut points = Vec::with_capacity(xs.len());
    let mut rows = [[Row::default(); Mask::BITS as usize]; 2];
    let lanes = 2 * V::LANES;
    for xs in xs.chunks(lanes) {
        let x = Element::load(any, |lane| scalar::from_bytes(&xs[lane.min(xs.len() - 1)]));
        let on_curve = any.call(
            #[inline(always)]
            || {
                let (point, on_curve) = decompress(&x, 0, &x, 0);
                Element::store_rows(&point.x, &point.y, &mut rows[0][..lanes]);
                Element::store_rows(&times_lambda(&point.x), &point.y, &mut rows[1][..lanes]);
                on_curve
            },
        );
        points.extend((0..xs.len()).map(|lane| (on_curve >> lane & 1 == 1).then(|| [rows[0][lane], rows[1][lane]])));
    }
    points
}

/// One item of a combined check.
pub(in crate::secp256k1) struct Combined<'a> {
    pub(in crate::secp256k1) item: &'a Challenged,
    pub(in crate::secp256k1) key: &'a Point,
    pub(in crate::secp256k1) nonce: &'a Point,
    /// Unpredictable to anybody who had a hand in the item.
    pub(in crate::secp256k1) random: [u64; 2],
}

/// Whether all items are good.
///
/// `true` is wrong with a chance of 2^-128. `false` may be wrong if the points were chosen for that.
#[inline(always)]
pub(in crate::secp256k1) fn verify_all<'a, V: Kernel>(any: V, items: impl Iterator<Item = Combined<'a>>) -> bool {
    let mut sum = Multiples::default();
    // Keys often repeat. Equal points would send the sum's additions on a detour, so their factors are added up first.
    let mut keys: HashMap<&[u8; 32], usize> = HashMap::new();
    let mut by_key = Vec::new();
    for Combined { item, key, nonce, random: [a, b] } in items {
        // The factor is a + b lambda. No two of these are equal, since lambda is not the ratio of two numbers that
        // short. Split into halves, they are half as long as any other number, which saves half the digits of the
        // nonces.
        let factor = scalar::add(&scalar::from_u64(a), &scalar::product(&scalar::from_u64(b), &scalar::LAMBDA));
        sum.push_generator(&scalar::product(&factor, &scalar::from_bytes(&item.s)));
        sum.push(nonce, [a, b].map(|half| Half { negative: true, magnitude: half.into() }));
        let e = scalar::reduce(scalar::from_bytes(&item.e));
        let at = *keys.entry(&item.key).or_insert(by_key.len());
        if at == by_key.len() {
            by_key.push((key, [0; 4]));
        }
        by_key[at].1 = scalar::add(&by_key[at].1, &scalar::product(&factor, &e));
    }
    for (key, number) in by_key {
        sum.push(key, scalar::split(&scalar::negate(&number)));
    }
    sum.sum_is_zero(Pair::new(any))
}
