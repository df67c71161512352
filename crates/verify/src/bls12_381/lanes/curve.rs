//! The curves of the two groups, and points on them, one in each lane.

use super::field::Lanes;
use super::fp::Limbs;
use super::{Fp, Fp2};
use crate::bls12_381 as scalar;
use crate::bls12_381::digits::{self, Z};
use crate::lanes::{Mask, Vector};

/// x and y. Infinity is not representable.
#[derive(Clone, Copy)]
pub struct Affine<L> {
    pub(super) x: L,
    pub(super) y: L,
}

/// X / Z² and Y / Z³.
///
/// The formulas handle neither infinity nor sums of a point with itself or its negative. They yield a Z of zero then,
/// which stays zero: so the last Z shows whether a sum is right.
#[derive(Clone, Copy)]
pub(super) struct Jacobian<L> {
    pub(super) x: L,
    pub(super) y: L,
    pub(super) z: L,
}

/// The curve y² = x³ + b over a field.
pub trait Curve: Lanes {
    /// The power of Z by which the endomorphism multiplies points of the subgroup, where -Z is the curve's parameter.
    /// It multiplies no other point so: its polynomial at that power is a multiple of the order alone (Scott: A note on
    /// group membership tests for G1, G2 and GT on BLS pairing-friendly curves).
    const POWER: usize;

    /// b.
    fn b(any: Self::Vector) -> Self;

    /// An endomorphism of the curve.
    fn endomorphism(point: &Affine<Self>) -> Affine<Self>;

    /// Splits a scalar below 2^255 into factors of the powers of the endomorphism; zeros after the first 4 /
    /// [`Self::POWER`].
    fn split(scalar: [u64; 4]) -> [i128; 4];
}

impl<V: Vector> Curve for Fp<V> {
    const POWER: usize = 2;

    #[inline(always)]
    fn b(any: V) -> Self {
        Lanes::twice(&Lanes::twice(&Self::one(any)))
    }

    /// x times a cube root of one, and -y.
    #[inline(always)]
    fn endomorphism(point: &Affine<Self>) -> Affine<Self> {
        let factor = <Self as Lanes>::load(point.x.any(), |_| scalar::Fp::CUBE_ROOT);
        Affine { x: point.x.multiply(&factor), y: point.y.negative() }
    }

    fn split(scalar: [u64; 4]) -> [i128; 4] {
        let [first, second] = digits::split(scalar);
        [first, second, 0, 0]
    }
}

/// 1 / (1 + u)^((p - 1) / 3) is this times u.
const FACTOR_OF_X: Limbs = [
    0x1_8a55_00cc_654c,
    0x2_e1c1_e948_2fe9,
    0xd_5d53_2d24_a460,
    0x0_23e9_8269_5377,
    0x3_6c99_171e_f509,
    0x1_9b09_66cc_23e1,
    0x4_4c5f_b3cf_7304,
    0x1_227f,
];

/// 1 / (1 + u)^((p - 1) / 2) is this times 1 - u.
const FACTOR_OF_Y: Limbs = [
    0x9_c1a6_77c9_6161,
    0xf_16c8_708f_cef3,
    0x9_4977_d280_93e6,
    0xa_06b7_1c92_7307,
    0xb_4fa7_40f7_0cc7,
    0x8_44ca_7b84_4683,
    0x3_f2d8_9b27_09bb,
    0x917d,
];

impl<V: Vector> Curve for Fp2<V> {
    const POWER: usize = 1;

    #[inline(always)]
    fn b(any: V) -> Self {
        Self { c0: Fp::b(any), c1: Fp::b(any) }
    }

    /// The negative of Frobenius' map on the twist, (x, y) to their conjugates over (1 + u)^((p - 1) / 3) and ^((p - 1)
    /// / 2): that map multiplies by p, which is the parameter modulo the order.
    #[inline(always)]
    fn endomorphism(point: &Affine<Self>) -> Affine<Self> {
        let (x, y) = (&point.x, &point.y);
        let (of_x, of_y) = (Fp::constant(x.any(), FACTOR_OF_X), Fp::constant(x.any(), FACTOR_OF_Y));
        Affine {
            x: Self { c0: x.c1, c1: x.c0 }.multiply_fp(&of_x),
            y: Self { c0: y.c1.minus(&y.c0), c1: y.c0.plus(&y.c1) }.multiply_fp(&of_y),
        }
    }

