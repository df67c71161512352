//! `shm://`: messages in memory that both processes share.
//!
//! - Each side creates one memory file, sealed so that nobody else can write it and its size is fixed, and sends it
//!   over a Unix socket.
//! - The file holds the side's buffers, a ring of messages in them, and a ring of the peer's buffers that it returns.
//! - A misbehaving peer can only change memory that this side reads word by word and never trusts. Nobody else writes
//!   what this side writes.
//!
//! A received message lies in the sender's memory. [`Config::zero_copy_from`] selects the peers that this is accepted
//! from.
//!
//! 1. Each side sends its greeting. On the peer's: compute the layout from the smaller sizes, create the memory and
//!    send it.
//! 2. On the peer's memory: check its seals and size, map it, and open.
//! 3. To send: mark the buffer as sent, append an entry to the own ring of messages, and ring the bell if the peer
//!    waits for messages and was not rung in this sleep.
//! 4. To receive: take the next entry of the peer's ring. It must have the next stamp, a length that fits, and a buffer
//!    that is not held here. Otherwise the channel fails, and neither this entry nor any after it is delivered.
//! 5. On a dropped message, on any thread: append its buffer to the own ring of returned buffers, and ring likewise.
//! 6. On a returned buffer: it must be marked as sent. Then it is free.
//! 7. Before a sleep: publish what to be woken for, pass a full fence, and look once more.
//!
//! The socket then carries bells only. Its end shows that the peer is gone.

mod layout;
mod ring;
#[cfg(any(test, fuzzing))]
pub mod scribble;
mod socket;

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use layout::Layout;
use ring::{Bell, Entry, Mapped, Reader, Wants, Writer};
use rustix::{
    fs::{FileType, stat, unlink},
    io::Errno,
    net::{SocketFlags, accept_with, bind, connect, listen},
};
use socket::{Packet, Socket, new_socket, socket_address};

use crate::{
    Address, Buffer, Config, Error, Message, Operations, ZeroCopyFrom,
    error::Tried,
    memory::Memory,
    notify::Notify,
    pool::{FreeList, Home, Lease, Pool, ReuseOrder, lease, private_pool},
    tcp::frame::Greeting,
    transport::{Listener, Transport},
};

/// A connection.
pub(crate) struct Shm {
    socket: Arc<Socket>,
    config: Config,
    phase: Phase,
    /// The descriptor signalled that there may be something.
    is_signalled: bool,
}

enum Phase {
    /// Waiting for the peer's greeting.
    Greeting,
    /// Waiting for the peer's memory.
    Sharing(Layout, Arc<Memory>),
    Open(Box<Open>),
}

struct Open {
    layout: Layout,
    ours: Arc<Memory>,
    theirs: Arc<Memory>,
    socket: Arc<Socket>,
    wants: Wants,

    send_pool: Arc<Pool<FreeList>>,
    sent: Writer,
    /// Which of our buffers the peer has.
    is_sent: Vec<bool>,
    returns: Reader,
    message_bell: Bell,

    received: Reader,
    receive_pool: Arc<Pool<Returns>>,
    /// Pool to copy messages to, for a peer whose memory is not handed out.
    copies: Option<Arc<Pool<FreeList>>>,

    /// The peer broke this rule: nothing is received or sent any longer, and the next progress reports it.
    broken: Option<Error>,
}

/// The home of the peer's buffers: returns them through a ring in our memory, from any thread.
struct Returns {
    layout: Layout,
    ours: Arc<Memory>,
    theirs: Arc<Memory>,
    socket: Arc<Socket>,
    state: Mutex<ReturnState>,
}

struct ReturnState {
    given_back: Writer,
    /// Which of the peer's buffers users hold.
    is_held: Vec<bool>,
    bell: Bell,
}

impl Shm {
    pub(crate) fn connect(name: &str, config: &Config) -> Result<Self, Error> {
        let socket = new_socket()?;
        connect(&socket, &socket_address(name)?).tried("connect; is the peer listening there?")?;
        Self::new(socket, config)
    }

    fn new(socket: OwnedFd, config: &Config) -> Result<Self, Error> {
        let socket = Socket::new(socket);
        socket.send_greeting(Greeting::from_config(config))?;
        Ok(Self { socket: Arc::new(socket), config: config.clone(), phase: Phase::Greeting, is_signalled: true })
    }

