//! A WebSocket as a carrier: each message is a line, in both directions.
use std::io::{self, ErrorKind, Read, Write};

use tungstenite::{
    Error, Message,
    error::ProtocolError,
    protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode},
};

use super::{handshake, transport::Transport};

/// Initial size of each connection's buffers in bytes.
const BUFFER: usize = 4096;
/// Control frames handled before other connections get their turn. Each takes a system call, for its reply.
const CONTROL_FRAMES: u64 = 32;
/// Length of a control frame without its payload: a header, and the mask.
const CONTROL_HEADER: usize = 6;

/// A WebSocket over a non-blocking transport.
pub struct WebSocket {
    phase: Phase,
    /// Maximum length of a message in bytes.
    longest: usize,
    /// A message and the end of its line, from `taken` on.
    incoming: Vec<u8>,
    taken: usize,
    /// The start of a line.
    outgoing: Vec<u8>,
    /// Length of the last line if the transport has not accepted all of it yet, otherwise 0.
    behind: usize,
    /// Bytes received since the last complete message, except control frames.
    unfinished: usize,
    /// Control frames of this turn, and those not reported yet.
    control_frames: u64,
    untold_frames: u64,
    /// Bytes received over the wire and not reported yet.
    read: usize,
    /// The Close frame that ends the connection.
    close: CloseFrame,
}

enum Phase {
    Handshake {
        transport: Transport,
        request: Vec<u8>,
    },
    /// The reply to the handshake, sent up to `sent`; and the bytes after an accepted request.
    Answer {
        transport: Transport,
        answer: Vec<u8>,
        sent: usize,
        next: Option<Vec<u8>>,
    },
    Open(tungstenite::WebSocket<Transport>),
    /// The handshake was refused, and the refusal was sent.
    Refused,
    Failed,
}

impl WebSocket {
    /// A WebSocket that awaits the client's handshake; messages may have up to `longest` bytes.
    pub fn new(transport: Transport, longest: usize) -> Self {
        Self {
            phase: Phase::Handshake { transport, request: Vec::new() },
            longest,
            incoming: Vec::new(),
            taken: 0,
            outgoing: Vec::new(),
            behind: 0,
            unfinished: 0,
            control_frames: 0,
            untold_frames: 0,
            read: 0,
            close: CloseFrame { code: CloseCode::Normal, reason: "".into() },
        }
    }

    fn transport(&self) -> Option<&Transport> {
        match &self.phase {
            Phase::Handshake { transport, .. } | Phase::Answer { transport, .. } => Some(transport),
            Phase::Open(open) => Some(open.get_ref()),
            Phase::Refused | Phase::Failed => None,
        }
    }

    fn transport_mut(&mut self) -> Option<&mut Transport> {
        match &mut self.phase {
            Phase::Handshake { transport, .. } | Phase::Answer { transport, .. } => Some(transport),
            Phase::Open(open) => Some(open.get_mut()),
            Phase::Refused | Phase::Failed => None,
        }
    }

    /// Begins a turn, which limits the bytes to read.
    pub fn begin_turn(&mut self) {
        self.control_frames = 0;
        if let Some(transport) = self.transport_mut() {
            transport.begin_turn();
        }
    }

    /// Whether reading ended because the turn did: there may be more.
    pub fn is_spent(&self) -> bool {
        self.control_frames >= CONTROL_FRAMES || self.transport().is_some_and(Transport::is_spent)
    }

    /// Bytes received over the wire since the last call.
    pub fn take_read(&mut self) -> usize {
        self.count_read();
        std::mem::take(&mut self.read)
    }

    /// Control frames received since the last call.
    pub fn take_control_frames(&mut self) -> u64 {
        std::mem::take(&mut self.untold_frames)
    }

    fn count_read(&mut self) {
        let read = self.transport_mut().map_or(0, Transport::take_read);
        self.read += read;
        self.unfinished += read;
    }

    /// Whether a handshake or a message is incomplete.
    pub fn is_midway(&self) -> bool {
        !matches!(self.phase, Phase::Open(_)) || self.unfinished > 0
    }

    /// Size of the buffers in bytes.
    pub fn buffered(&self) -> usize {
        let handshake = match &self.phase {
            Phase::Handshake { request, .. } => request.len(),
            Phase::Answer { answer, .. } => answer.len(),
            Phase::Open(_) | Phase::Refused | Phase::Failed => 0,
        };
        let transport = self.transport().map_or(0, Transport::buffered);
        handshake + transport + self.incoming.len() + self.outgoing.len() + self.behind + self.unfinished
    }

    /// Whether accepted bytes are still unsent.
    pub fn has_unsent(&self) -> bool {
        let is_answering = matches!(self.phase, Phase::Answer { .. });
        is_answering || self.behind > 0 || self.transport().is_some_and(Transport::has_unsent)
    }

    /// Sends the Close frame.
    pub fn end(&mut self) {
        if let Phase::Open(open) = &mut self.phase {
            // The client may be gone.
            let _ = open.close(Some(self.close.clone()));
            let _ = open.flush();
        }
    }

    /// The socket, once the handshake is complete.
    fn open(&mut self) -> io::Result<&mut tungstenite::WebSocket<Transport>> {
        self.shake_hands()?;
        match &mut self.phase {
            Phase::Open(open) => Ok(open),
            Phase::Handshake { .. } | Phase::Answer { .. } => Err(ErrorKind::WouldBlock.into()),
            Phase::Refused => Err(ErrorKind::ConnectionRefused.into()),
            Phase::Failed => Err(ErrorKind::NotConnected.into()),
        }
    }

