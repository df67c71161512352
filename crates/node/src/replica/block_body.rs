//! The body of an ordered block: its time, its proposer's executed height, and groups of operations, each from one
//! frame.

use bytes::{BufMut, Bytes, BytesMut};
use spv::{
    Hash,
    finality::{APPROVAL_SIZE, Approval},
};
use wire::{
    Operation, SignedOperation, Status,
    linked::{chains, is_well_formed},
};
use zerocopy::{
    FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned,
    byteorder::big_endian::{U32, U64},
};

/// The format of bodies: replicas of another one are of another network.
pub const FORMAT: u8 = 2;

/// The longest body of a block. It has up to 5,698 signed operations. Replicas verify them when their frames are
/// announced, before the block: only a leader that announces nothing makes the others verify a whole body while they
/// wait, up to 0.4 s on one processor, and such a leader could be silent as well.
pub const LONGEST: usize = 1 << 20;

/// Maximum number of approvals of a block: their signatures are verified during execution, in some milliseconds.
pub const MOST_APPROVALS: usize = 64;

/// The start of a body.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Header {
    /// Microseconds since the Unix epoch.
    time: U64,
    /// Height of the block whose header's hash is the block's statement.
    executed: U64,
    /// The state that the header does not cover: [`spv::hash::state_hash`].
    state: Hash,
}

/// The start of a group.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct GroupHeader {
    /// The replica that received the frame.
    origin: u8,
    /// 1 for operations, 2 for signed ones, 3 for approvals of a change of the set.
    format: u8,
    /// 1 if the frame came from a trusted prefix.
    trusted: u8,
    reserved: u8,
    count: U32,
    /// The frame's number at its origin.
    number: U64,
}

const PLAIN: u8 = 1;
const SIGNED: u8 = 2;
const APPROVALS: u8 = 3;

/// The key of a group: the replica that received its frame, and the frame's number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub origin: u8,
    pub number: u64,
}

