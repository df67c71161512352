use std::panic::{AssertUnwindSafe, catch_unwind};

use shared::{DelayError, Error, EvaluateError};

/// What came of a call. turnpike_status_message has each in words.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All is done, and every item is valid.
    Ok = 0,
    /// All is done, and an item breaks a rule: its code tells which.
    Invalid = 1,
    /// A pointer to something is NULL, or is not aligned as its type must be.
    Pointer = 2,
    /// A length is too large for any memory, offsets fall, a header has the wrong length, or a tree has no leaves.
    Length = 3,
    /// A number stands for no backend, scheme or policy, Equihash has no such parameters, a verifying key or a modulus is none,
    /// nothing is to be squared, or a text is not UTF-8.
    Argument = 4,
    /// This processor does not have the backend, or the scheme does not.
    Backend = 5,
    /// The system did not start the threads.
    Threads = 6,
    /// The library failed. Please report what it wrote to the standard error output.
    Internal = 7,
    /// You asked to break off.
    BrokenOff = 8,
}

impl Status {
    pub(crate) const ALL: [Self; 9] = [
        Self::Ok,
        Self::Invalid,
        Self::Pointer,
        Self::Length,
        Self::Argument,
        Self::Backend,
        Self::Threads,
        Self::Internal,
        Self::BrokenOff,
    ];

    pub(crate) const fn message(self) -> &'static std::ffi::CStr {
        match self {
            Self::Ok => c"all is done, and every item is valid",
            Self::Invalid => c"an item breaks a rule: its code tells which",
            Self::Pointer => c"a pointer is NULL or not aligned",
            Self::Length => {
                c"a length is too large, offsets fall, a header has the wrong length, or a tree has no leaves"
            }
            Self::Argument => {
                c"no such backend, scheme or policy, no such parameters of Equihash, no verifying key or modulus, nothing to square, or a text is not UTF-8"
            }
            Self::Backend => c"this processor or this scheme does not have the backend: use the fastest or portable",
            Self::Threads => c"the threads could not be started: use fewer",
            Self::Internal => c"the library failed: please report what it wrote to the standard error output",
            Self::BrokenOff => c"you asked to break off",
        }
    }

    /// Calls what a function does; a panic ends here.
    pub(crate) fn of(call: impl FnOnce() -> Result<Self, Self>) -> Self {
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(Ok(status) | Err(status)) => status,
            Err(_) => Self::Internal,
        }
    }

    /// Of codes that were all set.
    pub(crate) fn of_codes(codes: &[u8]) -> Self {
        if codes.iter().all(|code| *code == shared::VALID) { Self::Ok } else { Self::Invalid }
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        match error {
            Error::Count { .. } | Error::Length { .. } | Error::Offsets { .. } | Error::NoLeaves => Self::Length,
            Error::Parameters { .. } | Error::VerifyingKey(_) => Self::Argument,
            Error::Backend { .. } => Self::Backend,
            Error::Threads { .. } => Self::Threads,
            Error::BrokenOff => Self::BrokenOff,
        }
    }
}

impl From<DelayError> for Status {
    fn from(error: DelayError) -> Self {
        match error {
            DelayError::Modulus(_) | DelayError::Zero | DelayError::Evaluate(EvaluateError::Trivial) => Self::Argument,
            DelayError::Evaluate(EvaluateError::Foreign { .. } | EvaluateError::Mistake) => Self::Internal,
        }
    }
}
