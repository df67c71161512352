//! Datagrams that wait for a worker, in buffers of a fixed pool.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use crate::backend::{MESSAGE_BYTES, Peer};

/// Buffers of two sizes, so that thousands of single frames can wait without the memory for as many batches.
#[derive(Clone, Debug)]
pub struct Pool {
    small: Arc<Free>,
    large: Arc<Free>,
}

#[derive(Debug)]
struct Free {
    size: usize,
    buffers: Mutex<Vec<Box<[u8]>>>,
}

/// What a small buffer holds: any single frame, and a proof request that crosses an Ethernet without fragments.
pub const SMALL_BYTES: usize = 2048;

/// How many buffers a [`Pool`] has.
#[derive(Clone, Copy, Debug)]
pub struct PoolSize {
    /// Buffers of [`SMALL_BYTES`].
    pub small: usize,
    /// Buffers of [`MESSAGE_BYTES`].
    pub large: usize,
}

impl Default for PoolSize {
    /// A worker verifies about 30,000 signatures a second: 4096 single frames wait for some tenths of a second at most,
    /// and so do 64 batches of 356.
    fn default() -> Self {
        Self { small: 4096, large: 64 }
    }
}

/// A datagram in a buffer of its own. The buffer goes back to its pool when this is dropped.
#[derive(Debug)]
pub struct Held {
    /// Who sent it.
    pub peer: Peer,
    buffer: Box<[u8]>,
    length: usize,
    home: Arc<Free>,
}

impl Pool {
    /// A pool of so many buffers.
    pub fn new(size: PoolSize) -> Self {
        let free = |count: usize, size: usize| {
            let buffers = (0..count).map(|_| vec![0; size].into_boxed_slice()).collect();
            Arc::new(Free { size, buffers: Mutex::new(buffers) })
        };
        Self { small: free(size.small, SMALL_BYTES), large: free(size.large, MESSAGE_BYTES) }
    }

    /// Copies a datagram into a free buffer; none if all are in use.
    pub fn hold(&self, peer: Peer, datagram: &[u8]) -> Option<Held> {
        let home = [&self.small, &self.large].into_iter().find(|free| datagram.len() <= free.size)?;
        let mut buffer = home.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        buffer[..datagram.len()].copy_from_slice(datagram);
        Some(Held { peer, buffer, length: datagram.len(), home: home.clone() })
    }
}

impl Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.length]
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        self.home.buffers.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
    }
}
