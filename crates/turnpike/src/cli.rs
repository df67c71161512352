//! The command line: every command and option with its help text. Completions and man pages are made from it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint, value_parser};
use wire::{AccountId, TransactionId};

/// The node that client commands talk to unless told otherwise.
pub const DEFAULT_NODE: &str = "127.0.0.1:7400";

/// A fast path for blockchains: durable transfers over UDP, settled into blocks, with proofs that anyone can check.
#[derive(Parser)]
#[command(name = "turnpike", version, propagate_version = true, max_term_width = 120)]
pub struct Cli {
    /// Print results as JSON, one object a line
    #[arg(long, global = true)]
    pub json: bool,
    /// What to log to standard error: error, warn, info, debug, trace, or directives such as node=debug
    #[arg(long, global = true, value_name = "FILTER", default_value = "info")]
    pub log: String,
    /// How to write the log
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    #[command(subcommand)]
    pub command: Command,
}

/// How log lines are written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

/// What the program can do.
#[derive(Subcommand)]
pub enum Command {
    /// Run a node
    Serve(ServeArgs),
    /// Run a ledger of compact frames inside the network driver, accepted only: a crash loses what was not journalled yet
    InNic(InNicArgs),
    /// Tell what this machine's kernel, network drivers and privileges allow, and what to change
    Doctor(DoctorArgs),
    /// Create accounts, issue, transfer, and look up balances
    #[command(subcommand)]
    Account(AccountCommand),
    /// Make and show the keys of keyed accounts and issuers
    #[command(subcommand)]
    Key(KeyCommand),
    /// Fetch Merkle proofs from a node, and verify them without one
    #[command(subcommand)]
    Proof(ProofCommand),
    /// Synchronise block headers from a node, checking every link
    Headers(HeadersArgs),
    /// Read blocks of another chain into a data directory
    #[command(subcommand)]
    Import(ImportCommand),
    /// Put load on a node and report rate and latency
    Load(LoadArgs),
    /// Send the transactions of a capture to a node
    Replay(ReplayArgs),
    /// Verify proofs of work, signatures and blocks out of files; the exit status is 0 if all are valid, 1 if some are not, 2
    /// if the files cannot be used
    #[command(subcommand)]
    Verify(VerifyCommand),
    /// Audit a data directory: sums, chains, roots, balances
    Check(CheckArgs),
    /// Evaluate and verify delays that nobody can shorten, and open time-locks
    #[command(subcommand)]
    Delay(DelayCommand),
    /// Run programs of the pairing coprocessor on its model, assemble and disassemble them
    #[command(subcommand)]
    Coproc(CoprocCommand),
    /// Tell what a node serves and where it stands
    Info(NodeArgs),
    /// Show, in about a minute, what Turnpike does: durable transfers, proofs, a kill -9, nothing lost
    Demo(DemoArgs),
    /// Check a configuration file, or print one with every key and its default
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the man pages
    Man {
        /// The folder to write to
        #[arg(value_hint = ValueHint::DirPath)]
        directory: PathBuf,
    },
}

/// Options of `serve`. What is given here overrides the configuration file.
#[derive(Args)]
pub struct ServeArgs {
    /// Configuration file (TOML); `turnpike config default` prints one
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Data directory; made if it does not exist
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub data: Option<PathBuf>,
    /// Address to serve the protocol on
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Prefix from which unsigned operations are taken, such as 127.0.0.0/8; may be repeated
    #[arg(long, value_name = "PREFIX")]
    pub trusted: Vec<String>,
    /// Promise of replies to frames that ask for none
    #[arg(long, value_enum)]
    pub promise: Option<PromiseArg>,
    /// Address for metrics and health
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// How many accounts the table holds
    #[arg(long, value_name = "COUNT")]
    pub accounts: Option<u64>,
    /// What carries datagrams; where the machine does not allow it, sockets do
    #[arg(long, value_enum)]
    pub io: Option<IoArg>,
    /// The interface that XDP answers on, if it is not the one that has the address to serve on; with the simulated NIC, a TAP device
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
}

