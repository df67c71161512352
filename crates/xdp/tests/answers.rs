//! The program's replies equal the host's byte for byte, and every other packet passes unchanged.
//!
//! The program runs on test packets (`BPF_PROG_TEST_RUN`), which needs no interface, but root.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::collections::HashMap;

use common::{Checksum, Envelope, MAC, PORT, Tier, WINDOW, bytes, compact};
use proptest::prelude::*;
use turnpike_xdp::{Counter, Flags, Program};
use wire::{Command, CompactFrame, Status};

/// Runs the program on a request and expects a reply.
fn expect_reply(program: &Program, envelope: &Envelope, request: &[u8], reply: &[u8]) {
    let run = program.test_run(&envelope.frame(request), 1).unwrap();
    assert!(run.replies(), "{envelope:?} {request:02x?}");
    let turned = Envelope { checksum: Checksum::Right, ..envelope.turned() };
    assert_eq!(run.packet, turned.frame(reply), "{envelope:?}");
}

/// Runs the program on a frame and expects it to pass unchanged.
fn expect_pass(program: &Program, frame: &[u8]) {
    let run = program.test_run(frame, 1).unwrap();
    assert!(run.passes(), "{frame:02x?}");
    assert_eq!(run.packet, frame);
}

fn funded(accounts: usize) -> Option<(Tier, Program)> {
    let mut tier = Tier::new(accounts, WINDOW)?;
    let program = tier.program()?;
    for account in 1..=8 {
        tier.execute(compact(Command::Create, account, account, 0, 0));
        tier.execute(compact(Command::Issue, 100 + account, account, 0, 1000 * account));
    }
    Some((tier, program))
}

#[test]
fn refer_is_answered() {
    let Some((mut tier, program)) = funded(64) else { return };
    for unknown in [9, 0] {
        expect_pass(&program, &Envelope::default().frame(&bytes(&compact(Command::Refer, 77, unknown, 0, 0))));
    }
    for (account, status) in [(1, 0), (8, 0)] {
        let request = compact(Command::Refer, 77, account, 0, 0);
        let reply = tier.execute(request);
        assert_eq!(reply.status.get(), status);
        for envelope in [Envelope::default(), Envelope::v6()] {
            for vlans in [vec![], vec![5], vec![7, 9]] {
                for checksum in [Checksum::Right, Checksum::Pseudo] {
                    let envelope = Envelope { vlans: vlans.clone(), checksum, ..envelope.clone() };
                    expect_reply(&program, &envelope, &bytes(&request), &bytes(&reply));
                }
            }
        }
    }
    assert_eq!(program.count(Counter::Refer), 2 * 12);
    let request = compact(Command::Refer, 77, 1, 0, 0);
    let unchecked = Envelope { checksum: Checksum::None, ..Envelope::default() };
    let reply = tier.execute(request);
    expect_reply(&program, &unchecked, &bytes(&request), &bytes(&reply));
}

#[test]
fn large_balances_are_told_as_the_largest() {
    let Some((mut tier, program)) = funded(64) else { return };
    for transaction in 0..2 {
        tier.execute(compact(Command::Issue, 900 + transaction, 1, 0, u32::MAX));
    }
    let request = compact(Command::Refer, 1, 1, 0, 0);
    let reply = tier.execute(request);
    assert_eq!(reply.value(), u32::MAX);
    expect_reply(&program, &Envelope::default(), &bytes(&request), &bytes(&reply));
}

