//! The processor time of measurements.

/// Nanoseconds that this thread has had a processor: what other programs take of it does not count.
#[allow(clippy::unwrap_used)]
pub fn processor_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}
