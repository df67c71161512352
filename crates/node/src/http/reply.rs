//! Answers, and how they are written.

use tungstenite::handshake::derive_accept_key;
use wire::FeedFrame;

/// An answer.
pub struct Reply {
    status: &'static str,
    kind: &'static str,
    /// Whole lines of further headers.
    headers: String,
    body: Vec<u8>,
    follows: Follows,
}

/// What follows an answer.
#[derive(Debug, PartialEq, Eq)]
enum Follows {
    /// Whatever the client requests next.
    Requests,
    Events,
    Messages,
    Feed(Box<FeedFrame>),
}

/// A reply as it is sent.
pub struct Encoded {
    pub bytes: Vec<u8>,
    pub then: Then,
}

/// What follows a reply on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The next request.
    Next,
    /// The next request, after a while: the client asks for more than it may.
    Pause,
    /// Nothing: the connection ends.
    End,
    /// Events, until the client leaves.
    Events,
    /// The next message of the WebSocket.
    Messages,
    /// A feed, which somebody else serves.
    Feed(FeedFrame),
}

/// The status of an answer that is no refusal.
const OK: &str = "200 OK";
/// The status of a reply to a client above its limit.
const TOO_MANY: &str = "429 Too Many Requests";

impl Reply {
    /// Text.
    pub fn text(body: impl Into<String>) -> Self {
        Self::new("text/plain; charset=utf-8", body)
    }

    /// JSON.
    pub fn json(body: impl Into<String>) -> Self {
        Self::new("application/json", body)
    }

    /// Figures in Prometheus's text format.
    pub fn metrics(body: impl Into<String>) -> Self {
        Self::new("text/plain; version=0.0.4; charset=utf-8", body)
    }

    fn new(kind: &'static str, body: impl Into<String>) -> Self {
        Self::bytes(kind, body.into().into_bytes())
    }

    /// No content.
    pub(crate) fn empty() -> Self {
        Self { status: "204 No Content", ..Self::bytes("", Vec::new()) }
    }

    /// The client has the current version already, which has this entity tag.
    pub(crate) fn not_modified(tag: &str) -> Self {
        Self { status: "304 Not Modified", ..Self::bytes("", Vec::new()) }.with_header("ETag", tag)
    }

    /// Server-sent events: what [`Site::tick`](super::Site::tick) returns from now on.
    pub fn events() -> Self {
        let reply = Self::bytes("text/event-stream", Vec::new());
        // Proxies must not collect them.
        Self { follows: Follows::Events, ..reply }
            .with_header("Cache-Control", "no-store")
            .with_header("X-Accel-Buffering", "no")
    }

    /// Opens a WebSocket for a client that sent this key. Each message is then answered like a POST to the same path: a
    /// reply other than 200 closes the socket, with the text as the reason.
    pub fn web_socket(key: &str) -> Self {
        let reply = Self::bytes("", Vec::new()).with_status("101 Switching Protocols");
        Self { follows: Follows::Messages, ..reply }
            .with_header("Connection", "Upgrade")
            .with_header("Upgrade", "websocket")
            .with_header("Sec-WebSocket-Accept", &derive_accept_key(key.as_bytes()))
    }

    /// Has [`Site::serve_feed`](super::Site::serve_feed) answer the message of a WebSocket.
    pub fn feed(request: FeedFrame) -> Self {
        Self { follows: Follows::Feed(Box::new(request)), ..Self::bytes("", Vec::new()) }
    }

    /// Bytes of any kind.
    pub fn bytes(kind: &'static str, body: Vec<u8>) -> Self {
        Self { status: OK, kind, headers: String::new(), body, follows: Follows::Requests }
    }

    /// The same reply, cacheable for this number of seconds.
    pub fn with_max_age(self, seconds: Option<u32>) -> Self {
        match seconds {
            Some(seconds) => self.with_header("Cache-Control", &format!("public, max-age={seconds}")),
            None => self,
        }
    }

    /// The same with another status.
    pub fn with_status(self, status: &'static str) -> Self {
        Self { status, ..self }
    }

    /// The same with another header.
    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.extend([name, ": ", value, "\r\n"]);
        self
    }

    /// Encodes the reply. `is_last` announces that the connection ends with it.
    pub(super) fn encode(&self, with_body: bool, is_last: bool) -> Encoded {
        let Self { status, kind, headers, body, follows } = self;
        let length = body.len();
        let then = match (follows, with_body) {
            (Follows::Messages, _) => Then::Messages,
            (Follows::Events, true) => Then::Events,
            // Without a length, only the end of the connection ends a body.
            (Follows::Events, false) => Then::End,
            _ if is_last => Then::End,
            _ if *status == TOO_MANY => Then::Pause,
            _ => Then::Next,
        };
        let end = if matches!(then, Then::End | Then::Events) { "Connection: close\r\n" } else { "" };
        let content = match (kind.is_empty(), *follows == Follows::Events) {
            // A 204 or a 304 has neither.
            (true, _) => String::new(),
            (false, true) => format!("Content-Type: {kind}\r\n"),
            (false, false) => format!("Content-Type: {kind}\r\nContent-Length: {length}\r\n"),
        };
        let head = format!("HTTP/1.1 {status}\r\n{content}{headers}{end}\r\n");
        let bytes = [head.as_bytes(), if with_body { body } else { b"" }].concat();
        Encoded { bytes, then }
    }

    /// The reply to a message of a WebSocket: its contents, or the reason to close it.
    pub(super) fn into_message(self) -> Encoded {
        let then = match self.follows {
            Follows::Feed(request) => Then::Feed(*request),
            _ if self.status == OK => Then::Messages,
            _ => Then::End,
        };
        Encoded { bytes: self.body, then }
    }
}
