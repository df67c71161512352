//! What a client gets: a body, or why there is none.
use serde::Serialize;

/// Seconds that a reply may be kept for if it can never change.
const LONG: u32 = 157_784_630;
/// Seconds that any other reply may be kept for.
const SHORT: u32 = 10;
/// Blocks that a reorganisation hardly reaches.
const FINAL: u32 = 10;

/// An answer over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status with its reason, such as `200 OK`.
    pub status: &'static str,
    /// The content type.
    pub kind: &'static str,
    /// For how many seconds it may be kept; nothing of an error.
    pub max_age: Option<u32>,
    /// The content.
    pub body: Vec<u8>,
}

/// How long what a block says may be kept.
#[derive(Clone, Copy, Debug)]
pub enum Age {
    /// Until the next block, perhaps.
    Short,
    /// For ever: whoever asks has named the block itself.
    Long,
    /// As long as a block at `height` is as deep as it is below `tip`.
    Depth { height: u32, tip: u32 },
}

impl Age {
    fn seconds(self) -> u32 {
        match self {
            Self::Depth { height, tip } if tip.saturating_sub(height) >= FINAL => LONG,
            Self::Short | Self::Depth { .. } => SHORT,
            Self::Long => LONG,
        }
    }
}

impl Reply {
    pub(crate) fn text(body: impl Into<String>, age: Age) -> Self {
        Self::of("text/plain", body.into().into_bytes(), age)
    }

    pub(crate) fn bytes(body: Vec<u8>, age: Age) -> Self {
        Self::of("application/octet-stream", body, age)
    }

    pub(crate) fn json(value: &impl Serialize, age: Age) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => Self::of("application/json", body, age),
            Err(error) => Failure::internal(&error).into(),
        }
    }

    /// JSON as it is.
    pub(crate) fn encoded_json(body: String) -> Self {
        Self::of("application/json", body.into_bytes(), Age::Short)
    }

    fn of(kind: &'static str, body: Vec<u8>, age: Age) -> Self {
        Self { status: "200 OK", kind, max_age: Some(age.seconds()), body }
    }
}

/// Why there is no answer: a status and a text, which clients match on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    status: &'static str,
    text: String,
}

impl Failure {
    pub fn bad_request(text: impl Into<String>) -> Self {
        Self { status: "400 Bad Request", text: text.into() }
    }

    pub fn not_found(text: impl Into<String>) -> Self {
        Self { status: "404 Not Found", text: text.into() }
    }

    /// The prefix has spent what it had, or has too many connections.
    pub fn too_many(text: impl Into<String>) -> Self {
        Self { status: "429 Too Many Requests", text: text.into() }
    }

    /// The node behind this server does not answer: the operator is told why.
    pub fn unavailable(error: &dyn std::error::Error) -> Self {
        tracing::warn!(%error, "a client of Esplora's API asked for what only the node can do");
        Self { status: "503 Service Unavailable", text: "the node behind this server does not answer".into() }
    }

    /// The store cannot be read: the operator is told why.
    pub fn internal(error: &dyn std::error::Error) -> Self {
        tracing::error!(%error, "a request to Esplora's API failed");
        Self { status: "500 Internal Server Error", text: "internal server error: see the server's log".into() }
    }
}

/// What a request is answered with.
pub type Answer = Result<Reply, Failure>;

impl From<chain::bitcoin::Error> for Failure {
    fn from(error: chain::bitcoin::Error) -> Self {
        Self::internal(&error)
    }
}

impl From<Failure> for Reply {
    fn from(failure: Failure) -> Self {
        let Failure { status, text } = failure;
        Self { status, kind: "text/plain", max_age: None, body: text.into_bytes() }
    }
}
