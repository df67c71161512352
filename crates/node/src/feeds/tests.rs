//! Feeds over small journals and real sockets.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread,
};

use ledger::journal::{Batch, Journal, Options, PAGE};
use nic::FeedCarrier;
use storage::{Random, SimulatedDisk};
use tungstenite::{
    Message, WebSocket,
    protocol::{Role, frame::coding::CloseCode},
};
use wire::{AccountId, FeedEntry, FeedFrame, Operation, Reply, Status, TransactionId};

use super::*;

/// The test of a slow client takes this long, and then has this long to read the last frame.
const PATIENCE: Duration = Duration::from_secs(2);

/// Longer than anything takes on a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(60);

fn journal(segment_bytes: u64) -> Journal {
    let options = Options { segment_bytes, batch_bytes: (segment_bytes - PAGE) as usize, key: [7; 32] };
    Journal::open(SimulatedDisk::new(1).root(), &options).unwrap().0
}

/// Commits a batch of this many operations between the accounts 1 to 9. Its time is the sequence of its first.
fn commit(journal: &mut Journal, operations: u64) {
    let first = journal.next_sequence();
    let mut batch = Batch::new();
    for sequence in first..first + operations {
        batch.push(&operation(sequence), 10 * sequence);
    }
    journal.commit(&mut batch, first).unwrap();
}

fn operation(sequence: u64) -> Operation {
    let account = |number: u64| AccountId::from(number as u32);
    let id = TransactionId::from(sequence as u32);
    let mut transfer = Operation::transfer(id, account(1 + sequence % 9), account(1 + sequence / 9 % 9), sequence);
    transfer.status.set(if sequence.is_multiple_of(5) { Status::InsufficientBalance.code() } else { 0 });
    transfer
}

/// The thread of feeds of a journal.
struct Server {
    subscriptions: SyncSender<Subscription>,
    waker: Waker,
    counters: Arc<FeedCounters>,
}

/// Runs a test against feeds of this journal.
fn with_feeds(log: &Arc<Log>, promise: Promise, limit: usize, test: impl FnOnce(&Server)) {
    let counters = Arc::new(FeedCounters::default());
    let source = Source { log: log.clone(), promise, patience: PATIENCE, counters: counters.clone() };
    let (feeds, subscriptions) = Feeds::new(source, limit).unwrap();
    let waker = feeds.waker.clone();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let running = scope.spawn(|| feeds.run(&stop).unwrap());
        test(&Server { subscriptions, waker: waker.clone(), counters });
        stop.store(true, SeqCst);
        waker.wake();
        running.join().unwrap();
    });
}

impl Server {
    fn subscribe(&self, request: FeedFrame) -> Subscriber {
        Subscriber { client: self.connect(FeedCarrier::Stream, request), expected: request.cursor.get() }
    }

    fn connect(&self, carrier: FeedCarrier, request: FeedFrame) -> TcpStream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        client.set_read_timeout(Some(TIMEOUT)).unwrap();
        self.subscriptions.send(Subscription { stream, carrier, request }).unwrap();
        self.waker.wake();
        client
    }

    fn wait_for(&self, what: impl Fn(&FeedCounters) -> bool) {
        let started = Instant::now();
        while !what(&self.counters) {
            assert!(started.elapsed() < TIMEOUT, "{:?}", self.counters);
            thread::sleep(Duration::from_millis(1));
        }
    }
}

struct Subscriber {
    client: TcpStream,
    /// The cursor.
    expected: u64,
}

impl Subscriber {
    /// The next frame; `None` at the end.
    fn next(&mut self) -> Option<(FeedFrame, Vec<FeedEntry>)> {
        let mut prefix = [0; 4];
        if self.client.read(&mut prefix[..1]).unwrap() == 0 {
            return None;
        }
        self.client.read_exact(&mut prefix[1..]).unwrap();
        let mut bytes = vec![0; u32::from_be_bytes(prefix) as usize];
        self.client.read_exact(&mut bytes).unwrap();
        match Reply::parse(&bytes).unwrap() {
            Reply::Feed(reply) => Some((*reply.fixed, reply.entries.to_vec())),
            other => panic!("{other:?}"),
        }
    }

