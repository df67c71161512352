//! Freed memory that the allocator keeps.
//!
//! Closing a block of a million transactions takes tens of megabytes for a moment. glibc caches such pieces; an idle
//! node need not hold them.

/// Pieces from this size on are returned to the system as soon as they are freed. glibc would raise its own bound to 32
/// MiB with the first large piece that is freed; smaller pieces are too many to map one by one.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: i32 = 256 << 10;

/// Makes freed large pieces return to the system. Call it before the first of them is allocated.
pub fn set_up() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call takes no pointer; it sets a bound that glibc reads when it allocates.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// Returns cached small pieces to the system. Takes some milliseconds, so call it on an idle thread.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call takes no pointer, and glibc documents it as safe to make from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}
