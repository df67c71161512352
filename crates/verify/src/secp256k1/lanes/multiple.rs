//! A sum of multiples of many points, by Pippenger's method of buckets.
//!
//! Each number is split into halves of 128 bits with the curve's endomorphism, and each half into signed digits of a few
//! bits, one for each window. In a window, all points with the same digit go to one bucket. The points of a bucket are added
//! up in pairs, and the sums again, until there is one: pairs of all buckets and windows do not depend on each other, so they
//! fill the lanes, and share the inversion that an addition of affine points takes ("batch affine"). Such an addition is
//! 5 multiplications and a squaring. What is left, the sum of each bucket's point as often as its digit says, has a window
//! in each lane.
//!
//! The limit: a signature of a batch of 1,024 is 46 digits that are not zero, about 44 additions of 352 fused multiply-adds
//! for a vector of eight; its share of the buckets is 2,000 more. With two square roots of 11,500 that makes 40,000 for eight
//! signatures: 20,000 cycles of a Zen 5 core, or 0.58 us each at 4.34 GHz.

use std::sync::LazyLock;

use secp256k1::{PublicKey, SECP256K1, SecretKey};

use super::combination::times_lambda;
use super::field::{Element, invert};
use super::kernel::Kernel;
use super::point::{Affine, Jacobian};
use super::scalar::{self, Half, Scalar};
use super::table::{GENERATOR, to_row};
use crate::lanes::{Mask, Plain, Row, Vector, mask};
use crate::sha256::Tag;

/// Pairs that share an inversion. It costs about as much as 40 additions, and what is kept of a pair until then, 80 bytes,
/// should stay in the second level cache.
const SHARED: usize = 8192;

/// Bits of half a number, one for the carry of its signed digits included.
const BITS: u32 = 129;

/// Points that are used in every sum.
struct Constants {
    /// The generator, and lambda times it.
    generator: [Row; 2],
    /// A point that sums begin with, so that they never are the point at infinity, and which multiple of the generator it is.
    /// If somebody made a sum meet one of the cases that the formulas do not know, it would count as not zero.
    blind: Row,
    blind_number: Scalar,
}

impl Constants {
    fn get() -> Option<&'static Self> {
        static CONSTANTS: LazyLock<Option<Constants>> = LazyLock::new(Constants::make);
        CONSTANTS.as_ref()
    }

    /// None only if a hash is not below the order, or a point is not one, which is not so: tests make these.
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
    /// For each row, how often it is taken.
    numbers: Vec<Half>,
    /// How often the generator is.
    generator: Scalar,
}

impl Multiples {
    /// Adds a multiple of a point, which comes with lambda times the point; both halves are below 2^128.
    pub(super) fn push(&mut self, point: &[Row; 2], number: [Half; 2]) {
        self.rows.extend(point);
        self.numbers.extend(number);
    }

    /// Adds a multiple of the generator.
    pub(super) fn push_generator(&mut self, number: &Scalar) {
        self.generator = scalar::add(&self.generator, number);
    }

    /// Whether the sum is zero. It may be said not to be though it is, if the points were chosen for that; never the other
    /// way round.
    #[inline(always)]
    pub(super) fn sum_is_zero<V: Kernel>(&mut self, any: V) -> bool {
        let Some(constants) = Constants::get() else { return false };
        let plan = Plan::for_rows(self.rows.len());
        // The blind is in each window's sum as often as there are buckets, and twice more. One is to be left.
        let in_window = scalar::from_u64(plan.buckets as u64 + 2);
        let in_sum = (0..plan.windows).fold([0; 4], |sum, _| {
            let sum = (0..plan.bits).fold(sum, |sum, _| scalar::add(&sum, &sum));
            scalar::add(&sum, &in_window)
        });
        let less = scalar::add(&in_sum, &scalar::negate(&scalar::from_u64(1)));
        let number = scalar::negate(&scalar::product(&less, &constants.blind_number));
        self.push_generator(&number);
        let number = scalar::split(&self.generator);
        self.push(&constants.generator, number);

        let mut buckets = Buckets::fill(&plan, &self.numbers);
        if !buckets.add_up(any, &mut self.rows) {
            return false;
        }
        let windows = buckets.windows(any, &plan, &self.rows, &constants.blind);
        is_point(&horner(&windows, plan.bits), &constants.blind)
    }
}

