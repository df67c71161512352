//! Listening sockets, and accepting their connections.

use std::{
    fs::{self, Metadata},
    io,
    net::{SocketAddr, TcpListener},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::fs::{FileTypeExt, MetadataExt},
    },
    path::{Path, PathBuf},
    time::Instant,
};

use rustix::{
    fs::{Mode, chmod},
    io::Errno,
    net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, acceptfrom_with, bind, connect, getsockname, ipproto,
        listen, socket_with, sockopt,
    },
};

use crate::refuse::{LogLimit, SpareDescriptor, is_exhausted, listen_advice};

/// Neither the listening socket nor its connections make a thread wait, and no child process inherits them.
const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

/// A listening socket, of TCP or in the file system.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    /// The address of TCP, with the port that the system chose.
    address: Option<SocketAddr>,
    /// Removed at the end.
    _file: Option<SocketFile>,
}

/// Why a path cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// It is that of another kind of file, which is not removed.
    #[error("cannot listen on {0}: the file there is not a socket; remove it, or choose another path")]
    NotASocket(PathBuf),
    /// The system refuses it.
    #[error("cannot listen on {path}: {source}; {}", listen_advice(source))]
    System {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl Listener {
    /// Listens on an address of TCP, with this number of connections that wait to be accepted.
    pub fn tcp(address: SocketAddr, backlog: i32) -> io::Result<Self> {
        let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
        let socket = socket_with(family, SocketType::STREAM, FLAGS, Some(ipproto::TCP))?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        bind(&socket, &address)?;
        listen(&socket, backlog)?;
        let address = SocketAddr::try_from(getsockname(&socket)?)?;
        Ok(Self { socket, address: Some(address), _file: None })
    }

    /// Takes over a socket of TCP that listens.
    pub fn from_tcp(listener: TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Self { socket: listener.into(), address: Some(address), _file: None })
    }

    /// Listens on a socket in the file system, with a mode for its file. The file is removed at the end.
    pub fn unix(path: &Path, mode: u32, backlog: i32) -> Result<Self, PathError> {
        if fs::symlink_metadata(path).is_ok_and(|file| !file.file_type().is_socket()) {
            return Err(PathError::NotASocket(path.to_owned()));
        }
        let fail = |source| PathError::System { path: path.to_owned(), source };
        let socket = bind_path(path, mode, backlog).map_err(fail)?;
        let file = fs::symlink_metadata(path).map_err(fail)?;
        let file = SocketFile { path: path.to_owned(), device: file.dev(), inode: file.ino() };
        Ok(Self { socket, address: None, _file: Some(file) })
    }

    /// The address of TCP, with the port that the system chose.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Accepts a connection that waits.
    fn accept(&self) -> io::Result<(OwnedFd, Option<SocketAddr>)> {
        let (socket, peer) = acceptfrom_with(&self.socket, FLAGS)?;
        Ok((socket, peer.and_then(|peer| SocketAddr::try_from(peer).ok())))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn bind_path(path: &Path, mode: u32, backlog: i32) -> io::Result<OwnedFd> {
    let socket = || socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None);
    let address = SocketAddrUnix::new(path)?;
    // A socket without a listener is left over from a crash.
    if connect(&socket()?, &address) == Err(Errno::CONNREFUSED) {
        fs::remove_file(path)?;
    }
    let socket = socket()?;
    bind(&socket, &address)?;
    chmod(path, Mode::from_raw_mode(mode))?;
    listen(&socket, backlog)?;
    Ok(socket)
}

/// The file of a listening socket. Dropping it removes the file, unless it was replaced.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    fn is(&self, file: &Metadata) -> bool {
        (file.dev(), file.ino()) == (self.device, self.inode)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|file| self.is(&file)) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The result of trying to accept a connection.
