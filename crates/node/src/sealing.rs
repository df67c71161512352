//! The chain's key: in a file, or with a signer outside of the node.

mod key_file;
mod remote;

use std::{io, path::PathBuf, time::Duration};

use chain::own::{self, Sealer, seal};
use spv::{Authority, BlockHeader, ChainKey, SealedHeader};

use crate::{Config, admission, layout};
pub use remote::RemoteSigner;

/// The only safe remedy for a replica that lost votes.
const NEW_KEY: &str = "have it leave the set (`turnpike cluster remove`, or `approve --remove` on the other machines), and \
                       a replica with a new key join (`turnpike cluster add` or `join`)";

/// Why the chain's key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The key file cannot be read or made.
    #[error("the chain's key: {0}")]
    File(#[from] storage::Error),
    /// The file holds something else.
    #[error("{} is not a key file: 64 hexadecimal digits expected", path.display())]
    NotAKey {
        /// The file.
        path: PathBuf,
    },
    /// There is a chain, but not its key.
    #[error(
        "the chain's key {} is not there: put it back, or name where it is with `chain_key`; a chain that exists cannot get another key",
        path.display()
    )]
    Missing {
        /// Where the key is looked for.
        path: PathBuf,
    },
    /// The file holds the key of another chain.
    #[error("{} has key {found}, but the chain was begun with {expected}: name its key with `chain_key`", path.display())]
    OtherKey {
        /// The file.
        path: PathBuf,
        /// The chain's public key.
        expected: String,
        /// The file's public key.
        found: String,
    },
    /// Replicas order the chain.
    #[error("replicas order the chain, and no key seals it: a node alone cannot go on with it; name another `data`")]
    Ordered,
    /// There is no key of the replica.
    #[error("the replica's key {} is not there: put it back, or name where it is with `cluster.key`", path.display())]
    NoReplicaKey {
        /// Where it is looked for.
        path: PathBuf,
    },
    /// The founders are no set.
    #[error("`cluster.replicas`: {0}")]
    Founders(order::CommitteeError),
    /// What is kept of changes of the set cannot be.
    #[error(
        "{} is damaged, or of another network",
        path.display()
    )]
    Members {
        /// The file.
        path: PathBuf,
    },
    /// The votes that the key made are not there.
    #[error(
        "the votes of this replica in {} were deleted, but {} shows that its key has voted: it could vote twice. Put its \
         newest data back, or {NEW_KEY}",
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
        "{} is an older copy of this replica's data than {} shows: it could vote twice. Put its newest data back, or \
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
        "{} is damaged: it shows whether the data is the newest that this replica voted with. Put that file back from a \
         copy, or {NEW_KEY}",
        path.display()
    )]
    Mark {
        /// The file.
        path: PathBuf,
    },
    /// The key is of none of the replicas.
    #[error(
        "{} is the key of none of the replicas: name this replica's own key with `cluster.key`, or, where it is to join them, \
         those of the present set with `cluster.contacts`",
        path.display()
    )]
    NotAReplica {
        /// The key's file.
        path: PathBuf,
    },
    /// The chain is another one than that of these replicas.
    #[error(
        "the data directory has another chain than `network`, `cluster.replicas`, `cluster.began` and `cluster.epoch` make: \
         name another `data`, or put them back to what they were"
    )]
    OtherCluster,
    /// The system gave no random bytes.
    #[error("no random numbers from the system: {0}")]
    Random(getrandom::Error),
    /// The signer cannot be reached, or does not answer in time.
    #[error("the signer at {} failed at {action}: {source}; see that it runs and that the node may use its socket", socket.display())]
    Signer {
        /// Its socket.
        socket: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The signer refuses.
    #[error("the signer at {} refuses with code {code}: its own log tells why", socket.display())]
    Refused {
        /// Its socket.
        socket: PathBuf,
        /// The code of its reply.
        code: u32,
    },
    /// The signer's public key is none.
    #[error("the signer at {} gave 32 bytes that are no public key", socket.display())]
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

/// Makes the genesis header of a new chain, and whoever is to seal the headers after it.
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

/// Whoever seals the headers of a chain that exists. A signer is not asked before it is needed: the node serves without it, and
/// blocks wait.
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

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
