//! Pools of registered buffers. A user holds one as a [`Buffer`] to send or as a received [`Message`].
//!
//! A pool hands out each index once until it is returned. That makes the slices of [`Buffer`] and [`Message`] sound.

use std::{
    collections::VecDeque,
    fmt,
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{error::Error, memory::Memory, notify::Notify};

/// Where a buffer goes when its holder drops it.
pub(crate) trait Home: Send + Sync {
    fn give_back(&self, index: u16);
}

/// Buffers of one size in one memory mapping.
pub(crate) struct Pool<H: ?Sized = dyn Home> {
    memory: Arc<Memory>,
    offset: usize,
    stride: usize,
    home: H,
}

impl<H: Home> Pool<H> {
    /// A pool of `count` buffers in `memory`, starting at `offset`.
    pub(crate) fn new(memory: Arc<Memory>, offset: usize, buffer_bytes: u32, count: u16, home: H) -> Arc<Self> {
        let stride = stride(buffer_bytes);
        memory.at(offset, stride * usize::from(count));
        Arc::new(Self { memory, offset, stride, home })
    }

    pub(crate) fn home(&self) -> &H {
        &self.home
    }
}

impl<H: ?Sized> Pool<H> {
    /// Address of a buffer. Only the holder of its lease may access it.
    #[cfg(feature = "rdma")]
    pub(crate) fn place(&self, index: u16) -> std::ptr::NonNull<u8> {
        self.memory.at(self.offset(index), self.stride)
    }

    /// The whole mapping that contains the buffers.
    #[cfg(feature = "rdma")]
    pub(crate) fn extent(&self) -> (std::ptr::NonNull<u8>, usize) {
        self.memory.extent()
    }

    pub(crate) fn offset(&self, index: u16) -> usize {
        self.offset + self.stride * usize::from(index)
    }
}

/// Two cache lines, which processors fetch together: two holders never share them.
pub(crate) const LINES: usize = 128;

pub(crate) const PAGE: usize = 4096;

/// Offset of the first buffer from the start of a page. Processors copy slowly from a page start: the kernel took twice
/// as long to take a message of 100 KB from there (Zen 3).
pub(crate) const FIRST: usize = LINES;

/// Distance in bytes between buffers. Long ones start at different offsets in their pages, never at 0, so that their
/// first lines do not compete for the same cache sets.
pub(crate) fn stride(buffer_bytes: u32) -> usize {
    let bytes = buffer_bytes as usize;
    if bytes < PAGE { bytes.next_multiple_of(LINES) } else { bytes.next_multiple_of(PAGE) + 2 * LINES }
}

/// The exclusive right to use a buffer. Dropping it returns the buffer to the pool.
pub(crate) struct Lease {
    pool: Arc<Pool>,
    index: u16,
}

impl Lease {
    /// Creates the lease of an index that the pool's home has just handed out.
    pub(crate) fn new(pool: Arc<Pool>, index: u16) -> Self {
        Self { pool, index }
    }

    /// Whether it belongs to this pool.
    pub(crate) fn is_of<H>(&self, pool: &Arc<Pool<H>>) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.pool), Arc::as_ptr(pool))
    }

    /// Consumes the lease without returning the buffer to the pool.
    pub(crate) fn into_index(self) -> u16 {
        let mut this = std::mem::ManuallyDrop::new(self);
        let index = this.index;
        // SAFETY: `this` is never dropped or used again, so the reference is released once.
        unsafe { std::ptr::drop_in_place(&raw mut this.pool) };
        index
    }

    pub(crate) fn bytes(&self, length: usize) -> &[u8] {
        assert!(length <= self.pool.stride);
        // SAFETY: only `self` holds the lease of the index, and it is borrowed.
        unsafe { self.pool.memory.slice(self.pool.offset(self.index), length) }
    }

    pub(crate) fn bytes_mut(&mut self, length: usize) -> &mut [u8] {
        assert!(length <= self.pool.stride);
        // SAFETY: only `self` holds the lease of the index, and it is mutably borrowed.
        unsafe { self.pool.memory.slice_mut(self.pool.offset(self.index), length) }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.pool.home.give_back(self.index);
    }
}

/// A registered buffer to fill and send: the right to send one message. Dropping it returns it to its channel.
///
/// It dereferences to the bytes of the message.
pub struct Buffer {
    lease: Lease,
    length: usize,
    room: usize,
}

impl Buffer {
    pub(crate) fn new(lease: Lease, room: usize) -> Self {
        Self { lease, length: 0, room }
    }

    /// Maximum length of the message in bytes.
    pub fn capacity(&self) -> usize {
        self.room
    }

    /// Sets the length of the message. Added bytes have unspecified values.
    ///
    /// # Panics
    ///
    /// If `length` exceeds the capacity.
    pub fn set_len(&mut self, length: usize) {
        assert!(length <= self.room, "a message of {length} bytes, where {} have room", self.room);
        self.length = length;
    }

    /// Makes the message a copy of `bytes`.
    ///
    /// # Panics
    ///
    /// If `bytes` is longer than the capacity.
    pub fn fill(&mut self, bytes: &[u8]) {
        self.set_len(bytes.len());
        self.copy_from_slice(bytes);
    }

    /// Reserves this number of bytes after the message, to be [appended](Self::append).
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.room = self.room.saturating_sub(bytes);
    }

    /// Appends bytes to the message, in the reserved space.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        self.lease.bytes_mut(end)[self.length..].copy_from_slice(bytes);
        self.length = end;
    }

    pub(crate) fn into_parts(self) -> (Lease, usize) {
        (self.lease, self.length)
    }

    pub(crate) fn lease(&self) -> &Lease {
        &self.lease
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.lease.bytes(self.length)
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.lease.bytes_mut(self.length)
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Buffer({} of {} bytes)", self.length, self.room)
    }
}

