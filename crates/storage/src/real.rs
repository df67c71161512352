//! The operating system's files and directories.
//!
//! A file is opened through the descriptor of its directory, by its name alone, and never through a link. New files and
//! directories are private, whatever the process's umask: directories 0700, files 0600.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{AtFlags, FallocateFlags, FileType, OFlags, Stat, fallocate};
use rustix::io::Errno;
use zerocopy::IntoBytes;

use crate::{Directory, Error, File, Mode, Page};

/// The mode of a directory that only its owner may enter.
const PRIVATE_DIRECTORY: u32 = 0o700;

/// The mode of a file that only its owner may access.
const PRIVATE_FILE: u32 = 0o600;

/// The permissions of everybody but the owner.
const OTHERS: u32 = 0o077;

/// Maximum depth of a data directory: more than any store in it has.
const MAX_DEPTH: usize = 16;

/// A directory of the operating system.
#[derive(Debug)]
pub struct RealDirectory {
    path: PathBuf,
    handle: fs::File,
}

impl RealDirectory {
    /// Opens a directory that exists. A link to one is followed.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        let handle = fs::OpenOptions::new()
            .read(true)
            .custom_flags(OFlags::DIRECTORY.bits().cast_signed())
            .open(&path)
            .map_err(|error| Error::from_io(&path, "opening", error))?;
        Ok(Self { path, handle })
    }

    /// Opens a directory and creates it, and those above it, if it does not exist: for their owner alone.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, Error> {
        let path = path.into();
        if path.is_dir() {
            return Self::open(path);
        }
        let made = DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(&path);
        made.map_err(|error| Error::from_io(&path, "creating", error))?;
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            Self::open(parent)?.sync()?;
        }
        Self::open(path)
    }

    /// Removes other users' permissions from the directory and everything below that this user owns; files of other
    /// users are checked when they are opened. A link or a special file below is an error, since code that opens files
    /// by path would follow it.
    pub(crate) fn make_private(&self) -> Result<(), Error> {
        self.make_private_below(MAX_DEPTH)
    }

    fn make_private_below(&self, depth: usize) -> Result<(), Error> {
        take_from_others(&self.handle, &self.path, PRIVATE_DIRECTORY)?;
        let user = rustix::process::geteuid();
        for (name, kind) in self.entries()? {
            let path = self.path.join(&name);
            let stat = match rustix::fs::statat(&self.handle, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                // Gone since it was listed.
                Err(Errno::NOENT) => continue,
                Err(error) => return Err(Error::from_io(&path, "reading the mode", error.into())),
            };
            match kind {
                FileType::Symlink => return Err(Error::Link { path }),
                _ if !user.is_root() && stat.st_uid != user.as_raw() => {}
                FileType::Directory if depth > 0 => self.below(&name)?.make_private_below(depth - 1)?,
                FileType::Directory => return Err(Error::NotOurs { path }),
                FileType::RegularFile if stat.st_mode & OTHERS == 0 => {}
                FileType::RegularFile => {
                    let file = self.open_at(&name, OFlags::RDONLY)?;
                    take_from_others(&file, &path, PRIVATE_FILE)?;
                }
                _ => return Err(Error::NotAFile { path }),
            }
        }
        Ok(())
    }

    /// Opens a file for its descriptor alone: a regular one, and no link. It is made, where it is, for its owner alone.
    pub(crate) fn open_at(&self, name: impl AsRef<OsStr>, flags: OFlags) -> Result<fs::File, Error> {
        let name = name.as_ref();
        let path = || self.path.join(name);
        // A pipe in the file's place would hold up who opens it, and is found below.
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::openat(&self.handle, name, flags, PRIVATE_FILE.into())
            .map_err(|error| self.failed(name, "opening", error))?;
        let stat = stat(&file, &path())?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Error::NotAFile { path: path() });
        }
        Ok(file.into())
    }

    /// Opens a directory below this one, and no link to one.
    fn below(&self, name: impl AsRef<OsStr>) -> Result<Self, Error> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(&self.handle, name.as_ref(), flags, rustix::fs::Mode::empty())
            .map_err(|error| self.failed(name.as_ref(), "opening", error))?;
        Ok(Self { path: self.path.join(name.as_ref()), handle: handle.into() })
    }

    /// The error for what the system reported of the file of that name.
    fn failed(&self, name: &OsStr, operation: &'static str, error: Errno) -> Error {
        let path = self.path.join(name);
        // A link where a directory is to be is not reported as one.
        let is_link = || {
            let stat = rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW);
            stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
        };
        match error {
            Errno::LOOP | Errno::NOTDIR if is_link() => Error::Link { path },
            _ => Error::from_io(&path, operation, error.into()),
        }
    }

    /// The entries of the directory, by name.
    fn entries(&self) -> Result<Vec<(OsString, FileType)>, Error> {
        let listing = |error: Errno| Error::from_io(&self.path, "listing", error.into());
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.handle).map_err(listing)? {
            let entry = entry.map_err(listing)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                // Not every file system reports the type.
                FileType::Unknown => rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
                kind => kind,
            };
            entries.push((name.to_owned(), kind));
        }
        Ok(entries)
    }
}

