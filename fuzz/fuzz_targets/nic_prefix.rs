//! Any text as a network prefix: what parses is written so that it parses again, and contains its own address.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nic::Prefix;

fuzz_target!(|text: &str| {
    let Ok(prefix) = text.parse::<Prefix>() else { return };
    assert_eq!(prefix.to_string().parse(), Ok(prefix));
    assert!(prefix.contains(prefix.address()));
});
