//! The section of the key-value store.

use std::{net::SocketAddr, path::PathBuf};

use kv::service::Allowed;
use net::Prefix;
use net::tls::{Clients, Files, Version};
use serde::{Deserialize, Serialize};

use super::{ConfigError, Findings, texts};

/// The smallest and the largest item that can be configured, in bytes (memcached's).
pub const ITEM_SIZES: (u64, u64) = (1 << 10, 1 << 30);

/// More than any item that the simulated NIC writes, with its header here.
const SMALLEST_FOR_NIC: usize = 2 << 10;

/// The backend for datagrams to the key-value store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KvIo {
    /// Sockets.
    #[default]
    Udp,
    /// Sockets, and before them a program in the network driver that answers gets of one key.
    Xdp,
    /// The simulated NIC, which answers requests of both protocols from the same store.
    Rtl,
}

/// The key-value store. It runs if it has an address or a socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Kv {
    /// Addresses for TCP.
    #[serde(with = "texts")]
    pub listen: Vec<SocketAddr>,
    /// Addresses for TCP without TLS, where the others have it.
    #[serde(with = "texts")]
    pub listen_plain: Vec<SocketAddr>,
    /// Addresses for UDP.
    #[serde(with = "texts")]
    pub udp: Vec<SocketAddr>,
    /// Prefixes that may get UDP replies longer than the request.
    #[serde(with = "texts")]
    pub udp_trusted: Vec<Prefix>,
    /// What serves datagrams.
    pub io: KvIo,
    /// With [`KvIo::Rtl`]: the library that `make rtl` builds.
    pub rtl: PathBuf,
    /// The interface that XDP answers on; empty for the one that has the first address for UDP.
    pub interface: String,
    /// Megabytes of memory for what XDP answers with.
    pub xdp_memory: usize,
    /// A socket in the file system; empty for none.
    pub socket: PathBuf,
    /// The mode of the socket.
    pub socket_mode: u32,
    /// Megabytes of memory for items.
    pub memory: usize,
    /// Bytes of the largest item.
    pub item_size: usize,
    /// Whether to evict items when there is no room.
    pub evict: bool,
    /// Threads that serve connections.
    pub threads: usize,
    /// Connections at once.
    pub connections: usize,
    /// Connections that wait to be accepted.
    pub backlog: u16,
    /// After how many seconds without requests a connection is closed; 0 for never.
    pub idle_timeout: u64,
    /// What connections speak.
    #[serde(with = "named")]
    pub protocol: Allowed,
    /// Whether `flush_all` is allowed.
    pub flush: bool,
    /// Whether keys may be listed.
    pub dump: bool,
    /// Whether connections may watch events.
    pub watch: bool,
    /// Whether a client may end the store: for the store alone.
    #[serde(skip)]
    pub shutdown: bool,
    /// A file for the items, which outlive the program in it; empty for none.
    pub memory_file: PathBuf,
    /// A file of users, one of whom every connection logs in as; empty for no logins.
    pub auth_file: PathBuf,
    /// TLS on TCP.
    pub tls: KvTls,
}

/// TLS: used if there is a chain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KvTls {
    /// The certificates of the server, its own first: a file in PEM form.
    pub chain: PathBuf,
    /// The key of the server's certificate: a file in PEM form.
    pub key: PathBuf,
    /// CA certificates for client certificates: a PEM file.
    pub authorities: PathBuf,
    /// Which clients have to show a certificate.
    #[serde(with = "named")]
    pub clients: Clients,
    /// The oldest version that is spoken.
    #[serde(with = "named")]
    pub oldest: Version,
    /// Whether sessions may be resumed.
    pub resume: bool,
}

impl KvTls {
    /// The files, where TLS is wanted.
    pub fn files(&self) -> Option<Files> {
        let is_named = |path: &PathBuf| !path.as_os_str().is_empty();
        is_named(&self.chain).then(|| Files {
            chain: self.chain.clone(),
            key: self.key.clone(),
            authorities: Some(self.authorities.clone()).filter(is_named),
            clients: self.clients,
            oldest: self.oldest,
            resume: self.resume,
        })
    }
}

impl Default for Kv {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            listen_plain: Vec::new(),
            udp: Vec::new(),
            udp_trusted: net::Prefix::loopback(),
            io: KvIo::Udp,
            rtl: "target/rtl/libturnpike_nic_kv.so".into(),
            interface: String::new(),
            xdp_memory: 64,
            socket: PathBuf::new(),
            socket_mode: 0o700,
            memory: 64,
            item_size: 1 << 20,
            evict: true,
            threads: 4,
            connections: 1024,
            backlog: 1024,
            idle_timeout: 0,
            protocol: Allowed::Any,
            flush: true,
            dump: true,
            watch: true,
            shutdown: false,
            memory_file: PathBuf::new(),
            auth_file: PathBuf::new(),
            tls: KvTls::default(),
        }
    }
}

