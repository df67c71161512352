//! The chain of headers that a light client keeps of the own chain.
use crate::hash::{Hash, ZERO_HASH};
use crate::header::{BlockHeader, HEADER_VERSION, MAX_BLOCK_TRANSACTIONS};
use thiserror::Error;

/// Why a header cannot be a part of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// A version that this library does not know.
    #[error(
        "header at height {height} has version {version}; this program knows version {HEADER_VERSION} only, update it"
    )]
    Version {
        /// Height of the header.
        height: u64,
        /// The version found.
        version: u32,
    },
    /// The first header is not the one that the client was told to trust.
    #[error("the node is of another network: its genesis does not hash to the network id that was asked for")]
    WrongNetwork,
    /// A genesis header that has transactions, accounts or a height.
    #[error("the genesis header is not that of an empty chain")]
    GenesisNotEmpty,
    /// The height does not follow the one before.
    #[error("header has height {found} where {expected} was due")]
    Height {
        /// The height that was due.
        expected: u64,
        /// The height found.
        found: u64,
    },
    /// The header does not name the one before it.
    #[error("header at height {height} does not link to the one before it; the chain may have been reorganised")]
    Link {
        /// Height of the header.
        height: u64,
    },
    /// Time runs backwards.
    #[error("header at height {height} is older than the one before it")]
    Timestamp {
        /// Height of the header.
        height: u64,
    },
    /// More transactions than a block may have, or a root that does not fit their number.
    #[error("header at height {height} has a number of transactions that cannot be")]
    Transactions {
        /// Height of the header.
        height: u64,
    },
    /// The number of accounts fell, or grew by more than the block's transactions, or its root does not fit it.
    #[error("header at height {height} has a number of accounts that cannot be")]
    Accounts {
        /// Height of the header.
        height: u64,
    },
    /// A replacement that begins beyond the tip or at genesis.
    #[error("headers cannot be replaced from height {height} on")]
    ReplaceRange {
        /// Where the replacement would begin.
        height: u64,
    },
    /// A replacement that ends before the present tip does.
    #[error("the replacement ends at height {offered}, before the present tip at {present}")]
    Shorter {
        /// Height of the last header offered.
        offered: u64,
        /// Height of the present tip.
        present: u64,
    },
}

/// Checked headers from genesis to the tip, each with its hash.
#[derive(Clone, Debug)]
pub struct HeaderChain {
    headers: Vec<BlockHeader>,
    hashes: Vec<Hash>,
}

impl HeaderChain {
    /// A chain of genesis only; `network_id` is the hash that the client trusts it by.
    pub fn new(network_id: &Hash, genesis: BlockHeader) -> Result<Self, HeaderError> {
        check_version(&genesis)?;
        let hash = genesis.hash();
        if hash != *network_id {
            return Err(HeaderError::WrongNetwork);
        }
        let empty = genesis.transaction_root == ZERO_HASH && genesis.index_root == ZERO_HASH;
        if genesis.height.get() != 0 || genesis.transactions.get() != 0 || genesis.accounts.get() != 0 || !empty {
            return Err(HeaderError::GenesisNotEmpty);
        }
        Ok(Self { headers: vec![genesis], hashes: vec![hash] })
    }

    /// The network id: the hash of genesis.
    pub fn network_id(&self) -> &Hash {
        &self.hashes[0]
    }

    /// The last header.
    pub fn tip(&self) -> &BlockHeader {
        &self.headers[self.headers.len() - 1]
    }

    /// The last header's hash.
    pub fn tip_hash(&self) -> &Hash {
        &self.hashes[self.hashes.len() - 1]
    }

    /// The last header's height.
    pub fn height(&self) -> u64 {
        self.headers.len() as u64 - 1
    }

    /// The header at a height.
    pub fn header(&self, height: u64) -> Option<&BlockHeader> {
        self.headers.get(usize::try_from(height).ok()?)
    }

    /// The hash of the header at a height.
    pub fn hash(&self, height: u64) -> Option<&Hash> {
        self.hashes.get(usize::try_from(height).ok()?)
    }

    /// The header at a height, if its hash is this.
    pub fn find(&self, height: u64, hash: &Hash) -> Option<&BlockHeader> {
        self.header(height).filter(|_| self.hash(height) == Some(hash))
    }

    /// Appends the header after the tip.
    pub fn append(&mut self, header: BlockHeader) -> Result<(), HeaderError> {
        check_successor(self.tip(), self.tip_hash(), &header)?;
        self.hashes.push(header.hash());
        self.headers.push(header);
        Ok(())
    }

    /// Puts `headers` in place of all from `height` on: a reorganisation. Nothing changes unless all of them hold and reach
    /// at least as high as the present tip.
    pub fn replace_from(&mut self, height: u64, headers: &[BlockHeader]) -> Result<(), HeaderError> {
        if height == 0 || height > self.height() + 1 || headers.is_empty() {
            return Err(HeaderError::ReplaceRange { height });
        }
        let offered = height + headers.len() as u64 - 1;
        if offered < self.height() {
            return Err(HeaderError::Shorter { offered, present: self.height() });
        }
        let keep = height as usize;
        let (mut previous, mut previous_hash) = (&self.headers[keep - 1], self.hashes[keep - 1]);
        let mut hashes = Vec::with_capacity(headers.len());
        for header in headers {
            check_successor(previous, &previous_hash, header)?;
            (previous, previous_hash) = (header, header.hash());
            hashes.push(previous_hash);
        }
        self.headers.truncate(keep);
        self.headers.extend_from_slice(headers);
        self.hashes.truncate(keep);
        self.hashes.append(&mut hashes);
        Ok(())
    }
}

