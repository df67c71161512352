//! Evaluation of a delay function, and verification of the result.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};

use thiserror::Error;

use super::modulus::{Modulus, Number, NumberError};
use super::ring::{InRing, Ring};
use super::wesolowski::{Digits, canonical, is_proved, prove};
use crate::RuleCode;

/// A segment is proved while the following ones are evaluated. A proof costs at most an eighth of the evaluation, so
/// each later segment is an eighth of what remains.
const PART: u64 = 8;

/// Segments of this length are not divided further: a tenth of a second, of which a proof is a small part.
const LEAST_SEGMENT: u64 = 1 << 16;

/// Maximum number of segments of a proof: as many as the largest number of squarings needs.
const MOST_SEGMENTS: usize = 24;

/// Magic bytes at the start of a proof.
const MAGIC: &[u8; 8] = b"TPDELAY1";

/// A delay to evaluate: a number to be squared repeatedly, modulo another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delay {
    /// The modulus, whose factors nobody knows.
    pub modulus: Modulus,
    /// The number, as [`Modulus::hash`] returns it.
    pub input: Number,
    /// Number of squarings, at least one.
    pub iterations: u64,
}

/// An intermediate number, kept for the proof and to continue after a crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayCheckpoint {
    /// Number of squarings before it.
    pub at: u64,
    /// The number, big-endian, in the length of the modulus.
    pub number: Vec<u8>,
}

/// A part of the squarings, with its proof.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Segment {
    iterations: u64,
    output: Number,
    proof: Number,
}

/// A result with its proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluated {
    delay: Delay,
    segments: Vec<Segment>,
}

/// Why an evaluation has no result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EvaluateError {
    /// The input is trivial.
    #[error("at least one squaring is needed, of a number other than 0, 1 and -1")]
    Trivial,
    /// The intermediate numbers do not belong to this evaluation.
    #[error("number {index} of those kept, after {at} squarings, is not of this evaluation: begin without them")]
    Foreign {
        /// The index of the first wrong one.
        index: usize,
        /// Its position, according to itself.
        at: u64,
    },
    /// The proof does not verify: the machine made a mistake, or the intermediate numbers are damaged.
    #[error("the result is wrong: the machine made a mistake, or what was kept is damaged: begin without it")]
    Mistake,
}

/// Why a result is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Invalid {
    /// The input is 0, 1 or -1, whose squares are known.
    #[error("the input is 0, 1 or -1, or nothing is squared")]
    Trivial,
    /// The output of a segment is the larger of a number and its negation.
    #[error("the output of segment {0} is not the smaller one of itself and its negation")]
    NotCanonical(usize),
    /// A proof is wrong.
    #[error("the proof of segment {0} is wrong")]
    Proof(usize),
}

/// Why bytes do not encode a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FormatError {
    /// The magic bytes are wrong.
    #[error("these bytes do not begin as the proof of a delay does")]
    Magic,
    /// The length is wrong, or there are too many segments.
    #[error("the proof is not as long as it says")]
    Length,
    /// The segments do not match the division of the number of squarings.
    #[error("the segments of the proof are not those of its number of squarings")]
    Segments,
    /// A number is invalid.
    #[error(transparent)]
    Number(#[from] NumberError),
}

/// The lengths of the segments that squarings are divided into.
fn segments(iterations: u64) -> Vec<u64> {
    let (mut segments, mut rest) = (Vec::new(), iterations);
    while rest > LEAST_SEGMENT {
        segments.push(rest - rest / PART);
        rest /= PART;
    }
    segments.extend((rest > 0).then_some(rest));
    assert!(segments.len() <= MOST_SEGMENTS, "64 bits are divided by 8 fewer than 24 times");
    segments
}

impl Invalid {
    /// The number of the rule among all schemes.
    pub const fn code(self) -> RuleCode {
        match self {
            Self::Trivial => RuleCode::DelayInput,
            Self::NotCanonical(_) => RuleCode::DelayCanonical,
            Self::Proof(_) => RuleCode::DelayMismatch,
        }
    }
}

impl FormatError {
    /// The number of the rule among all schemes.
    pub const fn code(self) -> RuleCode {
        match self {
            Self::Magic | Self::Length | Self::Segments => RuleCode::DelayForm,
            Self::Number(NumberError::NotAModulus | NumberError::TooLong) => RuleCode::DelayModulus,
            Self::Number(NumberError::OutOfRange) => RuleCode::DelayRange,
        }
    }
}

