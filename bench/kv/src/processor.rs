//! Processor time.

use std::{fs, io, time::Duration};

use rustix::time::{ClockId, clock_gettime};

/// What this thread has used so far, in the kernel, too.
pub fn own() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// What all threads of a process have used so far (`/proc/PID/task/TID/schedstat`: nanoseconds come first).
pub fn used(process: u32) -> io::Result<Duration> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        let text = fs::read_to_string(thread?.path().join("schedstat"))?;
        let nanoseconds = text.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        sum += nanoseconds.ok_or_else(|| io::Error::other("the kernel does not tell what threads use"))?;
    }
    Ok(Duration::from_nanos(sum))
}
