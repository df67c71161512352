//! A WebSocket as a carrier: each message is a line, in both directions.
use std::io::{self, ErrorKind, Read, Write};

use tungstenite::{
    Error, HandshakeError, Message,
    handshake::{
        MidHandshake,
        server::{NoCallback, ServerHandshake},
    },
    protocol::WebSocketConfig,
};

use super::transport::Transport;

/// Bytes of buffers that each connection has from its beginning.
const BUFFER: usize = 4096;

/// A WebSocket over a transport that does not block.
pub struct WebSocket {
    phase: Phase,
    /// A message and the end of its line, from `taken` on.
    incoming: Vec<u8>,
    taken: usize,
    /// The start of a line.
    outgoing: Vec<u8>,
    /// Whether the transport did not take all that was written.
    is_behind: bool,
}

enum Phase {
    Handshake(MidHandshake<ServerHandshake<Transport, NoCallback>>),
    Open(tungstenite::WebSocket<Transport>),
    Failed,
}

impl WebSocket {
    /// A WebSocket whose client has yet to ask for one; its messages have so many bytes at most.
    pub fn new(transport: Transport, longest: usize) -> io::Result<Self> {
        let config = WebSocketConfig::default()
            .read_buffer_size(BUFFER)
            .write_buffer_size(BUFFER)
            .max_message_size(Some(longest))
            .max_frame_size(Some(longest));
        let mut socket =
            Self { phase: Phase::Failed, incoming: Vec::new(), taken: 0, outgoing: Vec::new(), is_behind: false };
        socket.shake(tungstenite::accept_with_config(transport, Some(config)))?;
        Ok(socket)
    }

    fn shake(
        &mut self,
        result: Result<tungstenite::WebSocket<Transport>, HandshakeError<ServerHandshake<Transport, NoCallback>>>,
    ) -> io::Result<()> {
        self.phase = match result {
            Ok(open) => Phase::Open(open),
            Err(HandshakeError::Interrupted(handshake)) => Phase::Handshake(handshake),
            Err(HandshakeError::Failure(error)) => return Err(of(error)),
        };
        Ok(())
    }

    /// Whether bytes that were taken are not sent yet.
    pub fn has_unsent(&self) -> bool {
        self.is_behind || matches!(&self.phase, Phase::Open(open) if open.get_ref().has_unsent())
    }

    /// Tells the client that nothing more comes.
    pub fn end(&mut self) {
        if let Phase::Open(open) = &mut self.phase {
            // The client may be gone.
            let _ = open.close(None);
            let _ = open.flush();
        }
    }

    /// The socket, once hands are shaken.
    fn open(&mut self) -> io::Result<&mut tungstenite::WebSocket<Transport>> {
        if let Phase::Handshake(_) = &self.phase
            && let Phase::Handshake(handshake) = std::mem::replace(&mut self.phase, Phase::Failed)
        {
            self.shake(handshake.handshake())?;
        }
        match &mut self.phase {
            Phase::Open(open) => Ok(open),
            Phase::Handshake(_) => Err(ErrorKind::WouldBlock.into()),
            Phase::Failed => Err(ErrorKind::NotConnected.into()),
        }
    }

    /// Keeps a message as a line. Between the parts of JSON the end of a line is a blank as any other.
    fn keep(&mut self, message: &[u8]) {
        self.incoming.clear();
        self.incoming.extend(message.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }));
        self.incoming.push(b'\n');
        self.taken = 0;
    }
}

/// The error of a stream. One that would block comes as itself, and a message that is longer than it may be as a file that is too large.
fn of(error: Error) -> io::Error {
    match error {
        Error::Io(error) => error,
        Error::Capacity(error) => io::Error::new(ErrorKind::FileTooLarge, error),
        error => io::Error::new(ErrorKind::InvalidData, error),
    }
}

impl Read for WebSocket {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            let kept = &self.incoming[self.taken..];
            if !kept.is_empty() {
                let count = kept.len().min(room.len());
                room[..count].copy_from_slice(&kept[..count]);
                self.taken += count;
                if self.taken == self.incoming.len() {
                    // A client that waits has no buffers.
                    (self.incoming, self.taken) = (Vec::new(), 0);
                }
                return Ok(count);
            }
            match self.open()?.read() {
                Ok(Message::Text(text)) => self.keep(text.as_bytes()),
                Ok(Message::Binary(bytes)) => self.keep(&bytes),
                // What answers a ping, or a close, was queued.
                Ok(_) => match self.flush() {
                    Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                    _ => {}
                },
                Err(Error::ConnectionClosed | Error::AlreadyClosed) => return Ok(0),
                Err(error) => return Err(of(error)),
            }
        }
    }
}

impl Write for WebSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_behind {
            self.flush()?;
        }
        let mut written = 0;
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.open()?;
            self.outgoing.extend_from_slice(part);
            written += part.len();
            if self.outgoing.pop_if(|last| *last == b'\n').is_none() {
                break;
            }
            let line = String::from_utf8(std::mem::take(&mut self.outgoing));
            let line = line.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
            match self.open()?.write(Message::text(line)).map_err(of) {
                Ok(()) => {}
                // It is kept, and sent when the next one is.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.is_behind = true;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let Phase::Open(open) = &mut self.phase else { return Ok(()) };
        match open.flush() {
            Ok(()) | Err(Error::ConnectionClosed | Error::AlreadyClosed) => {
                self.is_behind = false;
                Ok(())
            }
            Err(error) => {
                let error = of(error);
                self.is_behind = error.kind() == ErrorKind::WouldBlock;
                Err(error)
            }
        }
    }
}
