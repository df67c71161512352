//! Network interfaces: by name or by address.

use std::{ffi::CString, net::IpAddr, path::Path};

use crate::{
    Error,
    error::refused,
    sys::{self, InterfaceAddress},
};

/// The present state of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its index, which identifies it to the kernel.
    pub index: u32,
    /// Its Ethernet address; zeros for the loopback.
    pub mac: [u8; 6],
    /// Its network addresses.
    pub addresses: Vec<IpAddr>,
    /// Name of its driver, for example `veth`; empty if it has none.
    pub driver: String,
    /// Number of its receive queues; one if the driver does not report it.
    pub receive_queues: u32,
    /// Number of its send queues.
    pub transmit_queues: u32,
}

impl Interface {
    /// Returns the interface with a name.
    pub fn named(name: &str) -> Result<Self, Error> {
        let error = |what: String| Error::Interface { name: name.to_owned(), what };
        let text = CString::new(name).map_err(|_| error("the name contains a zero byte".to_owned()))?;
        let index = sys::interface_index(&text).map_err(|source| error(source.to_string()))?;
        let [receive_queues, transmit_queues] = sys::channels(&text).unwrap_or([1, 1]);
        let driver = sys::driver(&text).unwrap_or_default();
        let (name, mac, addresses) = (name.to_owned(), [0; 6], Vec::new());
        let mut interface = Self { name, index, mac, addresses, driver, receive_queues, transmit_queues };
        for (_, address) in all()?.into_iter().filter(|(of, _)| *of == interface.name) {
            match address {
                InterfaceAddress::Hardware(mac) => interface.mac = mac,
                InterfaceAddress::Network(address) => interface.addresses.push(address),
            }
        }
        Ok(interface)
    }

    /// Returns the interface with an address.
    pub fn with_address(address: IpAddr) -> Result<Self, Error> {
        let has = |found: &InterfaceAddress| matches!(found, InterfaceAddress::Network(own) if *own == address);
        let all = all()?;
        let (name, _) = all.iter().find(|(_, found)| has(found)).ok_or(Error::NoInterface(address))?;
        Self::named(name)
    }

    /// The names of all interfaces.
    pub fn names() -> Result<Vec<String>, Error> {
        let mut names: Vec<_> = all()?.into_iter().map(|(name, _)| name).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Whether a device is attached, or at least a virtual one of a machine; not for a `veth`, a bridge or a tunnel.
    pub fn has_device(&self) -> bool {
        Path::new("/sys/class/net").join(&self.name).join("device").exists()
    }

    /// Whether the driver loses XDP's replies to frames received with zero copy. virtio's driver needs room before a
    /// frame that it sends, and XDP sends such a frame as a copy without room (`xdp_convert_zc_to_xdp_frame`, Linux
    /// 6.11 to 7.3 at least). Nothing reports that, and no frame can be sent to test it.
    pub fn zero_copy_loses_answers(&self) -> bool {
        self.driver == "virtio_net"
    }

    /// Whether it is the loopback.
    pub fn is_loopback(&self) -> bool {
        self.addresses.iter().any(IpAddr::is_loopback)
    }
}

fn all() -> Result<Vec<(String, InterfaceAddress)>, Error> {
    sys::addresses().map_err(refused("the addresses of interfaces"))
}
