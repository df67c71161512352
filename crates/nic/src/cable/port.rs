//! The NIC of a board as its host sees it: registers and the host's stream over a packet socket.

use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use net::Waker;
use wire::{Command, CompactFrame, Status};
use zerocopy::{FromBytes, IntoBytes};

use super::frame::{Access, Addresses, ETHER_TYPE, Frame, HEADER_BYTES, SEGMENT_BYTES};
use super::layout::SESSION_REGISTER;
use super::link::{Link, Packet};
use super::records::RecordError;
use crate::csr::{self, to_host};
use crate::frame::{self, Mac};
use crate::rtl::device::Host;
use crate::rtl::model::Meta;
use crate::sys;
use crate::wait::wait_for;

/// The value of every NIC's first register: "TPNI".
const ID: u32 = 0x5450_4e49;
/// The version of the registers that this program accesses.
const VERSION: u32 = 4;

const BROADCAST: Mac = [0xff; 6];

/// First wait for the reply to an access, which doubles with each repetition.
const ACCESS_WAIT: Duration = Duration::from_millis(2);
/// Number of repetitions: 4 s in total, more than a switch needs to learn a port.
const ACCESS_TRIES: u32 = 11;
/// How often the node checks that the board still has its session.
const CHECK: Duration = Duration::from_secs(1);
/// How long the board may take to execute the next operation of a load.
const LOAD_PATIENCE: Duration = Duration::from_secs(5);
/// Frames taken from the socket at once.
const FRAMES: usize = 64;

/// Address and trusted sender while accounts are loaded. Neither arrives from a network (RFC 1122), so the NIC executes
/// no operation of a client meanwhile.
const LOAD_ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
const LOAD_SENDER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Why a board cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CableError {
    /// There is no packet socket.
    #[error("cannot open a packet socket on the interface {interface}: {source}; it takes CAP_NET_RAW")]
    Socket {
        /// The interface.
        interface: String,
        /// The system's error.
        source: io::Error,
    },
    /// The socket failed, or the board stopped answering.
    #[error("cannot start the board on the interface {interface}: {source}")]
    Board {
        /// The interface.
        interface: String,
        /// The reason.
        source: io::Error,
    },
    /// Another program or device answers.
    #[error("the board {} has id {id:#x} and version {version}; this program needs {ID:#x} and {VERSION}", text(*mac))]
    Foreign {
        /// Its hardware address.
        mac: Mac,
        /// Its id.
        id: u32,
        /// Version of its registers.
        version: u32,
    },
    /// The operating system reported an error.
    #[error("cannot create an event: {0}")]
    System(#[source] io::Error),
}

/// Why the node stopped using a board. The journal is not affected.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    /// It does not answer.
    #[error(
        "no board answers at {}: check its power and its cable, then restart the node, which loads it again",
        text(*board)
    )]
    Silent {
        /// Its hardware address; that of broadcasts if none has answered yet.
        board: Mac,
    },
    /// It has lost its session, and with it the accounts.
    #[error("the board {} was restarted and has no accounts: restart the node, which loads it again", text(*board))]
    Restarted {
        /// Its hardware address.
        board: Mac,
    },
    /// It has another session.
    #[error(
        "the board {} has session {found:#x} instead of {own:#x}: another node uses it; stop one of them, then restart \
         the other",
        text(*board)
    )]
    Taken {
        /// Its hardware address.
        board: Mac,
        /// Its session.
        found: u32,
        /// The node's.
        own: u32,
    },
    /// The node ended before it had journalled everything that the NIC executed.
    #[error("{operations} operations of the board are not in the journal; at `durable` none of them was answered")]
    Unfinished {
        /// How many.
        operations: u64,
    },
    /// Its records do not match its operations.
    #[error("{0}; the board is stopped: restart the node, which loads it again")]
    Records(#[from] RecordError),
}

