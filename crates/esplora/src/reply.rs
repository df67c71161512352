//! What a client gets: a body, or the reason for refusing one.
use serde::Serialize;

/// Seconds for which a reply may be cached if it can never change.
const LONG: u32 = 157_784_630;
/// Seconds for which any other reply may be cached.
const SHORT: u32 = 10;
/// A depth, in blocks, that a reorganisation is very unlikely to reach.
const FINAL: u32 = 10;

/// An HTTP response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The status with its reason, such as `200 OK`.
    pub status: &'static str,
    /// The content type.
    pub kind: &'static str,
    /// For how many seconds it may be cached; `None` for errors.
    pub max_age: Option<u32>,
    /// The content.
    pub body: Vec<u8>,
}

/// How long a statement about a block may be cached.
#[derive(Clone, Copy, Debug)]
pub enum Age {
    /// The next block may change it.
    Short,
    /// For ever: the request names the block itself.
    Long,
    /// Depends on how far the block at `height` is below `tip`.
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
        Self::new("text/plain", body.into().into_bytes(), age)
    }

    pub(crate) fn bytes(body: Vec<u8>, age: Age) -> Self {
        Self::new("application/octet-stream", body, age)
    }

    pub(crate) fn json(value: &impl Serialize, age: Age) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => Self::new("application/json", body, age),
            Err(error) => Failure::internal(&error).into(),
        }
    }

    /// JSON that is already encoded.
    pub(crate) fn encoded_json(body: String) -> Self {
        Self::new("application/json", body.into_bytes(), Age::Short)
    }

    fn new(kind: &'static str, body: Vec<u8>, age: Age) -> Self {
        Self { status: "200 OK", kind, max_age: Some(age.seconds()), body }
    }
}

/// Why there is no answer: a status, and a text that clients match on.
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

    /// The prefix has used up its budget, or has too many connections.
    pub fn too_many(text: impl Into<String>) -> Self {
        Self { status: "429 Too Many Requests", text: text.into() }
    }

    /// The node behind this server does not answer; the log tells the operator why.
    pub fn unavailable(error: &dyn std::error::Error) -> Self {
        tracing::warn!(%error, "a client of Esplora's API asked for what only the node can do");
        Self { status: "503 Service Unavailable", text: "the node behind this server does not answer".into() }
    }

    /// The store cannot be read; the log tells the operator why.
    pub fn internal(error: &dyn std::error::Error) -> Self {
        tracing::error!(%error, "a request to Esplora's API failed");
        Self { status: "500 Internal Server Error", text: "internal server error: see the server's log".into() }
    }
}

/// The result of a request.
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
