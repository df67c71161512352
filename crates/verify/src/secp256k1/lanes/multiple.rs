//! A sum of multiples of many points, by Pippenger's bucket method.
//!
//! The curve's endomorphism splits each number into halves of 128 bits, and each half into signed digits of a few bits,
//! one per window. In a window, all points with the same digit go to one bucket. The points of a bucket are added up in
//! pairs, and the sums again, until one is left. Pairs of all buckets and windows are independent, so they fill the
//! lanes and share the inversion that an addition of affine points takes ("batch affine"). Such an addition is 5
//! multiplications and a squaring. The remaining sum, of each bucket's point times its number, consists of pairwise
//! additions too, about two per bucket: for each bit, of the buckets whose numbers have it. Then there is one point per
//! bit of a digit in each window; doublings combine them, with a window in each lane.
//!
//! The limit: a signature of a batch of 1,024 is 48 additions, of 352 fused multiply-adds per vector of eight, and two
//! square roots of 11,500. That makes 40,000 for eight signatures: at two per cycle 0.61 us each at 4.04 GHz. A product
//! is a third more operations than its multiply-adds, and each addition loads two points and stores one, which are
//! transposed from rows to vectors and back.

use std::sync::LazyLock;

use secp256k1::{PublicKey, SECP256K1, SecretKey};

use super::combination::times_lambda;
use super::field::{Element, Sum, invert};
use super::kernel::Kernel;
use super::point::{Affine, Jacobian};
use super::scalar::{self, Half, Scalar};
use super::table::{GENERATOR, to_row};
use crate::lanes::{Mask, Plain, Row, Vector, mask};
use crate::sha256::Tag;

/// Pairs that share an inversion. It takes as long as 200 additions in lanes, and the data kept per pair until then,
/// 120 bytes, should stay in the second-level cache.
const SHARED: usize = 4096;

/// Bits of half a number, including one for the carry of its signed digits.
const BITS: u32 = 129;

/// Points that are used in every sum.
struct Constants {
    /// The generator, and lambda times it.
    generator: [Row; 2],
    /// A point that sums start with, so that they are never the point at infinity, and its multiple of the generator. A
    /// sum that an attacker makes hit an exception of the formulas counts as not zero.
    blind: Row,
    blind_number: Scalar,
}

impl Constants {
    fn get() -> Option<&'static Self> {
        static CONSTANTS: LazyLock<Option<Constants>> = LazyLock::new(Constants::make);
        CONSTANTS.as_ref()
    }

    /// `None` only if a hash is not below the order, or a point is invalid. Neither happens: the tests create these
    /// constants.
    fn make() -> Option<Self> {
        const TAG: Tag = Tag::new("turnpike/blind");
        let number = TAG.hash(&[]);
        let blind = SecretKey::from_byte_array(number).ok()?.public_key(SECP256K1);
        let generator = to_row(&PublicKey::from_byte_array_compressed(GENERATOR).ok()?)?;
        Some(Self {
            generator: [generator, lambda_row(&generator)],
            blind: to_row(&blind)?,
            blind_number: scalar::from_bytes(&number),
        })
    }
}

/// Lambda times a point.
fn lambda_row(row: &Row) -> Row {
    // SAFETY: a plain word needs no special instructions.
    unsafe {
        Plain::start(
            #[inline(always)]
            |any| {
                let (x, y) = Element::load_rows(any, |_| row);
                let mut rows = [Row::default()];
                Element::store_rows(&times_lambda(&x), &y, &mut rows);
                rows[0]
            },
        )
    }
}

/// Multiples of points, to be added up.
#[derive(Default)]
pub(super) struct Multiples {
    /// For each point, itself and lambda times it.
    rows: Vec<Row>,
    /// For each row, its multiplier.
    numbers: Vec<Half>,
    /// Multiplier of the generator.
    generator: Scalar,
}

impl Multiples {
    /// Adds a multiple of a point, given with lambda times the point; both halves are below 2^128.
    pub(super) fn push(&mut self, point: &[Row; 2], number: [Half; 2]) {
        self.rows.extend(point);
        self.numbers.extend(number);
    }

    /// Adds a multiple of the generator.
    pub(super) fn push_generator(&mut self, number: &Scalar) {
        self.generator = scalar::add(&self.generator, number);
    }