impl From<BoardError> for io::Error {
    fn from(error: BoardError) -> Self {
        let kind = match error {
            BoardError::Silent { .. } | BoardError::Unfinished { .. } => io::ErrorKind::TimedOut,
            BoardError::Restarted { .. } | BoardError::Taken { .. } => io::ErrorKind::ConnectionReset,
            BoardError::Records(_) => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}

/// A hardware address as text.
pub(super) fn text(mac: Mac) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// An operation that the NIC must remember, with its result.
#[derive(Clone, Copy, Debug)]
pub struct Remembered {
    /// The request.
    pub request: CompactFrame,
    /// Status of its result.
    pub status: Status,
}

/// What the NIC executes on from its start.
#[derive(Clone, Debug, Default)]
pub struct Accounts {
    /// Accounts and their balances before the operations.
    pub balances: Vec<(u32, u64)>,
    /// Operations that may be retried, in order.
    pub operations: Vec<Remembered>,
}

/// A board on a cable.
pub struct Port {
    socket: OwnedFd,
    addresses: Addresses,
    /// Used to wait without a data path.
    waker: Waker,
    own: SocketAddr,
    control: u32,
    session: u32,
    link: Link,
    inbox: VecDeque<Packet>,
    tag: u32,
    reply: Option<(Mac, Access)>,
    /// The first failure of an access.
    failure: Option<io::Error>,
    checked: Instant,
    /// The board has the node's session, as far as the node knows.
    is_ours: bool,
    frame: Vec<u8>,
    received: Box<[u8]>,
}

impl Port {
    /// Finds the board on an interface.
    pub fn open(interface: &str, own: SocketAddr) -> Result<Self, CableError> {
        let opened = sys::open_packet_socket(interface, ETHER_TYPE);
        let (socket, source) =
            opened.map_err(|source| CableError::Socket { interface: interface.to_owned(), source })?;
        let mut port = Self {
            socket,
            addresses: Addresses { destination: BROADCAST, source },
            waker: Waker::new().map_err(CableError::System)?,
            own,
            control: 0,
            session: 0,
            link: Link::new(0, None),
            inbox: VecDeque::new(),
            tag: 0,
            reply: None,
            failure: None,
            checked: Instant::now(),
            is_ours: false,
            frame: Vec::new(),
            received: vec![0; HEADER_BYTES + SEGMENT_BYTES].into_boxed_slice(),
        };
        let failed = |source| CableError::Board { interface: interface.to_owned(), source };
        let (mac, id) = port.access(csr::ID, None).map_err(failed)?;
        port.addresses.destination = mac;
        let (_, version) = port.access(csr::VERSION, None).map_err(failed)?;
        if (id, version) != (ID, VERSION) {
            return Err(CableError::Foreign { mac, id, version });
        }
        Ok(port)
    }

    /// The board's hardware address.
    pub fn board(&self) -> Mac {
        self.addresses.destination
    }

    /// Stops the NIC and begins a session. Packets of `unsettled_kind` are acknowledged when they are settled.
    pub fn begin(&mut self, session: u32, unsettled_kind: Option<u8>) -> io::Result<()> {
        self.set_control(0);
        self.session = session;
        self.link = Link::new(session, unsettled_kind);
        self.inbox.clear();
        self.write(SESSION_REGISTER, session);
        self.is_ours = true;
        self.check()
    }

    /// Stops the NIC, unless another node uses it: it must not answer operations that nobody journals.
    pub fn halt(&mut self) {
        if std::mem::take(&mut self.is_ours) && self.failure.is_none() {
            self.set_control(0);
        }
    }

    /// Whether it is time to check the board again.
    pub fn is_check_due(&self) -> bool {
        self.checked.elapsed() >= CHECK
    }

    /// Loads accounts into the NIC, which was set up, and runs from then on. Returns whether it has all of them.
    pub fn load(&mut self, accounts: &Accounts) -> io::Result<bool> {
        let own = self.own;
        self.own.set_ip(LOAD_ADDRESS.into());
        let loaded = self.load_all(accounts);
        self.own = own;
        loaded
    }

    fn load_all(&mut self, accounts: &Accounts) -> io::Result<bool> {
        self.write(csr::ADDRESS, LOAD_ADDRESS.into());
        self.write(csr::TRUSTED_ADDRESS, LOAD_SENDER.into());
        self.write(csr::TRUSTED_MASK, u32::MAX);
        // Half, because operations are remembered in buckets, one of which may be full before.
        let room = (self.read(csr::RETRIES) as usize / 2).max(1);
        self.start(csr::CONTROL_COMPACT);
        self.fail()?;
        let mut requests = Vec::new();
        for &(account, mut balance) in &accounts.balances {
            let mut request = |command, amount| {
                let transaction = requests.len() as u32;
                requests.push(CompactFrame::new(command, transaction, account, 0, amount));
            };
            request(Command::Create, 0);
            while balance > 0 {
                let amount = balance.min(u32::MAX.into());
                request(Command::Issue, amount as u32);
                balance -= amount;
            }
        }
        for chunk in requests.chunks(room) {
            let replies = self.execute(chunk)?;
            if replies.iter().any(|reply| reply.status() != Ok(Status::Ok)) {
                return Ok(false);
            }
            // What loads accounts must not be taken for a client's operation.
            self.forget();
        }
        if accounts.operations.len() > room {
            return Ok(false);
        }
        let requests: Vec<_> = accounts.operations.iter().map(|operation| operation.request).collect();
        let replies = self.execute(&requests)?;
        self.fail()?;
        Ok(replies.iter().zip(&accounts.operations).all(|(reply, operation)| reply.status() == Ok(operation.status)))
    }

    /// Makes the NIC forget all operations that it remembers.
    fn forget(&mut self) {
        for tick in 0..10 {
            self.write(csr::RETRY_TICK, tick & 1);
        }
    }

    /// Has the NIC execute operations of the host. Returns its replies.
    fn execute(&mut self, requests: &[CompactFrame]) -> io::Result<Vec<CompactFrame>> {
        let sender = SocketAddr::new(LOAD_SENDER.into(), self.own.port().wrapping_add(1).max(1));
        for request in requests {
            self.inject(sender, request.as_bytes());
        }
        let (mut replies, mut moved) = (Vec::new(), Instant::now());
        while replies.len() < requests.len() {
            self.turn()?;
            let before = replies.len();
            while let Some((meta, packet)) = self.take() {
                let reply = frame::parse(&packet, meta.port)
                    .filter(|_| (meta.kind, meta.port) == (to_host::REPLY, csr::port::HOST))
                    .and_then(|(_, place)| CompactFrame::read_from_bytes(&packet[place]).ok());
                replies.extend(reply);
            }
            if replies.len() > before {
                moved = Instant::now();
            } else if moved.elapsed() > LOAD_PATIENCE {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "the board does not execute operations"));
            } else {
                self.wait(&self.waker, self.until_due(ACCESS_WAIT))?;
            }
        }
        Ok(replies)
    }