#[test]
fn retries_get_their_first_result() {
    let Some((mut tier, program)) = funded(64) else { return };
    let operations = [
        compact(Command::Create, 500, 20, 0, 0),
        compact(Command::Create, 501, 20, 0, 0),
        compact(Command::Issue, 502, 20, 0, 50),
        compact(Command::Transfer, 503, 20, 1, 20),
        compact(Command::Transfer, 504, 20, 1, 200),
        compact(Command::Transfer, 505, 99, 1, 1),
        compact(Command::Issue, 506, 20, 0, 5),
    ];
    for request in operations {
        expect_pass(&program, &Envelope::default().frame(&bytes(&request)));
        let reply = tier.execute(request);
        expect_reply(&program, &Envelope::default(), &bytes(&request), &bytes(&reply));
    }
    // Later operations do not change the results; a transaction id reused otherwise is left to the host.
    for request in operations {
        let reply = tier.execute(request);
        expect_reply(&program, &Envelope::v6(), &bytes(&request), &bytes(&reply));
        let mut other = request;
        other.amount.set(other.amount.get() + 1);
        expect_pass(&program, &Envelope::default().frame(&bytes(&other)));
    }
    // Operations that the window forgot are left to the host, too.
    for transaction in 0..WINDOW as u32 {
        tier.execute(compact(Command::Issue, 10_000 + transaction, 2, 0, 1));
    }
    expect_pass(&program, &Envelope::default().frame(&bytes(&operations[0])));
    let last = compact(Command::Issue, 10_000 + WINDOW as u32 - 1, 2, 0, 1);
    let reply = tier.execute(last);
    expect_reply(&program, &Envelope::default(), &bytes(&last), &bytes(&reply));
}

#[test]
fn what_is_not_durable_is_left_to_the_host() {
    let Some((mut tier, program)) = funded(64) else { return };
    let request = compact(Command::Refer, 77, 1, 0, 0);
    let reply = tier.execute(request);
    let frame = Envelope::default().frame(&bytes(&request));
    tier.state.set_flags(Flags::DURABLE);
    tier.state.announce(20);
    tier.state.durable(19);
    expect_pass(&program, &frame);
    assert_eq!(program.count(Counter::NotDurable), 1);
    tier.state.executed(19);
    expect_reply(&program, &Envelope::default(), &bytes(&request), &bytes(&reply));
    tier.state.announce(21);
    expect_pass(&program, &frame);
    tier.state.durable(21);
    expect_reply(&program, &Envelope::default(), &bytes(&request), &bytes(&reply));
}

#[test]
fn what_is_not_for_the_tier_passes_as_it_came() {
    let Some((_tier, program)) = funded(64) else { return };
    let request = bytes(&compact(Command::Refer, 77, 1, 0, 0));
    let good = Envelope::default();
    let address = |text: &str| text.parse().unwrap();
    let envelopes = [
        Envelope { ports: [4000, PORT + 1], ..good.clone() },
        Envelope { ports: [PORT, PORT], ..good.clone() },
        Envelope { ports: [0, PORT], ..good.clone() },
        Envelope { source: address("11.0.0.2"), ..good.clone() },
        Envelope { source: address("127.0.0.1"), ..good.clone() },
        Envelope { source: address("224.0.0.1"), ..good.clone() },
        Envelope { destination: address("10.0.0.9"), ..good.clone() },
        Envelope { macs: [MAC, [0xff; 6]], ..good.clone() },
        Envelope { checksum: Checksum::Wrong, ..good.clone() },
        Envelope { vlans: vec![1, 2, 3], ..good.clone() },
        Envelope { checksum: Checksum::Wrong, ..Envelope::v6() },
        Envelope { checksum: Checksum::None, ..Envelope::v6() },
        Envelope { source: address("fe80::2"), ..Envelope::v6() },
        Envelope { source: address("ff02::1"), ..Envelope::v6() },
        Envelope { destination: address("fd00::9"), ..Envelope::v6() },
    ];
    for envelope in &envelopes {
        expect_pass(&program, &envelope.frame(&request));
    }
    // The frame with the byte `at` after the Ethernet header changed, and the checksum updated.
    let changed = |at: usize, value: u8| {
        let mut frame = good.frame(&request);
        frame[14 + at] = value;
        frame[24..26].fill(0);
        let mut sum = 0_u32;
        for pair in frame[14..34].chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(pair[1]);
        }
        let sum = (sum & 0xffff) + (sum >> 16);
        frame[24..26].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        frame
    };
    assert!(program.test_run(&changed(8, 3), 1).unwrap().replies(), "the time to live does not matter");
    // Options, another version, fragments, TCP, another length.
    for (at, value) in [(0, 0x46), (0, 0x65), (6, 0x20), (7, 1), (9, 6), (3, 51)] {
        expect_pass(&program, &changed(at, value));
    }
    let mut damaged = good.frame(&request);
    damaged[22] = 63;
    expect_pass(&program, &damaged);
    // Malformed, unknown, longer, shorter: refusals are left to the host.
    let mut frames = vec![vec![0; 22], vec![0xff; 22], request[..21].to_vec(), [request.clone(), vec![0]].concat()];
    for (field, value) in [(3, 9), (15, 1), (19, 1), (21, 33)] {
        let mut frame = request.clone();
        frame[field] = value;
        frames.push(frame);
    }
    for frame in frames {
        expect_pass(&program, &good.frame(&frame));
        expect_pass(&program, &Envelope::v6().frame(&frame));
    }
}

