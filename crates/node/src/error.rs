//! Why a node does not start.

use std::{io, net::SocketAddr};

use crate::config::ConfigError;

/// Why a node does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration has a value that is not allowed.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The data directory cannot be used.
    #[error(transparent)]
    Storage(#[from] storage::Error),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] ledger::journal::Error),
    /// The ledger cannot be recovered from the data directory.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    /// No memory for the proof cache.
    #[error("no memory for the proof cache: {0}; lower `proofs.cache`")]
    ProofCache(#[source] table::Error),
    /// The Bitcoin blocks cannot be used.
    #[error(transparent)]
    Bitcoin(#[from] chain::bitcoin::Error),
    /// No Bitcoin blocks yet, and the followed node does not report its genesis.
    #[error("no Bitcoin blocks yet, and {0}")]
    BitcoinNode(#[from] bitcoind::Error),
    /// The node that is followed is of a network that is not known here.
    #[error("the Bitcoin node is of an unknown network: follow one of mainnet, testnet, testnet4, signet or regtest")]
    BitcoinNetwork,
    /// The chain cannot be used.
    #[error(transparent)]
    Chain(#[from] chain::own::Error),
    /// The chain's key cannot be used.
    #[error(transparent)]
    Sealing(#[from] crate::sealing::Error),
    /// The address cannot be listened on.
    #[error("cannot listen on {address} (`{key}`): {source}; {}", net::listen_advice(source))]
    Listen {
        /// The key of the address.
        key: &'static str,
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The key-value store has no memory.
    #[error("no memory for the key-value store: {0}; lower `kv.memory`")]
    KvMemory(#[source] table::Error),
    /// The key-value store's file is not to be used.
    #[error("cannot use the key-value store's memory file: {0}")]
    KvFile(#[from] kv::store::FileError),
    /// The key-value store has no TLS.
    #[error("cannot set up TLS for the key-value store: {0}")]
    KvTls(#[from] net::tls::Error),
    /// The users of the key-value store cannot be read.
    #[error(transparent)]
    KvUsers(#[from] kv::users::Error),
    /// The key-value store cannot be served.
    #[error("cannot start the key-value store: {0}")]
    Kv(#[from] kv::server::Error),
    /// Electrum's clients cannot be served.
    #[error("cannot serve Electrum: {0}")]
    Electrum(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The replica cannot order.
    #[error(transparent)]
    Order(order::ProcessError),
    /// The data of a replica cannot be used.
    #[error(
        "{source}. Never restore older files of a replica: `turnpike cluster sync --replace` replaces all but its \
         votes with another replica's data"
    )]
    ReplicaData {
        /// The reason.
        source: Box<Error>,
    },
    /// There is no simulated NIC.
    #[error("{0}")]
    Rtl(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The in-NIC ledger cannot be served.
    #[error("cannot serve the in-NIC ledger: {0}")]
    InNic(String),
    /// The other node cannot be followed.
    #[error(transparent)]
    Follow(Box<crate::follow::FollowError>),
    /// The limit of open files leaves too few connections.
    #[error(
        "the limit of open files is {limit}, but the configured connections need {needed}: raise the limit (`ulimit \
         -Hn`, `LimitNOFILE=` of systemd), or lower `limits.connections`, `kv.connections` and `electrum.connections`"
    )]
    OpenFiles {
        /// The limit.
        limit: u64,
        /// The limit that all connections need.
        needed: u64,
    },
    /// The system refuses a thread, a descriptor or random numbers.
    #[error("the system refuses {what}: {source}")]
    System {
        /// The request that the system refused.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// Adds what helps a replica whose data is damaged.
    pub(crate) fn of_replica(self) -> Self {
        let is_data = match &self {
            Self::Storage(error) => {
                use storage::Error::{Corrupt, Failed, NotFound};
                matches!(error, Corrupt { .. } | Failed { .. } | NotFound { .. })
            }
            Self::Sealing(error) => {
                use crate::sealing::Error::{Members, MembersAhead};
                matches!(error, Members { .. } | MembersAhead { .. })
            }
            Self::Order(error) => matches!(error, order::ProcessError::Start(_) | order::ProcessError::Ended),
            Self::Journal(_) | Self::Ledger(_) | Self::Chain(_) => true,
            _ => false,
        };
        if is_data { Self::ReplicaData { source: Box::new(self) } } else { self }
    }
}
