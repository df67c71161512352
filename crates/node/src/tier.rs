//! The NIC tier of a node: the backend and the reason for it; the arena of the ledger and the proof cache; the program
//! that answers from them.
//!
//! 1. At start, before the ledger is recovered: choose the backend, create the arena, and load and attach the program,
//!    which answers nothing yet. If the machine does not allow that, serve by sockets, and report the reason.
//! 2. Recover the ledger and the proof cache in the memory of the arena.
//! 3. Open the tier: publish the offsets of the tables, the trusted prefixes and the flags, then where the node
//!    listens.
//! 4. While it runs, the writer announces its changes, and the journal or the executor publishes that they are durable:
//!    [`State`] has the rules of deferral.
//! 5. Dropping the link detaches the program. Frames then go to the host, as all those that it does not answer.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use net::Prefix;
use proof::Cache;
use wire::Promise;
use xdp::{Arena, Flags, Gauge, Interface, Link, Mode, Offsets, Program, Socket, State, Transfer};

use crate::{
    Config, Error,
    config::{Backend, Io},
};

/// How long the kernel busy-polls a device for frames, with `busy_poll`: the value suggested by its documentation of
/// AF_XDP.
const BUSY_POLL: Duration = Duration::from_micros(20);

/// The backend, and the reason for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What serves.
    pub backend: Backend,
    /// Why, for the operator.
    pub reason: String,
}

/// The tier before its tables are filled: an arena, and the program, which is loaded over it and attached but does not
/// answer yet.
pub struct Tier {
    arena: Arena,
    offsets: Offsets,
    program: Arc<Program>,
    interface: Interface,
    link: Link,
    /// Sockets of the interface's queues, in order; none if only the host's sockets serve.
    sockets: Vec<Socket>,
}

/// Memory in an arena for the tables; none without a tier.
#[derive(Default)]
pub struct Memory {
    /// For the ledger.
    pub ledger: Option<ledger::Memory>,
    /// For the proof cache, if there is one.
    pub cache: Option<proof::Memory>,
}

/// Chooses the backend, and prepares the tier if needed. Falls back to sockets if the machine does not allow the
/// configured backend.
pub fn choose(config: &Config) -> Result<(Choice, Option<Tier>, Memory), Error> {
    let without = |backend, reason| (Choice { backend, reason }, None, Memory::default());
    if let Backend::Udp | Backend::Rtl | Backend::Cable = config.io.backend {
        return Ok(without(config.io.backend, "as configured".to_owned()));
    }
    let sizes = Sizes::from_config(config)?;
    match prepare(config, &sizes) {
        Ok((choice, tier, memory)) => Ok((choice, Some(tier), memory)),
        Err(reason) => Ok(without(Backend::Udp, reason)),
    }
}

fn prepare(config: &Config, sizes: &Sizes) -> Result<(Choice, Tier, Memory), String> {
    let Io { backend, interface, .. } = &config.io;
    let interface = find_interface(interface, config.listen)?;
    if *backend == Backend::Auto && interface.is_loopback() {
        return Err(format!("`{}` is a loopback interface, whose driver has no XDP", interface.name));
    }
    // Frames on a `veth` have already passed this machine's stack, and frames that XDP sends there are lost if the
    // other end is not prepared for them (docs/nic.md).
    if *backend == Backend::Auto && !interface.has_device() {
        return Err(format!("`{}` has no device: set `io.backend = \"xdp\"` to use XDP there", interface.name));
    }
    let text = |error: xdp::Error| error.to_string();
    let arena = Arena::with_room_for(&sizes.all()).map_err(text)?;
    let (memory, offsets) = sizes.take(&arena).map_err(text)?;
    let program = Arc::new(Program::load(&arena, true).map_err(text)?);
    let link = match backend {
        // In generic mode, after the driver, it is no faster than sockets.
        Backend::Auto => Link::attach_as(&program, &interface, Mode::Native),
        _ => Link::attach(&program, &interface),
    };
    let link = link.map_err(text)?;
    let attached = format!("XDP is attached to `{}` ({})", interface.name, link.mode());
    let (choice, sockets) = match open_sockets(config, &interface, &program) {
        Ok(sockets) => {
            let transfer = sockets.first().map_or(Transfer::Copy, Socket::transfer);
            let reason = format!("{attached}, AF_XDP to {} of its queues ({transfer})", sockets.len());
            (Choice { backend: Backend::AfXdp, reason }, sockets)
        }
        Err(why) => (Choice { backend: Backend::Xdp, reason: format!("{attached}{why}") }, Vec::new()),
    };
    Ok((choice, Tier { arena, offsets, program, interface, link, sockets }, memory))
}

/// Opens a socket for each queue of the interface if frames are to bypass the host's network stack; else returns the
/// reason.
fn open_sockets(config: &Config, interface: &Interface, program: &Program) -> Result<Vec<Socket>, String> {
    let busy_poll = config.io.busy_poll.then_some(BUSY_POLL);
    let open = |queue| {
        let socket = match config.io.backend {
            // Copying each frame saves nothing by measurement (docs/results.md, the NIC tier).
            Backend::Auto => Socket::open_as(interface, queue, busy_poll, Transfer::ZeroCopy)?,
            _ => Socket::open(interface, queue, busy_poll)?,
        };
        program.set_socket(queue, socket.receiver.socket())?;
        Ok(socket)
    };
    let queues = 0..interface.receive_queues.clamp(1, xdp::QUEUES);
    match config.io.backend {
        Backend::AfXdp => queues.map(open).collect::<Result<_, _>>().map_err(|error: xdp::Error| format!("; {error}")),
        Backend::Auto => queues
            .map(open)
            .collect::<Result<_, xdp::Error>>()
            .map_err(|_| "; its driver has no zero copy that XDP can answer with, so no AF_XDP".to_owned()),
        _ => Err(", as configured".to_owned()),
    }
}

