//! AF_XDP sockets: receive the frames of a queue that the XDP program redirects, bypassing the host's network stack,
//! and send frames.
//!
//! A socket belongs to one queue and has its own memory ([`Frame`]s), half for receiving and half for sending. Its two
//! sides can be on different threads: [`Receiver`] has the rings `fill` and `rx`, [`Sender`] has `tx` and `completion`.

use std::{
    fmt,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    io,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
        sockopt::{
            set_xdp_rx_ring_size, set_xdp_tx_ring_size, set_xdp_umem_completion_ring_size, set_xdp_umem_fill_ring_size,
            xdp_mmap_offsets, xdp_statistics,
        },
        xdp::{
            SocketAddrXdp, SocketAddrXdpFlags, XDP_PGOFF_RX_RING, XDP_PGOFF_TX_RING, XDP_UMEM_PGOFF_COMPLETION_RING,
            XDP_UMEM_PGOFF_FILL_RING, XdpDesc, XdpDescOptions,
        },
    },
};

use crate::{
    Error, Interface,
    error::refused,
    ring::{Consumer, Producer},
    sys,
    umem::{Away, Frame, Umem},
};

/// Entries per ring: what a queue holds while the node is busy, as much as a socket's receive buffer of 4 MiB.
const RING: u32 = 2048;

/// Frames of a socket: one per ring entry for receiving and for sending.
const FRAMES: usize = 2 * RING as usize;

/// Maximum number of frames that one system call sends in copy mode (`TX_BATCH_SIZE`).
const SENT_AT_ONCE: u32 = 32;

/// Frames that the driver takes per busy poll: one batch of the data path.
const BUSY_POLL_BUDGET: libc::c_int = 64;

/// How frames reach memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// The device reads and writes them in place.
    ZeroCopy,
    /// The kernel copies them.
    Copy,
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ZeroCopy => "zero copy",
            Self::Copy => "copy mode",
        })
    }
}

/// How long a queue may still be bound to the socket of a process that ended. The kernel releases it in a work queue
/// after the socket is closed: some milliseconds, or more if its processors are busy.
const RELEASE: Duration = Duration::from_secs(5);

/// Delay before binding to a queue is retried.
const RELEASE_NAP: Duration = Duration::from_millis(5);

/// A socket.
#[derive(Debug)]
pub struct Socket {
    /// Its receiving side.
    pub receiver: Receiver,
    /// Its sending side, if the interface has a send queue of this number.
    pub sender: Option<Sender>,
    transfer: Transfer,
}

/// Losses of a socket since its creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Frames that arrived when the kernel had no memory for them, or the ring was full.
    pub full: u64,
    /// Frames that the kernel could not deliver, and entries that it could not read.
    pub invalid: u64,
}

impl Socket {
    /// Opens a socket for a queue of an interface: with zero copy if the driver supports it, otherwise in copy mode.
    /// `busy_poll` makes the kernel poll the device for this time on each receive, instead of using interrupts.
    pub fn open(interface: &Interface, queue: u32, busy_poll: Option<Duration>) -> Result<Self, Error> {
        let deadline = Instant::now() + RELEASE;
        loop {
            // A socket whose binding failed cannot be bound again.
            let opened = Self::open_as(interface, queue, busy_poll, Transfer::ZeroCopy)
                .or_else(|_| Self::open_as(interface, queue, busy_poll, Transfer::Copy));
            match opened {
                Err(error) if error.is_busy() && Instant::now() < deadline => thread::sleep(RELEASE_NAP),
                opened => return opened,
            }
        }
    }

