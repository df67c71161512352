//! Four replicas in this process.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::Path;

use node::config::Cluster;
use node::{Config, Node};

/// The configurations of four replicas with data in a directory. They listen for each other and for clients on the loopback of the
/// namespace; `change` completes that of each, whose number it is told.
pub fn configs(directory: &Path, change: impl Fn(usize, &mut Config)) -> Vec<Config> {
    let addresses = order::free_addresses(4).unwrap();
    let sections = Cluster::generate(&addresses, 1_700_000_000).unwrap().into_iter().enumerate();
    let config = |(number, (secret, section)): (usize, (_, Cluster))| {
        let folder = directory.join(number.to_string());
        std::fs::create_dir(&folder).unwrap();
        let key = folder.join("replica.key");
        storage::key_file::create(&key, &secret).unwrap();
        let mut config = Config {
            data: folder.join("data"),
            listen: "127.0.0.1:0".parse().unwrap(),
            http: None,
            trusted: vec!["127.0.0.1/32".parse().unwrap()],
            cluster: Cluster { key, patience: 1000, ..section },
            ..Config::default()
        };
        (config.ledger.accounts, config.ledger.freezing) = (4096, true);
        // Whoever asks again on a slow machine is to get the first answer.
        config.ledger.retry_seconds = 600;
        change(number, &mut config);
        config
    };
    sections.map(config).collect()
}

/// Starts replicas of these configurations.
pub fn start(configs: &[Config]) -> Vec<Node> {
    configs.iter().map(|config| Node::start(config).unwrap()).collect()
}

/// A directory in memory where that can be had: four replicas sync some hundred times for each second of the suite.
pub fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}
