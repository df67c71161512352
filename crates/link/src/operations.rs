//! Sets of operations that a channel can be ready for.

use std::{
    fmt,
    ops::{BitAnd, BitOr, BitOrAssign},
};

/// A set of operations: what a selection key is interested in, or what its channel is ready for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Operations(u8);

impl Operations {
    /// No operation.
    pub const NONE: Self = Self(0);
    /// The channel is connected, or failed to connect.
    pub const CONNECT: Self = Self(1);
    /// A server channel has a channel to accept.
    pub const ACCEPT: Self = Self(1 << 1);
    /// A message can be received, or the channel was closed.
    pub const RECEIVE: Self = Self(1 << 2);
    /// A buffer is available, with the right to send it; or the channel was closed.
    pub const SEND: Self = Self(1 << 3);

    const NAMES: [(Self, &'static str); 4] =
        [(Self::CONNECT, "CONNECT"), (Self::ACCEPT, "ACCEPT"), (Self::RECEIVE, "RECEIVE"), (Self::SEND, "SEND")];

    /// Whether all operations of `other` are in the set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The set if `condition` holds, otherwise the empty one.
    pub(crate) const fn when(self, condition: bool) -> Self {
        if condition { self } else { Self::NONE }
    }
}

impl BitOr for Operations {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Operations {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for Operations {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl fmt::Debug for Operations {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Self::NAMES.iter().filter(|(operation, _)| self.contains(*operation)).map(|(_, name)| *name);
        match names.collect::<Vec<_>>() {
            names if names.is_empty() => to.write_str("NONE"),
            names => to.write_str(&names.join(" | ")),
        }
    }
}
