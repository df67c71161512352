//! A socket to the node: asks and waits, or asks and makes sure that nothing comes back.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use wire::{InfoFrame, MAX_DATAGRAM, Reply, Status};
use zerocopy::IntoBytes;

/// How long the first try waits. Each further one waits that much longer: a simulated NIC beside other work takes
/// seconds for a signature. Every request may be repeated, because of its transaction id.
const PATIENCE: Duration = Duration::from_secs(3);

/// How often a request is sent before the node counts as silent.
const TRIES: u32 = 4;

/// Why there is no answer to judge.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The socket.
    #[error("cannot talk to the node: {0}")]
    Socket(#[from] io::Error),
    /// The system gives no random bytes.
    #[error("cannot get random bytes: {0}")]
    Random(#[from] getrandom::Error),
    /// Nothing came back.
    #[error("no answer to {0}")]
    Silence(String),
    /// Something came back that must not.
    #[error("{request} was answered with {reply}, but must get no answer")]
    NotSilent {
        /// What was sent.
        request: String,
        /// What came back.
        reply: String,
    },
    /// The reply is longer than the request.
    #[error("{request} of {sent} bytes was answered with {received} bytes")]
    Amplified {
        /// What was sent.
        request: String,
        /// Its length.
        sent: usize,
        /// The length of the reply.
        received: usize,
    },
}

/// A socket to the node.
#[derive(Debug)]
pub struct Link {
    socket: UdpSocket,
    /// How long the first try waits.
    patience: Duration,
    buffer: Vec<u8>,
    last_info: u32,
}

impl Link {
    /// Opens a socket to `node` on a local address.
    pub fn open(local: IpAddr, node: SocketAddr) -> Result<Self, LinkError> {
        Self::with(client::connected(node, Some(local))?)
    }

    /// Opens a socket to `node` on a local address with the node's own port.
    pub fn open_at_its_port(local: IpAddr, node: SocketAddr) -> Result<Self, LinkError> {
        let socket = UdpSocket::bind((local, node.port()))?;
        socket.connect(node)?;
        Self::with(socket)
    }

    fn with(socket: UdpSocket) -> Result<Self, LinkError> {
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut random = [0; 4];
        getrandom::fill(&mut random)?;
        Ok(Self {
            socket,
            patience: PATIENCE,
            buffer: vec![0; MAX_DATAGRAM + 1],
            last_info: u32::from_ne_bytes(random),
        })
    }

    /// Sends a request until it is answered.
    pub fn ask(&mut self, request: &[u8]) -> Result<Vec<u8>, LinkError> {
        for number in 1..=TRIES {
            self.socket.set_read_timeout(Some(self.patience * number))?;
            self.send(request)?;
            while let Some(reply) = self.receive()? {
                if !answers(&reply, request) {
                    continue;
                }
                if reply.len() > request.len() {
                    return Err(LinkError::Amplified {
                        request: excerpt(request),
                        sent: request.len(),
                        received: reply.len(),
                    });
                }
                if is_not_final(&reply) {
                    break;
                }
                return Ok(reply);
            }
        }
        Err(LinkError::Silence(excerpt(request)))
    }

    /// Sends a request that must not be answered. That nothing came is known when a question asked after it is
    /// answered, as a node answers such questions in their order.
    pub fn expect_silence(&mut self, request: &[u8]) -> Result<(), LinkError> {
        match self.ask_or_silence(request)? {
            None => Ok(()),
            Some(reply) => Err(LinkError::NotSilent { request: excerpt(request), reply: excerpt(&reply) }),
        }
    }

    /// Sends a request that may or may not be answered at once.
    pub fn ask_or_silence(&mut self, request: &[u8]) -> Result<Option<Vec<u8>>, LinkError> {
        self.send(request)?;
        let mut answer = None;
        for number in 1..=TRIES {
            self.socket.set_read_timeout(Some(self.patience * number))?;
            self.last_info = self.last_info.wrapping_add(1);
            let info = InfoFrame::new(self.last_info);
            self.send(info.as_bytes())?;
            while let Some(reply) = self.receive()? {
                match Reply::parse(&reply) {
                    Ok(Reply::Info(info)) if info.header.id.get() == self.last_info => return Ok(answer),
                    _ if answers(&reply, request) => answer = Some(reply),
                    _ => {}
                }
            }
        }
        Err(LinkError::Silence("an info frame".to_owned()))
    }

    /// Sends a datagram and does not wait.
    pub fn send(&mut self, request: &[u8]) -> Result<(), LinkError> {
        match self.socket.send(request) {
            // The answer to an earlier datagram: nobody listened then, which the waiting finds out as well.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
            sent => Ok(sent.map(drop)?),
        }
    }

    /// The next datagram from the node, or none within the patience.
    pub fn receive(&mut self) -> Result<Option<Vec<u8>>, LinkError> {
        match self.socket.recv(&mut self.buffer) {
            Ok(length) => Ok(Some(self.buffer[..length].to_vec())),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for so long at most when receiving.
    pub fn set_patience(&mut self, patience: Duration) -> Result<(), LinkError> {
        self.patience = patience;
        Ok(self.socket.set_read_timeout(Some(patience))?)
    }
}

/// Whether a datagram may be the reply to a request: it has its id, which is at the same place in all frames. Others answer
/// requests that were sent more than once.
fn answers(reply: &[u8], request: &[u8]) -> bool {
    match (reply.get(4..8), request.get(4..8)) {
        (Some(reply), Some(request)) => reply == request,
        _ => true,
    }
}

/// Whether a replica reports that it did not learn the result in time, so that its client is to ask again. A replica
/// that has just started, or a slow machine, may need more than one request.
fn is_not_final(reply: &[u8]) -> bool {
    let status = match Reply::parse(reply) {
        Ok(Reply::Compact(frame)) => frame.status,
        Ok(Reply::Full(reply)) => reply.operation.status,
        // Its entries are ordered together, so they wait together.
        Ok(Reply::Batch(batch)) => match batch.entries.operation(0) {
            Some(operation) => operation.status,
            None => return false,
        },
        _ => return false,
    };
    status.get() == Status::NotFinal.code()
}

/// The beginning of a datagram, for people.
pub fn excerpt(bytes: &[u8]) -> String {
    use fmt::Write;
    use std::fmt;
    let mut text = format!("{} bytes ", bytes.len());
    for byte in bytes.iter().take(32) {
        let _ = write!(text, "{byte:02x}");
    }
    if bytes.len() > 32 {
        text.push('…');
    }
    text
}
