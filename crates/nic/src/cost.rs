//! Costs of requests.
//!
//! Rate limits count operations. A signed operation costs one, for its signature; a message of a verify frame costs
//! what its work is worth. The work of a message is a number of pieces, which follows from its command and its size.
//! The price of a piece, per kind of work, starts with a constant and follows what the workers measure.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use wire::{Verification, Verify, VerifyCommand};

use crate::counters::Counter;

/// A kind of work, which defines its piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The signature of a signed operation.
    Operation,
    /// A message of a verify frame; [`pieces`] returns its number of pieces.
    Message(VerifyCommand),
}

/// Picoseconds per nanosecond. Prices are in picoseconds, because a leaf of a tree takes only some hundred nanoseconds.
const PICOSECONDS: i64 = 1000;

/// How far a price may move from its start. Down: lanes and batches do up to sixteen times as much as one word does
/// with one message. Up: a batch with one invalid message is bisected. Anything beyond was not measured correctly.
const DOWN: i64 = 16;
const UP: i64 = 4;

/// Inverse weight of a new measurement: the price follows several batches, not one.
const INERTIA: i64 = 8;

impl Work {
    /// All kinds of work.
    pub fn all() -> impl Iterator<Item = Self> {
        std::iter::once(Self::Operation).chain(VerifyCommand::ALL.iter().copied().map(Self::Message))
    }

    /// Returns the name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Operation => "OPERATION",
            Self::Message(command) => command.name(),
        }
    }

    /// The initial price in nanoseconds per piece: the time of a single message in the portable kernels on the machine
    /// of docs/results.md without AVX-512. So before any measurement no work costs less than it takes.
    const fn first_price(self) -> i64 {
        match self {
            Self::Operation | Self::Message(VerifyCommand::Ecdsa) => 60_000,
            Self::Message(VerifyCommand::Schnorr) => 66_000,
            // A leaf of the solution: 512 take 72 us.
            Self::Message(VerifyCommand::Equihash) => 140,
            // An inner node, of which there are about as many as leaves: three compressions.
            Self::Message(VerifyCommand::MerkleRoot) => 750,
            // A 64th of a signature, 1.6 ms.
            Self::Message(VerifyCommand::Bls) => 25_000,
            Self::Message(VerifyCommand::Groth16) => 2_000_000,
            // A pair takes as long as the exponentiation that follows all pairs.
            Self::Message(VerifyCommand::Pairing) => 400_000,
            // An eighth of a segment of 2,048 bits, 4.4 ms.
            Self::Message(VerifyCommand::Delay) => 550_000,
        }
    }

    const fn index(self) -> usize {
        match self {
            Self::Operation => 0,
            Self::Message(command) => 1 + (command.code() - VerifyCommand::Equihash.code()) as usize,
        }
    }
}

/// Number of kinds of work.
const KINDS: usize = 1 + VerifyCommand::ALL.len();

/// Returns the kind of work of a message, and its number of pieces.
pub fn pieces(message: &Verification<'_>) -> (Work, u64) {
    let (command, pieces) = match message {
        Verification::Equihash(body, _) => (VerifyCommand::Equihash, 1 << body.k.min(16)),
        Verification::Ecdsa(_) => (VerifyCommand::Ecdsa, 1),
        Verification::Schnorr(_) => (VerifyCommand::Schnorr, 1),
        Verification::Merkle(_, leaves) => (VerifyCommand::MerkleRoot, leaves.len()),
        // The message is hashed: four KiB take less than a 64th of the rest.
        Verification::Bls(_, message) => (VerifyCommand::Bls, 64 + message.len() / 4096),
        Verification::Groth16(..) => (VerifyCommand::Groth16, 1),
        Verification::Pairing(pairs) => (VerifyCommand::Pairing, 1 + pairs.len()),
        Verification::Delay(proof) => (VerifyCommand::Delay, delay_pieces(proof)),
    };
    (Work::Message(command), pieces as u64)
}

/// A segment of a delay's proof takes a search for a prime, whatever the modulus, and exponentiations of numbers of its
/// length.
fn delay_pieces(proof: &[u8]) -> usize {
    // The parser has checked the length, so it is there.
    let length = proof.get(8..10).map_or(0, |bytes| usize::from(bytes[0]) << 8 | usize::from(bytes[1])).max(1);
    let numbers = proof.len() / length;
    let segments = (numbers.saturating_sub(2) / 2).max(1);
    segments * (4 + length * length / (128 * 128))
}

