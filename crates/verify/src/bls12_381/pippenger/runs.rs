//! Sums of runs of points, in affine coordinates.

use std::mem::swap;

use super::adder::{Adder, Entry, Pair};
use super::prefetch;
use crate::bls12_381::field::Field;

/// Pairs that are added up together: enough that an inversion costs little beside the additions, few enough that the points stay in the
/// second level cache, with those that come next.
const TOGETHER: usize = 2048;

/// Adds up runs of points: each run's points in pairs, the sums again in pairs, until there is one. In each round pairs of runs that are
/// begun and of further ones share the inversion that an addition of affine points takes. Such an addition is five multiplications
/// and a squaring.
pub(super) struct Runs<E: Field, A: Adder<E>> {
    adder: A,
    begun: Vec<Run>,
    /// Whole vectors of pairs of sums of the round before, then those of points.
    pairs: Vec<Pair>,
    /// The last points of runs that have an odd number of them.
    singles: Vec<A::Point>,
    /// For each vector of pairs, the denominators, and the products of those before it.
    denominators: Vec<(A::Numbers, A::Numbers)>,
    /// The sums of the pairs, and singles.
    sums: Vec<A::Point>,
    /// Those of the round before.
    terms: Vec<A::Point>,
}

/// What is left of a run.
struct Run {
    number: usize,
    /// Where its pairs are, and their sums.
    from: usize,
    pairs: usize,
    single: Option<usize>,
}

impl<E: Field, A: Adder<E>> Runs<E, A> {
    pub(super) fn new(adder: A) -> Self {
        let (begun, pairs, singles, denominators) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { adder, begun, pairs, singles, denominators, sums: Vec::new(), terms: Vec::new() }
    }

    /// The sum of each run: there are so many of the entries in it.
    pub(super) fn add_up(&mut self, points: &[A::Point], mut entries: &[Entry], lengths: &[u32]) -> Vec<A::Point> {
        let mut results = vec![A::Point::default(); lengths.len()];
        let mut lengths = lengths.iter().enumerate();
        let mut singles_at = 0;
        loop {
            self.pair_sums(singles_at);
            let old = self.pairs.len();
            while self.pairs.len() < TOGETHER
                && let Some((number, length)) = lengths.next()
            {
                let (run, rest) = entries.split_at(*length as usize);
                entries = rest;
                match run {
                    [] => (),
                    [entry] => results[number] = entry.of(points),
                    _ => self.pair_points(number, run, points),
                }
            }
            if self.pairs.is_empty() {
                return results;
            }
            let mut next = entries.chunks(A::PAIRS);
            self.add_pairs(points, old, || {
                next.next().into_iter().flatten().for_each(|entry| prefetch(&points[entry.at()]));
            });
            singles_at = self.sums.len();
            self.sums.append(&mut self.singles);
            swap(&mut self.sums, &mut self.terms);
            self.begun.retain(|run| {
                let is_sum = run.pairs == 1 && run.single.is_none();
                if is_sum {
                    results[run.number] = self.terms[run.from];
                }
                !is_sum
            });
        }
    }

    /// Begins with the sums of runs that are begun.
    fn pair_sums(&mut self, singles_at: usize) {
        let Self { begun, pairs, singles, terms, .. } = self;
        pairs.clear();
        for run in begun {
            let first = pairs.len();
            let sums = (run.from..run.from + run.pairs).chain(run.single.map(|single| singles_at + single));
            let mut sums = sums.map(|at| Entry::new(at, false));
            run.single = None;
            while let Some(left) = sums.next() {
                match sums.next() {
                    Some(right) => pairs.push([left, right]),
                    None => {
                        run.single = Some(singles.len());
                        singles.push(left.of(terms));
                    }
                }
            }
            (run.from, run.pairs) = (first, pairs.len() - first);
        }
        if let Some(last) = pairs.last() {
            pairs.resize(pairs.len().next_multiple_of(A::PAIRS), *last);
        }
    }

    /// Begins a run of points.
    fn pair_points(&mut self, number: usize, run: &[Entry], points: &[A::Point]) {
        let (pairs, rest) = run.as_chunks();
        let single = rest.first().map(|single| {
            self.singles.push(single.of(points));
            self.singles.len() - 1
        });
        self.begun.push(Run { number, from: self.pairs.len(), pairs: pairs.len(), single });
        self.pairs.extend_from_slice(pairs);
    }

    /// The sums of the pairs, of which the first `old` are of sums. `meanwhile` is called for each vector of them.
    fn add_pairs(&mut self, points: &[A::Point], old: usize, mut meanwhile: impl FnMut()) {
        let Self { adder, pairs, denominators, sums, terms, .. } = self;
        sums.clear();
        sums.resize(pairs.len().next_multiple_of(A::PAIRS), A::Point::default());
        let terms: &[_] = terms;
        let terms = |vector: usize| if vector * A::PAIRS < old { terms } else { points };
        denominators.clear();
        let mut product = adder.one();
        for (vector, pairs) in pairs.chunks(A::PAIRS).enumerate() {
            let these = adder.denominators(terms(vector), pairs);
            denominators.push((these, product));
            product = adder.product(&product, &these);
        }
        let mut inverse = adder.inverse(&product);
        let vectors = pairs.chunks(A::PAIRS).zip(sums.chunks_mut(A::PAIRS)).zip(&*denominators);
        for (vector, ((pairs, sums), (these, product))) in vectors.enumerate().rev() {
            meanwhile();
            adder.sums(terms(vector), pairs, &adder.product(&inverse, product), sums);
            inverse = adder.product(&inverse, these);
        }
    }
}
