//! The in-NIC ledger as a service: XDP executes compact frames, this journals what it executed and answers what it leaves to the
//! host. **Accepted only**: a crash loses what the ring held, some milliseconds' worth.
//!
//! The journal is that of a node. On its way up the service executes all of it again, and `turnpike serve` on the same data directory
//! settles it in blocks.

use std::{
    net::{SocketAddr, UdpSocket},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicBool,
            Ordering::{Acquire, Release},
        },
    },
    thread::{JoinHandle, sleep},
    time::{Duration, Instant},
};

use ledger::journal::{Batch, Journal, Log};
use nic::{
    Peer, generator,
    selector::{Selection, Selector, SelectorConfig},
};
use wire::{Command, CompactFrame, Operation, Status};
use xdp::{Committed, Flags, InNicConfig, InNicLedger, LedgerCounter, Link, Mode};
use zerocopy::IntoBytes;

use crate::{Config, Error, admission, layout, threads::spawn, tier};

/// How long the ring is left alone when it was empty: so much is lost at most by a crash, beside what is being written.
const NAP: Duration = Duration::from_millis(1);

/// How long the journal has had nothing to write before it is sealed.
const IDLE: Duration = Duration::from_millis(100);

/// Operations written at once: 4 MiB of journal, a quarter of the ring.
const MOST_AT_ONCE: usize = 1 << 16;

/// How long the host's socket waits before it looks whether it is to end.
const LISTEN: Duration = Duration::from_millis(100);

/// A running in-NIC ledger. Dropping it detaches the program, and ends the threads after what was executed is in the journal.
#[derive(Debug)]
pub struct InNic {
    local: SocketAddr,
    link: Option<Link>,
    ledger: Arc<Mutex<InNicLedger>>,
    log: Arc<Log>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    /// Held until everything else is gone.
    _data: storage::DataDirectory,
}

impl InNic {
    /// Executes again what is in the journal of the data directory, and starts to serve.
    pub fn start(config: &Config) -> Result<Self, Error> {
        let in_nic = |reason: String| Error::InNic(reason);
        let interface = tier::find_interface(&config.io.interface, config.listen).map_err(in_nic)?;
        let data = layout::open(&config.data)?;
        let (journal, opened) = layout::open_journal(&data)?;
        if opened.first_sequence > 1 {
            return Err(in_nic(format!(
                "the journal begins with operation {}: give it a data directory of its own",
                opened.first_sequence
            )));
        }
        let size = InNicConfig { accounts: config.ledger.accounts as usize, ..InNicConfig::default() };
        let secret = layout::random::<16>()?;
        let [low, high] = [0, 8].map(|at| u64::from_ne_bytes(std::array::from_fn(|byte| secret[at + byte])));
        let mut ledger = InNicLedger::load(&size, [low, high]).map_err(|error| in_nic(error.to_string()))?;
        restore(&mut ledger, journal.log())?;

        let listening = |source| Error::Listen { key: "listen", address: config.listen, source };
        let socket = UdpSocket::bind(config.listen).map_err(listening)?;
        socket.set_read_timeout(Some(LISTEN)).map_err(listening)?;
        let local = socket.local_addr().map_err(listening)?;
        let state = ledger.state();
        let own =
            if config.listen.ip().is_unspecified() { interface.addresses.clone() } else { vec![config.listen.ip()] };
        state.set_listening(local.port(), interface.mac, &own);
        state.set_trusted(config.trusted.iter().map(|prefix| (prefix.address(), prefix.length())));
        state.set_flags(if interface.is_loopback() { Flags::LOOPBACK } else { Flags::default() });

        let stop = Arc::new(AtomicBool::new(false));
        let failed = Arc::new(AtomicBool::new(false));
        let log = journal.log().clone();
        let link = Link::attach(&ledger, &interface).map_err(|error| in_nic(error.to_string()))?;
        let mode = link.mode();
        let ledger = Arc::new(Mutex::new(ledger));
        let mut service = Self {
            local,
            link: Some(link),
            ledger: ledger.clone(),
            log,
            stop: stop.clone(),
            threads: vec![],
            _data: data,
        };
        service.threads.push(spawn("journal", None, {
            let (stop, failed) = (stop.clone(), failed.clone());
            move || follow(&ledger, journal, &stop, &failed)
        })?);
        let selector =
            Selector::new(SelectorConfig { trusted: config.trusted.clone(), ..SelectorConfig::default() }, local);
        service.threads.push(spawn("host", None, move || refuse(&socket, selector, &stop, &failed))?);
        tracing::warn!(interface = interface.name, %mode, "accepted only: a crash loses what the ring held");
        if mode == Mode::Generic {
            tracing::warn!("the driver does not take the program; behind it, it is not faster than sockets");
        }
        Ok(service)
    }

