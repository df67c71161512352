//! Detects that a replica's data was deleted, or restored from an older copy.
//!
//! The votes of a replica are in its data. With an older copy of them it could vote twice. So each start of the replica
//! draws a random incarnation, and writes it into the data and into a *mark* beside the replica's key, which outlives
//! the data. If the two differ at a start, the key voted later with other data. The mark has the executed height as
//! well, which exposes older copies from the same incarnation. The data's file also records the [files of
//! votes](VoteFiles), which exposes votes that were deleted or damaged. A checksum covers it.
//!
//! - The data has `incarnation`, `before` (the previous one) and the record of vote files, in one file that is
//!   replaced.
//! - The mark has an incarnation and a height.
//!
//! Rules:
//!
//! 1. On start, refuse if there is a mark, and the data has no incarnation or neither its `incarnation` nor its
//!    `before` is the mark's. Refuse if a recorded vote is missing or fails its checksum. Refuse if the chain's height
//!    is below the mark's.
//! 2. Then draw an incarnation. Set `before` to the mark's incarnation, or the data's if there is no mark. Replace the
//!    data's file, then the mark.
//! 3. After an executed block that ends an epoch, drop the vote files of epochs that no restart needs, durably, before
//!    the engine may remove them.
//! 4. After an executed block, if 10 s have passed since the last mark: sync and record the newest vote files, then
//!    write the height into the mark.
//! 5. At shutdown, after the engine has ended: the same with all vote files.
//!
//! A crash between the two writes of 2 leaves a mark that equals `before`, so the next start accepts it. A crash in 4
//! leaves a record that is newer than the mark, which is fine. A copy that was made after the last mark, some seconds
//! before a crash, is not noticed. If the record or the mark cannot be written, except in the first write of 2, the
//! replica warns and votes without it.

use std::{
    ffi::OsString,
    num::NonZeroU64,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use order::{NEWEST, VoteFiles};
use spv::hash::TaggedHash;
use storage::{DataDirectory, Directory, RealDirectory};

use super::{DIRECTORY, PARTITION};
use crate::{Error, layout, sealing};

/// The file in the folder of the engine's votes, so that it is copied and deleted together with them.
pub const FILE: &str = "incarnation";

/// Between two marks of heights, each of which is synced.
const INTERVAL: Duration = Duration::from_secs(10);

/// The suffix that turns the name of a key into that of its mark.
const SUFFIX: &str = ".mark";

type Incarnation = [u8; 16];

/// The contents of a mark: the incarnation and the executed height.
type Marked = (Incarnation, u64);

/// The mark beside a replica's key.
#[derive(Debug)]
pub struct Mark {
    path: PathBuf,
    /// The folder of votes.
    votes: PathBuf,
    data: Incarnated,
    /// Blocks of an epoch.
    epoch: NonZeroU64,
    /// The height that is written.
    height: u64,
    written: Instant,
}

/// The file in the data: its incarnation and its votes.
#[derive(Clone, Debug)]
struct Incarnated {
    incarnation: Incarnation,
    /// The incarnation before.
    before: Incarnation,
    files: VoteFiles,
}

impl Incarnated {
    fn encode(&self) -> String {
        let text = text(&self.incarnation, u128::from_be_bytes(self.before)) + &self.files.encode();
        let sum = sum(&text);
        text + &sum
    }

    fn check(&self, votes: &Path) -> Result<(), Error> {
        let checked = self.files.check(votes, PARTITION);
        Ok(checked.map_err(|source| sealing::Error::VotesDamaged { source })?)
    }

    /// Parses what [`encode`](Self::encode) makes, or a first line alone, which is what earlier versions wrote.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let (line, files) = text.split_once('\n')?;
        let (incarnation, before) = parse(line)?;
        let files = match files {
            "" => VoteFiles::default(),
            files => {
                let at = files.len().checked_sub(sum("").len())?;
                let (files, found) = files.split_at_checked(at)?;
                (sum(&format!("{line}\n{files}")) == found).then_some(())?;
                VoteFiles::decode(files.lines())?
            }
        };
        Some(Self { incarnation, before: before.to_be_bytes(), files })
    }
}

/// The last line of a file: a hash of the preceding lines, against damage.
fn sum(text: &str) -> String {
    let hash = TaggedHash::new("turnpike/incarnation").hash(&[text.as_bytes()]);
    format!("sum {:032x}\n", u128::from_be_bytes(*hash.first_chunk().expect("a hash is longer")))
}

fn text(incarnation: &Incarnation, number: u128) -> String {
    format!("{:032x} {number}\n", u128::from_be_bytes(*incarnation))
}

