//! Commands that administer the store: `watch`, `slabs`, `lru`, `lru_crawler`, `cache_memlimit`.
#![allow(clippy::unwrap_used)]

mod common;

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpStream, UdpSocket},
    os::unix::net::UnixStream,
    path::Path,
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use common::{Ours, Theirs, ask, connect, converse, small_store};
use skip::Ability;
use turnpike_kv::{
    server::Deadlines,
    service::{Service, Settings},
    store,
};

const LACKING: &str = "memcached is not installed; scripts/setup installs it";

/// Longest wait, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection that watches.
struct Watching(BufReader<UnixStream>);

impl Watching {
    fn start(path: &Path, kinds: &str) -> Self {
        let stream = connect(path);
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        ask(&stream, format!("watch{kinds}\r\n").as_bytes(), b"OK\r\n");
        Self(BufReader::new(stream))
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line
    }

    /// The next lines, without what differs from server to server: times, numbers, connections and classes.
    fn lines(&mut self, count: usize) -> Vec<String> {
        let mut lines = Vec::from_iter((0..count).map(|_| self.line()));
        // memcached's threads write lines of the same moment in any order.
        lines.sort_by_key(|line| number(line, "gid"));
        lines.iter().map(|line| comparable(line)).collect()
    }
}

fn number(line: &str, name: &str) -> u64 {
    let word = line.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    word.unwrap_or_else(|| panic!("{name} in {line:?}")).parse().unwrap()
}

fn comparable(line: &str) -> String {
    assert!(line.starts_with("ts=") && line.ends_with('\n'), "{line:?}");
    let words = line.split_whitespace().map(|word| match word.split_once('=') {
        Some((name @ ("ts" | "gid" | "cfd" | "rport"), _)) => format!("{name}=?"),
        // In memcached, a time that has passed wraps around.
        Some(("ttl", left)) if left.parse::<u32>().is_ok_and(|left| left > u32::MAX / 2) => "ttl=0".to_owned(),
        // A class is only compared with none.
        Some(("clsid", number)) => format!("clsid={}", number != "0"),
        _ => word.to_owned(),
    });
    Vec::from_iter(words).join(" ")
}

/// Waits until a server has seen that connections were closed.
fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What a watcher gets for some requests, one after the other.
fn watched(path: &Path, kinds: &str, requests: &[&str], count: usize) -> Vec<String> {
    let mut watching = Watching::start(path, kinds);
    // memcached's threads learn of a watcher within a second.
    std::thread::sleep(Duration::from_millis(100));
    for request in requests {
        converse(path, request.as_bytes());
    }
    watching.lines(count)
}

#[test]
fn lines_are_those_of_memcached() {
    let requests = [
        "set a 5 0 3\r\nabc\r\n",
        "set \"%/~ 5 100 3\r\nabc\r\n",
        "get a \"%/~ missing\r\n",
        "add a 0 0 1\r\nx\r\n",
        "replace missing 0 0 1\r\nx\r\n",
        "append a 0 0 2\r\nde\r\n",
        "prepend missing 0 0 2\r\nde\r\n",
        "cas a 0 0 1 1000000\r\nx\r\n",
        "cas missing 0 0 1 1\r\nx\r\n",
        "set n 0 0 1\r\n9\r\n",
        "gat 1000 a\r\n",
        "touch a 1000\r\n",
        "touch missing 1000\r\n",
        "mg a v t\r\n",
        "ms meta 2 T30\r\nxy\r\n",
        "delete a\r\n",
        "delete missing\r\n",
        // At once: a thread of memcached looks for items that are over.
        "set over 0 -1 1\r\nx\r\nget over\r\n",
    ];
    for (kinds, count) in [("", 21), (" fetchers", 21), (" mutations", 11), (" fetchers mutations", 32)] {
        // Both start empty.
        let Some(theirs) = Theirs::start(&[]) else { return skip::lacking(Ability::Peers, LACKING) };
        let theirs = watched(&theirs.path(), kinds, &requests, count);
        assert_eq!(watched(&Ours::start().path(), kinds, &requests, count), theirs, "watch{kinds}");
    }
}

