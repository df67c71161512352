//! The data directory of a node: held by one process at a time, of one format.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};

use crate::{Directory, Error, Mode, RealDirectory};

const FORMAT: &str = "FORMAT";
const LOCK: &str = "LOCK";
const NAME: &str = "turnpike data directory, format ";

/// A data directory locked by this process: another process that opens it gets [`Error::InUse`].
///
/// The operating system releases the lock when the process ends, however it ends.
///
/// The directory is private: opening it removes other users' permissions, with a warning. Its path may be a symbolic
/// link, but links inside it are errors.
#[derive(Debug)]
pub struct DataDirectory {
    directory: RealDirectory,
    lock: fs::File,
}

impl DataDirectory {
    /// Opens the data directory, creating it if missing, and locks it.
    pub fn open(path: impl Into<PathBuf>, format: u32) -> Result<Self, Error> {
        let directory = RealDirectory::create(path)?;
        let lock = directory.open_at(LOCK, OFlags::RDWR | OFlags::CREATE)?;
        if !try_lock(&lock, FlockOperation::NonBlockingLockExclusive, directory.path())? {
            return Err(Error::InUse { path: directory.path().into() });
        }
        check_format(&directory, format)?;
        // Not before, as the directory may be another program's.
        directory.make_private()?;
        Ok(Self { directory, lock })
    }

    /// Whether a process holds the data directory at a path: one that runs, or one that has not fully exited. During
    /// the check nobody else can open it.
    pub fn is_held(path: impl Into<PathBuf>) -> Result<bool, Error> {
        let path = path.into();
        let lock = RealDirectory::open(&path).and_then(|directory| directory.open_at(LOCK, OFlags::RDONLY));
        let lock = match lock {
            Err(Error::NotFound { .. }) => return Ok(false),
            found => found?,
        };
        let is_free = try_lock(&lock, FlockOperation::NonBlockingLockShared, &path)?;
        if is_free {
            let _ = flock(&lock, FlockOperation::Unlock);
        }
        Ok(!is_free)
    }

    /// Returns the directory's path.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The directory itself.
    pub fn directory(&self) -> &RealDirectory {
        &self.directory
    }
}

impl Drop for DataDirectory {
    /// Unlocks explicitly. Closing the file is not enough: a child process that is being started holds the descriptor,
    /// and with it the lock, until it runs its program.
    fn drop(&mut self) {
        let _ = flock(&self.lock, FlockOperation::Unlock);
    }
}

/// Locks a directory's file, unless another process holds it.
fn try_lock(lock: &fs::File, how: FlockOperation, directory: &Path) -> Result<bool, Error> {
    match flock(lock, how) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(Error::from_io(&directory.join(LOCK), "locking", error.into())),
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
            let found = content
                .trim_end()
                .strip_prefix(NAME)
                .ok_or_else(|| Error::Format { path: path().join(FORMAT), line: format!("{NAME}{format}") })?;
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
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::FileType;

    #[test]
    fn held_by_one_at_a_time() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a/b");
        assert!(!DataDirectory::is_held(&path).unwrap() && !path.exists());
        let held = DataDirectory::open(&path, 1).unwrap();
        assert!(matches!(DataDirectory::open(&path, 1), Err(Error::InUse { .. })));
        assert!(DataDirectory::is_held(&path).unwrap());
        // As a child process that is being started inherits it.
        let inherited = held.lock.try_clone().unwrap();
        drop(held);
        assert!(!DataDirectory::is_held(&path).unwrap());
        DataDirectory::open(&path, 1).unwrap();
        drop(inherited);
    }

    #[test]
    fn of_one_format() {
        let parent = tempfile::tempdir().unwrap();
        drop(DataDirectory::open(parent.path(), 1).unwrap());
        let error = DataDirectory::open(parent.path(), 2).unwrap_err();
        assert!(matches!(&error, Error::OtherVersion { found, expected: 2, .. } if found == "1"), "{error}");
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn what_others_could_do_is_taken_from_them() {
        let parent = tempfile::tempdir().unwrap();
        let (real, link) = (parent.path().join("real"), parent.path().join("link"));
        drop(DataDirectory::open(&real, 1).unwrap().directory().directory("below").unwrap());
        fs::write(real.join("below/file"), "content").unwrap();
        let all = [real.clone(), real.join("FORMAT"), real.join("LOCK"), real.join("below"), real.join("below/file")];
        for path in &all {
            fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
        }
        // The directory's own path may be a link.
        symlink(&real, &link).unwrap();
        let data = DataDirectory::open(&link, 1).unwrap();
        for path in &all {
            assert_eq!(mode(path), if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
        }
        let directory = data.directory().directory("new").unwrap();
        directory.replace("file", b"content").unwrap();
        assert_eq!((mode(&real.join("new")), mode(&real.join("new/file"))), (0o700, 0o600));
    }

    #[test]
    fn another_programs_directory_keeps_its_mode() {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("thesis.txt"), "words").unwrap();
        fs::set_permissions(parent.path(), Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(DataDirectory::open(parent.path(), 1), Err(Error::NotOurs { .. })));
        assert_eq!(mode(parent.path()), 0o755);
    }

    #[test]
    fn links_and_pipes_are_refused_wherever_they_are() {
        for name in ["LOCK", "FORMAT", "journal", "a/file", "a/b/file"] {
            let parent = tempfile::tempdir().unwrap();
            let (data, target) = (parent.path().join("data"), parent.path().join("target"));
            drop(DataDirectory::open(&data, 1).unwrap());
            let planted = data.join(name);
            fs::create_dir_all(planted.parent().unwrap()).unwrap();
            let _ = fs::remove_file(&planted);
            // A missing file would be created, and an existing one overwritten.
            for exists in [false, true] {
                if exists {
                    fs::write(&target, "another's").unwrap();
                }
                symlink(&target, &planted).unwrap();
                let error = DataDirectory::open(&data, 1).unwrap_err();
                assert!(matches!(&error, Error::Link { path } if *path == planted), "{error}");
                assert_eq!(fs::read_to_string(&target).ok().as_deref(), exists.then_some("another's"));
                fs::remove_file(&planted).unwrap();
            }
            rustix::fs::mknodat(rustix::fs::CWD, &planted, FileType::Fifo, 0o600.into(), 0).unwrap();
            let error = DataDirectory::open(&data, 1).unwrap_err();
            assert!(matches!(&error, Error::NotAFile { path } if *path == planted), "{error}");
        }
    }

    #[test]
    fn foreign_files_are_left_alone() {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("thesis.txt"), "words").unwrap();
        assert!(matches!(DataDirectory::open(parent.path(), 1), Err(Error::NotOurs { .. })));
        fs::write(parent.path().join(FORMAT), "another program's").unwrap();
        let error = DataDirectory::open(parent.path(), 1).unwrap_err();
        let Error::Format { path, line } = &error else { panic!("{error}") };
        // Its advice works.
        fs::write(path, line).unwrap();
        DataDirectory::open(parent.path(), 1).unwrap();
    }
}
