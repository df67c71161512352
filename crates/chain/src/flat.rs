//! A flat file: append-only bytes in segments, memory-mapped for reading. Segments can be removed from its start.
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use storage::{Directory, Error, File, Mode, Page};
use zerocopy::{FromZeros, IntoBytes};

/// Bytes per segment, each with its own mapping: large enough to have few, small enough to copy and check one by one.
pub(crate) const SEGMENT: u64 = 1 << 30;

const PAGE: u64 = Page::LENGTH as u64;

/// Pages gathered for one write: enough to keep a disk busy.
const APPEND_PAGES: usize = 256;

/// Minimum number of pages for a write that bypasses the page cache.
const LEAST_PAGES: usize = 16;

/// A segment: one file, whose last bytes may not be committed yet.
#[derive(Debug)]
struct Segment {
    file: Arc<dyn File>,
    map: Option<memmap2::Mmap>,
}

impl Segment {
    fn new(file: Arc<dyn File>, size: u64) -> Result<Self, Error> {
        let map = match (file.descriptor(), usize::try_from(size)) {
            (Some(descriptor), Ok(size)) => {
                use std::os::fd::AsRawFd;
                // SAFETY: the mapping is longer than the file, but only written bytes are read through it, and nothing
                // writes them again while they are read: committed bytes never change. The data directory is locked, so
                // no other program of ours truncates the file. The kernel drops pages from its cache that are written
                // directly, and none of them holds a committed byte.
                let map = unsafe { memmap2::MmapOptions::new().len(size).map(descriptor.as_raw_fd()) };
                Some(map.map_err(|source| Error::Failed { path: file.path().into(), operation: "mapping", source })?)
            }
            _ => None,
        };
        Ok(Self { file, map })
    }
}

/// A flat file. One thread appends; any thread reads committed bytes.
#[derive(Debug)]
pub(crate) struct FlatFile {
    directory: Arc<dyn Directory>,
    name: &'static str,
    segment_size: u64,
    /// By number.
    segments: RwLock<BTreeMap<u64, Arc<Segment>>>,
    /// End of the readable bytes.
    committed: AtomicU64,
}

impl FlatFile {
    /// Opens the file, creates it if nothing is committed, and truncates it to the committed length. Segments before
    /// that of byte `retained` need not exist; those that a crash left are removed.
    pub(crate) fn open(
        directory: Arc<dyn Directory>,
        name: &'static str,
        segment_size: u64,
        retained: u64,
        committed: u64,
    ) -> Result<Self, Error> {
        let file =
            Self { directory, name, segment_size, segments: RwLock::default(), committed: AtomicU64::new(committed) };
        assert!(segment_size.is_multiple_of(PAGE), "segments are whole pages");
        let needed = committed.div_ceil(segment_size);
        for number in retained / segment_size..needed {
            let segment = file.open_segment(number, Mode::Write)?;
            let expected = segment_size.min(committed - number * segment_size);
            let found = segment.file.len()?;
            if found < expected {
                let reason = format!("{expected} bytes were committed, but the file has {found}");
                return Err(Error::Corrupt { path: segment.file.path().into(), offset: found, reason });
            }
            if found > expected {
                segment.file.set_len(expected)?;
            }
            file.write_segments().insert(number, Arc::new(segment));
        }
        let mut beyond = needed;
        while file.directory.exists(&file.segment_name(beyond))? {
            file.directory.remove(&file.segment_name(beyond))?;
            beyond += 1;
        }
        file.remove_before(retained)?;
        Ok(file)
    }

    /// Removes the segments whose bytes are all before `retained`. Reads that have begun finish; later ones fail.
    pub(crate) fn remove_before(&self, retained: u64) -> Result<(), Error> {
        let first = retained / self.segment_size;
        {
            let mut segments = self.write_segments();
            *segments = segments.split_off(&first);
        }
        let prefix = format!("{}-", self.name);
        let number = |name: &String| name.strip_prefix(&prefix)?.parse::<u64>().ok();
        for number in self.directory.list()?.iter().filter_map(number).filter(|number| *number < first) {
            self.directory.remove(&self.segment_name(number))?;
        }
        Ok(())
    }

