//! Points of curves y^2 = x^3 + b, one in each lane.
//!
//! No formula uses b, so they serve all curves that are secp256k1 in other coordinates.

use super::field::{Element, Sum, invert};
use super::kernel::Kernel;
use crate::lanes::{Mask, Plain, Row};

/// (x, y).
#[derive(Clone, Copy)]
pub(super) struct Affine<V> {
    pub(super) x: Element<V>,
    pub(super) y: Element<V>,
}

/// (x / z^2, y / z^3).
///
/// The additions here cannot handle the point at infinity, nor a point plus itself or its negative; for those, they
/// return z = 0. From then on z stays zero, whatever is done to the point, so it is enough to check z at the end: if it
/// is not zero, the result is right; if it is zero, it must be computed another way.
#[derive(Clone, Copy)]
pub(super) struct Jacobian<V> {
    pub(super) x: Element<V>,
    pub(super) y: Element<V>,
    pub(super) z: Element<V>,
}

impl<V: Kernel> Affine<V> {
    #[inline(always)]
    pub(super) fn to_jacobian(self) -> Jacobian<V> {
        Jacobian { x: self.x, y: self.y, z: Element::small(self.x.any(), 1) }
    }

    /// Loads a point for each lane. A row is its x and its y, both below 2^256, in limbs of 64 bits, lowest first.
    #[inline(always)]
    pub(super) fn load<'a>(any: V, row: impl Fn(usize) -> &'a Row) -> Self {
        let (x, y) = Element::load_rows(any, row);
        Self { x, y }
    }

    /// The same point on the curve whose x and y are multiplied by the factor's square and cube.
    #[inline(always)]
    pub(super) fn scale(&self, factor: &Element<V>) -> Self {
        let square = factor.square();
        Self { x: self.x.multiply(&square), y: self.y.multiply(&square.multiply(factor)) }
    }

    /// The negative in the lanes of the mask.
    #[inline(always)]
    pub(super) fn negative_if(self, mask: Mask) -> Self {
        Self { x: self.x, y: self.y.negative_if(mask).tight() }
    }
}

impl<V: Kernel> Jacobian<V> {
    /// The point in affine coordinates; (0, 0) where z is zero.
    #[inline(always)]
    pub(super) fn to_affine(self) -> Affine<V> {
        self.z.any().formula(
            #[inline(always)]
            || {
                let inverse = invert(&self.z);
                let square = inverse.square();
                Affine { x: self.x.multiply(&square), y: self.y.multiply(&square.multiply(&inverse)) }
            },
        )
    }

    /// 3 multiplications and 4 squarings.
    #[inline(always)]
    pub(super) fn double(&self) -> Self {
        self.z.any().formula(
            #[inline(always)]
            || {
                let a = self.x.square();
                let b = self.y.square();
                let c = b.square();
                let d = self.x.multiply(&b);
                let e = a.times::<1>().plus(&a).tight();
                let x = e.square_plus(Sum::zero(d.any()).minus::<3>(&d));
                let rest = d.times::<2>().minus::<0>(&x).tight();
                let y = e.multiply_plus(&rest, Sum::zero(c.any()).minus::<3>(&c));
                let z = self.y.multiply(&self.z).times::<1>().tight();
                Self { x, y, z }
            },
        )
    }

    /// Adds an affine point, in 8 multiplications and 3 squarings. Also returns the factor by which z was multiplied.
    #[inline(always)]
    pub(super) fn add_affine(&self, other: &Affine<V>) -> (Self, Element<V>) {
        self.z.any().formula(
            #[inline(always)]
            || {
                let zz = self.z.square();
                let u = other.x.multiply(&zz);
                let s = other.y.multiply(&self.z.multiply(&zz));
                let h = u.times::<0>().minus::<0>(&self.x).tight();
                let r = s.times::<0>().minus::<0>(&self.y).tight();
                let (x, y) = finish(&self.x, &self.y, &h, &r);
                (Self { x, y, z: self.z.multiply(&h) }, h)
            },
        )
    }

    /// 12 multiplications and 4 squarings.
    #[inline(always)]
    pub(super) fn add(&self, other: &Self) -> Self {
        self.z.any().formula(
            #[inline(always)]
            || {
                let zz1 = self.z.square();
                let zz2 = other.z.square();
                let u1 = self.x.multiply(&zz2);
                let u2 = other.x.multiply(&zz1);
                let s1 = self.y.multiply(&other.z.multiply(&zz2));
                let s2 = other.y.multiply(&self.z.multiply(&zz1));
                let h = u2.times::<0>().minus::<0>(&u1).tight();
                let r = s2.times::<0>().minus::<0>(&s1).tight();
                let (x, y) = finish(&u1, &s1, &h, &r);
                Self { x, y, z: self.z.multiply(&other.z).multiply(&h) }
            },
        )
    }

    /// The points of all lanes.
    #[inline(always)]
    pub(super) fn store(&self, points: &mut [Jacobian<Plain>]) {
        let mut numbers = [[[0; 4]; Mask::BITS as usize]; 3];
        let [x, y, z] = &mut numbers;
        self.x.store(x);
        self.y.store(y);
        self.z.store(z);
        let element = |number: [u64; 4]| Element::load(Plain(0), |_| number);
        for (point, ((x, y), z)) in points.iter_mut().zip(x.iter().zip(y).zip(z)) {
            *point = Jacobian { x: element(*x), y: element(*y), z: element(*z) };
        }
    }

    #[inline(always)]
    pub(super) fn or_if(&self, mask: Mask, other: &Self) -> Self {
        Self { x: self.x.or_if(mask, &other.x), y: self.y.or_if(mask, &other.y), z: self.z.or_if(mask, &other.z) }
    }
}

/// The sum's x and y, from those of the first point and the differences h of x and r of y, all over the same z.
#[inline(always)]
fn finish<V: Kernel>(x: &Element<V>, y: &Element<V>, h: &Element<V>, r: &Element<V>) -> (Element<V>, Element<V>) {
    let hh = h.square();
    let hhh = h.multiply(&hh);
    let v = x.multiply(&hh);
    let sum = r.square_plus(Sum::zero(v.any()).minus::<0>(&hhh).minus::<1>(&v));
    let rest = v.times::<0>().minus::<0>(&sum).tight();
    let y = r.multiply_plus(&rest, Sum::zero(v.any()).minus::<0>(&y.multiply(&hhh)));
    (sum, y)
}
