//! Any requests, to this server and to memcached: the replies are the same, byte by byte.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Ours, Theirs, converse};
use proptest::{
    prelude::*,
    test_runner::{RngAlgorithm, TestRng, TestRunner},
};
use skip::Ability;

const LACKING: &str = "memcached is not installed; scripts/setup installs it";

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        20 => (0..6_u8).prop_map(|n| format!("key{n}")),
        1 => Just("k".repeat(250)),
        1 => Just("k".repeat(251)),
        1 => "[!-~]{1,40}",
    ]
}

fn short_key() -> impl Strategy<Value = String> {
    key().prop_filter("a key of up to 250 bytes", |key| key.len() <= 250)
}

/// A number of an item that there is not: which numbers items have is each server's own.
fn no_cas() -> impl Strategy<Value = u64> {
    1 << 40..1_u64 << 41
}

/// Flags of an item. Of more than 32 bits memcached keeps the lower ones; here they are refused.
fn item_flags() -> impl Strategy<Value = String> {
    prop_oneof![6 => (0..30_u32).prop_map(|n| n.to_string()), 1 => any::<u32>().prop_map(|n| n.to_string()),
        1 => Just("-1".to_owned()), 1 => "[a-z]{0,3}"]
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (0..30_u64).prop_map(|n| n.to_string()),
        1 => any::<u64>().prop_map(|n| n.to_string()),
        1 => any::<i64>().prop_map(|n| n.to_string()),
        // Of large negative numbers memcached takes some.
        1 => "[+ 0-9a-z]{0,6}",
        1 => Just("18446744073709551616".to_owned()),
    ]
}

/// Times that do not depend on when they are looked at.
fn expiry() -> impl Strategy<Value = String> {
    prop_oneof![6 => Just("0".to_owned()), 1 => Just("-1".to_owned()), 1 => Just("1000".to_owned()), 1 => "[x0-9]{0,3}"]
}

fn quiet() -> impl Strategy<Value = &'static str> {
    prop_oneof![5 => Just(""), 1 => Just(" noreply"), 1 => Just("  "), 1 => Just(" x")]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => (0..1000_u64).prop_map(|n| n.to_string().into_bytes()),
        2 => prop::collection::vec(any::<u8>(), 0..40),
        // A refused value is parsed as a line, and at 2,048 bytes memcached closes without replies to earlier requests.
        1 => (0..1900_usize).prop_map(|len| vec![b'v'; len]),
    ]
}

/// A command and its block of data; the length is off now and then.
fn with_value(command: String, value: Vec<u8>, off: i64, rest: String) -> Vec<u8> {
    let len = value.len() as i64 + off;
    [format!("{command} {len}{rest}\r\n").into_bytes(), value, b"\r\n".to_vec()].concat()
}

fn off() -> impl Strategy<Value = i64> {
    prop_oneof![30 => Just(0_i64), 1 => Just(1), 1 => Just(-1), 1 => Just(-100)]
}

fn ascii() -> impl Strategy<Value = Vec<u8>> {
    let writes = prop::sample::select(&["set", "add", "replace", "append", "prepend"][..]);
    prop_oneof![
        8 => (writes, key(), item_flags(), expiry(), value(), off(), quiet())
            .prop_map(|(w, k, f, e, v, off, q)| with_value(format!("{w} {k} {f} {e}"), v, off, q.into())),
        2 => (key(), expiry(), value(), no_cas(), quiet())
            .prop_map(|(k, e, v, cas, q)| with_value(format!("cas {k} 5 {e}"), v, 0, format!(" {cas}{q}"))),
        // To a key that is too long in a `get`, memcached forgets the replies to the requests before it.
        6 => (prop::sample::select(&["get", "bget"][..]), prop::collection::vec(short_key(), 0..40))
            .prop_map(|(get, keys)| format!("{get} {}\r\n", keys.join(" ")).into_bytes()),
        2 => (expiry(), prop::collection::vec(short_key(), 0..4))
            .prop_map(|(e, keys)| format!("gat {e} {}\r\n", keys.join(" ")).into_bytes()),
        3 => (prop::sample::select(&["incr", "decr"][..]), key(), number(), quiet())
            .prop_map(|(w, k, n, q)| format!("{w} {k} {n}{q}\r\n").into_bytes()),
        3 => (key(), prop::sample::select(&["", " 0", " noreply", " 0 noreply", " 1", " 1 noreply", " 0 0 0"][..]))
            .prop_map(|(k, rest)| format!("delete {k}{rest}\r\n").into_bytes()),
        2 => (key(), expiry(), quiet()).prop_map(|(k, e, q)| format!("touch {k} {e}{q}\r\n").into_bytes()),
        1 => prop::sample::select(&["flush_all\r\n", "flush_all noreply\r\n", "flush_all x\r\n", "flush_all 0\r\n", "flush_all 1 2 3\r\n"][..])
            .prop_map(|line| line.as_bytes().to_vec()),
        1 => prop::sample::select(&[
            "verbosity 0\r\n", "verbosity\r\n", "verbosity x\r\n", "verbosity 0 noreply\r\n", "\r\n", "\n", "a\r\n", "get\r\n",
            "set\r\n", "nothing\r\n", "mn\r\n", "mx\r\n", "stats nothing\r\n", "stats detail\r\n", "stats cachedump\r\n",
            "stats cachedump a b\r\n", "stats cachedump 200 1\r\n", "shutdown\r\n", "quit\r\n",  "get a\0b c\r\n",
        ][..]).prop_map(|line| line.as_bytes().to_vec()),
        1 => "[ -~]{0,60}".prop_map(|line| format!("{line}\n").into_bytes()),
    ]
}

