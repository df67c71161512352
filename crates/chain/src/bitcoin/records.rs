//! Checksummed records in a flat file.
use super::error::{Error, damaged};
use crate::flat::FlatFile;
use std::sync::Arc;

/// Prefix of each record: its length, and the first eight bytes of its BLAKE3.
const PREFIX_SIZE: usize = 12;
/// Bytes collected per write: enough to make the cost of system calls negligible, few enough to cost little memory.
const BUFFER_SIZE: usize = 1 << 20;

/// Location of a record in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// Offset of the first byte after the record's prefix.
    pub offset: u64,
    /// Length without the prefix.
    pub length: u32,
}

impl Span {
    fn start(self) -> u64 {
        self.offset - PREFIX_SIZE as u64
    }

    fn end(self) -> u64 {
        self.offset + u64::from(self.length)
    }
}

/// Appends records. They can be read after [`Writer::sync`].
#[derive(Debug)]
pub(super) struct Writer {
    file: Arc<FlatFile>,
    /// Length of the file, including the buffer.
    length: u64,
    buffer: Vec<u8>,
}

impl Writer {
    /// Appends after the committed records.
    pub fn new(file: Arc<FlatFile>) -> Self {
        Self { length: file.committed(), file, buffer: Vec::with_capacity(BUFFER_SIZE) }
    }

    /// Appends a record of several parts.
    pub fn append(&mut self, parts: &[&[u8]]) -> Result<Span, Error> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let span = Span { offset: self.length + PREFIX_SIZE as u64, length: length as u32 };
        let mut hasher = blake3::Hasher::new();
        self.buffer.extend_from_slice(&span.length.to_be_bytes());
        self.buffer.extend_from_slice(&[0; 8]);
        for part in parts {
            hasher.update(part);
            self.buffer.extend_from_slice(part);
        }
        let checksum = self.buffer.len() - length - 8;
        self.buffer[checksum..][..8].copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        self.length = span.end();
        if self.buffer.len() >= BUFFER_SIZE {
            self.write_buffer()?;
        }
        Ok(span)
    }

    /// Makes everything appended durable and readable. Returns the length to commit.
    pub fn sync(&mut self) -> Result<u64, Error> {
        self.write_buffer()?;
        self.file.sync(self.file.committed(), self.length)?;
        self.file.commit(self.length);
        Ok(self.length)
    }

    fn write_buffer(&mut self) -> Result<(), Error> {
        self.file.write(self.length - self.buffer.len() as u64, &self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// Reads `N` bytes of a record, unchecked: for callers that check them in another way.
pub(super) fn read_array<const N: usize>(file: &FlatFile, span: Span, from: u32) -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    file.read(span.offset + u64::from(from), &mut bytes)?;
    Ok(bytes)
}

/// Reads up to `length` bytes from the start of a record, unchecked.
pub(super) fn read_start(file: &FlatFile, span: Span, length: u32) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; length.min(span.length) as usize];
    file.read(span.offset, &mut bytes)?;
    Ok(bytes)
}

/// Reads a whole record and verifies its checksum.
pub(super) fn read_checked(file: &FlatFile, span: Span) -> Result<Vec<u8>, Error> {
    let mut prefix = [0; PREFIX_SIZE];
    file.read(span.start(), &mut prefix)?;
    let record = read_start(file, span, span.length)?;
    let (length, checksum) = prefix.split_at(4);
    if length != span.length.to_be_bytes() || checksum != &blake3::hash(&record).as_bytes()[..8] {
        return Err(damaged(format!("the record at byte {} does not match its checksum", span.start())));
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flat::SEGMENT;
    use storage::SimulatedDisk;

    #[test]
    fn records_are_checked() {
        let disk = SimulatedDisk::new(1);
        let file = Arc::new(FlatFile::open(disk.root(), "records", SEGMENT, 0, 0).unwrap());
        let mut writer = Writer::new(Arc::clone(&file));
        let first = writer.append(&[b"abc", b"def"]).unwrap();
        let long = vec![7; BUFFER_SIZE + 5];
        let second = writer.append(&[&long]).unwrap();
        assert!(read_checked(&file, first).is_err());
        let length = writer.sync().unwrap();
        assert_eq!(length, second.end());
        assert_eq!(read_checked(&file, first).unwrap(), b"abcdef");
        assert_eq!(read_checked(&file, second).unwrap(), long);
        assert_eq!(read_array(&file, first, 2).unwrap(), *b"cd");
        assert_eq!(read_start(&file, first, 100).unwrap(), b"abcdef");
        assert!(read_checked(&file, Span { offset: first.offset + 1, ..first }).is_err());
        assert!(read_checked(&file, Span { length: 5, ..first }).is_err());
        let third = writer.append(&[b"x"]).unwrap();
        assert_eq!(third.start(), length);
        disk.damage(&disk.files()[0], first.offset + 2, 1).unwrap();
        assert!(matches!(read_checked(&file, first), Err(Error::Damaged(_))));
    }
}
