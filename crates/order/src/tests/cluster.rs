//! Replicas of an application whose state is a hash of all final blocks.
use crate::application::{Answer, Application, Final, Refusal};
use crate::block::{Block, Payload};
use crate::committee::{Committee, ReplicaKey};
use crate::engine::{Channels, Config, Replica, message_limit};
use crate::epoch::epoch_of;
use crate::evidence::Evidence;
use crate::member::Member;
use crate::network::{connect, room, set_members};
use crate::timing::Timing;
use bytes::Bytes;
use commonware_cryptography::ed25519::PublicKey;
use commonware_p2p::simulated::{self, Link, Network, Oracle};
use commonware_p2p::{Blocker, Provider};
use commonware_runtime::{Clock, Handle, Quota, Spawner, Supervisor, deterministic};
use commonware_utils::{NZU32, NZUsize, Probability, probability};
use spv::Hash;
use spv::finality::Certificate;
use spv::hash::body_hash;
use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

pub(super) type Context = deterministic::Context;
pub(super) type Sender = simulated::Sender<PublicKey, Context>;
pub(super) type Receiver = simulated::Receiver<PublicKey>;

/// Maximum body length in these tests.
const LONGEST_BODY: usize = 1 << 10;
/// Messages per second and channel: more than any of these tests sends.
const QUOTA: Quota = Quota::per_second(NZU32!(10_000));

/// Blocks per epoch: a test of some dozens of blocks spans several epochs.
pub(super) const EPOCH: NonZeroU64 = NonZeroU64::new(8).unwrap();

/// Number of schedules to run: `usual`, scaled by `ORDER_SEEDS` percent.
pub(super) fn seeds(usual: u64) -> u64 {
    let percent = std::env::var("ORDER_SEEDS").map_or(100, |text| text.parse().expect("ORDER_SEEDS: a number"));
    (usual * percent).div_ceil(100)
}

/// The data that a replica's application has on disk.
#[derive(Default)]
pub(super) struct Record {
    pub(super) chain: Vec<Final>,
    pub(super) accused: Vec<Evidence>,
    proposals: u64,
    /// Arrival time of the newest block.
    last: Option<SystemTime>,
}

impl Record {
    /// The state after the first `height` final blocks and these pending ones, newest first.
    fn state(&self, height: u64, pending: &[Block]) -> Hash {
        let chain = self.chain[..height as usize].iter().map(|found| &found.block);
        chain.chain(pending.iter().rev()).fold([0; 32], |state, block| after(&state, block.body()))
    }

    fn take(&mut self, found: Final) {
        let (height, next) = (found.block.height(), self.chain.len() as u64 + 1);
        if height < next {
            let known = &self.chain[height as usize - 1];
            assert_eq!(known.block, found.block, "what was final is no more");
            return;
        }
        assert_eq!(height, next, "a block was left out");
        let state = self.state(height - 1, &[]);
        assert_eq!(*found.block.statement(), state, "what is final is wrong");
        self.chain.push(found);
    }
}

fn after(state: &Hash, body: &[u8]) -> Hash {
    body_hash(&[&state[..], body].concat())
}

/// A change of the set that proposals ask for until it is final: the replica with this index among all keys joins or
/// leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Join(usize),
    Leave(usize),
}

impl Change {
    fn text(self) -> String {
        match self {
            Self::Join(number) => format!(" join {number}"),
            Self::Leave(number) => format!(" leave {number}"),
        }
    }
}

/// An application whose statement in each block is its state after the block's parent.
#[derive(Clone)]
pub(super) struct Journal {
    /// Keys of all replicas that ever run; the first `founders` begin.
    pub(super) all: Arc<Vec<ReplicaKey>>,
    pub(super) founders: usize,
    /// The change that its proposals ask for.
    pub(super) wish: Arc<Mutex<Option<Change>>>,
    pub(super) record: Arc<Mutex<Record>>,
    /// Whether there is nothing to propose.
    pub(super) idle: Arc<AtomicBool>,
    /// Distinguishes its bodies, so that no two replicas propose the same block.
    pub(super) name: String,
    /// Whether it lies about its state when it proposes.
    pub(super) lies: bool,
    /// How long it waits while idle before it proposes an empty block, and the clock for that.
    pub(super) heartbeat: Option<(Duration, Arc<Context>)>,
}

