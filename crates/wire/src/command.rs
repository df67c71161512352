//! Properties of commands.

use crate::Command;

impl Command {
    /// Whether the ledger executes it: it changes something, and is journalled.
    #[inline]
    pub const fn is_executed(self) -> bool {
        match self {
            Self::Create | Self::Issue | Self::Transfer => true,
            Self::Hold | Self::Capture | Self::Release | Self::Reclaim => true,
            Self::Refer => false,
        }
    }

    /// Whether compact frames have it.
    #[inline]
    pub fn is_compact(self) -> bool {
        Self::COMPACT.contains(&self)
    }

    /// Whether it ends a [hold](crate::holds).
    #[inline]
    pub const fn ends_hold(self) -> bool {
        match self {
            Self::Capture | Self::Release | Self::Reclaim => true,
            Self::Create | Self::Issue | Self::Transfer | Self::Refer | Self::Hold => false,
        }
    }
}
