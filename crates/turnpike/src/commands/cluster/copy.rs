//! Copies of a replica's data, for replicas that have never voted.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use storage::DataDirectory;

use crate::error::Error;

/// The first bytes of the names of votes in a replica's data: with a copy of them another replica could vote twice.
const VOTES: &[u8] = b"replica-votes";

/// Copies the data of a stopped replica for one that has never voted, without the votes, the lock and the incarnation.
pub fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    if DataDirectory::is_held(from).map_err(Error::other)? {
        let text = format!("{} is in use: stop its replica, or name the directory of a stopped one", from.display());
        return Err(Error::Input(text));
    }
    copy_below(from, to)
}

fn copy_below(from: &Path, to: &Path) -> Result<(), Error> {
    // Private, as a data directory is.
    DirBuilder::new().recursive(true).mode(0o700).create(to).map_err(|error| Error::file("create", to, error))?;
    let read = |error| Error::file("read", from, error);
    for entry in fs::read_dir(from).map_err(read)? {
        let entry = entry.map_err(read)?;
        let (name, path) = (entry.file_name(), entry.path());
        let is_left_out = name == "LOCK" || name == node::INCARNATION || name.as_encoded_bytes().starts_with(VOTES);
        if is_left_out {
            continue;
        }
        let copy = to.join(name);
        if entry.file_type().map_err(read)?.is_dir() {
            copy_below(&path, &copy)?;
        } else {
            copy_file(&path, &copy).map_err(|error| Error::file("write", &copy, error))?;
        }
    }
    File::open(to).and_then(|folder| folder.sync_all()).map_err(|error| Error::file("sync", to, error))
}

/// Copies a file for its owner alone, whatever mode the original has.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut copy = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(to)?;
    io::copy(&mut File::open(from)?, &mut copy)?;
    copy.sync_all()
}
