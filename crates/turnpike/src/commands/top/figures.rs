//! The figures of a node: one row each second, and the rates between two rows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The suffix of counters, which have a rate.
const COUNTER: &str = "_total";

/// An event of `/figures/events`.
#[derive(Deserialize)]
struct Event {
    names: Vec<String>,
    row: Vec<Option<f64>>,
}

/// One row of figures, by name. A figure that does not apply is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Figures(BTreeMap<String, Option<f64>>);

impl Figures {
    /// Parses the data of an event.
    pub fn parse(data: &str) -> Result<Self, String> {
        let Event { names, row } = serde_json::from_str(data).map_err(|error| error.to_string())?;
        if names.len() != row.len() {
            return Err(format!("{} names for {} figures", names.len(), row.len()));
        }
        Ok(Self(names.into_iter().zip(row).collect()))
    }

    /// The value of a figure, if it applies to this node.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied().flatten()
    }
}

/// A row of figures, and what happened since the row before it.
#[derive(Debug, Clone, Serialize)]
pub struct Interval {
    /// The later row.
    pub figures: Figures,
    /// Increase per second of each counter; `None` if it did not exist or was reset.
    pub rates: BTreeMap<String, Option<f64>>,
}

impl Interval {
    /// The interval between two rows; without rates if there is no earlier row.
    pub fn between(earlier: Option<&Figures>, figures: Figures) -> Self {
        let rate = |name: &str| {
            let earlier = earlier?;
            let seconds = figures.get("time")? - earlier.get("time")?;
            let growth = figures.get(name)? - earlier.get(name)?;
            // A restart resets counters, and a clock may be set back.
            (seconds > 0.0 && growth >= 0.0).then_some(growth / seconds)
        };
        let names = figures.0.keys().filter(|name| name.ends_with(COUNTER));
        let rates = names.map(|name| (name.clone(), rate(name))).collect();
        Self { figures, rates }
    }

    /// The rate of a counter.
    pub fn rate(&self, name: &str) -> Option<f64> {
        self.rates.get(name).copied().flatten()
    }

    /// The share of one counter's increase in that of two.
    pub fn share(&self, part: &str, rest: &str) -> Option<f64> {
        share(self.rate(part)?, self.rate(part)? + self.rate(rest)?)
    }

    /// How far a figure is below another one.
    pub fn lag(&self, ahead: &str, behind: &str) -> Option<f64> {
        // The node reads the two one after the other.
        Some((self.figures.get(ahead)? - self.figures.get(behind)?).max(0.0))
    }
}

/// A part of a whole; `None` if the whole is 0.
pub fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then_some(part / whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(time: f64, transfers: &str) -> Figures {
        let names = r#"["time","transfer_total","durable_sequence","built_sequence"]"#;
        Figures::parse(&format!(r#"{{"names":{names},"row":[{time},{transfers},20,25]}}"#)).unwrap()
    }

    #[test]
    fn counters_have_rates_and_other_figures_have_none() {
        let interval = Interval::between(Some(&row(10.0, "100")), row(12.0, "150"));
        assert_eq!(interval.rate("transfer_total"), Some(25.0));
        assert_eq!(interval.rate("durable_sequence"), None);
        assert_eq!(interval.lag("durable_sequence", "built_sequence"), Some(0.0));
        assert_eq!(interval.lag("built_sequence", "durable_sequence"), Some(5.0));
        assert_eq!(interval.lag("height", "final_height"), None);
    }

    #[test]
    fn a_reset_a_stopped_clock_and_a_missing_figure_yield_no_rate() {
        let earlier = row(10.0, "100");
        for later in [row(11.0, "7"), row(10.0, "200"), row(9.0, "200"), row(11.0, "null")] {
            assert_eq!(Interval::between(Some(&earlier), later).rate("transfer_total"), None);
        }
        assert_eq!(Interval::between(None, row(11.0, "200")).rate("transfer_total"), None);
    }

    #[test]
    fn an_event_that_is_not_a_row_is_refused() {
        for data in ["", "7", "{}", r#"{"names":["a"],"row":[]}"#, r#"{"names":["a"],"row":["b"]}"#] {
            assert!(Figures::parse(data).is_err(), "{data}");
        }
    }
}
