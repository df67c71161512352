//! The field, an element in each lane: numbers modulo p = 2^256 - 2^32 - 977 in five limbs of 52 bits.

use super::inverse;
use super::kernel::Kernel;
use super::limbs::{FOLD, PRIME, TOP, tight};
use crate::lanes::{LIMB, Mask, Plain, Row, mask};

/// p in limbs of 64 bits.
const PRIME_WORDS: [u64; 4] = [FOLD.wrapping_neg(), u64::MAX, u64::MAX, u64::MAX];
/// Twice p, in limbs of which few must be added. The fourth is so large that with it the lower four limbs are not
/// negative as a whole when those of an element are subtracted, and the highest exceeds that of any element.
const TWICE_PRIME: [u64; 5] = [(2 * FOLD).wrapping_neg(), 0, 0, 2 << 52, (2 << 48) - 2];

/// An element ready for multiplication: limbs of at most 52 bits, and the whole below 2^256 + 2^218. So an element may
/// have two representations, itself and itself plus p.
#[derive(Clone, Copy)]
pub(super) struct Element<V>([V; 5]);

/// A sum and difference of a few elements: positive, but its limbs may be too large or negative.
#[derive(Clone, Copy)]
pub(super) struct Sum<V>([V; 5]);

impl<V: Kernel> Element<V> {
    /// The same small number in all lanes.
    #[inline(always)]
    pub(super) fn small(any: V, number: u64) -> Self {
        let zero = any.with(0);
        Self([any.with(number), zero, zero, zero, zero])
    }

    /// The same number in all lanes, from its limbs.
    #[inline(always)]
    pub(super) fn constant(any: V, limbs: [u64; 5]) -> Self {
        Self([any.with(limbs[0]), any.with(limbs[1]), any.with(limbs[2]), any.with(limbs[3]), any.with(limbs[4])])
    }

    /// From four limbs of 64 bits.
    #[inline(always)]
    fn from_words(words: [V; 4]) -> Self {
        let [a, b, c, d] = words;
        let limb = a.with(LIMB);
        Self([
            a & limb,
            (a.right::<52>() | b.left::<12>()) & limb,
            (b.right::<40>() | c.left::<24>()) & limb,
            (c.right::<28>() | d.left::<36>()) & limb,
            d.right::<16>(),
        ])
    }

    /// In four limbs of 64 bits. The number is below 2^256.
    #[inline(always)]
    fn to_words(self) -> [V; 4] {
        let [a, b, c, d, e] = self.0;
        [
            a | b.left::<52>(),
            b.right::<12>() | c.left::<40>(),
            c.right::<24>() | d.left::<28>(),
            d.right::<36>() | e.left::<16>(),
        ]
    }

    /// A number of four limbs of 64 bits for each lane.
    #[inline(always)]
    pub(super) fn load(any: V, number: impl Fn(usize) -> [u64; 4]) -> Self {
        Self::from_words([
            any.with_each(|lane| number(lane)[0]),
            any.with_each(|lane| number(lane)[1]),
            any.with_each(|lane| number(lane)[2]),
            any.with_each(|lane| number(lane)[3]),
        ])
    }