/// Present costs of work. Any thread may read and update them.
#[derive(Debug)]
pub struct Costs {
    /// Picoseconds of processor time per piece.
    prices: [AtomicI64; KINDS],
    /// Nanoseconds spent.
    spent: [Counter; KINDS],
    /// Number of operations charged to prefixes with a limit.
    pub charged: Counter,
}

impl Default for Costs {
    fn default() -> Self {
        let prices = [const { AtomicI64::new(0) }; KINDS];
        for work in Work::all() {
            prices[work.index()].store(work.first_price() * PICOSECONDS, Relaxed);
        }
        Self { prices, spent: Default::default(), charged: Counter::default() }
    }
}

impl Costs {
    /// Time per piece, in picoseconds.
    pub fn price(&self, work: Work) -> u64 {
        self.prices[work.index()].load(Relaxed).unsigned_abs()
    }

    /// Time of this amount of work.
    pub fn time(&self, work: Work, pieces: u64) -> Duration {
        Duration::from_nanos(self.price(work).saturating_mul(pieces) / PICOSECONDS as u64)
    }

    /// Cost of a verify frame in operations: at least one per message.
    pub fn operations(&self, frame: &Verify<'_>) -> u32 {
        let operation = self.time(Work::Operation, 1).as_nanos().max(1);
        let worth = |(_, message)| {
            let (work, pieces) = pieces(&message);
            u32::try_from(self.time(work, pieces).as_nanos().div_ceil(operation)).unwrap_or(u32::MAX).max(1)
        };
        frame.messages().map(worth).fold(0, u32::saturating_add)
    }

    /// Total processor time of measured work, in nanoseconds.
    pub fn spent(&self, work: Work) -> u64 {
        self.spent[work.index()].get()
    }

    /// Records the processor time that pieces of work took.
    pub fn learn(&self, work: Work, pieces: u64, took: Duration) {
        self.spent[work.index()].add(took.as_nanos() as u64);
        let Some(sample) = (took.as_nanos() * PICOSECONDS as u128).checked_div(pieces.into()) else { return };
        let first = work.first_price() * PICOSECONDS;
        let sample = i64::try_from(sample).unwrap_or(i64::MAX).clamp(first / DOWN, first * UP);
        // A concurrent measurement may be lost: others follow.
        let price = &self.prices[work.index()];
        let before = price.load(Relaxed);
        price.store(before + (sample - before) / INERTIA, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLS: Work = Work::Message(VerifyCommand::Bls);

    #[test]
    fn prices_follow_what_is_measured_within_bounds() {
        let costs = Costs::default();
        let first = costs.price(BLS);
        for _ in 0..100 {
            costs.learn(BLS, 64, Duration::from_micros(400));
        }
        let near = costs.time(BLS, 64).as_micros();
        assert!((400..420).contains(&near), "{near} us");
        for _ in 0..200 {
            costs.learn(BLS, 1, Duration::from_secs(9));
        }
        assert!(costs.price(BLS) <= first * 4);
        for _ in 0..200 {
            costs.learn(BLS, 1_000_000, Duration::from_nanos(1));
        }
        assert!(costs.price(BLS) >= first / 16);
        costs.learn(BLS, 0, Duration::from_secs(1));
        assert_eq!(costs.price(Work::Operation), 60_000_000, "the price of anything else stays");
    }

    #[test]
    fn every_kind_has_a_place_and_a_price() {
        let costs = Costs::default();
        let places = Vec::from_iter(Work::all().map(Work::index));
        assert_eq!(places, Vec::from_iter(0..KINDS));
        assert!(Work::all().all(|work| costs.price(work) > 0 && !work.name().is_empty()));
    }

    #[test]
    fn a_delay_is_as_much_as_its_segments_and_its_modulus() {
        let proof = |length: u16, segments: usize| {
            let mut proof = b"TPDELAY1".to_vec();
            proof.extend(length.to_be_bytes());
            proof.resize(18 + (2 + 2 * segments) * usize::from(length), 1);
            delay_pieces(&proof)
        };
        assert_eq!([proof(128, 1), proof(256, 1), proof(256, 3), proof(512, 12)], [5, 8, 24, 240]);
    }
}
