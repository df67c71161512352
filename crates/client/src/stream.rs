//! A stream in place of datagrams: the same frames over TCP, each preceded by its length.
//!
//! It behaves like a datagram socket that loses data in flight when the connection ends, and reconnects for the next
//! frame. So the window recovers from a lost connection as from a lost datagram.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::sleep;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use wire::MAX_DATAGRAM;

use crate::Outgoing;

/// Length of the prefix of a frame in bytes.
const PREFIX: usize = 4;

/// Bytes per read.
const READ_BYTES: usize = 64 << 10;

/// Timeout of a connection attempt.
const CONNECT: Duration = Duration::from_secs(2);

/// Maximum wait for a node that is gone, before the window is asked what to send.
const GONE: Duration = Duration::from_millis(50);

/// Maximum bytes waiting for the connection: those of the largest windows. Further ones count as lost.
const MAX_WAITING: usize = 16 << 20;

/// Connects to a node, without delay of small writes.
///
/// An address of this machine whose node is down may be the port that the kernel gives to this very socket: then it is
/// connected to itself, and its port is taken when the node starts again.
pub fn connect(node: SocketAddr) -> io::Result<TcpStream> {
    let connection = TcpStream::connect_timeout(&node, CONNECT)?;
    if connection.local_addr()? == node {
        return Err(ErrorKind::ConnectionRefused.into());
    }
    connection.set_nodelay(true)?;
    Ok(connection)
}

/// A connection to a node, re-established when it ends.
#[derive(Debug)]
pub struct Stream {
    node: SocketAddr,
    connection: Option<TcpStream>,
    /// Frames with their lengths, of which `sent` bytes are sent.
    sending: Vec<u8>,
    sent: usize,
    /// Received bytes of frames that were not returned yet.
    received: Vec<u8>,
}

impl Stream {
    /// Connects to a node.
    pub fn connect(node: SocketAddr) -> io::Result<Self> {
        let mut stream = Self { node, connection: None, sending: Vec::new(), sent: 0, received: Vec::new() };
        stream.reconnect()?;
        Ok(stream)
    }

    fn reconnect(&mut self) -> io::Result<()> {
        let connection = connect(self.node)?;
        connection.set_nonblocking(true)?;
        self.connection = Some(connection);
        Ok(())
    }

    /// Whether there is a connection.
    pub fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    /// Drops the connection and the data in flight.
    fn disconnect(&mut self) {
        self.connection = None;
        self.sending.clear();
        self.sent = 0;
        self.received.clear();
    }

