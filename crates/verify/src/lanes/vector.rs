use std::cmp::min;
use std::ops::{Add, BitAnd, BitOr, Sub};

/// One bit for each lane.
pub type Mask = u16;

/// A mask of the lanes for which `is` returns true.
#[inline(always)]
pub(crate) fn mask<V: Vector>(is: impl Fn(usize) -> bool) -> Mask {
    (0..V::LANES).fold(0, |mask, lane| mask | Mask::from(is(lane)) << lane)
}

/// Mask of the bits of a limb: as many as the multiplications take.
pub(crate) const LIMB: u64 = (1 << 52) - 1;

/// Eight words: a cache line.
#[repr(align(64))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row(pub(crate) [u64; 8]);

/// Lanes of 64 bits.
///
/// The compiler may use a processor's special instructions only in the functions of [`Vector::start`] and
/// [`Vector::call`], and in code inlined into those. So everything that holds vectors is `#[inline(always)]`, closures
/// included, and none is passed to `map` or `fold`. An omission costs a call per instruction: `nm -C` of an optimised
/// program then lists names with `core_arch`.
///
/// The first vector comes only from [`Vector::start`], which is unsafe: its caller guarantees that the processor has
/// the instructions. So whoever holds a vector may use them, which makes everything else safe.
pub trait Vector:
    Copy + Add<Output = Self> + Sub<Output = Self> + BitAnd<Output = Self> + BitOr<Output = Self>
{
    /// Number of lanes.
    const LANES: usize;

    /// Minimum lower part of a product that [`Vector::add_product`] adds.
    const LEAST_LOW: i64 = 0;

    /// Whether products are so long that each kind is compiled once and called: the processor fetches less code faster.
    const IS_LONG: bool = false;

    /// A factor: a word in the form that the multiplications take.
    type Factor: Copy;

    /// A sum of words and of parts of products, in the form in which it accumulates.
    type Column: Copy;

    /// Runs the work, starting with zeros in all lanes.
    ///
    /// # Safety
    ///
    /// The processor must have the instructions of this vector.
    unsafe fn start<R>(work: impl FnOnce(Self) -> R) -> R;

    /// Runs the work in a function of its own, which is not inlined into the caller.
    fn call<R>(self, work: impl FnOnce() -> R) -> R;

    /// Runs the work of a product.
    #[inline(always)]
    fn product<R>(self, work: impl FnOnce() -> R) -> R {
        if Self::IS_LONG { self.call(work) } else { self.formula(work) }
    }

    /// Runs the work of a formula. Debug builds call it: with everything inlined they would take minutes to compile.
    #[inline(always)]
    fn formula<R>(self, work: impl FnOnce() -> R) -> R {
        if cfg!(debug_assertions) { self.call(work) } else { work() }
    }

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

    /// The word as a factor. It is below 2^52.
    fn factor(self) -> Self::Factor;

    /// The lower 52 bits of the word as a factor.
    #[inline(always)]
    fn low_factor(self) -> Self::Factor {
        (self & self.with(LIMB)).factor()
    }

    /// The word as a column, to which more is added.
    fn column(self) -> Self::Column;

    /// Adds a product to two columns, in two parts, the second in units of 2^52. The vector chooses the split, but the
    /// first part is at least [`Vector::LEAST_LOW`] and below 2^52, and the second at most 2^52.
    fn add_product(columns: [Self::Column; 2], a: Self::Factor, b: Self::Factor) -> [Self::Column; 2];

    /// The column added to itself.
    fn twice(column: Self::Column) -> Self::Column;

    /// The total of a column.
    fn sum(column: Self::Column) -> Self;

    fn left<const BITS: u32>(self) -> Self;

    fn right<const BITS: u32>(self) -> Self;

    /// The arithmetic shift, which keeps the sign.
    fn right_signed<const BITS: u32>(self) -> Self;

    fn equals(self, other: Self) -> Mask;

    /// `other` in the lanes of the mask.
    fn or_if(self, mask: Mask, other: Self) -> Self;
}

/// The column functions of a [`Vector`] whose columns are plain words.
macro_rules! columns_are_words {
    () => {
        type Factor = Self;
        type Column = Self;

        #[inline(always)]
        fn column(self) -> Self {
            self
        }

        #[inline(always)]
        fn add_product([low, high]: [Self; 2], a: Self, b: Self) -> [Self; 2] {
            [low.add_low(a, b), high.add_high(a, b)]
        }

        #[inline(always)]
        fn twice(column: Self) -> Self {
            column + column
        }

        #[inline(always)]
        fn sum(column: Self) -> Self {
            column
        }
    };
}
pub(crate) use columns_are_words;

/// Repeats the block for each of the numbers, as a constant. The compiler does not unroll all nested loops by itself,
/// and columns need that.
macro_rules! unrolled {
    ($number:ident in [$($value:literal),*] $block:block) => {
        $({
            const $number: usize = $value;
            $block
        })*
    };
}
pub(crate) use unrolled;

