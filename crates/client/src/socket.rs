//! The socket: many datagrams per system call, several of them as one segmented message if the kernel supports it.
//!
//! The only module with `unsafe`. Message headers hold pointers only during a call: each call fills them from borrowed
//! slices, and nothing reads them afterwards.

use std::io;
use std::mem::{self, MaybeUninit};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use libc::{c_int, cmsghdr, iovec, mmsghdr};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt;

use crate::{Outgoing, connected};

/// Size of one receive buffer in bytes: the maximum length of joined datagrams.
const RECEIVE_BYTES: usize = 1 << 16;

/// Messages received per call: with 64 KB each they stay in the second-level cache.
const RECEIVE_MESSAGES: usize = 8;

/// Messages sent per call.
const SEND_MESSAGES: usize = 64;

/// Maximum number of datagrams in a segmented message (`UDP_MAX_SEGMENTS` of kernels before 6.9).
const MAX_SEGMENTS: usize = 64;

/// Maximum length of a segmented message in bytes.
const MAX_SEGMENTED: usize = wire::MAX_DATAGRAM;

/// Shorter waits are timed exactly; longer ones end at the next multiple.
const TICK: Duration = Duration::from_millis(10);

/// Room for one control message with an integer of up to 4 bytes, including the kernel's padding.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

const CONTROL_BYTES: usize = 24;

/// A connected UDP socket with its buffers.
pub struct Socket {
    socket: UdpSocket,
    segmentation: bool,
    /// The kernel has reported that nobody listens at the node's address, and nothing has arrived since.
    refused: bool,
    memory: Vec<u8>,
    /// Headers, slices and control areas of calls; one set serves both directions.
    headers: Vec<mmsghdr>,
    slices: Vec<iovec>,
    controls: Vec<Control>,
}

// SAFETY: each call sets the pointers in headers and slices anew, and nothing reads them outside of it.
unsafe impl Send for Socket {}

impl std::fmt::Debug for Socket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Socket").field("socket", &self.socket).field("segmentation", &self.segmentation).finish()
    }
}

const EMPTY_IOVEC: iovec = iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };

impl Socket {
    /// Opens a socket that talks to `node` only, with room for `receive_bytes` of replies in the kernel if it grants
    /// that.
    pub fn connect(node: SocketAddr, receive_bytes: usize) -> io::Result<Self> {
        let socket = connected(node, None)?;
        socket.set_read_timeout(Some(TICK))?;
        // The first needs a privilege, the second grants what the system's limit allows; the window recovers from
        // losses anyway.
        if sockopt::set_socket_recv_buffer_size_force(&socket, receive_bytes).is_err() {
            sockopt::set_socket_recv_buffer_size(&socket, receive_bytes)?;
        }
        // Without it, each datagram is received separately.
        let _ = set_udp_option(&socket, libc::UDP_GRO, 1);
        Ok(Self {
            socket,
            segmentation: true,
            refused: false,
            memory: vec![0; RECEIVE_MESSAGES * RECEIVE_BYTES],
            headers: (0..SEND_MESSAGES).map(|_| empty_header()).collect(),
            slices: vec![EMPTY_IOVEC; SEND_MESSAGES * MAX_SEGMENTS],
            controls: vec![Control([0; CONTROL_BYTES]); SEND_MESSAGES],
        })
    }

    /// Bytes that the kernel buffers for this socket before it drops datagrams.
    pub fn receive_capacity(&self) -> io::Result<usize> {
        Ok(sockopt::socket_recv_buffer_size(&self.socket)?)
    }

    /// Whether nobody listens at the node's address, as far as is known.
    pub fn is_refused(&self) -> bool {
        self.refused
    }

    /// Sends datagrams in `memory`, and returns how many were accepted.
    pub fn send(&mut self, memory: &[u8], datagrams: &[Outgoing]) -> io::Result<usize> {
        loop {
            let (messages, count) = self.fill(memory, datagrams);
            // SAFETY: the first `messages` headers were just filled with pointers to slices and control areas of self,
            // and the slices with parts of `memory`; the kernel only reads them.
            let sent =
                unsafe { libc::sendmmsg(self.socket.as_raw_fd(), self.headers.as_mut_ptr(), messages as u32, 0) };
            if sent >= 0 {
                let sent = sent as usize;
                if sent == messages {
                    return Ok(count);
                }
                return Ok(self.headers[..sent].iter().map(|header| header.msg_hdr.msg_iovlen).sum());
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // The device or the path does not support segmentation, or the datagrams exceed the path's MTU.
                Some(libc::EIO | libc::EINVAL | libc::EMSGSIZE | libc::ENOPROTOOPT) if self.segmentation => {
                    self.segmentation = false;
                }
                code => {
                    self.refused |= code == Some(libc::ECONNREFUSED);
                    return Err(error);
                }
            }
        }
    }

