//! The codes of the protocol.
//!
//! Made by schema/generate.py of schema/protocol.toml; change that.

use crate::macros::{codes, statuses};

/// "TP": no compact frame starts with it, because commands are small numbers.
pub const MAGIC: u16 = 0x5450;

/// The protocol's version.
pub const VERSION: u8 = 1;

/// Added to a request's type in its reply.
pub const REPLY_BIT: u8 = 0x80;

/// The type of an error frame.
pub const ERROR_TYPE: u8 = 0xff;

/// Added to the command of a message in its result.
pub const MESSAGE_REPLY_BIT: u32 = 0x8000_0000;

codes! {
    /// Type of a frame with a header.
    FrameType: u8, else UnknownCommand {
        /// Full transfer frame.
        Full = 1 "full transfer",
        /// Batch frame.
        Batch = 2 "batch",
        /// Proof frame.
        Proof = 3 "proof",
        /// Headers frame.
        Headers = 4 "headers",
        /// Info frame.
        Info = 5 "info",
        /// Verify frame.
        Verify = 6 "verify",
        /// Finality frame.
        Finality = 7 "finality",
        /// Member change frame.
        Change = 8 "member change",
    }
}

codes! {
    /// Format of the entries of a batch.
    BatchFormat: u8, else Malformed {
        /// Compact entries, 24 bytes each.
        Compact = 0 "compact",
        /// Operations without a signature, 64 bytes each.
        Operation = 1 "operation",
        /// Signed operations, 184 bytes each.
        Signed = 2 "signed operation",
    }
}

codes! {
    /// Command of an operation.
    Command: u8, else UnknownCommand {
        /// Creates the source account, with a balance of 0; the destination, if any, pays a deposit for it.
        Create = 1 "CREATE",
        /// Adds new money to the source account.
        Issue = 2 "ISSUE",
        /// Moves money from the source to the destination.
        Transfer = 3 "TRANSFER",
        /// Reads the balance of the source account.
        Refer = 4 "REFER",
    }
}

codes! {
    /// Promise that a reply makes. Later ones are stronger.
    Promise: u8, else Malformed {
        /// In a request: the node's configured promise.
        Default = 0 "default",
        /// Executed in memory.
        Accepted = 1 "accepted",
        /// In the journal, synced to the disk.
        Durable = 2 "durable",
        /// In a block that replicas ordered. Nodes without replicas answer at `durable`.
        Final = 3 "final",
    }
}

codes! {
    /// Chain that a request is about.
    Chain: u8, else UnknownChain {
        /// The node's own chain.
        Own = 0 "own",
        /// Bitcoin.
        Bitcoin = 1 "bitcoin",
    }
}

codes! {
    /// Subject of a proof request.
    Query: u8, else UnknownCommand {
        /// The latest transaction of an address.
        Latest = 1 "latest",
        /// A transaction by its id.
        Transaction = 2 "transaction",
        /// A transaction by height and position.
        Locator = 3 "locator",
        /// The index entry of an address.
        Index = 4 "index",
    }
}

codes! {
    /// A verifying key of Groth16 that nodes have.
    VerifyingKeyId: u8, else Malformed {
        /// Spends of Zcash's Sapling, with 7 inputs.
        SaplingSpend = 1 "sapling-spend",
        /// Outputs of Zcash's Sapling, with 5 inputs.
        SaplingOutput = 2 "sapling-output",
        /// JoinSplits of Zcash's Sprout, with 9 inputs.
        Sprout = 3 "sprout",
    }
}

codes! {
    /// Object that a message of a verify frame asks to verify.
    VerifyCommand: u32, else UnknownCommand {
        /// An Equihash solution and the difficulty of its header.
        Equihash = 0x100 "EQUIHASH",
        /// An ECDSA signature on secp256k1.
        Ecdsa = 0x101 "ECDSA",
        /// A BIP340 signature.
        Schnorr = 0x102 "SCHNORR",
        /// The root of a Merkle tree of double SHA-256.
        MerkleRoot = 0x103 "MERKLE_ROOT",
        /// A BLS signature on BLS12-381.
        Bls = 0x104 "BLS",
        /// A Groth16 proof for one of Zcash's verifying keys.
        Groth16 = 0x105 "GROTH16",
        /// A product of pairings on BLS12-381.
        Pairing = 0x106 "PAIRING",
        /// The proof of a delay function.
        Delay = 0x107 "DELAY",
    }
}

