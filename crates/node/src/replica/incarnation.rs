//! How a replica notices that its data was deleted, or set back to an older copy.
//!
//! The votes of a replica are in its data. With an older copy of them it could vote twice. So each start of the
//! replica draws a random incarnation, and writes it into the data and into a *mark* beside the replica's key, which
//! outlives the data. If the two differ at a start, the key voted later with other data. The mark has the executed
//! height as well, which exposes older copies from the same incarnation.
//!
//! The data is written first, together with the previous incarnation, so a crash between the two writes is
//! recognised. A copy made after the last mark, some seconds before a crash, is not noticed.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use storage::{DataDirectory, Directory, RealDirectory};

use super::DIRECTORY;
use crate::{Error, layout, sealing};

/// The file in the folder of the engine's votes, so that it is copied and deleted together with them.
pub const FILE: &str = "incarnation";

/// Between two marks of heights, each of which is synced.
const INTERVAL: Duration = Duration::from_secs(10);

/// The suffix that turns the name of a key into that of its mark.
const SUFFIX: &str = ".mark";

type Incarnation = [u8; 16];

/// The mark beside a replica's key.
#[derive(Debug)]
pub struct Mark {
    path: PathBuf,
    incarnation: Incarnation,
    /// The height that is written.
    height: u64,
    written: Instant,
}

fn text(incarnation: &Incarnation, number: u128) -> String {
    format!("{:032x} {number}\n", u128::from_be_bytes(*incarnation))
}

/// Parses an incarnation in hexadecimal digits, followed by a number.
fn parse(bytes: &[u8]) -> Option<(Incarnation, u128)> {
    let (incarnation, number) = std::str::from_utf8(bytes).ok()?.trim().split_once(' ')?;
    Some((u128::from_str_radix(incarnation, 16).ok()?.to_be_bytes(), number.parse().ok()?))
}

fn path(key: &Path) -> PathBuf {
    let mut name = OsString::from(key);
    name.push(SUFFIX);
    name.into()
}

