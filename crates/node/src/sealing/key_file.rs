//! The chain's key in a file, of the form that `turnpike key` has: 64 hexadecimal digits, for its owner alone.

use std::path::Path;

use spv::SealingKey;
use storage::secret_file;

use super::{Error, hex};

/// The key in a file, if there is one.
pub fn read(path: &Path) -> Result<Option<SealingKey>, Error> {
    let content = match secret_file::read(path) {
        Ok(content) => content,
        Err(storage::Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    parse(&content).map(Some).ok_or_else(|| Error::NotAKey { path: path.into() })
}

/// The key in a file, which is made where there is none.
pub fn read_or_make(path: &Path) -> Result<SealingKey, Error> {
    if let Some(key) = read(path)? {
        return Ok(key);
    }
    loop {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(Error::Random)?;
        // There is none of 0, and of what is not below the group's order: once in 2^127.
        if let Some(key) = SealingKey::from_bytes(&secret) {
            secret_file::create(path, format!("{}\n", hex(&secret)).as_bytes())?;
            tracing::info!(path = %path.display(), "made the chain's key; keep a copy apart from the data");
            return Ok(key);
        }
    }
}

fn parse(content: &[u8]) -> Option<SealingKey> {
    let digits = content.trim_ascii();
    if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut secret = [0; 32];
    for (byte, digits) in secret.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    SealingKey::from_bytes(&secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_once_and_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chain.key");
        assert!(read(&path).unwrap().is_none());
        let key = read_or_make(&path).unwrap();
        assert_eq!(read_or_make(&path).unwrap().public(), key.public());
        let other = read_or_make(&folder.path().join("other.key")).unwrap();
        assert_ne!(other.public(), key.public());
    }

    #[test]
    fn digits_of_a_key_only() {
        let one = format!("{:064x}\n", 1);
        assert!(parse(one.as_bytes()).is_some() && parse(one.trim().as_bytes()).is_some());
        for text in ["", "1", &"0".repeat(64), &"f".repeat(64), &"1".repeat(65), &"g".repeat(64), &"é".repeat(32)] {
            assert!(parse(text.as_bytes()).is_none(), "{text}");
        }
    }
}
