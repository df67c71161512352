//! What this process has used so far, by the kernel's accounts.

use crate::store::Result;
use rustix::time::{ClockId, clock_gettime};
use std::fs;

#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Bytes that were or will be written to a disk.
    pub written: u64,
    /// Processor time of all threads, in nanoseconds.
    pub processor: u64,
}

impl Usage {
    pub fn now() -> Result<Self> {
        let io = fs::read_to_string("/proc/self/io")?;
        let written = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")).ok_or("/proc/self/io is odd")?;
        let time = clock_gettime(ClockId::ProcessCPUTime);
        let processor = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
        Ok(Self { written: written.parse()?, processor })
    }

    pub fn since(self, before: Self) -> Self {
        Self { written: self.written - before.written, processor: self.processor - before.processor }
    }

    pub fn add(&mut self, other: Self) {
        self.written += other.written;
        self.processor += other.processor;
    }
}

/// Resident memory of this process, in MiB.
pub fn resident() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("/proc/self/status is odd")?;
    Ok(kibibytes.trim().trim_end_matches(" kB").parse::<u64>()? >> 10)
}
