//! A node that is one of several replicas: it orders clients' operations together with the others, and executes them
//! when they are final.
//!
//! ```text
//! io --> order pool --> engine (on its own threads) --> executor --> replies
//!          ^-- groups that other replicas announced
//! ```
//!
//! `io` passes frames to the [order pool](order_pool). The engine of `crates/order` asks the [judge](judge) for
//! proposals and for its verdict on others' proposals. The [executor](executor) is the ledger's only writer.
//!
//! # The life of an operation
//!
//! 1. `io` receives a frame. Workers check its signatures, and the data path passes it to the [controller](controller).
//! 2. A frame without an operation to order, or any frame after a disk failure, goes to the executor, which answers it
//!    from the executed state. Signed operations of untrusted senders go through the executor's [screening](screening).
//!    An approval of a member change is checked against the newest set, and refused if it is not valid now.
//! 3. The order pool names the frame's operations by this replica's number and a frame number: a *group*. If a frame of
//!    the same content waits already, the later frame takes its place, and the earlier one gets no reply. If there is
//!    no room the answer is `BUSY`. A replica outside the set drops the frame.
//! 4. The replica announces the group to all others, once, and again if a client repeats the frame a second later. An
//!    announcement may be lost: then the group waits for this replica's own turn to lead.
//! 5. On an announced group: drop it unless its origin is the sender's number in the set of the next block, and all its
//!    signatures are admissible now. Otherwise add it to the pool.
//! 6. The leader proposes the oldest groups of its pool that are in no pending block. Others vote as the judge decides.
//! 7. On a final block the executor executes its groups in order, closes the block, and answers the waiting frames of
//!    this replica whose group is in the block, byte for byte.
//! 8. After 5 s a group leaves the pool, and a waiting frame is answered `NOT_FINAL`. The group may still become final:
//!    then the client's retry gets the first result.
//!
//! # Durability
//!
//! The executor takes these steps for the block of height h:
//!
//! 1. Replace `cluster/members`, if the block has valid approvals.
//! 2. Execute all groups, in memory. The NIC tier defers reads until step 5.
//! 3. Append the recorded operations to the journal as one batch, and sync it.
//! 4. Append the block of height h to the chain, and commit it.
//! 5. Release the NIC tier.
//! 6. Drop the record of vote files of ended epochs, durably.
//! 7. Publish h as executed: the engine's call returns, and the epoch may end.
//! 8. Reply, then look at parked frames again.
//! 9. Every 10 s, record the newest vote files and write the mark beside the key.
//!
//! A crash before 3 leaves the chain at h - 1, and the engine delivers the block again; after 1 the members file is
//! already that of h, and the replica starts with the file that has the sets before. A crash between 3 and 4 leaves the
//! batch in the journal: the next start adds the block to the chain. If all operations of the block left no trace there
//! is no batch, and the block is delivered again. A crash after 4 loses replies only: the engine may deliver the block
//! again, and the executor skips it. Waiting frames and the pool are in memory, and clients repeat their requests.
//!
//! Invariants: nothing is executed before it is final; a reply is sent only once its block is in the chain; results
//! depend on the ordered blocks alone.

mod block_body;
mod clocks;
mod controller;
mod executor;
mod incarnation;
mod judge;
mod neighbours;
mod order_pool;
pub mod order_status;
mod roster;
mod screening;
pub mod state_sync;

use std::{
    collections::VecDeque,
    num::NonZeroU32,
    sync::{
        Arc,
        mpsc::{self, Receiver, Sender},
    },
    time::Duration,
};

use chain::own::{OwnChain, OwnReader};
use ledger::{
    Memory, Secret, Snapshots,
    builder::Observer,
    journal::Journal,
    ordered::{Options, OrderedLedger},
};
use nic::Transmit;
use order::{Committee, Member, Process, ReplicaKey, Site};
use spv::{
    BlockHeader, Hash, Seal, SealedHeader,
    finality::Certificate,
    hash::{NETWORK_TAG, TaggedHash},
};
use storage::DataDirectory;

use crate::{Config, Error, admission::Rules, config::Cluster, layout, node_state::NodeState, sealing};

use clocks::Clocks;
pub use controller::Controller;
use executor::{Executor, ExecutorMessage};
use incarnation::Mark;
pub use incarnation::{FILE as INCARNATION, check_votes};
use judge::Judge;
use neighbours::Neighbours;
use order_pool::{Executed, OrderPool};
pub use order_status::OrderStatus;
use roster::Roster;
use screening::Screening;
use state_sync::{Checkpoints, Server};

/// Threads of the engine.
const THREADS: usize = 2;

/// The folder of the engine's votes and blocks.
pub(crate) const DIRECTORY: &str = "order";

/// The first part of the names of what the engine stores there.
pub(crate) const PARTITION: &str = "replica";

