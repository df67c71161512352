//! A peer's stream, split anywhere: the messages and the end are the same however it is split, and no message is too
//! long.
#![no_main]

use libfuzzer_sys::fuzz_target;
use link::tcp::messages;

/// Number of buffers, and bytes of each.
const POOL: (u16, u32) = (4, 512);

fuzz_target!(|input: (u16, &[u8])| {
    let (cut, bytes) = input;
    let (Ok(whole), Ok(cut)) = (
        messages(&[bytes], POOL.0, POOL.1),
        messages(&[&bytes[..bytes.len().min(cut.into())], &[], &bytes[bytes.len().min(cut.into())..]], POOL.0, POOL.1),
    ) else {
        return;
    };
    assert_eq!(whole, cut);
    assert!(whole.0.iter().all(|message| message.len() <= POOL.1 as usize));
});
