//! Atomic replacement of a data directory's chain and journal: all parts are replaced, or none.
//!
//! New parts are written to a subdirectory. Once they are complete, a mark is written, and they are moved into place
//! one by one. After a crash, opening the data directory resumes the moves if the mark exists, and else removes the
//! parts.

use std::{fs, io};

use storage::{DataDirectory, Directory};

use crate::Error;
use crate::replica::{DIRECTORY, PARTITION};

/// The staging directory.
pub const STAGING: &str = "state-sync";
/// The mark.
const WHOLE: &str = "WHOLE";
/// The parts to replace.
const PARTS: [&str; 4] = ["chain", "catalog", "journal", "cluster"];

fn failed(source: io::Error) -> Error {
    Error::System { what: "the data directory", source }
}

/// Removes the staged parts.
pub fn clear(data: &DataDirectory) -> Result<(), Error> {
    let staging = data.path().join(STAGING);
    if staging.exists() {
        fs::remove_dir_all(&staging).map_err(failed)?;
        data.directory().sync()?;
    }
    Ok(())
}

/// Marks the staged parts as whole: they are durable, and closed.
pub fn complete(data: &DataDirectory) -> Result<(), Error> {
    Ok(data.directory().directory(STAGING)?.replace(WHOLE, b"")?)
}

/// Moves the new parts into place if they are complete; else removes them. It can be retried after an error.
pub fn install(data: &DataDirectory) -> Result<(), Error> {
    let staging = data.path().join(STAGING);
    if staging.join(WHOLE).exists() {
        for part in PARTS {
            let (from, to) = (staging.join(part), data.path().join(part));
            if !from.exists() {
                // It was moved into place before a crash.
                continue;
            }
            if to.exists() {
                fs::remove_dir_all(&to).map_err(failed)?;
            }
            fs::rename(&from, &to).map_err(failed)?;
            data.directory().sync()?;
            data.directory().directory(STAGING)?.sync()?;
        }
        // The engine begins on the new ledger's floor. Its votes stay; its blocks and caches may be damaged.
        order::remove_caches(&data.path().join(DIRECTORY), PARTITION).map_err(failed)?;
    }
    clear(data)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::layout;

    fn write(path: &Path, part: &str, text: &str) {
        fs::create_dir_all(path.join(part)).unwrap();
        fs::write(path.join(part).join("file"), text).unwrap();
    }

    fn read(path: &Path) -> [String; 4] {
        PARTS.map(|part| fs::read_to_string(path.join(part).join("file")).unwrap_or_default())
    }

    /// Wherever it is cut off, all is old or, once it was whole, all is new.
    #[test]
    fn all_takes_its_place_or_nothing() {
        for cut in 0..=PARTS.len() + 1 {
            let folder = tempfile::tempdir().unwrap();
            let data = layout::open(folder.path()).unwrap();
            let staging = folder.path().join(STAGING);
            PARTS.iter().for_each(|part| write(folder.path(), part, "old"));
            write(folder.path(), "order", "votes");
            write(folder.path(), "order/replica-blocks-keys", "old");
            PARTS.iter().for_each(|part| write(&staging, part, "new"));
            if cut > 0 {
                complete(&data).unwrap();
            }
            for (number, part) in PARTS.iter().enumerate().take(cut.saturating_sub(1)) {
                // The old part may already be removed when the new one is not in place yet.
                fs::remove_dir_all(folder.path().join(part)).unwrap();
                if number + 2 < cut {
                    fs::rename(staging.join(part), folder.path().join(part)).unwrap();
                }
            }
            drop(data);
            drop(layout::open(folder.path()).unwrap());
            let expected = if cut > 0 { "new" } else { "old" };
            assert_eq!(read(folder.path()), [expected; 4], "cut off at {cut}");
            assert_eq!(fs::read_to_string(folder.path().join("order/file")).unwrap(), "votes");
            assert_eq!(folder.path().join("order/replica-blocks-keys").exists(), cut == 0);
            assert!(!staging.exists());
        }
    }
}
