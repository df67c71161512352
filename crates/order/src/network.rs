//! Connections between replicas: authenticated and encrypted, over whatever network the runtime has.
use crate::committee::ReplicaKey;
use crate::engine::{Channels, channel, message_limit};
use crate::greeting::Greeting;
use crate::member::Member;
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

/// Messages of a replica in a second on channels where there are some for each vote or each client's frame: thousands of views a
/// second are more than disks sync. Room for as many is allocated for each place.
const OFTEN: Quota = Quota::per_second(NZU32!(16_384));
/// The same where there is one for each view, or less.
const SELDOM: Quota = Quota::per_second(NZU32!(4096));
/// Messages that wait in the network's own parts.
const MAILBOX: NonZeroUsize = NZUsize!(1024);
/// How far clocks may be apart, and how old a greeting may be: a replica whose clock is further off is refused, and
/// reported.
const CLOCKS: Duration = Duration::from_secs(60);
/// Between attempts to connect. A replica that was killed is back with its votes in a second.
const DIAL: Duration = Duration::from_millis(100);
/// Longest attempt to connect, with its greeting: some round trips around the earth. The system repeats an unanswered
/// attempt after 1, 3 and 7 s; one that began during a partition outlasts it by 1 s at most where a new one begins
/// after 2.
const ATTEMPT: Duration = Duration::from_secs(2);

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

/// Places for those that join while a replica runs. Where more join, it has to be started again.
const JOINING: usize = 4;

/// How many replicas one can be connected to that starts with as many others.
pub fn room(places: usize) -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(places + JOINING)
}

/// Connects a replica with the others, for [`crate::Replica::start`]. Who is away is tried again until it is there. The network
/// ends with the runtime, or with the handle. [`know`] tells it where the others are.
pub fn connect<E>(
    context: E,
    network: Hash,
    key: &ReplicaKey,
    listen: SocketAddr,
    room: NonZeroUsize,
    longest_body: usize,
) -> (Channels<Sender<E>, Receiver>, Messages<E>, Peers, Handle<()>)
where
    E: Spawner + Clock + CryptoRng + Sockets + Resolver + Metrics,
{
    let handshake = Sake {
        signer: key.connections().clone(),
        synchrony_bound: CLOCKS,
        max_handshake_age: CLOCKS,
        version: sake::Version::V1,
    };
    let mut config = lookup::Config::local(
        Cups::<_, ChaCha20Poly1305>::new(Greeting::new(handshake), cups::Version::V1),
        &network,
        listen,
        room,
        message_limit(longest_body),
        MAILBOX,
    );
    // Who dials on loopback comes from 127.0.0.1, on whatever host of it he listens. Only this machine can dial there.
    config.bypass_ip_check = listen.ip().is_loopback();
    // Many replicas may be on one machine, and come back all at once.
    config.allowed_handshake_rate_per_ip = Quota::per_second(NZU32!(512));
    config.allowed_handshake_rate_per_subnet = Quota::per_second(NZU32!(512));
    config.peer_connection_cooldown = DIAL;
    config.dial_frequency = DIAL;
    config.dial_timeout = ATTEMPT;
    config.tracked_peer_sets = NZUsize!(1);
    let (mut connections, peers) = Network::new(context, config);
    let channels = Channels {
        votes: connections.register(channel::VOTES, OFTEN),
        certificates: connections.register(channel::CERTIFICATES, SELDOM),
        missed: connections.register(channel::MISSED, SELDOM),
        blocks: connections.register(channel::BLOCKS, SELDOM),
        backfill: connections.register(channel::BACKFILL, SELDOM),
    };
    let (sender, receiver) = connections.register(channel::MESSAGES, OFTEN);
    (channels, Messages { sender, receiver }, peers, connections.start())
}

/// Tells the network where the replicas are, for the `time`th time. It is connected to no others from then on, and to none for
/// which it has no [`room`].
pub fn know(peers: &mut Peers, time: u64, room: NonZeroUsize, places: &[Member]) {
    if places.len() > room.get() {
        tracing::warn!(replicas = places.len(), %room, "no room for all replicas: restart this one");
    }
    let places = places.iter().take(room.get());
    let places = places.map(|member| (member.name.identity().clone(), Address::from(member.address)));
    // The network has ended where it is not taken.
    let _ = peers.track(time, Map::from_iter_dedup(places));
}
