//! The processor time of measurements.

/// Nanoseconds that this thread has been on a processor; other programs' time does not count.
#[allow(clippy::unwrap_used)]
pub fn processor_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}
