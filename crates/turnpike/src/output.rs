//! Results on standard output, for people or as JSON; errors on standard error.

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

/// Where results go.
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

    /// Prints a result: the value as one line of JSON, or what `text` makes of it.
    pub fn result<T: Serialize>(self, value: &T, text: impl FnOnce(&T) -> String) {
        if self.json {
            match serde_json::to_string(value) {
                Ok(line) => println!("{line}"),
                Err(error) => eprintln!("error: the result can't be written as JSON: {error}"),
            }
        } else {
            println!("{}", text(value));
        }
    }

    /// Tells how far something is, to people only.
    pub fn progress(self, text: impl AsRef<str>) {
        if !self.json {
            println!("{}", text.as_ref());
        }
    }

    /// A progress bar over so many things, for people only.
    pub fn bar(self, length: u64) -> ProgressBar {
        if self.json {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("{bar:40} {human_pos}/{human_len} {per_sec} eta {eta}");
        ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
    }

    /// Prints an error with what led to it.
    pub fn error(self, error: &(dyn std::error::Error + 'static)) {
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
            eprintln!("{}", serde_json::json!({ "error": text }));
        } else {
            eprintln!("error: {text}");
        }
    }
}

/// A number with its thousands set apart.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
