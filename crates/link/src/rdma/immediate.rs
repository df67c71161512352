//! The immediate data of a SEND on `rdma://`, 32 bits per message: credits u16, kind u8, reserved u8.
//!
//! The queue pair itself guarantees length and order of messages.

use crate::Error;

/// Kind of a SEND.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Carries a message, which may be empty.
    Message,
    /// Carries credits only.
    Credits,
    /// The last one: the sender closes the channel.
    Close,
}

/// The immediate word of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Immediate {
    /// How many additional messages the receiver may send.
    pub(super) credits: u16,
    pub(super) kind: Kind,
}

impl Immediate {
    pub(super) fn encode(self) -> u32 {
        let kind = match self.kind {
            Kind::Message => 0,
            Kind::Credits => 1,
            Kind::Close => 2,
        };
        u32::from(self.credits) << 16 | kind << 8
    }

    /// Decodes the word that a peer sent with `bytes` bytes.
    pub(super) fn decode(immediate: u32, bytes: u32) -> Result<Self, Error> {
        let [c0, c1, kind, reserved] = immediate.to_be_bytes();
        let credits = u16::from_be_bytes([c0, c1]);
        let kind = match kind {
            0 => Kind::Message,
            1 => Kind::Credits,
            2 => Kind::Close,
            _ => return Err(Error::BadFrame("unknown kind")),
        };
        if reserved != 0 {
            return Err(Error::BadFrame("the reserved byte is set"));
        }
        if kind != Kind::Message && bytes != 0 {
            return Err(Error::BadFrame("a frame of credits or a close carries a message"));
        }
        if kind == Kind::Credits && credits == 0 {
            return Err(Error::BadFrame("a frame of credits carries none"));
        }
        Ok(Self { credits, kind })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(credits in 1u16.., kind in 0..3usize) {
            let kind = [Kind::Message, Kind::Credits, Kind::Close][kind];
            let immediate = Immediate { credits, kind };
            prop_assert_eq!(Immediate::decode(immediate.encode(), 0), Ok(immediate));
        }

        #[test]
        fn what_is_decoded_is_encoded_alike(bits: u32, kind in 0..4u32, bytes in 0..2u32) {
            for bits in [bits, bits & 0xffff_0000 | kind << 8] {
                match Immediate::decode(bits, bytes) {
                    Ok(immediate) => {
                        prop_assert_eq!(immediate.encode(), bits);
                        prop_assert!(bytes == 0 || immediate.kind == Kind::Message);
                    }
                    Err(error) => prop_assert!(matches!(error, Error::BadFrame(_))),
                }
            }
        }
    }
}
