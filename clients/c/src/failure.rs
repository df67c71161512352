//! Failures of calls, with their texts.

use client::Error as ClientError;
use spv::{HeaderError, IndexProofError, ProofError};
use wire::{AccountId, TransactionId};

use crate::{ClientStatus, Execution, Operation, OperationResult};

/// Why a call failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: ClientStatus,
    pub(crate) refusal: ClientStatus,
    pub(crate) execution: Execution,
    pub(crate) transaction: TransactionId,
    pub(crate) value: u64,
    pub(crate) message: String,
}

impl Failure {
    /// A failure of a call that executes nothing.
    pub(crate) fn new(status: ClientStatus, message: String) -> Self {
        let (refusal, transaction) = (ClientStatus::TurnpikeOk, TransactionId::ZERO);
        Self { status, refusal, execution: Execution::None, transaction, value: 0, message }
    }

    /// A mistake in the caller's program, with the advice of its status.
    pub(crate) fn argument(status: ClientStatus, message: String) -> Self {
        let advice = status.advice().to_string_lossy();
        Self::new(status, format!("{message}; {advice}"))
    }

    /// A failure after which operations may have been executed.
    pub(crate) fn internal() -> Self {
        let status = ClientStatus::TurnpikeInternal;
        Self { execution: Execution::Unknown, ..Self::new(status, describe(status)) }
    }

    /// The failure of a status, with its text and advice.
    pub(crate) fn of(status: ClientStatus) -> Self {
        Self::new(status, describe(status))
    }

    /// The failure of an operation, with the reason that no connection could be used, if any.
    pub(crate) fn of_operation(operation: &Operation, result: &OperationResult, detail: Option<&str>) -> Self {
        let transaction = TransactionId(operation.transaction.bytes);
        let OperationResult { status, refusal, execution, value, .. } = *result;
        let message = match wire::Status::try_from(status as u16) {
            Ok(ledger_status) => of_ledger(operation, ledger_status, value),
            Err(_) => of_client(transaction, result, detail),
        };
        Self { status, refusal, execution, transaction, value, message }
    }
}

/// Text and advice of a status.
fn describe(status: ClientStatus) -> String {
    let (text, advice) = (status.text().to_string_lossy(), status.advice().to_string_lossy());
    if advice.is_empty() { text.into_owned() } else { format!("{text}; {advice}") }
}

/// The Rust client's text for an operation that the ledger did not execute.
fn of_ledger(operation: &Operation, status: wire::Status, value: u64) -> String {
    let (transaction, source_account) = (TransactionId(operation.transaction.bytes), AccountId(operation.source.bytes));
    match wire::Command::try_from(operation.command) {
        Ok(command) => ClientError::Operation { command, transaction, source_account, status, value }.to_string(),
        Err(_) => format!("transaction {transaction} of {source_account}: {status}"),
    }
}

/// The text of an operation without a result.
fn of_client(transaction: TransactionId, result: &OperationResult, detail: Option<&str>) -> String {
    let mut message = match detail {
        Some(detail) => detail.to_owned(),
        None => result.status.text().to_string_lossy().into_owned(),
    };
    if result.refusal != ClientStatus::TurnpikeOk {
        let name = result.refusal.name().to_string_lossy();
        message += &format!("; a node refused a later attempt with {name}");
    }
    match result.execution {
        Execution::Unknown => {
            message += &format!(
                "; transaction {transaction} may have been executed: repeat it with the same id, and it is executed only once"
            );
        }
        Execution::Done | Execution::None => {
            message += &format!("; {}", result.status.advice().to_string_lossy());
        }
    }
    message
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let message = error.to_string();
        let mut failure = Self::new(status_of(&error), message);
        if let Some(transaction) = error.transaction() {
            (failure.transaction, failure.execution) = (transaction, Execution::Unknown);
        }
        failure
    }
}

fn status_of(error: &ClientError) -> ClientStatus {
    use ClientStatus as Code;
    match error {
        ClientError::Refused(status) | ClientError::Operation { status, .. } => (*status).into(),
        ClientError::NoReply { .. } => Code::TurnpikeNoReply,
        ClientError::Unreachable { .. } => Code::TurnpikeUnreachable,
        ClientError::Socket { .. } | ClientError::Random(_) | ClientError::Clock => Code::TurnpikeSystem,
        ClientError::WrongReply => Code::TurnpikeWrongReply,
        ClientError::TooLong(..) => Code::TurnpikeLength,
        ClientError::ReplyTooLarge { .. } => Code::TurnpikeReplyTooLarge,
        ClientError::Behind { .. } => Code::TurnpikeBehind,
        ClientError::WrongNetwork { .. } | ClientError::NothingInCommon => Code::TurnpikeWrongNetwork,
        ClientError::Header(error) => of_header(error),
        ClientError::BitcoinHeader(_) => Code::TurnpikeInvalidHeader,
        ClientError::Vouched(_) => Code::TurnpikeInvalidCertificate,
        ClientError::Reorganised(_) => Code::TurnpikeFork,
        ClientError::Proof(ProofError::UnknownBlock)
        | ClientError::IndexProof(IndexProofError::UnknownBlock)
        | ClientError::UnknownBlock => Code::TurnpikeUnknownBlock,
        ClientError::Proof(_) | ClientError::IndexProof(_) | ClientError::BitcoinProof(_) | ClientError::OtherProof => {
            Code::TurnpikeInvalidProof
        }
        ClientError::Option { .. } => Code::TurnpikeArgument,
        _ => Code::TurnpikeInternal,
    }
}

fn of_header(error: &HeaderError) -> ClientStatus {
    match error {
        HeaderError::WrongNetwork => ClientStatus::TurnpikeWrongNetwork,
        HeaderError::OtherReplicas
        | HeaderError::Succession(_)
        | HeaderError::OtherChange { .. }
        | HeaderError::Certificate(_)
        | HeaderError::Statement => ClientStatus::TurnpikeInvalidCertificate,
        _ => ClientStatus::TurnpikeInvalidHeader,
    }
}

impl From<HeaderError> for Failure {
    fn from(error: HeaderError) -> Self {
        Self::new(of_header(&error), error.to_string())
    }
}

impl From<ProofError> for Failure {
    fn from(error: ProofError) -> Self {
        ClientError::from(error).into()
    }
}

impl From<IndexProofError> for Failure {
    fn from(error: IndexProofError) -> Self {
        ClientError::from(error).into()
    }
}