/// The founding set of this replica, and its identity.
pub struct Identity {
    founders: Committee,
    key: ReplicaKey,
}

impl Identity {
    /// Reads the identity that is configured.
    pub fn from_cluster(cluster: &Cluster) -> Result<Self, Error> {
        let founders = cluster.committee()?;
        let path = || cluster.key.clone();
        let secret = match storage::key_file::read(&cluster.key) {
            Err(storage::Error::NotFound { .. }) => return Err(sealing::Error::NoReplicaKey { path: path() }.into()),
            found => found.map_err(sealing::Error::File)?,
        };
        let key = secret.and_then(|secret| ReplicaKey::from_bytes(&secret));
        let key = key.ok_or_else(|| sealing::Error::NotAKey { path: path() })?;
        // The sets show a replica that joined; `contacts` shows one that is to join.
        let is_known = founders.number(&key.name()).is_some() || !cluster.contacts.is_empty();
        if is_known { Ok(Self { founders, key }) } else { Err(sealing::Error::NotAReplica { path: path() }.into()) }
    }

    /// The header that the chain begins with: the same on all replicas.
    pub fn genesis(&self, config: &Config) -> SealedHeader {
        let replicas = self.founders.replicas().hash();
        // No two networks with epochs of other lengths, or with other bodies, are the same.
        let epoch = config.cluster.epoch.to_be_bytes();
        let seed = TaggedHash::new(NETWORK_TAG).hash(&[&replicas, &epoch, &[block_body::FORMAT]]);
        let (random, _) = seed.split_first_chunk().expect("a hash is longer");
        let header =
            BlockHeader::genesis_of_replicas(&config.network, random, config.cluster.began * 1_000_000, &replicas);
        SealedHeader { header, seal: Seal::NONE }
    }

    /// The engine's configuration and directory; it resumes after the block of a height.
    fn engine(self, config: &Config, floor: Option<Certificate>, members: Vec<Member>) -> (order::Config, Site) {
        let network = self.network(config);
        let own = config.cluster.replicas.iter().find(|member| member.name == self.key.name());
        let listen = config.cluster.listen.or(own.map(|member| member.address));
        let order = order::Config {
            network,
            founders: self.founders,
            key: self.key,
            timing: config.cluster.timing(),
            // Turns of one block: an idle leader delays nobody for long, and the clients of each replica get theirs.
            term: NonZeroU32::MIN,
            epoch: config.cluster.epoch(),
            keep: config.cluster.keep(),
            floor,
            longest_body: block_body::LONGEST,
            partition: PARTITION.to_owned(),
        };
        let directory = config.data.join(DIRECTORY);
        let listen = listen.expect("the configuration was checked");
        (order, Site { listen, members, directory, transport: config.cluster.transport, threads: THREADS })
    }

    fn network(&self, config: &Config) -> Hash {
        self.genesis(config).header.hash()
    }
}

/// The engine's configuration and directory of a replica with this configuration, while the founders are the set: for
/// programs that simulate a replica.
pub fn replica_engine(config: &Config) -> Result<(order::Config, Site), Error> {
    Ok(Identity::from_cluster(&config.cluster)?.engine(config, None, config.cluster.replicas.clone()))
}

/// The id of the network that a configuration of replicas makes.
pub fn network_id(config: &Config) -> Result<Hash, Error> {
    Ok(Identity::from_cluster(&config.cluster)?.network(config))
}

/// The parts of a replica's node, before its threads run.
pub struct Replica<O> {
    identity: Identity,
    ledger: OrderedLedger<O>,
    chain: OwnReader,
    order_pool: Arc<OrderPool>,
    roster: Arc<Roster>,
    floor: Option<Certificate>,
    mark: Mark,
    messages: (Sender<ExecutorMessage>, Receiver<ExecutorMessage>),
}

/// The threads of a replica.
#[derive(Debug)]
pub struct Running {
    process: Option<Process>,
    messages: Sender<ExecutorMessage>,
}

