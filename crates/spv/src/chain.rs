//! The light client's chain of headers of the own chain.
use crate::authority::{Authority, ChainKey, Seal};
use crate::authority::{HEADER_VERSION, ORDERED_VERSION};
use crate::finality::{CertificateError, SuccessionError, Vouched};
use crate::hash::{Hash, ZERO_HASH};
use crate::header::{BlockHeader, MAX_BLOCK_TRANSACTIONS};
use crate::seal::{CheckSeals, Equivocation, OneByOne, SealedHeader};
use thiserror::Error;
use zerocopy::{FromBytes, IntoBytes};

/// Why a header cannot be part of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// The header has a version that this library does not know, or not one of its chain's authority.
    #[error(
        "header at height {height} has version {version}, which this program does not know on a chain of this kind: \
         update the program, or ask another node"
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
    /// No key seals the chain: the genesis header names none.
    #[error("the genesis header names no key that could seal headers")]
    NoKey,
    /// The founders are not those that the genesis header names.
    #[error(
        "these are not the founding replicas that the genesis header names: they are of another network, or made up"
    )]
    OtherReplicas,
    /// The founders' set does not lead to the set that signed the certificate.
    #[error(transparent)]
    Succession(#[from] SuccessionError),
    /// A set of replicas was changed in a way other than the client followed before.
    #[error(
        "the set of replicas of generation {generation} is said to have changed otherwise than this client knows: somebody has \
         keys of replicas that left; ask another node"
    )]
    OtherChange {
        /// The generation of the set.
        generation: usize,
    },
    /// The certificate does not hold.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The certificate's statement is the hash of no header in this chain.
    #[error("the certificate vouches for no header that is here: get more headers, or an older certificate")]
    Statement,
    /// The chain's key did not seal the header.
    #[error(
        "header at height {height} is not sealed by the chain's key: somebody else made it, or it was damaged; ask \
         another node"
    )]
    Seal {
        /// Height of the header.
        height: u64,
    },
    /// The height is not the next one.
    #[error("header has height {found} where {expected} was due")]
    Height {
        /// The height that had to follow.
        expected: u64,
        /// The height found.
        found: u64,
    },
    /// The header does not name the one before it.
    #[error("header at height {height} does not link to the one before it")]
    Link {
        /// Height of the header.
        height: u64,
    },
    /// The timestamp is before that of the previous header.
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
    /// The number of accounts changed by more than the block's transactions, or the index root does not fit it.
    #[error("header at height {height} has a number of accounts that cannot be")]
    Accounts {
        /// Height of the header.
        height: u64,
    },
    /// The header states no index root, but does not repeat that of the previous header.
    #[error("header at height {height} repeats an index root that is not the previous header's; ask another node")]
    IndexRoot {
        /// Height of the header.
        height: u64,
    },
    /// A replacement that begins beyond the tip, at genesis, or at a header that a certificate made final.
    #[error("headers cannot be replaced from height {height} on")]
    ReplaceRange {
        /// Where the replacement would begin.
        height: u64,
    },
    /// A replacement that ends below the current tip.
    #[error("the replacement ends at height {offered}, before the present tip at {present}")]
    Shorter {
        /// Height of the last header offered.
        offered: u64,
        /// Height of the current tip.
        present: u64,
    },
}

/// Checked headers from genesis to the tip, each with its seal and its hash.
///
/// On a chain ordered by replicas, the links between headers are all that is checked until a certificate [makes them
/// final](Self::certify).
#[derive(Clone, Debug)]
pub struct HeaderChain {
    authority: Authority,
    /// The height up to which certificates of replicas vouch for the headers.
    certified: u64,
    /// The certificate that reaches that far.
    vouched: Option<Vouched>,
    headers: Vec<SealedHeader>,
    hashes: Vec<Hash>,
}

