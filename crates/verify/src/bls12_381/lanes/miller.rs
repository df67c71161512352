//! Miller loops, one pair in each lane.
//!
//! Points of the twist are in homogeneous coordinates, (X / Z, Y / Z), so that no step needs an inversion. Lines are
//! those of the twist times factors from subfields, which the final exponentiation turns into one (Costello, Lange,
//! Naehrig: Faster Pairing Computations on Curves with High-Degree Twists; Aranha et al.: Faster Explicit Formulas for
//! Computing Pairings over Ordinary Curves).

use ::blst::{blst_fp12, blst_fp12_mul, blst_p1_affine, blst_p2_affine};

use super::fp::Fp;
use super::fp2::Fp2;
use super::fp12::{Fp12, Line};
use crate::bls12_381::portable::result;
use crate::lanes::{Mask, Vector, mask};

/// The curve's parameter is minus this.
pub(super) const PARAMETER: u64 = 0xd201_0000_0001_0000;

/// Vectors of pairs that share the squarings of one product: as many as stay in the second-level cache.
const SHARED: usize = 64;

/// A pair in each lane, on its way through the loop.
struct Walk<V> {
    /// Lanes that have a pair.
    used: Mask,
    /// Minus three times x, and y, of the point of G1.
    left: (Fp<V>, Fp<V>),
    /// The point of G2.
    right: (Fp2<V>, Fp2<V>),
    /// Its multiple.
    x: Fp2<V>,
    y: Fp2<V>,
    z: Fp2<V>,
}

/// The product of the Miller loops of these pairs, up to factors from subfields. No point may be at infinity.
#[inline(always)]
pub(in crate::bls12_381) fn miller_loop<V: Vector>(any: V, pairs: &[(&blst_p1_affine, &blst_p2_affine)]) -> blst_fp12 {
    let mut product = blst_fp12::default();
    for pairs in pairs.chunks(SHARED * V::LANES) {
        for element in miller_loops(any, pairs).elements() {
            product = result!(blst_fp12_mul(&product, &element));
        }
    }
    product
}

/// In each lane, the product of the Miller loops of every pair whose number modulo the number of lanes is the lane's.
#[inline(always)]
pub(super) fn miller_loops<V: Vector>(any: V, pairs: &[(&blst_p1_affine, &blst_p2_affine)]) -> Fp12<V> {
    let mut walks = Vec::with_capacity(pairs.len().div_ceil(V::LANES));
    for pairs in pairs.chunks(V::LANES) {
        walks.push(Walk::begin(any, pairs));
    }
    let mut value = Fp12::one(any);
    // The highest bit is the point itself.
    for bit in (0..PARAMETER.ilog2()).rev() {
        if bit + 1 < PARAMETER.ilog2() {
            value = value.square();
        }
        for walk in &mut walks {
            value = value.multiply_line(&walk.double());
        }
        if PARAMETER >> bit & 1 == 1 {
            for walk in &mut walks {
                value = value.multiply_line(&walk.add());
            }
        }
    }
    // The parameter is negative.
    value.conjugate()
}

impl<V: Vector> Walk<V> {
    /// Lanes without a pair repeat the first.
    #[inline(always)]
    fn begin(any: V, pairs: &[(&blst_p1_affine, &blst_p2_affine)]) -> Self {
        let pair = |lane: usize| pairs.get(lane).unwrap_or(&pairs[0]);
        let x = Fp::load(any, |lane| pair(lane).0.x.l);
        let y = Fp::load(any, |lane| pair(lane).0.y.l);
        let right = (Fp2::load(any, |lane| &pair(lane).1.x), Fp2::load(any, |lane| &pair(lane).1.y));
        let thrice = x.plus(&x).plus(&x);
        Self {
            used: mask::<V>(|lane| lane < pairs.len()),
            left: (Fp::zero(any).minus(&thrice), y),
            right,
            x: right.0,
            y: right.1,
            z: Fp2::one(any),
        }
    }

    /// Doubles the point, and returns the tangent's value.
    #[inline(always)]
    fn double(&mut self) -> Line<V> {
        self.z.any().call(
            #[inline(always)]
            || {
                // All coordinates are four times the paper's, so that nothing is halved.
                let a = self.x.multiply(&self.y).twice();
                let b = self.y.square();
                let c = self.z.square();
                // 3 b' Z², where b' is 4 (u + 1).
                let e = c.times_xi().thrice().twice().twice();
                let f = e.thrice();
                let g = b.plus(&f);
                let h = self.y.multiply(&self.z).twice();
                let j = self.x.square();
                self.x = a.multiply(&b.minus(&f));
                self.y = g.square().minus(&e.square().thrice().twice().twice());
                self.z = b.multiply(&h).twice().twice();
                self.line(b.minus(&e), j.multiply_fp(&self.left.0), h.multiply_fp(&self.left.1))
            },
        )
    }

    /// Adds the pair's point, and returns the value of the line through it and the point that it is added to.
    #[inline(always)]
    fn add(&mut self) -> Line<V> {
        self.z.any().call(
            #[inline(always)]
            || {
                let (x, y) = &self.right;
                let theta = self.y.minus(&y.multiply(&self.z));
                let lambda = self.x.minus(&x.multiply(&self.z));
                let d = lambda.square();
                let e = lambda.multiply(&d);
                let f = self.z.multiply(&theta.square());
                let g = self.x.multiply(&d);
                let h = e.plus(&f).minus(&g.twice());
                self.x = lambda.multiply(&h);
                self.y = theta.multiply(&g.minus(&h)).minus(&e.multiply(&self.y));
                self.z = self.z.multiply(&e);
                let constant = theta.multiply(x).minus(&lambda.multiply(y)).thrice();
                // Three times the line, as x of the point of G1 is there three times.
                self.line(constant, theta.multiply_fp(&self.left.0), lambda.multiply_fp(&self.left.1).thrice())
            },
        )
    }

    /// The line with these coefficients; one in lanes that have no pair.
    #[inline(always)]
    fn line(&self, c0: Fp2<V>, c1: Fp2<V>, c2: Fp2<V>) -> Line<V> {
        let unused = !self.used;
        let (zero, one) = (Fp2::zero(self.z.any()), Fp2::one(self.z.any()));
        Line { c0: c0.or_if(unused, &one), c1: c1.or_if(unused, &zero), c2: c2.or_if(unused, &zero) }
    }
}
