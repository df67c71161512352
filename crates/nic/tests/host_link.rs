//! The protocol of a board's cable: frames byte by byte, two ends of the link beside a plain model, and the comparison
//! of operations with records.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use turnpike_nic::cable::frame::{
    Access, Addresses, ETHER_TYPE, Frame, FrameError, HEADER_BYTES, LinkFrame, SEGMENT_BYTES, Segment,
};
use turnpike_nic::cable::link::{Link, Packet, WINDOW};
use turnpike_nic::cable::records::{PATIENCE, RecordCheck, RecordError};
use turnpike_nic::rtl::model::Meta;

/// "TL".
const LINK: u16 = 0x544c;

const ADDRESSES: Addresses = Addresses { destination: [2, 0, 0, 0, 0, 1], source: [2, 0, 0x5e, 0, 0, 0x53] };

fn written(frame: Frame<'_>) -> Vec<u8> {
    let mut bytes = vec![9];
    frame.write(ADDRESSES, &mut bytes);
    bytes
}

#[test]
fn frames_are_what_the_board_reads() {
    // docs/board.md, byte by byte.
    let segment = Segment {
        number: 0x0102,
        first: true,
        last: false,
        meta: Meta { kind: 3, port: 255, id: 0x0405 },
        payload: &[7, 8],
    };
    let link = Frame::Link(LinkFrame { session: 0x0a0b_0c0d, expected: 0x0e0f, segment: Some(segment) });
    let addresses = [2, 0, 0, 0, 0, 1, 2, 0, 0x5e, 0, 0, 0x53, 0x88, 0xb5, 0x54];
    let rest = [0x4c, 10, 11, 12, 13, 0, 6, 0, 2, 1, 2, 14, 15, 4, 5, 255, 3, 7, 8];
    let mut bytes = written(link);
    assert_eq!(bytes, [addresses.as_slice(), &rest].concat());
    // Padding is not part of the payload.
    bytes.resize(60, 1);
    assert_eq!(Frame::parse(&bytes), Ok((ADDRESSES, link)));

    let access = Access { tag: 0x0102_0304, is_write: true, is_reply: false, address: 0x1040, value: 0x0506_0708 };
    let rest = [0x52, 1, 2, 3, 4, 0, 1, 0x10, 0x40, 5, 6, 7, 8, 0, 0, 0, 0];
    let bytes = written(Frame::Access(access));
    assert_eq!(bytes, [addresses.as_slice(), &rest].concat());
    assert_eq!(Frame::parse(&bytes), Ok((ADDRESSES, Frame::Access(access))));
}

#[test]
fn other_frames_are_refused_with_a_reason() {
    let acknowledgement = written(Frame::Link(LinkFrame { session: 1, expected: 2, segment: None }));
    let with = |at: usize, byte: u8| {
        let mut bytes = acknowledgement.clone();
        bytes[at] = byte;
        Frame::parse(&bytes).map(|_| ()).unwrap_err()
    };
    for length in 0..HEADER_BYTES {
        assert_eq!(Frame::parse(&acknowledgement[..length]), Err(FrameError::Short(length)));
    }
    assert_eq!(with(13, 0), FrameError::Foreign { ether_type: 0x8800, magic: LINK });
    assert_eq!(with(15, 0), FrameError::Foreign { ether_type: ETHER_TYPE, magic: 0x5400 });
    assert_eq!(with(21, 8), FrameError::Flags(8));
    assert_eq!(with(21, 1), FrameError::Flags(1), "the end of a packet without data");
    assert_eq!(with(21, 4), FrameError::Length { length: 0, room: 0 });
    let mut long = acknowledgement.clone();
    long.resize(HEADER_BYTES + 2 * SEGMENT_BYTES, 0);
    (long[21], long[22], long[23]) = (4, 4, 1);
    assert_eq!(Frame::parse(&long), Err(FrameError::Length { length: 1025, room: 2048 }));
}

const KIND: u8 = 3;

fn meta(kind: u8) -> Meta {
    Meta { kind, port: 1, id: 5 }
}

