//! The section of the replicas that order together.

use std::{net::SocketAddr, num::NonZeroU64, path::PathBuf, time::Duration};

use order::{Committee, ReplicaKey, ReplicaName, Timing};
pub use order::{Member, Transport};
use serde::{Deserialize, Serialize};

use super::{Backend, Config, ConfigError, Findings, optional_address, text, texts};

/// The fewest seconds for which retries are recognised in a cluster: longer than an operation waits to be ordered.
const LEAST_RETRY_SECONDS: u64 = 10;

/// Minimum number of blocks of an epoch: more than the engine delivers at a time.
const SHORTEST_EPOCH: u64 = 32;

/// Default number of engine blocks to keep: 16 GiB if all are full. A replica that was away while fewer blocks were
/// ordered catches up by itself.
const DEFAULT_KEEP: u64 = 16_384;

/// Operations a second of an account by default: more than a person or a till needs, and a tenth of a prefix's rate.
const DEFAULT_ACCOUNT_RATE: u32 = 100;

/// The replicas that order together. A node alone has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cluster {
    /// Names and addresses of the founding replicas, which the network id names.
    #[serde(with = "texts")]
    pub replicas: Vec<Member>,
    /// Names and addresses of replicas of the present set, for one that is to join it.
    #[serde(with = "texts")]
    pub contacts: Vec<Member>,
    /// The address where this replica listens for the others.
    #[serde(with = "optional_address")]
    pub listen: Option<SocketAddr>,
    /// The transport between replicas, the same on all: `tcp`, `rdma`, or `shm` for those on one machine.
    #[serde(with = "text")]
    pub transport: Transport,
    /// File of its key.
    pub key: PathBuf,
    /// When the network began, in seconds since the Unix epoch.
    pub began: u64,
    /// Timeout for a leader, in milliseconds. It grows while proposed blocks are abandoned nevertheless.
    pub patience: u64,
    /// Blocks of an epoch. The set of replicas changes between two epochs only. The network id names it.
    pub epoch: u64,
    /// Number of engine blocks to keep for replicas that lag or join, beside those of the present epoch, at least two
    /// epochs; 0 keeps all. The ledger's own blocks stay.
    pub keep: u64,
    /// Operations a second that this replica orders for an account of untrusted senders; 0 for no limit.
    pub account_rate: u32,
}

impl Default for Cluster {
    fn default() -> Self {
        Self {
            replicas: Vec::new(),
            contacts: Vec::new(),
            listen: None,
            transport: Transport::default(),
            key: PathBuf::new(),
            began: 0,
            patience: 250,
            epoch: 1024,
            keep: DEFAULT_KEEP,
            account_rate: DEFAULT_ACCOUNT_RATE,
        }
    }
}

/// A new key of a replica, and its public name.
fn new_key() -> Result<([u8; 32], ReplicaName), getrandom::Error> {
    loop {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret)?;
        // 0 and numbers not below the group's order are not keys: once in 2^127.
        if let Some(key) = ReplicaKey::from_bytes(&secret) {
            return Ok((secret, key.name()));
        }
    }
}

impl Cluster {
    /// New keys for replicas that listen for each other at these addresses, and the section of each, without its
    /// key's file. The founders' numbers are the order of the addresses.
    pub fn generate(addresses: &[SocketAddr], began: u64) -> Result<Vec<([u8; 32], Self)>, getrandom::Error> {
        let mut keys = addresses.iter().map(|_| new_key()).collect::<Result<Vec<_>, _>>()?;
        if let Ok(committee) = Committee::new(keys.iter().map(|(_, name)| name.clone()).collect()) {
            keys.sort_by_key(|(_, name)| committee.number(name));
        }
        let member = |((_, name), &address): (&([u8; 32], ReplicaName), _)| Member { name: name.clone(), address };
        let replicas = Vec::from_iter(keys.iter().zip(addresses).map(member));
        let section = |((secret, _), &address): (&([u8; 32], _), _)| {
            (*secret, Self { replicas: replicas.clone(), listen: Some(address), began, ..Self::default() })
        };
        Ok(keys.iter().zip(addresses).map(section).collect())
    }

    /// Whether there are replicas to order with.
    pub fn is_wanted(&self) -> bool {
        !self.replicas.is_empty()
    }

    /// How long the replica waits.
    pub(crate) fn timing(&self) -> Timing {
        Timing::with_leader(Duration::from_millis(self.patience))
    }

    /// Number of engine blocks to keep.
    pub(crate) fn keep(&self) -> Option<u64> {
        (self.keep > 0).then_some(self.keep.max(2 * self.epoch))
    }

    /// The replicas as a committee.
    pub(crate) fn committee(&self) -> Result<Committee, ConfigError> {
        let names = self.replicas.iter().map(|member| member.name.clone()).collect();
        Committee::new(names).map_err(|error| {
            let value = format!("{} replicas", self.replicas.len());
            ConfigError::Value { key: "cluster.replicas", value, allowed: format!("distinct: {error}") }
        })
    }

    /// Blocks of an epoch.
    pub(crate) fn epoch(&self) -> NonZeroU64 {
        NonZeroU64::new(self.epoch).unwrap_or(NonZeroU64::MIN)
    }

    pub(super) fn find(&self, config: &Config, findings: &mut Findings) {
        if !self.is_wanted() {
            let Self { listen, key, began, contacts, .. } = self;
            if listen.is_some() || !key.as_os_str().is_empty() || *began != 0 || !contacts.is_empty() {
                findings.refuse("cluster.replicas", "empty", "the list of all replicas if `cluster` has other keys");
            }
            return;
        }
        findings.within("cluster.patience", self.patience, 10, 60_000);
        findings.within("cluster.epoch", self.epoch, SHORTEST_EPOCH, 1 << 20);
        findings.add(self.committee().map(drop));
        if self.listen.is_none() {
            findings.refuse("cluster.listen", "empty", "the address where this replica listens for the others");
        }
        if self.key.as_os_str().is_empty() {
            findings.refuse("cluster.key", "empty", "the file of this replica's key");
        }
        if self.began == 0 {
            findings.refuse("cluster.began", "0", "the Unix time at which the network began, the same on all replicas");
        }
        if let Backend::Rtl | Backend::Cable = config.io.backend {
            let value = if config.io.backend == Backend::Rtl { "\"rtl\"" } else { "\"cable\"" };
            findings.refuse(
                "io.backend",
                value,
                "\"udp\", \"xdp\", \"af_xdp\" or \"auto\" if `cluster.replicas` is set: the NIC executes operations before \
                 they are ordered",
            );
        }
        let sealing = [&config.chain_key, &config.chain_signer];
        if sealing.iter().any(|path| !path.as_os_str().is_empty()) {
            let value = "set".to_owned();
            findings.refuse(
                "chain_key",
                value,
                "empty, as `chain_signer`, if `cluster.replicas` is set: no key seals blocks",
            );
        }
        if config.blocks.retention > 0 {
            let value = config.blocks.retention.to_string();
            findings.refuse(
                "blocks.retention",
                value,
                "0 if `cluster.replicas` is set: a replica that joins copies all blocks",
            );
        }
        if config.ledger.retry_seconds < LEAST_RETRY_SECONDS {
            let value = config.ledger.retry_seconds.to_string();
            findings.refuse("ledger.retry_seconds", value, "at least 10 if `cluster.replicas` is set");
        }
    }
}
