//! Fetches the ledger of another replica, and verifies it.

use std::{
    thread,
    time::{Duration, Instant},
};

use ledger::{journal, journal::Newest, state_sync::Restoring};
use order::{Membership, epoch_of};
use spv::{
    finality::{Certificate, CertificateError},
    hash::state_hash,
};
use storage::{DataDirectory, Directory};
use zerocopy::FromBytes;

use super::{
    super::{
        Identity,
        block_body::Body,
        incarnation,
        roster::{FILE, FOLDER},
    },
    floor,
    pages::{BatchesStart, Checkpoint, take_batch, take_block},
};
use crate::{
    Config, Error, layout, recovery,
    staging::{self, STAGING},
};

/// Maximum time that fetching a checkpoint's blocks may take; after more, a newer checkpoint is used, because the other
/// replica does not keep the memory of retries forever.
const FRESH: Duration = Duration::from_secs(5);

/// Maximum number of restarts when the other replica has pruned a requested part.
const ATTEMPTS: usize = 5;

/// Pause before a restart: in that time an idle set orders an empty block.
const PAUSE: Duration = Duration::from_secs(1);

/// How long a replacement waits for a checkpoint of the height that this replica had executed. An idle set orders a
/// block every half minute, and the next one makes it a checkpoint.
const REPLACEMENT: Duration = Duration::from_secs(90);

/// The treatment of the present ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Present {
    /// It must be readable, and older than the fetched one.
    Extend,
    /// It is not read: it may be damaged.
    Replace,
}

/// A source of the ledger's parts.
pub trait Source {
    /// The bytes at a path of another replica, with its query.
    fn get(&mut self, path: &str) -> Result<Vec<u8>, FetchError>;
}

/// Progress of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The height of the last fetched block.
    pub height: u64,
    /// That of the checkpoint.
    pub of: u64,
}

/// Why the ledger of another replica was not installed. The data directory is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The other replica cannot be asked.
    #[error("{at} does not answer: {reason}; name the HTTP address of a running replica")]
    Unreachable {
        /// The requested path or address.
        at: String,
        /// What went wrong.
        reason: String,
    },
    /// It does not give something.
    #[error("the replica refused {what}: {reason}")]
    Refused {
        /// The requested path or address.
        what: String,
        /// The reason that it gave.
        reason: String,
    },
    /// A malformed reply.
    #[error("malformed {0} from the replica: check that it is a replica of this version")]
    Form(&'static str),
    /// A certificate does not hold.
    #[error("the certificate of ordered block {height} is not valid: {source}; ask another replica")]
    Certificate {
        /// The block.
        height: u64,
        /// Why.
        source: CertificateError,
    },
    /// A part differs from what the replicas agreed on.
    #[error("{0} is not what the replicas agreed on: the replica lies, or is of another network; ask another one")]
    Untrue(&'static str),
    /// The other replica has no newer blocks.
    #[error("this replica has {own} blocks and the other one {of}: start it, and it fetches the rest")]
    NotNewer {
        /// Blocks that are here.
        own: u64,
        /// The checkpoint's.
        of: u64,
    },
    /// The other replica has fewer blocks than this replica had executed.
    #[error(
        "this replica has executed {own} blocks, but the other one's checkpoint has {of}: retry in a minute, or ask \
         another one"
    )]
    Older {
        /// Blocks that were executed here.
        own: u64,
        /// The checkpoint's.
        of: u64,
    },
    /// It cannot be put together.
    #[error(transparent)]
    Node(#[from] Error),
}

macro_rules! from_node_errors {
    ($($error:ty),*) => { $(
        impl From<$error> for FetchError {
            fn from(error: $error) -> Self {
                Self::Node(error.into())
            }
        }
    )* };
}
from_node_errors!(storage::Error, ledger::Error, chain::own::Error);

/// A checkpoint that holds.
struct Agreed {
    checkpoint: Checkpoint,
    body: Body,
}