    /// Both coordinates of a point for each lane.
    #[inline(always)]
    pub(super) fn load_rows<'a>(any: V, row: impl Fn(usize) -> &'a Row) -> (Self, Self) {
        let [a, b, c, d, e, f, g, h] = any.load_rows(row);
        (Self::from_words([a, b, c, d]), Self::from_words([e, f, g, h]))
    }

    /// Both coordinates of a point in each lane, below 2^256; there is a row for each lane.
    #[inline(always)]
    pub(super) fn store_rows(x: &Self, y: &Self, rows: &mut [Row]) {
        let ([a, b, c, d], [e, f, g, h]) = (x.below().to_words(), y.below().to_words());
        V::store_rows([a, b, c, d, e, f, g, h], rows);
    }

    /// The numbers below p of all lanes.
    #[inline(always)]
    pub(super) fn store(&self, numbers: &mut [[u64; 4]]) {
        for (at, word) in self.canonical().to_words().into_iter().enumerate() {
            let mut words = [0; Mask::BITS as usize];
            word.store(&mut words[..V::LANES]);
            for (number, word) in numbers.iter_mut().zip(words) {
                number[at] = word;
            }
        }
    }

    #[inline(always)]
    pub(super) fn any(&self) -> V {
        self.0[0]
    }

    /// 2^BITS times the element.
    #[inline(always)]
    pub(super) fn times<const BITS: u32>(&self) -> Sum<V> {
        let mut sum = self.0;
        for limb in &mut sum {
            *limb = limb.left::<BITS>();
        }
        Sum(sum)
    }

    #[inline(always)]
    pub(super) fn multiply(&self, other: &Self) -> Self {
        self.any().product(
            #[inline(always)]
            || Self(V::multiply(&self.0, &other.0)),
        )
    }

    #[inline(always)]
    pub(super) fn square(&self) -> Self {
        self.any().product(
            #[inline(always)]
            || Self(V::square(&self.0)),
        )
    }

    /// The product plus a sum.
    #[inline(always)]
    pub(super) fn multiply_plus(&self, other: &Self, sum: Sum<V>) -> Self {
        self.any().product(
            #[inline(always)]
            || Self(V::multiply_plus(&self.0, &other.0, &sum.0)),
        )
    }

    /// The square plus a sum.
    #[inline(always)]
    pub(super) fn square_plus(&self, sum: Sum<V>) -> Self {
        self.any().product(
            #[inline(always)]
            || Self(V::square_plus(&self.0, &sum.0)),
        )
    }

    /// Squares `times` times.
    #[inline(always)]
    pub(super) fn squares(&self, times: usize) -> Self {
        let mut square = *self;
        for _ in 0..times {
            square = square.square();
        }
        square
    }

    #[inline(always)]
    pub(super) fn or_if(&self, mask: Mask, other: &Self) -> Self {
        let mut element = *self;
        for (limb, other) in element.0.iter_mut().zip(other.0) {
            *limb = limb.or_if(mask, other);
        }
        element
    }

    #[inline(always)]
    pub(super) fn less(&self, other: &Self) -> Self {
        self.times::<0>().minus::<0>(other).tight()
    }

    #[inline(always)]
    pub(super) fn negative(&self) -> Self {
        Sum::zero(self.any()).minus::<0>(self).tight()
    }

    /// The element, or its negative in the lanes of the mask.
    #[inline(always)]
    pub(super) fn negative_if(&self, mask: Mask) -> Sum<V> {
        let mut sum = self.0;
        for (limb, negative) in sum.iter_mut().zip(Sum::zero(self.any()).minus::<0>(self).0) {
            *limb = limb.or_if(mask, negative);
        }
        Sum(sum)
    }

    /// A representation below 2^256.
    #[inline(always)]
    fn below(self) -> Self {
        // Usually it is already below 2^256.
        let is_below = self.0[4].right::<48>().equals(self.any().with(0));
        if is_below == mask::<V>(|_| true) { self } else { self.canonical() }
    }

    /// The representation below p.
    #[inline(always)]
    fn canonical(&self) -> Self {
        // Adding 2^256 - p overflows 256 bits if and only if the number is p or more.
        let limb = self.any().with(LIMB);
        let top = self.any().with(TOP);
        let mut more = self.0;
        more[0] = more[0] + self.any().with(FOLD);
        for i in 0..4 {
            more[i + 1] = more[i + 1] + more[i].right::<52>();
            more[i] = more[i] & limb;
        }
        let fits = more[4].right::<48>().equals(self.any().with(0));
        more[4] = more[4] & top;
        Self(more).or_if(fits, self)
    }

    #[inline(always)]
    pub(super) fn is_zero(&self) -> Mask {
        // Zero is represented by 0 or p; one limb distinguishes nearly all other elements from those.
        let lowest = self.0[0];
        if lowest.equals(lowest.with(0)) | lowest.equals(lowest.with(PRIME[0])) == 0 {
            return 0;
        }
        let [a, b, c, d, e] = self.canonical().0;
        (a | b | c | d | e).equals(a.with(0))
    }

    #[inline(always)]
    pub(super) fn is_odd(&self) -> Mask {
        let one = self.any().with(1);
        (self.canonical().0[0] & one).equals(one)
    }
}

