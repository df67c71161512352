//! The time-lock puzzle in the form of LCS35 (R. Rivest, 1999): 2^(2^t) modulo n.

use std::ops::ControlFlow;

use super::modulus::{Modulus, Number};

/// A prime of 50 bits, 2^50 - 27. Everything is computed modulo this times n, as A. Shamir proposed: modulo the prime
/// alone the result is known, so a mistake of the machine shows.
const CHECK: u64 = (1 << 50) - 27;

/// Squarings between two checks: about a second.
const CHECK_EVERY: u64 = 1 << 20;

/// A time-lock puzzle.
#[derive(Clone, Debug)]
pub struct TimeLock {
    modulus: Modulus,
    checked: Modulus,
}

/// The machine made a mistake: the number at this position has the wrong remainder modulo the check prime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the machine made a mistake in the last {CHECK_EVERY} squarings before number {at}: go on from the last state that was right"
)]
pub struct Mistake {
    /// Number of squarings when it showed.
    pub at: u64,
}

/// An intermediate state: the number of squarings, and the number modulo n times the check prime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Number of squarings so far.
    pub at: u64,
    number: Number,
}

impl TimeLock {
    /// The puzzle modulo n.
    pub fn new(modulus: Modulus) -> Self {
        let checked = modulus.times(CHECK);
        Self { modulus, checked }
    }

    /// The initial state: 2.
    pub fn start(&self) -> Checkpoint {
        Checkpoint { at: 0, number: self.checked.small(2) }
    }

    /// Encodes the state, to continue later: the squarings in 8 bytes, then the number.
    pub fn save(&self, state: &Checkpoint) -> Vec<u8> {
        [&state.at.to_be_bytes()[..], &self.checked.write(&state.number)].concat()
    }

    /// Decodes a saved state; `None` if the bytes are invalid or the number is wrong.
    pub fn restore(&self, bytes: &[u8]) -> Option<Checkpoint> {
        let (at, number) = bytes.split_first_chunk()?;
        let state = Checkpoint { at: u64::from_be_bytes(*at), number: self.checked.number(number).ok()? };
        self.is_right(&state).then_some(state)
    }

    /// Squares up to `iterations` squarings, and returns 2^(2^iterations) modulo n, big-endian. `observe` sees the
    /// state after every check and may stop; then there is no result.
    pub fn solve(
        &self,
        mut state: Checkpoint,
        iterations: u64,
        mut observe: impl FnMut(&Checkpoint) -> ControlFlow<()>,
    ) -> Result<Option<Vec<u8>>, Mistake> {
        while state.at < iterations {
            let times = CHECK_EVERY.min(iterations - state.at);
            self.checked.square(&mut state.number, times);
            state.at += times;
            if !self.is_right(&state) {
                return Err(Mistake { at: state.at });
            }
            if observe(&state).is_break() && state.at < iterations {
                return Ok(None);
            }
        }
        Ok(Some(self.modulus.write(&self.modulus.reduce(&self.checked.plain(&state.number)))))
    }

    /// Whether the number is 2^(2^at) modulo the check prime.
    fn is_right(&self, state: &Checkpoint) -> bool {
        let remainder = |word: u64, rest: u64| ((u128::from(rest) << 64 | u128::from(word)) % u128::from(CHECK)) as u64;
        let found = self.checked.plain(&state.number).iter().rev().fold(0, |rest, word| remainder(*word, rest));
        // By Fermat, the exponent can be reduced modulo the prime minus one.
        found == power(2, power(2, state.at, CHECK - 1), CHECK)
    }
}

/// base^exponent modulo a number of less than 64 bits.
fn power(base: u64, exponent: u64, modulus: u64) -> u64 {
    let multiply = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(modulus)) as u64;
    (0..64).rev().fold(1, |result, bit| {
        let square = multiply(result, result);
        if exponent >> bit & 1 == 1 { multiply(square, base) } else { square }
    })
}