/// Options of `in-nic`.
#[derive(Args)]
pub struct InNicArgs {
    /// Data directory; made if it does not exist
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = "data")]
    pub data: PathBuf,
    /// Address to serve compact frames on
    #[arg(long, value_name = "ADDRESS")]
    pub listen: SocketAddr,
    /// Prefix from which operations are taken; may be repeated
    #[arg(long, value_name = "PREFIX", required = true)]
    pub trusted: Vec<String>,
    /// Address for metrics and health
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// How many accounts there may be
    #[arg(long, value_name = "COUNT", default_value_t = 1 << 20)]
    pub accounts: u64,
    /// How many operations are remembered, so that none is executed again when it is sent again: 36 bytes each
    #[arg(long, value_name = "COUNT", default_value_t = 1 << 24, value_parser = value_parser!(u64).range(1024..=1 << 26))]
    pub retries: u64,
    /// How long an operation is remembered at least; where there are more in that time, requests are answered BUSY
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = value_parser!(u64).range(1..=3600))]
    pub retry_seconds: u64,
    /// The interface that XDP executes on, if it is not the one that has the address to serve on
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
}

/// Options of `doctor`.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Also attach the XDP program to this interface for a moment, answering nothing, to see what its driver takes
    #[arg(long, value_name = "NAME")]
    pub interface: Option<String>,
}

/// What carries datagrams, as the command line names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum IoArg {
    /// The best that the machine allows
    Auto,
    /// Sockets of the kernel
    Udp,
    /// These, and a program in the network driver that answers reads
    Xdp,
    /// As xdp, and what the program does not answer comes past the host's network stack
    #[value(name = "af_xdp")]
    AfXdp,
    /// The simulated NIC, which `make rtl` builds, on sockets or a TAP device
    Rtl,
}

impl From<IoArg> for node::config::Backend {
    fn from(io: IoArg) -> Self {
        match io {
            IoArg::Auto => Self::Auto,
            IoArg::Udp => Self::Udp,
            IoArg::Xdp => Self::Xdp,
            IoArg::AfXdp => Self::AfXdp,
            IoArg::Rtl => Self::Rtl,
        }
    }
}

/// A promise, as the command line names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum PromiseArg {
    /// Executed in memory
    Accepted,
    /// In the journal, synced to the disk
    Durable,
}

impl From<PromiseArg> for wire::Promise {
    fn from(promise: PromiseArg) -> Self {
        match promise {
            PromiseArg::Accepted => Self::Accepted,
            PromiseArg::Durable => Self::Durable,
        }
    }
}

/// Which node to talk to.
#[derive(Args, Clone)]
pub struct NodeArgs {
    /// The node's address
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_NODE)]
    pub node: SocketAddr,
    /// Talk over TCP instead of UDP
    #[arg(long)]
    pub tcp: bool,
}

impl NodeArgs {
    /// How to talk to the node.
    pub fn options(&self) -> client::Options {
        client::Options { tcp: self.tcp, ..client::Options::default() }
    }
}

/// Options of every operation.
#[derive(Args)]
pub struct OperationArgs {
    #[command(flatten)]
    pub node: NodeArgs,
    /// Sign with this key; without it the operation is unsigned, and the node must trust this address
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub key: Option<PathBuf>,
    #[command(flatten)]
    pub network: PinArgs,
    /// Transaction id; random if not given. Repeat an operation with its id and nothing is done twice
    #[arg(long, value_name = "ID")]
    pub transaction: Option<TransactionId>,
    /// Promise to ask for
    #[arg(long, value_enum)]
    pub promise: Option<PromiseArg>,
}

/// What network a node has to be of.
#[derive(Args)]
pub struct PinArgs {
    /// The network id that the node has to have; it names the key that seals all blocks. Without it, what the node says is believed
    #[arg(long, value_name = "HEX", value_parser = parse_network_id)]
    pub network_id: Option<[u8; 32]>,
}

fn parse_network_id(text: &str) -> Result<[u8; 32], String> {
    let bytes = crate::hex::decode(text).and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or_else(|| "a network id is 64 hexadecimal digits; `turnpike serve` and `turnpike info` print it".into())
}

