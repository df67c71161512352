//! Points and the Miller loop, by the formulas of `docs/coprocessor.md`: what the hardware computes, coordinate for
//! coordinate. The fields are those of `crates/verify`.

use std::ops::{Add, Mul, Sub};

use verify::bls12_381::{Fp, Fp2, Fp12, Scalar};

/// The field that coordinates are elements of.
pub trait Field: Copy + Default + Eq + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    fn one() -> Self;
    /// Zero for zero.
    fn inverse(&self) -> Self;

    fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    fn square(self) -> Self {
        self * self
    }

    fn double(self) -> Self {
        self + self
    }
}

impl Field for Fp {
    fn one() -> Self {
        Self::one()
    }

    fn inverse(&self) -> Self {
        self.inverse()
    }
}

impl Field for Fp2 {
    fn one() -> Self {
        Self::one()
    }

    fn inverse(&self) -> Self {
        self.inverse()
    }
}

/// x and y, both zero at infinity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Affine<F> {
    /// x.
    pub x: F,
    /// y.
    pub y: F,
}

/// The point (X / Z², Y / Z³). At infinity Z is zero; every result at infinity is (1, 1, 0).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jacobian<F> {
    /// X.
    pub x: F,
    /// Y.
    pub y: F,
    /// Z.
    pub z: F,
}

impl<F: Field> Affine<F> {
    pub(crate) fn is_infinity(&self) -> bool {
        self.x.is_zero() && self.y.is_zero()
    }

    pub(crate) fn negate(&self) -> Self {
        Self { x: self.x, y: F::default() - self.y }
    }

    pub(crate) fn jacobian(&self) -> Jacobian<F> {
        if self.is_infinity() { Jacobian::infinity() } else { Jacobian { x: self.x, y: self.y, z: F::one() } }
    }
}

impl<F: Field> Jacobian<F> {
    fn infinity() -> Self {
        Self { x: F::one(), y: F::one(), z: F::default() }
    }

    pub(crate) fn negate(&self) -> Self {
        Self { y: F::default() - self.y, ..*self }
    }

    /// The affine point; zeros at infinity.
    pub(crate) fn affine(&self) -> Affine<F> {
        let inverse = self.z.inverse();
        let square = inverse.square();
        Affine { x: self.x * square, y: self.y * square * inverse }
    }

    pub(crate) fn double(&self) -> Self {
        if self.z.is_zero() {
            return Self::infinity();
        }
        let Self { x, y, z } = *self;
        let (a, b) = (x.square(), y.square());
        let d = (x * b).double().double();
        let e = a.double() + a;
        let x3 = e.square() - d.double();
        let y3 = e * (d - x3) - b.square().double().double().double();
        Self { x: x3, y: y3, z: (y * z).double() }
    }

    pub(crate) fn add(&self, other: &Self) -> Self {
        if self.z.is_zero() {
            return if other.z.is_zero() { Self::infinity() } else { *other };
        }
        if other.z.is_zero() {
            return *self;
        }
        let (zz1, zz2) = (self.z.square(), other.z.square());
        let (u1, u2) = (self.x * zz2, other.x * zz1);
        let (s1, s2) = (self.y * other.z * zz2, other.y * self.z * zz1);
        let (h, r) = (u2 - u1, (s2 - s1).double());
        if h.is_zero() {
            return if r.is_zero() { self.double() } else { Self::infinity() };
        }
        let i = h.double().square();
        let (j, v) = (h * i, u1 * i);
        let x3 = r.square() - j - v.double();
        let y3 = r * (v - x3) - (s1 * j).double();
        Self { x: x3, y: y3, z: (self.z * other.z * h).double() }
    }

    /// Doubles and adds, from the highest set bit of the scalar.
    pub(crate) fn multiply(&self, scalar: &Scalar) -> Self {
        let bytes = scalar.little_endian();
        let bits = bytes.iter().rev().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1));
        let mut bits = bits.skip_while(|bit| !bit);
        if bits.next().is_none() || self.z.is_zero() {
            return Self::infinity();
        }
        bits.fold(*self, |sum, bit| {
            let double = sum.double();
            if bit { double.add(self) } else { double }
        })
    }
}

/// The absolute value of the curve's parameter, which is negative.
const PARAMETER: u64 = 0xd201_0000_0001_0000;

/// The Miller loop of the optimal ate pairing; one if either point is at infinity.
pub(crate) fn miller_loop(p: &Affine<Fp>, q: &Affine<Fp2>) -> Fp12 {
    let mut f = Fp12::one();
    if p.is_infinity() || q.is_infinity() {
        return f;
    }
    let at = Affine { x: Fp::default() - p.x.double(), y: p.y.double() };
    let mut t = q.jacobian();
    // The highest bit is the t that the loop starts with.
    for bit in (0..63).rev() {
        f = f * f * line_of_double(&mut t, &at);
        if PARAMETER >> bit & 1 == 1 {
            f = f * line_of_add(&mut t, q, &at);
        }
    }
    conjugate(&f)
}

