//! Rings shared with the kernel: one side produces entries, the other consumes them
//! (Documentation/networking/af_xdp.rst).

use std::{
    os::fd::BorrowedFd,
    ptr::NonNull,
    sync::atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use rustix::{
    io,
    mm::{MapFlags, ProtFlags, mmap, munmap},
    net::xdp::{XdpRingFlags, XdpRingOffset},
};

/// A mapped ring. Producer and consumer count up and wrap; the place of an entry is its number modulo the size.
#[derive(Debug)]
struct Ring<T> {
    base: NonNull<u8>,
    len: usize,
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    entries: NonNull<T>,
    size: u32,
}

// SAFETY: the counters are atomic, and they let one side at a time access each entry; on this side, the single producer
// or consumer that owns the ring.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T: Copy> Ring<T> {
    /// Maps the ring at a page offset of a socket, which was set up with `size` entries, a power of two.
    fn map(socket: BorrowedFd<'_>, page: u64, offsets: &XdpRingOffset, size: u32) -> io::Result<Self> {
        assert!(size.is_power_of_two(), "counters wrap around with it");
        // All kernels since 5.4 have them.
        let flags = offsets.flags.ok_or(io::Errno::NOTSUP)?;
        let len = offsets.desc as usize + size as usize * size_of::<T>();
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice overlaps nothing.
        let base = unsafe {
            mmap(std::ptr::null_mut(), len, protection, MapFlags::SHARED | MapFlags::POPULATE, socket, page)
        }?;
        let base = NonNull::new(base.cast::<u8>()).ok_or(io::Errno::NOMEM)?;
        // SAFETY: the kernel's offsets are within the mapping, each aligned for its type.
        unsafe {
            Ok(Self {
                base,
                len,
                producer: base.add(offsets.producer as usize).cast(),
                consumer: base.add(offsets.consumer as usize).cast(),
                flags: base.add(flags as usize).cast(),
                entries: base.add(offsets.desc as usize).cast(),
                size,
            })
        }
    }

    fn producer(&self) -> &AtomicU32 {
        // SAFETY: the counter is within the mapping, which lives as long as `self`, and is only accessed as an atomic.
        unsafe { self.producer.as_ref() }
    }

    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: the counter is within the mapping, which lives as long as `self`, and is only accessed as an atomic.
        unsafe { self.consumer.as_ref() }
    }

    /// Whether the kernel sleeps and must be woken by a call.
    fn needs_wakeup(&self) -> bool {
        // SAFETY: the flags word is within the mapping, which lives as long as `self`, and is only ever accessed as an
        // atomic.
        unsafe { self.flags.as_ref() }.load(Relaxed) & XdpRingFlags::XDP_RING_NEED_WAKEUP.bits() != 0
    }

    fn entry(&self, number: u32) -> NonNull<T> {
        // SAFETY: the mapping has entries for all numbers below the size.
        unsafe { self.entries.add((number & (self.size - 1)) as usize) }
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: exactly the pages that were mapped, and nothing else refers to them. An error leaves address space
        // mapped, which is harmless.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// The producing side.
#[derive(Debug)]
pub(crate) struct Producer<T> {
    ring: Ring<T>,
    /// Pushed entries; the kernel sees those before the last [`publish`](Self::publish).
    pushed: u32,
}

impl<T: Copy> Producer<T> {
    pub fn map(socket: BorrowedFd<'_>, page: u64, offsets: &XdpRingOffset, size: u32) -> io::Result<Self> {
        let ring = Ring::map(socket, page, offsets, size)?;
        Ok(Self { pushed: ring.producer().load(Relaxed), ring })
    }

    /// Number of entries that fit.
    pub fn room(&self) -> u32 {
        self.ring.size.saturating_sub(self.waiting())
    }

    /// Number of entries that the kernel has not taken yet.
    pub fn waiting(&self) -> u32 {
        self.pushed.wrapping_sub(self.ring.consumer().load(Acquire))
    }

    /// Pushes an entry. False if there is no room.
    pub fn push(&mut self, entry: T) -> bool {
        if self.room() == 0 {
            return false;
        }
        // SAFETY: the consumer has released this entry, and does not read it before it is published.
        unsafe { self.ring.entry(self.pushed).write(entry) };
        self.pushed = self.pushed.wrapping_add(1);
        true
    }

    /// Publishes the pushed entries to the kernel.
    pub fn publish(&mut self) {
        self.ring.producer().store(self.pushed, Release);
    }

    pub fn needs_wakeup(&self) -> bool {
        self.ring.needs_wakeup()
    }
}

/// The consuming side.
#[derive(Debug)]
pub(crate) struct Consumer<T> {
    ring: Ring<T>,
    /// Popped entries; the kernel may reuse those before the last [`release`](Self::release).
    popped: u32,
    /// Entries known to be published.
    known: u32,
}

impl<T: Copy> Consumer<T> {
    pub fn map(socket: BorrowedFd<'_>, page: u64, offsets: &XdpRingOffset, size: u32) -> io::Result<Self> {
        let ring = Ring::map(socket, page, offsets, size)?;
        let popped = ring.consumer().load(Relaxed);
        Ok(Self { popped, known: popped, ring })
    }

    /// Returns the next entry, if any.
    pub fn pop(&mut self) -> Option<T> {
        if self.popped == self.known {
            // Read the kernel's counter, on the other side's cache line, only when no entry is known to be there.
            self.known = self.ring.producer().load(Acquire);
            if self.popped == self.known {
                return None;
            }
        }
        // SAFETY: the producer has published this entry and does not touch it before it is released.
        let entry = unsafe { self.ring.entry(self.popped).read() };
        self.popped = self.popped.wrapping_add(1);
        Some(entry)
    }

    /// Returns popped entries to the kernel.
    pub fn release(&mut self) {
        self.ring.consumer().store(self.popped, Release);
    }
}
