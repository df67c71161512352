//! The NIC device: its registers, its ports, and the packets inside. It knows nothing about the purpose of its engines.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use super::counters::RtlCounters;
use super::model::{LoadError, Meta, Model};
use super::packet;
use crate::backend::Peer;
use crate::csr::{self, from_host, to_host};
use crate::frame::{Mac, Via};
use net::Prefix;

/// The node's hardware address: locally administered, and "TPNI".
pub const MAC: Mac = [0x02, 0x54, 0x50, 0x4e, 0x49, 0x01];

/// A NIC as its host sees it: registers, and the host's stream.
pub trait Host {
    /// The node's address.
    fn own(&self) -> SocketAddr;

    /// The hardware address that the node answers for.
    fn mac(&self) -> Mac;

    /// Last value of the control register.
    fn control(&self) -> u32;

    /// Writes the control register.
    fn set_control(&mut self, control: u32);

    /// Reads a register.
    fn read(&mut self, register: u32) -> u32;

    /// Writes a register.
    fn write(&mut self, register: u32, value: u32);

    /// Passes a packet to the NIC.
    fn host_push(&mut self, meta: Meta, packet: &[u8]);

    /// Sets the only prefix that the NIC trusts, which must be of IPv4. Returns whether it is.
    fn trust(&mut self, prefix: Prefix) -> bool {
        let IpAddr::V4(address) = prefix.address() else { return false };
        let mask = u32::MAX.checked_shl(32 - u32::from(prefix.length())).unwrap_or(0);
        self.write(csr::TRUSTED_ADDRESS, u32::from(address));
        self.write(csr::TRUSTED_MASK, mask);
        true
    }

    /// Starts it, with these bits of the control register set.
    fn start(&mut self, control: u32) {
        self.set_control(csr::CONTROL_RUN | control);
    }

    /// Clears bits of the control register.
    fn stop(&mut self, control: u32) {
        self.set_control(self.control() & !control);
    }

    /// Whether any of these bits of the control register is set.
    fn has(&self, control: u32) -> bool {
        self.control() & control != 0
    }

    /// Writes consecutive registers.
    fn write_all(&mut self, first: u32, words: &[u32]) {
        for (register, word) in (first..).step_by(4).zip(words) {
            self.write(register, *word);
        }
    }

    /// Sends a message to an engine.
    fn tell(&mut self, kind: u8, id: u16, body: &[u8]) {
        self.host_push(Meta { kind, port: 0, id }, body);
    }

    /// Sends a packet on a port.
    fn send(&mut self, port: u8, packet: &[u8]) {
        self.host_push(Meta { kind: from_host::SEND, port, id: 0 }, packet);
    }

    /// Passes in a datagram of the host, as a packet from an address. All that becomes of it returns to the host.
    fn inject(&mut self, from: SocketAddr, datagram: &[u8]) {
        let mut packet = Vec::new();
        build_from(&mut packet, self.own(), self.mac(), from, 0, datagram);
        self.host_push(Meta { kind: from_host::INJECT, port: csr::port::HOST, id: 0 }, &packet);
    }

    /// Sends a reply of the node.
    fn reply(&mut self, peer: Peer, reply: &[u8]) {
        // A peer without a route is a connection that is gone.
        let Some(way) = peer.via else { return };
        let mut packet = Vec::new();
        packet::build(&mut packet, &peer, &way, self.own().port(), reply);
        self.send(way.queue, &packet);
    }
}

/// Builds a packet from an address to the node.
fn build_from(packet: &mut Vec<u8>, own: SocketAddr, mac: Mac, from: SocketAddr, port: u8, datagram: &[u8]) {
    let way = Via::new(port, [mac_of(from), mac], from.is_ipv6());
    let node = Peer { local: Some(from.ip()), ..Peer::new(own) };
    packet::build(packet, &node, &way, from.port(), datagram);
}

/// The model, and packets on their way through it.
pub struct Device {
    model: Model,
    ports: u8,
    own: SocketAddr,
    /// Last value of the control register.
    control: u32,
    /// Packets that entered and have not left.
    inside: usize,
    /// Packets that left by ports.
    departed: Vec<(u8, Vec<u8>)>,
    counters: Arc<RtlCounters>,
    packet: Vec<u8>,
}

