//! The configuration: keys, defaults, and what values are allowed.

mod bitcoin;
mod check;
mod cluster;
mod electrum;
mod follow;
mod kv;
mod page;

use std::{
    fmt,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use ledger::{Issuers, Snapshots};
use net::Prefix;
use nic::{StreamLimits, rate::RateLimit, selector::Audience};
use serde::{Deserialize, Serialize};
use wire::Promise;

use crate::text::from_hex;

pub use bitcoin::Bitcoin;
use check::Findings;
pub use cluster::{Cluster, Member, Transport};
pub use electrum::Electrum;
pub use follow::Follow;
pub use kv::{ITEM_SIZES, Kv, KvIo, KvTls};
pub use page::Page;

/// The configuration file with every key at its default, and what each is for.
pub const DEFAULT_TOML: &str = include_str!("config.toml");

/// Configuration of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The data directory.
    pub data: PathBuf,
    /// Log filter, unless the command line sets it: a level, or directives such as `node=debug`.
    pub log: String,
    /// Address of the protocol.
    pub listen: SocketAddr,
    /// Address of the page, metrics and health.
    #[serde(with = "optional_address")]
    pub http: Option<SocketAddr>,
    /// Name of the network, for the genesis block.
    pub network: String,
    /// File of the chain's key; empty for one in the data directory.
    pub chain_key: PathBuf,
    /// Socket of a signer that holds the chain's key; empty for none.
    pub chain_signer: PathBuf,
    /// Timeout of the signer, in milliseconds.
    pub chain_signer_timeout: u64,
    /// Prefixes from which unsigned operations are accepted.
    #[serde(with = "texts")]
    pub trusted: Vec<Prefix>,
    /// Keys that may sign ISSUE for accounts of asset 0.
    #[serde(with = "texts")]
    pub issuers: Vec<PublicKey>,
    /// Other assets.
    pub assets: Vec<Asset>,
    /// Promise of replies to frames that request none.
    #[serde(with = "promise")]
    pub promise: Promise,
    /// Accounts and retries.
    pub ledger: Ledger,
    /// The block builder.
    pub blocks: Blocks,
    /// Limits for clients.
    pub limits: Limits,
    /// The proof service.
    pub proofs: Proofs,
    /// The data path.
    pub io: Io,
    /// The page.
    pub page: Page,
    /// The key-value store.
    pub kv: Kv,
    /// The Bitcoin node that is followed.
    pub bitcoin: Bitcoin,
    /// The Electrum protocol.
    pub electrum: Electrum,
    /// The replicas that order together.
    pub cluster: Cluster,
    /// The node that this one follows.
    pub follow: Follow,
}

/// An asset other than 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asset {
    /// Its code.
    pub code: u32,
    /// Keys that may sign ISSUE for its accounts.
    #[serde(with = "texts")]
    pub issuers: Vec<PublicKey>,
}

/// Accounts and retries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ledger {
    /// Maximum number of accounts in the table.
    pub accounts: u64,
    /// Seconds after an operation during which its retry is recognised.
    pub retry_seconds: u64,
    /// Maximum number of unsigned operations remembered for retries.
    pub retry_operations: u64,
    /// Maximum age of a signed operation, in seconds.
    pub replay_window: u64,
    /// Maximum number of signed operations remembered for retries.
    pub signed_operations: u64,
    /// The least that an account pays for opening another.
    pub deposit: u64,
    /// The share of the accounts that only trusted senders open, in percent.
    pub reserved: u64,
    /// Whether issuers may freeze accounts.
    pub freezing: bool,
}

/// The block builder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Blocks {
    /// Most transactions in a block.
    pub transactions: u32,
    /// Longest time that a block stays open, in milliseconds.
    pub interval: u64,
    /// Time between snapshots, in seconds.
    pub snapshot: u64,
    /// Time for which blocks are retained, in seconds; 0 for ever.
    pub retention: u64,
}

impl Blocks {
    /// When snapshots are written and blocks pruned.
    pub(crate) fn snapshots(&self) -> Snapshots {
        let retention = (self.retention > 0).then_some(Duration::from_secs(self.retention));
        Snapshots::every(Duration::from_secs(self.snapshot)).retain(retention)
    }
}

/// Limits for clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Datagrams a second for each prefix; 0 for no limit.
    pub rate: u32,
    /// Senders whose verify frames are answered.
    #[serde(with = "audience")]
    pub verify: Audience,
    /// Maximum number of TCP connections of trusted prefixes, and the same number of all others.
    pub connections: usize,
    /// TCP connections of one prefix that is not trusted.
    pub prefix_connections: usize,
    /// Timeout of a frame over TCP, in milliseconds.
    pub frame_timeout: u64,
    /// Maximum number of feeds; 0 for none.
    pub feeds: usize,
}

