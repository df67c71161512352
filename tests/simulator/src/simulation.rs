//! The simulation itself: the order of events.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ledger::journal;
use storage::{Faults, Random, SimulatedDisk};
use wire::{Command, Promise, Status};

use crate::client::{Answered, Client, GIVE_UP, Told, leaves_trace, promised};
use crate::model::Model;
use crate::network::Network;
use crate::node::{ACCOUNTS, Process, genesis};
use crate::schedule::{EPOCH, SECOND, Schedule};
use crate::settled::Settled;

/// Settings of a simulation.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Determines the whole run.
    pub seed: u64,
    /// Simulated time.
    pub duration: Duration,
}

/// Counts of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Answered requests.
    pub requests: u64,
    /// Abandoned requests.
    pub given_up: u64,
    /// Operations in the journal at the end.
    pub operations: u64,
    /// Commits of the journal.
    pub commits: u64,
    /// Commits made by the data path itself.
    pub lone_commits: u64,
    /// Times that the node died.
    pub crashes: u64,
    /// Operations accepted, then lost in a crash.
    pub lost: u64,
    /// Times that the journal failed because of the disk.
    pub storage_failures: u64,
    /// Blocks.
    pub blocks: u64,
    /// Blocks that were pruned.
    pub pruned: u64,
    /// Transactions in blocks.
    pub settled: u64,
    /// Verified proofs.
    pub proofs: u64,
    /// Starts of the node that failed because of the disk.
    pub failed_starts: u64,
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        let Self {
            requests,
            given_up,
            operations,
            commits,
            lone_commits,
            crashes,
            lost,
            storage_failures,
            blocks,
            pruned,
            settled,
            proofs,
            failed_starts,
        } = other;
        self.requests += requests;
        self.given_up += given_up;
        self.operations += operations;
        self.commits += commits;
        self.lone_commits += lone_commits;
        self.crashes += crashes;
        self.lost += lost;
        self.storage_failures += storage_failures;
        self.pruned += pruned;
        self.blocks += blocks;
        self.settled += settled;
        self.proofs += proofs;
        self.failed_starts += failed_starts;
    }
}

const CLIENTS: u64 = 4;

/// Whether an error disappears once the disk recovers.
fn is_of_disk(error: &ledger::Error) -> bool {
    matches!(
        error,
        ledger::Error::Journal(journal::Error::Storage(_)) | ledger::Error::Chain(chain::own::Error::Storage(_))
    )
}

enum Event {
    ToNode {
        client: usize,
        datagram: Vec<u8>,
    },
    ToClient {
        client: usize,
        datagram: Vec<u8>,
        epoch: u64,
    },
    /// A client sends a request.
    Ask {
        client: usize,
    },
    /// A client checks for overdue requests.
    Expire {
        client: usize,
    },
    RestartClient {
        client: usize,
    },
    /// The node processes what has arrived.
    Receive {
        epoch: u64,
    },
    /// A commit is finished.
    Committed {
        epoch: u64,
        result: Result<u64, journal::Error>,
    },
    /// Periodic: seals the journal if it is idle, and prepares a segment.
    Housekeeping {
        epoch: u64,
    },
    /// The node dies; with `again`, it dies again some time later.
    Crash {
        again: bool,
    },
    Start,
    /// Network and disk conditions change.
    Weather,
}

struct Simulation {
    schedule: Schedule<Event>,
    random: Random,
    network: Network,
    disk: SimulatedDisk,
    time: Arc<AtomicU64>,
    model: Arc<Mutex<Model>>,
    settled: Settled,
    clients: Vec<Client>,
    node: Option<Process>,
    /// Counts the node's processes.
    epoch: u64,
    is_receiving: bool,
    is_committing: bool,
    /// Whether the journal has failed.
    is_failed: bool,
    /// The final phase: no more faults, no more requests.
    is_closing: bool,
    report: Report,
}

