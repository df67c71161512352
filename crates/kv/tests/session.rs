//! Requests that come in pieces.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use proptest::prelude::*;
use turnpike_kv::{
    replies::Replies,
    service::{Service, Settings},
    session::{NextStep, Session},
    store::{Config, Store},
    turn::Turn,
};

/// Requests of a whole turn.
const TURN: usize = 2048;

fn service() -> Arc<Service> {
    let config = Config { memory: 8 << 20, largest_item: 1 << 20, evict: true, threads: 1 };
    Arc::new(Service::new(Store::new(config).unwrap(), Settings::default()))
}

/// The replies of a new store to pieces of requests, each fed as soon as it is complete, with turns of some requests.
fn replies(pieces: &[&[u8]], gathered: usize, requests: usize) -> Vec<u8> {
    let service = service();
    let mut session = Session::new(&service);
    let (mut pending, mut all) = (Vec::new(), Vec::new());
    let mut wanted = 1;
    for piece in pieces {
        pending.extend_from_slice(piece);
        while pending.len() >= wanted {
            let (mut out, mut turn) = (Replies::new(gathered), Turn::for_datagram());
            turn.spend(TURN - requests);
            let progress = session.feed(&pending, &mut out, &mut turn, 10);
            let value = out.take_value();
            if let Some(value) = value {
                value.read(&service.store, usize::MAX, &mut out).unwrap();
                value.release(&service.store);
            }
            assert!(out.len() < gathered + (1 << 21), "replies are bounded");
            all.extend_from_slice(&out);
            pending.drain(..progress.consumed);
            match progress.next {
                NextStep::More(more) => {
                    assert!(more > pending.len(), "it waits for what is there");
                    wanted = more;
                }
                NextStep::Send | NextStep::Turn => wanted = 0,
                NextStep::Close | NextStep::Watch(_) => return all,
            }
        }
    }
    all
}

fn request() -> impl Strategy<Value = Vec<u8>> {
    let binary = (0..0x25_u8, 0..3_u8, 0..40_usize).prop_map(|(opcode, extras, len)| {
        let extras = [0, 4, 8][usize::from(extras)];
        let body = [vec![0; extras], b"key".to_vec(), vec![b'7'; len]].concat();
        let mut request = vec![0x80, opcode, 0, 3, extras as u8, 0, 0, 0, 0, 0, 0, body.len() as u8];
        request.resize(24, 0);
        [request, body].concat()
    });
    prop_oneof![
        4 => (0..5_u8, 0..2000_usize).prop_map(|(key, len)| {
            [format!("set k{key} 0 0 {len}\r\n").into_bytes(), vec![b'v'; len], b"\r\n".to_vec()].concat()
        }),
        4 => prop::collection::vec(0..5_u8, 1..40).prop_map(|keys| {
            let keys: Vec<_> = keys.iter().map(|key| format!("k{key}")).collect();
            format!("get {}\r\n", keys.join(" ")).into_bytes()
        }),
        2 => (0..5_u8).prop_map(|key| format!("ms k{key} 3 c k\r\nabc\r\nmg k{key} v s\r\n").into_bytes()),
        1 => Just(b"set k1 0 0 3000000\r\n".to_vec()),
        1 => (0..5_u8, 60_000..140_000_usize).prop_map(|(key, len)| {
            // With ends of lines: where the request is not one, a line without is refused only if it comes in pieces.
            let value = (0..len).map(|at| if at % 1000 == 999 { b'\n' } else { b'v' });
            [format!("set k{key} 0 0 {len}\r\n").into_bytes(), value.collect(), b"\r\n".to_vec()].concat()
        }),
        1 => Just(b"stats sizes\r\n".to_vec()),
        1 => "[ -~]{0,50}\r\n".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..50),
        1 => binary,
    ]
}

proptest! {
    #[test]
    fn pieces_are_as_good_as_the_whole(
        requests in prop::collection::vec(request(), 1..20),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..30),
        gathered in 1..5000_usize,
        turn in 1..40_usize,
    ) {
        let whole = requests.concat();
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(whole.len() + 1)).collect();
        cuts.extend([0, whole.len()]);
        cuts.sort_unstable();
        let pieces: Vec<_> = cuts.windows(2).map(|cut| &whole[cut[0]..cut[1]]).collect();
        prop_assert_eq!(replies(&pieces, gathered, turn), replies(&[&whole], 1 << 20, TURN));
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..400), binary in any::<bool>()) {
        let bytes = if binary { [vec![0x80], bytes].concat() } else { bytes };
        replies(&[&bytes], 1 << 20, 1);
    }
}

#[test]
fn a_byte_at_a_time() {
    let requests = b"set a 5 0 3\r\nabc\r\nget a\r\nincr a 1\r\nms b 2 T0 c\r\n12\r\nma b v\r\nmn\r\n";
    let pieces: Vec<_> = requests.chunks(1).collect();
    let expected = "STORED\r\nVALUE a 5 3\r\nabc\r\nEND\r\n\
        CLIENT_ERROR cannot increment or decrement non-numeric value\r\nHD c2\r\nVA 2\r\n13\r\nMN\r\n";
    assert_eq!(String::from_utf8(replies(&pieces, 1 << 20, 1)).unwrap(), expected);
}

#[test]
fn bad_keys_in_base64_and_long_tokens_are_told() {
    let expected = "CLIENT_ERROR error decoding key\r\nCLIENT_ERROR opaque token too long\r\nEN Oabc\r\n";
    let long = "x".repeat(33);
    let requests = format!("mg a2V b\r\nmg key O{long}\r\nmg key Oabc\r\n");
    assert_eq!(String::from_utf8(replies(&[requests.as_bytes()], 1 << 20, TURN)).unwrap(), expected);
}

#[test]
fn a_list_of_all_keys_is_complete_and_comes_in_pieces() {
    let sets: String = (0..40_000).map(|key| format!("set key{key:05} 0 0 1 noreply\r\nx\r\n")).collect();
    let requests = sets + "lru_crawler metadump all\r\nstats sizes\r\nmn\r\n";
    let listed = String::from_utf8(replies(&[requests.as_bytes()], 4096, TURN)).unwrap();
    let mut keys: Vec<_> = listed.lines().filter_map(|line| line.strip_prefix("key=")?.split(' ').next()).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 40_000, "{} bytes", listed.len());
    assert!(listed.ends_with("\r\nEND\r\nSTAT 64 40000\r\nEND\r\nMN\r\n"), "{}", &listed[listed.len() - 100..]);
}
