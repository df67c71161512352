//! Configuration of the backend, and why it fails to load or hands over.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use wire::Promise;

use super::model::LoadError;
use crate::csr;
use net::Prefix;

/// Configuration of the simulated NIC.
#[derive(Clone, Debug)]
pub struct RtlConfig {
    /// The library that `make rtl` builds.
    pub library: PathBuf,
    /// The node's address; not the wildcard.
    pub own: SocketAddr,
    /// The prefix from which the transfer engine takes unsigned operations in compact frames, if it does: the NIC
    /// supports one IPv4 prefix. The ledger must be empty then.
    pub engine: Option<Prefix>,
    /// The prefix from which verify frames are taken, if the NIC was built with verification engines: one IPv4 prefix,
    /// the same as the transfer engine's if that is on.
    pub verify: Option<Prefix>,
    /// Whether the proof cache answers.
    pub proofs: bool,
    /// The promise of compact frames.
    pub promise: Promise,
    /// Number of operations that the ledger remembers for retries. If the NIC remembers more and replies at once, it
    /// executes none: it would answer operations for which the ledger has no room.
    pub retries: u64,
    /// Minimum time that an operation is remembered.
    pub retention: Duration,
    /// Maximum number of accounts in the ledger.
    pub accounts: u64,
    /// Secret random bits for the hashes of its tables.
    pub secret: [u32; csr::SECRET_COUNT as usize],
    /// The same for the proof cache.
    pub proof_secret: [u32; csr::PROOF_SECRET_COUNT as usize],
    /// Determines the initial contents of memories.
    pub seed: u64,
    /// Called when the NIC hands over.
    pub told: fn(HandOver),
}

/// Why the NIC stopped executing operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOver {
    /// Somebody else is about to write its accounts.
    OtherWriter,
    /// Its memory of retries has no room, so it replied `BUSY`: the node's has more.
    Busy,
    /// The node's reply differs: the NIC's tables are full, or smaller than the node's.
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
    /// Its library cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It has no key-value store.
    #[error("the simulated NIC {} has no key-value store; `make rtl` builds one: turnpike_nic_kv", path.display())]
    NoStore {
        /// Its library.
        path: PathBuf,
    },
    /// Its trusted prefix is one of IPv6.
    #[error("the simulated NIC cannot trust {trusted}; set an IPv4 prefix")]
    NotIpv4 {
        /// The prefix.
        trusted: Prefix,
    },
    /// The operating system reported an error.
    #[error("cannot create an event: {0}")]
    System(#[source] io::Error),
}
