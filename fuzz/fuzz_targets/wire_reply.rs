//! Any datagram to a client: its fields can be read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use spv::finality::{Certificate, Reconfiguration, ReplicaSet};
use wire::{Frame, Reply};

fuzz_target!(|data: &[u8]| {
    let Ok(reply) = Reply::parse(data) else { return };
    if !matches!(reply, Reply::Compact(_)) {
        let refused = Frame::parse(data).expect_err("a reply is no request");
        assert!(!refused.is_answered(), "replies get no answer");
    }
    let _ = reply.id();
    match reply {
        Reply::Batch(batch) => {
            for index in 0..batch.entries.len() {
                let operation = batch.entries.operation(index).expect("an index below the length");
                let _ = operation.status().map(|status| status.to_string());
            }
        }
        Reply::Proof(proof) => {
            assert!(proof.fixed.frame_length() <= data.len());
            assert_eq!(proof.path.len(), usize::from(proof.fixed.depth));
        }
        Reply::Index(proof) => assert!(proof.fixed.frame_length() <= data.len()),
        Reply::Headers(headers) => assert!(headers.headers.len() < data.len()),
        Reply::Finality(finality) => {
            assert!(!finality.status.is_ok() || finality.fixed.frame_length() <= data.len());
            let _ = ReplicaSet::from_bytes(finality.keys);
            let _ = (Certificate::decode(finality.certificate), Reconfiguration::decode(finality.certificate));
        }
        Reply::Feed(feed) => {
            assert_eq!(feed.fixed.frame_length(), data.len());
            assert!(feed.status.is_ok() || feed.entries.is_empty());
            for entry in feed.entries {
                let _ = (entry.concerns(feed.fixed.account), entry.operation.status().map(|status| status.to_string()));
            }
        }
        Reply::Info(info) => assert!(info.program().len() <= 16),
        _ => {}
    }
});
