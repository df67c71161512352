//! A signer in another process, reached by a Unix socket: for example in front of a hardware module.
//!
//! A connection carries one request and its reply; docs/operations.md has the format. A signer may inspect the header
//! that comes with the message, and refuse.

use std::{
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    path::PathBuf,
    time::{Duration, Instant},
};

use chain::own::{Sealer, SealingError};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with,
    sockopt::{Timeout, set_socket_timeout},
};
use spv::{BlockHeader, ChainKey, Seal, hash::seal_message};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned, byteorder::big_endian::U32};

use super::Error;

const MAGIC: [u8; 4] = *b"TPS1";
const PUBLIC_KEY: u32 = 1;
const SEAL: u32 = 2;

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Request {
    magic: [u8; 4],
    what: U32,
    /// The message to sign.
    message: [u8; 32],
    /// The encoded header that it follows from.
    header: [u8; spv::HEADER_SIZE],
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Reply {
    /// 0, or why not.
    code: U32,
    /// A signature, or a public key and zeros.
    bytes: [u8; 64],
}

/// A signer reached by a socket.
#[derive(Debug)]
pub struct RemoteSigner {
    socket: PathBuf,
    timeout: Duration,
}

impl RemoteSigner {
    /// The signer at `socket`, with a timeout for replies. Does not connect yet.
    pub fn new(socket: PathBuf, timeout: Duration) -> Self {
        Self { socket, timeout }
    }

    /// Its public key.
    pub fn public_key(&mut self) -> Result<ChainKey, Error> {
        let mut request = Request::new_zeroed();
        request.what = PUBLIC_KEY.into();
        let reply = self.ask(request)?;
        let mut key = [0; 32];
        key.copy_from_slice(&reply[..32]);
        ChainKey::from_bytes(&key).ok_or_else(|| Error::NoPublicKey { socket: self.socket.clone() })
    }

    fn ask(&self, mut request: Request) -> Result<[u8; 64], Error> {
        request.magic = MAGIC;
        let until = Instant::now() + self.timeout;
        let failed = |action| move |source| Error::Signer { socket: self.socket.clone(), action, source };
        let mut stream = self.connect().map_err(failed("connecting"))?;
        let left = remaining(until).map_err(failed("sending"))?;
        stream.set_write_timeout(Some(left)).map_err(failed("sending"))?;
        stream.write_all(request.as_bytes()).map_err(failed("sending"))?;
        let mut reply = Reply::new_zeroed();
        read(&mut stream, reply.as_mut_bytes(), until).map_err(failed("waiting for its reply"))?;
        match reply.code.get() {
            0 => Ok(reply.bytes),
            code => Err(Error::Refused { socket: self.socket.clone(), code }),
        }
    }

    /// Connects within the timeout, even if nobody accepts connections.
    fn connect(&self) -> io::Result<UnixStream> {
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        set_socket_timeout(&socket, Timeout::Send, Some(self.timeout))?;
        connect(&socket, &SocketAddrUnix::new(&self.socket)?)?;
        Ok(socket.into())
    }
}

impl Sealer for RemoteSigner {
    fn seal(&mut self, header: &BlockHeader) -> Result<Seal, SealingError> {
        let mut request = Request::new_zeroed();
        request.what = SEAL.into();
        request.message = seal_message(&header.hash());
        request.header.copy_from_slice(header.as_bytes());
        Ok(Seal(self.ask(request)?))
    }
}

/// Reads a whole reply, in any pieces, until a deadline.
fn read(stream: &mut UnixStream, mut into: &mut [u8], until: Instant) -> io::Result<()> {
    while !into.is_empty() {
        stream.set_read_timeout(Some(remaining(until)?))?;
        match stream.read(into) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => into = &mut into[read..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(io::ErrorKind::TimedOut.into()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn remaining(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spv::SealingKey;
    use std::os::unix::net::UnixListener;

    /// The reply of a signer to a request.
    type Answer = fn(&[u8]) -> Vec<u8>;

    /// A signer that answers each connection with a function of its request, in two pieces, and the last one not at
    /// all.
    fn asked(replies: Vec<Answer>, ask: impl FnOnce(&mut RemoteSigner)) {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("signer");
        let listener = UnixListener::bind(&socket).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for reply in replies {
                    let (mut stream, _) = listener.accept().unwrap();
                    let mut request = [0; 168];
                    stream.read_exact(&mut request).unwrap();
                    let reply = reply(&request);
                    let (first, second) = reply.split_at(reply.len() / 2);
                    stream.write_all(first).unwrap();
                    std::thread::sleep(Duration::from_millis(5));
                    stream.write_all(second).unwrap();
                    if reply.is_empty() {
                        std::thread::sleep(Duration::from_millis(250));
                    }
                }
            });
            ask(&mut RemoteSigner::new(socket, Duration::from_millis(200)));
        });
    }

    fn key() -> SealingKey {
        SealingKey::from_bytes(&[1; 32]).unwrap()
    }

    /// Signs the request's message by the header in it.
    fn sign(request: &[u8]) -> Vec<u8> {
        assert_eq!(request[..8], *b"TPS1\0\0\0\x02");
        let header = BlockHeader::read_from_bytes(&request[40..]).unwrap();
        assert_eq!(request[8..40], seal_message(&header.hash()));
        [&[0; 4][..], &key().seal(&header).seal.0].concat()
    }

    #[test]
    fn a_signer_seals() {
        let public = |request: &[u8]| {
            assert_eq!(request[..8], *b"TPS1\0\0\0\x01");
            assert_eq!(request[8..], [0; 160]);
            [&[0; 4][..], &key().public().to_bytes(), &[0; 32]].concat()
        };
        asked(vec![public, sign], |signer| {
            let public = signer.public_key().unwrap();
            assert_eq!(public, key().public());
            let header = BlockHeader::genesis("test", &[1; 16], 7, &public);
            let seal = signer.seal(&header).unwrap();
            assert!(public.has_sealed(&header.hash(), &seal));
        });
    }

    #[test]
    fn a_signer_that_fails_is_an_error_in_time() {
        let refuse = |_: &[u8]| [&[0, 0, 0, 5][..], &[0; 64]].concat();
        let none = |_: &[u8]| [0; 68].to_vec();
        asked(vec![refuse, none, |_| vec![0; 20], |_| Vec::new()], |signer| {
            assert!(matches!(signer.public_key(), Err(Error::Refused { code: 5, .. })));
            assert!(matches!(signer.public_key(), Err(Error::NoPublicKey { .. })));
            let error = signer.public_key().unwrap_err();
            assert!(matches!(&error, Error::Signer { source, .. } if source.kind() == io::ErrorKind::UnexpectedEof));
            let started = Instant::now();
            let error = signer.public_key().unwrap_err();
            assert!(
                matches!(&error, Error::Signer { source, .. } if source.kind() == io::ErrorKind::TimedOut),
                "{error}"
            );
            assert!(started.elapsed() < Duration::from_secs(1));
        });
        let mut nobody = RemoteSigner::new("/nonexistent/signer".into(), Duration::from_millis(50));
        assert!(matches!(nobody.public_key(), Err(Error::Signer { action: "connecting", .. })));
    }

    #[test]
    fn a_signer_that_takes_no_connections_is_an_error_in_time() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("signer");
        let _listener = UnixListener::bind(&socket).unwrap();
        let mut signer = RemoteSigner::new(socket.clone(), Duration::from_millis(30));
        // Whether a connection is refused its place in the queue or gets one and no reply, it ends.
        let _waiting: Vec<_> = (0..300).map_while(|_| signer.connect().ok()).collect();
        let started = Instant::now();
        assert!(signer.public_key().is_err());
        assert!(started.elapsed() < Duration::from_secs(1));
    }
}
