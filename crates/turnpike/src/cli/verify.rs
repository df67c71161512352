//! `turnpike verify`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::common::{NetworkArg, ServerOptions};

/// Objects to verify.
#[derive(Subcommand)]
pub enum VerifyCommand {
    /// Verify headers of Zcash and its relatives: Equihash solution and difficulty
    ///
    /// Files are raw blocks, or headers one after the other.
    Equihash(VerifyEquihashArgs),
    /// Verify ECDSA signatures on secp256k1
    ///
    /// Files have a line per signature (digest, key, signature, in hexadecimal), or binary records (digest of 32 bytes;
    /// length and key; length and signature). Signatures are DER, or 64 bytes r ‖ s.
    Ecdsa(VerifyEcdsaArgs),
    /// Verify BIP340 signatures
    ///
    /// Files have a line per signature (message of 32 bytes, key, signature, in hexadecimal), or binary records of the
    /// same 128 bytes.
    Schnorr(VerifyFiles),
    /// Verify BLS signatures on BLS12-381, with keys in G1
    ///
    /// Files have a line per signature (message, key, signature, in hexadecimal), or binary records (length of 2 bytes
    /// and message, key of 48 bytes, signature of 96).
    Bls(VerifyFiles),
    /// Verify Groth16 proofs on BLS12-381
    ///
    /// Files have a line per proof (proof, public inputs, in hexadecimal), or binary records (proof of 192 bytes,
    /// public inputs of 32 bytes each, little-endian).
    Groth16(VerifyGroth16Args),
    /// Verify that products of pairings on BLS12-381 are one, in the encoding of EIP-2537
    ///
    /// Files have a line per product, in hexadecimal, or binary records (number of pairs in 2 bytes, pairs of 384
    /// bytes).
    Pairing(VerifyFiles),
    /// Verify Bitcoin blocks: proof of work, Merkle root, and the signatures of inputs whose coins are known
    ///
    /// Files are raw blocks, blk*.dat files, or folders of them.
    Block(VerifyBlockArgs),
}

/// Options common to all `verify` commands.
#[derive(Args)]
pub struct VerifyOptions {
    /// Use this number of threads [default: one per processor]
    #[arg(long, value_name = "COUNT")]
    pub threads: Option<usize>,
    #[command(flatten)]
    pub server: ServerOptions,
}

/// Files to verify.
#[derive(Args)]
pub struct VerifyFiles {
    /// The files to verify
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
    /// Use these parameters [default: by the length of the first header's solution]
    #[arg(long, value_name = "N,K", value_parser = equihash_parameters)]
    pub parameters: Option<(usize, usize)>,
    /// Use this personalisation of the chain, 8 characters
    #[arg(long, value_name = "TEXT", default_value = "ZcashPoW", value_parser = personalisation)]
    pub personalisation: [u8; 8],
    /// Read records of 140 bytes and a solution without its length, and check solutions but not difficulty
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
    /// Accept DER encodings that are not strict, as before BIP66
    #[arg(long)]
    pub lax: bool,
    /// Reject signatures with an s above half the order of the group
    #[arg(long)]
    pub low_s: bool,
}

/// Options of `verify groth16`.
#[derive(Args)]
pub struct VerifyGroth16Args {
    #[command(flatten)]
    pub files: VerifyFiles,
    /// Use this verifying key: sapling-spend, sapling-output, sprout, or a file in bellman's encoding
    ///
    /// For sprout the nine inputs are the values of a JoinSplit (root, h_sig, nullifier and MAC twice, two commitments,
    /// value in and out) as bits, the highest of each byte first, 254 bits per number, the lowest first.
    #[arg(long, value_name = "KEY")]
    pub key: String,
}

/// Options of `verify block`.
#[derive(Args)]
pub struct VerifyBlockArgs {
    #[command(flatten)]
    pub files: VerifyFiles,
    /// Read the coins that the blocks spend from this file, as Bitcoin Core serialises them; may be repeated
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub coins: Vec<PathBuf>,
    /// Use this Bitcoin network
    #[arg(long, value_enum, default_value_t = NetworkArg::Mainnet)]
    pub network: NetworkArg,
}
