//! The Redis side: the script by its hash, over any number of connections, any number of calls in flight on each.

use std::collections::VecDeque;
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::event::epoll;

use crate::sample::{Random, Sample};

type Fallible<T> = Result<T, Box<dyn Error>>;

/// The transfer.
const SCRIPT: &str = include_str!("../transfer.lua");

/// Bytes of replies that are read at once.
const READ_BYTES: usize = 16 << 10;

/// A server with its accounts.
pub struct Redis {
    server: SocketAddr,
    script: Vec<u8>,
    accounts: u32,
    random: Random,
    next_id: u64,
}

impl Redis {
    /// Sets the balances and loads the script.
    pub fn prepare(server: SocketAddr, accounts: u32, balance: u32) -> Fallible<Self> {
        let mut connection = Connection::open(server)?;
        connection.call(&[b"FLUSHALL"])?;
        let policy = connection.call(&[b"CONFIG", b"GET", b"appendfsync"])?;
        let appends = connection.call(&[b"CONFIG", b"GET", b"appendonly"])?;
        if !policy.contains("always") || !appends.contains("yes") {
            return Err("Redis is not set to `appendonly yes` and `appendfsync always`".into());
        }
        let balance = balance.to_string();
        for first in (1..=accounts).step_by(1000) {
            let names: Vec<_> = (first..=accounts.min(first + 999)).map(account).collect();
            let mut command: Vec<&[u8]> = vec![b"MSET"];
            for name in &names {
                command.extend([name.as_bytes(), balance.as_bytes()]);
            }
            connection.call(&command)?;
        }
        let reply = connection.call(&[b"SCRIPT", b"LOAD", SCRIPT.as_bytes()])?;
        let script = reply.lines().nth(1).ok_or("Redis did not load the script")?.as_bytes().to_vec();
        Ok(Self { server, script, accounts, random: Random(1), next_id: 1 << 32 })
    }

    /// One transfer: its status and value.
    pub fn transfer(&mut self, id: u32, source: u32, destination: u32, amount: u32) -> Fallible<(i64, i64)> {
        let mut connection = Connection::open(self.server)?;
        push_transfer(&mut connection.outgoing, &self.script, id.into(), (source, destination), amount);
        connection.flush()?;
        loop {
            if let Some(reply) = connection.next_reply()? {
                let numbers: Vec<i64> = reply.lines().filter_map(|line| line.strip_prefix(':')?.parse().ok()).collect();
                return match numbers[..] {
                    [status, value] => Ok((status, value)),
                    _ => Err(format!("Redis answered {reply:?}").into()),
                };
            }
            connection.read()?;
        }
    }

    /// Keeps `depth` transfers in flight on each of so many connections.
    pub fn measure(&mut self, connections: usize, depth: usize, time: Duration) -> Fallible<Sample> {
        let mut all = (0..connections).map(|_| Connection::open(self.server)).collect::<Fallible<Vec<_>>>()?;
        let poller = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        for (index, connection) in all.iter().enumerate() {
            connection.stream.set_nonblocking(true)?;
            let data = epoll::EventData::new_u64(index as u64);
            epoll::add(&poller, &connection.stream, data, epoll::EventFlags::IN)?;
        }
        let mut latencies = Vec::with_capacity(1 << 20);
        let mut events = Vec::with_capacity(connections);
        let start = Instant::now();
        for connection in &mut all {
            self.fill(connection, depth)?;
        }
        let mut in_flight = connections * depth;
        while in_flight > 0 {
            events.clear();
            epoll::wait(&poller, rustix::buffer::spare_capacity(&mut events), None)?;
            let running = start.elapsed() < time;
            for event in &events {
                let connection = &mut all[event.data.u64() as usize];
                connection.read()?;
                while let Some(reply) = connection.next_reply()? {
                    if !reply.starts_with("*2\r\n:0\r\n") {
                        return Err(format!("a transfer was answered with {reply:?}").into());
                    }
                    let sent = connection.sent.pop_front().ok_or("Redis answered what it was not asked")?;
                    latencies.push(sent.elapsed());
                    in_flight -= 1;
                }
                if running {
                    in_flight += depth - connection.sent.len();
                    self.fill(connection, depth)?;
                }
            }
        }
        Ok(Sample::new(latencies, start.elapsed()))
    }

