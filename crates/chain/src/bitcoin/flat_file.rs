//! An append-only file of checksummed records, read through a memory map.
use memmap2::Mmap;
use std::borrow::Cow;
use std::sync::Arc;
use storage::{Directory, Error, File, Mode};

/// Before each record: its length, and the first eight bytes of its BLAKE3.
const PREFIX_SIZE: usize = 12;
/// How much is collected before it is written. Large enough that the system calls don't count, small enough not to.
const BUFFER_SIZE: usize = 1 << 20;

/// Where a record is in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte after the record's prefix.
    pub offset: u64,
    /// Length without the prefix.
    pub length: u32,
}

/// The writer of a flat file. What it appends is durable after [`FlatFile::sync`].
#[derive(Debug)]
pub struct FlatFile {
    file: Arc<dyn File>,
    /// Length with what is still in the buffer.
    length: u64,
    buffer: Vec<u8>,
}

impl FlatFile {
    /// Opens the file of which `committed` bytes count. What is beyond was written before a crash and committed by nothing.
    pub fn open(directory: &dyn Directory, name: &str, committed: u64) -> Result<Self, Error> {
        let file = directory.open(name, Mode::Create)?;
        let length = file.len()?;
        if length < committed {
            let reason = format!("{committed} bytes were committed, {length} are there");
            return Err(Error::Corrupt { path: file.path().into(), offset: length, reason });
        }
        if length > committed {
            file.set_len(committed)?;
            file.sync()?;
        }
        directory.sync()?;
        Ok(Self { file, length: committed, buffer: Vec::with_capacity(BUFFER_SIZE) })
    }

    /// Appends a record of several parts.
    pub fn append(&mut self, parts: &[&[u8]]) -> Result<Span, Error> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(part);
        }
        let span = Span { offset: self.length + PREFIX_SIZE as u64, length: length as u32 };
        self.buffer.extend_from_slice(&span.length.to_be_bytes());
        self.buffer.extend_from_slice(&hasher.finalize().as_bytes()[..8]);
        for part in parts {
            self.buffer.extend_from_slice(part);
        }
        self.length = span.end();
        if self.buffer.len() >= BUFFER_SIZE {
            self.write_buffer()?;
        }
        Ok(span)
    }

    /// Makes everything appended durable, and returns the length to commit.
    pub fn sync(&mut self) -> Result<u64, Error> {
        self.write_buffer()?;
        self.file.sync_data()?;
        Ok(self.length)
    }

    /// What has been synced, for reading.
    pub fn region(&self) -> Result<Region, Error> {
        Region::new(self.file.clone(), self.length - self.buffer.len() as u64)
    }

    fn write_buffer(&mut self) -> Result<(), Error> {
        let start = self.length - self.buffer.len() as u64;
        self.file.write_at(&self.buffer, start)?;
        self.buffer.clear();
        Ok(())
    }
}

impl Span {
    fn start(self) -> u64 {
        self.offset - PREFIX_SIZE as u64
    }

    fn end(self) -> u64 {
        self.offset + u64::from(self.length)
    }
}

/// The committed part of a flat file, for any number of readers.
#[derive(Debug)]
pub struct Region {
    file: Arc<dyn File>,
    length: u64,
    /// Nothing where the file is empty or lives in a simulation.
    map: Option<Mmap>,
}

impl Region {
    #[allow(unsafe_code)]
    fn new(file: Arc<dyn File>, length: u64) -> Result<Self, Error> {
        let map = match file.descriptor() {
            Some(descriptor) if length > 0 => {
                use std::os::fd::AsRawFd;
                let mut options = memmap2::MmapOptions::new();
                let options =
                    options.len(usize::try_from(length).map_err(|_| corrupt(&*file, length, "too large to map"))?);
                // SAFETY: the mapped bytes are committed: nobody writes to them again, and the file is only cut at start-up, before
                // there is a map, by the one process that holds the data directory.
                let map = unsafe { options.map(descriptor.as_raw_fd()) };
                Some(map.map_err(|source| Error::Failed { path: file.path().into(), operation: "mapping", source })?)
            }
            _ => None,
        };
        Ok(Self { file, length, map })
    }

