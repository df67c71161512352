use std::panic::{AssertUnwindSafe, catch_unwind};

use shared::{DelayError, Error, EvaluateError};

/// Outcome of a call. turnpike_status_message describes it.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The call completed, and every item is valid.
    Ok = 0,
    /// The call completed, and at least one item is invalid: see its code.
    Invalid = 1,
    /// A required pointer is NULL, or is not aligned for its type.
    Pointer = 2,
    /// A length exceeds any memory, offsets decrease, a header has the wrong length, or a tree has no leaves.
    Length = 3,
    /// Unknown backend, scheme or policy, unsupported Equihash parameters, invalid verifying key or modulus, zero
    /// squarings, or a text that is not UTF-8.
    Argument = 4,
    /// This processor, or the scheme, does not support the backend.
    Backend = 5,
    /// The system could not start the threads.
    Threads = 6,
    /// The library failed. Please report its output on standard error.
    Internal = 7,
    /// The progress callback stopped the call.
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

    /// Runs the body of a function, and turns a panic into a status.
    pub(crate) fn run(call: impl FnOnce() -> Result<Self, Self>) -> Self {
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(Ok(status) | Err(status)) => status,
            Err(_) => Self::Internal,
        }
    }

    /// Status for codes that have all been set.
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
