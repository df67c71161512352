//! `turnpike kv`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use node::config::ITEM_SIZES;

use super::KvCompatibleArgs;

/// Options of `kv`: memcached's, by its letters.
#[derive(Args)]
pub struct KvArgs {
    /// TCP port; 0 for none
    #[arg(short = 'p', long, value_name = "PORT", default_value_t = 11211)]
    pub port: u16,
    /// UDP port; 0 for none
    #[arg(short = 'U', long, value_name = "PORT", default_value_t = 0)]
    pub udp_port: u16,
    /// Prefix whose addresses get replies by UDP that are longer than the request; may be repeated
    #[arg(long, value_name = "PREFIX", default_values = ["127.0.0.0/8", "::1/128"])]
    pub udp_trusted: Vec<String>,
    /// What serves datagrams: with xdp a program in the network driver answers gets of one key
    #[arg(long, value_enum, default_value_t = KvIo::Udp)]
    pub io: KvIo,
    /// The interface that XDP answers on, if it is not the one that has the first address of -l
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
    /// Memory for what XDP answers with, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=4000))]
    pub xdp_memory: u64,
    /// Addresses to listen on, with their own ports or the one of -p; several with commas between; notls: before one has no TLS
    #[arg(short = 'l', long, value_name = "ADDRESS", value_delimiter = ',', default_value = "127.0.0.1")]
    pub listen: Vec<String>,
    /// Socket in the file system to listen on, and not on the network
    #[arg(short = 's', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub unix_socket: Option<PathBuf>,
    /// Who may use the socket: its mode, in octal
    #[arg(short = 'a', long, value_name = "MODE", default_value = "700", value_parser = octal)]
    pub unix_mask: u32,
    /// Memory for items, in MiB
    #[arg(short = 'm', long, value_name = "MIB", default_value_t = 64)]
    pub memory_limit: usize,
    /// File for the items, of -m bytes, best in tmpfs: after SIGTERM, SIGINT or SIGUSR1 the next start goes on with them
    #[arg(short = 'e', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub memory_file: Option<PathBuf>,
    /// Refuse what does not fit rather than evict what was not used
    #[arg(short = 'M', long)]
    pub disable_evictions: bool,
    /// Connections at once
    #[arg(short = 'c', long, value_name = "COUNT", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub conn_limit: u32,
    /// Threads that serve connections
    #[arg(short = 't', long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,
    /// Connections that wait to be accepted
    #[arg(short = 'b', long, value_name = "COUNT", default_value_t = 1024)]
    pub listen_backlog: u16,
    /// Largest item, with key and header: bytes, or with k or m behind
    #[arg(short = 'I', long, value_name = "SIZE", default_value = "1m", value_parser = size)]
    pub max_item_size: usize,
    /// Protocol of all connections
    #[arg(short = 'B', long, value_enum, default_value_t = KvProtocol::Auto)]
    pub protocol: KvProtocol,
    /// Take the command shutdown
    #[arg(short = 'A', long)]
    pub enable_shutdown: bool,
    /// Refuse the command flush_all
    #[arg(short = 'F', long)]
    pub disable_flush_all: bool,
    /// Refuse commands that list keys
    #[arg(short = 'X', long)]
    pub disable_dumping: bool,
    /// Close connections that were idle for so many seconds; 0 for never
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub idle_timeout: u64,
    /// Address of metrics and health (HTTP)
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// Speak TLS on TCP, by the certificate and key of -o ssl_chain_cert=FILE,ssl_key=FILE
    #[arg(short = 'Z', long)]
    pub enable_ssl: bool,
    /// memcached's further options, with commas between: idle_timeout=SECONDS, and of TLS ssl_chain_cert, ssl_key, ssl_ca_cert,
    /// ssl_verify_mode, ssl_min_version, ssl_session_cache; the rest is not needed here
    #[arg(short = 'o', long, value_name = "OPTION", value_delimiter = ',')]
    pub extended: Vec<String>,
    /// Require a login, by text or by SASL PLAIN, of a user that this file lists: NAME:PASSWORD a line
    #[arg(short = 'Y', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub auth_file: Option<PathBuf>,
    /// Require logins by SASL, of the users of -Y: binary protocol alone
    #[arg(short = 'S', long)]
    pub enable_sasl: bool,
    #[command(flatten)]
    pub compatible: KvCompatibleArgs,
}

/// What serves datagrams.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KvIo {
    /// Sockets
    Udp,
    /// Sockets, and XDP before them
    Xdp,
}

/// What connections speak.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KvProtocol {
    /// What the first byte says
    Auto,
    /// Text: ASCII and meta
    Ascii,
    /// Binary
    Binary,
}

fn octal(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
    mode.ok_or_else(|| "a mode is an octal number up to 777".into())
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
    valid.ok_or_else(|| "a size is from 1k to 1024m, as in 500k or 2m".into())
}