impl Element<Plain> {
    /// The number below p.
    pub(super) fn number(&self) -> [u64; 4] {
        let mut number = [[0; 4]];
        self.store(&mut number);
        number[0]
    }
}

#[cfg(test)]
impl<V: Kernel> Element<V> {
    /// The numbers below p of all lanes, after a check of the limb invariants.
    pub(super) fn numbers(&self) -> Vec<[u64; 4]> {
        for (at, limb) in self.0.iter().enumerate() {
            let mut words = vec![0; V::LANES];
            limb.store(&mut words);
            let most = if at < 4 { LIMB } else { TOP + 1 + (1 << 9) };
            assert!(words.iter().all(|word| *word <= most), "limb {at}: {words:x?}");
        }
        let mut numbers = vec![[0; 4]; V::LANES];
        self.store(&mut numbers);
        numbers
    }
}

impl<V: Kernel> Sum<V> {
    #[inline(always)]
    pub(super) fn zero(any: V) -> Self {
        Self([any.with(0); 5])
    }

    #[inline(always)]
    pub(super) fn plus(self, other: &Element<V>) -> Self {
        let mut sum = self.0;
        for (limb, other) in sum.iter_mut().zip(other.0) {
            *limb = *limb + other;
        }
        Self(sum)
    }

    /// Subtracts 2^BITS times the other, and adds 2^BITS times 2p, so that the result stays positive.
    #[inline(always)]
    pub(super) fn minus<const BITS: u32>(self, other: &Element<V>) -> Self {
        let mut sum = self.0;
        for ((limb, other), prime) in sum.iter_mut().zip(other.0).zip(TWICE_PRIME) {
            *limb = *limb + other.with(prime << BITS) - other.left::<BITS>();
        }
        Self(sum)
    }

    /// The element. What exceeds 2^256 is added at the bottom, times 2^256 - p.
    #[inline(always)]
    pub(super) fn tight(self) -> Element<V> {
        Element(tight(self.0))
    }
}

/// The square root of a number that has one: its power of (p + 1) / 4. Names give the number of consecutive ones in the
/// exponent so far.
#[inline(always)]
pub(super) fn square_root<V: Kernel>(a: &Element<V>) -> Element<V> {
    a.any().formula(
        #[inline(always)]
        || {
            let x2 = a.square().multiply(a);
            let x3 = x2.square().multiply(a);
            let x6 = x3.squares(3).multiply(&x3);
            let x9 = x6.squares(3).multiply(&x3);
            let x11 = x9.squares(2).multiply(&x2);
            let x22 = x11.squares(11).multiply(&x11);
            let x44 = x22.squares(22).multiply(&x22);
            let x88 = x44.squares(44).multiply(&x44);
            let x176 = x88.squares(88).multiply(&x88);
            let x220 = x176.squares(44).multiply(&x44);
            let x223 = x220.squares(3).multiply(&x3);
            x223.squares(23).multiply(&x22).squares(6).multiply(&x2).squares(2)
        },
    )
}

/// The inverse of a number; zero for zero.
#[inline(always)]
pub(super) fn invert<V: Kernel>(a: &Element<V>) -> Element<V> {
    a.any().formula(
        #[inline(always)]
        || {
            let mut numbers = [[0; 4]; Mask::BITS as usize];
            let numbers = &mut numbers[..V::LANES];
            a.store(numbers);
            invert_each(numbers);
            Element::load(
                a.any(),
                #[inline(always)]
                |lane| numbers[lane],
            )
        },
    )
}

/// Replaces each number by its inverse, at the cost of one inversion for all. Zero stays zero.
fn invert_each(numbers: &mut [[u64; 4]]) {
    let element = |number: &[u64; 4]| Element::load(Plain(0), |_| *number);
    let mut product = Element::small(Plain(0), 1);
    let mut products = [product; Mask::BITS as usize];
    for (number, before) in numbers.iter().zip(&mut products) {
        *before = product;
        if *number != [0; 4] {
            product = product.multiply(&element(number));
        }
    }
    let mut inverse = element(&inverse::invert(&product.number(), &PRIME_WORDS));
    for (number, before) in numbers.iter_mut().zip(&products).rev() {
        if *number != [0; 4] {
            let next = inverse.multiply(&element(number));
            *number = inverse.multiply(before).number();
            inverse = next;
        }
    }
}
