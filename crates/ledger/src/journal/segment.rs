//! Segments: files of one size that are prepared before they are written to.

use std::sync::Arc;

use storage::{Directory, File, Mode};
use zerocopy::{FromBytes, IntoBytes};

use super::Error;
use super::format::{PAGE, SegmentHeader, VERSION};

const PREFIX: &str = "journal-";
const SPARE: &str = "spare-";

/// Bytes per write when a segment is prepared: few enough for a concurrent sync of a batch not to wait long.
const STRIDE: usize = 1 << 20;

/// File name of a segment.
pub(super) fn name(number: u64) -> String {
    format!("{PREFIX}{number:016x}")
}

/// Name of the spare file that was, or would have been, a segment.
pub(super) fn spare_name(number: u64) -> String {
    format!("{SPARE}{number:016x}")
}

/// The number of a segment, if the name is a segment's.
pub(super) fn number(file_name: &str) -> Option<u64> {
    let number = u64::from_str_radix(file_name.strip_prefix(PREFIX)?, 16).ok()?;
    (name(number) == file_name).then_some(number)
}

/// Whether this is the name of a spare file.
pub(super) fn is_spare(file_name: &str) -> bool {
    file_name.starts_with(SPARE)
}

/// Reads and checks the header of a segment, and that the file has its full length.
pub(super) fn read_header(file: &dyn File, number: u64) -> Result<SegmentHeader, Error> {
    let path = || file.path().to_path_buf();
    let damaged = |reason: &str| Error::Damaged { path: path(), offset: 0, reason: reason.into() };
    let mut bytes = [0; SegmentHeader::LENGTH];
    if file.read_at(&mut bytes, 0)? < bytes.len() {
        return Err(damaged("the segment's header is missing"));
    }
    let header = SegmentHeader::read_from_bytes(&bytes).map_err(|_| damaged("the segment's header is missing"))?;
    if !header.is_intact() {
        return Err(damaged("the segment's header is broken"));
    }
    if header.version.get() != VERSION {
        return Err(Error::OtherVersion { path: path(), found: header.version.get(), expected: VERSION });
    }
    if header.number.get() != number {
        return Err(damaged(&format!("it is segment {}", header.number.get())));
    }
    let (made, found) = (header.length.get(), file.len()?);
    if found < made {
        let reason = format!("the segment was created with {made} bytes, but has {found}");
        return Err(Error::Damaged { path: path(), offset: found, reason });
    }
    Ok(header)
}

/// A segment that is ready to be written to.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) number: u64,
    pub(super) file: Arc<dyn File>,
}

/// Creates the segment with a header, from a spare file or from a new one.
pub(super) fn prepare(
    directory: &dyn Directory,
    spare: Option<&str>,
    header: &SegmentHeader,
) -> Result<Prepared, Error> {
    let number = header.number.get();
    let new_name = spare_name(number);
    let file = match spare {
        Some(spare) => directory.open(spare, Mode::Write)?,
        None => write_spare(directory, &new_name, header.length.get())?,
    };
    let mut page = [0; PAGE as usize];
    page[..SegmentHeader::LENGTH].copy_from_slice(header.as_bytes());
    file.write_at(&page, 0)?;
    file.sync_data()?;
    let name = name(number);
    directory.rename(spare.unwrap_or(&new_name), &name)?;
    directory.sync()?;
    // Opened again, so that messages have the right name.
    Ok(Prepared { number, file: directory.open(&name, Mode::Write)? })
}

/// Creates a file of the size of a segment and writes all of it.
fn write_spare(directory: &dyn Directory, name: &str, bytes: u64) -> Result<Arc<dyn File>, Error> {
    let file = directory.open(name, Mode::Create)?;
    file.allocate(bytes)?;
    let zeros = vec![0; STRIDE.min(bytes as usize)];
    let mut offset = 0;
    while offset < bytes {
        let stride = (zeros.len() as u64).min(bytes - offset) as usize;
        file.write_at(&zeros[..stride], offset)?;
        file.sync_data()?;
        offset += stride as u64;
    }
    file.sync()?;
    Ok(file)
}
