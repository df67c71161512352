//! Files that hold a secret: made for their owner alone, and refused where others could have read them.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::Error;

/// The longest secret.
const LONGEST: u64 = 4096;

/// Bits of the mode that let others in: of the group and of everybody.
const OTHERS: u32 = 0o077;

/// Reads a secret. A file that others may read, or that another user owns, is refused: its content may be known.
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |error| Error::from_io(path, "reading", error);
    // A pipe would wait for its other end.
    let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed();
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(failed)?;
    // Of the opened file, so that nobody can replace it in between.
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() || metadata.len() > LONGEST {
        return Err(failed(io::Error::other("not a file, or too long for a secret")));
    }
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw() || metadata.uid() == 0;
    if !is_ours || metadata.mode() & OTHERS != 0 {
        return Err(Error::ExposedSecret { path: path.into(), mode: metadata.mode() & 0o7777, owner: metadata.uid() });
    }
    let mut content = Vec::with_capacity(metadata.len() as usize);
    file.take(LONGEST).read_to_end(&mut content).map_err(failed)?;
    Ok(content)
}

/// Creates a file for a secret durably, with mode 0600 whatever the umask. It must not exist.
pub fn create(path: &Path, content: &[u8]) -> Result<(), Error> {
    let failed = |error| Error::from_io(path, "writing", error);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
    file.write_all(content).and_then(|()| file.sync_all()).map_err(|error| {
        // Half a secret is worth nothing. Where even that fails, the next attempt says that it exists.
        let _ = fs::remove_file(path);
        failed(error)
    })?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn for_their_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        create(&path, b"words").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(read(&path).unwrap(), b"words");
        assert!(matches!(create(&path, b"other"), Err(Error::Exists { .. })));
        for mode in [0o604, 0o640, 0o644, 0o660, 0o601, 0o610, 0o666] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = read(&path).unwrap_err();
            assert!(matches!(error, Error::ExposedSecret { mode: found, .. } if found == mode), "{error}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        assert_eq!(read(&path).unwrap(), b"words");
    }

    #[test]
    fn neither_folders_nor_pipes_nor_large_files() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(read(&folder.path().join("none")), Err(Error::NotFound { .. })));
        assert!(matches!(read(folder.path()), Err(Error::Failed { .. })));
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(matches!(read(&pipe), Err(Error::Failed { .. })));
        let large = folder.path().join("large");
        create(&large, &[7; 4097]).unwrap();
        assert!(matches!(read(&large), Err(Error::Failed { .. })));
    }
}