/// Who answers for a new account, if it is not its own key from a trusted address.
#[derive(Args)]
pub struct SponsorArgs {
    /// Sign with this key, an issuer's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "payer_key")]
    pub issuer_key: Option<PathBuf>,
    /// Sign with this key, whose account pays the deposit
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "deposit")]
    pub payer_key: Option<PathBuf>,
    /// How much it pays; it leaves circulation for good. Nodes take no less than their `ledger.deposit`
    #[arg(long, value_name = "AMOUNT", requires = "payer_key")]
    pub deposit: Option<u64>,
}

/// Operations on accounts. An account is a number, or 32 hexadecimal digits.
#[derive(Subcommand)]
pub enum AccountCommand {
    /// Create an account. For a keyed one somebody has to answer: an issuer, who pays a deposit, or the operator, who trusts this
    /// address
    Create {
        /// The account; with --key it may be left out: it is the key's
        account: Option<AccountId>,
        #[command(flatten)]
        sponsor: SponsorArgs,
        #[command(flatten)]
        operation: OperationArgs,
    },
    /// Issue an amount to an account
    Issue {
        /// The account that receives
        account: AccountId,
        /// How much
        amount: u64,
        #[command(flatten)]
        operation: OperationArgs,
    },
    /// Transfer an amount from one account to another
    Transfer {
        /// The sender
        source: AccountId,
        /// The receiver
        destination: AccountId,
        /// How much
        amount: u64,
        #[command(flatten)]
        operation: OperationArgs,
    },
    /// Look up a balance
    Refer {
        /// The account
        account: AccountId,
        #[command(flatten)]
        operation: OperationArgs,
    },
}

/// Key files: the secret key as 64 hexadecimal digits, readable by their owner only.
#[derive(Subcommand)]
pub enum KeyCommand {
    /// Make a key
    New {
        /// The file to write; must not exist
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Show a key's public key and account
    Show {
        /// The key file
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
}

/// Proofs.
#[derive(Subcommand)]
pub enum ProofCommand {
    /// Fetch a proof, and verify it against headers that are synchronised from the node
    Get(ProofGetArgs),
    /// Verify a proof that was written to a file: one of `proof get --out`, or Bitcoin Core's gettxoutproof output
    Verify {
        /// The proof
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
        /// Headers to verify against, as `turnpike headers` writes them; without them a gettxoutproof is only checked
        /// in itself
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        headers: Option<PathBuf>,
        /// Height of the first of the headers, where that is not the genesis block and is trusted
        #[arg(long, value_name = "HEIGHT", requires = "headers")]
        first_height: Option<u32>,
        #[command(flatten)]
        network: PinArgs,
    },
}

/// A chain, as the command line names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ChainArg {
    /// The node's own chain
    Own,
    /// Bitcoin
    Bitcoin,
}

/// What to fetch a proof of.
#[derive(Args)]
pub struct ProofGetArgs {
    #[command(flatten)]
    pub node: NodeArgs,
    #[command(flatten)]
    pub subject: ProofSubject,
    /// The source account of --transaction
    #[arg(long, value_name = "ACCOUNT", requires = "transaction")]
    pub source: Option<AccountId>,
    #[command(flatten)]
    pub pin: PinArgs,
    /// Where the node has other headers than those kept here, sealed as well, take its headers, and tell what they replace
    #[arg(long, requires = "headers")]
    pub accept_reorganisation: bool,
    /// The Bitcoin network
    #[arg(long, value_enum, default_value_t = NetworkArg::Mainnet)]
    pub network: NetworkArg,
    /// Write the proof here
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// Keep the headers here, so that only new ones are fetched the next time, and the chain stays the one trusted first
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub headers: Option<PathBuf>,
}

/// Exactly one of these.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct ProofSubject {
    /// The latest transaction of an account of the own chain
    #[arg(long, value_name = "ACCOUNT")]
    pub latest: Option<AccountId>,
    /// The balance and the latest transaction of an account, or that there is no such account
    #[arg(long, value_name = "ACCOUNT")]
    pub balance: Option<AccountId>,
    /// A transaction of the own chain, by its id and --source
    #[arg(long, value_name = "ID")]
    pub transaction: Option<TransactionId>,
    /// A transaction of the own chain, by height and position
    #[arg(long, value_name = "HEIGHT:POSITION")]
    pub locator: Option<String>,
    /// The latest Bitcoin transaction of an output script (hexadecimal)
    #[arg(long, value_name = "SCRIPT")]
    pub bitcoin_script: Option<String>,
    /// A Bitcoin transaction (hexadecimal, as block explorers print it)
    #[arg(long, value_name = "TXID")]
    pub bitcoin_transaction: Option<String>,
}

