//! The UDP payloads of a capture file, in order.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use etherparse::{LaxSlicedPacket, TransportSlice};
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, create_reader};

/// The largest block of a capture that is read: a packet of 64 KiB with room for its record and options.
const BLOCK_LIMIT: usize = 1 << 18;

/// Bytes that each block of a pcapng file has at least: its type, its length, and its length again.
const SHORTEST_BLOCK: u32 = 12;

/// Why a capture cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file could not be opened.
    #[error("can't read {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file is not a capture, or is damaged.
    #[error("{} is not a readable capture (pcap or pcapng): {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The parser's error.
        reason: String,
    },
}

/// A UDP payload of a capture.
pub struct Datagram {
    /// Time of capture, relative to the first packet of the file.
    pub time: Duration,
    /// The port that it was sent to.
    pub port: u16,
    /// The payload.
    pub payload: Vec<u8>,
}

/// Properties of the interface that packets were captured on.
#[derive(Clone, Copy)]
struct Interface {
    link: Linktype,
    /// Units of time stamps in a second.
    resolution: u64,
}

/// Calls `take` with every UDP payload of the capture file; see [`parse`].
pub fn read(path: &Path, take: impl FnMut(Datagram)) -> Result<u64, CaptureError> {
    let file = File::open(path).map_err(|source| CaptureError::Open { path: path.to_path_buf(), source })?;
    parse(path, file, take)
}

/// Calls `take` with every UDP payload of the capture in `input`, which errors name `path`. Packets of other kinds,
/// fragments and truncated packets are skipped. Returns the number of packets of any kind.
pub fn parse(path: &Path, input: impl Read + Send, mut take: impl FnMut(Datagram)) -> Result<u64, CaptureError> {
    let format_error = |reason: String| CaptureError::Format { path: path.to_path_buf(), reason };
    let mut reader = create_reader(BLOCK_LIMIT, input).map_err(|error| format_error(error.to_string()))?;
    let mut interfaces = Vec::new();
    let mut first_time = None;
    let mut packets = 0;
    let mut is_ng = false;
    loop {
        if is_ng && is_too_short(reader.data()) {
            return Err(format_error(format!("a block after packet {packets} is too short")));
        }
        match reader.next() {
            Ok((size, block)) => {
                is_ng = matches!(block, PcapBlockOwned::NG(_));
                let packet = match &block {
                    PcapBlockOwned::LegacyHeader(header) => {
                        let resolution = if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
                        interfaces = vec![Interface { link: header.network, resolution }];
                        None
                    }
                    PcapBlockOwned::Legacy(block) => interfaces.first().map(|&interface| {
                        let time = Duration::from_secs(u64::from(block.ts_sec))
                            + time_of(u64::from(block.ts_usec), interface.resolution);
                        (interface, time, block.data)
                    }),
                    PcapBlockOwned::NG(Block::SectionHeader(_)) => {
                        interfaces.clear();
                        None
                    }
                    PcapBlockOwned::NG(Block::InterfaceDescription(description)) => {
                        let resolution = description.ts_resolution().unwrap_or(1_000_000).max(1);
                        interfaces.push(Interface { link: description.linktype, resolution });
                        None
                    }
                    PcapBlockOwned::NG(Block::EnhancedPacket(block)) => {
                        interfaces.get(block.if_id as usize).map(|&interface| {
                            let time = u64::from(block.ts_high) << 32 | u64::from(block.ts_low);
                            (interface, time_of(time, interface.resolution), block.data)
                        })
                    }
                    PcapBlockOwned::NG(Block::SimplePacket(block)) => {
                        interfaces.first().map(|&interface| (interface, Duration::ZERO, block.data))
                    }
                    PcapBlockOwned::NG(_) => None,
                };
                if let Some((interface, time, data)) = packet {
                    packets += 1;
                    let first = *first_time.get_or_insert(time);
                    if let Some((port, payload)) = udp_payload(interface.link, data) {
                        take(Datagram { time: time.saturating_sub(first), port, payload: payload.to_vec() });
                    }
                }
                reader.consume(size);
            }
            Err(PcapError::Eof) => return Ok(packets),
            Err(PcapError::Incomplete(_)) => {
                // The parser needs more at the end of the file: the last packet is truncated.
                if reader.reader_exhausted() {
                    return Err(format_error(format!("the file ends in the middle of packet {}", packets + 1)));
                }
                reader.refill().map_err(|error| format_error(error.to_string()))?;
            }
            Err(error) => return Err(format_error(error.to_string())),
        }
    }
}

/// Whether a pcapng block's length, in whichever order of bytes, is below that of all blocks. The parser relies on this
/// for blocks of process information.
fn is_too_short(block: &[u8]) -> bool {
    let length = block.get(4..).and_then(|rest| rest.first_chunk());
    length.is_some_and(|length| u32::from_le_bytes(*length).min(u32::from_be_bytes(*length)) < SHORTEST_BLOCK)
}

fn time_of(units: u64, resolution: u64) -> Duration {
    let nanoseconds = u128::from(units % resolution) * 1_000_000_000 / u128::from(resolution);
    Duration::from_secs(units / resolution) + Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0))
}

/// The destination port and payload of a packet, if it is an unfragmented UDP datagram that was captured whole.
fn udp_payload(link: Linktype, data: &[u8]) -> Option<(u16, &[u8])> {
    let packet = match link {
        Linktype::ETHERNET => LaxSlicedPacket::from_ethernet(data).ok()?,
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 => LaxSlicedPacket::from_ip(data).ok()?,
        // The protocol of the payload is in the last two of the 16 bytes of a Linux cooked header.
        Linktype::LINUX_SLL => LaxSlicedPacket::from_ip(data.get(16..)?).ok()?,
        // Loopback of the BSDs: four bytes of address family.
        Linktype::NULL => LaxSlicedPacket::from_ip(data.get(4..)?).ok()?,
        _ => return None,
    };
    if packet.stop_err.is_some() {
        return None;
    }
    match packet.transport? {
        // A payload shorter than the header's length was truncated by the capture's snapshot length.
        TransportSlice::Udp(udp) if usize::from(udp.length()) == udp.slice().len() => {
            Some((udp.destination_port(), udp.payload()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_is_too_short_is_an_error() {
        let mut file = Vec::new();
        // A section's header, and a block of process information that says to have 9 bytes.
        for word in [0x0a0d_0d0a, 28, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX, 28, 0x8000_0001, 9, 0, 9] {
            file.extend(u32::to_le_bytes(word));
        }
        let read = parse(Path::new("capture"), &file[..], |_| {});
        assert!(read.unwrap_err().to_string().contains("too short"));
    }
}