    fn greet(&mut self) -> Result<(), Error> {
        if let Phase::Greeting = &self.phase
            && let Packet::Here(theirs) = self.socket.receive_greeting()?
        {
            let layout = Layout::negotiated(&self.config, theirs);
            let (memory, file) = Memory::shared(layout.bytes())?;
            self.socket.send_memory(file.as_fd())?;
            self.phase = Phase::Sharing(layout, Arc::new(memory));
        }
        if let Phase::Sharing(layout, ours) = &self.phase
            && let Packet::Here(file) = self.socket.receive_memory()?
        {
            let theirs = Arc::new(Memory::of_peer(file.as_fd(), layout.bytes())?);
            let is_copied = match self.config.zero_copy_from {
                ZeroCopyFrom::Anyone => false,
                ZeroCopyFrom::SameUser => !self.socket.is_same_user(),
                ZeroCopyFrom::Nobody => true,
            };
            let open = Open::new(*layout, Arc::clone(ours), theirs, Arc::clone(&self.socket), is_copied)?;
            self.phase = Phase::Open(Box::new(open));
        }
        Ok(())
    }
}

impl Open {
    fn new(
        layout: Layout,
        ours: Arc<Memory>,
        theirs: Arc<Memory>,
        socket: Arc<Socket>,
        is_copied: bool,
    ) -> Result<Self, Error> {
        let Layout { buffers, buffer_bytes } = layout;
        let pool = |memory: &Arc<Memory>| (Arc::clone(memory), layout.first_buffer());
        let returns = Returns {
            layout,
            ours: Arc::clone(&ours),
            theirs: Arc::clone(&theirs),
            socket: Arc::clone(&socket),
            state: Mutex::new(ReturnState {
                given_back: Writer::new(buffers),
                is_held: vec![false; usize::from(buffers)],
                bell: Bell::default(),
            }),
        };
        let (memory, first) = pool(&ours);
        let send_pool = Pool::new(memory, first, buffer_bytes, buffers, FreeList::new(buffers, 1, ReuseOrder::Coldest));
        let (memory, first) = pool(&theirs);
        Ok(Self {
            layout,
            wants: Wants::new(),
            send_pool,
            sent: Writer::new(buffers),
            is_sent: vec![false; usize::from(buffers)],
            returns: Reader::new(buffers),
            message_bell: Bell::default(),
            received: Reader::new(buffers),
            receive_pool: Pool::new(memory, first, buffer_bytes, buffers, returns),
            copies: is_copied.then(|| private_pool(buffers, buffer_bytes, 1)).transpose()?,
            broken: None,
            ours,
            theirs,
            socket,
        })
    }

    fn our(&self, offset: usize) -> Mapped<'_> {
        Mapped { memory: &self.ours, offset }
    }

    fn their(&self, offset: usize) -> Mapped<'_> {
        Mapped { memory: &self.theirs, offset }
    }

    /// Collects the buffers that the peer returned.
    fn collect(&mut self) -> Result<(), Error> {
        loop {
            let words = Mapped { memory: &self.theirs, offset: self.layout.given_back() };
            let Some(entry) = self.returns.pop(&words)? else { return Ok(()) };
            if !self.is_sent.get_mut(usize::from(entry.index)).is_some_and(std::mem::take) {
                return Err(Error::NotItsBuffer);
            }
            self.send_pool.home().put(entry.index);
        }
    }

    /// Takes the next message, if there is one and room for it.
    fn take(&mut self) -> Result<Option<Message>, Error> {
        let copy = match &self.copies {
            None => None,
            Some(pool) => match lease(pool) {
                Some(copy) => Some(copy),
                None => return Ok(None),
            },
        };
        let words = Mapped { memory: &self.theirs, offset: self.layout.messages() };
        let Some(Entry { index, length }) = self.received.pop(&words)? else { return Ok(None) };
        if length > self.layout.buffer_bytes {
            return Err(Error::TooLong { length, limit: self.layout.buffer_bytes });
        }
        let message = Returns::take(&self.receive_pool, index).ok_or(Error::NotItsToSend)?;
        let length = length as usize;
        Ok(Some(match copy {
            None => Message::new(message, length),
            Some(mut copy) => {
                self.theirs.copy_out(self.receive_pool.offset(index), copy.bytes_mut(length));
                Message::new(copy, length)
            }
        }))
    }

    fn has_message(&self) -> bool {
        self.received.has_next(&self.their(self.layout.messages()))
            && self.copies.as_ref().is_none_or(|pool| pool.home().len() > 0)
    }

    fn has_buffer(&self) -> bool {
        self.send_pool.home().len() > 0 || self.returns.has_next(&self.their(self.layout.given_back()))
    }

    /// Records the first rule that was broken.
    fn note<T>(&mut self, result: Result<Option<T>, Error>) -> Option<T> {
        result.unwrap_or_else(|error| {
            self.broken.get_or_insert(error);
            None
        })
    }
}

