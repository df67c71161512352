//! Tests of peers that have a queue pair and break the protocol. They run if `TURNPIKE_RDMA` is the address of an RDMA
//! device, as in the machine of `make test-rdma`.

use std::{
    iter,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rdma_mummy_sys::ibv_wr_opcode as opcode;
use skip::Ability;

use super::{
    immediate::{Immediate, Kind},
    queue::{Completion, Queue, Send},
    verbs::{Event, Id},
};
use crate::{
    Address, Channel, Config, Error, Message, Operations, Selector, ServerChannel,
    pool::{FreeList, Pool, lease, private_pool},
    tcp::frame::Greeting,
};

const PATIENCE: Duration = Duration::from_secs(60);

fn device() -> Option<Address> {
    let Ok(ip) = std::env::var("TURNPIKE_RDMA") else {
        skip::lacking(Ability::Rdma, "TURNPIKE_RDMA names no RDMA device; `make test-rdma` emulates one");
        return None;
    };
    Some(format!("rdma://{ip}:0").parse().unwrap())
}

fn config() -> Config {
    Config { buffers: 4, buffer_bytes: 256, ..Config::default() }
}

fn until<T>(mut step: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(value) = step() {
            return value;
        }
        assert!(Instant::now() < deadline, "nothing happens");
        thread::sleep(Duration::from_millis(1));
    }
}

/// A peer that ignores the rules of channels.
struct Peer {
    queue: Queue,
    id: Arc<Id>,
    pool: Arc<Pool<FreeList>>,
    sends: u64,
}

impl Peer {
    /// A queue pair whose buffers are longer than it announces to the victim.
    fn on(id: Id) -> Self {
        let id = Arc::new(id);
        let pool = private_pool(200, 1024, 1).unwrap();
        let receives = private_pool(8, 1024, 1).unwrap();
        let mut queue = Queue::new(&id, 200, Arc::clone(&pool), Arc::clone(&receives), 1024).unwrap();
        queue.post_receives(iter::from_fn(|| lease(&receives))).unwrap();
        Self { queue, id, pool, sends: 0 }
    }

    /// Requests a connection with this greeting. The last event shows how it ended.
    fn connect(to: &Address, words: [u8; Greeting::BYTES]) -> (Self, Event) {
        let Address::Rdma(to) = to else { panic!("{to} is no address of RDMA") };
        let id = Id::resolve_address(*to).unwrap();
        assert!(matches!(until(|| id.next_event().unwrap()), Event::AddressResolved));
        id.resolve_route().unwrap();
        assert!(matches!(until(|| id.next_event().unwrap()), Event::RouteResolved));
        let this = Self::on(id);
        this.id.connect(&words).unwrap();
        let end = until(|| this.id.next_event().unwrap());
        (this, end)
    }

    fn send(&mut self, immediate: u32, bytes: usize) {
        self.sends += 1;
        let send = Send { number: self.sends, immediate, is_signalled: true };
        self.queue.post_send(&send, Some((lease(&self.pool).unwrap(), bytes))).unwrap();
    }

    fn message(&mut self) {
        self.send(Immediate { credits: 0, kind: Kind::Message }.encode(), 7);
    }

    /// How the queue pair failed.
    fn failure(&mut self) -> Error {
        until(|| {
            let count = self.queue.poll().unwrap();
            (0..count).find_map(|at| match self.queue.completion(at) {
                Completion::Failed(error) => Some(error),
                _ => None,
            })
        })
    }
}

/// A peer that greets correctly, and the channel that it gets.
fn victim(address: &Address) -> (Peer, Channel) {
    let mut server = ServerChannel::bind(address, &config()).unwrap();
    let at = server.address();
    let greeting = Greeting::from_config(&config()).encode();
    let peer = thread::spawn(move || Peer::connect(&at, greeting));
    let channel = until(|| server.accept().unwrap());
    let (peer, end) = peer.join().unwrap();
    assert!(matches!(end, Event::Established(theirs) if theirs == greeting));
    (peer, channel)
}

/// All messages of a channel, and how it ended.
fn end(channel: Channel) -> (Vec<Message>, Error) {
    let mut selector = Selector::new().unwrap();
    let key = selector.register(channel, Operations::RECEIVE).unwrap();
    let mut messages = Vec::new();
    loop {
        assert_eq!(selector.select(Some(PATIENCE)).unwrap(), 1, "nothing was told");
        match selector.channel(key).unwrap().receive() {
            Ok(message) => messages.extend(message),
            Err(error) => return (messages, error),
        }
    }
}