/// The entries of a group.
#[derive(Clone, Copy, Debug)]
pub enum Entries<'a> {
    Plain(&'a [Operation]),
    Signed(&'a [SignedOperation]),
    Approvals(&'a [Approval]),
}

/// The encoded operations of one frame, with a checked format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group(Bytes);

impl Group {
    /// A group of entries to execute: no operation has a status.
    pub fn new(key: Key, trusted: bool, entries: Entries<'_>) -> Self {
        let (format, count, bytes) = match entries {
            Entries::Plain(entries) => (PLAIN, entries.len(), entries.as_bytes()),
            Entries::Signed(entries) => (SIGNED, entries.len(), entries.as_bytes()),
            Entries::Approvals(entries) => (APPROVALS, entries.len(), entries.as_bytes()),
        };
        let header = GroupHeader {
            origin: key.origin,
            format,
            trusted: trusted.into(),
            reserved: 0,
            count: U32::new(count as u32),
            number: key.number.into(),
        };
        Self([header.as_bytes(), bytes].concat().into())
    }

    /// A group of the operations of a frame of signed ones that were not refused.
    pub fn of_signed(key: Key, trusted: bool, signed: &[SignedOperation]) -> Self {
        let signed = Vec::from_iter(signed.iter().filter(|signed| signed.operation.status.get() == 0).copied());
        Self::new(key, trusted, Entries::Signed(&signed))
    }

    /// The first group of some bytes, which are left without it.
    fn take(bytes: &mut Bytes) -> Option<Self> {
        let (header, rest) = GroupHeader::ref_from_prefix(bytes).ok()?;
        let size = match header.format {
            PLAIN => Operation::LENGTH,
            SIGNED => SignedOperation::LENGTH,
            APPROVALS => APPROVAL_SIZE,
            _ => return None,
        };
        let length = size.checked_mul(header.count.get() as usize)?;
        let is_formed = header.trusted <= 1 && header.reserved == 0 && length > 0 && length <= rest.len();
        let group = is_formed.then(|| size_of::<GroupHeader>() + length)?;
        let group = Self(bytes.split_to(group));
        group.is_admissible().then_some(group)
    }

    /// Decodes a group from all of some bytes.
    pub fn decode(mut bytes: Bytes) -> Option<Self> {
        let group = Self::take(&mut bytes)?;
        bytes.is_empty().then_some(group)
    }

    /// Returns the encoded group.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    /// Returns the bytes of the entries, without the header.
    pub fn content(&self) -> Bytes {
        self.0.slice(size_of::<GroupHeader>()..)
    }

    fn parts(&self) -> (&GroupHeader, &[u8]) {
        GroupHeader::ref_from_prefix(&self.0).expect("a group has a header")
    }

    /// Returns the group's key.
    pub fn key(&self) -> Key {
        let (header, _) = self.parts();
        Key { origin: header.origin, number: header.number.get() }
    }

    /// Returns whether the group's frame came from a trusted prefix.
    pub fn is_trusted(&self) -> bool {
        self.parts().0.trusted == 1
    }

    /// Returns the group's entries.
    pub fn entries(&self) -> Entries<'_> {
        let (header, entries) = self.parts();
        match header.format {
            SIGNED => Entries::Signed(<[SignedOperation]>::ref_from_bytes(entries).expect("the shape was checked")),
            APPROVALS => Entries::Approvals(<[Approval]>::ref_from_bytes(entries).expect("the shape was checked")),
            _ => Entries::Plain(<[Operation]>::ref_from_bytes(entries).expect("the shape was checked")),
        }
    }

    /// Returns the number of operations; 0 for approvals.
    pub fn operations(&self) -> usize {
        match self.entries() {
            Entries::Plain(entries) => entries.len(),
            Entries::Signed(entries) => entries.len(),
            Entries::Approvals(_) => 0,
        }
    }

    /// Returns the signed operations; none of other groups.
    pub fn signed(&self) -> &[SignedOperation] {
        match self.entries() {
            Entries::Signed(entries) => entries,
            Entries::Plain(_) | Entries::Approvals(_) => &[],
        }
    }

    /// Returns the approvals; none of groups of operations.
    pub fn approvals(&self) -> &[Approval] {
        match self.entries() {
            Entries::Approvals(entries) => entries,
            Entries::Plain(_) | Entries::Signed(_) => &[],
        }
    }

    /// Returns the group under another key.
    pub fn renamed(&self, key: Key) -> Self {
        Self::new(key, self.is_trusted(), self.entries())
    }

    /// Whether a node would accept each operation from a client, apart from signatures, and no linked chain is cut off.
    fn is_admissible(&self) -> bool {
        match self.entries() {
            // Only its key may speak for a keyed account.
            Entries::Plain(entries) => {
                let is_admissible = |entry: &Operation| entry.check() == Status::Ok && !entry.acts_for_key();
                self.is_trusted() && entries.iter().all(is_admissible) && chains(entries).all(is_well_formed)
            }
            Entries::Signed(entries) => {
                entries.iter().all(|entry| entry.check() == Status::Ok) && chains(entries).all(is_well_formed)
            }
            Entries::Approvals(_) => !self.is_trusted(),
        }
    }
}

/// The body of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// Microseconds since the Unix epoch.
    pub time: u64,
    /// Height of the block whose header's hash is the block's statement.
    pub executed: u64,
    /// The state that the header does not cover: [`spv::hash::state_hash`].
    pub state: Hash,
    /// The groups to execute, in order.
    pub groups: Vec<Group>,
}

impl Body {
    /// Bytes of a body without groups.
    pub const EMPTY: usize = size_of::<Header>();

    /// Encodes the body.
    pub fn encode(&self) -> Bytes {
        let length: usize = self.groups.iter().map(|group| group.bytes().len()).sum();
        let mut bytes = BytesMut::with_capacity(Self::EMPTY + length);
        let header = Header { time: self.time.into(), executed: self.executed.into(), state: self.state };
        bytes.put_slice(header.as_bytes());
        self.groups.iter().for_each(|group| bytes.put_slice(group.bytes()));
        bytes.freeze()
    }

