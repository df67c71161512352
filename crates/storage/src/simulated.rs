//! A disk in memory that fails the way disks do, from a seed.

mod inode;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Directory, Error, File, Mode, Random};
use inode::Inode;

/// The atomic unit of a disk: after a crash each sector of an unsynced write is present or not.
pub const SECTOR: usize = 512;

/// Faults of a simulated disk. Probabilities are per call.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// A read fails.
    pub read: f64,
    /// A write fails after a part of it was written.
    pub write: f64,
    /// A sync fails, and part of the data will never be synced.
    pub sync: f64,
    /// The number of bytes that fit on the disk.
    pub capacity: u64,
}

impl Default for Faults {
    /// No faults, no limit.
    fn default() -> Self {
        Self { read: 0.0, write: 0.0, sync: 0.0, capacity: u64::MAX }
    }
}

/// A disk in memory. Clones are the same disk.
///
/// Unsynced data survives [`SimulatedDisk::crash`] sector by sector, as the seed decides, in any version that the
/// sector had since its last sync. Unsynced names survive up to some point in the order of their changes.
#[derive(Clone, Debug)]
pub struct SimulatedDisk(Arc<Mutex<Disk>>);

#[derive(Debug)]
struct Disk {
    random: Random,
    faults: Faults,
    directories: BTreeMap<PathBuf, Names>,
    inodes: BTreeMap<u64, Inode>,
    next_inode: u64,
    /// Handles of an earlier epoch belong to a process that crashed.
    epoch: u64,
    /// Changes made so far: writes, syncs, names.
    changes: u64,
    /// The process dies at this change.
    crash_at: Option<u64>,
}

/// The names in one directory.
#[derive(Debug, Default)]
struct Names {
    durable: BTreeMap<String, u64>,
    /// The entries that running programs see, after each change since the last sync; the last one is current.
    versions: Vec<BTreeMap<String, u64>>,
}

impl Names {
    fn current(&self) -> &BTreeMap<String, u64> {
        self.versions.last().unwrap_or(&self.durable)
    }
}

impl SimulatedDisk {
    /// An empty disk without faults.
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(Disk {
            random: Random::new(seed),
            faults: Faults::default(),
            directories: BTreeMap::new(),
            inodes: BTreeMap::new(),
            next_inode: 0,
            epoch: 0,
            changes: 0,
            crash_at: None,
        })))
    }

    fn state(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The root directory, for the process that runs now.
    pub fn root(&self) -> Arc<dyn Directory> {
        let path = PathBuf::from("/");
        let mut state = self.state();
        state.directories.entry(path.clone()).or_default();
        Arc::new(SimulatedDirectory { disk: self.clone(), epoch: state.epoch, path })
    }

    /// Sets how the disk fails from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.state().faults = faults;
    }

    /// The number of bytes in use, in whole sectors.
    pub fn used(&self) -> u64 {
        self.state().inodes.values().map(Inode::sectors).sum::<u64>() * SECTOR as u64
    }

    /// The number of changes made so far: writes, syncs, and changes of names and lengths.
    pub fn changes(&self) -> u64 {
        self.state().changes
    }

    /// Kills the process during the change with this number: that one and all later calls fail until
    /// [`crash`](Self::crash) or [`kill`](Self::kill).
    pub fn crash_at(&self, change: u64) {
        self.state().crash_at = Some(change);
    }

    /// The process dies, but the machine lives on: written data is still visible, and still not durable. Handles opened
    /// before fail from now on.
    pub fn kill(&self) {
        let state = &mut *self.state();
        state.epoch += 1;
        state.crash_at = None;
    }

    /// The machine dies: decides what survives. Handles opened before fail from now on.
    pub fn crash(&self) {
        let state = &mut *self.state();
        state.epoch += 1;
        state.crash_at = None;
        for names in state.directories.values_mut() {
            let survived = state.random.below(names.versions.len() as u64 + 1) as usize;
            if survived > 0 {
                names.durable = names.versions.swap_remove(survived - 1);
            }
            names.versions.clear();
        }
        for inode in state.inodes.values_mut() {
            inode.crash(&mut state.random);
        }
        state.forget_unnamed();
    }

    /// Flips bits of the byte at `offset` of a file at rest.
    pub fn damage(&self, path: impl AsRef<Path>, offset: u64, mask: u8) -> Result<(), Error> {
        let state = &mut *self.state();
        let path = path.as_ref();
        let id = state.find(path).ok_or_else(|| Error::NotFound { path: path.into() })?;
        if let Some(inode) = state.inodes.get_mut(&id) {
            inode.damage(offset, mask);
        }
        Ok(())
    }

    /// The paths of all files.
    pub fn files(&self) -> Vec<PathBuf> {
        let state = self.state();
        let below = |(path, names): (&PathBuf, &Names)| -> Vec<PathBuf> {
            names.current().keys().map(|name| path.join(name)).collect()
        };
        state.directories.iter().flat_map(below).collect()
    }
}

