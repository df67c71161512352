//! Block files: Bitcoin Core's blk*.dat, and files with a single block.
use super::block::MAX_BLOCK_SIZE;
use spv::bitcoin::{HEADER_SIZE, Network};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The file in which Bitcoin Core (28 and newer) keeps the key that XORs its block files.
const KEY_FILE: &str = "xor.dat";
/// Extensions of block files in a folder without blk*.dat.
const EXTENSIONS: [&str; 4] = ["bin", "blk", "dat", "raw"];
/// Bytes per read. A block file is read sequentially, so more would gain nothing.
const READ_SIZE: usize = 1 << 20;
/// Maximum number of warnings about skipped places: thoroughly damaged files would fill the screen.
const WARNINGS: u64 = 16;
/// Magic and length before each block.
const FRAME_SIZE: usize = 8;

/// The key that a block file is XORed with, repeated from its first byte on. Zero in files of older versions.
pub type Key = [u8; 8];

/// Errors of block files.
#[derive(Debug, Error)]
pub enum FileError {
    /// The operating system could not read it.
    #[error("{}: cannot be read: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// There is nothing to import.
    #[error("{}: no blocks here: name a blk*.dat file, a raw block, or a folder of them", path.display())]
    NoFiles {
        /// The folder.
        path: PathBuf,
    },
    /// The XOR key has the wrong length.
    #[error("{}: the key of the block files must have 8 bytes", path.display())]
    Key {
        /// The key's file.
        path: PathBuf,
    },
    /// The contents are wrong.
    #[error("{}: {error}", path.display())]
    Frame {
        /// The file.
        path: PathBuf,
        /// The error and its place.
        error: FrameError,
    },
}

/// Errors in the framing of blocks in a file.
#[derive(Debug, Error)]
pub enum FrameError {
    /// Reading failed.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// A block begins with something other than the network's magic.
    #[error(
        "byte {offset}: expected a block of {}, which begins with {}, but found {}{}",
        expected.name(), spaced(expected.magic()), spaced(*found), other_network(*found)
    )]
    WrongMagic {
        /// Its offset in the file.
        offset: u64,
        /// The bytes found.
        found: [u8; 4],
        /// The network whose magic was expected.
        expected: Network,
    },
    /// A block's length is impossible.
    #[error("byte {offset}: the block length {length} is not valid")]
    Length {
        /// Its offset in the file.
        offset: u64,
        /// The length given.
        length: u32,
    },
    /// The file ends inside a block.
    #[error("byte {offset}: the block is truncated: {missing} bytes are missing at the end of the file")]
    Truncated {
        /// Offset of the block.
        offset: u64,
        /// Number of missing bytes.
        missing: u64,
    },
    /// The bytes after the magic are not a block.
    #[error("byte {offset}: {reason}")]
    NotABlock {
        /// Offset of the magic.
        offset: u64,
        /// The reason.
        reason: String,
    },
}

impl FrameError {
    /// Offset of the error in the file; 0 if reading failed.
    fn offset(&self) -> u64 {
        match self {
            Self::Io(_) => 0,
            Self::WrongMagic { offset, .. }
            | Self::Length { offset, .. }
            | Self::Truncated { offset, .. }
            | Self::NotABlock { offset, .. } => *offset,
        }
    }
}

fn spaced(magic: [u8; 4]) -> String {
    magic.map(|byte| format!("{byte:02x}")).join(" ")
}

fn other_network(magic: [u8; 4]) -> String {
    let other = Network::of_magic(magic).map(Network::name);
    other.map(|name| format!(", which is the magic of {name}: name that network")).unwrap_or_default()
}

/// Whether a frame holds a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does.
    Block,
    /// It does not, for this reason. The scan continues after the frame's magic.
    Other(String),
}

/// A block in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawBlock<'a> {
    /// Offset in the file, including its magic.
    pub offset: u64,
    /// Whether it has a frame, i.e. magic and length. A file without frames is a single block.
    pub is_framed: bool,
    /// The block itself.
    pub bytes: &'a [u8],
}

