//! Operations. The safety requirements, the same for all functions, are at the beginning of the header.
#![allow(clippy::missing_safety_doc, reason = "the texts are those of the header, which has it at its beginning")]

use wire::{AccountId, TransactionId, U16, U32, U64};

use crate::error::run;
use crate::failure::Failure;
use crate::id::FreshIds;
use crate::memory::{Output, id, reference};
use crate::{ClientStatus, Command, Id};

/// Flag of an operation: its transaction id is a UUIDv7, as those of turnpike_transaction_new. A node never executes
/// a repetition of it, however late. Without the flag a node recognises repetitions only for the retry time of
/// turnpike_info; the library stops its own before that.
pub const TURNPIKE_OPERATION_TIMED: u8 = 1;

const _: () = assert!(TURNPIKE_OPERATION_TIMED == wire::Operation::TIMED);

/// An operation, 64 bytes, in the byte order of the machine.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// A turnpike_command.
    pub command: u8,
    /// 0 or TURNPIKE_OPERATION_TIMED.
    pub flags: u8,
    /// Zero.
    pub reserved: u16,
    /// Code of the contract that the operation belongs to, which the ledger does not interpret; or when the hold that
    /// the operation makes or ends expires, in seconds since the Unix epoch, 0 for never.
    pub contract: u32,
    /// Names the operation, together with its source. If it is zero and not marked as timed, the call that sends or
    /// signs the operation writes a new id and the flag here, so that the caller can repeat the same operation.
    pub transaction: Id,
    /// The account that the operation is about.
    pub source: Id,
    /// The receiver of a transfer or of a hold, or the payer of the deposit for a new account; otherwise zero.
    pub destination: Id,
    /// The amount, in the ledger's units; zero for TURNPIKE_COMMAND_REFER, and for TURNPIKE_COMMAND_CREATE without
    /// payer.
    pub amount: u64,
}

const _: () = assert!(size_of::<Operation>() == 64);

impl Operation {
    pub(crate) fn new(command: Command, source: Id, destination: Id, amount: u64) -> Self {
        Self { command: command as u8, source, destination, amount, ..Self::default() }
    }

    /// Checks the reserved field, and gives the operation an id if it has none.
    pub(crate) fn prepare(&mut self, ids: &mut FreshIds) -> Result<(), Failure> {
        if self.reserved != 0 {
            let message = "the reserved field of an operation is not zero".into();
            return Err(Failure::argument(ClientStatus::TurnpikeArgument, message));
        }
        if self.transaction.is_zero() && self.flags & TURNPIKE_OPERATION_TIMED == 0 {
            self.transaction = ids.next()?;
            self.flags |= TURNPIKE_OPERATION_TIMED;
        }
        Ok(())
    }

    /// Whether a repetition is harmless at any time: the id carries a time, or the operation only reads.
    pub(crate) fn is_recognised_for_ever(&self) -> bool {
        self.flags & TURNPIKE_OPERATION_TIMED != 0
            || wire::Command::try_from(self.command).is_ok_and(|command| !command.is_executed())
    }

    /// The operation on the wire.
    #[inline]
    pub(crate) fn to_wire(self) -> wire::Operation {
        wire::Operation {
            flags: self.flags,
            command: self.command,
            status: U16::ZERO,
            contract: U32::new(self.contract),
            transaction: TransactionId(self.transaction.bytes),
            source: AccountId(self.source.bytes),
            destination: AccountId(self.destination.bytes),
            amount: U64::new(self.amount),
        }
    }

    /// An operation on the wire.
    pub(crate) fn from_wire(operation: &wire::Operation) -> Self {
        Self {
            command: operation.command,
            flags: operation.flags,
            reserved: 0,
            contract: operation.contract.get(),
            transaction: Id { bytes: operation.transaction.0 },
            source: Id { bytes: operation.source.0 },
            destination: Id { bytes: operation.destination.0 },
            amount: operation.amount(),
        }
    }
}

/// # Safety
///
/// `operation` is NULL or to memory for an operation, and the other two are NULL or to ids, which nobody else uses
/// until the call that has the pointers returns.
unsafe fn fill(
    operation: *mut Operation,
    command: Command,
    source: *const Id,
    destination: Option<*const Id>,
    amount: u64,
    contract: u32,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(std::ptr::null_mut(), || {
            let output = Output::required(operation)?;
            let (source, destination) = (id(source)?, destination.map(|pointer| id(pointer)).transpose()?);
            let operation = Operation::new(command, source, destination.unwrap_or_default(), amount);
            output.set(Operation { contract, ..operation });
            Ok(())
        })
    }
}

/// Fills an operation that creates an account, with a balance of 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_operation_create(operation: *mut Operation, account: *const Id) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe { fill(operation, Command::Create, account, None, 0, 0) }
}

