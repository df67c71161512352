//! Distributes messages over lanes, and chooses a backend.

use std::hint::black_box;
use std::ops::Range;
use std::sync::LazyLock;
use std::time::Instant;

use super::Digest;
#[cfg(target_arch = "aarch64")]
use super::aarch64;
use super::hash_batch::{HashBatch, Many, One};
use super::kernel::hash_lanes;
use super::plan::{Function, Padding, Plan};
use super::portable::Portable;
#[cfg(target_arch = "x86_64")]
use super::x86;

/// Hashes the messages of `range`, `LANES` at a time, with a backend's [`hash_lanes`].
fn drive<const LANES: usize>(
    hash_lanes: impl Fn(&[&[u8]; LANES], &mut [Digest; LANES]),
    batch: &mut impl HashBatch,
    range: Range<usize>,
) {
    let mut digests = [[0; 32]; LANES];
    for first in range.clone().step_by(LANES) {
        let used = LANES.min(range.end - first);
        // Lanes beyond the last message hash it again; their digests are dropped.
        let mut messages: [&[u8]; LANES] = [&[]; LANES];
        for (lane, message) in messages.iter_mut().enumerate() {
            *message = batch.message(first + lane.min(used - 1));
        }
        hash_lanes(&messages, &mut digests);
        for (lane, digest) in digests[..used].iter().enumerate() {
            batch.put(first + lane, digest);
        }
    }
}

/// A way of computing SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// 32 lanes of AVX-512, in two vectors.
    Avx512,
    /// 8 lanes of AVX2.
    Avx2,
    /// The SHA extensions: of x86-64, two messages interleaved; of ARMv8, by crate `sha2`.
    ShaNi,
    /// Plain integers, on any processor.
    Portable,
}

impl Backend {
    /// All backends.
    pub const ALL: [Self; 4] = [Self::Avx512, Self::Avx2, Self::ShaNi, Self::Portable];

    /// Whether this processor has the instructions that the backend needs.
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Self::ShaNi => is_x86_feature_detected!("sha") && is_x86_feature_detected!("sse4.1"),
            #[cfg(target_arch = "aarch64")]
            Self::ShaNi => std::arch::is_aarch64_feature_detected!("sha2"),
            Self::Portable => true,
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    fn lanes(self) -> usize {
        match self {
            Self::Avx512 => 32,
            Self::Avx2 => 8,
            Self::ShaNi => 2,
            Self::Portable => 1,
        }
    }

    /// # Safety
    ///
    /// The backend must be available.
    unsafe fn drive(self, plan: &Plan<'_>, batch: &mut impl HashBatch, range: Range<usize>) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                // SAFETY: the caller guarantees that the processor has AVX-512 F and BW.
                drive::<32>(|messages, digests| unsafe { x86::avx512(plan, messages, digests) }, batch, range);
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => {
                // SAFETY: the caller guarantees that the processor has AVX2.
                drive::<8>(|messages, digests| unsafe { x86::avx2(plan, messages, digests) }, batch, range);
            }
            #[cfg(target_arch = "x86_64")]
            Self::ShaNi => {
                let (pairs, last) = (range.start..range.end - range.len() % 2, range.end - range.len() % 2..range.end);
                // SAFETY: the caller guarantees the SHA extensions and SSE 4.1.
                drive::<2>(|messages, digests| unsafe { x86::sha_ni_two(plan, messages, digests) }, batch, pairs);
                // SAFETY: the caller guarantees the SHA extensions and SSE 4.1.
                drive::<1>(|messages, digests| unsafe { x86::sha_ni_one(plan, messages, digests) }, batch, last);
            }
            #[cfg(target_arch = "aarch64")]
            Self::ShaNi => {
                // SAFETY: crate `sha2` checks for the instructions itself.
                drive::<1>(
                    |messages, digests| unsafe { hash_lanes::<aarch64::Sha2, 1>(plan, messages, digests) },
                    batch,
                    range,
                );
            }
            _ => {
                // SAFETY: this one needs no special instructions.
                drive::<1>(
                    |messages, digests| unsafe { hash_lanes::<Portable, 1>(plan, messages, digests) },
                    batch,
                    range,
                );
            }
        }
    }
}

/// A choice of backends: a wide one for many messages, and a narrow one for the rest.
#[derive(Debug)]
pub struct Engine {
    wide: Backend,
    narrow: Backend,
    /// From this many messages on, one pass of the wide backend is faster.
    threshold: usize,
}

