//! The tree of Bitcoin headers, and its branch with the most work.
use super::hash::display;
use super::header::BlockHeader;
use super::network::{Network, RETARGET_INTERVAL};
use super::target::{Compact, TargetError};
use super::uint::U256;
use crate::hash::Hash;
use std::collections::HashMap;
use thiserror::Error;

/// The greatest height of a trusted first header: at a block every ten minutes, reached in 40,000 years.
const HEIGHT_LIMIT: u32 = 1 << 31;

/// How many seconds a header's time may be ahead of the clock.
pub const FUTURE_LIMIT: u32 = 2 * 60 * 60;
/// The most headers kept beside the active branch.
///
/// Real ones number a few a year. More than that is an attempt to fill memory with branches that start low, where proof
/// of work is cheap.
pub const MAX_SIDE_HEADERS: usize = 100_000;

/// The number of headers whose times give the median.
const MEDIAN_SPAN: usize = 11;
/// Seconds that a retarget interval should take: two weeks.
const RETARGET_SECONDS: u32 = 14 * 24 * 60 * 60;
/// On networks with easy blocks, a block may be easy if it comes more than this many seconds after the one before.
const EASY_BLOCK_SECONDS: u32 = 2 * 10 * 60;
/// Under BIP94, an interval starts at most this many seconds before the time of the previous block.
const WARP_SECONDS: u32 = 600;

/// The rule that a header breaks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// The `bits` do not encode a target.
    #[error("bits {bits:08x}: {error}")]
    Target {
        /// The header's bits.
        bits: u32,
        /// What is wrong with them.
        error: TargetError,
    },
    /// The target is easier than the network allows.
    #[error("bits {bits:08x} are easier than the network allows; is it a block of another network?")]
    TooEasy {
        /// The header's bits.
        bits: u32,
    },
    /// The hash is above the target.
    #[error("block {} has not done its proof of work", display(.hash))]
    ProofOfWork {
        /// The header's hash.
        hash: Hash,
    },
    /// The previous header is not known.
    #[error("block {} follows {}, which is not known", display(.hash), display(.previous))]
    Unlinked {
        /// The header's hash.
        hash: Hash,
        /// The hash that it names as the previous one.
        previous: Hash,
    },
    /// The target is not the one that the rules give for this height.
    #[error("bits {found:08x} at height {height} where the difficulty rule gives {expected:08x}")]
    Difficulty {
        /// Height of the header.
        height: u32,
        /// The header's bits.
        found: u32,
        /// The bits that the rules give.
        expected: u32,
    },
    /// The difficulty changes by more than a factor of four.
    ///
    /// Reported only where the exact rule cannot be evaluated because the chain starts inside the interval.
    #[error("bits {found:08x} at height {height} differ by more than the difficulty rule allows")]
    DifficultyStep {
        /// Height of the header.
        height: u32,
        /// The header's bits.
        found: u32,
    },
    /// The time is not after the median of the eleven headers before.
    #[error("time {time} at height {height} is not after {median}, the median of the headers before")]
    TooEarly {
        /// Height of the header.
        height: u32,
        /// The header's time.
        time: u32,
        /// The median, which the time must exceed.
        median: u32,
    },
    /// Under BIP94, the first header of an interval is too far before the previous one.
    #[error("time {time} at height {height} is before {least}: a new interval may go back by ten minutes only (BIP94)")]
    TimeWarp {
        /// Height of the header.
        height: u32,
        /// The header's time.
        time: u32,
        /// The earliest time allowed.
        least: u32,
    },
    /// The time is more than [`FUTURE_LIMIT`] ahead of the clock.
    #[error("time {time} at height {height} is more than two hours ahead of the clock")]
    FromTheFuture {
        /// Height of the header.
        height: u32,
        /// The header's time.
        time: u32,
    },
    /// The version was retired before this height.
    #[error("version {version} at height {height}, where {least} is the least that the rules allow")]
    Version {
        /// Height of the header.
        height: u32,
        /// The header's version.
        version: i32,
        /// The lowest version allowed.
        least: i32,
    },
    /// The trusted first header claims a height that no chain reaches, which would leave no room for heights above it.
    #[error("no chain begins at height {height}: the limit is {HEIGHT_LIMIT}")]
    Height {
        /// The height.
        height: u32,
    },
    /// Too many headers beside the active branch.
    #[error("more than {MAX_SIDE_HEADERS} headers beside the active branch")]
    TooManySideHeaders,
}