/// The rules that a header must keep with the one before it.
fn check_successor(previous: &BlockHeader, previous_hash: &Hash, header: &BlockHeader) -> Result<(), HeaderError> {
    check_version(header)?;
    let height = header.height.get();
    let expected = previous.height.get() + 1;
    if height != expected {
        return Err(HeaderError::Height { expected, found: height });
    }
    if header.previous != *previous_hash {
        return Err(HeaderError::Link { height });
    }
    if header.timestamp.get() < previous.timestamp.get() {
        return Err(HeaderError::Timestamp { height });
    }
    let transactions = header.transactions.get();
    if transactions > MAX_BLOCK_TRANSACTIONS || (transactions == 0) != (header.transaction_root == ZERO_HASH) {
        return Err(HeaderError::Transactions { height });
    }
    let accounts = header.accounts.get();
    let created = accounts.checked_sub(previous.accounts.get());
    let plausible = created.is_some_and(|created| created <= u64::from(transactions));
    if !plausible || (accounts == 0) != (header.index_root == ZERO_HASH) {
        return Err(HeaderError::Accounts { height });
    }
    Ok(())
}

fn check_version(header: &BlockHeader) -> Result<(), HeaderError> {
    match header.version.get() {
        HEADER_VERSION => Ok(()),
        version => Err(HeaderError::Version { height: header.height.get(), version }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn genesis() -> BlockHeader {
        BlockHeader::genesis("test", &[1; 16], 100)
    }

    fn after(previous: &BlockHeader, salt: u8) -> BlockHeader {
        BlockHeader {
            transactions: 2.into(),
            height: (previous.height.get() + 1).into(),
            timestamp: (previous.timestamp.get() + 5).into(),
            accounts: (previous.accounts.get() + 1).into(),
            previous: previous.hash(),
            transaction_root: [salt; 32],
            index_root: [salt; 32],
            ..*previous
        }
    }

    fn branch(from: &BlockHeader, length: usize, salt: u8) -> Vec<BlockHeader> {
        std::iter::successors(Some(after(from, salt)), |last| Some(after(last, salt))).take(length).collect()
    }

    #[test]
    fn follows_links_and_reorganises() {
        let mut chain = HeaderChain::new(&genesis().hash(), genesis()).unwrap();
        for header in branch(&genesis(), 5, 1) {
            chain.append(header).unwrap();
        }
        assert_eq!(chain.height(), 5);
        let fork = *chain.header(2).unwrap();
        let before = *chain.tip_hash();
        let shorter = chain.replace_from(3, &branch(&fork, 2, 2));
        assert_eq!(shorter, Err(HeaderError::Shorter { offered: 4, present: 5 }));
        let mut broken = branch(&fork, 4, 2);
        broken[3].previous[0] ^= 1;
        assert_eq!(chain.replace_from(3, &broken), Err(HeaderError::Link { height: 6 }));
        assert_eq!(*chain.tip_hash(), before);
        chain.replace_from(3, &branch(&fork, 4, 2)).unwrap();
        assert_eq!(chain.height(), 6);
        assert_eq!(chain.header(2), Some(&fork));
        assert_eq!(*chain.tip_hash(), chain.tip().hash());
        assert_eq!(chain.replace_from(0, &[genesis()]), Err(HeaderError::ReplaceRange { height: 0 }));
        assert_eq!(chain.replace_from(8, &[genesis()]), Err(HeaderError::ReplaceRange { height: 8 }));
    }

    #[test]
    fn every_rule_has_its_error() {
        type Change = fn(&mut BlockHeader);
        let cases: [(Change, HeaderError); 11] = [
            (|h| h.version = 2.into(), HeaderError::Version { height: 1, version: 2 }),
            (|h| h.height = 2.into(), HeaderError::Height { expected: 1, found: 2 }),
            (|h| h.previous[3] ^= 4, HeaderError::Link { height: 1 }),
            (|h| h.timestamp = 99.into(), HeaderError::Timestamp { height: 1 }),
            (|h| h.transactions = 0.into(), HeaderError::Transactions { height: 1 }),
            (|h| h.transaction_root = ZERO_HASH, HeaderError::Transactions { height: 1 }),
            (|h| h.transactions = (MAX_BLOCK_TRANSACTIONS + 1).into(), HeaderError::Transactions { height: 1 }),
            (|h| h.accounts = 0.into(), HeaderError::Accounts { height: 1 }),
            (|h| h.accounts = 3.into(), HeaderError::Accounts { height: 1 }),
            (|h| h.index_root = ZERO_HASH, HeaderError::Accounts { height: 1 }),
            (|h| h.accounts = u64::MAX.into(), HeaderError::Accounts { height: 1 }),
        ];
        for (change, error) in cases {
            let mut chain = HeaderChain::new(&genesis().hash(), genesis()).unwrap();
            let mut header = after(&genesis(), 1);
            change(&mut header);
            assert_eq!(chain.append(header), Err(error));
            assert_eq!(chain.height(), 0);
        }
    }

    #[test]
    fn genesis_is_pinned_and_empty() {
        assert_eq!(HeaderChain::new(&[0; 32], genesis()).err(), Some(HeaderError::WrongNetwork));
        let busy = BlockHeader { accounts: 1.into(), ..genesis() };
        assert_eq!(HeaderChain::new(&busy.hash(), busy).err(), Some(HeaderError::GenesisNotEmpty));
    }
}