    /// Fills headers with messages of one or more datagrams each. Returns the numbers of messages and datagrams.
    fn fill(&mut self, memory: &[u8], datagrams: &[Outgoing]) -> (usize, usize) {
        let (mut messages, mut taken) = (0, 0);
        while messages < SEND_MESSAGES && taken < datagrams.len() {
            let segments = if self.segmentation { segments(&datagrams[taken..]) } else { 1 };
            let first = messages * MAX_SEGMENTS;
            for (slice, datagram) in self.slices[first..].iter_mut().zip(&datagrams[taken..taken + segments]) {
                let bytes = &memory[datagram.offset..datagram.offset + datagram.length];
                *slice = iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
            }
            let header = &mut self.headers[messages].msg_hdr;
            header.msg_name = std::ptr::null_mut();
            header.msg_namelen = 0;
            header.msg_iov = &raw mut self.slices[first];
            header.msg_iovlen = segments as _;
            header.msg_flags = 0;
            (header.msg_control, header.msg_controllen) = (std::ptr::null_mut(), 0);
            if segments > 1 {
                let control = &mut self.controls[messages];
                header.msg_controllen = write_segment_size(control, datagrams[taken].length as u16) as _;
                header.msg_control = control.0.as_mut_ptr().cast();
            }
            messages += 1;
            taken += segments;
        }
        (messages, taken)
    }

