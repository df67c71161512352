//! ECDSA in lanes.
//!
//! A signature is good if u G + v Q has r as its x, with u = digest / s and v = r / s. Its key is (s R - digest G) / r.

use super::combination::{Terms, combine};
use super::field::Element;
use super::kernel::Kernel;
use super::scalar::{self, Scalar};
use crate::lanes::{Mask, Pair, mask};
use crate::secp256k1::ecdsa::{recoverable::Recoverable, signed::Signed};
use crate::secp256k1::number::PRIME_LESS_ORDER;
use crate::secp256k1::{PublicKey, Rule, portable};

/// n, in limbs of 52 bits.
const ORDER: [u64; 5] =
    [0x2_5e8c_d036_4141, 0xe_6af4_8a03_bbfd, 0xf_ffff_feba_aedc, 0xf_ffff_ffff_ffff, 0xffff_ffff_ffff];

/// Appends the verdict of each item.
#[inline(always)]
pub(in crate::secp256k1) fn verify_each<V: Kernel>(any: V, items: &[Signed], verdicts: &mut Vec<Result<(), Rule>>) {
    let mut inverses: Vec<Scalar> = items.iter().map(|item| scalar::from_bytes(&item.signature.s)).collect();
    scalar::invert_each(&mut inverses);
    let terms = |(item, inverse): (&Signed, &Scalar)| {
        let digest = scalar::reduce(scalar::from_bytes(&item.digest));
        let r = scalar::from_bytes(&item.signature.r);
        Terms::new(&item.key, scalar::multiply(&digest, inverse), &scalar::multiply(&r, inverse))
    };
    let terms: Vec<Terms> = items.iter().zip(&inverses).map(terms).collect();
    let chunk = 2 * V::LANES;
    for (items, terms) in items.chunks(chunk).zip(terms.chunks(chunk)) {
        match items.len() {
            count if count <= V::WORTH => verdicts.extend(items.iter().map(portable::ecdsa::verify)),
            count if count <= V::LANES => verify_lanes(any, items, terms, verdicts),
            _ => verify_lanes(Pair::new(any), items, terms, verdicts),
        }
    }
}

/// Verifies at most one item per lane. The remaining lanes repeat the last signature.
#[inline(always)]
fn verify_lanes<V: Kernel>(any: V, items: &[Signed], terms: &[Terms], verdicts: &mut Vec<Result<(), Rule>>) {
    let at = |lane: usize| lane.min(items.len() - 1);
    let (sum, on_curve) = combine(any, |lane| &terms[at(lane)]);
    let (unsure, matching) = any.call(
        #[inline(always)]
        || {
            let zz = sum.z.square();
            let r = Element::load(any, |lane| scalar::from_bytes(&items[at(lane)].signature.r));
            let more = r.times::<0>().plus(&Element::constant(any, ORDER)).tight();
            let small = mask::<V>(|lane| items[at(lane)].signature.r < PRIME_LESS_ORDER);
            let is_r = r.multiply(&zz).less(&sum.x).is_zero();
            (sum.z.is_zero(), is_r | more.multiply(&zz).less(&sum.x).is_zero() & small)
        },
    );
    verdicts.extend(items.iter().enumerate().map(|(lane, item)| {
        let is = |mask: Mask| mask >> lane & 1 == 1;
        if !is(on_curve) {
            Err(Rule::KeyNotOnCurve)
        } else if is(unsure) {
            portable::ecdsa::verify(item)
        } else if is(matching) {
            Ok(())
        } else {
            Err(Rule::Mismatch)
        }
    }));
}

/// The key of each item.
#[inline(always)]
pub(in crate::secp256k1) fn recover_each<V: Kernel>(any: V, items: &[Recoverable]) -> Vec<Result<PublicKey, Rule>> {
    let mut keys: Vec<Result<PublicKey, Rule>> = items.iter().map(Recoverable::nonce).collect();
    let pending: Vec<(usize, PublicKey)> =
        keys.iter().enumerate().filter_map(|(at, nonce)| Some((at, nonce.ok()?))).collect();
    let mut inverses: Vec<Scalar> = pending.iter().map(|(at, _)| scalar::from_bytes(&items[*at].signature.r)).collect();
    scalar::invert_each(&mut inverses);
    let terms = |((at, nonce), inverse): (&(usize, PublicKey), &Scalar)| {
        let digest = scalar::reduce(scalar::from_bytes(&items[*at].digest));
        let s = scalar::from_bytes(&items[*at].signature.s);
        let u = scalar::negate(&scalar::multiply(&digest, inverse));
        Terms::new(nonce, u, &scalar::multiply(&s, inverse))
    };
    let terms: Vec<Terms> = pending.iter().zip(&inverses).map(terms).collect();
    for (pending, terms) in pending.chunks(V::LANES).zip(terms.chunks(V::LANES)) {
        let (sum, on_curve) = combine(any, |lane| &terms[lane.min(terms.len() - 1)]);
        let (unsure, odd, x) = any.call(
            #[inline(always)]
            || {
                let key = sum.to_affine();
                let mut x = [[0; 4]; Mask::BITS as usize];
                key.x.store(&mut x);
                (sum.z.is_zero(), key.y.is_odd(), x)
            },
        );
        for (lane, (at, _)) in pending.iter().enumerate() {
            let is = |mask: Mask| mask >> lane & 1 == 1;
            keys[*at] = if !is(on_curve) {
                Err(Rule::NonceNotOnCurve)
            } else if is(unsure) {
                portable::ecdsa::recover(&items[*at])
            } else {
                Ok(PublicKey::from_x(scalar::to_bytes(&x[lane]), is(odd)))
            };
        }
    }
    keys
}
