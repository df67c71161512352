//! The chain's key: in a file, or with a signer outside of the node.

mod key_file;
mod remote;

use std::{io, path::PathBuf, time::Duration};

use chain::own::{self, Sealer, seal};
use spv::{Authority, BlockHeader, ChainKey, SealedHeader};

use crate::{Config, admission, layout, text::hex};
pub use remote::RemoteSigner;

/// The only safe remedy for a replica that lost votes.
const NEW_KEY: &str = "have it leave the set (`turnpike cluster remove`, or `approve --remove` on the other machines), and \
                       a replica with a new key join (`turnpike cluster add` or `join`)";

/// Why the chain's key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The key file cannot be read or made.
    #[error("cannot use the chain's key: {0}")]
    File(#[from] storage::Error),
    /// The file holds something else.
    #[error("{} is not a key file: expected 64 hexadecimal digits", path.display())]
    NotAKey {
        /// The file.
        path: PathBuf,
    },
    /// There is a chain, but not its key.
    #[error(
        "the chain's key {} is missing: restore it, or set `chain_key` to its path; an existing chain cannot get \
         another key",
        path.display()
    )]
    Missing {
        /// Where the key is looked for.
        path: PathBuf,
    },
    /// The file holds the key of another chain.
    #[error("{} has key {found}, but the chain began with {expected}: set `chain_key` to its key", path.display())]
    OtherKey {
        /// The file.
        path: PathBuf,
        /// The chain's public key.
        expected: String,
        /// The file's public key.
        found: String,
    },
    /// Replicas order the chain.
    #[error("replicas order the chain and no key seals it, so a single node cannot extend it: set another `data`")]
    Ordered,
    /// There is no key of the replica.
    #[error("the replica's key {} is missing: restore it, or set `cluster.key` to its path", path.display())]
    NoReplicaKey {
        /// Where it is looked for.
        path: PathBuf,
    },
    /// The founders are no set.
    #[error("`cluster.replicas`: {0}")]
    Founders(order::CommitteeError),
    /// The stored changes of the set are not valid.
    #[error(
        "{} is damaged, or of another network",
        path.display()
    )]
    Members {
        /// The file.
        path: PathBuf,
    },
    /// The stored changes of the set are of later blocks than the chain has.
    #[error(
        "{} is as of block {height}, but the chain ends at block {tip}: restore the whole data directory from one copy",
        path.display()
    )]
    MembersAhead {
        /// The file.
        path: PathBuf,
        /// The height that it is as of.
        height: u64,
        /// The chain's tip.
        tip: u64,
    },
    /// The votes that the key made are not there.
    #[error(
        "the votes of this replica in {} were deleted, but {} shows that its key has voted: it could vote twice. \
         Restore its newest data, or {NEW_KEY}",
        data.display(),
        mark.display()
    )]
    VotesLost {
        /// The data directory.
        data: PathBuf,
        /// The mark beside the key.
        mark: PathBuf,
    },
    /// The data is not what the key voted with last.
    #[error(
        "{} is an older copy of this replica's data than {} shows: it could vote twice. Restore its newest data, or \
         {NEW_KEY}",
        data.display(),
        mark.display()
    )]
    SetBack {
        /// The data directory.
        data: PathBuf,
        /// The mark beside the key.
        mark: PathBuf,
    },
    /// Votes are damaged.
    #[error("the votes of this replica are damaged: {source}. It could vote twice; {NEW_KEY}")]
    VotesDamaged {
        /// The file and its fault.
        source: order::VoteError,
    },
    /// The incarnation or its mark is damaged.
    #[error(
        "{} is damaged: it shows whether the data is the newest that this replica voted with. Restore the file from a \
         copy, or {NEW_KEY}",
        path.display()
    )]
    Mark {
        /// The file.
        path: PathBuf,
    },
    /// The key is of none of the replicas.
    #[error(
        "{} is not the key of a replica in the set: set `cluster.key` to this replica's own key, or, if it is to join, \
         list members of the present set in `cluster.contacts`",
        path.display()
    )]
    NotAReplica {
        /// The key's file.
        path: PathBuf,
    },
    /// The chain is another one than that of these replicas.
    #[error(
        "the chain in the data directory was not made with these values of `network`, `cluster.replicas`, \
         `cluster.began` and `cluster.epoch`: set another `data`, or restore the values"
    )]
    OtherCluster,
    /// The system gave no random bytes.
    #[error("the system returned no random bytes: {0}")]
    Random(getrandom::Error),
    /// The signer cannot be reached, or does not answer in time.
    #[error(
        "the signer at {} failed at {action}: {source}; check that it runs and that the node may use its socket",
        socket.display()
    )]
    Signer {
        /// Its socket.
        socket: PathBuf,
        /// The step that failed.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The signer refuses.
    #[error("the signer at {} refused with code {code}: see its own log", socket.display())]
    Refused {
        /// Its socket.
        socket: PathBuf,
        /// The code of its reply.
        code: u32,
    },
    /// The signer's public key is not valid.
    #[error("the signer at {} sent 32 bytes that are not a valid public key", socket.display())]
    NoPublicKey {
        /// Its socket.
        socket: PathBuf,
    },
}

/// Checks that a key file that there is can be used.
pub fn check(config: &Config) -> Result<(), Error> {
    if signer(config).is_none() {
        key_file::read(&path(config))?;
    }
    Ok(())
}

/// Creates the genesis header of a new chain, and the sealer of the headers after it.
pub fn begin(config: &Config) -> Result<(SealedHeader, Box<dyn Sealer>), own::Error> {
    let sealing = |source: Error| own::Error::Sealing { height: 0, source: source.into() };
    let (mut sealer, key): (Box<dyn Sealer>, ChainKey) = match signer(config) {
        Some(mut signer) => {
            let key = signer.public_key().map_err(sealing)?;
            (Box::new(signer), key)
        }
        None => {
            let key = key_file::read_or_make(&path(config)).map_err(sealing)?;
            let public = key.public();
            (Box::new(key), public)
        }
    };
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| sealing(Error::Random(error)))?;
    let header = BlockHeader::genesis(&config.network, &random, admission::now(), &key);
    Ok((seal(&mut *sealer, &Authority::Key(key), &header)?, sealer))
}

/// Returns the sealer of an existing chain. A signer is not contacted before it is needed: the node serves without it,
/// and blocks wait.
pub fn resume(config: &Config, authority: &Authority) -> Result<Box<dyn Sealer>, Error> {
    let Authority::Key(expected) = authority else { return Err(Error::Ordered) };
    if let Some(signer) = signer(config) {
        return Ok(Box::new(signer));
    }
    let path = path(config);
    let key = key_file::read(&path)?.ok_or_else(|| Error::Missing { path: path.clone() })?;
    if key.public() != *expected {
        let [expected, found] = [expected, &key.public()].map(|key| hex(&key.to_bytes()));
        return Err(Error::OtherKey { path, expected, found });
    }
    Ok(Box::new(key))
}

/// Where the key file is.
fn path(config: &Config) -> PathBuf {
    if config.chain_key.as_os_str().is_empty() { config.data.join(layout::CHAIN_KEY) } else { config.chain_key.clone() }
}

fn signer(config: &Config) -> Option<RemoteSigner> {
    let is_configured = !config.chain_signer.as_os_str().is_empty();
    let timeout = Duration::from_millis(config.chain_signer_timeout);
    is_configured.then(|| RemoteSigner::new(config.chain_signer.clone(), timeout))
}
