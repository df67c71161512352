//! A node: start, stop.

use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{
            AtomicBool, AtomicU8,
            Ordering::{Relaxed, Release},
        },
        mpsc,
    },
    thread::JoinHandle,
    time::Duration,
    vec::Drain,
};

use chain::{bitcoin::BitcoinChain, own::OwnChain};
use ledger::{
    builder::{self, BlockBuilder},
    journal::{Submitter, group_commit},
};
use nic::{
    AfXdpBackend, Backend as _, Class, Costs, Counters, DataPath, Either, Held, Pools, Reply, StreamLimits, Streams,
    Transmit, UdpBackend, UdpConfig, Waker, WithStreams,
    cost::Work,
    held::PoolSize,
    parking::{self, parking},
    rate::RateLimit,
    selector::{Selector, SelectorConfig},
};
use proof::{BitcoinAnnouncer, BitcoinSource, Cache, OwnSource, Service};
use verify::WorkQueue;
use wire::Chain;
use xdp::{Link, Socket};

use crate::{
    Config, Error,
    admission::{self, Admission, Rules},
    completer::{self, Completer},
    config::Backend,
    controller::{Controller, Workers},
    cycles::processor_time,
    http::Http,
    memory,
    queries::Queries,
    recovery::{self, Recovered},
    rtl,
    shared::Shared,
    threads::{self, Announcer, spawn},
    tier::{self, Tier},
    turns::Turns,
    verification::{self, Request},
};

/// Messages that are received in one system call.
const MESSAGES: usize = 64;

/// How long the io thread polls before it sleeps, with `busy_poll`: it does not sleep at all while there is traffic.
const BUSY_POLL: Duration = Duration::from_millis(50);

/// Failed operations after which a block without transactions is closed, so that the journal can be cut: 72 MiB of it.
const FAILURES: u64 = 1 << 20;

/// How often another port is asked for where any will do.
const ANY_PORT_TRIES: usize = 8;

/// A running node. Dropping it ends its threads after what was executed is in the journal.
#[derive(Debug)]
pub struct Node {
    local: SocketAddr,
    http: Option<SocketAddr>,
    network: [u8; 32],
    chain_key: [u8; 32],
    shared: Arc<Shared>,
    waker: Waker,
    journal: Submitter,
    stop: Arc<AtomicBool>,
    tier: Option<Link>,
    backend: Backend,
    order: Arc<AtomicU8>,
    io: Option<JoinHandle<()>>,
    builder: Option<JoinHandle<()>>,
    threads: Vec<JoinHandle<()>>,
    /// Held until everything else is gone.
    _data: storage::DataDirectory,
}

