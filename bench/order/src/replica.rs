//! One replica as a process: it orders bodies that it makes itself, and writes down what is final.
use crate::votes_only;
use bytes::Bytes;
use order::{
    Answer, Application, Block, Committee, Config, Final, Member, Payload, Process, Refusal, ReplicaKey, Site, Timing,
    Transport,
};
use rustix::process::{Signal, set_parent_process_death_signal};
use spv::hash::body_hash;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::future::ready;
use std::io::Write;
use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The network that these replicas order for.
pub const NETWORK: spv::Hash = [0x74; 32];
/// Blocks of an epoch, as a node has it by default.
const EPOCH: NonZeroU64 = NonZeroU64::new(1024).unwrap();
/// Threads of a replica: its parts wait for each other more than for a processor, and four replicas share the machine.
pub const THREADS: usize = 2;

/// The part of a replica that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Engine {
    /// All of it, as in a node.
    Whole,
    /// The consensus engine by itself, as its authors ship it.
    Votes,
}

impl std::fmt::Display for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Whole => "whole",
            Self::Votes => "votes",
        })
    }
}

/// What a replica is started with.
#[derive(clap::Args)]
pub struct Arguments {
    /// Where it stores its votes, its blocks, and `final.log`
    #[arg(long)]
    directory: PathBuf,
    /// Its number
    #[arg(long)]
    number: usize,
    /// The address of each replica, by number
    #[arg(long, value_delimiter = ',')]
    addresses: Vec<SocketAddr>,
    /// Bytes of a body
    #[arg(long)]
    body: usize,
    /// Views that one leader leads in a row
    #[arg(long)]
    term: NonZeroU32,
    /// How long it waits for a leader, in milliseconds
    #[arg(long)]
    patience: u64,
    /// What carries the bytes between them
    #[arg(long)]
    transport: Transport,
    /// The part that runs
    #[arg(long, default_value_t = Engine::Whole)]
    engine: Engine,
    /// Threads of its runtime
    #[arg(long, default_value_t = THREADS)]
    threads: usize,
}

/// The key of the replica that is given this secret. Anybody knows it: these replicas are on one machine, for a minute.
fn key(secret: usize) -> ReplicaKey {
    ReplicaKey::from_bytes(&body_hash(&secret.to_be_bytes())).expect("a hash is a key")
}

/// So many replicas, and their keys by number.
pub fn committee(replicas: usize) -> (Committee, Vec<ReplicaKey>) {
    let mut keys: Vec<_> = (0..replicas).map(key).collect();
    let committee = Committee::new(keys.iter().map(ReplicaKey::name).collect()).expect("hashes are distinct");
    keys.sort_by_key(|key| committee.number(&key.name()));
    (committee, keys)
}

/// What is written down of a block: its height, its hash, when it was final, and how long after it was proposed here.
pub struct Line {
    pub height: u64,
    pub hash: String,
    /// Microseconds since the Unix epoch.
    pub at: u64,
    /// Microseconds from its proposal; none of a block of another replica.
    pub took: Option<u64>,
}

impl Line {
    /// Reads what a replica wrote. A line that a kill has cut is left out.
    pub fn read_all(directory: &Path) -> Vec<Self> {
        let text = std::fs::read_to_string(directory.join("final.log")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let parse = |line: &str| {
            let mut fields = line.split(' ');
            let (height, hash) = (fields.next()?.parse().ok()?, fields.next()?.to_owned());
            Some(Self { height, hash, at: fields.next()?.parse().ok()?, took: fields.next()?.parse().ok() })
        };
        whole.lines().filter_map(parse).collect()
    }
}

/// Orders bodies of one size.
struct Bodies {
    committee: Committee,
    state: Mutex<Progress>,
    size: usize,
}

/// Maximum number of remembered proposals: those of views that were given up are never final.
const PROPOSED: usize = 1024;

/// Proposals of a replica, and the log of final blocks.
pub(crate) struct Progress {
    log: File,
    /// When each payload was proposed here that is not final, by its hash.
    proposed: BTreeMap<spv::Hash, u64>,
    /// The place in the stream of numbers that payloads are made of.
    pub(crate) next: u64,
}

impl Progress {
    pub(crate) fn new(log: File) -> Self {
        Self { log, proposed: BTreeMap::new(), next: now() }
    }