fn stat(file: impl AsFd, path: &Path) -> Result<Stat, Error> {
    rustix::fs::fstat(file).map_err(|error| Error::from_io(path, "reading the mode", error.into()))
}

/// Removes other users' permissions from a file or a directory that should have this mode.
fn take_from_others(file: impl AsFd, path: &Path, mode: u32) -> Result<(), Error> {
    let found = stat(&file, path)?.st_mode & 0o7777;
    if found & OTHERS == 0 {
        return Ok(());
    }
    rustix::fs::fchmod(file, mode.into()).map_err(|_| Error::Exposed { path: path.into(), found, mode })?;
    tracing::warn!(path = %path.display(), "removed other users' access (mode was {found:03o})");
    Ok(())
}

impl Directory for RealDirectory {
    fn path(&self) -> &Path {
        &self.path
    }

    fn open(&self, name: &str, mode: Mode) -> Result<Arc<dyn File>, Error> {
        let flags = match mode {
            Mode::Read => OFlags::RDONLY,
            Mode::Write => OFlags::RDWR,
            Mode::Create => OFlags::RDWR | OFlags::CREATE,
            Mode::CreateNew => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
        };
        let (file, path) = (self.open_at(name, flags)?, self.path.join(name));
        if mode != Mode::Read {
            take_from_others(&file, &path, PRIVATE_FILE)?;
        }
        Ok(Arc::new(RealFile { path, file, direct: OnceLock::new() }))
    }

    fn directory(&self, name: &str) -> Result<Arc<dyn Directory>, Error> {
        let directory = match rustix::fs::mkdirat(&self.handle, name, PRIVATE_DIRECTORY.into()) {
            Ok(()) => {
                self.sync()?;
                self.below(name)?
            }
            Err(Errno::EXIST) => self.below(name)?,
            Err(error) => return Err(self.failed(name.as_ref(), "creating", error)),
        };
        take_from_others(&directory.handle, &directory.path, PRIVATE_DIRECTORY)?;
        Ok(Arc::new(directory))
    }

    fn list(&self) -> Result<Vec<String>, Error> {
        let files = self.entries()?.into_iter().filter(|(_, kind)| *kind == FileType::RegularFile);
        // This program never creates names that are not UTF-8.
        let mut names: Vec<_> = files.filter_map(|(name, _)| name.into_string().ok()).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        rustix::fs::renameat(&self.handle, from, &self.handle, to)
            .map_err(|error| self.failed(from.as_ref(), "renaming", error))
    }

    fn remove(&self, name: &str) -> Result<(), Error> {
        rustix::fs::unlinkat(&self.handle, name, AtFlags::empty())
            .map_err(|error| self.failed(name.as_ref(), "removing", error))
    }

    fn sync(&self) -> Result<(), Error> {
        self.handle.sync_all().map_err(|error| Error::from_io(&self.path, "syncing", error))
    }
}

#[derive(Debug)]
struct RealFile {
    path: PathBuf,
    file: fs::File,
    /// The same file opened for writing past the page cache, on first use; `None` if that is not possible.
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
        // A write that fails for a reason of direct I/O, such as a disk with larger blocks, goes through the page
        // cache; any other failure repeats there.
        let written = self.direct().and_then(|direct| direct.write_at(data, offset).ok()).unwrap_or(0);
        self.write_at(&data[written..], offset + written as u64)
    }

    fn len(&self) -> Result<u64, Error> {
        Ok(self.file.metadata().map_err(self.error("reading the length"))?.len())
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