/// What became of a header that keeps all rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// It was known before.
    Known,
    /// It is on a branch with no more work than the active one.
    Side {
        /// Its height.
        height: u32,
    },
    /// It extends the active branch.
    Extended {
        /// Its height.
        height: u32,
    },
    /// It gives another branch the most work.
    Reorganised {
        /// Height of the last header that both branches share.
        fork: u32,
        /// The headers that left the active branch, lowest first.
        disconnected: Vec<Hash>,
        /// The headers that joined the active branch, lowest first; the last one is the header inserted.
        connected: Vec<Hash>,
    },
}

#[derive(Clone, Debug)]
struct Node {
    header: BlockHeader,
    hash: Hash,
    height: u32,
    /// Index of the previous header; the root has its own.
    parent: u32,
    /// All work after the root.
    work: U256,
}

/// A header that keeps all rules and is not inserted yet.
#[derive(Clone, Copy, Debug)]
struct Checked {
    height: u32,
    parent: u32,
    work: U256,
}

/// All known headers from a trusted first one on, and the active branch, which has the most work; of equals, the first
/// seen.
///
/// A header takes about 200 bytes of memory.
#[derive(Clone, Debug)]
pub struct HeaderChain {
    network: Network,
    nodes: Vec<Node>,
    by_hash: HashMap<Hash, u32>,
    /// Index of the node at each height, from the root's height on.
    active: Vec<u32>,
}

impl HeaderChain {
    /// A chain of the network's genesis only.
    pub fn new(network: Network) -> Self {
        Self::start(network, network.genesis(), 0)
    }

    /// A chain that starts with a header that the caller trusts to be at `height`. Its proof of work is still checked.
    ///
    /// Rules that look further back than this root apply as far as possible: the median is over the headers that there
    /// are, and the first change of difficulty only has to stay within a factor of four.
    pub fn from_trusted(network: Network, header: BlockHeader, height: u32) -> Result<Self, HeaderError> {
        check_proof_of_work(network, &header)?;
        if height > HEIGHT_LIMIT {
            return Err(HeaderError::Height { height });
        }
        Ok(Self::start(network, header, height))
    }

    fn start(network: Network, header: BlockHeader, height: u32) -> Self {
        let hash = header.hash();
        // Work is only compared between branches, and all of them contain the root.
        let nodes = vec![Node { header, hash, height, parent: 0, work: U256::ZERO }];
        Self { network, nodes, by_hash: HashMap::from([(hash, 0)]), active: vec![0] }
    }

    /// The network whose rules apply.
    pub fn network(&self) -> Network {
        self.network
    }

    /// Height of the first header.
    pub fn first_height(&self) -> u32 {
        self.nodes[0].height
    }

    /// Height of the active branch's last header.
    pub fn height(&self) -> u32 {
        self.tip_node().height
    }

    /// The active branch's last header.
    pub fn tip(&self) -> &BlockHeader {
        &self.tip_node().header
    }

    /// The hash of the active branch's last header.
    pub fn tip_hash(&self) -> &Hash {
        &self.tip_node().hash
    }

    /// The work of the active branch after the first header.
    pub fn work(&self) -> U256 {
        self.tip_node().work
    }

    /// The header at a height of the active branch.
    pub fn header(&self, height: u32) -> Option<&BlockHeader> {
        self.active_node(height).map(|node| &node.header)
    }

    /// The hash of the header at a height of the active branch.
    pub fn hash(&self, height: u32) -> Option<&Hash> {
        self.active_node(height).map(|node| &node.hash)
    }

    /// A known header and its height, by hash, on the active branch or not.
    pub fn find(&self, hash: &Hash) -> Option<(u32, &BlockHeader)> {
        self.by_hash.get(hash).map(|index| &self.nodes[*index as usize]).map(|node| (node.height, &node.header))
    }

    /// Whether a header is on the active branch.
    pub fn is_active(&self, hash: &Hash) -> bool {
        self.find(hash).is_some_and(|(height, _)| self.hash(height) == Some(hash))
    }

    /// Checks a header as [`Self::insert`] does, without inserting it, and returns its height. `now` is as there.
    pub fn check(&self, header: &BlockHeader, now: u64) -> Result<u32, HeaderError> {
        let hash = header.hash();
        match self.find(&hash) {
            Some((height, _)) => Ok(height),
            None => self.check_new(header, hash, now).map(|checked| checked.height),
        }
    }

