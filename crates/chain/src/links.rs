//! Back-links: where the transactions are that touched a transaction's accounts before it.
use spv::Locator;
use zerocopy::byteorder::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The place of a transaction, or of none, in its stored form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Link {
    height: U32,
    position: U32,
}

impl Link {
    /// There is no earlier transaction.
    pub const NONE: Self = Self { height: U32::MAX_VALUE, position: U32::MAX_VALUE };

    /// The place that the link leads to.
    pub fn locator(self) -> Option<Locator> {
        (self != Self::NONE).then(|| Locator { height: self.height.get(), position: self.position.get() })
    }
}

impl From<Locator> for Link {
    fn from(locator: Locator) -> Self {
        Self { height: locator.height.into(), position: locator.position.into() }
    }
}

/// The links of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Links {
    /// To the transaction that touched the source account before.
    pub source: Link,
    /// To the transaction that touched the destination account before; only transfers and deposits have one.
    pub destination: Link,
}

impl Links {
    /// No earlier transactions.
    pub const NONE: Self = Self { source: Link::NONE, destination: Link::NONE };
}
