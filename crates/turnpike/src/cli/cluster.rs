//! `turnpike cluster`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use order::{Member, Transport};

/// Replicas in a directory with a folder for each: its configuration, key, data and log.
#[derive(Subcommand)]
pub enum ClusterCommand {
    /// Make keys and configurations, without starting replicas
    Init(ClusterInitArgs),
    /// Make the key of a founder on its own machine, and print its public name and address
    Key(ClusterKeyArgs),
    /// Write the configuration of a founder on its own machine, from the list of all founders
    Configure(Box<ClusterConfigureArgs>),
    /// Start the replicas that are down, and wait until all serve
    Start(ClusterArgs),
    /// Print the state of each replica: membership, leader, epoch, height, lag, evidence; fail if one is down
    Status(ClusterArgs),
    /// Stop the running replicas, and wait until they have exited
    Stop(ClusterArgs),
    /// Make and start one more replica, and let all others approve that it joins
    Add(ClusterAddArgs),
    /// Let all other replicas approve that one leaves, and stop it
    Remove(ClusterRemoveArgs),
    /// Make the key and configuration of a replica on this machine that will join a running cluster
    Join(ClusterJoinArgs),
    /// Replace the ledger of a replica that fell too far back with a copy from another replica
    Sync(ClusterSyncArgs),
    /// Approve with one replica's key that another replica joins or leaves
    Approve(Box<ClusterApproveArgs>),
}

/// Options of `cluster init`.
#[derive(Args)]
pub struct ClusterInitArgs {
    /// Write to this directory, which must be empty or missing
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Make this number of replicas; 3f + 1 tolerate f that crash or lie
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub replicas: u8,
    /// Make one replica per host, with clients on --port and replicas on --port + 2; copy each folder to its host
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',', conflicts_with = "replicas")]
    pub hosts: Vec<IpAddr>,
    /// Listen for clients on loopback from this port on; 0 chooses free ports
    #[arg(long, value_name = "PORT", default_value_t = 7400)]
    pub port: u16,
    /// Settings that all founders share
    #[command(flatten)]
    pub network: ClusterNetworkArgs,
}

/// Settings that the configurations of all founders share.
#[derive(Args)]
pub struct ClusterNetworkArgs {
    /// Use this network name
    #[arg(long, default_value = "turnpike")]
    pub network: String,
    /// Accept unsigned operations from this prefix, such as 127.0.0.0/8; may be repeated
    #[arg(long, value_name = "PREFIX")]
    pub trusted: Vec<String>,
    /// Let this public key sign ISSUE; may be repeated
    #[arg(long, value_name = "HEX")]
    pub issuer: Vec<String>,
    /// Wait this long for a leader, in milliseconds
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 250)]
    pub patience: u64,
    /// Connect replicas by this transport: tcp, rdma, or shm on one machine
    #[arg(long, value_name = "TRANSPORT", default_value_t)]
    pub transport: Transport,
    /// Make epochs of this number of blocks; the set of replicas changes between epochs only
    #[arg(long, value_name = "COUNT", default_value_t = 1024)]
    pub epoch: u64,
    /// Size each table for this number of accounts
    #[arg(long, value_name = "COUNT")]
    pub accounts: Option<u64>,
}

/// Options of `cluster key`.
#[derive(Args)]
pub struct ClusterKeyArgs {
    /// Write the key to this folder, which must not have one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
    /// Listen for the other replicas on this address
    #[arg(long, value_name = "ADDRESS")]
    pub others: SocketAddr,
}

/// Options of `cluster configure`.
#[derive(Args)]
pub struct ClusterConfigureArgs {
    /// Write to this folder, which has the key that `turnpike cluster key` made
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
    /// Read one line per founder, as `turnpike cluster key` printed it; the same file on all machines
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub founders: PathBuf,
    /// Begin the network at this Unix time, as `date +%s` prints it; the same on all machines
    #[arg(long, value_name = "SECONDS")]
    pub began: u64,
    /// Listen for clients on this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7400")]
    pub listen: SocketAddr,
    /// Serve HTTP on this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7480")]
    pub http: SocketAddr,
    /// Settings that all founders share
    #[command(flatten)]
    pub network: ClusterNetworkArgs,
}

/// The cluster to act on.
#[derive(Args)]
pub struct ClusterArgs {
    /// The directory that `turnpike cluster init` made
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
}

/// Options of `cluster add`.
#[derive(Args)]
pub struct ClusterAddArgs {
    /// The directory that `turnpike cluster init` made
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Begin with a copy of this replica's data, stopping it meanwhile, instead of a state sync
    #[arg(long, value_name = "NUMBER", conflicts_with = "replay")]
    pub copy: Option<usize>,
    /// Begin with the first block, and execute all blocks again
    #[arg(long)]
    pub replay: bool,
    /// Listen for clients on this address [default: a free port of loopback]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Serve HTTP on this address [default: a free port of loopback]
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// Listen for the other replicas on this address [default: a free port of loopback]
    #[arg(long, value_name = "ADDRESS")]
    pub others: Option<SocketAddr>,
}

/// Options of `cluster remove`.
#[derive(Args)]
pub struct ClusterRemoveArgs {
    /// The directory that `turnpike cluster init` made
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Remove the replica whose folder has this number
    #[arg(long, value_name = "NUMBER")]
    pub replica: usize,
}

/// Options of `cluster join`.
#[derive(Args)]
pub struct ClusterJoinArgs {
    /// Copy settings from this configuration of a replica of the set
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub like: PathBuf,
    /// Write to this folder, which must not have a key
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
    /// Begin with a copy of this data directory of a stopped replica, instead of the first block
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "sync")]
    pub copy: Option<PathBuf>,
    /// Begin with the ledger of the replica at this HTTP address, proved by a quorum, instead of the first block
    #[arg(long, value_name = "ADDRESS")]
    pub sync: Option<SocketAddr>,
    /// Ask this node of the cluster for the present set
    #[arg(long, value_name = "ADDRESS")]
    pub node: SocketAddr,
    /// Listen for clients on this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7400")]
    pub listen: SocketAddr,
    /// Serve HTTP on this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7480")]
    pub http: SocketAddr,
    /// Listen for the other replicas on this address, which must be reachable for them
    #[arg(long, value_name = "ADDRESS")]
    pub others: SocketAddr,
}

/// Options of `cluster sync`.
#[derive(Args)]
pub struct ClusterSyncArgs {
    /// Sync the replica with this configuration; it must be stopped
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: PathBuf,
    /// Copy from the replica at this HTTP address
    #[arg(long, value_name = "ADDRESS")]
    pub from: SocketAddr,
    /// Replace damaged data: discard everything but the replica's votes without reading it
    #[arg(long)]
    pub replace: bool,
}

/// Options of `cluster approve`.
#[derive(Args)]
pub struct ClusterApproveArgs {
    /// Approve with the key of the replica that has this configuration
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: PathBuf,
    /// Send the approval to this node of the set [default: the approving replica, if it is a member]
    #[arg(long, value_name = "ADDRESS")]
    pub node: Option<SocketAddr>,
    /// Approve that this replica joins; `turnpike cluster join` prints the value
    #[arg(long, value_name = "MEMBER", conflicts_with = "remove", required_unless_present = "remove")]
    pub add: Option<Member>,
    /// Approve that this replica leaves, as listed in `cluster.replicas` or printed when it joined
    #[arg(long, value_name = "MEMBER")]
    pub remove: Option<Member>,
}
