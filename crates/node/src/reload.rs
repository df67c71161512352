//! Reloading certificates and limits while a node runs.

use std::sync::{Arc, mpsc::Sender};

use net::tls::{Error as TlsError, Tls};
use nic::{StreamLimits, rate::RateLimit};

use crate::{
    Config, Error, electrum_server,
    node::{Node, rate_limit},
    open_files::Budget,
    sockets::stream_limits,
};

/// Keys that a running node adopts. All others take effect when it is started again.
const ADOPTED: [&str; 14] = [
    "log",
    "limits.rate",
    "limits.connections",
    "limits.prefix_connections",
    "limits.frame_timeout",
    "kv.connections",
    "electrum.connections",
    "electrum.prefix_connections",
    "electrum.subscriptions",
    "electrum.prefix_subscriptions",
    "electrum.prefix_cost",
    "electrum.reply_size",
    "electrum.request_size",
    "electrum.trusted",
];

/// The parts of a running node that accept new limits and certificates.
#[derive(Debug)]
pub(crate) struct Reload {
    pub budget: Budget,
    pub streams: Option<Sender<StreamLimits>>,
    pub rate: Option<Sender<Option<RateLimit>>>,
    pub electrum_tls: Option<Arc<Tls>>,
}

impl Node {
    /// Adopts the limits of `wanted`, and reads certificates and keys again. Returns the keys that take effect at the
    /// next start: those that differ from `started`, the configuration that the node was started with, and cannot be
    /// adopted.
    ///
    /// What fails is logged: limits that do not fit and files that cannot be used leave the present ones in place.
    pub fn reload(&self, started: &Config, wanted: &Config) -> Result<Vec<String>, Error> {
        let fitted = self.reload.budget.fit(wanted)?;
        let Reload { streams, rate, electrum_tls, .. } = &self.reload;
        // A receiver is dropped only if its thread has ended, which health reports.
        let _ = streams.as_ref().map(|streams| streams.send(stream_limits(&fitted)));
        let has_rate = rate.as_ref().map(|rate| rate.send(rate_limit(&fitted))).is_some();
        if let Some(tls) = electrum_tls {
            log_result("electrum.tls", tls.reload(0));
        }
        if let Some(server) = &self.electrum {
            server.service().shares().set_limits(electrum_server::limits(&fitted.electrum));
        }
        if let Some(server) = &self.kv {
            let service = server.service();
            service.set_connection_limit(fitted.kv.connections);
            service.reload_users();
            if let Some(tls) = service.tls() {
                log_result("kv.tls", tls.reload(service.store.clock().now()));
            }
        }
        let is_adopted = |key: &str| ADOPTED.contains(&key) && (has_rate || key != "limits.rate");
        Ok(started.differences(wanted).into_iter().filter(|key| !is_adopted(key)).collect())
    }
}

/// Logs the result of reloading a section's certificates and keys.
pub fn log_result(section: &str, result: Result<(), TlsError>) {
    match result {
        Ok(()) => tracing::info!(section, "reloaded the certificates"),
        Err(error) => tracing::error!(section, "cannot read the certificates, so the present ones stay: {error}"),
    }
}
