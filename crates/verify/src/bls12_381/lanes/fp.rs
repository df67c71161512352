//! The field, an element in each lane: numbers modulo p in eight limbs of 52 bits, in Montgomery's form with 2^416.
//!
//! 2^416 is 2^35 times p, so sums need no reduction: they are only made [`Fp::tight`] before a multiplication. Cost: a
//! product is 257 fused multiply-adds for eight lanes, 128 for itself and 129 for its reduction; a square is 201.

use super::bound::{BIAS, Bound};
use crate::bls12_381::words::{Words, below_prime};
use crate::lanes::{LIMB, Mask, Row, Vector, mask, unrolled};

pub(super) type Limbs = [u64; 8];

/// p.
const PRIME: Limbs = [
    0xe_ffff_ffff_aaab,
    0xf_eb15_3fff_fb9f,
    0x6_b0f6_241e_abff,
    0x1_2bf6_730d_2a0f,
    0x7_6477_4b84_f385,
    0x1_ba7b_6434_bacd,
    0x1_ea39_7fe6_9a4b,
    0x1_a011,
];

/// Minus the inverse of p modulo 2^52.
const INVERSE: u64 = 0x3_fffc_fffc_fffd;

/// ([`INVERSE`] · p + 1) / 2^52; [`INVERSE`] times p is -1 modulo 2^52.
const MULTIPLE: Limbs = [
    0x0_4be0_7d20_27cb,
    0xd_7786_e390_02d4,
    0xf_5104_7083_c4dd,
    0x9_6079_a767_0223,
    0x0_4ca5_1304_4b79,
    0x6_615d_3780_ea11,
    0xf_9a56_23d6_a279,
    0x0_0000_0000_6803,
];

/// 2^416 modulo p: one.
const ONE: Limbs = [
    0x6_480e_a8e9_b9af,
    0x6_5766_c8fe_444f,
    0x8_b540_fea9_6f7d,
    0x3_b2ee_82ef_d422,
    0xa_6723_e5f0_ade5,
    0xf_f6eb_6fdd_4230,
    0xe_06ef_23c2_4a25,
    0x1_4c8e,
];

/// Half of one.
const HALF: Limbs = [
    0xa_a407_5474_b22d,
    0xb_213e_047f_1ff7,
    0xf_b31b_9164_0dbe,
    0x2_6f72_7afe_7f18,
    0x0_e5cd_98ba_d0b5,
    0x8_d8b3_6a08_fe7f,
    0xf_f894_51d4_7238,
    0x1_764f,
];

/// 2^448 modulo p: converts Montgomery's form with 2^384, which words use, to the form with 2^416.
const FROM_WORDS: Limbs = [
    0x7_fde3_7dba_9366,
    0x4_e275_25bc_342b,
    0x1_f5b1_e977_8489,
    0xb_872b_2b91_b9dc,
    0xb_206f_497d_fcaf,
    0x4_137c_c89a_9b0b,
    0xd_9d20_d7e3_9959,
    0x411c,
];

/// 2^384 modulo p: converts back.
const TO_WORDS: Limbs = [
    0x9_0000_0002_fffd,
    0x0_bc40_c000_2760,
    0x3_c758_baeb_f400,
    0x5_7455_f489_8575,
    0xd_77ce_5853_7052,
    0x0_71a9_7a25_6ec6,
    0xe_c3fa_80e4_935c,
    0x1_5f65,
];

/// An element. It may be negative, and its limbs may be out of range: see [`Bound`].
#[derive(Clone, Copy)]
pub struct Fp<V> {
    limbs: [V; 8],
    bound: Bound,
}

/// The sum or difference of a few products, before its reduction.
#[derive(Clone, Copy)]
pub(super) struct Product<V> {
    columns: [V; 16],
    bound: Bound,
}

impl<V: Vector> Fp<V> {
    /// The same number in all lanes.
    #[inline(always)]
    pub(super) fn constant(any: V, limbs: Limbs) -> Self {
        Self { limbs: words(any, limbs), bound: Bound::loaded() }
    }

    #[inline(always)]
    pub(super) fn zero(any: V) -> Self {
        Self::constant(any, [0; 8])
    }

    #[inline(always)]
    pub(super) fn one(any: V) -> Self {
        Self::constant(any, ONE)
    }

    #[inline(always)]
    pub(super) fn half(any: V) -> Self {
        Self::constant(any, HALF)
    }