#[test]
fn connections_and_refused_values_are_logged_as_memcached_does() {
    let Some(theirs) = Theirs::start(&[]) else { return skip::lacking(Ability::Peers, LACKING) };
    let ours = Ours::start();
    let requests = ["version\r\nquit\r\n", "GET / HTTP/1.1\r\n\r\n", "version\r\n"];
    let [ours_lines, theirs_lines] =
        [ours.path(), theirs.path()].map(|path| watched(&path, " connevents", &requests, 6));
    assert_eq!(ours_lines, theirs_lines);
    let too_large = format!("set a 0 0 2000000\r\n{}\r\n", "x".repeat(2_000_000));
    let mut watching = Watching::start(&ours.path(), " mutations");
    converse(&ours.path(), too_large.as_bytes());
    let line = watching.lines(1).remove(0);
    assert_eq!(line, "ts=? gid=? type=item_store key=a status=too_large cmd=set ttl=0 clsid=false cfd=? size=0");
    // A client on a port has an address.
    let mut watching = Watching::start(&ours.path(), " connevents");
    let client = TcpStream::connect(ours.server().tcp()[0]).unwrap();
    let (line, port) = (watching.line(), client.local_addr().unwrap().port());
    assert!(line.contains(&format!(" type=conn_new rip=127.0.0.1 rport={port} transport=tcp cfd=")), "{line}");
    drop(client);
    let line = watching.line();
    assert!(
        line.contains(&format!(" type=conn_close rip=127.0.0.1 rport={port} transport=tcp reason=normal ")),
        "{line}"
    );
}

#[test]
fn deletions_evictions_and_moved_pages_are_logged() {
    let ours = Ours::with(store::Config { memory: 2 << 20, ..small_store() }, Settings::default(), |_| {});
    let path = ours.path();
    converse(&path, b"set a 0 0 3\r\nabc\r\nset b 0 0 3\r\nabc\r\nset c 0 0 3\r\nabc\r\n");
    let mut watching = Watching::start(&path, " deletions");
    converse(&path, b"delete a\r\nmd b\r\nmd c I\r\nmd c x\r\ndelete missing\r\ndelete c\r\n");
    let lines = watching.lines(4);
    let line = |key: &str, command: &str, size: usize| {
        format!("ts=? gid=? type=deleted key={key} cmd={command} clsid=true size={size}")
    };
    // Values that were only invalidated or emptied by an md are still there.
    assert_eq!(lines, [line("a", "delete", 3), line("b", "md", 3), line("c", "md", 0), line("c", "delete", 0)]);
    let mut watching = Watching::start(&path, " evictions");
    let small = String::from_iter(
        (0..20_000).map(|key| format!("set small{key} 0 100 100 noreply\r\n{}\r\n", "s".repeat(100))),
    );
    converse(&path, small.as_bytes());
    let eviction = watching.line();
    assert!(eviction.contains(" type=eviction key=small"), "{eviction}");
    let rest = eviction.split_once(" fetch=no ttl=").unwrap().1;
    assert!(rest.contains(" la=") && rest.ends_with(" size=100\n"), "{eviction}");
    let mut moves = Watching::start(&path, " sysevents");
    let large =
        String::from_iter((0..20).map(|key| format!("set large{key} 0 0 9000 noreply\r\n{}\r\n", "l".repeat(9000))));
    converse(&path, large.as_bytes());
    let line = moves.line();
    assert!(line.contains(" type=slab_move src="), "{line}");
    assert_ne!(number(&line, "src"), number(&line, "dst"), "{line}");
}

fn count(service: &Service) -> [u64; 4] {
    let watchers = service.store.watchers();
    [watchers.count(), watchers.written(), watchers.sent(), watchers.skipped()]
}

#[test]
fn a_watcher_that_reads_slowly_loses_lines_and_holds_nobody_up() {
    let ours = Ours::start();
    let service = ours.server().service().clone();
    let client = ours.connect();
    ask(&client, b"get a\r\n", b"END\r\n");
    assert_eq!(count(&service), [0; 4]);
    let mut slow = Watching::start(&ours.path(), "");
    let mut quick = Watching::start(&ours.path(), " evictions");
    let gets = b"get a\r\n".repeat(1000);
    while count(&service)[3] == 0 {
        ask(&client, &gets, &b"END\r\n".repeat(1000));
    }
    let [_, written, sent, skipped] = count(&service);
    assert_eq!(written, sent + skipped);
    let held = service.counts.memory_kicks.load(Relaxed);
    assert_eq!(held, 0);
    // As soon as it reads, it learns how many it has lost.
    let mut last = 0;
    let lost = loop {
        let line = slow.line();
        if let Some(lost) = line.strip_prefix("skipped=") {
            break lost.trim().parse::<u64>().unwrap();
        }
        let line_number = number(&line, "gid");
        assert_eq!(line_number, last + 1, "{line}");
        last = line_number;
        if last == sent {
            ask(&client, b"get a\r\n", b"END\r\n");
        }
    };
    assert!(lost >= skipped);
    assert_eq!(number(&slow.line(), "gid"), last + lost + 1);
    // Whatever a watcher sends is ignored.
    quick.0.get_ref().write_all(b"get a\r\n").unwrap();
    quick.0.get_ref().set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert!(quick.0.read(&mut [0]).is_err());
    drop((slow, quick));
    wait("watchers that left are counted", || count(&service)[0] == 0);
    let written = count(&service)[1];
    ask(&client, b"get a\r\n", b"END\r\n");
    assert_eq!(count(&service)[1], written, "nobody watches");
}

