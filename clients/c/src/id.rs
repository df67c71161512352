//! Ids of accounts and transactions. The safety requirements, the same for all functions, are at the beginning of the
//! header.
#![allow(clippy::missing_safety_doc, reason = "the texts are those of the header, which has it at its beginning")]

use std::ffi::c_char;
use std::time::{SystemTime, UNIX_EPOCH};

use secp256k1::PublicKey;
use spv::hash::account_hash;
use wire::{AccountId, TransactionId};

use crate::error::run;
use crate::failure::Failure;
use crate::memory::{Output, bytes, id, text};
use crate::{ClientStatus, Error};

/// Length of the text of an id, including the zero byte that ends it.
pub const TURNPIKE_ID_TEXT: usize = 33;

/// Id of an account or of a transaction, 16 bytes, most significant first. All zeros stand for no id.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Id {
    /// The bytes.
    pub bytes: [u8; 16],
}

impl Id {
    pub(crate) fn is_zero(&self) -> bool {
        self.bytes == [0; 16]
    }
}

/// A source of transaction ids: UUIDv7 with the present time. Draws random bits for many ids at once.
#[derive(Debug)]
pub(crate) struct FreshIds {
    milliseconds: u64,
    random: [u8; Self::BYTES],
    used: usize,
}

impl FreshIds {
    /// 64 ids per system call.
    const BYTES: usize = 64 * 16;

    pub(crate) fn new() -> Result<Self, Failure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| client::Error::Clock)?;
        let milliseconds = u64::try_from(now.as_millis()).map_err(|_| client::Error::Clock)?;
        Ok(Self { milliseconds, random: [0; Self::BYTES], used: Self::BYTES })
    }

    pub(crate) fn next(&mut self) -> Result<Id, Failure> {
        if self.used == Self::BYTES {
            getrandom::fill(&mut self.random).map_err(client::Error::Random)?;
            self.used = 0;
        }
        let mut bits = [0; 16];
        bits.copy_from_slice(&self.random[self.used..self.used + 16]);
        self.used += 16;
        Ok(Id { bytes: TransactionId::timed(self.milliseconds, u128::from_ne_bytes(bits)).0 })
    }
}

/// Creates a transaction id: a UUIDv7 (RFC 9562) with the present time. Mark its operation with
/// TURNPIKE_OPERATION_TIMED.
///
/// A program that stores the id before it sends the operation can repeat the operation after a crash. TURNPIKE_SYSTEM
/// if the system's clock is wrong or has no random bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_transaction_new(transaction: *mut Id, error: *mut Error) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(error, || {
            let output = Output::required(transaction)?;
            output.set(FreshIds::new()?.next()?);
            Ok(())
        })
    }
}

/// The open account with a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_account_from_number(number: u64, account: *mut Id) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(std::ptr::null_mut(), || {
            Output::required(account)?.set(Id { bytes: AccountId::from(u128::from(number)).0 });
            Ok(())
        })
    }
}

/// The account that a public key of secp256k1 is bound to. The key has 33 bytes, in compressed form;
/// TURNPIKE_ARGUMENT if it is not a point of the curve.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_account_from_key(key: *const u8, account: *mut Id) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(std::ptr::null_mut(), || {
            let (key, output) = (bytes::<33>(key)?, Output::required(account)?);
            PublicKey::from_slice(&key)
                .map_err(|_| Failure::argument(ClientStatus::TurnpikeArgument, "the key is not a point".into()))?;
            output.set(Id { bytes: AccountId::keyed(&account_hash(&key)).0 });
            Ok(())
        })
    }
}

/// Parses an id: 32 hexadecimal digits, up to 32 of them after 0x, or a decimal number below 2^64. TURNPIKE_ARGUMENT
/// if the text has another form.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_id_parse(text: *const c_char, id: *mut Id) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(std::ptr::null_mut(), || {
            let (text, output) = (self::text(text)?, Output::required(id)?);
            let parsed: AccountId = text.parse().map_err(|error: wire::ParseIdError| {
                Failure::argument(ClientStatus::TurnpikeArgument, error.to_string())
            })?;
            output.set(Id { bytes: parsed.0 });
            Ok(())
        })
    }
}

/// Writes an id as 32 hexadecimal digits and a zero byte: TURNPIKE_ID_TEXT characters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_id_format(id: *const Id, text: *mut c_char) -> ClientStatus {
    // SAFETY: the caller's promise.
    unsafe {
        run(std::ptr::null_mut(), || {
            let (id, output) = (self::id(id)?, Output::required(text.cast::<[c_char; TURNPIKE_ID_TEXT]>())?);
            let mut written = [0; TURNPIKE_ID_TEXT];
            for (to, from) in written.iter_mut().zip(AccountId(id.bytes).to_string().bytes()) {
                *to = from as c_char;
            }
            output.set(written);
            Ok(())
        })
    }
}