    /// Inserts a header that keeps all rules. `now` is the clock's time in seconds since the Unix epoch.
    pub fn insert(&mut self, header: BlockHeader, now: u64) -> Result<Inserted, HeaderError> {
        let hash = header.hash();
        if self.by_hash.contains_key(&hash) {
            return Ok(Inserted::Known);
        }
        let Checked { height, parent, work } = self.check_new(&header, hash, now)?;
        let most_work = work > self.work();
        if !most_work && self.nodes.len() - self.active.len() >= MAX_SIDE_HEADERS {
            return Err(HeaderError::TooManySideHeaders);
        }
        let index = self.nodes.len() as u32;
        let extends = self.active.last() == Some(&parent);
        self.nodes.push(Node { header, hash, height, parent, work });
        self.by_hash.insert(hash, index);
        Ok(match (most_work, extends) {
            (false, _) => Inserted::Side { height },
            (true, true) => {
                self.active.push(index);
                Inserted::Extended { height }
            }
            (true, false) => self.reorganise(index),
        })
    }

    /// Makes the branch that ends at the node `tip` the active one.
    fn reorganise(&mut self, tip: u32) -> Inserted {
        let mut branch = Vec::new();
        let mut index = tip;
        while self.active_index(self.node(index).height) != Some(index) {
            branch.push(index);
            index = self.node(index).parent;
        }
        branch.reverse();
        let fork = self.node(index).height;
        let left = self.active.split_off((fork - self.first_height()) as usize + 1);
        let hashes = |indices: &[u32]| indices.iter().map(|index| self.node(*index).hash).collect();
        let (disconnected, connected) = (hashes(&left), hashes(&branch));
        self.active.extend(branch);
        Inserted::Reorganised { fork, disconnected, connected }
    }

    /// Applies every rule to a header that is not known yet.
    fn check_new(&self, header: &BlockHeader, hash: Hash, now: u64) -> Result<Checked, HeaderError> {
        let target = check_target(self.network, header)?;
        check_hash(&hash, target)?;
        let unlinked = HeaderError::Unlinked { hash, previous: header.previous };
        let parent = *self.by_hash.get(&header.previous).ok_or(unlinked)?;
        let height = self.node(parent).height + 1;
        self.check_difficulty(header, parent)?;
        self.check_time(header.time.get(), parent, now)?;
        check_version(self.network, header, height)?;
        let work = self.node(parent).work.checked_add(U256::work_of_target(target)).unwrap_or(U256::MAX);
        Ok(Checked { height, parent, work })
    }

    /// Checks that the time of the header after `parent` is neither too early nor too far ahead of the clock.
    fn check_time(&self, time: u32, parent: u32, now: u64) -> Result<(), HeaderError> {
        let (height, median) = (self.node(parent).height + 1, self.median_time(parent));
        if time <= median {
            return Err(HeaderError::TooEarly { height, time, median });
        }
        if self.network.has_bip94() && height.is_multiple_of(RETARGET_INTERVAL) {
            let least = self.node(parent).header.time.get().saturating_sub(WARP_SECONDS);
            if time < least {
                return Err(HeaderError::TimeWarp { height, time, least });
            }
        }
        if u64::from(time) > now.saturating_add(FUTURE_LIMIT.into()) {
            return Err(HeaderError::FromTheFuture { height, time });
        }
        Ok(())
    }

    /// The median time of the eleven headers up to `last`, or of as many as there are.
    fn median_time(&self, last: u32) -> u32 {
        let mut times = [0; MEDIAN_SPAN];
        let mut count = 0;
        for (time, node) in times.iter_mut().zip(self.branch(last)) {
            *time = node.header.time.get();
            count += 1;
        }
        let times = &mut times[..count];
        times.sort_unstable();
        times[count / 2]
    }

    /// Checks that the header after `parent` has the target that the rules give.
    fn check_difficulty(&self, header: &BlockHeader, parent: u32) -> Result<(), HeaderError> {
        let height = self.node(parent).height + 1;
        let found = header.bits.get();
        match self.next_bits(header.time.get(), parent) {
            Some(Compact(expected)) if expected == found => Ok(()),
            Some(Compact(expected)) => Err(HeaderError::Difficulty { height, found, expected }),
            None if self.is_permitted_step(self.node(parent).header.bits.get(), found) => Ok(()),
            None => Err(HeaderError::DifficultyStep { height, found }),
        }
    }

