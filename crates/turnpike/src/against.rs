//! What a proof of the own chain was verified against, so that nobody takes "verified" for more than it is.

use std::path::Path;

use client::{Client, Reorganised};
use serde::Serialize;
use spv::HeaderChain;

use crate::error::Error;
use crate::hex;
use crate::output::thousands;

/// The headers that a proof was verified against, and by what they are trusted.
#[derive(Clone, Debug, Serialize)]
pub struct Against {
    /// The network id.
    pub network: String,
    /// The key that sealed the headers.
    pub chain_key: String,
    /// Whether the network id was given, and not taken from a node or a file.
    pub pinned: bool,
    /// Height of the tip of the headers.
    pub tip_height: u64,
    /// Its hash.
    pub tip: String,
    /// Where the network id was taken from.
    #[serde(skip)]
    source: Source,
}

/// Where a network id comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The command line.
    Pinned,
    /// A file of headers.
    File,
    /// The node, which was asked for the first time.
    Node,
}

impl Source {
    /// Of a chain that is opened with these; to be asked before a file is made.
    pub fn of(network: Option<[u8; 32]>, file: Option<&Path>) -> Self {
        match (network, file) {
            (Some(_), _) => Self::Pinned,
            (None, Some(file)) if file.exists() => Self::File,
            (None, _) => Self::Node,
        }
    }
}

impl Against {
    /// These headers, whose network id was taken from there.
    pub fn new(chain: &HeaderChain, source: Source) -> Self {
        Self {
            network: hex::encode(chain.network_id()),
            chain_key: hex::encode(&chain.key().to_bytes()),
            pinned: source == Source::Pinned,
            tip_height: chain.height(),
            tip: hex::encode(chain.tip_hash()),
            source,
        }
    }

    /// Lines for people, to stand behind others.
    pub fn describe(&self) -> String {
        let Self { network, chain_key, tip_height, tip, .. } = self;
        let text = format!(
            "\nagainst      network {network}\n             chain key {chain_key}, which sealed\n             \
             block {} {tip}",
            thousands(*tip_height)
        );
        let unpinned = match self.source {
            Source::Pinned => return text,
            Source::File => "the network id is that of the file of headers; whoever made that chose it",
            Source::Node => "the network id is what this node said; another node can say another",
        };
        format!("{text}\nnot pinned   {unpinned}. Ask its operator, then pin it:\n             --network-id {network}")
    }
}

/// Takes the node's headers: those that are new, or with `accept` also those of another branch. Tells how many came, and what they
/// replaced.
pub fn synchronise(
    client: &mut Client,
    chain: &mut HeaderChain,
    accept: bool,
) -> Result<(u64, Option<Reorganised>), Error> {
    let result =
        if accept { client.accept_reorganisation(chain) } else { client.sync_headers(chain).map(|came| (came, None)) };
    result.map_err(Error::other)
}

/// Tells what was replaced.
pub fn describe_replaced(reorganised: &Reorganised) -> String {
    let Reorganised { fork, replaced } = reorganised;
    let first = fork.common + 1;
    let mut text = format!(
        "replaced {} headers from height {first} on, as asked for with --accept-reorganisation; what was proved by them may hold no \
         longer\nwas at  {}\nis at   {}",
        thousands(replaced.len() as u64),
        fork.here,
        fork.there
    );
    for sealed in replaced {
        text.push_str(&format!("\ngone    block {} {}", sealed.height(), hex::encode(&sealed.hash())));
    }
    text
}