    /// Whether the sum is zero. Points chosen for it can cause a false negative, never a false positive.
    #[inline(always)]
    pub(super) fn sum_is_zero<V: Kernel>(&mut self, any: V) -> bool {
        let Some(constants) = Constants::get() else { return false };
        let plan = Plan::for_numbers(&self.numbers);
        // Each window's sum contains the blind as often as its doublings multiply it. One must remain.
        let in_window = scalar::from_u64(1 << plan.bits);
        let in_sum = (0..plan.windows).fold([0; 4], |sum, _| {
            let sum = (0..plan.bits).fold(sum, |sum, _| scalar::add(&sum, &sum));
            scalar::add(&sum, &in_window)
        });
        let less = scalar::add(&in_sum, &scalar::negate(&scalar::from_u64(1)));
        let number = scalar::negate(&scalar::product(&less, &constants.blind_number));
        self.push_generator(&number);
        let number = scalar::split(&self.generator);
        self.push(&constants.generator, number);

        let buckets = Lists::of_buckets(&plan, &self.numbers);
        // An upper bound of the sums, plus those of unused lanes.
        self.rows.reserve(buckets.entries.len() + 2 * plan.windows * plan.buckets + V::LANES);
        let mut sums = Sums { any, rows: &mut self.rows, pairs: Vec::new() };
        let Some(bits) = sums.of_buckets(&plan, buckets) else { return false };
        let windows = sums.windows(&plan, &bits, &constants.blind);
        is_point(&horner(&windows, plan.bits), &constants.blind)
    }
}

/// How digits are split.
struct Plan {
    /// Bits of a digit.
    bits: u32,
    windows: usize,
    /// Buckets in a window, which is the maximum absolute digit.
    buckets: usize,
}

impl Plan {
    /// The plan that takes the fewest additions.
    fn for_numbers(numbers: &[Half]) -> Self {
        let plan = |bits: u32| Self { bits, windows: BITS.div_ceil(bits) as usize, buckets: 1 << (bits - 1) };
        let length: usize = numbers.iter().map(|number| (BITS - number.magnitude.leading_zeros()) as usize).sum();
        // One per digit, and two per bucket.
        let cost = |plan: &Self| length / plan.bits as usize + 2 * plan.windows * plan.buckets;
        (4..=13).map(plan).min_by_key(cost).unwrap_or(plan(8))
    }
}

/// Row number times two, plus one for the row's negative.
type Entry = u32;

/// Lists of points to be added up.
#[derive(Default)]
struct Lists {
    /// The entries of all lists, concatenated.
    entries: Vec<Entry>,
    /// The end of each list.
    ends: Vec<u32>,
}

impl Lists {
    /// A list for each bucket of each window: each row is in the lists of its number's digits.
    fn of_buckets(plan: &Plan, numbers: &[Half]) -> Self {
        assert!(numbers.len() < 1 << 26, "entries of all rounds have 31 bits");
        let mut digits: Vec<(u32, Entry)> = Vec::with_capacity(numbers.len() * plan.windows);
        // For each bucket, first its size, then the position of its next entry.
        let mut ends = vec![0u32; plan.windows * plan.buckets];
        for (row, number) in numbers.iter().enumerate() {
            let mut rest = number.magnitude;
            let mut carry = 0;
            for window in 0..plan.windows {
                let digit = (rest as u32 & ((1 << plan.bits) - 1)) + carry;
                rest >>= plan.bits;
                carry = u32::from(digit as usize > plan.buckets);
                let size = if carry == 1 { (1 << plan.bits) - digit } else { digit };
                if size > 0 {
                    let bucket = (window * plan.buckets) as u32 + size - 1;
                    ends[bucket as usize] += 1;
                    digits.push((bucket, (row as u32) << 1 | u32::from((carry == 1) != number.negative)));
                } else if rest == 0 && carry == 0 {
                    break;
                }
            }
            assert!(carry == 0, "the last digit has room for the carry");
        }
        let mut start = 0;
        for end in &mut ends {
            (*end, start) = (start, start + *end);
        }
        let mut entries = vec![0; digits.len()];
        for (bucket, entry) in digits {
            let place = &mut ends[bucket as usize];
            entries[*place as usize] = entry;
            *place += 1;
        }
        Self { entries, ends }
    }

