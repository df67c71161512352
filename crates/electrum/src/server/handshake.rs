//! The opening handshake of a WebSocket (RFC 6455, section 4.2): a client's request, and the answer to it.
use tungstenite::handshake::derive_accept_key;

/// Longest request.
const REQUEST_BYTES: usize = 8 << 10;
/// Most header lines of a request.
const HEADERS: usize = 64;
/// Characters of a key: base64 of 16 bytes.
const KEY_LENGTH: usize = 24;

/// Why a request does not open a WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is not an HTTP/1.1 request.
    Malformed,
    /// It is longer, or has more headers, than allowed.
    TooLong,
    /// It is not a GET.
    Method,
    /// It does not ask for a WebSocket.
    NoUpgrade,
    /// It asks for another version of the protocol.
    Version,
    /// Its key is not the base64 of 16 bytes, or there are several.
    Key,
}

impl Refusal {
    /// The HTTP response.
    pub fn reply(self) -> String {
        let (status, headers, text) = match self {
            Self::Malformed => ("400 Bad Request", "", "the request is not HTTP/1.1 with one Host header\n"),
            Self::TooLong => (
                "431 Request Header Fields Too Large",
                "",
                "the request has more than 8,192 bytes or 64 headers: send less\n",
            ),
            Self::Method => ("405 Method Not Allowed", "Allow: GET\r\n", "open a WebSocket with GET\n"),
            Self::NoUpgrade => (
                "426 Upgrade Required",
                "Upgrade: websocket\r\n",
                "this port speaks WebSocket: send Connection: Upgrade and Upgrade: websocket\n",
            ),
            Self::Version => (
                "426 Upgrade Required",
                "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
                "the version of WebSocket must be 13 (RFC 6455)\n",
            ),
            Self::Key => ("400 Bad Request", "", "Sec-WebSocket-Key must be the base64 of 16 bytes\n"),
        };
        let upgrade = if headers.starts_with("Upgrade") { "Upgrade, " } else { "" };
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n{headers}\
             Connection: {upgrade}close\r\n\r\n{text}",
            text.len()
        )
    }
}

/// Parses a request. Returns the response that opens the WebSocket and the request's length.
///
/// `None` if the request is incomplete.
pub fn accept(bytes: &[u8]) -> Result<Option<(String, usize)>, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < REQUEST_BYTES => return Ok(None),
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => return Err(Refusal::TooLong),
        Err(_) => return Err(Refusal::Malformed),
    };
    if request.method != Some("GET") {
        return Err(Refusal::Method);
    }
    let values = |name: &str| -> Vec<&[u8]> {
        let named = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
        named.map(|header| header.value.trim_ascii()).collect()
    };
    let has_word = |name: &str, word: &str| {
        let words = values(name).into_iter().flat_map(|value| value.split(|byte| *byte == b','));
        words.into_iter().any(|found| found.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
    };
    if request.version != Some(1) || values("Host").len() != 1 {
        return Err(Refusal::Malformed);
    }
    if !has_word("Connection", "upgrade") || !has_word("Upgrade", "websocket") {
        return Err(Refusal::NoUpgrade);
    }
    if values("Sec-WebSocket-Version") != [b"13"] {
        return Err(Refusal::Version);
    }
    match values("Sec-WebSocket-Key")[..] {
        [key] if is_key(key) => {
            let accept = derive_accept_key(key);
            let reply = format!(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                 Sec-WebSocket-Accept: {accept}\r\n\r\n"
            );
            Ok(Some((reply, length)))
        }
        _ => Err(Refusal::Key),
    }
}

/// Whether a text is the base64 of 16 bytes: 22 digits, the last of which ends in four zero bits, and two `=`.
fn is_key(key: &[u8]) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
    let digits = key.strip_suffix(b"==").unwrap_or_default();
    key.len() == KEY_LENGTH && digits.iter().all(is_digit) && digits.last().is_some_and(|last| b"AQgw".contains(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The request of RFC 6455, with one thing replaced.
    fn request(from: &str, to: &str) -> String {
        let request = "GET /chat HTTP/1.1\r\nHost: server.example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
        assert!(request.contains(from));
        request.replace(from, to)
    }

    #[test]
    fn a_request_is_accepted_once_it_is_whole() {
        let whole = request("Connection: Upgrade", "connection: keep-alive , upgrade");
        let (reply, length) = accept(format!("{whole}more").as_bytes()).unwrap().unwrap();
        assert_eq!(length, whole.len());
        assert!(
            reply.starts_with("HTTP/1.1 101 ")
                && reply.contains("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n")
        );
        for end in 0..whole.len() {
            assert_eq!(accept(&whole.as_bytes()[..end]), Ok(None), "{end}");
        }
    }

    #[test]
    fn every_fault_is_answered() {
        for (from, to, refusal) in [
            ("GET", "POST", Refusal::Method),
            ("HTTP/1.1", "HTTP/1.0", Refusal::Malformed),
            ("Host: server.example.com\r\n", "", Refusal::Malformed),
            ("Upgrade: websocket\r\n", "", Refusal::NoUpgrade),
            ("Connection: Upgrade", "Connection: close", Refusal::NoUpgrade),
            ("Version: 13", "Version: 8", Refusal::Version),
            ("Sec-WebSocket-Version: 13\r\n", "", Refusal::Version),
            ("dGhlIHNhbXBsZSBub25jZQ==", "xx", Refusal::Key),
            ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZR==", Refusal::Key),
            ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZSE=", Refusal::Key),
            ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", "", Refusal::Key),
        ] {
            assert_eq!(accept(request(from, to).as_bytes()), Err(refusal), "{to}");
        }
        assert_eq!(accept(&[b'A'; REQUEST_BYTES]), Err(Refusal::TooLong));
        assert_eq!(accept(b"\x16\x03\x01\x02\x00\x01"), Err(Refusal::Malformed));
        assert!(
            Refusal::Version.reply().contains("\r\nSec-WebSocket-Version: 13\r\nConnection: Upgrade, close\r\n\r\n")
        );
        assert!(Refusal::Key.reply().contains("\r\nConnection: close\r\n\r\n"));
    }
}
