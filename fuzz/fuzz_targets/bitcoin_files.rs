//! Any bytes as a blk*.dat file, XORed with their first eight bytes, read in chunks of any size.
#![no_main]

use chain::bitcoin::BlockReader;
use libfuzzer_sys::fuzz_target;
use spv::bitcoin::Network;
use std::io::Read;

/// Returns at most this many bytes per read.
struct Pieces<'a>(&'a [u8], usize);

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let size = buffer.len().min(self.1);
        self.0.read(&mut buffer[..size])
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((key, file)) = bytes.split_first_chunk::<8>() else { return };
    let mut whole = BlockReader::new(file, Network::Regtest, *key);
    let mut pieces = BlockReader::new(Pieces(file, 1 + usize::from(key[0])), Network::Regtest, *key);
    let mut end = 0;
    loop {
        match (whole.next_block(), pieces.next_block()) {
            (Ok(Some(one)), Ok(Some(other))) => {
                assert_eq!(one, other);
                assert!(one.offset >= end);
                end = one.offset + 8 + one.bytes.len() as u64;
                assert!(end <= file.len() as u64);
            }
            (Ok(None), Ok(None)) => break,
            (Err(one), Err(other)) => {
                assert_eq!(one.to_string(), other.to_string());
                break;
            }
            other => panic!("{other:?}"),
        }
    }
});