    /// Sends frames in `memory`, and returns how many were accepted.
    pub fn send(&mut self, memory: &[u8], frames: &[Outgoing]) -> io::Result<usize> {
        // A node closes idle connections. Data sent on a closed one would be lost.
        if self.connection.as_ref().is_none_or(has_ended) {
            self.disconnect();
            self.reconnect()?;
        }
        if self.sending.len() - self.sent > MAX_WAITING {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.sending.drain(..std::mem::take(&mut self.sent));
        for frame in frames {
            self.sending.extend((frame.length as u32).to_be_bytes());
            self.sending.extend(&memory[frame.offset..frame.offset + frame.length]);
        }
        if self.push().is_err() {
            self.disconnect();
        }
        Ok(frames.len())
    }

    /// Sends as much as the connection accepts now.
    fn push(&mut self) -> io::Result<()> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        while self.sent < self.sending.len() {
            match connection.write(&self.sending[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => self.sent += written,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits up to `wait` for data, and passes each complete frame to `take`. Returns their number.
    pub fn receive(&mut self, wait: Duration, take: impl FnMut(&[u8])) -> io::Result<usize> {
        match &self.connection {
            None => {
                sleep(wait.min(GONE));
                return Ok(0);
            }
            Some(connection) => {
                let is_waiting = self.sent < self.sending.len();
                let out = if is_waiting { PollFlags::OUT } else { PollFlags::empty() };
                let mut polled = [PollFd::new(connection, PollFlags::IN | out)];
                let timeout = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
                match poll(&mut polled, Some(&timeout)) {
                    Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(0),
                    Ok(_) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        let result = self.push().and_then(|()| self.pull());
        // Frames received before the end of a connection are valid.
        let count = self.give(take);
        match (result, count) {
            (Ok(()), Some(count)) => Ok(count),
            (_, count) => {
                self.disconnect();
                Ok(count.unwrap_or_default())
            }
        }
    }

    /// Reads available data.
    fn pull(&mut self) -> io::Result<()> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        let before = self.received.len();
        self.received.resize(before + READ_BYTES, 0);
        let read = connection.read(&mut self.received[before..]);
        self.received.truncate(before + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Err(error) if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Err(error),
            _ => Ok(()),
        }
    }

    /// Passes on the complete frames. `None` if the data has a length that no frame can have.
    fn give(&mut self, mut take: impl FnMut(&[u8])) -> Option<usize> {
        let (mut count, mut rest) = (0, &self.received[..]);
        let is_sound = loop {
            let Some((length, after)) = rest.split_first_chunk::<PREFIX>() else { break true };
            let length = u32::from_be_bytes(*length) as usize;
            if length > MAX_DATAGRAM {
                break false;
            }
            let Some((frame, after)) = after.split_at_checked(length) else { break true };
            take(frame);
            (count, rest) = (count + 1, after);
        };
        let used = self.received.len() - rest.len();
        self.received.drain(..used);
        is_sound.then_some(count)
    }
}

/// Whether the peer has closed the connection, and everything before that was read.
fn has_ended(connection: &TcpStream) -> bool {
    match connection.peek(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const WAIT: Duration = Duration::from_secs(5);

    fn frames(lengths: &[usize]) -> (Vec<u8>, Vec<Outgoing>) {
        let memory = (0..lengths.iter().sum::<usize>()).map(|byte| (byte / 3) as u8).collect();
        let mut offset = 0;
        let outgoing = lengths.iter().map(|&length| {
            offset += length;
            Outgoing { offset: offset - length, length }
        });
        (memory, outgoing.collect())
    }

    fn receive(stream: &mut Stream, count: usize) -> Vec<Vec<u8>> {
        let mut came = Vec::new();
        while came.len() < count {
            stream.receive(WAIT, |frame| came.push(frame.to_vec())).unwrap();
        }
        came
    }

    /// More than the connection accepts at once returns intact, from a peer that reads and writes in pieces of any
    /// size.
    #[test]
    fn frames_arrive_as_they_were_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let node = listener.local_addr().unwrap();
        let lengths: Vec<usize> = (0..300).map(|number| [0, 1, 64, 1472, MAX_DATAGRAM][number % 5]).collect();
        let (memory, outgoing) = frames(&lengths);
        let total = memory.len() + PREFIX * lengths.len();
        let echo = std::thread::spawn(move || {
            let mut connection = listener.accept().unwrap().0;
            let mut all = vec![0; total];
            connection.read_exact(&mut all).unwrap();
            all.chunks(977).for_each(|piece| connection.write_all(piece).unwrap());
        });
        let mut stream = Stream::connect(node).unwrap();
        assert_eq!(stream.send(&memory, &outgoing).unwrap(), outgoing.len());
        let came = receive(&mut stream, outgoing.len());
        for (frame, outgoing) in came.iter().zip(&outgoing) {
            assert_eq!(frame, &memory[outgoing.offset..outgoing.offset + outgoing.length]);
        }
        echo.join().unwrap();
        assert_eq!(stream.receive(WAIT, |_| panic!("nothing more came")).unwrap(), 0);
        assert!(stream.connection.is_none(), "the peer has ended the connection");
    }

    #[test]
    fn nothing_is_sent_on_a_connection_that_the_node_has_ended() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = Stream::connect(listener.local_addr().unwrap()).unwrap();
        let (memory, outgoing) = frames(&[5]);
        drop(listener.accept().unwrap());
        let ended = std::time::Instant::now();
        while !stream.connection.as_ref().is_some_and(has_ended) {
            assert!(ended.elapsed() < WAIT);
        }
        assert_eq!(stream.send(&memory, &outgoing).unwrap(), 1);
        let mut all = [0; PREFIX + 5];
        listener.accept().unwrap().0.read_exact(&mut all).unwrap();
        assert_eq!(all[PREFIX..], memory);
    }

    #[test]
    fn a_connection_that_ended_is_made_again() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = Stream::connect(listener.local_addr().unwrap()).unwrap();
        let (memory, outgoing) = frames(&[9]);
        drop(listener.accept().unwrap());
        while stream.connection.is_some() {
            stream.receive(WAIT, |_| ()).unwrap();
        }
        assert_eq!(stream.receive(Duration::from_millis(1), |_| ()).unwrap(), 0);
        assert_eq!(stream.send(&memory, &outgoing).unwrap(), 1);
        let mut connection = listener.accept().unwrap().0;
        let mut all = [0; PREFIX + 9];
        connection.read_exact(&mut all).unwrap();
        assert_eq!(all[PREFIX..], memory);
        // A frame, and then a length that no frame has.
        connection.write_all(&all).unwrap();
        connection.write_all(&[0xff; 4]).unwrap();
        assert_eq!(receive(&mut stream, 1), [memory]);
        while stream.connection.is_some() {
            stream.receive(WAIT, |_| ()).unwrap();
        }
    }

    #[test]
    fn a_node_that_is_not_there_is_an_error_that_may_pass() {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert_eq!(Stream::connect(gone).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    }
}