impl Agreed {
    /// Requests the newest checkpoint.
    fn ask(config: &Config, identity: &Identity, source: &mut dyn Source) -> Result<Self, FetchError> {
        let bytes = source.get("/replica/checkpoint")?;
        let checkpoint = Checkpoint::decode(&bytes).ok_or(FetchError::Form("checkpoint"))?;
        let (network, epoch) = (identity.network(config), config.cluster.epoch());
        let founders = Membership::new(network, epoch, config.cluster.replicas.clone());
        let founders = founders.map_err(|error| Error::from(crate::sealing::Error::Founders(error)))?;
        let members =
            founders.restore(&checkpoint.members).ok_or(FetchError::Untrue("the history of sets of replicas"))?;
        let check = |certificate: &Certificate| {
            let height = certificate.header.height.get();
            if certificate.epoch != epoch_of(height, epoch) {
                return Err(FetchError::Untrue("the epoch of a certificate"));
            }
            let committee = members.committee(certificate.epoch);
            let verified = certificate.verify(&network, committee.replicas());
            verified.map_err(|source| FetchError::Certificate { height, source })
        };
        check(&checkpoint.floor)?;
        check(&checkpoint.stating)?;
        let body = Body::decode(&checkpoint.body.clone().into())
            .filter(|_| checkpoint.stating.header.has_body(&checkpoint.body));
        let body = body.ok_or(FetchError::Untrue("the body of the block that states the ledger"))?;
        if body.executed != checkpoint.floor.header.height.get() {
            return Err(FetchError::Untrue("the block of the checkpoint"));
        }
        Ok(Self { checkpoint, body })
    }

    fn height(&self) -> u64 {
        self.body.executed
    }
}

/// Fetches the ledger of another replica into the data directory that is configured, instead of the present one. Votes
/// stay, and are checked first. Returns the height of the ledger.
pub fn fetch(
    config: &Config,
    present: Present,
    source: &mut dyn Source,
    mut progress: impl FnMut(Progress),
) -> Result<u64, FetchError> {
    let data = layout::open(&config.data)?;
    let identity = Identity::from_cluster(&config.cluster)?;
    incarnation::check(&config.cluster.key, &data)?;
    let (own, began) = (Own::read(config, present, &identity, &data)?, Instant::now());
    let mut attempt = 1;
    let height = loop {
        match gather(config, &identity, &data, own, source, &mut progress) {
            Ok(height) => break height,
            Err(FetchError::Older { .. }) if began.elapsed() < REPLACEMENT => {
                staging::clear(&data)?;
                thread::sleep(PAUSE);
            }
            Err(FetchError::Refused { .. }) if attempt < ATTEMPTS => {
                attempt += 1;
                staging::clear(&data)?;
                thread::sleep(PAUSE);
            }
            Err(error) => {
                staging::clear(&data)?;
                return Err(error);
            }
        }
    };
    staging::complete(&data)?;
    staging::install(&data)?;
    Ok(height)
}

/// What this replica has.
#[derive(Clone, Copy)]
enum Own {
    Nothing,
    /// A chain of this height, and no use for one that is not higher.
    Chain(u64),
    /// It had executed the block of this height at its last mark. With less, its votes would not match its ledger.
    Executed(u64),
}

impl Own {
    fn read(config: &Config, present: Present, identity: &Identity, data: &DataDirectory) -> Result<Self, FetchError> {
        if present == Present::Replace {
            return Ok(incarnation::marked_height(&config.cluster.key)?.map_or(Self::Nothing, Self::Executed));
        }
        let options = recovery::chain_options(config);
        let chain = match layout::open_chain(data, options, || Err(chain::own::Error::NoChain)) {
            Err(Error::Chain(chain::own::Error::NoChain)) => return Ok(Self::Nothing),
            found => found?,
        };
        if chain.network_id() != identity.network(config) {
            return Err(Error::from(crate::sealing::Error::OtherCluster).into());
        }
        Ok(Self::Chain(chain.tip().height()))
    }

    /// Whether a checkpoint of a height is of use.
    fn allows(self, of: u64) -> Result<(), FetchError> {
        match self {
            Self::Chain(own) if of <= own => Err(FetchError::NotNewer { own, of }),
            Self::Executed(own) if of < own => Err(FetchError::Older { own, of }),
            Self::Nothing | Self::Chain(_) | Self::Executed(_) => Ok(()),
        }
    }
}

