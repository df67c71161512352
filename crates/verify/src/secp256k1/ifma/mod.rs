//! The backend for AVX-512 IFMA: eight signatures in the lanes of each vector.
//!
//! A signature is good if u1 G + u2 Q has r as its x, with u1 = digest / s and u2 = r / s. u1 G is a sum of 32 points
//! from a table. u2 is split into two halves of 128 bits with the curve's endomorphism, and both are taken four bits at
//! a time, as odd digits from -15 to 15, from a table of Q's odd multiples. None of this is secret, but lanes cannot
//! branch apart, so all of them do the same.
//!
//! The limit: 129 doublings, 107 additions, the square root and the rest are 1,296 multiplications and 1,099 squarings, of
//! 66 and 46 fused multiply-adds. A Zen 5 core does two of those a cycle: 68,000 cycles for eight signatures, 2.0 us each
//! at 4.34 GHz. What keeps it from that is that the multiplications of a point wait for each other.

mod field;
mod point;
mod scalar;
mod table;
mod vector;

use std::array;

use self::field::{Element, square_root};
use self::point::{Affine, Jacobian};
use self::scalar::{Half, Scalar};
use self::table::Table;
use self::vector::{Mask, Vector, align_stack};
use super::ecdsa::Signed;
use super::key::Y;
use super::number::PRIME_LESS_ORDER;
use super::{Rule, portable};

/// The factor that the curve's endomorphism multiplies x with.
const BETA: [u64; 5] = [0x9_6c28_7195_01ee, 0x7_512f_5899_5c13, 0xc_3434_e99c_f049, 0x7106_e644_79ea, 0x7ae9_6a2b_657c];

/// n, in limbs of 52 bits.
const ORDER: [u64; 5] =
    [0x2_5e8c_d036_4141, 0xe_6af4_8a03_bbfd, 0xf_ffff_feba_aedc, 0xf_ffff_ffff_ffff, 0xffff_ffff_ffff];

/// Four-bit digits of half a number.
const DIGITS: usize = 32;

pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512ifma") && Table::get().is_some()
}

/// A signature as the lanes want it.
#[derive(Clone, Copy)]
struct Prepared {
    /// The key's x and, if it is given, y.
    x: [u64; 4],
    y: Option<[u64; 4]>,
    /// Whether y is odd.
    odd: bool,
    r: [u64; 4],
    /// Whether r + n is below p.
    small_r: bool,
    u1: Scalar,
    u2: [Half; 2],
}

/// What is found out about eight signatures.
struct Findings {
    on_curve: Mask,
    matching: Mask,
    /// An addition met one of the cases that its formula does not know.
    unsure: Mask,
}

/// Appends the verdict of each item.
///
/// # Panics
///
/// If the backend is not available.
pub(super) fn verify_each(items: &[Signed], verdicts: &mut Vec<Result<(), Rule>>) {
    assert!(is_available(), "the processor has no AVX-512 IFMA");
    let mut inverses: Vec<Scalar> = items.iter().map(|item| scalar::from_bytes(&item.signature.s)).collect();
    scalar::invert_each(&mut inverses);
    let prepare = |(item, inverse): (&Signed, &Scalar)| {
        let r = scalar::from_bytes(&item.signature.r);
        Prepared {
            x: scalar::from_bytes(&item.key.x),
            y: match item.key.y {
                Y::Number(y) => Some(scalar::from_bytes(&y)),
                Y::Even | Y::Odd => None,
            },
            odd: item.key.is_odd(),
            r,
            small_r: item.signature.r < PRIME_LESS_ORDER,
            u1: scalar::multiply(&scalar::reduce(scalar::from_bytes(&item.digest)), inverse),
            u2: scalar::split(&scalar::multiply(&r, inverse)),
        }
    };
    for (items, inverses) in items.chunks(8).zip(inverses.chunks(8)) {
        if let [item] = items {
            // Eight lanes take about as long as libsecp256k1 does for one signature.
            verdicts.push(portable::verify_ecdsa(item));
            continue;
        }
        // Lanes that are left over do the last signature again.
        let at = |lane: usize| lane.min(items.len() - 1);
        let lanes = array::from_fn(|lane| prepare((&items[at(lane)], &inverses[at(lane)])));
        // SAFETY: that the instructions are there was checked above.
        let findings = unsafe { verify_lanes(&lanes) };
        verdicts.extend(items.iter().enumerate().map(|(lane, item)| {
            let is = |mask: Mask| mask >> lane & 1 == 1;
            if !is(findings.on_curve) {
                Err(Rule::KeyNotOnCurve)
            } else if is(findings.unsure) {
                portable::verify_ecdsa(item)
            } else if is(findings.matching) {
                Ok(())
            } else {
                Err(Rule::Mismatch)
            }
        }));
    }
}

