//! The conformance suite: what docs/protocol.md says, asked of a node over UDP.
//!
//! It knows nothing of a node but its address and what [`Target`] tells, so it holds for every backend and every
//! implementation alike. Each [`Case`] has a name and uses accounts of its own, so that the suite can run against a node
//! that is in use, any number of times.

pub mod cases;
mod link;
mod model;
mod session;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

pub use link::{Link, LinkError};
pub use session::Session;

/// A node, and what may be assumed of it.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its address.
    pub node: SocketAddr,
    /// A local address in one of its trusted prefixes.
    pub trusted: IpAddr,
    /// A local address outside of all of them.
    pub stranger: Option<IpAddr>,
    /// The secret key of an issuer.
    pub issuer: Option<[u8; 32]>,
    /// The least deposit that the node takes for opening an account.
    pub deposit: u64,
    /// The node holds few accounts and reserves some of them, so that its table may be filled.
    pub small_table: bool,
    /// The node limits the rate of strangers to no more than some thousands of operations a second.
    pub rate_limited: bool,
    /// How long a transaction takes at most until it is in a block.
    pub block_patience: Duration,
    /// What it remembers for retries, if a case can fill that.
    pub retries: Option<SmallMemory>,
}

/// A memory of retries that a case can fill with operations before any is forgotten.
#[derive(Clone, Copy, Debug)]
pub struct SmallMemory {
    /// The most operations without a signature that are remembered.
    pub operations: usize,
    /// For how long they are.
    pub time: Duration,
}

/// Why a case did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The node did something else than the protocol says.
    Failed(String),
    /// The target lacks what the case needs.
    Skipped(&'static str),
}

impl From<LinkError> for Stop {
    fn from(error: LinkError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// A case.
#[derive(Clone, Copy)]
pub struct Case {
    /// Its name: the part of the protocol, and what is asked of it.
    pub name: &'static str,
    /// Asks.
    pub run: fn(&mut Session) -> Result<(), Stop>,
}

/// What became of a case.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The case's name.
    pub name: &'static str,
    /// Passed, or why not.
    pub result: Result<(), Stop>,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.result {
            Ok(()) => write!(f, "ok      {}", self.name),
            Err(Stop::Skipped(why)) => write!(f, "skipped {}: {why}", self.name),
            Err(Stop::Failed(what)) => write!(f, "FAILED  {}: {what}", self.name),
        }
    }
}

/// Runs the cases whose name contains `filter`, one after the other, and tells `each` outcome as it is known.
pub fn run(target: &Target, filter: &str, mut each: impl FnMut(&Outcome)) -> Result<Vec<Outcome>, LinkError> {
    let mut outcomes = Vec::new();
    // Accounts and ids begin anywhere, so that they are not those of an earlier run, and no two cases have the same. The upper
    // half is left to counting on.
    let mut last_id = getrandom::u32()? >> 1;
    for case in cases::all().filter(|case| case.name.contains(filter)) {
        let result = Session::open(target, last_id).map_err(Stop::from).and_then(|mut session| {
            let result = (case.run)(&mut session);
            last_id = session.last_id;
            result
        });
        let outcome = Outcome { name: case.name, result };
        each(&outcome);
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// `N passed, N failed`, and how many were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Cases that passed.
    pub passed: usize,
    /// Cases that failed.
    pub failed: usize,
    /// Cases that the target could not be asked.
    pub skipped: usize,
}

impl Summary {
    /// Counts outcomes.
    pub fn from_outcomes(outcomes: &[Outcome]) -> Self {
        let mut summary = Self::default();
        for outcome in outcomes {
            match outcome.result {
                Ok(()) => summary.passed += 1,
                Err(Stop::Failed(_)) => summary.failed += 1,
                Err(Stop::Skipped(_)) => summary.skipped += 1,
            }
        }
        summary
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

/// Fails the case unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err($crate::Stop::Failed(format!($($message)+)));
        }
    };
}

/// Fails the case unless both are equal; says what they are of.
macro_rules! ensure_eq {
    ($found:expr, $expected:expr, $($of:tt)+) => {
        match (&$found, &$expected) {
            (found, expected) if found == expected => {}
            (found, expected) => {
                let of = format!($($of)+);
                return Err($crate::Stop::Failed(format!("{of}: found {found:?}, expected {expected:?}")));
            }
        }
    };
}

pub(crate) use {ensure, ensure_eq};
