//! Errors of commands. The text is all that a user sees, so it includes the remedy.

use std::path::{Path, PathBuf};

use wire::TransactionId;

/// The failure of a command.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read or written.
    #[error("can't {what} {}", path.display())]
    File {
        /// The operation that failed.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Something that the user gave is wrong.
    #[error("{0}")]
    Input(String),
    /// A check that the command makes failed.
    #[error("{0}")]
    Failed(String),
    /// A check could not run at all, as opposed to one that failed.
    #[error(transparent)]
    Unusable(Box<Error>),
    /// An operation failed, or got no answer.
    #[error("{source}{advice}")]
    Operation {
        /// Its transaction id.
        transaction: TransactionId,
        /// How to repeat it, if it may have been executed.
        advice: String,
        /// The error.
        source: client::Error,
    },
    /// The node, the client or a store reported an error.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// A failure to read or write a file.
    pub fn file(what: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::File { what, path: path.to_path_buf(), source }
    }

    /// The exit status of the program: 1, or 2 as for a wrong command line where a check could not be made.
    pub fn exit_status(&self) -> u8 {
        if matches!(self, Self::Unusable(_)) { 2 } else { 1 }
    }

    /// The transaction id of the operation that failed, if the command sent one.
    pub fn transaction(&self) -> Option<TransactionId> {
        match self {
            Self::Operation { transaction, .. } => Some(*transaction),
            _ => None,
        }
    }

    /// An error of a lower layer, whose text says it all.
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Other(error.into())
    }
}
