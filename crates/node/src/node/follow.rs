//! Start-up of a node that follows another one.

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use ledger::{Secret, followed::FollowedLedger};
use nic::{
    Backend as _, Counters, DataPath, Either, Pools,
    parking::{self, parking},
    selector::Selector,
};
use spv::SealedHeader;

use super::{
    Node,
    start::{make_cache, make_proofs, selection},
};
use crate::{
    Config, Error, admission,
    blocks::Announcer,
    follow::{self, Controller, FollowError},
    follower, layout,
    listings::Listings,
    node_state::NodeState,
    open_files::Budget,
    queries::Queries,
    recovery,
    site::Frames,
    sockets::{self, MESSAGES, listening},
    starting::{HttpServer, ProgressLog},
    text::hex,
    threads::{self, spawn},
    workers,
};

impl Node {
    /// Recovers the data directory, or begins one with the genesis header of `node`, and follows that node.
    pub(super) fn start_follower(config: &Config, node: SocketAddr) -> Result<Self, Error> {
        let progress = Arc::default();
        let http = HttpServer::start(config, &progress)?;
        let progress_log = ProgressLog::start(progress.clone())?;
        let data = layout::open(&config.data)?;
        let pinned = config.follow.network_id();
        let mut failure = None;
        let genesis = || -> Result<SealedHeader, chain::own::Error> {
            follow::genesis(node, pinned).map_err(|error| {
                failure = Some(error);
                chain::own::Error::NoChain
            })
        };
        let options = recovery::chain_options(config);
        let opened = layout::open_chain_with_progress(&data, options, progress.clone(), genesis);
        let chain = match failure {
            Some(failure) => return Err(failure.into()),
            None => opened?,
        };
        let journal = recovery::open_journal(&data, &progress)?;
        let (network, authority, reader) = (chain.network_id(), *chain.authority(), chain.reader());
        if let Some(pinned) = pinned.filter(|pinned| *pinned != network) {
            return Err(FollowError::OtherNetwork { expected: hex(&pinned), found: hex(&network) }.into());
        }
        if chain.key().is_none() {
            return Err(FollowError::Replica { node }.into());
        }
        let bitcoin = follower::open(&config.bitcoin, &data)?;
        let budget = Budget::of_node(config, bitcoin.is_some());
        let config = &budget.fit(config)?;
        let cache = make_cache(config, None, &chain, bitcoin.as_ref())?;
        let proofs = make_proofs(&cache, &reader, bitcoin.as_ref());
        let announcer = Announcer { cache: cache.clone(), nic: Arc::new(OnceLock::new()) };

        let counters = Arc::new(Counters::default());
        let node_state = Arc::new(NodeState::new(counters.clone(), journal.log().clone(), cache, &config.ledger));
        let secret = Secret::from_seed(layout::random()?);
        let options = follow::ledger_options(config);
        let now = admission::monotonic();
        let ledger = FollowedLedger::open(chain, journal, options, secret, None, announcer, now)?;
        drop(progress_log);
        recovery::report(&progress);
        tracing::info!(accounts = ledger.ledger().accounts(), height = ledger.tip().height(), "recovered");
        let (sockets, streams) = sockets::bind(config, &counters, Vec::new())?;
        let backend = Either::First(sockets);
        let local = backend.local_address().map_err(listening("listen", config.listen))?;
        let waker = backend.waker();
        let queries = || Queries::new(reader.clone(), bitcoin.clone(), proofs.clone(), config, node_state.clone());
        let (http_frames, queries) = (Frames::new(queries(), proofs.clone()), queries());
        let workers = workers::start(config, network, &backend, &node_state, proofs, queries.of_chain())?;
        let selector = Selector::new(selection(config, node_state.costs.clone()), local);

        let mut started = Self::new(local, network, authority.to_bytes(), node_state, waker, data, budget);
        started.http = http;
        let follow::Threads { feed, headers, executor } =
            follow::threads(node, ledger, authority, &started.node_state, &started.stop);
        let status = executor.status().clone();
        let node_state = started.node_state.clone();
        let controller = Controller { chain: reader.clone(), status, queries, workers, node_state };
        // No reply is parked, but each execution reserves room.
        let (parking, _departures) = parking(parking::Limits::default());
        let path = DataPath::new(backend, selector, controller, parking, Pools::default(), counters, MESSAGES);
        started.reload.rate = Some(path.rates());
        started.reload.streams = Some(streams.reloads());
        let pin = |at: usize| config.io.pin.get(at).copied();
        // From here on dropping the node ends the threads that were started.
        started.builder = Some(spawn(threads::EXECUTOR, pin(2), move || executor.run())?);
        started.threads.push(spawn("follow-feed", None, move || feed.run())?);
        started.threads.push(spawn("follow-headers", None, move || headers.run())?);
        started.start_streams(config, streams)?;
        started.start_services(config, bitcoin)?;
        started.start_scrub(reader.clone())?;
        started.serve_http(config, Listings::new(reader), http_frames);
        started.io = Some(started.start_io(path, pin(0))?);
        tracing::info!(address = %local, %node, "serving as a follower");
        Ok(started)
    }
}
