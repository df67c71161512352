//! The protocol over a WebSocket of the HTTP address.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use common::{account, config, connect, http::send};
use tungstenite::{
    ClientHandshake, Message, WebSocket,
    client::IntoClientRequest,
    http::HeaderValue,
    protocol::{CloseFrame, frame::coding::CloseCode},
};
use turnpike_node::{Config, Node};
use wire::{AccountId, Command, CompactFrame, FeedFrame, InfoFrame, Promise, Reply, Status};
use zerocopy::{FromBytes, IntoBytes};

/// Longer than anything takes on a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(60);

type Client = WebSocket<TcpStream>;

fn start(change: impl FnOnce(&mut Config)) -> (tempfile::TempDir, Node, SocketAddr) {
    let data = tempfile::tempdir().unwrap();
    let mut config = Config { http: Some("127.0.0.1:0".parse().unwrap()), ..config(data.path()) };
    change(&mut config);
    let node = Node::start(&config).unwrap();
    let address = node.http_address().unwrap();
    (data, node, address)
}

/// Opens a WebSocket as a page of an origin does, or as a program; an error is the status of the refusal.
fn open(address: SocketAddr, path: &str, origin: Option<&str>) -> Result<Client, u16> {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
    if let Some(origin) = origin {
        request.headers_mut().insert("Origin", HeaderValue::from_str(origin).unwrap());
    }
    match ClientHandshake::start(stream, request, None).unwrap().handshake() {
        Ok((client, _)) => Ok(client),
        Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(reply))) => Err(reply.status().as_u16()),
        Err(error) => panic!("{error}"),
    }
}

fn ask(client: &mut Client, frame: &[u8]) -> Message {
    client.send(Message::binary(frame.to_vec())).unwrap();
    client.read().unwrap()
}

/// The next frame of a feed: its status, cursor and the number of its entries.
fn feed_frame(client: &mut Client) -> (Status, u64, usize) {
    let message = client.read().unwrap().into_data();
    match Reply::parse(&message).unwrap() {
        Reply::Feed(reply) => (reply.fixed.status().unwrap(), reply.fixed.cursor.get(), reply.entries.len()),
        other => panic!("{other:?}"),
    }
}

fn close_of(client: &mut Client) -> CloseFrame {
    match client.read().unwrap() {
        Message::Close(Some(close)) => close,
        other => panic!("{other:?}"),
    }
}

fn subscription(cursor: u64, account: Option<AccountId>) -> FeedFrame {
    FeedFrame::new(9, cursor, account, Promise::Default)
}

#[test]
fn frames_are_answered_one_after_the_other() {
    let (_data, _node, address) = start(|_| {});
    let mut client = open(address, "/frames", None).unwrap();
    for id in 1..=3 {
        client.send(Message::binary(InfoFrame::new(id).as_bytes().to_vec())).unwrap();
    }
    client.send(Message::Ping(b"still there?".as_slice().into())).unwrap();
    for id in 1..=3 {
        let reply = client.read().unwrap().into_data();
        let info = InfoFrame::read_from_bytes(&reply).unwrap();
        assert_eq!((info.header.id.get(), info.status.get()), (id, 0));
    }
    assert_eq!(client.read().unwrap(), Message::Pong(b"still there?".as_slice().into()));
    client.close(None).unwrap();
    assert!(matches!(client.read().unwrap(), Message::Close(_)));
}

#[test]
fn what_is_no_query_ends_the_socket_with_the_reason() {
    let (_data, _node, address) = start(|_| {});
    let transfer = CompactFrame::new(Command::Transfer, 1, 1, 2, 3);
    for (frame, expected) in [(transfer.as_bytes(), "only info"), (b"nonsense".as_slice(), "docs/protocol.md")] {
        let mut client = open(address, "/frames", None).unwrap();
        client.send(Message::binary(frame.to_vec())).unwrap();
        let close = close_of(&mut client);
        assert_eq!(close.code, CloseCode::Policy);
        assert!(close.reason.contains(expected), "{}", close.reason);
    }
}