impl Kv {
    /// Whether there is something to listen on.
    pub fn is_wanted(&self) -> bool {
        !self.listen.is_empty()
            || !self.listen_plain.is_empty()
            || !self.udp.is_empty()
            || !self.socket.as_os_str().is_empty()
    }

    /// Whether connections log in.
    pub fn has_logins(&self) -> bool {
        !self.auth_file.as_os_str().is_empty()
    }

    /// Addresses that others than this machine reach, and that anybody may use who does.
    pub fn open_addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        let proven = self.tls.files().is_some_and(|files| files.clients == Clients::Proven);
        let tcp = self.listen.iter().filter(move |_| !proven).chain(&self.listen_plain);
        let all = tcp.chain(&self.udp).filter(|_| !self.has_logins());
        all.filter(|address| !address.ip().to_canonical().is_loopback()).copied()
    }

    /// Checks that every value is one that a store can run with.
    pub fn check(&self) -> Result<(), ConfigError> {
        let mut findings = Findings::default();
        self.find(&mut findings);
        findings.into_result()
    }

    pub(super) fn find(&self, findings: &mut Findings) {
        findings.within("kv.memory", self.memory as u64, 1, 1 << 24);
        findings.within("kv.xdp_memory", self.xdp_memory as u64, 1, 4000);
        // Half of the memory, since an item that is overwritten exists twice for a moment.
        let (size, half) = (self.item_size as u64, (self.memory as u64) << 19);
        if half < ITEM_SIZES.1 && size > half {
            let allowed = format!("at most {half}, half of the memory: lower it (-I), or raise `kv.memory` (-m)");
            findings.refuse("kv.item_size", size.to_string(), allowed);
        } else {
            findings.within("kv.item_size", size, ITEM_SIZES.0, ITEM_SIZES.1);
        }
        findings.within("kv.socket_mode", self.socket_mode.into(), 0, 0o777);
        if self.has_logins() && !self.udp.is_empty() {
            let allowed = "empty if kv.auth_file (-Y) requires logins: datagrams (kv.udp, -U) cannot log in";
            findings.refuse("kv.udp", format!("{:?}", self.udp), allowed.to_owned());
        }
        if self.io == KvIo::Rtl {
            if self.udp.len() != 1 || !self.udp.iter().all(|at| at.is_ipv4() && !at.ip().is_unspecified()) {
                let allowed = "one IPv4 address, not 0.0.0.0, with kv.io (--io) \"rtl\"; set -U and -l";
                findings.refuse("kv.udp", format!("{:?}", self.udp), allowed.to_owned());
            }
            if self.protocol != Allowed::Any {
                let allowed = "auto with kv.io (--io) \"rtl\" (without -B): the NIC answers both protocols".to_owned();
                findings.refuse("kv.protocol", self.protocol.name().to_owned(), allowed);
            }
            if !self.evict || self.item_size < SMALLEST_FOR_NIC {
                let allowed = format!(
                    "evict = true (without -M) and item_size (-I) of at least {SMALLEST_FOR_NIC} with kv.io (--io) \"rtl\": the NIC \
                     acknowledges a write before the store could refuse it"
                );
                findings.refuse("kv.evict, kv.item_size", format!("{}, {}", self.evict, self.item_size), allowed);
            }
            if !self.udp_trusted.iter().any(|prefix| prefix.address().is_ipv4()) {
                let allowed =
                    "an IPv4 prefix with kv.io (--io) \"rtl\": the NIC takes requests from the first one only";
                findings.refuse("kv.udp_trusted", format!("{:?}", self.udp_trusted), allowed.to_owned());
            }
        }
        findings.within("kv.threads", self.threads as u64, 1, 256);
        findings.within("kv.connections", self.connections as u64, 1, 1 << 20);
        findings.within("kv.idle_timeout", self.idle_timeout, 0, 365 * 86_400);
    }
}

/// A value with a name in the configuration.
trait Named: Copy + 'static {
    const ALL: &'static [Self];
    fn name(self) -> &'static str;
}

macro_rules! named {
    ($($type:ty),*) => {
        $(impl Named for $type {
            const ALL: &'static [Self] = &Self::ALL;
            fn name(self) -> &'static str {
                <$type>::name(self)
            }
        })*
    };
}

named!(Allowed, Clients, Version);

mod named {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use super::Named;

    pub fn serialize<T: Named, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(value.name())
    }

    pub fn deserialize<'de, T: Named, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = T::ALL.iter().copied().find(|value| value.name() == name);
        known.ok_or_else(|| {
            let names = T::ALL.iter().map(|value| format!("\"{}\"", value.name()));
            D::Error::custom(format!("expected one of {}", Vec::from_iter(names).join(", ")))
        })
    }
}
