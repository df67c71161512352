//! Checks of a configuration: values, files, and addresses that collide. All findings are reported, not the first.

use std::{
    net::{IpAddr, SocketAddr, TcpListener, UdpSocket},
    os::fd::OwnedFd,
    path::Path,
};

use net::tls::Tls;

use super::{Backend, Config, ConfigError, KvTls};
use crate::{Error, sockets::listening};

/// Everything that a configuration has wrong.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<ConfigError>);

impl Findings {
    /// Adds that a number is out of its range, if it is.
    pub fn within(&mut self, key: &'static str, value: u64, smallest: u64, largest: u64) {
        if !(smallest..=largest).contains(&value) {
            self.refuse(key, value.to_string(), format!("from {smallest} to {largest}"));
        }
    }

    /// Adds that a key has a value that is not allowed.
    pub fn refuse(&mut self, key: &'static str, value: impl Into<String>, allowed: impl Into<String>) {
        self.0.push(ConfigError::Value { key, value: value.into(), allowed: allowed.into() });
    }

    /// Adds what another check found.
    pub fn add(&mut self, result: Result<(), ConfigError>) {
        self.0.extend(result.err());
    }

    /// This error, and after it all that were found.
    pub fn into_error(mut self, first: ConfigError) -> ConfigError {
        if self.0.is_empty() {
            return first;
        }
        self.0.insert(0, first);
        ConfigError::Several(self.0)
    }

    /// No error, the only one, or all of them.
    pub fn into_result(mut self) -> Result<(), ConfigError> {
        match self.0.len() {
            0 => Ok(()),
            1 => Err(self.0.remove(0)),
            _ => Err(ConfigError::Several(self.0)),
        }
    }
}

/// The transport of an address that is listened on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Tcp,
    Udp,
}

impl Transport {
    fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
        }
    }
}

/// An address that is listened on, by its key.
struct Listen {
    key: &'static str,
    transport: Transport,
    address: SocketAddr,
}

impl Listen {
    /// Whether both cannot be listened on at once. Port 0 takes any that is free.
    fn collides(&self, other: &Self) -> bool {
        let (one, two) = (self.address, other.address);
        let is_same_port = self.transport == other.transport && one.port() == two.port() && one.port() != 0;
        // An IPv6 socket on all addresses listens on those of IPv4 as well.
        let covers = |all: IpAddr, one: IpAddr| all.is_unspecified() && (all.is_ipv6() || one.is_ipv4());
        is_same_port && (one.ip() == two.ip() || covers(one.ip(), two.ip()) || covers(two.ip(), one.ip()))
    }
}

/// All addresses that a node with this configuration listens on.
fn listens(config: &Config) -> Vec<Listen> {
    let (kv, electrum) = (&config.kv, &config.electrum);
    let mut all = Vec::new();
    let mut add = |key, transport, addresses: &[SocketAddr]| {
        all.extend(addresses.iter().map(|address| Listen { key, transport, address: *address }));
    };
    add("listen", Transport::Udp, &[config.listen]);
    add("listen", Transport::Tcp, &[config.listen]);
    add("http", Transport::Tcp, config.http.as_slice());
    add("kv.listen", Transport::Tcp, &kv.listen);
    add("kv.listen_plain", Transport::Tcp, &kv.listen_plain);
    add("kv.udp", Transport::Udp, &kv.udp);
    add("electrum.listen", Transport::Tcp, &electrum.listen);
    add("electrum.listen_tls", Transport::Tcp, &electrum.listen_tls);
    add("electrum.listen_ws", Transport::Tcp, &electrum.listen_ws);
    add("electrum.listen_wss", Transport::Tcp, &electrum.listen_wss);
    if config.cluster.is_wanted() {
        add("cluster.listen", Transport::Tcp, config.cluster.listen.as_slice());
    }
    all
}

/// Finds addresses that two keys, or one key twice, have.
pub(super) fn find_collisions(config: &Config, findings: &mut Findings) {
    let all = listens(config);
    for (at, listen) in all.iter().enumerate() {
        if let Some(other) = all[..at].iter().find(|other| listen.collides(other)) {
            let allowed =
                format!("an address of its own: `{}` uses its port over {}", other.key, listen.transport.name());
            findings.refuse(listen.key, listen.address.to_string(), allowed);
        }
    }
}

impl Config {
    /// Checks what the configuration names on this machine: paths, and the certificates of TLS. Nothing is created.
    pub fn check_files(&self) -> Result<(), ConfigError> {
        let mut findings = Findings::default();
        if self.data.exists() && !self.data.is_dir() {
            findings.refuse("data", format!("{:?}", self.data), "a directory, or a path where one can be created");
        }
        let files = [
            ("chain_key", &self.chain_key),
            ("chain_signer", &self.chain_signer),
            ("cluster.key", &self.cluster.key),
            ("bitcoin.cookie", &self.bitcoin.cookie),
            ("kv.memory_file", &self.kv.memory_file),
            ("io.rtl", &self.io.rtl),
        ];
        for (key, path) in files {
            find_directory(key, path, &mut findings);
        }
        if self.kv.is_wanted() {
            findings.add(check_tls("kv.tls", &self.kv.tls));
        }
        if self.electrum.is_wanted() {
            findings.add(check_tls("electrum.tls", &self.electrum.tls));
        }
        findings.into_result()
    }