impl Device {
    /// Loads the NIC, and sets the node's address. `seed` determines the initial contents of its memories. The NIC runs
    /// after [`Device::start`].
    pub fn load(library: &Path, own: SocketAddr, seed: u64, counters: Arc<RtlCounters>) -> Result<Self, LoadError> {
        let mut model = Model::load(library, seed)?;
        let ports = model.read(csr::PORTS).clamp(1, u8::MAX.into()) as u8;
        if let IpAddr::V4(own) = own.ip() {
            model.write(csr::ADDRESS, u32::from(own));
        }
        let (departed, packet) = (Vec::new(), Vec::new());
        Ok(Self { model, ports, own, control: 0, inside: 0, departed, counters, packet })
    }

    /// Reads a counter of 64 bits.
    pub fn counter(&mut self, register: u32) -> u64 {
        self.model.counter(register)
    }

    /// Clock cycles so far.
    pub fn cycle(&self) -> u64 {
        self.model.cycle()
    }

    /// Advances the clock.
    pub fn step(&mut self, cycles: u64) -> io::Result<()> {
        self.model.step(cycles).map_err(io::Error::other)
    }

    /// Packets that entered and have not left.
    pub fn inside(&self) -> usize {
        self.inside
    }

    /// Whether there are packets inside, or waiting to enter.
    pub fn is_busy(&self) -> bool {
        self.inside > 0 || self.model.host_waiting() > 0
    }

    /// Passes in a packet from the network.
    pub fn enter(&mut self, port: u8, packet: &[u8]) {
        if packet.is_empty() {
            return;
        }
        self.model.push(port, packet);
        self.inside += 1;
        self.counters.entered.add(1);
    }

    /// Passes in a datagram from a socket, as a packet from a port that depends on the sender.
    pub fn enter_datagram(&mut self, peer: Peer, datagram: &[u8]) {
        let port = (u32::from(peer.address.port()) % u32::from(self.ports)) as u8;
        let mut packet = std::mem::take(&mut self.packet);
        build_from(&mut packet, self.own, MAC, peer.address, port, datagram);
        self.enter(port, &packet);
        self.packet = packet;
    }

    /// The packets that left by ports and were not taken yet.
    pub fn departed(&mut self) -> &mut Vec<(u8, Vec<u8>)> {
        &mut self.departed
    }

    /// Collects packets that left by ports. Returns whether there were any.
    pub fn take_departed(&mut self) -> bool {
        let before = self.inside;
        for port in 0..self.ports {
            while let Some(packet) = self.model.pop(port) {
                self.departed.push((port, packet.to_vec()));
                self.inside -= 1;
            }
        }
        self.inside != before
    }

    /// Takes the next packet from the host's stream.
    pub fn take_host(&mut self) -> Option<(Meta, Vec<u8>)> {
        let (meta, packet) = self.model.host_pop()?;
        let packet = packet.to_vec();
        // Records are not packets, but refer to one, and an executed write may have a reply.
        if !matches!(meta.kind, to_host::RECORD | to_host::EXECUTED) {
            self.inside -= 1;
        }
        Some((meta, packet))
    }

    /// Notes that nothing else becomes of a packet that entered.
    pub fn complete(&mut self) {
        self.inside -= 1;
    }
}

impl Host for Device {
    fn own(&self) -> SocketAddr {
        self.own
    }

    fn mac(&self) -> Mac {
        MAC
    }

    fn control(&self) -> u32 {
        self.control
    }

    fn set_control(&mut self, control: u32) {
        self.control = control;
        self.model.write(csr::CONTROL, control);
    }

    fn read(&mut self, register: u32) -> u32 {
        self.model.read(register)
    }

    fn write(&mut self, register: u32, value: u32) {
        self.model.write(register, value);
    }

    fn host_push(&mut self, meta: Meta, packet: &[u8]) {
        self.model.host_push(meta, packet);
        // Messages to engines are not packets.
        self.inside += usize::from(matches!(meta.kind, from_host::SEND | from_host::INJECT));
    }
}

/// The hardware address that represents a peer behind a socket.
fn mac_of(peer: SocketAddr) -> Mac {
    let [a, b, c, d] = match peer.ip() {
        IpAddr::V4(v4) => v4.octets(),
        IpAddr::V6(v6) => (v6.to_bits() as u32).to_be_bytes(),
    };
    [0x02, 0x00, a, b, c, d]
}
