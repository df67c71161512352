//! Memory that was freed, and that the allocator keeps.

/// Gives it back to the system. Takes some milliseconds, so it is for a thread that has nothing else to do.
///
/// Closing a block of a million transactions takes tens of megabytes for a moment, in pieces that glibc keeps for the next
/// time; an idle node need not hold them.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call takes no pointer, and glibc documents it as safe to make from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}