    /// Continues the handshake as far as possible without waiting.
    fn shake_hands(&mut self) -> io::Result<()> {
        loop {
            match std::mem::replace(&mut self.phase, Phase::Failed) {
                Phase::Handshake { mut transport, mut request } => {
                    let mut room = [0; BUFFER];
                    let count = match transport.read(&mut room) {
                        Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                        Ok(count) => count,
                        Err(error) => {
                            self.phase = Phase::Handshake { transport, request };
                            return Err(error);
                        }
                    };
                    request.extend_from_slice(&room[..count]);
                    let (answer, next) = match handshake::accept(&request) {
                        Ok(None) => {
                            self.phase = Phase::Handshake { transport, request };
                            continue;
                        }
                        Ok(Some((answer, length))) => (answer, Some(request.split_off(length))),
                        Err(refusal) => (refusal.reply(), None),
                    };
                    self.phase = Phase::Answer { transport, answer: answer.into_bytes(), sent: 0, next };
                }
                Phase::Answer { mut transport, answer, mut sent, next } => {
                    let result = if sent < answer.len() { transport.write(&answer[sent..]) } else { Ok(0) };
                    sent += result.as_ref().copied().unwrap_or_default();
                    if sent < answer.len() {
                        self.phase = Phase::Answer { transport, answer, sent, next };
                        match result {
                            Ok(0) => return Err(ErrorKind::WriteZero.into()),
                            result => result?,
                        };
                        continue;
                    }
                    let Some(next) = next else {
                        self.phase = Phase::Refused;
                        return Ok(());
                    };
                    let config = WebSocketConfig::default()
                        .read_buffer_size(BUFFER)
                        .write_buffer_size(BUFFER)
                        .max_message_size(Some(self.longest))
                        .max_frame_size(Some(self.longest));
                    let open = tungstenite::WebSocket::from_partially_read(transport, next, Role::Server, Some(config));
                    self.phase = Phase::Open(open);
                    // Bytes after the request count with those that follow.
                    self.count_read();
                    self.unfinished = 0;
                }
                phase => {
                    self.phase = phase;
                    return Ok(());
                }
            }
        }
    }

    /// Stores a message as a line. Between the parts of JSON a line end is ordinary white space.
    fn keep(&mut self, message: &[u8]) {
        self.count_read();
        self.unfinished = 0;
        self.incoming.clear();
        self.incoming.extend(message.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }));
        self.incoming.push(b'\n');
        self.taken = 0;
    }

    fn handle_control_frame(&mut self, payload: usize) -> io::Result<()> {
        self.count_read();
        self.unfinished = self.unfinished.saturating_sub(CONTROL_HEADER + payload);
        self.control_frames += 1;
        self.untold_frames += 1;
        // A reply to a ping, or to a close, was queued.
        match self.flush() {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }

    /// Converts the error of a stream, and sets the Close frame. `WouldBlock` stays as it is; a message that is too
    /// long becomes `FileTooLarge`, and a protocol violation `ConnectionRefused`.
    fn failed(&mut self, error: Error) -> io::Error {
        let (kind, code) = match &error {
            Error::Io(_) => return io_error(error),
            Error::Capacity(_) => (ErrorKind::FileTooLarge, CloseCode::Size),
            Error::Utf8(_) => (ErrorKind::ConnectionRefused, CloseCode::Invalid),
            _ => (ErrorKind::ConnectionRefused, CloseCode::Protocol),
        };
        // Both are short: a reason has at most 123 bytes.
        let reason = if code == CloseCode::Size { "message too long".to_owned() } else { error.to_string() };
        self.close = CloseFrame { code, reason: reason.chars().take(100).collect::<String>().into() };
        io::Error::new(kind, error)
    }
}

fn io_error(error: Error) -> io::Error {
    match error {
        Error::Io(error) => error,
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
                    // A waiting client has no buffers.
                    (self.incoming, self.taken) = (Vec::new(), 0);
                }
                return Ok(count);
            }
            if self.control_frames >= CONTROL_FRAMES {
                return Err(ErrorKind::WouldBlock.into());
            }
            match self.open()?.read() {
                Ok(Message::Text(text)) => self.keep(text.as_bytes()),
                Ok(Message::Binary(bytes)) => self.keep(&bytes),
                Ok(Message::Ping(payload) | Message::Pong(payload)) => self.handle_control_frame(payload.len())?,
                Ok(Message::Close(_) | Message::Frame(_)) => self.handle_control_frame(0)?,
                Err(
                    Error::ConnectionClosed
                    | Error::AlreadyClosed
                    | Error::Protocol(ProtocolError::ResetWithoutClosingHandshake),
                ) => return Ok(0),
                Err(error) => return Err(self.failed(error)),
            }
        }
    }
}

impl Write for WebSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.behind > 0 {
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
            let length = line.len();
            match self.open()?.write(Message::text(line)).map_err(io_error) {
                Ok(()) => {}
                // It is stored, and sent with the next one.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.behind = length.max(1);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if matches!(self.phase, Phase::Answer { .. }) {
            self.shake_hands()?;
        }
        let Phase::Open(open) = &mut self.phase else { return Ok(()) };
        match open.flush() {
            Ok(()) | Err(Error::ConnectionClosed | Error::AlreadyClosed) => {
                self.behind = 0;
                Ok(())
            }
            Err(error) => {
                let error = io_error(error);
                self.behind = if error.kind() == ErrorKind::WouldBlock { self.behind.max(1) } else { 0 };
                Err(error)
            }
        }
    }
}
