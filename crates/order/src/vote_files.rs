//! Detects votes that were cut off, deleted or damaged, before the engine starts.
//!
//! The engine appends its votes to one file per view, and syncs a vote before it sends it. When it opens a file, it
//! silently truncates it at the first page whose checksum does not match. That is right for a write that was torn by a
//! crash, but a damaged page takes durable votes with it, and a replica that forgets a vote may vote twice.
//!
//! [`VoteFiles`] therefore records how many bytes of each file are durable and pass their checksums. A later
//! [`check`](VoteFiles::check) compares the files with the record. Files grow, and the engine prunes the oldest ones:
//! both are fine. A file that lost bytes, or that is missing between others, is not.
//!
//! When an epoch starts, the engine removes the votes of the epoch before the previous one, in no particular order. A
//! crash leaves some of these files. So [`forget_before`](VoteFiles::forget_before) must be durable before the epoch
//! starts.

use crate::engine;
use commonware_cryptography::Crc32;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Bytes before the first page of a file: a header that is padded to a page (`BlobLayout::V1` of the engine's runtime).
const HEADER: usize = 4096;
/// Bytes of the header that its checksum covers, which follows them.
const PRELUDE: usize = 8;
/// Bytes of a page with its two checksums.
const PAGE: usize = engine::PAGE.get() as usize + 12;
/// Two slots of a length in 16 bits and a CRC-32C in 32 bits. A rewrite of a partial page replaces the older slot.
const SLOTS: [usize; 2] = [PAGE - 12, PAGE - 6];

/// Newest files that are recorded while the engine runs, each of which costs a sync. Votes in views below a final block
/// are never needed again, and the record is made after each such block, so a few views are enough.
pub const NEWEST: usize = 8;

/// A file of votes: epochs and views grow, so that the key orders files by age.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    epoch: u64,
    /// The view in hexadecimal digits of one length, as the engine names its files.
    view: String,
}

/// Bytes of votes by file that are durable and pass their checksums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VoteFiles(BTreeMap<Key, u64>);

/// Why the votes of a replica cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum VoteError {
    /// A file lost votes.
    #[error("{} has {found} bytes of valid votes, but {recorded} were written", path.display())]
    Lost {
        /// The file.
        path: PathBuf,
        /// Bytes that pass their checksums.
        found: u64,
        /// Bytes that did when they were recorded.
        recorded: u64,
    },
    /// A file is missing.
    #[error("{} is missing", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The files cannot be read.
    #[error("cannot read the votes in {}: {source}", path.display())]
    Read {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl VoteFiles {
    /// Records the `newest` files of votes in the engine's directory, from the epoch `first` on. Syncs each first,
    /// unless `before` has it at the same length.
    pub fn record(directory: &Path, partition: &str, first: u64, newest: usize, before: &Self) -> io::Result<Self> {
        let files = list(directory, partition)?;
        let mut found = BTreeMap::new();
        for (key, path) in files.into_iter().rev().take_while(|(key, _)| key.epoch >= first).take(newest) {
            // The engine may prune it meanwhile.
            let Some(length) = valid_bytes(&path)? else { continue };
            if before.0.get(&key) != Some(&length) {
                match File::open(&path) {
                    Ok(file) => file.sync_all()?,
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    Err(error) => return Err(error),
                }
            }
            found.insert(key, length);
        }
        Ok(Self(found))
    }

    /// Drops the files of epochs before `first`. Returns whether there were any.
    pub fn forget_before(&mut self, first: u64) -> bool {
        let needed = self.0.split_off(&Key { epoch: first, view: String::new() });
        !std::mem::replace(&mut self.0, needed).is_empty()
    }

    /// Checks that all recorded votes are still there. Files older than the oldest present one of their epoch may be
    /// missing.
    pub fn check(&self, directory: &Path, partition: &str) -> Result<(), VoteError> {
        let read = |source| VoteError::Read { path: directory.to_owned(), source };
        let files = list(directory, partition).map_err(read)?;
        for (key, &recorded) in &self.0 {
            let Some(path) = files.get(key) else {
                let first = Key { epoch: key.epoch, view: String::new() };
                if files.range(first..).next().is_some_and(|(oldest, _)| oldest.epoch == key.epoch && key < oldest) {
                    continue;
                }
                return Err(VoteError::Missing { path: directory.join(folder(partition, key.epoch)).join(&key.view) });
            };
            let found = valid_bytes(path).map_err(read)?.unwrap_or(0);
            if found < recorded {
                return Err(VoteError::Lost { path: path.clone(), found, recorded });
            }
        }
        Ok(())
    }

    /// Returns the number of recorded files.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no file is recorded.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Lines of epoch, view and bytes.
    pub fn encode(&self) -> String {
        let line = |(key, bytes): (&Key, &u64)| format!("{} {} {bytes}\n", key.epoch, key.view);
        self.0.iter().map(line).collect()
    }

    /// Parses what [`encode`](Self::encode) makes.
    pub fn decode<'a>(lines: impl Iterator<Item = &'a str>) -> Option<Self> {
        let parse = |line: &str| {
            let mut words = line.split(' ');
            let key = Key { epoch: words.next()?.parse().ok()?, view: words.next()?.to_owned() };
            let is_view = !key.view.is_empty() && key.view.bytes().all(|digit| digit.is_ascii_hexdigit());
            let bytes = words.next()?.parse().ok()?;
            (is_view && words.next().is_none()).then_some((key, bytes))
        };
        lines.map(parse).collect::<Option<_>>().map(Self)
    }
}

