//! What a node answers over HTTP.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longest wait, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

/// Status line, head and body of an answer.
pub fn get(address: SocketAddr, path: &str) -> String {
    try_get(address, path).unwrap()
}

/// The same of a node that may not listen yet, or end meanwhile.
pub fn try_get(address: SocketAddr, path: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
