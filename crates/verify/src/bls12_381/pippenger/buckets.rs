//! Sums of the points of buckets, in affine coordinates.

use std::mem::swap;

use super::adder::{Adder, Entry, Pair};
use super::prefetch;
use crate::bls12_381::field::Field;

/// Pairs added up together: enough that an inversion costs little next to the additions, few enough that their points
/// and sums stay in the second-level cache, with everything that waits. With 512 or 2048, sums of 2^18 multiples take
/// longer.
const TOGETHER: usize = 1024;

/// Adds up the points of buckets. A point waits in its bucket for another point or a sum; then the two form a pair.
/// Many pairs share the inversion that an addition of affine points takes, and their sums go to the buckets like
/// points. So nothing is sorted, and points are read in their order of arrival. An addition is five multiplications and
/// a squaring.
pub(super) struct Buckets<E: Field, A: Adder<E>> {
    adder: A,
    /// The entry waiting in each bucket.
    waiting: Vec<Entry>,
    next: Round,
    /// The previous round, whose sums must still go to their buckets.
    last: Round,
    /// Free places for sums.
    free: Vec<u32>,
    /// Places that become free after the next round.
    freed: Vec<u32>,
    /// For each vector of pairs, the denominators, and the products of the earlier ones.
    denominators: Vec<(A::Numbers, A::Numbers)>,
}

/// Pairs that are added up together. There is room for one more, which is written but does not count.
struct Round {
    count: usize,
    pairs: Vec<Pair>,
    /// The bucket of each pair.
    buckets: Vec<u32>,
    /// The places of their sums.
    places: Vec<u32>,
}

impl<E: Field, A: Adder<E>> Buckets<E, A> {
    pub(super) fn new(adder: A) -> Self {
        let (waiting, free, denominators) = (Vec::new(), Vec::new(), Vec::new());
        let freed = vec![0; TOGETHER + 1];
        Self { adder, waiting, next: Round::new(), last: Round::new(), free, freed, denominators }
    }

    /// The sum of each bucket. The entries are points with their buckets. Intermediate sums are stored after the
    /// points.
    pub(super) fn add_up(
        &mut self,
        points: &mut Vec<A::Point>,
        buckets: usize,
        mut entries: impl Iterator<Item = (usize, Entry)>,
    ) -> Vec<A::Point> {
        let count = points.len();
        self.waiting.clear();
        self.waiting.resize(buckets, Entry::NONE);
        self.free.clear();
        loop {
            for at in 0..self.last.count {
                self.put(self.last.buckets[at] as usize, Entry::new(self.last.places[at] as usize, false));
            }
            while self.next.count < TOGETHER
                && let Some((bucket, entry)) = entries.next()
            {
                // The denominators need its x.
                prefetch(&points[entry.at()], 0);
                self.put(bucket, entry);
            }
            if self.next.count == 0 {
                break;
            }
            self.find_places(points, count);
            self.add_pairs(points);
            swap(&mut self.next, &mut self.last);
            self.next.count = 0;
        }
        self.last.count = 0;
        let sum = |waiting: &Entry| if *waiting == Entry::NONE { A::Point::default() } else { waiting.resolve(points) };
        let sums = self.waiting.iter().map(sum).collect();
        points.truncate(count);
        sums
    }

    /// Puts a point or a sum in its bucket. Whether another one waits there is unpredictable, so there is no branch.
    #[inline(always)]
    fn put(&mut self, bucket: usize, entry: Entry) {
        let waiting = &mut self.waiting[bucket];
        let Round { pairs, buckets, count, .. } = &mut self.next;
        (pairs[*count], buckets[*count]) = ([*waiting, entry], bucket as u32);
        let is_pair = *waiting != Entry::NONE;
        *waiting = if is_pair { Entry::NONE } else { entry };
        *count += usize::from(is_pair);
    }

    /// Finds places for the sums, without branches: that of one of the terms, if it is a sum, which nothing else needs;
    /// otherwise a free one.
    fn find_places(&mut self, points: &mut Vec<A::Point>, count: usize) {
        let pairs = self.next.count;
        while self.free.len() < pairs {
            self.free.push(points.len() as u32);
            points.push(A::Point::default());
        }
        let mut free = self.free.len();
        let mut freed = 0;
        for at in 0..pairs {
            let [left, right] = self.next.pairs[at].map(|term| term.at() as u32);
            let [is_left, is_right] = [left, right].map(|term| term >= count as u32);
            let place = if is_right { right } else { self.free[free - 1] };
            self.next.places[at] = if is_left { left } else { place };
            free -= usize::from(!is_left & !is_right);
            self.freed[freed] = right;
            freed += usize::from(is_left & is_right);
        }
        self.free.truncate(free);
        self.free.extend_from_slice(&self.freed[..freed]);
    }

    /// Stores the sums of the pairs at their places.
    fn add_pairs(&mut self, points: &mut [A::Point]) {
        let Self { adder, next: Round { count, pairs, places, .. }, denominators, .. } = self;
        let (pairs, places) = (&pairs[..*count], &places[..*count]);
        denominators.clear();
        let mut product = adder.one();
        for pairs in pairs.chunks(A::PAIRS) {
            // The sums need the y later.
            pairs.as_flattened().iter().for_each(|entry| prefetch(&points[entry.at()], 1));
            let these = adder.denominators(points, pairs);
            denominators.push((these, product));
            product = adder.product(&product, &these);
        }
        let mut inverse = adder.inverse(&product);
        let vectors = pairs.chunks(A::PAIRS).zip(places.chunks(A::PAIRS)).zip(&*denominators);
        for ((pairs, places), (these, product)) in vectors.rev() {
            adder.sums(points, pairs, &adder.product(&inverse, product), places);
            inverse = adder.product(&inverse, these);
        }
    }
}

impl Round {
    fn new() -> Self {
        let room = TOGETHER + 1;
        Self { count: 0, pairs: vec![[Entry::NONE; 2]; room], buckets: vec![0; room], places: vec![0; room] }
    }
}