/// A received message, in the registered buffer that it arrived in. Dropping it, on any thread, frees the buffer for
/// the next one.
pub struct Message {
    lease: Lease,
    length: usize,
}

impl Message {
    pub(crate) fn new(lease: Lease, length: usize) -> Self {
        Self { lease, length }
    }

    /// The bytes, to be decrypted in place before a user gets them.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.lease.bytes_mut(self.length)
    }

    /// Truncates the message to `length` bytes.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }
}

impl Deref for Message {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.lease.bytes(self.length)
    }
}

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Message({} bytes)", self.length)
    }
}

/// Which free index to take next.
#[derive(Clone, Copy)]
pub(crate) enum ReuseOrder {
    /// The one that was used last: its bytes are still in this processor's cache.
    Hottest,
    /// The one that was used first. For buffers that another processor read last: its own cache releases lines slowly,
    /// and by then they are in the shared cache.
    Coldest,
}

/// The free indexes of a pool.
pub(crate) struct FreeList {
    state: Mutex<FreeState>,
}

struct FreeState {
    /// In order of last use.
    free: VecDeque<u16>,
    order: ReuseOrder,
    /// Indexes that users returned since the last check.
    given_back: u16,
    /// Number of returned indexes that justifies a notification and a frame of credits.
    worth: u16,
    notify: Option<Arc<Notify>>,
}

impl FreeList {
    /// All `count` indexes are free. A notification is sent once users have returned `worth` of them.
    pub(crate) fn new(count: u16, worth: u16, order: ReuseOrder) -> Self {
        // Index 0 is taken first.
        let free = match order {
            ReuseOrder::Hottest => (0..count).rev().collect(),
            ReuseOrder::Coldest => (0..count).collect(),
        };
        let state = FreeState { free, order, given_back: 0, worth, notify: None };
        Self { state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, FreeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn take(&self) -> Option<u16> {
        let mut state = self.state();
        match state.order {
            ReuseOrder::Hottest => state.free.pop_back(),
            ReuseOrder::Coldest => state.free.pop_front(),
        }
    }

    pub(crate) fn len(&self) -> u16 {
        self.state().free.len() as u16
    }

    /// Returns an index without a notification, for the channel itself.
    pub(crate) fn put(&self, index: u16) {
        self.state().free.push_back(index);
    }

    /// Number of returned indexes that triggers a notification.
    pub(crate) fn worth(&self) -> u16 {
        self.state().worth
    }

    /// Changes that number. Notifies at once if enough were already returned.
    pub(crate) fn set_worth(&self, worth: u16) {
        let mut state = self.state();
        state.worth = worth;
        notify_if_due(state);
    }

    /// Takes the count of indexes that users returned, or 0 while it is below the threshold.
    pub(crate) fn take_given_back(&self) -> u16 {
        let mut state = self.state();
        if state.given_back >= state.worth { std::mem::take(&mut state.given_back) } else { 0 }
    }

    /// The same without a threshold.
    pub(crate) fn take_all_given_back(&self) -> u16 {
        std::mem::take(&mut self.state().given_back)
    }

    pub(crate) fn set_notify(&self, notify: Option<Arc<Notify>>) {
        self.state().notify = notify;
    }
}

impl Home for FreeList {
    fn give_back(&self, index: u16) {
        let mut state = self.state();
        debug_assert!(state.free.len() < state.free.capacity(), "more indexes are released than exist");
        state.free.push_back(index);
        state.given_back = state.given_back.saturating_add(1);
        notify_if_due(state);
    }
}

fn notify_if_due(state: MutexGuard<'_, FreeState>) {
    if state.given_back >= state.worth
        && let Some(notify) = state.notify.clone()
    {
        drop(state);
        notify.notify();
    }
}

/// A pool in private memory of this process.
pub(crate) fn private_pool(count: u16, buffer_bytes: u32, worth: u16) -> Result<Arc<Pool<FreeList>>, Error> {
    let memory = Arc::new(Memory::private(FIRST + stride(buffer_bytes) * usize::from(count))?);
    Ok(Pool::new(memory, FIRST, buffer_bytes, count, FreeList::new(count, worth, ReuseOrder::Hottest)))
}

/// Takes a free buffer.
pub(crate) fn lease(pool: &Arc<Pool<FreeList>>) -> Option<Lease> {
    let index = pool.home().take()?;
    Some(Lease::new(Arc::clone(pool) as Arc<Pool>, index))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_buffer_has_one_holder_at_a_time() {
        let pool = private_pool(3, 256, 1).unwrap();
        thread::scope(|scope| {
            for number in 0..3_u8 {
                let pool = &pool;
                scope.spawn(move || {
                    for _ in 0..20 {
                        let mut buffer = Buffer::new(lease(pool).unwrap(), 200);
                        buffer.fill(&[number; 200]);
                        thread::yield_now();
                        assert_eq!(*buffer, [number; 200]);
                    }
                });
            }
        });
        assert_eq!((pool.home().len(), pool.home().take_all_given_back()), (3, 60));
    }

    #[test]
    fn buffers_do_not_overlap_and_long_ones_begin_at_no_page() {
        for bytes in [64, 1 << 10, 4096, 5000, 128 << 10] {
            let pool = private_pool(40, bytes, 1).unwrap();
            let starts: Vec<_> = (0..40).map(|index| pool.offset(index)).collect();
            assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= bytes as usize));
            assert!(starts.iter().all(|start| start.is_multiple_of(LINES)));
            assert!(bytes < PAGE as u32 || starts.iter().all(|start| !start.is_multiple_of(PAGE)));
        }
    }
}
