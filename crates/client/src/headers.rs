//! Synchronising headers.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use spv::bitcoin;
use spv::{Authority, BlockHeader, ChainKey, Equivocation, Hash, HeaderChain, SealedHeader};
use wire::{Chain, HeadersFrame, Reply};
use zerocopy::{FromBytes, IntoBytes};

use crate::seals::{AT_ONCE, SealBatches};
use crate::{Client, Error};

/// Maximum number of headers per call, so that a node cannot fill the memory; call again for more.
const MAX_HEADERS: u64 = 1 << 20;

/// A reply to a headers frame.
struct Given {
    tip: Tip,
    headers: Vec<u8>,
}

/// The end of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tip {
    /// Height of the last header.
    pub height: u64,
    /// Its hash.
    pub hash: Hash,
}

impl fmt::Display for Tip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {} {}", self.height, hex(&self.hash))
    }
}

/// Two chains sealed by the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// The key.
    pub key: ChainKey,
    /// Height of the last common header.
    pub common: u64,
    /// The tip of the local chain.
    pub here: Tip,
    /// The tip according to the node.
    pub there: Tip,
    /// The first two headers that differ. Anybody can verify that the key sealed both.
    pub evidence: Equivocation,
}

impl fmt::Display for Fork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, common, here, there, evidence } = self;
        write!(
            f,
            "the chain key {} sealed two chains: they diverge after block {common}, the local headers end at {here} \
             and the node's at {there}. Its holder reverted settled blocks (as a node does that was restored from an \
             old copy of its data), or somebody else has the key. The local headers are unchanged; ask the operator, \
             and accept the node's only if they are the right ones (--accept-reorganisation). Evidence: at height {} \
             it sealed {} and {}",
            hex(&key.to_bytes()),
            common + 1,
            hex(&evidence.first.hash()),
            hex(&evidence.second.hash()),
        )
    }
}

/// Relation of the node's chain to the local one.
enum Relation {
    /// It is the same, and continues with these headers; with none if the node is behind.
    Follows(Vec<SealedHeader>, Tip),
    /// It is another one, also sealed.
    Forks(Box<Fork>),
}

/// A reorganisation that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reorganised {
    /// The two chains before it.
    pub fork: Fork,
    /// The replaced local headers, from the first that differed on.
    pub replaced: Vec<SealedHeader>,
}

impl Client {
    /// Opens the chain of the node's genesis.
    ///
    /// Without a network id the node's is believed: whoever answers may have invented a network. The id covers the
    /// chain's key, so with it every header is known to be genuine.
    pub fn open_chain(&mut self, network: Option<[u8; 32]>) -> Result<HeaderChain, Error> {
        let network = self.check_network(network)?;
        let given = self.headers(Chain::Own, 0, 1)?;
        let genesis = SealedHeader::read_from_bytes(&given.headers).map_err(|_| Error::WrongReply)?;
        Ok(HeaderChain::new(&network, genesis)?)
    }

    /// Returns the node's network id, which must equal `network` if given.
    pub fn check_network(&mut self, network: Option<[u8; 32]>) -> Result<[u8; 32], Error> {
        let found = self.info()?.network;
        match network {
            Some(expected) if expected != found => {
                Err(Error::WrongNetwork { expected: hex(&expected), found: hex(&found) })
            }
            _ => Ok(found),
        }
    }

    /// Fetches the headers of our own chain that `chain` lacks, verifies their seals, and returns their number.
    ///
    /// On a chain that replicas order these are the headers that a certificate makes final. Local headers are never
    /// replaced: if the node has others that are sealed as well, the result is [`Error::Reorganised`].
    pub fn sync_headers(&mut self, chain: &mut HeaderChain) -> Result<u64, Error> {
        if chain.key().is_none() {
            return self.sync_vouched(chain);
        }
        match self.compare(chain)? {
            Relation::Follows(headers, tip) => self.append_headers(chain, headers, tip),
            Relation::Forks(fork) => Err(Error::Reorganised(fork)),
        }
    }

    /// Fetches the headers that follow `previous` on its chain, up to the length of one reply, and verifies them and
    /// their seals; none if the node has no more.
    pub fn headers_after(&mut self, authority: &Authority, previous: &BlockHeader) -> Result<Vec<SealedHeader>, Error> {
        let (headers, _) = self.own_headers(previous.height.get() + 1)?;
        spv::check_headers_after(authority, previous, &headers, &mut SealBatches)?;
        Ok(headers)
    }

    /// Appends the node's headers after the local tip, and returns their number.
    pub(crate) fn append_own_headers(&mut self, chain: &mut HeaderChain) -> Result<u64, Error> {
        let (headers, tip) = self.own_headers(chain.height() + 1)?;
        self.append_headers(chain, headers, tip)
    }

    /// As [`Self::sync_headers`], but if the node has other sealed headers that reach at least as high, these replace
    /// the local ones. Also returns what was replaced.
    pub fn accept_reorganisation(&mut self, chain: &mut HeaderChain) -> Result<(u64, Option<Reorganised>), Error> {
        if chain.key().is_none() {
            // Final headers are never replaced, and no others are stored.
            return Ok((self.sync_vouched(chain)?, None));
        }
        let fork = match self.compare(chain)? {
            Relation::Follows(headers, tip) => return Ok((self.append_headers(chain, headers, tip)?, None)),
            Relation::Forks(fork) => *fork,
        };
        let from = fork.common + 1;
        let mut headers = Vec::new();
        while (headers.len() as u64) < MAX_HEADERS {
            let (more, tip) = self.own_headers(from + headers.len() as u64)?;
            if more.is_empty() {
                break;
            }
            headers.extend(more);
            if from + headers.len() as u64 > tip.height {
                break;
            }
        }
        let replaced = chain.replace_from(from, &headers, &mut SealBatches)?;
        Ok((headers.len() as u64, Some(Reorganised { fork, replaced })))
    }

