//! The compression function in plain integers, for constants that are computed at compile time: midstates of tags and
//! message schedules of padding. Hashing messages is the backends' work.

/// The initial value.
pub(super) const INITIAL: [u32; 8] =
    [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];

/// The round constants.
pub(super) const ROUND: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
    0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
    0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
    0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2,
];

/// The words of a block's message schedule, each plus its round constant: everything that the rounds need of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub(super) struct Schedule(pub(super) [u32; 64]);

impl Schedule {
    pub(super) const fn new(block: &[u8; 64]) -> Self {
        let mut words = [0; 64];
        let mut round = 0;
        while round < 16 {
            let at = 4 * round;
            words[round] = u32::from_be_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]]);
            round += 1;
        }
        while round < 64 {
            let (old, new) = (words[round - 15], words[round - 2]);
            let old = old.rotate_right(7) ^ old.rotate_right(18) ^ (old >> 3);
            let new = new.rotate_right(17) ^ new.rotate_right(19) ^ (new >> 10);
            words[round] = words[round - 16].wrapping_add(old).wrapping_add(words[round - 7]).wrapping_add(new);
            round += 1;
        }
        round = 0;
        while round < 64 {
            words[round] = words[round].wrapping_add(ROUND[round]);
            round += 1;
        }
        Self(words)
    }
}

/// The state after one more block.
pub(super) const fn compress(state: [u32; 8], block: &[u8; 64]) -> [u32; 8] {
    rounds(state, &Schedule::new(block))
}

/// The state after one more block, given by its message schedule.
pub(super) const fn rounds(state: [u32; 8], Schedule(words): &Schedule) -> [u32; 8] {
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
    let mut round = 0;
    while round < 64 {
        let one = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = (e & f) ^ (!e & g);
        let first = h.wrapping_add(one).wrapping_add(choice).wrapping_add(words[round]);
        let zero = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        let second = zero.wrapping_add(majority);
        [a, b, c, d, e, f, g, h] = [first.wrapping_add(second), a, b, c, d.wrapping_add(first), e, f, g];
        round += 1;
    }
    let rounds = [a, b, c, d, e, f, g, h];
    let mut next = state;
    let mut word = 0;
    while word < 8 {
        next[word] = next[word].wrapping_add(rounds[word]);
        word += 1;
    }
    next
}

/// The digest of a final state.
pub(super) const fn digest(state: [u32; 8]) -> [u8; 32] {
    let mut bytes = [0; 32];
    let mut at = 0;
    while at < 32 {
        bytes[at] = state[at / 4].to_be_bytes()[at % 4];
        at += 1;
    }
    bytes
}

/// The state after the block that BIP340 puts before a message: SHA-256 of the tag's name, twice.
pub(super) const fn tag_midstate(name: &[u8]) -> [u32; 8] {
    let name = hash(name);
    let mut block = [0; 64];
    let mut at = 0;
    while at < 64 {
        block[at] = name[at % 32];
        at += 1;
    }
    compress(INITIAL, &block)
}

/// The hash of a message of any length.
const fn hash(message: &[u8]) -> [u8; 32] {
    let (mut state, mut rest) = (INITIAL, message);
    while let Some((block, behind)) = rest.split_first_chunk() {
        state = compress(state, block);
        rest = behind;
    }
    let mut block = [0; 64];
    let mut at = 0;
    while at < rest.len() {
        block[at] = rest[at];
        at += 1;
    }
    block[at] = 0x80;
    if at >= 56 {
        state = compress(state, &block);
        block = [0; 64];
    }
    let bits = (8 * message.len() as u64).to_be_bytes();
    at = 0;
    while at < 8 {
        block[56 + at] = bits[at];
        at += 1;
    }
    digest(compress(state, &block))
}
