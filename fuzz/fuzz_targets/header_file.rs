//! Any bytes as files of headers: accepted headers form a chain.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spv::bitcoin::Network;
use turnpike_fuzz::input;

// The program is not a library; these are its parsers.
#[allow(dead_code)]
#[path = "../../crates/turnpike/src/error.rs"]
mod error;
#[allow(dead_code)]
#[path = "../../crates/turnpike/src/file.rs"]
mod file;
#[allow(dead_code)]
#[path = "../../crates/turnpike/src/header_file.rs"]
mod header_file;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(chain) = header_file::own_of(bytes, input(), None) {
        assert_eq!(chain.height() as usize + 1, bytes.len() / size_of::<spv::SealedHeader>());
    }
    for first_height in [None, Some(0), Some(2016), Some(u32::MAX)] {
        if let Ok(chain) = header_file::bitcoin_of(bytes, input(), Network::Regtest, first_height) {
            assert!(u64::from(chain.height()) < (bytes.len() / 80) as u64 + u64::from(chain.first_height()));
        }
    }
});
