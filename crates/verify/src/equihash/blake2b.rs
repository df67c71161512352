//! BLAKE2b of a header and an index, for as many indices at once as a backend has lanes.
//!
//! The messages differ in four bytes only. All blocks before those are compressed once. For a last block as short as
//! Zcash's (16 bytes), message words that are zero are not added, and the first three quarter rounds, which no other
//! word enters, are computed once.
//!
//! The limit on AVX-512: a compression is 96 quarter rounds of 14 operations. For Zcash 93 of 12 remain, and 24
//! additions of words: 1,140 operations, 372 of them rotations. A Zen 5 core does four operations per cycle, two of
//! them rotations: 285 cycles for eight hashes, or 4.2 us for the 512 leaves of a header at 4.34 GHz. A processor that
//! does two, with one rotation, takes twice as long.

use super::Parameters;

const INITIAL: [u64; 8] = [
    0x6a09e667f3bcc908,
    0xbb67ae8584caa73b,
    0x3c6ef372fe94f82b,
    0xa54ff53a5f1d36f1,
    0x510e527fade682d1,
    0x9b05688c2b3e6c1f,
    0x1f83d9abfb41bd6b,
    0x5be0cd19137e2179,
];

/// Bytes of a block.
const BLOCK: usize = 128;

/// Hashes per call, a multiple of all backends' lanes; they stay in the first-level cache.
pub(super) const AT_ONCE: usize = 64;

/// A hash; only the part that leaves are cut from is used.
pub(super) type Hash = [u8; 64];

/// A vector of 64-bit words.
///
/// # Safety
///
/// The processor must have the instructions that the vector is written with.
pub(super) trait Word<const LANES: usize>: Copy {
    unsafe fn splat(word: u64) -> Self;
    unsafe fn load(words: &[u64; LANES]) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn xor(self, other: Self) -> Self;
    /// Rotation to the right.
    unsafe fn rotate<const R: i32>(self) -> Self;
    /// Word `i` of each hash from vector `i`.
    unsafe fn store(words: &[Self; 8], hashes: &mut [Hash; LANES]);
}

impl Word<1> for u64 {
    #[inline(always)]
    unsafe fn splat(word: u64) -> Self {
        word
    }

    #[inline(always)]
    unsafe fn load(words: &[u64; 1]) -> Self {
        words[0]
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        self ^ other
    }

    #[inline(always)]
    unsafe fn rotate<const R: i32>(self) -> Self {
        self.rotate_right(R as u32)
    }

    #[inline(always)]
    unsafe fn store(words: &[Self; 8], hashes: &mut [Hash; 1]) {
        for (bytes, word) in hashes[0].as_chunks_mut().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
    }
}

/// Two vectors side by side: the operations of one fill the latency of the other.
#[derive(Clone, Copy)]
pub(super) struct Twice<W>(W, W);

impl<W: Word<8>> Word<16> for Twice<W> {
    #[inline(always)]
    unsafe fn splat(word: u64) -> Self {
        // SAFETY: the caller guarantees the instructions of `W`.
        unsafe { Self(W::splat(word), W::splat(word)) }
    }

    #[inline(always)]
    unsafe fn load(words: &[u64; 16]) -> Self {
        let (halves, _) = words.as_chunks();
        // SAFETY: the caller guarantees the instructions of `W`.
        unsafe { Self(W::load(&halves[0]), W::load(&halves[1])) }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: the caller guarantees the instructions of `W`.
        unsafe { Self(self.0.add(other.0), self.1.add(other.1)) }
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller guarantees the instructions of `W`.
        unsafe { Self(self.0.xor(other.0), self.1.xor(other.1)) }
    }

    #[inline(always)]
    unsafe fn rotate<const R: i32>(self) -> Self {
        // SAFETY: the caller guarantees the instructions of `W`.
        unsafe { Self(self.0.rotate::<R>(), self.1.rotate::<R>()) }
    }

    #[inline(always)]
    unsafe fn store(words: &[Self; 8], hashes: &mut [Hash; 16]) {
        let (halves, _) = hashes.as_chunks_mut();
        let [mut first, mut second] = [[words[0].0; 8]; 2];
        for (at, word) in words.iter().enumerate() {
            (first[at], second[at]) = (word.0, word.1);
        }
        // SAFETY: the caller guarantees the instructions of `W`.
        unsafe {
            W::store(&first, &mut halves[0]);
            W::store(&second, &mut halves[1]);
        }
    }
}

/// A quarter round; zero words are left out.
macro_rules! mix {
    ($a:ident $b:ident $c:ident $d:ident, $first:expr, $second:expr) => {
        $a = $a.add($b);
        if let Some(word) = $first {
            $a = $a.add(word);
        }
        $d = $d.xor($a).rotate::<32>();
        $c = $c.add($d);
        $b = $b.xor($c).rotate::<24>();
        $a = $a.add($b);
        if let Some(word) = $second {
            $a = $a.add(word);
        }
        $d = $d.xor($a).rotate::<16>();
        $c = $c.add($d);
        $b = $b.xor($c).rotate::<63>();
    };
}