impl Disk {
    fn find(&self, path: &Path) -> Option<u64> {
        let names = self.directories.get(path.parent()?)?;
        names.current().get(path.file_name()?.to_str()?).copied()
    }

    fn forget_unnamed(&mut self) {
        let named = |id: &u64| {
            let mut directories = self.directories.values();
            directories.any(|names| {
                names.durable.values().any(|other| other == id)
                    || names.versions.iter().any(|version| version.values().any(|other| other == id))
            })
        };
        self.inodes.retain(|id, _| named(id));
    }

    fn check_epoch(&self, epoch: u64, path: &Path) -> Result<(), Error> {
        let is_dead = self.crash_at.is_some_and(|change| self.changes > change);
        if epoch == self.epoch && !is_dead {
            return Ok(());
        }
        Err(failed(path, "using a handle of a crashed process"))
    }

    /// Counts a change. Returns whether the process dies in the middle of it.
    fn change(&mut self, epoch: u64, path: &Path) -> Result<bool, Error> {
        self.check_epoch(epoch, path)?;
        self.changes += 1;
        Ok(self.crash_at.is_some_and(|change| self.changes > change))
    }

    /// The number of sectors that are still free.
    fn free(&self) -> u64 {
        let used: u64 = self.inodes.values().map(Inode::sectors).sum();
        (self.faults.capacity / SECTOR as u64).saturating_sub(used)
    }
}

fn failed(path: &Path, operation: &'static str) -> Error {
    Error::Failed { path: path.into(), operation, source: io::Error::other("simulated fault") }
}

#[derive(Debug)]
struct SimulatedDirectory {
    disk: SimulatedDisk,
    epoch: u64,
    path: PathBuf,
}

impl SimulatedDirectory {
    /// Changes the names, unless the process dies before.
    fn change<T>(
        &self,
        name: &str,
        change: impl FnOnce(&mut Disk, &mut BTreeMap<String, u64>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let state = &mut *self.disk.state();
        let path = self.path.join(name);
        let dies = state.change(self.epoch, &path)?;
        let mut names = state.directories.entry(self.path.clone()).or_default().current().clone();
        let result = change(state, &mut names)?;
        state.directories.entry(self.path.clone()).or_default().versions.push(names);
        if dies { Err(failed(&path, "changing a name")) } else { Ok(result) }
    }

    fn file(&self, name: &str, inode: u64) -> Arc<dyn File> {
        Arc::new(SimulatedFile { disk: self.disk.clone(), epoch: self.epoch, path: self.path.join(name), inode })
    }
}

impl Directory for SimulatedDirectory {
    fn path(&self) -> &Path {
        &self.path
    }

    fn open(&self, name: &str, mode: Mode) -> Result<Arc<dyn File>, Error> {
        let path = self.path.join(name);
        let found = {
            let state = self.disk.state();
            state.check_epoch(self.epoch, &path)?;
            state.find(&path)
        };
        match (found, mode) {
            (Some(_), Mode::CreateNew) => Err(Error::Exists { path }),
            (Some(inode), _) => Ok(self.file(name, inode)),
            (None, Mode::Read | Mode::Write) => Err(Error::NotFound { path }),
            (None, Mode::Create | Mode::CreateNew) => {
                let inode = self.change(name, |state, names| {
                    let inode = state.next_inode;
                    state.next_inode += 1;
                    state.inodes.insert(inode, Inode::default());
                    names.insert(name.to_owned(), inode);
                    Ok(inode)
                })?;
                Ok(self.file(name, inode))
            }
        }
    }

    fn directory(&self, name: &str) -> Result<Arc<dyn Directory>, Error> {
        let path = self.path.join(name);
        let mut state = self.disk.state();
        state.check_epoch(self.epoch, &path)?;
        // Directories are created once, at the first start: their names count as durable at once.
        state.directories.entry(path.clone()).or_default();
        Ok(Arc::new(Self { disk: self.disk.clone(), epoch: self.epoch, path }))
    }