impl Node {
    /// Recovers what is in the data directory and starts to serve.
    pub fn start(config: &Config) -> Result<Self, Error> {
        config.check()?;
        memory::set_up();
        if config.is_unlimited() {
            tracing::warn!(
                listen = %config.listen,
                "anyone may send as much as the network carries: set `limits.rate`, or listen on a loopback address only"
            );
        }
        let (choice, tier) = tier::choose(config)?;
        let (mut tier, memory) = tier.unzip();
        let (ledger_memory, cache_memory) = memory.map(|memory| (memory.ledger, memory.cache)).unzip();
        let Recovered { data, chain, sealer, bitcoin, journal, ledger } = recovery::recover(config, ledger_memory)?;
        let (network, chain_key) = (chain.network_id(), chain.key().to_bytes());
        let reader = chain.reader();
        let cache = make_cache(config, cache_memory.flatten(), &chain, bitcoin.as_ref())?;
        let mut proofs = Service::new(cache.clone()).with(Chain::Own, Arc::new(OwnSource::new(reader.clone())));
        if let Some(bitcoin) = &bitcoin {
            proofs = proofs.with(Chain::Bitcoin, Arc::new(BitcoinSource::new(bitcoin.clone())));
        }
        let nic = Arc::new(OnceLock::new());
        let (log, announcer) = (journal.log().clone(), Announcer { cache: cache.clone(), nic: nic.clone() });
        let builder = BlockBuilder::new(chain, sealer, log, builder_options(config), announcer, admission::now())?;

        let counters = Arc::new(Counters::default());
        let shared = Arc::new(Shared::new(counters.clone(), journal.log().clone(), cache.clone(), &config.ledger));
        if let Some(tier) = &tier {
            shared.set_tier(tier.state(), tier.program(), tier.gauges());
            tier.state().durable(ledger.last_sequence());
        }
        shared.tell_built(&builder);
        let (backend, streams) = match choice.backend {
            Backend::Rtl => {
                let (backend, streams, rtl) =
                    rtl::start(config, ledger.last_sequence() == 0, || bind(config, &counters, Vec::new()))?;
                shared.set_rtl(rtl.counters);
                rtl.announcer.reorganise(Chain::Own, builder.tip().hash, builder.tip().height());
                // Nobody else sets it.
                let _ = nic.set(rtl.announcer);
                (backend, streams)
            }
            _ => {
                let frames = tier.as_mut().map(Tier::take_sockets).unwrap_or_default();
                let (sockets, streams) = bind(config, &counters, frames)?;
                (Either::First(sockets), Some(streams))
            }
        };
        let local = backend.local_address().map_err(listening("listen", config.listen))?;
        let [transmitter, proof_transmitter] = [backend.transmitter(), backend.transmitter()]
            .map(|transmitter| transmitter.map_err(|source| Error::System { what: "a socket", source }));
        let waker = backend.waker();

        let (submitter, committer, preparer) = group_commit(journal);
        let (parking, departures) = parking(parking::Limits::default());
        let proof_worker = proof_worker(proofs.clone(), proof_transmitter?);
        let verifying = (0..config.verify_threads()).map(|_| backend.transmitter()).collect::<io::Result<Vec<_>>>();
        let verifying = verifying.map_err(|source| Error::System { what: "a socket", source })?;
        let workers = start_workers(config, network, &waker, &shared, proof_worker, verifying)?;
        let queries = Queries::new(reader, bitcoin, proofs, config, shared.clone());
        let work = committer.work();
        let completer = Completer::new(committer, departures, transmitter?, shared.clone());
        let completer = Arc::new(Mutex::new(completer));
        let controller = Controller::new(
            ledger,
            submitter.clone(),
            completer.clone(),
            config.promise,
            queries,
            workers,
            shared.clone(),
        );
        let selector = Selector::new(selection(config, shared.costs.clone()), local);
        let path = DataPath::new(backend, selector, controller, parking, Pools::default(), counters, MESSAGES);

        let stop = Arc::new(AtomicBool::new(false));
        let pin = |at: usize| config.io.pin.get(at).copied();
        let mut node = Self {
            local,
            http: None,
            network,
            chain_key,
            shared: shared.clone(),
            waker,
            journal: submitter,
            stop: stop.clone(),
            tier: None,
            backend: choice.backend,
            order: Arc::new(AtomicU8::new(threads::BUILD)),
            io: None,
            builder: None,
            threads: Vec::new(),
            _data: data,
        };
        // From here on dropping the node ends the threads that were started.
        node.threads.push(spawn("journal", pin(1), move || completer::run(&work, &completer))?);
        node.threads.push(spawn("prepare", None, move || preparer.run())?);
        node.builder = Some(spawn("builder", pin(2), {
            let (order, shared) = (node.order.clone(), shared.clone());
            move || threads::build(builder, &order, &shared)
        })?);
        if let Some(streams) = streams {
            let (stop, shared) = (stop.clone(), shared.clone());
            node.threads.push(spawn("streams", None, move || {
                if let Err(error) = streams.run(&stop) {
                    shared.io_failed.store(true, Release);
                    tracing::error!(%error, "connections cannot be served any more");
                }
            })?);
        }
        if let Some(address) = config.http {
            let http = Http::bind(address, shared.clone()).map_err(listening("http", address))?;
            node.http = http.local_address().ok();
            let stop = stop.clone();
            node.threads.push(spawn("http", None, move || http.run(&stop))?);
        }
        node.io = Some(spawn("io", pin(0), move || match path.run(&stop) {
            Ok(_) => {}
            Err(error) => {
                shared.io_failed.store(true, Release);
                tracing::error!(%error, "the socket failed");
            }
        })?);
        node.tier = tier.map(|tier| tier.open(config, local.port(), choice.backend == Backend::AfXdp));
        tracing::info!(address = %local, backend = ?choice.backend, reason = choice.reason, "serving");
        Ok(node)
    }

