//! Start-up of a node that is one of several replicas.

use std::sync::{Arc, OnceLock};

use nic::{
    Backend as _, Counters, DataPath, Either, Pools,
    held::PoolSize,
    parking::{self, parking},
    selector::Selector,
};

use super::{
    Node,
    start::{make_cache, make_proofs, selection},
};
use crate::{
    Config, Error,
    blocks::Announcer,
    config::Backend,
    follower, layout,
    listings::Listings,
    node_state::NodeState,
    open_files::Budget,
    queries::Queries,
    recovery,
    replica::{Identity, Replica},
    site::Frames,
    sockets::{self, MESSAGES, listening},
    starting::{HttpServer, ProgressLog},
    threads::{self, spawn},
    tier::{self, Tier},
    workers,
};

impl Node {
    /// Recovers the data directory, and orders and serves with the other replicas.
    pub(super) fn start_replica(config: &Config) -> Result<Self, Error> {
        let progress = Arc::default();
        let http = HttpServer::start(config, &progress)?;
        let progress_log = ProgressLog::start(progress.clone())?;
        let identity = Identity::from_cluster(&config.cluster)?;
        let (choice, mut tier, memory) = tier::choose(config)?;
        let data = layout::open(&config.data)?;
        let journal = recovery::open_journal(&data, &progress)?;
        let genesis = || Ok(identity.genesis(config));
        let options = recovery::chain_options(config);
        let chain = layout::open_chain_with_progress(&data, options, progress.clone(), genesis)?;
        let bitcoin = follower::open(&config.bitcoin, &data)?;
        let budget = Budget::of_node(config, bitcoin.is_some());
        let config = &budget.fit(config)?;
        let (network, chain_key, reader) = (chain.network_id(), chain.authority().to_bytes(), chain.reader());
        let cache = make_cache(config, memory.cache, &chain, bitcoin.as_ref())?;
        let proofs = make_proofs(&cache, &reader, bitcoin.as_ref());
        let announcer = Announcer { cache: cache.clone(), nic: Arc::new(OnceLock::new()) };

        let counters = Arc::new(Counters::default());
        let node_state = Arc::new(NodeState::new(counters.clone(), journal.log().clone(), cache, &config.ledger));
        if let Some(tier) = &tier {
            node_state.set_tier(tier.state(), tier.program(), tier.gauges());
        }
        let replica = Replica::open(config, identity, &data, chain, journal, memory.ledger, announcer)?;
        drop(progress_log);
        recovery::report(&progress);
        let frames = tier.as_mut().map(Tier::take_sockets).unwrap_or_default();
        let (sockets, streams) = sockets::bind(config, &counters, frames)?;
        let backend = Either::First(sockets);
        let local = backend.local_address().map_err(listening("listen", config.listen))?;
        let transmitter = backend.transmitter().map_err(|source| Error::System { what: "a socket", source })?;
        let waker = backend.waker();
        let queries = || Queries::new(reader.clone(), bitcoin.clone(), proofs.clone(), config, node_state.clone());
        let (http_frames, queries) = (Frames::new(queries(), proofs.clone()), queries());
        let workers = workers::start(config, network, &backend, &node_state, proofs, queries.of_chain())?;
        let selector = Selector::new(selection(config, node_state.costs.clone()), local);
        let (running, parts, execute) = replica.start(config, transmitter, node_state.clone())?;
        let controller = parts.controller(queries, workers, node_state.clone());
        // Frames wait in the order pool, and none is parked.
        let (parking, _) = parking(parking::Limits { bytes: 0, replies: 0 });
        let path =
            DataPath::new(backend, selector, controller, parking, Pools::new(PoolSize::for_class), counters, MESSAGES);

        let mut node = Self::new(local, network, chain_key, node_state, waker, data, budget);
        node.http = http;
        node.reload.rate = tier.is_none().then(|| path.rates());
        node.reload.streams = Some(streams.reloads());
        node.replica = Some(running);
        node.backend = choice.backend;
        let pin = |at: usize| config.io.pin.get(at).copied();
        // From here on dropping the node ends the threads that were started.
        node.builder = Some(spawn(threads::EXECUTOR, pin(2), execute)?);
        node.start_streams(config, streams)?;
        node.start_services(config, bitcoin)?;
        node.start_scrub(reader.clone())?;
        node.serve_http(config, Listings::new(reader), http_frames);
        node.io = Some(node.start_io(path, pin(0))?);
        node.tier = tier.map(|tier| tier.open(config, local.port(), choice.backend == Backend::AfXdp));
        tracing::info!(address = %local, backend = ?choice.backend, reason = choice.reason, "serving as a replica");
        Ok(node)
    }
}
