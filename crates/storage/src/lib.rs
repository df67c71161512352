//! Files and directories as traits: real ones, and simulated ones that fail.
//!
//! Everything that must survive a crash is written through [`Directory`] and [`File`], so that the same code runs on a
//! real disk ([`RealDirectory`]) and on a seeded one that loses, tears and refuses writes ([`SimulatedDisk`]). The
//! traits promise no more than a disk does:
//!
//! * Data is durable once [`File::sync_data`] has returned, and not before. After a failed sync, earlier writes may be
//!   lost even if a later sync succeeds: abandon the file.
//! * A name (create, rename, remove) is durable once [`Directory::sync`] has returned.
//!
//! ```
//! use turnpike_storage::{Mode, SimulatedDisk};
//! # fn main() -> Result<(), turnpike_storage::Error> {
//! let disk = SimulatedDisk::new(1);
//! let file = disk.root().open("log", Mode::Create)?;
//! file.write_at(b"abc", 0)?;
//! file.sync_data()?;
//! disk.root().sync()?;
//! disk.crash();
//! assert_eq!(disk.root().read("log")?, b"abc");
//! # Ok(())
//! # }
//! ```
//!
//! Start with the two traits in this file, then [`SimulatedDisk`] (`simulated`) and [`RealDirectory`] (`real`).

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod copy;
mod data_directory;
mod error;
pub mod key_file;
mod page;
mod random;
mod real;
pub mod secret_file;
mod simulated;

pub use copy::copy_file;
pub use data_directory::{DataDirectory, check_format};
pub use error::Error;
pub use page::Page;
pub use random::Random;
pub use real::RealDirectory;
pub use simulated::{Faults, SECTOR, SimulatedDisk};

use std::fmt::Debug;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;

use zerocopy::IntoBytes;

/// The mode in which a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// For reading; the file must exist.
    Read,
    /// For reading and writing; the file must exist.
    Write,
    /// For reading and writing; created if it does not exist.
    Create,
    /// For reading and writing; it must not exist yet.
    CreateNew,
}

/// An open file. All methods take `&self`, so that one thread can read what another one writes.
pub trait File: Send + Sync + Debug {
    /// The path of the file, for messages.
    fn path(&self) -> &Path;

    /// Reads at `offset` until `buffer` is full or the file ends, and returns how much was read.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error>;

    /// Writes all of `data` at `offset`.
    fn write_at(&self, data: &[u8], offset: u64) -> Result<(), Error>;

    /// Writes whole pages, past the page cache where the file system lets: for bulk data, which then costs neither a
    /// copy nor memory, but is read from the disk. `offset` is a multiple of [`Page::LENGTH`].
    fn write_pages_at(&self, pages: &[Page], offset: u64) -> Result<(), Error> {
        self.write_at(pages.as_bytes(), offset)
    }

    /// The length in bytes.
    fn len(&self) -> Result<u64, Error>;

    /// Cuts the file, or extends it with zeros.
    fn set_len(&self, len: u64) -> Result<(), Error>;

    /// Reserves space on the disk for the first `len` bytes and makes the file at least that long, so that writing
    /// there cannot find the disk full.
    fn allocate(&self, len: u64) -> Result<(), Error>;

    /// Makes the data, and the length if it changed, durable.
    fn sync_data(&self) -> Result<(), Error>;

    /// Makes data and all metadata durable.
    fn sync(&self) -> Result<(), Error>;

    /// The descriptor, for mapping the file into memory; a simulated file has none.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Whether the file is empty.
    fn is_empty(&self) -> Result<bool, Error> {
        Ok(self.len()? == 0)
    }

    /// Fills `buffer` from `offset` on; a file that ends before is an [`Error::Corrupt`].
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), Error> {
        let read = self.read_at(buffer, offset)?;
        if read == buffer.len() {
            return Ok(());
        }
        let reason = format!("expected {} bytes, but the file has {read}", buffer.len());
        Err(Error::Corrupt { path: self.path().into(), offset, reason })
    }
}

/// A directory: a flat set of files, and of directories below.
pub trait Directory: Send + Sync + Debug {
    /// The path of the directory, for messages.
    fn path(&self) -> &Path;

    /// Opens a file.
    fn open(&self, name: &str, mode: Mode) -> Result<Arc<dyn File>, Error>;

    /// Opens a directory below this one and creates it if it does not exist.
    fn directory(&self, name: &str) -> Result<Arc<dyn Directory>, Error>;

    /// The names of the files, sorted; directories are not listed.
    fn list(&self) -> Result<Vec<String>, Error>;

    /// Renames a file; one of the new name is replaced, atomically.
    fn rename(&self, from: &str, to: &str) -> Result<(), Error>;

    /// Removes a file.
    fn remove(&self, name: &str) -> Result<(), Error>;

    /// Makes all names in the directory durable.
    fn sync(&self) -> Result<(), Error>;

    /// Whether a file of this name exists.
    fn exists(&self, name: &str) -> Result<bool, Error> {
        match self.open(name, Mode::Read) {
            Ok(_) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Reads a whole file.
    fn read(&self, name: &str) -> Result<Vec<u8>, Error> {
        let file = self.open(name, Mode::Read)?;
        let len = file.len()?;
        let mut content = vec![0; usize::try_from(len).map_err(|_| Error::too_large(file.path(), len))?];
        file.read_exact_at(&mut content, 0)?;
        Ok(content)
    }

    /// Replaces a whole file so that after a crash either the old content is there or the new one.
    fn replace(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        let temporary = format!("{name}.new");
        let file = self.open(&temporary, Mode::Create)?;
        file.set_len(0)?;
        file.write_at(content, 0)?;
        file.sync()?;
        self.rename(&temporary, name)?;
        self.sync()
    }
}
