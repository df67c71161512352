//! The field elements: [`Fp`], [`Fp2`], [`Fp12`] and [`Scalar`].

use std::ops::{Add, Mul, Neg, Sub};

use ::blst::*;

use super::Rule;
use super::lanes;
use super::montgomery;
use super::portable::{self, answer, result};
use super::words;
use crate::lanes::Vector;

/// The prime p of the field, big-endian.
pub const PRIME: [u8; 48] = [
    0x1a, 0x01, 0x11, 0xea, 0x39, 0x7f, 0xe6, 0x9a, 0x4b, 0x1b, 0xa7, 0xb6, 0x43, 0x4b, 0xac, 0xd7, 0x64, 0x77, 0x4b,
    0x84, 0xf3, 0x85, 0x12, 0xbf, 0x67, 0x30, 0xd2, 0xa0, 0xf6, 0xb0, 0xf6, 0x24, 0x1e, 0xab, 0xff, 0xfe, 0xb1, 0x53,
    0xff, 0xff, 0xb9, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xaa, 0xab,
];

/// The prime order r of the groups, big-endian.
pub const ORDER: [u8; 32] = [
    0x73, 0xed, 0xa7, 0x53, 0x29, 0x9d, 0x7d, 0x48, 0x33, 0x39, 0xd8, 0x08, 0x09, 0xa1, 0xd8, 0x05, 0x53, 0xbd, 0xa4,
    0x02, 0xff, 0xfe, 0x5b, 0xfe, 0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01,
];

/// The common interface of [`Fp`] and [`Fp2`].
pub trait Field:
    Copy
    + Default
    + Eq
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + Send
    + Sync
    + 'static
{
    /// An element in each lane of a vector.
    type Lanes<V: Vector>: lanes::Curve<Vector = V, Element = Self> + lanes::Root;

    /// One.
    fn one() -> Self;

    /// The element times itself.
    fn square(&self) -> Self;

    /// The inverse; of zero, zero.
    fn inverse(&self) -> Self;

    /// The element times an element of the field of p elements.
    fn times(&self, factor: Fp) -> Self;

    /// Whether the elements are equal. Faster than `==` if they hardly ever are.
    fn equals(&self, other: &Self) -> bool;
}

/// An element of the field of p elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fp(pub(super) blst_fp);

/// An element c0 + c1 u of Fp2, with u² = -1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fp2(pub(super) blst_fp2);

/// An element of Fp12: c0 + c1 w with w² = v, over Fp6: c0 + c1 v + c2 v² with v³ = u + 1, over [`Fp2`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fp12(pub(super) blst_fp12);

/// A number modulo r, the order of the groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scalar(blst_fr);

impl Fp {
    /// One.
    pub fn one() -> Self {
        Self::from(1)
    }

    /// From 48 big-endian bytes that are below p.
    pub fn parse(bytes: &[u8; 48]) -> Result<Self, Rule> {
        if *bytes >= PRIME {
            return Err(Rule::Range);
        }
        Ok(Self(result!(blst_fp_from_bendian(bytes.as_ptr()))))
    }

    /// 48 big-endian bytes.
    pub fn bytes(&self) -> [u8; 48] {
        let mut bytes = [0; 48];
        // SAFETY: the call writes 48 bytes.
        unsafe { blst_bendian_from_fp(bytes.as_mut_ptr(), &self.0) };
        bytes
    }