    /// Opens a file that another process may be appending to, to read its present content from the segment of byte
    /// `retained` on.
    pub(crate) fn open_existing(
        directory: Arc<dyn Directory>,
        name: &'static str,
        segment_size: u64,
        retained: u64,
    ) -> Result<Self, Error> {
        let file = Self { directory, name, segment_size, segments: RwLock::default(), committed: AtomicU64::new(0) };
        let mut length = retained / segment_size * segment_size;
        while file.directory.exists(&file.segment_name(length / segment_size))? {
            let segment = file.open_segment(length / segment_size, Mode::Read)?;
            let found = segment.file.len()?.min(segment_size);
            file.write_segments().insert(length / segment_size, Arc::new(segment));
            length += found;
            if found < segment_size {
                break;
            }
        }
        file.commit(length);
        Ok(file)
    }

    /// Appends what the first `length` bytes of another file have beyond this one. An empty file begins at the segment
    /// of byte `retained`.
    pub(crate) fn copy_from(&self, other: &Self, retained: u64, length: u64) -> Result<(), Error> {
        let mut buffer = vec![0; 1 << 20];
        let begin = self.committed().max(retained / self.segment_size * self.segment_size);
        let mut offset = begin;
        while offset < length {
            let count = (length - offset).min(buffer.len() as u64) as usize;
            other.read(offset, &mut buffer[..count])?;
            self.write(offset, &buffer[..count])?;
            offset += count as u64;
        }
        self.sync(begin, length)?;
        self.commit(length);
        Ok(())
    }

    fn segment_name(&self, number: u64) -> String {
        format!("{}-{number:06}", self.name)
    }

    fn open_segment(&self, number: u64, mode: Mode) -> Result<Segment, Error> {
        Segment::new(self.directory.open(&self.segment_name(number), mode)?, self.segment_size)
    }

    fn write_segments(&self) -> std::sync::RwLockWriteGuard<'_, BTreeMap<u64, Arc<Segment>>> {
        self.segments.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn segment(&self, number: u64) -> Option<Arc<Segment>> {
        let segments = self.segments.read().unwrap_or_else(PoisonError::into_inner);
        segments.get(&number).cloned()
    }

    /// Number of readable bytes.
    pub(crate) fn committed(&self) -> u64 {
        self.committed.load(Ordering::Acquire)
    }

    /// Writes after the committed bytes. The data is not readable before [`FlatFile::commit`].
    pub(crate) fn write(&self, mut offset: u64, mut data: &[u8]) -> Result<(), Error> {
        while !data.is_empty() {
            let (number, within) = (offset / self.segment_size, offset % self.segment_size);
            let room = usize::try_from(self.segment_size - within).unwrap_or(usize::MAX);
            let (now, later) = data.split_at(room.min(data.len()));
            self.writable(number)?.file.write_at(now, within)?;
            offset += now.len() as u64;
            data = later;
        }
        Ok(())
    }

    /// The same for whole pages, bypassing the page cache.
    fn write_pages(&self, mut offset: u64, mut pages: &[Page]) -> Result<(), Error> {
        while !pages.is_empty() {
            let (number, within) = (offset / self.segment_size, offset % self.segment_size);
            let room = usize::try_from((self.segment_size - within) / PAGE).unwrap_or(usize::MAX);
            let (now, later) = pages.split_at(room.min(pages.len()));
            self.writable(number)?.file.write_pages_at(now, within)?;
            offset += size_of_val(now) as u64;
            pages = later;
        }
        Ok(())
    }

    /// The segment file that contains a byte, and the byte's offset in it.
    pub(crate) fn locate(&self, offset: u64) -> (PathBuf, u64) {
        let (number, within) = (offset / self.segment_size, offset % self.segment_size);
        (self.directory.path().join(self.segment_name(number)), within)
    }

