//! The demo's key-value store with the simulated NIC: the NIC and connections answer from the same items.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use node::config::{Kv, KvIo};
use node::kv_server;

use super::Row;
use crate::error::Error;
use crate::output::{Output, thousands};

/// Items that are written: fewer than the NIC has blocks of their class.
const ITEMS: u16 = 500;

/// The promise of the store's replies.
const PROMISE: &str = "in memory";

/// Timeout for a reply.
const PATIENCE: Duration = Duration::from_secs(10);

/// Frame header, header and extras before the value in a reply to GET.
const VALUE: usize = 8 + 24 + 4;

/// Result of this part.
pub struct Outcome {
    /// Requests that the NIC answered.
    pub by_nic: u64,
    /// Replies with another value than the last one written.
    pub wrong: u64,
}

/// Writes items on a connection and reads them by datagram, and the other way round.
pub fn run(rows: &mut Vec<Row>, output: Output) -> Result<Outcome, Error> {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let config = Kv { listen: vec![any], udp: vec![any], io: KvIo::Rtl, threads: 1, ..Kv::default() };
    let server = kv_server::start(&config).map_err(Error::other)?;
    let mut tcp = Connection::open(server.tcp()[0]).map_err(Error::other)?;
    let mut udp = Datagrams::open(server.udp()[0]).map_err(Error::other)?;
    let mut wrong = 0;
    let mut part = |what, mut request: Box<dyn FnMut(u16) -> std::io::Result<bool> + '_>| {
        let started = Instant::now();
        for item in 0..ITEMS {
            wrong += u64::from(!request(item).map_err(Error::other)?);
        }
        rows.push(Row::timed(what, ITEMS.into(), started.elapsed(), PROMISE));
        Ok::<_, Error>(())
    };
    part("set, TCP", Box::new(|item| tcp.set(item, &value(item, 1))))?;
    part("GET by the NIC", Box::new(|item| Ok(udp.get(item)? == value(item, 1))))?;
    part("SET by the NIC", Box::new(|item| udp.set(item, &value(item, 2))))?;
    part("get, TCP", Box::new(|item| Ok(tcp.get(item)? == value(item, 2))))?;
    let counts = server.service().nic().map(|nic| nic.counts().all()).unwrap_or_default();
    let by_nic = counts.iter().filter(|(event, _)| ["hit", "write"].contains(event)).map(|(_, count)| count).sum();
    output.progress(format!(
        "key-value  {} of {} requests by datagram answered by the NIC, {wrong} replies wrong",
        thousands(by_nic),
        thousands(2 * u64::from(ITEMS))
    ));
    Ok(Outcome { by_nic, wrong })
}

fn key(item: u16) -> String {
    format!("key-{item}")
}

/// The value of an item's first or second write.
fn value(item: u16, write: u8) -> Vec<u8> {
    format!("value {write} of item {item}").into_bytes()
}

/// A client on a connection.
struct Connection(BufReader<TcpStream>);

impl Connection {
    fn open(server: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(server)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self(BufReader::new(stream)))
    }

    fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        Ok(line)
    }

    fn set(&mut self, item: u16, value: &[u8]) -> std::io::Result<bool> {
        let line = format!("set {} 0 0 {}\r\n", key(item), value.len());
        self.0.get_mut().write_all(&[line.as_bytes(), value, b"\r\n"].concat())?;
        Ok(self.line()? == "STORED\r\n")
    }

    fn get(&mut self, item: u16) -> std::io::Result<Vec<u8>> {
        self.0.get_mut().write_all(format!("get {}\r\n", key(item)).as_bytes())?;
        if self.line()? == "END\r\n" {
            return Ok(Vec::new());
        }
        let mut value = self.line()?.into_bytes();
        value.truncate(value.len().saturating_sub(2));
        self.line()?;
        Ok(value)
    }
}

/// A client by datagram.
struct Datagrams(UdpSocket);

impl Datagrams {
    fn open(server: SocketAddr) -> std::io::Result<Self> {
        let socket = UdpSocket::bind((server.ip(), 0))?;
        socket.connect(server)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Self(socket))
    }

    /// Sends a request of memcached's binary protocol, and returns the datagram with the reply.
    fn ask(&self, opcode: u8, extras: &[u8], item: u16, value: &[u8]) -> std::io::Result<Vec<u8>> {
        let key = key(item);
        let length = (extras.len() + key.len() + value.len()) as u32;
        let [number, length] = [u32::from(item), length].map(u32::to_be_bytes);
        let frame = [number[2], number[3], 0, 0, 0, 1, 0, 0];
        let head = [0x80, opcode, 0, key.len() as u8, extras.len() as u8, 0, 0, 0];
        self.0.send(&[&frame, &head, &length[..], &[0; 12], extras, key.as_bytes(), value].concat())?;
        let mut reply = vec![0; 2048];
        let received = self.0.recv(&mut reply)?;
        reply.truncate(received);
        Ok(reply)
    }

    fn get(&mut self, item: u16) -> std::io::Result<Vec<u8>> {
        let reply = self.ask(0x00, &[], item, &[])?;
        Ok(reply.get(VALUE..).unwrap_or_default().to_vec())
    }

    fn set(&mut self, item: u16, value: &[u8]) -> std::io::Result<bool> {
        let reply = self.ask(0x01, &[0; 8], item, value)?;
        // The status.
        Ok(reply.get(14..16) == Some(&[0, 0]))
    }
}