statuses! {
    0 Ok "OK"
        "done, at the promise that the reply names";
    1 AccountExists "ACCOUNT_EXISTS"
        "the account already exists; use it, or create one with another id";
    2 SourceUnknown "SOURCE_UNKNOWN"
        "the source account was never created; create it first";
    3 DestinationUnknown "DESTINATION_UNKNOWN"
        "the destination, or the payer of the deposit, was never created; create it first";
    4 InsufficientBalance "INSUFFICIENT_BALANCE"
        "the paying account holds less than the amount; pay less, or fund it first";
    5 Overflow "OVERFLOW"
        "the new balance would not fit in 64 bits; transfer or issue less";
    6 TableFull "TABLE_FULL"
        "the account table is full, or the rest is reserved for trusted addresses; the operator must raise the number of accounts";
    16 ZeroAmount "ZERO_AMOUNT"
        "the amount is 0; use an amount of at least 1";
    17 SelfTransfer "SELF_TRANSFER"
        "source and destination are the same account; name another destination";
    18 TransactionIdReused "TRANSACTION_ID_REUSED"
        "the source used this transaction id for another operation; use a new id";
    19 Expired "EXPIRED"
        "the transaction id is too old for its retries to be recognised, so the operation may have been executed; look it up by its id before sending another";
    32 UnknownCommand "UNKNOWN_COMMAND"
        "unknown command; see the table of commands in the protocol";
    33 Malformed "MALFORMED"
        "the frame has a wrong length, or a field is set that must be zero; correct the frame";
    34 NotTrusted "NOT_TRUSTED"
        "unsigned operations are accepted from trusted prefixes only; sign it, or ask the operator to trust your address";
    35 NotAuthorised "NOT_AUTHORISED"
        "the operation is not signed by the key of the source account; sign it with that key";
    36 NotIssuer "NOT_ISSUER"
        "the key is not an issuer's; ask the operator to list it in `issuers`";
    37 StaleTimestamp "STALE_TIMESTAMP"
        "the timestamp is outside the replay window; set the clock and sign again";
    38 BadSignature "BAD_SIGNATURE"
        "the signature or the key does not verify; check the network id, the key and the low-s rule";
    39 RateLimited "RATE_LIMITED"
        "the sender's prefix is over its limit; send more slowly";
    40 Busy "BUSY"
        "a queue is full and nothing was done; retry";
    41 StorageFailed "STORAGE_FAILED"
        "the journal cannot be written, so the node answers reads only; the operator must fix its disk and restart it";
    42 UnsupportedVersion "UNSUPPORTED_VERSION"
        "the node speaks another version of the protocol; use a client of its version";
    43 DepositRequired "DEPOSIT_REQUIRED"
        "opening an account needs an issuer's signature, a large enough deposit from a funded account, or a trusted address";
    44 StaleGeneration "STALE_GENERATION"
        "the set of replicas has changed, or another change is decided; see `turnpike info`, and sign a change of the present generation";
    45 NotFinal "NOT_FINAL"
        "the replicas have not agreed on the operation in time, so it may still be executed; retry with the same transaction id";
    64 NotFound "NOT_FOUND"
        "no such account, transaction or block";
    65 ReplyTooLarge "REPLY_TOO_LARGE"
        "the reply does not fit in the request; pad the request to the length in `detail`";
    66 NotProvable "NOT_PROVABLE"
        "the block has a shape for which proofs are ambiguous, so it cannot be proved";
    67 UnknownChain "UNKNOWN_CHAIN"
        "the node does not serve that chain; ask another node";
}