    fn list(&self, at: usize) -> &[Entry] {
        let start = if at > 0 { self.ends[at - 1] } else { 0 };
        &self.entries[start as usize..self.ends[at] as usize]
    }

    /// Adds a list with the entries of these.
    fn push(&mut self, lists: [&[Entry]; 2]) {
        for list in lists {
            // One at a time: usually there is just one.
            for entry in list {
                self.entries.push(*entry);
            }
        }
        self.ends.push(self.entries.len() as u32);
    }

    /// Takes pairs from each list while it has some, and replaces each by a new row, numbered from `row` on, with the
    /// sign of the pair's first entry.
    fn pair_up(&mut self, mut row: usize, pairs: &mut Vec<[Entry; 2]>) {
        pairs.clear();
        let (mut from, mut end) = (0, 0);
        for list in &mut self.ends {
            let to = *list as usize;
            while to - from >= 2 {
                let pair = [self.entries[from], self.entries[from + 1]];
                pairs.push(pair);
                self.entries[end] = (row as u32) << 1 | pair[0] & 1;
                (from, end, row) = (from + 2, end + 1, row + 1);
            }
            if from < to {
                self.entries[end] = self.entries[from];
                (from, end) = (to, end + 1);
            }
            *list = end as u32;
        }
        self.entries.truncate(end);
    }
}

/// Adds up points. New ones are appended to the rows.
struct Sums<'a, V> {
    any: V,
    rows: &'a mut Vec<Row>,
    pairs: Vec<[Entry; 2]>,
}

impl<V: Kernel> Sums<'_, V> {
    /// Adds up the pairs of all lists. Returns their number, or `None` if a sum was the point at infinity.
    #[inline(always)]
    fn halve(&mut self, lists: &mut Lists) -> Option<usize> {
        let pairs = &mut self.pairs;
        lists.pair_up(self.rows.len(), pairs);
        let count = pairs.len();
        // Unused lanes repeat the last pair.
        if let Some(last) = pairs.last() {
            pairs.resize(count.next_multiple_of(V::LANES), *last);
        }
        for pairs in pairs.chunks(SHARED) {
            let (any, rows) = (self.any, &mut *self.rows);
            let are_finite = any.call(
                #[inline(always)]
                || add_pairs(any, rows, pairs),
            );
            if !are_finite {
                return None;
            }
        }
        Some(count)
    }

    /// For each bit of the buckets' numbers and each window, a list of at most one point: the sum of the points in
    /// buckets whose numbers have the bit. The highest bit comes first, then the others from the lowest on. `None` if a
    /// sum was the point at infinity.
    #[inline(always)]
    fn of_buckets(&mut self, plan: &Plan, mut buckets: Lists) -> Option<Lists> {
        while self.halve(&mut buckets)? > 0 {}
        // Buckets 2j and 2j + 1 form a bucket j that counts twice. Those with an odd number count once more.
        let mut lists = buckets;
        let mut count = plan.buckets;
        while count > 1 {
            let mut next = Lists::default();
            for window in 0..plan.windows {
                // There is no bucket for zero.
                let bucket = |number: usize| lists.list(window * count + number - 1);
                for number in 1..count / 2 {
                    next.push([bucket(2 * number), bucket(2 * number + 1)]);
                }
                next.push([bucket(count), &[]]);
            }
            for bits in plan.windows * count..lists.ends.len() {
                next.push([lists.list(bits), &[]]);
            }
            for window in 0..plan.windows {
                for number in (1..count).step_by(2) {
                    next.entries.extend_from_slice(lists.list(window * count + number - 1));
                }
                next.push([&[], &[]]);
            }
            (lists, count) = (next, count / 2);
            self.halve(&mut lists)?;
        }
        while self.halve(&mut lists)? > 0 {}
        Some(lists)
    }

    /// For each window, the sum of its bits' points, each times the bit's value, with the blind.
    #[inline(always)]
    fn windows(&self, plan: &Plan, bits: &Lists, blind: &Row) -> Vec<Jacobian<Plain>> {
        let any = self.any;
        let mut sums = vec![Affine::load(Plain(0), |_| blind).to_jacobian(); plan.windows];
        for first in (0..plan.windows).step_by(V::LANES) {
            let count = V::LANES.min(plan.windows - first);
            any.call(
                #[inline(always)]
                || {
                    let mut sum = Affine::load(any, |_| blind).to_jacobian();
                    for bit in (0..plan.bits as usize).rev() {
                        let place = (bit + 1) % plan.bits as usize * plan.windows + first;
                        let entry = |lane: usize| if lane < count { bits.list(place + lane).first() } else { None };
                        let there = mask::<V>(|lane| entry(lane).is_some());
                        let negative = mask::<V>(|lane| entry(lane).is_some_and(|entry| entry & 1 == 1));
                        let row = |lane: usize| entry(lane).map_or(blind, |entry| &self.rows[*entry as usize >> 1]);
                        let point = Affine::load(any, row).negative_if(negative);
                        sum = sum.double();
                        sum = sum.or_if(there, &sum.add_affine(&point).0);
                    }
                    sum.store(&mut sums[first..first + count]);
                },
            );
        }
        sums
    }
}

