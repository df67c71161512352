//! The field, eight elements at once: numbers modulo p = 2^256 - 2^32 - 977 in five limbs of 52 bits.

use super::vector::{Mask, Vector, transpose};

/// 2^256 - p.
const FOLD: u64 = 0x1_0000_03d1;
const LIMB: u64 = (1 << 52) - 1;
const TOP: u64 = (1 << 48) - 1;
const PRIME: [u64; 5] = [0xf_fffe_ffff_fc2f, LIMB, LIMB, LIMB, TOP];

/// An element ready to be multiplied: limbs of at most 52 bits, and the whole below 2^256 + 2^218. So an element may
/// have two representations, itself and itself plus p.
#[derive(Clone, Copy)]
pub(super) struct Element([Vector; 5]);

/// A sum and difference of a few elements: positive, but its limbs may be too large or negative.
#[derive(Clone, Copy)]
pub(super) struct Sum([Vector; 5]);

impl Element {
    /// The same small number in all lanes.
    #[inline(always)]
    pub(super) fn small(any: Vector, number: u64) -> Self {
        let zero = any.with(0);
        Self([any.with(number), zero, zero, zero, zero])
    }

    /// The same number in all lanes, from its limbs.
    #[inline(always)]
    pub(super) fn constant(any: Vector, limbs: [u64; 5]) -> Self {
        Self([any.with(limbs[0]), any.with(limbs[1]), any.with(limbs[2]), any.with(limbs[3]), any.with(limbs[4])])
    }

    /// From four limbs of 64 bits.
    #[inline(always)]
    pub(super) fn from_words(words: [Vector; 4]) -> Self {
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

    /// Eight numbers, each of four limbs of 64 bits.
    ///
    /// # Safety
    ///
    /// The processor must have AVX-512 F and IFMA.
    #[inline(always)]
    pub(super) unsafe fn load(numbers: &[[u64; 4]; 8]) -> Self {
        let mut words = [[0; 8]; 4];
        for (lane, number) in numbers.iter().enumerate() {
            for (word, limb) in words.iter_mut().zip(number) {
                word[lane] = *limb;
            }
        }
        // SAFETY: the caller's promise.
        unsafe {
            Self::from_words([
                Vector::load(&words[0]),
                Vector::load(&words[1]),
                Vector::load(&words[2]),
                Vector::load(&words[3]),
            ])
        }
    }

    /// The coordinates of eight points, each of two numbers of four limbs of 64 bits.
    ///
    /// # Safety
    ///
    /// The processor must have AVX-512 F and IFMA.
    #[inline(always)]
    pub(super) unsafe fn load_points(points: &[&[u64; 8]; 8]) -> (Self, Self) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut rows = [Vector::load(points[0]); 8];
            for (row, point) in rows.iter_mut().zip(points) {
                *row = Vector::load(point);
            }
            let [a, b, c, d, e, f, g, h] = transpose(rows);
            (Self::from_words([a, b, c, d]), Self::from_words([e, f, g, h]))
        }
    }

    #[inline(always)]
    pub(super) fn any(&self) -> Vector {
        self.0[0]
    }

    /// 2^BITS times the element.
    #[inline(always)]
    pub(super) fn times<const BITS: u32>(&self) -> Sum {
        let mut sum = self.0;
        for limb in &mut sum {
            *limb = limb.left::<BITS>();
        }
        Sum(sum)
    }

    #[inline(always)]
    pub(super) fn multiply(&self, other: &Self) -> Self {
        let (a, b) = (&self.0, &other.0);
        let zero = a[0].with(0);
        let mut low = [zero; 10];
        let mut high = [zero; 10];
        for i in 0..5 {
            for j in 0..5 {
                low[i + j] = low[i + j].add_low(a[i], b[j]);
                high[i + j + 1] = high[i + j + 1].add_high(a[i], b[j]);
            }
        }
        reduce(low, high)
    }

    #[inline(always)]
    pub(super) fn square(&self) -> Self {
        let a = &self.0;
        let zero = a[0].with(0);
        let mut low = [zero; 10];
        let mut high = [zero; 10];
        for i in 0..5 {
            for j in i + 1..5 {
                low[i + j] = low[i + j].add_low(a[i], a[j]);
                high[i + j + 1] = high[i + j + 1].add_high(a[i], a[j]);
            }
        }
        for k in 1..9 {
            low[k] = low[k] + low[k];
            high[k] = high[k] + high[k];
        }
        for i in 0..5 {
            low[2 * i] = low[2 * i].add_low(a[i], a[i]);
            high[2 * i + 1] = high[2 * i + 1].add_high(a[i], a[i]);
        }
        reduce(low, high)
    }

    /// The square, so many times.
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
    pub(super) fn negative(&self) -> Self {
        Self::small(self.any(), 0).times::<0>().minus::<0>(self).tight()
    }

    /// The representation below p.
    #[inline(always)]
    fn canonical(&self) -> Self {
        // Adding 2^256 - p overflows 256 bits just if the number is p or more.
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
        let [a, b, c, d, e] = self.canonical().0;
        (a | b | c | d | e).equals(a.with(0))
    }

    #[inline(always)]
    pub(super) fn is_odd(&self) -> Mask {
        let one = self.any().with(1);
        (self.canonical().0[0] & one).equals(one)
    }
}

