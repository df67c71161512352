//! Pages: what can be written past the page cache.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A page of memory, aligned for direct I/O: no disk has larger blocks.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(4096))]
pub struct Page([u8; Page::LENGTH]);

impl Page {
    /// Bytes of a page.
    pub const LENGTH: usize = 4096;
}