    /// Opens a socket with this transfer mode.
    pub fn open_as(
        interface: &Interface,
        queue: u32,
        busy_poll: Option<Duration>,
        transfer: Transfer,
    ) -> Result<Self, Error> {
        let refused = |what| move |error: io::Errno| refused(what)(error.into());
        if transfer == Transfer::ZeroCopy && interface.zero_copy_loses_answers() {
            return Err(refused("zero copy, in which the driver loses what XDP answers")(io::Errno::OPNOTSUPP));
        }
        let rings = refused("the rings of an AF_XDP socket");
        let (umem, mut frames) = Umem::new(FRAMES).map_err(refused("memory for frames"))?;
        let family = AddressFamily::from_raw(libc::AF_XDP as u16);
        let socket = socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, None);
        let socket = Arc::new(socket.map_err(refused("an AF_XDP socket"))?);
        umem.register(socket.as_fd()).map_err(refused("memory for frames"))?;
        // A queue may be receive-only: its frames are answered in other ways.
        let sends = queue < interface.transmit_queues;
        set_xdp_umem_fill_ring_size(&socket, RING).map_err(rings)?;
        set_xdp_umem_completion_ring_size(&socket, RING).map_err(rings)?;
        set_xdp_rx_ring_size(&socket, RING).map_err(rings)?;
        if sends {
            set_xdp_tx_ring_size(&socket, RING).map_err(rings)?;
        }
        let offsets = xdp_mmap_offsets(&socket).map_err(rings)?;
        let fd = socket.as_fd();
        let mut receiver = Receiver {
            fill: Producer::map(fd, XDP_UMEM_PGOFF_FILL_RING, &offsets.fr, RING).map_err(rings)?,
            rx: Consumer::map(fd, XDP_PGOFF_RX_RING, &offsets.rx, RING).map_err(rings)?,
            away: Away::new(&umem),
            socket: socket.clone(),
            busy_poll: busy_poll.is_some(),
        };
        let sender = match sends {
            true => Some(Sender {
                tx: Producer::map(fd, XDP_PGOFF_TX_RING, &offsets.tx, RING).map_err(rings)?,
                completion: Consumer::map(fd, XDP_UMEM_PGOFF_COMPLETION_RING, &offsets.cr, RING).map_err(rings)?,
                away: Away::new(&umem),
                free: frames.split_off(RING as usize),
                socket: socket.clone(),
            }),
            false => None,
        };
        if let Some(time) = busy_poll {
            poll_busily(fd, time);
        }
        frames.into_iter().take(RING as usize).for_each(|frame| receiver.give(frame));
        receiver.fill.publish();
        let mode = match transfer {
            Transfer::ZeroCopy => SocketAddrXdpFlags::XDP_ZEROCOPY,
            Transfer::Copy => SocketAddrXdpFlags::XDP_COPY,
        };
        let address = SocketAddrXdp::new(mode | SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP, interface.index, queue);
        bind(&socket, &address).map_err(refused("to bind an AF_XDP socket to a queue"))?;
        Ok(Self { receiver, sender, transfer })
    }

    /// How frames reach memory.
    pub fn transfer(&self) -> Transfer {
        self.transfer
    }

    /// Returns a handle that reports losses, from any thread.
    pub fn gauge(&self) -> Gauge {
        Gauge(self.receiver.socket.clone())
    }
}

/// The receiving side of a socket.
#[derive(Debug)]
pub struct Receiver {
    fill: Producer<u64>,
    rx: Consumer<XdpDesc>,
    away: Away,
    socket: Arc<OwnedFd>,
    busy_poll: bool,
}

impl Receiver {
    /// Takes the next received frame.
    pub fn receive(&mut self) -> Option<Frame> {
        loop {
            let entry = self.rx.pop()?;
            // The kernel returns the frames that it was given.
            if let Some(frame) = self.away.take(entry.addr, entry.len) {
                return Some(frame);
            }
        }
    }

    /// Number of receive frames that the kernel lacks.
    pub fn missing(&self) -> usize {
        (RING as usize).saturating_sub(self.away.count())
    }

    /// Gives the kernel a frame of this socket to receive into.
    pub fn give(&mut self, frame: Frame) {
        if self.fill.push(frame.address()) {
            self.away.put(frame);
        }
    }