    /// Decodes a body.
    pub fn decode(bytes: &Bytes) -> Option<Self> {
        let (header, _) = Header::read_from_prefix(bytes).ok()?;
        let mut rest = bytes.slice(Self::EMPTY..);
        let mut groups = Vec::new();
        while !rest.is_empty() {
            groups.push(Group::take(&mut rest)?);
        }
        Some(Self { time: header.time.get(), executed: header.executed.get(), state: header.state, groups })
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    proptest! {
        /// Bodies and groups come from other replicas, which may send anything.
        #[test]
        fn whatever_decodes_encodes_the_same(
            mut bytes in vec(prop_oneof![3 => 0..4_u8, 1 => any::<u8>()], 0..440),
            (format, count) in (0..4_u8, 0..3_u8),
            operations in any::<bool>(),
        ) {
            if operations && bytes.len() > 72 {
                // A header that fits a good operation.
                let header = [0, format, 1, 0, 0, 0, 0, count, 0, 0, 0, 0, 0, 0, 0, 7];
                bytes.splice(Body::EMPTY.., [&header, transfer(5).as_bytes(), transfer(6).as_bytes()].concat());
            }
            let bytes = Bytes::from(bytes);
            if let Some(body) = Body::decode(&bytes) {
                prop_assert_eq!(body.encode(), bytes.clone());
            }
            if let Some(group) = Group::decode(bytes.clone()) {
                prop_assert_eq!(group.bytes(), &bytes);
                prop_assert_eq!(group.operations() > 0, group.approvals().is_empty());
                prop_assert!(group.signed().len() <= group.operations());
                let key = Key { number: group.key().number.wrapping_add(1), ..group.key() };
                prop_assert_eq!(Group::decode(group.renamed(key).bytes().clone()), Some(group.renamed(key)));
            }
        }
    }

    fn group(number: u64, operations: &[Operation]) -> Group {
        Group::new(Key { origin: 2, number }, true, Entries::Plain(operations))
    }

    fn transfer(amount: u64) -> Operation {
        Operation::transfer(1_u32.into(), 1_u32.into(), 2_u32.into(), amount)
    }

    #[test]
    fn a_body_is_what_it_was_after_it_travelled() {
        let groups = vec![group(1, &[transfer(5), transfer(6)]), group(7, &[transfer(1)])];
        let body = Body { time: 9, executed: 3, state: [5; 32], groups };
        let bytes = body.encode();
        assert_eq!(Body::decode(&bytes), Some(body.clone()));
        assert_eq!(Body::decode(&Body::default().encode()), Some(Body::default()));
        let ends: Vec<_> = (0..bytes.len()).filter(|&end| Body::decode(&bytes.slice(..end)).is_some()).collect();
        let first = Body::EMPTY + body.groups[0].bytes().len();
        assert_eq!(ends, [Body::EMPTY, first], "a part of a group is not a group");
    }

    #[test]
    fn what_no_node_takes_from_a_client_is_no_group() {
        assert!(Group::decode(group(1, &[transfer(5)]).bytes().clone()).is_some());
        let refused = Operation { status: 3.into(), ..transfer(5) };
        for operation in [transfer(0), refused, Operation::create(1_u32.into(), wire::AccountId::keyed(&[1; 32]))] {
            assert!(Group::decode(group(1, &[operation]).bytes().clone()).is_none(), "{operation:?}");
        }
        assert!(Group::decode(group(1, &[]).bytes().clone()).is_none());
        // No group ends inside a linked chain.
        let chain = [transfer(5).linked(), transfer(6)];
        assert!(Group::decode(group(1, &chain).bytes().clone()).is_some());
        assert!(Group::decode(group(1, &chain[..1]).bytes().clone()).is_none());
    }
}
