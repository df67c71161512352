//! Requests to replies, in place, for any bytes and any answer from the source.
#![allow(missing_docs, clippy::unwrap_used)]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use proptest::prelude::*;
use turnpike_proof::{Cache, Config, Refusal, Service, Source, Tip};
use wire::{Chain, ErrorFrame, ProofRequest, Query, Status};
use zerocopy::{FromBytes, IntoBytes};

const TIP: Tip = Tip { hash: [9; 32], height: 3 };

/// Proves anything, in as many bytes as the key's first two say, or refuses as the third says.
#[derive(Default)]
struct Any {
    asked: AtomicUsize,
}

impl Source for Any {
    fn prove(&self, query: Query, key: &[u8; 32], body: &mut Vec<u8>) -> Result<(), Refusal> {
        self.asked.fetch_add(1, Relaxed);
        match key[2] {
            1 => return Err(Refusal::NotFound),
            2 => return Err(Refusal::NotProvable),
            3 => return Err(Refusal::NoSuchQuery),
            4 => return Err(Refusal::Malformed),
            5 => return Err(Refusal::Failed("the disk is gone".into())),
            _ => {}
        }
        body.extend_from_slice(&TIP.hash);
        body.extend_from_slice(&TIP.height.to_be_bytes());
        body.resize(40 + usize::from(u16::from_be_bytes([key[0], key[1]])), query.code());
        Ok(())
    }
}

fn service(cached: bool) -> (Service, Arc<Any>) {
    let cache = Arc::new(Cache::new(&Config { bytes: 1 << 20, ..Config::default() }).unwrap());
    cache.reorganise(Chain::Own, TIP);
    let source = Arc::new(Any::default());
    (Service::new(cached.then_some(cache)).with(Chain::Own, Arc::clone(&source) as Arc<dyn Source>), source)
}

fn request(chain: Chain, query: Query, key: &[u8], room: usize) -> Vec<u8> {
    let mut whole = [0; 32];
    whole[..key.len()].copy_from_slice(key);
    let mut request = ProofRequest::new(0x0102_0304, chain, query, whole).as_bytes().to_vec();
    request.resize(room, 0);
    request
}

#[test]
fn a_reply_stands_where_the_request_stood() {
    for cached in [false, true] {
        let (mut service, source) = service(cached);
        assert_eq!(service.cache().is_some(), cached);
        let mut first = request(Chain::Own, Query::Latest, &[1, 4], 400);
        let len = service.answer(&mut first);
        assert_eq!(len, 48 + 40 + 260);
        let (head, body) = ProofRequest::ref_from_prefix(&first).unwrap();
        assert_eq!((head.header.id.get(), head.header.kind), (0x0102_0304, 0x83));
        assert_eq!((head.status.get(), head.body_length.get()), (0, 300));
        assert_eq!((&body[..32], body[39], body[40]), (&[9; 32][..], 3, Query::Latest.code()));
        let mut second = request(Chain::Own, Query::Latest, &[1, 4], 400);
        assert_eq!(service.answer_cached(&mut second).is_some(), cached);
        assert_eq!(service.answer(&mut request(Chain::Own, Query::Latest, &[1, 4], 400)), len);
        assert_eq!(source.asked.load(Relaxed), if cached { 1 } else { 2 });
        if cached {
            assert_eq!(first[..len], second[..len]);
        }
    }
}

#[test]
fn a_request_that_is_too_short_is_told_the_length() {
    for cached in [false, true] {
        let (mut service, _) = service(cached);
        for _ in 0..2 {
            let mut short = request(Chain::Own, Query::Latest, &[1, 4], 347);
            assert_eq!(service.answer(&mut short), ErrorFrame::LENGTH);
            let error = ErrorFrame::ref_from_bytes(&short[..16]).unwrap();
            assert_eq!((error.status(), error.detail.get()), (Ok(Status::ReplyTooLarge), 348));
            assert_eq!(error.header.id.get(), 0x0102_0304);
            let needed = error.detail.get() as usize;
            assert_eq!(service.answer(&mut request(Chain::Own, Query::Latest, &[1, 4], needed)), needed);
        }
    }
}

#[test]
fn refusals_are_told_in_the_reply() {
    let (mut service, _) = service(true);
    let statuses =
        [Status::NotFound, Status::NotProvable, Status::UnknownCommand, Status::Malformed, Status::StorageFailed];
    for (code, status) in (1..).zip(statuses) {
        let mut request = request(Chain::Own, Query::Locator, &[0, 9, code], 200);
        assert_eq!(service.answer(&mut request), 48);
        let (head, _) = ProofRequest::ref_from_prefix(&request).unwrap();
        assert_eq!((head.status(), head.body_length.get(), head.header.kind), (Ok(status), 0, 0x83));
    }
    let mut other = request(Chain::Bitcoin, Query::Latest, &[0, 9], 200);
    assert_eq!(service.answer(&mut other), 48);
    assert_eq!(ProofRequest::ref_from_prefix(&other).unwrap().0.status(), Ok(Status::UnknownChain));
}

proptest! {
    #[test]
    fn no_bytes_do_harm(
        mut bytes in prop::collection::vec(any::<u8>(), 0..300), ours in any::<bool>(), cached in any::<bool>(),
    ) {
        let (mut service, _) = service(cached);
        if ours && bytes.len() >= 18 {
            bytes[..8].copy_from_slice(&[0x54, 0x50, 1, 3, 0, 0, 0, 1]);
            bytes[8] &= 1;
            bytes[9] = 1 + bytes[9] % 4;
            bytes[16] = 0;
        }
        for _ in 0..2 {
            let mut datagram = bytes.clone();
            let len = service.answer(&mut datagram);
            prop_assert!(len <= bytes.len(), "a reply longer than its request");
            prop_assert!(bytes.len() >= 48 || len == 0);
        }
    }
}