    /// Publishes what was taken and given, and wakes the kernel if it sleeps or must poll the device.
    pub fn publish(&mut self) {
        self.rx.release();
        self.fill.publish();
        if self.busy_poll || self.fill.needs_wakeup() {
            // This receives nothing; an error means that there is nothing to do.
            let _ = recv(&self.socket, &mut [0_u8; 0], RecvFlags::DONTWAIT);
        }
    }

    /// The socket, for waiting.
    pub fn socket(&self) -> &Arc<OwnedFd> {
        &self.socket
    }
}

/// Reports the losses of a socket, from any thread.
#[derive(Clone, Debug)]
pub struct Gauge(Arc<OwnedFd>);

impl Gauge {
    /// Losses so far.
    pub fn losses(&self) -> Losses {
        let Ok(statistics) = xdp_statistics(&self.0) else { return Losses::default() };
        Losses {
            full: statistics.rx_ring_full.unwrap_or(0) + statistics.rx_fill_ring_empty_descs.unwrap_or(0),
            invalid: statistics.rx_dropped + statistics.rx_invalid_descs + statistics.tx_invalid_descs,
        }
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The sending side of a socket.
#[derive(Debug)]
pub struct Sender {
    tx: Producer<XdpDesc>,
    completion: Consumer<u64>,
    away: Away,
    free: Vec<Frame>,
    socket: Arc<OwnedFd>,
}

impl Sender {
    /// Takes a free frame, empty.
    pub fn take(&mut self) -> Option<Frame> {
        if self.free.is_empty() {
            self.reclaim();
        }
        let mut frame = self.free.pop()?;
        frame.clear();
        Some(frame)
    }

    /// Returns a frame unsent.
    pub fn put_back(&mut self, frame: Frame) {
        self.free.push(frame);
    }

    /// Whether another frame can be put on the ring.
    pub fn has_room(&self) -> bool {
        self.tx.room() > 0
    }

    /// Puts a frame on the ring. If there is no room, frees it and returns false.
    pub fn push(&mut self, frame: Frame) -> bool {
        let entry = XdpDesc { addr: frame.address(), len: frame.len() as u32, options: XdpDescOptions::empty() };
        let pushed = self.tx.push(entry);
        if pushed {
            self.away.put(frame)
        } else {
            self.free.push(frame)
        }
        pushed
    }

    /// Makes the kernel send the frames on the ring. What it has no room for stays there until the next call.
    pub fn send(&mut self) {
        self.tx.publish();
        // In copy mode a call sends only some; more calls than a full ring needs are useless.
        for _ in 0..RING / SENT_AT_ONCE {
            if self.tx.waiting() == 0 || !self.tx.needs_wakeup() {
                break;
            }
            match send(&self.socket, &[], SendFlags::DONTWAIT) {
                // There is more to send than one call sends.
                Ok(_) | Err(io::Errno::AGAIN | io::Errno::INTR) => {}
                // No memory, no room in the device, or the device is down.
                Err(_) => break,
            }
        }
        self.reclaim();
    }

    /// Reclaims sent frames.
    fn reclaim(&mut self) {
        while let Some(address) = self.completion.pop() {
            self.free.extend(self.away.take(address, 0));
        }
        self.completion.release();
    }
}

/// Socket options missing in `libc` (include/uapi/asm-generic/socket.h).
const SO_PREFER_BUSY_POLL: libc::c_int = 69;
const SO_BUSY_POLL_BUDGET: libc::c_int = 70;

/// Asks the kernel to poll the device for this time instead of taking interrupts. Best effort: otherwise interrupts do
/// it.
fn poll_busily(socket: BorrowedFd<'_>, time: Duration) {
    let time = i32::try_from(time.as_micros()).unwrap_or(i32::MAX);
    for (option, value) in
        [(SO_PREFER_BUSY_POLL, 1), (libc::SO_BUSY_POLL, time), (SO_BUSY_POLL_BUDGET, BUSY_POLL_BUDGET)]
    {
        let _ = sys::set_option(socket, libc::SOL_SOCKET, option, value);
    }
}
