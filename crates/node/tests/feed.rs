//! Feeds of a running node.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use client::{Error, Feed, Options};
use common::{account, config, connect, id};
use turnpike_node::{Config, Node};
use wire::{AccountId, FeedEntry, FeedFrame, InfoFrame, Operation, Promise, Reply, Status};
use zerocopy::IntoBytes;

const BATCHES: u32 = 60;
const BATCH: u32 = 500;

fn feed(node: &Node, cursor: u64, account: Option<AccountId>) -> Feed {
    Feed::new(node.local_address(), cursor, account, &Options::default())
}

/// Receives up to the operation `last`.
fn collect(feed: &mut Feed, last: u64) -> Vec<FeedEntry> {
    let mut entries = Vec::new();
    while feed.cursor() <= last {
        let part = feed.receive().unwrap();
        assert_eq!((part.promise, part.finalized), (Promise::Durable, 0));
        entries.extend_from_slice(part.entries);
    }
    entries
}

/// What the journal has from `cursor` on.
fn journal(node: &Node, cursor: u64) -> Vec<FeedEntry> {
    let mut reader = node.state().log.reader(cursor).unwrap();
    let mut entries = Vec::new();
    while let Some(batch) = reader.next().unwrap() {
        entries.extend((batch.first_sequence..).zip(batch.records).map(|(sequence, record)| FeedEntry {
            sequence: sequence.into(),
            operation: record.operation,
            value: record.value,
        }));
    }
    entries
}

/// Opens two accounts and transfers between them; every seventh transfer fails.
fn load(node: &Node) {
    let mut client = connect(node, Promise::Durable);
    let opened = [1, 2].map(|number| Operation::create(id(number), account(number)));
    client.submit(&opened).unwrap();
    client.submit(&[Operation::issue(id(3), account(1), 1_000_000)]).unwrap();
    for batch in 0..BATCHES {
        let transfers = (0..BATCH).map(|number| {
            let amount = if number % 7 == 0 { u64::MAX } else { 1 };
            Operation::transfer(id(10 + batch * BATCH + number), account(1), account(2), amount)
        });
        client.submit(&Vec::from_iter(transfers)).unwrap();
    }
}

#[test]
fn feeds_before_during_and_after_load_agree_with_the_journal() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&config(data.path())).unwrap();
    let last = u64::from(3 + BATCHES * BATCH);
    thread::scope(|scope| {
        let before = scope.spawn(|| collect(&mut feed(&node, 1, None), last));
        let of_one = scope.spawn(|| collect(&mut feed(&node, 1, Some(account(2))), last));
        load(&node);
        let during = scope.spawn(|| collect(&mut feed(&node, last / 2, None), last));
        let entries = journal(&node, 1);
        assert_eq!(entries.len() as u64, last);
        let failed = entries.iter().filter(|entry| entry.operation.status.get() != 0).count() as u32;
        assert_eq!(failed, BATCHES * BATCH.div_ceil(7));
        assert!(before.join().unwrap() == entries);
        assert!(during.join().unwrap() == entries[last as usize / 2 - 1..]);
        let of_two = Vec::from_iter(entries.iter().filter(|entry| entry.concerns(account(2))).copied());
        assert_eq!(of_two.len() as u64, last - 2);
        assert!(of_one.join().unwrap() == of_two);
        assert!(collect(&mut feed(&node, 1, None), last) == entries, "afterwards");
    });
    let metrics = node.metrics();
    // Two from the first operation on, one from the middle, one without the two operations that open the other account.
    let sent = 2 * last + (last - last / 2 + 1) + (last - 2);
    assert!(metrics.contains(&format!("turnpike_feed_operations_total {sent}\n")), "{sent}: {metrics}");
    assert!(metrics.contains("turnpike_feeds_ended_total{reason=\"too_slow\"} 0\n"));
    node.stop();
}