    fn split(scalar: [u64; 4]) -> [i128; 4] {
        digits::split_in_four(scalar)
    }
}

impl<L: Curve> Affine<L> {
    /// Lanes in which the point is on the curve.
    #[inline(always)]
    pub(super) fn is_on_curve(&self) -> Mask {
        let cube = self.x.square().multiply(&self.x);
        self.y.square().minus(&cube).minus(&L::b(self.x.any())).is_zero()
    }

    /// Lanes in which a point of the curve is in the subgroup.
    #[inline(always)]
    pub(super) fn is_in_subgroup(&self) -> Mask {
        let mut multiple = Jacobian::from(self);
        for _ in 0..L::POWER {
            // X and Y are a point of the curve with another b, which no formula uses. Its Z is multiplied by the first
            // one.
            let next = times_parameter(&Affine { x: multiple.x, y: multiple.y });
            multiple = Jacobian { z: next.z.multiply(&multiple.z), ..next };
        }
        let Jacobian { x, y, z } = &multiple;
        let expected = L::endomorphism(self);
        let square = z.square();
        let is_expected = expected.x.multiply(&square).minus(x).is_zero()
            & expected.y.multiply(&square.multiply(z)).minus(y).is_zero();
        is_expected & !z.is_zero()
    }
}

/// Z times the point.
#[inline(always)]
fn times_parameter<L: Curve>(point: &Affine<L>) -> Jacobian<L> {
    let mut multiple = Jacobian::from(point);
    for bit in (0..Z.ilog2()).rev() {
        multiple = multiple.double();
        if Z >> bit & 1 == 1 {
            multiple = multiple.add(point);
        }
    }
    multiple
}

impl<L: Curve> From<&Affine<L>> for Jacobian<L> {
    #[inline(always)]
    fn from(point: &Affine<L>) -> Self {
        Self { x: point.x, y: point.y, z: L::one(point.x.any()) }
    }
}

impl<L: Curve> Jacobian<L> {
    /// Two products and five squares (dbl-2009-l of the Explicit-Formulas Database).
    #[inline(always)]
    pub(super) fn double(&self) -> Self {
        self.x.any().call(
            #[inline(always)]
            || {
                let Self { x, y, z } = self;
                let (a, b) = (x.square(), y.square());
                let c = b.square();
                let d = x.plus(&b).square().minus(&a).minus(&c).twice();
                let e = a.twice().plus(&a);
                let next = e.square().minus(&d.twice());
                Self {
                    x: next,
                    y: e.multiply(&d.minus(&next)).minus(&c.twice().twice().twice()),
                    z: y.multiply(z).twice(),
                }
            },
        )
    }

    /// Eight products and three squares.
    #[inline(always)]
    pub(super) fn add(&self, other: &Affine<L>) -> Self {
        self.x.any().call(
            #[inline(always)]
            || {
                let Self { x, y, z } = self;
                let square = z.square();
                let h = other.x.multiply(&square).minus(x);
                let r = other.y.multiply(&square.multiply(z)).minus(y);
                let h2 = h.square();
                let h3 = h2.multiply(&h);
                let v = x.multiply(&h2);
                let next = r.square().minus(&h3).minus(&v.twice());
                Self { x: next, y: r.multiply(&v.minus(&next)).minus(&y.multiply(&h3)), z: z.multiply(&h) }
            },
        )
    }

    #[inline(always)]
    pub(super) fn or_if(&self, mask: Mask, other: &Self) -> Self {
        let Self { x, y, z } = self;
        Self { x: x.or_if(mask, &other.x), y: y.or_if(mask, &other.y), z: z.or_if(mask, &other.z) }
    }
}
