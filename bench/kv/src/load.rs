//! Load on one server: connections with so many requests under way each.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use crate::protocol::Protocol;

/// What load.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Connections.
    pub connections: usize,
    /// Requests under way on each.
    pub pipeline: usize,
    /// Of a hundred requests so many are reads.
    pub reads: u32,
    /// Bytes of a value.
    pub value: usize,
}

/// Batches made in advance: enough that their keys are not all in the processor's caches.
const BATCHES: usize = 4096;

struct Batch {
    requests: Vec<u8>,
    replies: usize,
}

/// Stores all items.
pub fn fill(server: SocketAddr, protocol: Protocol, items: u32, value: usize) -> io::Result<()> {
    let mut stream = connect(server)?;
    let value = vec![b'v'; value];
    let mut room = vec![0; 1 << 16];
    let all: Vec<u32> = (0..items).collect();
    for some in all.chunks(500) {
        let mut requests = Vec::new();
        let replies = some.iter().map(|item| protocol.set(*item, &value, &mut requests)).sum();
        stream.write_all(&requests)?;
        take(&mut stream, replies, &mut room)?;
    }
    Ok(())
}

/// Requests a second.
pub fn run(server: SocketAddr, protocol: Protocol, shape: &Shape, draws: &[u32], time: Duration) -> io::Result<f64> {
    let mut streams = (0..shape.connections).map(|_| connect(server)).collect::<io::Result<Vec<_>>>()?;
    let batches = batches(protocol, shape, draws);
    let mut room = vec![0; 1 << 20];
    let mut next = batches.iter().cycle();
    let mut under_way = Vec::with_capacity(streams.len());
    for stream in &mut streams {
        let Some(batch) = next.next() else { return Ok(0.0) };
        stream.write_all(&batch.requests)?;
        under_way.push(batch.replies);
    }
    let (started, mut done) = (Instant::now(), 0_u64);
    while started.elapsed() < time {
        for (stream, replies) in streams.iter_mut().zip(&mut under_way) {
            take(stream, *replies, &mut room)?;
            let Some(batch) = next.next() else { return Ok(0.0) };
            stream.write_all(&batch.requests)?;
            *replies = batch.replies;
            done += shape.pipeline as u64;
        }
    }
    let rate = done as f64 / started.elapsed().as_secs_f64();
    for (stream, replies) in streams.iter_mut().zip(under_way) {
        take(stream, replies, &mut room)?;
    }
    Ok(rate)
}

fn connect(server: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(server)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    Ok(stream)
}

fn batches(protocol: Protocol, shape: &Shape, draws: &[u32]) -> Vec<Batch> {
    let value = vec![b'v'; shape.value];
    let mut draws = draws.iter().enumerate().cycle();
    let batch = |_| {
        let mut requests = Vec::new();
        let mut replies = 0;
        for (n, item) in draws.by_ref().take(shape.pipeline) {
            let reads = n as u32 * 37 % 100 < shape.reads;
            replies += if reads {
                protocol.get(*item, shape.value, &mut requests)
            } else {
                protocol.set(*item, &value, &mut requests)
            };
        }
        Batch { requests, replies }
    };
    (0..BATCHES * 32 / shape.pipeline).map(batch).collect()
}

/// Reads replies of so many bytes: every request is answered in full, or the length is another one.
fn take(stream: &mut TcpStream, replies: usize, room: &mut [u8]) -> io::Result<()> {
    let mut left = replies;
    while left > 0 {
        let most = left.min(room.len());
        let count = stream.read(&mut room[..most])?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        left -= count;
        if left == 0 && !room[..count].ends_with(b"\n") {
            return Err(io::Error::other("a reply is not what was asked for"));
        }
    }
    Ok(())
}