/// The proof service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Proofs {
    /// Megabytes of memory for the cache; 0 for none.
    pub cache: u64,
    /// Rebuild the tree of the whole block for each proof instead of reading stored nodes.
    pub rebuild: bool,
}

/// The data path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Io {
    /// What carries datagrams.
    pub backend: Backend,
    /// The interface that XDP answers on; empty for the one that has the address to listen on. With the simulated NIC a
    /// TAP device; empty for sockets. With a board the one on its network.
    pub interface: String,
    /// The library of the simulated NIC.
    pub rtl: PathBuf,
    /// Poll without sleeping.
    pub busy_poll: bool,
    /// Processors for the threads `io`, `journal` and `builder`.
    pub pin: Vec<usize>,
    /// Threads that verify signatures; 0 for the number of processors less one.
    pub verify_threads: usize,
}

/// What carries datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// The best that the machine allows.
    Auto,
    /// Sockets of the kernel.
    Udp,
    /// These, and an XDP program that answers reads in the network driver.
    Xdp,
    /// As `Xdp`; other datagrams bypass the host's network stack.
    AfXdp,
    /// Sockets or a TAP device, and the simulated NIC between them and the node.
    Rtl,
    /// The NIC on a board, on the network of an interface.
    Cable,
}

/// A compressed secp256k1 public key, written in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(pub [u8; 33]);

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The text is not TOML, or has a key or a kind of value that there is not.
    #[error("{0}")]
    Parse(#[from] toml::de::Error),
    /// A value is out of its range.
    #[error("`{key}` is {value}, but must be {allowed}")]
    Value {
        /// The key.
        key: &'static str,
        /// The configured value.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// The certificates or the key of a section cannot be used.
    #[error("`{section}`: {source}")]
    Tls {
        /// The section.
        section: &'static str,
        /// The cause; boxed, as it is large.
        source: Box<::net::tls::Error>,
    },
    /// A key cannot be read.
    #[error("`{key}`: {reason}")]
    Key {
        /// The key.
        key: String,
        /// The reason.
        reason: String,
    },
    /// Several things are wrong.
    #[error("{}", Vec::from_iter(.0.iter().map(ToString::to_string)).join("\n"))]
    Several(Vec<ConfigError>),
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data: "turnpike-data".into(),
            log: "info".into(),
            listen: SocketAddr::from(([127, 0, 0, 1], wire::DEFAULT_PORT)),
            http: Some(SocketAddr::from(([127, 0, 0, 1], 7480))),
            network: "turnpike".into(),
            chain_key: PathBuf::new(),
            chain_signer: PathBuf::new(),
            chain_signer_timeout: 2000,
            trusted: Vec::new(),
            issuers: Vec::new(),
            assets: Vec::new(),
            promise: Promise::Durable,
            ledger: Ledger::default(),
            blocks: Blocks::default(),
            limits: Limits::default(),
            proofs: Proofs::default(),
            io: Io::default(),
            page: Page::default(),
            kv: Kv::default(),
            bitcoin: Bitcoin::default(),
            electrum: Electrum::default(),
            cluster: Cluster::default(),
            follow: Follow::default(),
        }
    }
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            accounts: 1 << 21,
            retry_seconds: 10,
            retry_operations: 30_000_000,
            replay_window: 120,
            signed_operations: 3_300_000,
            deposit: 100,
            reserved: 10,
            freezing: false,
        }
    }
}

impl Default for Blocks {
    fn default() -> Self {
        Self { transactions: spv::MAX_BLOCK_TRANSACTIONS, interval: 1000, snapshot: 60, retention: 0 }
    }
}

impl Default for Limits {
    fn default() -> Self {
        let StreamLimits { connections, prefix_connections, frame, .. } = StreamLimits::default();
        let frame_timeout = frame.as_millis() as u64;
        let rate = RateLimit::default().per_second;
        Self { rate, verify: Audience::Trusted, connections, prefix_connections, frame_timeout, feeds: 8 }
    }
}

impl Default for Proofs {
    fn default() -> Self {
        Self { cache: 32, rebuild: false }
    }
}

impl Default for Io {
    fn default() -> Self {
        Self {
            backend: Backend::Udp,
            interface: String::new(),
            rtl: "target/rtl/libturnpike_nic.so".into(),
            busy_poll: false,
            pin: Vec::new(),
            verify_threads: 0,
        }
    }
}