fn flags() -> impl Strategy<Value = String> {
    let flag = prop_oneof![
        10 => prop::sample::select(&["v", "t", "f", "s", "k", "q", "u", "I", "h", "O123", "N0", "N1000", "T0", "T1000", "R30", "R2000",
            "J7", "D3", "MI", "MD", "M+", "M-", "F9", "S5"][..]).prop_map(str::to_owned),
        1 => prop::sample::select(&["ME", "MA", "MP", "MR", "MS", "Mx", "Mxx", "M", "Tx", "Nx", "Rx", "Cx", "Jx", "Dx", "Fx", "z", "1"][..]).prop_map(str::to_owned),
        2 => no_cas().prop_map(|n| format!("C{n}")),
    ];
    prop::collection::vec(flag, 0..6)
        .prop_map(|flags| flags.into_iter().fold(String::new(), |all, flag| all + " " + &flag))
}

/// A key in base64 with the flag that says so, and none that asks for it: memcached 1.6.18 forgets that it was in
/// base64 where a read makes an item or one is appended to.
fn encoded() -> impl Strategy<Value = (String, String)> {
    let key = prop::sample::select(&["YmluMA==", "YmluMQ==", "Ymlu"][..]);
    (key, flags()).prop_map(|(key, flags)| (key.to_owned(), flags.replace(" k", "") + " b"))
}

/// Flags without some: those that memcached 1.6.27 knows and 1.6.18 does not.
fn without(flags: &str, unknown: &[&str]) -> String {
    let known = flags.split(' ').filter(|flag| !unknown.contains(flag));
    known.fold(String::new(), |all, flag| all + " " + flag)
}

fn meta() -> impl Strategy<Value = Vec<u8>> {
    let key = || prop_oneof![3 => (key(), flags()), 1 => encoded()];
    let mode = prop::sample::select(&["", " ME", " MA", " MP", " MR", " MS"][..]);
    prop_oneof![
        4 => key().prop_map(|(k, f)| format!("mg {k}{f}\r\n").into_bytes()),
        5 => (key(), mode, value(), off())
            .prop_map(|((k, f), m, v, off)| with_value(format!("ms {k}"), v, off, format!("{m}{}", without(&f, &["s", "N0", "N1000"])))),
        2 => key().prop_map(|(k, f)| format!("md {k}{f}\r\n").into_bytes()),
        2 => key().prop_map(|(k, f)| format!("ma {k}{}\r\n", without(&f, &["q"])).into_bytes()),
        1 => prop::sample::select(&["mg\r\n", "ms\r\n", "md\r\n", "ma\r\n", "me\r\n", "me nothing\r\n", "ms k\r\n", "ms k x\r\n", "ms k -1\r\n", "mn\r\n",
            "mg k a b c d e f g h i j k l m n o p q r s t u v w x y z\r\n"][..]).prop_map(|line| line.as_bytes().to_vec()),
    ]
}

