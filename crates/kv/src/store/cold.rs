//! Why a store does not restore the items in its file.

/// Why a store begins empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cold {
    /// The file is new.
    #[error("the file is new")]
    New,
    /// The previous program did not close the file.
    #[error("the previous program was killed, so items may be torn")]
    NotClosed,
    /// The file is that of another version of the program.
    #[error("the file has layout version {found}, but this program uses {expected}")]
    Version {
        /// The file's.
        found: u32,
        /// This program's.
        expected: u32,
    },
    /// The file has another size than configured.
    #[error("the {what} of the file is {found}, but {expected} is configured")]
    OtherSize {
        /// The name of the size.
        what: &'static str,
        /// The file's, in bytes.
        found: u64,
        /// The configured size, in bytes.
        expected: u64,
    },
    /// The digest is another one.
    #[error("the file does not match its digest, so it was changed")]
    Damaged,
}
