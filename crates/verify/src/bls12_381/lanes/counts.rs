//! How many instructions the kernels take, measured by a vector that counts the operations asked of it. Loads, stores
//! and moves are not counted.

use std::cell::{Cell, RefCell};
use std::ops::{Add, BitAnd, BitOr, Sub};

use ::blst::{blst_p1_affine, blst_p2_affine};

use super::fp::Fp;
use super::fp2::Fp2;
use super::fp12::Fp12;
use super::{InLanes, are_in_subgroup, miller_loop, multiply_each, pairings, uncompress};
use crate::bls12_381::encoding::CompressedPoint;
use crate::bls12_381::pippenger::{Adder, Affine, Entry};
use crate::bls12_381::{self as scalar, G1, G2, Group, Point, Scalar};
use crate::lanes::{Mask, Plain, Row, Vector, columns_are_words};

thread_local! {
    /// Fused multiply-adds, and others.
    static COUNTS: Cell<[u64; 2]> = const { Cell::new([0; 2]) };
}

#[derive(Clone, Copy)]
struct Counting(Plain);

impl Counting {
    fn fused(word: Plain) -> Self {
        COUNTS.set([COUNTS.get()[0] + 1, COUNTS.get()[1]]);
        Self(word)
    }

    fn other(word: Plain) -> Self {
        COUNTS.set([COUNTS.get()[0], COUNTS.get()[1] + 1]);
        Self(word)
    }
}

impl Vector for Counting {
    const LANES: usize = 1;

    columns_are_words!();

    unsafe fn start<R>(work: impl FnOnce(Self) -> R) -> R {
        work(Self(Plain(0)))
    }

    fn call<R>(self, work: impl FnOnce() -> R) -> R {
        work()
    }

    fn with(self, word: u64) -> Self {
        Self(self.0.with(word))
    }

    fn with_each(self, word: impl Fn(usize) -> u64) -> Self {
        Self(self.0.with_each(word))
    }

    fn store(self, words: &mut [u64]) {
        self.0.store(words);
    }

    fn load_rows<'a>(self, row: impl Fn(usize) -> &'a Row) -> [Self; 8] {
        self.0.load_rows(row).map(Self)
    }

    fn store_rows(words: [Self; 8], rows: &mut [Row]) {
        Plain::store_rows(words.map(|word| word.0), rows);
    }

    fn add_low(self, a: Self, b: Self) -> Self {
        Self::fused(self.0.add_low(a.0, b.0))
    }

    fn add_high(self, a: Self, b: Self) -> Self {
        Self::fused(self.0.add_high(a.0, b.0))
    }

    fn factor(self) -> Self {
        self
    }

    fn left<const BITS: u32>(self) -> Self {
        Self::other(self.0.left::<BITS>())
    }

    fn right<const BITS: u32>(self) -> Self {
        Self::other(self.0.right::<BITS>())
    }

    fn right_signed<const BITS: u32>(self) -> Self {
        Self::other(self.0.right_signed::<BITS>())
    }

    fn equals(self, other: Self) -> Mask {
        Self::other(self.0).0.equals(other.0)
    }

    fn or_if(self, mask: Mask, other: Self) -> Self {
        Self::other(self.0.or_if(mask, other.0))
    }
}

macro_rules! operators {
    ($($operator:ident $name:ident;)*) => {$(
        impl $operator for Counting {
            type Output = Self;

            fn $name(self, other: Self) -> Self {
                Self::other(self.0.$name(other.0))
            }
        }
    )*};
}

operators!(Add add; Sub sub; BitAnd bitand; BitOr bitor;);

fn count<R>(work: impl FnOnce(Counting) -> R) -> [u64; 2] {
    let before = COUNTS.get();
    // SAFETY: a plain word needs no special instructions.
    unsafe { Counting::start(|any| drop(work(any))) };
    std::array::from_fn(|kind| COUNTS.get()[kind] - before[kind])
}

