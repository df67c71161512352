//! Sums of runs of points, in affine coordinates.

use super::adder::{Adder, Terms};
use crate::bls12_381::field::Field;

/// Adds up runs of points that lie one after the other: each run's points in pairs, the sums again in pairs, until there is one.
/// Pairs of all runs share the inversion that an addition of affine points takes. Such an addition is five multiplications and a
/// squaring.
pub(super) struct Runs<E: Field, A: Adder<E>> {
    adder: A,
    pairs: Vec<Pair>,
    /// For each vector of pairs, the products of the denominators of those after it.
    products: Vec<A::Numbers>,
    sums: Vec<A::Point>,
}

/// The number of the first of two points, and that of their sum.
#[derive(Clone, Copy)]
struct Pair {
    from: u32,
    to: u32,
}

impl<E: Field, A: Adder<E>> Runs<E, A> {
    pub(super) fn new(adder: A) -> Self {
        Self { adder, pairs: Vec::new(), products: Vec::new(), sums: Vec::new() }
    }

    /// Leaves the sums of the runs that are not empty, one after the other.
    pub(super) fn add_up(&mut self, points: &mut Vec<A::Point>, lengths: &mut [u32]) {
        while lengths.iter().any(|length| *length > 1) {
            self.pairs.clear();
            self.sums.clear();
            let mut from = 0;
            for length in &mut *lengths {
                for _ in 0..*length / 2 {
                    self.pairs.push(Pair { from, to: self.sums.len() as u32 });
                    self.sums.push(A::Point::default());
                    from += 2;
                }
                if *length % 2 == 1 {
                    self.sums.push(points[from as usize]);
                    from += 1;
                }
                *length = length.div_ceil(2);
            }
            self.add_pairs(points);
            std::mem::swap(points, &mut self.sums);
        }
    }

    /// Where pairs do not fill a vector, the last is there again.
    fn add_pairs(&mut self, points: &[A::Point]) {
        let Self { adder, pairs, products, sums } = self;
        let vectors = || pairs.chunks(A::PAIRS);
        let terms = |pairs: &[Pair], at: usize| {
            let from = pairs[at.min(pairs.len() - 1)].from as usize;
            Terms { left: &points[from], right: &points[from + 1] }
        };
        products.clear();
        let mut product = adder.one();
        for pairs in vectors().rev() {
            products.push(product);
            product = adder.product(&product, &adder.denominators(|at| terms(pairs, at)));
        }
        let mut inverse = adder.inverse(&product);
        for (pairs, product) in vectors().zip(products.iter().rev()) {
            adder.sums(
                |at| terms(pairs, at),
                &adder.product(&inverse, product),
                |at, sum| {
                    if let Some(pair) = pairs.get(at) {
                        sums[pair.to as usize] = sum;
                    }
                },
            );
            inverse = adder.product(&inverse, &adder.denominators(|at| terms(pairs, at)));
        }
    }
}
