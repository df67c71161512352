//! Errors of the client, with what to do about them.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use thiserror::Error;
use wire::{AccountId, Command, Status, TransactionId};

/// An error of the client.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The socket failed.
    #[error("cannot {action} for {node}: {source}; check the address and that this machine can reach it")]
    Socket {
        /// The attempted action.
        action: &'static str,
        /// The node.
        node: SocketAddr,
        /// The operating system's error.
        source: io::Error,
    },
    /// There was no reply to any attempt.
    #[error("{node} did not answer within {waited:?}; check that a node runs there{}", may_be_executed(*transaction))]
    NoReply {
        /// The node.
        node: SocketAddr,
        /// How long the client waited.
        waited: Duration,
        /// The operation that may have been executed nevertheless, or the first of several; `None` for a read.
        transaction: Option<TransactionId>,
    },
    /// Nothing listens at the node's address. Only with
    /// [`Options::fail_if_unreachable`](crate::Options::fail_if_unreachable).
    #[error("no node listens at {node}; start it, or check the address{}", may_be_executed(*transaction))]
    Unreachable {
        /// The node.
        node: SocketAddr,
        /// The operation that may have been executed before the node disappeared, as in [`Self::NoReply`].
        transaction: Option<TransactionId>,
    },
    /// The node refused the request.
    #[error("the node refused: {0}")]
    Refused(Status),
    /// The node did not execute the operation.
    #[error("transaction {transaction} of {source_account}: {}", explain(*command, *status, *value))]
    Operation {
        /// Its command.
        command: Command,
        /// Its transaction id.
        transaction: TransactionId,
        /// Its source.
        source_account: AccountId,
        /// The reason.
        status: Status,
        /// The source's balance; with `DEPOSIT_REQUIRED` the minimum deposit of the node; with `FOLLOWER` the address
        /// and port of the node that it follows.
        value: u64,
    },
    /// A reply does not match its request.
    #[error("the node's reply does not match the request: the node is faulty, ask another node")]
    WrongReply,
    /// The node no longer has the next operation of a feed.
    #[error(
        "the node's journal begins at operation {first}, after {cursor}: read older ones from its blocks, and continue from {first}"
    )]
    Pruned {
        /// The operation asked for.
        cursor: u64,
        /// The first operation that the node has.
        first: u64,
    },
    /// More operations than fit a datagram, or a datagram that exceeds the maximum length.
    #[error("{0} bytes do not fit in a datagram of {1}; send less at once, or raise the datagram size up to 65507")]
    TooLong(usize, usize),
    /// A proof is longer than the node or this client can transfer.
    #[error("the reply needs {needed} bytes, but datagrams are limited to {limit}; raise the datagram size")]
    ReplyTooLarge {
        /// Length of the reply in bytes.
        needed: usize,
        /// Maximum length of a datagram in bytes.
        limit: usize,
    },
    /// The operating system returned no random bytes.
    #[error("the system returned no random bytes: {0}")]
    Random(getrandom::Error),
    /// The system clock is before 1970 or after the year 500,000.
    #[error("the system's clock is wrong; set it")]
    Clock,
    /// A node did not execute up to a block in time.
    #[error(
        "{node} has executed up to block {executed}, not {height}; check its links to other replicas, or ask another"
    )]
    Behind {
        /// The node.
        node: std::net::SocketAddr,
        /// The block's height.
        height: u64,
        /// The last block that it has executed.
        executed: u64,
    },
    /// The node belongs to another network than the requested one.
    #[error("the node is of network {found}, not {expected}; check the address or the network id")]
    WrongNetwork {
        /// The requested network id, in hexadecimal.
        expected: String,
        /// The node's network id.
        found: String,
    },
    /// A header of our own chain breaks a rule.
    #[error("the node sent an invalid header: {0}")]
    Header(#[from] spv::HeaderError),
    /// The finality data has an invalid form.
    #[error("the node sent an invalid certificate or set of replicas: {0}")]
    Vouched(#[from] spv::finality::VouchedError),
    /// The node has other sealed headers than the local ones. Nothing was changed.
    #[error("{0}")]
    Reorganised(Box<crate::Fork>),
    /// A Bitcoin header breaks a rule.
    #[error("the node sent an invalid Bitcoin header: {0}")]
    BitcoinHeader(#[from] spv::bitcoin::HeaderError),
    /// The node's chain has no header in common with the client's.
    #[error(
        "the node's chain and the local headers have nothing in common; delete the headers if the node is the right one"
    )]
    NothingInCommon,
    /// A proof does not hold.
    #[error("the node's proof is not valid: {0}")]
    Proof(#[from] spv::ProofError),
    /// An index proof does not hold.
    #[error("the node's proof is not valid: {0}")]
    IndexProof(#[from] spv::IndexProofError),
    /// A Bitcoin proof does not hold.
    #[error("the node's proof is not valid: {0}")]
    BitcoinProof(#[from] spv::bitcoin::ProofError),
    /// A proof is valid, but for something else than requested.
    #[error("the node proved a different transaction than requested: it is faulty, ask another node")]
    OtherProof,
    /// The entry is not that of an account or a hold.
    #[error("the id is not that of an account: its entry in the index states the asset of another id")]
    NoAccount,
    /// The asset of an account is not stated, or has been stated since the balance was proved.
    #[error(
        "the account was closed, and may have been opened in another asset, since its balance was proved: ask again"
    )]
    AssetChanged,
    /// A proof is for a block that is missing in the headers, even after synchronising them.
    #[error("the proof is for a block outside the node's own headers: the node is faulty, ask another node")]
    UnknownBlock,
    /// An option is out of range.
    #[error("option {name} is {found}, but must be {expected}")]
    Option {
        /// The option.
        name: &'static str,
        /// Its value.
        found: usize,
        /// Its range.
        expected: &'static str,
    },
}

impl Error {
    /// The operation that may have been executed nevertheless, if any.
    pub fn transaction(&self) -> Option<TransactionId> {
        match self {
            Self::NoReply { transaction, .. } | Self::Unreachable { transaction, .. } => *transaction,
            Self::Operation { transaction, .. } => Some(*transaction),
            _ => None,
        }
    }

    /// The same error for a request whose operations begin with `first`.
    pub(crate) fn of_operation(mut self, first: TransactionId) -> Self {
        if let Self::NoReply { transaction, .. } | Self::Unreachable { transaction, .. } = &mut self {
            *transaction = Some(first);
        }
        self
    }

    /// The status from the node, if that is the error.
    pub fn status(&self) -> Option<Status> {
        match self {
            Self::Refused(status) | Self::Operation { status, .. } => Some(*status),
            _ => None,
        }
    }
}

/// A status, and a remedy that depends on the command or the value.
fn explain(command: Command, status: Status, value: u64) -> String {
    match (status, command) {
        (Status::DepositRequired, Command::Hold) => format!("{}: hold {value} or more", status.name()),
        (Status::DepositRequired, _) => {
            format!("{status}; a payer opens it for a deposit of {value} or more, an issuer for nothing")
        }
        (Status::NotAuthorised | Status::NotIssuer, Command::Issue) => format!(
            "{}: only an issuer can issue to an account with a key; sign with the key of one of the node's `issuers`, \
             or transfer the amount from an account that has it",
            status.name()
        ),
        // An IPv6 address has no room.
        (Status::Follower, _) if value != 0 => {
            let (address, port) = (Ipv4Addr::from_bits((value >> 16) as u32), value as u16);
            format!("{}: send it to {address}:{port}, which this node follows", status.name())
        }
        _ => status.to_string(),
    }
}

/// Advice for an operation without a reply.
fn may_be_executed(transaction: Option<TransactionId>) -> String {
    let advice = |id| {
        format!("; transaction {id} may have been executed: repeat it with the same id, and it is executed only once")
    };
    transaction.map(advice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issue(status: Status) -> String {
        let (transaction, source_account) = (TransactionId::from(7_u32), AccountId::from(1_u32));
        Error::Operation { command: Command::Issue, transaction, source_account, status, value: 0 }.to_string()
    }

    #[test]
    fn a_follower_names_its_node() {
        let text = explain(Command::Transfer, Status::Follower, 0x0a00_0007_1ce8);
        assert_eq!(text, "FOLLOWER: send it to 10.0.0.7:7400, which this node follows");
        assert!(explain(Command::Transfer, Status::Follower, 0).contains("/status"));
    }

    #[test]
    fn only_operations_may_have_been_executed() {
        let node = "127.0.0.1:7400".parse().unwrap();
        let read = Error::NoReply { node, waited: Duration::from_secs(10), transaction: None };
        assert!(!read.to_string().contains("executed"));
        let id = TransactionId::from(7_u32);
        let operation = read.of_operation(id);
        assert_eq!(operation.transaction(), Some(id));
        assert!(operation.to_string().contains(&id.to_string()), "{operation}");
    }

    #[test]
    fn an_issue_needs_an_issuer() {
        for status in [Status::NotAuthorised, Status::NotIssuer] {
            let text = issue(status);
            assert!(text.contains(status.name()) && text.contains("issuers"), "{text}");
            assert!(!text.contains("sign it with that key"), "{text}");
        }
    }
}
