//! Messages of the fast path, see `docs/fast-path.md`.

use crate::{FastBatch, FastOrder, FastVote, Operation};
use zerocopy::{FromBytes, IntoBytes};

impl FastOrder {
    /// Length of the part that the signature covers.
    pub const SIGNED_LENGTH: usize = Self::LENGTH - 64;

    /// An order without its signature. `public_key` is the x coordinate of a point with an even y.
    pub fn unsigned(operation: Operation, sequence: u64, public_key: [u8; 32]) -> Self {
        Self {
            operation,
            sequence: sequence.into(),
            reserved: [0; 8],
            public_key,
            reserved_key: [0; 8],
            signature: [0; 64],
        }
    }

    /// The bytes that the signature covers.
    pub fn signed_bytes(&self) -> &[u8; Self::SIGNED_LENGTH] {
        self.as_bytes().first_chunk().expect("an order is longer")
    }
}

impl FastBatch {
    /// Maximum number of orders in a batch.
    pub const MAX_ORDERS: usize = 1024;

    /// The header of a batch; `None` if it holds no order or too many.
    pub fn new(generation: u32, orders: usize) -> Option<Self> {
        let count = u16::try_from(orders).ok().filter(|_| (1..=Self::MAX_ORDERS).contains(&orders))?;
        Some(Self { generation: generation.into(), count: count.into(), reserved: 0.into() })
    }

    /// Parses a batch; `None` if its length or count is wrong.
    pub fn parse(bytes: &[u8]) -> Option<(&Self, &[FastOrder])> {
        let (header, rest) = Self::ref_from_prefix(bytes).ok()?;
        let count = usize::from(header.count.get());
        let orders = <[FastOrder]>::ref_from_bytes(rest).ok()?;
        ((1..=Self::MAX_ORDERS).contains(&count) && orders.len() == count && header.reserved.get() == 0)
            .then_some((header, orders))
    }
}

impl FastVote {
    /// Bytes of the bitmap for a number of orders.
    pub const fn bitmap_length(orders: usize) -> usize {
        orders.div_ceil(8)
    }

    /// Length of a vote for a number of orders.
    pub const fn length(orders: usize) -> usize {
        Self::LENGTH + Self::bitmap_length(orders) + 64
    }

    /// Parses the vote at the start of `bytes`. Returns it and the bytes that follow; `None` if the bytes are too few,
    /// the count is out of range, or a bit beyond the last order is set.
    pub fn parse(bytes: &[u8]) -> Option<(ParsedVote<'_>, &[u8])> {
        let (header, _) = Self::ref_from_prefix(bytes).ok()?;
        let count = usize::from(header.count.get());
        if !(1..=FastBatch::MAX_ORDERS).contains(&count) || header.reserved != 0 {
            return None;
        }
        let (vote, rest) = bytes.split_at_checked(Self::length(count))?;
        let (signed, signature) = vote.split_last_chunk()?;
        let bitmap = &signed[Self::LENGTH..];
        let beyond = if count.is_multiple_of(8) { 0 } else { u8::MAX << (count % 8) };
        let is_clean = bitmap.last().is_some_and(|last| last & beyond == 0);
        is_clean.then_some((ParsedVote { header, bitmap, signed, signature }, rest))
    }
}

/// A vote in the bytes that it arrived in.
#[derive(Clone, Copy, Debug)]
pub struct ParsedVote<'a> {
    /// The first 40 bytes.
    pub header: &'a FastVote,
    /// One bit for each order that the replica accepts.
    pub bitmap: &'a [u8],
    /// The bytes that the signature covers.
    pub signed: &'a [u8],
    /// The signature.
    pub signature: &'a [u8; 64],
}

impl ParsedVote<'_> {
    /// Whether the replica accepts the order at a position of the batch.
    pub fn accepts(&self, position: usize) -> bool {
        self.bitmap.get(position / 8).is_some_and(|byte| byte >> (position % 8) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::{AccountId, TransactionId};
    use std::vec::Vec;

    fn order(sequence: u64) -> FastOrder {
        let transfer = Operation::transfer(TransactionId::ZERO, AccountId::ZERO, AccountId::ZERO, 1);
        FastOrder::unsigned(transfer, sequence, [2; 32])
    }

    #[test]
    fn a_batch_has_the_orders_that_it_counts() {
        let orders = [order(1), order(2)];
        let bytes = [FastBatch::new(7, 2).unwrap().as_bytes(), orders.as_bytes()].concat();
        let (header, parsed) = FastBatch::parse(&bytes).unwrap();
        assert_eq!((header.generation.get(), parsed), (7, &orders[..]));
        for cut in 0..bytes.len() {
            assert!(FastBatch::parse(&bytes[..cut]).is_none(), "{cut} bytes");
        }
        assert!(FastBatch::new(0, 0).is_none() && FastBatch::new(0, FastBatch::MAX_ORDERS + 1).is_none());
        let many = [FastBatch { count: 1025.into(), ..*header }.as_bytes(), &[0; 1025 * FastOrder::LENGTH]].concat();
        assert!(FastBatch::parse(&many).is_none());
    }

    #[test]
    fn a_vote_has_a_bit_for_each_order() {
        for count in [1, 7, 8, 9, 1024] {
            let header =
                FastVote { generation: 1.into(), root: [3; 32], count: (count as u16).into(), replica: 2, reserved: 0 };
            let mut bitmap = std::vec![0; FastVote::bitmap_length(count)];
            bitmap[(count - 1) / 8] = 1 << ((count - 1) % 8);
            let bytes: Vec<u8> = [header.as_bytes(), &bitmap, &[9; 64]].concat();
            let longer = [&bytes[..], &[1, 2, 3]].concat();
            let (vote, rest) = FastVote::parse(&longer).unwrap();
            assert_eq!((vote.header, vote.signature, rest), (&header, &[9; 64], &[1, 2, 3][..]));
            assert_eq!(vote.signed, &bytes[..bytes.len() - 64]);
            assert!(vote.accepts(count - 1) && !vote.accepts(count) && (count == 1 || !vote.accepts(0)));
            for cut in 0..bytes.len() {
                assert!(FastVote::parse(&bytes[..cut]).is_none(), "{count} orders, {cut} bytes");
            }
            if count % 8 != 0 {
                let mut beyond = bytes.clone();
                beyond[FastVote::LENGTH + (count - 1) / 8] |= 0x80;
                assert!(FastVote::parse(&beyond).is_none(), "a bit beyond {count} orders");
            }
        }
    }
}