    /// Sends the frames that are due and takes those that have arrived.
    pub fn turn(&mut self) -> io::Result<()> {
        self.receive()?;
        self.transmit()?;
        self.fail()
    }

    /// Takes the next packet of the NIC.
    pub fn take(&mut self) -> Option<(Meta, Vec<u8>)> {
        self.inbox.pop_front().map(|packet| (packet.meta, packet.bytes))
    }

    /// Lets the oldest record that is not acknowledged be acknowledged.
    pub fn settle(&mut self) {
        self.link.settle();
    }

    /// Time until something is due, at most `timeout`.
    pub fn until_due(&self, timeout: Duration) -> Duration {
        let due = self.link.due().map(|due| due.saturating_duration_since(Instant::now()));
        due.map_or(timeout, |due| due.min(timeout))
    }

    /// Sleeps until a frame arrives, the waker is used or the timeout passes.
    pub fn wait(&self, waker: &Waker, timeout: Duration) -> io::Result<()> {
        wait_for(std::slice::from_ref(self), waker, timeout)
    }

    /// Sends the link's frames.
    pub fn transmit(&mut self) -> io::Result<()> {
        let Self { link, socket, addresses, frame, .. } = self;
        let mut result = Ok(());
        link.poll(Instant::now(), |due| {
            Frame::Link(due).write(*addresses, frame);
            if result.is_ok() {
                result = send(socket, frame);
            }
        });
        result
    }