impl HeaderChain {
    /// A chain of genesis only. `network_id` is the hash that the client trusts.
    pub fn new(network_id: &Hash, genesis: SealedHeader) -> Result<Self, HeaderError> {
        let SealedHeader { header, seal } = &genesis;
        let version = header.version.get();
        if !matches!(version, HEADER_VERSION | ORDERED_VERSION) {
            return Err(HeaderError::Version { height: 0, version });
        }
        let hash = genesis.hash();
        if hash != *network_id {
            return Err(HeaderError::WrongNetwork);
        }
        let empty = header.height.get() == 0 && header.transactions.get() == 0 && header.accounts.get() == 0;
        if !empty || header.index_root != ZERO_HASH {
            return Err(HeaderError::GenesisNotEmpty);
        }
        let authority = header.authority().ok_or(HeaderError::NoKey)?;
        if !authority.has_sealed(&hash, seal) {
            return Err(HeaderError::Seal { height: 0 });
        }
        Ok(Self { authority, certified: 0, vouched: None, headers: vec![genesis], hashes: vec![hash] })
    }

    /// Restores a chain from headers, from genesis on, that were checked before they were stored.
    ///
    /// Checks again that each header follows the one before it and that the tip is sealed; through the links, that seal
    /// covers all headers. A store changed by anybody but the key's holder is therefore detected, at the cost of hashes
    /// instead of signatures. [`check_seals`](Self::check_seals) checks the other seals.
    pub fn restore(network_id: &Hash, headers: &[SealedHeader]) -> Result<Self, HeaderError> {
        let (genesis, rest) = headers.split_first().ok_or(HeaderError::WrongNetwork)?;
        let mut chain = Self::new(network_id, *genesis)?;
        chain.headers.reserve_exact(rest.len());
        chain.hashes.reserve_exact(rest.len());
        for sealed in rest {
            check_successor(&chain.authority, chain.tip(), chain.tip_hash(), &sealed.header)?;
            chain.push(sealed, sealed.hash());
        }
        chain.check_seal(chain.height())?;
        Ok(chain)
    }

    /// Checks the seals of all headers.
    pub fn check_seals(&self) -> Result<(), HeaderError> {
        (0..=self.height()).try_for_each(|height| self.check_seal(height))
    }

    fn check_seal(&self, height: u64) -> Result<(), HeaderError> {
        let at = height as usize;
        if self.authority.has_sealed(&self.hashes[at], &self.headers[at].seal) {
            return Ok(());
        }
        Err(HeaderError::Seal { height })
    }

    fn push(&mut self, sealed: &SealedHeader, hash: Hash) {
        self.headers.push(*sealed);
        self.hashes.push(hash);
    }

    /// Who vouches for the headers.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The key that seals the headers; `None` if replicas order them.
    pub fn key(&self) -> Option<&ChainKey> {
        self.authority.key()
    }

    /// The height up to which somebody vouches for the headers; on a sealed chain, always the tip's.
    pub fn trusted(&self) -> u64 {
        match self.authority {
            Authority::Key(_) => self.height(),
            Authority::Replicas(_) => self.certified,
        }
    }

    /// Makes final the header whose hash a certificate states, and all headers before it.
    ///
    /// Returns that header's height, which may be lower than an earlier certificate's.
    pub fn certify(&mut self, vouched: &Vouched) -> Result<u64, HeaderError> {
        let Vouched { founders, certificate, .. } = vouched;
        if self.authority != Authority::Replicas(founders.hash()) {
            return Err(HeaderError::OtherReplicas);
        }
        // A change that was followed once is never replaced by another: the keys of replicas that left may have leaked
        // since.
        let held = self.vouched.iter().flat_map(|held| &held.reconfigurations);
        let mut changes = held.zip(&vouched.reconfigurations);
        if let Some(generation) = changes.position(|(held, told)| held.change != told.change) {
            return Err(HeaderError::OtherChange { generation });
        }
        certificate.verify(self.network_id(), &vouched.replicas(self.network_id())?)?;
        // An ordered block states a header lower than its own height.
        let highest = certificate.header.height.get().min(self.height() + 1);
        let stated = |&height: &u64| self.hashes[height as usize] == certificate.header.statement;
        let height = (0..highest).rev().find(stated).ok_or(HeaderError::Statement)?;
        if height > self.certified {
            (self.certified, self.vouched) = (height, Some(vouched.clone()));
        }
        Ok(height)
    }

    /// The certificate that vouches for the most headers, if replicas order the chain.
    pub fn vouched(&self) -> Option<&Vouched> {
        self.vouched.as_ref()
    }

    /// Drops the headers above the last [trusted](Self::trusted) one: the node that sent them may have made them up.
    pub fn forget_unvouched(&mut self) {
        let count = self.trusted() as usize + 1;
        self.headers.truncate(count);
        self.hashes.truncate(count);
    }