impl Journal {
    /// When the next empty block is due, and the clock.
    fn heartbeat(&self) -> Option<(SystemTime, &Context)> {
        let (heartbeat, context) = self.heartbeat.as_ref()?;
        let last = self.record.lock().unwrap().last?;
        Some((last + *heartbeat, context))
    }

    /// A payload with its next number.
    fn payload(&self, parent: &Block, pending: &[Block]) -> Payload {
        let mut statement = self.statement(parent.height(), pending);
        let mut record = self.record.lock().unwrap();
        record.proposals += 1;
        let number = record.proposals;
        if self.lies {
            statement[0] ^= 1;
        }
        let wish = self.wish.lock().unwrap().map(Change::text).unwrap_or_default();
        let body = format!("{} {number} {}{wish}", self.name, "x".repeat(number as usize % 64));
        Payload { statement, body: Bytes::from(body) }
    }

    fn statement(&self, parent_height: u64, pending: &[Block]) -> Hash {
        self.record.lock().unwrap().state(parent_height - pending.len() as u64, pending)
    }
}

impl Application for Journal {
    fn propose(&self, parent: Block, pending: Vec<Block>) -> Answer<'_, Option<Payload>> {
        if !self.idle.load(Ordering::Relaxed) {
            return Box::pin(ready(Some(self.payload(&parent, &pending))));
        }
        if self.heartbeat().is_none() {
            return Box::pin(std::future::pending());
        }
        Box::pin(async move {
            // A parent that is not final yet counts as work.
            let has_parent = || self.record.lock().unwrap().chain.len() as u64 == parent.height();
            while self.idle.load(Ordering::Relaxed)
                && let Some((due, context)) = self.heartbeat()
                && !(context.current() >= due && has_parent())
            {
                context.sleep(Duration::from_millis(20)).await;
            }
            Some(self.payload(&parent, &pending))
        })
    }

    fn verify(&self, block: Block, pending: Vec<Block>) -> Answer<'_, Result<(), Refusal>> {
        let expected = self.statement(block.height() - 1, &pending);
        let is_right = *block.statement() == expected;
        Box::pin(ready(if is_right { Ok(()) } else { Err(Refusal("a wrong state".into())) }))
    }

    fn is_idle(&self) -> bool {
        let grace = Duration::from_secs(1);
        let is_waiting = self.heartbeat().is_some_and(|(due, context)| context.current() < due + grace);
        is_waiting && self.idle.load(Ordering::Relaxed)
    }

    fn finalized(&self, found: Final) -> Answer<'_, ()> {
        let mut record = self.record.lock().unwrap();
        record.last = self.heartbeat.as_ref().map(|(_, context)| context.current());
        record.take(found);
        Box::pin(ready(()))
    }

    fn committee(&self, epoch: u64) -> Committee {
        let mut members: BTreeSet<usize> = (0..self.founders).collect();
        let record = self.record.lock().unwrap();
        for found in record.chain.iter().filter(|found| epoch_of(found.block.height(), EPOCH) < epoch) {
            let body = std::str::from_utf8(found.block.body()).unwrap();
            for number in 0..self.all.len() {
                if body.ends_with(&Change::Join(number).text()) {
                    members.insert(number);
                }
                if body.ends_with(&Change::Leave(number).text()) {
                    members.remove(&number);
                }
            }
        }
        Committee::new(members.into_iter().map(|number| self.all[number].name()).collect()).unwrap()
    }

    fn accused(&self, evidence: &Evidence) {
        self.record.lock().unwrap().accused.push(evidence.clone());
    }
}

pub(super) struct Cluster {
    pub(super) context: Context,
    pub(super) network: Hash,
    pub(super) committee: Committee,
    /// By number.
    pub(super) keys: Vec<ReplicaKey>,
    pub(super) term: u32,
    /// Number of blocks to keep; `None` keeps all.
    pub(super) keep: Option<u64>,
    /// Blocks per epoch. Changes of the set work only with [`EPOCH`].
    pub(super) epoch: NonZeroU64,
    /// Certificates that replicas begin on, by number; the others begin on genesis.
    pub(super) floors: BTreeMap<usize, Certificate>,
    /// The maximum wait for a leader.
    pub(super) longest: Duration,
    pub(super) oracle: Oracle<PublicKey, Context>,
    link: Link,
    journals: Vec<Journal>,
    running: Vec<Option<(Replica, Handle<()>)>>,
}