/// The data kept of the additions of pairs until their shared inverse is known.
struct Slope<V> {
    numerator: Element<V>,
    denominator: Element<V>,
    /// The product of the earlier denominators.
    before: Element<V>,
}

/// Both points of each pair, one pair per lane; the second has the sign relative to the first.
#[inline(always)]
fn load_pairs<V: Kernel>(any: V, rows: &[Row], pairs: &[[Entry; 2]]) -> (Affine<V>, Affine<V>, Mask) {
    let load = |side: usize| Affine::load(any, |lane| &rows[pairs[lane][side] as usize >> 1]);
    (load(0), load(1), mask::<V>(|lane| (pairs[lane][0] ^ pairs[lane][1]) & 1 == 1))
}

/// Appends the sum of each pair to the rows, with the sign of its first point. Returns whether none is the point at
/// infinity.
#[inline(always)]
fn add_pairs<V: Kernel>(any: V, rows: &mut Vec<Row>, pairs: &[[Entry; 2]]) -> bool {
    let groups = || pairs.chunks_exact(V::LANES);
    let mut slopes: Vec<Slope<V>> = Vec::with_capacity(groups().len());
    let mut product = Element::small(any, 1);
    for pairs in groups().rev() {
        let (a, b, minus) = load_pairs(any, rows, pairs);
        let b_y = b.y.negative_if(minus);
        let mut numerator = b_y.minus::<0>(&a.y).tight();
        let mut denominator = b.x.less(&a.x);
        let same = denominator.is_zero();
        if same != 0 {
            if same & !numerator.is_zero() != 0 {
                return false;
            }
            let square = a.x.square();
            numerator = numerator.or_if(same, &square.times::<1>().plus(&square).tight());
            denominator = denominator.or_if(same, &a.y.times::<1>().tight());
        }
        slopes.push(Slope { numerator, denominator, before: product });
        product = product.multiply(&denominator);
    }
    let mut inverse = invert(&product);
    for (pairs, slope) in groups().zip(slopes.iter().rev()) {
        let (a, b, _) = load_pairs(any, rows, pairs);
        let Slope { numerator, denominator, before } = slope;
        let slope = numerator.multiply(&inverse.multiply(before));
        inverse = inverse.multiply(denominator);
        let x = slope.square_plus(Sum::zero(any).minus::<0>(&a.x).minus::<0>(&b.x));
        let y = slope.multiply_plus(&a.x.less(&x), Sum::zero(any).minus::<0>(&a.y));
        let mut sums = [Row::default(); Mask::BITS as usize];
        Element::store_rows(&x, &y, &mut sums[..V::LANES]);
        rows.extend_from_slice(&sums[..V::LANES]);
    }
    true
}

/// Combines the windows' points: the first once, each other 2^bits times as often as the one before.
fn horner(windows: &[Jacobian<Plain>], bits: u32) -> Jacobian<Plain> {
    let (last, others) = windows.split_last().expect("there is a window");
    others.iter().rev().fold(*last, |sum, window| {
        let sum = (0..bits).fold(sum, |sum, _| sum.double());
        sum.add(window)
    })
}

fn is_point(point: &Jacobian<Plain>, row: &Row) -> bool {
    let expected = Affine::load(Plain(0), |_| row);
    let zz = point.z.square();
    let x = expected.x.multiply(&zz).less(&point.x).is_zero();
    let y = expected.y.multiply(&zz.multiply(&point.z)).less(&point.y).is_zero();
    x & y & !point.z.is_zero() & 1 == 1
}
