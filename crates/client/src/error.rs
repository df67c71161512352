//! What can go wrong, and what to do about it.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use thiserror::Error;
use wire::{AccountId, Status, TransactionId};

/// An error of the client.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The socket failed.
    #[error("cannot {action} for {node}: {source}; check the address and that this machine may reach it")]
    Socket {
        /// What was tried.
        action: &'static str,
        /// The node.
        node: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// No reply came, however often the request was sent.
    #[error(
        "{node} gave no answer within {waited:?}; check that a node runs there. What was asked for may have been done: try \
         again with the same transaction id, then it is not done twice"
    )]
    NoReply {
        /// The node.
        node: SocketAddr,
        /// How long was waited.
        waited: Duration,
    },
    /// The node refused the request.
    #[error("the node refused: {0}")]
    Refused(Status),
    /// The node did not do the operation.
    #[error("transaction {transaction} of {source_account}: {status}{}", what_it_takes(*status, *value))]
    Operation {
        /// The operation's transaction id.
        transaction: TransactionId,
        /// Its source.
        source_account: AccountId,
        /// Why it was not done.
        status: Status,
        /// The source's balance; with `DEPOSIT_REQUIRED` the least deposit that the node takes.
        value: u64,
    },
    /// A reply that answers another question than was asked.
    #[error("the node's reply does not fit the request; it is faulty, ask another node")]
    WrongReply,
    /// More operations than a datagram takes, or a datagram longer than there can be.
    #[error("{0} bytes do not fit a datagram of {1}; send less at once, or raise the datagram size up to 65507")]
    TooLong(usize, usize),
    /// A proof is longer than the node or this client can carry.
    #[error("the reply needs {needed} bytes and the longest datagram here has {limit}; raise the datagram size")]
    ReplyTooLarge {
        /// Bytes of the reply.
        needed: usize,
        /// Bytes of the longest datagram.
        limit: usize,
    },
    /// The system gave no random bytes.
    #[error("no random bytes from the system: {0}")]
    Random(getrandom::Error),
    /// The system's clock is before 1970 or after the year 500,000.
    #[error("the system's clock cannot be right; set it")]
    Clock,
    /// A node did not execute up to a block in time.
    #[error(
        "{node} has executed up to block {executed}, not {height}; see that it reaches the other replicas, or ask another one"
    )]
    Behind {
        /// The node.
        node: std::net::SocketAddr,
        /// The block's height.
        height: u64,
        /// Up to which it has executed.
        executed: u64,
    },
    /// The node is of another network than the one asked for.
    #[error("the node is of network {found}, not of {expected}; check the address or the network id")]
    WrongNetwork {
        /// The network id asked for, in hexadecimal.
        expected: String,
        /// The node's.
        found: String,
    },
    /// A header of the own chain breaks a rule.
    #[error("a header of the node: {0}")]
    Header(#[from] spv::HeaderError),
    /// What replicas vouch for is not of the form that it has to be.
    #[error("what replicas vouch for: {0}")]
    Vouched(#[from] spv::finality::VouchedError),
    /// The node has other headers than those here, sealed as well. Nothing was changed.
    #[error("{0}")]
    Reorganised(Box<crate::Fork>),
    /// A header of Bitcoin breaks a rule.
    #[error("a Bitcoin header of the node: {0}")]
    BitcoinHeader(#[from] spv::bitcoin::HeaderError),
    /// The node's chain has no header in common with the client's.
    #[error(
        "the node's chain and the headers here have nothing in common; delete the headers if the node is the right one"
    )]
    NothingInCommon,
    /// A proof does not hold.
    #[error("the node's proof does not hold: {0}")]
    Proof(#[from] spv::ProofError),
    /// An index proof does not hold.
    #[error("the node's proof does not hold: {0}")]
    IndexProof(#[from] spv::IndexProofError),
    /// A Bitcoin proof does not hold.
    #[error("the node's proof does not hold: {0}")]
    BitcoinProof(#[from] spv::bitcoin::ProofError),
    /// A proof that holds, but of something else than was asked for.
    #[error("the node proved another transaction than the one asked for; it is faulty, ask another node")]
    OtherProof,
    /// A proof is of a block that is not in the headers, not even after they were synchronised.
    #[error("the proof is of a block that is not in the node's own chain of headers; it is faulty, ask another node")]
    UnknownBlock,
    /// An option is out of its range.
    #[error("option {name} is {found}, but must be {expected}")]
    Option {
        /// The option.
        name: &'static str,
        /// What it is.
        found: usize,
        /// What it may be.
        expected: &'static str,
    },
}

impl Error {
    /// The status that a node gave, if that is what the error is.
    pub fn status(&self) -> Option<Status> {
        match self {
            Self::Refused(status) | Self::Operation { status, .. } => Some(*status),
            _ => None,
        }
    }
}

/// What the value of a refusal tells, if it is not a balance.
fn what_it_takes(status: Status, value: u64) -> String {
    match status {
        Status::DepositRequired => {
            format!("; a payer opens it for a deposit of {value} or more, an issuer for nothing")
        }
        _ => String::new(),
    }
}
