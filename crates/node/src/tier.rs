//! The NIC tier of a node: which backend serves, and why; the arena that the ledger and the proof cache lie in; the program that
//! answers out of them.

use std::{net::SocketAddr, sync::Arc};

use nic::Prefix;
use proof::Cache;
use wire::Promise;
use xdp::{Arena, Flags, Interface, Link, Mode, Offsets, Program, State};

use crate::{
    Config, Error,
    config::{Backend, Io},
};

/// What carries datagrams, and why that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What serves.
    pub backend: Backend,
    /// Why, for the operator.
    pub reason: String,
}

/// The tier before its tables are filled: an arena, and the program that is loaded over it.
pub struct Tier {
    arena: Arena,
    offsets: Offsets,
    program: Arc<Program>,
    interface: Interface,
    backend: Backend,
    fallback: bool,
}

/// Memory in an arena, for what is to lie there.
pub struct Memory {
    /// For the ledger.
    pub ledger: ledger::Memory,
    /// For the proof cache, if there is one.
    pub cache: Option<proof::Memory>,
}

/// Chooses what serves, and prepares the tier if it is to. Where the machine does not allow what was asked for, sockets serve.
pub fn choose(config: &Config) -> Result<(Choice, Option<(Tier, Memory)>), Error> {
    let udp = |reason: String| (Choice { backend: Backend::Udp, reason }, None);
    if config.io.backend == Backend::Udp {
        return Ok(udp("as configured".to_owned()));
    }
    let sizes = Sizes::of(config)?;
    match prepare(config, &sizes) {
        Ok((tier, memory)) => {
            let reason = format!("the kernel and `{}` allow it", tier.interface.name);
            Ok((Choice { backend: tier.backend, reason }, Some((tier, memory))))
        }
        Err(reason) => Ok(udp(reason)),
    }
}

fn prepare(config: &Config, sizes: &Sizes) -> Result<(Tier, Memory), String> {
    let Io { backend, interface, .. } = &config.io;
    let interface = find_interface(interface, config.listen)?;
    if *backend == Backend::Auto && interface.is_loopback() {
        return Err(format!("`{}` is a loopback, which has no driver to answer in", interface.name));
    }
    let text = |error: xdp::Error| error.to_string();
    let arena = Arena::with_room_for(&sizes.all()).map_err(text)?;
    let (memory, offsets) = sizes.take(&arena).map_err(text)?;
    let program = Program::load(&arena, true).map_err(text)?;
    let fallback = *backend == Backend::Auto;
    let tier = Tier { arena, offsets, program: Arc::new(program), interface, backend: Backend::Xdp, fallback };
    Ok((tier, memory))
}

/// The interface of a name, or else the one that has the address.
fn find_interface(name: &str, listen: SocketAddr) -> Result<Interface, String> {
    if name.is_empty() && listen.ip().is_unspecified() {
        return Err("it listens on every address: name the interface (`io.interface`)".to_owned());
    }
    let found = if name.is_empty() { Interface::with_address(listen.ip()) } else { Interface::named(name) };
    found.map_err(|error| error.to_string())
}

impl Tier {
    /// What the writer and the journal tell the program.
    pub fn state(&self) -> State {
        self.arena.state()
    }

    /// The program, for its counters.
    pub fn program(&self) -> Arc<Program> {
        self.program.clone()
    }

    /// Attaches the program, now that the tables are filled: it answers datagrams to the node's port from here on. None,
    /// with a word in the log, where the interface does not allow it.
    pub fn attach(self, config: &Config, port: u16) -> Option<Link> {
        let Self { offsets, program, interface, fallback, .. } = &self;
        let state = self.state();
        state.set_offsets(offsets);
        let own =
            if config.listen.ip().is_unspecified() { interface.addresses.clone() } else { vec![config.listen.ip()] };
        state.set_listening(port, interface.mac, &own);
        state.set_trusted(config.trusted.iter().map(|prefix: &Prefix| (prefix.address(), prefix.length())));
        state.set_flags(flags(config, interface));
        let link = match fallback {
            // Behind the driver it is no faster than sockets are.
            true => Link::attach_as(program, interface, Mode::Native),
            false => Link::attach(program, interface),
        };
        match link {
            Ok(link) => {
                let mode = link.mode();
                tracing::info!(interface = interface.name, %mode, "XDP answers REFER, retries and cached proofs");
                Some(link)
            }
            Err(error) => {
                tracing::warn!(interface = interface.name, %error, "XDP cannot be attached; sockets serve alone");
                None
            }
        }
    }
}

fn flags(config: &Config, interface: &Interface) -> Flags {
    [
        (config.promise >= Promise::Durable, Flags::DURABLE),
        (config.limits.rate != 0, Flags::RATE_LIMITED),
        (interface.is_loopback(), Flags::LOOPBACK),
    ]
    .into_iter()
    .filter_map(|(on, flag)| on.then_some(flag))
    .fold(Flags::default(), |flags, flag| flags | flag)
}

/// Bytes of everything that lies in the arena.
struct Sizes {
    ledger: [usize; 4],
    cache: Option<([usize; 3], u64)>,
}

impl Sizes {
    fn of(config: &Config) -> Result<Self, Error> {
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
        let window = ledger::dedup::Memory { header, index, ring };
        let mut offsets =
            Offsets { accounts: accounts_at, window: window_at, index: index_at, ring: ring_at, ..Offsets::default() };
        let mut memory = Memory { ledger: ledger::Memory { accounts, window }, cache: None };
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

/// How large the proof cache is, if there is to be one.
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
