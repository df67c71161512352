//! Founders on several machines: each makes its key itself, and all write the same set into their configurations.

use std::fs;
use std::path::{Path, PathBuf};

use node::Config;
use node::config::Cluster;
use order::{Member, ReplicaKey};
use storage::key_file;

use super::home::Home;
use super::init::{KEY, common, write_config};
use crate::cli::{ClusterConfigureArgs, ClusterKeyArgs};
use crate::error::Error;
use crate::output::Output;

fn full(folder: &Path) -> Result<PathBuf, Error> {
    fs::create_dir_all(folder).map_err(|error| Error::file("create", folder, error))?;
    folder.canonicalize().map_err(|error| Error::file("find", folder, error))
}

/// Runs `turnpike cluster key`.
pub fn key(args: &ClusterKeyArgs, output: Output) -> Result<(), Error> {
    let path = full(&args.folder)?.join(KEY);
    let sections = Cluster::generate(&[args.others], 0).map_err(Error::other)?;
    let (secret, section) = sections.into_iter().next().expect("one was asked for");
    key_file::create(&path, &secret).map_err(Error::other)?;
    let text = section.replicas.first().map(ToString::to_string).unwrap_or_default();
    output.result(&serde_json::json!({ "key": path, "member": text }), |_| text.clone());
    Ok(())
}

/// The founders that a file lists, one a line; empty lines and those that begin with # do not count.
fn founders(path: &Path) -> Result<Vec<Member>, Error> {
    let text = fs::read_to_string(path).map_err(|error| Error::file("read", path, error))?;
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let parse = |(number, line): (usize, &str)| {
        let failed = |error| Error::Input(format!("{}, line {number}: {error}", path.display()));
        line.trim().parse::<Member>().map_err(failed)
    };
    lines.map(parse).collect()
}

/// Runs `turnpike cluster configure`.
pub fn configure(args: &ClusterConfigureArgs, output: Output) -> Result<(), Error> {
    let home = Home { number: 0, folder: full(&args.folder)? };
    let key = home.folder.join(KEY);
    let secret = key_file::read(&key).map_err(Error::other)?;
    let name = secret.and_then(|secret| ReplicaKey::from_bytes(&secret)).map(|key| key.name());
    let name = name
        .ok_or_else(|| Error::Input(format!("{} is not a key: make one with `turnpike cluster key`", key.display())))?;
    let replicas = founders(&args.founders)?;
    let Some(own) = replicas.iter().find(|member| member.name == name) else {
        let text = format!(
            "{} does not list the key of {}: add what `turnpike cluster key` printed",
            args.founders.display(),
            key.display()
        );
        return Err(Error::Input(text));
    };
    let common = common(&args.network)?;
    let (listen, began) = (Some(own.address), args.began);
    let cluster = Cluster { replicas, listen, key, began, ..common.cluster.clone() };
    let (data, http) = (home.folder.join("data"), Some(args.http));
    let config = Config { data, listen: args.listen, http, cluster, ..common };
    config.check().map_err(|error| Error::Input(error.to_string()))?;
    let network = node::network_id(&config).map_err(Error::other)?;
    let file = home.config_file();
    if file.exists() {
        return Err(Error::Input(format!("{} exists: remove it, or name another folder", file.display())));
    }
    write_config(&home, &config)?;
    let network = crate::hex::encode(&network);
    output.result(&serde_json::json!({ "config": file, "network": network }), |_| {
        format!(
            "network  {network}: it must be the same on all machines\nRun `turnpike serve --config {}`",
            file.display()
        )
    });
    Ok(())
}
