//! Texts of statuses, and the version.

use std::ffi::{CStr, c_char};

use crate::ClientStatus;

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("a version has no zero byte"),
};

fn find(status: u16) -> Option<ClientStatus> {
    ClientStatus::ALL.into_iter().find(|known| *known as u16 == status)
}

/// The version of the library, for example "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn turnpike_version() -> *const c_char {
    VERSION.as_ptr()
}

/// The name of a turnpike_client_status, for example "INSUFFICIENT_BALANCE".
#[unsafe(no_mangle)]
pub extern "C" fn turnpike_status_name(status: u16) -> *const c_char {
    find(status).map_or(c"UNKNOWN", ClientStatus::name).as_ptr()
}

/// What a turnpike_client_status means, for example "the paying account holds less than the amount".
#[unsafe(no_mangle)]
pub extern "C" fn turnpike_status_text(status: u16) -> *const c_char {
    find(status).map_or(c"this version does not know the status", ClientStatus::text).as_ptr()
}

/// What to do about a turnpike_client_status, for example "pay less, or fund it first"; empty if nothing is to be
/// done.
#[unsafe(no_mangle)]
pub extern "C" fn turnpike_status_advice(status: u16) -> *const c_char {
    find(status).map_or(c"use a library of the node's version", ClientStatus::advice).as_ptr()
}
