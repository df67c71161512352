//! Metrics and health over HTTP: one request a connection, one connection at a time, nothing kept.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::shared::Shared;

/// Longest request that is looked at: its path is all that matters.
const REQUEST_BYTES: usize = 8 << 10;
/// Most header lines of a request.
const HEADERS: usize = 64;
/// How long a client may take for its request and for taking the reply.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often the listener looks whether it is to stop.
const POLL: Duration = Duration::from_millis(50);

/// The listener for metrics and health.
pub struct Http {
    listener: TcpListener,
    shared: Arc<Shared>,
}

impl Http {
    /// Listens on `address`.
    pub fn bind(address: SocketAddr, shared: Arc<Shared>) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, shared })
    }

    /// The address that it listens on.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` is set.
    pub fn run(&self, stop: &AtomicBool) {
        while !stop.load(Ordering::Acquire) {
            match self.listener.accept() {
                // A client that does not behave loses its connection and nothing else happens.
                Ok((stream, _)) => drop(self.serve(stream)),
                Err(_) => std::thread::sleep(POLL),
            }
        }
    }

    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let (status, kind, body) = match read_path(&mut stream)? {
            Ok(path) => self.answer(&path),
            Err(status) => (status, "text/plain", String::new()),
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())
    }

    fn answer(&self, path: &str) -> (&'static str, &'static str, String) {
        const TEXT: &str = "text/plain; charset=utf-8";
        match path.split('?').next().unwrap_or(path) {
            "/metrics" => ("200 OK", "text/plain; version=0.0.4; charset=utf-8", self.shared.metrics()),
            "/health" => ("200 OK", TEXT, "ok\n".into()),
            "/ready" => match self.shared.unready() {
                None => ("200 OK", TEXT, "ready\n".into()),
                Some(reason) => ("503 Service Unavailable", TEXT, format!("{reason}\n")),
            },
            _ => ("404 Not Found", TEXT, "there is /metrics, /health and /ready\n".into()),
        }
    }
}

/// Reads the head of a request; gives its path, or the status that refuses it.
fn read_path(stream: &mut TcpStream) -> io::Result<Result<String, &'static str>> {
    let start = Instant::now();
    let mut buffer = [0; REQUEST_BYTES];
    let mut filled = 0;
    loop {
        let read = stream.read(&mut buffer[filled..])?;
        filled += read;
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&buffer[..filled]) {
            Err(_) => return Ok(Err("400 Bad Request")),
            Ok(httparse::Status::Complete(_)) => {
                return Ok(match (request.method, request.path) {
                    (Some("GET"), Some(path)) => Ok(path.to_owned()),
                    _ => Err("405 Method Not Allowed"),
                });
            }
            Ok(httparse::Status::Partial) if read == 0 || filled == buffer.len() || start.elapsed() > PATIENCE => {
                return Ok(Err("400 Bad Request"));
            }
            Ok(httparse::Status::Partial) => {}
        }
    }
}
