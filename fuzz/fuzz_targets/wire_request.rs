//! Any datagram to a node: parsed, checked entry by entry, and answered in place.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::{BatchEntries, BatchEntriesMut, Frame, FrameMut, Promise, Reply, Status};

fuzz_target!(|data: &[u8]| {
    let mut datagram = data.to_vec();
    match Frame::parse(data) {
        Ok(frame) => {
            inspect(frame);
            let answered = answer(FrameMut::parse(&mut datagram).expect("both views have the same checks"));
            assert!(answered <= data.len(), "an answer is never longer than its request");
            Reply::parse(&datagram[..answered]).expect("answers are replies");
        }
        Err(error) => {
            assert!(FrameMut::parse(&mut datagram).is_err_and(|other| other == error));
            let answered = error.write_reply(&mut datagram);
            assert!(answered <= data.len(), "an answer is never longer than its request");
            if answered > 0 {
                Reply::parse(&datagram[..answered]).expect("answers are replies");
            }
        }
    }
});

/// Reads everything that a node reads of a request.
fn inspect(frame: Frame<'_>) {
    match frame {
        Frame::Compact(frame) => assert!(frame.check().is_ok()),
        Frame::Full(frame) => assert!(frame.signed.check().is_ok() && frame.signed.signed_bytes().len() == 120),
        Frame::Batch(batch) => {
            assert_eq!(usize::from(batch.header.count.get()), batch.entries.len());
            match batch.entries {
                BatchEntries::Compact(entries) => entries.iter().for_each(|entry| drop(entry.check().to_string())),
                BatchEntries::Operation(entries) => entries.iter().for_each(|entry| drop(entry.check().to_string())),
                BatchEntries::Signed(entries) => entries.iter().for_each(|entry| drop(entry.check().to_string())),
            }
        }
        Frame::Proof(proof) => {
            let _ = (proof.request.account(), proof.request.transaction(), proof.request.locator());
        }
        Frame::Headers(headers) => assert!(headers.room >= 64),
        Frame::Info(_) => {}
        Frame::Finality(finality) => assert!(finality.room >= 72),
        Frame::Change(_) => {}
        Frame::Feed(feed) => assert!(feed.cursor.get() > 0 && feed.promise().is_ok()),
        Frame::History(history) => assert!(history.room >= 96 && history.request.count.get() > 0),
        Frame::Assets(assets) => assert!(assets.room >= 32 && assets.request.count.get() > 0),
        Frame::Verify(verify) => assert_eq!(verify.messages().count(), verify.header.count.get().into()),
    }
}

/// Answers like a node, and returns the answer's length.
fn answer(frame: FrameMut<'_>) -> usize {
    match frame {
        FrameMut::Compact(frame) => {
            frame.set_reply(Status::Ok, u64::MAX);
            22
        }
        FrameMut::Full(frame) => {
            frame.set_reply(Status::Ok, u64::MAX, Promise::Durable);
            88
        }
        FrameMut::Batch(mut batch) => {
            batch.header.set_reply(Status::Ok, Promise::Durable);
            let count = batch.entries.as_ref().len();
            (0..count).for_each(|index| batch.entries.set_reply(index, Status::Ok, u64::MAX, Promise::Durable));
            if let BatchEntriesMut::Compact(entries) = &batch.entries {
                assert!(entries.iter().all(|entry| entry.frame.value() == u32::MAX));
            }
            batch.header.frame_length().expect("the format was checked")
        }
        FrameMut::Proof(request, _) => {
            request.set_reply(Status::NotFound, 0);
            48
        }
        FrameMut::Headers(request, _) => {
            request.set_refusal(Status::UnknownChain);
            64
        }
        FrameMut::Info(frame) => {
            frame.header.set_reply();
            128
        }
        FrameMut::Finality(request, _) => {
            request.set_refusal(Status::NotFound);
            72
        }
        FrameMut::Change(frame) => {
            frame.set_reply(Status::StaleGeneration);
            200
        }
        FrameMut::Feed(frame) => {
            frame.set_refusal(Status::Pruned);
            72
        }
        FrameMut::History(request, _) => {
            request.set_refusal(Status::NotFound);
            96
        }
        FrameMut::Assets(request, _) => {
            request.set_refusal(Status::Diverged);
            32
        }
        FrameMut::Verify(datagram) => {
            let length = wire::write_verify_reply(datagram, std::iter::repeat((u64::MAX, 1)));
            assert!(length > 16);
            length
        }
    }
}
