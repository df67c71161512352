//! A node that is one of several replicas: what clients send is ordered with the others, and executed when it is final.
//!
//! ```text
//! io --> desk --> engine (on threads of its own) --> executor --> replies
//!          ^-- what came to other replicas
//! ```
//!
//! `io` takes frames to the [desk](desk), and tells the other replicas of their operations. The engine of `crates/order` asks the
//! [judge](judge) what to propose and whether others' proposals are right. The [executor](executor) is the ledger's one writer.

mod body;
mod controller;
mod desk;
mod executor;
mod judge;
mod standing;

use std::{
    num::NonZeroU32,
    sync::{
        Arc,
        mpsc::{self, Receiver, Sender},
    },
    time::Duration,
};

use chain::own::{OwnChain, OwnReader};
use ledger::{
    Secret,
    builder::Observer,
    journal::Journal,
    ordered::{Options, OrderedLedger},
};
use nic::Transmit;
use order::{Committee, Process, ReplicaKey, Site, network::Addresses};
use spv::{BlockHeader, Seal, SealedHeader};

use crate::{Config, Error, admission::Rules, config::Cluster, layout, sealing, shared::Shared};

pub use controller::Controller;
use desk::{Desk, Executed};
use executor::{Executor, Job};
use judge::Judge;
pub use standing::Standing;

/// Threads of the engine.
const THREADS: usize = 2;

/// The folder of the engine's votes and blocks.
const DIRECTORY: &str = "order";

/// Whom this replica orders with, and as whom.
pub struct Identity {
    committee: Committee,
    key: ReplicaKey,
    number: u32,
}

impl Identity {
    /// What is configured.
    pub fn of(cluster: &Cluster) -> Result<Self, Error> {
        let committee = cluster.committee()?;
        let path = || cluster.key.clone();
        let secret = match storage::key_file::read(&cluster.key) {
            Err(storage::Error::NotFound { .. }) => return Err(sealing::Error::NoReplicaKey { path: path() }.into()),
            found => found.map_err(sealing::Error::File)?,
        };
        let key = secret.and_then(|secret| ReplicaKey::from_bytes(&secret));
        let key = key.ok_or_else(|| sealing::Error::NotAKey { path: path() })?;
        let number = committee.number(&key.name()).ok_or_else(|| sealing::Error::NotAReplica { path: path() })?;
        Ok(Self { committee, key, number })
    }

    /// The header that the chain begins with: the same on all replicas.
    pub fn genesis(&self, config: &Config) -> SealedHeader {
        let replicas = self.committee.replicas().hash();
        let (random, _) = replicas.split_first_chunk().expect("a hash is longer");
        let header =
            BlockHeader::genesis_of_replicas(&config.network, random, config.cluster.began * 1_000_000, &replicas);
        SealedHeader { header, seal: Seal::NONE }
    }

    /// What its engine is to know, and where it is.
    fn engine(self, config: &Config) -> (order::Config, Site) {
        let network = self.genesis(config).header.hash();
        let replicas = config.cluster.addresses(&self.committee);
        let listen = config.cluster.listen.unwrap_or(replicas[self.number as usize]);
        let order = order::Config {
            network,
            committee: self.committee,
            key: self.key,
            timing: config.cluster.timing(),
            // Turns of one block: an idle leader holds up nobody for long, and each replica's clients get theirs.
            term: NonZeroU32::MIN,
            longest_body: body::LONGEST,
            partition: "replica".to_owned(),
        };
        let directory = config.data.join(DIRECTORY);
        (order, Site { addresses: Addresses { listen, replicas }, directory, threads: THREADS })
    }
}

/// What the engine of a replica of this configuration is to know, and where it is: for programs that play a replica.
pub fn replica_engine(config: &Config) -> Result<(order::Config, Site), Error> {
    Ok(Identity::of(&config.cluster)?.engine(config))
}

/// What a replica's node is put together from, before its threads run.
pub struct Replica<O> {
    identity: Identity,
    ledger: OrderedLedger<O>,
    chain: OwnReader,
    desk: Arc<Desk>,
    jobs: (Sender<Job>, Receiver<Job>),
}

/// The threads of a replica.
#[derive(Debug)]
pub struct Running {
    process: Option<Process>,
    jobs: Sender<Job>,
}

impl<O: Observer + Send + 'static> Replica<O> {
    /// Recovers the ledger of a replica.
    pub fn open(
        config: &Config,
        identity: Identity,
        chain: OwnChain,
        journal: Journal,
        observer: O,
    ) -> Result<Self, Error> {
        let expected = identity.genesis(config).header.hash();
        if chain.network_id() != expected {
            return Err(sealing::Error::OtherCluster.into());
        }
        let options = Options { limits: config.ledger.limits(), snapshot: Duration::from_secs(config.blocks.snapshot) };
        let secret = Secret::from_seed(layout::random()?);
        let ledger = OrderedLedger::open(chain, journal, options, secret, None, observer)?;
        let tip = ledger.tip();
        tracing::info!(accounts = ledger.ledger().accounts(), height = tip.height(), "recovered");
        let executed = Executed { height: tip.height(), hash: tip.hash };
        let replay_window = Duration::from_secs(config.ledger.replay_window);
        let replicas = identity.committee.replicas().keys().len();
        let desk = Arc::new(Desk::new(identity.number as u8, replicas, replay_window, executed));
        Ok(Self { identity, chain: ledger.chain(), ledger, desk, jobs: mpsc::channel() })
    }

    /// Begins to order. The work that is left is the executor's, on a thread of its own.
    pub fn start(
        self,
        config: &Config,
        transmit: impl Transmit + 'static,
        shared: Arc<Shared>,
    ) -> Result<(Running, Parts, impl FnOnce() + Send + 'static), Error> {
        let Self { identity, ledger, chain, desk, jobs } = self;
        let (sender, receiver) = jobs;
        let rules = Arc::new(Rules::of(config, chain.network_id()));
        let judge = Judge { desk: desk.clone(), rules, chain: chain.clone(), jobs: sender.clone() };
        let (number, replicas) = (identity.number, identity.committee.replicas().clone());
        let (order, site) = identity.engine(config);
        let patience = order.timing.leader;
        let process = Process::start(order, site, Arc::new(judge)).map_err(Error::Order)?;
        shared.set_order(Standing::new(process.status().clone(), &replicas, number, patience));
        let parts = Parts { desk: desk.clone(), outbox: process.outbox().clone(), jobs: sender.clone(), chain };
        let executor = Executor { ledger, desk, shared, transmit: Box::new(transmit), jobs: receiver };
        Ok((Running { process: Some(process), jobs: sender }, parts, move || executor.run()))
    }
}

/// What the data path's controller is made of.
pub struct Parts {
    desk: Arc<Desk>,
    outbox: order::Outbox,
    jobs: Sender<Job>,
    chain: OwnReader,
}

impl Parts {
    /// The controller.
    pub fn controller(
        self,
        queries: crate::queries::Queries,
        workers: crate::workers::Workers,
        shared: Arc<Shared>,
    ) -> Controller {
        let Self { desk, outbox, jobs, chain } = self;
        Controller { desk, outbox, jobs, chain, queries, workers, shared }
    }
}

impl Running {
    /// Ends the engine, then the executor.
    pub fn stop(&mut self) {
        self.process = None;
        // It may have failed.
        let _ = self.jobs.send(Job::Stop);
    }
}
