//! Processor time of all that a request takes on this machine: this process, whoever's work its threads do in the kernel, and the
//! kernel's threads that packets are left to.

use std::{fs, time::Duration};

use rustix::time::{ClockId, clock_gettime};

use crate::cable::Failure;

/// A moment.
pub struct ProcessorTime(Duration);

impl ProcessorTime {
    /// So far.
    pub fn now() -> Result<Self, Failure> {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        let mut sum = Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
        for entry in fs::read_dir("/proc")? {
            let path = entry?.path();
            // Other processes may end while one looks.
            if fs::read_to_string(path.join("comm")).is_ok_and(|name| name.starts_with("ksoftirqd/")) {
                let text = fs::read_to_string(path.join("schedstat")).unwrap_or_default();
                let nanoseconds = text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0);
                sum += Duration::from_nanos(nanoseconds);
            }
        }
        Ok(Self(sum))
    }

    /// Since then.
    pub fn elapsed(&self) -> Result<Duration, Failure> {
        Ok(Self::now()?.0.saturating_sub(self.0))
    }
}
