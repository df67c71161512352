//! The interface that [`Fp`] and [`Fp2`] share.

use ::blst::{blst_fp, blst_fp2};

use super::{Fp, Fp2};
use crate::bls12_381 as scalar;
use crate::bls12_381::field::Field;
use crate::lanes::{Mask, Row, Vector};

/// An element of a field in each lane.
pub trait Lanes: Copy {
    /// The type of the lanes.
    type Vector: Vector;

    /// One element.
    type Element: Field;

    /// An element in memory, in the form of the lanes.
    type Rows: Copy + Default + PartialEq + AsMut<[Row]> + 'static;

    /// An element for each lane.
    fn load(any: Self::Vector, element: impl Fn(usize) -> Self::Element) -> Self;

    /// The element of each lane.
    fn elements(&self) -> Vec<Self::Element>;

    /// Stores each lane's element, which is a product or folded.
    fn store(&self, rows: &mut [Self::Rows]);

    /// Loads stored elements, one per lane.
    fn load_rows<'a>(any: Self::Vector, rows: impl Fn(usize) -> &'a Self::Rows) -> Self
    where
        Self: 'a;

    /// A vector.
    fn any(&self) -> Self::Vector;

    /// Zero in all lanes.
    fn zero(any: Self::Vector) -> Self;

    /// One in all lanes.
    fn one(any: Self::Vector) -> Self;

    /// The sum.
    fn plus(&self, other: &Self) -> Self;

    /// The difference.
    fn minus(&self, other: &Self) -> Self;

    /// The product.
    fn multiply(&self, other: &Self) -> Self;

    /// The product with itself.
    fn square(&self) -> Self;

    /// The element, made ready for [`Self::multiply_tight`] and [`Self::square_tight`].
    fn tight(&self) -> Self;

    /// The product of two ready elements, which is ready itself.
    fn multiply_tight(&self, other: &Self) -> Self;

    /// The same of the element with itself.
    fn square_tight(&self) -> Self;

    /// Lanes that may be zero, for canonical elements or a difference of two, with few false positives.
    fn may_be_zero(&self) -> Mask;

    /// `other` in the lanes of the mask.
    fn or_if(&self, mask: Mask, other: &Self) -> Self;

    /// Lanes with zero.
    fn is_zero(&self) -> Mask;

    /// The element minus almost all multiples of p in it.
    fn folded(&self) -> Self;

    /// The element below p, so that equal elements are stored the same.
    fn canonical(&self) -> Self;

    /// The inverses of elements that are not zero. The lanes share one inversion.
    fn inverse(&self) -> Self {
        let elements = self.elements();
        let mut products = vec![Self::Element::one(); elements.len() + 1];
        for (lane, element) in elements.iter().enumerate() {
            products[lane + 1] = products[lane] * *element;
        }
        let mut inverse = products[elements.len()].inverse();
        for (lane, element) in elements.iter().enumerate().rev() {
            products[lane] = products[lane] * inverse;
            inverse = inverse * *element;
        }
        Self::load(self.any(), |lane| products[lane])
    }

    /// Twice the element.
    #[inline(always)]
    fn twice(&self) -> Self {
        self.plus(self)
    }

    /// The negative.
    #[inline(always)]
    fn negative(&self) -> Self {
        Self::zero(self.any()).minus(self)
    }
}

/// The functions that [`Fp`] and [`Fp2`] also have as inherent methods, under the same names.
macro_rules! own_functions {
    () => {
        #[inline(always)]
        fn any(&self) -> V {
            self.any()
        }

        #[inline(always)]
        fn zero(any: V) -> Self {
            Self::zero(any)
        }

        #[inline(always)]
        fn one(any: V) -> Self {
            Self::one(any)
        }

        #[inline(always)]
        fn plus(&self, other: &Self) -> Self {
            self.plus(other)
        }

        #[inline(always)]
        fn minus(&self, other: &Self) -> Self {
            self.minus(other)
        }

        #[inline(always)]
        fn multiply_tight(&self, other: &Self) -> Self {
            self.multiply_tight(other)
        }

        #[inline(always)]
        fn square_tight(&self) -> Self {
            self.square_tight()
        }

        #[inline(always)]
        fn or_if(&self, mask: Mask, other: &Self) -> Self {
            self.or_if(mask, other)
        }

        #[inline(always)]
        fn folded(&self) -> Self {
            self.folded()
        }
    };
}