/// Options of `headers`.
#[derive(Args)]
pub struct HeadersArgs {
    #[command(flatten)]
    pub node: NodeArgs,
    /// Which chain
    #[arg(long, value_enum, default_value_t = ChainArg::Own)]
    pub chain: ChainArg,
    #[command(flatten)]
    pub pin: PinArgs,
    /// Where the node has other headers of its own chain than those kept here, sealed as well, take its headers, and tell what they
    /// replace
    #[arg(long)]
    pub accept_reorganisation: bool,
    /// The Bitcoin network
    #[arg(long, value_enum, default_value_t = NetworkArg::Mainnet)]
    pub network: NetworkArg,
    /// The file to keep them in
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
}

/// What can be done with delay functions.
#[derive(Subcommand)]
pub enum DelayCommand {
    /// Square a number, hashed out of a message, so many times, and prove it
    Evaluate(DelayEvaluateArgs),
    /// Verify a proof: that it is one of this message, squared so many times
    Verify(DelayVerifyArgs),
    /// Open a time-lock in the form of LCS35: compute 2^(2^ITERATIONS) modulo a number
    Unlock(DelayUnlockArgs),
}

/// The modulus of a delay function.
#[derive(Clone, Debug)]
pub enum ModulusChoice {
    /// RSA-1024
    Rsa1024,
    /// RSA-2048
    Rsa2048,
    /// A file with decimal digits
    File(PathBuf),
}

impl From<&str> for ModulusChoice {
    fn from(text: &str) -> Self {
        match text {
            "rsa-1024" => Self::Rsa1024,
            "rsa-2048" => Self::Rsa2048,
            path => Self::File(path.into()),
        }
    }
}

/// Options of `turnpike delay evaluate`.
#[derive(Args)]
pub struct DelayEvaluateArgs {
    /// The message
    pub message: String,
    /// How many squarings
    #[arg(long, value_name = "COUNT")]
    pub iterations: u64,
    /// The modulus: rsa-1024, rsa-2048, or a file with its decimal digits
    #[arg(long, value_name = "MODULUS", default_value = "rsa-2048")]
    pub modulus: ModulusChoice,
    /// Where to write the proof
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// A file to keep the way in: after a crash, the same command goes on from there
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub keep: Option<PathBuf>,
}

/// Options of `turnpike delay verify`.
#[derive(Args)]
pub struct DelayVerifyArgs {
    /// The proof
    #[arg(value_hint = ValueHint::FilePath)]
    pub proof: PathBuf,
    /// The message that was squared
    #[arg(long)]
    pub message: String,
    /// How many squarings there should be
    #[arg(long, value_name = "COUNT")]
    pub iterations: u64,
    /// The modulus: rsa-1024, rsa-2048, or a file with its decimal digits
    #[arg(long, value_name = "MODULUS", default_value = "rsa-2048")]
    pub modulus: ModulusChoice,
    #[command(flatten)]
    pub server: ServerOptions,
}

/// Options of `turnpike delay unlock`.
#[derive(Args)]
pub struct DelayUnlockArgs {
    /// How many squarings
    #[arg(long, value_name = "COUNT")]
    pub iterations: u64,
    /// The modulus: a file with its decimal digits
    #[arg(long, value_name = "MODULUS")]
    pub modulus: ModulusChoice,
    /// What the solution deciphers, in hexadecimal digits
    #[arg(long, value_name = "HEX")]
    pub ciphertext: Option<String>,
    /// A file to keep the state in: after a crash, the same command goes on from there
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub keep: Option<PathBuf>,
}

