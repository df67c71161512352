//! The headers that a proof of the own chain was verified against, so that "verified" is not overrated.

use std::fmt;
use std::path::Path;

use client::{Client, Reorganised};
use serde::Serialize;
use spv::finality::Vouched;
use spv::{Hash, HeaderChain};

use crate::error::Error;
use crate::hex;
use crate::output::thousands;

/// The headers that a proof was verified against, and by what they are trusted.
#[derive(Clone, Debug, Serialize)]
pub struct Against {
    /// The network id.
    pub network: String,
    /// The key that sealed the headers, or the hash of the set of replicas that order the chain.
    pub chain_key: String,
    /// The certificate of finality, where replicas order the chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Signed>,
    /// Whether the user gave the network id, instead of a node or a file.
    pub pinned: bool,
    /// Height of the tip of the headers.
    pub tip_height: u64,
    /// Its hash.
    pub tip: String,
    /// The headers that these replaced, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<Replaced>,
    /// The source of the network id.
    #[serde(skip)]
    source: Source,
}

/// The signers of the tip's finality.
#[derive(Clone, Debug, Serialize)]
pub struct Signed {
    /// The view in which they did.
    pub view: u64,
    /// The numbers of those who did.
    pub signers: Vec<u32>,
    /// Number of replicas.
    pub replicas: usize,
}

/// The headers that those of another branch replaced.
#[derive(Clone, Debug, Serialize)]
pub struct Replaced {
    /// Height of the first one.
    pub from: u64,
    /// The tip before.
    pub was_at: Block,
    /// The node's tip.
    pub is_at: Block,
    /// All of them.
    pub gone: Vec<Block>,
}

/// A block of the own chain.
#[derive(Clone, Debug, Serialize)]
pub struct Block {
    /// Its height.
    pub height: u64,
    /// Its hash.
    pub hash: String,
}

/// The source of a network id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The command line.
    Pinned,
    /// A file of headers.
    File,
    /// The node, which was contacted for the first time.
    Node,
}

impl Source {
    /// The source for a chain that is opened with these; call it before a file is created.
    pub fn new(network: Option<[u8; 32]>, file: Option<&Path>) -> Self {
        match (network, file) {
            (Some(_), _) => Self::Pinned,
            (None, Some(file)) if file.exists() => Self::File,
            (None, _) => Self::Node,
        }
    }
}

impl Against {
    /// These headers, with the source of their network id and the headers that they replaced.
    pub fn new(chain: &HeaderChain, source: Source, replaced: Option<Replaced>) -> Self {
        Self {
            network: hex::encode(chain.network_id()),
            chain_key: hex::encode(&chain.authority().to_bytes()),
            certificate: chain.vouched().and_then(|vouched| Signed::from_vouched(vouched, chain.network_id())),
            pinned: source == Source::Pinned,
            tip_height: chain.height(),
            tip: hex::encode(chain.tip_hash()),
            replaced,
            source,
        }
    }

    /// Lines for people, to append to others.
    pub fn describe(&self) -> String {
        let Self { network, chain_key, certificate, tip_height, tip, .. } = self;
        let who = match certificate {
            Some(Signed { view, signers, replicas }) => format!(
                "replicas {chain_key}, of which\n             {} of {replicas} signed in view {view} that it is final:",
                signers.len()
            ),
            None => format!("chain key {chain_key}, which sealed"),
        };
        let height = thousands(*tip_height);
        let text = format!("\nagainst      network {network}\n             {who}\n             block {height} {tip}");
        let unpinned = match self.source {
            Source::Pinned => return text,
            Source::File => "the network id comes from the file of headers, whose author chose it",
            Source::Node => "the network id comes from this node; another node can report another",
        };
        format!("{text}\nnot pinned   {unpinned}. Ask its operator, then pin it:\n             --network-id {network}")
    }
}

impl Signed {
    /// The signers of the certificate that a chain of this network keeps; the chain has verified it.
    fn from_vouched(vouched: &Vouched, network: &Hash) -> Option<Self> {
        let replicas = vouched.replicas(network).ok()?.keys().len();
        let certificate = &vouched.certificate;
        Some(Self { view: certificate.view, signers: certificate.signers().collect(), replicas })
    }
}

impl Replaced {
    /// Lines for people.
    pub fn describe(&self) -> String {
        let Self { from, was_at, is_at, gone } = self;
        let count = thousands(gone.len() as u64);
        let mut text = format!(
            "replaced {count} headers from height {from} on, as requested with --accept-reorganisation; proofs against \
             them may no longer be valid\nwas at  {was_at}\nis at   {is_at}"
        );
        for block in gone {
            text.push_str(&format!("\ngone    {block}"));
        }
        text
    }
}

impl From<Reorganised> for Replaced {
    fn from(Reorganised { fork, replaced }: Reorganised) -> Self {
        Self {
            from: fork.common + 1,
            was_at: Block::new(fork.here.height, &fork.here.hash),
            is_at: Block::new(fork.there.height, &fork.there.hash),
            gone: replaced.iter().map(|sealed| Block::new(sealed.height(), &sealed.hash())).collect(),
        }
    }
}

impl Block {
    fn new(height: u64, hash: &[u8; 32]) -> Self {
        Self { height, hash: hex::encode(hash) }
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {} {}", self.height, self.hash)
    }
}

/// Fetches the node's headers: new ones, or with `accept` also those of another branch. Returns the number of new
/// headers, and the replaced ones.
pub fn synchronise(
    client: &mut Client,
    chain: &mut HeaderChain,
    accept: bool,
) -> Result<(u64, Option<Replaced>), Error> {
    let result =
        if accept { client.accept_reorganisation(chain) } else { client.sync_headers(chain).map(|came| (came, None)) };
    let (came, reorganised) = result.map_err(Error::other)?;
    Ok((came, reorganised.map(Replaced::from)))
}