    #[inline(always)]
    pub(super) fn any(&self) -> V {
        self.limbs[0]
    }

    /// An element in each lane, from words in the form of [`crate::bls12_381::words`].
    #[inline(always)]
    pub(super) fn load(any: V, words: impl Fn(usize) -> Words) -> Self {
        let mut word = [any; 6];
        any.call(
            #[inline(always)]
            || {
                for (at, vector) in word.iter_mut().enumerate() {
                    *vector = any.with_each(|lane| words(lane)[at]);
                }
            },
        );
        Self::of_words(word)
    }

    /// Separate from [`Fp::load`], so that it is compiled once instead of for each source of words.
    #[inline(always)]
    fn of_words(word: [V; 6]) -> Self {
        let any = word[0];
        any.call(
            #[inline(always)]
            || {
                let [a, b, c, d, e, f] = word;
                let limb = any.with(LIMB);
                let limbs = [
                    a & limb,
                    (a.right::<52>() | b.left::<12>()) & limb,
                    (b.right::<40>() | c.left::<24>()) & limb,
                    (c.right::<28>() | d.left::<36>()) & limb,
                    (d.right::<16>() | e.left::<48>()) & limb,
                    e.right::<4>() & limb,
                    (e.right::<56>() | f.left::<8>()) & limb,
                    f.right::<44>(),
                ];
                Self { limbs, bound: Bound::loaded() }.multiply_tight(&Self::constant(any, FROM_WORDS))
            },
        )
    }

    /// The words of each lane, below p.
    pub(super) fn words(&self) -> Vec<Words> {
        self.words_times(TO_WORDS)
    }

    /// The number that each lane's element represents, below p: not in Montgomery's form.
    pub(super) fn numbers(&self) -> Vec<Words> {
        self.words_times([1, 0, 0, 0, 0, 0, 0, 0])
    }

    /// Lanes whose element is a multiple of p.
    pub(super) fn is_zero(&self) -> Mask {
        let words = self.words();
        mask::<V>(|lane| words[lane] == [0; 6])
    }

    /// The words of the product with a constant, divided by 2^416.
    fn words_times(&self, constant: Limbs) -> Vec<Words> {
        let any = self.any();
        let mut words = vec![[0; 6]; V::LANES];
        any.call(
            #[inline(always)]
            || {
                // A product by itself is not negative.
                let number = self.tight().multiply_tight(&Self::constant(any, constant)).carried();
                let [a, b, c, d, e, f, g, h] = number.limbs;
                let vectors = [
                    a | b.left::<52>(),
                    b.right::<12>() | c.left::<40>(),
                    c.right::<24>() | d.left::<28>(),
                    d.right::<36>() | e.left::<16>(),
                    e.right::<48>() | f.left::<4>() | g.left::<56>(),
                    g.right::<8>() | h.left::<44>(),
                ];
                for (at, vector) in vectors.into_iter().enumerate() {
                    let mut each = [0; Mask::BITS as usize];
                    vector.store(&mut each[..V::LANES]);
                    words.iter_mut().zip(each).for_each(|(words, word)| words[at] = word);
                }
            },
        );
        words.iter().map(below_prime).collect()
    }

    #[inline(always)]
    pub(super) fn plus(&self, other: &Self) -> Self {
        let mut sum = *self;
        sum.bound = self.bound.plus(other.bound);
        for (limb, other) in sum.limbs.iter_mut().zip(other.limbs) {
            *limb = *limb + other;
        }
        sum
    }

    #[inline(always)]
    pub(super) fn minus(&self, other: &Self) -> Self {
        let mut difference = *self;
        difference.bound = self.bound.minus(other.bound);
        for (limb, other) in difference.limbs.iter_mut().zip(other.limbs) {
            *limb = *limb - other;
        }
        difference
    }

    #[inline(always)]
    pub(super) fn or_if(&self, mask: Mask, other: &Self) -> Self {
        let mut element = *self;
        element.bound = self.bound.either(other.bound);
        for (limb, other) in element.limbs.iter_mut().zip(other.limbs) {
            *limb = limb.or_if(mask, other);
        }
        element
    }

    /// The element ready for multiplication: not negative, in limbs of 52 bits.
    #[inline(always)]
    pub(super) fn tight(&self) -> Self {
        let mut sum = *self;
        sum.bound = self.bound.biased(BIAS);
        for (limb, prime) in sum.limbs.iter_mut().zip(const { primes(BIAS) }) {
            *limb = *limb + limb.with(prime);
        }
        sum.carried()
    }