#[test]
fn groups_and_addresses_of_one_link_get_no_answer_whoever_is_trusted() {
    let Some((tier, program)) = funded(64) else { return };
    let all = [("0.0.0.0", 0), ("::", 96), ("2000::", 3), ("8000::", 1)];
    tier.state.set_trusted(all.map(|(network, length)| (network.parse().unwrap(), length)));
    let request = bytes(&compact(Command::Refer, 77, 1, 0, 0));
    let from = |source: &str| {
        let envelope = if source.contains(':') { Envelope::v6() } else { Envelope::default() };
        Envelope { source: source.parse().unwrap(), ..envelope }.frame(&request)
    };
    for source in ["11.0.0.2", "223.255.255.255", "2001:db8::1"] {
        assert!(program.test_run(&from(source), 1).unwrap().replies(), "{source}");
    }
    for source in [
        "0.0.0.1",
        "127.0.0.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::2",
        "febf::1",
        "ff02::1",
        "ff0e::1",
    ] {
        expect_pass(&program, &from(source));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_pass_or_are_answered(bytes in prop::collection::vec(any::<u8>(), 14..200), fit: bool) {
        thread_local!(static TIER: Option<(Tier, Program)> = funded(64));
        TIER.with(|tier| {
            let Some((_, program)) = tier else { return Ok(()) };
            let frame = if fit { Envelope::default().frame(&bytes) } else { bytes };
            let run = program.test_run(&frame, 1).unwrap();
            prop_assert!(run.passes() && run.packet == frame, "no such bytes are a REFER");
            Ok(())
        })?;
    }

}

proptest! {
    // Each case loads the program, which takes the verifier a second.
    #![proptest_config(ProptestConfig { max_shrink_iters: 16, ..ProptestConfig::with_cases(4) })]

    /// Any operations, then any compact frames: the program's replies equal the ledger's.
    #[test]
    fn answers_are_those_of_the_ledger(
        steps in prop::collection::vec((1u32..5, 0u32..40, 0u32..12, 0u32..12, 0u32..50), 1000..3000),
    ) {
        let Some((mut tier, program)) = funded(10) else { return Ok(()) };
        // The ledger's last reply to each request that it saw: those that created the accounts may be repeated.
        let created = (1..=8).map(|account| compact(Command::Create, account, account, 0, 0));
        let mut first: HashMap<_, _> = created
            .map(|request| (Envelope::default().frame(&bytes(&request)), bytes(&tier.execute(request))))
            .collect();
        for (command, transaction, source, destination, amount) in steps {
            let mut request: CompactFrame = compact(Command::Refer, transaction, source, 0, 0);
            request.command.set(command);
            if command != 4 {
                request.amount.set(amount);
                request.destination.set(if command == 3 { destination } else { 0 });
            }
            if command == 1 {
                request.amount.set(0);
            }
            let frame = Envelope::default().frame(&bytes(&request));
            let run = program.test_run(&frame, 1).unwrap();
            if run.replies() {
                // The ledger does not see a retry that is answered here, and may be about to forget the operation.
                let reply = if command == 4 { Some(bytes(&tier.execute(request))) } else { first.get(&frame).cloned() };
                prop_assert!(reply.is_some(), "only what the ledger has seen is answered");
                let reply = reply.unwrap_or_default();
                prop_assert_eq!(run.packet, Envelope::default().turned().frame(&reply));
            } else {
                prop_assert_eq!(&run.packet, &frame);
                let reply = tier.execute(request);
                let is_missing = reply.status() == Ok(Status::SourceUnknown);
                prop_assert!(command != 4 || is_missing, "every REFER to an account is answered");
                first.insert(frame, bytes(&reply));
            }
        }
    }
}
