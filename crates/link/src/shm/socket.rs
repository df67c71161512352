//! The Unix socket of a channel: it carries greetings and memory, then bells; its end shows that the peer is gone.
//!
//! A bell is a packet rather than an `eventfd`: two processes share the open file of an `eventfd`, so either could make
//! the other's calls block. Here each call sets its own non-blocking flag.

use std::{
    io::{IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::{
    cmsg_space,
    io::Errno,
    net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
        SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType, recv, recvmsg, send, sendmsg, shutdown,
        socket_with, sockopt,
    },
};

use crate::{
    Error,
    error::Tried,
    tcp::frame::{Greeting, VERSION},
};

/// One end of a connection. Dropping it closes the connection for the peer, whoever else has the descriptor.
#[derive(Debug)]
pub(super) struct Socket(OwnedFd);

/// A packet received before the channel is open.
pub(super) enum Packet<T> {
    Here(T),
    /// It has not arrived yet.
    Later,
}

pub(super) fn new_socket() -> Result<OwnedFd, Error> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
        .tried("make a socket; raise the limit of open files (ulimit -n)")
}

/// A path if there is a slash in the name, otherwise an abstract name without a file (unix(7)).
pub(super) fn socket_address(name: &str) -> Result<SocketAddrUnix, Error> {
    let address = if name.contains('/') {
        SocketAddrUnix::new(Path::new(name))
    } else {
        SocketAddrUnix::new_abstract_name(format!("turnpike-link/{name}").as_bytes())
    };
    address.tried("use that name for a socket; it may have 90 bytes")
}

impl Socket {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self(socket)
    }

    /// Whether the peer runs as the same user, which could access this process by other means anyway.
    pub(super) fn is_same_user(&self) -> bool {
        sockopt::socket_peercred(&self.0).is_ok_and(|peer| peer.uid == rustix::process::geteuid())
    }

    pub(super) fn send_greeting(&self, greeting: Greeting) -> Result<(), Error> {
        send(&self.0, &greeting.encode(), QUIET).map(drop).map_err(gone)
    }

    pub(super) fn receive_greeting(&self) -> Result<Packet<Greeting>, Error> {
        // One byte more than a greeting, to detect longer packets.
        let mut bytes = [0; Greeting::BYTES + 1];
        match recv(&self.0, &mut bytes[..], RecvFlags::DONTWAIT) {
            Ok((0, _)) => Err(Error::Closed),
            Ok((Greeting::BYTES, _)) => match bytes.first_chunk() {
                Some(greeting) => Greeting::decode(greeting).map(Packet::Here),
                None => Err(short()),
            },
            Ok(_) => Err(short()),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Packet::Later),
            Err(errno) => Err(gone(errno)),
        }
    }

    pub(super) fn send_memory(&self, file: BorrowedFd<'_>) -> Result<(), Error> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let files = [file];
        control.push(SendAncillaryMessage::ScmRights(&files));
        sendmsg(&self.0, &[IoSlice::new(&[0])], &mut control, QUIET).map(drop).map_err(gone)
    }

    pub(super) fn receive_memory(&self) -> Result<Packet<OwnedFd>, Error> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        match recvmsg(&self.0, &mut [IoSliceMut::new(&mut [0; 2])], &mut control, flags) {
            Ok(packet) if packet.bytes == 0 => Err(Error::Closed),
            Ok(_) => {
                let file = control.drain().find_map(|message| match message {
                    RecvAncillaryMessage::ScmRights(mut files) => files.next(),
                    _ => None,
                });
                file.map(Packet::Here).ok_or(Error::BadMemory)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(Packet::Later),
            Err(errno) => Err(gone(errno)),
        }
    }

    /// Wakes the peer. It fails if the peer is gone, which is noticed elsewhere, or if bells are already waiting there.
    pub(super) fn ring(&self) {
        let _ = send(&self.0, &[0], QUIET);
    }

    /// Takes bells, as many as an honest peer rings. Returns whether the peer is still there.
    pub(super) fn take_bells(&self) -> bool {
        for _ in 0..BELLS {
            match recv(&self.0, &mut [0; 1][..], RecvFlags::DONTWAIT) {
                Ok((0, _)) => return false,
                Ok(_) => {}
                Err(Errno::AGAIN | Errno::INTR) => return true,
                Err(_) => return false,
            }
        }
        true
    }
}

/// At most one bell per sleep and kind, plus one in flight. Further ones wait for the next turn.
const BELLS: usize = 4;

const QUIET: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Socket {
    /// Ends the connection, even while messages held by users keep the socket open.
    pub(super) fn close(&self) {
        let _ = shutdown(&self.0, Shutdown::Both);
    }
}

fn short() -> Error {
    Error::Greeting { ours: VERSION, reason: "its greeting has the wrong length" }
}

fn gone(errno: Errno) -> Error {
    match errno {
        Errno::CONNRESET | Errno::PIPE => Error::Closed,
        errno => Error::System { what: "use a connection", errno },
    }
}
