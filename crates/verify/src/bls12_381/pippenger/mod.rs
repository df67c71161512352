//! Sums of multiples of many points, by Pippenger's bucket method.
//!
//! The groups' endomorphism splits each scalar into halves, and each half into signed digits of a few bits, one per
//! window. In a window of a half, all points with the same digit go to one bucket. The points of buckets are added up
//! in affine coordinates, with five multiplications and a squaring per point, because many buckets share an inversion
//! ([`buckets`]); coordinates without inversion would take ten. Finally each bucket's sum counts as often as its digit
//! says: the buckets form a square, whose rows and columns are added up in the same way, and then, for each bit of the
//! digit, those that the bit selects. So one point remains per bit of a half; the rest, a doubling and two additions
//! for each, runs on single words.

mod adder;
mod buckets;

use std::ops::Range;

pub(super) use self::adder::{Adder, Entry, OneByOne, Pair, Stored, Terms};
use self::buckets::Buckets;
use super::Group;
use super::digits::{self, Plan};
use super::field::Field;

/// Points converted to the adder's form at a time, because they exist twice meanwhile.
const STORED: usize = 4096;

/// Number of digits to put in buckets together, unless a single window has more: enough that buckets of many windows
/// are added up together, few enough that these stay in the second-level cache.
const TOGETHER: usize = 1 << 15;

/// Room after the points for intermediate sums, so that the points need not be moved: for the 2^12 buckets of a window,
/// and for a few rounds of additions.
const SUMS: usize = 1 << 14;

/// The coordinates of a point; zeros at infinity. Aligned, so that those of G1 occupy two cache lines.
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
    /// The factors of the point and of its image.
    halves: Vec<[i128; 2]>,
    plan: Plan,
}

/// The sum of each point multiplied by its scalar, which is below 2^255. No point may be at infinity.
pub(super) fn multiply_and_add<G: Group>(
    adder: impl Adder<G::Element>,
    points: &[G::Affine],
    scalars: &[[u64; 4]],
) -> G::Jacobian {
    let mut terms = Sum::<_, _>::new::<G>(adder, points, scalars);
    // For each digit, the window of the first halves and that of the second.
    let windows = 0..2 * terms.plan.windows;
    let together = (TOGETHER / scalars.len().max(1)).max(1);
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
            points.len() == scalars.len() && points.len() < 1 << 30,
            "an entry has 32 bits, one of them for the sign; and there are sums behind the points"
        );
        let affine = |point: &G::Affine| {
            let (x, y) = G::coordinates(point);
            Affine { x: x.into(), y: y.into() }
        };
        let mut stored = Vec::with_capacity(points.len() + SUMS);
        for points in points.chunks(STORED) {
            stored.extend(adder.store(&Vec::from_iter(points.iter().map(affine))));
        }
        let halves = Vec::from_iter(scalars.iter().map(|scalar| digits::split(*scalar)));
        Self { adder, points: stored, halves, plan: Plan::for_scalars(scalars.len()) }
    }

    /// For each bit of a window's digits, the sum of the points whose digit has it, with the digit's sign.
    fn bits<G: Group>(&mut self, windows: Range<usize>) -> Vec<Affine<G::Element>>
    where
        A: Adder<G::Element, Point = P>,
    {
        let Self { adder, plan, halves, points } = self;
        let (plan, mut buckets) = (*plan, Buckets::new(*adder));
        let count = plan.buckets();
        let entries = windows.clone().flat_map(|window| {
            let first = (window - windows.start) * count;
            halves.iter().enumerate().filter_map(move |(at, half)| {
                let digit = plan.digit(half[window % 2], window / 2);
                (digit != 0).then(|| (first + digit.unsigned_abs() as usize - 1, Entry::new(at, digit < 0)))
            })
        });
        let mut sums = buckets.add_up(points, windows.len() * count, entries);

        // A digit consists of a row number and a column number. Number zero contributes nothing.
        let [rows, columns] = plan.square();
        let lines = rows + columns - 1;
        let entries = sums.iter().enumerate().filter(|(_, sum)| !sum.is_infinity()).flat_map(|(at, _)| {
            let first = at / count * lines;
            let digit = at % count + 1;
            let [row, column] = [digit / columns, digit % columns];
            let in_row = (row > 0).then(|| first + row - 1);
            let in_column = (column > 0).then(|| first + rows + column - 1);
            in_row.into_iter().chain(in_column).map(move |line| (line, Entry::new(at, false)))
        });
        let entries = Vec::from_iter(entries);
        let mut sums = buckets.add_up(&mut sums, windows.len() * lines, entries.into_iter());

        let of_columns = columns.ilog2();
        let bits = plan.bits as usize;
        let entries = sums.iter().enumerate().filter(|(_, sum)| !sum.is_infinity()).flat_map(|(at, _)| {
            let first = at / lines * bits;
            let line = at % lines;
            let digit = if line < rows { (line + 1) << of_columns } else { line - rows + 1 };
            (0..bits).filter(move |bit| digit >> bit & 1 == 1).map(move |bit| (first + bit, Entry::new(at, false)))
        });
        let entries = Vec::from_iter(entries);
        adder.load(&buckets.add_up(&mut sums, windows.len() * bits, entries.into_iter()))
    }
}

/// Prefetches the cache lines of a point's coordinate: x or y.
#[inline(always)]
fn prefetch<P>(point: &P, coordinate: usize) {
    #[cfg(target_arch = "x86_64")]
    for at in (coordinate * size_of::<P>() / 2..(coordinate + 1) * size_of::<P>() / 2).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: the instruction reads nothing, and the address is within the point.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(point).cast::<i8>().add(at)) };
    }
}
