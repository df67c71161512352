//! The C tier of the key-value store against the store: each of its answers is what the host would have sent at that
//! moment.
#![allow(missing_docs, clippy::unwrap_used)]

use proptest::prelude::*;
use turnpike_native::{KvEngine, datagram as frame_of};

/// Room for any reply.
const ROOM: usize = 512;

/// Start time: later than any time that stands for the past.
const START: u32 = 1000;

fn get(key: &str) -> Vec<u8> {
    datagram(format!("get {key}\r\n").as_bytes())
}

/// A request in a datagram, with a number.
fn datagram(text: &[u8]) -> Vec<u8> {
    [&[0x12, 0x34, 0, 0, 0, 1, 0, 0], text].concat()
}

fn engine() -> KvEngine {
    KvEngine::new(8 << 20, 1 << 20)
}

#[derive(Clone, Debug)]
enum Step {
    /// A request through any other path.
    Text(Vec<u8>),
    /// A datagram with a get of a key, followed by this many spaces.
    Get(u8, usize),
    /// Advances the time, in seconds.
    Wait(u32),
}

/// Keys of all lengths, one per number.
fn key(number: u8) -> String {
    let lengths = [1, 2, 7, 8, 9, 15, 16, 17, 33, 100, 112, 113, 128, 168, 249, 250];
    let length = lengths[usize::from(number) % lengths.len()];
    let text = format!("{}{}", char::from(b'a' + number), "k".repeat(249));
    text[..length].to_owned()
}

fn step() -> impl Strategy<Value = Step> {
    let number = 0..16_u8;
    let expiry = prop_oneof![4 => Just(0_i64), 3 => 1..5_i64, 1 => Just(-1)];
    let value = prop_oneof![
        3 => "[0-9]{1,3}".prop_map(String::into_bytes),
        3 => prop::collection::vec(any::<u8>(), 0..120),
        1 => prop::collection::vec(any::<u8>(), 0..600),
    ];
    let verb = prop::sample::select(&["set", "add", "replace", "append", "prepend"][..]);
    let with = |verb: &str, key: &str, flags: u32, expiry: i64, value: &[u8]| {
        let line = format!("{verb} {key} {flags} {expiry} {}\r\n", value.len());
        [line.as_bytes(), value, b"\r\n"].concat()
    };
    prop_oneof![
        12 => (number.clone(), prop_oneof![3 => Just(0), 1 => 0..480_usize]).prop_map(|(n, pad)| Step::Get(n, pad)),
        4 => (verb, number.clone(), any::<u32>(), expiry.clone(), value)
            .prop_map(move |(verb, n, flags, expiry, value)| Step::Text(with(verb, &key(n), flags, expiry, &value))),
        1 => number.clone().prop_map(|n| Step::Text(format!("delete {}\r\n", key(n)).into_bytes())),
        1 => (number.clone(), 0..20_u32).prop_map(|(n, by)| Step::Text(format!("incr {} {by}\r\n", key(n)).into_bytes())),
        1 => (number.clone(), 0..20_u32).prop_map(|(n, by)| Step::Text(format!("decr {} {by}\r\n", key(n)).into_bytes())),
        1 => (number.clone(), expiry.clone()).prop_map(|(n, e)| Step::Text(format!("touch {} {e}\r\n", key(n)).into_bytes())),
        1 => (number.clone(), expiry).prop_map(|(n, e)| Step::Text(format!("gat {e} {}\r\n", key(n)).into_bytes())),
        1 => (number.clone(), 1..4_u32).prop_map(|(n, t)| Step::Text(format!("md {} I T{t}\r\n", key(n)).into_bytes())),
        1 => number.prop_map(|n| Step::Text(format!("mg {} v T3\r\n", key(n)).into_bytes())),
        1 => (0..3_u32).prop_map(|delay| Step::Text(format!("flush_all {delay}\r\n").into_bytes())),
        1 => (1..4_u32).prop_map(Step::Wait),
    ]
}

proptest! {
    #[test]
    fn what_is_answered_is_what_the_host_would_say(steps in prop::collection::vec(step(), 1..400)) {
        let mut engine = engine();
        let (mut now, mut answered, mut asked) = (START, 0, 0);
        for step in steps {
            match step {
                Step::Text(text) => drop(engine.host.execute(&text, now)),
                Step::Wait(seconds) => now += seconds,
                Step::Get(number, spaces) => {
                    let payload = get(&(key(number) + &" ".repeat(spaces)));
                    let frame = frame_of(&payload);
                    let ahead = engine.answer(&frame, ROOM, now);
                    let host = engine.host.serve(&payload, now);
                    asked += 1;
                    if let Some(ahead) = ahead {
                        answered += 1;
                        prop_assert_eq!(Some(ahead), host);
                    }
                    // Once the host has returned an existing item, the tier answers for it from now on.
                    let delayed = engine.answer(&frame, ROOM, now);
                    if let Some(again) = delayed {
                        prop_assert_eq!(again, engine.host.serve(&payload, now).unwrap());
                    }
                }
            }
        }
        prop_assert!(answered <= asked);
    }

    /// Various requests, some of them gets: the tier answers only these, and modifies nothing that it passes on.
    #[test]
    fn other_requests_are_left_alone(
        text in prop_oneof!["get [a-c ]{1,4}[\\x00-\\xff]{0,3}\r\n", "[a-z]{3} [a-c]{1,2} ?\r\n", "get a\r\nget b\r\n", "get  a\r\n"],
        header in prop_oneof![3 => Just([0, 1, 0, 0, 0, 1, 0, 0]), 1 => any::<[u8; 8]>()],
    ) {
        let mut engine = engine();
        for key in ["a", "b", "c", "aa", "ab", "abc"] {
            engine.host.execute(format!("set {key} 0 0 5\r\nvalue\r\n").as_bytes(), START);
            engine.host.serve(&get(key), START);
        }
        let payload = [&header[..], text.as_bytes()].concat();
        let answer = engine.answer(&frame_of(&payload), ROOM, START);
        if let Some(answer) = answer {
            prop_assert_eq!(Some(answer), engine.host.serve(&payload, START));
        }
    }

    #[test]
    fn any_frame_is_answered_or_left_alone(frame in prop::collection::vec(any::<u8>(), 0..600)) {
        engine().answer(&frame, ROOM, START);
    }
}