    /// The network id: the hash of genesis.
    pub fn network_id(&self) -> &Hash {
        &self.hashes[0]
    }

    /// The last header.
    pub fn tip(&self) -> &BlockHeader {
        &self.headers[self.headers.len() - 1].header
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
        self.sealed(height).map(|sealed| &sealed.header)
    }

    /// The header at a height, with its seal.
    pub fn sealed(&self, height: u64) -> Option<&SealedHeader> {
        self.headers.get(usize::try_from(height).ok()?)
    }

    /// All headers with their seals, from genesis on.
    pub fn all(&self) -> &[SealedHeader] {
        &self.headers
    }

    /// The chain as it is saved: all headers with their seals and, if replicas order it, the encoded [`Vouched`].
    pub fn encode(&self) -> Vec<u8> {
        let vouched = self.vouched().map(Vouched::encode).unwrap_or_default();
        [self.headers.as_bytes(), &vouched].concat()
    }

    /// Splits the bytes of [`encode`](Self::encode) into the headers and the encoded [`Vouched`], which may be empty;
    /// `None` if they are cut off. Nothing is verified: see [`restore`](Self::restore) and [`certify`](Self::certify).
    pub fn split(bytes: &[u8]) -> Option<(&[SealedHeader], &[u8])> {
        // Each header begins with its version, in four bytes; an encoded `Vouched` begins with the number of founders,
        // in one byte, which is not 0.
        bytes.first()?;
        let count = bytes.chunks(size_of::<SealedHeader>()).take_while(|header| header.starts_with(&[0])).count();
        <[SealedHeader]>::ref_from_prefix_with_elems(bytes, count).ok()
    }

    /// The hash of the header at a height.
    pub fn hash(&self, height: u64) -> Option<&Hash> {
        self.hashes.get(usize::try_from(height).ok()?)
    }

    /// The header at a height, if it has this hash and is [trusted](Self::trusted).
    pub fn find(&self, height: u64, hash: &Hash) -> Option<&BlockHeader> {
        self.header(height).filter(|_| height <= self.trusted() && self.hash(height) == Some(hash))
    }

    /// Appends the header that follows the tip.
    pub fn append(&mut self, sealed: SealedHeader) -> Result<(), HeaderError> {
        self.extend(&[sealed], &mut OneByOne)
    }

    /// Appends the headers that follow the tip: all of them, or none if one does not hold.
    pub fn extend(&mut self, headers: &[SealedHeader], seals: &mut impl CheckSeals) -> Result<(), HeaderError> {
        let mut hashes = self.check_after(self.height(), headers, seals)?;
        self.headers.extend_from_slice(headers);
        self.hashes.append(&mut hashes);
        Ok(())
    }

    /// Checks headers that are to follow the one at `height`. Returns their hashes.
    fn check_after(
        &self,
        height: u64,
        headers: &[SealedHeader],
        seals: &mut impl CheckSeals,
    ) -> Result<Vec<Hash>, HeaderError> {
        let at = height as usize;
        check_headers_after(&self.authority, &self.headers[at].header, headers, seals)
    }

    /// Evidence that the key's holder made two chains, from a header other than the one here.
    ///
    /// Fails if the key's holder did not make `other`.
    pub fn equivocation(&self, other: &SealedHeader) -> Result<Equivocation, HeaderError> {
        let height = other.height();
        let first = self.sealed(height).ok_or(HeaderError::Height { expected: self.height(), found: height })?;
        let before = height.checked_sub(1).ok_or(HeaderError::WrongNetwork)?;
        // Without seals, nobody is known to have made either header.
        self.key().ok_or(HeaderError::NoKey)?;
        self.check_after(before, &[*other], &mut OneByOne)?;
        Ok(Equivocation { first: *first, second: *other })
    }