/// How digits are cut.
struct Plan {
    /// Bits of a digit.
    bits: u32,
    windows: usize,
    /// Buckets in a window: digits are not further from zero.
    buckets: usize,
}

impl Plan {
    /// The one that takes the fewest multiplications.
    fn for_rows(rows: usize) -> Self {
        let plan = |bits: u32| Self { bits, windows: BITS.div_ceil(bits) as usize, buckets: 1 << (bits - 1) };
        // 8 for an addition to a bucket, with what goes on around it; 27 for a bucket's own two.
        let cost = |plan: &Self| plan.windows * (8 * rows + 27 * plan.buckets);
        (4..=13).map(plan).min_by_key(cost).unwrap_or(plan(8))
    }
}

/// Row number times two, and one if the row's negative is meant.
type Entry = u32;

struct Buckets {
    /// Those of all buckets, one after the other.
    entries: Vec<Entry>,
    /// Where each bucket begins; one more for the end.
    starts: Vec<u32>,
}

impl Buckets {
    /// Puts each row into the buckets of its number's digits.
    fn fill(plan: &Plan, numbers: &[Half]) -> Self {
        assert!(numbers.len() < 1 << 26, "entries of all rounds have 31 bits");
        let mut digits: Vec<(u32, Entry)> = Vec::with_capacity(numbers.len() * plan.windows);
        let mut starts = vec![0u32; plan.windows * plan.buckets + 1];
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
                    starts[bucket as usize + 1] += 1;
                    digits.push((bucket, (row as u32) << 1 | u32::from((carry == 1) != number.negative)));
                } else if rest == 0 && carry == 0 {
                    break;
                }
            }
            assert!(carry == 0, "the last digit has room for the carry");
        }
        for bucket in 1..starts.len() {
            starts[bucket] += starts[bucket - 1];
        }
        let mut next = starts.clone();
        let mut entries = vec![0; digits.len()];
        for (bucket, entry) in digits {
            let place = &mut next[bucket as usize];
            entries[*place as usize] = entry;
            *place += 1;
        }
        Self { entries, starts }
    }

    /// Adds up in pairs until no bucket has more than one entry. New points are appended to the rows. False if a sum was the
    /// point at infinity.
    #[inline(always)]
    fn add_up<V: Kernel>(&mut self, any: V, rows: &mut Vec<Row>) -> bool {
        let mut pairs: Vec<[Entry; 2]> = Vec::with_capacity(self.entries.len() / 2);
        loop {
            pairs.clear();
            let mut end = 0;
            let mut from = 0;
            for start in 1..self.starts.len() {
                let to = self.starts[start] as usize;
                while to - from >= 2 {
                    // The sum's place may be that of the pair's first, or before it.
                    pairs.push([self.entries[from], self.entries[from + 1]]);
                    self.entries[end] = ((rows.len() + pairs.len() - 1) as u32) << 1;
                    (end, from) = (end + 1, from + 2);
                }
                if from < to {
                    self.entries[end] = self.entries[from];
                    (end, from) = (end + 1, to);
                }
                self.starts[start] = end as u32;
            }
            if pairs.is_empty() {
                return true;
            }
            self.entries.truncate(end);
            for pairs in pairs.chunks(SHARED) {
                if !any.call(
                    #[inline(always)]
                    || add_pairs(any, rows, pairs),
                ) {
                    return false;
                }
            }
        }
    }

    /// For each window, the sum of its buckets' points, each as often as the digit says, with the blind.
    #[inline(always)]
    fn windows<V: Kernel>(&self, any: V, plan: &Plan, rows: &[Row], blind: &Row) -> Vec<Jacobian<Plain>> {
        let entry = |window: usize, bucket: usize| {
            let at = window * plan.buckets + bucket;
            let (from, to) = (self.starts[at] as usize, self.starts[at + 1] as usize);
            if from < to { Some(self.entries[from]) } else { None }
        };
        let mut sums = Vec::with_capacity(plan.windows);
        for first in (0..plan.windows).step_by(V::LANES) {
            let entry = |lane: usize, bucket: usize| {
                if first + lane < plan.windows { entry(first + lane, bucket) } else { None }
            };
            let sum = any.call(
                #[inline(always)]
                || {
                    let start = Affine::load(any, |_| blind);
                    let mut running = start.to_jacobian();
                    let mut sum = running.double();
                    for bucket in (0..plan.buckets).rev() {
                        let there = mask::<V>(|lane| entry(lane, bucket).is_some());
                        let negative = mask::<V>(|lane| entry(lane, bucket).is_some_and(|entry| entry & 1 == 1));
                        let row = |lane: usize| entry(lane, bucket).map_or(blind, |entry| &rows[entry as usize >> 1]);
                        let point = Affine::load(any, row).negative_if(negative);
                        running = running.or_if(there, &running.add_affine(&point).0);
                        sum = sum.add(&running);
                    }
                    sum
                },
            );
            sums.extend((first..plan.windows.min(first + V::LANES)).map(|window| sum.lane(window - first)));
        }
        sums
    }
}

