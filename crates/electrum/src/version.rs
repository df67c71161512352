//! Versions of the protocol.
use std::fmt;

/// A version; missing numbers are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub [u32; 3]);

impl Version {
    /// The oldest supported version.
    pub const OLDEST: Self = V1_4;
    /// The newest supported version.
    pub const NEWEST: Self = V1_8;

    /// Reads a version such as `1.4.2`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut numbers = [0; 3];
        let mut parts = text.split('.');
        for (number, part) in numbers.iter_mut().zip(parts.by_ref()) {
            *number = part.parse().ok()?;
        }
        parts.next().is_none().then_some(Self(numbers))
    }

    /// The newest common version, for a client that supports those from `oldest` to `newest`.
    pub fn negotiate(oldest: Self, newest: Self) -> Option<Self> {
        let common = newest.min(Self::NEWEST);
        (common >= oldest.max(Self::OLDEST)).then_some(common)
    }
}

/// The first supported version.
pub const V1_4: Version = Version([1, 4, 0]);
/// With `scripthash.unsubscribe`.
pub const V1_4_2: Version = Version([1, 4, 2]);
/// Headers in a list.
pub const V1_6: Version = Version([1, 6, 0]);
/// Scripts in place of their hashes, outpoints.
pub const V1_7: Version = Version([1, 7, 0]);
/// Proofs of witnesses. It is a draft: its authors may still change it.
pub const V1_8: Version = Version([1, 8, 0]);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [major, minor, 0] => write!(f, "{major}.{minor}"),
            [major, minor, patch] => write!(f, "{major}.{minor}.{patch}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_common_version_is_spoken() {
        let version = |text| Version::parse(text).unwrap();
        for (oldest, newest, spoken) in [
            ("1.4", "1.4", Some("1.4")),
            ("1.4", "1.4.2", Some("1.4.2")),
            ("1.2", "1.6", Some("1.6")),
            ("1.7", "1.9", Some("1.8")),
            ("1.9", "1.10", None),
            ("1.0", "1.3", None),
            ("1.6", "1.4", None),
            ("0", "2", Some("1.8")),
        ] {
            let common = Version::negotiate(version(oldest), version(newest)).map(|version| version.to_string());
            assert_eq!(common.as_deref(), spoken, "{oldest} to {newest}");
        }
        for wrong in ["", "1.", "1.4.2.1", "one", "-1"] {
            assert_eq!(Version::parse(wrong), None);
        }
    }
}