    /// Replaces all headers from `height` on by `headers`, and returns the old ones.
    ///
    /// Nothing changes unless all the new headers hold and reach at least as high as the current tip. Sealed headers
    /// are final as long as the key's holder is honest, so no client does this on its own: a second sealed branch is an
    /// [`Equivocation`](crate::Equivocation), and people have to decide which of the two stands.
    pub fn replace_from(
        &mut self,
        height: u64,
        headers: &[SealedHeader],
        seals: &mut impl CheckSeals,
    ) -> Result<Vec<SealedHeader>, HeaderError> {
        if height == 0 || height > self.height() + 1 || height <= self.certified || headers.is_empty() {
            return Err(HeaderError::ReplaceRange { height });
        }
        let offered = height + headers.len() as u64 - 1;
        if offered < self.height() {
            return Err(HeaderError::Shorter { offered, present: self.height() });
        }
        let mut hashes = self.check_after(height - 1, headers, seals)?;
        let keep = height as usize;
        let replaced = self.headers.split_off(keep);
        self.headers.extend_from_slice(headers);
        self.hashes.truncate(keep);
        self.hashes.append(&mut hashes);
        Ok(replaced)
    }
}

/// Checks headers, and their seals, that are to follow a header that was checked before. Returns their hashes.
pub fn check_headers_after(
    authority: &Authority,
    previous: &BlockHeader,
    headers: &[SealedHeader],
    seals: &mut impl CheckSeals,
) -> Result<Vec<Hash>, HeaderError> {
    let first = previous.height.get() + 1;
    let (mut previous, mut previous_hash) = (previous, previous.hash());
    let mut hashes = Vec::with_capacity(headers.len());
    for SealedHeader { header, .. } in headers {
        check_successor(authority, previous, &previous_hash, header)?;
        previous = header;
        previous_hash = header.hash();
        hashes.push(previous_hash);
    }
    let sealed: Vec<(Hash, Seal)> = hashes.iter().copied().zip(headers.iter().map(|sealed| sealed.seal)).collect();
    let forged = match authority {
        Authority::Key(key) => seals.first_forged(key, &sealed),
        Authority::Replicas(_) => sealed.iter().position(|(_, seal)| *seal != Seal::NONE),
    };
    match forged {
        Some(forged) => Err(HeaderError::Seal { height: first + forged as u64 }),
        None => Ok(hashes),
    }
}

