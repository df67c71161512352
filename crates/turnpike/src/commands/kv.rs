//! `turnpike kv`: the key-value store alone, with memcached's options.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Release};

use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use ::kv::service::Allowed;
use node::{
    abort_on_panic,
    config::{Kv, KvIo},
    http::Http,
    kv_server,
    open_files::Budget,
    reload,
    site::StoreSite,
};

use crate::cli::{KvArgs, KvIo as Io, KvProtocol as Protocol};
use crate::commands::kv_options::{Extended, addresses, udp_addresses};
use crate::commands::kv_process;
use crate::error::Error;
use crate::output::Output;

/// Printed by `kv` when it is ready.
#[derive(Serialize)]
struct Ready {
    listen: Vec<String>,
    udp: Vec<String>,
    xdp: Option<String>,
    nic: Option<String>,
    socket: Option<String>,
    http: Option<String>,
}

/// Runs `turnpike kv`.
pub fn run(args: &KvArgs, output: Output) -> Result<(), Error> {
    if args.compatible.daemon && !kv_process::is_detached() {
        return kv_process::detach(args.compatible.verbose > 0).map(|ready| println!("{ready}"));
    }
    let _pid_file = kv_process::prepare(&args.compatible)?;
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM, SIGUSR1])
        .map_err(|error| Error::Failed(format!("the system refuses to report signals: {error}")))?;
    abort_on_panic();
    let config = config(args)?;
    config.check().map_err(Error::other)?;
    let config = Budget::of_store(args.http.is_some()).fit_store(&config).map_err(Error::other)?;
    let server = kv_server::start(&config).map_err(Error::other)?;
    let service = Arc::clone(server.service());
    let http = args.http.map(|address| http(address, StoreSite(service.clone()))).transpose()?;
    let texts = |addresses: &[SocketAddr]| addresses.iter().map(ToString::to_string).collect();
    let ready = Ready {
        listen: texts(server.tcp()),
        udp: texts(server.udp()),
        xdp: service.store.ahead().filter(|_| service.nic().is_none()).map(|ahead| ahead.place()),
        nic: service.nic().map(|_| format!("simulated ({})", config.rtl.display())),
        socket: args.unix_socket.as_ref().map(|path| path.display().to_string()),
        http: http.as_ref().map(|(address, _)| address.to_string()),
    };
    output.result(&ready, |ready| {
        let udp = ready.udp.iter().map(|address| format!("{address} (UDP)"));
        let all: Vec<_> = ready.listen.iter().cloned().chain(udp).chain(ready.socket.clone()).collect();
        let http =
            ready.http.as_ref().map(|address| format!("\nmetrics  http://{address}/metrics")).unwrap_or_default();
        let xdp = ready.xdp.as_ref().map(|place| format!("\nXDP      {place}")).unwrap_or_default();
        let nic = ready.nic.as_ref().map(|nic| format!("\nNIC      {nic}")).unwrap_or_default();
        format!("serving  {}{xdp}{nic}{http}", all.join(", "))
    });
    let handle = signals.handle();
    let ended = std::thread::spawn(move || {
        server.join();
        handle.close();
    });
    for signal in signals.forever() {
        if signal == SIGHUP {
            service.reload_users();
            match service.tls() {
                Some(tls) => reload::log_result("kv.tls", tls.reload(service.store.clock().now())),
                None => tracing::info!("SIGHUP: no certificates to reload"),
            }
            continue;
        }
        tracing::info!(signal, "stopping");
        break;
    }
    service.stop();
    if let Some((_, stop)) = http {
        stop.store(true, Release);
    }
    ended.join().map_err(|_| Error::Failed("a thread of the key-value store panicked".into()))
}

/// Serves metrics on its own thread. Returns the address, and the handles that stop it.
fn http(address: SocketAddr, site: StoreSite) -> Result<(SocketAddr, Arc<AtomicBool>), Error> {
    let http = Http::bind(address, net::Prefix::loopback(), site).map_err(Error::other)?;
    let address = http.local_address();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    std::thread::Builder::new().name("http".into()).spawn(move || http.run(&stopped)).map_err(Error::other)?;
    Ok((address, stop))
}

fn config(args: &KvArgs) -> Result<Kv, Error> {
    let udp_trusted = args.udp_trusted.iter().map(|text| text.parse());
    let udp_trusted =
        udp_trusted.collect::<Result<_, _>>().map_err(|error| Error::Input(format!("--udp-trusted: {error}")))?;
    let extended = Extended::from_args(args);
    let (listen, listen_plain) = addresses(args)?;
    Ok(Kv {
        listen,
        listen_plain,
        udp: udp_addresses(args)?,
        udp_trusted,
        io: match args.io {
            Io::Udp => KvIo::Udp,
            Io::Xdp => KvIo::Xdp,
            Io::Rtl => KvIo::Rtl,
        },
        rtl: args.rtl.clone(),
        interface: args.interface.clone().unwrap_or_default(),
        xdp_memory: args.xdp_memory as usize,
        socket: args.unix_socket.clone().unwrap_or_default(),
        socket_mode: args.unix_mask,
        memory: args.memory_limit.max(1),
        item_size: args.max_item_size,
        evict: !args.disable_evictions,
        threads: args.threads.into(),
        connections: args.conn_limit as usize,
        backlog: args.listen_backlog,
        idle_timeout: extended.idle_timeout()?.unwrap_or(args.idle_timeout),
        protocol: protocol(args)?,
        flush: !args.disable_flush_all,
        dump: !args.disable_dumping,
        watch: !args.compatible.disable_watch,
        shutdown: args.enable_shutdown,
        memory_file: args.memory_file.clone().unwrap_or_default(),
        auth_file: args.auth_file.clone().unwrap_or_default(),
        tls: extended.tls(args.enable_ssl)?,
    })
}

/// The protocol of connections: with -S only the one with SASL.
fn protocol(args: &KvArgs) -> Result<Allowed, Error> {
    match args.protocol {
        _ if args.enable_sasl && args.auth_file.is_none() => {
            Err(Error::Input("-S needs users: set their file with -Y FILE".into()))
        }
        Protocol::Ascii if args.enable_sasl => {
            Err(Error::Input("-S is for the binary protocol: remove -B ascii, or use -Y without -S".into()))
        }
        Protocol::Binary => Ok(Allowed::Binary),
        _ if args.enable_sasl => Ok(Allowed::Binary),
        Protocol::Auto => Ok(Allowed::Any),
        Protocol::Ascii => Ok(Allowed::Ascii),
    }
}
