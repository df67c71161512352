//! Executing operations, one by one and in batches. The safety requirements, the same for all functions, are at the
//! beginning of the header.
#![allow(clippy::missing_safety_doc, reason = "the texts are those of the header, which has it at its beginning")]

use std::sync::Arc;

use wire::{Promise, SignedOperation};

use crate::error::run_execution;
use crate::failure::Failure;
use crate::frames::{Entries, Order};
use crate::id::FreshIds;
use crate::memory::{Output, id, reference, slice, slice_mut};
use crate::operation::TURNPIKE_OPERATION_TIMED;
use crate::options::promise;
use crate::signer::Signed;
use crate::{Client, ClientStatus, Command, Error, Execution, Id, Operation, OperationResult};

/// Flag of turnpike_submit and turnpike_submit_signed: frames may be executed in any order, so that several are in
/// flight at once. The operations of one frame (1,023 unsigned ones, or 355 signed ones of the same promise) keep
/// theirs.
pub const TURNPIKE_SUBMIT_ANY_ORDER: u32 = 1;

fn order(flags: u32) -> Result<Order, Failure> {
    match flags {
        0 => Ok(Order::AsGiven),
        TURNPIKE_SUBMIT_ANY_ORDER => Ok(Order::Any),
        flags => {
            let message = format!("{flags:#x} has bits that are not a flag of turnpike_submit");
            Err(Failure::argument(ClientStatus::TurnpikeArgument, message))
        }
    }
}

/// The promise that a call requests: that of the client's options by default.
fn requested(client: &Client, code: u8) -> Result<Promise, Failure> {
    let requested = promise(code)?;
    Ok(if requested == Promise::Default { client.pool.settings().client.promise } else { requested })
}

/// Executes one operation that has an id.
fn execute(
    client: &Client,
    operation: &Operation,
    promise: Promise,
    output: Output<OperationResult>,
) -> Result<Execution, Failure> {
    if !operation.is_recognised_for_ever() {
        client.pool.limit_retries()?;
    }
    let (result, detail) =
        client.pool.share(*operation, promise).map_err(|failure| of_call(failure, operation, output))?;
    output.set(result);
    finish(operation, &result, detail.as_deref())
}

/// The failure of a call that got no result: that of its operation.
fn of_call(failure: Failure, operation: &Operation, output: Output<OperationResult>) -> Failure {
    let result = OperationResult::failed(failure.status, failure.execution).of_command(operation.command);
    output.set(result);
    Failure { transaction: wire::TransactionId(operation.transaction.bytes), execution: result.execution, ..failure }
}

fn finish(operation: &Operation, result: &OperationResult, detail: Option<&str>) -> Result<Execution, Failure> {
    match result.status {
        ClientStatus::TurnpikeOk => Ok(result.execution),
        _ => Err(Failure::of_operation(operation, result, detail)),
    }
}

/// Executes many operations. `operation` returns the one at an index.
fn submit(
    client: &Client,
    entries: Entries<'_>,
    order: Order,
    results: &mut [OperationResult],
    operation: impl Fn(usize) -> Operation,
) -> Result<Execution, Failure> {
    if results.is_empty() {
        return Ok(Execution::None);
    }
    let submitted = client.pool.submit(entries, order, results);
    let detail = submitted.inspect_err(|failure| {
        results.fill(OperationResult::failed(failure.status, failure.execution));
    })?;
    finish_all(results, operation, detail)
}

/// The outcome of a call with at least one operation.
fn finish_all(
    results: &[OperationResult],
    operation: impl Fn(usize) -> Operation,
    detail: Option<Arc<str>>,
) -> Result<Execution, Failure> {
    let all_ok = results.iter().all(|result| result.status == ClientStatus::TurnpikeOk);
    if all_ok {
        return Ok(Execution::Done);
    }
    let index = deciding(results);
    let failure = Failure::of_operation(&operation(index), &results[index], detail.as_deref());
    if results.iter().all(OperationResult::is_answered) {
        return Err(Failure { status: ClientStatus::TurnpikeSomeNotExecuted, ..failure });
    }
    let is_known = results.iter().all(|result| result.execution != Execution::Unknown);
    Err(Failure { execution: if is_known { Execution::None } else { Execution::Unknown }, ..failure })
}

/// The operation whose result describes a call that failed: the first without a reply, otherwise the one after which
/// no other was sent, otherwise the first that was not executed.
fn deciding(results: &[OperationResult]) -> usize {
    let is_unsent = |result: &OperationResult| result.status == ClientStatus::TurnpikeNotSent;
    let has_failed = |result: &OperationResult| result.status != ClientStatus::TurnpikeOk;
    if let Some(index) = results.iter().position(|result| !result.is_answered() && !is_unsent(result)) {
        return index;
    }
    if let Some(unsent) = results.iter().position(is_unsent) {
        return results[..unsent].iter().rposition(has_failed).unwrap_or(unsent);
    }
    results.iter().position(has_failed).unwrap_or_default()
}

