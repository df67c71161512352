//! A connection to an Electrum server, with many requests in flight.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::atomic::{
        AtomicU64,
        Ordering::{AcqRel, Acquire, Relaxed},
    },
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::{Value, json};

use super::{draw::Draw, requests::Requests};

/// Timeout of the server's replies.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes per read.
const READ: usize = 64 << 10;
/// Bytes of the longest reply that is waited for.
const LONGEST: usize = 64 << 20;

/// Why a connection is of no use.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    #[error("{0}; check that the server runs and speaks Electrum's protocol over TCP")]
    Connection(#[from] io::Error),
    #[error("the server closed the connection: check its limits of clients")]
    Closed,
    #[error("invalid JSON-RPC reply: {0}")]
    NoReply(#[from] serde_json::Error),
    #[error("the reply has more than {LONGEST} bytes")]
    TooLong,
    #[error("the server answered request {0}, which was not sent")]
    Stray(u64),
    #[error("the server refused {method}: {error}")]
    Refused { method: String, error: String },
    #[error("the server sent an invalid transaction {0}")]
    NoTransaction(String),
}

/// A reply, or a notification, which has no id.
#[derive(Deserialize)]
struct Reply<T> {
    id: Option<u64>,
    result: Option<T>,
    error: Option<Value>,
}

/// The results of a connection, or of all.
pub struct Outcome {
    /// Nanoseconds from when a request was written to when its reply was read.
    pub latencies: Histogram<u64>,
    pub methods: BTreeMap<&'static str, u64>,
    pub errors: u64,
    pub first_error: Option<String>,
    pub bytes_sent: u64,
    pub bytes_received: u64,
}

impl Outcome {
    pub fn new() -> Self {
        Self {
            // An hour at most, to three digits.
            latencies: Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("bounds that are valid"),
            methods: BTreeMap::new(),
            errors: 0,
            first_error: None,
            bytes_sent: 0,
            bytes_received: 0,
        }
    }

    pub fn add(&mut self, other: &Self) {
        // Both have the same bounds.
        let _ = self.latencies.add(&other.latencies);
        for (method, count) in &other.methods {
            *self.methods.entry(method).or_default() += count;
        }
        self.errors += other.errors;
        self.first_error = self.first_error.take().or_else(|| other.first_error.clone());
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
    }
}

/// A connection that speaks version 1.4 or 1.4.2.
pub struct Connection {
    stream: TcpStream,
    server: String,
    /// Bytes read but not yet parsed, from `taken` on.
    pending: Vec<u8>,
    taken: usize,
    room: Box<[u8; READ]>,
}

impl Connection {
    pub fn open(address: SocketAddr) -> Result<Self, Failed> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let room = Box::new([0; READ]);
        let mut connection = Self { stream, server: String::new(), pending: Vec::new(), taken: 0, room };
        let version = json!(["turnpike load", ["1.4", "1.4.2"]]);
        let (server, _): (String, String) = connection.ask("server.version", &version)?;
        connection.server = server;
        Ok(connection)
    }

    /// The server's name.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Sends one request, and returns its result.
    pub fn ask<T: DeserializeOwned>(&mut self, method: &str, parameters: &Value) -> Result<T, Failed> {
        let mut results = self.ask_all(method, std::slice::from_ref(parameters))?;
        results.pop().ok_or(Failed::Closed)
    }

    /// Sends several requests of one method, and returns their results.
    pub fn ask_all<T: DeserializeOwned>(&mut self, method: &str, parameters: &[Value]) -> Result<Vec<T>, Failed> {
        let requests = parameters.iter().enumerate().map(|(id, parameters)| {
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters}).to_string() + "\n"
        });
        self.stream.write_all(requests.collect::<String>().as_bytes())?;
        let mut results: Vec<Option<T>> = parameters.iter().map(|_| None).collect();
        while results.iter().any(Option::is_none) {
            let line = self.line()?;
            let reply: Reply<T> = serde_json::from_slice(line)?;
            let Some(id) = reply.id else { continue };
            let place = results.get_mut(id as usize).ok_or(Failed::Stray(id))?;
            let refused = |error| Failed::Refused { method: method.to_owned(), error };
            let error = reply.error.unwrap_or_default();
            *place = Some(reply.result.ok_or_else(|| refused(error.to_string()))?);
        }
        Ok(results.into_iter().flatten().collect())
    }

    /// Keeps `depth` requests in flight until `left`, shared by all connections, is zero.
    pub fn load(
        &mut self,
        requests: &Requests,
        mut draw: Draw,
        depth: usize,
        left: &AtomicU64,
        answered: &AtomicU64,
    ) -> Result<Outcome, Failed> {
        let mut outcome = Outcome::new();
        let mut counts = vec![0; requests.methods().count()];
        // A request's id is its slot, which is free again when it is answered.
        let mut slots: Vec<Option<(usize, Instant)>> = vec![None; depth];
        let mut free: Vec<usize> = (0..depth).collect();
        let mut text = String::new();
        loop {
            text.clear();
            let now = Instant::now();
            while let Some(slot) = free.last().copied() {
                if left.fetch_update(AcqRel, Acquire, |left| left.checked_sub(1)).is_err() {
                    break;
                }
                free.pop();
                let (method, request) = requests.get(draw.next());
                slots[slot] = Some((method, now));
                text.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
                text.push_str(&slot.to_string());
                text.push(',');
                text.push_str(request);
                text.push('\n');
            }
            self.stream.write_all(text.as_bytes())?;
            outcome.bytes_sent += text.len() as u64;
            if free.len() == depth {
                outcome.methods = requests.methods().zip(counts).collect();
                return Ok(outcome);
            }
            // Replies that arrived together are processed together, so that new requests are sent together, too.
            let mut count = 0;
            while count == 0 || self.has_line() {
                let line = self.line()?;
                outcome.bytes_received += line.len() as u64 + 1;
                let reply: Reply<IgnoredAny> = serde_json::from_slice(line)?;
                let Some(id) = reply.id else { continue };
                if let Some(error) = reply.error {
                    outcome.errors += 1;
                    outcome.first_error.get_or_insert_with(|| error.to_string());
                }
                let slot = usize::try_from(id).unwrap_or(usize::MAX);
                let (method, sent) = slots.get_mut(slot).and_then(Option::take).ok_or(Failed::Stray(id))?;
                outcome.latencies.saturating_record(sent.elapsed().as_nanos() as u64);
                counts[method] += 1;
                free.push(slot);
                count += 1;
            }
            answered.fetch_add(count, Relaxed);
        }
    }

    /// Whether a whole line was read.
    fn has_line(&self) -> bool {
        self.pending[self.taken..].contains(&b'\n')
    }

    /// The next line.
    fn line(&mut self) -> Result<&[u8], Failed> {
        let mut searched = self.taken;
        let end = loop {
            if let Some(end) = self.pending[searched..].iter().position(|byte| *byte == b'\n') {
                break searched + end;
            }
            self.pending.drain(..self.taken);
            self.taken = 0;
            searched = self.pending.len();
            if searched > LONGEST {
                return Err(Failed::TooLong);
            }
            match self.stream.read(&mut self.room[..]) {
                Ok(0) => return Err(Failed::Closed),
                Ok(count) => self.pending.extend_from_slice(&self.room[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        };
        let begin = std::mem::replace(&mut self.taken, end + 1);
        Ok(&self.pending[begin..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_add_up() {
        let mut all = Outcome::new();
        for (latency, error) in [(1000, None), (3000, Some("first".to_owned())), (2000, Some("second".to_owned()))] {
            let mut one = Outcome::new();
            one.latencies.saturating_record(latency);
            one.methods.insert("ping", 1);
            one.errors = error.is_some().into();
            one.first_error = error;
            all.add(&one);
        }
        assert_eq!((all.methods["ping"], all.errors, all.first_error.as_deref()), (3, 2, Some("first")));
        assert_eq!((all.latencies.len(), all.latencies.value_at_quantile(0.5)), (3, 2000));
    }
}
