//! Files with blocks: Bitcoin Core's blk*.dat, and blocks as they are, one in a file.
use super::block::MAX_BLOCK_SIZE;
use spv::bitcoin::{HEADER_SIZE, Network};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The file in which Bitcoin Core (28 and newer) keeps the key that its block files are XORed with.
const KEY_FILE: &str = "xor.dat";
/// Extensions of the files of a folder without blk*.dat that are taken for blocks.
const EXTENSIONS: [&str; 4] = ["bin", "blk", "dat", "raw"];
/// Read at once. A block file is read from its beginning to its end, so more would gain nothing.
const READ_SIZE: usize = 1 << 20;
/// Magic and length before each block.
const FRAME_SIZE: usize = 8;

/// The key that a block file is XORed with, repeated from its first byte on. Zero in files of older versions.
pub type Key = [u8; 8];

/// What is wrong with a block file.
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
    /// The XOR key has another length.
    #[error("{}: the key of the block files must have 8 bytes", path.display())]
    Key {
        /// The key's file.
        path: PathBuf,
    },
    /// What is wrong inside.
    #[error("{}: {error}", path.display())]
    Frame {
        /// The file.
        path: PathBuf,
        /// What is wrong where.
        error: FrameError,
    },
}

/// What is wrong with the framing of blocks in a file.
#[derive(Debug, Error)]
pub enum FrameError {
    /// Reading failed.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// A block begins with something other than the network's magic.
    #[error("at byte {offset} a block of {} should begin, but there is {found:02x?}{}", expected.name(), other_network(*found))]
    WrongMagic {
        /// Where in the file.
        offset: u64,
        /// What is there.
        found: [u8; 4],
        /// The network whose magic should be there.
        expected: Network,
    },
    /// A block with a length that none can have.
    #[error("the block at byte {offset} has the impossible length {length}")]
    Length {
        /// Where in the file.
        offset: u64,
        /// The length given.
        length: u32,
    },
    /// The file ends inside of a block.
    #[error("the file ends inside of the block at byte {offset}: it is {missing} bytes short")]
    Truncated {
        /// Where the block begins.
        offset: u64,
        /// How many bytes more there should be.
        missing: u64,
    },
}

fn other_network(magic: [u8; 4]) -> String {
    Network::of_magic(magic).map(|network| format!(", the magic of {}", network.name())).unwrap_or_default()
}

/// A block as it is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawBlock<'a> {
    /// Where in the file it begins, with its magic.
    pub offset: u64,
    /// The block itself.
    pub bytes: &'a [u8],
}

/// Reads the blocks of one blk*.dat file: magic, length (little-endian), block, and again. Zeros between blocks are skipped:
/// Bitcoin Core reserves space ahead.
#[derive(Debug)]
pub struct BlockReader<R> {
    input: R,
    network: Network,
    key: Key,
    buffer: Vec<u8>,
    /// The part of the buffer that was filled and not used yet.
    start: usize,
    end: usize,
    /// Offset in the file of the buffer's first byte.
    base: u64,
    at_end: bool,
}

impl<R: Read> BlockReader<R> {
    /// Reads from the file's beginning.
    pub fn new(input: R, network: Network, key: Key) -> Self {
        let buffer = vec![0; READ_SIZE];
        Self { input, network, key, buffer, start: 0, end: 0, base: 0, at_end: false }
    }

    /// How many bytes of the file were used.
    pub fn position(&self) -> u64 {
        self.base + self.start as u64
    }

