//! The cost of work: a counter that is nearly free to read, and processor time.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Cycles of the time-stamp counter; on processors without one, nanoseconds since the first call.
pub fn cycles() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction, it touches no memory, and Linux lets user space read the
    // counter.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        use std::sync::OnceLock;
        use std::time::Instant;

        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }
}

/// The time that a processor has worked for this thread.
pub fn processor_time() -> Duration {
    // It is never negative.
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}
