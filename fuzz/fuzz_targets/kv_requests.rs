//! The parsers of the key-value store, each on any bytes: results are slices of the input, and keys are within the
//! length limit.
#![no_main]

use kv::protocol::ascii::{self, Command};
use kv::protocol::binary::{self, Parsed};
use kv::protocol::{login, meta, udp};
use kv::store::MAX_KEY;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match ascii::parse(bytes) {
        Ok(Command::Get { keys, .. }) => assert!(keys.into_iter().all(|key| (1..=MAX_KEY).contains(&key.len()))),
        Ok(Command::Write(write)) => assert!((1..=MAX_KEY).contains(&write.key.len())),
        Ok(Command::Meta(verb)) => {
            let mut scratch = [0; MAX_KEY];
            if let Ok(command) = meta::parse(verb, bytes, &mut scratch) {
                assert!((1..=MAX_KEY).contains(&command.key.len()));
                assert!(command.flag_words().all(|word| !word.is_empty()));
            }
        }
        Ok(_) => {}
        Err(refusal) => assert!(!refusal.reason.is_empty()),
    }
    match binary::parse(bytes, 1 << 20) {
        Parsed::Request(request) => {
            let body = request.extras.len() + request.key.len() + request.value.len();
            assert_eq!(body, request.header.body_len.get() as usize);
            assert!(request.key.len() <= MAX_KEY && binary::HEADER + body <= bytes.len());
        }
        Parsed::Partial(wanted) => assert!(wanted > bytes.len()),
        Parsed::Refused { whole: Some(whole), .. } => assert!(whole >= binary::HEADER as u64),
        Parsed::Refused { whole: None, .. } | Parsed::BadMagic => {}
    }
    if let Some((name, password)) = login::credentials(bytes) {
        assert!(!name.is_empty() && !password.is_empty() && name.len() + password.len() < bytes.len());
    }
    if let Some((name, password)) = login::plain(bytes) {
        assert!(!name.contains(&0) && !password.contains(&0) && name.len() + password.len() + 2 <= bytes.len());
    }
    assert!(login::value_len(bytes).is_none_or(|_| bytes.windows(3).any(|word| word == b"set")));
    if let Some((frame, requests)) = udp::parse(bytes) {
        let mut whole = Vec::new();
        for (n, (frame, part)) in udp::datagrams(frame.request, requests, 60).into_iter().flatten().enumerate() {
            assert_eq!(usize::from(frame.sequence.get()), n);
            assert!(part.len() <= 60 - udp::HEADER);
            whole.extend_from_slice(part);
        }
        assert!(whole == requests || requests.len() > 60 * usize::from(u16::MAX));
    }
});
