//! Properties of commands.

use crate::Command;

impl Command {
    /// Whether the ledger executes it: it changes something, and is journalled.
    #[inline]
    pub const fn is_executed(self) -> bool {
        match self {
            Self::Create | Self::Open | Self::Issue | Self::Transfer => true,
            Self::Hold | Self::Capture | Self::Release | Self::Reclaim => true,
            Self::Freeze | Self::Unfreeze | Self::Close => true,
            Self::Refer => false,
        }
    }

    /// Whether compact frames have it.
    #[inline]
    pub fn is_compact(self) -> bool {
        Self::COMPACT.contains(&self)
    }

    /// Whether it creates an account.
    #[inline]
    pub const fn creates(self) -> bool {
        matches!(self, Self::Create | Self::Open)
    }

    /// Whether it ends a [hold](crate::holds).
    #[inline]
    pub const fn ends_hold(self) -> bool {
        match self {
            Self::Capture | Self::Release | Self::Reclaim => true,
            Self::Create | Self::Open | Self::Issue | Self::Transfer | Self::Refer | Self::Hold => false,
            Self::Freeze | Self::Unfreeze | Self::Close => false,
        }
    }

    /// Whether only an issuer's key may sign it.
    #[inline]
    pub const fn is_of_issuer(self) -> bool {
        match self {
            Self::Issue | Self::Freeze | Self::Unfreeze => true,
            Self::Create | Self::Open | Self::Transfer | Self::Refer | Self::Close => false,
            Self::Hold | Self::Capture | Self::Release | Self::Reclaim => false,
        }
    }

    /// Whether it can be in a [linked chain](crate::linked). A payment depends on no FREEZE and no UNFREEZE.
    #[inline]
    pub const fn is_linkable(self) -> bool {
        self.is_executed() && !self.freezes()
    }

    /// Whether it freezes an account or ends that.
    #[inline]
    pub const fn freezes(self) -> bool {
        matches!(self, Self::Freeze | Self::Unfreeze)
    }
}