    /// Waits up to `wait` for the first datagram, and passes each received one to `take`. Returns their number.
    pub fn receive(&mut self, wait: Duration, mut take: impl FnMut(&[u8])) -> io::Result<usize> {
        let mut flags = libc::MSG_DONTWAIT;
        if wait >= TICK {
            flags = libc::MSG_WAITFORONE;
        } else if !wait.is_zero() && !self.wait(wait)? {
            return Ok(0);
        }
        for (index, piece) in self.memory.chunks_exact_mut(RECEIVE_BYTES).enumerate() {
            self.slices[index] = iovec { iov_base: piece.as_mut_ptr().cast(), iov_len: piece.len() };
            let header = &mut self.headers[index].msg_hdr;
            header.msg_name = std::ptr::null_mut();
            header.msg_namelen = 0;
            header.msg_iov = &raw mut self.slices[index];
            header.msg_iovlen = 1;
            header.msg_control = (&raw mut self.controls[index]).cast();
            header.msg_controllen = CONTROL_BYTES as _;
            header.msg_flags = 0;
        }
        // SAFETY: the first RECEIVE_MESSAGES headers were just filled with pointers to slices and control areas of
        // self, and the slices with disjoint parts of its memory, which nothing else refers to during the call.
        let count = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                RECEIVE_MESSAGES as u32,
                flags as _,
                std::ptr::null_mut(),
            )
        };
        if count < 0 {
            let error = io::Error::last_os_error();
            self.refused |= error.raw_os_error() == Some(libc::ECONNREFUSED);
            return match error.raw_os_error() {
                // Nothing arrived; or an earlier datagram revealed that the node is gone: the deadlines handle that.
                Some(libc::EAGAIN | libc::EINTR | libc::ECONNREFUSED | libc::EHOSTUNREACH | libc::ENETUNREACH) => Ok(0),
                _ => Err(error),
            };
        }
        self.refused = false;
        let mut datagrams = 0;
        for (index, header) in self.headers[..count as usize].iter().enumerate() {
            let length = (header.msg_len as usize).min(RECEIVE_BYTES);
            let bytes = &self.memory[index * RECEIVE_BYTES..index * RECEIVE_BYTES + length];
            let control = &self.controls[index].0[..header.msg_hdr.msg_controllen.min(CONTROL_BYTES)];
            let segment = read_segment_size(control).filter(|&size| size > 0).unwrap_or(length.max(1));
            for datagram in bytes.chunks(segment) {
                take(datagram);
                datagrams += 1;
            }
        }
        Ok(datagrams)
    }

    fn wait(&self, wait: Duration) -> io::Result<bool> {
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
        let mut polled = [PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN)];
        match poll(&mut polled, Some(&timeout)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// How many of the datagrams can be sent as one message: all of one length, except that the last may be shorter.
fn segments(datagrams: &[Outgoing]) -> usize {
    let length = datagrams[0].length;
    let most = MAX_SEGMENTS.min(MAX_SEGMENTED / length.max(1)).max(1);
    let same = datagrams.iter().take(most).take_while(|datagram| datagram.length == length).count();
    let shorter = same < most && datagrams.get(same).is_some_and(|last| (1..length).contains(&last.length));
    same + usize::from(shorter)
}

fn empty_header() -> mmsghdr {
    // SAFETY: a message header consists of integers and pointers; all zero is a valid value, which points to nothing.
    unsafe { MaybeUninit::<mmsghdr>::zeroed().assume_init() }
}

fn set_udp_option(socket: &UdpSocket, name: c_int, value: c_int) -> io::Result<()> {
    // SAFETY: the option's value is read from a live integer of the given length.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_UDP,
            name,
            (&raw const value).cast(),
            mem::size_of::<c_int>() as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Offset of the data in a control message: its header is a length of a machine word and two integers.
const CONTROL_DATA: usize = mem::size_of::<cmsghdr>();

/// Writes the control message that makes the kernel split a message into datagrams, and returns its length.
fn write_segment_size(control: &mut Control, size: u16) -> usize {
    let length = CONTROL_DATA + mem::size_of::<u16>();
    let word = mem::size_of::<usize>();
    control.0[..word].copy_from_slice(&length.to_ne_bytes());
    control.0[word..word + 4].copy_from_slice(&libc::SOL_UDP.to_ne_bytes());
    control.0[word + 4..word + 8].copy_from_slice(&libc::UDP_SEGMENT.to_ne_bytes());
    control.0[CONTROL_DATA..length].copy_from_slice(&size.to_ne_bytes());
    // Padded like CMSG_SPACE.
    length.next_multiple_of(word)
}

/// Length of the datagrams that the kernel joined into one message.
fn read_segment_size(control: &[u8]) -> Option<usize> {
    let word = mem::size_of::<usize>();
    let integer = |at: usize| Some(c_int::from_ne_bytes(control.get(at..at + 4)?.try_into().ok()?));
    if integer(word)? != libc::SOL_UDP || integer(word + 4)? != libc::UDP_GRO {
        return None;
    }
    usize::try_from(integer(CONTROL_DATA)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outgoing(lengths: &[usize]) -> Vec<Outgoing> {
        let mut offset = 0;
        lengths
            .iter()
            .map(|&length| {
                offset += length;
                Outgoing { offset: offset - length, length }
            })
            .collect()
    }

    #[test]
    fn datagrams_are_joined_by_length() {
        let count = |lengths: &[usize]| segments(&outgoing(lengths));
        assert_eq!(count(&[100]), 1);
        assert_eq!(count(&[100, 100, 99, 100]), 3);
        assert_eq!(count(&[100, 101]), 1);
        assert_eq!(count(&[100, 0]), 1);
        assert_eq!(count(&[80; 100]), 64);
        assert_eq!(count(&[40_000, 40_000]), 1);
        assert_eq!(count(&[wire::MAX_DATAGRAM, 1]), 1);
    }

    /// Segmented, joined and plain transfers deliver the same datagrams in the same order.
    #[test]
    fn datagrams_arrive_as_they_were_sent() {
        for segmentation in [true, false] {
            let echo = UdpSocket::bind("127.0.0.1:0").unwrap();
            let mut socket = Socket::connect(echo.local_addr().unwrap(), 1 << 20).unwrap();
            socket.segmentation = segmentation;
            let lengths = [[80; 30].as_slice(), &[40, 80, 1400, 1400, 3, 20_000]].concat();
            let memory: Vec<u8> = (0..lengths.iter().sum::<usize>()).map(|byte| (byte / 7) as u8).collect();
            let all = outgoing(&lengths);
            let mut sent = 0;
            while sent < all.len() {
                sent += socket.send(&memory, &all[sent..]).unwrap();
            }
            let mut buffer = [0; 65536];
            for _ in 0..all.len() {
                let (length, from) = echo.recv_from(&mut buffer).unwrap();
                echo.send_to(&buffer[..length], from).unwrap();
            }
            let mut came = Vec::new();
            while came.len() < all.len() {
                socket.receive(Duration::from_millis(100), |bytes| came.push(bytes.to_vec())).unwrap();
            }
            for (bytes, outgoing) in came.iter().zip(&all) {
                assert_eq!(bytes, &memory[outgoing.offset..outgoing.offset + outgoing.length]);
            }
        }
    }

    #[test]
    fn a_node_that_is_not_there_is_waited_for() {
        let gone = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut socket = Socket::connect(gone, 1 << 16).unwrap();
        let _ = socket.send(&[1; 16], &[Outgoing { offset: 0, length: 16 }]);
        assert_eq!(socket.receive(Duration::from_millis(1), |_| ()).unwrap(), 0);
        assert_eq!(socket.receive(Duration::from_millis(20), |_| ()).unwrap(), 0);
    }
}