    fn list(&self) -> Result<Vec<String>, Error> {
        let state = self.disk.state();
        state.check_epoch(self.epoch, &self.path)?;
        Ok(state.directories.get(&self.path).map(|names| names.current().keys().cloned().collect()).unwrap_or_default())
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        self.change(from, |_, names| {
            let inode = names.remove(from).ok_or_else(|| Error::NotFound { path: self.path.join(from) })?;
            names.insert(to.to_owned(), inode);
            Ok(())
        })
    }

    fn remove(&self, name: &str) -> Result<(), Error> {
        self.change(name, |_, names| {
            names.remove(name).ok_or_else(|| Error::NotFound { path: self.path.join(name) })?;
            Ok(())
        })
    }

    fn sync(&self) -> Result<(), Error> {
        let state = &mut *self.disk.state();
        if state.change(self.epoch, &self.path)? || state.random.chance(state.faults.sync) {
            return Err(failed(&self.path, "syncing"));
        }
        let names = state.directories.entry(self.path.clone()).or_default();
        if let Some(current) = names.versions.pop() {
            names.durable = current;
            names.versions.clear();
        }
        state.forget_unnamed();
        Ok(())
    }
}

#[derive(Debug)]
struct SimulatedFile {
    disk: SimulatedDisk,
    epoch: u64,
    path: PathBuf,
    inode: u64,
}

impl SimulatedFile {
    fn read<T>(&self, read: impl FnOnce(&Inode) -> T) -> Result<T, Error> {
        let state = &mut *self.disk.state();
        state.check_epoch(self.epoch, &self.path)?;
        if state.random.chance(state.faults.read) {
            return Err(failed(&self.path, "reading"));
        }
        state.inodes.get(&self.inode).map(read).ok_or_else(|| Error::NotFound { path: self.path.clone() })
    }

    /// Changes the content: `change` gets how many sectors are free, and whether the change fails by chance or because
    /// the process dies in it.
    fn change(
        &self,
        operation: &'static str,
        probability: impl Fn(&Faults) -> f64,
        change: impl FnOnce(&mut Inode, u64, bool, &mut Random) -> bool,
    ) -> Result<(), Error> {
        let state = &mut *self.disk.state();
        let dies = state.change(self.epoch, &self.path)?;
        let fails = dies || state.random.chance(probability(&state.faults));
        let free = state.free();
        // A removed file can still be written through an open handle; nobody will read it.
        let Some(inode) = state.inodes.get_mut(&self.inode) else { return Ok(()) };
        let fits = change(inode, free, fails, &mut state.random);
        match (fails, fits) {
            (true, _) => Err(failed(&self.path, operation)),
            (false, false) => Err(Error::Full { path: self.path.clone() }),
            (false, true) => Ok(()),
        }
    }
}

impl File for SimulatedFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        self.read(|inode| inode.read(buffer, offset))
    }

    fn write_at(&self, data: &[u8], offset: u64) -> Result<(), Error> {
        self.change(
            "writing",
            |faults| faults.write,
            |inode, free, fails, random| {
                let part = if fails { random.below(data.len() as u64 + 1) as usize } else { data.len() };
                inode.write(&data[..part], offset, free)
            },
        )
    }

    fn len(&self) -> Result<u64, Error> {
        self.read(Inode::len)
    }

    fn set_len(&self, len: u64) -> Result<(), Error> {
        let change = |inode: &mut Inode, _, fails: bool, _: &mut Random| {
            if !fails {
                inode.set_len(len);
            }
            true
        };
        self.change("changing the length", |faults| faults.write, change)
    }

    fn allocate(&self, len: u64) -> Result<(), Error> {
        let change = |inode: &mut Inode, free, fails: bool, _: &mut Random| fails || inode.allocate(len, free);
        self.change("reserving space", |faults| faults.write, change)
    }

    fn sync_data(&self) -> Result<(), Error> {
        let change = |inode: &mut Inode, _, fails: bool, random: &mut Random| {
            if fails {
                inode.fail_sync(random);
            } else {
                inode.sync();
            }
            true
        };
        self.change("syncing", |faults| faults.sync, change)
    }

    fn sync(&self) -> Result<(), Error> {
        self.sync_data()
    }
}
