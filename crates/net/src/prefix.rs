//! Network prefixes, for trust and for shared rate limits.

use std::fmt;
use std::net::{AddrParseError, IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::ParseIntError;
use std::str::FromStr;

/// A network prefix in CIDR notation, such as `10.0.0.0/8` or `fd00::/8`. An address without a length is a prefix of
/// its own.
///
/// IPv4 and IPv4 mapped into IPv6 are the same addresses here, in prefixes and in look-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

/// Why a text is not a prefix.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PrefixError {
    /// The part before the slash is invalid.
    #[error("`{text}` is not an IP address: write a prefix like 10.0.0.0/8 or fd00::/8")]
    Address {
        /// The text.
        text: String,
        /// The parser's error.
        source: AddrParseError,
    },
    /// The part after the slash is invalid.
    #[error("`{text}` is not a prefix length: write a number after the slash, like 10.0.0.0/8")]
    Length {
        /// The text.
        text: String,
        /// The parser's error.
        source: ParseIntError,
    },
    /// The length exceeds that of the address.
    #[error("a prefix of {address} has at most {most} bits, not {length}")]
    TooLong {
        /// The address.
        address: IpAddr,
        /// The length given.
        length: u8,
        /// Length of the address in bits.
        most: u8,
    },
    /// Bits after the length are set, so the text may not mean what it says.
    #[error("{address}/{length} has bits set after its length: did you mean {network}?")]
    HostBits {
        /// The address given.
        address: IpAddr,
        /// The length given.
        length: u8,
        /// The prefix that contains it.
        network: Prefix,
    },
}

/// Hosts in the same /24 of IPv4, or /56 of IPv6 (what one customer gets), share the limits of one sender.
const SHARED_IPV4_BITS: u8 = 24;
const SHARED_IPV6_BITS: u8 = 56;

/// Length of the prefix of IPv4 addresses mapped into IPv6.
const MAPPED_BITS: u8 = 96;

impl Prefix {
    /// The prefix of `length` bits that contains `address`; the address itself if `length` exceeds it.
    pub fn containing(address: IpAddr, length: u8) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => {
                let length = length.min(32);
                let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
                Self { address: Ipv4Addr::from_bits(v4.to_bits() & mask).into(), length }
            }
            IpAddr::V6(v6) => {
                let length = length.min(128);
                let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
                Self { address: Ipv6Addr::from_bits(v6.to_bits() & mask).into(), length }
            }
        }
    }

    /// The prefixes of the loopback interface, IPv4 and IPv6.
    pub fn loopback() -> Vec<Self> {
        [(IpAddr::from([127, 0, 0, 0]), 8), (IpAddr::from(Ipv6Addr::LOCALHOST), 128)]
            .map(|(address, length)| Self::containing(address, length))
            .into()
    }

    /// The prefix whose hosts count as one sender in limits.
    pub fn shared_by(address: IpAddr) -> Self {
        let is_ipv4 = address.to_canonical().is_ipv4();
        Self::containing(address, if is_ipv4 { SHARED_IPV4_BITS } else { SHARED_IPV6_BITS })
    }

    /// Whether `address` is in the prefix.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.address.is_ipv4() && Self::containing(address, self.length).address == self.address
    }

    /// Returns the prefix's first address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Returns the prefix's length in bits.
    pub fn length(&self) -> u8 {
        self.length
    }
}

/// The owner of a share, where senders share resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sharer {
    /// All trusted senders together.
    Trusted,
    /// A prefix that is not trusted.
    Stranger(Prefix),
}