#[test]
fn what_breaks_a_rule_closes_the_channel_with_its_name() {
    let Some(address) = device() else { return };
    let credits = |credits, kind| Immediate { credits, kind }.encode();
    let bad = [
        (3 << 8, 0),
        (0xff << 8, 0),
        (1, 0),
        (credits(0, Kind::Credits), 0),
        (credits(1, Kind::Credits), 1),
        (credits(0, Kind::Close), 1),
    ];
    let forged = [(credits(1, Kind::Message), 0), (credits(u16::MAX, Kind::Message), 9), (credits(5, Kind::Close), 0)];
    for (at, (immediate, bytes)) in bad.into_iter().chain(forged).enumerate() {
        let (mut peer, channel) = victim(&address);
        peer.message();
        peer.send(immediate, bytes);
        let (messages, error) = end(channel);
        let is_expected =
            if at < bad.len() { matches!(error, Error::BadFrame(_)) } else { error == Error::CreditForged };
        assert!(is_expected, "{immediate:#x} with {bytes} bytes: {error}");
        assert_eq!(messages.len(), 1, "what came before stays");
    }
    // A message that is too long fails the queue pair itself; the status differs between devices.
    let (mut peer, channel) = victim(&address);
    peer.send(credits(0, Kind::Message), 257);
    let (messages, error) = end(channel);
    assert!(matches!(error, Error::BadFrame(_) | Error::QueuePair { .. }) && messages.is_empty(), "{error}");
}

#[test]
fn messages_without_credit_are_no_memory_of_the_receiver() {
    let Some(address) = device() else { return };
    let (mut peer, channel) = victim(&address);
    // The channel has posted four receives and three spare ones: its device refuses what exceeds them.
    for _ in 0..100 {
        peer.message();
    }
    let failure = peer.failure();
    assert!(matches!(failure, Error::QueuePair { .. }), "{failure}");
    let (messages, error) = end(channel);
    assert_eq!((messages.len(), error), (4, Error::CreditExceeded));
}

#[test]
fn nothing_can_be_written_at_a_distance() {
    let Some(address) = device() else { return };
    let (mut peer, channel) = victim(&address);
    // The key is valid at the victim's device, because both are in one process: only the right to access is missing.
    peer.queue.post_remote(opcode::IBV_WR_RDMA_WRITE);
    let failure = peer.failure();
    assert!(matches!(failure, Error::QueuePair { .. }), "{failure}");
    drop(peer);
    assert!(matches!(end(channel), (messages, Error::Lost | Error::QueuePair { .. }) if messages.is_empty()));
}

#[test]
fn a_message_without_the_word_beside_it_is_none() {
    let Some(address) = device() else { return };
    let (mut peer, channel) = victim(&address);
    peer.queue.post_remote(opcode::IBV_WR_SEND);
    assert!(matches!(end(channel).1, Error::BadFrame(_)));
}

#[test]
fn who_does_not_greet_as_a_link_is_refused() {
    let Some(address) = device() else { return };
    let greeting = Greeting::from_config(&config()).encode();
    let mut version = greeting;
    version[5] ^= 1;
    let mut buffers = greeting;
    buffers[6..8].copy_from_slice(&u16::MAX.to_be_bytes());
    for wrong in [[0; 16], *b"GET / HTTP/1.1\r\n", version, buffers] {
        let mut server = ServerChannel::bind(&address, &config()).unwrap();
        let at = server.address();
        let peer = thread::spawn(move || Peer::connect(&at, wrong));
        while !peer.is_finished() {
            assert!(server.accept().unwrap().is_none());
            thread::sleep(Duration::from_millis(1));
        }
        assert!(matches!(peer.join().unwrap().1, Event::Rejected(theirs) if theirs == greeting));
    }
    // A server that answers like no link does.
    for wrong in [*b"HTTP/1.1 400 Bad", version] {
        let Address::Rdma(any) = address else { unreachable!() };
        let listener = Id::listen(any, 1).unwrap();
        let at = Address::Rdma(listener.address());
        let mut selector = Selector::new().unwrap();
        let key = selector.register(Channel::connect(&at, &config()).unwrap(), Operations::CONNECT).unwrap();
        let mut peer = None;
        until(|| {
            if let Some(Event::Request(request, _)) = listener.next_event().unwrap() {
                let accepted = Peer::on(request.into_id().unwrap());
                accepted.id.accept(&wrong).unwrap();
                peer = Some(accepted);
            }
            (selector.select(Some(Duration::ZERO)).unwrap() > 0).then_some(())
        });
        let error = selector.channel(key).unwrap().finish_connect().unwrap_err();
        assert!(matches!(error, Error::Greeting { .. }), "{error}");
    }
}
