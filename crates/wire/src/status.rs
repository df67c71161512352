//! Status codes.

use core::fmt;

macro_rules! statuses {
    ($($code:literal $name:ident $wire:literal $advice:literal;)*) => {
        /// The outcome of an operation or of a frame.
        ///
        /// Codes 1 to 15 depend on the ledger's state and are journalled; those from 16 on leave no trace. Its `Display`
        /// is a sentence that tells what happened and what to do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Status {
            $(
                #[doc = concat!("`", $wire, "`: ", $advice, ".")]
                $name = $code,
            )*
        }

        impl Status {
            /// All statuses, in the order of their codes.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name in the protocol, such as `INSUFFICIENT_BALANCE`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $wire,)*
                }
            }

            /// What happened and what to do about it, as a sentence without the full stop.
            pub const fn advice(self) -> &'static str {
                match self {
                    $(Self::$name => $advice,)*
                }
            }
        }

        impl TryFrom<u16> for Status {
            type Error = UnknownStatus;

            #[inline]
            fn try_from(code: u16) -> Result<Self, UnknownStatus> {
                match code {
                    $($code => Ok(Self::$name),)*
                    _ => Err(UnknownStatus(code)),
                }
            }
        }
    };
}

statuses! {
    0 Ok "OK" "done, at the promise that the reply names";
    1 AccountExists "ACCOUNT_EXISTS" "the account exists already; use it, or create another id";
    2 SourceUnknown "SOURCE_UNKNOWN" "the source account was never created; create it first";
    3 DestinationUnknown "DESTINATION_UNKNOWN" "the destination, or the account that was to pay a deposit, was never created; create it first";
    4 InsufficientBalance "INSUFFICIENT_BALANCE" "the account that pays holds less than the amount; give less, or fund it first";
    5 Overflow "OVERFLOW" "the new balance would not fit in 64 bits; transfer or issue less";
    6 TableFull "TABLE_FULL" "the account table is full, or what is left of it is for trusted addresses; the operator must configure a larger number of accounts";
    16 ZeroAmount "ZERO_AMOUNT" "an amount of 0 moves nothing; give an amount of at least 1";
    17 SelfTransfer "SELF_TRANSFER" "source and destination are the same account; name another destination";
    18 TransactionIdReused "TRANSACTION_ID_REUSED" "the source used this transaction id for another operation; choose a fresh id";
    19 Expired "EXPIRED" "the transaction id's time is older than what retries are recognised for, so the operation may have been done; look it up by its id before you send another";
    32 UnknownCommand "UNKNOWN_COMMAND" "there is no such command; see the table of commands in the protocol";
    33 Malformed "MALFORMED" "the frame has a wrong length, or a field is set that must be zero; correct the frame";
    34 NotTrusted "NOT_TRUSTED" "unsigned operations are taken from trusted prefixes only; sign it, or have the operator trust your address";
    35 NotAuthorised "NOT_AUTHORISED" "the operation is not signed by the key of the source account; sign it with that key";
    36 NotIssuer "NOT_ISSUER" "the key is not an issuer's; have the operator name it in the configuration";
    37 StaleTimestamp "STALE_TIMESTAMP" "the timestamp is outside the replay window; set the clock and sign again";
    38 BadSignature "BAD_SIGNATURE" "the signature or the key does not verify; check the network id, the key and the low-s rule";
    39 RateLimited "RATE_LIMITED" "your prefix is over its limit; send more slowly";
    40 Busy "BUSY" "a queue is full and nothing was done; try again";
    41 StorageFailed "STORAGE_FAILED" "the journal cannot be written, so the node answers reads only; the operator must mend its disk and restart it";
    42 UnsupportedVersion "UNSUPPORTED_VERSION" "the node speaks another version of the protocol; use a client of its version";
    43 DepositRequired "DEPOSIT_REQUIRED" "opening an account takes an issuer's signature, a deposit of a funded account that is large enough, or a trusted address; have one of them open it";
    64 NotFound "NOT_FOUND" "there is no such account, transaction or block";
    65 ReplyTooLarge "REPLY_TOO_LARGE" "the reply does not fit in the request; pad the request to the length in detail";
    66 NotProvable "NOT_PROVABLE" "the block has a shape for which a proof would be ambiguous; no proof can be given";
    67 UnknownChain "UNKNOWN_CHAIN" "the node does not serve that chain; ask another node";
}

impl Status {
    /// The code on the wire.
    #[inline]
    pub const fn code(self) -> u16 {
        self as u16
    }

    /// Whether the operation was done.
    #[inline]
    pub const fn is_ok(self) -> bool {
        matches!(self, Self::Ok)
    }

    /// Whether the outcome depends on the ledger's state: it is journalled, and a retry gets the same.
    #[inline]
    pub const fn is_journalled(self) -> bool {
        self.code() < 16
    }

    /// Whether the same request may succeed a little later.
    pub const fn is_transient(self) -> bool {
        matches!(self, Self::Busy | Self::RateLimited)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name(), self.advice())
    }
}

impl core::error::Error for Status {}

/// A code that this version does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownStatus(pub u16);

impl fmt::Display for UnknownStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status code {} is unknown to this version; use a client of the node's version", self.0)
    }
}

impl core::error::Error for UnknownStatus {}
