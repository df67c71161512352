//! Users of the store: the names and passwords of a file, a line `NAME:PASSWORD` for each (memcached's `-Y`).

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
};

/// Maximum size of a file of users: some thousand of them. It is read whole, and each login is compared with all.
const LONGEST_FILE: u64 = 64 << 10;

/// Permissions that let everybody read a file.
const READABLE_BY_ALL: u32 = 0o004;

/// Why a file of users cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system cannot read it.
    #[error("cannot read the users in {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is too long.
    #[error("{0} has more than {LONGEST_FILE} bytes; list fewer users")]
    TooLong(PathBuf),
    /// A line is malformed.
    #[error("{path}, line {line}: expected NAME:PASSWORD, without spaces before or after either")]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line.
        line: usize,
    },
    /// The file lists no users.
    #[error("{0} lists no users; write a line NAME:PASSWORD for each")]
    Empty(PathBuf),
}

/// The users of a file. Only the digests of name and password are kept.
#[derive(Debug)]
pub struct Users {
    path: PathBuf,
    digests: RwLock<Vec<blake3::Hash>>,
}

impl Users {
    /// Reads a file of users.
    pub fn load(path: &Path) -> Result<Self, Error> {
        Ok(Self { path: path.to_owned(), digests: RwLock::new(read(path)?) })
    }

    /// Reloads the file for later logins. After an error the present users stay.
    pub fn reload(&self) -> Result<(), Error> {
        let digests = read(&self.path)?;
        *self.digests.write().unwrap_or_else(PoisonError::into_inner) = digests;
        Ok(())
    }

    /// Whether a user has a password, in constant time for all users.
    pub fn contains(&self, name: &[u8], password: &[u8]) -> bool {
        let presented = digest(name, password);
        let digests = self.digests.read().unwrap_or_else(PoisonError::into_inner);
        // Hashes compare in constant time, and all of them are compared.
        digests.iter().fold(false, |found, known| found | (*known == presented))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn digest(name: &[u8], password: &[u8]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(name.len() as u64).to_le_bytes()).update(name).update(password);
    hasher.finalize()
}

fn read(path: &Path) -> Result<Vec<blake3::Hash>, Error> {
    let fail = |source| Error::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(fail)?;
    if file.metadata().map_err(fail)?.mode() & READABLE_BY_ALL != 0 {
        tracing::warn!(file = %path.display(), "every local user can read the passwords: run chmod 600 on the file");
    }
    let mut text = Vec::new();
    file.take(LONGEST_FILE + 1).read_to_end(&mut text).map_err(fail)?;
    if text.len() as u64 > LONGEST_FILE {
        return Err(Error::TooLong(path.to_owned()));
    }
    let digests = parse(&text).map_err(|line| Error::Line { path: path.to_owned(), line })?;
    if digests.is_empty() { Err(Error::Empty(path.to_owned())) } else { Ok(digests) }
}

/// The users of a file's text, or the number of the first line that is wrong. Empty lines are passed over.
fn parse(text: &[u8]) -> Result<Vec<blake3::Hash>, usize> {
    let mut digests = Vec::new();
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            continue;
        }
        let colon = memchr::memchr(b':', line).filter(|at| *at > 0 && at + 1 < line.len());
        let (name, rest) = line.split_at(colon.ok_or(number + 1)?);
        digests.push(digest(name, &rest[1..]));
    }
    Ok(digests)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt};

    #[test]
    fn the_users_of_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("users");
        fs::write(&path, "alice:secret:with colon\r\n\nbob:b").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let users = Users::load(&path).unwrap();
        assert!(users.contains(b"alice", b"secret:with colon") && users.contains(b"bob", b"b"));
        for (name, password) in
            [(&b"alice"[..], &b"secret"[..]), (b"bob", b""), (b"", b"b"), (b"alice:secret", b"with colon")]
        {
            assert!(!users.contains(name, password), "{name:?}");
        }
        // A file that became wrong changes nothing.
        for (text, expected) in
            [("alice:a\nbob\n", "line 2"), (":a", "line 1"), ("a:", "line 1"), ("\n", "lists no user")]
        {
            fs::write(&path, text).unwrap();
            assert!(users.reload().unwrap_err().to_string().contains(expected), "{text:?}");
            assert!(users.contains(b"bob", b"b"));
        }
        fs::write(&path, "bob:c").unwrap();
        users.reload().unwrap();
        assert!(users.contains(b"bob", b"c") && !users.contains(b"bob", b"b"));
        fs::write(&path, vec![b'a'; LONGEST_FILE as usize + 1]).unwrap();
        assert!(matches!(users.reload(), Err(Error::TooLong(_))));
        assert!(matches!(Users::load(folder.path().join("none").as_path()), Err(Error::Read { .. })));
    }
}
