//! Logins: in text a `set` whose value is name and password, in the binary protocol a message of SASL's mechanism PLAIN
//! (RFC 4616).

use super::{Line, Words};
use crate::number::unsigned_32;

/// Bytes of a login's value.
pub const LONGEST: usize = 1024;

/// The mechanism of SASL that is known.
pub const MECHANISM: &[u8] = b"PLAIN";

/// The length of the value that follows, if a line may begin a login. Key, flags and expiry may be anything.
pub fn value_len(line: &[u8]) -> Option<usize> {
    let line = Line::new(line);
    let [b"set", _, _, _, len, ..] = line.words() else { return None };
    unsigned_32(len).map(|len| len as usize)
}

/// Name and password in the value of a login by text: two words.
pub fn credentials(value: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut words = Words::new(value);
    Some((words.next()?, words.next()?))
}

/// Name and password in a message of PLAIN. Acting for another user is refused.
pub fn plain(message: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut parts = message.split(|byte| *byte == 0);
    let (acts_for, name, password) = (parts.next()?, parts.next()?, parts.next()?);
    let is_whole = parts.next().is_none() && (acts_for.is_empty() || acts_for == name);
    (is_whole && !name.is_empty() && !password.is_empty()).then_some((name, password))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_of_both_protocols() {
        assert_eq!(value_len(b"set any 0 0 9"), Some(9));
        assert_eq!(value_len(b"set any x y 9 noreply"), Some(9));
        for line in [&b"get any"[..], b"set any 0 0", b"set any 0 0 x", b"set any 0 0 -1", b"add any 0 0 9", b""] {
            assert_eq!(value_len(line), None, "{line:?}");
        }
        assert_eq!(credentials(b"alice  secret rest"), Some((&b"alice"[..], &b"secret"[..])));
        assert_eq!(credentials(b"alice"), None);
        assert_eq!(plain(b"\0alice\0secret"), Some((&b"alice"[..], &b"secret"[..])));
        assert_eq!(plain(b"alice\0alice\0secret"), Some((&b"alice"[..], &b"secret"[..])));
        for message in [&b"alice\0secret"[..], b"bob\0alice\0secret", b"\0alice\0", b"\0\0secret", b"\0a\0b\0c", b""] {
            assert_eq!(plain(message), None, "{message:?}");
        }
    }
}
