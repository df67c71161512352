//! Status codes.

use crate::Status;
use core::fmt;

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

    /// Whether the outcome depends on the ledger's state. Then it is journalled, and a retry gets the same.
    #[inline]
    pub const fn is_journalled(self) -> bool {
        self.code() < 16
    }

    /// Whether the same request may succeed a little later.
    pub const fn is_transient(self) -> bool {
        matches!(self, Self::Busy | Self::RateLimited | Self::NotFinal)
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
