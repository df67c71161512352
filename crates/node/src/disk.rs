//! The room of a file system.

use std::{io, path::Path};

/// The room of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disk {
    /// Bytes of it.
    pub size: u64,
    /// Bytes that an unprivileged user may still use.
    pub free: u64,
}

impl Disk {
    /// The space of the file system with this path.
    pub fn from_path(path: &Path) -> io::Result<Self> {
        let found = rustix::fs::statvfs(path)?;
        Ok(Self { size: found.f_blocks * found.f_frsize, free: found.f_bavail * found.f_frsize })
    }
}