impl Ledger {
    /// How much the ledger holds.
    pub fn limits(&self) -> ledger::Limits {
        let retries = ledger::retries::Limits {
            operations: self.retry_operations as usize,
            retention: Duration::from_secs(self.retry_seconds),
            signed: self.signed_operations as usize,
            replay: Duration::from_secs(self.replay_window),
        };
        ledger::Limits { accounts: self.accounts as usize, retries }
    }

    /// Number of accounts from which on only trusted senders open others.
    pub fn unreserved(&self) -> u64 {
        // Both factors are limited.
        self.accounts - (self.accounts * self.reserved.min(100)).div_ceil(100)
    }
}

impl Config {
    /// Reads and checks a configuration file.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text =
            std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        Self::parse(&text)
    }

    /// Reads and checks the text of a configuration file.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let error = match toml::from_str::<Self>(text) {
            Ok(config) => return config.check().map(|()| config),
            Err(error) => error,
        };
        // Text that is not TOML has one error. Else each key is parsed alone, so that all errors are reported.
        let Ok(mut table) = text.parse::<toml::Table>() else { return Err(error.into()) };
        let unreadable = check::take_unreadable(&mut table);
        let first = match unreadable.len() {
            // The error also shows the line.
            0 | 1 => error.into(),
            _ => ConfigError::Several(unreadable),
        };
        let mut findings = Findings::default();
        if let Ok(rest) = table.try_into::<Self>() {
            rest.find(&mut findings);
        }
        Err(findings.into_error(first))
    }

    /// Checks that every value is one that a node can run with.
    pub fn check(&self) -> Result<(), ConfigError> {
        let mut findings = Findings::default();
        self.find(&mut findings);
        findings.into_result()
    }

    /// The issuers of all assets.
    pub fn issuers(&self) -> Issuers {
        let mut issuers = Issuers::default();
        self.issuers.iter().for_each(|key| issuers.add(0, key.0));
        for Asset { code, issuers: keys } in &self.assets {
            keys.iter().for_each(|key| issuers.add(*code, key.0));
        }
        issuers
    }

    fn find(&self, findings: &mut Findings) {
        if self.data.as_os_str().is_empty() {
            findings.refuse("data", "empty", "the path of a directory");
        }
        findings.within("chain_signer_timeout", self.chain_signer_timeout, 10, 60_000);
        if ![&self.chain_key, &self.chain_signer].iter().any(|path| path.as_os_str().is_empty()) {
            findings.refuse("chain_key", format!("{:?}", self.chain_key), "empty if `chain_signer` is set");
        }
        let codes = self.assets.iter().map(|asset| asset.code);
        for (position, code) in codes.clone().enumerate() {
            if code == 0 || codes.clone().take(position).any(|before| before == code) {
                findings.refuse("assets", code.to_string(), "a code other than 0, once each; `issuers` is of asset 0");
            }
        }
        findings.within("ledger.accounts", self.ledger.accounts, 16, table_limit());
        let [fewest, most] = [ledger::retries::MIN_CAPACITY, ledger::retries::MAX_CAPACITY].map(|limit| limit as u64);
        findings.within("ledger.retry_seconds", self.ledger.retry_seconds, 1, 3600);
        findings.within("ledger.retry_operations", self.ledger.retry_operations, fewest, most);
        findings.within("ledger.signed_operations", self.ledger.signed_operations, fewest, most);
        findings.within("ledger.replay_window", self.ledger.replay_window, 1, 86_400);
        findings.within("ledger.deposit", self.ledger.deposit, 1, i64::MAX as u64);
        findings.within("ledger.reserved", self.ledger.reserved, 0, 100);
        findings.within("blocks.transactions", self.blocks.transactions.into(), 1, spv::MAX_BLOCK_TRANSACTIONS.into());
        findings.within("blocks.interval", self.blocks.interval, 1, 3_600_000);
        findings.within("blocks.snapshot", self.blocks.snapshot, 1, 86_400);
        // A hundred years: from there on, "for ever" is meant.
        findings.within("blocks.retention", self.blocks.retention, 0, 3_153_600_000);
        findings.within("limits.connections", self.limits.connections as u64, 1, 16_384);
        findings.within("limits.prefix_connections", self.limits.prefix_connections as u64, 1, 16_384);
        findings.within("limits.frame_timeout", self.limits.frame_timeout, 100, 600_000);
        findings.within("limits.feeds", self.limits.feeds as u64, 0, 256);
        self.page.find(findings);
        self.kv.find(findings);
        self.bitcoin.find(findings);
        self.electrum.find(findings);
        if self.electrum.esplora && self.http.is_none() {
            findings.refuse("electrum.esplora", "true", "false if `http` is empty");
        }
        self.cluster.find(self, findings);
        self.follow.find(self, findings);
        if self.promise == Promise::Final && !self.cluster.is_wanted() {
            let allowed = "\"accepted\" or \"durable\" if `cluster.replicas` is empty";
            findings.refuse("promise", "\"final\"", allowed);
        }
        findings.within("proofs.cache", self.proofs.cache, 0, 1 << 16);
        findings.within("io.verify_threads", self.io.verify_threads as u64, 0, 256);
        if self.network.is_empty() || self.network.len() > 64 {
            findings.refuse("network", format!("{:?}", self.network), "a name of 1 to 64 bytes");
        }
        if self.io.pin.len() > 3 {
            findings.refuse("io.pin", format!("{:?}", self.io.pin), "at most three processors");
        }
        check::find_collisions(self, findings);
    }

    /// Keys whose values differ, in dotted form.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let tables = [self, other].map(|config| toml::Table::try_from(config).unwrap_or_default());
        let mut keys = Vec::new();
        compare("", &tables[0], &tables[1], &mut keys);
        keys
    }

    /// The configuration as a file.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// Whether others than this machine may send without a limit.
    pub fn is_unlimited(&self) -> bool {
        self.limits.rate == 0 && !self.listen.ip().to_canonical().is_loopback()
    }

    /// Prefixes without a limit of connections over HTTP: trusted ones, and this machine, where a shared proxy may run.
    pub(crate) fn http_trusted(&self) -> Vec<Prefix> {
        self.trusted.iter().copied().chain(net::Prefix::loopback()).collect()
    }

    pub(crate) fn verify_threads(&self) -> usize {
        match self.io.verify_threads {
            0 => std::thread::available_parallelism().map_or(1, |all| all.get() - 1).clamp(1, 256),
            threads => threads,
        }
    }
}

