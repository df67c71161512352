//! Start-up of a node: its parts put together, and its threads.

use std::{
    sync::{Arc, Mutex, OnceLock, atomic::Ordering::Release},
    thread::JoinHandle,
};

use ::electrum::server::Server;
use chain::{
    bitcoin::BitcoinChain,
    own::{OwnChain, OwnReader},
};
use esplora::Api;
use ledger::{builder::BlockBuilder, journal::group_commit};
use nic::{
    Backend as _, Costs, Counters, DataPath, Either, Pools, StoreController, Streams,
    parking::{self, parking},
    rate::RateLimit,
    selector::{Selector, SelectorConfig},
};
use proof::{BitcoinSource, Cache, OwnSource, Service, begin_bitcoin};
use wire::{Chain, Promise};

use super::Node;
use crate::{
    Config, Error,
    blocks::{self, Announcer},
    cable,
    chain_queries::ChainQueries,
    completer::{self, Completer},
    config::Backend,
    controller::Controller,
    electrum_server,
    feeds::Feeds,
    follower::Follower,
    kv_server,
    listings::Listings,
    memory,
    node_state::NodeState,
    open_files::Budget,
    queries::Queries,
    recovery::{self, Recovered},
    rtl,
    scrub::Scrubber,
    site::{Frames, NodeSite},
    sockets::{self, Carrier, MESSAGES, listening},
    starting::{HttpServer, ProgressLog},
    threads::{self, spawn},
    tier::{self, Tier},
    workers,
};

impl Node {
    /// Recovers the data directory and starts to serve.
    pub fn start(config: &Config) -> Result<Self, Error> {
        config.check()?;
        config.check_files()?;
        config.check_listeners()?;
        memory::set_up();
        if config.is_unlimited() {
            tracing::warn!(
                listen = %config.listen,
                "anyone can send as much as the network carries: set `limits.rate`, or listen on loopback only"
            );
        }
        if config.cluster.is_wanted() {
            return Self::start_replica(config).map_err(Error::of_replica);
        }
        if let Some(node) = config.follow.node {
            return Self::start_follower(config, node);
        }
        let progress = Arc::default();
        let http = HttpServer::start(config, &progress)?;
        let progress_log = ProgressLog::start(progress.clone())?;
        let (choice, mut tier, memory) = tier::choose(config)?;
        let Recovered { data, chain, sealer, bitcoin, journal, ledger } =
            recovery::recover(config, memory.ledger, &progress)?;
        drop(progress_log);
        let budget = Budget::of_node(config, bitcoin.is_some());
        let config = &budget.fit(config)?;
        let (network, chain_key, reader) = (chain.network_id(), chain.authority().to_bytes(), chain.reader());
        let cache = make_cache(config, memory.cache, &chain, bitcoin.as_ref())?;
        let proofs = make_proofs(&cache, &reader, bitcoin.as_ref());
        let announcer = Announcer { cache: cache.clone(), nic: Arc::new(OnceLock::new()) };
        let nic = announcer.nic.clone();
        let builder = blocks::builder(config, chain, sealer, journal.log().clone(), announcer)?;

        let counters = Arc::new(Counters::default());
        let node_state = Arc::new(NodeState::new(counters.clone(), journal.log().clone(), cache, &config.ledger));
        node_state.tell_built(&builder);
        if let Some(tier) = &tier {
            node_state.set_tier(tier.state(), tier.program(), tier.gauges());
            tier.state().durable(ledger.last_sequence());
        }
        let (backend, streams) = match choice.backend {
            Backend::Rtl => behind_nic(config, ledger.last_sequence() == 0, &node_state, &builder, &nic)?,
            Backend::Cable => {
                let (backend, counters) = cable::start(config, &ledger, journal.log())?;
                node_state.set_rtl(counters);
                (backend, None)
            }
            _ => {
                let frames = tier.as_mut().map(Tier::take_sockets).unwrap_or_default();
                let (sockets, streams) = sockets::bind(config, &counters, frames)?;
                (Either::First(sockets), Some(streams))
            }
        };
        let local = backend.local_address().map_err(listening("listen", config.listen))?;
        let transmitter = backend.transmitter().map_err(|source| Error::System { what: "a socket", source })?;
        let waker = backend.waker();

        let (submitter, committer, preparer) = group_commit(journal);
        let (parking, departures) = parking(parking::Limits::default());
        let work = committer.work();
        let completer = Completer::new(committer, departures, transmitter, node_state.clone());
        let completer = Arc::new(Mutex::new(completer));
        let queries = || Queries::new(reader.clone(), bitcoin.clone(), proofs.clone(), config, node_state.clone());
        let http_frames = Frames::new(queries(), proofs.clone());
        let controller = Controller::new(
            ledger,
            submitter.clone(),
            completer.clone(),
            // At `accepted` a board replies itself, and acknowledged operations must be in the journal.
            if choice.backend == Backend::Cable { config.promise.max(Promise::Durable) } else { config.promise },
            queries(),
            workers::start(config, network, &backend, &node_state, proofs, ChainQueries::new(reader.clone()))?,
            node_state.clone(),
        );
        let selector = Selector::new(selection(config, node_state.costs.clone()), local);
        let path = DataPath::new(backend, selector, controller, parking, Pools::default(), counters, MESSAGES);

        let mut node = Self::new(local, network, chain_key, node_state, waker, data, budget);
        node.http = http;
        node.node_state.set_journal(submitter.clone());
        node.journal = Some(submitter);
        // The program in the driver knows whether there is a rate, and does not learn of another one.
        node.reload.rate = tier.is_none().then(|| path.rates());
        node.reload.streams = streams.as_ref().map(Streams::reloads);
        node.backend = choice.backend;
        let pin = |at: usize| config.io.pin.get(at).copied();
        // From here on dropping the node ends the threads that were started.
        node.threads.push(spawn(threads::JOURNAL, pin(1), move || completer::run(&work, &completer))?);
        node.threads.push(spawn("prepare", None, move || preparer.run())?);
        node.builder = Some(node.start_builder(builder, pin(2))?);
        if let Some(streams) = streams {
            node.start_streams(config, streams)?;
        }
        node.start_services(config, bitcoin)?;
        node.start_scrub(reader.clone())?;
        node.serve_http(config, Listings::new(reader), http_frames);
        node.io = Some(node.start_io(path, pin(0))?);
        node.tier = tier.map(|tier| tier.open(config, local.port(), choice.backend == Backend::AfXdp));
        tracing::info!(address = %local, backend = ?choice.backend, reason = choice.reason, "serving");
        Ok(node)
    }

