//! Tags of BIP340's tagged SHA-256, one a purpose.
//!
//! Made by schema/generate.py of schema/protocol.toml; change that.

/// Tag of account ids that bind a public key.
pub const ACCOUNT_TAG: &str = "turnpike/account";
/// Tag of the message that a signed operation's signature covers.
pub const TRANSFER_TAG: &str = "turnpike/transfer";
/// Tag of block headers.
pub const HEADER_TAG: &str = "turnpike/header";
/// Tag of the message that a header's seal covers.
pub const SEAL_TAG: &str = "turnpike/seal";
/// Tag of the set of replicas' keys.
pub const REPLICAS_TAG: &str = "turnpike/replicas";
/// Tag of the header of an ordered block, which replicas agree on.
pub const ORDERED_TAG: &str = "turnpike/ordered";
/// Tag of a batch of operations that a replica's retries are answered from.
pub const RECENT_BATCH_TAG: &str = "turnpike/recent/batch";
/// Tag of all operations that a replica's retries are answered from.
pub const RECENT_TAG: &str = "turnpike/recent";
/// Tag of a replica's state that no header of its chain covers.
pub const STATE_TAG: &str = "turnpike/state";
/// Tag of the body of an ordered block.
pub const BODY_TAG: &str = "turnpike/ordered/body";
/// Tag of the message that a replica's vote signs.
pub const VOTE_TAG: &str = "turnpike/vote";
/// Tag of the message that a replica signs to approve a change of the set.
pub const MEMBER_CHANGE_TAG: &str = "turnpike/member-change";
/// Tag of the secret of a replica's connections, derived from the secret of its votes.
pub const REPLICA_IDENTITY_TAG: &str = "turnpike/replica/identity";
/// Tag of the value that stands in for the previous hash in a genesis header.
pub const NETWORK_TAG: &str = "turnpike/network";
/// Tag of the leaves of the transaction tree.
pub const TRANSACTION_TAG: &str = "turnpike/transaction";
/// Tag of the inner nodes of the transaction tree.
pub const NODE_TAG: &str = "turnpike/node";
/// Tag of the leaves of the index.
pub const INDEX_LEAF_TAG: &str = "turnpike/index/leaf";
/// Tag of the inner nodes of the index.
pub const INDEX_NODE_TAG: &str = "turnpike/index/node";