    /// Starts a large write after the committed bytes, at `offset`.
    pub(crate) fn append(&self, offset: u64) -> Append<'_> {
        Append { file: self, end: offset, pages: Vec::new(), gathered: 0 }
    }

    /// Returns the segment of this number, created if necessary.
    fn writable(&self, number: u64) -> Result<Arc<Segment>, Error> {
        if let Some(segment) = self.segment(number) {
            return Ok(segment);
        }
        let segment = Arc::new(self.open_segment(number, Mode::Create)?);
        self.directory.sync()?;
        self.write_segments().insert(number, Arc::clone(&segment));
        Ok(segment)
    }

    /// Makes the bytes between `from` and `to` durable.
    pub(crate) fn sync(&self, from: u64, to: u64) -> Result<(), Error> {
        for number in from / self.segment_size..to.div_ceil(self.segment_size) {
            if let Some(segment) = self.segment(number) {
                segment.file.sync_data()?;
            }
        }
        Ok(())
    }

    /// Makes the bytes up to `to` readable.
    pub(crate) fn commit(&self, to: u64) {
        self.committed.store(to, Ordering::Release);
    }

    /// Reads committed bytes.
    pub(crate) fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let committed = self.committed();
        let end = offset.checked_add(buffer.len() as u64);
        if end.is_none_or(|end| end > committed) {
            let path = self.directory.path().join(self.name);
            let reason = format!("cannot read {} bytes: the file ends at {committed}", buffer.len());
            return Err(Error::Corrupt { path, offset, reason });
        }
        self.read_written(offset, buffer)
    }

    /// Reads written bytes, committed or not; the caller guarantees that nobody writes them meanwhile.
    pub(crate) fn read_written(&self, mut offset: u64, mut buffer: &mut [u8]) -> Result<(), Error> {
        while !buffer.is_empty() {
            let (number, within) = (offset / self.segment_size, offset % self.segment_size);
            let room = usize::try_from(self.segment_size - within).unwrap_or(usize::MAX);
            let (now, later) = buffer.split_at_mut(room.min(buffer.len()));
            let segment = self
                .segment(number)
                .ok_or_else(|| Error::NotFound { path: self.directory.path().join(self.segment_name(number)) })?;
            match &segment.map {
                Some(map) => now.copy_from_slice(&map[within as usize..within as usize + now.len()]),
                None => segment.file.read_exact_at(now, within)?,
            }
            offset += now.len() as u64;
            buffer = later;
        }
        Ok(())
    }
}

/// Writes a large amount to a flat file. Whole pages bypass the page cache, because most of them are not read soon, and
/// making room in the cache costs several times what the disk does. The first and the last page, which are shared with
/// neighbouring data, and small amounts go through the cache.
pub(crate) struct Append<'a> {
    file: &'a FlatFile,
    /// Where the gathered bytes go: the start of a page if there are any.
    end: u64,
    pages: Vec<Page>,
    /// Bytes in `pages`.
    gathered: usize,
}