fn mask(lanes: &[Prepared; 8], is: impl Fn(&Prepared) -> bool) -> Mask {
    lanes.iter().enumerate().fold(0, |mask, (lane, prepared)| mask | Mask::from(is(prepared)) << lane)
}

/// # Safety
///
/// The processor must have AVX-512 F and IFMA, here and below.
#[target_feature(enable = "avx512f,avx512ifma")]
unsafe fn verify_lanes(lanes: &[Prepared; 8]) -> Findings {
    // SAFETY: the caller's promise.
    unsafe {
        let x = Element::load(&lanes.each_ref().map(|lane| lane.x));
        let y = Element::load(&lanes.each_ref().map(|lane| lane.y.unwrap_or_default()));
        let (given, odd) = (mask(lanes, |lane| lane.y.is_some()), mask(lanes, |lane| lane.odd));
        let (key, on_curve) = decompress(&x, odd, &y, given);
        let generator = generator_times(lanes);
        let sum = key_times(&key, lanes).add(&generator);
        let unsure = sum.z.is_zero();
        let zz = sum.z.square();
        let r = Element::load(&lanes.each_ref().map(|lane| lane.r));
        let equals = |x: &Element| x.multiply(&zz).times::<0>().minus::<0>(&sum.x).tight().is_zero();
        let more = r.times::<0>().plus(&Element::constant(r.any(), ORDER)).tight();
        let matching = equals(&r) | equals(&more) & mask(lanes, |lane| lane.small_r);
        Findings { on_curve, matching, unsure }
    }
}

/// The points with these x, whose y is given or odd or even, and in which lanes they are on the curve.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline(never)]
unsafe fn decompress(x: &Element, odd: Mask, y: &Element, given: Mask) -> (Affine, Mask) {
    align_stack();
    let square = x.square().multiply(x).times::<0>().plus(&Element::small(x.any(), 7)).tight();
    let root = square_root(&square);
    let root = root.or_if(root.is_odd() ^ odd, &root.negative());
    let y = root.or_if(given, y);
    let on_curve = y.square().times::<0>().minus::<0>(&square).tight().is_zero();
    (Affine { x: *x, y }, on_curve)
}

