//! Any text as an id or hexadecimal digits: parsed values round-trip.
#![no_main]

// The program is not a library; this is its parser.
#[allow(dead_code)]
#[path = "../../crates/turnpike/src/hex.rs"]
mod hex;

use libfuzzer_sys::fuzz_target;
use wire::{AccountId, TransactionId};

fuzz_target!(|text: &str| {
    if let Ok(id) = text.parse::<AccountId>() {
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!(text.parse::<TransactionId>().is_ok());
    }
    if let Some(bytes) = hex::decode(text) {
        assert_eq!(hex::encode(&bytes), text.to_lowercase());
    }
});