impl Delay {
    fn is_trivial(&self) -> bool {
        let Self { modulus, input, iterations } = self;
        let one = modulus.one();
        *iterations == 0 || *input == modulus.small(0) || *input == one || *input == modulus.negate(&one)
    }

    /// Squares and proves. It continues from the intermediate numbers of an earlier evaluation, passed completely and
    /// in order; `keep` receives the further ones and may stop the evaluation, which then has no result.
    pub fn evaluate(
        &self,
        checkpoints: &[DelayCheckpoint],
        keep: impl FnMut(DelayCheckpoint) -> ControlFlow<()>,
    ) -> Result<Option<Evaluated>, EvaluateError> {
        if self.is_trivial() {
            return Err(EvaluateError::Trivial);
        }
        let Some(segments) = self.modulus.many(Evaluation { delay: self, checkpoints, keep })? else { return Ok(None) };
        let evaluated = Evaluated { delay: self.clone(), segments };
        evaluated.verify().map_err(|_| EvaluateError::Mistake)?;
        Ok(Some(evaluated))
    }
}

/// The state of [`Delay::evaluate`].
struct Evaluation<'a, K> {
    delay: &'a Delay,
    checkpoints: &'a [DelayCheckpoint],
    keep: K,
}

impl<K: FnMut(DelayCheckpoint) -> ControlFlow<()>> InRing for Evaluation<'_, K> {
    type Output = Result<Option<Vec<Segment>>, EvaluateError>;

    fn run<R: Ring>(mut self, ring: &R) -> Self::Output {
        let Delay { modulus, input, iterations } = self.delay;
        let is_broken_off = AtomicBool::new(false);
        thread::scope(|scope| {
            let mut input = canonical(modulus, input);
            let number = ring.enter(&input.0);
            let mut way = Way { modulus, ring, checkpoints: self.checkpoints, next: 0, number, at: 0 };
            let mut proofs = Vec::new();
            for iterations in segments(*iterations) {
                let (digits, end) = (Digits::with_iterations(iterations), way.at + iterations);
                let mut powers = Vec::new();
                for _ in 0..digits.powers() {
                    way.take_checkpoint(&input)?;
                    if let Some(new) = way.new_checkpoint()
                        && (self.keep)(new).is_break()
                    {
                        is_broken_off.store(true, Relaxed);
                        return Ok(None);
                    }
                    powers.push(way.number.clone());
                    way.go_on(end.min(way.at + digits.every()));
                }
                let output = match way.peek_checkpoint(end)? {
                    Some(output) => output,
                    None => canonical(modulus, &Number(ring.leave(&way.number))),
                };
                way.number = ring.enter(&output.0);
                let (from, is_broken_off) = (std::mem::replace(&mut input, output.clone()), &is_broken_off);
                proofs.push(scope.spawn(move || {
                    let proof = prove(modulus, ring, iterations, [&from, &output], &powers, is_broken_off)?;
                    Some(Segment { iterations, output, proof })
                }));
            }
            let join = |proof: thread::ScopedJoinHandle<'_, _>| match proof.join() {
                Ok(segment) => segment,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            Ok(proofs.into_iter().map(join).collect())
        })
    }
}

/// The number being squared, and the intermediate numbers of an earlier run.
struct Way<'a, R: Ring> {
    modulus: &'a Modulus,
    ring: &'a R,
    checkpoints: &'a [DelayCheckpoint],
    /// Index of the first of `checkpoints` that is still ahead.
    next: usize,
    number: R::Element,
    at: u64,
}

impl<R: Ring> Way<'_, R> {
    /// Returns the intermediate number at `at`, if one is ahead.
    fn peek_checkpoint(&self, at: u64) -> Result<Option<Number>, EvaluateError> {
        let Some(checkpoint) = self.checkpoints.get(self.next) else { return Ok(None) };
        let foreign = EvaluateError::Foreign { index: self.next, at: checkpoint.at };
        let number = self.modulus.number(&checkpoint.number).map_err(|_| foreign.clone())?;
        if checkpoint.at != at { Err(foreign) } else { Ok(Some(number)) }
    }

    /// Takes the intermediate number at this position; the first one is the input itself.
    fn take_checkpoint(&mut self, input: &Number) -> Result<(), EvaluateError> {
        if let Some(number) = self.peek_checkpoint(self.at)? {
            if self.at == 0 && number != *input {
                return Err(EvaluateError::Foreign { index: self.next, at: 0 });
            }
            self.number = self.ring.enter(&number.0);
            self.next += 1;
        }
        Ok(())
    }

    /// Returns the number to keep at this position, unless it was kept before.
    fn new_checkpoint(&mut self) -> Option<DelayCheckpoint> {
        if self.next > self.checkpoints.len()
            || self.next > 0 && self.checkpoints.get(self.next - 1).is_some_and(|checkpoint| checkpoint.at == self.at)
        {
            return None;
        }
        Some(DelayCheckpoint { at: self.at, number: self.modulus.bytes(&self.ring.plain(&self.number)) })
    }

    /// Squares up to `to`, unless an intermediate number from there or later is available.
    fn go_on(&mut self, to: u64) {
        if self.next == self.checkpoints.len() {
            self.ring.square(&mut self.number, to - self.at);
        }
        self.at = to;
    }
}