#[test]
fn pages_of_other_origins_are_refused() {
    let (_data, _node, address) = start(|_| {});
    assert!(open(address, "/frames", Some(&format!("http://{address}"))).is_ok());
    for origin in ["http://evil.example", "null"] {
        assert_eq!(open(address, "/frames", Some(origin)).err(), Some(403), "{origin}");
    }
    // Nothing else becomes a WebSocket.
    assert_eq!(open(address, "/health", None).err(), Some(200));
    let old = "Host: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 8\r\n\
               Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let reply = send(address, "GET /frames", old, b"");
    assert_eq!(reply.status(), "405");
    assert!(reply.text().contains("version 13"), "{}", reply.text());
    // Only those who may use the page.
    let (_data, _node, address) = start(|config| config.page.clients = vec!["10.0.0.0/8".parse().unwrap()]);
    assert_eq!(open(address, "/frames", None).err(), Some(403));
}

#[test]
fn a_feed_follows_queries_on_a_web_socket() {
    let (_data, node, address) = start(|config| config.limits.feeds = 1);
    let mut ledger = connect(&node, Promise::Durable);
    for number in 1..=3 {
        ledger.create(account(number)).unwrap();
    }
    let mut client = open(address, "/frames", None).unwrap();
    let info = ask(&mut client, InfoFrame::new(7).as_bytes()).into_data();
    assert_eq!(InfoFrame::read_from_bytes(&info).unwrap().durable_sequence.get(), 3);
    client.send(Message::binary(subscription(1, None).as_bytes().to_vec())).unwrap();
    assert_eq!(feed_frame(&mut client), (Status::Ok, 1, 0));
    let mut entries = 0;
    while entries < 3 {
        let (status, cursor, count) = feed_frame(&mut client);
        entries += count;
        assert_eq!((status, cursor), (Status::Ok, 1 + entries as u64));
    }
    // More than 125 bytes take a longer header, more than one operation more than one entry.
    ledger.create(account(4)).unwrap();
    assert_eq!(feed_frame(&mut client).1, 5);

    let mut second = open(address, "/frames", None).unwrap();
    assert!(matches!(
        Reply::parse(&ask(&mut second, subscription(1, None).as_bytes()).into_data()).unwrap(),
        Reply::Feed(reply) if reply.fixed.status() == Ok(Status::Busy)
    ));
    assert_eq!(close_of(&mut second).code, CloseCode::Normal);

    // A feed is sent nothing more: even a Close ends it at once, and its place is free.
    client.close(None).unwrap();
    drop(client);
    let refused = std::iter::repeat_with(|| {
        let mut client = open(address, "/frames", None).unwrap();
        client.send(Message::binary(subscription(99, None).as_bytes().to_vec())).unwrap();
        (feed_frame(&mut client).0, close_of(&mut client).code)
    })
    .find(|(status, _)| *status != Status::Busy);
    assert_eq!(refused, Some((Status::NotFound, CloseCode::Normal)));
}

#[test]
fn a_feed_is_for_trusted_prefixes_of_a_node_that_serves_some() {
    for (expected, feeds, trusted) in
        [(Status::NotTrusted, 1, "10.0.0.0/8"), (Status::UnknownCommand, 0, "127.0.0.0/8")]
    {
        let (_data, _node, address) = start(|config| {
            config.limits.feeds = feeds;
            config.trusted = vec![trusted.parse().unwrap()];
        });
        let mut client = open(address, "/frames", None).unwrap();
        client.send(Message::binary(subscription(1, None).as_bytes().to_vec())).unwrap();
        assert_eq!(feed_frame(&mut client).0, expected);
        // The socket goes on.
        assert!(ask(&mut client, InfoFrame::new(1).as_bytes()).is_binary());
    }
}
