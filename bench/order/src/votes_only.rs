//! The consensus engine by itself, as its authors ship it: simplex with ed25519 over its own sockets. Payloads are
//! hashes without bodies, and nobody stores or delivers blocks. A replica adds bodies, their store and delivery, BIP340
//! certificates, channels and epochs.

use crate::replica::{NETWORK, Progress};
use commonware_actor::Feedback;
use commonware_consensus::simplex::elector::RoundRobin;
use commonware_consensus::simplex::scheme::ed25519::Scheme;
use commonware_consensus::simplex::types::{Activity, Context};
use commonware_consensus::simplex::{self, Engine, Floor, ForwardPolicy, Plan, SkipBudget, SkipPolicy};
use commonware_consensus::types::{Epoch, ViewDelta};
use commonware_consensus::{Automaton, CertifiableAutomaton, Relay, Reporter, Viewable};
use commonware_cryptography::ed25519::{PrivateKey, PublicKey};
use commonware_cryptography::sha256::Digest;
use commonware_cryptography::{ChaCha20Poly1305, Sha256, Signer};
use commonware_p2p::authenticated::lookup::{self, Network};
use commonware_p2p::{Address, AddressableManager};
use commonware_parallel::Sequential;
use commonware_runtime::buffer::paged::CacheRef;
use commonware_runtime::{Quota, Runner, Supervisor, tokio};
use commonware_stream::cups::{self, Cups};
use commonware_stream::sake::{self, Sake};
use commonware_utils::channel::oneshot;
use commonware_utils::ordered::{Map, Set};
use commonware_utils::{NZU16, NZU32, NZUsize, NonZeroDuration, TryFromIterator as _};
use order::Timing;
use spv::hash::body_hash;
use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Longest message: certificates of some replicas.
const LONGEST_MESSAGE: u32 = 1 << 16;
/// Interval between attempts to connect.
const DIAL: Duration = Duration::from_millis(100);
/// Messages a second and channel, as for a replica.
const QUOTA: Quota = Quota::per_second(NZU32!(16_384));

/// Payloads, which are hashes.
#[derive(Clone)]
struct Payloads {
    state: Arc<Mutex<Progress>>,
}

impl Automaton for Payloads {
    type Context = Context<Digest, PublicKey>;
    type Digest = Digest;

    async fn propose(&mut self, _: Self::Context) -> oneshot::Receiver<Digest> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.state.lock().expect("no thread panicked");
        state.next += 1;
        let payload = body_hash(&state.next.to_be_bytes());
        state.propose(payload);
        // The engine may have given the view up.
        let _ = sender.send(Digest(payload));
        receiver
    }

    async fn verify(&mut self, _: Self::Context, _: Digest) -> oneshot::Receiver<bool> {
        let (sender, receiver) = oneshot::channel();
        let _ = sender.send(true);
        receiver
    }
}

impl CertifiableAutomaton for Payloads {}

impl Relay for Payloads {
    type Digest = Digest;
    type PublicKey = PublicKey;
    type Plan = Plan<PublicKey>;

    fn broadcast(&mut self, _: Digest, _: Self::Plan) -> Feedback {
        Feedback::Ok
    }
}

impl Reporter for Payloads {
    type Activity = Activity<Scheme, Digest>;

    fn report(&mut self, activity: Self::Activity) -> Feedback {
        if let Activity::Finalization(found) = activity {
            let mut state = self.state.lock().expect("no thread panicked");
            let Digest(payload) = found.proposal.payload;
            state.finalize(found.view().get(), &payload, &payload);
        }
        Feedback::Ok
    }
}

/// Runs the engine of a replica until it ends.
pub fn run(directory: PathBuf, number: usize, addresses: &[SocketAddr], patience: Duration, threads: usize, log: File) {
    let key = |number: usize| PrivateKey::from_seed(number as u64);
    let all = Vec::from_iter((0..addresses.len()).map(|number| key(number).public_key()));
    let payloads = Payloads { state: Arc::new(Mutex::new(Progress::new(log))) };
    let config = tokio::Config::new().with_worker_threads(threads).with_storage_directory(directory);
    tokio::Runner::new(config).start(|context| async move {
        let signer = key(number);
        let handshake = Cups::<_, ChaCha20Poly1305>::new(
            Sake {
                signer: signer.clone(),
                synchrony_bound: Duration::from_secs(5),
                max_handshake_age: Duration::from_secs(10),
                version: sake::Version::V1,
            },
            cups::Version::V1,
        );
        let room = NZUsize!(16);
        let (listen, mailbox) = (addresses[number], NZUsize!(1024));
        let mut config = lookup::Config::local(handshake, &NETWORK, listen, room, LONGEST_MESSAGE, mailbox);
        config.bypass_ip_check = true;
        config.allowed_handshake_rate_per_ip = Quota::per_second(NZU32!(512));
        config.dial_frequency = DIAL;
        config.peer_connection_cooldown = DIAL;
        let (mut network, mut oracle) = Network::new(context.child("network"), config);
        let peers = all.iter().cloned().zip(addresses.iter().map(|address| Address::from(*address)));
        let peers: Map<_, Address> = Map::try_from_iter(peers).expect("keys are distinct");
        oracle.track(0, peers);
        let scheme = Scheme::signer(&NETWORK, Set::try_from_iter(all.clone()).expect("keys are distinct"), signer);
        let timing = Timing::with_leader(patience);
        let engine = Engine::new(
            context.child("simplex"),
            simplex::Config {
                scheme: scheme.expect("the key is among them"),
                elector: RoundRobin::<Sha256>::default(),
                blocker: oracle.clone(),
                automaton: payloads.clone(),
                relay: payloads.clone(),
                reporter: payloads,
                track_historical_votes: true,
                strategy: Sequential,
                partition: "votes".into(),
                mailbox_size: mailbox,
                epoch: Epoch::zero(),
                floor: Floor::Genesis(Digest(body_hash(b"genesis"))),
                replay_buffer: NZUsize!(1 << 20),
                write_buffer: NZUsize!(64 << 10),
                page_cache: CacheRef::new(NZU16!(4084), NZUsize!(1024)),
                leader_timeout: timing.leader,
                certification_timeout: timing.certification,
                timeout_retry: timing.retry,
                view_retention: ViewDelta::new(256),
                skip: SkipPolicy::Enabled { timeout: timing.silence, budget: SkipBudget::Participants },
                fetch_timeout: NonZeroDuration::new_panic(timing.fetch),
                fetch_retry_delay: timing.fetch / 4,
                forward: ForwardPolicy::Disabled,
            },
        );
        let [votes, certificates, missed] = [0, 1, 2].map(|channel| network.register(channel, QUOTA));
        network.start();
        let _ = engine.start(votes, certificates, missed).await;
    });
}
