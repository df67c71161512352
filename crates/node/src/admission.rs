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
    positions: Vec<usize>,
}

impl Admission {
    /// An admission under these rules.
    pub fn new(rules: Arc<Rules>) -> Self {
        Self { rules, verifier: Verifier::default(), positions: Vec::new() }
    }

    /// Writes into each operation that has no status yet the one that refuses it, if one does. `now` is the time in
    /// microseconds since the Unix epoch. Gives the number of signatures that were checked.
    pub fn check(&mut self, operations: &mut [SignedOperation], now: u64) -> usize {
        self.positions.clear();
        for (position, signed) in operations.iter_mut().enumerate() {
            if signed.operation.status.get() != 0 {
                continue;
            }
            match self.rules.check(signed, now) {
                Status::Ok => {
                    let digest = transfer::digest(&self.rules.network, signed.signed_bytes());
                    match Signed::parse(Policy::COMPACT, digest, &signed.signature, &signed.public_key) {
                        Ok(item) => {
                            self.verifier.push(item);
                            self.positions.push(position);
                        }
                        Err(_) => signed.operation.status.set(Status::BadSignature.code()),
                    }
                }
                status => signed.operation.status.set(status.code()),
            }
        }
        for (verdict, position) in self.verifier.verify_each().iter().zip(&self.positions) {
            if verdict.is_err() {
                operations[*position].operation.status.set(Status::BadSignature.code());
            }
        }
        self.positions.len()
    }
}

impl Rules {
    /// The rules that need no arithmetic on the curve.
    fn check(&self, signed: &SignedOperation, now: u64) -> Status {
        let oldest = now.saturating_sub(self.replay_window.as_micros() as u64).max(1);
        let newest = now + ledger::CLOCK_TOLERANCE.as_micros() as u64;
        if !(oldest..=newest).contains(&signed.timestamp.get()) {
            return Status::StaleTimestamp;
        }
        let key = &signed.public_key;
        let is_issue = signed.operation.command() == Ok(Command::Issue);
        if is_issue && !self.issuers.iter().any(|issuer| issuer.0 == *key) {
            return Status::NotIssuer;
        }
        if !is_issue && signed.operation.source.0 != transfer::account_id(key) {
            return Status::NotAuthorised;
        }
        Status::Ok
    }
}

/// Microseconds since the Unix epoch.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_micros() as u64)
}
