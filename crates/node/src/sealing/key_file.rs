//! The chain's key in a file, of the form that `turnpike key` has: 64 hexadecimal digits, for its owner alone.

use std::path::Path;

use spv::SealingKey;
use storage::key_file;

use super::Error;

/// The key in a file, if there is one.
pub fn read(path: &Path) -> Result<Option<SealingKey>, Error> {
    let secret = match key_file::read(path) {
        Ok(secret) => secret,
        Err(storage::Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let key = secret.and_then(|secret| SealingKey::from_bytes(&secret));
    key.map(Some).ok_or_else(|| Error::NotAKey { path: path.into() })
}

/// Reads the key in a file, creating it if missing.
pub fn read_or_make(path: &Path) -> Result<SealingKey, Error> {
    if let Some(key) = read(path)? {
        return Ok(key);
    }
    loop {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(Error::Random)?;
        // 0 and numbers not below the group's order are not keys: once in 2^127.
        if let Some(key) = SealingKey::from_bytes(&secret) {
            key_file::create(path, &secret)?;
            tracing::info!(path = %path.display(), "created the chain's key; keep a copy apart from the data");
            return Ok(key);
        }
    }
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
        let folder = tempfile::tempdir().unwrap();
        let is_key = |text: &str| {
            let path = folder.path().join("key");
            storage::secret_file::create(&path, text.as_bytes()).unwrap();
            let key = read(&path);
            std::fs::remove_file(&path).unwrap();
            assert!(matches!(key, Ok(Some(_)) | Err(Error::NotAKey { .. })), "{text}");
            key.is_ok()
        };
        let one = format!("{:064x}\n", 1);
        assert!(is_key(&one) && is_key(one.trim()));
        for text in ["", "1", &"0".repeat(64), &"f".repeat(64), &"1".repeat(65), &"g".repeat(64), &"é".repeat(32)] {
            assert!(!is_key(text), "{text}");
        }
    }
}
