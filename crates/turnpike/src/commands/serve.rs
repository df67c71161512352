//! `turnpike serve`: runs a node until SIGTERM or SIGINT. SIGHUP reloads its configuration.

use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use node::{Config, Node, abort_on_panic};

use crate::cli::ServeArgs;
use crate::error::Error;
use crate::hex;
use crate::log;
use crate::output::Output;

/// Printed by `serve` when it is ready.
#[derive(Serialize)]
struct Ready {
    listen: String,
    http: Option<String>,
    kv: Vec<String>,
    electrum: Vec<String>,
    network: String,
    chain_key: String,
    /// The node that this one follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    follows: Option<String>,
    /// Replicas order the chain: `chain_key` is the hash of their set, and quorums sign in place of a key.
    replica: bool,
}

/// Runs `turnpike serve`.
pub fn run(args: &ServeArgs, output: Output) -> Result<(), Error> {
    // Taken before the node starts, so that a signal during a long recovery is not lost.
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])
        .map_err(|error| Error::Failed(format!("the system refuses to report signals: {error}")))?;
    let config = configuration(args)?;
    log::configure(&config.log)?;
    abort_on_panic();
    let node = Node::start(&config).map_err(Error::other)?;
    let ready = Ready {
        listen: node.local_address().to_string(),
        http: node.http_address().map(|address| address.to_string()),
        kv: node.kv().map(|kv| kv.tcp().iter().chain(kv.udp()).map(ToString::to_string).collect()).unwrap_or_default(),
        electrum: node
            .electrum()
            .map(|server| {
                let plain = server.tcp().iter().chain(server.tls()).map(ToString::to_string);
                let ws = server.web_socket().iter().map(|address| format!("ws://{address}"));
                let wss = server.web_socket_tls().iter().map(|address| format!("wss://{address}"));
                plain.chain(ws).chain(wss).collect()
            })
            .unwrap_or_default(),
        network: hex::encode(node.network()),
        chain_key: hex::encode(node.chain_key()),
        follows: config.follow.node.map(|node| node.to_string()),
        replica: config.cluster.is_wanted(),
    };
    output.result(&ready, |ready| {
        let http =
            ready.http.as_ref().map(|address| format!("\nmetrics  http://{address}/metrics")).unwrap_or_default();
        let kv = if ready.kv.is_empty() { String::new() } else { format!("\nkv       {}", ready.kv.join(", ")) };
        let electrum = match ready.electrum.is_empty() {
            true => String::new(),
            false => format!("\nelectrum {}", ready.electrum.join(", ")),
        };
        let follows = ready.follows.as_ref().map(|node| format!("\nfollows  {node}")).unwrap_or_default();
        let sealed = match ready.replica {
            true => format!("replicas {} (hash of their set)", ready.chain_key),
            false => format!("sealed   by chain key {}", ready.chain_key),
        };
        format!("serving  {}{follows}{http}{kv}{electrum}\nnetwork  {}\n{sealed}", ready.listen, ready.network)
    });
    for signal in signals.forever() {
        if signal == SIGHUP {
            reload(&node, &config, args);
            continue;
        }
        tracing::info!(signal, "stopping");
        break;
    }
    node.stop();
    Ok(())
}

/// Adopts the keys that can change while the node runs, and logs the others. A configuration with errors changes
/// nothing.
fn reload(node: &Node, started: &Config, args: &ServeArgs) {
    let reloaded = configuration(args).and_then(|wanted| {
        log::configure(&wanted.log)?;
        node.reload(started, &wanted).map_err(Error::other)
    });
    match reloaded {
        Ok(pending) => {
            tracing::info!("reloaded the configuration");
            for key in pending {
                tracing::warn!(key, "takes effect when the node is started again");
            }
        }
        Err(error) => tracing::error!(%error, "cannot reload the configuration, so the present one stays"),
    }
}

/// The configuration file, with what the command line overrides.
pub fn configuration(args: &ServeArgs) -> Result<Config, Error> {
    let mut config = match &args.config {
        Some(file) => Config::load(file).map_err(Error::other)?,
        None => Config::default(),
    };
    if let Some(data) = &args.data {
        config.data.clone_from(data);
    }
    if let Some(listen) = args.listen {
        config.listen = listen;
    }
    if let Some(http) = args.http {
        config.http = Some(http);
    }
    if !args.trusted.is_empty() {
        let prefixes = args.trusted.iter().map(|text| text.parse());
        config.trusted =
            prefixes.collect::<Result<_, _>>().map_err(|error| Error::Input(format!("--trusted: {error}")))?;
    }
    if let Some(promise) = args.promise {
        config.promise = promise.into();
    }
    if args.follow.is_some() {
        config.follow.node = args.follow;
    }
    if let Some(accounts) = args.accounts {
        config.ledger.accounts = accounts;
    }
    if let Some(io) = args.io {
        config.io.backend = io.into();
    }
    if let Some(interface) = &args.interface {
        config.io.interface.clone_from(interface);
    }
    config.check().map_err(Error::other)?;
    log::check(&config.log)?;
    Ok(config)
}