/// Fills an operation that creates a keyed account with a deposit that another account pays. The deposit leaves
/// circulation. Only the payer's key can sign it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_operation_create_for(
    operation: *mut Operation,
    account: *const Id,
    payer: *const Id,
    deposit: u64,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe { fill(operation, Command::Create, account, Some(payer), deposit, 0) }
}

/// Fills an operation that creates an account in an asset, which is not 0. Nothing is paid between accounts of
/// different assets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_operation_open(
    operation: *mut Operation,
    account: *const Id,
    asset: u32,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe { fill(operation, Command::Open, account, None, 0, asset) }
}

/// Fills an operation that creates a keyed account in an asset, as turnpike_operation_create_for does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_operation_open_for(
    operation: *mut Operation,
    account: *const Id,
    payer: *const Id,
    deposit: u64,
    asset: u32,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe { fill(operation, Command::Open, account, Some(payer), deposit, asset) }
}

/// Fills the id under which a balance proof states the asset of an account that has another asset than 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_asset_id(asset_id: *mut Id, account: *const Id) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(std::ptr::null_mut(), || {
            let output = Output::required(asset_id)?;
            output.set(Id { bytes: spv::asset_id(&id(account)?.bytes) });
            Ok(())
        })
    }
}

/// Fills an operation that issues new money to an account.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_operation_issue(
    operation: *mut Operation,
    account: *const Id,
    amount: u64,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe { fill(operation, Command::Issue, account, None, amount, 0) }
}

/// Fills an operation that moves money from the source to the destination.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_operation_transfer(
    operation: *mut Operation,
    source: *const Id,
    destination: *const Id,
    amount: u64,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe { fill(operation, Command::Transfer, source, Some(destination), amount, 0) }
}

/// Fills an operation that reserves an amount of the source for the destination, until it expires: `expiry` is in
/// seconds since the Unix epoch, 0 for never. The destination ends the hold by turnpike_operation_capture or
/// turnpike_operation_release; once it has expired, the source can by turnpike_operation_reclaim.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_operation_hold(
    operation: *mut Operation,
    source: *const Id,
    destination: *const Id,
    amount: u64,
    expiry: u32,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe { fill(operation, Command::Hold, source, Some(destination), amount, expiry) }
}

/// Fills the end of a hold.
///
/// # Safety
///
/// `operation` is NULL or to memory for an operation, and `hold` is NULL or to an operation that nobody else uses until
/// the call that has the pointers returns.
unsafe fn end(
    operation: *mut Operation,
    hold: *const Operation,
    of_hold: impl FnOnce(&wire::Operation) -> wire::Operation,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(std::ptr::null_mut(), || {
            let output = Output::required(operation)?;
            let hold = *reference(hold)?;
            if hold.command != Command::Hold as u8 || hold.transaction.is_zero() {
                let message = "a hold is named by its operation, with the transaction id that it was sent with".into();
                return Err(Failure::argument(ClientStatus::TurnpikeArgument, message));
            }
            output.set(Operation::from_wire(&of_hold(&hold.to_wire())));
            Ok(())
        })
    }
}

/// Fills an operation that ends a hold: the destination receives the amount, which may be less than is held, and the
/// source gets the rest back. `hold` is the operation that made it, with its transaction id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_operation_capture(
    operation: *mut Operation,
    hold: *const Operation,
    amount: u64,
) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe { end(operation, hold, |hold| wire::Operation::capture(hold, amount)) }
}

/// Fills an operation by which the destination ends a hold and gives all of it back to the source. `hold` is the
/// operation that made it, with its transaction id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_operation_release(operation: *mut Operation, hold: *const Operation) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe { end(operation, hold, wire::Operation::release) }
}

/// Fills an operation by which the source takes back all of an expired hold. `hold` is the operation that made it, with
/// its transaction id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_operation_reclaim(operation: *mut Operation, hold: *const Operation) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe { end(operation, hold, wire::Operation::reclaim) }
}

/// Fills an operation that freezes an account: it receives, but cannot pay. An issuer signs for an account with a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_operation_freeze(operation: *mut Operation, account: *const Id) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe { fill(operation, Command::Freeze, account, None, 0, 0) }
}

/// Fills an operation that lets a frozen account pay again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_operation_unfreeze(operation: *mut Operation, account: *const Id) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe { fill(operation, Command::Unfreeze, account, None, 0, 0) }
}

/// Fills an operation that closes an account, whose balance must be 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_operation_close(operation: *mut Operation, account: *const Id) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe { fill(operation, Command::Close, account, None, 0, 0) }
}

/// Fills an operation that reads the balance of an account.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_operation_refer(operation: *mut Operation, account: *const Id) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe { fill(operation, Command::Refer, account, None, 0, 0) }
}
