//! u G + v Q, with its own numbers u and v and point Q in each lane.
//!
//! u G is a sum of 32 points from a table. v is split into two halves of 128 bits with the curve's endomorphism; both
//! are taken four bits at a time, as odd digits from -15 to 15, from a table of Q's odd multiples.
//!
//! The limit: 129 doublings, 107 additions, the square root and the rest are 1,296 multiplications and 1,099 squarings,
//! of 62 and 42 fused multiply-adds. A Zen 5 core does two of those per cycle: 63,000 cycles for eight lanes, 1.8 us
//! each at 4.34 GHz. The multiplications for one point wait for each other, which is why two vectors run side by side.

use super::field::{Element, square_root};
use super::kernel::Kernel;
use super::point::{Affine, Jacobian};
use super::scalar::{self, Half, Scalar};
use super::table::Table;
use crate::lanes::{Mask, mask};
use crate::secp256k1::PublicKey;
use crate::secp256k1::key::Y;

/// The factor by which the curve's endomorphism multiplies x.
const BETA: [u64; 5] = [0x9_6c28_7195_01ee, 0x7_512f_5899_5c13, 0xc_3434_e99c_f049, 0x7106_e644_79ea, 0x7ae9_6a2b_657c];

/// Four-bit digits of half a number.
const DIGITS: usize = 32;

/// What to add up in a lane.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    /// The point's x and, if given, y.
    x: [u64; 4],
    y: Option<[u64; 4]>,
    /// Whether y is odd.
    odd: bool,
    u: Scalar,
    v: [Half; 2],
}

impl Terms {
    pub(super) fn new(point: &PublicKey, u: Scalar, v: &Scalar) -> Self {
        let y = match &point.y {
            Y::Number(y) => Some(scalar::from_bytes(y)),
            Y::Even | Y::Odd => None,
        };
        Self { x: scalar::from_bytes(&point.x), y, odd: point.is_odd(), u, v: scalar::split(v) }
    }
}

/// The sums, and the lanes whose point is on the curve.
///
/// Where a sum's z is zero, an addition met a case that its formula cannot handle, and the caller must compute it
/// another way.
#[inline(always)]
pub(super) fn combine<'a, V: Kernel>(any: V, terms: impl Fn(usize) -> &'a Terms) -> (Jacobian<V>, Mask) {
    let x = Element::load(any, |lane| terms(lane).x);
    let y = Element::load(any, |lane| terms(lane).y.unwrap_or_default());
    let (given, odd) = (mask::<V>(|lane| terms(lane).y.is_some()), mask::<V>(|lane| terms(lane).odd));
    let (point, on_curve) = decompress(&x, odd, &y, given);
    let generator = any.call(
        #[inline(always)]
        || generator_times(any, &terms),
    );
    let sum = any.call(
        #[inline(always)]
        || point_times(any, &point, &terms),
    );
    (add(&sum, &generator), on_curve)
}

/// The points with these x, whose y is given or odd or even, and the lanes where they are on the curve.
#[inline(always)]
pub(super) fn decompress<V: Kernel>(x: &Element<V>, odd: Mask, y: &Element<V>, given: Mask) -> (Affine<V>, Mask) {
    x.any().call(
        #[inline(always)]
        || {
            let square = x.square().multiply(x).times::<0>().plus(&Element::small(x.any(), 7)).tight();
            let root = square_root(&square);
            let root = root.or_if(root.is_odd() ^ odd, &root.negative());
            let y = root.or_if(given, y);
            let on_curve = y.square().less(&square).is_zero();
            (Affine { x: *x, y }, on_curve)
        },
    )
}

/// The x of lambda times the point.
#[inline(always)]
pub(super) fn times_lambda<V: Kernel>(x: &Element<V>) -> Element<V> {
    x.multiply(&Element::constant(x.any(), BETA))
}

/// u times the generator.
#[inline(always)]
fn generator_times<'a, V: Kernel>(any: V, terms: &impl Fn(usize) -> &'a Terms) -> Jacobian<V> {
    // An empty sum would be a wrong answer; z = 0 asks the caller for another way.
    let zero = Element::small(any, 0);
    let Some(table) = Table::get() else { return Jacobian { x: zero, y: zero, z: zero } };
    let byte = |place: usize, lane: usize| (terms(lane).u[place / 8] >> (8 * (place % 8))) as u8;
    let mut sum = Affine::load(any, |lane| table.row(0, byte(0, lane))).to_jacobian();
    for place in 1..32 {
        sum = add_affine(&sum, &Affine::load(any, |lane| table.row(place, byte(place, lane))));
    }
    sum
}

