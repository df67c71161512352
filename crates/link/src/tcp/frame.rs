//! The bytes of `tcp://`: a greeting each way, then frames. All integers are big-endian.
//!
//! ```text
//! greeting   magic "TLNK" | version u16 | buffers u16 | buffer_bytes u32 | encrypted u8 | reserved 3 bytes
//! frame      length u32 | sequence u32 | credits u16 | kind u8 | reserved u8 | length bytes of message
//! ```

use crate::{Config, Error};

const MAGIC: [u8; 4] = *b"TLNK";

/// The version of the protocol.
pub const VERSION: u16 = 1;

/// The first bytes that a side sends: its buffers, and whether it encrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// Buffers for messages of the peer, which are the peer's initial credits.
    pub buffers: u16,
    /// Bytes per buffer.
    pub buffer_bytes: u32,
    /// Whether it authenticates its peer and encrypts its messages.
    pub is_encrypted: bool,
}

impl Greeting {
    /// Length of a greeting in bytes.
    pub const BYTES: usize = 16;

    /// The greeting of a channel with this configuration.
    pub fn from_config(config: &Config) -> Self {
        Self { buffers: config.buffers, buffer_bytes: config.buffer_bytes, is_encrypted: config.identity.is_some() }
    }

    /// Encodes the greeting.
    pub fn encode(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..6].copy_from_slice(&VERSION.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.buffers.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.buffer_bytes.to_be_bytes());
        bytes[12] = u8::from(self.is_encrypted);
        bytes
    }

    /// Decodes a greeting from a peer.
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Result<Self, Error> {
        let wrong = |reason| Error::Greeting { ours: VERSION, reason };
        let [m0, m1, m2, m3, v0, v1, n0, n1, b0, b1, b2, b3, encrypted, r1, r2, r3] = *bytes;
        if [m0, m1, m2, m3] != MAGIC {
            return Err(wrong("its greeting has the wrong magic"));
        }
        if u16::from_be_bytes([v0, v1]) != VERSION {
            return Err(wrong("it speaks another version"));
        }
        let greeting = Self {
            buffers: u16::from_be_bytes([n0, n1]),
            buffer_bytes: u32::from_be_bytes([b0, b1, b2, b3]),
            is_encrypted: encrypted == 1,
        };
        if encrypted > 1 || [r1, r2, r3] != [0; 3] {
            return Err(wrong("reserved bytes are set"));
        }
        if !(2..=Config::MAX_BUFFERS).contains(&greeting.buffers)
            || !(64..=Config::MAX_BUFFER_BYTES).contains(&greeting.buffer_bytes)
        {
            return Err(wrong("its number or size of buffers is not valid"));
        }
        Ok(greeting)
    }

    /// Refuses a peer if only one of the two sides encrypts.
    pub fn fits(self, ours: &Config) -> Result<Self, Error> {
        let reason = match (self.is_encrypted, ours.identity.is_some()) {
            (true, true) | (false, false) => return Ok(self),
            (true, false) => "it encrypts, and this side has no identity",
            (false, true) => "it does not encrypt, and this side does",
        };
        Err(Error::Greeting { ours: VERSION, reason })
    }
}

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Carries a message, which may be empty.
    Message,
    /// Carries credits only.
    Credits,
}

/// Header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Length of the message in bytes.
    pub length: u32,
    /// Number of the frame in its direction, counted from 0, modulo 2^32.
    pub sequence: u32,
    /// How many additional messages the receiver of this frame may send.
    pub credits: u16,
    /// Kind of the frame.
    pub kind: Kind,
}

impl Header {
    /// Length of a header in bytes.
    pub const BYTES: usize = 12;

    /// Encodes the header.
    pub fn encode(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.length.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[8..10].copy_from_slice(&self.credits.to_be_bytes());
        bytes[10] = match self.kind {
            Kind::Message => 0,
            Kind::Credits => 1,
        };
        bytes
    }

    /// Decodes a header from a peer, when frame `expected` is next and messages may have up to `limit` bytes.
    pub fn decode(bytes: &[u8; Self::BYTES], expected: u32, limit: u32) -> Result<Self, Error> {
        let [l0, l1, l2, l3, s0, s1, s2, s3, c0, c1, kind, reserved] = *bytes;
        let kind = match kind {
            0 => Kind::Message,
            1 => Kind::Credits,
            _ => return Err(Error::BadFrame("unknown kind")),
        };
        let header = Self {
            length: u32::from_be_bytes([l0, l1, l2, l3]),
            sequence: u32::from_be_bytes([s0, s1, s2, s3]),
            credits: u16::from_be_bytes([c0, c1]),
            kind,
        };
        if reserved != 0 {
            return Err(Error::BadFrame("the reserved byte is set"));
        }
        if header.sequence != expected {
            return Err(Error::OutOfSequence { expected, got: header.sequence });
        }
        if header.length > limit {
            return Err(Error::TooLong { length: header.length, limit });
        }
        if kind == Kind::Credits && (header.length != 0 || header.credits == 0) {
            return Err(Error::BadFrame("a frame of credits carries a message, or no credits"));
        }
        Ok(header)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(length: u32, sequence: u32, credits in 1u16.., message: bool) {
            let kind = if message { Kind::Message } else { Kind::Credits };
            let header = Header { length: if message { length } else { 0 }, sequence, credits, kind };
            prop_assert_eq!(Header::decode(&header.encode(), sequence, u32::MAX), Ok(header));
        }

        #[test]
        fn what_is_decoded_is_encoded_alike(bytes: [u8; Header::BYTES], limit: u32) {
            let [_, _, _, _, s0, s1, s2, s3, ..] = bytes;
            if let Ok(header) = Header::decode(&bytes, u32::from_be_bytes([s0, s1, s2, s3]), limit) {
                prop_assert!(header.length <= limit);
                prop_assert_eq!(header.encode(), bytes);
            }
        }

        #[test]
        fn a_greeting_has_one_form(bytes: [u8; Greeting::BYTES], buffers in 2..=Config::MAX_BUFFERS,
            buffer_bytes in 64..=Config::MAX_BUFFER_BYTES, is_encrypted: bool, at in 0..Greeting::BYTES, flip in 1u8..) {
            prop_assert!(Greeting::decode(&bytes).is_err(), "the magic is not found by chance");
            let greeting = Greeting { buffers, buffer_bytes, is_encrypted };
            let mut bytes = greeting.encode();
            prop_assert_eq!(Greeting::decode(&bytes), Ok(greeting));
            bytes[at] ^= flip;
            prop_assert_ne!(Greeting::decode(&bytes), Ok(greeting));
        }
    }
}
