use std::ffi::{CStr, CString, c_char};
use std::sync::LazyLock;

use shared::RuleCode;

use crate::Status;

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("a version has no zero byte"),
};

/// The version of the library, for instance "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn turnpike_verify_version() -> *const c_char {
    VERSION.as_ptr()
}

/// Describes a status.
#[unsafe(no_mangle)]
pub extern "C" fn turnpike_status_message(status: u8) -> *const c_char {
    let known = Status::ALL.into_iter().find(|known| *known as u8 == status);
    known.map_or(c"not a status", Status::message).as_ptr()
}

/// Describes the code of an item.
#[unsafe(no_mangle)]
pub extern "C" fn turnpike_rule_message(code: u8) -> *const c_char {
    static MESSAGES: LazyLock<Vec<(u8, CString)>> = LazyLock::new(|| {
        let message = |rule: RuleCode| (rule as u8, CString::new(rule.message()).unwrap_or_default());
        RuleCode::ALL.map(message).into()
    });
    match code {
        shared::VALID => c"no rule is broken",
        shared::NOT_VERIFIED => c"the item was not verified",
        code => MESSAGES.iter().find(|(rule, _)| *rule == code).map_or(c"not a rule", |(_, message)| message),
    }
    .as_ptr()
}
