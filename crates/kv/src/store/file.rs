//! A store in a file that outlives the program.
//!
//! FILE has the memory of the shards, one after the other, and is mapped while the store runs. FILE.meta has the rest
//! ([`super::state`]). It is written at the end, after the last change, and removed at the start, before the first. So
//! a program that was killed leaves none, and the next one starts empty.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::atomic::Ordering::Relaxed,
    thread,
};

use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock, fstatvfs};
use table::{Hasher, Region};

use super::{
    Config, Store,
    cold::Cold,
    lock,
    shard::{Limits, Shard},
    state::{self, Head, MAGIC},
};
use crate::clock::Clock;

/// The state takes a 60th of a store's memory, and somewhat more for small stores.
const LONGEST_STATE: fn(usize) -> u64 = |memory| (memory / 32) as u64 + (16 << 20);

/// Bytes of a file that are looked at together for other than zeros.
const PIECE: usize = 64 << 10;

/// The state that a store began with.
#[derive(Debug)]
pub enum Start {
    /// With the items of the last run.
    Warm {
        /// Number of items.
        items: usize,
    },
    /// Empty.
    Cold(Cold),
}

/// Why a file cannot be a store's memory.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refuses something.
    #[error("cannot {what} {path}: {source}")]
    System {
        /// The operation that failed.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another store has it.
    #[error("{0} is in use by a running store; stop it, or use a different file for each store")]
    InUse(PathBuf),
    /// It is something else.
    #[error("{0} is not a memory file of a store, so it is not overwritten; remove it, or choose another file")]
    NotOurs(PathBuf),
    /// The file system is full.
    #[error("{path}: no room for {bytes} bytes: {source}; lower the memory, or choose another file system")]
    NoRoom {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The system's error.
        source: io::Error,
    },
    /// It cannot be mapped.
    #[error(transparent)]
    Map(#[from] table::Error),
}

/// A file that is a store's memory, and nobody else's while it is open.
#[derive(Debug)]
pub(super) struct MemoryFile {
    path: PathBuf,
    file: File,
}

impl Drop for MemoryFile {
    /// Unlocks explicitly. Closing the file is not enough: a child process that is being started holds the descriptor,
    /// and with it the lock, until it runs its program.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl MemoryFile {
    fn open(path: &Path) -> Result<Self, FileError> {
        let fail = |what| move |source| FileError::System { what, path: path.to_owned(), source };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(path).map_err(fail("open"))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(FileError::InUse(path.to_owned())),
            Err(error) => return Err(fail("lock")(error.into())),
        }
        if !file.metadata().map_err(fail("look at"))?.is_file() || !is_ours(&file).map_err(fail("read"))? {
            return Err(FileError::NotOurs(path.to_owned()));
        }
        Ok(Self { path: path.to_owned(), file })
    }

    fn state_path(&self) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(".meta");
        path.into()
    }

    /// Reads the state, of at most `longest` bytes, and removes it.
    fn take_state(&self, longest: u64) -> Result<Result<Vec<u8>, Cold>, FileError> {
        let path = self.state_path();
        let fail = |what| {
            let path = path.clone();
            move |source| FileError::System { what, path, source }
        };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let is_new = self.file.metadata().map_err(fail("look at"))?.len() == 0;
                return Ok(Err(if is_new { Cold::New } else { Cold::NotClosed }));
            }
            Err(error) => return Err(fail("open")(error)),
        };
        let mut bytes = Vec::new();
        file.take(longest).read_to_end(&mut bytes).map_err(fail("read"))?;
        if !Head::is_of(&bytes) {
            return Err(FileError::NotOurs(path));
        }
        fs::remove_file(&path).map_err(fail("remove"))?;
        // It must be removed durably before any item is changed, even if the machine loses power.
        self.sync_folder()?;
        Ok(Ok(bytes))
    }

    /// Writes the state, when the memory is written.
    fn put_state(&self, bytes: &[u8]) -> Result<(), FileError> {
        let path = self.state_path();
        let mut new = path.clone().into_os_string();
        new.push(".new");
        let new = PathBuf::from(new);
        let fail = |what| {
            let path = path.clone();
            move |source| FileError::System { what, path, source }
        };
        self.file.sync_all().map_err(fail("sync the memory of"))?;
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new).map_err(fail("write"))?;
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(fail("write"))?;
        fs::rename(&new, &path).map_err(fail("rename"))?;
        self.sync_folder()
    }

    fn sync_folder(&self) -> Result<(), FileError> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let fail = |source| FileError::System { what: "sync", path: folder.to_owned(), source };
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(fail)
    }

    /// Gives the file its size, with its bytes as they are; `anew` with zeros.
    fn set_len(&self, bytes: u64, anew: bool) -> Result<(), FileError> {
        let fail = |source| FileError::NoRoom { path: self.path.clone(), bytes, source };
        if anew {
            self.file.set_len(0).map_err(fail)?;
            // Some file systems would be filled by the attempt.
            let free = fstatvfs(&self.file).map_err(|error| fail(error.into()))?;
            if free.f_bavail.saturating_mul(free.f_frsize) < bytes {
                return Err(fail(rustix::io::Errno::NOSPC.into()));
            }
            // Before the rest is reserved: a program that is killed meanwhile leaves a file that is known as a store's.
            self.file.write_all_at(&MAGIC, 0).map_err(fail)?;
        }
        self.file.set_len(bytes).map_err(fail)?;
        // A page that the file system has no room for would end the program when it is first written.
        match fallocate(&self.file, FallocateFlags::empty(), 0, bytes) {
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(fail(error.into())),
        }
    }

    /// Shards over the file's memory, all empty.
    fn shards(&self, count: usize, limits: &Limits, hasher: &Hasher) -> Result<Vec<Shard>, FileError> {
        let len = Shard::bytes(limits);
        let shard = |n: usize| {
            // SAFETY: the file has its length, the lock keeps other stores away, and the mode other users. Each shard
            // maps its own part. The file stays open, and so locked, while the store lives.
            let region = unsafe { Region::of_file(&self.file, (n * len) as u64, len) }?;
            Ok(Shard::from_region(region, limits, hasher)?)
        };
        (0..count).map(shard).collect()
    }
}