/// The words as factors.
#[inline(always)]
pub(crate) fn factors<V: Vector, const N: usize>(words: &[V; N]) -> [V::Factor; N] {
    // Not `map`, in which the compiler does not use special instructions; the same below.
    let mut factors = [words[0].factor(); N];
    for at in 1..N {
        factors[at] = words[at].factor();
    }
    factors
}

/// The words as columns.
#[inline(always)]
pub(crate) fn columns<V: Vector, const N: usize>(words: &[V; N]) -> [V::Column; N] {
    let mut columns = [words[0].column(); N];
    for at in 1..N {
        columns[at] = words[at].column();
    }
    columns
}

/// The totals of the columns.
#[inline(always)]
pub(crate) fn sums<V: Vector, const N: usize>(columns: &[V::Column; N]) -> [V; N] {
    let mut sums = [V::sum(columns[0]); N];
    for at in 1..N {
        sums[at] = V::sum(columns[at]);
    }
    sums
}

/// Adds a product to a column and the next one.
#[inline(always)]
pub(crate) fn add_product<V: Vector, const N: usize>(
    columns: &mut [V::Column; N],
    at: usize,
    a: V::Factor,
    b: V::Factor,
) {
    [columns[at], columns[at + 1]] = V::add_product([columns[at], columns[at + 1]], a, b);
}

/// The columns of a product.
#[inline(always)]
pub(crate) fn multiply<V: Vector, const N: usize, const WIDE: usize>(a: &[V; N], b: &[V; N]) -> [V; WIDE] {
    const { assert!(WIDE == 2 * N && N <= 8) };
    let any = a[0];
    let (a, b) = (factors(a), factors(b));
    let mut columns = [any.with(0).column(); WIDE];
    // Column by column, so that few are live at a time.
    unrolled!(AT in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14] {
        if AT < WIDE - 1 {
            for i in AT.saturating_sub(N - 1)..min(AT + 1, N) {
                add_product::<V, WIDE>(&mut columns, AT, a[i], b[AT - i]);
            }
        }
    });
    sums(&columns)
}

/// The columns of a square: products of different limbs count twice.
#[inline(always)]
pub(crate) fn square<V: Vector, const N: usize, const WIDE: usize>(a: &[V; N]) -> [V; WIDE] {
    const { assert!(WIDE == 2 * N && N <= 8) };
    let any = a[0];
    let a = factors(a);
    let mut columns = [any.with(0).column(); WIDE];
    unrolled!(AT in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14] {
        if AT < WIDE - 1 {
            for i in AT.saturating_sub(N - 1)..AT.div_ceil(2) {
                add_product::<V, WIDE>(&mut columns, AT, a[i], a[AT - i]);
            }
        }
    });
    for at in 0..N {
        columns[2 * at] = V::twice(columns[2 * at]);
        columns[2 * at + 1] = V::twice(columns[2 * at + 1]);
        add_product::<V, WIDE>(&mut columns, 2 * at, a[at], a[at]);
    }
    sums(&columns)
}

/// Two vectors side by side. The multiplications of one fill the latency of the other.
#[derive(Clone, Copy)]
pub(crate) struct Pair<V>(pub(crate) V, pub(crate) V);

impl<V: Copy> Pair<V> {
    #[inline(always)]
    pub(crate) fn new(any: V) -> Self {
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
    const LEAST_LOW: i64 = V::LEAST_LOW;
    const IS_LONG: bool = V::IS_LONG;

    type Factor = Pair<V::Factor>;
    type Column = Pair<V::Column>;

    #[inline(always)]
    unsafe fn start<R>(work: impl FnOnce(Self) -> R) -> R {
        // SAFETY: guaranteed by the caller.
        unsafe {
            V::start(
                #[inline(always)]
                |any| work(Self::new(any)),
            )
        }
    }

    #[inline(always)]
    fn call<R>(self, work: impl FnOnce() -> R) -> R {
        self.0.call(work)
    }

    #[inline(always)]
    fn with(self, word: u64) -> Self {
        Self::new(self.0.with(word))
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
    fn factor(self) -> Self::Factor {
        Pair(self.0.factor(), self.1.factor())
    }

    #[inline(always)]
    fn low_factor(self) -> Self::Factor {
        Pair(self.0.low_factor(), self.1.low_factor())
    }

    #[inline(always)]
    fn column(self) -> Self::Column {
        Pair(self.0.column(), self.1.column())
    }

    #[inline(always)]
    fn add_product([low, high]: [Self::Column; 2], a: Self::Factor, b: Self::Factor) -> [Self::Column; 2] {
        Pair::join(V::add_product([low.0, high.0], a.0, b.0), V::add_product([low.1, high.1], a.1, b.1))
    }

    #[inline(always)]
    fn twice(column: Self::Column) -> Self::Column {
        Pair(V::twice(column.0), V::twice(column.1))
    }

    #[inline(always)]
    fn sum(column: Self::Column) -> Self {
        Self(V::sum(column.0), V::sum(column.1))
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