impl Cluster {
    /// Connects replicas; none runs yet.
    pub(super) async fn new(context: Context, number: u8, term: u32) -> Self {
        Self::with_strangers(context, number, 0, term).await
    }

    /// Connects replicas and `strangers` that are not members yet; none runs yet.
    pub(super) async fn with_strangers(context: Context, founders: u8, strangers: u8, term: u32) -> Self {
        let number = founders + strangers;
        let mut keys: Vec<_> = (1..=number).map(|byte| ReplicaKey::from_bytes(&[byte; 32]).unwrap()).collect();
        let all = Committee::new(keys.iter().map(ReplicaKey::name).collect()).unwrap();
        let committee = Committee::new(keys[..founders.into()].iter().map(ReplicaKey::name).collect()).unwrap();
        keys[..founders.into()].sort_by_key(|key| committee.number(&key.name()).unwrap());
        let config = simulated::Config {
            max_size: message_limit(LONGEST_BODY),
            max_peers_per_set: NZUsize!(16),
            // A liar stays connected, so that it can do its worst.
            disconnect_on_block: false,
            tracked_peer_sets: NZUsize!(1),
        };
        let identities = all.identities().clone();
        let (network, oracle) = Network::new_with_peers(context.child("network"), config, identities).await;
        network.start();
        let link = Link {
            latency: Duration::from_millis(10),
            jitter: Duration::from_millis(3),
            success_rate: probability!(1.0),
        };
        let (all, wish, idle) = (Arc::new(keys.clone()), Arc::default(), Arc::default());
        let journals = (0..number)
            .map(|number| Journal {
                all: Arc::clone(&all),
                founders: founders.into(),
                wish: Arc::clone(&wish),
                idle: Arc::clone(&idle),
                record: Arc::default(),
                name: format!("replica {number}"),
                lies: false,
                heartbeat: None,
            })
            .collect();
        let running = (0..number).map(|_| None).collect();
        let mut cluster = Self {
            context,
            network: [7; 32],
            committee,
            keys,
            term,
            keep: None,
            epoch: EPOCH,
            floors: BTreeMap::new(),
            longest: Timing::default().longest,
            oracle,
            link,
            journals,
            running,
        };
        cluster.heal().await;
        cluster
    }