    /// The element in limbs of 52 bits; the highest has the sign.
    #[inline(always)]
    pub(super) fn carried(&self) -> Self {
        let mut element = *self;
        element.bound = self.bound.carried();
        let limb = self.any().with(LIMB);
        for at in 0..7 {
            element.limbs[at + 1] = element.limbs[at + 1] + element.limbs[at].right_signed::<52>();
            element.limbs[at] = element.limbs[at] & limb;
        }
        element
    }

    /// The element minus almost all multiples of p in it: for elements that would otherwise keep growing.
    #[inline(always)]
    pub(super) fn folded(&self) -> Self {
        let tight = self.tight();
        let mut sum = tight.limbs;
        // The divisor of the top limb is that of p plus one, so the quotient is not too large. It has 13 bits.
        let quotient = self.any().with(0).add_high(sum[7], self.any().with((1 << 52) / (PRIME[7] + 1)));
        // Add 2^416 - p and drop 2^416.
        for (at, limb) in COMPLEMENT.into_iter().enumerate() {
            sum[at] = sum[at].add_low(quotient, self.any().with(limb));
            if at < 7 {
                sum[at + 1] = sum[at + 1].add_high(quotient, self.any().with(limb));
            }
        }
        let mut folded = Self { limbs: sum, bound: tight.bound.folded() }.carried();
        folded.limbs[7] = folded.limbs[7] & self.any().with(LIMB);
        folded
    }

    /// The number below p, so that equal elements are identical.
    #[inline(always)]
    pub(super) fn canonical(&self) -> Self {
        // Below 2p.
        let number = self.folded();
        let less = number.minus(&Self::constant(self.any(), PRIME)).carried();
        let is_negative = less.limbs[7].right_signed::<63>().equals(self.any().with(u64::MAX));
        Self { bound: Bound::canonical(), ..less.or_if(is_negative, &number) }
    }

    /// The product of two tight elements.
    #[inline(always)]
    pub(super) fn times(&self, other: &Self) -> Product<V> {
        let mut columns = [self.any().with(0); 16];
        for i in 0..8 {
            add_row(&mut columns, i, self.limbs[i], &other.limbs);
        }
        Product { columns, bound: self.bound.product(other.bound) }
    }

    /// The reduced product of two tight elements.
    #[inline(always)]
    pub(super) fn multiply_tight(&self, other: &Self) -> Self {
        let any = self.any();
        let mut columns = [any.with(0); 16];
        unrolled!(AT in [0, 1, 2, 3, 4, 5, 6, 7] {
            add_row(&mut columns, AT, self.limbs[AT], &other.limbs);
            reduce(&mut columns, AT);
        });
        Self::of_columns(&columns, self.bound.product(other.bound))
    }

    /// The value of the upper columns after the reduction.
    #[inline(always)]
    fn of_columns([.., a, b, c, d, e, f, g, h]: &[V; 16], bound: Bound) -> Self {
        Self { limbs: [*a, *b, *c, *d, *e, *f, *g, *h], bound: bound.reduced() }.carried()
    }

    /// The reduced square of a tight element: products of different limbs count twice.
    #[inline(always)]
    pub(super) fn square_tight(&self) -> Self {
        let a = &self.limbs;
        let mut columns = [self.any().with(0); 16];
        unrolled!(AT in [0, 1, 2, 3, 4, 5, 6] {
            let rest: &[V; 7 - AT] = a[AT + 1..].first_chunk().expect("the limbs after one");
            add_row(&mut columns, 2 * AT + 1, a[AT], rest);
        });
        for i in 0..8 {
            columns[2 * i] = (columns[2 * i] + columns[2 * i]).add_low(a[i], a[i]);
            columns[2 * i + 1] = (columns[2 * i + 1] + columns[2 * i + 1]).add_high(a[i], a[i]);
        }
        Product { columns, bound: self.bound.product(self.bound) }.reduced()
    }

    /// Lanes that may be zero, for canonical elements or a difference of two, with few false positives.
    #[inline(always)]
    pub(super) fn may_be_zero(&self) -> Mask {
        self.limbs[0].equals(self.any().with(0))
    }

