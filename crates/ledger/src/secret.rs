//! The secret under which accounts and transaction ids are hashed.

/// The secret: random for a node, so that nobody outside can choose ids that collide; fixed in tests.
#[derive(Clone, Default)]
pub struct Secret([u8; 16]);

impl Secret {
    /// The secret with this seed.
    pub const fn from_seed(seed: [u8; 16]) -> Self {
        Self(seed)
    }

    /// The seed for the table of accounts.
    pub(crate) fn seed(&self) -> [u8; 16] {
        self.0
    }

    /// Words for the dedup window, independent of the table's use of the seed.
    pub(crate) fn words<const N: usize>(&self) -> [u64; N] {
        let mut output = blake3::Hasher::new_derive_key("turnpike dedup window").update(&self.0).finalize_xof();
        std::array::from_fn(|_| {
            let mut word = [0; 8];
            output.fill(&mut word);
            u64::from_ne_bytes(word)
        })
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_seed_is_another_secret() {
        let (one, other) = (Secret::from_seed([1; 16]), Secret::from_seed([2; 16]));
        assert_eq!((one.seed(), other.seed()), ([1; 16], [2; 16]));
        assert_ne!(one.words::<2>(), other.words());
        assert!(!format!("{one:?}").contains('1'), "a secret is not shown");
    }
}