    /// Starts the services beside the ledger.
    pub(super) fn start_services(&mut self, config: &Config, bitcoin: Option<BitcoinChain>) -> Result<(), Error> {
        if config.kv.is_wanted() {
            let store = kv_server::start(&config.kv)?;
            self.node_state.set_kv(store.service().clone());
            self.kv = Some(store);
        }
        let follow = |chain| Follower::new(&config.bitcoin, chain, self.node_state.cache.clone(), self.stop.clone());
        let mut follower = bitcoin.clone().and_then(follow);
        if config.electrum.is_wanted() {
            let service = electrum_server::service(&config.electrum, bitcoin, self.node_state.cache.clone())?;
            self.node_state.set_electrum(service.clone());
            if config.electrum.has_listeners() {
                let (server, tls) = electrum_server::start(&config.electrum, service.clone())?;
                (self.electrum, self.reload.electrum_tls) = (Some(server), tls);
            }
            if let Some(follower) = &mut follower {
                follower.serve(service, self.electrum.as_ref().map(Server::announcer).unwrap_or_default());
            }
        }
        if let Some(follower) = follower {
            self.node_state.set_following(follower.status().clone());
            self.threads.extend(follower.start()?);
        }
        Ok(())
    }

    fn start_builder(
        &self,
        builder: BlockBuilder<Announcer>,
        processor: Option<usize>,
    ) -> Result<JoinHandle<()>, Error> {
        let (order, node_state) = (self.order.clone(), self.node_state.clone());
        spawn(threads::BUILDER, processor, move || blocks::build(builder, &order, &node_state))
    }

    /// Starts to serve connections, and the feeds that they ask for.
    pub(super) fn start_streams(&mut self, config: &Config, streams: Streams) -> Result<(), Error> {
        let (log, counters) = (&self.node_state.log, self.node_state.feeds.clone());
        let feeds = Feeds::attach(config, streams, log, counters);
        let (streams, feeds) = feeds.map_err(|source| Error::System { what: "a waker", source })?;
        if let Some((feeds, subscriber)) = feeds {
            self.node_state.set_subscriber(subscriber);
            let stop = self.stop.clone();
            self.threads.push(spawn("feeds", None, move || {
                if let Err(error) = feeds.run(&stop) {
                    tracing::error!(%error, "cannot serve feeds: restart the node");
                }
            })?);
        }
        let (stop, node_state) = (self.stop.clone(), self.node_state.clone());
        self.threads.push(spawn("streams", None, move || {
            if let Err(error) = streams.run(&stop) {
                node_state.io_failed.store(true, Release);
                tracing::error!(%error, "cannot serve connections");
            }
        })?);
        Ok(())
    }

