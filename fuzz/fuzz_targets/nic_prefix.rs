//! Any text as a network prefix: parsed prefixes round-trip, and contain their own address.
#![no_main]

use libfuzzer_sys::fuzz_target;
use net::Prefix;

fuzz_target!(|text: &str| {
    let Ok(prefix) = text.parse::<Prefix>() else { return };
    assert_eq!(prefix.to_string().parse(), Ok(prefix));
    assert!(prefix.contains(prefix.address()));
});
