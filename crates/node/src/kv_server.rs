//! The key-value store: made and started as configured.

use std::{sync::Arc, time::Duration};

use kv::{
    server::{self, Server},
    service::{Allowed, Service, Settings},
    store::{self, Cold, Start, Store},
    users::Users,
};
use net::tls::Tls;
use nic::{csr, rtl::kv::KvNicConfig};

use crate::{
    config::{Kv, KvIo},
    error::Error,
    kv_tier::KvTier,
};

/// Starts a store, and serves it.
pub fn start(config: &Kv) -> Result<Server, Error> {
    let store = store(config)?;
    let tier = tier(config, &store)?;
    let mut service = Service::new(store, settings(config));
    if let Some(files) = config.tls.files() {
        let now = service.store.clock().now();
        service = service.secured(Tls::load(files, now)?);
    }
    if config.has_logins() {
        service = service.with_users(Users::load(&config.auth_file)?);
    }
    for address in config.open_addresses() {
        tracing::warn!(
            %address,
            "anyone who reaches the key-value store can read and change all items; listen on 127.0.0.1, require logins \
             (-Y, kv.auth_file) or clients' certificates (ssl_verify_mode=2, kv.tls.clients), or filter the address"
        );
    }
    let server = server::Config {
        tcp: config.listen.clone(),
        tcp_plain: config.listen_plain.clone(),
        unix: socket(config).map(|path| (path.to_owned(), config.socket_mode)),
        udp: config.udp.clone(),
        udp_trusted: config.udp_trusted.clone(),
        nic: nic(config)?,
        threads: config.threads,
        backlog: config.backlog.into(),
        idle: (config.idle_timeout > 0).then(|| Duration::from_secs(config.idle_timeout)),
        deadlines: server::Deadlines::default(),
    };
    let server = Server::start(&server, Arc::new(service))?;
    if let (Some(tier), Some(address)) = (tier, server.udp().first()) {
        server.service().store.set_ahead(Box::new(tier.open(config, address.port())));
    }
    Ok(server)
}

/// The program in the network driver, and the store's mirror for it, where that is wanted and can be.
fn tier(config: &Kv, store: &Store) -> Result<Option<KvTier>, Error> {
    match config.io {
        KvIo::Udp | KvIo::Rtl => Ok(None),
        KvIo::Xdp => match KvTier::prepare(config) {
            Ok((tier, mirror)) => {
                store.set_mirror(mirror).map_err(Error::KvMemory)?;
                Ok(Some(tier))
            }
            // As with a node: sockets serve.
            Err(reason) => {
                tracing::warn!(reason, "the key-value store answers without XDP");
                Ok(None)
            }
        },
    }
}

/// The configuration of the simulated NIC, if it serves datagrams.
fn nic(config: &Kv) -> Result<Option<KvNicConfig>, Error> {
    let trusted = config.udp_trusted.iter().find(|prefix| prefix.address().is_ipv4());
    let Some(trusted) = trusted.filter(|_| config.io == KvIo::Rtl) else { return Ok(None) };
    let mut random = [0; 4 * (csr::KV_KEY_SECRET_COUNT + csr::KV_TABLE_SECRET_COUNT + 2) as usize];
    getrandom::fill(&mut random)
        .map_err(|error| Error::System { what: "random numbers", source: std::io::Error::other(error) })?;
    let (words, _) = random.as_chunks::<4>();
    let mut words = words.iter().map(|word| u32::from_ne_bytes(*word));
    let mut word = || words.next().unwrap_or_default();
    Ok(Some(KvNicConfig {
        library: config.rtl.clone(),
        trusted: *trusted,
        // A memory file may have items of earlier starts: one start of 32,768 has the same series, and counts from 1.
        series: word() as u16,
        key_secret: std::array::from_fn(|_| word()),
        table_secret: std::array::from_fn(|_| word()),
        seed: word().into(),
    }))
}

/// The store, in a file if configured.
fn store(config: &Kv) -> Result<Store, Error> {
    let wanted = store::Config {
        memory: config.memory << 20,
        largest_item: config.item_size,
        evict: config.evict,
        threads: config.threads,
    };
    let file = config.memory_file.as_path();
    if file.as_os_str().is_empty() {
        return Store::new(wanted).map_err(Error::KvMemory);
    }
    let (store, start) = Store::in_file(wanted, file)?;
    match start {
        Start::Warm { items } => tracing::info!(file = %file.display(), items, "restored the key-value store"),
        Start::Cold(Cold::New) => {
            tracing::info!(file = %file.display(), "the key-value store is empty: the file is new")
        }
        Start::Cold(reason) => tracing::warn!(file = %file.display(), "the key-value store is empty: {reason}"),
    }
    Ok(store)
}

/// The memory that may be held for clients is this share of the items'.
const HELD_SHARE: usize = 4;

fn socket(config: &Kv) -> Option<&std::path::Path> {
    Some(config.socket.as_path()).filter(|path| !path.as_os_str().is_empty())
}

fn settings(config: &Kv) -> Settings {
    let defaults = Settings::default();
    let port = |addresses: &[std::net::SocketAddr]| addresses.first().map_or(0, |address| address.port()).to_string();
    let addresses = Vec::from_iter(config.listen.iter().map(|address| address.ip().to_string()));
    Settings {
        flush: config.flush,
        shutdown: config.shutdown,
        dump: config.dump,
        watch: config.watch,
        protocol: config.protocol,
        // A prefix has half of it: room for at least two of the largest items.
        buffered: defaults.buffered.max(config.memory.saturating_mul((1 << 20) / HELD_SHARE)).max(4 * config.item_size),
        connections: config.connections,
        told: vec![
            ("tcpport", port(&config.listen)),
            ("udpport", port(&config.udp)),
            ("inter", addresses.join(",")),
            ("domain_socket", socket(config).map_or("NULL".into(), |path| path.display().to_string())),
            ("umask", format!("{:o}", config.socket_mode)),
            ("tcp_backlog", config.backlog.to_string()),
            (
                "binding_protocol",
                if config.protocol == Allowed::Any { "auto-negotiate" } else { config.protocol.name() }.into(),
            ),
            ("memory_file", config.memory_file.display().to_string()),
            ("idle_timeout", config.idle_timeout.to_string()),
        ],
    }
}