/// The working vector at the start of a block's rounds.
///
/// # Safety
///
/// That of [`Word`].
#[inline(always)]
unsafe fn begin<W: Word<LANES>, const LANES: usize>(state: &[W; 8], length: u64, last: bool) -> [W; 16] {
    let [a, b, c, d, e, f, g, h] = *state;
    let mut high = INITIAL;
    high[4] ^= length;
    if last {
        high[6] = !high[6];
    }
    // SAFETY: the caller's promise.
    let [i, j, k, l, m, n, o, p] = unsafe { splat_each(&high) };
    [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
}

/// Computes the first quarter rounds of a block that use neither of its first two words; all other words are zero.
fn begin_short(begun: [u64; 16]) -> [u64; 16] {
    let [a, mut b, mut c, mut d, e, mut f, mut g, mut h, i, mut j, mut k, mut l, m, mut n, mut o, mut p] = begun;
    // SAFETY: plain integers need no special instructions.
    unsafe {
        mix!(b f j n, None, None);
        mix!(c g k o, None, None);
        mix!(d h l p, None, None);
    }
    [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]
}

/// Compresses a block, given its working vector. With `SHORT` that is the result of [`begin_short`], and all words
/// except the first two are taken as zero.
///
/// # Safety
///
/// That of [`Word`].
#[inline(always)]
unsafe fn compress<W: Word<LANES>, const LANES: usize, const SHORT: bool>(
    state: &[W; 8],
    begun: [W; 16],
    words: &[W; 16],
) -> [W; 8] {
    let [mut v0, mut v1, mut v2, mut v3, mut v4, mut v5, mut v6, mut v7, rest @ ..] = begun;
    let [mut v8, mut v9, mut v10, mut v11, mut v12, mut v13, mut v14, mut v15] = rest;
    macro_rules! word {
        ($number:literal) => {
            if SHORT && $number >= 2 { None } else { Some(words[$number]) }
        };
    }
    macro_rules! columns {
        ($s0:literal $s1:literal $s2:literal $s3:literal $s4:literal $s5:literal $s6:literal $s7:literal) => {
            mix!(v0 v4 v8 v12, word!($s0), word!($s1));
            mix!(v1 v5 v9 v13, word!($s2), word!($s3));
            mix!(v2 v6 v10 v14, word!($s4), word!($s5));
            mix!(v3 v7 v11 v15, word!($s6), word!($s7));
        };
    }
    macro_rules! diagonals {
        ($s0:literal $s1:literal $s2:literal $s3:literal $s4:literal $s5:literal $s6:literal $s7:literal) => {
            mix!(v0 v5 v10 v15, word!($s0), word!($s1));
            mix!(v1 v6 v11 v12, word!($s2), word!($s3));
            mix!(v2 v7 v8 v13, word!($s4), word!($s5));
            mix!(v3 v4 v9 v14, word!($s6), word!($s7));
        };
    }
    // SAFETY: the caller's promise.
    unsafe {
        if SHORT {
            mix!(v0 v4 v8 v12, word!(0), word!(1));
        } else {
            columns!(0 1 2 3 4 5 6 7);
        }
        diagonals!(8 9 10 11 12 13 14 15);
        columns!(14 10 4 8 9 15 13 6);
        diagonals!(1 12 0 2 11 7 5 3);
        columns!(11 8 12 0 5 2 15 13);
        diagonals!(10 14 3 6 7 1 9 4);
        columns!(7 9 3 1 13 12 11 14);
        diagonals!(2 6 5 10 4 0 15 8);
        columns!(9 0 5 7 2 4 10 15);
        diagonals!(14 1 11 12 6 8 3 13);
        columns!(2 12 6 10 0 11 8 3);
        diagonals!(4 13 7 5 15 14 1 9);
        columns!(12 5 1 15 14 13 4 10);
        diagonals!(0 7 6 3 9 2 8 11);
        columns!(13 11 7 14 12 1 3 9);
        diagonals!(5 0 15 4 8 6 2 10);
        columns!(6 15 14 9 11 3 0 8);
        diagonals!(12 2 13 7 1 4 10 5);
        columns!(10 2 8 4 7 6 1 5);
        diagonals!(15 11 9 14 3 12 13 0);
        columns!(0 1 2 3 4 5 6 7);
        diagonals!(8 9 10 11 12 13 14 15);
        columns!(14 10 4 8 9 15 13 6);
        diagonals!(1 12 0 2 11 7 5 3);
        let low = [v0, v1, v2, v3, v4, v5, v6, v7];
        let high = [v8, v9, v10, v11, v12, v13, v14, v15];
        let mut next = *state;
        for i in 0..8 {
            next[i] = state[i].xor(low[i]).xor(high[i]);
        }
        next
    }
}

/// The part that the hashes of one header's leaves share.
pub(super) struct Midstate {
    /// After all blocks before the index.
    state: [u64; 8],
    /// The one or two blocks that contain the index, with zeros in its place.
    words: Vec<[u64; 16]>,
    /// Bytes compressed into the state.
    before: u64,
    /// Length of the whole message in bytes.
    length: u64,
    /// Position of the index in bits, from the start of the first block.
    place: usize,
    /// The working vector after the first quarter rounds, the same for all leaves, if one block is left and has nothing
    /// after its first two words.
    short: Option<[u64; 16]>,
}

impl Midstate {
    pub(super) fn new(parameters: &Parameters, input: &[u8]) -> Self {
        let mut state = INITIAL;
        state[0] ^= 0x0101_0000 ^ (parameters.leaves_per_hash() * parameters.n / 8) as u64;
        state[6] ^= u64::from_le_bytes(parameters.personalisation);
        state[7] ^= parameters.n as u64 | (parameters.k as u64) << 32;
        let (blocks, rest) = input.as_chunks::<BLOCK>();
        for (number, block) in blocks.iter().enumerate() {
            let length = ((number + 1) * BLOCK) as u64;
            // SAFETY: plain integers need no special instructions.
            state = unsafe { compress::<u64, 1, false>(&state, begin(&state, length, false), &to_words(block)) };
        }
        let mut last = [0; 2 * BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        let used = rest.len() + 4;
        let length = input.len() as u64 + 4;
        // SAFETY: plain integers need no special instructions.
        let short = (used <= 16).then(|| begin_short(unsafe { begin(&state, length, true) }));
        Self {
            state,
            words: last.as_chunks::<BLOCK>().0[..used.div_ceil(BLOCK)].iter().map(to_words).collect(),
            before: (blocks.len() * BLOCK) as u64,
            length,
            place: 8 * rest.len(),
            short,
        }
    }

    /// Hashes the first `count` indices, rounded up to full lanes.
    ///
    /// # Safety
    ///
    /// That of [`Word`].
    #[inline(always)]
    pub(super) unsafe fn hash_lanes<W: Word<LANES>, const LANES: usize>(
        &self,
        indices: &[u32; AT_ONCE],
        count: usize,
        hashes: &mut [Hash; AT_ONCE],
    ) {
        let chunks = indices.as_chunks::<LANES>().0.iter().zip(hashes.as_chunks_mut::<LANES>().0);
        for (indices, hashes) in chunks.take(count.div_ceil(LANES)) {
            // SAFETY: the caller's promise.
            unsafe {
                let mut state = splat_each(&self.state);
                for (number, template) in self.words.iter().enumerate() {
                    let mut words = splat_each(template);
                    for (i, word) in self.touched(number) {
                        let mut values = [template[i]; LANES];
                        for (value, index) in values.iter_mut().zip(indices) {
                            *value |= self.part(*index, word);
                        }
                        words[i] = W::load(&values);
                    }
                    state = match &self.short {
                        Some(begun) => compress::<W, LANES, true>(&state, splat_each(begun), &words),
                        None => {
                            let last = number + 1 == self.words.len();
                            let length = if last { self.length } else { self.before + ((number + 1) * BLOCK) as u64 };
                            compress::<W, LANES, false>(&state, begin(&state, length, last), &words)
                        }
                    };
                }
                W::store(&state, hashes);
            }
        }
    }

    /// The words of a block that contain part of the index: their position in the block, and their number among all.
    #[inline(always)]
    fn touched(&self, block: usize) -> impl Iterator<Item = (usize, usize)> {
        let first = self.place / 64;
        let last = (self.place + 31) / 64;
        (first..=last).filter(move |word| word / 16 == block).map(|word| (word % 16, word))
    }

    /// The part of the index in a word.
    #[inline(always)]
    fn part(&self, index: u32, word: usize) -> u64 {
        let index = u64::from(index);
        match (64 * word).checked_sub(self.place) {
            Some(right) => index >> right,
            None => index << (self.place - 64 * word),
        }
    }
}

/// Each word in all lanes.
///
/// # Safety
///
/// That of [`Word`].
#[inline(always)]
unsafe fn splat_each<W: Word<LANES>, const LANES: usize, const N: usize>(words: &[u64; N]) -> [W; N] {
    // SAFETY: guaranteed by the caller. Not `map`, of which the compiler may make a function without the instructions.
    unsafe {
        let mut vectors = [W::splat(0); N];
        for (vector, word) in vectors.iter_mut().zip(words) {
            *vector = W::splat(*word);
        }
        vectors
    }
}

fn to_words(block: &[u8; BLOCK]) -> [u64; 16] {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}
