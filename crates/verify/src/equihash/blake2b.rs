//! BLAKE2b of a header and an index, for as many indices at once as a backend has lanes.
//!
//! What is hashed differs in four bytes only. All blocks before those are compressed once, and of a last block as short
//! as Zcash's (16 bytes), the message words that are zero are not added at all.
//!
//! The limit on AVX-512: a compression is 96 quarter rounds of 14 operations, less one addition for each word that is
//! zero; of Zcash's 1,176 are left, 384 of them rotations. A Zen 5 core does four operations a cycle, two of them
//! rotations: 294 cycles for eight hashes, or 4.3 us for the 512 leaves of a header at 4.34 GHz.

use super::Parameters;
use super::avx512;

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

/// Hashes of one call, a multiple of all backends' lanes; they stay in the first level cache.
pub(super) const AT_ONCE: usize = 64;

/// A hash; only as much of it counts as the leaves that are cut from it.
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

/// Compresses a block. Of the message, words from `USED` on are taken to be zero.
///
/// # Safety
///
/// That of [`Word`].
#[inline(always)]
unsafe fn compress<W: Word<LANES>, const LANES: usize, const USED: usize>(
    state: [W; 8],
    words: &[W; 16],
    length: u64,
    last: bool,
) -> [W; 8] {
    // SAFETY: the caller's promise.
    unsafe {
        let [mut v0, mut v1, mut v2, mut v3, mut v4, mut v5, mut v6, mut v7] = state;
        let mut v8 = W::splat(INITIAL[0]);
        let mut v9 = W::splat(INITIAL[1]);
        let mut v10 = W::splat(INITIAL[2]);
        let mut v11 = W::splat(INITIAL[3]);
        let mut v12 = W::splat(INITIAL[4] ^ length);
        let mut v13 = W::splat(INITIAL[5]);
        let mut v14 = W::splat(if last { !INITIAL[6] } else { INITIAL[6] });
        let mut v15 = W::splat(INITIAL[7]);
        macro_rules! mix {
            ($a:ident $b:ident $c:ident $d:ident, $first:literal $second:literal) => {
                $a = $a.add($b);
                if $first < USED {
                    $a = $a.add(words[$first]);
                }
                $d = $d.xor($a).rotate::<32>();
                $c = $c.add($d);
                $b = $b.xor($c).rotate::<24>();
                $a = $a.add($b);
                if $second < USED {
                    $a = $a.add(words[$second]);
                }
                $d = $d.xor($a).rotate::<16>();
                $c = $c.add($d);
                $b = $b.xor($c).rotate::<63>();
            };
        }
        macro_rules! rounds {
            ($($s0:literal $s1:literal $s2:literal $s3:literal $s4:literal $s5:literal $s6:literal $s7:literal
               $s8:literal $s9:literal $s10:literal $s11:literal $s12:literal $s13:literal $s14:literal $s15:literal;)*) => {$(
                mix!(v0 v4 v8 v12, $s0 $s1);
                mix!(v1 v5 v9 v13, $s2 $s3);
                mix!(v2 v6 v10 v14, $s4 $s5);
                mix!(v3 v7 v11 v15, $s6 $s7);
                mix!(v0 v5 v10 v15, $s8 $s9);
                mix!(v1 v6 v11 v12, $s10 $s11);
                mix!(v2 v7 v8 v13, $s12 $s13);
                mix!(v3 v4 v9 v14, $s14 $s15);
            )*};
        }
        rounds! {
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15;
            14 10 4 8 9 15 13 6 1 12 0 2 11 7 5 3;
            11 8 12 0 5 2 15 13 10 14 3 6 7 1 9 4;
            7 9 3 1 13 12 11 14 2 6 5 10 4 0 15 8;
            9 0 5 7 2 4 10 15 14 1 11 12 6 8 3 13;
            2 12 6 10 0 11 8 3 4 13 7 5 15 14 1 9;
            12 5 1 15 14 13 4 10 0 7 6 3 9 2 8 11;
            13 11 7 14 12 1 3 9 5 0 15 4 8 6 2 10;
            6 15 14 9 11 3 0 8 12 2 13 7 1 4 10 5;
            10 2 8 4 7 6 1 5 15 11 9 14 3 12 13 0;
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15;
            14 10 4 8 9 15 13 6 1 12 0 2 11 7 5 3;
        }
        let low = [v0, v1, v2, v3, v4, v5, v6, v7];
        let high = [v8, v9, v10, v11, v12, v13, v14, v15];
        let mut next = state;
        for i in 0..8 {
            next[i] = state[i].xor(low[i]).xor(high[i]);
        }
        next
    }
}

/// A way of computing BLAKE2b.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// 8 lanes of AVX-512.
    Avx512,
    /// Any processor.
    Portable,
}

impl Backend {
    /// All backends, the fastest first.
    pub const ALL: [Self; 2] = [Self::Avx512, Self::Portable];

