//! Copies a journal that another process may be writing to.
//!
//! The copy ends with the batch that the high-water mark named when copying began, as later ones may be incomplete. A
//! full segment is not written again while it keeps its name. It is copied whole, and the copy is discarded if the
//! segment lost its name meanwhile: the writer prunes the oldest segments first and reuses their files.

use storage::{Directory, Mode, copy_file};

use super::Error;
use super::format::{PAGE, padded};
use super::mark::{Mark, MarkRecord};
use super::reader::Window;
use super::segment;

/// The range of a copied journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Sequence of the first operation; of the next in an empty copy.
    pub first_sequence: u64,
    /// Sequence of the last operation; one less than the first in an empty copy.
    pub last_sequence: u64,
}

/// Copies the durable batches of the journal in `from` into the empty directory `to`.
///
/// # Errors
/// [`Error::NoMark`] if the journal was written by a program that kept no mark; [`Error::Pruned`] if the writer pruned
/// segments before they were copied.
pub fn copy(from: &dyn Directory, to: &dyn Directory) -> Result<Copied, Error> {
    let no_mark = || Error::NoMark { path: from.path().into() };
    let mark = MarkRecord::read(from)?.ok_or_else(no_mark)?;
    let synced = mark.synced();
    if synced.number == 0 {
        return Ok(Copied { first_sequence: synced.sequence + 1, last_sequence: synced.sequence });
    }
    let mut numbers: Vec<_> = from.list()?.iter().filter_map(|name| segment::number(name)).collect();
    numbers.retain(|number| *number <= synced.segment);
    numbers.sort_unstable();
    let mut copied: Vec<u64> = Vec::new();
    for number in numbers {
        let name = segment::name(number);
        let end = (number == synced.segment).then_some(synced.offset);
        let result = copy_segment(from, to, number, end);
        if result.is_ok() && is_there(from, number)? {
            copied.push(number);
            continue;
        }
        // It was pruned while it was being copied, and so were those before it.
        match result {
            Err(error) if is_there(from, number)? => return Err(error),
            _ if to.exists(&name)? => to.remove(&name)?,
            _ => {}
        }
        for number in copied.drain(..) {
            to.remove(&segment::name(number))?;
        }
    }
    let pruned = || Error::Pruned { path: from.path().into() };
    let (Some(first), Some(last)) = (copied.first(), copied.last()) else { return Err(pruned()) };
    if *last != synced.segment {
        return Err(pruned());
    }
    let file = to.open(&segment::name(*first), Mode::Read)?;
    let header = segment::read_header(&*file, *first)?;
    if !mark.is_of(&header.key) {
        return Err(no_mark());
    }
    drop(Mark::open(to, &header.key, &synced)?);
    let batch = Window::default().header(&*file, PAGE, header.length.get())?.ok_or_else(pruned)?;
    Ok(Copied { first_sequence: batch.first_sequence.get(), last_sequence: synced.sequence })
}

/// Copies a segment: all of it, or up to the end of the batch that begins at `last`. The rest of the copy is zeros.
fn copy_segment(from: &dyn Directory, to: &dyn Directory, number: u64, last: Option<u64>) -> Result<(), Error> {
    let name = segment::name(number);
    let file = from.open(&name, Mode::Read)?;
    let length = segment::read_header(&*file, number)?.length.get();
    let end = match last {
        None => length,
        Some(offset) => {
            let header = Window::default().header(&*file, offset, length)?.ok_or_else(|| Error::Damaged {
                path: file.path().into(),
                offset,
                reason: "the last durable batch is broken".into(),
            })?;
            offset + padded(header.length())
        }
    };
    copy_file(from, &name, to, end)?;
    let copy = to.open(&name, Mode::Write)?;
    copy.set_len(length)?;
    Ok(copy.sync()?)
}

/// Whether the segment still has its name.
fn is_there(directory: &dyn Directory, number: u64) -> Result<bool, Error> {
    match directory.open(&segment::name(number), Mode::Read) {
        Ok(file) => Ok(segment::read_header(&*file, number).is_ok()),
        Err(storage::Error::NotFound { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