#[inline(always)]
fn add_affine<V: Kernel>(point: &Jacobian<V>, other: &Affine<V>) -> Jacobian<V> {
    point.x.any().call(
        #[inline(always)]
        || point.add_affine(other).0,
    )
}

#[inline(always)]
fn double_four_times<V: Kernel>(point: &Jacobian<V>) -> Jacobian<V> {
    point.x.any().call(
        #[inline(always)]
        || {
            let mut point = *point;
            for _ in 0..4 {
                point = point.double();
            }
            point
        },
    )
}

#[inline(always)]
fn add<V: Kernel>(point: &Jacobian<V>, other: &Jacobian<V>) -> Jacobian<V> {
    point.x.any().call(
        #[inline(always)]
        || point.add(other),
    )
}

/// The odd multiples from 1 to 15 of a point, and those of lambda times the point.
///
/// They are not on secp256k1 but on a curve with other coordinates, where all of them have z = 1. On secp256k1, their z
/// is the one here.
struct Multiples<V> {
    x: [[Element<V>; 8]; 2],
    y: [Element<V>; 8],
    z: Element<V>,
}

impl<V: Kernel> Multiples<V> {
    #[inline(always)]
    fn new(point: &Affine<V>) -> Self {
        point.x.any().call(
            #[inline(always)]
            || Self::make(point),
        )
    }

    #[inline(always)]
    fn make(point: &Affine<V>) -> Self {
        // First to coordinates where twice the point has z = 1.
        let twice = point.to_jacobian().double();
        let mut points = [point.scale(&twice.z).to_jacobian(); 8];
        let mut factors = [twice.z; 8];
        let twice = Affine { x: twice.x, y: twice.y };
        for i in 1..8 {
            (points[i], factors[i]) = points[i - 1].add_affine(&twice);
        }
        // Then to those where the last multiple has z = 1.
        let mut multiples = Self { x: [[twice.x; 8]; 2], y: [twice.y; 8], z: twice.x };
        let mut factor = Element::small(point.x.any(), 1);
        for i in (0..8).rev() {
            let point = Affine { x: points[i].x, y: points[i].y };
            let point = if i < 7 { point.scale(&factor) } else { point };
            (multiples.x[0][i], multiples.y[i]) = (point.x, point.y);
            multiples.x[1][i] = times_lambda(&multiples.x[0][i]);
            factor = factor.multiply(&factors[i]);
        }
        multiples.z = factor;
        multiples
    }

    /// In each lane, the multiple with this number, of the point or of lambda times it.
    #[inline(always)]
    fn select(&self, half: usize, numbers: V) -> Affine<V> {
        let mut point = Affine { x: self.x[half][0], y: self.y[0] };
        for i in 1..8 {
            let mask = numbers.equals(numbers.with(i as u64));
            point.x = point.x.or_if(mask, &self.x[half][i]);
            point.y = point.y.or_if(mask, &self.y[i]);
        }
        point
    }
}

/// v times the point.
#[inline(always)]
fn point_times<'a, V: Kernel>(any: V, point: &Affine<V>, terms: &impl Fn(usize) -> &'a Terms) -> Jacobian<V> {
    let multiples = Multiples::new(point);
    let negative = [0, 1].map(|half| mask::<V>(|lane| terms(lane).v[half].negative));
    // An even number is replaced by the odd one after it, and the point is subtracted at the end.
    let even = [0, 1].map(|half| mask::<V>(|lane| terms(lane).v[half].magnitude & 1 == 0));
    let first = [
        Affine { x: multiples.x[0][0], y: multiples.y[0] }.negative_if(negative[0]),
        Affine { x: multiples.x[1][0], y: multiples.y[0] }.negative_if(negative[1]),
    ];
    // An odd number of 128 bits is 1, and 32 digits after it.
    let mut sum = add_affine(&first[0].to_jacobian(), &first[1]);
    for place in (0..DIGITS).rev() {
        sum = double_four_times(&sum);
        for (half, negative) in negative.iter().enumerate() {
            // The digit is these five bits less 16.
            let bits = |lane: usize| (terms(lane).v[half].magnitude >> (4 * place)) as u64 & 31 | 1;
            let minus = mask::<V>(|lane| bits(lane) < 16) ^ *negative;
            let number = |lane: usize| bits(lane).abs_diff(16) >> 1;
            let point = multiples.select(half, any.with_each(number)).negative_if(minus);
            sum = add_affine(&sum, &point);
        }
    }
    for half in 0..2 {
        let less = add_affine(&sum, &first[half].negative_if(Mask::MAX));
        sum = sum.or_if(even[half], &less);
    }
    sum.z = sum.z.multiply(&multiples.z);
    sum
}
