//! Errors of files and directories.

use std::io;
use std::path::{Path, PathBuf};

/// An error of a file or a directory. The message has the path and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file or directory does not exist.
    #[error("{}: no such file or directory", path.display())]
    NotFound {
        /// The missing file or directory.
        path: PathBuf,
    },
    /// The file to create already exists.
    #[error("{}: already exists", path.display())]
    Exists {
        /// The existing file.
        path: PathBuf,
    },
    /// The disk or the quota is full.
    #[error("{}: the disk or the quota is full: free some space, then start again", path.display())]
    Full {
        /// The file that was written.
        path: PathBuf,
    },
    /// The operating system refuses access.
    #[error("{}: access denied: check owner and mode, or run as another user", path.display())]
    Denied {
        /// The file or directory that was accessed.
        path: PathBuf,
    },
    /// A symbolic link in place of a file or a directory. Following it would let its creator choose what is
    /// overwritten.
    #[error("{}: a symbolic link, which is not followed: move its target there, or mount it there", path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// A pipe, a socket, a device or a directory where a file is to be.
    #[error("{}: not a file: remove it, or name another directory", path.display())]
    NotAFile {
        /// The path that is not a file.
        path: PathBuf,
    },
    /// Other users have access to a private file or directory, and this user cannot change that.
    #[error(
        "{}: mode {found:03o} lets others in, and another user owns it: set mode {mode:03o}, and run as its owner",
        path.display()
    )]
    Exposed {
        /// The file or directory.
        path: PathBuf,
        /// Its mode.
        found: u32,
        /// The mode that it is to have.
        mode: u32,
    },
    /// Another failure that the operating system reports.
    #[error("{}: {operation} failed: {source}: check the disk and the kernel log, then start again", path.display())]
    Failed {
        /// The file or directory that was accessed.
        path: PathBuf,
        /// The operation that failed.
        operation: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The content is damaged.
    #[error(
        "{}: damaged at byte {offset}: {reason}: restore the file from a copy, or check the directory",
        path.display()
    )]
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// Offset of the damage.
        offset: u64,
        /// The damage found.
        reason: String,
    },
    /// Others than its owner may have read a secret.
    #[error(
        "{}: other users can read this secret (mode {mode:04o}, owner {owner}): make a new one if they may have read \
         it; if not, make it yours and `chmod 600` it",
        path.display()
    )]
    ExposedSecret {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
        /// Its owner's number.
        owner: u32,
    },
    /// Another process holds the data directory.
    #[error("{}: in use by another process: stop it, or name another data directory", path.display())]
    InUse {
        /// The data directory.
        path: PathBuf,
    },
    /// The data directory was written by a version with another format.
    #[error(
        "{}: format {found}, but this program reads format {expected} and cannot convert it: use the program \
         that wrote it, or name another data directory to begin a new chain in",
        path.display()
    )]
    OtherVersion {
        /// The data directory.
        path: PathBuf,
        /// The format that its FORMAT file names.
        found: String,
        /// The format of this program.
        expected: u32,
    },
    /// The file that names the format holds something else: it is damaged, or another program's.
    #[error(
        "{}: must hold the line `{line}`: name another directory, or write that line if this one is the node's",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// The line.
        line: String,
    },
    /// The directory has files, but is not a data directory.
    #[error("{}: not empty and not a data directory of this program: name another directory", path.display())]
    NotOurs {
        /// The directory.
        path: PathBuf,
    },
}

impl Error {
    /// The error for what the operating system reported.
    pub(crate) fn from_io(path: &Path, operation: &'static str, source: io::Error) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path },
            io::ErrorKind::AlreadyExists => Self::Exists { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path },
            io::ErrorKind::PermissionDenied => Self::Denied { path },
            _ => Self::Failed { path, operation, source },
        }
    }

    /// The error for a file that does not fit in the address space.
    pub(crate) fn too_large(path: &Path, len: u64) -> Self {
        Self::Corrupt { path: path.to_path_buf(), offset: 0, reason: format!("{len} bytes are too many to read") }
    }
}
