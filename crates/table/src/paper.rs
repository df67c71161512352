//! The hash functions of Istvan and others (*A hash table for line-rate data processing*, ACM TRETS 8(2), 2015), for
//! its experiments: `examples/failed_inserts`. Neither has a secret, so whoever chooses the keys can make them collide;
//! the table uses [`crate::Hasher`].

use crate::hash::Hash;

/// Lookup3 (Jenkins, 2006, `hashlittle2` of lookup3.c): both of its values, started with `c` and `b`; the result has
/// `b` in its upper half.
pub fn lookup3(key: &[u8], c: u32, b: u32) -> Hash {
    let start = 0xdead_beef_u32.wrapping_add(key.len() as u32).wrapping_add(c);
    let mut state = [start, start, start.wrapping_add(b)];
    // The mixed part is followed by 12 bytes, or by fewer but not none.
    let mixed = key.len().saturating_sub(1) / 12 * 12;
    let (chunks, last) = key.split_at(mixed);
    for chunk in chunks.chunks_exact(12) {
        add(&mut state, chunk);
        mix(&mut state);
    }
    if !last.is_empty() {
        add(&mut state, last);
        finish(&mut state);
    }
    let [_, b, c] = state.map(u64::from);
    Hash::from_bits(b << 32 | c)
}

/// Adds at most twelve bytes, as three words.
fn add(state: &mut [u32; 3], bytes: &[u8]) {
    for (word, part) in state.iter_mut().zip(bytes.chunks(4)) {
        let mut whole = [0; 4];
        whole[..part.len()].copy_from_slice(part);
        *word = word.wrapping_add(u32::from_le_bytes(whole));
    }
}

/// Mixes three words so that each bit affects all of them.
fn mix([a, b, c]: &mut [u32; 3]) {
    step(a, c, b, 4);
    step(b, a, c, 6);
    step(c, b, a, 8);
    step(a, c, b, 16);
    step(b, a, c, 19);
    step(c, b, a, 4);
}

fn step(x: &mut u32, y: &mut u32, z: &u32, turn: u32) {
    *x = x.wrapping_sub(*y) ^ y.rotate_left(turn);
    *y = y.wrapping_add(*z);
}

/// Mixes three words so that each bit affects `b` and `c`.
fn finish([a, b, c]: &mut [u32; 3]) {
    last_step(c, *b, 14);
    last_step(a, *c, 11);
    last_step(b, *a, 25);
    last_step(c, *b, 16);
    last_step(a, *c, 4);
    last_step(b, *a, 14);
    last_step(c, *b, 24);
}

fn last_step(x: &mut u32, y: u32, turn: u32) {
    *x = (*x ^ y).wrapping_sub(y.rotate_left(turn));
}

/// The multiplicative function, after Kernighan and Ritchie: alternately adds a word of 16 bits and multiplies the sum.
/// A last multiplication moves the bits of all words to the top, from which buckets are picked.
pub fn multiplicative(key: &[u8]) -> Hash {
    // A prime, 2^32 divided by the golden ratio; the paper only says that it is a large prime.
    const MAGIC: u32 = 0x9e37_79b1;
    let mut state = 0_u32;
    for pair in key.chunks(2) {
        let word = u32::from(pair[0]) | pair.get(1).map_or(0, |high| u32::from(*high) << 8);
        state = state.wrapping_add(word).wrapping_mul(MAGIC);
    }
    let top = state.rotate_left(16).wrapping_mul(MAGIC);
    Hash::from_bits(u64::from(top) << 32 | u64::from(state))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `driver5` of lookup3.c: the initial and the final values of `c` and `b`.
    #[test]
    fn lookup3_gives_the_published_values() {
        let score = b"Four score and seven years ago";
        for (key, c, b, result) in [
            (&b""[..], 0, 0, 0xdead_beef_dead_beef_u64),
            (b"", 0, 0xdead_beef, 0xdead_beef_bd5b_7dde),
            (b"", 0xdead_beef, 0xdead_beef, 0xbd5b_7dde_9c09_3ccd),
            (score, 0, 0, 0xce72_26e6_1777_0551),
            (score, 0, 1, 0xbd37_1de4_e360_7cae),
            (score, 1, 0, 0x6cbe_a4b3_cd62_8161),
        ] {
            assert_eq!(lookup3(key, c, b).to_bits(), result, "{key:?} {c:x} {b:x}");
        }
    }

    #[test]
    fn every_byte_counts() {
        for hash in [|key: &[u8]| lookup3(key, 0, 0), multiplicative] {
            let mut seen = std::collections::HashSet::new();
            for len in 1..=60 {
                for at in 0..len {
                    let mut key = vec![b'k'; len];
                    key[at] = b'x';
                    assert!(seen.insert(hash(&key).to_bits()), "{at} of {len}");
                }
            }
        }
    }

    #[test]
    fn the_multiplicative_function_never_changes() {
        // The hardware of `rtl/table` computes the same. Another program computed these.
        let hashes = [&b"sixteen bytes..k"[..], b"odd"].map(|key| multiplicative(key).to_bits());
        assert_eq!(hashes, [0x535c_1a01_6951_7575, 0x0691_2454_ea94_0b33]);
    }
}
