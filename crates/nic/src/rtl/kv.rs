//! The NIC's key-value store, as its host sees it (`docs/rtl-kv.md`): datagrams in, replies out, and the stream of all
//! that the store has executed or left to the host, in its order.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::path::PathBuf;
use std::sync::Arc;

use super::config::RtlError;
use super::counters::RtlCounters;
use super::device::{Device, Host as _};
use super::packet;
use crate::backend::Peer;
use crate::csr::{self, to_host};
use crate::ethernet::ETHERNET;
use crate::frame;
use net::Prefix;

/// Cycles between checks of the output: a word of 64 bytes takes eight on a port.
const TURN: u64 = 16;

/// Cycles until an executed write has followed its reply to the host.
const TAIL: u64 = 64;

/// Headers before the payload of a packet that the store takes: Ethernet, IPv4 without options, UDP.
const HEADERS: usize = ETHERNET + 20 + 8;

/// Longest packet that the store takes: one of Ethernet's usual size.
const LONGEST: usize = 1514;

/// Longest datagram that the store takes.
pub const LONGEST_DATAGRAM: usize = LONGEST - HEADERS;

/// Number of classes of blocks, each of which has twice the rows of the one before.
pub const BLOCK_CLASSES: usize = 4;

/// Bytes of a row, and rows of a block of the first class.
const ROW: usize = 64;
const FIRST_ROWS: usize = 4;

/// The class of the smallest block that has room for key and value, after a row for the header.
pub fn block_class(bytes: usize) -> usize {
    let rows = 1 + bytes.div_ceil(ROW);
    (rows.div_ceil(FIRST_ROWS).next_power_of_two().ilog2() as usize).min(BLOCK_CLASSES - 1)
}

/// Offset of the command in a datagram: after the frame's header and the magic byte.
const COMMAND: usize = 8 + 1;

/// SETQ, REPLACEQ, DELETEQ and FLUSH, which have no reply if the NIC executes them.
const QUIET: [u8; 4] = [0x11, 0x13, 0x14, 0x08];

/// Configuration of the NIC's key-value store.
#[derive(Clone, Debug)]
pub struct KvNicConfig {
    /// The library that `make rtl` builds.
    pub library: PathBuf,
    /// The only prefix from which the NIC takes requests, of IPv4.
    pub trusted: Prefix,
    /// The lowest 15 bits are part of the CAS of items that the NIC writes; others after each start.
    pub series: u16,
    /// Secret random bits for the fingerprints of keys.
    pub key_secret: [u32; csr::KV_KEY_SECRET_COUNT as usize],
    /// The same for the table.
    pub table_secret: [u32; csr::KV_TABLE_SECRET_COUNT as usize],
    /// Determines the initial contents of memories.
    pub seed: u64,
}

/// A request that the store has executed or left to the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Streamed {
    /// What the store did.
    pub outcome: Outcome,
    /// The sender.
    pub sender: Sender,
    /// The datagram. A SET, REPLACE, DELETE or TOUCH that was executed has the item's CAS.
    pub datagram: Vec<u8>,
}

/// The sender of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// The host itself.
    Host,
    /// A client, which has its reply.
    Answered,
    /// A client that the host must answer.
    Client(Peer),
}

/// What the store did with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It executed the write, and answered it.
    Executed,
    /// It had no room for the item of this write.
    NoRoom,
    /// It has no such item, or does not take such requests.
    Passed,
}

/// The simulated NIC with a key-value store. Its clock advances only while [`step`](Self::step) runs.
pub struct KvNic {
    device: Device,
    trusted: Prefix,
    /// The sender of the host's own requests.
    host: SocketAddr,
    /// Last value of the register of the time.
    now: Option<u32>,
}

impl KvNic {
    /// Loads the NIC, sets its registers and starts it. `own` is the store's address, not the wildcard.
    pub fn new(config: &KvNicConfig, own: SocketAddrV4) -> Result<Self, RtlError> {
        let mut device = Device::load(&config.library, own.into(), config.seed, Arc::<RtlCounters>::default())?;
        if device.read(csr::KV_ENGINE) == 0 {
            return Err(RtlError::NoStore { path: config.library.clone() });
        }
        if !device.trust(config.trusted) {
            return Err(RtlError::NotIpv4 { trusted: config.trusted });
        }
        device.write(csr::KV_UDP_PORT, own.port().into());
        device.write(csr::KV_SERIES, config.series.into());
        device.write_all(csr::KV_KEY_SECRET, &config.key_secret);
        device.write_all(csr::KV_TABLE_SECRET, &config.table_secret);
        device.start(0);
        // Any address of the prefix, and any port but the store's, which the NIC does not accept as a source.
        let port = if own.port() == 1 { 2 } else { 1 };
        let host = SocketAddr::new(config.trusted.address(), port);
        Ok(Self { device, trusted: config.trusted, host, now: None })
    }

