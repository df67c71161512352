//! The portable backend: plain integers, one message at a time. It needs no special instructions and is the same code
//! on every processor.

use super::kernel::Kernel;
use super::plan::Padding;
use super::scalar::{self, INITIAL, ROUND};

pub(super) struct Portable;

impl Kernel<1> for Portable {
    type ChainingValue = [u32; 8];

    unsafe fn splat(words: &[u32; 8]) -> Self::ChainingValue {
        *words
    }

    unsafe fn compress(state: Self::ChainingValue, [block]: &[&[u8; 64]; 1]) -> Self::ChainingValue {
        compress(state, block)
    }

    unsafe fn compress_padding(state: Self::ChainingValue, padding: &Padding) -> Self::ChainingValue {
        scalar::rounds(state, &padding.schedule)
    }

    unsafe fn second(state: Self::ChainingValue) -> Self::ChainingValue {
        let mut block = [0; 64];
        block[..32].copy_from_slice(&scalar::digest(state));
        block[32] = 0x80;
        block[62] = 1; // the digest's 256 bits
        compress(INITIAL, &block)
    }

    unsafe fn digests(state: Self::ChainingValue, [digest]: &mut [[u8; 32]; 1]) {
        *digest = scalar::digest(state);
    }
}

/// [`scalar::compress`], a sixth faster.
///
/// Each word of the schedule is computed where it is used, and all rounds are unrolled, so that words and states stay
/// in registers.
fn compress(state: [u32; 8], block: &[u8; 64]) -> [u32; 8] {
    let (bytes, _) = block.as_chunks();
    let mut words: [u32; 16] = std::array::from_fn(|at| u32::from_be_bytes(bytes[at]));
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
    macro_rules! round {
        ($first:literal + $at:literal: $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
            if $first > 0 {
                words[$at] = next(&words, $at);
            }
            let choice = $g ^ ($e & ($f ^ $g));
            let one = $e.rotate_right(6) ^ $e.rotate_right(11) ^ $e.rotate_right(25);
            let word = ROUND[$first + $at].wrapping_add(words[$at]);
            let sum = $h.wrapping_add(word).wrapping_add(choice).wrapping_add(one);
            let zero = $a.rotate_right(2) ^ $a.rotate_right(13) ^ $a.rotate_right(22);
            let majority = ($a & $b) ^ ($c & ($a ^ $b));
            $d = $d.wrapping_add(sum);
            $h = sum.wrapping_add(zero).wrapping_add(majority);
        };
    }
    macro_rules! sixteen_rounds {
        ($first:literal) => {
            round!($first + 0: a b c d e f g h);
            round!($first + 1: h a b c d e f g);
            round!($first + 2: g h a b c d e f);
            round!($first + 3: f g h a b c d e);
            round!($first + 4: e f g h a b c d);
            round!($first + 5: d e f g h a b c);
            round!($first + 6: c d e f g h a b);
            round!($first + 7: b c d e f g h a);
            round!($first + 8: a b c d e f g h);
            round!($first + 9: h a b c d e f g);
            round!($first + 10: g h a b c d e f);
            round!($first + 11: f g h a b c d e);
            round!($first + 12: e f g h a b c d);
            round!($first + 13: d e f g h a b c);
            round!($first + 14: c d e f g h a b);
            round!($first + 15: b c d e f g h a);
        };
    }
    sixteen_rounds!(0);
    sixteen_rounds!(16);
    sixteen_rounds!(32);
    sixteen_rounds!(48);
    let rounds = [a, b, c, d, e, f, g, h];
    std::array::from_fn(|word| state[word].wrapping_add(rounds[word]))
}

/// The schedule's word that replaces the one 16 rounds before.
#[inline(always)]
fn next(words: &[u32; 16], at: usize) -> u32 {
    let (old, new) = (words[(at + 1) % 16], words[(at + 14) % 16]);
    let old = old.rotate_right(7) ^ old.rotate_right(18) ^ (old >> 3);
    let new = new.rotate_right(17) ^ new.rotate_right(19) ^ (new >> 10);
    words[at].wrapping_add(old).wrapping_add(words[(at + 9) % 16]).wrapping_add(new)
}