impl Returns {
    /// Leases a buffer that the peer sent, unless it does not exist or is already held here.
    fn take(pool: &Arc<Pool<Self>>, index: u16) -> Option<Lease> {
        let mut state = pool.home().state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_held = state.is_held.get_mut(usize::from(index))?;
        (!std::mem::replace(is_held, true)).then(|| Lease::new(Arc::clone(pool) as Arc<Pool>, index))
    }
}

impl Home for Returns {
    fn give_back(&self, index: u16) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_held[usize::from(index)] = false;
        let words = Mapped { memory: &self.ours, offset: self.layout.given_back() };
        state.given_back.push(&words, Entry { index, length: 0 });
        let wants = Mapped { memory: &self.theirs, offset: self.layout.wants() };
        let is_due = state.bell.is_due(&wants, 0, Wants::BUFFERS);
        drop(state);
        if is_due {
            self.socket.ring();
        }
    }
}

impl Transport for Shm {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn signalled(&mut self, _may_be_over: bool) {
        self.is_signalled = true;
    }

    fn progress(&mut self) -> Result<(), Error> {
        if !self.is_connected() {
            return self.greet();
        }
        let Phase::Open(open) = &mut self.phase else { return Ok(()) };
        let is_there = if std::mem::take(&mut self.is_signalled) {
            let wants = Mapped { memory: &open.ours, offset: open.layout.wants() };
            open.wants.wake(&wants, 0);
            open.socket.take_bells()
        } else {
            true
        };
        let collected = open.collect().map(|()| None::<()>);
        open.note(collected);
        match &open.broken {
            Some(broken) => Err(broken.clone()),
            None if !is_there => Err(Error::Closed),
            None => Ok(()),
        }
    }

    fn is_connected(&self) -> bool {
        matches!(self.phase, Phase::Open(_))
    }

    fn ready(&self) -> Operations {
        let Phase::Open(open) = &self.phase else { return Operations::NONE };
        Operations::RECEIVE.when(open.has_message()) | Operations::SEND.when(open.has_buffer())
    }

    fn buffer(&mut self) -> Option<Buffer> {
        let Phase::Open(open) = &mut self.phase else { return None };
        if open.broken.is_some() {
            return None;
        }
        let lease = lease(&open.send_pool).or_else(|| {
            let collected = open.collect().map(|()| None::<()>);
            open.note(collected);
            lease(&open.send_pool)
        })?;
        Some(Buffer::new(lease, open.layout.buffer_bytes as usize))
    }

    fn send(&mut self, buffer: Buffer, _may_wait: bool) -> Result<(), Error> {
        let Phase::Open(open) = &mut self.phase else { return Err(Error::NotConnected) };
        assert!(buffer.lease().is_of(&open.send_pool), "a buffer is sent by the channel that it came from");
        if let Some(broken) = &open.broken {
            return Err(broken.clone());
        }
        let (lease, length) = buffer.into_parts();
        let index = lease.into_index();
        open.is_sent[usize::from(index)] = true;
        let words = Mapped { memory: &open.ours, offset: open.layout.messages() };
        open.sent.push(&words, Entry { index, length: length as u32 });
        let wants = Mapped { memory: &open.theirs, offset: open.layout.wants() };
        if open.message_bell.is_due(&wants, 0, Wants::MESSAGES) {
            open.socket.ring();
        }
        Ok(())
    }