impl Engine {
    /// The fastest engine on this processor.
    ///
    /// The backends are timed against each other once per process, which takes some tens of microseconds. The choice
    /// changes no digest.
    pub fn fastest() -> &'static Self {
        static FASTEST: LazyLock<Engine> = LazyLock::new(Engine::measured);
        &FASTEST
    }

    /// One backend for everything, or `None` if this processor does not have it.
    pub fn only(backend: Backend) -> Option<Self> {
        backend.is_available().then_some(Self { wide: backend, narrow: backend, threshold: 0 })
    }

    /// The backend for many messages.
    pub fn wide(&self) -> Backend {
        self.wide
    }

    /// The backend for few messages, and the number of messages from which on the wide one is used.
    pub fn narrow(&self) -> (Backend, usize) {
        (self.narrow, self.threshold)
    }

    fn measured() -> Self {
        let narrow = if Backend::ShaNi.is_available() { Backend::ShaNi } else { Backend::Portable };
        let alone = pass(narrow) / narrow.lanes() as f64;
        let mut best = Self { wide: narrow, narrow, threshold: 0 };
        let mut per_message = alone;
        for wide in [Backend::Avx2, Backend::Avx512].into_iter().filter(|wide| wide.is_available()) {
            let pass = pass(wide);
            if pass / (wide.lanes() as f64) < per_message {
                per_message = pass / wide.lanes() as f64;
                best = Self { wide, narrow, threshold: (pass / alone).ceil() as usize };
            }
        }
        best
    }

    /// Hashes `count` messages of `length` bytes.
    pub(super) fn run<J: HashBatch>(&self, function: &Function, length: usize, count: usize, batch: &mut J) {
        if count == 0 {
            return;
        }
        let total = function.prefix + length;
        let made;
        let padding = match total {
            _ if (1..=55).contains(&(total % 64)) => None,
            64 => Some(Padding::AFTER_64),
            128 => Some(Padding::AFTER_128),
            _ => {
                made = Padding::new(total);
                Some(&made)
            }
        };
        let plan = Plan { function, length, padding };
        let left = count % self.wide.lanes();
        let wide = if left >= self.threshold { count } else { count - left };
        // SAFETY: an engine only consists of available backends.
        unsafe {
            if wide > 0 {
                self.wide.drive(&plan, batch, 0..wide);
            }
            if wide < count {
                self.narrow.drive(&plan, batch, wide..count);
            }
        }
    }

    /// Hashes one message.
    pub(super) fn hash(&self, function: &Function, message: &[u8]) -> Digest {
        let mut batch = One { message, digest: [0; 32] };
        self.run(function, message.len(), 1, &mut batch);
        batch.digest
    }
}

/// Nanoseconds of one pass of a backend over all its lanes, each with a 64-byte message.
///
/// The minimum of a few, because any disturbance makes a measurement longer.
fn pass(backend: Backend) -> f64 {
    const PASSES: usize = 4;
    let messages = [[0x5a; 64]; 32 * PASSES];
    let mut digests = [[0; 32]; 32 * PASSES];
    let function = Function { prefix: 64, ..Function::DOUBLE };
    let plan = Plan { function: &function, length: 64, padding: Some(Padding::AFTER_128) };
    let count = backend.lanes() * PASSES;
    let mut least = f64::INFINITY;
    for _ in 0..6 {
        let start = Instant::now();
        let mut batch = Many { messages: black_box(&messages[..]), digests: &mut digests };
        // SAFETY: the callers only pass available backends.
        unsafe { backend.drive(&plan, &mut batch, 0..count) };
        black_box(&digests);
        least = least.min(start.elapsed().as_nanos() as f64 / PASSES as f64);
    }
    least
}

/// Hashes one message that comes in parts.
pub(super) fn hash_parts(function: &Function, parts: &[&[u8]]) -> Digest {
    // This crate's users hash short messages; for longer ones an allocation does not matter.
    let length = parts.iter().map(|part| part.len()).sum();
    let mut short = [0; 512];
    let mut long = Vec::new();
    let message = match short.get_mut(..length) {
        Some(message) => message,
        None => {
            long.resize(length, 0);
            &mut long[..]
        }
    };
    let mut at = 0;
    for part in parts {
        message[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    Engine::fastest().hash(function, message)
}

#[cfg(test)]
impl Engine {
    /// The widest and the narrowest backend together, so that most counts use both.
    pub(super) fn mixed() -> Self {
        let wide = Backend::ALL.into_iter().find(|backend| backend.is_available()).unwrap();
        Self { wide, narrow: Backend::Portable, threshold: 5 }
    }
}