/// Runs a simulation; panics on a violated invariant.
pub fn run(settings: Settings) -> Report {
    let mut random = Random::new(settings.seed);
    let mut simulation = Simulation {
        schedule: Schedule::new(),
        network: Network::new(random.fork()),
        disk: SimulatedDisk::new(random.number()),
        time: Arc::new(AtomicU64::new(EPOCH)),
        model: Arc::new(Mutex::new(Model::new(ACCOUNTS))),
        clients: (0..CLIENTS).map(|index| Client::new(index, CLIENTS, random.fork())).collect(),
        settled: Settled::new(genesis()),
        node: None,
        epoch: 0,
        is_receiving: false,
        is_committing: false,
        is_failed: false,
        is_closing: false,
        report: Report::default(),
        random,
    };
    simulation.begin();
    simulation.run_until(settings.duration.as_micros() as u64);
    simulation.close();
    simulation.report
}

impl Simulation {
    fn begin(&mut self) {
        self.schedule.after(0, Event::Start);
        for client in 0..self.clients.len() {
            self.schedule.after(SECOND, Event::Ask { client });
            self.schedule.after(SECOND, Event::RestartClient { client });
        }
        self.schedule.after(10 * SECOND, Event::Weather);
        self.schedule.after(20 * SECOND, Event::Crash { again: true });
    }

    fn run_until(&mut self, end: u64) {
        while self.schedule.now() < end {
            let Some(event) = self.schedule.next() else { return };
            self.time.store(EPOCH + self.schedule.now(), Ordering::Relaxed);
            self.happen(event);
        }
    }

    /// Ends faults: everything still in flight must complete.
    fn close(&mut self) {
        self.is_closing = true;
        self.network.calm();
        self.disk.set_faults(Faults::default());
        if self.node.as_ref().is_none_or(Process::has_failed) {
            self.die(true);
            self.schedule.after(0, Event::Start);
        }
        self.run_until(self.schedule.now() + 2 * GIVE_UP);
        assert!(self.clients.iter().all(|client| client.in_flight() == 0), "a request never came to its end");
        let node = self.node.as_mut().unwrap();
        let model = self.model.lock().unwrap();
        assert_eq!(node.durable(), model.last_sequence(), "something was never committed");
        node.check_journal(&model);
        (self.report.blocks, self.report.settled, self.report.proofs) = self.settled.figures();
        let succeeded = model.log().iter().filter(|executed| executed.status.is_ok()).count();
        assert_eq!(self.report.settled, succeeded as u64, "something was never settled");
        self.report.operations = model.last_sequence();
        self.report.requests = self.clients.iter().map(|client| client.completed).sum();
        self.report.given_up = self.clients.iter().map(|client| client.given_up).sum();
    }

    fn now(&self) -> Duration {
        Duration::from_micros(self.schedule.now())
    }

