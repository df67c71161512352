//! The text format of Prometheus.

use std::fmt::{Display, Write};

/// The text that Prometheus reads, as it comes together.
#[derive(Debug)]
pub struct Metrics {
    /// What all names begin with.
    prefix: &'static str,
    text: String,
}

impl Metrics {
    /// No figures yet; the names of all begin with `prefix`.
    pub fn of(prefix: &'static str) -> Self {
        Self { prefix, text: String::new() }
    }

    /// What only grows.
    pub fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.counters(name, help, [], [([], value)]);
    }

    /// What only grows, a figure for each of several cases. A label says what is told apart, and each case has a name for each label.
    pub fn counters<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        labels: [&str; N],
        values: impl IntoIterator<Item = ([&'static str; N], u64)>,
    ) {
        self.head(name, help, "counter");
        self.series(name, labels, values);
    }

    fn series<const N: usize>(
        &mut self,
        name: &str,
        labels: [&str; N],
        values: impl IntoIterator<Item = ([&'static str; N], u64)>,
    ) {
        let prefix = self.prefix;
        for (names, value) in values {
            let labels = Vec::from_iter(labels.iter().zip(names).map(|(label, name)| format!("{label}=\"{name}\"")));
            if labels.is_empty() {
                self.line(format_args!("{prefix}_{name} {value}"));
            } else {
                self.line(format_args!("{prefix}_{name}{{{}}} {value}", labels.join(",")));
            }
        }
    }

    /// What goes up and down.
    pub fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.gauges(name, help, [], [([], value)]);
    }

    /// What goes up and down, a figure for each of several cases, as with [`Metrics::counters`].
    pub fn gauges<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        labels: [&str; N],
        values: impl IntoIterator<Item = ([&'static str; N], u64)>,
    ) {
        self.head(name, help, "gauge");
        self.series(name, labels, values);
    }

    /// All of it.
    pub fn into_text(self) -> String {
        self.text
    }

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        let prefix = self.prefix;
        self.line(format_args!("# HELP {prefix}_{name} {help}\n# TYPE {prefix}_{name} {kind}"));
    }

    fn line(&mut self, line: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_text_format_has_it() {
        let mut metrics = Metrics::of("turnpike");
        metrics.counter("a_total", "All.", 7);
        metrics.gauge("b", "Now.", 0);
        metrics.counters("c_total", "Each.", ["what", "why"], [(["x", "y"], 1), (["x", "z"], 2)]);
        let expected = "# HELP turnpike_a_total All.\n# TYPE turnpike_a_total counter\nturnpike_a_total 7\n\
            # HELP turnpike_b Now.\n# TYPE turnpike_b gauge\nturnpike_b 0\n\
            # HELP turnpike_c_total Each.\n# TYPE turnpike_c_total counter\n\
            turnpike_c_total{what=\"x\",why=\"y\"} 1\nturnpike_c_total{what=\"x\",why=\"z\"} 2\n";
        assert_eq!(metrics.into_text(), expected);
    }
}
