//! Synchronising headers.

use std::time::{SystemTime, UNIX_EPOCH};

use spv::bitcoin;
use spv::{BlockHeader, HeaderChain};
use wire::{Chain, HeadersFrame, Reply};
use zerocopy::{FromBytes, IntoBytes};

use crate::{Client, Error};

/// The most headers taken with one call, so that a node cannot fill the memory; who wants more calls again.
const MAX_HEADERS: u64 = 1 << 20;

/// A reply to a headers frame.
struct Given {
    tip_height: u64,
    headers: Vec<u8>,
}

impl Client {
    /// The chain of the node's genesis. Where the network id is not given, the node's is believed.
    pub fn open_chain(&mut self, network: Option<[u8; 32]>) -> Result<HeaderChain, Error> {
        let found = self.info()?.network;
        let network = network.unwrap_or(found);
        if network != found {
            return Err(Error::WrongNetwork { expected: hex(&network), found: hex(&found) });
        }
        let given = self.headers(Chain::Own, 0, 1)?;
        let genesis = BlockHeader::read_from_bytes(&given.headers).map_err(|_| Error::WrongReply)?;
        Ok(HeaderChain::new(&network, genesis)?)
    }

    /// Takes the headers of the own chain that the node has and `chain` does not, and returns how many came. Where the node's
    /// chain was reorganised, it replaces what is here from the fork on.
    pub fn sync_headers(&mut self, chain: &mut HeaderChain) -> Result<u64, Error> {
        let mut came = 0;
        // The tip that is known is asked for as well: it tells whether the node still has it.
        let mut given = self.own_headers(chain.height())?;
        if given.0.first().map(BlockHeader::hash) != Some(*chain.tip_hash()) {
            let fork = self.fork(chain)?;
            if fork == given.1 {
                // The node is behind, on the same chain.
                return Ok(0);
            }
            return self.replace_headers(chain, fork + 1);
        }
        while came < MAX_HEADERS {
            for header in given.0.drain(..).skip(1) {
                chain.append(header)?;
                came += 1;
            }
            if chain.height() >= given.1 {
                break;
            }
            let before = chain.height();
            given = self.own_headers(before)?;
            if given.0.len() < 2 {
                break;
            }
        }
        Ok(came)
    }

    /// The greatest height, of those tried, at which the node has the header that is here.
    fn fork(&mut self, chain: &HeaderChain) -> Result<u64, Error> {
        let mut step = 1;
        let mut height = chain.height();
        loop {
            if height == 0 {
                return Err(Error::NothingInCommon);
            }
            height = height.saturating_sub(step);
            step *= 2;
            let (headers, _) = self.own_headers(height)?;
            if headers.first().map(BlockHeader::hash).as_ref() == chain.hash(height) {
                // All that came with it and is known is common too.
                let known =
                    headers.iter().zip(height..).take_while(|(header, at)| chain.hash(*at) == Some(&header.hash()));
                return Ok(height + known.count() as u64 - 1);
            }
        }
    }

    fn replace_headers(&mut self, chain: &mut HeaderChain, from: u64) -> Result<u64, Error> {
        let mut headers = Vec::new();
        while (headers.len() as u64) < MAX_HEADERS {
            let next = from + headers.len() as u64;
            let (more, tip) = self.own_headers(next)?;
            if more.is_empty() {
                break;
            }
            headers.extend(more);
            if from + headers.len() as u64 > tip {
                break;
            }
        }
        chain.replace_from(from, &headers)?;
        Ok(headers.len() as u64)
    }

    fn own_headers(&mut self, first: u64) -> Result<(Vec<BlockHeader>, u64), Error> {
        let given = self.headers(Chain::Own, first, u16::MAX)?;
        let headers = <[BlockHeader]>::ref_from_bytes(&given.headers).map_err(|_| Error::WrongReply)?;
        Ok((headers.to_vec(), given.tip_height))
    }

    /// Takes the headers of Bitcoin that the node has and `chain` does not, and returns how many came. Each is checked as
    /// Bitcoin Core does; the chain with the most work wins.
    pub fn sync_bitcoin_headers(&mut self, chain: &mut bitcoin::HeaderChain) -> Result<u64, Error> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| Error::Clock)?.as_secs();
        let lowest = u64::from(chain.first_height());
        let (mut from, mut step, mut came, mut seen) = (u64::from(chain.height()), 1, 0, 0);
        // Those seen are counted too: a node could send known ones for ever.
        while seen < MAX_HEADERS {
            let given = self.headers(Chain::Bitcoin, from, u16::MAX)?;
            let headers = <[bitcoin::BlockHeader]>::ref_from_bytes(&given.headers).map_err(|_| Error::WrongReply)?;
            let known = headers.first().is_some_and(|first| chain.find(&first.hash()).is_some());
            if !known {
                // Another branch, or a node that is behind: further back there is a header that both have.
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
            if last >= given.tip_height || last == from {
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
                    Ok(Given { tip_height: reply.fixed.tip_height.get(), headers: reply.headers.to_vec() })
                }
                _ => Err(Error::WrongReply),
            },
        )
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
