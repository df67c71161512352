//! Ordered blocks.
use bytes::{BufMut, Bytes};
use commonware_codec::{Buf, EncodeSize, Error, FixedSize, Read, ReadExt, Write};
use commonware_consensus::types::Height;
use commonware_cryptography::{Digestible, sha256::Digest};
use spv::Hash;
use spv::finality::OrderedHeader;
use spv::hash::body_hash;

/// A payload that a replica proposes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The application's statement that the replicas vouch for besides the order, see [`OrderedHeader::statement`].
    pub statement: Hash,
    /// The ordered data, no longer than the configured limit.
    pub body: Bytes,
}

/// A payload at its position in the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    header: OrderedHeader,
    body: Bytes,
}

impl Block {
    /// The genesis block: height 0 and an empty body, identified by the network and its founders.
    pub(crate) fn genesis(network: Hash, replicas: Hash) -> Self {
        let header = OrderedHeader { height: 0.into(), parent: network, statement: replicas, body: body_hash(&[]) };
        Self { header, body: Bytes::new() }
    }

    /// The block that appends a payload to this one.
    pub(crate) fn child(&self, payload: Payload) -> Self {
        let height = self.height() + 1;
        Self::new(height, self.hash(), payload)
    }

    fn new(height: u64, parent: Hash, Payload { statement, body }: Payload) -> Self {
        let header = OrderedHeader { height: height.into(), parent, statement, body: body_hash(&body) };
        Self { header, body }
    }

    /// Returns the block's header.
    pub fn header(&self) -> &OrderedHeader {
        &self.header
    }

    /// Returns the block's height; the first block after genesis has 1.
    pub fn height(&self) -> u64 {
        self.header.height.get()
    }

    /// The statement that the replicas vouch for besides the order.
    pub fn statement(&self) -> &Hash {
        &self.header.statement
    }

    /// The ordered data.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// Returns the block's hash, which identifies it.
    pub fn hash(&self) -> Hash {
        self.header.hash()
    }
}

/// The body's hash is not sent but computed, so that no block can carry a body that is not its own.
impl Write for Block {
    fn write(&self, buffer: &mut impl BufMut) {
        self.height().write(buffer);
        self.header.parent.write(buffer);
        self.header.statement.write(buffer);
        self.body.write(buffer);
    }
}

impl EncodeSize for Block {
    fn encode_size(&self) -> usize {
        u64::SIZE + 2 * size_of::<Hash>() + self.body.encode_size()
    }
}

impl Read for Block {
    /// The maximum body length.
    type Cfg = usize;

    fn read_cfg(buffer: &mut impl Buf, longest: &usize) -> Result<Self, Error> {
        let (height, parent, statement) = (u64::read(buffer)?, Hash::read(buffer)?, Hash::read(buffer)?);
        let body = Bytes::read_cfg(buffer, &(..=*longest).into())?;
        Ok(Self::new(height, parent, Payload { statement, body }))
    }
}

impl Digestible for Block {
    type Digest = Digest;

    fn digest(&self) -> Digest {
        Digest(self.hash())
    }
}

impl commonware_consensus::Heightable for Block {
    fn height(&self) -> Height {
        Height::new(self.height())
    }
}

impl commonware_consensus::Block for Block {
    fn parent(&self) -> Digest {
        Digest(self.header.parent)
    }
}

impl commonware_consensus::BoundedBlock for Block {
    fn max_encode_size(longest: &usize) -> usize {
        u64::SIZE + 2 * size_of::<Hash>() + longest.encode_size() + longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use commonware_codec::{Decode, Encode};
    use commonware_consensus::BoundedBlock;

    fn block() -> Block {
        Block::genesis([1; 32], [2; 32]).child(Payload { statement: [3; 32], body: Bytes::from_static(b"body") })
    }

    #[test]
    fn a_block_is_what_it_was_after_it_travelled() {
        let block = block();
        let bytes = block.encode();
        assert_eq!(bytes.len(), block.encode_size());
        assert_eq!(Block::decode_cfg(bytes.clone(), &4).unwrap(), block);
        assert!(Block::decode_cfg(bytes, &3).is_err(), "longer than the limit");
        assert!(block.header().has_body(b"body") && !block.header().has_body(b"bodY"));
    }

    #[test]
    fn each_byte_changes_the_name() {
        let block = block();
        let bytes = block.encode();
        for place in 0..bytes.len() {
            let mut changed = bytes.to_vec();
            changed[place] ^= 1;
            let changed = Block::decode_cfg(Bytes::from(changed), &4);
            assert!(changed.is_err() || changed.unwrap().hash() != block.hash(), "byte {place}");
        }
    }

    #[test]
    fn no_block_is_longer_than_its_bound() {
        let longest = 300;
        let payload = Payload { statement: [0; 32], body: Bytes::from(vec![7; longest]) };
        assert_eq!(Block::genesis([1; 32], [2; 32]).child(payload).encode_size(), Block::max_encode_size(&longest));
    }
}