    pub(super) fn number(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn identity(&self, number: usize) -> PublicKey {
        self.keys[number].name().identity().clone()
    }

    /// Sets how messages travel from now on.
    pub(super) async fn travel(&mut self, latency: Duration, jitter: Duration, success_rate: Probability) {
        self.link = Link { latency, jitter, success_rate };
        self.heal().await;
    }

    /// Connects all replicas.
    pub(super) async fn heal(&mut self) {
        for (from, to) in self.pairs() {
            // Adding a link does not change an existing one.
            let _ = self.oracle.remove_link(from.clone(), to.clone()).await;
            self.oracle.add_link(from, to, self.link.clone()).await.unwrap();
        }
    }

    /// Cuts some off from the others.
    pub(super) async fn partition(&mut self, cut: &[usize]) {
        self.heal().await;
        let cut: Vec<_> = cut.iter().map(|number| self.identity(*number)).collect();
        for (from, to) in self.pairs() {
            if cut.contains(&from) != cut.contains(&to) {
                self.oracle.remove_link(from, to).await.unwrap();
            }
        }
    }

    fn pairs(&self) -> Vec<(PublicKey, PublicKey)> {
        let all: Vec<_> = (0..self.number()).map(|number| self.identity(number)).collect();
        let pairs = all.iter().flat_map(|from| all.iter().map(move |to| (from.clone(), to.clone())));
        pairs.filter(|(from, to)| from != to).collect()
    }

    /// The channels of a replica. Earlier receivers of these channels get nothing from now on.
    pub(super) async fn channels(&self, number: usize) -> Channels<Sender, Receiver> {
        use crate::engine::channel::{BACKFILL, BLOCKS, CERTIFICATES, MISSED, VOTES};
        let control = self.oracle.control(self.identity(number));
        Channels {
            votes: control.register(VOTES, QUOTA).await.unwrap(),
            certificates: control.register(CERTIFICATES, QUOTA).await.unwrap(),
            missed: control.register(MISSED, QUOTA).await.unwrap(),
            blocks: control.register(BLOCKS, QUOTA).await.unwrap(),
            backfill: control.register(BACKFILL, QUOTA).await.unwrap(),
        }
    }

    pub(super) fn config(&self, number: usize) -> Config {
        // About ten times the message latency, the same ratio as the defaults have to a network in one building.
        let timing = Timing {
            leader: Duration::from_millis(300),
            longest: self.longest,
            certification: Duration::from_millis(600),
            retry: Duration::from_millis(500),
            silence: Duration::from_secs(3),
            fetch: Duration::from_millis(500),
        };
        Config {
            network: self.network,
            founders: self.committee.clone(),
            key: self.keys[number].clone(),
            timing,
            term: NonZeroU32::new(self.term).unwrap(),
            epoch: self.epoch,
            keep: self.keep,
            floor: self.floors.get(&number).cloned(),
            longest_body: LONGEST_BODY,
            partition: format!("replica-{number}"),
        }
    }

    /// Makes all proposals from now on ask for a change, or for none.
    pub(super) fn wish(&self, change: Option<Change>) {
        *self.journals[0].wish.lock().unwrap() = change;
    }

    /// Gives leaders nothing to propose from now on, or something again. It does not end a turn that already waits.
    pub(super) fn rest(&self, idle: bool) {
        self.journals[0].idle.store(idle, Ordering::Relaxed);
    }

    /// Makes replicas keep a view open while leaders have nothing to propose, and propose an empty block after
    /// `heartbeat`.
    pub(super) fn beat(&mut self, heartbeat: Duration) {
        let context = Arc::new(self.context.child("heartbeat"));
        for journal in &mut self.journals {
            journal.heartbeat = Some((heartbeat, Arc::clone(&context)));
        }
    }

    /// The timeout factors of the running replicas.
    pub(super) fn factors(&self) -> Vec<u32> {
        let running = self.running.iter().flatten();
        running.map(|(replica, _)| replica.status().snapshot().timeout_factor).collect()
    }

    /// The stored pieces of evidence that a running replica reports.
    pub(super) fn evidence(&self, number: usize) -> u64 {
        self.running[number].as_ref().map_or(0, |(replica, _)| replica.status().snapshot().evidence)
    }

    /// The replicas of an epoch according to one replica.
    pub(super) fn committee_at(&self, number: usize, epoch: u64) -> Committee {
        self.journals[number].committee(epoch)
    }

    /// Makes a replica lie about its state in each proposal.
    pub(super) fn lie(&mut self, number: usize) {
        self.journals[number].lies = true;
    }

    pub(super) fn journal(&self, number: usize) -> Journal {
        self.journals[number].clone()
    }

    pub(super) async fn start(&mut self, number: usize) {
        let channels = self.channels(number).await;
        let (config, journal) = (self.config(number), self.journal(number));
        self.running[number] = Some(self.run(number, config, journal, channels).await);
    }

    /// Runs a replica on the simulated network.
    pub(super) async fn run<S, R>(
        &self,
        number: usize,
        config: Config,
        journal: Journal,
        channels: Channels<S, R>,
    ) -> (Replica, Handle<()>)
    where
        S: commonware_p2p::Sender<PublicKey = PublicKey>,
        R: commonware_p2p::Receiver<PublicKey = PublicKey>,
    {
        let (peers, blocker) = (self.oracle.manager(), self.oracle.control(self.identity(number)));
        self.run_on(number, config, journal, channels, peers, blocker).await
    }

    /// Starts a replica with its own connections, at the address of its number.
    pub(super) async fn start_connected(&mut self, number: usize, replicas: &[SocketAddr]) {
        let config = self.config(number);
        let context = self.context.child("connections").with_attribute("number", number);
        let (listen, key) = (replicas[number], &self.keys[number]);
        let (channels, _, mut peers, _) = connect(context, self.network, key, listen, room(4), LONGEST_BODY);
        let member = |(key, &address): (&ReplicaKey, _)| Member { name: key.name(), address };
        let members: Vec<_> = self.keys.iter().zip(replicas).map(member).collect();
        set_members(&mut peers, 0, room(4), &members);
        let running = self.run_on(number, config, self.journal(number), channels, peers.clone(), peers).await;
        self.running[number] = Some(running);
    }

    /// Runs a replica in its own task, so that aborting the task ends all of it.
    async fn run_on<S, R, P, B>(
        &self,
        number: usize,
        config: Config,
        journal: Journal,
        channels: Channels<S, R>,
        peers: P,
        blocker: B,
    ) -> (Replica, Handle<()>)
    where
        S: commonware_p2p::Sender<PublicKey = PublicKey>,
        R: commonware_p2p::Receiver<PublicKey = PublicKey>,
        P: Provider<PublicKey = PublicKey>,
        B: Blocker<PublicKey = PublicKey>,
    {
        let (started, replica) = futures::channel::oneshot::channel();
        let context = self.context.child("replica").with_attribute("number", number);
        let handle = context.spawn(move |context| async move {
            let context = context.child("order");
            let (replica, ended) =
                Replica::start(context, config, Arc::new(journal), channels, peers, blocker).await.unwrap();
            let _ = started.send(replica);
            let _ = ended.await;
        });
        (replica.await.unwrap(), handle)
    }

    pub(super) async fn start_all(&mut self) {
        for number in 0..self.number() {
            self.start(number).await;
        }
    }

    /// Stops a replica at whatever point it is.
    pub(super) fn stop(&mut self, number: usize) {
        if let Some((_, handle)) = self.running[number].take() {
            handle.abort();
        }
    }

    pub(super) fn replica(&self, number: usize) -> Replica {
        self.running[number].as_ref().unwrap().0.clone()
    }

    pub(super) fn record(&self, number: usize) -> MutexGuard<'_, Record> {
        self.journals[number].record.lock().unwrap()
    }