/// Reads a file of [`parse`]'s form, if it is there.
fn read(directory: &dyn Directory, name: &str) -> Result<Option<(Incarnation, u128)>, Error> {
    match directory.read(name) {
        Ok(bytes) => match parse(&bytes) {
            Some(found) => Ok(Some(found)),
            None => Err(sealing::Error::Mark { path: directory.path().join(name) }.into()),
        },
        Err(storage::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The folder of a file, and its name.
fn folder(path: &Path) -> Result<(RealDirectory, String), Error> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok((RealDirectory::open(parent)?, name))
}

/// Reads the mark of a key and the incarnation of the data, and refuses two that do not match.
#[allow(clippy::type_complexity, reason = "two files of one form")]
fn compare(
    key: &Path,
    data: &DataDirectory,
) -> Result<(Option<(Incarnation, u128)>, Option<(Incarnation, u128)>), Error> {
    let path = path(key);
    let (beside, name) = folder(&path)?;
    let mark = read(&beside, &name)?;
    let votes = data.directory().directory(DIRECTORY)?;
    let found = read(&*votes, FILE)?;
    let Some((marked, _)) = mark else { return Ok((mark, found)) };
    match found {
        Some((current, before)) if marked == current || u128::from_be_bytes(marked) == before => Ok((mark, found)),
        Some(_) => Err(sealing::Error::SetBack { data: data.path().into(), mark: path }.into()),
        None => Err(sealing::Error::VotesLost { data: data.path().into(), mark: path }.into()),
    }
}

/// Refuses data if the replica's key voted later with other data.
pub fn check(key: &Path, data: &DataDirectory) -> Result<(), Error> {
    compare(key, data).map(drop)
}

impl Mark {
    /// Begins an incarnation of a replica whose data has executed the block of a height. Refuses data as [`check`]
    /// does, and data below the marked height.
    pub fn begin(key: &Path, data: &DataDirectory, height: u64) -> Result<Self, Error> {
        let (mark, found) = compare(key, data)?;
        let path = path(key);
        if mark.is_some_and(|(_, marked)| marked > height.into()) {
            return Err(sealing::Error::SetBack { data: data.path().into(), mark: path }.into());
        }
        let incarnation = layout::random()?;
        let before = mark.or(found).map_or(0, |(before, _)| u128::from_be_bytes(before));
        data.directory().directory(DIRECTORY)?.replace(FILE, text(&incarnation, before).as_bytes())?;
        let mut mark = Self { path, incarnation, height, written: Instant::now() };
        mark.write(height);
        Ok(mark)
    }

    /// Marks the height that was executed, unless that was done just before.
    pub fn executed(&mut self, height: u64) {
        if self.written.elapsed() >= INTERVAL {
            self.write(height);
        }
    }

    /// Marks the height at which the replica ends.
    pub fn finish(&mut self, height: u64) {
        if height > self.height {
            self.write(height);
        }
    }

    fn write(&mut self, height: u64) {
        self.written = Instant::now();
        let bytes = text(&self.incarnation, height.into());
        let written = folder(&self.path).and_then(|(beside, name)| Ok(beside.replace(&name, bytes.as_bytes())?));
        match written {
            Ok(()) => self.height = height,
            // The folder of the key may be read-only. The replica votes as safely as without a mark.
            Err(error) => tracing::warn!(
                %error,
                "cannot write the mark beside the replica's key, so older data will not be noticed; let the node write into \
                 the folder of `cluster.key`"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn begin(folder: &Path, height: u64) -> Result<Mark, Error> {
        let data = layout::open(&folder.join("data"))?;
        Mark::begin(&folder.join("replica.key"), &data, height)
    }

    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        fs::copy(from.join(FILE), to.join(FILE)).unwrap();
    }

    #[test]
    fn data_that_was_set_back_or_deleted_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (votes, kept) = (folder.path().join("data/order"), folder.path().join("kept"));
        begin(folder.path(), 0).unwrap().finish(5);
        copy(&votes, &kept);
        // Of the same incarnation, but below the marked height.
        let refused = begin(folder.path(), 4).unwrap_err().to_string();
        assert!(refused.contains("older"), "{refused}");
        begin(folder.path(), 5).unwrap().finish(7);
        let newest = fs::read(votes.join(FILE)).unwrap();
        copy(&kept, &votes);
        let refused = begin(folder.path(), 7).unwrap_err().to_string();
        assert!(refused.contains("older") && refused.contains("turnpike cluster"), "{refused}");
        fs::remove_dir_all(folder.path().join("data")).unwrap();
        let refused = begin(folder.path(), 0).unwrap_err().to_string();
        assert!(refused.contains("deleted"), "{refused}");
        // The newest data is accepted again.
        fs::write(votes.join(FILE), newest).unwrap();
        begin(folder.path(), 7).unwrap();
    }

    #[test]
    fn a_start_that_was_cut_off_is_no_difference() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("replica.key.mark");
        begin(folder.path(), 0).unwrap();
        for _ in 0..3 {
            let before = fs::read(&mark).unwrap();
            begin(folder.path(), 1).unwrap();
            // As if the mark had not been written.
            fs::write(&mark, before).unwrap();
        }
        begin(folder.path(), 1).unwrap();
        // A key that came without its mark begins a new one.
        fs::remove_file(&mark).unwrap();
        begin(folder.path(), 1).unwrap();
        assert!(mark.exists());
    }

    #[test]
    fn a_mark_that_cannot_be_read_is_not_ignored() {
        let folder = tempfile::tempdir().unwrap();
        begin(folder.path(), 0).unwrap();
        fs::write(folder.path().join("replica.key.mark"), "x").unwrap();
        assert!(begin(folder.path(), 0).unwrap_err().to_string().contains("replica.key.mark"));
    }
}