/// The interface of a name, or else the one that has the address.
pub(crate) fn find_interface(name: &str, listen: SocketAddr) -> Result<Interface, String> {
    if name.is_empty() && listen.ip().is_unspecified() {
        return Err("the node listens on every address: name the interface".to_owned());
    }
    let found = if name.is_empty() { Interface::with_address(listen.ip()) } else { Interface::named(name) };
    found.map_err(|error| error.to_string())
}

impl Tier {
    /// The state that the writer and the journal share with the program.
    pub fn state(&self) -> State {
        self.arena.state()
    }

    /// The program, for its counters.
    pub fn program(&self) -> Arc<Program> {
        self.program.clone()
    }

    /// Gauges of the frames that the sockets lost.
    pub fn gauges(&self) -> Vec<Gauge> {
        self.sockets.iter().map(Socket::gauge).collect()
    }

    /// The sockets, for the data path to take.
    pub fn take_sockets(&mut self) -> Vec<Socket> {
        std::mem::take(&mut self.sockets)
    }

    /// Lets the program answer datagrams to the node's port, once the tables are filled. With `redirect`, other
    /// datagrams go to the sockets. Dropping the link detaches the program.
    pub fn open(self, config: &Config, port: u16, redirect: bool) -> Link {
        let Self { offsets, interface, link, .. } = &self;
        let state = self.state();
        state.set_offsets(offsets);
        state.set_trusted(config.trusted.iter().map(|prefix: &Prefix| (prefix.address(), prefix.length())));
        state.set_flags(flags(config, interface, redirect));
        let own =
            if config.listen.ip().is_unspecified() { interface.addresses.clone() } else { vec![config.listen.ip()] };
        state.set_listening(port, interface.mac, &own);
        tracing::info!(interface = interface.name, mode = %link.mode(), "XDP answers REFER, retries and cached proofs");
        self.link
    }
}

fn flags(config: &Config, interface: &Interface, redirect: bool) -> Flags {
    [
        (config.promise >= Promise::Durable || config.cluster.is_wanted(), Flags::DURABLE),
        (config.limits.rate != 0, Flags::RATE_LIMITED),
        (interface.is_loopback(), Flags::LOOPBACK),
        (redirect, Flags::REDIRECT),
    ]
    .into_iter()
    .filter_map(|(on, flag)| on.then_some(flag))
    .fold(Flags::default(), |flags, flag| flags | flag)
}

/// Sizes of all tables in the arena.
struct Sizes {
    ledger: [usize; 4],
    cache: Option<([usize; 3], u64)>,
}

impl Sizes {
    fn from_config(config: &Config) -> Result<Self, Error> {
        let cache = cache_config(config).map(|cache| Ok((cache.memory()?, cache.value_lines()))).transpose();
        Ok(Self { ledger: config.ledger.limits().memory()?, cache: cache.map_err(Error::ProofCache)? })
    }

    fn all(&self) -> Vec<usize> {
        self.ledger.into_iter().chain(self.cache.iter().flat_map(|(sizes, _)| *sizes)).collect()
    }

    fn take(&self, arena: &Arena) -> Result<(Memory, Offsets), xdp::Error> {
        let [accounts, header, index, ring] = self.ledger;
        let (accounts, accounts_at) = arena.take(accounts)?;
        let (header, window_at) = arena.take(header)?;
        let (index, index_at) = arena.take(index)?;
        let (ring, ring_at) = arena.take(ring)?;
        let retries = ledger::retries::Memory { header, index, ring };
        let mut offsets =
            Offsets { accounts: accounts_at, window: window_at, index: index_at, ring: ring_at, ..Offsets::default() };
        let mut memory = Memory { ledger: Some(ledger::Memory { accounts, retries }), cache: None };
        if let Some(([table, values, tips], value_lines)) = self.cache {
            let (table, proofs) = arena.take(table)?;
            let (values, values_at) = arena.take(values)?;
            let (tips, tips_at) = arena.take(tips)?;
            offsets = Offsets { proofs, values: values_at, value_lines, tips: tips_at, ..offsets };
            memory.cache = Some(proof::Memory { table, values, tips });
        }
        Ok((memory, offsets))
    }
}

/// Size of the proof cache, if any.
pub fn cache_config(config: &Config) -> Option<proof::Config> {
    let bytes = (config.proofs.cache as usize) << 20;
    (bytes > 0).then(|| proof::Config { bytes, ..proof::Config::default() })
}

/// An empty proof cache, if there is to be one.
pub fn new_cache(config: &Config, memory: Option<proof::Memory>) -> Result<Option<Cache>, Error> {
    let Some(size) = cache_config(config) else { return Ok(None) };
    let cache = match memory {
        Some(memory) => Cache::within(&size, memory),
        None => Cache::new(&size),
    };
    cache.map(Some).map_err(Error::ProofCache)
}