    fn receive(&mut self) -> Option<Message> {
        let Phase::Open(open) = &mut self.phase else { return None };
        // Return neither the offending entry nor any after it, whatever the peer does meanwhile.
        if open.broken.is_some() {
            return None;
        }
        let taken = open.take();
        open.note(taken)
    }

    fn set_notify(&mut self, notify: Option<Arc<Notify>>) {
        if let Phase::Open(open) = &mut self.phase {
            if let Some(copies) = &open.copies {
                copies.home().set_notify(notify.clone());
            }
            open.send_pool.home().set_notify(notify);
        }
    }

    fn is_polled(&self) -> bool {
        self.is_connected()
    }

    fn rest(&mut self, interest: Operations) -> bool {
        let Phase::Open(open) = &mut self.phase else { return true };
        if open.broken.is_some() {
            return false;
        }
        let bit = |operation, bit| if interest.contains(operation) { bit } else { Wants::NOTHING };
        let what = bit(Operations::RECEIVE, Wants::MESSAGES) | bit(Operations::SEND, Wants::BUFFERS);
        let is_here =
            || (what & Wants::MESSAGES != 0 && open.has_message()) || (what & Wants::BUFFERS != 0 && open.has_buffer());
        let mut wants = open.wants;
        let rests = wants.sleep(&open.our(open.layout.wants()), 0, what, is_here);
        open.wants = wants;
        rests
    }
}

impl Drop for Shm {
    fn drop(&mut self) {
        self.socket.close();
    }
}

/// A listening socket.
pub(crate) struct ShmListener {
    socket: OwnedFd,
    name: String,
    /// Device and inode of the socket's file, if it has one.
    file: Option<(u64, u64)>,
    config: Config,
}

/// Device and inode of the file at a path; `None` for an abstract name.
fn inode(name: &str) -> Option<(u64, u64)> {
    let file = name.contains('/').then(|| stat(name).ok()).flatten()?;
    Some((file.st_dev, file.st_ino))
}

/// Sequence number of names that listeners of this process choose.
static CHOSEN: AtomicU32 = AtomicU32::new(0);

/// Connections that the kernel queues until they are accepted.
const BACKLOG: i32 = 1024;

impl ShmListener {
    /// Listens on a name; an empty one makes it choose a name.
    pub(crate) fn bind(name: &str, config: &Config) -> Result<Self, Error> {
        let name = match name {
            "" => format!("{}-{}", std::process::id(), CHOSEN.fetch_add(1, Relaxed)),
            name => name.to_owned(),
        };
        let (socket, address) = (new_socket()?, socket_address(&name)?);
        if let Err(errno) = bind(&socket, &address) {
            // A socket file without a listener was left by a process that ended without removing it.
            let is_left = errno == Errno::ADDRINUSE
                && name.contains('/')
                && stat(name.as_str()).is_ok_and(|file| FileType::from_raw_mode(file.st_mode) == FileType::Socket)
                && connect(new_socket()?, &address) == Err(Errno::CONNREFUSED);
            if !is_left {
                return Err(errno).tried("listen there; choose another name, or stop what listens there");
            }
            unlink(name.as_str()).tried("remove a stale socket")?;
            bind(&socket, &address).tried("listen there; choose another name")?;
        }
        listen(&socket, BACKLOG).tried("listen there; choose another name")?;
        let file = inode(&name);
        Ok(Self { socket, name, file, config: config.clone() })
    }
}

impl Listener for ShmListener {
    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn accept(&mut self) -> Result<Option<Box<dyn Transport>>, Error> {
        loop {
            match accept_with(&self.socket, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
                Ok(socket) => match Shm::new(socket, &self.config) {
                    Ok(channel) => return Ok(Some(Box::new(channel))),
                    // The peer disconnected before it was greeted.
                    Err(Error::Closed) => {}
                    Err(error) => return Err(error),
                },
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(errno) => {
                    return Err(errno).tried("accept a connection; raise the limit of open files (ulimit -n)");
                }
            }
        }
    }

    fn address(&self) -> Address {
        Address::Shm(self.name.clone())
    }
}

impl Drop for ShmListener {
    fn drop(&mut self) {
        // Another file may have replaced it.
        if self.file.is_some() && self.file == inode(&self.name) {
            let _ = unlink(self.name.as_str());
        }
    }
}
