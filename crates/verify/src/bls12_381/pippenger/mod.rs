//! Sums of multiples of many points, by Pippenger's method of buckets.
//!
//! Each scalar is split into halves with the endomorphism of the groups, and each half into signed digits of a few bits, one for each
//! window. In a window, all points with the same digit go to one bucket. The points of buckets are added up in affine coordinates,
//! which takes five multiplications and a squaring a point, as those of hundreds of buckets share an inversion ([`runs`]); with
//! coordinates that need no inversion it would be ten. In the end each bucket's sum is taken as often as its digit says.

mod adder;
mod runs;

use std::ops::Range;

pub(super) use self::adder::{Adder, OneByOne, Stored, Terms};
use self::runs::Runs;
use super::Group;
use super::digits::{self, Plan};
use super::field::Field;

/// Points that are added up together: enough that the inversions cost little beside the additions, few enough that the points stay in
/// the second level cache.
const TOGETHER: usize = 4096;

/// Digits that are sorted at a time, to bound the memory of it.
const SORTED: usize = 1 << 20;

/// How many points ahead one is fetched that is to be copied: about as long as a copy from memory takes.
const AHEAD: usize = 16;

/// The coordinates of a point; zeros at infinity. Aligned, so that those in G1 are in two cache lines.
#[repr(align(32))]
#[derive(Clone, Copy, Default)]
pub struct Affine<E> {
    pub(super) x: E,
    pub(super) y: E,
}

/// The points, and the digits of their scalars.
struct Sum<A, P> {
    adder: A,
    /// Each point, and Z² times it.
    points: Vec<P>,
    /// The half of a scalar that each of them is multiplied with.
    halves: Vec<u128>,
    plan: Plan,
}

/// The sum of each point multiplied by its scalar, which is below 2^255. No point is at infinity.
pub(super) fn multiply_and_add<G: Group>(
    adder: impl Adder<G::Element>,
    points: &[G::Affine],
    scalars: &[[u64; 4]],
) -> G::Jacobian {
    let terms = Sum::<_, _>::new::<G>(adder, points, scalars);
    let together = (SORTED / terms.halves.len().max(1)).max(1);
    let windows = 0..terms.plan.windows;
    let pieces = windows.clone().step_by(together).map(|first| first..windows.end.min(first + together));
    let sums = Vec::from_iter(pieces.flat_map(|piece| terms.windows::<G>(piece)));
    sums.iter().rev().fold(G::Jacobian::default(), |sum, window| {
        let sum = (0..terms.plan.bits).fold(sum, |sum, _| G::add(&sum, &sum));
        G::add(&sum, window)
    })
}

impl<A, P: Stored> Sum<A, P> {
    fn new<G: Group>(adder: A, points: &[G::Affine], scalars: &[[u64; 4]]) -> Self
    where
        A: Adder<G::Element, Point = P>,
    {
        let affine = |point: &G::Affine| {
            let (x, y) = G::coordinates(point);
            let (x, y): (G::Element, G::Element) = (x.into(), y.into());
            [Affine { x, y }, Affine { x: x.times(G::CUBE_ROOT), y: -y }]
        };
        // Not all at once, as they are there twice meanwhile.
        let points =
            points.chunks(TOGETHER).flat_map(|points| adder.store(&Vec::from_iter(points.iter().flat_map(affine))));
        let points = Vec::from_iter(points);
        let halves = Vec::from_iter(scalars.iter().flat_map(|scalar| digits::split(*scalar)));
        assert!(
            points.len() == halves.len() && points.len() < 1 << 31,
            "an entry has 32 bits, one of them for the sign"
        );
        let plan = Plan::for_halves(halves.len());
        Self { adder, points, halves, plan }
    }

    /// The sum of each window.
    fn windows<G: Group>(&self, windows: Range<usize>) -> Vec<G::Jacobian>
    where
        A: Adder<G::Element, Point = P>,
    {
        let mut sorted = Sorted::default();
        windows.clone().for_each(|window| sorted.sort(&self.plan, &self.halves, window));
        let mut sums = vec![P::default(); sorted.lengths.len()];
        let mut runs = Runs::new(self.adder);
        let mut group = Vec::with_capacity(2 * TOGETHER);
        let (mut from, mut first) = (0, 0);
        while first < sums.len() {
            // Whole buckets, until there are enough points.
            let mut next = first;
            group.clear();
            while next < sums.len() && group.len() < TOGETHER {
                let to = from + sorted.lengths[next] as usize;
                group.extend((from..to).map(|at| {
                    let ahead = sorted.entries[(at + AHEAD).min(sorted.entries.len() - 1)];
                    prefetch(&self.points[ahead.0 as usize >> 1]);
                    sorted.entries[at].point(&self.points)
                }));
                (from, next) = (to, next + 1);
            }
            let lengths = &mut sorted.lengths[first..next];
            runs.add_up(&mut group, lengths);
            let full = sums[first..next].iter_mut().zip(lengths).filter(|(_, length)| **length > 0);
            full.zip(&group).for_each(|((sum, _), point)| *sum = *point);
            first = next;
        }
        sums.chunks_exact(self.plan.buckets()).map(|buckets| window_sum::<G>(&self.adder.load(buckets))).collect()
    }
}

/// The sum of each bucket's point as often as the bucket's number says, which for the first is one.
fn window_sum<G: Group>(buckets: &[Affine<G::Element>]) -> G::Jacobian {
    let zero = (G::Jacobian::default(), G::Jacobian::default());
    let (_, sum) = buckets.iter().rev().fold(zero, |(running, sum), bucket| {
        let running = G::add_affine(&running, &G::from_coordinates(bucket.x.into(), bucket.y.into()));
        (running, G::add(&sum, &running))
    });
    sum
}

/// Asks for the cache lines of a point.
#[inline(always)]
fn prefetch<P>(point: &P) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..size_of::<P>()).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction reads nothing, and the address is within the point.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(point).cast::<i8>().add(at)) };
    }
}

/// A point's number times two, and one if the point's negative is meant.
#[derive(Clone, Copy, Default)]
struct Entry(u32);

impl Entry {
    fn point<P: Stored>(self, points: &[P]) -> P {
        let point = points[self.0 as usize >> 1];
        if self.0 & 1 == 1 { point.negative() } else { point }
    }
}

/// Entries by bucket.
#[derive(Default)]
struct Sorted {
    /// Those of all buckets, one after the other.
    entries: Vec<Entry>,
    /// How many each bucket has.
    lengths: Vec<u32>,
}

impl Sorted {
    /// Appends the buckets of a window.
    fn sort(&mut self, plan: &Plan, halves: &[u128], window: usize) {
        let digits =
            || halves.iter().map(|half| plan.digit(*half, window)).enumerate().filter(|(_, digit)| *digit != 0);
        let bucket = |digit: i32| digit.unsigned_abs() as usize - 1;
        let mut lengths = vec![0; plan.buckets()];
        digits().for_each(|(_, digit)| lengths[bucket(digit)] += 1);
        let mut end = self.entries.len();
        let mut next = Vec::from_iter(lengths.iter().map(|length| {
            end += *length as usize;
            end - *length as usize
        }));
        self.entries.resize(end, Entry::default());
        for (at, digit) in digits() {
            let place = &mut next[bucket(digit)];
            self.entries[*place] = Entry((at as u32) << 1 | u32::from(digit < 0));
            *place += 1;
        }
        self.lengths.append(&mut lengths);
    }
}
