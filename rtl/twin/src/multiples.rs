//! Multi-scalar multiplication in lock step: the RTL adds points to buckets, the host joins the windows, and
//! crates/verify computes the expected result. `multiples.hpp` declares it.

use std::{iter, slice};

use serde_json::Value;
use verify::bls12_381::eip2537::multiples;
use verify::bls12_381::{Addition, Fp, G1, Point, Scalar, Windows, multiply_and_add};

use crate::eip2537::from_hex;
use crate::random::Random;

const VECTORS: [&str; 2] = [
    include_str!("../../../vectors/bls12_381/eip2537/multiexp_G1.json"),
    include_str!("../../../vectors/bls12_381/eip2537/mul_G1.json"),
];

/// A coordinate in the engine's form: times 2^381, big-endian.
type Number = [u8; 48];

/// A point to add to a bucket.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Term {
    x: Number,
    y: Number,
    bucket: u32,
    negate: bool,
}

/// A multi-scalar multiplication, and the buckets received so far.
#[derive(Debug)]
pub struct Sum {
    random: Random,
    points: Vec<Point<G1>>,
    windows: Windows,
    buckets: Vec<Option<[Fp; 3]>>,
    expected: Point<G1>,
}

/// 2^381.
fn radix() -> Fp {
    (0..381).fold(Fp::one(), |power, _| power + power)
}

impl Sum {
    fn new(seed: u64) -> Self {
        let windows = Windows::new::<G1>(3, &[], &[]);
        Self { random: Random(seed), points: Vec::new(), windows, buckets: Vec::new(), expected: Point::default() }
    }

    fn set(&mut self, bits: u32, points: Vec<Point<G1>>, scalars: &[Scalar]) {
        self.windows = Windows::new(bits, &points, scalars);
        self.buckets = vec![None; self.windows.count() * self.windows.buckets()];
        self.expected = multiply_and_add(&points, scalars);
        self.points = points;
    }

    /// Loads published vector `at`; `None` if there is no such vector, or crates/verify disagrees with it.
    fn set_vector(&mut self, bits: u32, at: usize) -> Option<()> {
        let mut cases = VECTORS.iter().flat_map(|text| serde_json::from_str::<Vec<Value>>(text).unwrap_or_default());
        let case = cases.nth(at)?;
        let (points, scalars) = multiples::<G1>(&from_hex(case["Input"].as_str()?)?).ok()?;
        let expected = from_hex(case["Expected"].as_str()?)?;
        self.set(bits, points, &scalars);
        let found = self.expected.coordinates().map_or([[0; 48]; 2], |(x, y)| [x.bytes(), y.bytes()]);
        (expected == found.map(|number| [&[0; 16][..], &number].concat()).concat()).then_some(())
    }

    fn scalar(&mut self) -> Scalar {
        let words: [u64; 4] = std::array::from_fn(|_| self.random.next());
        let mut bytes = [0; 32];
        bytes.as_chunks_mut().0.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_be_bytes());
        Scalar::reduce(&bytes)
    }

    fn special_scalar(&mut self) -> Scalar {
        match self.random.below(6) {
            0 => Scalar::default(),
            1 => Scalar::from(1_u64),
            2 => -Scalar::from(1_u64),
            3 => -Scalar::from(self.random.next() % 100),
            4 => Scalar::from(u128::MAX),
            _ => self.scalar(),
        }
    }

    /// Draws `count` points: random ones; one repeated; each with its negative and the same scalar, which cancel; or
    /// special ones.
    fn draw(&mut self, kind: Kind, bits: u32, count: usize) {
        let (mut points, mut scalars) = (Vec::<Point<G1>>::new(), Vec::new());
        for at in 0..count {
            let any = |sum: &mut Self| Point::generator().multiply(&sum.scalar());
            let before = points.get(at.wrapping_sub(1)).copied();
            points.push(match (kind, before) {
                (Kind::Same, Some(point)) => point,
                (Kind::Opposite, Some(point)) if at % 2 == 1 => point.negate(),
                (Kind::Special, Some(point)) => match self.random.below(6) {
                    0 => Point::default(),
                    1 => point.negate(),
                    2 => points[self.random.below(at as u64) as usize],
                    3 => point.add(&point),
                    4 => Point::generator(),
                    _ => any(self),
                },
                (Kind::Special, None) => Point::default(),
                _ => any(self),
            });
            scalars.push(match kind {
                Kind::Any => self.scalar(),
                Kind::Opposite if at % 2 == 1 => scalars[at - 1],
                Kind::Same | Kind::Opposite | Kind::Special => self.special_scalar(),
            });
        }
        self.set(bits, points, &scalars);
    }

    /// Additions to the buckets of some windows, point by point; the buckets of a window follow those of the previous
    /// one.
    fn terms(&self, windows: std::ops::Range<usize>) -> Vec<Term> {
        let radix = radix();
        let number = |coordinate: Fp| (coordinate * radix).bytes();
        let mut additions = Vec::from_iter(windows.clone().flat_map(|window| {
            let first = (window - windows.start) * self.windows.buckets();
            self.windows.additions(window).map(move |each| Addition { bucket: first + each.bucket, ..each })
        }));
        additions.sort_by_key(|each| each.point);
        let term = |Addition { point, bucket, negate }: Addition| {
            let (x, y) = self.points[point].coordinates()?;
            Some(Term { x: number(x), y: number(y), bucket: bucket as u32, negate })
        };
        additions.into_iter().filter_map(term).collect()
    }
}

