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

/// Messages per second from one replica on channels with one message per vote or per client frame. Thousands of views
/// per second exceed what disks can sync. The network allocates queue space for each peer from this number.
const OFTEN: Quota = Quota::per_second(NZU32!(16_384));
/// The same for channels with at most one message per view.
const SELDOM: Quota = Quota::per_second(NZU32!(4096));
/// Queue length between the network's own parts.
const MAILBOX: NonZeroUsize = NZUsize!(1024);
/// Maximum clock difference, and maximum age of a greeting. A replica whose clock is further off is refused and
/// reported.
const CLOCKS: Duration = Duration::from_secs(60);
/// Interval between connection attempts. A replica that was killed is back with its votes within a second.
const DIAL: Duration = Duration::from_millis(100);
/// Timeout of a connection attempt, including its greeting: a few round trips around the earth. The kernel repeats an
/// unanswered attempt after 1, 3 and 7 s. With a new attempt every 2 s, one that began during a partition ends at most
/// 1 s after it.
const ATTEMPT: Duration = Duration::from_secs(2);

/// A sender on a channel.
pub type Sender<E> = lookup::Sender<ed25519::PublicKey, E>;
/// A receiver on a channel.
pub type Receiver = lookup::Receiver<ed25519::PublicKey>;
/// Messages between applications. Delivery is not guaranteed.
pub struct Messages<E: Clock> {
    /// Sends them.
    pub sender: Sender<E>,
    /// Receives those of others.
    pub receiver: Receiver,
}

/// Controls which replicas this one is connected to or has cut off.
pub type Peers = Oracle<ed25519::PublicKey>;

/// Spare places for replicas that join while this one runs. If more join, restart this one.
const JOINING: usize = 4;

/// Maximum number of connected replicas, for one that starts with this number of members.
pub fn room(members: usize) -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(members + JOINING)
}

/// Connects a replica with the others, for [`crate::Replica::start`]. It dials offline replicas until they answer. The
/// network ends with the runtime or the handle. [`set_members`] sets the addresses of the others.
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
    // A replica that dials on loopback comes from 127.0.0.1, whatever host of it it listens on. Only this machine can
    // dial there.
    config.bypass_ip_check = listen.ip().is_loopback();
    // Many replicas on one machine may restart at once.
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

/// Sets the addresses of the replicas, as update number `time`. Replicas not on this list are disconnected, as are
/// those beyond [`room`].
pub fn set_members(peers: &mut Peers, time: u64, room: NonZeroUsize, members: &[Member]) {
    if members.len() > room.get() {
        tracing::warn!(replicas = members.len(), %room, "no room for all replicas: restart this one");
    }
    let members = members.iter().take(room.get());
    let members = members.map(|member| (member.name.identity().clone(), Address::from(member.address)));
    // Fails only if the network has ended.
    let _ = peers.track(time, Map::from_iter_dedup(members));
}