#[test]
fn a_feed_continues_after_the_node_was_restarted() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&config(data.path())).unwrap();
    load(&node);
    let last = u64::from(3 + BATCHES * BATCH);
    let mut feed = feed(&node, 1, None);
    let mut entries = collect(&mut feed, last);
    let listen = node.local_address();
    drop(node);
    let node = Node::start(&Config { listen, ..config(data.path()) }).unwrap();
    connect(&node, Promise::Durable).submit(&[Operation::transfer(id(4), account(1), account(2), 1)]).unwrap();
    entries.extend(collect(&mut feed, last + 1));
    assert!(entries == journal(&node, 1));
    assert_eq!(feed.reconnections(), 1);
}

#[test]
fn the_limit_of_feeds_holds() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    config.limits.feeds = 1;
    let node = Node::start(&config).unwrap();
    let mut first = feed(&node, 1, None);
    first.receive().unwrap();
    let options = Options { give_up_after: Duration::from_millis(300), ..Options::default() };
    let mut second = Feed::new(node.local_address(), 1, None, &options);
    assert!(matches!(second.receive(), Err(Error::Refused(Status::Busy))));
    drop(first);
    // With more patience it gets the place.
    let mut second = feed(&node, 1, None);
    assert_eq!(second.receive().unwrap().cursor, 1);
}

/// Sends frames on one connection, and reads this many replies.
fn exchange(node: &Node, frames: &[&[u8]], replies: usize) -> Vec<Vec<u8>> {
    let mut stream = TcpStream::connect(node.local_address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let sent = Vec::from_iter(frames.iter().flat_map(|frame| [&(frame.len() as u32).to_be_bytes(), *frame].concat()));
    stream.write_all(&sent).unwrap();
    let read = |_| {
        let mut prefix = [0; 4];
        stream.read_exact(&mut prefix).unwrap();
        let mut reply = vec![0; u32::from_be_bytes(prefix) as usize];
        stream.read_exact(&mut reply).unwrap();
        reply
    };
    (0..replies).map(read).collect()
}

fn status(reply: &[u8]) -> (&'static str, Status) {
    match Reply::parse(reply).unwrap() {
        Reply::Feed(reply) => ("feed", reply.status),
        Reply::Error(_, status) => ("error", status),
        Reply::Info(_) => ("info", Status::Ok),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_feed_follows_the_replies_to_earlier_requests() {
    let data = tempfile::tempdir().unwrap();
    let node = Node::start(&config(data.path())).unwrap();
    let (info, feed) = (InfoFrame::new(1), FeedFrame::new(2, 1, None, Promise::Default));
    let replies = exchange(&node, &[info.as_bytes(), info.as_bytes(), feed.as_bytes()], 3);
    let statuses = Vec::from_iter(replies.iter().map(|reply| status(reply)));
    assert_eq!(statuses, [("info", Status::Ok), ("info", Status::Ok), ("feed", Status::Ok)]);
}

#[test]
fn only_a_connection_from_a_trusted_prefix_gets_a_feed() {
    let data = tempfile::tempdir().unwrap();
    let request = FeedFrame::new(5, 1, None, Promise::Default);
    let malformed = FeedFrame { flags: 4, ..request };
    let mut config = config(data.path());
    let node = Node::start(&config).unwrap();
    assert_eq!(status(&exchange(&node, &[malformed.as_bytes()], 1)[0]), ("feed", Status::Malformed));
    // As any unknown type.
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut reply = [0; 100];
    let mut by_datagram = |frame: &[u8]| {
        socket.send_to(frame, node.local_address()).unwrap();
        let length = socket.recv(&mut reply).unwrap();
        reply[..length].to_vec()
    };
    let mut unknown = request;
    unknown.header.kind = 99;
    let answer = by_datagram(request.as_bytes());
    assert_eq!(status(&answer), ("error", Status::UnknownCommand));
    assert_eq!(answer, by_datagram(unknown.as_bytes()));
    drop(node);

    config.limits.feeds = 0;
    let node = Node::start(&config).unwrap();
    assert_eq!(exchange(&node, &[request.as_bytes()], 1)[0], exchange(&node, &[unknown.as_bytes()], 1)[0]);
    drop(node);

    config.trusted.clear();
    config.limits.feeds = 1;
    let node = Node::start(&config).unwrap();
    assert_eq!(status(&exchange(&node, &[request.as_bytes()], 1)[0]), ("feed", Status::NotTrusted));
}
