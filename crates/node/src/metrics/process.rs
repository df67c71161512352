//! Metrics of the process, by the names of Prometheus's client libraries.

use std::{
    fs,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::text::Metrics;
use crate::open_files;

/// All of them as Prometheus reads them; none where `/proc` is missing.
pub fn text() -> String {
    let mut metrics = Metrics::with_prefix("process");
    if let Some(stat) = Stat::read() {
        let help = "User and system processor time.";
        metrics.counter_seconds("cpu_seconds_total", help, stat.processor());
        metrics.gauge("virtual_memory_bytes", "Virtual memory.", stat.virtual_bytes);
        metrics.gauge("resident_memory_bytes", "Resident memory.", stat.resident_bytes());
        metrics.gauge("threads", "Threads.", stat.threads);
        if let Some(start) = start_time(stat.start_ticks) {
            metrics.gauge_seconds("start_time_seconds", "Start of the process, since the Unix epoch.", start);
        }
    }
    metrics.gauge("open_fds", "Open file descriptors.", open_files::open());
    metrics.gauge("max_fds", "Limit of open file descriptors.", open_files::limit());
    metrics.into_text()
}

/// The fields of `/proc/PID/stat`, numbered as in proc(5).
#[derive(Debug, PartialEq, Eq)]
pub struct Stat {
    processor_ticks: u64,
    pub threads: u64,
    start_ticks: u64,
    virtual_bytes: u64,
    resident_pages: u64,
}

impl Stat {
    /// Those of this process; `None` where `/proc` is missing.
    pub fn read() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/self/stat").ok()?)
    }

    /// User and system processor time.
    pub fn processor(&self) -> Duration {
        ticks(self.processor_ticks)
    }

    /// Resident memory.
    pub fn resident_bytes(&self) -> u64 {
        self.resident_pages * rustix::param::page_size() as u64
    }

    fn parse(text: &str) -> Option<Self> {
        // The name of the program, in parentheses, may have spaces and parentheses in it. Field 3 follows.
        let fields = Vec::from_iter(text.rsplit_once(") ")?.1.split_whitespace());
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            processor_ticks: field(14)? + field(15)?,
            threads: field(20)?,
            start_ticks: field(22)?,
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
        })
    }
}

fn ticks(count: u64) -> Duration {
    Duration::from_secs_f64(count as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// When the process started, computed from the time after the machine's start.
fn start_time(start_ticks: u64) -> Option<Duration> {
    let uptime = fs::read_to_string("/proc/uptime").ok()?.split_whitespace().next()?.parse().ok()?;
    let age = Duration::try_from_secs_f64(uptime).ok()?.saturating_sub(ticks(start_ticks));
    SystemTime::now().duration_since(UNIX_EPOCH).ok()?.checked_sub(age)
}

/// Writes what runs.
pub fn build_info(metrics: &mut Metrics) {
    let labels = [([env!("CARGO_PKG_VERSION"), std::env::consts::ARCH], 1)];
    metrics.gauges("build_info", "1, labelled with the running version.", ["version", "architecture"], labels);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_have_any_name() {
        let text = "7 (a) b (c)) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23";
        let expected =
            Stat { processor_ticks: 11 + 12, threads: 17, start_ticks: 19, virtual_bytes: 20, resident_pages: 21 };
        assert_eq!(Stat::parse(text), Some(expected));
        assert_eq!(Stat::parse("7 (a) S 1"), None);
    }

    #[test]
    fn this_process_started_before_now() {
        let stat = Stat::read().unwrap();
        let start = start_time(stat.start_ticks).unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        assert!(start < now + Duration::from_secs(1) && now - start < Duration::from_secs(86_400), "{start:?}");
    }
}