    /// Fails unless the board has this session.
    pub fn check(&mut self) -> io::Result<()> {
        self.fail()?;
        let (board, own) = (self.board(), self.session);
        let found = self.access(SESSION_REGISTER, None).inspect_err(|_| self.is_ours = false)?.1;
        self.checked = Instant::now();
        if found == own {
            return Ok(());
        }
        self.is_ours = false;
        let error = if found == 0 { BoardError::Restarted { board } } else { BoardError::Taken { board, found, own } };
        Err(error.into())
    }

    /// Reports the first access that failed.
    pub fn fail(&mut self) -> io::Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Takes the frames that have arrived.
    fn receive(&mut self) -> io::Result<()> {
        for _ in 0..FRAMES {
            let length = match rustix::io::read(&self.socket, &mut *self.received) {
                Ok(length) => length,
                Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => break,
                // The interface is down: the board does not answer until it is up again.
                Err(rustix::io::Errno::NETDOWN) => break,
                Err(error) => return Err(error.into()),
            };
            // Anybody can send such frames; those that are none are ignored, as by the board.
            let Ok((addresses, parsed)) = Frame::parse(&self.received[..length]) else { continue };
            if addresses.destination != self.addresses.source {
                continue;
            }
            match parsed {
                Frame::Access(access) if access.is_reply => self.reply = Some((addresses.source, access)),
                Frame::Link(link) if addresses.source == self.addresses.destination => {
                    self.inbox.extend(self.link.receive(&link));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Accesses a register, and repeats the request until it is answered. Returns the board's address and the value.
    pub fn access(&mut self, register: u32, write: Option<u32>) -> io::Result<(Mac, u32)> {
        let invalid = |_| io::Error::new(io::ErrorKind::InvalidInput, format!("no register has address {register:#x}"));
        self.tag = self.tag.wrapping_add(1);
        let (tag, address) = (self.tag, u16::try_from(register).map_err(invalid)?);
        let request =
            Access { tag, is_write: write.is_some(), is_reply: false, address, value: write.unwrap_or_default() };
        let mut pause = ACCESS_WAIT;
        for _ in 0..ACCESS_TRIES {
            Frame::Access(request).write(self.addresses, &mut self.frame);
            send(&self.socket, &self.frame)?;
            let deadline = Instant::now() + pause;
            loop {
                self.receive()?;
                if let Some((mac, reply)) = self.reply.take()
                    && (reply.tag, reply.address, reply.is_write) == (tag, address, request.is_write)
                {
                    return Ok((mac, reply.value));
                }
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                self.wait(&self.waker, left)?;
            }
            pause *= 2;
        }
        Err(BoardError::Silent { board: self.addresses.destination }.into())
    }

    /// Accesses a register; the next turn reports a failure.
    fn access_or_fail(&mut self, register: u32, write: Option<u32>) -> u32 {
        if self.failure.is_some() {
            return 0;
        }
        match self.access(register, write) {
            Ok((_, value)) => value,
            Err(error) => {
                self.failure = Some(error);
                0
            }
        }
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Host for Port {
    fn own(&self) -> SocketAddr {
        self.own
    }

    fn mac(&self) -> Mac {
        self.board()
    }

    fn control(&self) -> u32 {
        self.control
    }

    fn set_control(&mut self, control: u32) {
        self.control = control;
        self.write(csr::CONTROL, control);
    }

    fn read(&mut self, register: u32) -> u32 {
        self.access_or_fail(register, None)
    }

    fn write(&mut self, register: u32, value: u32) {
        self.access_or_fail(register, Some(value));
    }

    fn host_push(&mut self, meta: Meta, packet: &[u8]) {
        self.link.send(meta, packet);
    }
}

/// Sends a frame, or loses it like the cable.
fn send(socket: &OwnedFd, frame: &[u8]) -> io::Result<()> {
    use rustix::io::Errno;
    match rustix::io::write(socket, frame) {
        Ok(_) | Err(Errno::AGAIN | Errno::INTR | Errno::NOBUFS | Errno::NETDOWN) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
