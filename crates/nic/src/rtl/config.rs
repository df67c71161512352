//! What the backend is made with, and why it is not, or gives up.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use wire::Promise;

use super::model::LoadError;
use crate::csr;
use crate::prefix::Prefix;

/// How the backend uses the NIC.
#[derive(Clone, Debug)]
pub struct RtlConfig {
    /// The library that `make rtl` builds.
    pub library: PathBuf,
    /// The node's address; not the wildcard.
    pub own: SocketAddr,
    /// From where unsigned operations are taken, if the transfer engine is to take compact frames: the NIC knows one prefix
    /// of IPv4. The ledger has to be empty then.
    pub engine: Option<Prefix>,
    /// From where verify frames are taken, if the NIC was built with verification engines: one prefix of IPv4, that of the transfer
    /// engine where that takes operations.
    pub verify: Option<Prefix>,
    /// Whether the proof cache answers.
    pub proofs: bool,
    /// The promise of compact frames.
    pub promise: Promise,
    /// Operations that the ledger remembers for their retries. Where the NIC remembers more and answers at once, it executes
    /// none: it would answer what the ledger has no room for.
    pub retries: u64,
    /// How long an operation is remembered, at least.
    pub retention: Duration,
    /// The most accounts that the ledger holds.
    pub accounts: u64,
    /// Secret random bits for the hashes of its tables.
    pub secret: [u32; csr::SECRET_COUNT as usize],
    /// The same for the proof cache.
    pub proof_secret: [u32; csr::PROOF_SECRET_COUNT as usize],
    /// What memories begin with.
    pub seed: u64,
    /// Is told when the NIC hands over.
    pub told: fn(HandOver),
}

/// Why the NIC executes no operations any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOver {
    /// Somebody else is about to write its accounts.
    OtherWriter,
    /// Its memory of retries has no room, so it answered `BUSY`: the node's has more.
    Busy,
    /// The node answers otherwise: the NIC's tables are full, or smaller than the node's.
    Differs,
}

impl fmt::Display for HandOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherWriter => "an operation that is not a compact frame writes one of its accounts",
            Self::Busy => "its memory of retries is full",
            Self::Differs => "the node's reply differs",
        })
    }
}

/// Why there is no simulated NIC.
#[derive(Debug, thiserror::Error)]
pub enum RtlError {
    /// Its library.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The system.
    #[error("cannot create an event: {0}")]
    System(#[source] io::Error),
}
