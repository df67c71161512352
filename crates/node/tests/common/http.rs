//! Requests to a node over HTTP, each on a connection of its own.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
};

use serde_json::Value;

/// A reply to a request.
pub struct Reply {
    /// Status line and headers.
    pub head: String,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// The code of the status.
    pub fn status(&self) -> &str {
        &self.head["HTTP/1.1 ".len()..][..3]
    }

    /// The body, which must be JSON.
    pub fn json(&self) -> Value {
        assert_eq!(self.status(), "200", "{}", self.head);
        assert!(self.head.contains("Content-Type: application/json\r\n"), "{}", self.head);
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The body as text.
    pub fn text(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }
}

/// Sends a request with these header lines and this body on a connection of its own.
pub fn send(address: SocketAddr, line: &str, headers: &str, body: &[u8]) -> Reply {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!("{line} HTTP/1.1\r\n{headers}Connection: close\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).unwrap();
    let end = reply.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
    Reply { head: String::from_utf8(reply[..end].to_vec()).unwrap(), body: reply.split_off(end) }
}

/// The reply to a GET.
pub fn get(address: SocketAddr, path: &str) -> Reply {
    send(address, &format!("GET {path}"), "Host: localhost\r\n", b"")
}
