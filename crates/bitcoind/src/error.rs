//! Why a node gave no answer.

use std::{io, path::PathBuf};

use serde::Deserialize;

/// A node's refusal of a call.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, thiserror::Error)]
#[error("the Bitcoin node refused: {message} ({code})")]
pub struct Failure {
    /// Bitcoin Core's `RPCErrorCode`.
    pub code: i64,
    /// The node's text.
    pub message: String,
}

impl Failure {
    /// There is no such transaction or block.
    pub const NOT_FOUND: i64 = -5;
    /// The node has no such method.
    pub const UNKNOWN_METHOD: i64 = -32601;
}

/// Why a node gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The cookie cannot be read.
    #[error(
        "cannot read the Bitcoin node's cookie {}: {source}; start the node, set `bitcoin.cookie` to the file, and let \
         this user read it (bitcoind -rpccookieperms=group)",
        path.display()
    )]
    Cookie {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The node cannot be reached.
    #[error("the Bitcoin node at {url} does not answer: {reason}; is it running, with -server=1?")]
    Unreachable {
        /// The address that was tried.
        url: String,
        /// What went wrong.
        reason: String,
    },
    /// The node does not accept the cookie.
    #[error("the Bitcoin node at {url} rejects the cookie in {}: is it another node's?", cookie.display())]
    Unauthorized {
        /// The node's address.
        url: String,
        /// The cookie file.
        cookie: PathBuf,
    },
    /// The node refused a call.
    #[error(transparent)]
    Refused(#[from] Failure),
    /// The answer does not fit the call.
    #[error("invalid reply of the Bitcoin node to {method}: {reason}")]
    Malformed {
        /// The method called.
        method: &'static str,
        /// What is wrong with the answer.
        reason: String,
    },
}
