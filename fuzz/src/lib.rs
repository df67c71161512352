//! Shared by fuzz targets of files: the contents of a directory, and arbitrary damage to it.

pub mod genesis;

use std::path::Path;
use std::sync::Arc;

use storage::{Directory, Mode, SimulatedDisk};

/// Files with their contents.
pub type Files = Vec<(String, Vec<u8>)>;

/// All files of a directory.
pub fn read_all(directory: &dyn Directory) -> Files {
    let names = directory.list().expect("no faults were asked for");
    let read = |name: String| {
        let content = directory.read(&name).expect("no faults were asked for");
        (name, content)
    };
    names.into_iter().map(read).collect()
}

/// A new disk with these files, damaged according to `bytes`: a list of changes, each of which begins with four bytes:
/// an action (two bits) and a file, a position in it (two bytes, little-endian), and a length.
pub fn damaged(files: &Files, mut bytes: &[u8]) -> Arc<dyn Directory> {
    let mut files = files.clone();
    while let Some(([kind, place @ .., length], rest)) = bytes.split_first_chunk::<4>() {
        let place = usize::from(u16::from_le_bytes(*place));
        let (data, rest) = rest.split_at(rest.len().min((*length).into()));
        bytes = rest;
        if files.is_empty() {
            break;
        }
        let number = usize::from(kind & 0x3f) % files.len();
        let content = &mut files[number].1;
        match kind >> 6 {
            0 | 1 => {
                content.resize(content.len().max(place + data.len()), 0);
                content[place..place + data.len()].copy_from_slice(data);
            }
            2 => content.resize(place, 0),
            _ if place == 0 => drop(files.remove(number)),
            // Old contents reappear elsewhere.
            _ => {
                let from = content.len().min(usize::from(*length) << 6);
                let copied = content[from..content.len().min(from + 4096)].to_vec();
                content.truncate(place);
                content.extend(copied);
            }
        }
    }
    let root = SimulatedDisk::new(0).root();
    for (name, content) in &files {
        let file = root.open(name, Mode::Create).expect("no faults were asked for");
        file.write_at(content, 0).expect("no faults were asked for");
    }
    root
}

/// The name of the input in messages.
pub fn input() -> &'static Path {
    Path::new("input")
}
