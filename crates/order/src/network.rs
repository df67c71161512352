//! Connections between replicas: authenticated and encrypted, over whatever network the runtime has.
use crate::committee::{Committee, ReplicaKey};
use crate::engine::{Channels, channel, message_limit};
use commonware_cryptography::{ChaCha20Poly1305, ed25519};
use commonware_p2p::authenticated::lookup::{self, Network, Oracle};
use commonware_p2p::{Address, AddressableManager};
use commonware_runtime::{Clock, Handle, Metrics, Network as Sockets, Quota, Resolver, Spawner};
use commonware_stream::cups::{self, Cups};
use commonware_stream::sake::{self, Sake};
use commonware_utils::{NZU32, NZUsize, ordered::Map};
use rand_core::CryptoRng;
use spv::Hash;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;

/// Messages of a replica on a channel in a second. A view takes some ten; thousands of views a second are more than disks sync.
const RATE: Quota = Quota::per_second(NZU32!(16_384));
/// Messages that wait in the network's own parts.
const MAILBOX: NonZeroUsize = NZUsize!(1024);
/// How far clocks may be apart, and how old a greeting may be: a replica whose clock is further off is not let in.
const CLOCKS: Duration = Duration::from_secs(60);
/// Between attempts to connect. A replica that was killed is back with its votes in a second.
const DIAL: Duration = Duration::from_millis(100);

/// A sender on a channel.
pub type Sender<E> = lookup::Sender<ed25519::PublicKey, E>;
/// A receiver on a channel.
pub type Receiver = lookup::Receiver<ed25519::PublicKey>;
/// Messages between applications: what is sent may be lost.
pub struct Messages<E: Clock> {
    /// Sends them.
    pub sender: Sender<E>,
    /// Gives those of others.
    pub receiver: Receiver,
}

/// Whom a replica is connected to, and whom it has cut off.
pub type Peers = Oracle<ed25519::PublicKey>;

/// Where replicas are.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// Where this one listens.
    pub listen: SocketAddr,
    /// Where others find each replica, by number.
    pub replicas: Vec<SocketAddr>,
}

/// Connects a replica with the others, for [`crate::Replica::start`]. Who is away is tried again until it is there. The network
/// ends with the runtime, or with the handle.
///
/// # Panics
/// Where there is not an address for each replica.
pub fn connect<E>(
    context: E,
    network: Hash,
    committee: &Committee,
    key: &ReplicaKey,
    addresses: &Addresses,
    longest_body: usize,
) -> (Channels<Sender<E>, Receiver>, Messages<E>, Peers, Handle<()>)
where
    E: Spawner + Clock + CryptoRng + Sockets + Resolver + Metrics,
{
    let number = committee.identities().len();
    assert_eq!(addresses.replicas.len(), number, "each replica has an address");
    let handshake = Sake {
        signer: key.connections().clone(),
        synchrony_bound: CLOCKS,
        max_handshake_age: CLOCKS,
        version: sake::Version::V1,
    };
    let mut config = lookup::Config::local(
        Cups::<_, ChaCha20Poly1305>::new(handshake, cups::Version::V1),
        &network,
        addresses.listen,
        NonZeroUsize::new(number).unwrap_or(NonZeroUsize::MIN),
        message_limit(number as u32, longest_body),
        MAILBOX,
    );
    // Many replicas may be on one machine, and come back all at once.
    config.allowed_handshake_rate_per_ip = Quota::per_second(NZU32!(512));
    config.allowed_handshake_rate_per_subnet = Quota::per_second(NZU32!(512));
    config.peer_connection_cooldown = DIAL;
    config.dial_frequency = DIAL;
    config.tracked_peer_sets = NZUsize!(1);
    let (mut connections, mut peers) = Network::new(context, config);
    let places = committee.identities().iter().cloned().zip(addresses.replicas.iter().map(|&at| Address::from(at)));
    peers.track(0, Map::from_iter_dedup(places));
    let channels = Channels {
        votes: connections.register(channel::VOTES, RATE),
        certificates: connections.register(channel::CERTIFICATES, RATE),
        missed: connections.register(channel::MISSED, RATE),
        blocks: connections.register(channel::BLOCKS, RATE),
        backfill: connections.register(channel::BACKFILL, RATE),
    };
    let (sender, receiver) = connections.register(channel::MESSAGES, RATE);
    (channels, Messages { sender, receiver }, peers, connections.start())
}