/// # Safety
///
/// `client` is a client or NULL. `transaction` and `result` are NULL or to a value, which nobody else uses until the
/// call that has the pointers returns.
unsafe fn execute_new(
    client: *const Client,
    operation: impl FnOnce() -> Result<Operation, Failure>,
    transaction: *mut Id,
    result: *mut OperationResult,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run_execution(error, || {
            let (client, output) = (reference(client)?, Output::optional(result)?);
            let mut operation = operation()?;
            let given = if transaction.is_null() { Id::default() } else { id(transaction)? };
            if !given.is_zero() {
                (operation.transaction, operation.flags) = (given, TURNPIKE_OPERATION_TIMED);
            }
            operation.prepare(&mut FreshIds::new()?)?;
            Output::optional(transaction)?.set(operation.transaction);
            execute(client, &operation, client.pool.settings().client.promise, output)
        })
    }
}

/// Creates an account, with a balance of 0.
///
/// `transaction` is the operation's id: if it is zero, a new one is written to it before the operation is sent;
/// otherwise it must be an id of turnpike_transaction_new, and a repetition with the same id is executed only once.
/// It may be NULL; turnpike_error has the id as well. `result` may be NULL. The promise is that of the client's
/// options.
///
/// Returns TURNPIKE_OK if the operation was executed, otherwise the status of the ledger or the failure of the
/// client. Only `execution` says whether it may have been executed nevertheless.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_create(
    client: *const Client,
    account: *const Id,
    transaction: *mut Id,
    result: *mut OperationResult,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    let operation = || Ok(Operation::new(Command::Create, unsafe { id(account) }?, Id::default(), 0));
    // SAFETY: the caller's promise.
    unsafe { execute_new(client, operation, transaction, result, error) }
}

/// Issues new money to an account; otherwise like turnpike_create.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_issue(
    client: *const Client,
    account: *const Id,
    amount: u64,
    transaction: *mut Id,
    result: *mut OperationResult,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    let operation = || Ok(Operation::new(Command::Issue, unsafe { id(account) }?, Id::default(), amount));
    // SAFETY: the caller's promise.
    unsafe { execute_new(client, operation, transaction, result, error) }
}

/// Transfers money; otherwise like turnpike_create.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_transfer(
    client: *const Client,
    source: *const Id,
    destination: *const Id,
    amount: u64,
    transaction: *mut Id,
    result: *mut OperationResult,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    let accounts = || unsafe { Ok::<_, Failure>((id(source)?, id(destination)?)) };
    let operation =
        || accounts().map(|(source, destination)| Operation::new(Command::Transfer, source, destination, amount));
    // SAFETY: the caller's promise.
    unsafe { execute_new(client, operation, transaction, result, error) }
}

/// Reads the balance of an account into `balance`, which may be NULL. Nothing proves it; turnpike_prove_balance does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_refer(
    client: *const Client,
    account: *const Id,
    balance: *mut u64,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        let mut result = OperationResult::NOT_SENT;
        let operation = || Ok(Operation::new(Command::Refer, id(account)?, Id::default(), 0));
        let status = execute_new(client, operation, std::ptr::null_mut(), &raw mut result, error);
        if status != ClientStatus::TurnpikeOk {
            return status;
        }
        match Output::optional(balance) {
            Ok(output) => output.set(result.value),
            Err(_) => return run_execution(error, || Output::optional(balance).map(|_| Execution::None)),
        }
        status
    }
}

/// Executes one operation at a turnpike_promise; TURNPIKE_PROMISE_DEFAULT is that of the client's options. Operations
/// of several threads share frames.
///
/// If the operation has no transaction id, a new one is written to it. Repeating the operation executes it once.
/// `result` may be NULL. Returns as turnpike_create.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_execute(
    client: *const Client,
    operation: *mut Operation,
    promise: u8,
    result: *mut OperationResult,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run_execution(error, || {
            let (client, output) = (reference(client)?, Output::optional(result)?);
            let operation = one(slice_mut(operation, 1)?)?;
            let promise = requested(client, promise)?;
            operation.prepare(&mut FreshIds::new()?)?;
            execute(client, operation, promise, output)
        })
    }
}

