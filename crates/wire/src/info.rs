//! The info frame.

use crate::{FrameHeader, FrameType, InfoFrame, Promise, Status, UnknownStatus};

impl InfoFrame {
    /// Flag: the node serves Bitcoin.
    pub const SERVES_BITCOIN: u8 = 1;

    /// Flag: the node answers reads only, because its storage failed.
    pub const READS_ONLY: u8 = 2;

    /// Flag: the node follows another one.
    pub const FOLLOWS: u8 = 4;

    /// Flag: the node has pruned blocks, whose transactions it cannot prove.
    pub const PRUNED: u8 = 8;

    /// A request.
    pub fn new(id: u32) -> Self {
        Self { header: FrameHeader::new(FrameType::Info, id), ..Self::default() }
    }

    /// The status in a reply.
    pub fn status(&self) -> Result<Status, UnknownStatus> {
        Status::try_from(self.status.get())
    }

    /// The promise of compact frames.
    pub fn promise(&self) -> Result<Promise, Status> {
        Promise::try_from(self.promise)
    }

    /// Whether the node serves Bitcoin.
    pub fn serves_bitcoin(&self) -> bool {
        self.flags & Self::SERVES_BITCOIN != 0
    }

    /// Whether the node answers reads only.
    pub fn reads_only(&self) -> bool {
        self.flags & Self::READS_ONLY != 0
    }

    /// Whether the node follows another one, and so executes nothing itself.
    pub fn follows(&self) -> bool {
        self.flags & Self::FOLLOWS != 0
    }

    /// Whether the node has pruned blocks, whose transactions it cannot prove.
    pub fn has_pruned(&self) -> bool {
        self.flags & Self::PRUNED != 0
    }

    /// The program's version, up to the first byte that is not a visible ASCII character.
    pub fn program(&self) -> &str {
        let end = self.program.iter().position(|&byte| !byte.is_ascii_graphic()).unwrap_or(self.program.len());
        self.program.get(..end).and_then(|text| core::str::from_utf8(text).ok()).unwrap_or("")
    }

    /// The field for a version, which is cut if it is longer.
    pub fn program_field(version: &str) -> [u8; 12] {
        let mut field = [0; 12];
        for (to, from) in field.iter_mut().zip(version.bytes()) {
            *to = from;
        }
        field
    }

    pub(crate) fn check(&self) -> Status {
        let request = Self { header: self.header, ..Self::default() };
        if *self == request { Status::Ok } else { Status::Malformed }
    }
}
