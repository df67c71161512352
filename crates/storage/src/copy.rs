//! Copying files from one directory to another.

use crate::{Directory, Error, Mode};

/// Bytes per read and write: large enough that system calls do not matter.
const BUFFER: usize = 1 << 20;

/// Copies the first `length` bytes of a file into a new file of the same name, and makes them durable. The name is
/// durable once the directory is synced.
///
/// # Errors
/// [`Error::Exists`] if the name is taken, [`Error::Corrupt`] if the file is shorter.
pub fn copy_file(from: &dyn Directory, name: &str, to: &dyn Directory, length: u64) -> Result<(), Error> {
    let (source, copy) = (from.open(name, Mode::Read)?, to.open(name, Mode::CreateNew)?);
    let mut buffer = vec![0; BUFFER.min(usize::try_from(length).unwrap_or(BUFFER))];
    let mut offset = 0;
    while offset < length {
        let count = (length - offset).min(BUFFER as u64) as usize;
        source.read_exact_at(&mut buffer[..count], offset)?;
        copy.write_at(&buffer[..count], offset)?;
        offset += count as u64;
    }
    copy.sync()
}