/// Adds the keys whose values differ. Both tables have the same keys, as all of them are written.
fn compare(prefix: &str, one: &toml::Table, other: &toml::Table, keys: &mut Vec<String>) {
    for (key, value) in one {
        match (value, other.get(key)) {
            (toml::Value::Table(inner), Some(toml::Value::Table(others))) => {
                compare(&format!("{prefix}{key}."), inner, others, keys);
            }
            (value, found) if found == Some(value) => {}
            _ => keys.push(format!("{prefix}{key}")),
        }
    }
}

/// The most accounts that a table can hold.
fn table_limit() -> u64 {
    table::MAX_ENTRIES as u64
}

impl fmt::Display for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PublicKey({self})")
    }
}

/// The text is not a public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a public key is 66 hexadecimal digits, beginning with 02 or 03 (`turnpike key show` prints it)")]
pub struct ParseKeyError;

impl std::str::FromStr for PublicKey {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<Self, ParseKeyError> {
        let key: Option<[u8; 33]> = from_hex(text);
        key.filter(|key| matches!(key[0], 2 | 3)).map(Self).ok_or(ParseKeyError)
    }
}

/// Lists of values that are written as text.
mod texts {
    use std::{fmt::Display, str::FromStr};

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<T: Display, S: Serializer>(values: &[T], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(ToString::to_string))
    }

    pub fn deserialize<'de, T, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error>
    where
        T: FromStr,
        T::Err: Display,
    {
        let texts = Vec::<String>::deserialize(deserializer)?;
        texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
    }
}

/// Values serialised as text.
mod text {
    use std::{fmt::Display, str::FromStr};

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<T: Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub fn deserialize<'de, T, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr,
        T::Err: Display,
    {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// An address, or an empty text for none.
mod optional_address {
    use std::net::SocketAddr;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(address: &Option<SocketAddr>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&address.map_or(String::new(), |address| address.to_string()))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.as_str() {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| D::Error::custom("an address like 127.0.0.1:7480, or empty")),
        }
    }
}

/// The senders that a service is for, by name.
mod audience {
    use nic::selector::Audience;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(audience: &Audience, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match audience {
            Audience::Trusted => "trusted",
            Audience::All => "all",
        })
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Audience, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "trusted" => Ok(Audience::Trusted),
            "all" => Ok(Audience::All),
            _ => Err(D::Error::custom("\"trusted\" or \"all\"")),
        }
    }
}

/// A promise by name.
mod promise {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use wire::Promise;