/// What can be imported.
#[derive(Subcommand)]
pub enum ImportCommand {
    /// Bitcoin blocks: blk*.dat files, raw blocks, or a folder of them
    Bitcoin {
        /// The file or folder
        #[arg(value_hint = ValueHint::AnyPath)]
        path: PathBuf,
        /// Data directory; made if it does not exist
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        data: PathBuf,
        /// Which network the blocks are of
        #[arg(long, value_enum, default_value_t = NetworkArg::Mainnet)]
        network: NetworkArg,
        /// Start from the first block found instead of genesis, trusting it
        #[arg(long)]
        trust_first: bool,
    },
}

/// A Bitcoin network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum NetworkArg {
    /// The main network
    Mainnet,
    /// Test network 3
    Testnet,
    /// The default signet
    Signet,
    /// Regression test
    Regtest,
}

impl From<NetworkArg> for spv::bitcoin::Network {
    fn from(network: NetworkArg) -> Self {
        match network {
            NetworkArg::Mainnet => Self::Mainnet,
            NetworkArg::Testnet => Self::Testnet,
            NetworkArg::Signet => Self::Signet,
            NetworkArg::Regtest => Self::Regtest,
        }
    }
}

/// Options of `load`.
#[derive(Args)]
pub struct LoadArgs {
    #[command(flatten)]
    pub node: NodeArgs,
    /// How many accounts to use, numbered from 1; they are created and funded first where missing
    #[arg(long, default_value_t = 1000)]
    pub accounts: u32,
    /// How many operations to send
    #[arg(long, default_value_t = 1_000_000)]
    pub operations: u64,
    /// What to send
    #[arg(long, value_enum, default_value_t = MixArg::Transfer)]
    pub mix: MixArg,
    /// How accounts are chosen
    #[arg(long, value_enum, default_value_t = DistributionArg::Uniform)]
    pub distribution: DistributionArg,
    /// Operations in one datagram; 0 sends the paper's frames of one operation each
    #[arg(long, default_value_t = 60)]
    pub batch: u16,
    /// With --mix transfer: the share of the operations that are signed, by accounts with keys; signing is done before
    #[arg(long, value_name = "FRACTION", default_value_t = 0.0, value_parser = fraction)]
    pub signed: f64,
    /// Datagrams in flight (closed loop)
    #[arg(long, default_value_t = 64)]
    pub in_flight: u32,
    /// Operations a second (open loop: latency counts from when an operation was due); 0 is a closed loop
    #[arg(long, default_value_t = 0)]
    pub rate: u64,
    /// Promise to ask for
    #[arg(long, value_enum, default_value_t = PromiseArg::Durable)]
    pub promise: PromiseArg,
    /// Seed of the choices
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// With --mix proof: percentage of the requests for accounts whose proofs were asked for before, and so are in the cache
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub hits: Option<u8>,
    /// Follow every balance, and compare all of them with the node's at the end
    #[arg(long)]
    pub check: bool,
}

/// What load consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MixArg {
    /// TRANSFER only
    Transfer,
    /// REFER only
    Refer,
    /// Proofs of accounts' latest transactions, one a datagram
    Proof,
}

/// How load chooses accounts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum DistributionArg {
    /// All alike
    Uniform,
    /// Few are chosen often, as by Zipf's law
    Zipf,
    /// Always the same two
    HotPair,
}

/// Options of `replay`.
#[derive(Args)]
pub struct ReplayArgs {
    /// The node's address
    #[arg(long, value_name = "ADDRESS", default_value = DEFAULT_NODE)]
    pub node: SocketAddr,
    /// The capture (pcap; Ethernet, Linux cooked or raw IP)
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// UDP port that the transactions in the capture were sent to; any if not given
    #[arg(long)]
    pub port: Option<u16>,
    /// Keep the capture's timing instead of sending as fast as the node answers
    #[arg(long)]
    pub timed: bool,
    /// How long to wait for the last replies
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    pub wait: Duration,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let value: f64 = text.parse().map_err(|_| "expected a number of seconds".to_string())?;
    Duration::try_from_secs_f64(value).map_err(|error| error.to_string())
}