    /// The bytes of a record from `from` on, unchecked: for callers that check what they read in another way.
    pub fn read(&self, span: Span, from: u32, length: u32) -> Result<Cow<'_, [u8]>, Error> {
        let (start, end) = (span.offset + u64::from(from), span.offset + u64::from(from) + u64::from(length));
        if end > span.end() || end > self.length {
            return Err(corrupt(&*self.file, start, "a record would reach beyond its end"));
        }
        self.bytes(start, length as usize)
    }

    /// A whole record, with its checksum verified.
    pub fn read_checked(&self, span: Span) -> Result<Cow<'_, [u8]>, Error> {
        let record = self.read(span, 0, span.length)?;
        let prefix = self.bytes(span.start(), PREFIX_SIZE)?;
        let (length, checksum) = prefix.split_at(4);
        if length != span.length.to_be_bytes() || checksum != &blake3::hash(&record).as_bytes()[..8] {
            return Err(corrupt(&*self.file, span.start(), "a record does not have its checksum"));
        }
        Ok(record)
    }

    fn bytes(&self, start: u64, length: usize) -> Result<Cow<'_, [u8]>, Error> {
        if let Some(map) = &self.map {
            let bytes = usize::try_from(start).ok().and_then(|start| map.get(start..)?.get(..length));
            return bytes.map(Cow::Borrowed).ok_or_else(|| corrupt(&*self.file, start, "the file ends before"));
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(Cow::Owned(bytes))
    }
}

fn corrupt(file: &dyn File, offset: u64, reason: &str) -> Error {
    Error::Corrupt { path: file.path().into(), offset, reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use storage::{RealDirectory, SimulatedDisk};

    fn round(directory: &dyn Directory) {
        let mut file = FlatFile::open(directory, "records", 0).unwrap();
        let first = file.append(&[b"abc", b"def"]).unwrap();
        let committed = file.sync().unwrap();
        let second = file.append(&[&[7; 3000]]).unwrap();
        file.sync().unwrap();
        let region = file.region().unwrap();
        assert_eq!(*region.read_checked(first).unwrap(), *b"abcdef");
        assert_eq!(*region.read(first, 2, 3).unwrap(), *b"cde");
        assert_eq!(*region.read_checked(second).unwrap(), [7; 3000]);
        assert!(region.read(first, 2, 5).is_err());
        assert!(region.read(Span { offset: committed, ..first }, 0, 6).is_ok());
        assert!(region.read_checked(Span { offset: committed + 40, ..first }).is_err());
        assert!(region.read(Span { offset: u64::from(u32::MAX), ..first }, 0, 6).is_err());
        drop((region, file));

        // What was not committed is cut off; what was committed must be there.
        let file = FlatFile::open(directory, "records", committed).unwrap();
        let region = file.region().unwrap();
        assert_eq!(*region.read_checked(first).unwrap(), *b"abcdef");
        assert!(region.read(second, 0, 1).is_err());
        drop((region, file));
        assert!(matches!(FlatFile::open(directory, "records", committed + 1), Err(Error::Corrupt { .. })));

        let raw = directory.open("records", Mode::Write).unwrap();
        raw.write_at(b"x", first.offset).unwrap();
        let file = FlatFile::open(directory, "records", committed).unwrap();
        assert!(matches!(file.region().unwrap().read_checked(first), Err(Error::Corrupt { offset: 0, .. })));
    }

    #[test]
    fn on_a_real_disk() {
        let folder = tempfile::tempdir().unwrap();
        round(&RealDirectory::create(folder.path()).unwrap());
    }

    #[test]
    fn on_a_simulated_disk() {
        round(&*SimulatedDisk::new(1).root());
    }
}
