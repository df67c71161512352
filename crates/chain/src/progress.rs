//! Progress of a start: how much of each stage is done, and how long the rest may take.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A stage of a start. Stages may overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Verifies the journal; not counted, because it takes a second at most.
    Journal,
    /// Reads the snapshot of the index; counts accounts.
    Snapshot,
    /// Applies the blocks after the snapshot; counts transactions.
    Blocks,
    /// Hashes the index; counts accounts.
    Root,
    /// Fills the ledger's table; counts accounts.
    Accounts,
    /// Replays operations of the journal; counts them.
    Operations,
}

impl Stage {
    /// All stages, in the order in which they begin.
    pub const ALL: [Self; 6] =
        [Self::Journal, Self::Snapshot, Self::Blocks, Self::Root, Self::Accounts, Self::Operations];

    /// What the node does, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Journal => "verifying the journal",
            Self::Snapshot => "reading the snapshot of the index",
            Self::Blocks => "applying the blocks after the snapshot",
            Self::Root => "hashing the index",
            Self::Accounts => "filling the table of accounts",
            Self::Operations => "replaying the journal",
        }
    }

    /// Cost of a unit relative to the other stages: its nanoseconds in `docs/decisions/start.md`, rounded. The time
    /// left scales with the time of the stages so far, so only the ratios count.
    fn cost(self) -> u64 {
        match self {
            Self::Journal => 0,
            Self::Snapshot => 100,
            Self::Blocks => 500,
            Self::Root => 50,
            Self::Accounts => 200,
            Self::Operations => 400,
        }
    }
}

/// Units of a stage.
#[derive(Debug, Default)]
struct Part {
    expected: AtomicU64,
    done: AtomicU64,
    /// Microseconds after the start of its first and its last unit.
    first: AtomicU64,
    last: AtomicU64,
}

/// The progress of a start. One thread or several advance it, and others read it.
#[derive(Debug)]
pub struct Progress {
    began: Instant,
    parts: [Part; Stage::ALL.len()],
}

impl Default for Progress {
    fn default() -> Self {
        Self { began: Instant::now(), parts: Default::default() }
    }
}

impl Progress {
    fn part(&self, stage: Stage) -> &Part {
        &self.parts[stage as usize]
    }

    /// Sets how many units a stage has, and starts it over.
    pub fn expect(&self, stage: Stage, units: u64) {
        self.part(stage).expected.store(units, Relaxed);
        self.part(stage).done.store(0, Relaxed);
    }

    /// Begins a stage whose first units take long.
    pub fn begin(&self, stage: Stage) {
        self.advance(stage, 0);
    }

    /// Counts units as done.
    pub fn advance(&self, stage: Stage, units: u64) {
        let part = self.part(stage);
        // 0 means that the stage has not begun.
        let now = (self.began.elapsed().as_micros() as u64).max(1);
        let _ = part.first.compare_exchange(0, now, Relaxed, Relaxed);
        part.last.store(now, Relaxed);
        part.done.fetch_add(units, Relaxed);
    }

    /// The time between the first and the last unit of a stage.
    pub fn time(&self, stage: Stage) -> Duration {
        let part = self.part(stage);
        Duration::from_micros(part.last.load(Relaxed).saturating_sub(part.first.load(Relaxed)))
    }

    /// The time since the start.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// How far the start is.
    pub fn report(&self) -> Report {
        let mut report = Report { stage: Stage::Journal, percent: None, left: None };
        let (mut expected, mut done) = (0_u128, 0_u128);
        for stage in Stage::ALL {
            let part = self.part(stage);
            let all = part.expected.load(Relaxed);
            let so_far = part.done.load(Relaxed).min(all);
            expected += u128::from(all) * u128::from(stage.cost());
            done += u128::from(so_far) * u128::from(stage.cost());
            if part.first.load(Relaxed) > 0 {
                report.stage = stage;
                report.percent = (u128::from(so_far) * 100).checked_div(u128::from(all)).map(|percent| percent as u32);
            }
        }
        let left = (self.began.elapsed().as_micros() * (expected - done)).checked_div(done);
        report.left = left.map(|left| Duration::from_micros(u64::try_from(left).unwrap_or(u64::MAX)));
        report
    }
}

/// How far a start is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// The last stage that has begun.
    pub stage: Stage,
    /// Percent of it that are done, if its units are known.
    pub percent: Option<u32>,
    /// The estimated time until the end of all stages; `None` before anything is done.
    pub left: Option<Duration>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.stage.name())?;
        if let Some(percent) = self.percent {
            write!(f, ", {percent} % done")?;
        }
        match self.left {
            // Rounded up: a start with a second to go is not over.
            Some(left) => write!(f, ", about {} s left", left.as_secs() + 1),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_the_last_stage_that_began_and_its_part() {
        let progress = Progress::default();
        assert_eq!(progress.report(), Report { stage: Stage::Journal, percent: None, left: None });
        progress.expect(Stage::Snapshot, 200);
        progress.advance(Stage::Snapshot, 50);
        let report = progress.report();
        assert_eq!((report.stage, report.percent), (Stage::Snapshot, Some(25)));
        assert!(report.to_string().starts_with("reading the snapshot of the index, 25 % done, about "), "{report}");
        // A stage that begins over, with more than expected, is not past its end.
        progress.expect(Stage::Snapshot, 100);
        assert_eq!(progress.report().percent, Some(0));
        progress.advance(Stage::Snapshot, 300);
        assert_eq!(progress.report().percent, Some(100));
        progress.begin(Stage::Operations);
        assert_eq!((progress.report().stage, progress.report().percent), (Stage::Operations, None));
    }

    /// The time left is in proportion to the costs of all units that are not done.
    #[test]
    fn the_time_left_covers_all_stages() {
        let progress = Progress { began: Instant::now() - Duration::from_secs(10), ..Progress::default() };
        progress.expect(Stage::Snapshot, 100);
        progress.expect(Stage::Accounts, 100);
        progress.advance(Stage::Snapshot, 100);
        let ratio = Stage::Accounts.cost() as f64 / Stage::Snapshot.cost() as f64;
        let left = progress.report().left.unwrap().as_secs_f64();
        assert!((left / progress.elapsed().as_secs_f64() / ratio - 1.0).abs() < 0.01, "{left}");
        progress.advance(Stage::Accounts, 100);
        assert_eq!(progress.report().left, Some(Duration::ZERO));
    }
}