#[cfg(test)]
impl Element {
    /// The numbers below p, each of four limbs of 64 bits, after a check that the limbs are as they must be.
    pub(super) fn numbers(&self) -> [[u64; 4]; 8] {
        let limbs = self.0.map(Vector::words);
        assert!(limbs[..4].as_flattened().iter().all(|limb| *limb <= LIMB), "limbs {limbs:x?}");
        assert!(limbs[4].iter().all(|limb| *limb <= TOP + 1 + (1 << 9)), "limbs {limbs:x?}");
        let limbs = self.canonical().0.map(Vector::words);
        std::array::from_fn(|lane| {
            let [a, b, c, d, e] = limbs.map(|limb| limb[lane]);
            [a | b << 52, b >> 12 | c << 40, c >> 24 | d << 28, d >> 36 | e << 16]
        })
    }
}

impl Sum {
    #[inline(always)]
    pub(super) fn plus(self, other: &Element) -> Self {
        let mut sum = self.0;
        for (limb, other) in sum.iter_mut().zip(other.0) {
            *limb = *limb + other;
        }
        Self(sum)
    }

    /// Less 2^BITS times the other, as many times 2p more, so that the result stays positive.
    #[inline(always)]
    pub(super) fn minus<const BITS: u32>(self, other: &Element) -> Self {
        let mut sum = self.0;
        for ((limb, other), prime) in sum.iter_mut().zip(other.0).zip(PRIME) {
            *limb = *limb + (other.with(2 * prime) - other).left::<BITS>();
        }
        Self(sum)
    }

    /// The element. What is above 2^256 comes in again at the bottom, times 2^256 - p.
    #[inline(always)]
    pub(super) fn tight(self) -> Element {
        let mut sum = self.0;
        let (fold, top) = (sum[0].with(FOLD), sum[0].with(TOP));
        // At most a few bits: no sum is of more than 30 elements. It is not negative either, because the whole number
        // is at least p - 2^218, and lower limbs cannot make up for a negative top limb.
        let over = sum[4].right_signed::<48>();
        sum[4] = sum[4] & top;
        sum[0] = sum[0].add_low(over, fold);
        carry(sum)
    }
}

/// Brings limbs to 52 bits; the last takes what is over.
#[inline(always)]
fn carry(mut limbs: [Vector; 5]) -> Element {
    let limb = limbs[0].with(LIMB);
    for i in 0..4 {
        limbs[i + 1] = limbs[i + 1] + limbs[i].right_signed::<52>();
        limbs[i] = limbs[i] & limb;
    }
    Element(limbs)
}

/// The product whose columns are the sums of `low` and `high`, each of at most ten numbers of 52 bits.
#[inline(always)]
fn reduce(low: [Vector; 10], high: [Vector; 10]) -> Element {
    let mut column = low;
    for i in 1..10 {
        column[i] = low[i] + high[i];
    }
    let top = low[0].with(TOP);
    // 2^260 is 16 times 2^256. Of the upper half's columns the multiplication takes the lower 52 bits; the few above go to
    // the next column, so that there is no carrying first. The product is below 2^520, so the last column has none.
    let fold = low[0].with(16 * FOLD);
    for i in 0..5 {
        column[i] = column[i].add_low(column[5 + i], fold);
    }
    for i in 0..4 {
        column[i + 1] = column[i + 1].add_high(column[5 + i], fold);
    }
    for i in 0..4 {
        column[i + 1] = column[i + 1].add_low(column[5 + i].right::<52>(), fold);
    }
    let over = low[0].with(0).add_high(column[9], fold);
    // What is above 2^256 has at most 42 bits.
    let over = over.left::<4>() + column[4].right::<48>();
    let fold = low[0].with(FOLD);
    carry([column[0].add_low(over, fold), column[1].add_high(over, fold), column[2], column[3], column[4] & top])
}

/// The square root of a number that has one: it to the power of (p + 1) / 4. The names tell how many bits are set in a
/// row in the exponent so far.
#[inline(always)]
pub(super) fn square_root(a: &Element) -> Element {
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
}
