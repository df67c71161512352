//! The memory that network frames are received into and sent from (UMEM).
//!
//! Either user space or the kernel owns a frame. User space owns it as a [`Frame`], which cannot be copied: its holder
//! may read and write its bytes. Handing it to the kernel means putting it away ([`Away`]) until its number returns on
//! a ring.

use std::{
    ops::{Deref, DerefMut},
    os::fd::BorrowedFd,
    ptr::NonNull,
    sync::Arc,
};

use rustix::{
    io,
    mm::{MapFlags, ProtFlags, mmap_anonymous, munmap},
    net::{
        sockopt::set_xdp_umem_reg,
        xdp::{XdpUmemReg, XdpUmemRegFlags},
    },
};

use crate::shared_layout::SOCKET_BYTES;

/// Size of a frame in bytes: a page. The kernel reserves 256 of them, and devices use the rest in steps of 1,024 (igb,
/// ixgbe in zero copy): of half a page they would use 1,024 bytes, less than an Ethernet frame of 1,500, and drop
/// longer ones.
pub const FRAME_BYTES: usize = 4096;

/// Bytes that the kernel leaves free before a received frame (`XDP_PACKET_HEADROOM`).
const HEADROOM: usize = 256;

// The kernel program passes longer frames to the host.
const _: () = assert!(SOCKET_BYTES == FRAME_BYTES - HEADROOM);

/// The memory, alive until its last frame is gone.
#[derive(Debug)]
pub(crate) struct Umem {
    base: NonNull<u8>,
    frames: usize,
}

// SAFETY: the memory is only accessed through frames, each of which has its own part.
unsafe impl Send for Umem {}
// SAFETY: a shared `Umem` gives out no bytes; each frame number has one `Frame`, whose bytes only its holder accesses.
unsafe impl Sync for Umem {}

impl Umem {
    /// Allocates the memory of `frames` frames. Returns it with the frames.
    pub fn new(frames: usize) -> io::Result<(Arc<Self>, Vec<Frame>)> {
        // SAFETY: a fresh mapping at an address of the kernel's choice overlaps nothing.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                frames * FRAME_BYTES,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::POPULATE,
            )
        }?;
        let base = NonNull::new(base.cast()).ok_or(io::Errno::NOMEM)?;
        let umem = Arc::new(Self { base, frames });
        // The last one created is the first one used.
        let frames = (0..frames as u32).rev().map(|number| Frame { umem: umem.clone(), number, start: 0, length: 0 });
        let frames = frames.collect();
        Ok((umem, frames))
    }

    /// Registers the memory with a socket. The kernel keeps the pages for as long as the socket exists.
    pub fn register(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let place = XdpUmemReg {
            addr: self.base.as_ptr() as u64,
            len: (self.frames * FRAME_BYTES) as u64,
            chunk_size: FRAME_BYTES as u32,
            headroom: 0,
            flags: XdpUmemRegFlags::empty(),
            tx_metadata_len: 0,
        };
        set_xdp_umem_reg(socket, place)
    }
}

impl Drop for Umem {
    fn drop(&mut self) {
        // SAFETY: the pages that were mapped above; no frame is left, and the kernel has its own references to what a
        // socket uses. An error leaves address space mapped, which is harmless.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.frames * FRAME_BYTES) };
    }
}

/// A network frame owned by user space. Its bytes are received, or to be sent.
#[derive(Debug)]
pub struct Frame {
    umem: Arc<Umem>,
    number: u32,
    start: u16,
    length: u16,
}

impl Frame {
    /// Offset of its bytes in the UMEM.
    pub(crate) fn address(&self) -> u64 {
        u64::from(self.number) * FRAME_BYTES as u64 + u64::from(self.start)
    }

    /// Sets its length from its present start, at most to the end of its memory.
    pub fn set_length(&mut self, length: usize) {
        self.length = length.min(FRAME_BYTES - usize::from(self.start)) as u16;
    }

    /// Empties it, with room for [`SOCKET_BYTES`] bytes.
    pub fn clear(&mut self) {
        (self.start, self.length) = (HEADROOM as u16, 0);
    }
}

impl Deref for Frame {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: start and length are within the frame, which is within the memory, because the memory was created
        // with this frame's number. There is one frame per number, and while it exists the kernel does not write to it.
        unsafe {
            let at = self.umem.base.add(self.address() as usize);
            std::slice::from_raw_parts(at.as_ptr(), self.length.into())
        }
    }
}

impl DerefMut for Frame {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the bytes are within the memory, as for `deref`. There is one frame per number, and the mutable
        // borrow makes this the only reference to its bytes.
        unsafe {
            let at = self.umem.base.add(self.address() as usize);
            std::slice::from_raw_parts_mut(at.as_ptr(), self.length.into())
        }
    }
}

/// Frames of a UMEM that the kernel owns, by number.
#[derive(Debug)]
pub(crate) struct Away {
    umem: Arc<Umem>,
    frames: Vec<Option<Frame>>,
    count: usize,
}

impl Away {
    pub fn new(umem: &Arc<Umem>) -> Self {
        Self { umem: umem.clone(), frames: (0..umem.frames).map(|_| None).collect(), count: 0 }
    }

    /// Number of these frames.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Puts a frame away.
    ///
    /// # Panics
    ///
    /// If it belongs to another UMEM: the kernel would get a frame of this one that somebody else holds.
    pub fn put(&mut self, frame: Frame) {
        assert!(Arc::ptr_eq(&frame.umem, &self.umem), "a frame goes back to where it came from");
        let place = &mut self.frames[frame.number as usize];
        assert!(place.is_none(), "a frame is there once");
        *place = Some(frame);
        self.count += 1;
    }

    /// Returns the frame at an address that the kernel has returned, with these bytes in it. `None` if the kernel did
    /// not own it.
    pub fn take(&mut self, address: u64, length: u32) -> Option<Frame> {
        let number = usize::try_from(address).ok()? / FRAME_BYTES;
        let mut frame = self.frames.get_mut(number)?.take()?;
        self.count -= 1;
        frame.start = (address as usize % FRAME_BYTES) as u16;
        frame.set_length(length as usize);
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_bytes_of_their_own() {
        let (_, mut frames) = Umem::new(4).unwrap();
        for (at, frame) in frames.iter_mut().enumerate() {
            frame.set_length(usize::MAX);
            frame.fill(at as u8 + 1);
        }
        for (at, frame) in frames.iter().enumerate() {
            assert!(frame.len() == FRAME_BYTES && frame.iter().all(|byte| *byte == at as u8 + 1));
        }
    }

    #[test]
    fn what_the_kernel_does_not_have_it_cannot_give_back() {
        let (umem, mut frames) = Umem::new(4).unwrap();
        let mut away = Away::new(&umem);
        away.put(frames.pop().unwrap());
        assert_eq!(away.count(), 1);
        assert!(away.take(FRAME_BYTES as u64, 10).is_none(), "another");
        assert!(away.take(u64::MAX, 10).is_none(), "none");
        let frame = away.take(300, u32::MAX).unwrap();
        assert_eq!((frame.address(), frame.len()), (300, FRAME_BYTES - 300), "no more than there is");
        assert!(away.take(300, 10).is_none(), "twice");
        assert_eq!(away.count(), 0);
    }
}
