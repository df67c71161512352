//! XDP before the key-value store: an arena with the store's mirror, the program that answers out of it, where it is
//! attached.

use std::sync::{Mutex, PoisonError};

use kv::store::{Ahead, mirror_bytes};
use net::Prefix;
use table::Region;
use xdp::{Arena, Flags, Interface, KvCounter, KvProgram, Link, State};

use crate::{config::Kv, tier::find_interface};

/// The program, attached and answering nothing yet, as the store does not fill the mirror before it listens.
pub struct KvTier {
    state: State,
    program: KvProgram,
    interface: Interface,
    link: Link,
}

impl KvTier {
    /// Loads and attaches the program, and returns the memory of the mirror, or the reason for a failure.
    pub fn prepare(config: &Kv) -> Result<(Self, Region), String> {
        let listen = config.udp.first().ok_or("XDP answers UDP only: set a port with -U or `kv.udp`")?;
        let interface = find_interface(&config.interface, *listen)?;
        let text = |error: xdp::Error| error.to_string();
        let bytes = mirror_bytes(config.xdp_memory << 20);
        let arena = Arena::with_room_for(&[bytes]).map_err(text)?;
        let (mirror, offset) = arena.take(bytes).map_err(text)?;
        let program = KvProgram::load(&arena).map_err(text)?;
        let link = Link::attach(&program, &interface).map_err(text)?;
        let state = arena.state();
        state.set_mirror(offset);
        Ok((Self { state, program, interface, link }, mirror))
    }

    /// Makes the program answer datagrams to a port.
    pub fn open(self, config: &Kv, port: u16) -> Attached {
        let Self { state, program, interface, link } = self;
        state.set_trusted(config.udp_trusted.iter().map(|prefix: &Prefix| (prefix.address(), prefix.length())));
        state.set_flags(if interface.is_loopback() { Flags::LOOPBACK } else { Flags::default() });
        let unspecified = config.udp.iter().any(|address| address.ip().is_unspecified());
        let own = if unspecified {
            interface.addresses.clone()
        } else {
            config.udp.iter().map(|address| address.ip()).collect()
        };
        state.set_listening(port, interface.mac, &own);
        let place = format!("{} ({})", interface.name, link.mode());
        tracing::info!(interface = interface.name, mode = %link.mode(), "XDP answers gets by UDP");
        Attached { state, program, place, link: Mutex::new(Some(link)) }
    }
}

/// The program while it answers.
#[derive(Debug)]
pub struct Attached {
    state: State,
    program: KvProgram,
    place: String,
    link: Mutex<Option<Link>>,
}

impl Ahead for Attached {
    fn counts(&self) -> Vec<(&'static str, u64)> {
        KvCounter::ALL.into_iter().map(|counter| (counter.name(), self.program.count(counter))).collect()
    }

    fn place(&self) -> String {
        self.place.clone()
    }

    fn stop(&self) {
        self.state.stop_listening();
        self.link.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