    /// Sends until `depth` transfers are in flight.
    fn fill(&mut self, connection: &mut Connection, depth: usize) -> Fallible<()> {
        let now = Instant::now();
        while connection.sent.len() < depth {
            let pair = self.random.pair(self.accounts);
            self.next_id += 1;
            push_transfer(&mut connection.outgoing, &self.script, self.next_id, pair, 1);
            connection.sent.push_back(now);
        }
        connection.flush()
    }
}

fn account(number: u32) -> String {
    format!("a{number}")
}

/// Appends a call of the script.
fn push_transfer(to: &mut Vec<u8>, script: &[u8], id: u64, (source, destination): (u32, u32), amount: u32) {
    let (source, destination) = (account(source), account(destination));
    let memory = format!("t{source}:{id}");
    let amount = amount.to_string();
    let [source, destination, memory, amount] =
        [source.as_bytes(), destination.as_bytes(), memory.as_bytes(), amount.as_bytes()];
    push_command(to, &[b"EVALSHA", script, b"3", source, destination, memory, amount]);
}

/// Appends a command in RESP.
fn push_command(to: &mut Vec<u8>, parts: &[&[u8]]) {
    // Writing to a vector cannot fail.
    let _ = write!(to, "*{}\r\n", parts.len());
    for part in parts {
        let _ = write!(to, "${}\r\n", part.len());
        to.extend_from_slice(part);
        to.extend_from_slice(b"\r\n");
    }
}

/// A connection and what is under way on it.
struct Connection {
    stream: TcpStream,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    /// Bytes of `incoming` that were taken.
    taken: usize,
    /// When the calls in flight were sent.
    sent: VecDeque<Instant>,
}

impl Connection {
    fn open(server: SocketAddr) -> Fallible<Self> {
        let stream = TcpStream::connect(server)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, outgoing: Vec::new(), incoming: Vec::new(), taken: 0, sent: VecDeque::new() })
    }

    fn call(&mut self, parts: &[&[u8]]) -> Fallible<String> {
        push_command(&mut self.outgoing, parts);
        self.flush()?;
        loop {
            match self.next_reply()? {
                Some(reply) if reply.starts_with('-') => return Err(format!("Redis: {}", reply.trim()).into()),
                Some(reply) => return Ok(reply.to_owned()),
                None => self.read()?,
            }
        }
    }

    /// Sends what was put together. What is in flight is so little that the kernel always takes it.
    fn flush(&mut self) -> Fallible<()> {
        self.stream.write_all(&self.outgoing)?;
        self.outgoing.clear();
        Ok(())
    }

    fn read(&mut self) -> Fallible<()> {
        self.incoming.drain(..self.taken);
        self.taken = 0;
        let length = self.incoming.len();
        self.incoming.resize(length + READ_BYTES, 0);
        let count = match self.stream.read(&mut self.incoming[length..]) {
            Ok(0) => return Err("Redis closed the connection".into()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error.into()),
        };
        self.incoming.truncate(length + count);
        Ok(())
    }

    /// The next whole reply.
    fn next_reply(&mut self) -> Fallible<Option<&str>> {
        let rest = &self.incoming[self.taken..];
        let Some(length) = reply_length(rest)? else { return Ok(None) };
        self.taken += length;
        Ok(Some(std::str::from_utf8(&rest[..length])?))
    }
}

/// Bytes of the reply that `bytes` begin with, if all of it is there.
fn reply_length(bytes: &[u8]) -> Fallible<Option<usize>> {
    let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") else { return Ok(None) };
    let line = std::str::from_utf8(&bytes[..end])?;
    let mut length = end + 2;
    match line.split_at_checked(1) {
        Some(("+" | "-" | ":", _)) => Ok(Some(length)),
        Some(("$", count)) => {
            length += usize::try_from(count.parse::<i64>()?).map_or(0, |count| count + 2);
            Ok((bytes.len() >= length).then_some(length))
        }
        Some(("*", count)) => {
            for _ in 0..count.parse::<i64>()? {
                let Some(part) = reply_length(&bytes[length..])? else { return Ok(None) };
                length += part;
            }
            Ok(Some(length))
        }
        _ => Err(format!("Redis answered {line:?}").into()),
    }
}