    /// Whether this processor has the instructions that it needs.
    pub fn is_available(self) -> bool {
        match self {
            Self::Avx512 => avx512::is_available(),
            Self::Portable => true,
        }
    }

    /// The fastest on this processor.
    pub fn fastest() -> Self {
        Self::ALL.into_iter().find(|backend| backend.is_available()).unwrap_or(Self::Portable)
    }
}

/// The hash function of one header's leaves.
pub(super) struct LeafHash {
    backend: Backend,
    /// After all blocks that the index is not in.
    state: [u64; 8],
    /// The blocks that it is in, one or two, with zeros in its place.
    words: Vec<[u64; 16]>,
    /// Bytes compressed into the state.
    before: u64,
    /// Bytes of the whole message.
    length: u64,
    /// Bits from the beginning of the first block to the index.
    place: usize,
}

impl LeafHash {
    /// # Panics
    ///
    /// If the backend is not available.
    pub(super) fn new(backend: Backend, parameters: &Parameters, input: &[u8]) -> Self {
        assert!(backend.is_available(), "the processor does not have the instructions of {backend:?}");
        let mut state = INITIAL;
        state[0] ^= 0x0101_0000 ^ (parameters.leaves_per_hash() * parameters.n / 8) as u64;
        state[6] ^= u64::from_le_bytes(parameters.personalisation);
        state[7] ^= parameters.n as u64 | (parameters.k as u64) << 32;
        let (blocks, rest) = input.as_chunks::<BLOCK>();
        for (number, block) in blocks.iter().enumerate() {
            let length = ((number + 1) * BLOCK) as u64;
            // SAFETY: plain integers need no special instructions.
            state = unsafe { compress::<u64, 1, 16>(state, &to_words(block), length, false) };
        }
        let mut last = [0; 2 * BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        let used = (rest.len() + 4).div_ceil(BLOCK);
        Self {
            backend,
            state,
            words: last.as_chunks::<BLOCK>().0[..used].iter().map(to_words).collect(),
            before: (blocks.len() * BLOCK) as u64,
            length: input.len() as u64 + 4,
            place: 8 * rest.len(),
        }
    }

    /// The hashes of the indices.
    pub(super) fn hash(&self, indices: &[u32], hashes: &mut [Hash; AT_ONCE]) {
        match self.backend {
            // SAFETY: that the backend is available was checked when this was made.
            Backend::Avx512 => unsafe { avx512::hash(self, indices, hashes) },
            // SAFETY: plain integers need no special instructions.
            Backend::Portable => unsafe { self.hash_lanes::<u64, 1>(indices, hashes) },
        }
    }

    /// # Safety
    ///
    /// That of [`Word`].
    #[inline(always)]
    pub(super) unsafe fn hash_lanes<W: Word<LANES>, const LANES: usize>(
        &self,
        indices: &[u32],
        hashes: &mut [Hash; AT_ONCE],
    ) {
        let short = matches!(&self.words[..], [words] if words[2..] == [0; 14]) && self.place <= 96;
        for (indices, hashes) in indices.chunks(LANES).zip(hashes.as_chunks_mut::<LANES>().0) {
            // SAFETY: the caller's promise.
            unsafe {
                let mut state = [W::splat(0); 8];
                for (lanes, word) in state.iter_mut().zip(self.state) {
                    *lanes = W::splat(word);
                }
                for (number, template) in self.words.iter().enumerate() {
                    let mut words = [W::splat(0); 16];
                    for (lanes, word) in words.iter_mut().zip(template) {
                        *lanes = W::splat(*word);
                    }
                    for (i, word) in self.touched(number) {
                        let mut values = [template[i]; LANES];
                        for (value, index) in values.iter_mut().zip(indices) {
                            *value |= self.part(*index, word);
                        }
                        words[i] = W::load(&values);
                    }
                    let last = number + 1 == self.words.len();
                    let length = if last { self.length } else { self.before + ((number + 1) * BLOCK) as u64 };
                    state = if short {
                        compress::<W, LANES, 2>(state, &words, length, last)
                    } else {
                        compress::<W, LANES, 16>(state, &words, length, last)
                    };
                }
                W::store(&state, hashes);
            }
        }
    }

    /// The words of a block that have a part of the index: their place in the block, and their number among all.
    #[inline(always)]
    fn touched(&self, block: usize) -> impl Iterator<Item = (usize, usize)> {
        let first = self.place / 64;
        let last = (self.place + 31) / 64;
        (first..=last).filter(move |word| word / 16 == block).map(|word| (word % 16, word))
    }

    /// The part of the index that is in a word.
    #[inline(always)]
    fn part(&self, index: u32, word: usize) -> u64 {
        let index = u64::from(index);
        match (64 * word).checked_sub(self.place) {
            Some(right) => index >> right,
            None => index << (self.place - 64 * word),
        }
    }
}

fn to_words(block: &[u8; BLOCK]) -> [u64; 16] {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}