/// Parses an incarnation in hexadecimal digits, followed by a number.
fn parse(line: &str) -> Option<(Incarnation, u128)> {
    let (incarnation, number) = line.trim().split_once(' ')?;
    Some((u128::from_str_radix(incarnation, 16).ok()?.to_be_bytes(), number.parse().ok()?))
}

fn path(key: &Path) -> PathBuf {
    let mut name = OsString::from(key);
    name.push(SUFFIX);
    name.into()
}

/// Reads a file, if it is there, and refuses one that cannot be parsed.
fn read<T>(directory: &dyn Directory, name: &str, decode: impl FnOnce(&[u8]) -> Option<T>) -> Result<Option<T>, Error> {
    match directory.read(name) {
        Ok(bytes) => match decode(&bytes) {
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

/// Reads the mark of a key, if it has one: an incarnation and a height.
fn mark(key: &Path) -> Result<Option<Marked>, Error> {
    let (beside, name) = folder(&path(key))?;
    read(&beside, &name, |bytes| {
        let (incarnation, height) = parse(std::str::from_utf8(bytes).ok()?)?;
        Some((incarnation, height.try_into().ok()?))
    })
}

/// Reads the mark of a key and the incarnation of the data. Refuses two that do not match, and votes that are damaged.
fn compare(key: &Path, data: &DataDirectory) -> Result<(Option<Marked>, Option<Incarnated>), Error> {
    let mark = mark(key)?;
    let votes = data.directory().directory(DIRECTORY)?;
    let found = read(&*votes, FILE, Incarnated::decode)?;
    if let Some((marked, _)) = mark {
        match &found {
            Some(found) if marked == found.incarnation || marked == found.before => {}
            Some(_) => return Err(sealing::Error::SetBack { data: data.path().into(), mark: path(key) }.into()),
            None => return Err(sealing::Error::VotesLost { data: data.path().into(), mark: path(key) }.into()),
        }
    }
    if let Some(found) = &found {
        found.check(votes.path())?;
    }
    Ok((mark, found))
}

/// Refuses data if the replica's key voted later with other data, or if votes are damaged.
pub fn check(key: &Path, data: &DataDirectory) -> Result<(), Error> {
    compare(key, data).map(drop)
}

/// Checks the votes in a replica's data, whatever its key's mark says. Returns how many files of them are recorded, or
/// `None` if this is not a replica's data.
pub fn check_votes(data: &DataDirectory) -> Result<Option<usize>, Error> {
    if !data.path().join(DIRECTORY).is_dir() {
        return Ok(None);
    }
    let votes = data.directory().directory(DIRECTORY)?;
    let Some(found) = read(&*votes, FILE, Incarnated::decode)? else { return Ok(None) };
    found.check(votes.path())?;
    Ok(Some(found.files.len()))
}

/// The height that the key's replica had executed when it was last marked.
pub fn marked_height(key: &Path) -> Result<Option<u64>, Error> {
    Ok(mark(key)?.map(|(_, height)| height))
}

impl Mark {
    /// Begins an incarnation of a replica whose data has executed the block of a height, in epochs of `epoch` blocks.
    /// Refuses data as [`check`] does, and data below the marked height.
    pub fn begin(key: &Path, data: &DataDirectory, height: u64, epoch: NonZeroU64) -> Result<Self, Error> {
        let (mark, found) = compare(key, data)?;
        let path = path(key);
        if mark.is_some_and(|(_, marked)| marked > height) {
            return Err(sealing::Error::SetBack { data: data.path().into(), mark: path }.into());
        }
        let (before, files) = found.map(|found| (found.incarnation, found.files)).unwrap_or_default();
        let before = mark.map_or(before, |(marked, _)| marked);
        let votes = data.directory().directory(DIRECTORY)?;
        let data = Incarnated { incarnation: layout::random()?, before, files };
        votes.replace(FILE, data.encode().as_bytes())?;
        let mut mark = Self { path, votes: votes.path().into(), data, epoch, height, written: Instant::now() };
        // State sync may have skipped epochs.
        mark.forget_ended_epochs(height);
        mark.write(height);
        Ok(mark)
    }

    /// Drops the record of votes that the engine removes once the block of `height` is executed. Call it before the
    /// engine learns of the execution.
    pub fn forget_ended_epochs(&mut self, height: u64) {
        if self.data.files.forget_before(self.first_needed(height)) {
            self.warn(self.replace());
        }
    }

    /// Marks the height that was executed and records the newest votes, unless that was done just before.
    pub fn executed(&mut self, height: u64) {
        if self.written.elapsed() >= INTERVAL {
            self.record(height, NEWEST);
            self.write(height);
        }
    }

    /// Marks the height at which the replica ends, after its engine has ended, and records all votes.
    pub fn finish(&mut self, height: u64) {
        self.record(height, usize::MAX);
        if height > self.height {
            self.write(height);
        }
    }

    /// The first epoch whose votes a replica may need that has executed the block of `height`: a restart may return to
    /// the epoch before the present one.
    fn first_needed(&self, height: u64) -> u64 {
        ((height + 1) / self.epoch).saturating_sub(1)
    }

    fn record(&mut self, height: u64, newest: usize) {
        let first = self.first_needed(height);
        let recorded = VoteFiles::record(&self.votes, PARTITION, first, newest, &self.data.files);
        let recorded = recorded.and_then(|files| {
            self.data.files = files;
            self.replace()
        });
        self.warn(recorded);
    }

    /// Writes the record of vote files.
    fn replace(&self) -> std::io::Result<()> {
        let folder = RealDirectory::open(&self.votes).map_err(std::io::Error::other)?;
        folder.replace(FILE, self.data.encode().as_bytes()).map_err(std::io::Error::other)
    }

    fn warn(&self, recorded: std::io::Result<()>) {
        if let Err(error) = recorded {
            tracing::warn!(%error, "cannot record the replica's vote files, so damage to them may go unnoticed");
        }
    }

    fn write(&mut self, height: u64) {
        self.written = Instant::now();
        let bytes = text(&self.data.incarnation, height.into());
        let written = folder(&self.path).and_then(|(beside, name)| Ok(beside.replace(&name, bytes.as_bytes())?));
        match written {
            Ok(()) => self.height = height,
            // The folder of the key may be read-only. The replica votes as safely as without a mark.
            Err(error) => tracing::warn!(
                %error,
                "cannot write the mark beside the replica's key, so older data goes unnoticed; let the node write into \
                 the folder of `cluster.key`"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const EPOCH: NonZeroU64 = NonZeroU64::new(32).unwrap();

    fn begin(folder: &Path, height: u64) -> Result<Mark, Error> {
        let data = layout::open(&folder.join("data"))?;
        Mark::begin(&folder.join("replica.key"), &data, height, EPOCH)
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
    fn an_incarnation_of_an_earlier_version_is_read_and_a_damaged_one_is_not() {
        let files = VoteFiles::decode(["3 00ff 17", "4 0001 99"].into_iter()).unwrap();
        let text = Incarnated { incarnation: [7; 16], before: [9; 16], files: files.clone() }.encode();
        let found = Incarnated::decode(text.as_bytes()).unwrap();
        assert_eq!((found.incarnation, found.before, &found.files), ([7; 16], [9; 16], &files));
        let first = text.lines().next().unwrap().to_owned() + "\n";
        assert_eq!(Incarnated::decode(first.as_bytes()).unwrap().files, VoteFiles::default());
        for at in 0..text.len() {
            let mut damaged = text.clone().into_bytes();
            damaged[at] ^= 1;
            assert!(Incarnated::decode(&damaged).is_none(), "byte {at}");
        }
        assert!(Incarnated::decode(&text.as_bytes()[..text.len() - 1]).is_none());
    }

    /// The engine of epoch `n` removes the votes of epoch `n - 2`.
    #[test]
    fn votes_are_recorded_until_no_restart_returns_to_their_epoch() {
        let folder = tempfile::tempdir().unwrap();
        let mut mark = begin(folder.path(), 100).unwrap();
        mark.data.files = VoteFiles::decode(["2 00ff 17", "3 0001 99"].into_iter()).unwrap();
        mark.forget_ended_epochs(126);
        assert_eq!(mark.data.files.len(), 2, "epoch 3 has one more block");
        mark.forget_ended_epochs(127);
        assert_eq!(mark.data.files, VoteFiles::decode(["3 0001 99"].into_iter()).unwrap());
        let written = fs::read(folder.path().join("data").join(DIRECTORY).join(FILE)).unwrap();
        assert_eq!(Incarnated::decode(&written).unwrap().files, mark.data.files, "it is durable");
    }

    #[test]
    fn a_mark_that_cannot_be_read_is_not_ignored() {
        let folder = tempfile::tempdir().unwrap();
        begin(folder.path(), 0).unwrap();
        fs::write(folder.path().join("replica.key.mark"), "x").unwrap();
        assert!(begin(folder.path(), 0).unwrap_err().to_string().contains("replica.key.mark"));
    }
}