/// Waits until an operation that was sent before, also by another process, holds at a turnpike_promise. Repeats the
/// operation, which must have the transaction id that it was sent with (TURNPIKE_ARGUMENT without one), so it is
/// executed if it was not yet. Otherwise like turnpike_execute: the result is the first one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_wait_for_promise(
    client: *const Client,
    operation: *const Operation,
    promise: u8,
    result: *mut OperationResult,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run_execution(error, || {
            let (client, output) = (reference(client)?, Output::optional(result)?);
            let mut operation = *reference(operation)?;
            let promise = requested(client, promise)?;
            if operation.flags & TURNPIKE_OPERATION_TIMED == 0 {
                let message = "the operation has no transaction id with a time, by which a node recognises it".into();
                return Err(Failure::argument(ClientStatus::TurnpikeArgument, message));
            }
            operation.prepare(&mut FreshIds::new()?)?;
            execute(client, &operation, promise, output)
        })
    }
}

/// Executes `count` operations in order, independently of each other: a batch is not atomic. Sends up to 1,023 in a
/// frame, and by default one frame after the other; `flags` is 0 or TURNPIKE_SUBMIT_ANY_ORDER. `promise` is as in
/// turnpike_execute.
///
/// Writes new transaction ids to the operations that have none, before the first is sent: to repeat the call after a
/// failure, pass the same array. Writes `count` results.
///
/// Returns TURNPIKE_OK only if every operation was executed, and TURNPIKE_SOME_NOT_EXECUTED if each has a result of
/// the ledger. Otherwise at least one has none: after a frame fails, the operations of later ones are not sent
/// (TURNPIKE_NOT_SENT).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_submit(
    client: *const Client,
    operations: *mut Operation,
    count: usize,
    promise: u8,
    flags: u32,
    results: *mut OperationResult,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run_execution(error, || {
            let (client, operations) = (reference(client)?, slice_mut(operations, count)?);
            let results = prepare_results(results, count)?;
            let (promise, order) = (requested(client, promise)?, order(flags)?);
            let mut ids = FreshIds::new()?;
            operations.iter_mut().try_for_each(|operation| operation.prepare(&mut ids))?;
            if !operations.iter().all(Operation::is_recognised_for_ever) {
                client.pool.limit_retries()?;
            }
            let entries = Entries::Operations(operations, promise);
            submit(client, entries, order, results, |index| operations[index])
        })
    }
}

/// Executes one signed operation; otherwise like turnpike_execute. Its promise is the one that it was signed with.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_execute_signed(
    client: *const Client,
    signed: *const Signed,
    result: *mut OperationResult,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run_execution(error, || {
            let (client, output) = (reference(client)?, Output::optional(result)?);
            let signed = [reference(signed)?.to_wire()];
            let operation = Operation::from_wire(&signed[0].operation);
            let mut results = [OperationResult::NOT_SENT];
            let submitted = client.pool.submit(Entries::Signed(&signed), Order::AsGiven, &mut results);
            let detail = submitted.map_err(|failure| of_call(failure, &operation, output))?;
            output.set(results[0]);
            finish(&operation, &results[0], detail.as_deref())
        })
    }
}

/// Executes `count` signed operations; otherwise like turnpike_submit. A frame holds up to 355 successive ones of the
/// same promise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_submit_signed(
    client: *const Client,
    signed: *const Signed,
    count: usize,
    flags: u32,
    results: *mut OperationResult,
    error: *mut Error,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run_execution(error, || {
            let (client, signed) = (reference(client)?, slice(signed, count)?);
            let results = prepare_results(results, count)?;
            let order = order(flags)?;
            let signed: Vec<SignedOperation> = signed.iter().map(|signed| signed.to_wire()).collect();
            let operation = |index: usize| Operation::from_wire(&signed[index].operation);
            submit(client, Entries::Signed(&signed), order, results, operation)
        })
    }
}

fn one(operations: &mut [Operation]) -> Result<&mut Operation, Failure> {
    operations.first_mut().ok_or_else(Failure::internal)
}

/// The results of a call, none of which is sent yet. Their memory may be uninitialised.
///
/// # Safety
///
/// The pointer is to memory for `count` results, which nobody else uses until the call that has the pointer returns.
unsafe fn prepare_results<'a>(
    results: *mut OperationResult,
    count: usize,
) -> Result<&'a mut [OperationResult], Failure> {
    // SAFETY: the caller's promise; every bit pattern is a valid value of uninitialised memory.
    let memory = unsafe { slice_mut(results.cast::<std::mem::MaybeUninit<OperationResult>>(), count) }?;
    memory.fill(std::mem::MaybeUninit::new(OperationResult::NOT_SENT));
    // SAFETY: every result was just set.
    unsafe { slice_mut(results, count) }
}
