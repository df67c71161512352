//! The limit of open files: raised at start, and divided among the connections of all listeners.
//!
//! Every limit of connections is lowered to fit, so that each listener refuses clients above its own limit, and none of
//! them uses the descriptors that the ledger, `/health` or an operator needs.

use std::fs;

use rustix::process::{Resource, getrlimit, setrlimit};

use crate::{
    Config, Error,
    config::{Electrum, Kv},
    http,
};

/// Descriptors for files that are opened after the start: segments of journal and chain, snapshots, sockets to a
/// Bitcoin node or a signer, and a margin.
const RESERVE: u64 = 128;

/// The same of the engine of a replica, whose journals are files by section.
const ENGINE: u64 = 512;

/// The same of a key-value store alone.
const STORE: u64 = 32;

/// The fewest and the most files of the index of Bitcoin blocks that stay open. The most is the storage engine's
/// default.
const INDEX: (u64, u64) = (64, 900);

/// Of each feed: its socket, and a segment of the journal that may be pruned meanwhile.
const FEED: u64 = 2;

/// The fewest connections that a listener is worth starting for.
const FEWEST: u64 = 8;

/// The limit of this process: the soft one. Where the system sets none, the largest number.
pub fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The limit up to which a process may raise its own: the hard one.
pub fn hard_limit() -> u64 {
    getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX)
}

/// Raises the soft limit to the hard one. Nothing here uses `select`, which a high limit is a danger to.
pub fn raise() {
    let mut limits = getrlimit(Resource::Nofile);
    if limits.current == limits.maximum {
        return;
    }
    let before = limits.current;
    limits.current = limits.maximum;
    match setrlimit(Resource::Nofile, limits) {
        Ok(()) => tracing::debug!(?before, now = ?limits.current, "raised the limit of open files"),
        Err(error) => tracing::warn!(%error, limit = ?before, "cannot raise the limit of open files"),
    }
}

/// Maximum number of open files of the index of Bitcoin blocks: a quarter of all.
pub fn index_files() -> u64 {
    (limit() / 4).clamp(INDEX.0, INDEX.1)
}

/// Number of descriptors that are open. Where `/proc` is missing, what a process usually starts with.
pub fn open() -> u64 {
    fs::read_dir("/proc/self/fd").map_or(64, |files| files.count() as u64)
}

/// Descriptors for connections.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    limit: u64,
    available: u64,
}

/// The connections that a listener is configured for.
struct Demand<'a> {
    key: &'static str,
    connections: &'a mut usize,
    /// Descriptors for each of them.
    each: u64,
}

impl Budget {
    /// Of a node that has opened its data.
    pub fn of_node(config: &Config, has_bitcoin: bool) -> Self {
        let engine = if config.cluster.is_wanted() { ENGINE } else { 0 };
        let index = if has_bitcoin { index_files() } else { 0 };
        let http = if config.http.is_some() { http::CONNECTIONS as u64 } else { 0 };
        Self::less(RESERVE + engine + index + http + FEED * config.limits.feeds as u64)
    }

    /// Of a key-value store alone, with metrics or without.
    pub fn of_store(has_http: bool) -> Self {
        Self::less(STORE + if has_http { http::CONNECTIONS as u64 } else { 0 })
    }

    fn less(reserve: u64) -> Self {
        let limit = limit();
        Self { limit, available: limit.saturating_sub(open()).saturating_sub(reserve) }
    }

    /// The configuration with limits of connections that fit. Each that is lowered is logged.
    pub fn fit(&self, config: &Config) -> Result<Config, Error> {
        let mut config = config.clone();
        let (has_kv, has_electrum) = (config.kv.is_wanted(), config.electrum.has_listeners());
        let Config { limits, kv: Kv { connections: kv, .. }, electrum: Electrum { connections: electrum, .. }, .. } =
            &mut config;
        // Trusted prefixes have their own places, the same number as all others.
        let mut demands = vec![Demand { key: "limits.connections", connections: &mut limits.connections, each: 2 }];
        demands.extend(has_kv.then_some(Demand { key: "kv.connections", connections: kv, each: 1 }));
        demands.extend(has_electrum.then_some(Demand { key: "electrum.connections", connections: electrum, each: 1 }));
        self.divide(&mut demands)?;
        Ok(config)
    }

    /// The same for a key-value store alone.
    pub fn fit_store(&self, config: &Kv) -> Result<Kv, Error> {
        let mut config = config.clone();
        self.divide(&mut [Demand { key: "kv.connections", connections: &mut config.connections, each: 1 }])?;
        Ok(config)
    }

    /// Lowers all demands in proportion if they do not fit together.
    fn divide(&self, demands: &mut [Demand<'_>]) -> Result<(), Error> {
        let wanted: u64 = demands.iter().map(|demand| *demand.connections as u64 * demand.each).sum();
        if wanted <= self.available {
            return Ok(());
        }
        let needed = (self.limit - self.available).saturating_add(wanted);
        for Demand { key, connections, .. } in demands {
            let asked = **connections as u64;
            let share = u128::from(self.available) * u128::from(asked) / u128::from(wanted);
            let granted = u64::try_from(share).unwrap_or(asked);
            if granted < FEWEST.min(asked) {
                return Err(Error::OpenFiles { limit: self.limit, needed });
            }
            tracing::warn!(
                key,
                configured = asked,
                granted,
                limit = self.limit,
                needed,
                "the limit of open files is too low for this many connections: lower the key, or raise the limit \
                 (`ulimit -Hn`, `LimitNOFILE=` of systemd)"
            );
            **connections = granted as usize;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(available: u64) -> Budget {
        Budget { limit: available + 100, available }
    }

    fn config(streams: usize, kv: usize, electrum: usize) -> Config {
        let mut config = Config::default();
        config.limits.connections = streams;
        (config.kv.connections, config.electrum.connections) = (kv, electrum);
        config.kv.listen = vec!["127.0.0.1:0".parse().unwrap()];
        config.electrum.listen = config.kv.listen.clone();
        config
    }

    fn granted(available: u64, asked: &Config) -> [usize; 3] {
        let Config { limits, kv, electrum, .. } = budget(available).fit(asked).unwrap();
        [limits.connections, kv.connections, electrum.connections]
    }

    #[test]
    fn connections_that_fit_stay_as_they_are() {
        assert_eq!(granted(512 + 1024 + 4096, &config(256, 1024, 4096)), [256, 1024, 4096]);
    }

    #[test]
    fn connections_that_do_not_fit_are_lowered_in_proportion() {
        let asked = config(100, 200, 600);
        let lowered = granted(500, &asked);
        assert_eq!(lowered, [50, 100, 300]);
        assert!(2 * lowered[0] + lowered[1] + lowered[2] <= 500);
    }

    #[test]
    fn a_listener_that_is_off_needs_nothing() {
        let mut asked = config(100, 200, 600);
        asked.kv.listen.clear();
        asked.electrum.listen.clear();
        assert_eq!(granted(200, &asked), [100, 200, 600]);
    }

    #[test]
    fn too_few_descriptors_are_refused_with_the_limit_that_is_needed() {
        let error = budget(10).fit(&config(100, 200, 600)).unwrap_err().to_string();
        assert!(error.contains("110") && error.contains("1100"), "{error}");
        // A single connection can be enough.
        let store = Kv { connections: 1, ..Kv::default() };
        assert_eq!(budget(1).fit_store(&store).unwrap().connections, 1);
    }
}