    /// A delay around a mean, occasionally much longer.
    fn around(&mut self, mean: u64) -> u64 {
        let part = 1 + self.random.below(1000);
        (mean as f64 * -(part as f64 / 1001.0).ln()) as u64
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::ToNode { client, datagram } => self.arrive(client, datagram),
            Event::ToClient { client, datagram, epoch } => {
                let now = self.now();
                match self.clients[client].receive(&datagram, now) {
                    Some(Told::Operations(told)) => told.iter().for_each(|told| self.check(told, epoch)),
                    Some(Told::Proof(account, frame)) => self.settled.verify_frame(&account, &frame),
                    None => {}
                }
            }
            Event::Ask { client } => self.ask(client),
            Event::Expire { client } => {
                let now = self.now();
                self.clients[client].expire(now);
                self.send(client);
            }
            Event::RestartClient { client } => {
                if !self.is_closing {
                    self.clients[client].restart();
                    let delay = self.around(60 * SECOND);
                    self.schedule.after(delay, Event::RestartClient { client });
                }
            }
            Event::Receive { epoch } if epoch == self.epoch => {
                self.is_receiving = false;
                if let Some(node) = &mut self.node {
                    node.receive();
                }
                self.transmit();
                self.commit();
            }
            Event::Committed { epoch, result } if epoch == self.epoch => {
                self.is_committing = false;
                self.release(result);
                self.commit();
            }
            Event::Housekeeping { epoch } if epoch == self.epoch => self.keep_house(),
            Event::Crash { again } => self.crash(again),
            Event::Start => self.start(),
            Event::Weather => self.change_weather(),
            // Events of an earlier process of the node.
            Event::Receive { .. } | Event::Committed { .. } | Event::Housekeeping { .. } => {}
        }
    }

    fn ask(&mut self, client: usize) {
        if self.is_closing {
            return;
        }
        let now = self.now();
        self.clients[client].ask(now);
        self.send(client);
        let delay = self.around(150_000);
        self.schedule.after(delay, Event::Ask { client });
    }

    /// Sends a client's datagrams.
    fn send(&mut self, client: usize) {
        for datagram in self.clients[client].outgoing() {
            for delay in self.network.send() {
                self.schedule.after(delay, Event::ToNode { client, datagram: datagram.clone() });
            }
        }
        let deadline = self.clients[client].next_deadline();
        if deadline != Duration::MAX {
            let delay = deadline.saturating_sub(self.now()).as_micros() as u64;
            self.schedule.after(delay.max(1), Event::Expire { client });
        }
    }

    fn arrive(&mut self, client: usize, datagram: Vec<u8>) {
        let Some(node) = &self.node else { return };
        node.port.deliver((self.clients[client].address, datagram));
        if !std::mem::replace(&mut self.is_receiving, true) {
            let (delay, epoch) = (5 + self.random.below(50), self.epoch);
            self.schedule.after(delay, Event::Receive { epoch });
        }
    }

    /// Sends the node's datagrams.
    fn transmit(&mut self) {
        let Some(node) = &self.node else { return };
        let durable = node.durable();
        for (address, datagram) in node.port.take_sent() {
            let client = self.clients.iter().position(|client| client.address == address).unwrap();
            for outcome in promised(&datagram) {
                self.model.lock().unwrap().promise(outcome, durable);
            }
            for delay in self.network.send() {
                let (datagram, epoch) = (datagram.clone(), self.epoch);
                self.schedule.after(delay, Event::ToClient { client, datagram, epoch });
            }
        }
    }

    /// Sends the replies that waited for a commit.
    fn release(&mut self, result: Result<u64, journal::Error>) {
        let has_failed = result.is_err();
        if let Some(node) = &mut self.node {
            node.release(result);
        }
        self.transmit();
        if has_failed && !std::mem::replace(&mut self.is_failed, true) {
            // The operator intervenes.
            self.report.storage_failures += 1;
            self.schedule.after(2 * SECOND, Event::Crash { again: false });
        }
    }

    /// Starts a commit, if there is anything to commit and none is in progress.
    fn commit(&mut self) {
        if self.is_committing || !self.node.as_ref().is_some_and(Process::has_work) {
            return;
        }
        // Some crashes are in the middle of it.
        if !self.is_closing && self.random.chance(0.0005) {
            self.disk.crash_at(self.disk.changes() + self.random.below(3));
            self.schedule.after(0, Event::Crash { again: false });
        }
        let Some(node) = &mut self.node else { return };
        let result = node.commit();
        self.report.commits += 1;
        if node.is_lone() && self.random.chance(0.8) {
            // The data path commits it by itself, before anything else happens.
            self.report.lone_commits += 1;
            return self.release(result);
        }
        self.is_committing = true;
        let latency = if self.random.chance(0.03) { 80_000 } else { 80 + self.random.below(200) };
        // Some crashes come after more has been executed while the disk is slow.
        if latency > 1000 && self.random.chance(0.03) {
            self.schedule.after(self.random.below(latency), Event::Crash { again: false });
        }
        self.schedule.after(latency, Event::Committed { epoch: self.epoch, result });
    }

    fn keep_house(&mut self) {
        let Some(node) = &mut self.node else { return };
        node.prepare();
        // A failure shows at the next commit.
        let is_idle = !self.is_committing && !node.has_work();
        if is_idle && self.random.chance(0.5) {
            let _ = node.seal();
        }
        if self.random.chance(0.02) {
            node.check_journal(&self.model.lock().unwrap());
        }
        // Some crashes are in the middle of building.
        if !self.is_closing && self.random.chance(0.002) {
            self.disk.crash_at(self.disk.changes() + self.random.below(20));
            self.schedule.after(0, Event::Crash { again: false });
        }
        let (built, mut random) = (node.build(), self.random.fork());
        let (chain, model) = (node.chain(), self.model.lock().unwrap());
        // Even if the disk failed: a block before the failure has been announced, and clients may have proofs from it.
        // Only a process about to be declared dead cannot be read.
        let followed = self.settled.follow(&chain, &model);
        if built.is_err() {
            // Retry.
            self.schedule.after(SECOND, Event::Housekeeping { epoch: self.epoch });
            return;
        }
        let _ = followed.and_then(|()| self.settled.prove(&chain, &model, &mut random));
        drop(model);
        self.report.pruned = chain.first_retained();
        let delay = self.around(100_000);
        self.schedule.after(delay, Event::Housekeeping { epoch: self.epoch });
    }

    /// Kills the process, or the whole machine.
    fn die(&mut self, machine: bool) {
        self.node = None;
        self.epoch += 1;
        (self.is_receiving, self.is_committing, self.is_failed) = (false, false, false);
        if machine {
            self.disk.crash()
        } else {
            self.disk.kill()
        }
        self.report.crashes += 1;
    }

    fn crash(&mut self, again: bool) {
        if again {
            let next = self.around(30 * SECOND);
            self.schedule.after(next, Event::Crash { again });
        }
        if self.is_closing || self.node.is_none() {
            return;
        }
        let machine = self.random.chance(0.5);
        self.die(machine);
        let down = self.around(2 * SECOND);
        self.schedule.after(down, Event::Start);
    }

    fn start(&mut self) {
        if self.node.is_some() {
            return;
        }
        let before = self.model.lock().unwrap().last_sequence();
        match Process::start(&self.disk, &self.model, &mut self.random, self.time.clone()) {
            Ok(node) => {
                // Everything that was in a block still is.
                self.settled.follow(&node.chain(), &self.model.lock().unwrap()).unwrap();
                self.report.lost += before - self.model.lock().unwrap().last_sequence();
                self.node = Some(node);
                self.schedule.after(1000, Event::Housekeeping { epoch: self.epoch });
            }
            // The disk still fails: the operator retries.
            Err(error) if is_of_disk(&error) => {
                self.report.failed_starts += 1;
                self.die(false);
                self.schedule.after(SECOND, Event::Start);
            }
            Err(error) => panic!("the node does not start: {error}"),
        }
    }

    fn change_weather(&mut self) {
        if self.is_closing {
            return;
        }
        self.network.change();
        let faults = match self.random.below(6) {
            0 => Faults { write: 0.001, sync: 0.001, ..Faults::default() },
            1 => Faults { capacity: self.disk.used() + self.random.below(300 << 10), ..Faults::default() },
            _ => Faults::default(),
        };
        self.disk.set_faults(faults);
        let delay = self.around(15 * SECOND);
        self.schedule.after(delay, Event::Weather);
    }

    /// Compares a client's answer with the model.
    fn check(&self, answered: &Answered, epoch: u64) {
        let &Answered { operation, status, value, is_compact, promise } = answered;
        if !leaves_trace(&operation, status) || operation.command() == Ok(Command::Refer) {
            return;
        }
        let model = self.model.lock().unwrap();
        let found =
            model.named(operation.namer(), operation.transaction).find(|(_, executed)| executed.operation == operation);
        let Some((sequence, executed)) = found else {
            // The operation that failed its chain left no trace, so neither did this one.
            if status == Status::LinkedFailed {
                return;
            }
            let is_excused = promise == Promise::Accepted && epoch < self.epoch;
            assert!(is_excused, "told {promise:?}, but never executed: {answered:?}");
            return;
        };
        let expected = if is_compact { executed.value.min(u32::MAX.into()) } else { executed.value };
        let is_right = (status, value) == (executed.status, expected);
        // An operation that was only accepted may have been lost in a crash, and have another outcome when retried.
        let is_excused = promise == Promise::Accepted && epoch < self.epoch;
        assert!(is_right || is_excused, "{answered:?}, but the model has {executed:?}");
        assert!(promise < Promise::Durable || sequence <= model.promised(), "durable, but not promised: {answered:?}");
    }
}
