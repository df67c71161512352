//! The error of a call.

use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::failure::Failure;
use crate::{ClientStatus, Execution, Id};

/// Length of a message, including the zero byte that ends it.
const MESSAGE: usize = 992;

/// Describes the failure of a call, 1,024 bytes. The caller allocates it, on the stack for example, and the call
/// fills it, also if it succeeds.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Error {
    /// What the call returned.
    pub status: ClientStatus,
    /// As in turnpike_result.
    pub refusal: ClientStatus,
    /// Whether the operation was executed. Calls that only read have TURNPIKE_EXECUTION_NONE.
    pub execution: Execution,
    /// Zero.
    pub reserved: [u8; 3],
    /// As in turnpike_result.
    pub value: u64,
    /// The operation that failed, in a batch the first one; zero if the failure is not that of an operation.
    pub transaction: Id,
    /// What went wrong and what to do, in English: zero-terminated UTF-8, cut off if it is longer. Empty on success.
    pub message: [c_char; 992],
}

const _: () = assert!(size_of::<Error>() == 1024);

impl Error {
    fn from_failure(failure: &Failure) -> Self {
        let Failure { status, refusal, execution, value, .. } = *failure;
        let mut message = [0; MESSAGE];
        let end = failure.message.floor_char_boundary(MESSAGE - 1);
        for (to, from) in message.iter_mut().zip(failure.message[..end].bytes()) {
            *to = from as c_char;
        }
        let transaction = Id { bytes: failure.transaction.0 };
        Self { status, refusal, execution, reserved: [0; 3], value, transaction, message }
    }

    /// The error of a call that succeeded.
    fn none(execution: Execution) -> Self {
        Self { execution, ..Self::from_failure(&Failure::new(ClientStatus::TurnpikeOk, String::new())) }
    }
}

/// Runs the body of a function that executes nothing, and turns a failure or a panic into a status.
///
/// # Safety
///
/// `error` is NULL or to memory for an error, which nobody else uses until the call that has the pointer returns.
pub(crate) unsafe fn run(error: *mut Error, call: impl FnOnce() -> Result<(), Failure>) -> ClientStatus {
    let call = move || call().map(|()| Execution::None);
    // SAFETY: the caller's promise.
    unsafe { run_execution(error, call) }
}

/// The same for a function that executes operations.
///
/// # Safety
///
/// As [`run`].
pub(crate) unsafe fn run_execution(
    error: *mut Error,
    call: impl FnOnce() -> Result<Execution, Failure>,
) -> ClientStatus {
    if !error.is_null() && !error.is_aligned() {
        return ClientStatus::TurnpikePointer;
    }
    // A failure's text is made by code that can panic as well.
    let outcome = catch_unwind(AssertUnwindSafe(|| match call() {
        Ok(execution) => Error::none(execution),
        Err(failure) => Error::from_failure(&failure),
    }));
    let outcome = outcome.unwrap_or_else(|_| Error::from_failure(&Failure::internal()));
    let status = outcome.status;
    if !error.is_null() {
        // SAFETY: the caller's promise; the pointer was checked.
        unsafe { error.write(outcome) };
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_at_a_character() {
        let failure = Failure::new(ClientStatus::TurnpikeFork, "é".repeat(MESSAGE));
        let error = Error::from_failure(&failure);
        assert_eq!(error.message.iter().position(|&byte| byte == 0), Some(MESSAGE - 2));
    }

    #[test]
    fn a_panic_becomes_a_status() {
        let mut error = Error::none(Execution::None);
        // SAFETY: the error is local.
        let status = unsafe { run(&raw mut error, || panic!("on purpose")) };
        assert_eq!((status, error.status), (ClientStatus::TurnpikeInternal, ClientStatus::TurnpikeInternal));
        assert_eq!(error.execution, Execution::Unknown, "nobody knows how far it came");
    }
}