/// The figures in the documentation: `cargo test -p turnpike-verify --lib counts -- --nocapture` prints them.
#[test]
fn kernels_are_as_long_as_said() {
    let less = |more: [u64; 2], fewer: [u64; 2]| [more[0] - fewer[0], more[1] - fewer[1]];
    let wrong = RefCell::new(Vec::new());
    let said = |what: &str, counted: [u64; 2], fused: u64| {
        println!("{what}: {} fused multiply-adds, {} others", counted[0], counted[1]);
        if counted[0] != fused {
            wrong.borrow_mut().push(format!("{what}: {} and not {fused}", counted[0]));
        }
    };
    said("Fp product", count(|any| Fp::one(any).multiply_tight(&Fp::one(any))), 257);
    said("Fp square", count(|any| Fp::one(any).square_tight()), 201);
    said("Fp2 product", count(|any| Fp2::one(any).multiply(&Fp2::one(any))), 642);
    said("Fp2 square", count(|any| Fp2::one(any).square()), 514);
    said("Fp12 product", count(|any| Fp12::one(any).multiply(&Fp12::one(any))), 18 * 642 + 12 * 16);
    said("Fp12 square", count(|any| Fp12::one(any).square()), 12 * 642);
    said("cyclotomic square", count(|any| Fp12::one(any).cyclotomic_square()), 9 * 514 + 12 * 16);
    let (left, right) = (Point::<G1>::generator(), Point::<G2>::generator());
    let pair: (&blst_p1_affine, &blst_p2_affine) = (&left.0, &right.0);
    let loops = |pairs: usize| count(|any| miller_loop(any, &vec![pair; pairs]));
    let one = loops(1);
    kernels_of_points_are_as_long_as_said::<G1>(said, [98_795, 221_269, 404_894, 338_419]);
    kernels_of_points_are_as_long_as_said::<G2>(said, [200_126, 282_872, 762_816, 629_256]);
    said("Miller loop, of one pair", one, 1_483_850);
    said("Miller loop, of one pair more in a product", less(loops(2), one), 1_003_118);
    said("final exponentiation", less(count(|any| pairings(any, &[pair])), one), 1_918_464);
    let [a, b] =
        [2, 3].map(|number| Point::<G1>::generator().multiply(&Scalar::from(number as u64)).coordinates().unwrap());
    let points = [a, b].map(|(x, y)| Affine { x, y });
    let stored = count(|any| InLanes(any).store(&points));
    said("addition to a bucket of G1", less(count(|any| add(InLanes(any), &points)), stored), 5 * 257 + 201 + 2 * 16);
    assert_eq!(wrong.into_inner(), [""; 0]);
}

/// The cost of an addition, with its share of an inversion.
fn add<A: Adder<scalar::Fp>>(adder: A, points: &[Affine<scalar::Fp>]) {
    let mut points = adder.store(points);
    let pairs = [[Entry::new(0, false), Entry::new(1, false)]];
    let denominators = adder.denominators(&points, &pairs);
    let product = adder.product(&adder.one(), &denominators);
    adder.sums(&mut points, &pairs, &adder.product(&product, &product), &[0]);
    adder.product(&product, &denominators);
}

fn kernels_of_points_are_as_long_as_said<G: Group>(said: impl Fn(&str, [u64; 2], u64), fused: [u64; 4]) {
    let (x, y) = Point::<G>::generator().coordinates().unwrap();
    let point = CompressedPoint { x, is_larger: false };
    let group = G::default();
    said(&format!("point of {group:?} uncompressed"), count(|any| uncompress(any, &[point])), fused[0]);
    said(&format!("check of the subgroup {group:?}"), count(|any| are_in_subgroup(any, &[(x, y)])), fused[1]);
    let scalar = [0x1234_5678_9abc_def1; 4];
    said(&format!("multiple in {group:?}"), count(|any| multiply_each(any, &[(x, y)], &[scalar])), fused[2]);
    let short = [scalar[0], scalar[1], 0, 0];
    said(&format!("multiple in {group:?} by 128 bits"), count(|any| multiply_each(any, &[(x, y)], &[short])), fused[3]);
}
