//! The in-NIC ledger as a service: XDP executes compact frames; this module journals them and answers frames that XDP
//! passes to the host. **Accepted only**: a crash loses operations that are in the ring, or read from it but not yet in
//! the journal.
//!
//! The data directory is a node's. The journal is settled in blocks and recovered with them, as in a node; the
//! recovered ledger fills the store of the program, which ends with the process.

mod restore;

use std::{
    net::{SocketAddr, UdpSocket},
    sync::{
        Arc, Mutex,
        atomic::{
            AtomicBool, AtomicU8,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    thread::{JoinHandle, sleep},
    time::{Duration, Instant},
};

use ledger::journal::{Batch, Journal};
use nic::{
    Counters, Peer, generator,
    selector::{Selection, Selector, SelectorConfig},
};
use proof::{OwnSource, Service};
use wire::{Chain, Command, CompactFrame, Operation, Status};
use xdp::{Committed, Flags, InNicConfig, InNicLedger, LedgerCounter, Link, Mode};

use crate::{
    Config, Error, admission, blocks,
    controller::BEHIND,
    http::Http,
    listings::Listings,
    memory,
    node_state::{NodeState, lock},
    queries::Queries,
    recovery::{self, Recovered},
    scrub::Scrubber,
    site::{Frames, NodeSite},
    sockets::listening,
    starting::ProgressLog,
    threads::{self, join, spawn},
    tier,
};

/// Sleep after the ring was empty: a crash loses at most this time, beside the records being written.
const NAP: Duration = Duration::from_millis(1);

/// Idle time after which the journal is sealed.
const IDLE: Duration = Duration::from_millis(100);

/// Maximum number of operations per write: 4 MiB of journal, a quarter of the ring.
const MOST_AT_ONCE: usize = 1 << 16;

/// Interval at which the host's socket checks for a stop.
const LISTEN: Duration = Duration::from_millis(100);

/// A running in-NIC ledger. Dropping it detaches the program, and ends the threads once all executed operations are in
/// the journal.
#[derive(Debug)]
pub struct InNic {
    local: SocketAddr,
    http: Option<SocketAddr>,
    network: [u8; 32],
    link: Option<Link>,
    ledger: Arc<Mutex<InNicLedger>>,
    node_state: Arc<NodeState>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    order: Arc<AtomicU8>,
    builder: Option<JoinHandle<()>>,
    _scrubber: Scrubber,
    /// Dropped last.
    _data: storage::DataDirectory,
}

impl InNic {
    /// Recovers the data directory, and starts to serve.
    pub fn start(config: &Config) -> Result<Self, Error> {
        let in_nic = |reason: String| Error::InNic(reason);
        if config.cluster.is_wanted() {
            let why = "it executes operations before they are ordered, and replicas would differ; use `turnpike serve --io xdp`, \
                       where XDP answers reads of a replica";
            return Err(in_nic(why.to_owned()));
        }
        memory::set_up();
        let interface = tier::find_interface(&config.io.interface, config.listen).map_err(in_nic)?;
        let progress = Arc::default();
        let progress_log = ProgressLog::start(Arc::clone(&progress))?;
        let Recovered { data, chain, sealer, journal, ledger: recovered, .. } =
            recovery::recover(config, None, &progress)?;
        drop(progress_log);
        let size = InNicConfig {
            accounts: config.ledger.accounts as usize,
            retries: config.ledger.retry_operations as usize,
            retention: Duration::from_secs(config.ledger.retry_seconds),
            ..InNicConfig::default()
        };
        let log = journal.log().clone();
        let ledger = restore::load(&size, &recovered, &log, admission::now())?;
        drop(recovered);
        let network = chain.network_id();
        let reader = chain.reader();
        let builder = blocks::builder(config, chain, sealer, log.clone(), ())?;

        let socket = UdpSocket::bind(config.listen).map_err(listening("listen", config.listen))?;
        socket.set_read_timeout(Some(LISTEN)).map_err(listening("listen", config.listen))?;
        let local = socket.local_addr().map_err(listening("listen", config.listen))?;
        let state = ledger.state();
        let own =
            if config.listen.ip().is_unspecified() { interface.addresses.clone() } else { vec![config.listen.ip()] };
        state.set_listening(local.port(), interface.mac, &own);
        state.set_trusted(config.trusted.iter().map(|prefix| (prefix.address(), prefix.length())));
        state.set_flags(if interface.is_loopback() { Flags::LOOPBACK } else { Flags::default() });

        let counters = Arc::new(Counters::default());
        let node_state = Arc::new(NodeState::new(counters, log, None, &config.ledger));
        node_state.set_data(data.path());
        node_state.tell_built(&builder);
        node_state.set_chain(reader.clone());
        let scrubber = Scrubber::start(reader.clone())?;
        node_state.accounts.store(ledger.accounts(), Relaxed);
        let link = Link::attach(&ledger, &interface).map_err(|error| in_nic(error.to_string()))?;
        let mode = link.mode();
        let ledger = Arc::new(Mutex::new(ledger));
        node_state.set_in_nic(ledger.clone());
        let stop = Arc::new(AtomicBool::new(false));
        let mut service = Self {
            local,
            http: None,
            network,
            link: Some(link),
            ledger: ledger.clone(),
            node_state: node_state.clone(),
            stop: stop.clone(),
            threads: vec![],
            order: Arc::new(AtomicU8::new(blocks::BUILD)),
            builder: None,
            _scrubber: scrubber,
            _data: data,
        };
        service.threads.push(spawn(threads::JOURNAL, None, {
            let (stop, node_state) = (stop.clone(), node_state.clone());
            move || follow(&ledger, journal, &node_state, &stop)
        })?);
        service.builder = Some(spawn(threads::BUILDER, None, {
            let (order, node_state) = (service.order.clone(), node_state.clone());
            move || blocks::build(builder, &order, &node_state)
        })?);
        let selector =
            Selector::new(SelectorConfig { trusted: config.trusted.clone(), ..SelectorConfig::default() }, local);
        service.threads.push(spawn("host", None, {
            let (stop, node_state) = (stop.clone(), node_state.clone());
            move || refuse(&socket, selector, &node_state, &stop)
        })?);
        if let Some(address) = config.http {
            let proofs = Service::new(None).with(Chain::Own, Arc::new(OwnSource::new(reader.clone())));
            let queries = Queries::new(reader.clone(), None, proofs.clone(), config, node_state.clone());
            let site = NodeSite::new(node_state, Listings::new(reader), Frames::new(queries, proofs), config);
            let http = Http::bind(address, config.http_trusted(), site)?;
            service.http = Some(http.local_address());
            service.threads.push(spawn("http", None, move || http.run(&stop))?);
        }
        tracing::warn!(interface = interface.name, %mode, "accepted only: a crash loses unjournalled operations");
        if mode == Mode::Generic {
            tracing::warn!("the driver does not support XDP: in generic mode it is not faster than sockets");
        }
        Ok(service)
    }

    /// The address that it serves.
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

    /// Its state.
    pub fn state(&self) -> &NodeState {
        &self.node_state
    }

    /// How often something happened.
    pub fn count(&self, counter: LedgerCounter) -> u64 {
        lock(&self.ledger).count(counter)
    }

    /// Sequence of the last operation that was executed, and of the last that is in the journal.
    pub fn sequences(&self) -> (u64, u64) {
        (lock(&self.ledger).sequence(), self.node_state.durable())
    }

    /// Stops executing, writes all executed operations to the journal, and settles them in blocks.
    pub fn stop(mut self) {
        self.end(blocks::DRAIN);
    }

    fn end(&mut self, order: u8) {
        // Nothing is executed from here on; the rest of the ring is read.
        self.link = None;
        self.stop.store(true, Release);
        self.threads.drain(..).for_each(join);
        self.order.store(order, Relaxed);
        if let Some(builder) = self.builder.take() {
            join(builder);
        }
    }
}

impl Drop for InNic {
    fn drop(&mut self) {
        self.end(blocks::STOP);
    }
}

fn operation(committed: &Committed) -> Operation {
    let Committed { command, transaction, source, destination, amount, status, .. } = *committed;
    let frame = CompactFrame {
        command: command.into(),
        transaction: transaction.into(),
        source: source.into(),
        destination: destination.into(),
        amount: amount.into(),
        status: status.into(),
    };
    assert!(
        frame.command().is_ok_and(Command::is_executed),
        "the program executed an invalid operation: {committed:?}"
    );
    frame.to_operation()
}

/// Writes operations that the program executed to the journal. After a failed write the ring fills up, and the program
/// stops executing. So it does while the block builder lags far, which bounds the journal.
fn follow(ledger: &Mutex<InNicLedger>, mut journal: Journal, node_state: &NodeState, stop: &AtomicBool) {
    let (mut batch, mut idle) = (Batch::new(), Some(Instant::now()));
    loop {
        let stops = stop.load(Acquire);
        if !stops && node_state.behind() > BEHIND && !node_state.builder_failed.load(Relaxed) {
            sleep(NAP);
            continue;
        }
        let taken = {
            let mut ledger = lock(ledger);
            node_state.accounts.store(ledger.accounts(), Relaxed);
            ledger.drain(MOST_AT_ONCE, |committed| batch.push(&operation(committed), committed.value))
        };
        let written = batch.len() as u64;
        let result = match taken {
            0 if idle.is_some_and(|since| stops || since.elapsed() > IDLE) => {
                idle = None;
                journal.seal(admission::now())
            }
            0 => Ok(()),
            _ => {
                idle = Some(Instant::now());
                journal.commit(&mut batch, admission::now()).map(|_| ())
            }
        };
        if let Err(error) = result {
            node_state.storage_failed.store(true, Release);
            tracing::error!(%error, "cannot write the journal: the in-NIC ledger answers reads only once its ring is full");
            return;
        }
        node_state.executed.fetch_add(written, Relaxed);
        if taken == 0 {
            if stops {
                return;
            }
            sleep(NAP);
        }
    }
}

/// Answers what the program leaves to the host: every frame is refused.
fn refuse(socket: &UdpSocket, mut selector: Selector, node_state: &NodeState, stop: &AtomicBool) {
    let counters = &node_state.counters;
    // The largest datagram that there is.
    let mut datagram = vec![0; 1 << 16];
    while !stop.load(Acquire) {
        let Ok((length, sender)) = socket.recv_from(&mut datagram) else { continue };
        counters.messages.add(1);
        counters.datagrams.add(1);
        counters.bytes.add(length as u64);
        let frame = &mut datagram[..length];
        let selection = selector.select(&Peer::new(sender), frame, Instant::now());
        let mut refused = |status| {
            counters.refuse(status);
            generator::refuse(frame, status, 0)
        };
        let length = match selection {
            // The ring had no room, or a lock was not available.
            Selection::Compact if node_state.storage_failed.load(Acquire) => refused(Status::StorageFailed),
            Selection::Compact => refused(Status::Busy),
            Selection::Batch(..) | Selection::Signed | Selection::Change | Selection::Query(_) => {
                refused(Status::UnknownCommand)
            }
            Selection::Refuse(status) => refused(status),
            Selection::Error(error) => {
                counters.refuse(error.status);
                error.write_reply(frame)
            }
            Selection::Drop => 0,
        };
        if length == 0 {
            counters.dropped.add(1);
            continue;
        }
        match socket.send_to(&frame[..length], sender) {
            Ok(_) => counters.replies.add(1),
            Err(_) => counters.lost.add(1),
        }
    }
}
