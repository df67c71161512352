//! The text format of Prometheus.

use std::{
    fmt::{Display, Write},
    time::Duration,
};

use nic::histogram::{BOUNDS, HistogramSnapshot};

/// Builds the text that Prometheus reads.
#[derive(Debug)]
pub struct Metrics {
    /// What all names begin with.
    prefix: &'static str,
    text: String,
}

impl Metrics {
    /// No figures yet; the names of all begin with `prefix`.
    pub fn with_prefix(prefix: &'static str) -> Self {
        Self { prefix, text: String::new() }
    }

    /// What only grows.
    pub fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.counters(name, help, [], [([], value)]);
    }

    /// Counters, one for each of several cases. Each case has a value for each label.
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

    /// A duration that only grows.
    pub fn counter_seconds(&mut self, name: &str, help: &str, value: Duration) {
        self.counters_seconds(name, help, [], [([], value)]);
    }

    /// Durations that only grow, as with [`Metrics::counters`].
    pub fn counters_seconds<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        labels: [&str; N],
        values: impl IntoIterator<Item = ([&'static str; N], Duration)>,
    ) {
        self.head(name, help, "counter");
        self.series(name, labels, values.into_iter().map(|(names, value)| (names, value.as_secs_f64())));
    }

    /// A duration that goes up and down.
    pub fn gauge_seconds(&mut self, name: &str, help: &str, value: Duration) {
        self.gauges_seconds(name, help, [], [([], value)]);
    }

    /// Durations that go up and down, as with [`Metrics::counters`].
    pub fn gauges_seconds<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        labels: [&str; N],
        values: impl IntoIterator<Item = ([&'static str; N], Duration)>,
    ) {
        self.head(name, help, "gauge");
        self.series(name, labels, values.into_iter().map(|(names, value)| (names, value.as_secs_f64())));
    }

    /// Histograms of durations, as with [`Metrics::counters`].
    pub fn histograms<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        labels: [&str; N],
        values: impl IntoIterator<Item = ([&'static str; N], HistogramSnapshot)>,
    ) {
        self.head(name, help, "histogram");
        for (names, HistogramSnapshot { cumulative, sum }) in values {
            let bounds = BOUNDS.iter().map(|bound| Duration::from_micros(*bound).as_secs_f64().to_string());
            for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(cumulative) {
                self.sample(&format!("{name}_bucket"), &labels, &names, Some(&bound), count);
            }
            self.sample(&format!("{name}_sum"), &labels, &names, None, sum.as_secs_f64());
            let count = cumulative.last().copied().unwrap_or_default();
            self.sample(&format!("{name}_count"), &labels, &names, None, count);
        }
    }

    fn series<const N: usize>(
        &mut self,
        name: &str,
        labels: [&str; N],
        values: impl IntoIterator<Item = ([&'static str; N], impl Display)>,
    ) {
        for (names, value) in values {
            self.sample(name, &labels, &names, None, value);
        }
    }

    /// Writes one line; `bound` is the upper bound of a bucket.
    fn sample(&mut self, name: &str, labels: &[&str], names: &[&str], bound: Option<&str>, value: impl Display) {
        let prefix = self.prefix;
        let bound = bound.map(|bound| ("le", bound));
        let pairs = labels.iter().copied().zip(names.iter().copied()).chain(bound);
        let labels = Vec::from_iter(pairs.map(|(label, name)| format!("{label}=\"{name}\"")));
        if labels.is_empty() {
            self.line(format_args!("{prefix}_{name} {value}"));
        } else {
            self.line(format_args!("{prefix}_{name}{{{}}} {value}", labels.join(",")));
        }
    }

    /// What goes up and down.
    pub fn gauge(&mut self, name: &str, help: &str, value: u64) {
        self.gauges(name, help, [], [([], value)]);
    }

    /// Gauges, one for each of several cases, as with [`Metrics::counters`].
    pub fn gauges<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        labels: [&str; N],
        values: impl IntoIterator<Item = ([&'static str; N], impl Display)>,
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
        let mut metrics = Metrics::with_prefix("turnpike");
        metrics.counter("a_total", "All.", 7);
        metrics.gauge("b", "Now.", 0);
        metrics.counters("c_total", "Each.", ["what", "why"], [(["x", "y"], 1), (["x", "z"], 2)]);
        metrics.gauge_seconds("d_seconds", "Long.", Duration::from_micros(1500));
        let expected = "# HELP turnpike_a_total All.\n# TYPE turnpike_a_total counter\nturnpike_a_total 7\n\
            # HELP turnpike_b Now.\n# TYPE turnpike_b gauge\nturnpike_b 0\n\
            # HELP turnpike_c_total Each.\n# TYPE turnpike_c_total counter\n\
            turnpike_c_total{what=\"x\",why=\"y\"} 1\nturnpike_c_total{what=\"x\",why=\"z\"} 2\n\
            # HELP turnpike_d_seconds Long.\n# TYPE turnpike_d_seconds gauge\nturnpike_d_seconds 0.0015\n";
        assert_eq!(metrics.into_text(), expected);
    }

    #[test]
    fn a_histogram_has_cumulative_buckets_a_sum_and_a_count() {
        let histogram = nic::Histogram::default();
        histogram.record(Duration::from_micros(70), 2);
        histogram.record(Duration::from_secs(20), 1);
        let mut metrics = Metrics::with_prefix("turnpike");
        metrics.histograms("e_seconds", "Time.", ["promise"], [(["durable"], histogram.snapshot())]);
        let text = metrics.into_text();
        let lines = Vec::from_iter(text.lines());
        assert_eq!(lines.len(), 2 + BOUNDS.len() + 3);
        assert_eq!(lines[1], "# TYPE turnpike_e_seconds histogram");
        assert_eq!(lines[2], "turnpike_e_seconds_bucket{promise=\"durable\",le=\"0.00005\"} 0");
        assert_eq!(lines[3], "turnpike_e_seconds_bucket{promise=\"durable\",le=\"0.0001\"} 2");
        assert_eq!(lines[18], "turnpike_e_seconds_bucket{promise=\"durable\",le=\"10\"} 2");
        assert_eq!(lines[19], "turnpike_e_seconds_bucket{promise=\"durable\",le=\"+Inf\"} 3");
        assert_eq!(lines[20], "turnpike_e_seconds_sum{promise=\"durable\"} 20.00014");
        assert_eq!(lines[21], "turnpike_e_seconds_count{promise=\"durable\"} 3");
    }
}