impl Sharer {
    /// The sharer that a message from an address counts for.
    pub fn new(address: IpAddr, trusted: bool) -> Self {
        if trusted { Self::Trusted } else { Self::Stranger(Prefix::shared_by(address)) }
    }
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let written: IpAddr =
            address.parse().map_err(|source| PrefixError::Address { text: address.to_owned(), source })?;
        let most = if written.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => most,
            Some(text) => text.parse().map_err(|source| PrefixError::Length { text: text.to_owned(), source })?,
        };
        if length > most {
            return Err(PrefixError::TooLong { address: written, length, most });
        }
        let address = written.to_canonical();
        if address == written || length < MAPPED_BITS {
            // A mapped address whose prefix is shorter than the mapping's loses its mapping, i.e. has bits after the
            // length.
            let network = match written {
                IpAddr::V6(v6) if address != written => {
                    let mask = u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
                    Self { address: Ipv6Addr::from_bits(v6.to_bits() & mask).into(), length }
                }
                _ => Self::containing(address, length),
            };
            return if network.address == written {
                Ok(network)
            } else {
                Err(PrefixError::HostBits { address: written, length, network })
            };
        }
        let network = Self::containing(address, length - MAPPED_BITS);
        if network.address == address {
            Ok(network)
        } else {
            Err(PrefixError::HostBits { address, length: length - MAPPED_BITS, network })
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prefix(text: &str) -> Prefix {
        text.parse().unwrap()
    }

    #[test]
    fn contains_what_it_says() {
        assert!(prefix("127.0.0.0/8").contains("127.1.2.3".parse().unwrap()));
        assert!(!prefix("127.0.0.0/8").contains("128.0.0.1".parse().unwrap()));
        assert!(prefix("127.0.0.0/8").contains("::ffff:127.0.0.1".parse().unwrap()));
        assert!(!prefix("127.0.0.0/8").contains("::1".parse().unwrap()));
        assert!(prefix("::ffff:10.0.0.0/104").contains("10.9.9.9".parse().unwrap()));
        assert_eq!(prefix("::ffff:10.0.0.0/104"), prefix("10.0.0.0/8"));
        assert!(prefix("0.0.0.0/0").contains("255.255.255.255".parse().unwrap()));
        assert!(!prefix("0.0.0.0/0").contains("::1".parse().unwrap()), "all of IPv4 is not all of IPv6");
        assert!(!prefix("::/0").contains("10.0.0.1".parse().unwrap()), "all of IPv6 is not all of IPv4");
        assert!(prefix("::1").contains("::1".parse().unwrap()));
        assert_eq!(prefix("192.0.2.7").to_string(), "192.0.2.7/32");
    }

    #[test]
    fn says_what_is_wrong() {
        let error = |text: &str| text.parse::<Prefix>().unwrap_err().to_string();
        assert_eq!(error("10.0.0.1/8"), "10.0.0.1/8 has bits set after its length: did you mean 10.0.0.0/8?");
        assert_eq!(error("10.0.0.0/33"), "a prefix of 10.0.0.0 has at most 32 bits, not 33");
        assert_eq!(error("10.0/8"), "`10.0` is not an IP address: write a prefix like 10.0.0.0/8 or fd00::/8");
        assert!(error("10.0.0.0/x").starts_with("`x` is not a prefix length"));
        assert!(error("").starts_with("`` is not an IP address"));
        assert!("::ffff:10.0.0.0/64".parse::<Prefix>().is_err(), "it would cut the mapping in two");
    }

    proptest! {
        #[test]
        fn any_text_parses_or_fails(text in ".{0,48}") {
            let _ = text.parse::<Prefix>();
        }

        #[test]
        fn ipv4_agrees_with_bit_by_bit(network: u32, length in 0u8..=32, address: u32) {
            let prefix = Prefix::containing(Ipv4Addr::from_bits(network).into(), length);
            let same = (0..length).all(|bit| (network ^ address) >> (31 - bit) & 1 == 0);
            prop_assert_eq!(prefix.contains(Ipv4Addr::from_bits(address).into()), same);
            prop_assert_eq!(prefix.contains(Ipv4Addr::from_bits(address).to_ipv6_mapped().into()), same);
        }

        #[test]
        fn ipv6_agrees_with_bit_by_bit(network: u128, length in 0u8..=128, flipped in 0u8..128) {
            let prefix = Prefix::containing(Ipv6Addr::from_bits(network).into(), length);
            let address = network ^ 1 << (127 - flipped);
            prop_assert_eq!(prefix.contains(Ipv6Addr::from_bits(address).into()), flipped >= length);
        }

        #[test]
        fn display_parses_back(bits: u128, length in 0u8..=128, v4: bool) {
            let address =
                if v4 { Ipv4Addr::from_bits(bits as u32).into() } else { IpAddr::from(Ipv6Addr::from_bits(bits)) };
            let prefix = Prefix::containing(address, length);
            prop_assert_eq!(prefix.to_string().parse::<Prefix>().unwrap(), prefix);
        }
    }
}
