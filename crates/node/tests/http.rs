//! Metrics and health.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::{
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Release},
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use common::{account, config, connect};
use turnpike_node::{
    Node,
    http::{Get, Http, Reply, Site},
};
use wire::Promise;

fn request(address: SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut reply = String::new();
    // A connection that is closed before all was read may be reset.
    let _ = stream.read_to_string(&mut reply);
    reply
}

fn get(address: SocketAddr, path: &str) -> String {
    request(address, &format!("GET {path} HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n"))
}

#[test]
fn metrics_and_health_are_served() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    config.http = Some("127.0.0.1:0".parse().unwrap());
    let node = Node::start(&config).unwrap();
    let address = node.http_address().unwrap();
    connect(&node, Promise::Durable).create(account(1)).unwrap();
    let metrics = get(address, "/metrics");
    assert!(metrics.starts_with("HTTP/1.1 200 OK\r\n"), "{metrics}");
    for line in ["turnpike_executed_total 1\n", "turnpike_accounts 1\n", "turnpike_durable_sequence 1\n"] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
    assert!(get(address, "/health").ends_with("\r\n\r\nok\n"));
    assert!(get(address, "/ready?verbose").ends_with("\r\n\r\nready\n"));
    let root = get(address, "/");
    assert!(["/metrics", "/health", "The book"].iter().all(|part| root.contains(part)), "{root}");
    let head = request(address, "HEAD /health HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n");
    assert!(head.contains("Content-Length: 3\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    assert!(get(address, "/etc/passwd").starts_with("HTTP/1.1 404 "));
    assert!(
        request(address, "POST /metrics HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n")
            .starts_with("HTTP/1.1 405 ")
    );
    assert!(request(address, "\u{1}\u{2} nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
    let endless = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(100_000));
    assert!(request(address, &endless).starts_with("HTTP/1.1 431 "));
    assert!(get(address, "/health").contains("200 OK"));
}

/// A site whose slow path is answered when the test says so.
struct Gated {
    started: Mutex<Sender<()>>,
    opened: Mutex<Receiver<()>>,
}

impl Site for Gated {
    fn answer(&self, get: &Get<'_>) -> Reply {
        match get.path {
            "/slow" => {
                self.started.lock().unwrap().send(()).unwrap();
                self.opened.lock().unwrap().recv().unwrap();
                Reply::text("slow\n")
            }
            "/panic" => panic!("as the test wants"),
            "/large" => Reply::bytes("application/octet-stream", vec![b'a'; 16 << 20]),
            path => Reply::text(format!("{path}\n")),
        }
    }

    fn is_slow(&self, path: &str) -> bool {
        path != "/quick"
    }
}

/// A server of a [`Gated`] site, which ends with it.
struct Server {
    address: SocketAddr,
    /// Reports the start of each slow request.
    started: Receiver<()>,
    /// Has one answered.
    open: Sender<()>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(trusted: &[&str]) -> Self {
        let (tell, started) = channel();
        let (open, opened) = channel();
        let site = Gated { started: Mutex::new(tell), opened: Mutex::new(opened) };
        let trusted = trusted.iter().map(|prefix| prefix.parse().unwrap()).collect();
        let http = Http::bind("127.0.0.1:0".parse().unwrap(), trusted, site).unwrap();
        let (address, stop) = (http.local_address(), Arc::new(AtomicBool::new(false)));
        let stopped = Arc::clone(&stop);
        Self { address, started, open, stop, thread: Some(thread::spawn(move || http.run(&stopped))) }
    }

    fn connect(&self) -> Client {
        Client::connect(self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Release);
        // Whoever still waits in the site goes on.
        (0..1000).for_each(|_| _ = self.open.send(()));
        self.thread.take().unwrap().join().unwrap();
    }
}

/// A connection that is kept.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self(BufReader::new(stream))
    }

    fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    fn ask(&mut self, path: &str) {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: node\r\n\r\n"));
    }

    /// Head and body of the next reply.
    fn reply(&mut self) -> (String, Vec<u8>) {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(self.0.read_line(&mut head).unwrap(), 0, "the connection ended after {head:?}");
        }
        let length = head.split_once("Content-Length: ").unwrap().1.split_once("\r\n").unwrap().0;
        let mut body = vec![0; length.parse().unwrap()];
        self.0.read_exact(&mut body).unwrap();
        (head, body)
    }

    fn get(&mut self, path: &str) -> String {
        self.ask(path);
        String::from_utf8(self.reply().1).unwrap()
    }

    fn has_ended(&mut self) -> bool {
        match self.0.read(&mut [0]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }
}