/// The frames that are due, as bytes.
fn due(link: &mut Link, now: Instant) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    link.poll(now, |frame| {
        let mut bytes = Vec::new();
        Frame::Link(frame).write(Addresses { destination: [2; 6], source: [4; 6] }, &mut bytes);
        frames.push(bytes);
    });
    frames
}

fn receive(link: &mut Link, bytes: &[u8]) -> Option<Packet> {
    let Ok((_, Frame::Link(frame))) = Frame::parse(bytes) else { panic!("another frame: {bytes:?}") };
    link.receive(&frame)
}

#[test]
fn nothing_is_acknowledged_before_it_is_settled() {
    let now = Instant::now();
    let (mut board, mut node) = (Link::new(7, None), Link::new(7, Some(KIND)));
    for kind in [0, KIND, 0, KIND] {
        board.send(meta(kind), &[kind]);
    }
    for frame in due(&mut board, now) {
        receive(&mut node, &frame).unwrap();
    }
    let mut waiting = Vec::new();
    for _ in 0..3 {
        for frame in due(&mut node, now) {
            receive(&mut board, &frame);
        }
        waiting.push(board.waiting());
        node.settle();
    }
    assert_eq!(waiting, [3, 1, 0]);
}

#[test]
fn the_window_is_eight_and_repetitions_become_rare() {
    let start = Instant::now();
    let mut link = Link::new(1, None);
    for _ in 0..20 {
        link.send(meta(0), &[0]);
    }
    assert_eq!(due(&mut link, start).len(), WINDOW);
    assert_eq!(due(&mut link, start).len(), 0);
    let mut times = Vec::new();
    for millisecond in 1..400 {
        let sent = due(&mut link, start + Duration::from_millis(millisecond)).len();
        if sent > 0 {
            assert_eq!(sent, WINDOW);
            times.push(millisecond);
        }
    }
    assert_eq!(times, [1, 3, 7, 15, 31, 63, 127, 191, 255, 319, 383]);
    // An acknowledgement of a segment that was never sent belongs to another session.
    link.receive(&LinkFrame { session: 1, expected: 9, segment: None });
    link.receive(&LinkFrame { session: 2, expected: 8, segment: None });
    assert_eq!(link.waiting(), 20);
    link.receive(&LinkFrame { session: 1, expected: 8, segment: None });
    assert_eq!(link.waiting(), 12);
}

#[test]
fn the_rest_of_a_packet_is_none() {
    let mut link = Link::new(1, None);
    let mut number = 0;
    let mut give = |first, last, payload: &[u8]| {
        let segment = Segment { number, first, last, meta: meta(0), payload };
        number += 1;
        link.receive(&LinkFrame { session: 1, expected: 0, segment: Some(segment) })
    };
    assert_eq!(give(false, true, &[1]), None);
    assert_eq!(give(true, false, &[2]), None);
    assert_eq!(give(true, true, &[3]).map(|packet| packet.bytes), Some(vec![3]));
    give(true, false, &[0; SEGMENT_BYTES]);
    for _ in 0..4 {
        give(false, false, &[0; SEGMENT_BYTES]);
    }
    assert_eq!(give(false, true, &[4]), None);
    assert!(give(true, true, &[5]).is_some());
}