    /// The address that the protocol is served on.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// The address of metrics and health.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http
    }

    /// The network id.
    pub fn network(&self) -> &[u8; 32] {
        &self.network
    }

    /// The public key that seals the node's blocks.
    pub fn chain_key(&self) -> &[u8; 32] {
        &self.chain_key
    }

    /// The node's figures.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Number of durable operations that are not yet in a block.
    pub fn behind(&self) -> u64 {
        self.shared.behind()
    }

    /// Whether there are transactions in a block that is not closed yet.
    pub fn is_open(&self) -> bool {
        self.shared.open.load(Relaxed)
    }

    /// What carries datagrams: what was configured, or what the machine allows instead; never `Auto`.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Whether XDP answers a part of what is asked.
    pub fn uses_tier(&self) -> bool {
        self.tier.is_some()
    }

    /// Height of the own chain.
    pub fn height(&self) -> u64 {
        self.shared.height.load(Relaxed)
    }

    /// Stops: takes no more requests, makes durable what was executed, puts it into blocks.
    pub fn stop(mut self) {
        self.end(threads::DRAIN);
    }

    fn end(&mut self, order: u8) {
        // Before the tables stop to change.
        self.tier = None;
        self.stop.store(true, Release);
        self.waker.wake();
        // The writer first, then what follows it.
        if let Some(io) = self.io.take() {
            join(io);
        }
        self.journal.stop();
        self.threads.drain(..).for_each(join);
        self.order.store(order, Release);
        if let Some(builder) = self.builder.take() {
            join(builder);
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.end(threads::STOP);
    }
}

pub fn join(thread: JoinHandle<()>) {
    let name = thread.thread().name().unwrap_or_default().to_owned();
    if thread.join().is_err() {
        tracing::error!(thread = name, "the thread panicked");
    }
}

/// Answers proof requests that the cache does not know, and sends the replies.
fn proof_worker(mut proofs: Service, mut transmit: impl Transmit) -> impl FnMut(Held) {
    move |mut held: Held| {
        let length = proofs.answer(&mut held);
        if length > 0 {
            transmit.transmit(&mut std::iter::once(Reply { peer: held.peer, bytes: &held[..length] }));
        }
    }
}

/// The cache of proofs, if there is to be one, with the tips as they are now.
fn make_cache(
    config: &Config,
    memory: Option<proof::Memory>,
    own: &OwnChain,
    bitcoin: Option<&BitcoinChain>,
) -> Result<Option<Arc<Cache>>, Error> {
    let Some(cache) = tier::new_cache(config, memory)? else { return Ok(None) };
    cache.begin_own(&own.tip());
    let cache = Arc::new(cache);
    if let Some(bitcoin) = bitcoin {
        // Nothing is imported while a node runs, so what it would announce is never needed.
        BitcoinAnnouncer::new(cache.clone(), bitcoin);
    }
    Ok(Some(cache))
}

pub fn builder_options(config: &Config) -> builder::Options {
    builder::Options {
        transactions: config.blocks.transactions,
        interval: Duration::from_millis(config.blocks.interval),
        snapshot: Duration::from_secs(config.blocks.snapshot),
        failures: FAILURES,
        retention: Duration::from_secs(config.ledger.retry_seconds),
        replay: Duration::from_secs(config.ledger.replay_window),
    }
}

/// What to say when an address cannot be listened on.
pub fn listening(key: &'static str, address: SocketAddr) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Listen { key, address, source }
}