/// A request of the binary protocol, as it should be or not.
fn binary() -> impl Strategy<Value = Vec<u8>> {
    // Not 0x06 and 0x16: a shorter number keeps its length, to memcached only if no reply to another request holds the
    // item.
    let opcodes = prop_oneof![20 => 0..0x06_u8, 8 => 0x07..0x0b_u8, 5 => 0x0c..0x10_u8, 10 => 0x11..0x16_u8, 8 => 0x17..0x1b_u8, 4 => 0x1c..0x1f_u8, 2 => 0x23..0x25_u8, 1 => 0x20..0x23_u8];
    let wrong = prop_oneof![40 => Just(0_u8), 1 => 1..4_u8];
    (
        opcodes,
        0..6_u8,
        value(),
        any::<u32>(),
        prop_oneof![5 => Just(0_u64), 1 => 0..20_u64],
        expiry_number(),
        0..40_u64,
        wrong,
    )
        .prop_map(|(opcode, key, value, opaque, cas, expiry, number, wrong)| {
            let mut key = format!("key{key}").into_bytes();
            let mut value = if value.len() > 3000 { Vec::new() } else { value };
            let mut extras = Vec::new();
            match opcode {
                0x01..=0x03 | 0x11..=0x13 => {
                    extras.extend_from_slice(&5_u32.to_be_bytes());
                    extras.extend_from_slice(&expiry.to_be_bytes());
                }
                0x05 | 0x06 | 0x15 | 0x16 => {
                    extras.extend_from_slice(&number.to_be_bytes());
                    extras.extend_from_slice(&7_u64.to_be_bytes());
                    extras.extend_from_slice(&if number % 2 == 0 { u32::MAX } else { 0 }.to_be_bytes());
                    value.clear();
                }
                0x07 | 0x08 | 0x0a | 0x0b | 0x17 | 0x18 => {
                    key.clear();
                    value.clear();
                }
                0x0e | 0x0f | 0x19 | 0x1a => {}
                0x10 => {
                    key = b"nothing".to_vec();
                    value.clear();
                }
                0x1c..=0x1e | 0x23 | 0x24 => {
                    extras.extend_from_slice(&expiry.to_be_bytes());
                    value.clear();
                }
                0x20 => {
                    key.clear();
                    value.clear();
                }
                _ => value.clear(),
            }
            match wrong {
                1 => extras.push(0),
                2 => key = vec![b'k'; 251],
                3 => key.clear(),
                _ => {}
            }
            let body = [extras.clone(), key.clone(), value].concat();
            let mut request = vec![0x80, opcode];
            request.extend_from_slice(&(key.len() as u16).to_be_bytes());
            request.extend_from_slice(&[extras.len() as u8, 0, 0, 0]);
            request.extend_from_slice(&(body.len() as u32).to_be_bytes());
            request.extend_from_slice(&opaque.to_be_bytes());
            request.extend_from_slice(&cas.to_be_bytes());
            [request, body].concat()
        })
}

fn expiry_number() -> impl Strategy<Value = u32> {
    prop_oneof![5 => Just(0_u32), 1 => Just(1000), 1 => Just(3_000_000)]
}

/// How often requests are repeated before replies count as different.
const TALKS: usize = 5;

/// Feeds the same to both, and compares. Each starts empty: a flush leaves numbers of items where they are.
fn compare(name: &str, requests: impl Strategy<Value = Vec<u8>>, end: &[u8], cases: u32) {
    let Some(theirs) = Theirs::start(&[]) else { return skip::lacking(Ability::Peers, LACKING) };
    let ours = Ours::start();
    let scripts = prop::collection::vec(requests, 1..60);
    // The same requests in every run: finding new differences is for fuzzing.
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let config =
        ProptestConfig { cases, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, rng);
    let result = runner.run(&scripts, |script| {
        // What memcached passes over when the connection ends, it does not reply to.
        let requests = [script.concat(), end.repeat(400)].concat();
        let talk = || {
            for path in [ours.path(), theirs.path()] {
                converse(&path, b"flush_all\r\n");
            }
            [ours.path(), theirs.path()].map(|path| without_cas(converse(&path, &requests)))
        };
        // What memcached replies depends on how the requests come to it: `decr` changes an item in place, and pads it,
        // unless a reply that waits to be sent holds it.
        let mut replies = talk();
        for _ in 1..TALKS {
            if replies[0] != replies[1] {
                replies = talk();
            }
        }
        let [ours, theirs] = replies;
        let same = ours.iter().zip(&theirs).take_while(|(ours, theirs)| ours == theirs).count();
        let [requests, ours_rest, theirs_rest] = [&requests, &ours[same..], &theirs[same..]].map(show);
        prop_assert!(ours == theirs, "to {requests}\nours, from byte {same} on:\n{ours_rest}\ntheirs:\n{theirs_rest}");
        Ok(())
    });
    if let Err(error) = result {
        panic!("{name}: {error}");
    }
}

/// Replies of the binary protocol without the items' numbers; others as they are.
fn without_cas(mut replies: Vec<u8>) -> Vec<u8> {
    let mut at = 0;
    while let Some(header) = replies.get_mut(at..at + 24).filter(|header| header[0] == 0x81) {
        header[16..].fill(0);
        at += 24 + u32::from_be_bytes([header[8], header[9], header[10], header[11]]) as usize;
    }
    replies
}

fn show(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string().replace("\\r\\n", "\n")
}

#[test]
fn ascii_requests() {
    compare("ASCII", ascii(), b"mn\r\n", 300);
}

#[test]
fn large_values() {
    let large = (prop::sample::select(&["set", "append", "prepend", "get", "delete"][..]), 0..6_u8, 0..300_000_usize);
    let large = large.prop_map(|(command, key, len)| match command {
        "get" | "delete" => format!("{command} key{key}\r\n").into_bytes(),
        _ => {
            with_value(format!("{command} key{key} 1 0"), (0..len).map(|i| (i % 251) as u8).collect(), 0, String::new())
        }
    });
    compare("large values", large, b"mn\r\n", 20);
}

#[test]
fn meta_requests() {
    compare("meta", prop_oneof![3 => meta(), 1 => ascii()], b"mn\r\n", 300);
}

#[test]
fn binary_requests() {
    compare("binary", binary(), b"", 300);
}
