//! `turnpike cluster`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};
use order::{Member, Transport};

/// Replicas on this machine, in a directory with a folder for each: its configuration, its key, its data and its log.
#[derive(Subcommand)]
pub enum ClusterCommand {
    /// Make keys and configurations; nothing is started
    Init(ClusterInitArgs),
    /// Make the key of a founder on its own machine, and print its public name and address
    Key(ClusterKeyArgs),
    /// Write the configuration of a founder on its own machine, from the names and addresses of all founders
    Configure(Box<ClusterConfigureArgs>),
    /// Start the replicas that do not run, and wait until all serve
    Start(ClusterArgs),
    /// Print the state of each replica: membership, leader, epoch, height, lag, evidence; fail if one is down
    Status(ClusterArgs),
    /// Stop the replicas that run, and wait until they have ended
    Stop(ClusterArgs),
    /// Make one more replica, start it, and have it join the set with all others' approval
    Add(ClusterAddArgs),
    /// Have a replica leave the set with all others' approval, and stop it
    Remove(ClusterRemoveArgs),
    /// Make the key and configuration of a replica of this machine that is to join those of others
    Join(ClusterJoinArgs),
    /// Give a replica that was away for too long the ledger of another one, in the place of its own
    Sync(ClusterSyncArgs),
    /// Approve with one replica's key that another one joins or leaves
    Approve(Box<ClusterApproveArgs>),
}

/// Options of `cluster init`.
#[derive(Args)]
pub struct ClusterInitArgs {
    /// The directory; must be empty, or not exist
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// How many replicas; of 3f + 1 f may be away or lie
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub replicas: u8,
    /// Make one replica for each of these hosts, with clients on --port and the other replicas two ports above; copy
    /// each folder to its host
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',', conflicts_with = "replicas")]
    pub hosts: Vec<IpAddr>,
    /// The first of the replicas' ports for clients, on loopback; 0 for any that are free
    #[arg(long, value_name = "PORT", default_value_t = 7400)]
    pub port: u16,
    /// The network
    #[command(flatten)]
    pub network: ClusterNetworkArgs,
}

/// What the configurations of all founders have in common.
#[derive(Args)]
pub struct ClusterNetworkArgs {
    /// Name of the network
    #[arg(long, default_value = "turnpike")]
    pub network: String,
    /// Prefix from which unsigned operations are taken, such as 127.0.0.0/8; may be repeated
    #[arg(long, value_name = "PREFIX")]
    pub trusted: Vec<String>,
    /// Public key that may sign ISSUE; may be repeated
    #[arg(long, value_name = "HEX")]
    pub issuer: Vec<String>,
    /// How long replicas wait for a leader, in milliseconds
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 250)]
    pub patience: u64,
    /// What carries the bytes between replicas: tcp, rdma, or shm for those on one machine
    #[arg(long, value_name = "TRANSPORT", default_value_t)]
    pub transport: Transport,
    /// Blocks of an epoch; the set of replicas changes between two epochs only
    #[arg(long, value_name = "COUNT", default_value_t = 1024)]
    pub epoch: u64,
    /// How many accounts each table holds
    #[arg(long, value_name = "COUNT")]
    pub accounts: Option<u64>,
}

/// Options of `cluster key`.
#[derive(Args)]
pub struct ClusterKeyArgs {
    /// The founder's folder; must not have a key
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
    /// Where the founder listens for the other replicas
    #[arg(long, value_name = "ADDRESS")]
    pub others: SocketAddr,
}

/// Options of `cluster configure`.
#[derive(Args)]
pub struct ClusterConfigureArgs {
    /// The founder's folder, with the key that `turnpike cluster key` made
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
    /// File with a line for each founder, as `turnpike cluster key` printed it; the same on all machines
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub founders: PathBuf,
    /// The second since the Unix epoch that the network begins in, as `date +%s` prints it; the same on all machines
    #[arg(long, value_name = "SECONDS")]
    pub began: u64,
    /// Where it listens for clients
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7400")]
    pub listen: SocketAddr,
    /// Where it listens for HTTP
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7480")]
    pub http: SocketAddr,
    /// The network
    #[command(flatten)]
    pub network: ClusterNetworkArgs,
}

/// Which cluster.
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
    /// Begin with a copy of this replica's data, which is stopped meanwhile, instead of with what another one gives
    #[arg(long, value_name = "NUMBER", conflicts_with = "replay")]
    pub copy: Option<usize>,
    /// Begin with the first block, and execute all again
    #[arg(long)]
    pub replay: bool,
    /// Where it listens for clients; by default on a free port of loopback
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Where it listens for HTTP; by default on a free port of loopback
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// Where it listens for the other replicas, which find it there; by default on a free port of loopback
    #[arg(long, value_name = "ADDRESS")]
    pub others: Option<SocketAddr>,
}

/// Options of `cluster remove`.
#[derive(Args)]
pub struct ClusterRemoveArgs {
    /// The directory that `turnpike cluster init` made
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// The number of the replica's folder
    #[arg(long, value_name = "NUMBER")]
    pub replica: usize,
}

/// Options of `cluster join`.
#[derive(Args)]
pub struct ClusterJoinArgs {
    /// The configuration of a replica of the set
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub like: PathBuf,
    /// The new replica's folder; must not have a key
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
    /// Begin with a copy of this data directory, of a replica that does not run, instead of with the first block
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "sync")]
    pub copy: Option<PathBuf>,
    /// Begin with the ledger that the replica at this HTTP address gives, instead of with the first block; it is checked against
    /// what a quorum signed
    #[arg(long, value_name = "ADDRESS")]
    pub sync: Option<SocketAddr>,
    /// A node of the cluster, which tells the present set
    #[arg(long, value_name = "ADDRESS")]
    pub node: SocketAddr,
    /// Where it listens for clients
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7400")]
    pub listen: SocketAddr,
    /// Where it listens for HTTP
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7480")]
    pub http: SocketAddr,
    /// Where it listens for the other replicas, which find it there
    #[arg(long, value_name = "ADDRESS")]
    pub others: SocketAddr,
}

/// Options of `cluster sync`.
#[derive(Args)]
pub struct ClusterSyncArgs {
    /// The configuration of the replica, which does not run
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: PathBuf,
    /// The HTTP address of a replica that runs
    #[arg(long, value_name = "ADDRESS")]
    pub from: SocketAddr,
    /// Replace everything but the replica's votes, without reading it: for data that is damaged
    #[arg(long)]
    pub replace: bool,
}

/// Options of `cluster approve`.
#[derive(Args)]
pub struct ClusterApproveArgs {
    /// The configuration of the replica that approves
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: PathBuf,
    /// A node of the set; by default the replica's own, which has to be of it
    #[arg(long, value_name = "ADDRESS")]
    pub node: Option<SocketAddr>,
    /// The replica that joins, as `turnpike cluster join` prints it
    #[arg(long, value_name = "MEMBER", conflicts_with = "remove", required_unless_present = "remove")]
    pub add: Option<Member>,
    /// The replica that leaves, as it is in `cluster.replicas` or was printed when it joined
    #[arg(long, value_name = "MEMBER")]
    pub remove: Option<Member>,
}