    /// The next block, if there is one more.
    pub fn next_block(&mut self) -> Result<Option<RawBlock<'_>>, FrameError> {
        if !self.skip_padding()? {
            return Ok(None);
        }
        let offset = self.position();
        let have = self.fill(FRAME_SIZE)?;
        if have < FRAME_SIZE {
            return Err(FrameError::Truncated { offset, missing: (FRAME_SIZE - have) as u64 });
        }
        let mut frame = [0; FRAME_SIZE];
        frame.copy_from_slice(&self.buffer[self.start..][..FRAME_SIZE]);
        apply(&self.key, offset, &mut frame);
        let [m0, m1, m2, m3, l0, l1, l2, l3] = frame;
        let found = [m0, m1, m2, m3];
        if found != self.network.magic() {
            return Err(FrameError::WrongMagic { offset, found, expected: self.network });
        }
        let length = u32::from_le_bytes([l0, l1, l2, l3]);
        let size = length as usize;
        if size <= HEADER_SIZE || size > MAX_BLOCK_SIZE {
            return Err(FrameError::Length { offset, length });
        }
        let have = self.fill(FRAME_SIZE + size)?;
        if have < FRAME_SIZE + size {
            return Err(FrameError::Truncated { offset, missing: (FRAME_SIZE + size - have) as u64 });
        }
        let block = self.start + FRAME_SIZE..self.start + FRAME_SIZE + size;
        apply(&self.key, offset + FRAME_SIZE as u64, &mut self.buffer[block.clone()]);
        self.start = block.end;
        Ok(Some(RawBlock { offset, bytes: &self.buffer[block] }))
    }

    /// Skips zeros, and says whether something follows. Reserved space is zero on the disk also where blocks are XORed.
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

    /// How many of the zeros at the start come before a magic: XORed with a key that begins like it, a magic has zeros too.
    fn zeros_before_magic(&self, zeros: usize) -> usize {
        let is_end = |at: usize| {
            let Some(mut magic) = self.buffer[self.start + at..self.end].first_chunk::<4>().copied() else {
                // More than zeros may follow: look again when it is there.
                return !self.at_end;
            };
            apply(&self.key, self.position() + at as u64, &mut magic);
            magic == self.network.magic()
        };
        (0..zeros).find(|at| is_end(*at)).unwrap_or(zeros)
    }

    /// Fills the buffer until `wanted` bytes are there, and says how many are; fewer only at the end of the file.
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

/// How many zeros the bytes begin with. Reserved space is most of a new file, so a page at a time.
fn leading_zeros(bytes: &[u8]) -> usize {
    const PAGE: usize = 4096;
    let pages = bytes.chunks(PAGE).take_while(|page| page.iter().fold(0, |all, byte| all | byte) == 0).count();
    let start = (pages * PAGE).min(bytes.len());
    start + bytes[start..].iter().take_while(|byte| **byte == 0).count()
}

/// Applies the key to bytes that are at `offset` of their file.
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

/// The files of an import, in the order in which they are read.
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
    /// Finds the files: `path` itself, or in a folder all blk*.dat, or if there are none all that have the extension of a block.
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

    /// The network that the blocks should be of.
    pub fn network(&self) -> Network {
        self.network
    }

    /// Size of all files.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Calls `each` with every block, the path of its file, and how many bytes of all files were read up to its end.
    pub fn read<E: From<FileError>>(
        &self,
        mut each: impl FnMut(&Path, RawBlock<'_>, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut before = 0;
        for BlockFile { path, key, size } in &self.files {
            let input = File::open(path).map_err(|source| FileError::Io { path: path.clone(), source })?;
            let located = |error| FileError::Frame { path: path.clone(), error };
            if self.is_framed(path, key)? {
                let mut reader = BlockReader::new(input, self.network, *key);
                while let Some(block) = reader.next_block().map_err(located)? {
                    let end = block.offset + (FRAME_SIZE + block.bytes.len()) as u64;
                    each(path, block, before + end)?;
                }
            } else {
                let bytes = read_limited(input).map_err(|source| FileError::Io { path: path.clone(), source })?;
                each(path, RawBlock { offset: 0, bytes: &bytes }, before + size)?;
            }
            before += size;
        }
        Ok(())
    }

    /// Whether a file has frames: by its name, or because it begins with the magic of some network. Otherwise it is one block.
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

/// Reads a file of one block; what is larger than any block is cut, so that it is refused as too large.
fn read_limited(input: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(MAX_BLOCK_SIZE as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn metadata(path: &Path) -> Result<fs::Metadata, FileError> {
    fs::metadata(path).map_err(|source| FileError::Io { path: path.into(), source })
}

/// The files in a folder, sorted by name: the order in which they were written.
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

/// The key in a file's folder; zero if there is none, or the file is no blk*.dat.
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
