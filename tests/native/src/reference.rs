//! The same with the Rust engines: `nic::frame` for packets, `wire` for frames, `ledger` for commands.

use std::net::IpAddr;

use ledger::{Ledger, Now};
use net::Prefix;
use nic::frame;
use wire::{CompactFrame, Operation, Status};
use zerocopy::{FromBytes, IntoBytes};

/// The node's port.
pub const PORT: u16 = 7400;

/// The MAC address of its interface.
pub const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// Its network addresses.
pub fn own_addresses() -> [IpAddr; 2] {
    ["10.0.0.1", "fd00::1"].map(|text| text.parse().expect("an address"))
}

/// Networks that may send unsigned operations.
pub fn trusted() -> [(IpAddr, u8); 2] {
    [("10.0.0.0", 8), ("fd00::", 8)].map(|(text, length)| (text.parse().expect("an address"), length))
}

/// Wraps a request in a network frame.
pub fn frame(request: &CompactFrame) -> Vec<u8> {
    datagram(request.as_bytes())
}

/// Wraps a payload in a network frame, without a UDP checksum, as IPv4 allows.
pub fn datagram(payload: &[u8]) -> Vec<u8> {
    let mut frame = [MAC, [2, 0, 0, 0, 0, 2]].concat();
    let length = payload.len() as u16 + 8;
    frame.extend([8, 0, 0x45, 0]);
    frame.extend((length + 20).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1]);
    let sum: u32 = frame[14..34].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    frame[24..26].copy_from_slice(&checksum.to_be_bytes());
    for field in [4000, PORT, length, 0] {
        frame.extend(field.to_be_bytes());
    }
    frame.extend(payload);
    frame
}

/// The Rust ledger behind network frames.
#[derive(Debug)]
pub struct Reference {
    /// The ledger.
    pub ledger: Ledger,
    trusted: Vec<Prefix>,
}

impl Reference {
    /// Creates a reference with this ledger.
    pub fn new(ledger: Ledger) -> Self {
        let prefixes = trusted().map(|(network, length)| format!("{network}/{length}").parse().expect("a prefix"));
        Self { ledger, trusted: prefixes.into() }
    }

    /// The compact request of a frame that the NIC tier may answer: well formed, for this node, from a trusted sender.
    pub fn request(&self, bytes: &[u8]) -> Option<CompactFrame> {
        let (peer, place) = frame::parse(bytes, 0)?;
        let ip = peer.address.ip();
        let payload = &bytes[place.clone()];
        let udp = &bytes[place.start - 8..place.start];
        let port = u16::from_be_bytes([udp[2], udp[3]]);
        // A datagram was found, so the first six bytes exist.
        let is_for_us = bytes[..6] == MAC && port == PORT && own_addresses().contains(&peer.local?);
        let is_trusted = self.trusted.iter().any(|prefix| prefix.contains(ip));
        if !is_for_us || !is_trusted || [0, PORT].contains(&peer.address.port()) {
            return None;
        }
        CompactFrame::read_from_bytes(payload).ok().filter(|request| request.check() == Status::Ok)
    }

    /// Executes a request. Returns its reply, and the operation for the journal.
    pub fn execute(&mut self, request: &CompactFrame) -> (CompactFrame, Option<(Operation, u64)>) {
        let (mut reply, mut operation, mut value, mut recorded) = (*request, request.to_operation(), 0, None);
        let (operations, values) = (std::slice::from_mut(&mut operation), std::slice::from_mut(&mut value));
        // Time stands still, so everything is remembered.
        self.ledger
            .execute(operations, values, Now::default(), |operation, value| recorded = Some((*operation, value)));
        reply.set_reply(operation.status().expect("a status of the protocol"), value);
        (reply, recorded)
    }

    /// Turns the frame of a request into that of its reply.
    pub fn turned(&self, bytes: &[u8], reply: &CompactFrame) -> Vec<u8> {
        let mut turned = bytes.to_vec();
        if let Some((peer, place)) = frame::parse(bytes, 0)
            && let Some(via) = peer.via
        {
            turned[place.clone()].copy_from_slice(reply.as_bytes());
            frame::write_headers(&mut turned[..place.end], &peer, &via, PORT);
        }
        turned
    }
}
