//! Results of operations: what a reply, or its lack, proves about the execution.

use wire::{Promise, Status};

use crate::{ClientStatus, Command};

/// Whether a call executed an operation.
#[repr(u8)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Execution {
    /// It may have been executed, or may still be: repeat it with the same transaction id, and it is executed only
    /// once.
    #[default]
    Unknown = 0,
    /// It was executed.
    Done = 1,
    /// This call did not execute it. An earlier call with the same transaction id may have, if it ended as unknown.
    None = 2,
}

/// Result of an operation, 16 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationResult {
    /// The source's balance afterwards, in the ledger's units; with TURNPIKE_DEPOSIT_REQUIRED the minimum deposit of
    /// the node; 0 without a result.
    pub value: u64,
    /// TURNPIKE_OK if the operation was executed, otherwise the reason.
    pub status: ClientStatus,
    /// With TURNPIKE_NO_REPLY, how a node refused an attempt after another one had no reply, if it is known; otherwise
    /// TURNPIKE_OK.
    pub refusal: ClientStatus,
    /// The promise that the node made, a turnpike_promise: at least the requested one, except that a node without
    /// replicas answers TURNPIKE_PROMISE_FINAL with TURNPIKE_PROMISE_DURABLE. 0 without a result.
    pub promise: u8,
    /// Whether the operation was executed.
    pub execution: Execution,
    /// Zero.
    pub reserved: u16,
}

impl OperationResult {
    /// The result of an operation that was not sent.
    pub(crate) const NOT_SENT: Self = Self::failed(ClientStatus::TurnpikeNotSent, Execution::None);

    /// The result of an operation without a conclusive reply.
    pub(crate) const NO_REPLY: Self = Self::failed(ClientStatus::TurnpikeNoReply, Execution::Unknown);

    pub(crate) const fn failed(status: ClientStatus, execution: Execution) -> Self {
        Self { value: 0, status, refusal: ClientStatus::TurnpikeOk, promise: 0, execution, reserved: 0 }
    }

    /// The result of the status in a reply.
    ///
    /// `is_only_attempt` means that the request was sent once: then a refusal proves that it was not executed.
    /// Otherwise an earlier attempt, whose reply was lost, may have been executed before the node refused the
    /// repetition, unless the ledger itself decided: it gives a repetition the first result.
    pub(crate) fn from_reply(status: Status, value: u64, promise: Promise, is_only_attempt: bool) -> Self {
        let known = |execution| Self { value, promise: promise.code(), ..Self::failed(status.into(), execution) };
        match status {
            Status::Ok => known(Execution::Done),
            status if status.is_journalled() => known(Execution::None),
            Status::ZeroAmount | Status::SelfTransfer | Status::TransactionIdReused => known(Execution::None),
            Status::Expired | Status::NotFinal => known(Execution::Unknown),
            _ if is_only_attempt => known(Execution::None),
            status => Self { refusal: status.into(), ..Self::NO_REPLY },
        }
    }

    /// The same for an operation of this command: reads execute nothing.
    pub(crate) fn of_command(self, command: u8) -> Self {
        if command == Command::Refer as u8 && self.execution == Execution::Unknown {
            return Self { execution: Execution::None, ..self };
        }
        self
    }

    /// Whether a node answered with a result.
    pub(crate) fn is_answered(&self) -> bool {
        (self.status as u16) < ClientStatus::TurnpikeSomeNotExecuted as u16
    }
}

impl From<Status> for ClientStatus {
    fn from(status: Status) -> Self {
        // The generator makes both from the same list.
        Self::ALL.into_iter().find(|known| *known as u16 == status.code()).unwrap_or(Self::TurnpikeInternal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_maps_to_the_same_code_and_name() {
        for status in Status::ALL {
            let mapped = ClientStatus::from(*status);
            assert_eq!(mapped as u16, status.code());
            assert_eq!(mapped.name().to_str(), Ok(status.name()));
            let (text, advice) = (mapped.text().to_string_lossy(), mapped.advice().to_string_lossy());
            let joined = if advice.is_empty() { text.into_owned() } else { format!("{text}; {advice}") };
            assert_eq!(joined, status.advice());
        }
        let failures = ClientStatus::ALL.into_iter().filter(|status| *status as u16 >= 256);
        assert_eq!(Status::ALL.len() + failures.count(), ClientStatus::ALL.len());
    }

    #[test]
    fn a_refusal_after_a_lost_attempt_proves_nothing() {
        for status in Status::ALL {
            let once = OperationResult::from_reply(*status, 7, Promise::Durable, true);
            let again = OperationResult::from_reply(*status, 7, Promise::Durable, false);
            let may_be_executed = matches!(status, Status::Expired | Status::NotFinal);
            let expected = match status {
                Status::Ok => Execution::Done,
                _ if may_be_executed => Execution::Unknown,
                _ => Execution::None,
            };
            assert_eq!((once.execution, once.status), (expected, (*status).into()), "{status}");
            let is_form = matches!(status, Status::ZeroAmount | Status::SelfTransfer | Status::TransactionIdReused);
            if status.is_journalled() || is_form || may_be_executed {
                assert_eq!(again, once, "{status}");
            } else {
                let found = (again.status, again.execution, again.refusal, again.value);
                let expected = (ClientStatus::TurnpikeNoReply, Execution::Unknown, (*status).into(), 0);
                assert_eq!(found, expected, "{status}");
            }
        }
    }
}