#[test]
fn a_watcher_without_lines_is_not_idle_and_one_that_reads_none_is_closed() {
    let deadlines = Deadlines { replies: Duration::from_secs(1), ..Deadlines::default() };
    let ours = Ours::with(small_store(), Settings::default(), |config| {
        (config.idle, config.deadlines) = (Some(Duration::from_secs(1)), deadlines);
    });
    let mut quiet = Watching::start(&ours.path(), " evictions");
    let stalled = Watching::start(&ours.path(), "");
    let service = ours.server().service().clone();
    let started = Instant::now();
    while service.counts.stalled_kicks.load(Relaxed) == 0 {
        assert!(started.elapsed() < PATIENCE, "a watcher that reads nothing stays");
        converse(&ours.path(), &b"get a\r\n".repeat(10_000));
    }
    std::thread::sleep(Duration::from_secs(3).saturating_sub(started.elapsed()));
    assert_eq!(count(&service)[0], 1);
    drop(stalled);
    let mut byte = [0];
    quiet.0.get_ref().set_nonblocking(true).unwrap();
    assert!(quiet.0.read(&mut byte).is_err(), "a watcher is not idle");
}

#[test]
fn watching_is_refused_where_it_cannot_be() {
    let ours = Ours::start();
    let refused = |requests: &[u8], expected: &str| {
        assert_eq!(String::from_utf8(converse(&ours.path(), requests)).unwrap(), expected);
    };
    refused(b"watch nothing\r\n", "ERROR\r\n");
    refused(b"watch fetchers nothing\r\nmn\r\n", "ERROR\r\nMN\r\n");
    refused(b"mn\r\nwatch\r\n", "MN\r\nERROR cannot pipeline other commands before watch\r\n");
    let all = Vec::from_iter((0..20).map(|_| Watching::start(&ours.path(), " rawcmds proxyreqs evictions")));
    refused(b"watch\r\n", "WATCHER_TOO_MANY log watcher limit reached\r\n");
    drop(all);
    let never = Ours::with(small_store(), Settings { watch: false, ..Settings::default() }, |_| {});
    let reply = converse(&never.path(), b"watch\r\nwatch nothing\r\n");
    assert_eq!(reply, b"CLIENT_ERROR watch commands not allowed\r\n".repeat(2));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(ours.server().udp()[0]).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut reply = [0; 100];
    for request in ["watch\r\n", "lru_crawler crawl all\r\n", "lru_crawler mgdump all\r\n"] {
        socket.send(&[&[0, 0, 0, 0, 0, 1, 0, 0], request.as_bytes()].concat()).unwrap();
        let len = socket.recv(&mut reply).unwrap();
        assert_eq!(reply[8..len], *b"SERVER_ERROR not available over UDP\r\n");
    }
}

#[test]
fn settings_are_accepted_and_refused_as_memcached_does() {
    // With preallocated memory, like ours.
    let Some(theirs) = Theirs::start(&["-L"]) else { return skip::lacking(Ability::Peers, LACKING) };
    let ours = Ours::start();
    let lines = [
        "slabs",
        "slabs x",
        "slabs automove",
        "slabs automove 0",
        "slabs automove 1",
        "slabs automove 2",
        "slabs automove 3",
        "slabs automove x",
        "slabs automove -1",
        "slabs automove ratio",
        "slabs automove ratio 0.8",
        "slabs automove ratio x",
        "slabs automove 1 noreply",
        "slabs reassign",
        "slabs reassign 1",
        "slabs reassign 1 1",
        "slabs reassign x 1",
        "slabs reassign 1 x",
        "slabs reassign 1 2 3",
        "slabs reassign 1 64",
        "slabs reassign 64 1",
        "slabs reassign -2 1",
        "slabs reassign 1 -1",
        "slabs reassign 5 6",
        "slabs reassign 1 1 noreply",
        "lru",
        "lru x",
        "lru x 1",
        "lru mode",
        "lru mode flat",
        "lru mode segmented",
        "lru mode x",
        "lru mode x noreply",
        "lru mode flat noreply",
        "lru temp_ttl",
        "lru temp_ttl 60",
        "lru temp_ttl -1",
        "lru temp_ttl x",
        "lru tune 10 20 0.5 2",
        "lru tune 10 20 0.5",
        "lru tune 50 31 0.5 2",
        "lru tune 10 20 0 2",
        "lru tune 10 20 0.5 -1",
        "lru tune x 20 0.5 2",
        "lru_crawler",
        "lru_crawler x",
        "lru_crawler sleep 100",
        "lru_crawler sleep 1000001",
        "lru_crawler sleep x",
        "lru_crawler sleep",
        "lru_crawler tocrawl 10",
        "lru_crawler tocrawl x",
        "lru_crawler crawl",
        "lru_crawler crawl x",
        "lru_crawler crawl 0",
        "lru_crawler crawl 64",
        "lru_crawler crawl 1,64",
        "lru_crawler crawl all",
        "lru_crawler metadump",
        "lru_crawler metadump x",
        "lru_crawler metadump 0",
        "lru_crawler enable noreply",
        "cache_memlimit",
        "cache_memlimit x",
        "cache_memlimit 7",
        "cache_memlimit 8",
        "cache_memlimit 1024",
        "cache_memlimit 1000000001",
        "cache_memlimit 1 2",
        "cache_memlimit 1 2 3",
        "cache_memlimit 7 noreply",
        "watch x",
        "watch x noreply",
        "watch noreply",
    ];
    for line in lines {
        // memcached's crawler begins in its own time, and refuses until then.
        let reply = |path: &Path| {
            let reply = || String::from_utf8(converse(path, format!("{line}\r\nmn\r\n").as_bytes())).unwrap();
            let mut last = reply();
            while last.starts_with("BUSY") {
                last = reply();
            }
            last
        };
        assert_eq!(reply(&ours.path()), reply(&theirs.path()), "{line}");
    }
}