impl<V: Vector> Lanes for Fp<V> {
    type Vector = V;
    type Element = scalar::Fp;
    type Rows = [Row; 1];

    own_functions!();

    #[inline(always)]
    fn load(any: V, element: impl Fn(usize) -> scalar::Fp) -> Self {
        Self::load(any, |lane| element(lane).0.l)
    }

    fn elements(&self) -> Vec<scalar::Fp> {
        self.words().into_iter().map(|l| scalar::Fp(blst_fp { l })).collect()
    }

    #[inline(always)]
    fn store(&self, rows: &mut [[Row; 1]]) {
        self.store(rows.as_flattened_mut());
    }

    #[inline(always)]
    fn load_rows<'a>(any: V, rows: impl Fn(usize) -> &'a [Row; 1]) -> Self
    where
        Self: 'a,
    {
        Self::load_rows(any, |lane| &rows(lane)[0])
    }

    #[inline(always)]
    fn multiply(&self, other: &Self) -> Self {
        self.any().call(
            #[inline(always)]
            || self.tight().multiply_tight(&other.tight()),
        )
    }

    #[inline(always)]
    fn square(&self) -> Self {
        self.any().call(
            #[inline(always)]
            || self.tight().square_tight(),
        )
    }

    #[inline(always)]
    fn tight(&self) -> Self {
        self.tight()
    }

    #[inline(always)]
    fn may_be_zero(&self) -> Mask {
        self.may_be_zero()
    }

    fn is_zero(&self) -> Mask {
        self.is_zero()
    }

    #[inline(always)]
    fn canonical(&self) -> Self {
        self.canonical()
    }
}

impl<V: Vector> Lanes for Fp2<V> {
    type Vector = V;
    type Element = scalar::Fp2;
    type Rows = [Row; 2];

    own_functions!();

    #[inline(always)]
    fn load(any: V, element: impl Fn(usize) -> scalar::Fp2) -> Self {
        Self { c0: Fp::load(any, |lane| element(lane).0.fp[0].l), c1: Fp::load(any, |lane| element(lane).0.fp[1].l) }
    }

    fn elements(&self) -> Vec<scalar::Fp2> {
        let each = self.c0.words().into_iter().zip(self.c1.words());
        each.map(|(c0, c1)| scalar::Fp2(blst_fp2 { fp: [blst_fp { l: c0 }, blst_fp { l: c1 }] })).collect()
    }

    #[inline(always)]
    fn store(&self, rows: &mut [[Row; 2]]) {
        for (at, coefficient) in [self.c0, self.c1].into_iter().enumerate() {
            let mut each = [Row::default(); Mask::BITS as usize];
            coefficient.store(&mut each[..V::LANES]);
            rows.iter_mut().zip(each).for_each(|(rows, row)| rows[at] = row);
        }
    }

    #[inline(always)]
    fn load_rows<'a>(any: V, rows: impl Fn(usize) -> &'a [Row; 2]) -> Self
    where
        Self: 'a,
    {
        Self { c0: Fp::load_rows(any, |lane| &rows(lane)[0]), c1: Fp::load_rows(any, |lane| &rows(lane)[1]) }
    }

    #[inline(always)]
    fn multiply(&self, other: &Self) -> Self {
        self.multiply(other)
    }

    #[inline(always)]
    fn square(&self) -> Self {
        self.square()
    }

    #[inline(always)]
    fn tight(&self) -> Self {
        Self { c0: self.c0.tight(), c1: self.c1.tight() }
    }

    #[inline(always)]
    fn may_be_zero(&self) -> Mask {
        self.c0.may_be_zero() & self.c1.may_be_zero()
    }

    fn is_zero(&self) -> Mask {
        self.c0.is_zero() & self.c1.is_zero()
    }

    #[inline(always)]
    fn canonical(&self) -> Self {
        Self { c0: self.c0.canonical(), c1: self.c1.canonical() }
    }
}
