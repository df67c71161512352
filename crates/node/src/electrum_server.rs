//! The server of Electrum's clients: made and started as configured.

use std::{sync::Arc, time::Duration};

use chain::bitcoin::BitcoinChain;
use electrum::{
    Limits, Service, Settings,
    server::{Config, Server},
};
use net::tls::Tls;
use proof::Cache;

use crate::{config::Electrum, error::Error};

/// The service over a store of Bitcoin blocks; Merkle paths come from `cache`.
pub fn service(
    config: &Electrum,
    bitcoin: Option<BitcoinChain>,
    cache: Option<Arc<Cache>>,
) -> Result<Arc<Service>, Error> {
    let bitcoin = bitcoin.ok_or(electrum::Error::NoBlocks).map_err(refused)?;
    Service::new(bitcoin, cache, settings(config)).map(Arc::new).map_err(refused)
}

/// Serves Electrum's clients. Also returns what TLS is made of, so that certificates can be read again.
pub fn start(config: &Electrum, service: Arc<Service>) -> Result<(Server, Option<Arc<Tls>>), Error> {
    // Nobody asks when the files were read.
    let tls = config.tls.files().map(|files| Tls::load(files, 0)).transpose().map_err(refused)?.map(Arc::new);
    let server = Config {
        tcp: config.listen.clone(),
        tcp_tls: config.listen_tls.clone(),
        web_socket: config.listen_ws.clone(),
        web_socket_tls: config.listen_wss.clone(),
        tls: tls.clone(),
        threads: config.threads,
    };
    let server = Server::start(&server, service).map_err(refused)?;
    let (tcp, tcp_tls, ws, wss) = (server.tcp(), server.tls(), server.web_socket(), server.web_socket_tls());
    tracing::info!(?tcp, ?tcp_tls, ?ws, ?wss, "serving Electrum's clients");
    Ok((server, tls))
}

fn refused(reason: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Electrum(Box::new(reason))
}

/// The limits of clients.
pub fn limits(config: &Electrum) -> Limits {
    Limits {
        connections: config.connections,
        prefix_connections: config.prefix_connections,
        subscriptions: config.subscriptions,
        prefix_subscriptions: config.prefix_subscriptions,
        prefix_cost: config.prefix_cost,
        reply: config.reply_size,
        request: config.request_size,
        buffers: config.buffer_size,
        prefix_buffers: config.prefix_buffer_size,
        trusted: config.trusted.clone(),
    }
}

fn settings(config: &Electrum) -> Settings {
    Settings {
        limits: limits(config),
        banner: config.banner.clone(),
        donation_address: config.donation_address.clone(),
        idle: Duration::from_secs(config.idle_timeout),
        ..Settings::default()
    }
}
