//! A site over HTTP: one request a connection, all connections on one thread, none waited for.
//!
//! Nobody else is kept waiting by a client that says nothing: what is asked is answered as soon as it is whole, a connection has but so much
//! time in all, and where all places are taken the oldest one goes.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind, Read, Write},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Longest request that is looked at: its path is all that matters.
const REQUEST_BYTES: usize = 8 << 10;
/// Most header lines of a request.
const HEADERS: usize = 64;
/// How long a connection may last, from the first byte to the last.
const PATIENCE: Duration = Duration::from_secs(5);
/// Connections at a time.
const CONNECTIONS: usize = 64;
/// How often the thread looks whether it is to stop.
const TICK: Duration = Duration::from_millis(50);

/// What is to be had at which path.
pub trait Site {
    /// The answer to a GET.
    fn answer(&self, request: &Get<'_>) -> Reply;
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Get<'a> {
    /// What is before the question mark.
    pub path: &'a str,
    /// What is behind it.
    pub query: &'a str,
    /// Who asks.
    pub from: IpAddr,
}

/// An answer.
pub struct Reply {
    status: &'static str,
    kind: &'static str,
    max_age: Option<u32>,
    body: Vec<u8>,
}

impl Reply {
    /// Text.
    pub fn text(body: impl Into<String>) -> Self {
        Self::of("text/plain; charset=utf-8", body)
    }

    /// JSON.
    pub fn json(body: impl Into<String>) -> Self {
        Self::of("application/json", body)
    }

    /// Figures in Prometheus's text format.
    pub fn metrics(body: impl Into<String>) -> Self {
        Self::of("text/plain; version=0.0.4; charset=utf-8", body)
    }

    fn of(kind: &'static str, body: impl Into<String>) -> Self {
        Self::bytes(kind, body.into().into_bytes())
    }

    /// Bytes of any kind.
    pub fn bytes(kind: &'static str, body: Vec<u8>) -> Self {
        Self { status: "200 OK", kind, max_age: None, body }
    }

    /// The same, which may be kept for so many seconds.
    pub fn with_max_age(self, seconds: Option<u32>) -> Self {
        Self { max_age: seconds, ..self }
    }

    /// The same with another status.
    pub fn with_status(self, status: &'static str) -> Self {
        Self { status, ..self }
    }

    fn encode(&self, with_body: bool) -> Vec<u8> {
        let Self { status, kind, max_age, body } = self;
        let length = body.len();
        let age = max_age.map(|seconds| format!("Cache-Control: public, max-age={seconds}\r\n")).unwrap_or_default();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{age}Connection: close\r\n\r\n"
        );
        [head.as_bytes(), if with_body { body } else { b"" }].concat()
    }
}

/// The listener of a site.
pub struct Http<S> {
    listener: TcpListener,
    site: S,
}

/// A connection, and how far its one request is.
struct Connection {
    stream: TcpStream,
    from: IpAddr,
    since: Instant,
    request: Vec<u8>,
    /// What is left of the reply, once there is one.
    reply: Option<Vec<u8>>,
    sent: usize,
}

impl<S: Site> Http<S> {
    /// Listens on `address`.
    pub fn bind(address: SocketAddr, site: S) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, site })
    }

    /// The address that it listens on.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` is set.
    pub fn run(&self, stop: &AtomicBool) {
        // In the order in which they came.
        let mut connections = VecDeque::with_capacity(CONNECTIONS);
        while !stop.load(Ordering::Acquire) {
            if wait(&self.listener, &connections).is_err() {
                // The want of memory, say: nothing was waited for.
                std::thread::sleep(TICK);
            }
            connections.retain_mut(|connection| self.serve(connection));
            // A new one that has asked already is answered before the next may need its place.
            for _ in 0..CONNECTIONS {
                match self.listener.accept() {
                    Ok((stream, address)) => {
                        let Some(mut connection) = Connection::new(stream, address.ip()) else { continue };
                        if self.serve(&mut connection) {
                            if connections.len() == CONNECTIONS {
                                connections.pop_front();
                            }
                            connections.push_back(connection);
                        }
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    // The want of a descriptor, say: the oldest gives its own.
                    Err(_) => {
                        connections.pop_front();
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
            }
        }
    }

    /// Does for a connection what can be done at once. Whether it goes on.
    fn serve(&self, connection: &mut Connection) -> bool {
        if connection.since.elapsed() > PATIENCE {
            return false;
        }
        if connection.reply.is_none() {
            match connection.read() {
                Ok(None) => return true,
                Ok(Some(Request::Get { path, with_body })) => {
                    let (path, query) = path.split_once('?').unwrap_or((&path, ""));
                    let get = Get { path, query, from: connection.from };
                    connection.reply = Some(self.site.answer(&get).encode(with_body));
                }
                Ok(Some(Request::Bad(status))) => {
                    connection.reply = Some(Reply::text("").with_status(status).encode(true))
                }
                Err(_) => return false,
            }
        }
        connection.write().is_ok_and(|done| !done)
    }
}

/// Waits until something can be done.
fn wait(listener: &TcpListener, connections: &VecDeque<Connection>) -> io::Result<()> {
    let mut polled = vec![PollFd::new(listener, PollFlags::IN)];
    polled.extend(connections.iter().map(|connection| {
        let waits_for = if connection.reply.is_some() { PollFlags::OUT } else { PollFlags::IN };
        PollFd::new(&connection.stream, waits_for)
    }));
    let tick = Timespec { tv_sec: 0, tv_nsec: i64::from(TICK.subsec_nanos()) };
    match poll(&mut polled, Some(&tick)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// What is asked for.
enum Request {
    Get { path: String, with_body: bool },
    Bad(&'static str),
}

impl Connection {
    fn new(stream: TcpStream, from: IpAddr) -> Option<Self> {
        stream.set_nonblocking(true).ok()?;
        Some(Self { stream, from, since: Instant::now(), request: Vec::new(), reply: None, sent: 0 })
    }

    /// Reads what has come of the request; gives it once its head is whole.
    fn read(&mut self) -> io::Result<Option<Request>> {
        let mut buffer = [0; REQUEST_BYTES];
        let room = REQUEST_BYTES - self.request.len();
        let read = match self.stream.read(&mut buffer[..room]) {
            Ok(0) => return Ok(Some(Request::Bad("400 Bad Request"))),
            Ok(read) => read,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return Ok(None),
            Err(error) => return Err(error),
        };
        self.request.extend_from_slice(&buffer[..read]);
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        Ok(match request.parse(&self.request) {
            Ok(httparse::Status::Partial) if self.request.len() < REQUEST_BYTES => None,
            Ok(httparse::Status::Complete(_)) => Some(match (request.method, request.path) {
                (Some("GET"), Some(path)) => Request::Get { path: path.to_owned(), with_body: true },
                (Some("HEAD"), Some(path)) => Request::Get { path: path.to_owned(), with_body: false },
                _ => Request::Bad("405 Method Not Allowed"),
            }),
            _ => Some(Request::Bad("400 Bad Request")),
        })
    }

    /// Writes what is taken of the reply. Whether that was all.
    fn write(&mut self) -> io::Result<bool> {
        let reply = self.reply.as_deref().unwrap_or_default();
        while self.sent < reply.len() {
            match self.stream.write(&reply[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => self.sent += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}