    /// Reads to the operation before `end`, and checks every frame. Returns a refusal, if one comes first.
    fn read_to(&mut self, end: u64, account: Option<AccountId>, promise: Promise) -> Option<FeedFrame> {
        while self.expected < end {
            let (frame, entries) = self.next().unwrap();
            if frame.status() != Ok(Status::Ok) {
                return Some(frame);
            }
            assert_eq!((frame.header.id.get(), frame.promise(), frame.account()), (9, Ok(promise), account));
            assert!(frame.durable.get() >= frame.cursor.get() - 1);
            assert_eq!(frame.finalized.get(), if promise == Promise::Final { frame.durable.get() } else { 0 });
            assert!(frame.cursor.get() >= self.expected);
            // Without a gap: those that are missing do not name the account.
            let skipped = |sequence: u64| account.is_some_and(|account| !entry(sequence).concerns(account));
            for sent in &entries {
                while self.expected < sent.sequence.get() {
                    assert!(skipped(self.expected), "{}", self.expected);
                    self.expected += 1;
                }
                assert_eq!(*sent, entry(self.expected));
                assert!(frame.timestamp.get() <= self.expected, "the batch began before");
                self.expected += 1;
            }
            assert_eq!(entries.is_empty(), frame.timestamp.get() == 0);
            (self.expected..frame.cursor.get()).for_each(|sequence| assert!(skipped(sequence), "{sequence}"));
            self.expected = frame.cursor.get();
        }
        None
    }
}

fn entry(sequence: u64) -> FeedEntry {
    FeedEntry { sequence: sequence.into(), operation: operation(sequence), value: (10 * sequence).into() }
}

fn request(cursor: u64, account: Option<AccountId>) -> FeedFrame {
    FeedFrame::new(9, cursor, account, Promise::Default)
}

#[test]
fn every_cursor_gets_what_follows_exactly_once() {
    let mut journal = journal(1 << 20);
    let log = journal.log().clone();
    let mut random = Random::new(3);
    // Before the first operation, and within batches smaller and larger than a frame.
    with_feeds(&log, Promise::Durable, 200, |server| {
        let mut first = server.subscribe(request(1, None));
        let mut others = Vec::new();
        for _ in 0..60 {
            let most = if random.chance(0.2) { 4_000 } else { 40 };
            let operations = 1 + random.below(most);
            commit(&mut journal, operations);
            let end = journal.next_sequence();
            assert!(first.read_to(end, None, Promise::Durable).is_none());
            let account = random.chance(0.5).then(|| AccountId::from(1 + random.below(10) as u32));
            others.push((server.subscribe(request(1 + random.below(end), account)), account));
        }
        let end = journal.next_sequence();
        for (other, account) in &mut others {
            assert!(other.read_to(end, *account, Promise::Durable).is_none());
        }
        assert_eq!(server.counters.open.load(Relaxed), 61);
        drop((first, others));
        server.wait_for(|counters| counters.ended(Ended::Client) == 61 && counters.open.load(Relaxed) == 0);
    });
}

#[test]
fn a_web_socket_carries_the_same_frames_as_messages() {
    let mut journal = journal(1 << 20);
    // Frames of all lengths: the longest ones, and those of few operations.
    (0..40).for_each(|step| commit(&mut journal, if step == 20 { 4_000 } else { 1 + step % 3 }));
    let end = journal.next_sequence();
    with_feeds(&journal.log().clone(), Promise::Durable, 3, |server| {
        let mut plain = server.subscribe(request(1, None));
        let client = server.connect(FeedCarrier::WebSocket, request(1, None));
        let mut client = WebSocket::from_raw_socket(client, Role::Client, None);
        let mut longest = 0;
        while plain.expected < end {
            let (frame, entries) = plain.next().unwrap();
            let message = client.read().unwrap().into_data();
            longest = longest.max(message.len());
            match Reply::parse(&message).unwrap() {
                Reply::Feed(reply) => assert_eq!((*reply.fixed, reply.entries), (frame, entries.as_slice())),
                other => panic!("{other:?}"),
            }
            plain.expected = frame.cursor.get();
        }
        assert!(longest > wire::MAX_DATAGRAM - FeedEntry::LENGTH);
        // The last frame is followed by a Close.
        let refused = server.connect(FeedCarrier::WebSocket, request(end + 1, None));
        let mut refused = WebSocket::from_raw_socket(refused, Role::Client, None);
        assert_eq!(refused.read().unwrap().len(), FeedFrame::LENGTH);
        assert!(matches!(refused.read().unwrap(), Message::Close(Some(close)) if close.code == CloseCode::Normal));
    });
}

#[test]
fn a_replica_promises_final() {
    let mut journal = journal(1 << 20);
    commit(&mut journal, 30);
    with_feeds(&journal.log().clone(), Promise::Final, 1, |server| {
        assert!(server.subscribe(request(4, None)).read_to(31, None, Promise::Final).is_none());
    });
}