impl<O: Observer + Send + 'static> Replica<O> {
    /// Recovers the ledger of a replica, in `memory` if there is any.
    pub fn open(
        config: &Config,
        identity: Identity,
        data: &DataDirectory,
        chain: OwnChain,
        journal: Journal,
        memory: Option<Memory>,
        observer: O,
    ) -> Result<Self, Error> {
        let network = identity.network(config);
        if chain.network_id() != network {
            return Err(sealing::Error::OtherCluster.into());
        }
        let Cluster { replicas, .. } = &config.cluster;
        let options = Options {
            limits: config.ledger.limits(),
            snapshots: Snapshots::every(Duration::from_secs(config.blocks.snapshot)),
        };
        let secret = Secret::from_seed(layout::random()?);
        let mut ledger = OrderedLedger::open(chain, journal, options, secret, memory, observer)?;
        ledger.allow_freezing(config.ledger.freezing);
        ledger.set_issuers(config.issuers());
        let tip = ledger.tip();
        let roster = Roster::open(data, network, config.cluster.epoch(), replicas.clone(), tip.height())?;
        let roster = Arc::new(roster);
        tracing::info!(accounts = ledger.ledger().accounts(), height = tip.height(), "recovered");
        let mut past = VecDeque::new();
        for height in (0..=tip.height()).rev() {
            let Some(state) = ledger.recent(height).and_then(|recent| roster.state(height, &recent)) else { break };
            past.push_front((height, state));
        }
        let (_, state) = *past.back().expect("what a tip came to is known");
        let executed = Executed { height: tip.height(), hash: tip.hash, state };
        let replay_window = Duration::from_secs(config.ledger.replay_window);
        let (number, replicas, changing) = {
            let membership = roster.membership();
            let members = membership.members(tip.height() + 1);
            let number = neighbours::number(members, &identity.key.name().connections());
            (number, members.len(), membership.is_changing(tip.height()))
        };
        if number.is_none() {
            tracing::warn!(
                "this replica is not a member of the set: it follows the order of the members without voting"
            );
        }
        let order_pool = Arc::new(OrderPool::new(number, replicas, replay_window, executed, past, changing));
        let floor = state_sync::read_floor(data)?;
        let mark = Mark::begin(&config.cluster.key, data, tip.height(), config.cluster.epoch())?;
        Ok(Self { identity, chain: ledger.chain(), ledger, order_pool, roster, floor, mark, messages: mpsc::channel() })
    }

    /// Begins to order. The rest is the executor's work, on its own thread.
    pub fn start(
        self,
        config: &Config,
        transmit: impl Transmit + 'static,
        node_state: Arc<NodeState>,
    ) -> Result<(Running, Parts, impl FnOnce() + Send + 'static), Error> {
        let Self { identity, ledger, chain, order_pool, roster, floor, mark, messages } = self;
        let (sender, receiver) = messages;
        let rules = Arc::new(Rules::from_config(config, chain.network_id()));
        let clocks = Arc::new(Clocks::default());
        let judge = Judge {
            order_pool: order_pool.clone(),
            rules,
            chain: chain.clone(),
            roster: roster.clone(),
            messages: sender.clone(),
            clocks: clocks.clone(),
        };
        let (me, contacts) = (identity.key.name().connections(), config.cluster.contacts.clone());
        let members = neighbours::connected(&roster, ledger.tip().height() + 1, &me, &contacts);
        let (order, site) = identity.engine(config, floor, members);
        let patience = order.timing.leader;
        let process = Process::start(order, site, Arc::new(judge)).map_err(Error::Order)?;
        let checkpoints = Checkpoints::new(process.status().certificate().as_deref());
        let retries = config.ledger.limits().retries;
        let sync = Server::new(checkpoints.clone(), chain.clone(), ledger.log().clone(), retries);
        node_state.set_order(OrderStatus::new(
            process.status().clone(),
            roster.clone(),
            me,
            patience,
            sync,
            clocks.clone(),
        ));
        let (outbox, peers) = (process.outbox().clone(), process.peers().clone());
        let parts = Parts {
            order_pool: order_pool.clone(),
            outbox: outbox.clone(),
            roster: roster.clone(),
            messages: sender.clone(),
            chain,
        };
        let neighbours = Neighbours { me, contacts, peers, outbox };
        let transmit = Box::new(transmit);
        let screening = Screening::new(config.cluster.account_rate, patience);
        let messages = receiver;
        let executor = Executor {
            ledger,
            order_pool,
            roster,
            checkpoints,
            neighbours,
            screening,
            mark,
            node_state,
            transmit,
            messages,
            clocks,
        };
        Ok((Running { process: Some(process), messages: sender }, parts, move || executor.run()))
    }
}

/// The parts of the data path's controller.
pub struct Parts {
    order_pool: Arc<OrderPool>,
    outbox: order::Outbox,
    roster: Arc<Roster>,
    messages: Sender<ExecutorMessage>,
    chain: OwnReader,
}

impl Parts {
    /// Builds the data path's controller.
    pub fn controller(
        self,
        queries: crate::queries::Queries,
        workers: crate::workers::Workers,
        node_state: Arc<NodeState>,
    ) -> Controller {
        let Self { order_pool, outbox, roster, messages, chain } = self;
        Controller { order_pool, outbox, roster, messages, chain, queries, workers, node_state }
    }
}

impl Running {
    /// Stops the engine, then the executor.
    pub fn stop(&mut self) {
        self.process = None;
        // It may have failed.
        let _ = self.messages.send(ExecutorMessage::Stop);
    }
}