/// Gathers a ledger that is newer than the present one.
fn gather(
    config: &Config,
    identity: &Identity,
    data: &DataDirectory,
    own: Own,
    source: &mut dyn Source,
    progress: &mut impl FnMut(Progress),
) -> Result<u64, FetchError> {
    let data = layout::open(&data.path().join(STAGING))?;
    let chain = layout::open_chain(&data, recovery::chain_options(config), || Ok(identity.genesis(config)))?;
    let mut restoring = Restoring::new(chain, &config.ledger.limits().retries);
    // All blocks except the newest first: then the rest belongs to a checkpoint that is kept long enough.
    let (agreed, page) = loop {
        let since = Instant::now();
        let agreed = Agreed::ask(config, identity, source)?;
        own.allows(agreed.height())?;
        let page = source.get(&format!("/replica/batches?of={}", agreed.height()))?;
        let (start, _) = BatchesStart::read_from_prefix(&page).map_err(|_| FetchError::Form("batches"))?;
        if !(1..=agreed.height()).contains(&start.first.get()) || start.first.get() <= restoring.tip().height() {
            return Err(FetchError::Untrue("the first batch"));
        }
        take_blocks(&mut restoring, source, start.first.get(), |height| {
            progress(Progress { height, of: agreed.height() });
        })?;
        if since.elapsed() < FRESH {
            break (agreed, page);
        }
    };
    take_batches(&mut restoring, source, &data, page, &agreed, progress)?;
    let (tip, recent) = restoring.finish()?;
    if tip.hash != agreed.checkpoint.stating.header.statement {
        return Err(FetchError::Untrue("the chain"));
    }
    let Checkpoint { floor, members, .. } = &agreed.checkpoint;
    if state_hash(&recent, members) != agreed.body.state {
        return Err(FetchError::Untrue("the memory of retries, or the set of replicas,"));
    }
    data.directory().directory(FOLDER)?.replace(FILE, members)?;
    floor::write(&data, floor)?;
    Ok(tip.height())
}

/// Fetches the blocks before a height.
fn take_blocks(
    restoring: &mut Restoring,
    source: &mut dyn Source,
    end: u64,
    mut progress: impl FnMut(u64),
) -> Result<(), FetchError> {
    loop {
        let next = restoring.tip().height() + 1;
        if next >= end {
            return Ok(());
        }
        let page = source.get(&format!("/replica/blocks?from={next}&to={}", end - 1))?;
        let mut rest = page.as_slice();
        while !rest.is_empty() {
            let block = take_block(&mut rest).ok_or(FetchError::Form("blocks"))?;
            restoring.block(&block)?;
        }
        if !(next..end).contains(&restoring.tip().height()) {
            return Err(FetchError::Form("blocks"));
        }
        progress(restoring.tip().height());
    }
}

/// Fetches the batches up to the checkpoint, given their first page.
fn take_batches(
    restoring: &mut Restoring,
    source: &mut dyn Source,
    data: &DataDirectory,
    mut page: Vec<u8>,
    agreed: &Agreed,
    progress: &mut impl FnMut(Progress),
) -> Result<(), FetchError> {
    let of = agreed.height();
    let mut newest: Option<Newest> = None;
    loop {
        let (start, mut rest) =
            BatchesStart::read_from_prefix(page.as_slice()).map_err(|_| FetchError::Form("batches"))?;
        if newest.is_none() {
            newest = Some(start.before);
            let options = journal::Options::new(layout::random()?);
            restoring.begin_batches(data.directory().directory("journal")?, &options, start.before)?;
        }
        let before = restoring.tip().height();
        while !rest.is_empty() {
            let (header, records, tails) = take_batch(&mut rest).ok_or(FetchError::Form("batches"))?;
            restoring.batch(&header, records, tails)?;
        }
        let height = restoring.tip().height();
        progress(Progress { height, of });
        if height >= of {
            return if height == of { Ok(()) } else { Err(FetchError::Untrue("the last batch")) };
        }
        if height == before {
            return Err(FetchError::Form("batches"));
        }
        page = source.get(&format!("/replica/batches?of={of}&from={}", height + 1))?;
    }
}