/// The point that is meant in each lane.
#[inline(always)]
fn load_entries<V: Kernel>(any: V, rows: &[Row], entry: impl Fn(usize) -> Entry) -> Affine<V> {
    let negative = mask::<V>(|lane| entry(lane) & 1 == 1);
    Affine::load(any, |lane| &rows[entry(lane) as usize >> 1]).negative_if(negative)
}

/// Appends the sum of each pair to the rows, and says whether none is the point at infinity.
#[inline(always)]
fn add_pairs<V: Kernel>(any: V, rows: &mut Vec<Row>, pairs: &[[Entry; 2]]) -> bool {
    let count = rows.len();
    let groups = pairs.len().div_ceil(V::LANES);
    rows.resize(count + groups * V::LANES, Row::default());
    let (rows_before, sums) = rows.split_at_mut(count);
    let entry = |side: usize, group: usize, lane: usize| pairs[(group * V::LANES + lane).min(pairs.len() - 1)][side];

    // The slopes' denominators, and the product of all before each.
    let mut denominators: Vec<(Element<V>, Element<V>, Mask)> = Vec::with_capacity(groups);
    let mut product = Element::small(any, 1);
    for group in 0..groups {
        let a = load_entries(any, rows_before, |lane| entry(0, group, lane));
        let b = load_entries(any, rows_before, |lane| entry(1, group, lane));
        let mut denominator = b.x.less(&a.x);
        let same = denominator.is_zero();
        if same != 0 {
            if same & !b.y.less(&a.y).is_zero() != 0 {
                return false;
            }
            denominator = denominator.or_if(same, &a.y.times::<1>().tight());
        }
        denominators.push((denominator, product, same));
        product = product.multiply(&denominator);
    }
    let mut inverse = invert(&product);
    for (group, (denominator, product, same)) in denominators.iter().enumerate().rev() {
        let a = load_entries(any, rows_before, |lane| entry(0, group, lane));
        let b = load_entries(any, rows_before, |lane| entry(1, group, lane));
        let mut numerator = b.y.less(&a.y);
        if *same != 0 {
            let square = a.x.square();
            numerator = numerator.or_if(*same, &square.times::<1>().plus(&square).tight());
        }
        let slope = numerator.multiply(&inverse.multiply(product));
        inverse = inverse.multiply(denominator);
        let x = slope.square().times::<0>().minus::<0>(&a.x).minus::<0>(&b.x).tight();
        let y = slope.multiply(&a.x.less(&x)).less(&a.y);
        Element::store_rows(&x, &y, &mut sums[group * V::LANES..][..V::LANES]);
    }
    rows.truncate(count + pairs.len());
    true
}

/// The sum of the windows' points, the first once, each other 2^bits times as often as the one before it.
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