#[derive(Debug)]
pub enum Accepted {
    /// A connection, which does not block, and the client's address if it is one of TCP.
    Connection(OwnedFd, Option<SocketAddr>),
    /// No client waits.
    Empty,
    /// No descriptor was left for a client, so it was refused. Others may wait.
    Refused,
    /// A client waits that could be neither accepted nor refused: try again after a pause. Until the cause passes, for
    /// example a lack of memory, the listener stays ready.
    Pause,
}

/// Accepts the connections of one thread, and refuses clients that no descriptor is left for.
#[derive(Debug)]
pub struct Acceptor {
    spare: SpareDescriptor,
    warnings: LogLimit,
}

impl Acceptor {
    /// Opens the spare descriptor.
    pub fn new() -> io::Result<Self> {
        Ok(Self { spare: SpareDescriptor::new()?, warnings: LogLimit::default() })
    }

    /// Accepts a connection. A client that no descriptor is left for is passed to `refuse`, and then disconnected.
    pub fn accept(&mut self, listener: &Listener, refuse: impl FnOnce(&OwnedFd)) -> Accepted {
        let error = loop {
            match listener.accept() {
                Ok((socket, peer)) => return Accepted::Connection(socket, peer),
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return Accepted::Empty,
                    // The client disconnected before it was accepted.
                    io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted => {}
                    _ => break error,
                },
            }
        };
        if let Some(suppressed) = self.warnings.admit(Instant::now()) {
            tracing::warn!(
                suppressed,
                "cannot accept a connection: {error}; raise the limit of open files (ulimit -n)"
            );
        }
        let is_refused = is_exhausted(&error) && self.spare.refuse(|| listener.accept(), |(client, _)| refuse(&client));
        if is_refused { Accepted::Refused } else { Accepted::Pause }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::Read,
        net::{Ipv4Addr, TcpStream},
        os::unix::{fs::PermissionsExt, net::UnixStream},
    };

    use super::*;

    #[test]
    fn connections_are_accepted_until_none_waits() {
        let listener = Listener::tcp((Ipv4Addr::LOCALHOST, 0).into(), 16).unwrap();
        let mut acceptor = Acceptor::new().unwrap();
        let mut accept = || acceptor.accept(&listener, |_| unreachable!("descriptors are left"));
        assert!(matches!(accept(), Accepted::Empty));
        let clients = [(); 2].map(|()| TcpStream::connect(listener.address().unwrap()).unwrap());
        for client in &clients {
            let Accepted::Connection(_, peer) = accept() else { panic!("a client waits") };
            assert_eq!(peer, client.local_addr().ok());
        }
        assert!(matches!(accept(), Accepted::Empty));
    }

    #[test]
    fn a_socket_in_the_file_system_is_taken_over_from_a_crash_and_removed_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = Listener::unix(&path, 0o700, 16).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        let error = Listener::unix(&path, 0o700, 16).unwrap_err();
        assert!(
            matches!(&error, PathError::System { source, .. } if source.kind() == io::ErrorKind::AddrInUse),
            "{error}"
        );
        let mut client = UnixStream::connect(&path).unwrap();
        let mut acceptor = Acceptor::new().unwrap();
        // The one that tried to listen connected, to see whether anybody does.
        let [Accepted::Connection(..), Accepted::Connection(socket, None)] =
            [(); 2].map(|()| acceptor.accept(&listener, |_| {}))
        else {
            panic!("two clients wait")
        };
        crate::refuse(&socket, b"no\n");
        drop(socket);
        let mut reason = String::new();
        client.read_to_string(&mut reason).unwrap();
        assert_eq!(reason, "no\n");
        drop(listener);
        assert!(!path.exists());
        // A process that was killed leaves its file.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        drop(Listener::unix(&path, 0o700, 16).unwrap());
        fs::write(&path, "data").unwrap();
        assert!(matches!(Listener::unix(&path, 0o700, 16), Err(PathError::NotASocket(_))));
        assert_eq!(fs::read(&path).unwrap(), b"data");
    }
}