/// Checks the rules between a header and the one before it.
fn check_successor(
    authority: &Authority,
    previous: &BlockHeader,
    previous_hash: &Hash,
    header: &BlockHeader,
) -> Result<(), HeaderError> {
    let (height, version) = (header.height.get(), header.version.get());
    if !authority.knows_version(version) {
        return Err(HeaderError::Version { height, version });
    }
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
    // Each transaction adds or removes at most an entry of the index and that of its asset.
    let is_plausible = accounts.abs_diff(previous.accounts.get()) <= 2 * u64::from(transactions);
    if !is_plausible || (accounts == 0) != (header.index_root == ZERO_HASH) {
        return Err(HeaderError::Accounts { height });
    }
    if !header.states_index() && header.index_root != previous.index_root {
        return Err(HeaderError::IndexRoot { height });
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::seal::SealingKey;

    pub fn key() -> SealingKey {
        SealingKey::from_bytes(&[1; 32]).unwrap()
    }

    pub fn genesis() -> SealedHeader {
        key().seal(&BlockHeader::genesis("test", &[1; 16], 100, &key().public()))
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{genesis, key};
    use super::*;
    use crate::authority::{HEADER_VERSION_WITHOUT_INDEX, ORDERED_VERSION_WITHOUT_INDEX};
    use crate::finality::testing::{added, reconfigured_in};
    use crate::finality::{Certificate, OrderedHeader, ReplicaSet, Vote, VoteKind};
    use crate::seal::SealingKey;

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

    fn branch(from: &BlockHeader, length: usize, salt: u8) -> Vec<SealedHeader> {
        let headers = std::iter::successors(Some(after(from, salt)), |last| Some(after(last, salt)));
        headers.take(length).map(|header| key().seal(&header)).collect()
    }

    /// A chain that replicas order, with their keys.
    fn ordered(length: usize) -> (HeaderChain, Vec<SealingKey>, ReplicaSet) {
        let keys: Vec<_> = (1..=4).map(|byte| SealingKey::from_bytes(&[byte; 32]).unwrap()).collect();
        let set = ReplicaSet::new(keys.iter().map(SealingKey::public).collect()).unwrap();
        let unsealed = |header| SealedHeader { header, seal: Seal::NONE };
        let genesis = unsealed(BlockHeader::genesis_of_replicas("test", &[1; 16], 100, &set.hash()));
        let mut chain = HeaderChain::new(&genesis.hash(), genesis).unwrap();
        for _ in 0..length {
            chain.append(unsealed(after(chain.tip(), 3))).unwrap();
        }
        (chain, keys, set)
    }

    fn certificate(network: &Hash, keys: &[SealingKey], height: u64, statement: Hash) -> Certificate {
        let header = OrderedHeader { height: height.into(), parent: [1; 32], statement, body: [2; 32] };
        let vote = Vote::for_block(VoteKind::Finalize, *network, 0, 5, 4, header.hash());
        let votes = keys.iter().enumerate().map(|(number, key)| (number as u32, vote.sign(key))).collect();
        Certificate::new(header, 0, 5, 4, votes)
    }

    #[test]
    fn what_replicas_order_is_trusted_once_it_is_certified() {
        let (mut chain, keys, set) = ordered(5);
        let network = *chain.network_id();
        let is_found = |chain: &HeaderChain, height| chain.find(height, chain.hash(height).unwrap()).is_some();
        assert!(chain.trusted() == 0 && chain.key().is_none() && !is_found(&chain, 1), "links alone vouch for nothing");
        let of = |chain: &HeaderChain, height, stated: u64| {
            let certificate = certificate(&network, &keys[..3], height, *chain.hash(stated).unwrap());
            Vouched { founders: set.clone(), reconfigurations: vec![], certificate }
        };
        assert_eq!(chain.certify(&of(&chain, 4, 3)), Ok(3));
        assert_eq!(chain.certify(&of(&chain, 3, 1)), Ok(1));
        assert_eq!([0, 1, 3, 4].map(|height| is_found(&chain, height)), [true, true, true, false]);
        // Refused: a statement that the block cannot have made at its height, one of no header here, too few votes,
        // other replicas.
        assert_eq!(chain.certify(&of(&chain, 4, 4)), Err(HeaderError::Statement));
        let vouched = |certificate| Vouched { founders: set.clone(), reconfigurations: vec![], certificate };
        let stranger = vouched(certificate(&network, &keys, 9, [7; 32]));
        assert_eq!(chain.certify(&stranger), Err(HeaderError::Statement));
        let few = vouched(certificate(&network, &keys[..2], 9, *chain.hash(5).unwrap()));
        assert!(matches!(chain.certify(&few), Err(HeaderError::Certificate(_))));
        let mut keys = keys.clone();
        keys.swap(0, 1);
        let others = ReplicaSet::new(keys.iter().map(SealingKey::public).collect()).unwrap();
        let of_others = Vouched { founders: others, ..of(&chain, 5, 4) };
        assert_eq!(chain.certify(&of_others), Err(HeaderError::OtherReplicas));
        assert_eq!(chain.trusted(), 3);
        // The highest certificate is kept, and restores the chain's state when its headers are restored.
        let kept = Vouched::decode(&chain.vouched().unwrap().encode()).unwrap();
        assert_eq!(kept, of(&chain, 4, 3));
        let mut restored = HeaderChain::restore(&network, &chain.all()[..4]).unwrap();
        assert_eq!((restored.certify(&kept), restored.trusted()), (Ok(3), 3));
        // A final header cannot be replaced.
        let again = *chain.sealed(3).unwrap();
        let replaced = chain.replace_from(3, &[again; 3], &mut OneByOne);
        assert_eq!(replaced, Err(HeaderError::ReplaceRange { height: 3 }));
        assert_eq!(chain.height(), 5);
        chain.forget_unvouched();
        assert_eq!((chain.height(), chain.all()), (3, restored.all()));
    }

    #[test]
    fn the_present_replicas_certify_and_no_earlier_ones() {
        let (mut chain, mut keys, founders) = ordered(5);
        let network = *chain.network_id();
        let change = added(0, 5);
        let reconfiguration = reconfigured_in(&network, change, &founders, &keys, &[1, 2, 3]);
        let of = |keys: &[SealingKey], stated: u64| Vouched {
            founders: founders.clone(),
            reconfigurations: vec![reconfiguration.clone()],
            certificate: certificate(&network, keys, 5, *chain.hash(stated).unwrap()),
        };
        let (by_founders, cut) = (of(&keys, 3), of(&keys[..2], 3));
        keys.insert(0, SealingKey::from_bytes(&[5; 32]).unwrap());
        let by_present = of(&keys[..4], 3);
        keys[0] = SealingKey::from_bytes(&[6; 32]).unwrap();
        let other = reconfigured_in(&network, added(0, 6), &founders, &keys[1..], &[0, 1, 2]);
        let other = Vouched { reconfigurations: vec![other], ..of(&keys[..4], 4) };
        let forged = reconfigured_in(&[8; 32], change, &founders, &keys[1..], &[1, 2, 3]);
        let forged = Vouched { reconfigurations: vec![forged], ..by_present.clone() };
        assert!(matches!(chain.certify(&by_founders), Err(HeaderError::Certificate(CertificateError::Signature(0)))));
        assert!(matches!(chain.certify(&cut), Err(HeaderError::Certificate(CertificateError::Quorum { .. }))));
        assert!(matches!(chain.certify(&forged), Err(HeaderError::Succession(SuccessionError { generation: 0, .. }))));
        let skipped = Vouched { reconfigurations: vec![], ..by_present.clone() };
        assert!(matches!(chain.certify(&skipped), Err(HeaderError::Certificate(_))));
        assert_eq!((chain.trusted(), chain.certify(&by_present)), (0, Ok(3)));
        assert_eq!(Vouched::decode(&chain.vouched().unwrap().encode()), Ok(by_present));
        // The founders who are left sign another change; a client that followed the first one does not follow it.
        let mut new = HeaderChain::restore(&network, chain.all()).unwrap();
        assert_eq!(new.certify(&other), Ok(4));
        assert_eq!(chain.certify(&other), Err(HeaderError::OtherChange { generation: 0 }));
    }

    #[test]
    fn a_header_states_an_index_root_or_repeats_the_previous_one() {
        let (ordered, ..) = ordered(1);
        for (mut chain, seal) in [(chain(1), true), (ordered, false)] {
            let version = chain.authority().version(false);
            let sealed = |header: &BlockHeader| match seal {
                true => key().seal(header),
                false => SealedHeader { header: *header, seal: Seal::NONE },
            };
            let stated = chain.tip().index_root;
            let without = |chain: &HeaderChain| BlockHeader {
                version: version.into(),
                index_root: stated,
                ..after(chain.tip(), 7)
            };
            chain.append(sealed(&without(&chain))).unwrap();
            chain.append(sealed(&without(&chain))).unwrap();
            assert!(!chain.tip().states_index() && chain.tip().accounts.get() == 3);
            let other = BlockHeader { index_root: [7; 32], ..without(&chain) };
            assert_eq!(chain.append(sealed(&other)), Err(HeaderError::IndexRoot { height: 4 }));
            let version = chain.authority().version(true);
            chain.append(sealed(&BlockHeader { version: version.into(), ..other })).unwrap();
            assert!(chain.tip().states_index());
            // Saved headers of both versions are found, and the certificate after them.
            let bytes = [chain.encode(), vec![4; 200]].concat();
            assert_eq!(HeaderChain::split(&bytes), Some((chain.all(), &[4; 200][..])));
            let restored = HeaderChain::restore(chain.network_id(), chain.all()).unwrap();
            assert_eq!(restored.tip_hash(), chain.tip_hash());
        }
        // Genesis states an index: the empty one.
        let mut first = genesis().header;
        first.version = HEADER_VERSION_WITHOUT_INDEX.into();
        let refused = HeaderChain::new(&first.hash(), key().seal(&first)).unwrap_err();
        assert_eq!(refused, HeaderError::Version { height: 0, version: HEADER_VERSION_WITHOUT_INDEX });
    }

    #[test]
    fn a_chain_keeps_to_one_kind_of_seal() {
        let (mut chain, keys, _) = ordered(1);
        let next = after(chain.tip(), 4);
        assert_eq!(chain.append(keys[0].seal(&next)), Err(HeaderError::Seal { height: 2 }));
        let sealed = BlockHeader { version: HEADER_VERSION.into(), ..next };
        let version = Err(HeaderError::Version { height: 2, version: HEADER_VERSION });
        assert_eq!(chain.append(keys[0].seal(&sealed)), version);
        let other = SealedHeader { header: after(chain.header(0).unwrap(), 9), seal: Seal::NONE };
        assert_eq!(chain.equivocation(&other), Err(HeaderError::NoKey));
        let mut chain = self::chain(1);
        for version in [ORDERED_VERSION, ORDERED_VERSION_WITHOUT_INDEX, 0, 1, 6] {
            let other = BlockHeader { version: version.into(), ..after(chain.tip(), 4) };
            let refused = Err(HeaderError::Version { height: 2, version });
            assert_eq!(chain.append(key().seal(&other)), refused);
        }
    }

    fn chain(length: usize) -> HeaderChain {
        let mut chain = HeaderChain::new(&genesis().hash(), genesis()).unwrap();
        branch(&genesis().header, length, 1).into_iter().for_each(|header| chain.append(header).unwrap());
        chain
    }

    #[test]
    fn follows_links_and_is_replaced_where_asked_to() {
        let mut chain = chain(5);
        assert_eq!(chain.height(), 5);
        let fork = *chain.header(2).unwrap();
        let before = *chain.tip_hash();
        let shorter = chain.replace_from(3, &branch(&fork, 2, 2), &mut OneByOne);
        assert_eq!(shorter, Err(HeaderError::Shorter { offered: 4, present: 5 }));
        let mut broken = branch(&fork, 4, 2);
        broken[3].header.previous[0] ^= 1;
        assert_eq!(chain.replace_from(3, &broken, &mut OneByOne), Err(HeaderError::Link { height: 6 }));
        let mut forged = branch(&fork, 4, 2);
        forged[3].seal = forged[2].seal;
        assert_eq!(chain.replace_from(3, &forged, &mut OneByOne), Err(HeaderError::Seal { height: 6 }));
        assert_eq!(*chain.tip_hash(), before);
        let replaced = chain.replace_from(3, &branch(&fork, 4, 2), &mut OneByOne).unwrap();
        assert_eq!(replaced, self::chain(5).all()[3..]);
        assert_eq!(chain.height(), 6);
        assert_eq!(chain.header(2), Some(&fork));
        assert_eq!(*chain.tip_hash(), chain.tip().hash());
        chain.check_seals().unwrap();
        assert_eq!(chain.replace_from(0, &[genesis()], &mut OneByOne), Err(HeaderError::ReplaceRange { height: 0 }));
        assert_eq!(chain.replace_from(8, &[genesis()], &mut OneByOne), Err(HeaderError::ReplaceRange { height: 8 }));
    }

    #[test]
    fn every_rule_has_its_error() {
        type Change = fn(&mut BlockHeader);
        let cases: [(Change, HeaderError); 12] = [
            (|h| h.version = 3.into(), HeaderError::Version { height: 1, version: 3 }),
            (|h| h.height = 2.into(), HeaderError::Height { expected: 1, found: 2 }),
            (|h| h.previous[3] ^= 4, HeaderError::Link { height: 1 }),
            (|h| h.timestamp = 99.into(), HeaderError::Timestamp { height: 1 }),
            (|h| h.transactions = 0.into(), HeaderError::Transactions { height: 1 }),
            (|h| h.transaction_root = ZERO_HASH, HeaderError::Transactions { height: 1 }),
            (|h| h.transactions = (MAX_BLOCK_TRANSACTIONS + 1).into(), HeaderError::Transactions { height: 1 }),
            (|h| h.accounts = 0.into(), HeaderError::Accounts { height: 1 }),
            (|h| h.accounts = 5.into(), HeaderError::Accounts { height: 1 }),
            (|h| h.index_root = ZERO_HASH, HeaderError::Accounts { height: 1 }),
            (|h| h.accounts = u64::MAX.into(), HeaderError::Accounts { height: 1 }),
            (|h| h.version = HEADER_VERSION_WITHOUT_INDEX.into(), HeaderError::IndexRoot { height: 1 }),
        ];
        for (change, error) in cases {
            let mut chain = chain(0);
            let mut header = after(&genesis().header, 1);
            change(&mut header);
            assert_eq!(chain.append(key().seal(&header)), Err(error));
            assert_eq!(chain.height(), 0);
        }
    }

    #[test]
    fn headers_of_others_are_refused() {
        let header = after(&genesis().header, 1);
        let stranger = SealingKey::from_bytes(&[2; 32]).unwrap();
        let forged = [stranger.seal(&header), SealedHeader { header, seal: genesis().seal }];
        for forged in forged {
            let mut chain = chain(0);
            assert_eq!(chain.append(forged), Err(HeaderError::Seal { height: 1 }));
            assert_eq!(chain.height(), 0);
        }
        // Knowing the genesis header is not enough to open a chain with a seal of one's own.
        let genesis = stranger.seal(&genesis().header);
        assert_eq!(HeaderChain::new(&genesis.hash(), genesis).err(), Some(HeaderError::Seal { height: 0 }));
    }

    #[test]
    fn of_many_headers_all_are_appended_or_none() {
        let good = chain(5);
        let mut chain = chain(0);
        for forged in 1..=5 {
            let mut headers = good.all()[1..].to_vec();
            headers[forged - 1].seal = good.all()[0].seal;
            let height = forged as u64;
            assert_eq!(chain.extend(&headers, &mut OneByOne), Err(HeaderError::Seal { height }));
            headers[forged - 1].header.timestamp = 0.into();
            assert_eq!(chain.extend(&headers, &mut OneByOne), Err(HeaderError::Timestamp { height }));
            assert_eq!(chain.height(), 0);
        }
        chain.extend(&good.all()[1..], &mut OneByOne).unwrap();
        assert_eq!((chain.all(), chain.tip_hash()), (good.all(), good.tip_hash()));
        chain.extend(&[], &mut OneByOne).unwrap();
    }

    #[test]
    fn another_header_is_evidence_or_forged() {
        let chain = chain(5);
        let other = branch(chain.header(2).unwrap(), 1, 9)[0];
        let evidence = chain.equivocation(&other).unwrap();
        assert!(evidence.holds(chain.key().unwrap()));
        assert_eq!((&evidence.first, evidence.second), (chain.sealed(3).unwrap(), other));
        let forged = SealedHeader { seal: evidence.first.seal, ..other };
        assert_eq!(chain.equivocation(&forged), Err(HeaderError::Seal { height: 3 }));
        assert_eq!(chain.equivocation(&genesis()), Err(HeaderError::WrongNetwork));
        let beyond = branch(chain.tip(), 1, 9)[0];
        assert_eq!(chain.equivocation(&beyond), Err(HeaderError::Height { expected: 5, found: 6 }));
    }

    #[test]
    fn genesis_is_pinned_and_empty() {
        assert_eq!(HeaderChain::new(&[0; 32], genesis()).err(), Some(HeaderError::WrongNetwork));
        let opened = |change: fn(&mut BlockHeader)| {
            let mut header = genesis().header;
            change(&mut header);
            HeaderChain::new(&header.hash(), key().seal(&header)).err()
        };
        assert_eq!(opened(|header| header.accounts = 1.into()), Some(HeaderError::GenesisNotEmpty));
        assert_eq!(opened(|header| header.index_root = [1; 32]), Some(HeaderError::GenesisNotEmpty));
        assert_eq!(opened(|header| header.transaction_root = ZERO_HASH), Some(HeaderError::NoKey));
        assert_eq!(opened(|header| header.version = 1.into()), Some(HeaderError::Version { height: 0, version: 1 }));
    }

    #[test]
    fn a_kept_chain_comes_back_unless_it_was_changed() {
        let chain = chain(5);
        let network = *chain.network_id();
        let restored = HeaderChain::restore(&network, chain.all()).unwrap();
        assert_eq!((restored.all(), restored.tip_hash()), (chain.all(), chain.tip_hash()));
        assert_eq!(HeaderChain::restore(&network, &[]).err(), Some(HeaderError::WrongNetwork));
        // A change to any header is detected by its links or by the tip's seal.
        for height in 1..=5 {
            let mut changed = chain.all().to_vec();
            changed[height].header.index_root[0] ^= 1;
            assert!(HeaderChain::restore(&network, &changed).is_err());
            // Repairing the links of the later headers does not help.
            for at in height + 1..=5 {
                changed[at].header.previous = changed[at - 1].hash();
            }
            assert_eq!(HeaderChain::restore(&network, &changed).err(), Some(HeaderError::Seal { height: 5 }));
        }
        // Nothing covers the seal itself of a header in the middle; it only serves as evidence, and `check_seals`
        // checks it.
        let mut changed = chain.all().to_vec();
        changed[3].seal = changed[2].seal;
        let restored = HeaderChain::restore(&network, &changed).unwrap();
        assert_eq!(restored.check_seals(), Err(HeaderError::Seal { height: 3 }));
    }
}
