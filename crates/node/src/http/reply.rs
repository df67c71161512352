//! Answers, and how they are written.

/// An answer.
pub struct Reply {
    status: &'static str,
    kind: &'static str,
    /// Whole lines of further headers.
    headers: String,
    body: Vec<u8>,
}

/// A reply as it is sent.
pub struct Encoded {
    pub bytes: Vec<u8>,
    /// Whether the next request of the connection waits a while: the client asks for more than it may.
    pub pauses: bool,
}

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

    /// Bytes of any kind.
    pub fn bytes(kind: &'static str, body: Vec<u8>) -> Self {
        Self { status: "200 OK", kind, headers: String::new(), body }
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
        let Self { status, kind, headers, body } = self;
        let length = body.len();
        let end = if is_last { "Connection: close\r\n" } else { "" };
        let content = match kind.is_empty() {
            // A 204 has neither.
            true => String::new(),
            false => format!("Content-Type: {kind}\r\nContent-Length: {length}\r\n"),
        };
        let head = format!("HTTP/1.1 {status}\r\n{content}{headers}{end}\r\n");
        let bytes = [head.as_bytes(), if with_body { body } else { b"" }].concat();
        Encoded { bytes, pauses: *status == TOO_MANY }
    }
}
