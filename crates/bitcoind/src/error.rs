//! Why a node gave no answer.

use std::{io, path::PathBuf};

use serde::Deserialize;

/// What a node says of a call that it refuses.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, thiserror::Error)]
#[error("the Bitcoin node refused: {message} ({code})")]
pub struct Failure {
    /// Bitcoin Core's `RPCErrorCode`.
    pub code: i64,
    /// Its text.
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
        /// What the system said.
        source: io::Error,
    },
    /// Nobody answers.
    #[error("the Bitcoin node at {url} does not answer: {reason}; is it running, with -server=1?")]
    Unreachable {
        /// Where it was asked.
        url: String,
        /// What went wrong.
        reason: String,
    },
    /// The node does not take the cookie.
    #[error("the Bitcoin node at {url} rejects the cookie in {}: is it another node's?", cookie.display())]
    Unauthorized {
        /// Where it was asked.
        url: String,
        /// The file of the cookie.
        cookie: PathBuf,
    },
    /// The node refused a call.
    #[error(transparent)]
    Refused(#[from] Failure),
    /// The answer is not one to the call.
    #[error("invalid reply of the Bitcoin node to {method}: {reason}")]
    Malformed {
        /// What was called.
        method: &'static str,
        /// What is wrong with the answer.
        reason: String,
    },
}
