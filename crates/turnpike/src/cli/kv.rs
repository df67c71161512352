//! `turnpike kv`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use node::config::ITEM_SIZES;

use super::KvCompatibleArgs;

/// Options of `kv`, with memcached's letters.
#[derive(Args)]
pub struct KvArgs {
    /// Listen on this TCP port; 0 for none
    #[arg(short = 'p', long, value_name = "PORT", default_value_t = 11211)]
    pub port: u16,
    /// Listen on this UDP port; 0 for none
    #[arg(short = 'U', long, value_name = "PORT", default_value_t = 0)]
    pub udp_port: u16,
    /// Send UDP replies longer than the request to this prefix only; may be repeated
    #[arg(long, value_name = "PREFIX", default_values = ["127.0.0.0/8", "::1/128"])]
    pub udp_trusted: Vec<String>,
    /// Serve datagrams by this backend; with xdp, a program in the network driver answers gets of one key; with rtl,
    /// the simulated NIC answers binary requests from the first IPv4 prefix of --udp-trusted
    #[arg(long, value_enum, default_value_t = KvIo::Udp)]
    pub io: KvIo,
    /// Simulate the NIC of this library, which `make rtl` builds
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(default_value = "target/rtl/libturnpike_nic_kv.so")]
    pub rtl: PathBuf,
    /// Attach XDP to this interface [default: the one with the first address of -l]
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
    /// Use this memory for the items that XDP answers with, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=4000))]
    pub xdp_memory: u64,
    /// Listen on these addresses, comma-separated, each with its own port or that of -p; prefix notls: disables TLS
    #[arg(short = 'l', long, value_name = "ADDRESS", value_delimiter = ',', default_value = "127.0.0.1")]
    pub listen: Vec<String>,
    /// Listen on this Unix socket instead of the network
    #[arg(short = 's', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub unix_socket: Option<PathBuf>,
    /// Give the Unix socket this mode, in octal
    #[arg(short = 'a', long, value_name = "MODE", default_value = "700", value_parser = octal)]
    pub unix_mask: u32,
    /// Use this memory for items, in MiB
    #[arg(short = 'm', long, value_name = "MIB", default_value_t = 64)]
    pub memory_limit: usize,
    /// Keep items in this file of size -m, best in tmpfs, so that they survive SIGTERM, SIGINT and SIGUSR1
    #[arg(short = 'e', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub memory_file: Option<PathBuf>,
    /// Refuse items that do not fit instead of evicting old ones
    #[arg(short = 'M', long)]
    pub disable_evictions: bool,
    /// Accept at most this number of connections at once
    #[arg(short = 'c', long, value_name = "COUNT", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub conn_limit: u32,
    /// Serve connections by this number of threads
    #[arg(short = 't', long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,
    /// Queue at most this number of connections for accept
    #[arg(short = 'b', long, value_name = "COUNT", default_value_t = 1024)]
    pub listen_backlog: u16,
    /// Limit items to this size, including key and header: bytes, or a number with suffix k or m
    #[arg(short = 'I', long, value_name = "SIZE", default_value = "1m", value_parser = size)]
    pub max_item_size: usize,
    /// Use this protocol on all connections
    #[arg(short = 'B', long, value_enum, default_value_t = KvProtocol::Auto)]
    pub protocol: KvProtocol,
    /// Accept the command shutdown
    #[arg(short = 'A', long)]
    pub enable_shutdown: bool,
    /// Refuse the command flush_all
    #[arg(short = 'F', long)]
    pub disable_flush_all: bool,
    /// Refuse commands that list keys
    #[arg(short = 'X', long)]
    pub disable_dumping: bool,
    /// Close connections that were idle this long; 0 for never
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub idle_timeout: u64,
    /// Serve metrics and health over HTTP on this address
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// Use TLS on TCP, with the certificate and key of -o ssl_chain_cert=FILE,ssl_key=FILE
    #[arg(short = 'Z', long)]
    pub enable_ssl: bool,
    /// Set memcached's extended options, comma-separated: idle_timeout=SECONDS, ssl_chain_cert, ssl_key, ssl_ca_cert,
    /// ssl_verify_mode, ssl_min_version, ssl_session_cache; others have no effect
    #[arg(short = 'o', long, value_name = "OPTION", value_delimiter = ',')]
    pub extended: Vec<String>,
    /// Require a login, in text or by SASL PLAIN, of a user listed in this file: NAME:PASSWORD per line
    #[arg(short = 'Y', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub auth_file: Option<PathBuf>,
    /// Require logins by SASL of the users in -Y; binary protocol only
    #[arg(short = 'S', long)]
    pub enable_sasl: bool,
    #[command(flatten)]
    pub compatible: KvCompatibleArgs,
}

/// The backend that serves datagrams.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KvIo {
    /// Sockets
    Udp,
    /// Sockets, with XDP in front of them
    Xdp,
    /// Sockets, with the simulated NIC in front of them
    Rtl,
}

/// The protocol of connections.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KvProtocol {
    /// Detected by the first byte
    Auto,
    /// Text: ASCII and meta
    Ascii,
    /// Binary
    Binary,
}

fn octal(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| "expected an octal mode up to 777".into())
}

fn size(text: &str) -> Result<usize, String> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 10),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 20),
        _ => (text, 0),
    };
    let bytes = digits.parse::<usize>().ok().and_then(|number| number.checked_mul(1 << shift));
    let (smallest, largest) = ITEM_SIZES;
    let valid = bytes.filter(|bytes| (smallest..=largest).contains(&(*bytes as u64)));
    valid.ok_or_else(|| "expected a size from 1k to 1024m, such as 500k or 2m".into())
}
