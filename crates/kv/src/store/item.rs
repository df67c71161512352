//! Layout of an item in its block: a header, the key, the value.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::clock::Seconds;

/// Where a block starts, in words of 8 bytes from the start of the shard's memory. No block starts at word 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(transparent)]
pub struct Address(pub u32);

impl Address {
    /// The address that names no block.
    pub const NONE: Self = Self(0);

    /// Whether the address names a block.
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }
}

/// The contents of a block.
pub(super) mod kind {
    /// Nothing.
    pub(in crate::store) const FREE: u8 = 0;
    /// An item, or the first part of one.
    pub(in crate::store) const ITEM: u8 = 1;
    /// Another part of a value that is longer than a block.
    pub(in crate::store) const PART: u8 = 2;
    /// An item that is being made or copied: not in the table or not in a queue, and not to be moved or evicted.
    pub(in crate::store) const BUSY: u8 = 3;
}

/// Marks of an item.
pub mod mark {
    /// The item was read since it was stored.
    pub const FETCHED: u8 = 1;
    /// The item is stale, and replies say so.
    pub const STALE: u8 = 2;
    /// A client was chosen to recompute the item's value.
    pub const WON: u8 = 4;
    /// The item's key was sent in base64.
    pub const BINARY_KEY: u8 = 8;
    /// It is in the protected queue.
    pub(in crate::store) const PROTECTED: u8 = 16;
    /// It was put into the mirror.
    pub(in crate::store) const MIRRORED: u8 = 32;
    /// Replies may refer to its value.
    pub(in crate::store) const HELD: u8 = 64;
    /// Marks that outlive the program.
    pub(in crate::store) const LASTING: u8 = FETCHED | STALE | WON | BINARY_KEY | PROTECTED;
}

/// The start of every block.
#[derive(Clone, Copy, Debug, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Header {
    /// Changes with every change of the item.
    pub cas: u64,
    /// When the item expires.
    pub expires: Seconds,
    /// When it was last read or written.
    pub accessed: Seconds,
    /// The client's flags, stored with the value.
    pub flags: u32,
    /// Bytes of the value; of a part, its own.
    pub value_len: u32,
    /// The next older item of its queue; of a part, its item.
    pub(super) older: Address,
    /// The next newer item of its queue.
    pub(super) newer: Address,
    /// The next part of the value; of a free block, the next free one of the page.
    pub(super) next: Address,
    /// Bytes of the key.
    pub(super) key_len: u8,
    pub(super) kind: u8,
    /// Bits of [`mark`].
    pub marks: u8,
    /// Number of uses since it entered its queue, up to [`super::queues::MOST_USES`].
    pub(super) uses: u8,
}

/// Bytes of a header.
pub(super) const HEADER: usize = size_of::<Header>();

const _: () = assert!(HEADER == 40, "there is no padding to leave uninitialised");