    /// Sets the time by which items expire, in seconds since 1970.
    pub fn set_time(&mut self, now: u32) {
        if self.now.replace(now) != Some(now) {
            self.device.write(csr::KV_NOW, now);
        }
    }

    /// Passes in a datagram from a socket.
    pub fn enter(&mut self, peer: Peer, datagram: &[u8]) {
        self.device.enter_datagram(peer, datagram);
    }

    /// Passes in a request of the host, which returns in the stream. It must have no reply: a quiet command, FLUSH, or
    /// one that the store does not take.
    pub fn inject(&mut self, datagram: &[u8]) {
        self.device.inject(self.host, datagram);
    }

    /// Sends a reply of the host.
    pub fn reply(&mut self, peer: Peer, datagram: &[u8]) {
        self.device.reply(peer, datagram);
    }

    /// Whether a datagram is in the store's order if it is passed: others leave the NIC before the store.
    pub fn is_in_order(&self, peer: &Peer, datagram: &[u8]) -> bool {
        self.trusted.contains(peer.address.ip()) && datagram.len() <= LONGEST_DATAGRAM
    }

    /// Whether packets are inside.
    pub fn is_busy(&self) -> bool {
        self.device.is_busy()
    }

    /// Clock cycles so far.
    pub fn cycle(&self) -> u64 {
        self.device.cycle()
    }

    /// Advances the clock by some cycles.
    pub fn step(&mut self) -> io::Result<()> {
        self.device.step(TURN)?;
        self.device.take_departed();
        Ok(())
    }

    /// Advances the clock until executed writes whose replies have left are in the stream as well.
    pub fn settle(&mut self) -> io::Result<()> {
        (0..TAIL / TURN).try_for_each(|_| self.step())
    }

    /// The next request of the stream.
    pub fn next_streamed(&mut self) -> Option<Streamed> {
        loop {
            let (meta, mut packet) = self.device.take_host()?;
            let is_host = meta.port == csr::port::HOST;
            if meta.kind == to_host::EXECUTED {
                // Its checksum is that of the packet without CAS, so the packet is not parsed.
                let datagram = packet.split_off(HEADERS.min(packet.len()));
                if datagram.get(COMMAND).is_some_and(|command| QUIET.contains(command)) {
                    self.device.complete();
                }
                let sender = if is_host { Sender::Host } else { Sender::Answered };
                return Some(Streamed { outcome: Outcome::Executed, sender, datagram });
            }
            // Other packets are not for this host.
            let Some((peer, place)) = frame::parse(&packet, meta.port) else { continue };
            let outcome = if meta.id == 0 { Outcome::Passed } else { Outcome::NoRoom };
            let sender = if is_host { Sender::Host } else { Sender::Client(peer) };
            return Some(Streamed { outcome, sender, datagram: packet[place].to_vec() });
        }
    }

    /// The datagrams that left by ports and were not taken yet.
    pub fn departed(&mut self) -> impl Iterator<Item = (SocketAddr, Vec<u8>)> + '_ {
        self.device.departed().drain(..).filter_map(|(port, mut packet)| {
            let (peer, place) = packet::destination(&packet, port)?;
            packet.truncate(place.end);
            packet.drain(..place.start);
            Some((peer.address, packet))
        })
    }

    /// Requests that the store has executed, reads included.
    pub fn executed(&mut self) -> u64 {
        self.device.counter(csr::KV_EXECUTED)
    }
}

impl std::fmt::Debug for KvNic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KvNic").field("cycle", &self.cycle()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_room_for_a_header_and_the_rows_of_an_item() {
        let expected =
            [(1, 0), (3 * 64, 0), (3 * 64 + 1, 1), (7 * 64, 1), (7 * 64 + 1, 2), (15 * 64, 2), (15 * 64 + 1, 3)];
        assert_eq!(expected.map(|(bytes, _)| (bytes, block_class(bytes))), expected);
        assert_eq!(block_class(LONGEST_DATAGRAM), BLOCK_CLASSES - 1);
    }
}