/// Reads the blocks of one blk*.dat file: a sequence of magic, length (little-endian) and block.
///
/// It skips zeros between blocks, because Bitcoin Core reserves space ahead. Like Bitcoin Core, it skips everything
/// else that is not a block, up to the next magic: a crash of bitcoind leaves partly written blocks.
#[derive(Debug)]
pub struct BlockReader<R> {
    input: R,
    network: Network,
    key: Key,
    buffer: Vec<u8>,
    /// The filled and unused part of the buffer.
    start: usize,
    end: usize,
    /// Offset in the file of the buffer's first byte.
    base: u64,
    at_end: bool,
    /// The first error since the last block, while skipping bytes.
    skipping: Option<FrameError>,
}

impl<R: Read> BlockReader<R> {
    /// Reads from the beginning of the file.
    pub fn new(input: R, network: Network, key: Key) -> Self {
        let buffer = vec![0; READ_SIZE];
        Self { input, network, key, buffer, start: 0, end: 0, base: 0, at_end: false, skipping: None }
    }

    /// Number of bytes of the file consumed.
    pub fn position(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Returns the next complete frame, if any. It may not hold a block: [`reject`](Self::reject) it then.
    pub fn next_block(&mut self) -> Result<Option<RawBlock<'_>>, FrameError> {
        while self.skip_padding()? {
            let offset = self.position();
            let have = self.fill(FRAME_SIZE)?;
            if have < FRAME_SIZE {
                self.skip_from(FrameError::Truncated { offset, missing: (FRAME_SIZE - have) as u64 });
                self.start = self.end;
                continue;
            }
            let mut frame = [0; FRAME_SIZE];
            frame.copy_from_slice(&self.buffer[self.start..][..FRAME_SIZE]);
            apply(&self.key, offset, &mut frame);
            let [m0, m1, m2, m3, l0, l1, l2, l3] = frame;
            let found = [m0, m1, m2, m3];
            if found != self.network.magic() {
                self.skip_from(FrameError::WrongMagic { offset, found, expected: self.network });
                self.skip_to_magic();
                continue;
            }
            let length = u32::from_le_bytes([l0, l1, l2, l3]);
            let size = length as usize;
            if size <= HEADER_SIZE || size > MAX_BLOCK_SIZE {
                self.skip_from(FrameError::Length { offset, length });
                self.skip_to_magic();
                continue;
            }
            let have = self.fill(FRAME_SIZE + size)?;
            if have < FRAME_SIZE + size {
                self.skip_from(FrameError::Truncated { offset, missing: (FRAME_SIZE + size - have) as u64 });
                self.skip_to_magic();
                continue;
            }
            let block = self.start + FRAME_SIZE..self.start + FRAME_SIZE + size;
            apply(&self.key, offset + FRAME_SIZE as u64, &mut self.buffer[block.clone()]);
            self.start = block.end;
            return Ok(Some(RawBlock { offset, is_framed: true, bytes: &self.buffer[block] }));
        }
        Ok(None)
    }

    /// Returns to the last frame, which does not hold a block, and continues after its magic. `size` is the length of
    /// the block that it promised.
    pub fn reject(&mut self, offset: u64, size: usize, reason: String) {
        let block = self.start - size..self.start;
        apply(&self.key, offset + FRAME_SIZE as u64, &mut self.buffer[block.clone()]);
        self.start = block.start - FRAME_SIZE;
        self.skip_from(FrameError::NotABlock { offset, reason });
        self.skip_to_magic();
    }

    /// The first error since the last call, if bytes were skipped.
    pub fn take_skipped(&mut self) -> Option<FrameError> {
        self.skipping.take()
    }

    fn skip_from(&mut self, error: FrameError) {
        self.skipping.get_or_insert(error);
    }

    /// Skips a byte, and then the buffer up to the next possible start of a magic.
    fn skip_to_magic(&mut self) {
        let magic = self.network.magic();
        let begins = |at: &usize| {
            let mut found = [0; 4];
            let there = &self.buffer[*at..self.end.min(at + magic.len())];
            found[..there.len()].copy_from_slice(there);
            apply(&self.key, self.base + *at as u64, &mut found);
            found[..there.len()] == magic[..there.len()]
        };
        self.start = (self.start + 1..self.end).find(begins).unwrap_or(self.end);
    }

    /// Skips zeros. Returns whether something follows. Reserved space is zero on disk even if blocks are XORed.
    fn skip_padding(&mut self) -> Result<bool, FrameError> {
        while self.fill(FRAME_SIZE)? > 0 {
            let zeros = leading_zeros(&self.buffer[self.start..self.end]);
            let padding = if self.key == Key::default() { zeros } else { self.zeros_before_magic(zeros) };
            if padding == 0 {
                return Ok(true);
            }
            self.start += padding;
        }
        Ok(false)
    }

