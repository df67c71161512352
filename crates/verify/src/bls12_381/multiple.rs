//! Multiples of many points, and sums of them: multi-scalar multiplication.

use super::{Backend, Group, Point, Scalar};

/// From this many points on, this crate's own method is surely faster than blst's.
const PIPPENGER: usize = 32;

/// Multiplies each point by its scalar, faster together.
///
/// # Panics
///
/// If the numbers of scalars and points differ.
pub fn multiply_each<G: Group>(points: &[Point<G>], scalars: &[Scalar]) -> Vec<Point<G>> {
    multiply_each_on(Backend::fastest(), points, scalars)
}

/// [`multiply_each`] on the given backend, which must be available.
pub fn multiply_each_on<G: Group>(backend: Backend, points: &[Point<G>], scalars: &[Scalar]) -> Vec<Point<G>> {
    assert_eq!(points.len(), scalars.len(), "each point has a scalar");
    each(backend, points, scalars.iter().map(Scalar::little_endian), Scalar::BITS)
}

/// [`multiply_each`] with scalars of 128 bits, which takes less time.
pub fn multiply_short_each<G: Group>(points: &[Point<G>], scalars: &[u128]) -> Vec<Point<G>> {
    multiply_short_each_on(Backend::fastest(), points, scalars)
}

pub(super) fn multiply_short_each_on<G: Group>(
    backend: Backend,
    points: &[Point<G>],
    scalars: &[u128],
) -> Vec<Point<G>> {
    assert_eq!(points.len(), scalars.len(), "each point has a scalar");
    each(backend, points, scalars.iter().map(|scalar| scalar.to_le_bytes()), 128)
}

fn each<G: Group, const N: usize>(
    backend: Backend,
    points: &[Point<G>],
    scalars: impl Iterator<Item = [u8; N]>,
    bits: usize,
) -> Vec<Point<G>> {
    let finite = points.iter().zip(scalars).filter(|(point, _)| !point.is_infinity());
    let (affine, scalars): (Vec<G::Affine>, Vec<_>) = finite.map(|(point, scalar)| (point.0, limbs(&scalar))).unzip();
    let mut multiples = backend.multiply_each::<G>(&affine, &scalars, bits).into_iter().map(Point);
    points.iter().map(|point| if point.is_infinity() { None } else { multiples.next() }.unwrap_or_default()).collect()
}

/// The sum of each point multiplied by its scalar.
///
/// # Panics
///
/// If the numbers of scalars and points differ, or there are 2^30 points or more, which take more than 100 GiB.
pub fn multiply_and_add<G: Group>(points: &[Point<G>], scalars: &[Scalar]) -> Point<G> {
    multiply_and_add_on(Backend::fastest(), points, scalars)
}

pub(super) fn multiply_and_add_on<G: Group>(backend: Backend, points: &[Point<G>], scalars: &[Scalar]) -> Point<G> {
    assert_eq!(points.len(), scalars.len(), "each point has a scalar");
    sum(backend, points, scalars.iter().map(Scalar::little_endian), Scalar::BITS)
}

/// [`multiply_and_add`] with scalars of 128 bits, which takes half the time.
pub fn multiply_short_and_add<G: Group>(points: &[Point<G>], scalars: &[u128]) -> Point<G> {
    multiply_short_and_add_on(Backend::fastest(), points, scalars)
}

pub(super) fn multiply_short_and_add_on<G: Group>(backend: Backend, points: &[Point<G>], scalars: &[u128]) -> Point<G> {
    assert_eq!(points.len(), scalars.len(), "each point has a scalar");
    sum(backend, points, scalars.iter().map(|scalar| scalar.to_le_bytes()), 128)
}

fn sum<G: Group, const N: usize>(
    backend: Backend,
    points: &[Point<G>],
    scalars: impl Iterator<Item = [u8; N]>,
    bits: usize,
) -> Point<G> {
    // The formulas of affine points cannot handle infinity.
    let finite = points.iter().zip(scalars).filter(|(point, _)| !point.is_infinity());
    let (points, scalars): (Vec<G::Affine>, Vec<[u8; N]>) = finite.map(|(point, scalar)| (point.0, scalar)).unzip();
    match &points[..] {
        [] => Point::default(),
        [point] => Point(G::to_affine(&G::multiply(&G::to_jacobian(point), &scalars[0], bits))),
        _ if points.len() < PIPPENGER => {
            Point(G::to_affine(&G::multiply_and_add(&points, scalars.as_flattened(), bits)))
        }
        _ => Point(G::to_affine(&backend.multiply_and_add::<G>(&points, &Vec::from_iter(scalars.iter().map(limbs))))),
    }
}

pub(super) fn limbs<const N: usize>(scalar: &[u8; N]) -> [u64; 4] {
    let mut limbs = [0; 4];
    limbs.iter_mut().zip(scalar.as_chunks().0).for_each(|(limb, bytes)| *limb = u64::from_le_bytes(*bytes));
    limbs
}
