//! Processor time of a process.

use std::{fs, path::Path, time::Duration};

use crate::error::Error;

/// Processor time of all threads of a process so far (`/proc/PID/task/TID/schedstat`: nanoseconds come first).
pub fn used(process: u32) -> Result<Duration, Error> {
    let folder = format!("/proc/{process}/task");
    let failed = |source| Error::file("read", Path::new(&folder), source);
    let mut nanoseconds = 0;
    for thread in fs::read_dir(&folder).map_err(failed)? {
        // A thread may end meanwhile.
        let Ok(text) = fs::read_to_string(thread.map_err(failed)?.path().join("schedstat")) else { continue };
        nanoseconds += text.split(' ').next().and_then(|first| first.parse::<u64>().ok()).unwrap_or_default();
    }
    Ok(Duration::from_nanos(nanoseconds))
}