    /// Number of zeros at the start that precede a magic: XORed with a key that begins like it, a magic has zeros, too.
    fn zeros_before_magic(&self, zeros: usize) -> usize {
        let is_end = |at: usize| {
            let Some(mut magic) = self.buffer[self.start + at..self.end].first_chunk::<4>().copied() else {
                // More than zeros may follow: look again with more data.
                return !self.at_end;
            };
            apply(&self.key, self.position() + at as u64, &mut magic);
            magic == self.network.magic()
        };
        (0..zeros).find(|at| is_end(*at)).unwrap_or(zeros)
    }

    /// Fills the buffer to `wanted` bytes. Returns how many there are; fewer only at the end of the file.
    fn fill(&mut self, wanted: usize) -> Result<usize, FrameError> {
        let have = self.end - self.start;
        if have >= wanted || self.at_end {
            return Ok(have);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.base += self.start as u64;
        (self.start, self.end) = (0, have);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted + READ_SIZE, 0);
        }
        while self.end < wanted {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.at_end = true;
                    break;
                }
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.end)
    }
}

/// Number of leading zeros. Most of a new file is reserved space, so it checks a page at a time.
fn leading_zeros(bytes: &[u8]) -> usize {
    const PAGE: usize = 4096;
    let pages = bytes.chunks(PAGE).take_while(|page| page.iter().fold(0, |all, byte| all | byte) == 0).count();
    let start = (pages * PAGE).min(bytes.len());
    start + bytes[start..].iter().take_while(|byte| **byte == 0).count()
}

/// XORs the key into bytes at `offset` of their file.
fn apply(key: &Key, offset: u64, bytes: &mut [u8]) {
    if *key == Key::default() {
        return;
    }
    let mut key = *key;
    key.rotate_left((offset % size_of::<Key>() as u64) as usize);
    for chunk in bytes.chunks_mut(key.len()) {
        for (byte, key) in chunk.iter_mut().zip(key) {
            *byte ^= key;
        }
    }
}

/// Skipped parts of some files that are not blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Number of places.
    pub places: u64,
    /// Bytes at all of them.
    pub bytes: u64,
}

/// Logs skipped places.
#[derive(Default)]
struct SkipLog {
    total: Skipped,
    first: Option<FileError>,
}

impl SkipLog {
    /// Adds the bytes of a file from an error up to `end`.
    fn add(&mut self, path: &Path, error: FrameError, end: u64) {
        let bytes = end.saturating_sub(error.offset());
        self.total.places += 1;
        self.total.bytes += bytes;
        if self.total.places <= WARNINGS {
            tracing::warn!(path = %path.display(), bytes, "skipped bytes that are not a block: {error}");
        }
        self.first.get_or_insert_with(|| FileError::Frame { path: path.into(), error });
    }
}

/// The files of an import, in reading order.
#[derive(Clone, Debug)]
pub struct BlockFiles {
    network: Network,
    files: Vec<BlockFile>,
    total_bytes: u64,
}

#[derive(Clone, Debug)]
struct BlockFile {
    path: PathBuf,
    key: Key,
    size: u64,
}

impl BlockFiles {
    /// Finds the files: `path` itself, or in a folder all blk*.dat, or if there are none all with the extension of a
    /// block.
    pub fn find(path: &Path, network: Network) -> Result<Self, FileError> {
        let mut paths = vec![path.to_path_buf()];
        if metadata(path)?.is_dir() {
            let all = list(path)?;
            let framed: Vec<PathBuf> = all.iter().filter(|path| is_framed_by_name(path)).cloned().collect();
            paths =
                if framed.is_empty() { all.into_iter().filter(|path| has_extension(path)).collect() } else { framed };
        }
        let mut files = Vec::with_capacity(paths.len());
        for path in paths {
            let size = metadata(&path)?.len();
            files.push(BlockFile { key: key_beside(&path)?, size, path });
        }
        if files.is_empty() {
            return Err(FileError::NoFiles { path: path.into() });
        }
        let total_bytes = files.iter().map(|file| file.size).sum();
        Ok(Self { network, files, total_bytes })
    }