/// Datagrams, frames past the host's network stack and streams on the same port.
fn bind(
    config: &Config,
    counters: &Arc<Counters>,
    sockets: Vec<Socket>,
) -> Result<(WithStreams<AfXdpBackend>, Streams), Error> {
    let udp = UdpConfig {
        messages: MESSAGES,
        spin: if config.io.busy_poll { BUSY_POLL } else { Duration::ZERO },
        ..UdpConfig::new(config.listen)
    };
    let listening = || listening("listen", config.listen);
    let mut tries = if config.listen.port() == 0 { ANY_PORT_TRIES } else { 1 };
    let (datagrams, listener) = loop {
        tries -= 1;
        let datagrams = UdpBackend::bind(&udp, counters.clone()).map_err(listening())?;
        let local = datagrams.local_address().map_err(listening())?;
        match TcpListener::bind(SocketAddr::new(config.listen.ip(), local.port())) {
            Ok(listener) => break (datagrams, listener),
            // The port that UDP was given may be in use with TCP.
            Err(_) if tries > 0 => {}
            Err(error) => return Err(listening()(error)),
        }
    };
    let frames = AfXdpBackend::new(datagrams, sockets, counters.clone()).map_err(listening())?;
    WithStreams::new(frames, listener, stream_limits(config), counters.clone()).map_err(listening())
}

fn stream_limits(config: &Config) -> StreamLimits {
    StreamLimits {
        trusted: config.trusted.clone(),
        connections: config.limits.connections,
        prefix_connections: config.limits.prefix_connections,
        frame: Duration::from_millis(config.limits.frame_timeout),
        ..StreamLimits::default()
    }
}

fn selection(config: &Config, costs: Arc<Costs>) -> SelectorConfig {
    let rate_limit = match config.limits.rate {
        0 => None,
        per_second => Some(RateLimit { per_second, ..RateLimit::default() }),
    };
    let (trusted, verify) = (config.trusted.clone(), config.limits.verify);
    SelectorConfig { trusted, rate_limit, trusted_rate_limit: None, verify, costs }
}

fn start_workers(
    config: &Config,
    network: [u8; 32],
    waker: &Waker,
    shared: &Arc<Shared>,
    prove: impl FnMut(Held) + Send + 'static,
    verifying: Vec<impl Transmit + 'static>,
) -> Result<Workers, Error> {
    let system = |source| Error::System { what: "a thread", source };
    let replay_window = Duration::from_secs(config.ledger.replay_window);
    let (issuers, deposit) = (config.issuers.clone(), config.ledger.deposit);
    let rules = Arc::new(Rules { network, issuers, deposit, replay_window });
    // As long as the pool of buffers, which is the limit then.
    let waiting = PoolSize::of(Class::Signed).total();
    let (sender, verified) = mpsc::sync_channel(waiting);
    let verifiers = WorkQueue::start_gathering("verify", config.verify_threads(), waiting, admission::FRAMES, || {
        let mut admission = Admission::new(rules.clone());
        let (sender, waker, shared) = (sender.clone(), waker.clone(), shared.clone());
        move |frames: Drain<'_, Held>| {
            let mut frames: Vec<Held> = frames.collect();
            let operations = frames.iter_mut().filter_map(|held| {
                let trusted = held.trusted;
                Some((trusted, nic::extractor::signed_operations(held)?))
            });
            let start = processor_time();
            let signatures = admission.check(operations, admission::now());
            shared.costs.learn(Work::Operation, signatures as u64, processor_time().saturating_sub(start));
            shared.count_verified(signatures);
            // The data path is gone only when the node stops.
            if frames.into_iter().try_for_each(|held| sender.send(held)).is_ok() {
                waker.wake();
            }
        }
    })
    .map_err(system)?;
    let mut prove = Some(prove);
    let proofs = WorkQueue::start("proof", 1, PoolSize::of(Class::Proof).total(), move || {
        let mut prove = prove.take();
        move |held: Held| {
            if let Some(prove) = &mut prove {
                prove(held);
            }
        }
    })
    .map_err(system)?;
    let threads = verifying.len();
    let mut verifying = verifying.into_iter();
    let limits = verification::limits(threads);
    let verification = Turns::start("verification", threads, limits, || {
        let (mut transmit, shared) = (verifying.next(), shared.clone());
        move |requests: Vec<Request>| {
            let Some(transmit) = &mut transmit else { return requests };
            let (count, unfinished) = verification::work(requests, limits.slice, &shared.costs, transmit);
            shared.verifications.fetch_add(count as u64, Relaxed);
            unfinished
        }
    })?;
    Ok(Workers { verifiers, verified, proofs, verification })
}
