//! Latency at a rate: requests at their times, whether the ones before are answered or not, so that none that waits is left out.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    os::fd::AsFd,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::protocol::Protocol;

struct Connection {
    stream: TcpStream,
    /// Of the request under way: when it was to be sent, and the bytes of its reply still to come.
    under_way: Option<(Instant, usize)>,
}

/// The latency that 99 of a hundred gets do not exceed, at so many a second over so many connections. A get that finds all
/// connections taken waits for one, and that counts.
pub fn p99(
    server: SocketAddr,
    connections: usize,
    rate: f64,
    value: usize,
    draws: &[u32],
    time: Duration,
) -> io::Result<Duration> {
    let connect = || {
        let stream = TcpStream::connect(server)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Connection { stream, under_way: None })
    };
    let mut connections = (0..connections).map(|_| connect()).collect::<io::Result<Vec<_>>>()?;
    let mut free: Vec<usize> = (0..connections.len()).collect();
    let (started, step) = (Instant::now(), Duration::from_secs_f64(1.0 / rate));
    let (mut waiting, mut made, mut latencies) = (VecDeque::new(), 0_u32, Vec::new());
    let (mut draws, mut request, mut room) = (draws.iter().cycle(), Vec::new(), vec![0; 1 << 16]);
    while started.elapsed() < time {
        while started + step * made <= Instant::now() {
            waiting.push_back(started + step * made);
            made += 1;
        }
        while let (Some(due), false) = (waiting.front().copied(), free.is_empty()) {
            let Some((item, place)) = draws.next().zip(free.pop()) else { break };
            request.clear();
            let reply = Protocol::Memcached.get(*item, value, &mut request);
            connections[place].stream.write_all(&request)?;
            connections[place].under_way = Some((due, reply));
            waiting.pop_front();
        }
        let next = (started + step * made).saturating_duration_since(Instant::now());
        let readable: Vec<usize> = {
            let mut polled: Vec<_> = connections
                .iter()
                .map(|connection| PollFd::from_borrowed_fd(connection.stream.as_fd(), PollFlags::IN))
                .collect();
            let timeout = Timespec { tv_sec: 0, tv_nsec: next.as_nanos().min(1_000_000) as i64 };
            match poll(&mut polled, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            polled.iter().enumerate().filter(|(_, fd)| !fd.revents().is_empty()).map(|(place, _)| place).collect()
        };
        for place in readable {
            let Connection { stream, under_way } = &mut connections[place];
            let Some((due, left)) = under_way else { return Err(io::Error::other("a reply that nobody asked for")) };
            match stream.read(&mut room)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => *left = left.saturating_sub(count),
            }
            if *left == 0 {
                latencies.push(due.elapsed());
                *under_way = None;
                free.push(place);
            }
        }
    }
    // What has waited to the end has waited so long at least.
    latencies.extend(waiting.iter().map(Instant::elapsed));
    latencies.sort();
    latencies.get(latencies.len() * 99 / 100).copied().ok_or_else(|| io::Error::other("no reply came"))
}