/// Kinds of points and scalars to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Random ones.
    Any,
    /// One point.
    Same,
    /// Points with their negatives.
    Opposite,
    /// Special cases, including infinity, zero and the order minus one.
    Special,
}

/// As numbered in the testbench.
const KINDS: [Kind; 4] = [Kind::Any, Kind::Same, Kind::Opposite, Kind::Special];

/// Creates a sum of no points. Free it with `turnpike_sum_free`.
#[unsafe(no_mangle)]
pub extern "C" fn turnpike_sum_new(seed: u64) -> *mut Sum {
    Box::into_raw(Box::new(Sum::new(seed)))
}

/// # Safety
///
/// The sum comes from `turnpike_sum_new`, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_sum_free(sum: *mut Sum) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(sum) });
}

/// Loads published vector `at`, with digits of `bits` bits. Returns false if there is no such vector, or crates/verify
/// disagrees with it.
///
/// # Safety
///
/// The sum comes from `turnpike_sum_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_sum_vector(sum: *mut Sum, bits: u32, at: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe { &mut *sum }.set_vector(bits, at).is_some()
}

/// Returns the number of published vectors.
#[unsafe(no_mangle)]
pub extern "C" fn turnpike_sum_vectors() -> usize {
    VECTORS.iter().map(|text| serde_json::from_str::<Vec<Value>>(text).unwrap_or_default().len()).sum()
}

/// Draws `count` points of a kind, with digits of `bits` bits. Returns false if there is no such kind.
///
/// # Safety
///
/// The sum comes from `turnpike_sum_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_sum_draw(sum: *mut Sum, kind: usize, bits: u32, count: usize) -> bool {
    let Some(kind) = KINDS.get(kind) else { return false };
    // SAFETY: the caller's promise.
    unsafe { &mut *sum }.draw(*kind, bits, count);
    true
}

/// Writes the number of windows, and of buckets per window.
///
/// # Safety
///
/// The sum comes from `turnpike_sum_new`; both numbers are written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_sum_size(sum: *const Sum, windows: *mut usize, buckets: *mut usize) {
    // SAFETY: the caller's promise.
    unsafe {
        windows.write((*sum).windows.count());
        buckets.write((*sum).windows.buckets());
    }
}

/// Writes the additions to the buckets of some windows, point by point. Returns their number.
///
/// # Safety
///
/// The sum comes from `turnpike_sum_new`; there is room for as many terms as there are points, for each window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_sum_terms(sum: *const Sum, first: usize, end: usize, terms: *mut Term) -> usize {
    // SAFETY: the caller's promise.
    let found = unsafe { &*sum }.terms(first..end);
    // SAFETY: the caller's promise.
    unsafe { terms.copy_from_nonoverlapping(found.as_ptr(), found.len()) };
    found.len()
}

/// Stores a bucket's point: X, Y, Z. Returns false if a coordinate is not below the prime.
///
/// # Safety
///
/// The sum comes from `turnpike_sum_new` and has such a bucket; the point has three numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_sum_put(sum: *mut Sum, bucket: usize, point: *const Number) -> bool {
    // SAFETY: the caller's promise.
    let (sum, numbers) = unsafe { (&mut *sum, slice::from_raw_parts(point, 3)) };
    let back = radix().inverse();
    let mut point = [Fp::default(); 3];
    for (coordinate, number) in iter::zip(&mut point, numbers) {
        let Ok(found) = Fp::parse(number) else { return false };
        *coordinate = found * back;
    }
    sum.buckets[bucket] = Some(point);
    true
}

/// Whether the sum over all buckets matches crates/verify.
///
/// # Safety
///
/// The sum comes from `turnpike_sum_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_sum_holds(sum: *const Sum) -> bool {
    // SAFETY: the caller's promise.
    let sum = unsafe { &*sum };
    sum.windows.join(&sum.buckets) == Ok(sum.expected)
}
