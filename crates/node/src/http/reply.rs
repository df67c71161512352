//! Answers, and how they are written.

/// An answer.
pub struct Reply {
    status: &'static str,
    kind: &'static str,
    /// Whole lines of further headers.
    headers: String,
    body: Vec<u8>,
}

impl Reply {
    /// Text.
    pub fn text(body: impl Into<String>) -> Self {
        Self::of("text/plain; charset=utf-8", body)
    }

    /// JSON.
    pub fn json(body: impl Into<String>) -> Self {
        Self::of("application/json", body)
    }

    /// Figures in Prometheus's text format.
    pub fn metrics(body: impl Into<String>) -> Self {
        Self::of("text/plain; version=0.0.4; charset=utf-8", body)
    }

    fn of(kind: &'static str, body: impl Into<String>) -> Self {
        Self::bytes(kind, body.into().into_bytes())
    }

    /// Bytes of any kind.
    pub fn bytes(kind: &'static str, body: Vec<u8>) -> Self {
        Self { status: "200 OK", kind, headers: String::new(), body }
    }

    /// The same, which may be kept for so many seconds.
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
    pub(super) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.extend([name, ": ", value, "\r\n"]);
        self
    }

    /// The bytes of it. `is_last` tells the client that the connection ends with it.
    pub(super) fn encode(&self, with_body: bool, is_last: bool) -> Vec<u8> {
        let Self { status, kind, headers, body } = self;
        let length = body.len();
        let end = if is_last { "Connection: close\r\n" } else { "" };
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{headers}{end}\r\n");
        [head.as_bytes(), if with_body { body } else { b"" }].concat()
    }
}