    pub(crate) fn propose(&mut self, payload: spv::Hash) {
        self.proposed.insert(payload, now());
    }

    /// Writes the line of a final block.
    pub(crate) fn finalize(&mut self, height: u64, hash: &spv::Hash, payload: &spv::Hash) {
        let at = now();
        let took = self.proposed.remove(payload).map_or("-".into(), |since| (at - since).to_string());
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        self.log.write_all(format!("{height} {hash} {at} {took}\n").as_bytes()).expect("the log can be written");
        while self.proposed.len() > PROPOSED {
            self.proposed.pop_first();
        }
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64)
}

impl Application for Bodies {
    fn propose(&self, _: Block, _: Vec<Block>) -> Answer<'_, Option<Payload>> {
        let mut state = self.state.lock().expect("no thread panicked");
        let mut body = vec![0; self.size];
        // No two bodies are the same, and none compresses.
        for word in body.chunks_mut(8) {
            state.next = state.next.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            word.copy_from_slice(&state.next.to_be_bytes()[..word.len()]);
        }
        state.propose(body_hash(&body));
        Box::pin(ready(Some(Payload { statement: [0; 32], body: Bytes::from(body) })))
    }

    fn verify(&self, block: Block, _: Vec<Block>) -> Answer<'_, Result<(), Refusal>> {
        let is_right = block.body().len() == self.size;
        Box::pin(ready(if is_right { Ok(()) } else { Err(Refusal("a body of another size".into())) }))
    }

    fn committee(&self, _: u64) -> Committee {
        self.committee.clone()
    }

    fn finalized(&self, found: Final) -> Answer<'_, ()> {
        let block = &found.block;
        let mut state = self.state.lock().expect("no thread panicked");
        state.finalize(block.height(), &block.hash(), &block.header().body);
        Box::pin(ready(()))
    }
}

/// Runs until it is killed, or until the process that started it has ended.
pub fn run(arguments: Arguments) {
    set_parent_process_death_signal(Some(Signal::KILL)).expect("Linux has this");
    let Arguments { directory, number, addresses, body, term, patience, transport, engine, threads } = arguments;
    let patience = Duration::from_millis(patience);
    let log = OpenOptions::new().create(true).append(true).open(directory.join("final.log"));
    let log = log.expect("the log can be opened");
    if engine == Engine::Votes {
        votes_only::run(directory.join("order"), number, &addresses, patience, threads, log);
        panic!("the engine ended");
    }
    let (committee, keys) = committee(addresses.len());
    let bodies = Bodies { committee: committee.clone(), state: Mutex::new(Progress::new(log)), size: body };
    let listen = addresses[number];
    let member = |(key, address): (&ReplicaKey, _)| Member { name: key.name(), address };
    let members = keys.iter().zip(addresses).map(member).collect();
    let key = keys[number].clone();
    let partition = "replica".to_owned();
    let config = Config {
        network: NETWORK,
        founders: committee,
        key,
        timing: Timing::with_leader(patience),
        term,
        epoch: EPOCH,
        keep: None,
        floor: None,
        longest_body: body,
        partition,
    };
    let site = Site { listen, members, directory: directory.join("order"), transport, threads };
    let replica = Process::start(config, site, Arc::new(bodies)).expect("the replica starts");
    // What a bystander sees of the replica, once a second.
    while !replica.status().snapshot().ended {
        sleep(Duration::from_secs(1));
        eprintln!("{:?}", replica.status().snapshot());
    }
    panic!("the replica ended");
}