    pub fn serialize<S: Serializer>(promise: &Promise, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(promise.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Promise, D::Error> {
        let text = String::deserialize(deserializer)?;
        let known = [Promise::Accepted, Promise::Durable].into_iter().find(|promise| promise.name() == text);
        known.ok_or_else(|| D::Error::custom("\"accepted\" or \"durable\""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_file_is_the_default() {
        assert_eq!(Config::parse(DEFAULT_TOML).unwrap(), Config::default());
        assert_eq!(Config::parse("").unwrap(), Config::default());
        // Every key is in it.
        let written: toml::Table = toml::to_string(&Config::default()).unwrap().parse().unwrap();
        let documented: toml::Table = DEFAULT_TOML.parse().unwrap();
        assert_eq!(written, documented);
    }

    #[test]
    fn errors_name_the_key_and_what_is_allowed() {
        for (text, parts) in [
            ("[ledger]\nretry_operations = 1000", ["`ledger.retry_operations` is 1000", "from 1024 to"]),
            ("[ledger]\nwindow = 1024", ["window", "`retry_operations`"]),
            ("[ledger]\naccounts = 0", ["`ledger.accounts` is 0", "from 16 to"]),
            ("[ledger]\ndeposit = 0", ["`ledger.deposit` is 0", "from 1 to"]),
            ("[ledger]\nreserved = 101", ["`ledger.reserved` is 101", "from 0 to 100"]),
            ("[blocks]\ntransactions = 2_000_000", ["`blocks.transactions`", "from 1 to 1048576"]),
            ("[blocks]\ninterval = 0", ["`blocks.interval`", "from 1 to"]),
            ("[limits]\nverify = \"none\"", ["verify", "\"trusted\" or \"all\""]),
            ("[limits]\nframe_timeout = 10", ["`limits.frame_timeout` is 10", "from 100 to"]),
            ("[io]\npin = [0, 1, 2, 3]", ["`io.pin`", "at most three"]),
            ("network = \"\"", ["`network`", "1 to 64"]),
            ("chain_key = \"a\"\nchain_signer = \"b\"", ["`chain_key`", "empty if `chain_signer` is set"]),
            ("chain_signer_timeout = 1", ["`chain_signer_timeout` is 1", "from 10 to 60000"]),
            ("listne = \"127.0.0.1:1\"", ["listne", "expected one of"]),
            ("promise = \"final\"", ["promise", "\"accepted\" or \"durable\""]),
            ("trusted = [\"10.0.0.1/8\"]", ["trusted", "did you mean 10.0.0.0/8"]),
            ("issuers = [\"04ab\"]", ["issuers", "66 hexadecimal digits"]),
            ("assets = [{ code = 0, issuers = [] }]", ["`assets` is 0", "other than 0"]),
            ("assets = [{ code = 7, issuers = [] }, { code = 7, issuers = [] }]", ["`assets` is 7", "once each"]),
            ("assets = [{ code = 7, issuers = [\"04ab\"] }]", ["issuers", "66 hexadecimal digits"]),
            ("http = \"localhost\"", ["http", "an address like"]),
        ] {
            let message = Config::parse(text).unwrap_err().to_string();
            assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        }
    }

    #[test]
    fn a_share_of_the_table_is_reserved() {
        let unreserved = |accounts, reserved| Ledger { accounts, reserved, ..Ledger::default() }.unreserved();
        assert_eq!(unreserved(1000, 10), 900);
        assert_eq!(unreserved(16, 10), 14, "a part of an account is reserved whole");
        assert_eq!(unreserved(16, 0), 16);
        assert_eq!(unreserved(16, 100), 0);
        let most = table_limit();
        assert_eq!(unreserved(most, 50), most - most.div_ceil(2));
    }

    #[test]
    fn a_node_for_others_has_a_rate() {
        let unlimited = |listen: &str, rate| {
            let listen = listen.parse().unwrap();
            Config { listen, limits: Limits { rate, ..Limits::default() }, ..Config::default() }.is_unlimited()
        };
        for (listen, is_beyond) in [
            ("127.0.0.1:7400", false),
            ("127.8.0.1:7400", false),
            ("[::1]:7400", false),
            ("[::ffff:127.0.0.1]:7400", false),
            ("0.0.0.0:7400", true),
            ("[::]:7400", true),
            ("192.0.2.1:7400", true),
            ("[::ffff:192.0.2.1]:7400", true),
        ] {
            assert_eq!(unlimited(listen, 0), is_beyond, "{listen}");
            assert!(!unlimited(listen, 1), "{listen}");
        }
        assert!(Config::default().limits.rate > 0);
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = Config::load(Path::new("does/not/exist.toml")).unwrap_err();
        assert!(error.to_string().contains("does/not/exist.toml"), "{error}");
    }
}