/// What can be verified.
#[derive(Subcommand)]
pub enum VerifyCommand {
    /// Headers of Zcash and its relatives: Equihash solution and difficulty. Files are raw blocks, or headers one after the other
    Equihash(VerifyEquihashArgs),
    /// ECDSA signatures on secp256k1. Files have a line for each (digest, key, signature, in hexadecimal), or binary records
    /// (digest of 32 bytes; length and key; length and signature). Signatures are DER, or 64 bytes r ‖ s
    Ecdsa(VerifyEcdsaArgs),
    /// BIP340 signatures. Files have a line for each (message of 32 bytes, key, signature, in hexadecimal), or binary records of
    /// the same 128 bytes
    Schnorr(VerifyFiles),
    /// BLS signatures on BLS12-381, with keys in G1. Files have a line for each (message, key, signature, in hexadecimal), or binary
    /// records (length of 2 bytes and message, key of 48 bytes, signature of 96)
    Bls(VerifyFiles),
    /// Groth16 proofs on BLS12-381. Files have a line for each (proof, public inputs, in hexadecimal), or binary records (proof of 192
    /// bytes, public inputs of 32 bytes each, little-endian)
    Groth16(VerifyGroth16Args),
    /// Products of pairings on BLS12-381 that should be one, in the encoding of EIP-2537. Files have a line for each, in hexadecimal, or
    /// binary records (number of pairs in 2 bytes, pairs of 384 bytes)
    Pairing(VerifyFiles),
    /// Blocks of Bitcoin: proof of work, Merkle root, and the signatures of inputs whose coins are known. Files are raw blocks,
    /// blk*.dat files, or folders of them
    Block(VerifyBlockArgs),
}

/// How to verify.
#[derive(Args)]
pub struct VerifyOptions {
    /// How many threads to use; all processors if not given
    #[arg(long, value_name = "COUNT")]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub server: ServerOptions,
}

/// Who verifies.
#[derive(Args)]
pub struct ServerOptions {
    /// Have a node verify instead of this machine: what is to be verified is sent to it
    #[arg(long, value_name = "ADDRESS")]
    pub server: Option<SocketAddr>,
    /// Talk to it over TCP instead of UDP
    #[arg(long, requires = "server")]
    pub tcp: bool,
}

impl ServerOptions {
    /// The node that is to verify, and how to talk to it.
    pub fn get(&self) -> Option<(SocketAddr, client::Options)> {
        // The longest datagrams, as a header with its solution does not fit one that passes an Ethernet undivided.
        let datagram = Some(wire::MAX_DATAGRAM);
        Some((self.server?, client::Options { tcp: self.tcp, datagram, ..client::Options::default() }))
    }
}

/// What to verify.
#[derive(Args)]
pub struct VerifyFiles {
    /// The files
    #[arg(value_hint = ValueHint::FilePath, required = true)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub options: VerifyOptions,
}

/// Options of `verify equihash`.
#[derive(Args)]
pub struct VerifyEquihashArgs {
    #[command(flatten)]
    pub files: VerifyFiles,
    /// The parameters; those that solutions of the first header's length belong to, if not given
    #[arg(long, value_name = "N,K", value_parser = equihash_parameters)]
    pub parameters: Option<(usize, usize)>,
    /// The personalisation of the chain, 8 characters
    #[arg(long, value_name = "TEXT", default_value = "ZcashPoW", value_parser = personalisation)]
    pub personalisation: [u8; 8],
    /// Files are records of 140 bytes and a solution, with no length before it: only solutions are checked, no difficulty
    #[arg(long, requires = "parameters", conflicts_with = "server")]
    pub records: bool,
}

