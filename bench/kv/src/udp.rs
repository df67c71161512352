//! Gets by UDP: datagrams with one key or several, so many of them under way.

use std::{
    io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use nic::{
    Backend, Batch, Counters, Transmit, UdpBackend, UdpConfig,
    backend::{Peer, Reply},
};

use crate::{keys, processor};

/// Datagrams under way: what a socket's buffer holds of their replies.
const WINDOW: usize = 64;

/// When what is under way is taken for lost.
const PATIENCE: Duration = Duration::from_millis(100);

/// Requests made in advance.
const REQUESTS: usize = 1 << 16;

/// Bytes of a datagram's header.
const HEADER: usize = 8;

/// What a run came to.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Gets that were answered, a second.
    pub rate: f64,
    /// Nanoseconds of the server's processor time for each.
    pub processor: f64,
}

/// Puts gets on a server, `keys` of them to a datagram, for so long. `server` is its process.
pub fn run(address: SocketAddr, server: u32, keys: usize, draws: &[u32], time: Duration) -> io::Result<Outcome> {
    let mut client = Client::new(address, keys, draws)?;
    client.send(WINDOW);
    let warm = time / 4;
    client.until(Instant::now() + warm)?;
    let (answered, used, started) = (client.answered, processor::used(server)?, Instant::now());
    client.until(started + time)?;
    let (gets, elapsed) = ((client.answered - answered) * keys as u64, started.elapsed());
    let used = processor::used(server)? - used;
    if gets == 0 {
        return Err(io::Error::other("no reply came by UDP"));
    }
    Ok(Outcome { rate: gets as f64 / elapsed.as_secs_f64(), processor: used.as_nanos() as f64 / gets as f64 })
}

struct Client {
    backend: UdpBackend,
    batch: Batch,
    peer: Peer,
    requests: Vec<Vec<u8>>,
    next: usize,
    under_way: usize,
    answered: u64,
}

impl Client {
    fn new(address: SocketAddr, keys: usize, draws: &[u32]) -> io::Result<Self> {
        let local = if address.is_ipv6() { "[::1]:0" } else { "127.0.0.1:0" };
        let local = local.parse().map_err(io::Error::other)?;
        let backend =
            UdpBackend::bind(&UdpConfig { messages: WINDOW, ..UdpConfig::new(local) }, Arc::new(Counters::default()))?;
        let mut draws = draws.iter().cycle();
        let request = |number: usize| {
            let mut request = [&(number as u16).to_be_bytes()[..], &[0, 0, 0, 1, 0, 0], b"get"].concat();
            for item in draws.by_ref().take(keys) {
                request.push(b' ');
                keys::append(*item, &mut request);
            }
            request.extend_from_slice(b"\r\n");
            request
        };
        Ok(Self {
            backend,
            batch: Batch::new(WINDOW),
            peer: Peer::new(address),
            requests: (0..REQUESTS).map(request).collect(),
            next: 0,
            under_way: 0,
            answered: 0,
        })
    }

    fn send(&mut self, count: usize) {
        let Self { requests, next, peer, backend, .. } = self;
        let numbers = (0..count).map(|at| (*next + at) % REQUESTS);
        let mut replies = numbers.map(|number| Reply { peer: *peer, bytes: &requests[number] });
        backend.transmit(&mut replies);
        self.next = (*next + count) % REQUESTS;
        self.under_way += count;
    }

    fn until(&mut self, end: Instant) -> io::Result<()> {
        while Instant::now() < end {
            self.backend.receive(&mut self.batch, PATIENCE)?;
            let before = self.answered;
            for message in &self.batch.messages {
                let datagrams = message.datagrams().map(|place| &self.batch.memory[place]);
                self.answered += datagrams.filter(|datagram| is_last(datagram)).count() as u64;
            }
            let answered = (self.answered - before) as usize;
            self.under_way = self.under_way.saturating_sub(answered);
            if self.batch.messages.is_empty() {
                self.under_way = 0;
            }
            self.send(WINDOW - self.under_way.min(WINDOW));
        }
        Ok(())
    }
}

/// Whether a datagram is the last of a reply. memcached numbers each item's as if it were a reply of its own, so the text has to tell.
fn is_last(datagram: &[u8]) -> bool {
    const END: &[u8] = b"END\r\n";
    let Some(([_, _, s0, s1, c0, c1, ..], text)) = datagram.split_first_chunk::<HEADER>() else { return false };
    let follows = u32::from(u16::from_be_bytes([*s0, *s1])) + 1 < u32::from(u16::from_be_bytes([*c0, *c1]));
    // What is cut may leave a part of the end to its last datagram.
    !follows && (text.ends_with(END) || END.ends_with(text))
}
