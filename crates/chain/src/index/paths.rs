//! Paths of accounts in the index, many at once: SipHash-2-4 over several ids side by side.
use spv::hash::PATH_KEY;
use wire::AccountId;

/// Ids hashed side by side: as many 64-bit lanes as the widest registers have.
const LANES: usize = 8;

/// The paths of `accounts`.
///
/// # Panics
///
/// If there is not one path for each account.
pub(crate) fn account_paths(accounts: &[AccountId], paths: &mut [u64]) {
    assert_eq!(accounts.len(), paths.len(), "one path for each account");
    let (whole, rest) = accounts.as_chunks::<LANES>();
    let (whole_paths, rest_paths) = paths.as_chunks_mut::<LANES>();
    for (accounts, paths) in whole.iter().zip(whole_paths) {
        *paths = lanes(accounts);
    }
    if !rest.is_empty() {
        let mut padded = [AccountId::ZERO; LANES];
        padded[..rest.len()].copy_from_slice(rest);
        rest_paths.copy_from_slice(&lanes(&padded)[..rest.len()]);
    }
}

/// The path of one account.
#[inline]
pub(crate) fn account_path(account: &AccountId) -> u64 {
    sip_hash(&[*account])[0]
}

#[inline]
fn lanes(accounts: &[AccountId; LANES]) -> [u64; LANES] {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has the instructions.
        return unsafe { lanes_avx512(accounts) };
    } else if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: as above.
        return unsafe { lanes_avx2(accounts) };
    }
    sip_hash(accounts)
}

/// The same code, compiled for registers of eight lanes that rotate in one instruction.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn lanes_avx512(accounts: &[AccountId; LANES]) -> [u64; LANES] {
    sip_hash(accounts)
}

/// The same code, compiled for registers of four lanes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn lanes_avx2(accounts: &[AccountId; LANES]) -> [u64; LANES] {
    sip_hash(accounts)
}

/// SipHash-2-4 of 16-byte messages under the index's key, `L` side by side.
#[inline(always)]
fn sip_hash<const L: usize>(accounts: &[AccountId; L]) -> [u64; L] {
    const KEY: u128 = u128::from_le_bytes(*PATH_KEY);
    const KEY_0: u64 = KEY as u64;
    const KEY_1: u64 = (KEY >> 64) as u64;
    /// The last block: no bytes of the message, and its length.
    const LENGTH: u64 = 16 << 56;

    let mut v = [
        [KEY_0 ^ 0x736f_6d65_7073_6575; L],
        [KEY_1 ^ 0x646f_7261_6e64_6f6d; L],
        [KEY_0 ^ 0x6c79_6765_6e65_7261; L],
        [KEY_1 ^ 0x7465_6462_7974_6573; L],
    ];
    let numbers = accounts.map(|account| u128::from_le_bytes(account.0));
    for block in [numbers.map(|n| n as u64), numbers.map(|n| (n >> 64) as u64), [LENGTH; L]] {
        for lane in 0..L {
            v[3][lane] ^= block[lane];
        }
        round(&mut v);
        round(&mut v);
        for lane in 0..L {
            v[0][lane] ^= block[lane];
        }
    }
    v[2] = v[2].map(|word| word ^ 0xff);
    for _ in 0..4 {
        round(&mut v);
    }
    std::array::from_fn(|lane| v[0][lane] ^ v[1][lane] ^ v[2][lane] ^ v[3][lane])
}

#[inline(always)]
fn round<const L: usize>(v: &mut [[u64; L]; 4]) {
    let [v0, v1, v2, v3] = v;
    for (((a, b), c), d) in v0.iter_mut().zip(v1).zip(v2).zip(v3) {
        *a = a.wrapping_add(*b);
        *b = b.rotate_left(13) ^ *a;
        *a = a.rotate_left(32);
        *c = c.wrapping_add(*d);
        *d = d.rotate_left(16) ^ *c;
        *a = a.wrapping_add(*d);
        *d = d.rotate_left(21) ^ *a;
        *c = c.wrapping_add(*b);
        *b = b.rotate_left(17) ^ *c;
        *c = c.rotate_left(32);
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