#[test]
fn a_heartbeat_reports_progress_without_operations() {
    let mut journal = journal(1 << 20);
    commit(&mut journal, 30);
    with_feeds(&journal.log().clone(), Promise::Durable, 1, |server| {
        // No operation names this account, so only heartbeats move the cursor.
        let nobody = AccountId::from(1_000_000_u32);
        let mut subscriber = server.subscribe(request(1, Some(nobody)));
        assert!(subscriber.read_to(31, Some(nobody), Promise::Durable).is_none());
        commit(&mut journal, 5);
        assert!(subscriber.read_to(36, Some(nobody), Promise::Durable).is_none());
        assert_eq!(server.counters.operations.load(Relaxed), 0);
    });
}

/// Commits until the journal has pruned an operation.
fn prune(journal: &mut Journal) -> u64 {
    let log = journal.log().clone();
    while log.first_sequence() < 2 {
        commit(journal, 40);
        log.prune(journal.next_sequence()).unwrap();
    }
    log.first_sequence()
}

#[test]
fn a_position_that_was_pruned_is_refused_with_the_first_that_is_there() {
    let mut journal = journal(64 << 10);
    let first = prune(&mut journal);
    with_feeds(&journal.log().clone(), Promise::Durable, 4, |server| {
        let mut early = server.subscribe(request(first - 1, None));
        let refused = early.read_to(u64::MAX, None, Promise::Durable).unwrap();
        assert_eq!(refused.status(), Ok(Status::Pruned));
        assert_eq!((refused.first.get(), refused.cursor.get()), (first, first - 1));
        assert!(early.next().is_none(), "it is the last frame");
        // What the refusal names is there.
        let end = journal.next_sequence();
        assert!(server.subscribe(request(first, None)).read_to(end, None, Promise::Durable).is_none());
        // The next operation may be awaited, but not one after it.
        let refused = server.subscribe(request(end + 1, None)).read_to(u64::MAX, None, Promise::Durable).unwrap();
        assert_eq!(refused.status(), Ok(Status::NotFound));
        let mut next = server.subscribe(request(end, None));
        commit(&mut journal, 1);
        assert!(next.read_to(end + 1, None, Promise::Durable).is_none());
        server.wait_for(|counters| (counters.ended(Ended::Pruned), counters.ended(Ended::NotFound)) == (1, 1));
    });
}

#[test]
fn too_many_feeds_are_refused() {
    let mut journal = journal(1 << 20);
    commit(&mut journal, 3);
    with_feeds(&journal.log().clone(), Promise::Durable, 2, |server| {
        let mut feeds = [1, 2].map(|cursor| server.subscribe(request(cursor, None)));
        feeds.iter_mut().for_each(|feed| assert!(feed.read_to(4, None, Promise::Durable).is_none()));
        let mut third = server.subscribe(request(1, None));
        let (refused, entries) = third.next().unwrap();
        assert_eq!((refused.status(), entries.len()), (Ok(Status::Busy), 0));
        assert!(third.next().is_none());
        // A place that is free again is given to the next.
        drop(feeds);
        server.wait_for(|counters| counters.open.load(Relaxed) == 0);
        assert!(server.subscribe(request(1, None)).read_to(4, None, Promise::Durable).is_none());
        assert_eq!(server.counters.ended(Ended::Busy), 1);
    });
}

#[test]
fn a_client_that_sends_more_is_disconnected() {
    let journal = journal(1 << 20);
    with_feeds(&journal.log().clone(), Promise::Durable, 1, |server| {
        let mut subscriber = server.subscribe(request(1, None));
        assert_eq!(subscriber.next().unwrap().0.cursor.get(), 1);
        subscriber.client.write_all(&[1]).unwrap();
        server.wait_for(|counters| counters.ended(Ended::Client) == 1);
    });
}

#[test]
fn a_client_that_does_not_read_is_cut_off_and_continues_at_its_cursor() {
    let mut journal = journal(4 << 20);
    // More than the buffers of two sockets take.
    for _ in 0..60 {
        commit(&mut journal, 5_000);
    }
    let end = journal.next_sequence();
    with_feeds(&journal.log().clone(), Promise::Durable, 2, |server| {
        let mut slow = server.subscribe(request(1, None));
        server.wait_for(|counters| counters.operations.load(Relaxed) > 0);
        // Another one is not held up.
        assert!(server.subscribe(request(1, None)).read_to(end, None, Promise::Durable).is_none());
        server.wait_for(|counters| counters.behind.load(Relaxed) == 0);
        assert!(server.counters.operations.load(Relaxed) < 2 * (end - 1), "the rest is not buffered");
        // It gets the status after the frames already sent, and no operation is missing before it.
        let cut = slow.read_to(end, None, Promise::Durable).unwrap();
        assert_eq!((cut.status(), cut.cursor.get()), (Ok(Status::TooSlow), slow.expected));
        assert!(slow.next().is_none());
        assert!(server.subscribe(request(slow.expected, None)).read_to(end, None, Promise::Durable).is_none());
    });
}