/// Doubles t, and returns the line through it at P, given as (-2 x, 2 y).
fn line_of_double(t: &mut Jacobian<Fp2>, at: &Affine<Fp>) -> Fp12 {
    let Jacobian { x, y, z } = *t;
    let e = x.square().double() + x.square();
    let zz = z.square();
    *t = t.double();
    let constant = (x * e).double() - y.square().double().double();
    line(constant, e * zz, t.z * zz, at)
}

/// Adds q to t, and returns the line through both at P, given as (-2 x, 2 y).
fn line_of_add(t: &mut Jacobian<Fp2>, q: &Affine<Fp2>, at: &Affine<Fp>) -> Fp12 {
    let r = (q.y * t.z * t.z.square() - t.y).double();
    *t = t.add(&q.jacobian());
    line((r * q.x - q.y * t.z).double(), r, t.z, at)
}

/// constant + (x coefficient) x v + (y coefficient) y v w.
fn line(constant: Fp2, x: Fp2, y: Fp2, at: &Affine<Fp>) -> Fp12 {
    let scale = |element: Fp2, factor: Fp| element.coefficients().map(|coefficient| coefficient * factor);
    let mut coefficients = [Fp::default(); 12];
    coefficients[..2].copy_from_slice(&constant.coefficients());
    coefficients[2..4].copy_from_slice(&scale(x, at.x));
    coefficients[8..10].copy_from_slice(&scale(y, at.y));
    Fp12::new(coefficients)
}

/// c0 - c1 w.
fn conjugate(f: &Fp12) -> Fp12 {
    let mut coefficients = f.coefficients();
    for coefficient in &mut coefficients[6..] {
        *coefficient = Fp::default() - *coefficient;
    }
    Fp12::new(coefficients)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use verify::bls12_381::{self, CurvePoint, G1, G2, Group, Point};

    use super::*;

    fn affine<G: Group>(point: &Point<G>) -> Affine<G::Element>
    where
        G::Element: Field,
    {
        point.coordinates().map_or_else(Affine::default, |(x, y)| Affine { x, y })
    }

    fn scalar() -> impl Strategy<Value = Scalar> {
        prop_oneof![
            Just(Scalar::from(0_u64)),
            Just(Scalar::from(1_u64)),
            Just(-Scalar::from(1_u64)),
            (0..20_u64).prop_map(Scalar::from),
            any::<[u8; 32]>().prop_map(|bytes| Scalar::reduce(&bytes)),
        ]
    }

    fn check_points<G: Group>(left: &Scalar, right: &Scalar)
    where
        G::Element: Field,
    {
        let (p, q) = (Point::<G>::generator().multiply(left), Point::<G>::generator().multiply(right));
        let (a, b) = (affine(&p).jacobian(), affine(&q).jacobian());
        assert_eq!(a.add(&b).affine(), affine(&p.add(&q)));
        assert_eq!(a.double().add(&b.double()).affine(), affine(&p.add(&p).add(&q.add(&q))));
        assert_eq!(a.add(&a), a.double());
        assert_eq!(a.add(&a.negate()), Jacobian::infinity());
        assert_eq!(a.multiply(right).affine(), affine(&p.multiply(right)));
        assert_eq!(a.double().multiply(right).affine(), affine(&p.add(&p).multiply(right)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn points_are_those_of_blst(left in scalar(), right in scalar()) {
            check_points::<G1>(&left, &right);
            check_points::<G2>(&left, &right);
        }

        /// Compared coefficient by coefficient: the formulas of the lines are blst's.
        #[test]
        fn miller_loops_are_those_of_blst(left in scalar(), right in scalar()) {
            let (p, q) = (Point::<G1>::generator().multiply(&left), Point::<G2>::generator().multiply(&right));
            prop_assert_eq!(miller_loop(&affine(&p), &affine(&q)), bls12_381::miller_loop(&[(p, q)]));
        }
    }

    /// The machine computes with any point of the curve, also one outside the subgroup.
    #[test]
    fn points_outside_the_subgroup_are_computed_with_as_well() {
        // (0, 2) has order 3.
        let third = Affine { x: Fp::default(), y: Fp::from(2) };
        assert!(CurvePoint::<G1>::new(third.x, third.y).is_ok());
        assert_eq!(third.jacobian().multiply(&Scalar::from(3_u64)), Jacobian::infinity());
        assert_eq!(third.jacobian().multiply(&Scalar::from(4_u64)).affine(), third);
    }
}
