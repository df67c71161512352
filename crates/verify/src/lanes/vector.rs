use std::ops::{Add, BitAnd, BitOr, Sub};

/// One bit for each lane.
pub type Mask = u16;

/// One bit for each lane in which it is so.
#[inline(always)]
pub(crate) fn mask<V: Vector>(is: impl Fn(usize) -> bool) -> Mask {
    (0..V::LANES).fold(0, |mask, lane| mask | Mask::from(is(lane)) << lane)
}

/// The bits of a limb: as many as the multiplications take.
pub(crate) const LIMB: u64 = (1 << 52) - 1;

/// Eight words: a cache line.
#[repr(align(64))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row(pub(crate) [u64; 8]);

/// Lanes of 64 bits.
///
/// The compiler may use a processor's special instructions in the functions of [`Vector::start`] and [`Vector::call`], and in
/// what is inlined into those. So everything that holds vectors is `#[inline(always)]`, closures included.
///
/// The only way to the first one is [`Vector::start`], which is unsafe: it is to be called where the processor has the
/// instructions. So whoever holds one may use them, which is why all else is safe.
pub trait Vector:
    Copy + Add<Output = Self> + Sub<Output = Self> + BitAnd<Output = Self> + BitOr<Output = Self>
{
    /// Number of lanes.
    const LANES: usize;

    /// Does the work, with zeros in all lanes to begin with.
    ///
    /// # Safety
    ///
    /// The processor must have the instructions of this vector.
    unsafe fn start<R>(work: impl FnOnce(Self) -> R) -> R;

    /// Does the work in a function of its own, which the compiler keeps apart from the caller's.
    fn call<R>(self, work: impl FnOnce() -> R) -> R;

    /// The same word in all lanes.
    fn with(self, word: u64) -> Self;

    /// A word for each lane.
    fn with_each(self, word: impl Fn(usize) -> u64) -> Self;

    /// The words of all lanes.
    fn store(self, words: &mut [u64]);

    /// Word `i` of each lane's row in vector `i`.
    fn load_rows<'a>(self, row: impl Fn(usize) -> &'a Row) -> [Self; 8];

    /// Word `i` of each lane's row from vector `i`. There is a row for each lane.
    fn store_rows(words: [Self; 8], rows: &mut [Row]);

    /// `self` plus the lower 52 bits of the product of the lower 52 bits of `a` and of `b`.
    fn add_low(self, a: Self, b: Self) -> Self;

    /// `self` plus the upper 52 bits of the product of the lower 52 bits of `a` and of `b`.
    fn add_high(self, a: Self, b: Self) -> Self;

    fn left<const BITS: u32>(self) -> Self;

    fn right<const BITS: u32>(self) -> Self;

    /// The shift that keeps the sign.
    fn right_signed<const BITS: u32>(self) -> Self;

    fn equals(self, other: Self) -> Mask;

    /// `other` in the lanes of the mask.
    fn or_if(self, mask: Mask, other: Self) -> Self;
}

/// Two vectors side by side. One's multiplications are done while those of the other wait for each other.
#[derive(Clone, Copy)]
pub(crate) struct Pair<V>(pub(crate) V, pub(crate) V);

impl<V: Vector> Pair<V> {
    #[inline(always)]
    pub(crate) fn of(any: V) -> Self {
        Self(any, any)
    }

    /// Vectors side by side.
    #[inline(always)]
    pub(crate) fn join<const N: usize>(first: [V; N], second: [V; N]) -> [Self; N] {
        let mut joined = [Self(first[0], second[0]); N];
        for i in 1..N {
            joined[i] = Self(first[i], second[i]);
        }
        joined
    }
}

impl<V: Vector> Vector for Pair<V> {
    const LANES: usize = 2 * V::LANES;

    #[inline(always)]
    unsafe fn start<R>(work: impl FnOnce(Self) -> R) -> R {
        // SAFETY: the caller's promise.
        unsafe {
            V::start(
                #[inline(always)]
                |any| work(Self::of(any)),
            )
        }
    }

    #[inline(always)]
    fn call<R>(self, work: impl FnOnce() -> R) -> R {
        self.0.call(work)
    }

    #[inline(always)]
    fn with(self, word: u64) -> Self {
        Self::of(self.0.with(word))
    }

    #[inline(always)]
    fn with_each(self, word: impl Fn(usize) -> u64) -> Self {
        Self(self.0.with_each(&word), self.1.with_each(|lane| word(V::LANES + lane)))
    }

    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        let (first, second) = words.split_at_mut(V::LANES);
        self.0.store(first);
        self.1.store(second);
    }

    #[inline(always)]
    fn load_rows<'a>(self, row: impl Fn(usize) -> &'a Row) -> [Self; 8] {
        Self::join(self.0.load_rows(&row), self.1.load_rows(|lane| row(V::LANES + lane)))
    }

    #[inline(always)]
    fn store_rows(words: [Self; 8], rows: &mut [Row]) {
        let (first, second) = rows.split_at_mut(V::LANES);
        let [a, b, c, d, e, f, g, h] = words;
        V::store_rows([a.0, b.0, c.0, d.0, e.0, f.0, g.0, h.0], first);
        V::store_rows([a.1, b.1, c.1, d.1, e.1, f.1, g.1, h.1], second);
    }

    #[inline(always)]
    fn add_low(self, a: Self, b: Self) -> Self {
        Self(self.0.add_low(a.0, b.0), self.1.add_low(a.1, b.1))
    }

    #[inline(always)]
    fn add_high(self, a: Self, b: Self) -> Self {
        Self(self.0.add_high(a.0, b.0), self.1.add_high(a.1, b.1))
    }

    #[inline(always)]
    fn left<const BITS: u32>(self) -> Self {
        Self(self.0.left::<BITS>(), self.1.left::<BITS>())
    }

    #[inline(always)]
    fn right<const BITS: u32>(self) -> Self {
        Self(self.0.right::<BITS>(), self.1.right::<BITS>())
    }

    #[inline(always)]
    fn right_signed<const BITS: u32>(self) -> Self {
        Self(self.0.right_signed::<BITS>(), self.1.right_signed::<BITS>())
    }

    #[inline(always)]
    fn equals(self, other: Self) -> Mask {
        self.0.equals(other.0) | self.1.equals(other.1) << V::LANES
    }

    #[inline(always)]
    fn or_if(self, mask: Mask, other: Self) -> Self {
        Self(self.0.or_if(mask, other.0), self.1.or_if(mask >> V::LANES, other.1))
    }
}

impl<V: Vector> Add for Pair<V> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0, self.1 + other.1)
    }
}

impl<V: Vector> Sub for Pair<V> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0, self.1 - other.1)
    }
}

impl<V: Vector> BitAnd for Pair<V> {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0, self.1 & other.1)
    }
}

impl<V: Vector> BitOr for Pair<V> {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0, self.1 | other.1)
    }
}