#[test]
fn an_item_that_was_read_is_answered_until_it_changes() {
    let mut engine = engine();
    for number in 0..16 {
        let key = key(number);
        let (payload, set) = (get(&key), format!("set {key} 7 0 3\r\nabc\r\n"));
        let frame = frame_of(&payload);
        engine.host.execute(set.as_bytes(), START);
        assert_eq!(engine.answer(&frame, ROOM, START), None, "not read yet");
        let host = engine.host.serve(&payload, START);
        assert_eq!(engine.answer(&frame, ROOM, START), host);
        for change in
            [set.as_str(), "touch K 0\r\n", "gat 0 K\r\n", "append K 0 0 1\r\nd\r\n", "delete K\r\n", "flush_all\r\n"]
        {
            engine.host.execute(set.as_bytes(), START);
            engine.host.serve(&payload, START);
            assert!(engine.answer(&frame, ROOM, START).is_some(), "{key} before {change:?}");
            engine.host.execute(change.replace('K', &key).as_bytes(), START);
            assert_eq!(engine.answer(&frame, ROOM, START), None, "{key} after {change:?}");
        }
    }
    engine.host.execute(b"set number 0 0 2\r\n41\r\n", START);
    engine.host.serve(&get("number"), START);
    engine.host.execute(b"incr number 1\r\n", START);
    assert_eq!(engine.answer(&frame_of(&get("number")), ROOM, START), None);
}

#[test]
fn what_is_over_is_left_to_the_host() {
    let mut engine = engine();
    engine.host.execute(b"set a 0 5 1\r\nx\r\n", START);
    let frame = frame_of(&get("a"));
    engine.host.serve(&get("a"), START);
    assert!(engine.answer(&frame, ROOM, START + 4).is_some());
    assert_eq!(engine.answer(&frame, ROOM, START + 5), None);
}

#[test]
fn a_flush_to_come_leaves_all_to_the_host() {
    let mut engine = engine();
    engine.host.execute(b"set a 0 0 1\r\nx\r\n", START);
    let frame = frame_of(&get("a"));
    engine.host.serve(&get("a"), START);
    engine.host.execute(b"flush_all 10\r\n", START);
    engine.host.serve(&get("a"), START);
    assert_eq!(engine.answer(&frame, ROOM, START), None);
    engine.host.execute(b"set b 0 0 1\r\nx\r\n", START + 11);
    engine.host.serve(&get("b"), START + 11);
    assert!(engine.answer(&frame_of(&get("b")), ROOM, START + 11).is_some());
    assert_eq!(engine.answer(&frame, ROOM, START + 11), None);
}

/// An untrusted sender gets no more bytes than it sent.
#[test]
fn strangers_pad_their_requests() {
    let mut engine = engine();
    engine.host.execute(b"set a 0 0 30\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n", START);
    let host = engine.host.serve(&get("a"), START).unwrap();
    let reply = host.len() - frame_of(&[]).len();
    let stranger = |spaces: usize| {
        let mut frame = frame_of(&get(&format!("a{}", " ".repeat(spaces))));
        // From 192.0.2.2; the checksum follows.
        frame[26..30].copy_from_slice(&[192, 0, 2, 2]);
        frame[24..26].fill(0);
        let sum: u32 = frame[14..34].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
        frame[24..26].copy_from_slice(&(!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
        frame
    };
    let request = get("a").len();
    assert_eq!(engine.answer(&stranger(0), ROOM, START), None);
    assert_eq!(engine.answer(&stranger(reply - request - 1), ROOM, START), None);
    let answer = engine.answer(&stranger(reply - request), ROOM, START).unwrap();
    assert_eq!(answer[50..], host[50..], "behind the numbers of the ports and the sum");
}

/// Without room after the frame, the host answers.
#[test]
fn a_frame_without_room_is_left_to_the_host() {
    let mut engine = engine();
    engine.host.execute(b"set a 0 0 5\r\nvalue\r\n", START);
    let host = engine.host.serve(&get("a"), START).unwrap();
    let frame = frame_of(&get("a"));
    let more = host.len() - frame.len();
    assert_eq!(engine.answer(&frame, more - 1, START), None);
    assert_eq!(engine.answer(&frame, more, START), Some(host));
}

/// Items read through the tier stay, while others of the same age are evicted.
#[test]
fn what_is_read_ahead_is_not_evicted() {
    let mut engine = KvEngine::new(4 << 20, 1 << 20);
    let value = "v".repeat(200);
    engine.host.execute(format!("set hot 0 0 200\r\n{value}\r\n").as_bytes(), START);
    engine.host.serve(&get("hot"), START);
    let frame = frame_of(&get("hot"));
    for number in 0..100_000 {
        engine.host.execute(format!("set cold{number} 0 0 200\r\n{value}\r\n").as_bytes(), START);
        if number % 100 == 0 {
            assert!(engine.answer(&frame, ROOM, START).is_some(), "after {number} others");
        }
    }
    assert!(engine.host.store().counters().evictions > 50_000);
    assert_eq!(engine.host.execute(b"get cold0\r\n", START), b"END\r\n");
}
