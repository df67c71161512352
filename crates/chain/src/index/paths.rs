//! Paths of accounts in the index, many at once: SipHash-2-4 over several ids side by side.
use spv::hash::PATH_KEY;
use wire::AccountId;

/// Ids hashed side by side: two vectors, so that one works while the rounds of the other wait.
const LANES: usize = 8;

/// Writes the paths of `accounts`.
///
/// # Panics
///
/// If the numbers of paths and accounts differ.
pub fn account_paths(accounts: &[AccountId], paths: &mut [u64]) {
    assert_eq!(accounts.len(), paths.len(), "one path for each account");
    let (whole, rest) = accounts.as_chunks::<LANES>();
    let (whole_paths, rest_paths) = paths.as_chunks_mut::<LANES>();
    for (accounts, paths) in whole.iter().zip(whole_paths) {
        *paths = lanes(accounts);
    }
    for (account, path) in rest.iter().zip(rest_paths) {
        *path = account_path(account);
    }
}

/// The path of one account.
#[inline]
pub(crate) fn account_path(account: &AccountId) -> u64 {
    let number = u128::from_le_bytes(account.0);
    sip_hash([number as u64, (number >> 64) as u64])
}

#[inline]
fn lanes(accounts: &[AccountId; LANES]) -> [u64; LANES] {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has the instructions.
        return unsafe { avx2::account_paths(accounts) };
    }
    std::array::from_fn(|lane| account_path(&accounts[lane]))
}

/// The 64-bit words of the messages that are hashed side by side.
trait Words: Copy {
    /// The same word for every message.
    fn splat(self, word: u64) -> Self;
    fn add(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn rotate_left(self, bits: u32) -> Self;
}

impl Words for u64 {
    #[inline(always)]
    fn splat(self, word: u64) -> Self {
        word
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        self ^ other
    }

    #[inline(always)]
    fn rotate_left(self, bits: u32) -> Self {
        self.rotate_left(bits)
    }
}

/// SipHash-2-4 of messages of two words under the index's key.
#[inline(always)]
fn sip_hash<W: Words>(message: [W; 2]) -> W {
    const KEY: u128 = u128::from_le_bytes(*PATH_KEY);
    const KEY_0: u64 = KEY as u64;
    const KEY_1: u64 = (KEY >> 64) as u64;
    /// The last block: no bytes of the message, and its length.
    const LENGTH: u64 = 16 << 56;
    const INITIAL: [u64; 4] = [
        KEY_0 ^ 0x736f_6d65_7073_6575,
        KEY_1 ^ 0x646f_7261_6e64_6f6d,
        KEY_0 ^ 0x6c79_6765_6e65_7261,
        KEY_1 ^ 0x7465_6462_7974_6573,
    ];

    let mut v = INITIAL.map(|word| message[0].splat(word));
    for block in [message[0], message[1], message[0].splat(LENGTH)] {
        v[3] = v[3].xor(block);
        v = round(round(v));
        v[0] = v[0].xor(block);
    }
    v[2] = v[2].xor(v[2].splat(0xff));
    let v = round(round(round(round(v))));
    v[0].xor(v[1]).xor(v[2]).xor(v[3])
}

#[inline(always)]
fn round<W: Words>([a, b, c, d]: [W; 4]) -> [W; 4] {
    let (a, c) = (a.add(b), c.add(d));
    let (b, d) = (b.rotate_left(13).xor(a), d.rotate_left(16).xor(c));
    let a = a.rotate_left(32).add(d);
    let c = c.add(b);
    [a, b.rotate_left(17).xor(c), c.rotate_left(32), d.rotate_left(21).xor(a)]
}

/// The words of eight messages in two registers of four lanes.
///
/// Compilers do not find this: without an instruction that rotates, they consider single words cheaper, and that is
/// three times as slow.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{AccountId, LANES, Words, sip_hash};

    /// Only [`account_paths`] creates it, and only where the processor has AVX2.
    #[derive(Clone, Copy)]
    struct Lanes([__m256i; 2]);

    impl Words for Lanes {
        #[inline(always)]
        fn splat(self, word: u64) -> Self {
            // SAFETY: `self` exists, so the processor has AVX2.
            Self([unsafe { _mm256_set1_epi64x(word.cast_signed()) }; 2])
        }

        #[inline(always)]
        fn add(self, Self(other): Self) -> Self {
            // SAFETY: `self` exists, so the processor has AVX2.
            unsafe { Self([_mm256_add_epi64(self.0[0], other[0]), _mm256_add_epi64(self.0[1], other[1])]) }
        }

        #[inline(always)]
        fn xor(self, Self(other): Self) -> Self {
            // SAFETY: `self` exists, so the processor has AVX2.
            unsafe { Self([_mm256_xor_si256(self.0[0], other[0]), _mm256_xor_si256(self.0[1], other[1])]) }
        }

        #[inline(always)]
        fn rotate_left(self, bits: u32) -> Self {
            Self(self.0.map(|words| {
                // SAFETY: `self` exists, so the processor has AVX2.
                unsafe {
                    let left = _mm256_sll_epi64(words, _mm_cvtsi64_si128(bits.into()));
                    _mm256_or_si256(left, _mm256_srl_epi64(words, _mm_cvtsi64_si128((64 - bits).into())))
                }
            }))
        }
    }

    /// The paths of eight accounts.
    #[target_feature(enable = "avx2")]
    pub(super) fn account_paths(accounts: &[AccountId; LANES]) -> [u64; LANES] {
        /// Ids in a vector.
        const PAIR: usize = size_of::<__m256i>() / size_of::<AccountId>();
        let (pairs, _) = accounts.as_chunks::<PAIR>();
        // SAFETY: two ids are as long as a vector, and the loads need no alignment.
        let load = |pair: &[AccountId; PAIR]| unsafe { _mm256_loadu_si256(pair.as_ptr().cast()) };
        let (ab, cd, ef, gh) = (load(&pairs[0]), load(&pairs[1]), load(&pairs[2]), load(&pairs[3]));
        // Lanes in the order a, c, b, d, which is undone below.
        let low = Lanes([_mm256_unpacklo_epi64(ab, cd), _mm256_unpacklo_epi64(ef, gh)]);
        let high = Lanes([_mm256_unpackhi_epi64(ab, cd), _mm256_unpackhi_epi64(ef, gh)]);
        let mut paths = [0; LANES];
        let (fours, _) = paths.as_chunks_mut::<{ LANES / 2 }>();
        for (words, four) in sip_hash([low, high]).0.into_iter().zip(fours) {
            // SAFETY: four paths are as long as a vector, and the store needs no alignment.
            unsafe { _mm256_storeu_si256(four.as_mut_ptr().cast(), _mm256_permute4x64_epi64::<0b11_01_10_00>(words)) };
        }
        paths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_light_client() {
        let accounts: Vec<_> =
            (0..100_u128).map(|n| AccountId::from(n.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))).collect();
        for length in [0, 1, 7, 8, 9, 100] {
            let mut paths = vec![0; length];
            account_paths(&accounts[..length], &mut paths);
            for (account, path) in accounts.iter().zip(paths) {
                assert_eq!(path, spv::account_path(&account.0));
                assert_eq!(path, account_path(account));
            }
        }
    }
}
