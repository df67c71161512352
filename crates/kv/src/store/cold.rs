//! Why a store does not go on with what its file has.

/// Why a store begins empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cold {
    /// There is no file.
    #[error("the file is new")]
    New,
    /// The program that had the file did not end by itself.
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
    /// The store was asked for another size.
    #[error("the {what} of the file is {found}, but {expected} is configured")]
    OtherSize {
        /// Of what.
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
