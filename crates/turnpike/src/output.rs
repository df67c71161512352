//! Results on standard output, for people or as JSON; errors on standard error.

use std::fmt;
use std::io::{self, ErrorKind, Write as _};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use serde::Serialize;

use crate::error::Error;

pub use node::text::thousands;

/// The output of results.
#[derive(Clone, Copy)]
pub struct Output {
    json: bool,
}

impl Output {
    /// Results as JSON if `json`, else for people.
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    /// Whether results are JSON, so that nothing else may be printed to standard output.
    pub fn is_json(self) -> bool {
        self.json
    }

    /// Prints a result: the value as one line of JSON, or as `text` formats it.
    pub fn result<T: Serialize>(self, value: &T, text: impl FnOnce(&T) -> String) {
        if self.json {
            match serde_json::to_string(value) {
                Ok(line) => self.line(line),
                Err(error) => eprintln!("error: cannot write the result as JSON: {error}"),
            }
        } else {
            self.line(text(value));
        }
    }

    /// Writes a line to standard output. A closed pipe, as of `head` after its last line, is not an error.
    pub fn line(self, text: impl AsRef<str>) {
        match writeln!(io::stdout(), "{}", text.as_ref()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => panic!("cannot write to standard output: {error}"),
            _ => {}
        }
    }

    /// Reports progress, to people only.
    pub fn progress(self, text: impl AsRef<str>) {
        if !self.json {
            self.line(text);
        }
    }

    /// A progress bar over `length` things, with their rate and the time left: for people only, and only if standard
    /// error is a terminal.
    pub fn bar(self, what: &'static str, length: u64) -> ProgressBar {
        if self.json {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("{msg:10} {bar:40} {human_pos}/{human_len} {rate} eta {eta}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let style = style.with_key("rate", |state: &ProgressState, to: &mut dyn fmt::Write| {
            // A line that cannot be drawn cannot be reported anywhere.
            let _ = write!(to, "{}/s", thousands(state.per_sec() as u64));
        });
        let bar = ProgressBar::new(length).with_style(style).with_message(what);
        bar.tick();
        bar
    }

    /// Prints an error with what led to it, and as JSON with the transaction id of the operation that failed.
    pub fn error(self, error: &Error) {
        let transaction = error.transaction();
        let error: &dyn std::error::Error = error;
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            if !text.contains(&cause_text) {
                text.push_str(": ");
                text.push_str(&cause_text);
            }
            source = cause.source();
        }
        if self.json {
            let mut report = serde_json::json!({ "error": text });
            if let Some(transaction) = transaction {
                report["transaction"] = transaction.to_string().into();
            }
            eprintln!("{report}");
        } else {
            eprintln!("error: {text}");
        }
    }
}