    /// Starts to look for damaged blocks.
    pub(super) fn start_scrub(&mut self, reader: OwnReader) -> Result<(), Error> {
        self.node_state.set_chain(reader.clone());
        self.scrubber = Some(Scrubber::start(reader)?);
        Ok(())
    }

    /// Answers HTTP with the site of a node that has started.
    pub(super) fn serve_http(&self, config: &Config, listings: Listings, frames: Frames) {
        let Some(http) = &self.http else { return };
        let service = self.node_state.electrum().filter(|_| config.electrum.esplora);
        let esplora = service.map(|service| Api::new(service.clone()));
        let site = NodeSite::new(self.node_state.clone(), listings, frames, config).with_esplora(esplora, config);
        let site = site.with_feeds(self.node_state.subscriber().cloned());
        http.serve(site);
    }

    pub(super) fn start_io(
        &self,
        path: DataPath<Carrier, impl StoreController + Send + 'static>,
        processor: Option<usize>,
    ) -> Result<JoinHandle<()>, Error> {
        let (stop, node_state) = (self.stop.clone(), self.node_state.clone());
        spawn(threads::IO, processor, move || {
            if let Err(error) = path.run(&stop) {
                node_state.io_failed.store(true, Release);
                tracing::error!(%error, "datagrams are no longer answered");
            }
        })
    }
}

/// The simulated NIC, and connections past it; it learns of the tip here, and of new blocks by `nic`.
fn behind_nic(
    config: &Config,
    is_empty: bool,
    node_state: &NodeState,
    builder: &BlockBuilder<Announcer>,
    nic: &OnceLock<nic::rtl::Announcer>,
) -> Result<(Carrier, Option<Streams>), Error> {
    let bind = || sockets::bind(config, &node_state.counters, Vec::new());
    let (backend, streams, handles) = rtl::start(config, is_empty, bind)?;
    node_state.set_rtl(handles.counters);
    handles.announcer.reorganise(Chain::Own, builder.tip().hash, builder.tip().height());
    // Nobody else sets it.
    let _ = nic.set(handles.announcer);
    Ok((backend, streams))
}

/// The cache of proofs, if there is to be one, with the tips as they are now.
pub(super) fn make_cache(
    config: &Config,
    memory: Option<proof::Memory>,
    own: &OwnChain,
    bitcoin: Option<&BitcoinChain>,
) -> Result<Option<Arc<Cache>>, Error> {
    let Some(cache) = tier::new_cache(config, memory)? else { return Ok(None) };
    cache.begin_own(&own.tip());
    if let Some(bitcoin) = bitcoin {
        // The follower of a Bitcoin node continues from here.
        begin_bitcoin(&cache, bitcoin);
    }
    Ok(Some(Arc::new(cache)))
}

/// The provers of the chains.
pub(super) fn make_proofs(cache: &Option<Arc<Cache>>, own: &OwnReader, bitcoin: Option<&BitcoinChain>) -> Service {
    let proofs = Service::new(cache.clone()).with(Chain::Own, Arc::new(OwnSource::new(own.clone())));
    match bitcoin {
        Some(bitcoin) => proofs.with(Chain::Bitcoin, Arc::new(BitcoinSource::new(bitcoin.clone()))),
        None => proofs,
    }
}

/// The rate of each prefix that is not trusted, if it is limited.
pub(crate) fn rate_limit(config: &Config) -> Option<RateLimit> {
    match config.limits.rate {
        0 => None,
        per_second => Some(RateLimit { per_second, ..RateLimit::default() }),
    }
}

/// The rules of the data path: accepted senders and limits.
pub(super) fn selection(config: &Config, costs: Arc<Costs>) -> SelectorConfig {
    let rate_limit = rate_limit(config);
    let (trusted, verify) = (config.trusted.clone(), config.limits.verify);
    SelectorConfig { trusted, rate_limit, trusted_rate_limit: None, verify, costs }
}
