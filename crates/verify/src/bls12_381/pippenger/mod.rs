//! Sums of multiples of many points, by Pippenger's method of buckets.
//!
//! Each scalar is split into halves with the endomorphism of the groups, and each half into signed digits of a few bits, one for each
//! window. In a window of a half, all points with the same digit go to one bucket. The points of buckets are added up in affine coordinates,
//! which takes five multiplications and a squaring a point, as those of hundreds of buckets share an inversion ([`runs`]); with
//! coordinates that need no inversion it would be ten. In the end each bucket's sum is taken as often as its digit says: the buckets are
//! put in a square, whose rows and columns are added up in the same way, and of those the ones that a bit of the digit selects. So there
//! is one point for each bit of a half, and what is left to do on one word is a doubling for each, and two additions.

mod adder;
mod runs;

use std::ops::Range;

pub(super) use self::adder::{Adder, Entry, OneByOne, Pair, Stored, Terms};
use self::runs::Runs;
use super::Group;
use super::digits::{self, Plan};
use super::field::Field;

/// Points that are brought to the adder's form at a time, as they are there twice meanwhile.
const STORED: usize = 4096;

/// Digits that are sorted at a time, if those of one window are not more: enough that runs of many windows are added up together, few
/// enough that their entries stay in the second level cache.
const SORTED: usize = 1 << 17;

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
    points: Vec<P>,
    /// What the point is multiplied with, and what its image is.
    halves: Vec<[i128; 2]>,
    plan: Plan,
}

/// The sum of each point multiplied by its scalar, which is below 2^255. No point is at infinity.
pub(super) fn multiply_and_add<G: Group>(
    adder: impl Adder<G::Element>,
    points: &[G::Affine],
    scalars: &[[u64; 4]],
) -> G::Jacobian {
    let terms = Sum::<_, _>::new::<G>(adder, points, scalars);
    // Of each window, the one of the first halves and that of the others.
    let windows = 0..2 * terms.plan.windows;
    let together = (SORTED / scalars.len().max(1)).max(1);
    let pieces = windows.clone().step_by(together).map(|first| first..windows.end.min(first + together));
    let bits = Vec::from_iter(pieces.flat_map(|piece| terms.bits::<G>(piece)));
    let point = |Affine { x, y }: Affine<G::Element>| G::from_coordinates(x.into(), y.into());
    let windows = bits.chunks_exact(terms.plan.bits as usize).collect::<Vec<_>>();
    let (windows, _) = windows.as_chunks();
    let bits = windows.iter().flat_map(|[first, second]| first.iter().zip(*second));
    bits.rev().fold(G::Jacobian::default(), |sum, (first, second)| {
        let image = Affine { x: second.x.times(G::CUBE_ROOT), y: -second.y };
        G::add_affine(&G::add_affine(&G::add(&sum, &sum), &point(*first)), &point(image))
    })
}

impl<A, P: Stored> Sum<A, P> {
    fn new<G: Group>(adder: A, points: &[G::Affine], scalars: &[[u64; 4]]) -> Self
    where
        A: Adder<G::Element, Point = P>,
    {
        assert!(
            points.len() == scalars.len() && points.len() < 1 << 31,
            "an entry has 32 bits, one of them for the sign"
        );
        let affine = |point: &G::Affine| {
            let (x, y) = G::coordinates(point);
            Affine { x: x.into(), y: y.into() }
        };
        let mut stored = Vec::with_capacity(points.len());
        for points in points.chunks(STORED) {
            stored.extend(adder.store(&Vec::from_iter(points.iter().map(affine))));
        }
        let halves = Vec::from_iter(scalars.iter().map(|scalar| digits::split(*scalar)));
        Self { adder, points: stored, halves, plan: Plan::for_scalars(scalars.len()) }
    }

    /// For each bit of a window's digits, the sum of the points whose digit has it, with the digit's sign.
    fn bits<G: Group>(&self, windows: Range<usize>) -> Vec<Affine<G::Element>>
    where
        A: Adder<G::Element, Point = P>,
    {
        let mut runs = Runs::new(self.adder);
        let mut buckets = Sorted::default();
        let digits = windows.clone().map(|window| (self.halves.iter().map(move |half| half[window % 2]), window / 2));
        digits.for_each(|(halves, window)| buckets.sort(&self.plan, halves, window));
        let sums = buckets.add_up(&mut runs, &self.points);

        // A digit is the number of a row and that of a column. Those of number zero count nothing.
        let [rows, columns] = self.plan.square();
        let mut lines = Sorted::default();
        for buckets in (0..sums.len()).step_by(self.plan.buckets()) {
            let bucket = |row: usize, column: usize| buckets + row * columns + column - 1;
            let last = |row: usize| if row == rows { 1 } else { columns };
            (1..=rows).for_each(|row| lines.push((0..last(row)).map(|column| bucket(row, column)), &sums));
            (1..columns).for_each(|column| lines.push((0..rows).map(|row| bucket(row, column)), &sums));
        }
        let sums = lines.add_up(&mut runs, &sums);

        let mut bits = Sorted::default();
        for lines in (0..sums.len()).step_by(rows + columns - 1) {
            let with = |count: usize, bit: u32| (1..count).filter(move |number| number >> bit & 1 == 1);
            let of_columns = columns.ilog2();
            (0..of_columns)
                .for_each(|bit| bits.push(with(columns, bit).map(|column| lines + rows + column - 1), &sums));
            (of_columns..self.plan.bits)
                .for_each(|bit| bits.push(with(rows + 1, bit - of_columns).map(|row| lines + row - 1), &sums));
        }
        self.adder.load(&bits.add_up(&mut runs, &sums))
    }
}

/// Asks for the cache lines of a point.
#[inline(always)]
fn prefetch<P>(point: &P) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..size_of::<P>()).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: the instruction reads nothing, and the address is within the point.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(point).cast::<i8>().add(at)) };
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
    /// Appends a bucket of points, but for those at infinity.
    fn push<P: Stored>(&mut self, points: impl Iterator<Item = usize>, all: &[P]) {
        let before = self.entries.len();
        self.entries.extend(points.filter(|at| !all[*at].is_infinity()).map(|at| Entry::new(at, false)));
        self.lengths.push((self.entries.len() - before) as u32);
    }

    /// Appends the buckets of a window.
    fn sort(&mut self, plan: &Plan, halves: impl Iterator<Item = i128> + Clone, window: usize) {
        let digits =
            || halves.clone().map(|half| plan.digit(half, window)).enumerate().filter(|(_, digit)| *digit != 0);
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
            self.entries[*place] = Entry::new(at, digit < 0);
            *place += 1;
        }
        self.lengths.append(&mut lengths);
    }

    /// The sum of each bucket.
    fn add_up<E: Field, A: Adder<E>>(&self, runs: &mut Runs<E, A>, points: &[A::Point]) -> Vec<A::Point> {
        runs.add_up(points, &self.entries, &self.lengths)
    }
}
