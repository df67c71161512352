//! Control and status registers of the NIC in `rtl/nic`, as byte offsets, codes and structures of its host's streams.
//! Made by rtl/nic/csr.py of rtl/nic/csr.yml; change that.

use wire::CompactFrame;
use zerocopy::{BigEndian, FromBytes, Immutable, IntoBytes, KnownLayout, U64, Unaligned};

/// "TPNI": that this is the NIC.
pub const ID: u32 = 0x000;
/// version of this map; another one means that the software is for another NIC.
pub const VERSION: u32 = 0x004;
/// number of network ports.
pub const PORTS: u32 = 0x008;
/// operations that the transfer engine remembers for their retries, at most.
pub const RETRIES: u32 = 0x00c;
/// What the NIC does: the bits below.
pub const CONTROL: u32 = 0x010;
/// 0: the data path is in reset and takes nothing. Written after all other registers.
pub const CONTROL_RUN: u32 = 1 << 0;
/// the transfer engine takes compact frames.
pub const CONTROL_COMPACT: u32 = 1 << 1;
/// the transfer engine takes batches of compact entries.
pub const CONTROL_BATCH: u32 = 1 << 2;
/// the proof cache takes proof frames.
pub const CONTROL_PROOF: u32 = 1 << 3;
/// the host is told every operation that was executed.
pub const CONTROL_RECORD: u32 = 1 << 4;
/// replies to operations go to the host.
pub const CONTROL_HOLD: u32 = 1 << 5;
/// no port is ever held up: packets for which there is no room are dropped and counted. 0: they wait.
pub const CONTROL_DROP: u32 = 1 << 6;
/// the verification engines take verify frames from the trusted prefix.
pub const CONTROL_VERIFY: u32 = 1 << 7;
/// IPv4 address of this node.
pub const ADDRESS: u32 = 0x014;
/// UDP port of this node.
pub const UDP_PORT: u32 = 0x018;
/// promise under which operations are answered; batches that ask for another one go to the host.
pub const PROMISE: u32 = 0x01c;
/// prefix from which operations are taken.
pub const TRUSTED_ADDRESS: u32 = 0x020;
/// the bits of an address that have to agree with the prefix.
pub const TRUSTED_MASK: u32 = 0x024;
/// the most accounts to create.
pub const ACCOUNT_LIMIT: u32 = 0x028;
/// each change tells that a seventh of the retry time has passed; nothing is forgotten before eight of them.
pub const RETRY_TICK: u32 = 0x02c;
/// verification engines that were built in, by bits: 0 signatures, 1 Merkle roots, 2 headers with Equihash solutions.
pub const VERIFY_ENGINES: u32 = 0x030;
/// 128 random bits for the hashes of the transfer engine.
pub const SECRET: u32 = 0x040;
/// How many of [`SECRET`] there are.
pub const SECRET_COUNT: u32 = 4;
/// 512 random bits for the hash of the proof cache.
pub const PROOF_SECRET: u32 = 0x080;
/// How many of [`PROOF_SECRET`] there are.
pub const PROOF_SECRET_COUNT: u32 = 16;
/// packets from a port, those dropped among them.
pub const RX_PACKETS: u32 = 0x100;
/// How many of [`RX_PACKETS`] there are.
pub const RX_PACKETS_COUNT: u32 = 8;
/// packets to a port.
pub const TX_PACKETS: u32 = 0x140;
/// How many of [`TX_PACKETS`] there are.
pub const TX_PACKETS_COUNT: u32 = 8;
/// compact frames answered.
pub const COMPACT_PACKETS: u32 = 0x180;
/// batches answered.
pub const BATCH_PACKETS: u32 = 0x188;
/// operations answered, those of batches among them.
pub const OPERATIONS: u32 = 0x190;
/// proof frames answered.
pub const PROOF_HITS: u32 = 0x198;
/// proof frames that went to the host.
pub const PROOF_MISSES: u32 = 0x1a0;
/// replies taken into the proof cache.
pub const FILLS: u32 = 0x1a8;
/// replies not taken, as they were late, too long or none.
pub const FILLS_REFUSED: u32 = 0x1b0;
/// packets that no engine took, those dropped among them.
pub const HOST_PACKETS: u32 = 0x1b8;
/// packets from the host.
pub const SENT_PACKETS: u32 = 0x1c0;
/// packets and misses for the host that were dropped.
pub const HOST_DROPPED: u32 = 0x1c8;
/// packets from a port that were dropped.
pub const RX_DROPPED: u32 = 0x1d0;
/// How many of [`RX_DROPPED`] there are.
pub const RX_DROPPED_COUNT: u32 = 8;
/// verify frames answered.
pub const VERIFY_PACKETS: u32 = 0x210;
/// verify frames that went to the host, as no engine takes one of their messages.
pub const VERIFY_PASSED: u32 = 0x218;
/// signatures that an engine has verified, ECDSA and BIP340.
pub const VERIFY_SIGNATURES: u32 = 0x220;
/// Merkle roots that an engine has verified.
pub const VERIFY_ROOTS: u32 = 0x228;
/// headers with Equihash solutions that an engine has verified.
pub const VERIFY_HEADERS: u32 = 0x230;

/// What a packet to the host is.
pub mod to_host {
    /// As it came from `port`.
    pub const PACKET: u8 = 0;
    /// The same, a proof frame: to be answered once by a fill, or none, with this `id`.
    pub const MISS: u8 = 1;
    /// With `hold`: the reply of an operation, to be sent out of `port` once it is durable; replies to port 255 as well.
    pub const REPLY: u8 = 2;
    /// With `record`: an operation that was executed.
    pub const RECORD: u8 = 3;
}

/// What a packet from the host is.
pub mod from_host {
    /// A packet to send out of `port`.
    pub const SEND: u8 = 0;
    /// A packet to take as if it came from `port`; from 255, all that comes of it goes to the host.
    pub const INJECT: u8 = 1;
    /// The body of a proof reply, from its byte 48 on, for the miss `id`.
    pub const FILL: u8 = 2;
    /// The miss `id` gets no fill; one byte that does not matter.
    pub const NONE: u8 = 3;
    /// A change of a chain.
    pub const ANNOUNCE: u8 = 4;
}

/// What an announcement tells of a chain.
pub mod change {
    /// A new block touches the address of the key.
    pub const FORGET: u8 = 1;
    /// The new block, on its parent: the tip is another one.
    pub const EXTEND: u8 = 2;
    /// The chain has another tip, and all replies of it are stale.
    pub const REORGANISE: u8 = 3;
}

/// Ports that are none of the network's.
pub mod port {
    /// The host itself.
    pub const HOST: u8 = 255;
}

/// An operation that was executed, 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Record {
    /// The operation's request, with the status of its result.
    pub frame: CompactFrame,
    /// 1 if it came in a batch.
    pub in_batch: u8,
    /// The port that it came from.
    pub port: u8,
    /// The source's balance, in full.
    pub value: U64<BigEndian>,
}

const _: () = assert!(size_of::<Record>() == 32);

/// A change of a chain, 106 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Announcement {
    /// What changes: forget, extend or reorganise.
    pub operation: u8,
    /// The chain in the upper four bits; with forget the query 1 in the lower.
    pub place: u8,
    /// With forget: the address that a new block touches.
    pub address: [u8; 32],
    /// With extend and reorganise: hash of the new tip.
    pub hash: [u8; 32],
    /// Height of the new tip.
    pub height: U64<BigEndian>,
    /// With extend: hash of the tip before.
    pub parent: [u8; 32],
}

const _: () = assert!(size_of::<Announcement>() == 106);