    /// The address that it serves.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// How often something happened.
    pub fn count(&self, counter: LedgerCounter) -> u64 {
        lock(&self.ledger).count(counter)
    }

    /// Sequence of the last operation that was executed, and of the last that is in the journal.
    pub fn sequences(&self) -> (u64, u64) {
        (lock(&self.ledger).sequence(), self.log.durable())
    }
}

impl Drop for InNic {
    fn drop(&mut self) {
        // Nothing is executed any more from here on; what was is taken out of the ring.
        self.link = None;
        self.stop.store(true, Release);
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the in-NIC ledger panicked");
            }
        }
        let ledger = lock(&self.ledger);
        for counter in LedgerCounter::ALL {
            tracing::info!(counter = counter.name(), count = ledger.count(counter), "in-NIC ledger");
        }
    }
}

fn lock(ledger: &Mutex<InNicLedger>) -> MutexGuard<'_, InNicLedger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Executes the journal again: each operation has to come to what was recorded.
fn restore(ledger: &mut InNicLedger, log: &Arc<Log>) -> Result<(), Error> {
    let mut reader = log.reader(1)?;
    while let Some(batch) = reader.next()? {
        for (sequence, record) in (batch.first_sequence..).zip(batch.records) {
            let diverged = |reason: String| {
                Error::InNic(format!(
                    "operation {sequence} of the journal: {reason}; `turnpike check` audits the directory"
                ))
            };
            let mut requested = record.operation;
            requested.status.set(0);
            let Some(mut frame) = CompactFrame::from_operation(&requested) else {
                return Err(diverged(
                    "it does not fit a compact frame, so this is not the journal of an in-NIC ledger".into(),
                ));
            };
            let mut recorded = frame;
            recorded.set_reply(record.operation.status().unwrap_or(Status::Malformed), record.value.get());
            ledger.restore(frame.as_mut_bytes()).map_err(|error| diverged(error.to_string()))?;
            if frame != recorded {
                let (status, before) = (frame.status.get(), recorded.status.get());
                return Err(diverged(format!(
                    "it comes to status {status}, where {before} was recorded (fewer accounts configured?)"
                )));
            }
        }
    }
    tracing::info!(accounts = ledger.accounts(), operations = ledger.sequence(), "restored");
    Ok(())
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
    debug_assert!(frame.command().is_ok_and(|command| command != Command::Refer));
    frame.to_operation()
}

/// Writes what the program executed to the journal. After a failed write the ring fills up, and the program executes nothing more.
fn follow(ledger: &Mutex<InNicLedger>, mut journal: Journal, stop: &AtomicBool, failed: &AtomicBool) {
    let (mut batch, mut idle) = (Batch::new(), Some(Instant::now()));
    loop {
        let stops = stop.load(Acquire);
        let taken = lock(ledger).drain(MOST_AT_ONCE, |committed| batch.push(&operation(committed), committed.value));
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
            failed.store(true, Release);
            tracing::error!(%error, "the journal cannot be written: the in-NIC ledger answers reads until its ring is full, then nothing but them");
            return;
        }
        if taken == 0 {
            if stops {
                return;
            }
            sleep(NAP);
        }
    }
}

/// Answers what the program leaves to the host: every frame is refused.
fn refuse(socket: &UdpSocket, mut selector: Selector, stop: &AtomicBool, failed: &AtomicBool) {
    // The largest datagram that there is.
    let mut datagram = vec![0; 1 << 16];
    while !stop.load(Acquire) {
        let Ok((length, sender)) = socket.recv_from(&mut datagram) else { continue };
        let frame = &mut datagram[..length];
        let length = match selector.select(&Peer::new(sender), frame, Instant::now()) {
            // The ring had no room, or a lock could not be had.
            Selection::Compact if failed.load(Acquire) => generator::refuse(frame, Status::StorageFailed, 0),
            Selection::Compact => generator::refuse(frame, Status::Busy, 0),
            Selection::Batch(..) | Selection::Signed | Selection::Query(_) => {
                generator::refuse(frame, Status::UnknownCommand, 0)
            }
            Selection::Refuse(status) => generator::refuse(frame, status, 0),
            Selection::Error(error) => error.write_reply(frame),
            Selection::Drop => 0,
        };
        if length > 0 {
            // Lost like any datagram where it cannot be sent.
            let _ = socket.send_to(&frame[..length], sender);
        }
    }
}
