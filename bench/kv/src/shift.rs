//! How soon a store that is full of small items makes room for large ones, while some of the small items stay in use.

use std::{
    io::{self, BufReader, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use crate::{
    hits::reply,
    keys::{self, Random},
};

/// Bytes of a small value and of a large one.
const SMALL: usize = 100;
const LARGE: usize = 10_000;

/// Small items for each one that stays in use, read twice a second.
const IN_USE: usize = 200;
const INTERVAL: Duration = Duration::from_millis(500);

/// Small items for each large one: the large ones need 60 % of the memory that the small ones fill.
const SMALL_PER_LARGE: u32 = 250;

/// Requests under way while the store is filled.
const BATCH: usize = 100;

/// Pause between two gets of large items, about 1,000 of them a second.
const PAUSE: Duration = Duration::from_micros(800);

/// Numbers of the large items lie beyond those of the small ones.
const FIRST_LARGE: u32 = 1 << 31;

/// The share of gets of large items that found theirs, in the later half of some time.
pub fn ratio(server: SocketAddr, items: u32, time: Duration) -> io::Result<f64> {
    let mut client = Client::connect(server)?;
    client.stream.write_all(b"flush_all noreply\r\n")?;
    let small = Vec::from_iter(0..items);
    small.chunks(BATCH).try_for_each(|batch| client.fetch(batch, SMALL).map(drop))?;
    let in_use = Vec::from_iter(small.iter().copied().step_by(IN_USE));
    let (mut random, start) = (Random::new(1), Instant::now());
    let (mut hits, mut gets, mut refreshed) = (0_u64, 0_u64, start);
    while start.elapsed() < time {
        let large = FIRST_LARGE + (random.unit() * f64::from(items / SMALL_PER_LARGE)) as u32;
        let hit = client.fetch(&[large], LARGE)?;
        if start.elapsed() > time / 2 {
            gets += 1;
            hits += hit;
        }
        if refreshed.elapsed() > INTERVAL {
            refreshed = Instant::now();
            in_use.chunks(BATCH).try_for_each(|batch| client.fetch(batch, SMALL).map(drop))?;
        }
        std::thread::sleep(PAUSE);
    }
    Ok(hits as f64 / gets.max(1) as f64)
}

struct Client {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Client {
    fn connect(server: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(server)?;
        stream.set_nodelay(true)?;
        let reader = BufReader::with_capacity(1 << 20, stream.try_clone()?);
        Ok(Self { stream, reader })
    }

    /// Gets items, stores those that are missing, and returns how many were there.
    fn fetch(&mut self, items: &[u32], len: usize) -> io::Result<u64> {
        let mut out = Vec::new();
        for item in items {
            out.extend_from_slice(b"get ");
            keys::append(*item, &mut out);
            out.extend_from_slice(b"\r\n");
        }
        self.stream.write_all(&out)?;
        out.clear();
        let mut hits = 0;
        for item in items {
            if reply(&mut self.reader)? {
                hits += 1;
                continue;
            }
            out.extend_from_slice(b"set ");
            keys::append(*item, &mut out);
            out.extend_from_slice(format!(" 0 0 {len} noreply\r\n").as_bytes());
            out.resize(out.len() + len, b'v');
            out.extend_from_slice(b"\r\n");
        }
        self.stream.write_all(&out)?;
        Ok(hits)
    }
}
