//! The first retained block: those before it are pruned, which leaves their headers and the index.
//!
//! The file `retained` names it. It is written, durably, before segments are removed from `blocks`, so a missing
//! segment is either pruned or damage. A chain without the file has all blocks.
use super::error::Error;
use super::record::{Checksum, checksum};
use std::sync::Arc;
use storage::Directory;
use zerocopy::byteorder::big_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The file's name.
const NAME: &str = "retained";

const MAGIC: [u8; 8] = *b"TPkeep1\0";

/// The first retained block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Retained {
    /// Its height; 0 if no block was pruned.
    pub(super) height: u64,
    /// Its offset in the blocks file.
    pub(super) offset: u64,
}

/// The content of the file.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Content {
    magic: [u8; 8],
    height: U64,
    offset: U64,
    checksum: Checksum,
}

impl Content {
    fn own_checksum(&self) -> Checksum {
        let bytes = self.as_bytes();
        checksum(&bytes[..bytes.len() - size_of::<Checksum>()])
    }
}

impl Retained {
    /// Reads the file of a chain.
    pub(super) fn read(directory: &Arc<dyn Directory>) -> Result<Self, Error> {
        if !directory.exists(NAME)? {
            return Ok(Self::default());
        }
        let content = Content::read_from_bytes(&directory.read(NAME)?).ok();
        match content.filter(|content| content.magic == MAGIC && content.checksum == content.own_checksum()) {
            Some(content) => Ok(Self { height: content.height.get(), offset: content.offset.get() }),
            None => {
                let reason = "the file of the first retained block does not match its checksum".into();
                Err(storage::Error::Corrupt { path: directory.path().join(NAME), offset: 0, reason }.into())
            }
        }
    }

    /// Writes the file, durably.
    pub(super) fn write(&self, directory: &Arc<dyn Directory>) -> Result<(), Error> {
        let mut content = Content {
            magic: MAGIC,
            height: self.height.into(),
            offset: self.offset.into(),
            checksum: Checksum::default(),
        };
        content.checksum = content.own_checksum();
        Ok(directory.replace(NAME, content.as_bytes())?)
    }
}