    /// The expected network of the blocks.
    pub fn network(&self) -> Network {
        self.network
    }

    /// Size of all files.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Calls `each` with every block, the path of its file, and the total size of the files up to its end. Skips
    /// everything else with a warning.
    pub fn read<E: From<FileError>>(
        &self,
        mut each: impl FnMut(&Path, RawBlock<'_>, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        self.scan(|path, block, bytes| each(path, block, bytes).map(|()| Verdict::Block)).map(drop)
    }

    /// The same with a verdict by `each` on each frame. Returns the number of skipped places and bytes.
    ///
    /// # Errors
    /// Those of `each` and of reading; if none of the files has a block, the first error.
    pub fn scan<E: From<FileError>>(
        &self,
        mut each: impl FnMut(&Path, RawBlock<'_>, u64) -> Result<Verdict, E>,
    ) -> Result<Skipped, E> {
        let (mut before, mut found, mut skipped) = (0, false, SkipLog::default());
        for BlockFile { path, key, size } in &self.files {
            let input = File::open(path).map_err(|source| FileError::Io { path: path.clone(), source })?;
            if !self.is_framed(path, key)? {
                let bytes = read_limited(input).map_err(|source| FileError::Io { path: path.clone(), source })?;
                match each(path, RawBlock { offset: 0, is_framed: false, bytes: &bytes }, before + size)? {
                    Verdict::Block => found = true,
                    Verdict::Other(reason) => skipped.add(path, FrameError::NotABlock { offset: 0, reason }, *size),
                }
                before += size;
                continue;
            }
            let mut reader = BlockReader::new(input, self.network, *key);
            let located = |error| FileError::Frame { path: path.clone(), error };
            while let Some(block) = reader.next_block().map_err(located)? {
                let (offset, length) = (block.offset, block.bytes.len());
                match each(path, block, before + offset + (FRAME_SIZE + length) as u64)? {
                    Verdict::Other(reason) => reader.reject(offset, length, reason),
                    Verdict::Block => {
                        found = true;
                        reader.take_skipped().into_iter().for_each(|error| skipped.add(path, error, offset));
                    }
                }
            }
            reader.take_skipped().into_iter().for_each(|error| skipped.add(path, error, *size));
            before += size;
        }
        match skipped.first {
            Some(error) if !found => Err(error.into()),
            _ => Ok(skipped.total),
        }
    }

    /// Whether a file has frames: by its name, or because it begins with the magic of some network. Otherwise it is a
    /// single block.
    fn is_framed(&self, path: &Path, key: &Key) -> Result<bool, FileError> {
        if is_framed_by_name(path) {
            return Ok(true);
        }
        let read = || {
            let mut magic = [0; 4];
            File::open(path)?.read_exact(&mut magic).map(|()| magic)
        };
        match read() {
            Ok(mut magic) => {
                apply(key, 0, &mut magic);
                Ok(Network::of_magic(magic).is_some())
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(source) => Err(FileError::Io { path: path.into(), source }),
        }
    }
}

/// Reads a file with one block; truncates what is larger than any block, so that it is refused as too large.
fn read_limited(input: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(MAX_BLOCK_SIZE as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn metadata(path: &Path) -> Result<fs::Metadata, FileError> {
    fs::metadata(path).map_err(|source| FileError::Io { path: path.into(), source })
}

/// The files in a folder, sorted by name, which is the order of writing.
fn list(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let entries = || -> io::Result<Vec<PathBuf>> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        paths.retain(|path| path.is_file());
        paths.sort();
        Ok(paths)
    };
    entries().map_err(|source| FileError::Io { path: folder.into(), source })
}

fn is_framed_by_name(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("blk") && name.ends_with(".dat")
}

fn has_extension(path: &Path) -> bool {
    path.extension().is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known))
        && path.file_name().is_some_and(|name| name != KEY_FILE)
}

/// The key in a file's folder; zero if there is none, or the file is not a blk*.dat.
fn key_beside(path: &Path) -> Result<Key, FileError> {
    if !is_framed_by_name(path) {
        return Ok(Key::default());
    }
    let path = path.with_file_name(KEY_FILE);
    match fs::read(&path) {
        Ok(bytes) => bytes.try_into().map_err(|_| FileError::Key { path }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Key::default()),
        Err(source) => Err(FileError::Io { path, source }),
    }
}

#[cfg(test)]
mod tests;
