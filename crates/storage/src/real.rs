//! The operating system's files and directories.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{FallocateFlags, OFlags, fallocate};
use zerocopy::IntoBytes;

use crate::{Directory, Error, File, Mode, Page};

/// A directory of the operating system.
#[derive(Debug)]
pub struct RealDirectory {
    path: PathBuf,
    handle: fs::File,
}

impl RealDirectory {
    /// Opens a directory that exists.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let handle = fs::File::open(&path).map_err(|error| Error::from_io(&path, "opening", error))?;
        Ok(Self { path, handle })
    }

    /// Opens a directory and creates it, and those above it, if it does not exist.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        if !path.is_dir() {
            fs::create_dir_all(&path).map_err(|error| Error::from_io(&path, "creating", error))?;
            if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                Self::open(parent)?.sync()?;
            }
        }
        Self::open(path)
    }
}

impl Directory for RealDirectory {
    fn path(&self) -> &Path {
        &self.path
    }

    fn open(&self, name: &str, mode: Mode) -> Result<Arc<dyn File>, Error> {
        let path = self.path.join(name);
        let file = fs::OpenOptions::new()
            .read(true)
            .write(mode != Mode::Read)
            .create(mode == Mode::Create)
            .create_new(mode == Mode::CreateNew)
            .open(&path)
            .map_err(|error| Error::from_io(&path, "opening", error))?;
        Ok(Arc::new(RealFile { path, file, direct: OnceLock::new() }))
    }

    fn directory(&self, name: &str) -> Result<Arc<dyn Directory>, Error> {
        Ok(Arc::new(Self::create(self.path.join(name))?))
    }

    fn list(&self) -> Result<Vec<String>, Error> {
        let listing = |error| Error::from_io(&self.path, "listing", error);
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(listing)? {
            let entry = entry.map_err(listing)?;
            if entry.file_type().map_err(listing)?.is_file() {
                // A name that is not UTF-8 is none that this program gave.
                names.extend(entry.file_name().into_string());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        let from = self.path.join(from);
        fs::rename(&from, self.path.join(to)).map_err(|error| Error::from_io(&from, "renaming", error))
    }

    fn remove(&self, name: &str) -> Result<(), Error> {
        let path = self.path.join(name);
        fs::remove_file(&path).map_err(|error| Error::from_io(&path, "removing", error))
    }

    fn sync(&self) -> Result<(), Error> {
        self.handle.sync_all().map_err(|error| Error::from_io(&self.path, "syncing", error))
    }
}

#[derive(Debug)]
struct RealFile {
    path: PathBuf,
    file: fs::File,
    /// The same file opened for writing past the page cache, once that was asked for; none where it cannot be.
    direct: OnceLock<Option<fs::File>>,
}

impl RealFile {
    fn error(&self, operation: &'static str) -> impl Fn(io::Error) -> Error {
        move |error| Error::from_io(&self.path, operation, error)
    }

    /// Opened by its descriptor, as it may have another name by now.
    fn direct(&self) -> Option<&fs::File> {
        let open = || {
            let descriptor = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            let flags = OFlags::DIRECT.bits().cast_signed();
            fs::OpenOptions::new().write(true).custom_flags(flags).open(descriptor).ok()
        };
        self.direct.get_or_init(open).as_ref()
    }
}

impl File for RealFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        let mut read = 0;
        while read < buffer.len() {
            match self.file.read_at(&mut buffer[read..], offset + read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::from_io(&self.path, "reading", error)),
            }
        }
        Ok(read)
    }

    fn write_at(&self, data: &[u8], offset: u64) -> Result<(), Error> {
        self.file.write_all_at(data, offset).map_err(self.error("writing"))
    }

    fn write_pages_at(&self, pages: &[Page], offset: u64) -> Result<(), Error> {
        debug_assert!(offset.is_multiple_of(Page::LENGTH as u64));
        let data = pages.as_bytes();
        // What fails for a reason that the page cache does not have, a disk with larger blocks say, goes there; another
        // reason shows again.
        let written = self.direct().and_then(|direct| direct.write_at(data, offset).ok()).unwrap_or(0);
        self.write_at(&data[written..], offset + written as u64)
    }

    fn len(&self) -> Result<u64, Error> {
        Ok(self.file.metadata().map_err(self.error("asking for the length"))?.len())
    }

    fn set_len(&self, len: u64) -> Result<(), Error> {
        self.file.set_len(len).map_err(self.error("changing the length"))
    }

    fn allocate(&self, len: u64) -> Result<(), Error> {
        loop {
            match fallocate(&self.file, FallocateFlags::empty(), 0, len) {
                Ok(()) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(Error::from_io(&self.path, "reserving space", error.into())),
            }
        }
    }

    fn sync_data(&self) -> Result<(), Error> {
        self.file.sync_data().map_err(self.error("syncing"))
    }

    fn sync(&self) -> Result<(), Error> {
        self.file.sync_all().map_err(self.error("syncing"))
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.as_fd())
    }
}