proptest! {
    /// Two ends over a cable that loses, repeats and reorders frames deliver every packet once and in order, and
    /// acknowledge none that is not settled.
    #[test]
    fn packets_arrive_once_and_in_order(
        seed in any::<u64>(), loss in 0..40_u64, repeat in 0..20_u64, swap in 0..20_u64,
        lengths in proptest::collection::vec((1..3 * SEGMENT_BYTES, any::<bool>()), 1..60),
    ) {
        let mut state = seed | 1;
        let mut chance = |percent: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 100 < percent
        };
        let mut ends = [Link::new(9, Some(KIND)), Link::new(9, Some(KIND))];
        // The model: the packets that each end has sent, and those that the other has received.
        let mut sent = [Vec::new(), Vec::new()];
        let mut received = [Vec::new(), Vec::new()];
        for (number, (length, side)) in lengths.iter().enumerate() {
            let (kind, bytes) = (if length % 3 == 0 { KIND } else { 0 }, vec![number as u8; *length]);
            ends[usize::from(*side)].send(meta(kind), &bytes);
            sent[usize::from(*side)].push((kind, bytes));
        }
        let mut cable: [VecDeque<Vec<u8>>; 2] = Default::default();
        let mut now = Instant::now();
        let mut unsettled = [0, 0];
        for turn in 0.. {
            prop_assert!(turn < 200_000, "packets are lost for good");
            now += Duration::from_micros(300);
            for side in 0..2 {
                for frame in due(&mut ends[side], now) {
                    if chance(loss) {
                        continue;
                    }
                    if chance(repeat) {
                        cable[side].push_back(frame.clone());
                    }
                    cable[side].push_back(frame);
                    let last = cable[side].len() - 1;
                    if last > 0 && chance(swap) {
                        cable[side].swap(last - 1, last);
                    }
                }
                // Some frames stay on the cable for a while.
                while !chance(20) {
                    let Some(frame) = cable[side].pop_front() else { break };
                    if let Some(packet) = receive(&mut ends[1 - side], &frame) {
                        unsettled[side] += usize::from(packet.is_unsettled);
                        received[side].push((packet.meta.kind, packet.bytes));
                    }
                }
                prop_assert_eq!(&received[side][..], &sent[side][..received[side].len()]);
                if unsettled[side] > 0 {
                    prop_assert!(ends[side].waiting() > 0, "acknowledged before it was settled");
                    if chance(30) {
                        unsettled[side] -= 1;
                        ends[1 - side].settle();
                    }
                }
            }
            if ends.iter().all(|end| end.waiting() == 0) {
                break;
            }
        }
        prop_assert_eq!(sent, received);
    }
}

fn record_check(operations: u32) -> (RecordCheck, Instant) {
    (RecordCheck::new(operations), Instant::now())
}

#[test]
fn each_operation_has_one_record() {
    // The counter overflows.
    let (mut check, now) = record_check(u32::MAX - 1);
    assert_eq!(check.missing(u32::MAX, 1, false, now), Ok(0));
    assert_eq!(check.missing(3, 3, false, now), Ok(2));
    assert_eq!(check.missing(3, 5, false, now + 9 * PATIENCE), Ok(0));
    assert_eq!(check.missing(3, 6, false, now), Err(RecordError::Excess { excess: 1 }));
}

#[test]
fn a_missing_record_is_noticed_in_a_pause() {
    let (mut check, start) = record_check(0);
    // One of the first has none.
    for operations in 1..100 {
        let now = start + PATIENCE * operations;
        assert_eq!(check.missing(operations, u64::from(operations) - 1, false, now), Ok(1));
    }
    let pause = start + PATIENCE * 99;
    assert_eq!(check.missing(99, 98, false, pause + PATIENCE - Duration::from_nanos(1)), Ok(1));
    assert_eq!(check.missing(99, 98, false, pause + PATIENCE), Err(RecordError::Missing { missing: 1 }));
}

#[test]
fn late_records_are_not_missing() {
    let (mut check, mut now) = record_check(0);
    for round in 1..100 {
        // Ten are on their way at all times.
        assert_eq!(check.missing(round * 10, (round * 10 - 10).into(), false, now), Ok(10));
        now += PATIENCE - Duration::from_nanos(1);
    }
}

#[test]
fn a_slow_journal_is_no_fault_of_the_board() {
    let (mut check, now) = record_check(0);
    assert_eq!(check.missing(9, 8, false, now), Ok(1));
    assert_eq!(check.missing(9, 8, true, now + 2 * PATIENCE), Ok(1));
    assert_eq!(check.missing(9, 8, false, now + 3 * PATIENCE - Duration::from_nanos(1)), Ok(1));
    assert_eq!(check.missing(9, 8, false, now + 3 * PATIENCE), Err(RecordError::Missing { missing: 1 }));
}