    /// The bits of the header after `parent`; `None` if the rule needs headers from before the root.
    fn next_bits(&self, time: u32, parent: u32) -> Option<Compact> {
        let last = self.node(parent);
        let bits = Compact(last.header.bits.get());
        if !(last.height + 1).is_multiple_of(RETARGET_INTERVAL) {
            if !self.network.allows_easy_blocks() {
                return Some(bits);
            }
            let easiest = self.network.easiest();
            if i64::from(time) > i64::from(last.header.time.get()) + i64::from(EASY_BLOCK_SECONDS) {
                return Some(easiest);
            }
            // The difficulty before the easy blocks; the search ends at the interval's first block at the latest.
            let real =
                |node: &&Node| node.height.is_multiple_of(RETARGET_INTERVAL) || node.header.bits.get() != easiest.0;
            let node = self.branch(parent).find(real).unwrap_or(&self.nodes[0]);
            return Some(Compact(node.header.bits.get()));
        }
        if !self.network.retargets() {
            return Some(bits);
        }
        // Bitcoin measures from the first to the last block of an interval: 2015 steps instead of 2016.
        let first = self.ancestor(parent, (last.height + 1).checked_sub(RETARGET_INTERVAL)?)?;
        let bits = if self.network.has_bip94() { Compact(first.header.bits.get()) } else { bits };
        self.retarget(bits, first.header.time.get(), last.header.time.get())
    }

    /// The bits after an interval that started and ended at these times.
    fn retarget(&self, bits: Compact, first: u32, last: u32) -> Option<Compact> {
        let seconds = i64::from(last) - i64::from(first);
        self.scaled(bits, seconds.clamp((RETARGET_SECONDS / 4).into(), (RETARGET_SECONDS * 4).into()) as u32)
    }

    /// The target times `seconds` over two weeks, capped at the limit.
    fn scaled(&self, bits: Compact, seconds: u32) -> Option<Compact> {
        let limit = self.network.proof_of_work_limit();
        let target = bits.target().ok()?;
        // Targets are at most 2^224 and seconds below 2^23, so the product fits on every network whose difficulty
        // changes.
        let scaled = target.checked_mul(seconds).and_then(|product| product.div_u32(RETARGET_SECONDS)).unwrap_or(limit);
        Some(Compact::from_target(scaled.min(limit)))
    }

    /// Whether the difficulty can go from `old` to `new` in one step, whatever the times.
    fn is_permitted_step(&self, old: u32, new: u32) -> bool {
        let bound = |seconds| self.scaled(Compact(old), seconds).and_then(|bits| bits.target().ok());
        match (bound(RETARGET_SECONDS / 4), bound(RETARGET_SECONDS * 4), Compact(new).target()) {
            (Some(least), Some(most), Ok(target)) => (least..=most).contains(&target),
            _ => false,
        }
    }

    /// The node at a height of the branch that ends at `index`; `None` below the root.
    fn ancestor(&self, index: u32, height: u32) -> Option<&Node> {
        if height < self.first_height() {
            return None;
        }
        if self.active_index(self.node(index).height) == Some(index) {
            return self.active_node(height);
        }
        self.branch(index).find(|node| node.height == height)
    }

    /// The nodes from `index` down to the root.
    fn branch(&self, index: u32) -> impl Iterator<Item = &Node> {
        let mut next = Some(index);
        std::iter::from_fn(move || {
            let index = next?;
            let node = self.node(index);
            next = (index != 0).then_some(node.parent);
            Some(node)
        })
    }

    fn node(&self, index: u32) -> &Node {
        &self.nodes[index as usize]
    }

    fn tip_node(&self) -> &Node {
        self.node(self.active[self.active.len() - 1])
    }

    fn active_index(&self, height: u32) -> Option<u32> {
        self.active.get(height.checked_sub(self.first_height())? as usize).copied()
    }

    fn active_node(&self, height: u32) -> Option<&Node> {
        self.active_index(height).map(|index| self.node(index))
    }
}

/// Checks the rules that need only the header itself, and returns its hash.
///
/// The target must be within the network's limit, and the hash at or below the target.
pub fn check_proof_of_work(network: Network, header: &BlockHeader) -> Result<Hash, HeaderError> {
    let hash = header.hash();
    check_hash(&hash, check_target(network, header)?)?;
    Ok(hash)
}

fn check_target(network: Network, header: &BlockHeader) -> Result<U256, HeaderError> {
    let bits = header.bits.get();
    let target = header.target().map_err(|error| HeaderError::Target { bits, error })?;
    if target > network.proof_of_work_limit() { Err(HeaderError::TooEasy { bits }) } else { Ok(target) }
}

fn check_version(network: Network, header: &BlockHeader, height: u32) -> Result<(), HeaderError> {
    let (version, least) = (header.version.get() as i32, network.least_version(height));
    if version < least { Err(HeaderError::Version { height, version, least }) } else { Ok(()) }
}

fn check_hash(hash: &Hash, target: U256) -> Result<(), HeaderError> {
    if U256::from_le_bytes(hash) > target { Err(HeaderError::ProofOfWork { hash: *hash }) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