impl Evaluated {
    /// The evaluated delay: compare it with the one asked for.
    pub fn delay(&self) -> &Delay {
        &self.delay
    }

    /// The result, big-endian: the smaller of the number and its negation.
    pub fn output(&self) -> Vec<u8> {
        let output = self.segments.last().map_or(&self.delay.input, |segment| &segment.output);
        self.delay.modulus.write(output)
    }

    /// Verifies the proof.
    pub fn verify(&self) -> Result<(), Invalid> {
        if self.delay.is_trivial() {
            return Err(Invalid::Trivial);
        }
        let modulus = &self.delay.modulus;
        let mut input = canonical(modulus, &self.delay.input);
        for (index, Segment { iterations, output, proof }) in self.segments.iter().enumerate() {
            if canonical(modulus, output) != *output {
                return Err(Invalid::NotCanonical(index));
            }
            if !is_proved(modulus, *iterations, &input, output, proof) {
                return Err(Invalid::Proof(index));
            }
            input = output.clone();
        }
        Ok(())
    }

    /// Length of a result in bytes, for a modulus of this length.
    pub fn bytes(modulus_length: usize, iterations: u64) -> usize {
        MAGIC.len() + size_of::<u16>() + size_of::<u64>() + 2 * modulus_length * (1 + segments(iterations).len())
    }

    /// Encodes the result and all that is needed to verify it. All integers are big-endian: `TPDELAY1`; length of the
    /// modulus, 2 bytes; modulus; input; squarings, 8 bytes; then output and proof of each segment.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Delay { modulus, input, iterations } = &self.delay;
        let mut bytes = Vec::with_capacity(Self::bytes(modulus.length(), *iterations));
        bytes.extend(MAGIC);
        bytes.extend((modulus.length() as u16).to_be_bytes());
        bytes.extend(modulus.to_bytes());
        bytes.extend(modulus.write(input));
        bytes.extend(iterations.to_be_bytes());
        for segment in &self.segments {
            bytes.extend(modulus.write(&segment.output));
            bytes.extend(modulus.write(&segment.proof));
        }
        bytes
    }

    /// Decodes a result without verifying it.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        let bytes = bytes.strip_prefix(MAGIC).ok_or(FormatError::Magic)?;
        let (length, bytes) = bytes.split_first_chunk().ok_or(FormatError::Length)?;
        let length = usize::from(u16::from_be_bytes(*length));
        let (modulus, bytes) = bytes.split_at_checked(length).ok_or(FormatError::Length)?;
        let modulus = Modulus::new(modulus)?;
        if modulus.length() != length {
            return Err(FormatError::Length);
        }
        let (input, bytes) = bytes.split_at_checked(length).ok_or(FormatError::Length)?;
        let (iterations, bytes) = bytes.split_first_chunk().ok_or(FormatError::Length)?;
        let delay = Delay { input: modulus.number(input)?, iterations: u64::from_be_bytes(*iterations), modulus };
        let lengths = segments(delay.iterations);
        if bytes.len() != lengths.len() * 2 * length {
            return Err(FormatError::Segments);
        }
        let read = |(iterations, pair): (u64, &[u8])| {
            let (output, proof) = pair.split_at(length);
            let (output, proof) = (delay.modulus.number(output)?, delay.modulus.number(proof)?);
            Ok::<_, FormatError>(Segment { iterations, output, proof })
        };
        let segments = lengths.into_iter().zip(bytes.chunks_exact(2 * length)).map(read).collect::<Result<_, _>>()?;
        Ok(Self { delay, segments })
    }
}