    /// Listens on every address for a moment, so that nothing is created if one of them is in use.
    pub(crate) fn check_listeners(&self) -> Result<(), Error> {
        if let Backend::Rtl | Backend::Cable = self.io.backend {
            // A TAP device or the board may have the address.
            return Ok(());
        }
        // All at once: they are closed at the end.
        let mut sockets: Vec<OwnedFd> = Vec::new();
        for Listen { key, transport, address } in listens(self) {
            let socket = match transport {
                Transport::Tcp => TcpListener::bind(address).map(OwnedFd::from),
                Transport::Udp => UdpSocket::bind(address).map(OwnedFd::from),
            };
            sockets.push(socket.map_err(listening(key, address))?);
        }
        Ok(())
    }
}

/// Removes every key that cannot be read from a table, and returns an error for each.
pub(super) fn take_unreadable(table: &mut toml::Table) -> Vec<ConfigError> {
    let mut errors = Vec::new();
    let sections = Vec::from_iter(table.keys().cloned());
    for section in sections {
        let Some(value) = table.get_mut(&section) else { continue };
        if try_alone(&section, value.clone()).is_ok() {
            continue;
        }
        let is_section = try_alone(&section, toml::Table::new().into()).is_ok();
        let Some(inner) = value.as_table_mut().filter(|_| is_section) else {
            errors.extend(try_alone(&section, value.clone()).err());
            table.remove(&section);
            continue;
        };
        let keys = Vec::from_iter(inner.keys().cloned());
        for key in keys {
            let Some(value) = inner.get(&key) else { continue };
            let alone = toml::Table::from_iter([(key.clone(), value.clone())]);
            if let Err(ConfigError::Key { reason, .. }) = try_alone(&section, alone.into()) {
                errors.push(ConfigError::Key { key: format!("{section}.{key}"), reason });
                inner.remove(&key);
            }
        }
    }
    errors
}

/// Reads a configuration that has one key only.
fn try_alone(key: &str, value: toml::Value) -> Result<(), ConfigError> {
    let table = toml::Table::from_iter([(key.to_owned(), value)]);
    let unreadable =
        |error: toml::de::Error| ConfigError::Key { key: key.to_owned(), reason: error.message().to_owned() };
    table.try_into::<Config>().map(drop).map_err(unreadable)
}

fn find_directory(key: &'static str, path: &Path, findings: &mut Findings) {
    if path.is_dir() {
        findings.refuse(key, format!("{path:?}"), "a file, not a directory");
    }
}

fn check_tls(section: &'static str, tls: &KvTls) -> Result<(), ConfigError> {
    let Some(files) = tls.files() else { return Ok(()) };
    Tls::load(files, 0).map(drop).map_err(|source| ConfigError::Tls { section, source: Box::new(source) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> String {
        Config::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn addresses_that_collide_are_found() {
        for (text, keys) in [
            ("http = \"127.0.0.1:7400\"", ["`http` is 127.0.0.1:7400", "`listen` uses its port"]),
            ("[kv]\nlisten = [\"0.0.0.0:7480\"]", ["`kv.listen` is 0.0.0.0:7480", "`http` uses its port"]),
            ("[kv]\nudp = [\"[::]:7400\"]", ["`kv.udp` is [::]:7400", "`listen` uses its port over UDP"]),
            (
                "[electrum]\nlisten = [\"[::1]:1\", \"[::1]:1\"]",
                ["`electrum.listen` is [::1]:1", "`electrum.listen` uses its port"],
            ),
        ] {
            let message = findings(text);
            assert!(keys.iter().all(|key| message.contains(key)), "{message}");
        }
        for text in [
            "[kv]\nudp = [\"127.0.0.1:7480\"]",
            "[kv]\nlisten = [\"[::1]:7400\"]",
            "[kv]\nlisten = [\"127.0.0.2:7400\"]",
            "listen = \"127.0.0.1:0\"\nhttp = \"127.0.0.1:0\"",
        ] {
            Config::parse(text).unwrap();
        }
    }

    #[test]
    fn all_findings_are_reported() {
        let message = findings("data = \"\"\nnetwork = \"\"\n[ledger]\naccounts = 1\n[kv]\nthreads = 0\nmemory = 1");
        for key in [
            "`data`",
            "`network`",
            "`ledger.accounts` is 1",
            "`kv.threads` is 0",
            "`kv.item_size`",
            "raise `kv.memory`",
        ] {
            assert!(message.contains(key), "{key}: {message}");
        }
        assert_eq!(message.lines().count(), 5, "{message}");
    }

    #[test]
    fn all_keys_that_cannot_be_read_are_reported() {
        let message = findings("listne = \"a\"\n[ledger]\naccounts = \"many\"\nwindow = 1\n[blocks]\ninterval = 0");
        for key in ["listne", "`ledger.accounts`", "window", "`blocks.interval` is 0"] {
            assert!(message.contains(key), "{key}: {message}");
        }
    }

    #[test]
    fn paths_of_the_wrong_kind_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let mut config = Config { data: file.clone(), chain_key: folder.path().into(), ..Config::default() };
        config.kv.listen = vec!["127.0.0.1:1".parse().unwrap()];
        (config.kv.tls.chain, config.kv.tls.key) = (file.clone(), folder.path().join("none"));
        let message = config.check_files().unwrap_err().to_string();
        for part in ["`data`", "a directory", "`chain_key`", "a file, not a directory", "`kv.tls`", "no certificate"] {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert!(Config::default().check_files().is_ok());
    }

    #[test]
    fn an_address_that_is_taken_is_found_before_anything_is_made() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let mut config = Config { listen: "127.0.0.1:0".parse().unwrap(), http: None, ..Config::default() };
        assert!(config.check_listeners().is_ok());
        config.electrum.listen = vec![address];
        let message = config.check_listeners().unwrap_err().to_string();
        assert!(message.contains("electrum.listen") && message.contains(&address.to_string()), "{message}");
    }
}
