//! Commands, promises, chains and queries: the small enumerations of the protocol.

use crate::Status;
use core::fmt;

macro_rules! codes {
    (
        $(#[$doc:meta])*
        $name:ident: $repr:ty, else $status:ident {
            $($(#[$variant_doc:meta])* $variant:ident = $code:literal $text:literal,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr($repr)]
        pub enum $name {
            $($(#[$variant_doc])* $variant = $code,)*
        }

        impl $name {
            /// All values, in the order of their codes.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The code on the wire.
            #[inline]
            pub const fn code(self) -> $repr {
                self as $repr
            }

            /// The name in the protocol.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }

        impl TryFrom<$repr> for $name {
            type Error = Status;

            /// The value of a code, or the status that refuses a frame with it.
            #[inline]
            fn try_from(code: $repr) -> Result<Self, Status> {
                match code {
                    $($code => Ok(Self::$variant),)*
                    _ => Err(Status::$status),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

codes! {
    /// What an operation does.
    Command: u8, else UnknownCommand {
        /// Makes the source account, with a balance of 0; the destination pays a deposit for it, if there is one.
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
    /// What a reply vouches for. Later ones are stronger.
    Promise: u8, else Malformed {
        /// In a request: what the node is configured for.
        Default = 0 "default",
        /// Executed in memory.
        Accepted = 1 "accepted",
        /// In the journal, synced to the disk.
        Durable = 2 "durable",
        /// In a block that the replicas ordered.
        Final = 3 "final",
    }
}

codes! {
    /// Whose blocks are asked for.
    Chain: u8, else UnknownChain {
        /// The node's own chain.
        Own = 0 "own",
        /// Bitcoin.
        Bitcoin = 1 "bitcoin",
    }
}

codes! {
    /// What a proof is asked of.
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
    /// What a message of a verify frame asks to have verified.
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
