//! The data directory of a node: held by one process at a time, of one format.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::{Directory, Error, Mode, RealDirectory};

const FORMAT: &str = "FORMAT";
const LOCK: &str = "LOCK";
const NAME: &str = "turnpike data directory, format ";

/// A data directory that this process holds: another one that opens it gets [`Error::InUse`].
///
/// The operating system lets go of the lock when the process ends, however it ends.
#[derive(Debug)]
pub struct DataDirectory {
    directory: RealDirectory,
    _lock: fs::File,
}

impl DataDirectory {
    /// Opens the data directory, or makes it if there is none yet, and locks it.
    pub fn open(path: impl Into<PathBuf>, format: u32) -> Result<Self, Error> {
        let directory = RealDirectory::create(path)?;
        let path = directory.path().join(LOCK);
        let lock = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| Error::from_io(&path, "opening", error))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(Error::InUse { path: directory.path().into() }),
            Err(error) => return Err(Error::from_io(&path, "locking", error.into())),
        }
        check_format(&directory, format)?;
        Ok(Self { directory, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The directory itself.
    pub fn directory(&self) -> &RealDirectory {
        &self.directory
    }
}

/// Checks that a directory is of this format; marks it so if it is empty.
pub fn check_format(directory: &dyn Directory, format: u32) -> Result<(), Error> {
    let path = || directory.path().to_path_buf();
    match directory.open(FORMAT, Mode::Read) {
        Ok(file) => {
            let mut content = [0; 128];
            let read = file.read_at(&mut content, 0)?;
            let content = String::from_utf8_lossy(&content[..read]);
            let found = content.trim_end().strip_prefix(NAME).ok_or_else(|| Error::NotOurs { path: path() })?;
            if found == format.to_string() {
                return Ok(());
            }
            Err(Error::OtherVersion { path: path(), found: found.to_owned(), expected: format })
        }
        Err(Error::NotFound { .. }) => {
            // A crash while the mark was written leaves its temporary file.
            let is_ours = |name: &String| name == LOCK || name.strip_suffix(".new") == Some(FORMAT);
            if !directory.list()?.iter().all(is_ours) {
                return Err(Error::NotOurs { path: path() });
            }
            directory.replace(FORMAT, format!("{NAME}{format}\n").as_bytes())
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_by_one_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a/b");
        let held = DataDirectory::open(&path, 1).unwrap();
        assert!(matches!(DataDirectory::open(&path, 1), Err(Error::InUse { .. })));
        drop(held);
        DataDirectory::open(&path, 1).unwrap();
    }

    #[test]
    fn of_one_format() {
        let parent = tempfile::tempdir().unwrap();
        drop(DataDirectory::open(parent.path(), 1).unwrap());
        let error = DataDirectory::open(parent.path(), 2).unwrap_err();
        assert!(matches!(&error, Error::OtherVersion { found, expected: 2, .. } if found == "1"), "{error}");
    }

    #[test]
    fn foreign_files_are_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("thesis.txt"), "words").unwrap();
        assert!(matches!(DataDirectory::open(parent.path(), 1), Err(Error::NotOurs { .. })));
        fs::write(parent.path().join(FORMAT), "another program's").unwrap();
        assert!(matches!(DataDirectory::open(parent.path(), 1), Err(Error::NotOurs { .. })));
    }
}
