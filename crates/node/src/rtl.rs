//! The simulated NIC of a node: backend `rtl`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use net::Prefix;
use nic::{
    Backend as _, Either, RtlBackend, RtlConfig, Streams,
    rtl::{Announcer, Network, RtlCounters, tap::Tap},
};

use crate::{
    Config, Error,
    sockets::{Carrier, Sockets},
};

/// The parts of the NIC for the rest of the node.
pub struct Handles {
    /// Its counters.
    pub counters: Arc<RtlCounters>,
    /// Notifies its proof cache of blocks.
    pub announcer: Announcer,
}

/// Puts the simulated NIC before the node: on the sockets that `bind` opens, or on a TAP device if configured.
/// `is_empty` means that the ledger has no history; the NIC's engine would not know it.
pub fn start(
    config: &Config,
    is_empty: bool,
    bind: impl FnOnce() -> Result<(Sockets, Streams), Error>,
) -> Result<(Carrier, Option<Streams>, Handles), Error> {
    let refused = |why: &str| Error::Rtl(format!("the simulated NIC needs {why}").into());
    let mut own = config.listen;
    if own.ip().is_unspecified() {
        return Err(refused("a single address in `listen`"));
    }
    let (network, streams) = if config.io.interface.is_empty() {
        let (sockets, streams) = bind()?;
        own = sockets.local_address().map_err(|source| Error::System { what: "a socket's address", source })?;
        (Network::Sockets(sockets), Some(streams))
    } else {
        if own.port() == 0 {
            return Err(refused("a port in `listen`, as a TAP device has no sockets"));
        }
        let tap = Tap::open(&config.io.interface);
        (Network::Tap(tap.map_err(|source| Error::System { what: "a TAP device (`io.interface`)", source })?), None)
    };
    let settings = settings(config, own, is_empty)?;
    let backend = RtlBackend::new(&settings, network).map_err(|error| Error::Rtl(error.into()))?;
    tracing::info!(library = %settings.library.display(), executes = backend.is_executing(), "simulated NIC runs");
    let handles = Handles { counters: backend.counters(), announcer: backend.announcer() };
    Ok((Either::Second(Either::First(backend)), streams, handles))
}

/// The settings of a NIC. It executes only if it knows the whole ledger.
pub fn settings(config: &Config, own: SocketAddr, knows_ledger: bool) -> Result<RtlConfig, Error> {
    // If the node trusts more prefixes than the NIC knows, the NIC would refuse operations that the node accepts.
    let mut trusted = config.trusted.iter().filter(|prefix: &&Prefix| matches!(prefix.address(), IpAddr::V4(_)));
    let verify = trusted.next().copied().filter(|_| own.is_ipv4());
    let engine = verify.filter(|_| trusted.next().is_none() && knows_ledger);
    let mut random = [0; 84];
    getrandom::fill(&mut random)
        .map_err(|error| Error::System { what: "random numbers", source: std::io::Error::other(error) })?;
    let (words, _) = random.as_chunks::<4>();
    let mut words = words.iter().map(|word| u32::from_ne_bytes(*word));
    let secret = std::array::from_fn(|_| words.next().unwrap_or_default());
    let proof_secret = std::array::from_fn(|_| words.next().unwrap_or_default());
    Ok(RtlConfig {
        library: PathBuf::from(&config.io.rtl),
        own,
        engine,
        // Of several prefixes it serves the first, and the node serves the others.
        verify,
        // The NIC does not count requests by sender.
        proofs: config.proofs.cache > 0 && config.limits.rate == 0,
        promise: config.promise,
        retries: config.ledger.retry_operations,
        retention: Duration::from_secs(config.ledger.retry_seconds),
        accounts: config.ledger.accounts,
        secret,
        proof_secret,
        seed: words.next().unwrap_or_default().into(),
        told: |why| tracing::warn!(%why, "the NIC hands over: the node executes all operations from now on"),
    })
}