#[test]
fn a_connection_is_kept_for_further_requests() {
    let server = Server::start(&["127.0.0.0/8"]);
    let mut client = server.connect();
    for path in ["/a", "/quick", "/b"] {
        assert_eq!(client.get(path), format!("{path}\n"));
    }
    // Many at once, in pieces: the replies come in their order.
    let many: String = (0..100)
        .map(|n| format!("GET /{} HTTP/1.1\r\nHost: node\r\n\r\n", if n % 2 == 0 { "quick" } else { "b" }))
        .collect();
    let (one, other) = many.split_at(many.len() / 2 + 7);
    client.send(one);
    assert_eq!(client.reply().1, b"/quick\n");
    client.send(other);
    for n in 1..100 {
        assert_eq!(client.reply().1, if n % 2 == 0 { b"/quick\n".to_vec() } else { b"/b\n".to_vec() }, "{n}");
    }
    // A large reply whose client reads slowly, and the next request after it.
    client.ask("/large");
    client.ask("/quick");
    thread::sleep(Duration::from_millis(100));
    assert_eq!(client.reply().1.len(), 16 << 20);
    assert_eq!(client.reply().1, b"/quick\n");
    client.send("GET /quick HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\nGET /quick HTTP/1.1\r\n\r\n");
    let (head, _) = client.reply();
    assert!(head.contains("Connection: close\r\n"), "{head}");
    assert!(client.has_ended());
    let mut old = server.connect();
    old.send("GET /quick HTTP/1.0\r\n\r\n");
    assert_eq!(old.reply().1, b"/quick\n");
    assert!(old.has_ended());
}

