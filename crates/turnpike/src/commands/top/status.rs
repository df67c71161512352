//! The reply of `/status`: what a node reports about itself, in sections.

use serde::{Deserialize, Serialize};

/// The state of a node.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Status {
    pub program: String,
    pub network: Option<String>,
    pub promise: Option<String>,
    pub uptime_seconds: f64,
    pub ready: bool,
    /// Why the node is not ready.
    pub reason: Option<String>,
    pub healthy: bool,
    #[serde(default)]
    pub sections: Vec<Section>,
}

/// Rows about one part of a node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Section {
    pub name: String,
    pub title: String,
    pub rows: Vec<Row>,
}

/// A property of a part.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    pub name: String,
    /// A text, or a number or boolean that is shown as it is.
    pub value: serde_json::Value,
    pub state: Option<State>,
    /// How to fix a state that is not `ok`.
    pub advice: Option<String>,
}

impl Row {
    /// The value as text.
    pub fn text(&self) -> String {
        self.value.as_str().map_or_else(|| self.value.to_string(), str::to_owned)
    }
}

/// Whether a property needs attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Ok,
    Warning,
    Error,
    /// A state of a later version.
    #[serde(other)]
    Unknown,
}
