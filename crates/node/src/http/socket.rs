//! A WebSocket of a client (RFC 6455): bytes in, whole messages out, and replies the other way.

use std::io::{self, ErrorKind, Read, Write};

use tungstenite::{
    Error, Message, WebSocket,
    protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode},
};

use super::request::{Head, Request};

/// Maximum length of a message: that of a frame of the protocol.
const MESSAGE_BYTES: usize = wire::MAX_DATAGRAM;
/// Initial size of the buffers in bytes: most messages fit.
const BUFFER: usize = 1024;
/// Maximum length of the reason in a Close frame (RFC 6455, section 5.5).
const REASON: usize = 123;

/// The WebSocket of a connection, after the handshake. It holds bytes; the connection moves them.
pub struct Socket {
    inner: WebSocket<Buffers>,
    /// The request that opened it, which each message repeats.
    head: Head,
}

/// The socket has ended: the connection sends the rest, and closes.
#[derive(Debug, PartialEq, Eq)]
pub struct Closed;

/// Bytes that have arrived, and bytes to send.
#[derive(Debug, Default)]
struct Buffers {
    incoming: Vec<u8>,
    taken: usize,
    outgoing: Vec<u8>,
    /// Bytes that arrived since the last whole message.
    unfinished: usize,
}

impl Socket {
    /// The socket that a request opened; `received` follows it.
    pub fn new(head: Head, received: Vec<u8>) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(BUFFER)
            .write_buffer_size(0)
            .max_message_size(Some(MESSAGE_BYTES))
            .max_frame_size(Some(MESSAGE_BYTES));
        let unfinished = received.len();
        let buffers = Buffers { incoming: received, unfinished, ..Buffers::default() };
        Self { inner: WebSocket::from_raw_socket(buffers, Role::Server, Some(config)), head }
    }

    /// Adds bytes from the client.
    pub fn receive(&mut self, bytes: &[u8]) -> io::Result<()> {
        let buffers = self.inner.get_mut();
        buffers.incoming.drain(..buffers.taken);
        buffers.taken = 0;
        buffers.incoming.try_reserve(bytes.len()).map_err(|_| ErrorKind::OutOfMemory)?;
        buffers.incoming.extend_from_slice(bytes);
        buffers.unfinished += bytes.len();
        Ok(())
    }

    /// The next message as a request; `None` if more of it must arrive first. Then, and at the end, there may be bytes
    /// [to send](Self::take_outgoing): the answer to a Ping or a Close.
    pub fn next(&mut self) -> Result<Option<Request>, Closed> {
        loop {
            match self.inner.read() {
                Ok(Message::Binary(message)) => {
                    self.inner.get_mut().unfinished = 0;
                    return Ok(Some(Request::of_message(&self.head, message.into())));
                }
                Ok(Message::Text(_)) => return self.fail(CloseCode::Unsupported, "send frames as binary messages"),
                // Answered already, or of no interest.
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_)) => {
                    self.inner.get_mut().unfinished = 0;
                }
                Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(Error::Capacity(_)) => {
                    return self.fail(CloseCode::Size, "a message is longer than a frame may be");
                }
                Err(Error::Protocol(error)) => return self.fail(CloseCode::Protocol, &error.to_string()),
                Err(_) => return Err(Closed),
            }
        }
    }

    fn fail(&mut self, code: CloseCode, reason: &str) -> Result<Option<Request>, Closed> {
        self.close(code, reason);
        Err(Closed)
    }

    /// Sends a message.
    pub fn send(&mut self, message: Vec<u8>) {
        // The buffer takes everything; a socket that is closing needs no reply.
        let _ = self.inner.send(Message::binary(message));
    }

    /// Ends the socket because it refuses a message.
    pub fn refuse(&mut self, reason: &[u8]) {
        self.close(CloseCode::Policy, String::from_utf8_lossy(reason).trim_end());
    }

    fn close(&mut self, code: CloseCode, reason: &str) {
        let reason = &reason[..reason.floor_char_boundary(REASON)];
        // As in `send`.
        let _ = self.inner.close(Some(CloseFrame { code, reason: reason.into() }));
        let _ = self.inner.flush();
    }

    /// Removes the bytes that are to be sent.
    pub fn take_outgoing(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.inner.get_mut().outgoing)
    }

    /// Whether a message has begun, but is not whole.
    pub fn is_midway(&self) -> bool {
        self.inner.get_ref().unfinished > 0
    }

    /// Bytes of incomplete messages.
    pub fn held(&self) -> usize {
        self.inner.get_ref().unfinished + self.inner.get_ref().outgoing.len()
    }
}