fn equihash_parameters(text: &str) -> Result<(usize, usize), String> {
    let parsed = text.split_once(',').and_then(|(n, k)| Some((n.trim().parse().ok()?, k.trim().parse().ok()?)));
    parsed.ok_or_else(|| "expected two numbers like 200,9".to_string())
}

fn personalisation(text: &str) -> Result<[u8; 8], String> {
    text.as_bytes().try_into().map_err(|_| "expected 8 ASCII characters like ZcashPoW".to_string())
}

/// Options of `verify ecdsa`.
#[derive(Args)]
pub struct VerifyEcdsaArgs {
    #[command(flatten)]
    pub files: VerifyFiles,
    /// Take DER encodings that are not strict, as before BIP66
    #[arg(long)]
    pub lax: bool,
    /// Refuse signatures with an s above half the order of the group
    #[arg(long)]
    pub low_s: bool,
}

/// Options of `verify groth16`.
#[derive(Args)]
pub struct VerifyGroth16Args {
    #[command(flatten)]
    pub files: VerifyFiles,
    /// The verifying key: sapling-spend, sapling-output, sprout, or a file in bellman's encoding
    ///
    /// For sprout the nine inputs are the values of a JoinSplit (root, h_sig, nullifier and MAC twice, two commitments, value in and
    /// out) as bits, the highest of each byte first, 254 of them in a number, the lowest first.
    #[arg(long, value_name = "KEY")]
    pub key: String,
}

/// Options of `verify block`.
#[derive(Args)]
pub struct VerifyBlockArgs {
    #[command(flatten)]
    pub files: VerifyFiles,
    /// Coins that the blocks spend, as Bitcoin Core serialises them; may be repeated
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub coins: Vec<PathBuf>,
    /// Which network the blocks are of
    #[arg(long, value_enum, default_value_t = NetworkArg::Mainnet)]
    pub network: NetworkArg,
}

/// Programs of the pairing coprocessor.
#[derive(Subcommand)]
pub enum CoprocCommand {
    /// Run a program until it waits; the exit status is 1 if it does not
    Run(CoprocRunArgs),
    /// Write the image of a program: what instruction memory and data memory begin with
    Assemble(CoprocAssembleArgs),
    /// Print a program as text
    Disassemble(CoprocDisassembleArgs),
}

/// Options of `coproc run`.
#[derive(Args)]
pub struct CoprocRunArgs {
    /// The program: a text, or an image
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Instructions after which it is stopped
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000)]
    pub instructions: u64,
}

/// Options of `coproc assemble`.
#[derive(Args)]
pub struct CoprocAssembleArgs {
    /// The text
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// The file to write
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
}

/// Options of `coproc disassemble`.
#[derive(Args)]
pub struct CoprocDisassembleArgs {
    /// The program: an image, or a text
    #[arg(value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
}

/// Options of `check`.
#[derive(Args)]
pub struct CheckArgs {
    /// The data directory; the node must not be running on it
    #[arg(value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,
}

/// Options of `demo`.
#[derive(Args)]
pub struct DemoArgs {
    /// Folder with blk*.dat files to import
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub blocks: Option<PathBuf>,
    /// Transfers to make, twice: undisturbed, and with a kill -9 in the middle
    #[arg(long, default_value_t = 1_000_000)]
    pub transfers: u64,
    /// Accounts to make them between
    #[arg(long, default_value_t = 100_000)]
    pub accounts: u32,
    /// Proofs to fetch and verify, of own transfers and of the imported blocks each
    #[arg(long, default_value_t = 2_000)]
    pub proofs: u32,
    /// What carries datagrams to the node
    #[arg(long, value_enum)]
    pub io: Option<IoArg>,
}

/// Configuration.
#[derive(Subcommand)]
pub enum ConfigCommand {
    /// Check a file, naming each key that is wrong
    Check {
        /// The file
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Print a file with every key and its default
    Default,
}

/// A number from 0 to 1.
fn fraction(text: &str) -> Result<f64, String> {
    let fraction = text.parse().ok().filter(|fraction| (0.0..=1.0).contains(fraction));
    fraction.ok_or_else(|| "expected a number from 0 to 1".into())
}
