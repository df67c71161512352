//! Whether the system's clock follows NTP.

/// Whether chrony, ntpd, systemd-timesyncd or the like disciplines the kernel's clock. `None` if the kernel refuses
/// to say.
#[cfg(target_os = "linux")]
pub fn is_synchronised() -> Option<bool> {
    // SAFETY: `timex` is a structure of plain numbers, for which zeros are a value.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a `timex` that lives across the call. With `modes` 0 the call only reads.
    let result = unsafe { libc::adjtimex(&raw mut state) };
    (result >= 0).then_some(state.status & libc::STA_UNSYNC == 0)
}

/// Whether the kernel's clock is disciplined: only Linux is asked.
#[cfg(not(target_os = "linux"))]
pub fn is_synchronised() -> Option<bool> {
    None
}
