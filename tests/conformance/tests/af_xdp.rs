//! The suite against a node that takes frames past the host's network stack, over a cable between two network namespaces.
//!
//! Skipped, with a word why, where the machine does not allow it: it takes root and Linux 6.10.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::time::Duration;

use common::setting::{
    Client, Setting, a_node_that_remembers_little_conforms, config, conforms,
    other_traffic_and_restarts_are_not_disturbed, set_up,
};
use common::{CABLE, CLIENT, CLIENT_V6, NODE, NODE_V6, STRANGER, address, ip, within};
use node::config::Backend;
use skip::Ability;
use wire::{BatchEntries, BatchFormat, BatchHeader, Command, CompactEntry, CompactFrame, Promise, Reply, Status};
use zerocopy::IntoBytes;

/// What came as frames, and what came on the host's sockets (datagrams, or messages of connections), when nothing is on its
/// way: frames are counted when they come, datagrams when they have been looked at.
fn ways(setting: &Setting) -> (u64, u64) {
    let counters = &setting.node.state().counters;
    let counts = || (counters.frames.get(), counters.datagrams.get());
    let mut before = counts();
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(50));
        let (frames, datagrams) = counts();
        if (frames, datagrams) == before && frames <= datagrams {
            return (frames, datagrams - frames);
        }
        before = (frames, datagrams);
    }
    panic!("frames and datagrams do not come to rest: {before:?}");
}

#[test]
fn the_node_conforms_over_ipv4() {
    let mut config = config(NODE, Backend::AfXdp);
    config.limits.rate = 2000;
    let Some(setting) = set_up(config) else { return };
    conforms(&setting, CLIENT, Some(STRANGER), "", true);
    let (frames, others) = ways(&setting);
    assert!(frames > 1000, "{frames} frames");
    // Datagrams that fill several frames, and what came on connections.
    assert!(others > 0);
}

#[test]
fn the_node_conforms_over_ipv6_at_accepted() {
    let mut config = config(&format!("[{NODE_V6}]"), Backend::AfXdp);
    config.promise = Promise::Accepted;
    let Some(setting) = set_up(config) else { return };
    conforms(&setting, CLIENT_V6, None, "", false);
    let (frames, _) = ways(&setting);
    assert!(frames > 1000, "{frames} frames");
}

#[test]
fn the_node_conforms_while_it_polls_busily() {
    let mut config = config(NODE, Backend::AfXdp);
    config.io.busy_poll = true;
    let Some(setting) = set_up(config) else { return };
    conforms(&setting, CLIENT, Some(STRANGER), "compact", false);
}

#[test]
fn a_node_that_remembers_little() {
    a_node_that_remembers_little_conforms(Backend::AfXdp);
}

#[test]
fn other_traffic_and_restarts() {
    other_traffic_and_restarts_are_not_disturbed(Backend::AfXdp);
}

/// What `auto` takes between interfaces with devices: `TURNPIKE_AUTO` names it, as it is the driver's matter.
#[test]
fn auto_takes_what_the_driver_has() {
    let expected = match std::env::var("TURNPIKE_AUTO").as_deref() {
        Ok("af_xdp") => Backend::AfXdp,
        Ok("xdp") => Backend::Xdp,
        other => {
            let why = format_args!("a veth has no device, and TURNPIKE_AUTO does not tell of others ({other:?})");
            return skip::lacking(Ability::Cards, why);
        }
    };
    let Some(setting) = set_up(config(NODE, Backend::Auto)) else { return };
    assert_eq!(setting.node.backend(), expected);
    // What takes another way through frames; signatures would take an emulated processor long.
    for cases in ["compact", "batch: ", "headers", "frames"] {
        conforms(&setting, CLIENT, Some(STRANGER), cases, false);
    }
    let (frames, _) = ways(&setting);
    assert_eq!(frames > 100, expected == Backend::AfXdp, "{frames} frames");
}

/// Flows take one queue or the other: none is left to the host's sockets.
#[test]
fn frames_of_every_queue_come() {
    let mut config = config(NODE, Backend::AfXdp);
    config.promise = Promise::Accepted;
    let Some(setting) = set_up(config) else { return };
    let node = setting.node.local_address();
    within(&setting.namespaces.client, || {
        for account in 1..=64 {
            let reply = Client::new(CLIENT, node).next(wire::Command::Create, account, 0, 0);
            assert_eq!(reply.status.get(), 0);
        }
    });
    let (frames, others) = ways(&setting);
    assert!(frames >= 64 && others == 0, "{frames} frames, {others} others");
}

/// Frames that are longer than an Ethernet usually takes come as well, up to what a page holds.
#[test]
fn long_frames_come() {
    const OPERATIONS: u16 = 130;
    let mut config = config(NODE, Backend::AfXdp);
    config.promise = Promise::Accepted;
    let Some(setting) = set_up(config) else { return };
    // A veth with XDP takes some 3,500 bytes at most.
    for side in [&setting.namespaces.node, &setting.namespaces.client] {
        ip(&format!("-n {side} link set {CABLE} mtu 3400")).unwrap();
    }
    let creates: Vec<CompactEntry> = (1..=OPERATIONS.into())
        .map(|account| CompactFrame::new(Command::Create, account, account, 0, 0).into())
        .collect();
    let header = BatchHeader::new(1, BatchFormat::Compact, OPERATIONS, Promise::Default);
    let request = [header.as_bytes(), creates.as_bytes()].concat();
    assert!(request.len() > 3000, "{} bytes", request.len());
    let node = setting.node.local_address();
    let (before, others_before) = ways(&setting);
    let reply = within(&setting.namespaces.client, || {
        let socket = client::connected(node, Some(address(CLIENT))).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        socket.send(&request).unwrap();
        let mut reply = vec![0; 4096];
        let length = socket.recv(&mut reply).unwrap();
        reply.truncate(length);
        reply
    });
    let Ok(Reply::Batch(answer)) = Reply::parse(&reply) else { panic!("{reply:02x?}") };
    let BatchEntries::Compact(entries) = answer.entries else { panic!("the reply has another format") };
    assert!(entries.iter().all(|entry| entry.frame.status() == Ok(Status::Ok)));
    let (after, others_after) = ways(&setting);
    assert_eq!((after - before, others_after - others_before), (1, 0), "it came as a frame, not by the host's sockets");
}
