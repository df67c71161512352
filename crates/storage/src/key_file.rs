//! Secret files with a key of 32 bytes, as 64 hexadecimal digits.

use std::path::Path;

use crate::{Error, secret_file};

/// Bytes of a key.
const BYTES: usize = 32;

/// Reads a key as [`secret_file::read`] does; nothing where the file has something else than 64 hexadecimal digits.
pub fn read(path: &Path) -> Result<Option<[u8; BYTES]>, Error> {
    Ok(parse(secret_file::read(path)?.trim_ascii()))
}

/// Creates a file for a key, as [`secret_file::create`] does.
pub fn create(path: &Path, key: &[u8; BYTES]) -> Result<(), Error> {
    let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    secret_file::create(path, format!("{digits}\n").as_bytes())
}

fn parse(digits: &[u8]) -> Option<[u8; BYTES]> {
    if digits.len() != 2 * BYTES || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut key = [0; BYTES];
    for (byte, digits) in key.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let key = std::array::from_fn(|at| at as u8 * 7);
        create(&path, &key).unwrap();
        assert_eq!(read(&path).unwrap(), Some(key));
        assert!(matches!(create(&path, &key), Err(Error::Exists { .. })));
        let digits = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a";
        assert!(parse(digits.as_bytes()).is_some());
        for wrong in ["", &digits[1..], &format!("{}zz", &digits[2..]), &format!("+1{}", &digits[2..])] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
