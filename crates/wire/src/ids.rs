//! Account ids and transaction ids.

use core::fmt;
use core::str::FromStr;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Digits of a full id.
const HEX_DIGITS: usize = 32;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
        )]
        #[repr(transparent)]
        pub struct $name(pub [u8; 16]);

        impl $name {
            /// The id of all zeros: the value of unused fields.
            pub const ZERO: Self = Self([0; 16]);

            /// The id as a number.
            pub const fn to_u128(self) -> u128 {
                u128::from_be_bytes(self.0)
            }

            /// Whether all bytes are zero.
            pub const fn is_zero(self) -> bool {
                self.to_u128() == 0
            }

            /// The id in a compact frame, if it fits.
            pub const fn to_compact(self) -> Option<u32> {
                let number = self.to_u128();
                if number <= u32::MAX as u128 { Some(number as u32) } else { None }
            }
        }

        impl From<u32> for $name {
            fn from(id: u32) -> Self {
                Self::from(u128::from(id))
            }
        }

        impl From<u128> for $name {
            fn from(id: u128) -> Self {
                Self(id.to_be_bytes())
            }
        }

        impl From<[u8; 16]> for $name {
            fn from(id: [u8; 16]) -> Self {
                Self(id)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:032x}", self.to_u128())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                parse(text).map(Self::from)
            }
        }
    };
}

id! {
    /// Identifies an account.
    AccountId
}

id! {
    /// Identifies an operation, together with its source account.
    TransactionId
}

impl AccountId {
    /// Whether the id binds a key: the top bit is 1. Otherwise the account is an open one.
    pub const fn is_keyed(self) -> bool {
        self.0[0] & 0x80 != 0
    }

    /// The id that binds a public key, from its tagged hash `turnpike/account`: a 1 bit, then the first 127 bits of the
    /// hash.
    pub const fn keyed(key_hash: &[u8; 32]) -> Self {
        let mut id = [0; 16];
        let mut i = 0;
        while i < id.len() {
            id[i] = key_hash[i];
            i += 1;
        }
        let number = u128::from_be_bytes(id) >> 1 | 1 << 127;
        Self(number.to_be_bytes())
    }
}

impl TransactionId {
    /// A UUIDv7 (RFC 9562, section 5.7): the time in milliseconds since the Unix epoch, truncated to 48 bits, then
    /// version and variant, the other bits from `random`.
    pub const fn timed(milliseconds: u64, random: u128) -> Self {
        let time = (milliseconds as u128) << 80;
        let fixed = Self::VERSION_7 | time;
        Self((random & !(Self::VERSION_AND_VARIANT | u128::MAX << 80) | fixed).to_be_bytes())
    }

    /// Whether the id has the form of a UUIDv7. Other ids may have it by chance, so an operation must be
    /// [marked](crate::Operation::TIMED) for it to count.
    pub const fn is_timed(self) -> bool {
        self.to_u128() & Self::VERSION_AND_VARIANT == Self::VERSION_7
    }

    /// The time in a UUIDv7, in microseconds since the Unix epoch.
    pub const fn time(self) -> u64 {
        (self.to_u128() >> 80) as u64 * 1000
    }

    /// Version 7 and the variant of RFC 9562, and the mask of their bits.
    const VERSION_7: u128 = 0x7 << 76 | 0b10 << 62;
    const VERSION_AND_VARIANT: u128 = 0xf << 76 | 0b11 << 62;
}

/// 32 hexadecimal digits, or up to 32 after `0x`, or a decimal number of 64 bits.
///
/// Short strings of digits without `0x` are decimal, because that is what users of small open accounts mean.
fn parse(text: &str) -> Result<u128, ParseIdError> {
    let hex = match text.strip_prefix("0x") {
        Some(digits) => Some(digits),
        None if text.len() == HEX_DIGITS => Some(text),
        None => None,
    };
    match hex {
        Some(digits) if (1..=HEX_DIGITS).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit()) => {
            u128::from_str_radix(digits, 16).map_err(|_| ParseIdError)
        }
        None if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => {
            text.parse::<u64>().map(u128::from).map_err(|_| ParseIdError)
        }
        _ => Err(ParseIdError),
    }
}

/// The text is not an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseIdError;

impl fmt::Display for ParseIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an id is 32 hexadecimal digits, or up to 32 of them behind 0x, or a decimal number below 2^64")
    }
}

impl core::error::Error for ParseIdError {}
