//! Properties of commands.

use crate::Command;

impl Command {
    /// Whether the ledger executes it: it changes something, and is journalled.
    #[inline]
    pub const fn is_executed(self) -> bool {
        match self {
            Self::Create | Self::Issue | Self::Transfer => true,
            Self::Refer => false,
        }
    }
}
