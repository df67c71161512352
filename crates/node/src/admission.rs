//! Admission of signed operations: everything that can be checked before the single writer, on any thread.

use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use verify::{
    BatchVerifier,
    secp256k1::ecdsa::{Policy, Signed, Verifier},
    transfer,
};
use wire::{Command, SignedOperation, Status};

use crate::config::PublicKey;

/// Frames that are checked at once: the lanes of two passes where each has a single operation, and few enough for one of many
/// operations not to wait long for the others.
pub const FRAMES: usize = 16;

/// The rules for signed operations.
#[derive(Debug)]
pub struct Rules {
    /// The network id, which signatures cover.
    pub network: [u8; 32],
    /// Keys that may sign ISSUE.
    pub issuers: Vec<PublicKey>,
    /// How old a signed operation may be.
    pub replay_window: Duration,
}

/// Applies the rules; one for each thread, for its buffers.
#[derive(Debug)]
pub struct Admission {
    rules: Arc<Rules>,
    verifier: Verifier,
}

impl Admission {
    /// An admission under these rules.
    pub fn new(rules: Arc<Rules>) -> Self {
        Self { rules, verifier: Verifier::default() }
    }

    /// Writes into each operation that has no status yet the one that refuses it, if one does. `now` is the time in
    /// microseconds since the Unix epoch. Gives the number of signatures that were checked: those of all frames in one batch,
    /// as a frame alone may have but one.
    pub fn check<'a>(&mut self, frames: impl Iterator<Item = &'a mut [SignedOperation]>, now: u64) -> usize {
        let mut pushed = Vec::new();
        for signed in frames.flatten().filter(|signed| signed.operation.status.get() == 0) {
            match self.rules.check(signed, now).and_then(|()| self.parse(signed)) {
                Ok(item) => {
                    self.verifier.push(item);
                    pushed.push(signed);
                }
                Err(status) => signed.operation.status.set(status.code()),
            }
        }
        for (verdict, signed) in self.verifier.verify_each().iter().zip(&mut pushed) {
            if verdict.is_err() {
                signed.operation.status.set(Status::BadSignature.code());
            }
        }
        pushed.len()
    }

    fn parse(&self, signed: &SignedOperation) -> Result<Signed, Status> {
        let digest = transfer::digest(&self.rules.network, signed.signed_bytes());
        Signed::parse(Policy::COMPACT, digest, &signed.signature, &signed.public_key).map_err(|_| Status::BadSignature)
    }
}

impl Rules {
    /// The rules that need no arithmetic on the curve.
    fn check(&self, signed: &SignedOperation, now: u64) -> Result<(), Status> {
        let oldest = now.saturating_sub(self.replay_window.as_micros() as u64).max(1);
        let newest = now + ledger::CLOCK_TOLERANCE.as_micros() as u64;
        if !(oldest..=newest).contains(&signed.timestamp.get()) {
            return Err(Status::StaleTimestamp);
        }
        let key = &signed.public_key;
        let is_issue = signed.operation.command() == Ok(Command::Issue);
        if is_issue && !self.issuers.iter().any(|issuer| issuer.0 == *key) {
            return Err(Status::NotIssuer);
        }
        if !is_issue && signed.operation.source.0 != transfer::account_id(key) {
            return Err(Status::NotAuthorised);
        }
        Ok(())
    }
}

/// Microseconds since the Unix epoch.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_micros() as u64)
}
