//! The NIC of a board as a backend of the data path.
//!
//! The host is that of the simulated NIC (`rtl`); a cable is between them instead of a function call, so the NIC runs
//! meanwhile:
//!
//! - At [`Promise::Accepted`] the NIC replies at once. Its records are acknowledged when the data path has replied, so
//!   the data path must reply when the operation is durable: the board is never further ahead of the journal than the
//!   link's window and its own queue.
//! - At [`Promise::Durable`] the NIC sends its replies to the node, which returns them once they are durable. Records
//!   are acknowledged at once: no client knows of their operations.
//! - The NIC must send one record per operation ([`RecordCheck`]): the node compares them every second.
//! - When the NIC hands over, the node counts its records, and waits for the last one before it executes something
//!   else.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use net::Waker;
use wire::Promise;

use super::link::WINDOW;
use super::port::{Accounts, BoardError, CableError, Port};
use super::records::RecordCheck;
use crate::backend::{Backend, Batch, Reply, Transmit};
use crate::csr::{self, to_host};
use crate::rtl::backend::{NAP, transmit};
use crate::rtl::device::Host;
use crate::rtl::nic::Nic;
use crate::rtl::queue::{Announcer, Given, Queue};
use crate::rtl::{HandOver, RtlConfig, RtlCounters, RtlTransmitter};
use crate::udp::UdpTransmitter;

/// How long the data path sleeps at most while it waits for records of the NIC.
const RECORD_WAIT: Duration = Duration::from_millis(1);

/// How long the data path may take to answer the NIC's last operations before it ends: a disk may need seconds to sync.
const FINISH_PATIENCE: Duration = Duration::from_secs(10);

/// The backend of a board.
pub struct CableBackend {
    nic: Nic<Port>,
    /// Records that were settled.
    settled: u64,
    records: RecordCheck,
    /// When the data path began to finish.
    finishing: Option<Instant>,
    queue: Arc<Queue>,
    waker: Waker,
    counters: Arc<RtlCounters>,
}

impl CableBackend {
    /// Finds the board on an interface, begins a session, loads the accounts and starts the NIC. The session must not
    /// be 0.
    pub fn new(interface: &str, config: &RtlConfig, session: u32, accounts: &Accounts) -> Result<Self, CableError> {
        let failed = |source| CableError::Board { interface: interface.to_owned(), source };
        let counters = Arc::new(RtlCounters::default());
        let mut port = Port::open(interface, config.own)?;
        let settles = config.promise < Promise::Durable;
        port.begin(session, settles.then_some(to_host::RECORD)).map_err(failed)?;
        let (mut nic, mut control) = Nic::with_device(config, port, counters.clone());
        let device = &mut nic.device;
        if control != 0 && !device.load(accounts).map_err(failed)? {
            (config.told)(HandOver::Differs);
            device.set_control(0);
            control = 0;
        }
        if let (true, Some(prefix)) = (control != 0, config.engine) {
            device.trust(prefix);
        }
        if let IpAddr::V4(own) = config.own.ip() {
            device.write(csr::ADDRESS, own.into());
        }
        let records = RecordCheck::new(device.read(csr::OPERATIONS));
        device.start(control);
        device.turn().map_err(failed)?;
        let waker = Waker::new().map_err(CableError::System)?;
        Ok(Self { nic, settled: 0, records, finishing: None, queue: Arc::default(), waker, counters })
    }

    /// Returns a handle for announcements of blocks. The board has no proof cache, so it ignores them.
    pub fn announcer(&self) -> Announcer {
        Announcer::new(self.queue.clone(), self.waker.clone())
    }

    /// Whether the NIC's transfer engine executes operations.
    pub fn is_executing(&self) -> bool {
        self.nic.is_executing()
    }

    /// The board's hardware address, as text.
    pub fn board(&self) -> String {
        super::port::text(self.nic.device.board())
    }

    /// Returns the backend's counters.
    pub fn counters(&self) -> Arc<RtlCounters> {
        self.counters.clone()
    }

    /// Exchanges frames with the board, and passes on its packets.
    fn turn(&mut self) -> io::Result<()> {
        let Self { nic, settled, .. } = self;
        nic.device.turn()?;
        while let Some((meta, packet)) = nic.device.take() {
            nic.take_host(meta, packet);
        }
        nic.follow();
        while *settled < nic.engine.completed() {
            nic.device.settle();
            *settled += 1;
        }
        nic.device.transmit()?;
        // Operations that the NIC executed before it stopped come first.
        if self.nic.engine.is_stopping() && !self.nic.engine.has_records() && self.missing_records()? == 0 {
            self.nic.release_late();
        }
        if self.nic.device.is_check_due() {
            self.nic.device.check()?;
            self.missing_records()?;
        }
        Ok(())
    }

    /// Operations of the NIC whose records have not arrived.
    fn missing_records(&mut self) -> io::Result<u32> {
        let Self { nic, records, settled, .. } = self;
        let taken = nic.engine.taken();
        let operations = nic.device.read(csr::OPERATIONS);
        nic.device.fail()?;
        // The NIC sends no more before some are acknowledged; at `durable` they are at once.
        let is_held_up = !nic.device.has(csr::CONTROL_HOLD) && taken - *settled >= WINDOW as u64;
        let missing = records.missing(operations, taken, is_held_up, Instant::now());
        missing.map_err(|error| BoardError::from(error).into())
    }
}

impl Drop for CableBackend {
    fn drop(&mut self) {
        self.nic.device.halt();
    }
}

impl Backend for CableBackend {
    type Transmitter = RtlTransmitter<UdpTransmitter>;

    fn receive(&mut self, batch: &mut Batch, timeout: Duration) -> io::Result<()> {
        batch.messages.clear();
        for given in self.queue.take() {
            match given {
                Given::Reply(peer, reply) => self.nic.take_reply(peer, &reply),
                // There is no proof cache.
                Given::Announcement(_) => {}
            }
        }
        self.turn()?;
        if !self.nic.has_arrived() {
            if self.nic.is_full() {
                std::thread::sleep(NAP);
                return Ok(());
            }
            let timeout = if self.nic.engine.is_stopping() { timeout.min(RECORD_WAIT) } else { timeout };
            let timeout = self.nic.device.until_due(timeout);
            self.nic.device.wait(&self.waker, timeout)?;
            self.turn()?;
        }
        self.nic.deliver(batch);
        Ok(())
    }

    fn transmitter(&self) -> io::Result<Self::Transmitter> {
        let (queue, waker) = (self.queue.clone(), self.waker.clone());
        Ok(RtlTransmitter { queue, waker, counters: self.counters.clone(), direct: None })
    }

    fn waker(&self) -> Waker {
        self.waker.clone()
    }

    fn local_address(&self) -> io::Result<SocketAddr> {
        Ok(self.nic.own())
    }

    fn finish(&mut self) -> io::Result<bool> {
        let since = *self.finishing.get_or_insert_with(Instant::now);
        self.nic.stop_executing();
        let missing = u64::from(self.missing_records()?);
        let unanswered = missing + self.nic.engine.taken() - self.nic.engine.completed();
        if unanswered > 0 && since.elapsed() > FINISH_PATIENCE {
            return Err(BoardError::Unfinished { operations: unanswered }.into());
        }
        Ok(unanswered == 0)
    }
}

impl Transmit for CableBackend {
    fn transmit(&mut self, replies: &mut dyn Iterator<Item = Reply<'_>>) -> usize {
        transmit(&self.queue, &self.counters, None::<&mut UdpTransmitter>, replies).0
    }
}
