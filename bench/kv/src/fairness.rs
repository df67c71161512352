//! Latency of honest clients beside others that pipeline requests without end.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpStream},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use crate::protocol::Protocol;

/// Clients that send one request at a time.
const HONEST: usize = 8;

/// Clients that pipeline.
const HUNGRY: usize = 4;

/// Requests that a hungry client sends in one write.
const PIPELINED: usize = 5000;

/// Pause between two rounds of the honest clients, so that they add little load.
const PAUSE: Duration = Duration::from_millis(10);

/// The 50th and the 99th percentile of the honest clients' latency.
pub fn latencies(server: SocketAddr, value: usize, draws: &[u32], time: Duration) -> io::Result<[Duration; 2]> {
    let connect = || {
        let stream = TcpStream::connect(server)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(stream)
    };
    let mut requests = Vec::new();
    for item in draws.iter().cycle().take(PIPELINED) {
        Protocol::Memcached.get(*item, value, &mut requests);
    }
    let hungry = (0..HUNGRY).map(|_| connect()).collect::<io::Result<Vec<_>>>()?;
    let mut honest = (0..HONEST).map(|_| connect()).collect::<io::Result<Vec<_>>>()?;
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        for mut stream in &hungry {
            let (over, requests) = (&over, &requests);
            scope.spawn(move || while !over.load(Relaxed) && stream.write_all(requests).is_ok() {});
            scope.spawn(move || {
                let mut room = vec![0; 1 << 20];
                while stream.read(&mut room).is_ok_and(|count| count > 0) {}
            });
        }
        let measured = measure(&mut honest, value, draws, time);
        over.store(true, Relaxed);
        hungry.iter().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
        measured
    })
}

fn measure(honest: &mut [TcpStream], value: usize, draws: &[u32], time: Duration) -> io::Result<[Duration; 2]> {
    let (mut latencies, mut draws, mut request) = (Vec::new(), draws.iter().cycle(), Vec::new());
    let mut room = vec![0; 1 << 16];
    let started = Instant::now();
    while started.elapsed() < time {
        for stream in &mut *honest {
            let Some(item) = draws.next() else { break };
            request.clear();
            let mut left = Protocol::Memcached.get(*item, value, &mut request);
            let asked = Instant::now();
            stream.write_all(&request)?;
            while left > 0 {
                match stream.read(&mut room)? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    count => left = left.saturating_sub(count),
                }
            }
            latencies.push(asked.elapsed());
        }
        thread::sleep(PAUSE);
    }
    latencies.sort();
    let percentile = |percent| latencies.get(latencies.len() * percent / 100).copied();
    match (percentile(50), percentile(99)) {
        (Some(half), Some(nearly_all)) => Ok([half, nearly_all]),
        _ => Err(io::Error::other("no reply came")),
    }
}