/// Removes everything that the engine stores except votes and evidence. It rebuilds the rest from a floor.
pub fn remove_caches(directory: &Path, partition: &str) -> io::Result<()> {
    let kept = [format!("{partition}-votes-"), format!("{partition}-evidence")];
    for entry in entries(directory)? {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_cache = name.starts_with(&format!("{partition}-")) && !kept.iter().any(|kept| name.starts_with(kept));
        if is_cache && entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// The folder of the votes of an epoch. The engine derives its name in the same way.
pub(crate) fn folder(partition: &str, epoch: u64) -> String {
    format!("{partition}-votes-{epoch}")
}

/// The entries of a directory, none where it does not exist.
fn entries(directory: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(directory) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// All files of votes, the oldest first.
fn list(directory: &Path, partition: &str) -> io::Result<BTreeMap<Key, PathBuf>> {
    let mut files = BTreeMap::new();
    for folder in entries(directory)? {
        let name = folder.file_name().to_string_lossy().into_owned();
        let epoch = name.strip_prefix(&format!("{partition}-votes-")).and_then(|epoch| epoch.parse().ok());
        let Some(epoch) = epoch else { continue };
        for file in entries(&folder.path())? {
            files.insert(Key { epoch, view: file.file_name().to_string_lossy().into_owned() }, file.path());
        }
    }
    Ok(files)
}

/// Bytes in the pages of a file up to the first that fails both checksums; `None` if the file does not exist.
fn valid_bytes(path: &Path) -> io::Result<Option<u64>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let Some((header, pages)) = bytes.split_at_checked(HEADER) else { return Ok(Some(0)) };
    let (prelude, rest) = header.split_at(PRELUDE);
    if !rest.starts_with(&Crc32::checksum(prelude).to_be_bytes()) {
        return Ok(Some(0));
    }
    let valid = pages.chunks_exact(PAGE).map_while(valid_bytes_of_page);
    Ok(Some(valid.map(|bytes| bytes as u64).sum()))
}

/// The longer of the lengths in a page's two slots whose checksum matches.
fn valid_bytes_of_page(page: &[u8]) -> Option<usize> {
    let length = |at: &usize| {
        let (length, sum) = page[*at..*at + 6].split_at(2);
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        let is_valid = (1..=SLOTS[0]).contains(&length) && Crc32::checksum(&page[..length]).to_be_bytes() == sum;
        is_valid.then_some(length)
    };
    SLOTS.iter().filter_map(length).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTITION: &str = "replica";

    /// Writes a file in the engine's form, with partial pages of these lengths.
    fn write(directory: &Path, epoch: u64, view: u64, pages: &[usize]) -> PathBuf {
        let folder = directory.join(folder(PARTITION, epoch));
        fs::create_dir_all(&folder).unwrap();
        let mut bytes = b"CWIC\0\x01\0\0".to_vec();
        bytes.extend(Crc32::checksum(&bytes).to_be_bytes());
        bytes.resize(HEADER, 0);
        for &length in pages {
            let mut page = vec![7; SLOTS[0]];
            page.extend((length as u16).to_be_bytes());
            page.extend(Crc32::checksum(&page[..length]).to_be_bytes());
            page.resize(PAGE, 0);
            bytes.extend(page);
        }
        let path = folder.join(format!("{view:016x}"));
        fs::write(&path, bytes).unwrap();
        path
    }

    fn record(directory: &Path) -> VoteFiles {
        let files = VoteFiles::record(directory, PARTITION, 0, NEWEST, &VoteFiles::default()).unwrap();
        assert_eq!(VoteFiles::decode(files.encode().lines()).unwrap(), files);
        files
    }

    #[test]
    fn every_byte_of_a_vote_is_covered() {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), 3, 9, &[SLOTS[0], 100]);
        let files = record(folder.path());
        files.check(folder.path(), PARTITION).unwrap();
        let whole = fs::read(&path).unwrap();
        // The rest of the last page and its empty slot hold no votes, nor does what pads the header.
        let voted = (0..PRELUDE + 4).chain(HEADER..HEADER + PAGE - 6).chain(HEADER + PAGE..HEADER + PAGE + 100);
        for at in voted.step_by(7) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&path, damaged).unwrap();
            let refused = files.check(folder.path(), PARTITION);
            assert!(matches!(refused, Err(VoteError::Lost { .. })), "byte {at}: {refused:?}");
        }
        for length in [0, HEADER - 1, HEADER, HEADER + PAGE, whole.len() - 1] {
            fs::write(&path, &whole[..length]).unwrap();
            let refused = files.check(folder.path(), PARTITION);
            assert!(matches!(refused, Err(VoteError::Lost { .. })), "{length} bytes: {refused:?}");
        }
        fs::write(&path, &whole).unwrap();
        files.check(folder.path(), PARTITION).unwrap();
    }

    #[test]
    fn files_grow_and_the_oldest_are_pruned() {
        let folder = tempfile::tempdir().unwrap();
        let oldest = write(folder.path(), 1, 1, &[10]);
        write(folder.path(), 1, 2, &[10]);
        let newest = write(folder.path(), 1, 16, &[10]);
        let files = record(folder.path());
        write(folder.path(), 1, 16, &[SLOTS[0], 1]);
        write(folder.path(), 1, 17, &[5]);
        files.check(folder.path(), PARTITION).unwrap();
        fs::remove_file(&oldest).unwrap();
        files.check(folder.path(), PARTITION).unwrap();
        fs::remove_file(&newest).unwrap();
        assert!(matches!(files.check(folder.path(), PARTITION), Err(VoteError::Missing { path }) if path == newest));
        // All that was recorded may be pruned, if there is something newer.
        fs::remove_file(oldest.with_file_name(format!("{:016x}", 2))).unwrap();
        files.check(folder.path(), PARTITION).unwrap();
        fs::remove_dir_all(oldest.parent().unwrap()).unwrap();
        assert!(matches!(files.check(folder.path(), PARTITION), Err(VoteError::Missing { .. })));
    }

    /// The votes of the epoch before are still there while the engine prunes views of the present one.
    #[test]
    fn views_are_pruned_beside_an_older_epoch() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), 4, 9, &[10]);
        let oldest = write(folder.path(), 5, 1, &[10]);
        let newest = write(folder.path(), 5, 2, &[10]);
        let files = record(folder.path());
        fs::remove_file(oldest).unwrap();
        files.check(folder.path(), PARTITION).unwrap();
        fs::remove_file(&newest).unwrap();
        assert!(matches!(files.check(folder.path(), PARTITION), Err(VoteError::Missing { .. })));
    }

    #[test]
    fn votes_of_an_epoch_that_is_being_removed_are_not_missed() {
        let folder = tempfile::tempdir().unwrap();
        let removed = write(folder.path(), 5, 14, &[10]);
        write(folder.path(), 5, 13, &[10]);
        let needed = write(folder.path(), 6, 1, &[10]);
        let mut files = record(folder.path());
        fs::remove_file(removed).unwrap();
        assert!(matches!(files.check(folder.path(), PARTITION), Err(VoteError::Missing { .. })));
        assert!(files.forget_before(6));
        assert!(!files.forget_before(6));
        files.check(folder.path(), PARTITION).unwrap();
        let again = VoteFiles::record(folder.path(), PARTITION, 6, NEWEST, &files).unwrap();
        assert_eq!(again, files);
        fs::remove_file(needed).unwrap();
        assert!(matches!(again.check(folder.path(), PARTITION), Err(VoteError::Missing { .. })));
    }

    #[test]
    fn caches_are_removed_and_votes_stay() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["replica-votes-4", "replica-evidence", "replica-blocks-keys", "replica-marshal-cache-1-metadata"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("incarnation"), "").unwrap();
        remove_caches(folder.path(), PARTITION).unwrap();
        let mut names = Vec::from_iter(entries(folder.path()).unwrap().iter().map(|entry| entry.file_name()));
        names.sort();
        assert_eq!(names, ["incarnation", "replica-evidence", "replica-votes-4"]);
    }

    #[test]
    fn lines_of_another_form_are_refused() {
        for line in ["", "1", "1 ab", "x ab 3", "1 ../a 3", "1  3", "1 ab 3 4", "1 ab -1"] {
            assert_eq!(VoteFiles::decode([line].into_iter()), None, "{line:?}");
        }
    }
}