impl Store {
    /// A store in a file: with its items if it was closed by [`Self::close`], else empty.
    pub fn in_file(config: Config, path: &Path) -> Result<(Self, Start), FileError> {
        let file = MemoryFile::open(path)?;
        let cold = match file.take_state(LONGEST_STATE(config.memory))? {
            Ok(state) => match Self::go_on(&config, &file, &state)? {
                Ok(store) => {
                    let items = store.shards().map(|shard| shard.len()).sum();
                    return Ok((Self { file: Some(file), ..store }, Start::Warm { items }));
                }
                Err(cold) => cold,
            },
            Err(cold) => cold,
        };
        let seed = super::seed()?;
        let (count, limits) = config.division();
        file.set_len((count * Shard::bytes(&limits)) as u64, true)?;
        let shards = file.shards(count, &limits, &Hasher::new(&seed))?;
        let store = Self::from_shards(shards, seed, Clock::start(), config);
        Ok((Self { file: Some(file), ..store }, Start::Cold(cold)))
    }

    /// The store of a state.
    fn go_on(config: &Config, file: &MemoryFile, state: &[u8]) -> Result<Result<Self, Cold>, FileError> {
        let (head, states) = match Head::parse(state) {
            Ok(parsed) => parsed,
            Err(cold) => return Ok(Err(cold)),
        };
        let sizes = [
            ("memory", head.memory.get(), config.memory as u64),
            ("largest item", head.largest_item.get(), config.largest_item as u64),
        ];
        if let Some((what, found, expected)) = sizes.into_iter().find(|(_, found, expected)| found != expected) {
            return Ok(Err(Cold::OtherSize { what, found, expected }));
        }
        // The number of shards stays, whatever the number of threads is now.
        let count = head.shards.get() as usize;
        let limits = config.limits(count.max(1));
        let bytes = (count * Shard::bytes(&limits)) as u64;
        let is_whole = file.file.metadata().is_ok_and(|metadata| metadata.len() == bytes);
        if !count.is_power_of_two() || !is_whole || !states.len().is_multiple_of(count) {
            return Ok(Err(Cold::Damaged));
        }
        file.set_len(bytes, false)?;
        let mut shards = file.shards(count, &limits, &Hasher::new(&head.seed))?;
        let together = together(count, config.threads);
        let each = states.len() / count;
        let done = thread::scope(|scope| {
            let parts = shards.chunks_mut(together).zip(states.chunks(together * each));
            let threads = parts.map(|(shards, states)| {
                let mut all = shards.iter_mut().zip(states.chunks(each));
                scope.spawn(move || all.try_for_each(|(shard, state)| shard.go_on(state)))
            });
            let threads = Vec::from_iter(threads);
            threads.into_iter().try_for_each(|thread| thread.join().unwrap_or(Err(Cold::Damaged)))
        });
        let clock = Clock::go_on(head.seconds.get(), head.since_1970.get());
        Ok(done.map(|()| Self::from_shards(shards, head.seed, clock, config.clone())))
    }

    /// Writes the state needed to restore the items after the program has ended. Call it last, when nobody uses the
    /// store: a later change makes the next start empty. Does nothing for a store without a file.
    pub fn close(&self) -> Result<(), FileError> {
        let Some(file) = &self.file else { return Ok(()) };
        if self.closed.swap(true, Relaxed) {
            return Ok(());
        }
        let together = together(self.shards.len(), self.config.threads);
        let states = thread::scope(|scope| {
            let parts = self.shards.chunks(together);
            let threads =
                parts.map(|shards| scope.spawn(|| Vec::from_iter(shards.iter().map(|shard| lock(shard).state()))));
            let threads = Vec::from_iter(threads);
            Vec::from_iter(threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()))
        });
        let now = self.clock.now();
        let now = (now, self.clock.since_1970(now));
        let head = Head::new(states.len(), self.config.memory, self.config.largest_item, now, self.seed);
        file.put_state(&state::join(&head, states.into_iter()))
    }
}

/// Whether a file is a store's memory, or is empty: no bytes, or only zeros, which a loss of power leaves if the file's
/// size reached the disk before its first bytes.
fn is_ours(file: &File) -> io::Result<bool> {
    let mut bytes = vec![0; PIECE];
    let mut is_first = true;
    let mut file = file;
    loop {
        let count = file.read(&mut bytes)?;
        let piece = &bytes[..count];
        if count == 0 || is_first && piece.starts_with(&MAGIC) {
            return Ok(true);
        }
        if piece.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        is_first = false;
    }
}

/// Shards that one thread works on.
fn together(shards: usize, threads: usize) -> usize {
    shards.div_ceil(threads.clamp(1, shards))
}
