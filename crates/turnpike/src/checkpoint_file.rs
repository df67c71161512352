//! The file where an evaluation of a delay function saves its progress, to resume after a crash.
//!
//! It begins with 8 bytes and the digest of the evaluation; records follow: squarings, 8 bytes, big-endian; the number;
//! the first 8 bytes of the SHA-256 of both. Records are only ever appended, so after a crash the file is valid up to
//! some record, and is truncated there.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use verify::vdf::{Delay, DelayCheckpoint};

use crate::error::Error;

const MAGIC: &[u8; 8] = b"TPWAY\0\0\x01";
const HEADER: usize = MAGIC.len() + 32;
const CHECKSUM: usize = 8;

/// The file is larger than any that this program writes: some 180,000 numbers of 4,096 bits.
const MAX_BYTES: u64 = 1 << 27;

/// Maximum work lost by a crash of the whole machine; a crash of the program alone costs one record.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The file, open for appending.
pub struct CheckpointFile {
    path: PathBuf,
    file: File,
    synced: Instant,
}

impl CheckpointFile {
    /// Opens or creates the file of this evaluation, and reads the saved records.
    pub fn open(path: &Path, delay: &Delay) -> Result<(Self, Vec<DelayCheckpoint>), Error> {
        let failed = |what| move |source| Error::file(what, path, source);
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).write(true).create(true).truncate(false).open(path).map_err(failed("open"))?;
        if file.metadata().map_err(failed("read"))?.len() > MAX_BYTES {
            return Err(foreign(path));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed("read"))?;
        let header = [&MAGIC[..], &digest(delay)].concat();
        let (checkpoints, end) = match bytes.strip_prefix(&header[..]) {
            Some(records) => parse(records, delay.modulus.length()),
            // A torn header is written again.
            None if header.starts_with(&bytes) => (Vec::new(), 0),
            None => return Err(foreign(path)),
        };
        file.set_len(if end == 0 { 0 } else { (HEADER + end) as u64 }).map_err(failed("cut"))?;
        file.seek(SeekFrom::End(0)).map_err(failed("read"))?;
        let mut opened = Self { path: path.into(), file, synced: Instant::now() };
        if end == 0 {
            opened.write(&header)?;
            opened.sync()?;
        }
        Ok((opened, checkpoints))
    }

    /// Appends a checkpoint.
    pub fn append(&mut self, checkpoint: &DelayCheckpoint) -> Result<(), Error> {
        self.write(&record(checkpoint))?;
        if self.synced.elapsed() >= SYNC_EVERY {
            self.sync()?;
        }
        Ok(())
    }

    /// Makes the appended records durable.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.file.sync_data().map_err(|source| Error::file("write", &self.path, source))?;
        self.synced = Instant::now();
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(|source| Error::file("write", &self.path, source))
    }
}

fn foreign(path: &Path) -> Error {
    Error::Input(format!("{} belongs to another evaluation or another program: name another file", path.display()))
}

fn digest(delay: &Delay) -> [u8; 32] {
    let Delay { modulus, input, iterations } = delay;
    Sha256::digest([&iterations.to_be_bytes()[..], &modulus.to_bytes(), &modulus.write(input)].concat()).into()
}

fn record(checkpoint: &DelayCheckpoint) -> Vec<u8> {
    let mut record = [&checkpoint.at.to_be_bytes()[..], &checkpoint.number].concat();
    let checksum = Sha256::digest(&record);
    record.extend(&checksum[..CHECKSUM]);
    record
}

/// The records up to the first that is not whole, and where they end.
fn parse(records: &[u8], length: usize) -> (Vec<DelayCheckpoint>, usize) {
    let size = 8 + length + CHECKSUM;
    let read = |bytes: &[u8]| {
        let (at, rest) = bytes.split_first_chunk()?;
        let checkpoint = DelayCheckpoint { at: u64::from_be_bytes(*at), number: rest[..length].to_vec() };
        (record(&checkpoint) == bytes).then_some(checkpoint)
    };
    let checkpoints: Vec<DelayCheckpoint> = records.chunks_exact(size).map_while(read).collect();
    let end = checkpoints.len() * size;
    (checkpoints, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::ControlFlow;
    use verify::vdf::Modulus;

    #[test]
    fn what_is_torn_or_damaged_is_cut_off_and_what_is_foreign_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("way");
        let modulus = Modulus::from_decimal("340282366920938463463374607431768211457").unwrap();
        let delay = Delay { input: modulus.hash(b"x"), modulus, iterations: 2000 };
        let mut all = Vec::new();
        let (mut file, checkpoints) = CheckpointFile::open(&path, &delay).unwrap();
        assert_eq!(checkpoints, []);
        let evaluated = delay.evaluate(&checkpoints, |checkpoint| {
            file.append(&checkpoint).unwrap();
            all.push(checkpoint);
            ControlFlow::Continue(())
        });
        assert!(evaluated.unwrap().is_some());
        drop(file);
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(CheckpointFile::open(&path, &delay).unwrap().1, all);
        let size = (whole.len() - HEADER) / all.len();
        for cut in [0, 5, HEADER, HEADER + 1, HEADER + 3 * size - 1, HEADER + 3 * size, whole.len() - 1] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let checkpoints = CheckpointFile::open(&path, &delay).unwrap().1;
            assert_eq!(checkpoints, all[..cut.saturating_sub(HEADER) / size], "cut at {cut}");
        }
        let mut damaged = whole.clone();
        damaged[HEADER + 2 * size + 9] ^= 4;
        std::fs::write(&path, &damaged).unwrap();
        assert_eq!(CheckpointFile::open(&path, &delay).unwrap().1, all[..2]);
        let other = Delay { iterations: 2001, ..delay };
        assert!(matches!(CheckpointFile::open(&path, &other), Err(Error::Input(_))));
        std::fs::write(&path, "my thesis").unwrap();
        assert!(CheckpointFile::open(&path, &other).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"my thesis");
    }
}
