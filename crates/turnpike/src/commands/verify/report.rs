//! The results of a verification.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::output::thousands;

/// Maximum number of failures to list; all are counted.
const MAX_FAILURES: usize = 1000;

/// An item that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    pub file: String,
    /// Which of the file's items.
    pub item: String,
    /// The rule that it breaks.
    pub rule: String,
}

/// How many of a kind were checked.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Tally {
    valid: u64,
    invalid: u64,
}

/// The results of one piece of work, or of all.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Bytes of files.
    pub bytes: u64,
    checked: BTreeMap<&'static str, Tally>,
    skipped: BTreeMap<&'static str, u64>,
    failures: Vec<Failure>,
}

impl Outcome {
    /// No results yet for `bytes` bytes.
    pub fn of_bytes(bytes: usize) -> Self {
        Self { bytes: bytes as u64, ..Self::default() }
    }

    /// Counts an item of a kind. `describe` names its file and which of the file's items it is.
    pub fn count<R: ToString>(
        &mut self,
        kind: &'static str,
        verdict: Result<(), R>,
        describe: impl FnOnce() -> (String, String),
    ) {
        let tally = self.checked.entry(kind).or_default();
        match verdict {
            Ok(()) => tally.valid += 1,
            Err(rule) => {
                tally.invalid += 1;
                if self.failures.len() < MAX_FAILURES {
                    let (file, item) = describe();
                    self.failures.push(Failure { file, item, rule: rule.to_string() });
                }
            }
        }
    }

    /// Counts unchecked items, with the reason.
    pub fn skip(&mut self, why: &'static str, count: u64) {
        if count > 0 {
            *self.skipped.entry(why).or_default() += count;
        }
    }

    /// Adds other results.
    pub fn add(&mut self, other: Self) {
        self.bytes += other.bytes;
        for (kind, Tally { valid, invalid }) in other.checked {
            let tally = self.checked.entry(kind).or_default();
            tally.valid += valid;
            tally.invalid += invalid;
        }
        other.skipped.into_iter().for_each(|(why, count)| self.skip(why, count));
        let room = MAX_FAILURES - self.failures.len();
        self.failures.extend(other.failures.into_iter().take(room));
    }
}

/// The result of `verify`.
#[derive(Serialize)]
pub struct Report {
    valid: u64,
    invalid: u64,
    seconds: f64,
    per_second: f64,
    checked: BTreeMap<&'static str, Tally>,
    skipped: BTreeMap<&'static str, u64>,
    failures: Vec<Failure>,
}

impl Report {
    pub fn new(outcome: Outcome, took: Duration) -> Self {
        let valid = outcome.checked.values().map(|tally| tally.valid).sum();
        let invalid = outcome.checked.values().map(|tally| tally.invalid).sum();
        let seconds = took.as_secs_f64();
        Self {
            valid,
            invalid,
            seconds,
            per_second: (valid + invalid) as f64 / seconds.max(1e-9),
            checked: outcome.checked,
            skipped: outcome.skipped,
            failures: outcome.failures,
        }
    }

    pub fn invalid(&self) -> u64 {
        self.invalid
    }

    pub fn checked(&self) -> u64 {
        self.valid + self.invalid
    }

    /// The report for people.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        for Failure { file, item, rule } in &self.failures {
            text.push_str(&format!("INVALID {file}: {item}: {rule}\n"));
        }
        if self.invalid > self.failures.len() as u64 {
            text.push_str(&format!("... and {} more\n", thousands(self.invalid - self.failures.len() as u64)));
        }
        for (kind, tally) in &self.checked {
            text.push_str(&format!("{kind:<18}{:>12} valid", thousands(tally.valid)));
            if tally.invalid > 0 {
                text.push_str(&format!(", {} INVALID", thousands(tally.invalid)));
            }
            text.push('\n');
        }
        for (why, count) in &self.skipped {
            text.push_str(&format!("not checked       {:>12} {why}\n", thousands(*count)));
        }
        text.push_str(&format!(
            "{} checked in {:.3} s, {} a second",
            thousands(self.checked()),
            self.seconds,
            thousands(self.per_second as u64)
        ));
        text
    }
}