#[test]
fn what_is_refused_ends_the_connection_and_says_why() {
    let server = Server::start(&["127.0.0.0/8"]);
    for (text, status) in [
        (
            "POST /quick HTTP/1.1\r\nHost: node\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc",
            "405 Method Not Allowed",
        ),
        ("PUT /quick HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "405 Method Not Allowed"),
        ("GET /quick HTTP/1.1\r\nHost: node\r\nContent-Length: 3\r\n\r\nabc", "413 Content Too Large"),
        ("nonsense\r\n\r\n", "400 Bad Request"),
        (&format!("GET /quick HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(100)), "431 Request Header Fields Too Large"),
        (&format!("GET /{}", "a".repeat(8 << 10)), "431 Request Header Fields Too Large"),
    ] {
        let mut client = server.connect();
        client.send(text);
        let (head, body) = client.reply();
        assert!(head.starts_with(&format!("HTTP/1.1 {status}\r\n")) && head.contains("Connection: close"), "{head}");
        assert!(!body.is_empty() && client.has_ended());
    }
    let mut client = server.connect();
    client.ask("/panic");
    assert!(client.reply().0.starts_with("HTTP/1.1 500 "));
    assert_eq!(client.get("/quick"), "/quick\n", "it goes on behind what failed");
}

#[test]
fn nothing_waits_for_what_is_slow() {
    let server = Server::start(&["127.0.0.0/8"]);
    // More than there are readers.
    let mut slow: Vec<_> = (0..40).map(|_| server.connect()).collect();
    slow.iter_mut().for_each(|client| client.ask("/slow"));
    server.started.recv_timeout(Duration::from_secs(60)).unwrap();
    let mut quick = server.connect();
    for _ in 0..10 {
        assert_eq!(quick.get("/quick"), "/quick\n");
    }
    // What a client asked that has left is not answered.
    drop(slow.split_off(20));
    (0..40).for_each(|_| server.open.send(()).unwrap());
    for client in &mut slow {
        assert_eq!(client.reply().1, b"slow\n");
    }
    assert_eq!(quick.get("/quick"), "/quick\n");
}

#[test]
fn silent_clients_keep_nobody_waiting() {
    let server = Server::start(&["127.0.0.0/8"]);
    // More than there are places for, half of them with a request that never ends.
    let mut silent = Vec::from_iter((0..400).map(|number| {
        let mut client = server.connect();
        if number % 2 == 0 {
            client.send("GET /quick HT");
        }
        client
    }));
    for _ in 0..20 {
        assert_eq!(server.connect().get("/quick"), "/quick\n");
    }
    // The first ones are closed, and the last may still ask.
    assert!(silent[0].has_ended());
    assert_eq!(silent.last_mut().unwrap().get("/quick"), "/quick\n");
}

#[test]
fn a_prefix_has_a_part_of_the_connections() {
    // Those of 127.0.0.0/24 share what one has; 127.0.1.0/24 is trusted.
    let server = Server::start(&["127.0.1.0/24"]);
    let mut own: Vec<_> = (0..32).map(|_| server.connect()).collect();
    own.iter_mut().for_each(|client| assert_eq!(client.get("/quick"), "/quick\n"));
    own[0].ask("/slow");
    server.started.recv_timeout(Duration::from_secs(60)).unwrap();
    let mut further = server.connect();
    assert_eq!(further.get("/quick"), "/quick\n");
    // The one that was silent for longest has given its place, and not the one that waits.
    assert!(own[1].has_ended());
    server.open.send(()).unwrap();
    assert_eq!(own[0].reply().1, b"slow\n");
    assert_eq!(own[2].get("/quick"), "/quick\n");
}

#[test]
fn replies_that_nobody_takes_hold_nobody_up() {
    // 127.0.0.0/24 is a stranger, whose replies of 16 MiB are more than its part of the memory.
    let server = Server::start(&["127.0.1.0/24"]);
    let mut slow = Vec::from_iter((0..8).map(|_| {
        let mut client = server.connect();
        client.ask("/large");
        client
    }));
    // Each reply has begun once it was made, whether or not its connection was closed since.
    for client in &slow {
        client.0.get_ref().peek(&mut [0]).unwrap();
    }
    assert_eq!(server.connect().get("/quick"), "/quick\n");
    let whole = slow.iter_mut().filter_map(|client| {
        let mut bytes = 0;
        let mut room = vec![0; 1 << 20];
        while let Ok(count @ 1..) = client.0.read(&mut room) {
            bytes += count;
            if bytes >= 16 << 20 {
                return Some(());
            }
        }
        None
    });
    assert!((1..=4).contains(&whole.count()), "64 MiB are a prefix's part");
}

#[test]
fn lists_tell_what_is_in_blocks() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    config.http = Some("127.0.0.1:0".parse().unwrap());
    let node = Node::start(&config).unwrap();
    let address = node.http_address().unwrap();
    let body = |path: &str| get(address, path).split_once("\r\n\r\n").unwrap().1.to_owned();
    let empty = body("/accounts");
    assert!(empty.starts_with("{\"height\":0,\"network\":\""), "{empty}");
    assert!(empty.ends_with("\",\"accounts\":[],\"more\":false}\n"), "{empty}");
    let mut client = connect(&node, Promise::Durable);
    for number in 1..=3 {
        client.create(account(number)).unwrap();
        client.issue(account(number), 7).unwrap();
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    while body("/accounts").matches("\"balance\":7").count() < 3 {
        assert!(Instant::now() < deadline, "{}", body("/accounts"));
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(get(address, "/accounts").contains("Content-Type: application/json\r\n"));
    let first = body("/accounts?count=1");
    assert!(first.contains("\"more\":true") && first.matches("\"balance\":").count() == 1, "{first}");
    let id = &first[first.find("\"account\":\"").unwrap() + 11..][..32];
    let rest = body(&format!("/accounts?after={id}&count=2"));
    assert!(
        rest.contains("\"more\":false") && rest.matches("\"balance\":").count() == 2 && !rest.contains(id),
        "{rest}"
    );
    let history = body("/accounts/2/history");
    assert!(history.find("ISSUE").unwrap() < history.find("CREATE").unwrap(), "{history}");
    assert!(body("/accounts/2/history?count=1").contains("\"more\":true"));
    for (path, said) in [
        ("/accounts?count=0", "from 1 to 1000"),
        ("/accounts?count=1001", "from 1 to 1000"),
        ("/accounts?before=1:1", "takes no `before`"),
        ("/accounts?page=1", "takes no `page`"),
        ("/accounts?count=1&count=2", "twice"),
        ("/accounts?count=%4", "percent-encoding"),
        ("/accounts?after=me", "is no account"),
        ("/accounts/me/history", "is no account"),
        ("/accounts/1/history?after=soon", "`after` is soon, but must be HEIGHT:POSITION"),
        ("/accounts/1/history?before=1:x", "HEIGHT:POSITION"),
        ("/accounts/1/history?before=@-1", "@SECONDS"),
        ("/accounts/1/history?kind=PAY", "PAY is no `kind` of transaction: CREATE, ISSUE, TRANSFER, HOLD"),
        ("/accounts/1/history?kind=REFER", "REFER is no `kind`"),
        ("/accounts/1/history?kind=", "is no `kind`"),
        ("/accounts/1/history?role=payer", "source or destination"),
        ("/accounts/1/history?counterpart=me", "is no account"),
        ("/blocks?before=3:4", "must be a number"),
        ("/blocks/1?before=3", "takes no `before`"),
        ("/accounts/1/history?before=0:0", "is no transaction of account"),
        ("/accounts/1/history?before=99999:0", "is no transaction of account"),
    ] {
        assert!(get(address, path).starts_with("HTTP/1.1 400 ") && body(path).contains(said), "{path}: {}", body(path));
    }
    for path in ["/accounts/9/history", "/accounts/1", "/accounts/1/history/2", "/accountsx"] {
        assert!(get(address, path).starts_with("HTTP/1.1 404 "), "{path}");
    }
}

#[test]
fn a_key_value_store_beside_the_ledger() {
    let data = tempfile::tempdir().unwrap();
    let mut config = config(data.path());
    config.http = Some("127.0.0.1:0".parse().unwrap());
    config.kv.listen = vec!["127.0.0.1:0".parse().unwrap()];
    let node = Node::start(&config).unwrap();
    let mut client = BufReader::new(TcpStream::connect(node.kv().unwrap().tcp()[0]).unwrap());
    client.get_mut().write_all(b"set key 7 0 5\r\nvalue\r\nget key\r\nget none\r\nincr key 1\r\n").unwrap();
    let mut line = || {
        let mut line = String::new();
        client.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    let number = "CLIENT_ERROR cannot increment or decrement non-numeric value";
    for expected in ["STORED", "VALUE key 7 5", "value", "END", "END", number] {
        assert_eq!(line(), expected);
    }
    let metrics = get(node.http_address().unwrap(), "/metrics");
    for line in [
        "turnpike_accounts 0\n",
        "memcached_up 1\n",
        "memcached_commands_total{command=\"get\",status=\"hit\"} 1\n",
        "memcached_commands_total{command=\"get\",status=\"miss\"} 1\n",
        "memcached_commands_total{command=\"set\",status=\"hit\"} 1\n",
        "memcached_current_items 1\n",
        "memcached_current_connections 1\n",
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
}

#[test]
fn a_store_that_cannot_listen_keeps_the_node_from_starting() {
    let data = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = config(data.path());
    config.kv.listen = vec![taken.local_addr().unwrap()];
    let error = Node::start(&config).unwrap_err().to_string();
    assert!(error.contains("`kv.listen`") && error.contains("choose another"), "{error}");
}