impl Append<'_> {
    /// Appends bytes. They may reach the file only with [`finish`](Self::finish).
    pub(crate) fn write(&mut self, mut data: &[u8]) -> Result<(), Error> {
        if self.gathered == 0 {
            let before = self.end.next_multiple_of(PAGE) - self.end;
            let (now, later) = data.split_at(data.len().min(before as usize));
            self.file.write(self.end, now)?;
            self.end += now.len() as u64;
            data = later;
        }
        while !data.is_empty() {
            let most = (self.gathered + data.len()).div_ceil(Page::LENGTH).min(APPEND_PAGES);
            if self.pages.len() < most {
                self.pages.resize(most, Page::new_zeroed());
            }
            let room = &mut self.pages.as_mut_bytes()[self.gathered..];
            let (now, later) = data.split_at(data.len().min(room.len()));
            room[..now.len()].copy_from_slice(now);
            self.gathered += now.len();
            data = later;
            if self.gathered == APPEND_PAGES * Page::LENGTH {
                self.file.write_pages(self.end, &self.pages)?;
                self.end += self.gathered as u64;
                self.gathered = 0;
            }
        }
        Ok(())
    }

    /// Writes the gathered bytes. Returns the end offset.
    pub(crate) fn finish(self) -> Result<u64, Error> {
        let whole = self.gathered / Page::LENGTH;
        let (pages, rest) = if whole >= LEAST_PAGES { self.pages.split_at(whole) } else { (&[][..], &self.pages[..]) };
        let bytes = size_of_val(pages);
        self.file.write_pages(self.end, pages)?;
        self.file.write(self.end + bytes as u64, &rest.as_bytes()[..self.gathered - bytes])?;
        Ok(self.end + self.gathered as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use storage::{RealDirectory, SimulatedDisk};

    fn check(directory: &Arc<dyn Directory>) {
        let data: Vec<u8> = (0..1000_u32).map(|n| (n % 251) as u8).collect();
        let file = FlatFile::open(Arc::clone(directory), "flat", 4096, 0, 0).unwrap();
        for round in 0..20_u64 {
            file.write(round * 1000, &data).unwrap();
            assert!(file.read(round * 1000, &mut [0]).is_err());
            file.sync(round * 1000, round * 1000 + 1000).unwrap();
            file.commit(round * 1000 + 1000);
        }
        let check = |file: &FlatFile, rounds: u64| {
            let mut read = vec![0; 1000];
            for round in 0..rounds {
                file.read(round * 1000, &mut read).unwrap();
                assert_eq!(read, data);
            }
            assert!(file.read(rounds * 1000 - 1, &mut [0; 2]).is_err());
            assert!(file.read(u64::MAX, &mut [0]).is_err());
        };
        check(&file, 20);
        drop(file);
        // Uncommitted bytes are gone and can be written again.
        let file = FlatFile::open(Arc::clone(directory), "flat", 4096, 0, 7000).unwrap();
        check(&file, 7);
        assert_eq!(directory.list().unwrap(), ["flat-000000", "flat-000001"]);
        file.write(7000, &data).unwrap();
        file.commit(8000);
        check(&file, 8);
        drop(file);
        let cut = FlatFile::open(Arc::clone(directory), "flat", 4096, 0, 9000);
        assert!(matches!(cut, Err(Error::Corrupt { .. } | Error::NotFound { .. })));
    }

    /// Pieces of many lengths and offsets, across segments.
    fn check_append(directory: &Arc<dyn Directory>) {
        let segment = 300 * PAGE;
        let data: Vec<u8> = (0..3_u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let file = FlatFile::open(Arc::clone(directory), "append", segment, 0, 0).unwrap();
        let (mut offset, mut from) = (0, 0);
        for (round, length) in [1, 4095, 1 << 20, 5, 65_536, 70_000, 1_200_000, 4096].into_iter().enumerate() {
            let mut append = file.append(offset);
            for piece in data[from..from + length].chunks([300_000, 977, 4096][round % 3]) {
                append.write(piece).unwrap();
            }
            from += length;
            let end = append.finish().unwrap();
            assert_eq!(end, from as u64);
            file.sync(offset, end).unwrap();
            file.commit(end);
            let mut read = vec![0; from];
            file.read(0, &mut read).unwrap();
            assert!(read == data[..from], "round {round}");
            offset = end;
        }
        assert!(file.append(offset).finish().unwrap() == offset);
    }

    /// Removes segments while a reader has them, and after a crash that left some.
    fn check_removal(directory: &Arc<dyn Directory>) {
        let data = Vec::from_iter((0..5 * 4096_u32).map(|n| (n % 253) as u8));
        let length = data.len() as u64;
        let file = FlatFile::open(Arc::clone(directory), "removed", 4096, 0, 0).unwrap();
        file.write(0, &data).unwrap();
        file.commit(length);
        let other = FlatFile::open_existing(Arc::clone(directory), "removed", 4096, 0).unwrap();
        file.remove_before(2 * 4096 + 17).unwrap();
        let names = |first: u32| Vec::from_iter((first..5).map(|number| format!("removed-{number:06}")));
        assert_eq!(directory.list().unwrap(), names(2));
        let mut read = vec![0; 3 * 4096];
        file.read(2 * 4096, &mut read).unwrap();
        assert!(read == data[2 * 4096..]);
        assert!(matches!(file.read(2 * 4096 - 1, &mut read[..2]), Err(Error::NotFound { .. })));
        // It opened them before.
        other.read(4096, &mut read).unwrap();
        assert!(read == data[4096..4 * 4096]);
        drop(file);
        let file = FlatFile::open(Arc::clone(directory), "removed", 4096, 4 * 4096, length).unwrap();
        assert_eq!(directory.list().unwrap(), names(4));
        let copy = FlatFile::open(Arc::clone(directory), "copy", 4096, 4 * 4096, 0).unwrap();
        let existing = FlatFile::open_existing(Arc::clone(directory), "removed", 4096, 4 * 4096 + 1).unwrap();
        copy.copy_from(&existing, 4 * 4096 + 1, length).unwrap();
        for file in [&file, &copy] {
            file.read(4 * 4096, &mut read[..4096]).unwrap();
            assert!(read[..4096] == data[4 * 4096..]);
        }
    }

    #[test]
    fn segments_are_removed_from_the_start() {
        check_removal(&SimulatedDisk::new(2).root());
        let folder = tempfile::tempdir().unwrap();
        check_removal(&(Arc::new(RealDirectory::open(folder.path()).unwrap()) as Arc<dyn Directory>));
    }

    #[test]
    fn appends_reads_and_truncates() {
        let real = tempfile::tempdir().unwrap();
        let real: Arc<dyn Directory> = Arc::new(RealDirectory::open(real.path()).unwrap());
        check(&real);
        check_append(&real);
        check(&SimulatedDisk::new(1).root());
        check_append(&SimulatedDisk::new(1).root());
    }
}