    /// Stores the limbs of each lane in a row, for an element that is a product or folded.
    #[inline(always)]
    pub(super) fn store(&self, rows: &mut [Row]) {
        self.bound.stored();
        V::store_rows(self.limbs, rows);
    }

    /// Loads stored elements.
    #[inline(always)]
    pub(super) fn load_rows<'a>(any: V, row: impl Fn(usize) -> &'a Row) -> Self {
        Self { limbs: any.load_rows(row), bound: Bound::of_stored() }
    }
}

/// The negative of a stored canonical element.
pub(super) fn negative_row(row: &Row) -> Row {
    let mut negative = Row::default();
    if *row == negative {
        return negative;
    }
    let mut borrow = 0;
    for ((limb, prime), negative) in row.0.iter().zip(PRIME).zip(&mut negative.0) {
        let difference = prime.wrapping_sub(*limb).wrapping_sub(borrow);
        *negative = difference & LIMB;
        borrow = difference >> 63;
    }
    negative
}

/// 2^416 less p.
const COMPLEMENT: Limbs = {
    let mut complement = [0; 8];
    let mut at = 0;
    while at < 8 {
        complement[at] = LIMB - PRIME[at] + (at == 0) as u64;
        at += 1;
    }
    complement
};

/// p times `times`.
const fn primes(times: u64) -> Limbs {
    let mut primes = [0; 8];
    let mut carry = 0;
    let mut at = 0;
    while at < 8 {
        let limb = PRIME[at] * times + carry;
        primes[at] = if at < 7 { limb & LIMB } else { limb };
        carry = limb >> 52;
        at += 1;
    }
    primes
}

impl<V: Vector> Product<V> {
    #[inline(always)]
    pub(super) fn minus(&self, other: &Self) -> Self {
        let mut difference = *self;
        difference.bound = self.bound.minus(other.bound);
        for (column, other) in difference.columns.iter_mut().zip(other.columns) {
            *column = *column - other;
        }
        difference
    }

    /// The difference of one or two from another, biased so that it is not negative.
    #[inline(always)]
    pub(super) fn biased(self) -> Self {
        const TWICE: Limbs = primes(2);
        let mut sum = self;
        sum.bound = self.bound.biased(2);
        let any = self.columns[0];
        for (column, prime) in sum.columns[8..].iter_mut().zip(TWICE) {
            *column = *column + any.with(prime);
        }
        sum
    }

    /// The product, divided by 2^416.
    #[inline(always)]
    pub(super) fn reduced(self) -> Fp<V> {
        let Self { mut columns, bound } = self;
        unrolled!(AT in [0, 1, 2, 3, 4, 5, 6, 7] {
            reduce(&mut columns, AT);
        });
        Fp::of_columns(&columns, bound)
    }
}

/// Adds a multiple of p that makes the column zero, like those before it, and carries its rest to the next.
///
/// Except for the last column, it is a multiple of the number of [`MULTIPLE`]: the column itself is then the factor,
/// and the next one waits for one multiplication only. It would be too large for the last column: all the others
/// together amount to a quarter of p.
#[inline(always)]
fn reduce<V: Vector>(columns: &mut [V; 16], at: usize) {
    let zero = columns[at].with(0);
    if at < 7 {
        let factor = columns[at];
        add_row(columns, at + 1, factor, &words(zero, MULTIPLE));
        columns[at + 1] = columns[at + 1] + factor.right_signed::<52>();
    } else {
        let factor = zero.add_low(columns[at], zero.with(INVERSE));
        add_row(columns, at, factor, &words(zero, PRIME));
        columns[at + 1] = columns[at + 1] + columns[at].right_signed::<52>();
    }
}

/// Adds the products of a word with words, all lower halves before the upper ones: so two additions to a column are far
/// apart and do not wait for each other.
#[inline(always)]
fn add_row<V: Vector, const N: usize>(columns: &mut [V; 16], at: usize, factor: V, words: &[V; N]) {
    for i in 0..N {
        columns[at + i] = columns[at + i].add_low(factor, words[i]);
    }
    for i in 0..N {
        columns[at + i + 1] = columns[at + i + 1].add_high(factor, words[i]);
    }
}

/// The same limbs in all lanes.
#[inline(always)]
fn words<V: Vector>(any: V, limbs: Limbs) -> [V; 8] {
    let mut words = [any; 8];
    for (word, limb) in words.iter_mut().zip(limbs) {
        *word = any.with(limb);
    }
    words
}