    /// Appends the node's headers after the local tip, given the first of them.
    fn append_headers(
        &mut self,
        chain: &mut HeaderChain,
        mut headers: Vec<SealedHeader>,
        mut tip: Tip,
    ) -> Result<u64, Error> {
        let first = chain.height();
        loop {
            let mut last = chain.height() + headers.len() as u64;
            let mut ends = false;
            while !ends && headers.len() < AT_ONCE && last < tip.height {
                let (more, there) = self.own_headers(last + 1)?;
                ends = more.is_empty();
                headers.extend(more);
                last = chain.height() + headers.len() as u64;
                tip = there;
            }
            chain.extend(&headers, &mut SealBatches)?;
            headers.clear();
            let came = chain.height() - first;
            if ends || chain.height() >= tip.height || came >= MAX_HEADERS {
                return Ok(came);
            }
        }
    }

    /// Compares the node's chain with the local one.
    fn compare(&mut self, chain: &HeaderChain) -> Result<Relation, Error> {
        // Request the known tip as well, to see whether the node still has it.
        let (mut headers, there) = self.own_headers(chain.height())?;
        if headers.first().map(SealedHeader::hash) == Some(*chain.tip_hash()) {
            headers.remove(0);
            return Ok(Relation::Follows(headers, there));
        }
        let common = self.last_common(chain)?;
        let (headers, _) = self.own_headers(common + 1)?;
        let Some(other) = headers.first().filter(|_| common < chain.height()) else {
            return Ok(Relation::Follows(Vec::new(), there));
        };
        let evidence = chain.equivocation(other)?;
        let key = *chain.key().ok_or(spv::HeaderError::NoKey)?;
        let here = Tip { height: chain.height(), hash: *chain.tip_hash() };
        Ok(Relation::Forks(Box::new(Fork { key, common, here, there, evidence })))
    }

    /// The greatest height tried at which the node has the local header.
    fn last_common(&mut self, chain: &HeaderChain) -> Result<u64, Error> {
        let mut step = 1;
        let mut height = chain.height();
        loop {
            height = height.saturating_sub(step);
            step *= 2;
            let (headers, _) = self.own_headers(height)?;
            if headers.first().map(SealedHeader::hash).as_ref() == chain.hash(height) {
                // All known headers in the same reply are common as well.
                let known =
                    headers.iter().zip(height..).take_while(|(header, at)| chain.hash(*at) == Some(&header.hash()));
                return Ok(height + known.count() as u64 - 1);
            }
            if height == 0 {
                let found = headers.first().ok_or(Error::NothingInCommon)?.hash();
                return Err(Error::WrongNetwork { expected: hex(chain.network_id()), found: hex(&found) });
            }
        }
    }

    fn own_headers(&mut self, first: u64) -> Result<(Vec<SealedHeader>, Tip), Error> {
        let given = self.headers(Chain::Own, first, u16::MAX)?;
        let headers = <[SealedHeader]>::ref_from_bytes(&given.headers).map_err(|_| Error::WrongReply)?;
        Ok((headers.to_vec(), given.tip))
    }

    /// Fetches the Bitcoin headers that `chain` lacks, and returns their number. Verifies each like Bitcoin Core; the
    /// chain with the most work wins.
    pub fn sync_bitcoin_headers(&mut self, chain: &mut bitcoin::HeaderChain) -> Result<u64, Error> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| Error::Clock)?.as_secs();
        let lowest = u64::from(chain.first_height());
        let (mut from, mut step, mut came, mut seen) = (u64::from(chain.height()), 1, 0, 0);
        // Known headers count, too: a node could send them forever.
        while seen < MAX_HEADERS {
            let given = self.headers(Chain::Bitcoin, from, u16::MAX)?;
            let headers = <[bitcoin::BlockHeader]>::ref_from_bytes(&given.headers).map_err(|_| Error::WrongReply)?;
            let known = headers.first().is_some_and(|first| chain.find(&first.hash()).is_some());
            if !known {
                // Another branch, or a node that is behind: further back there is a common header.
                if from == lowest {
                    return Err(Error::NothingInCommon);
                }
                from = from.saturating_sub(step).max(lowest);
                step *= 2;
                continue;
            }
            seen += headers.len() as u64;
            for header in headers.iter().skip(1) {
                let inserted = chain.insert(*header, now)?;
                came += u64::from(inserted != bitcoin::Inserted::Known);
            }
            let last = from + headers.len() as u64 - 1;
            if last >= given.tip.height || last == from {
                break;
            }
            from = last;
        }
        Ok(came)
    }

    fn headers(&mut self, chain: Chain, first: u64, count: u16) -> Result<Given, Error> {
        let size = HeadersFrame::size_of_header(chain);
        self.exchange(
            |id, datagram| {
                let room = (datagram - HeadersFrame::LENGTH) / size;
                let count = count.min(u16::try_from(room).unwrap_or(u16::MAX));
                let mut frame = HeadersFrame::new(id, chain, first, count).as_bytes().to_vec();
                frame.resize(HeadersFrame::LENGTH + usize::from(count) * size, 0);
                Ok(frame)
            },
            |reply, _| match reply {
                Reply::Headers(reply) if reply.fixed.count.get() <= count => {
                    let tip = Tip { height: reply.fixed.tip_height.get(), hash: reply.fixed.tip_hash };
                    Ok(Given { tip, headers: reply.headers.to_vec() })
                }
                _ => Err(Error::WrongReply),
            },
        )
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
