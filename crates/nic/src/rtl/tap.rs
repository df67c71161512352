//! A network interface of this machine whose cable is plugged into the NIC: what Linux sends into it arrives at a port.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::sys;

/// A TAP device. It is gone when this is dropped, unless it was made to stay (`ip tuntap add`).
#[derive(Debug)]
pub struct Tap {
    device: OwnedFd,
    packet: Box<[u8]>,
}

/// The longest packet that Linux sends into a TAP device, with its Ethernet header.
const LONGEST: usize = 65_535 + 14;

impl Tap {
    /// Opens the device of this name, and makes it if there is none; it takes the capability `CAP_NET_ADMIN`. Addresses
    /// are the operator's to give: `ip address add 10.9.0.1/24 dev NAME`, `ip link set NAME up`.
    pub fn open(name: &str) -> io::Result<Self> {
        Ok(Self { device: sys::open_tap(name)?, packet: vec![0; LONGEST].into_boxed_slice() })
    }

    /// The next packet that Linux has sent, if there is one.
    pub fn receive(&mut self) -> io::Result<Option<&[u8]>> {
        match rustix::io::read(&self.device, &mut *self.packet) {
            Ok(0) => Ok(None),
            Ok(length) => Ok(Some(&self.packet[..length])),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
            // The interface is down: nothing comes until it is up again.
            Err(rustix::io::Errno::BADFD | rustix::io::Errno::IO) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives Linux a packet. Whether it took it: not while the interface is down.
    pub fn send(&self, packet: &[u8]) -> bool {
        rustix::io::write(&self.device, packet).is_ok_and(|written| written == packet.len())
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}
