//! A replica and its address.
use crate::committee::ReplicaName;
use spv::finality::{MemberAction, MemberChange};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::{fmt, str::FromStr};
use thiserror::Error;

/// A replica: its name and address. The text form is 128 hexadecimal digits, `@` and the address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its public keys.
    pub name: ReplicaName,
    /// The address it listens on.
    pub address: SocketAddr,
}

/// The text is not a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "a replica is 128 hexadecimal digits of its two public keys, @ and its address (`turnpike cluster init` prints them)"
)]
pub struct ParseMemberError;

impl Member {
    /// The change by which the replica joins the set of a generation, with this number.
    pub fn joins(&self, generation: u32, number: u8) -> MemberChange {
        let address = match self.address.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        MemberChange {
            port: self.address.port().into(),
            address: address.octets(),
            ..self.change(MemberAction::Add, generation, number)
        }
    }

    /// The change by which the replica with this number leaves the set of a generation.
    pub fn leaves(&self, generation: u32, number: u8) -> MemberChange {
        self.change(MemberAction::Remove, generation, number)
    }

    fn change(&self, action: MemberAction, generation: u32, number: u8) -> MemberChange {
        MemberChange {
            action: action as u8,
            number,
            port: 0.into(),
            generation: generation.into(),
            votes: self.name.votes.to_bytes(),
            identity: self.name.connections(),
            address: [0; 16],
        }
    }

    /// The replica that a change names. Its address is unspecified if it leaves. `None` if its keys are invalid.
    pub fn from_change(change: &MemberChange) -> Option<Self> {
        let mut name = [0; 64];
        name[..32].copy_from_slice(&change.votes);
        name[32..].copy_from_slice(&change.identity);
        let address = Ipv6Addr::from(change.address).to_canonical();
        Some(Self { name: ReplicaName::from_bytes(&name)?, address: SocketAddr::new(address, change.port.get()) })
    }
}

impl FromStr for Member {
    type Err = ParseMemberError;

    fn from_str(text: &str) -> Result<Self, ParseMemberError> {
        let (digits, address) = text.split_once('@').ok_or(ParseMemberError)?;
        if digits.len() != 128 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(ParseMemberError);
        }
        let mut bytes = [0; 64];
        for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
            *byte = u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| ParseMemberError)?;
        }
        let name = ReplicaName::from_bytes(&bytes).ok_or(ParseMemberError)?;
        Ok(Self { name, address: address.parse().map_err(|_| ParseMemberError)? })
    }
}

impl fmt::Display for Member {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.to_bytes().iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))?;
        write!(formatter, "@{}", self.address)
    }
}