/// u1 times the generator.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline(never)]
unsafe fn generator_times(lanes: &[Prepared; 8]) -> Jacobian {
    // The backend is only there if the table is; an empty sum would be a wrong answer, and z = 0 is "unsure".
    // SAFETY: the caller's promise.
    unsafe {
        let any = Vector::load(&[0; 8]);
        let zero = Element::small(any, 0);
        let Some(table) = Table::get() else { return Jacobian { x: zero, y: zero, z: zero } };
        let at = |place: usize| {
            let rows = lanes.each_ref().map(|lane| table.row(place, (lane.u1[place / 8] >> (8 * (place % 8))) as u8));
            let (x, y) = Element::load_points(&rows);
            Affine { x, y }
        };
        let mut sum = at(0).to_jacobian();
        for place in 1..32 {
            sum = add_affine(&sum, &at(place));
        }
        sum
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
#[inline(never)]
unsafe fn add_affine(point: &Jacobian, other: &Affine) -> Jacobian {
    align_stack();
    point.add_affine(other).0
}

#[target_feature(enable = "avx512f,avx512ifma")]
#[inline(never)]
unsafe fn double_four_times(point: &Jacobian) -> Jacobian {
    align_stack();
    let mut point = *point;
    for _ in 0..4 {
        point = point.double();
    }
    point
}

/// The odd multiples from 1 to 15 of a point, and those of lambda times the point. They are not on secp256k1 but on a
/// curve with other coordinates, where all of them have z = 1: on secp256k1 their z is the one here.
struct Multiples {
    x: [[Element; 8]; 2],
    y: [Element; 8],
    z: Element,
}

impl Multiples {
    #[target_feature(enable = "avx512f,avx512ifma")]
    #[inline(never)]
    unsafe fn new(key: &Affine) -> Self {
        align_stack();
        // First to coordinates where twice the key has z = 1.
        let twice = key.to_jacobian().double();
        let scale = |x: &Element, y: &Element, by: &Element| {
            let square = by.square();
            (x.multiply(&square), y.multiply(&square.multiply(by)))
        };
        let (x, y) = scale(&key.x, &key.y, &twice.z);
        let mut points = [Affine { x, y }.to_jacobian(); 8];
        let mut factors = [twice.z; 8];
        let twice = Affine { x: twice.x, y: twice.y };
        for i in 1..8 {
            (points[i], factors[i]) = points[i - 1].add_affine(&twice);
        }
        // Then to those where the last multiple has.
        let mut multiples = Self { x: [points.map(|point| point.x); 2], y: points.map(|point| point.y), z: factors[0] };
        let beta = Element::constant(x.any(), BETA);
        let mut factor = Element::small(x.any(), 1);
        for i in (0..8).rev() {
            if i < 7 {
                (multiples.x[0][i], multiples.y[i]) = scale(&points[i].x, &points[i].y, &factor);
            }
            multiples.x[1][i] = multiples.x[0][i].multiply(&beta);
            factor = factor.multiply(&factors[i]);
        }
        multiples.z = factor;
        multiples
    }

    /// In each lane the multiple with that number, of the point or of lambda times it.
    #[inline(always)]
    fn select(&self, half: usize, numbers: Vector) -> Affine {
        let mut point = Affine { x: self.x[half][0], y: self.y[0] };
        for i in 1..8 {
            let mask = numbers.equals(numbers.with(i as u64));
            point.x = point.x.or_if(mask, &self.x[half][i]);
            point.y = point.y.or_if(mask, &self.y[i]);
        }
        point
    }
}

/// u2 times the key.
#[target_feature(enable = "avx512f,avx512ifma")]
#[inline(never)]
unsafe fn key_times(key: &Affine, lanes: &[Prepared; 8]) -> Jacobian {
    // SAFETY: the caller's promise.
    unsafe {
        let multiples = Multiples::new(key);
        let negative = [0, 1].map(|half| mask(lanes, |lane| lane.u2[half].negative));
        // A number that is even is taken for the odd one after it, and the point subtracted in the end.
        let even = [0, 1].map(|half| mask(lanes, |lane| lane.u2[half].magnitude & 1 == 0));
        let first =
            [0, 1].map(|half| Affine { x: multiples.x[half][0], y: multiples.y[0] }.negative_if(negative[half]));
        // An odd number of 128 bits is 1, and 32 digits after it.
        let mut sum = add_affine(&first[0].to_jacobian(), &first[1]);
        for place in (0..DIGITS).rev() {
            sum = double_four_times(&sum);
            for (half, negative) in negative.iter().enumerate() {
                let mut numbers = [0; 8];
                let mut minus = *negative;
                for (lane, number) in numbers.iter_mut().enumerate() {
                    let bits = (lanes[lane].u2[half].magnitude >> (4 * place)) as u64 & 31 | 1;
                    // The digit is these five bits less 16.
                    let below = bits < 16;
                    *number = if below { (16 - bits) >> 1 } else { (bits - 16) >> 1 };
                    minus ^= Mask::from(below) << lane;
                }
                let point = multiples.select(half, Vector::load(&numbers)).negative_if(minus);
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
}

#[cfg(test)]
mod tests;