impl Read for Buffers {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let rest = &self.incoming[self.taken..];
        if rest.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let count = rest.len().min(room.len());
        room[..count].copy_from_slice(&rest[..count]);
        self.taken += count;
        Ok(count)
    }
}

impl Write for Buffers {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::request::parse;

    fn socket() -> Socket {
        let (head, _) = parse(b"GET /frames HTTP/1.1\r\nHost: a\r\n\r\n").unwrap().unwrap();
        Socket::new(head, Vec::new())
    }

    /// A client that has received these bytes.
    fn client(bytes: Vec<u8>) -> WebSocket<Buffers> {
        let buffers = Buffers { incoming: bytes, ..Buffers::default() };
        WebSocket::from_raw_socket(buffers, Role::Client, None)
    }

    fn sent(messages: Vec<Message>) -> Vec<u8> {
        let mut client = client(Vec::new());
        messages.into_iter().for_each(|message| client.send(message).unwrap());
        std::mem::take(&mut client.get_mut().outgoing)
    }

    /// A frame of a client, with a mask of zeros.
    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        [&[first, 0x80 | payload.len() as u8, 0, 0, 0, 0][..], payload].concat()
    }

    fn close_of(bytes: Vec<u8>) -> CloseFrame {
        match client(bytes).read().unwrap() {
            Message::Close(Some(close)) => close,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn messages_come_in_any_pieces() {
        let large = vec![7; MESSAGE_BYTES];
        let bytes = [
            sent(vec![Message::binary(vec![1]), Message::Ping(b"p".as_slice().into()), Message::binary(large.clone())]),
            frame(2, b"in "),
            frame(0x8a, b"between"),
            frame(0x80, b"parts"),
        ]
        .concat();
        for piece in [1, 7, 4096, bytes.len()] {
            let (mut socket, mut messages, mut replies) = (socket(), Vec::new(), Vec::new());
            for piece in bytes.chunks(piece) {
                socket.receive(piece).unwrap();
                while let Some(request) = socket.next().unwrap() {
                    assert_eq!((request.target.as_str(), request.is_message), ("/frames", true));
                    messages.push(request.posted.unwrap());
                }
                replies.extend(socket.take_outgoing());
            }
            assert_eq!(messages, [vec![1], large.clone(), b"in parts".to_vec()], "{piece}");
            assert!(!socket.is_midway() && socket.held() == 0);
            assert_eq!(client(replies).read().unwrap(), Message::Pong(b"p".as_slice().into()));
        }
    }

    #[test]
    fn a_reply_is_a_message() {
        let mut socket = socket();
        socket.send(vec![3; 300]);
        assert_eq!(client(socket.take_outgoing()).read().unwrap(), Message::binary(vec![3; 300]));
    }

    #[test]
    fn an_end_has_its_reason() {
        let unmasked = vec![0x82, 1, 9];
        for (bytes, code) in [
            (sent(vec![Message::binary(vec![7; MESSAGE_BYTES + 1])]), CloseCode::Size),
            ([frame(2, &[7; 100]), frame(0, &[7; 100]).repeat(MESSAGE_BYTES / 100)].concat(), CloseCode::Size),
            (sent(vec![Message::text("{}")]), CloseCode::Unsupported),
            (unmasked, CloseCode::Protocol),
            (frame(0xf2, b""), CloseCode::Protocol),
        ] {
            let mut socket = socket();
            socket.receive(&bytes).unwrap();
            assert_eq!(socket.next(), Err(Closed), "{code}");
            assert_eq!(close_of(socket.take_outgoing()).code, code);
        }
        let mut refusing = socket();
        refusing.refuse("ä".repeat(REASON).as_bytes());
        let close = close_of(refusing.take_outgoing());
        assert_eq!((close.code, close.reason.as_str()), (CloseCode::Policy, "ä".repeat(REASON / 2).as_str()));
        // The client's Close is answered.
        let mut socket = socket();
        let close = CloseFrame { code: CloseCode::Away, reason: "".into() };
        socket.receive(&sent(vec![Message::Close(Some(close))])).unwrap();
        assert_eq!(socket.next(), Err(Closed));
        assert_eq!(close_of(socket.take_outgoing()).code, CloseCode::Away);
    }
}
