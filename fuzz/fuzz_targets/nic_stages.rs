//! Any datagram through packet selector, command extractor and packet generator: no reply is longer than its request,
//! and every reply parses.
#![no_main]

use std::time::Instant;

use libfuzzer_sys::fuzz_target;
use nic::extractor::{Extraction, check_signed, signed_operations};
use nic::generator;
use nic::selector::{Selection, Selector, SelectorConfig};
use net::Prefix;
use nic::Peer;
use wire::{Promise, Reply, Status};

fuzz_target!(|data: &[u8]| {
    let trusted: Prefix = "127.0.0.0/8".parse().expect("a prefix");
    let config = SelectorConfig { trusted: vec![trusted], ..SelectorConfig::default() };
    let mut selector = Selector::new(config, ([127, 0, 0, 1], 7400).into());
    for sender in [[127, 0, 0, 1], [192, 0, 2, 1]] {
        let mut datagram = data.to_vec();
        let peer = Peer::new((sender, 9999).into());
        let length = match selector.select(&peer, &datagram, Instant::now()) {
            Selection::Compact | Selection::Batch(..) => {
                let mut extraction = Extraction::default();
                extraction.extract(&datagram, 0..data.len(), peer, Promise::Accepted);
                assert_eq!(extraction.operations.len(), extraction.values.len());
                generator::reply(&mut datagram, &extraction.operations, &extraction.values, Promise::Accepted)
            }
            Selection::Signed => {
                check_signed(&mut datagram);
                let count = signed_operations(&mut datagram).map_or(0, |operations| operations.len());
                assert!(count > 0);
                generator::reply_signed(&mut datagram, &vec![1; count], Promise::Durable)
            }
            Selection::Change | Selection::Query(_) => generator::refuse(&mut datagram, Status::NotFound, 0),
            Selection::Refuse(status) => generator::refuse(&mut datagram, status, 0),
            Selection::Error(error) => error.write_reply(&mut datagram),
            Selection::Drop => continue,
        };
        assert!(length <= data.len());
        Reply::parse(&datagram[..length]).expect("a reply");
        // A reply that waits for the disk may have to be replaced by a refusal.
        let refused = generator::refuse(&mut datagram[..length], Status::StorageFailed, 0);
        assert!(refused <= length);
        Reply::parse(&datagram[..refused]).expect("a refusal");
    }
});