#[test]
fn a_page_moves_on_request_and_expired_items_are_reclaimed() {
    let ours = Ours::with(store::Config { memory: 2 << 20, ..small_store() }, Settings::default(), |_| {});
    let tell = |requests: &str| String::from_utf8(converse(&ours.path(), requests.as_bytes())).unwrap();
    assert_eq!(
        tell("slabs reassign -1 1\r\nslabs reassign 1 2\r\n"),
        "NOSPARE source class has no spare pages\r\n".repeat(2)
    );
    for key in 0..2000 {
        assert_eq!(tell(&format!("set key{key:04} 0 {} 100\r\n{}\r\n", 2 * (key % 2), "v".repeat(100))), "STORED\r\n");
    }
    let stat = |name: &str| {
        let stats = tell("stats\r\n");
        let line = stats.lines().find_map(|line| line.strip_prefix(&format!("STAT {name} ")));
        line.unwrap().parse::<u64>().unwrap()
    };
    let class = tell("me key0000\r\n").split_once(" cls=").unwrap().1.split(' ').next().unwrap().parse::<u8>().unwrap();
    assert_eq!(tell("lru_crawler crawl all\r\n"), "OK\r\n");
    let [before, items] = ["crawler_reclaimed", "curr_items"].map(stat);
    std::thread::sleep(Duration::from_secs(3));
    let other = class + 8;
    assert_eq!(tell(&format!("lru_crawler crawl {other}\r\n")), "OK\r\n");
    assert_eq!(stat("curr_items"), items, "another class");
    assert_eq!(tell(&format!("lru_crawler crawl {other},{class}\r\n")), "OK\r\n");
    assert_eq!(stat("curr_items"), 1000);
    assert_eq!(stat("crawler_reclaimed") - before, items - 1000);
    let dump = |what: &str| tell(&format!("lru_crawler {what}\r\n"));
    assert_eq!(dump(&format!("metadump {other}")), "END\r\n");
    assert_eq!(dump(&format!("metadump {class}")).lines().count(), 1001);
    assert_eq!(dump("metadump hash").lines().count(), 1001);
    let requests = dump("mgdump all");
    assert!(requests.ends_with("\r\nEN\r\n"), "{requests}");
    let keys =
        requests.lines().filter(|line| line.strip_prefix("mg key").is_some_and(|rest| rest.parse::<u32>().is_ok()));
    assert_eq!(keys.count(), 1000);
    assert_eq!(tell("ms YmluMA== 1 b\r\nx\r\n"), "HD\r\n");
    assert!(dump("mgdump all").contains("mg YmluMA== b\r\n"));
    let [pages, moved] = ["slab_global_page_pool", "slabs_moved"].map(stat);
    assert_eq!(tell(&format!("slabs reassign {class} {other}\r\n")), "OK\r\n");
    assert_eq!(stat("slab_global_page_pool"), pages + 1);
    assert_eq!(stat("slabs_moved"), moved + 1);
    assert!(stat("curr_items") < 1000);
    let hidden = Ours::with(small_store(), Settings { dump: false, ..Settings::default() }, |_| {});
    let reply = converse(&hidden.path(), b"lru_crawler mgdump all\r\nlru_crawler metadump x\r\n");
    assert_eq!(reply, b"ERROR metadump not allowed\r\n".repeat(2));
}
