//! Key-value stores in a folder of the data directory.

use std::{fs, io, path::Path};

use fjall::Database;

/// Opens a store, or begins one. `cache_size` is in bytes, and `files` the number of files that stay open.
pub fn open(path: &Path, cache_size: u64, files: usize) -> Result<Database, fjall::Error> {
    remove_unfinished(path)?;
    Database::builder(path).cache_size(cache_size).max_cached_files(Some(files)).open()
}

/// Removes what a process that was killed while it began a store left: fjall refuses to begin one over it.
///
/// fjall creates the first journal, then the file `version` with its contents, then the folders of trees. So a store
/// without trees and without a complete `version` holds nothing. One that has trees is damaged, and stays.
fn remove_unfinished(path: &Path) -> io::Result<()> {
    let (journal, version) = (path.join("0.jnl"), path.join("version"));
    let is_complete = fs::metadata(&version).is_ok_and(|file| file.len() > 0);
    let has_trees = fs::read_dir(path.join("keyspaces")).is_ok_and(|mut trees| trees.next().is_some());
    if is_complete || has_trees {
        return Ok(());
    }
    for file in [journal, version] {
        match fs::remove_file(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reopens(path: &Path) -> bool {
        open(path, 1 << 20, 16).is_ok()
    }

    #[test]
    fn a_store_whose_beginning_was_interrupted_is_begun_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        for step in 0..=5 {
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            // In fjall's order: lock, folder of trees, journal, version without and with its contents.
            let file = |name: &str| fs::write(path.join(name), "").unwrap();
            (0..step).for_each(|step| match step {
                0 => file("lock"),
                1 => fs::create_dir(path.join("keyspaces")).unwrap(),
                2 => file("0.jnl"),
                3 => file("version"),
                _ => assert!(reopens(&path), "a store that is complete"),
            });
            assert!(reopens(&path), "{step}");
            assert!(reopens(&path), "{step}, once more");
        }
    }

    #[test]
    fn a_store_with_trees_is_not_begun_again() {
        let folder = tempfile::tempdir().unwrap();
        assert!(reopens(folder.path()));
        fs::remove_file(folder.path().join("version")).unwrap();
        assert!(!reopens(folder.path()));
        assert!(folder.path().join("0.jnl").exists());
    }
}
