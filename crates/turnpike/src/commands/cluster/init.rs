//! `turnpike cluster init`: keys and configurations of replicas, for this machine or for several.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{SystemTime, UNIX_EPOCH};

use node::Config;
use node::config::Cluster;
use storage::key_file;

use super::home::Home;
use crate::cli::{ClusterInitArgs, ClusterNetworkArgs};
use crate::error::Error;
use crate::output::Output;

/// Addresses of a replica.
pub struct ReplicaAddresses {
    pub listen: SocketAddr,
    pub http: SocketAddr,
    pub others: SocketAddr,
}

/// Addresses for `replicas` replicas on loopback: from a port on, or any free ports.
pub fn replica_addresses(replicas: u16, port: u16) -> Result<Vec<ReplicaAddresses>, Error> {
    let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    if port > 0 {
        let ports = port.checked_add(3 * replicas - 1).map(|_| (0..replicas).map(|number| port + number));
        let ports = ports.ok_or_else(|| Error::Input(format!("--port {port}: not enough ports above it")))?;
        let from_port =
            |port| ReplicaAddresses { listen: at(port), http: at(port + replicas), others: at(port + 2 * replicas) };
        return Ok(ports.map(from_port).collect());
    }
    let free = order::free_addresses(3 * usize::from(replicas));
    let free = free.map_err(|error| Error::Failed(format!("not enough free ports on loopback: {error}")))?;
    let replicas = free.chunks_exact(3).map(|at| ReplicaAddresses { listen: at[0], http: at[1], others: at[2] });
    Ok(replicas.collect())
}

/// Addresses of a replica on each of these hosts. HTTP has no authentication, so it stays on loopback.
fn replica_addresses_on(hosts: &[IpAddr], port: u16) -> Result<Vec<ReplicaAddresses>, Error> {
    if port == 0 || port > u16::MAX - 2 {
        return Err(Error::Input(format!("--port {port}: with --hosts it must be from 1 to 65533")));
    }
    let on_host = |&host: &IpAddr| ReplicaAddresses {
        listen: (host, port).into(),
        http: (Ipv4Addr::LOCALHOST, port + 1).into(),
        others: (host, port + 2).into(),
    };
    Ok(hosts.iter().map(on_host).collect())
}

/// Writes a replica's configuration into its folder, which is made.
pub fn write_config(home: &Home, config: &Config) -> Result<(), Error> {
    fs::create_dir_all(&home.folder).map_err(|error| Error::file("create", &home.folder, error))?;
    let (text, path) = (toml::to_string(config).map_err(Error::other)?, home.config_file());
    fs::write(&path, text).map_err(|error| Error::file("write", &path, error))
}

/// Name of a replica's key in its folder.
pub const KEY: &str = "replica.key";

/// Writes a replica's key and configuration into its folder, which is made.
pub fn write(home: &Home, config: &Config, secret: &[u8; 32]) -> Result<(), Error> {
    fs::create_dir_all(&home.folder).map_err(|error| Error::file("create", &home.folder, error))?;
    key_file::create(&home.folder.join(KEY), secret).map_err(Error::other)?;
    write_config(home, config)
}

/// Settings that the configurations of all founders share.
pub fn common(args: &ClusterNetworkArgs) -> Result<Config, Error> {
    let input = |option: &'static str| move |error: &dyn std::fmt::Display| Error::Input(format!("{option}: {error}"));
    let trusted = args.trusted.iter().map(|text| text.parse().map_err(|error| input("--trusted")(&error)));
    let issuers = args.issuer.iter().map(|text| text.parse().map_err(|error| input("--issuer")(&error)));
    let mut common = Config {
        network: args.network.clone(),
        trusted: trusted.collect::<Result<_, _>>()?,
        issuers: issuers.collect::<Result<_, _>>()?,
        ..Config::default()
    };
    if let Some(accounts) = args.accounts {
        common.ledger.accounts = accounts;
    }
    let ClusterNetworkArgs { patience, transport, epoch, .. } = *args;
    common.cluster = Cluster { patience, transport, epoch, ..Cluster::default() };
    Ok(common)
}

/// Runs `turnpike cluster init`.
pub fn run(args: &ClusterInitArgs, output: Output) -> Result<(), Error> {
    fs::create_dir_all(&args.dir).map_err(|error| Error::file("create", &args.dir, error))?;
    // Processes are known by the full path of their configuration.
    let dir = args.dir.canonicalize().map_err(|error| Error::file("find", &args.dir, error))?;
    if fs::read_dir(&dir).map_err(|error| Error::file("read", &dir, error))?.next().is_some() {
        return Err(Error::Input(format!("{} is not empty: name another directory", dir.display())));
    }
    let replicas = match args.hosts.is_empty() {
        true => replica_addresses(args.replicas.into(), args.port)?,
        false => replica_addresses_on(&args.hosts, args.port)?,
    };
    let began = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let addresses = Vec::from_iter(replicas.iter().map(|replica| replica.others));
    let sections = Cluster::generate(&addresses, began).map_err(Error::other)?;
    let common = common(&args.network)?;
    let home = |number| Home::new(&dir, number);
    let configs = replicas.iter().zip(&sections).enumerate().map(|(number, (replica, (_, section)))| {
        let folder = home(number).folder;
        let Cluster { replicas, listen, began, .. } = section.clone();
        let cluster = Cluster { replicas, listen, began, key: folder.join(KEY), ..common.cluster.clone() };
        Config {
            data: folder.join("data"),
            listen: replica.listen,
            http: Some(replica.http),
            cluster,
            ..common.clone()
        }
    });
    let configs = Vec::from_iter(configs);
    configs.iter().try_for_each(|config| config.check().map_err(|error| Error::Input(error.to_string())))?;
    for ((number, config), (secret, _)) in configs.iter().enumerate().zip(&sections) {
        write(&home(number), config, secret)?;
    }
    let report = Vec::from_iter(replicas.iter().map(|replica| replica.listen.to_string()));
    output.result(&serde_json::json!({ "dir": dir, "replicas": report }), |_| {
        format!("{} replicas in {}, for clients at {}", report.len(), dir.display(), report.join(", "))
    });
    Ok(())
}