    /// The inverse; of zero, zero.
    pub fn inverse(&self) -> Self {
        Self(result!(blst_fp_inverse(&self.0)))
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

impl Fp {
    /// A cube root of one: see [`super::Group::CUBE_ROOT`]. In Montgomery's form.
    pub(super) const CUBE_ROOT: Self = Self(blst_fp {
        l: [
            0x30f1_361b_798a_64e8,
            0xf3b8_ddab_7ece_5a2a,
            0x16a8_ca3a_c615_77f7,
            0xc26a_2ff8_74fd_029b,
            0x3636_b766_6070_1c6e,
            0x051b_a4ab_241b_6160,
        ],
    });

    /// The other primitive cube root of one, the square of [`Fp::CUBE_ROOT`].
    pub(super) const OTHER_CUBE_ROOT: Self = Self(blst_fp {
        l: [
            0xcd03_c9e4_8671_f071,
            0x5dab_2246_1fcd_a5d2,
            0x5870_42af_d385_1b95,
            0x8eb6_0ebe_01ba_cb9e,
            0x03f9_7d6e_83d0_50d2,
            0x18f0_2065_5463_8741,
        ],
    });
}

impl From<u64> for Fp {
    fn from(number: u64) -> Self {
        Self(result!(blst_fp_from_uint64([number, 0, 0, 0, 0, 0].as_ptr())))
    }
}

impl Fp2 {
    /// c0 + c1 u.
    pub fn new(c0: Fp, c1: Fp) -> Self {
        Self(blst_fp2 { fp: [c0.0, c1.0] })
    }

    /// One.
    pub fn one() -> Self {
        Self::new(Fp::one(), Fp::default())
    }

    /// c0 and c1.
    pub fn coefficients(&self) -> [Fp; 2] {
        self.0.fp.map(Fp)
    }

    /// The inverse; of zero, zero.
    pub fn inverse(&self) -> Self {
        Self(result!(blst_fp2_inverse(&self.0)))
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

impl Field for Fp {
    type Lanes<V: Vector> = lanes::Fp<V>;

    fn one() -> Self {
        Self::one()
    }

    #[inline(always)]
    fn square(&self) -> Self {
        *self * *self
    }

    fn inverse(&self) -> Self {
        self.inverse()
    }

    fn times(&self, factor: Fp) -> Self {
        *self * factor
    }

    #[inline(always)]
    fn equals(&self, other: &Self) -> bool {
        self.0.l[0] == other.0.l[0] && self == other
    }
}

impl Field for Fp2 {
    type Lanes<V: Vector> = lanes::Fp2<V>;

    fn one() -> Self {
        Self::one()
    }

    #[inline(always)]
    fn square(&self) -> Self {
        Self(result!(blst_fp2_sqr(&self.0)))
    }

    fn inverse(&self) -> Self {
        self.inverse()
    }

    fn times(&self, factor: Fp) -> Self {
        let [c0, c1] = self.coefficients();
        Self::new(c0 * factor, c1 * factor)
    }

    #[inline(always)]
    fn equals(&self, other: &Self) -> bool {
        self.0.fp[0].l[0] == other.0.fp[0].l[0] && self == other
    }
}

impl Fp12 {
    /// One.
    pub fn one() -> Self {
        Self::default()
    }

    /// From its 12 coefficients, those of lower powers first: of w, then of v, then of u.
    pub fn new(coefficients: [Fp; 12]) -> Self {
        let fp2 = |first: usize| blst_fp2 { fp: [coefficients[first].0, coefficients[first + 1].0] };
        let fp6 = |first: usize| blst_fp6 { fp2: [fp2(first), fp2(first + 2), fp2(first + 4)] };
        Self(blst_fp12 { fp6: [fp6(0), fp6(6)] })
    }

    /// Its coefficients in the order of [`Fp12::new`].
    pub fn coefficients(&self) -> [Fp; 12] {
        std::array::from_fn(|at| Fp(self.0.fp6[at / 6].fp2[at / 2 % 3].fp[at % 2]))
    }

    /// The inverse; of zero, zero.
    pub fn inverse(&self) -> Self {
        Self(result!(blst_fp12_inverse(&self.0)))
    }

    /// Whether it is one.
    pub fn is_one(&self) -> bool {
        answer!(blst_fp12_is_one(&self.0))
    }

    /// The element to the power of 3 (p^12 - 1) / r, which turns the result of a Miller loop into a pairing.
    ///
    /// The factor 3 is coprime to r, and lets the exponent be written in powers of the curve's parameter (Hayashida,
    /// Hayasaka, Teruya: Efficient Final Exponentiation via Cyclotomic Structure for Pairings over Families of Elliptic
    /// Curves).
    pub fn final_exponentiation(&self) -> Self {
        Self(portable::final_exponentiation(&self.0))
    }
}

impl Scalar {
    /// Bits of a scalar.
    pub(super) const BITS: usize = 255;

    /// Parses 32 big-endian bytes that are below the order.
    pub fn parse(bytes: &[u8; 32]) -> Result<Self, Rule> {
        if *bytes >= ORDER { Err(Rule::ScalarRange) } else { Ok(Self::reduce(bytes)) }
    }

    /// Parses 32 little-endian bytes that are below the order.
    pub fn parse_little_endian(bytes: &[u8; 32]) -> Result<Self, Rule> {
        let mut bytes = *bytes;
        bytes.reverse();
        Self::parse(&bytes)
    }

    /// 32 big-endian bytes modulo the order.
    pub fn reduce(bytes: &[u8; 32]) -> Self {
        let scalar: blst_scalar = result!(blst_scalar_from_be_bytes(bytes.as_ptr(), bytes.len()));
        Self(result!(blst_fr_from_scalar(&scalar)))
    }

    /// 32 little-endian bytes.
    pub fn little_endian(&self) -> [u8; 32] {
        let scalar: blst_scalar = result!(blst_scalar_from_fr(&self.0));
        scalar.b
    }

    /// The inverse; of zero, zero.
    pub fn inverse(&self) -> Self {
        Self(result!(blst_fr_inverse(&self.0)))
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

impl From<u64> for Scalar {
    fn from(number: u64) -> Self {
        Self::from(u128::from(number))
    }
}

impl From<u128> for Scalar {
    fn from(number: u128) -> Self {
        Self(result!(blst_fr_from_uint64([number as u64, (number >> 64) as u64, 0, 0].as_ptr())))
    }
}

macro_rules! conversions {
    ($($element:ident, $inner:ident;)*) => {$(
        impl From<$inner> for $element {
            fn from(element: $inner) -> Self {
                Self(element)
            }
        }

        impl From<$element> for $inner {
            fn from(element: $element) -> Self {
                element.0
            }
        }
    )*};
}

conversions!(Fp, blst_fp; Fp2, blst_fp2;);

macro_rules! operators {
    ($element:ident, $add:ident, $sub:ident, $mul:ident, $negate:ident) => {
        impl Add for $element {
            type Output = Self;

            fn add(self, other: Self) -> Self {
                Self(result!($add(&self.0, &other.0)))
            }
        }

        impl Sub for $element {
            type Output = Self;

            fn sub(self, other: Self) -> Self {
                Self(result!($sub(&self.0, &other.0)))
            }
        }

        impl Mul for $element {
            type Output = Self;

            fn mul(self, other: Self) -> Self {
                Self(result!($mul(&self.0, &other.0)))
            }
        }

        impl Neg for $element {
            type Output = Self;

            fn neg(self) -> Self {
                Self(result!($negate(&self.0, true)))
            }
        }
    };
}

impl Add for Fp {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(blst_fp { l: words::add(&self.0.l, &other.0.l) })
    }
}

impl Sub for Fp {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(blst_fp { l: words::subtract(&self.0.l, &other.0.l) })
    }
}

impl Mul for Fp {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(blst_fp { l: montgomery::multiply(&self.0.l, &other.0.l) })
    }
}

impl Neg for Fp {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self::default() - self
    }
}

impl Add for Fp2 {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.coefficients(), other.coefficients());
        Self::new(a + c, b + d)
    }
}

impl Sub for Fp2 {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.coefficients(), other.coefficients());
        Self::new(a - c, b - d)
    }
}

impl Mul for Fp2 {
    type Output = Self;

    /// blst's multiplication reduces twice instead of three times.
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(result!(blst_fp2_mul(&self.0, &other.0)))
    }
}

impl Neg for Fp2 {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self::default() - self
    }
}

operators!(Scalar, blst_fr_add, blst_fr_sub, blst_fr_mul, blst_fr_cneg);

impl Add for Fp12 {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (left, right) = (self.coefficients(), other.coefficients());
        Self::new(std::array::from_fn(|at| left[at] + right[at]))
    }
}

impl Sub for Fp12 {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        let (left, right) = (self.coefficients(), other.coefficients());
        Self::new(std::array::from_fn(|at| left[at] - right[at]))
    }
}

impl Mul for Fp12 {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self(result!(blst_fp12_mul(&self.0, &other.0)))
    }
}
