//! A network interface of this machine connected to the NIC: packets that Linux sends into it arrive at a port.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::sys;

/// A TAP device. It is removed when this value is dropped, unless it is persistent (`ip tuntap add`).
#[derive(Debug)]
pub struct Tap {
    device: OwnedFd,
    packet: Box<[u8]>,
}

/// Maximum length of a packet that Linux sends into a TAP device, with its Ethernet header.
const LONGEST: usize = 65_535 + 14;

impl Tap {
    /// Opens the device of this name, created if it does not exist; this takes the capability `CAP_NET_ADMIN`. The
    /// operator assigns addresses: `ip address add 10.9.0.1/24 dev NAME`, `ip link set NAME up`.
    pub fn open(name: &str) -> io::Result<Self> {
        Ok(Self { device: sys::open_tap(name)?, packet: vec![0; LONGEST].into_boxed_slice() })
    }

    /// Returns the next packet that Linux has sent, if any.
    pub fn receive(&mut self) -> io::Result<Option<&[u8]>> {
        match rustix::io::read(&self.device, &mut *self.packet) {
            Ok(0) => Ok(None),
            Ok(length) => Ok(Some(&self.packet[..length])),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
            // The interface is down: nothing arrives until it is up again.
            Err(rustix::io::Errno::BADFD | rustix::io::Errno::IO) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Passes a packet to Linux. Returns whether it was accepted: not while the interface is down.
    pub fn send(&self, packet: &[u8]) -> bool {
        rustix::io::write(&self.device, packet).is_ok_and(|written| written == packet.len())
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}