    /// How many blocks a replica's application has.
    pub(super) fn height(&self, number: usize) -> u64 {
        self.record(number).chain.len() as u64
    }

    /// The certificates that a replica got with its blocks.
    pub(super) fn certificates(&self, number: usize) -> Vec<Certificate> {
        self.record(number).chain.iter().filter_map(|found| found.certificate.clone()).collect()
    }

    /// Waits until all running replicas have at least `height` blocks.
    pub(super) async fn reach(&self, height: u64) {
        let runs = |number: &usize| self.running[*number].is_some();
        while (0..self.number()).filter(runs).any(|number| self.height(number) < height) {
            self.context.sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until replica 0 is in an epoch of this number of replicas.
    pub(super) async fn change_of_set(&self, replicas: usize) {
        while self.committee_at(0, epoch_of(self.height(0) + 1, EPOCH)).replicas().keys().len() != replicas {
            self.context.sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until one replica has at least `height` blocks.
    pub(super) async fn reach_any(&self, height: u64) {
        while (0..self.number()).all(|number| self.height(number) < height) {
            self.context.sleep(Duration::from_millis(5)).await;
        }
    }

    /// Asserts that of any two replicas one holds a prefix of the other's chain.
    pub(super) fn agree(&self) {
        let mut longest: Vec<Hash> = Vec::new();
        for number in 0..self.number() {
            let chain: Vec<_> = self.record(number).chain.iter().map(|found| found.block.hash()).collect();
            let common = chain.len().min(longest.len());
            assert_eq!(chain[..common], longest[..common], "replica {number} has another chain");
            if chain.len() > longest.len() {
                longest = chain;
            }
        }
    }

    /// Copies a replica's application state to another replica, up to the newest block with a certificate. That
    /// certificate becomes the floor of its engine.
    pub(super) fn give(&mut self, from: usize, to: usize) -> Certificate {
        self.give_up_to(from, to, u64::MAX)
    }

    /// Like [`give`](Self::give), up to the newest block with a certificate at or below a height.
    pub(super) fn give_up_to(&mut self, from: usize, to: usize, height: u64) -> Certificate {
        let mut certificates = self.certificates(from).into_iter();
        let certificate = certificates.rfind(|certificate| certificate.header.height.get() <= height);
        let certificate = certificate.expect("some block has a certificate");
        let height = certificate.header.height.get() as usize;
        let chain = self.record(from).chain[..height].to_vec();
        self.record(to).chain = chain;
        self.floors.insert(to, certificate.clone());
        certificate
    }

    /// The disk contents of all applications, for [`recall`](Self::recall) after a crash.
    pub(super) fn remember(&self) -> Vec<Vec<Final>> {
        (0..self.number()).map(|number| self.record(number).chain.clone()).collect()
    }

    pub(super) fn recall(&mut self, chains: Vec<Vec<Final>>) {
        for (number, chain) in chains.into_iter().enumerate() {
            self.record(number).chain = chain;
        }
    }
}
