//! A reliable queue pair with its completion queue and its registered memory (`libibverbs`).
//!
//! One of the modules with `unsafe`. From a SEND or RECEIVE until its completion is polled, the device reads or writes
//! the buffer: posting gives up the [`Lease`], and the completion returns it. Memory is registered for the local device
//! only: no key of it lets a peer access it.

use std::{
    ffi::CStr,
    os::fd::{AsFd, BorrowedFd},
    ptr::{NonNull, null_mut},
    sync::Arc,
};

use rdma_mummy_sys as sys;
use rustix::io::Errno;

use super::verbs::{Id, last_errno};
use crate::{
    error::{Error, Tried},
    pool::{FreeList, Lease, Pool},
};

/// Completions polled, and receives posted, per call.
const BATCH: usize = 32;

/// Marks the token of a receive; the token of a send is its number.
const RECEIVE: u64 = 1 << 63;

/// Maximum length of a message sent inline, if the device can: what fits the first block or two of a request of common
/// devices. The device then need not fetch the message from memory.
const INLINE: u32 = 64;

/// The outcome of a work request.
pub(super) enum Completion {
    /// A message arrived in a buffer of the receive pool.
    Received { lease: Lease, bytes: u32, immediate: Option<u32> },
    /// All sends up to this one are done.
    Sent(u64),
    /// The queue pair is unusable.
    Failed(Error),
}

/// A send request without its message.
pub(super) struct Send {
    /// The number that its completion reports.
    pub(super) number: u64,
    pub(super) immediate: u32,
    /// Whether the device must report its completion.
    pub(super) is_signalled: bool,
}

pub(super) struct Queue {
    // Dropped in this order: each field needs those after it.
    pair: Pair,
    send_region: Region,
    receive_region: Region,
    completions: CompletionQueue,
    send_pool: Arc<Pool<FreeList>>,
    receive_pool: Arc<Pool<FreeList>>,
    receive_bytes: u32,
    inline: u32,
    polled: Box<[sys::ibv_wc; BATCH]>,
}

// SAFETY: rdma-core ties nothing to a thread, and the queue is used through `&mut` except for calls that rdma-core
// locks.
unsafe impl std::marker::Send for Queue {}

struct Pair(Arc<Id>);

impl Pair {
    fn raw(&self) -> *mut sys::ibv_qp {
        // SAFETY: the id is valid, and has the queue pair that was created on it.
        unsafe { (*self.0.raw()).qp }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        // SAFETY: it was created on this id. After this call the device touches no buffer.
        unsafe { sys::rdma_destroy_qp(self.0.raw()) };
    }
}

/// Registered memory of a pool, which the device may access.
struct Region(NonNull<sys::ibv_mr>);

impl Region {
    /// `access` is what the device may do besides reading.
    fn new(id: &Id, pool: &Pool<FreeList>, access: sys::ibv_access_flags) -> Result<Self, Error> {
        let (start, bytes) = pool.extent();
        // SAFETY: the id has had a protection domain since its queue pair was created. The memory stays mapped, because
        // the queue owns the pool; leases govern who touches it when.
        let raw = unsafe { sys::ibv_reg_mr((*id.raw()).pd, start.as_ptr().cast(), bytes, access.0 as i32) };
        let region = NonNull::new(raw).ok_or_else(last_errno);
        Ok(Self(region.tried("register buffers; raise `ulimit -l`, or lower buffers and buffer_bytes")?))
    }

    fn key(&self) -> u32 {
        // SAFETY: the region is registered.
        unsafe { self.0.as_ref().lkey }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: it was registered, and the queue pair that used it is gone.
        unsafe { sys::ibv_dereg_mr(self.0.as_ptr()) };
    }
}

struct CompletionQueue {
    queue: NonNull<sys::ibv_cq>,
    channel: CompletionChannel,
}

struct CompletionChannel(NonNull<sys::ibv_comp_channel>);

impl Drop for CompletionChannel {
    fn drop(&mut self) {
        // SAFETY: it was created, and the completion queue on it is gone.
        unsafe { sys::ibv_destroy_comp_channel(self.0.as_ptr()) };
    }
}

impl CompletionQueue {
    fn new(id: &Id, room: u32) -> Result<Self, Error> {
        // SAFETY: the id has a device, since its address is resolved or a peer requested the connection.
        let device = unsafe { (*id.raw()).verbs };
        // SAFETY: the device is open.
        let channel = NonNull::new(unsafe { sys::ibv_create_comp_channel(device) }).ok_or_else(last_errno);
        let channel = CompletionChannel(channel.tried("make a completion channel; raise `ulimit -n`")?);
        // SAFETY: device and channel are valid.
        let queue = unsafe { sys::ibv_create_cq(device, room as i32, null_mut(), channel.0.as_ptr(), 0) };
        let queue = NonNull::new(queue).ok_or_else(last_errno);
        let this = Self { queue: queue.tried("make a completion queue; lower buffers")?, channel };
        rustix::io::ioctl_fionbio(this.as_fd(), true).tried("use a completion channel")?;
        Ok(this)
    }
}

impl AsFd for CompletionQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel and its descriptor live as long as `self`, which the result borrows.
        unsafe { BorrowedFd::borrow_raw(self.channel.0.as_ref().fd) }
    }
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        // SAFETY: it was created, its queue pair is gone, and `take_events` acknowledges each event that it takes.
        unsafe { sys::ibv_destroy_cq(self.queue.as_ptr()) };
    }
}

impl Queue {
    /// Creates a queue pair on an id that has its device. At most `sends` may be in flight at once, and as many
    /// receives as the receive pool has buffers.
    pub(super) fn new(
        id: &Arc<Id>,
        sends: u32,
        send_pool: Arc<Pool<FreeList>>,
        receive_pool: Arc<Pool<FreeList>>,
        receive_bytes: u32,
    ) -> Result<Self, Error> {
        let receives = u32::from(receive_pool.home().len());
        // A failing queue pair completes everything posted, signalled or not.
        let completions = CompletionQueue::new(id, sends + receives)?;
        let (pair, inline) = create_pair(id, &completions, sends, receives)?;
        let send_region = Region::new(id, &send_pool, sys::ibv_access_flags(0))?;
        let receive_region = Region::new(id, &receive_pool, sys::ibv_access_flags::IBV_ACCESS_LOCAL_WRITE)?;
        // SAFETY: a completion consists of numbers, for which zero is valid.
        let polled = Box::new(unsafe { std::mem::zeroed() });
        let pools = (send_pool, receive_pool);
        let (send_pool, receive_pool) = pools;
        Ok(Self {
            pair,
            send_region,
            receive_region,
            completions,
            send_pool,
            receive_pool,
            receive_bytes,
            inline,
            polled,
        })
    }

    /// Posts receives: the device may write messages to these buffers of the receive pool.
    pub(super) fn post_receives(&mut self, mut leases: impl Iterator<Item = Lease>) -> Result<(), Error> {
        loop {
            let mut elements = [sys::ibv_sge { addr: 0, length: 0, lkey: 0 }; BATCH];
            let mut requests =
                [const { sys::ibv_recv_wr { wr_id: 0, next: null_mut(), sg_list: null_mut(), num_sge: 1 } }; BATCH];
            let mut count = 0;
            for (lease, (element, request)) in leases.by_ref().zip(elements.iter_mut().zip(&mut requests)) {
                let index = lease.into_index();
                element.addr = self.receive_pool.place(index).as_ptr() as u64;
                (element.length, element.lkey) = (self.receive_bytes, self.receive_region.key());
                request.wr_id = RECEIVE | u64::from(index);
                request.sg_list = element;
                count += 1;
                if count == BATCH {
                    break;
                }
            }
            if count == 0 {
                return Ok(());
            }
            let first = requests.as_mut_ptr();
            for at in 0..count - 1 {
                // SAFETY: both are requests of the array, which is accessed only through this pointer, later passed to
                // the call.
                unsafe { (*first.add(at)).next = first.add(at + 1) };
            }
            let mut refused = null_mut();
            // SAFETY: the queue pair is valid; requests and elements live until the call returns, which copies them.
            // Nobody else uses the buffers, because their leases were given up.
            let code = unsafe { sys::ibv_post_recv(self.pair.raw(), first, &raw mut refused) };
            posted(code, "post a receive")?;
            if count < BATCH {
                return Ok(());
            }
        }
    }

    /// Sends a frame, with or without a message. Returns the index of the message's buffer, which stays in use until
    /// the send completes.
    pub(super) fn post_send(&mut self, send: &Send, message: Option<(Lease, usize)>) -> Result<Option<u16>, Error> {
        let mut flags = 0;
        if send.is_signalled {
            flags |= sys::ibv_send_flags::IBV_SEND_SIGNALED.0;
        }
        let mut element = sys::ibv_sge { addr: 0, length: 0, lkey: self.send_region.key() };
        let mut index = None;
        if let Some((lease, length)) = message {
            element.length = length as u32;
            let at = lease.into_index();
            element.addr = self.send_pool.place(at).as_ptr() as u64;
            index = Some(at);
        }
        if element.length <= self.inline {
            flags |= sys::ibv_send_flags::IBV_SEND_INLINE.0;
        }
        // SAFETY: a request consists of numbers, pointers and unions of them, for which zero is valid.
        let mut request: sys::ibv_send_wr = unsafe { std::mem::zeroed() };
        request.wr_id = send.number;
        request.opcode = sys::ibv_wr_opcode::IBV_WR_SEND_WITH_IMM;
        request.send_flags = flags;
        request.imm_data_invalidated_rkey_union.imm_data = send.immediate.to_be();
        if element.length > 0 {
            (request.sg_list, request.num_sge) = (&raw mut element, 1);
        }
        let mut refused = null_mut();
        // SAFETY: the queue pair is valid; request and element live until the call returns, which copies them. Nobody
        // writes to the buffer, because its lease was given up, until a completion shows that the send is done.
        let code = unsafe { sys::ibv_post_send(self.pair.raw(), &raw mut request, &raw mut refused) };
        posted(code, "post a send")?;
        Ok(index)
    }

    /// Breaks the protocol, for a test: posts this operation on the first buffer of its own send pool as if it were the
    /// peer's, or a SEND without an immediate.
    #[cfg(test)]
    pub(super) fn post_remote(&mut self, opcode: sys::ibv_wr_opcode::Type) {
        let (start, _) = self.send_pool.extent();
        let mut element = sys::ibv_sge { addr: start.as_ptr() as u64, length: 8, lkey: self.receive_region.key() };
        element.addr = self.receive_pool.extent().0.as_ptr() as u64;
        // SAFETY: the structure has integers and pointers only, for which zeros are valid.
        let mut request: sys::ibv_send_wr = unsafe { std::mem::zeroed() };
        (request.opcode, request.sg_list, request.num_sge) = (opcode, &raw mut element, 1);
        request.send_flags = sys::ibv_send_flags::IBV_SEND_SIGNALED.0;
        // SAFETY: the region is registered.
        let rkey = unsafe { self.send_region.0.as_ref().rkey };
        request.wr.rdma = sys::rdma_t { remote_addr: start.as_ptr() as u64, rkey };
        let mut refused = null_mut();
        // SAFETY: the queue pair is valid; request and element live until the call returns, which copies them. Nobody
        // uses the first buffers of the pools.
        let code = unsafe { sys::ibv_post_send(self.pair.raw(), &raw mut request, &raw mut refused) };
        posted(code, "post a send").expect("the device accepts a send");
    }

    /// Polls for completions and returns their number. [`completion`](Self::completion) returns each of them once.
    pub(super) fn poll(&mut self) -> Result<usize, Error> {
        let room = self.polled.len() as i32;
        // SAFETY: the queue is valid, and `polled` has room for `room` entries.
        let count = unsafe { sys::ibv_poll_cq(self.completions.queue.as_ptr(), room, self.polled.as_mut_ptr()) };
        usize::try_from(count).map_err(|_| Errno::IO).tried("poll a completion queue")
    }

    /// Returns a completion of the last poll.
    pub(super) fn completion(&mut self, at: usize) -> Completion {
        let entry = &mut self.polled[at];
        let token = std::mem::replace(&mut entry.wr_id, u64::MAX);
        assert_ne!(token, u64::MAX, "a completion is reported once");
        if entry.status != sys::ibv_wc_status::IBV_WC_SUCCESS {
            return Completion::Failed(failure(token, entry.status));
        }
        if token & RECEIVE == 0 {
            return Completion::Sent(token);
        }
        let has_immediate = entry.wc_flags & sys::ibv_wc_flags::IBV_WC_WITH_IMM.0 != 0;
        // SAFETY: the flag says that the union holds an immediate.
        let immediate = unsafe { entry.imm_data_invalidated_rkey_union.imm_data };
        Completion::Received {
            // The device returns the lease that `post_receives` gave up.
            lease: Lease::new(Arc::clone(&self.receive_pool) as Arc<Pool>, token as u16),
            bytes: entry.byte_len,
            immediate: has_immediate.then(|| u32::from_be(immediate)),
        }
    }

    /// Arms the channel for the next completion. It does not report completions that are already there.
    pub(super) fn arm(&mut self) -> Result<(), Error> {
        // SAFETY: the queue is valid.
        posted(unsafe { sys::ibv_req_notify_cq(self.completions.queue.as_ptr(), 0) }, "request completion events")
    }

    /// Takes an event from the channel. Returns whether there was one; the queue is then disarmed.
    pub(super) fn take_events(&mut self) -> Result<bool, Error> {
        let (mut queue, mut context) = (null_mut(), null_mut());
        let channel = self.completions.channel.0.as_ptr();
        // SAFETY: the channel is valid and non-blocking; both pointers are written if the call succeeds.
        if unsafe { sys::ibv_get_cq_event(channel, &raw mut queue, &raw mut context) } != 0 {
            return match last_errno() {
                Errno::AGAIN | Errno::INTR => Ok(false),
                errno => Err(errno).tried("request completion events"),
            };
        }
        // SAFETY: one event of this queue was taken. The queue is armed for one event at a time, so there is no other.
        unsafe { sys::ibv_ack_cq_events(queue, 1) };
        Ok(true)
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.completions.as_fd()
    }
}

/// Also returns how many bytes may be sent inline.
fn create_pair(id: &Arc<Id>, completions: &CompletionQueue, sends: u32, receives: u32) -> Result<(Pair, u32), Error> {
    // A device with less inline room refuses the request as a whole.
    for inline in [INLINE, 0] {
        // SAFETY: attributes consist of numbers and pointers, for which zero is valid.
        let mut attributes: sys::ibv_qp_init_attr = unsafe { std::mem::zeroed() };
        attributes.send_cq = completions.queue.as_ptr();
        attributes.recv_cq = completions.queue.as_ptr();
        attributes.qp_type = sys::ibv_qp_type::IBV_QPT_RC;
        attributes.sq_sig_all = 0;
        attributes.cap = sys::ibv_qp_cap {
            max_send_wr: sends,
            max_recv_wr: receives,
            max_send_sge: 1,
            max_recv_sge: 1,
            max_inline_data: inline,
        };
        // SAFETY: the id has a device, and the completion queue belongs to it. Without a protection domain rdma-core
        // uses its own.
        let code = unsafe { sys::rdma_create_qp(id.raw(), null_mut(), &raw mut attributes) };
        match (code, last_errno()) {
            (0, _) => return Ok((Pair(Arc::clone(id)), inline)),
            (_, Errno::INVAL) if inline > 0 => {}
            (_, errno) => return Err(errno).tried("make a queue pair; lower buffers"),
        }
    }
    Err(Errno::INVAL).tried("make a queue pair; lower buffers")
}

/// Converts the result of a call that returns 0 or an errno.
fn posted(code: i32, what: &'static str) -> Result<(), Error> {
    if code == 0 { Ok(()) } else { Err(Errno::from_raw_os_error(code.abs())).tried(what) }
}

/// The error for a completion status.
fn failure(token: u64, status: sys::ibv_wc_status::Type) -> Error {
    use sys::ibv_wc_status as status_of;
    match status {
        // The peer disconnected, or an earlier completion has reported the reason.
        status_of::IBV_WC_WR_FLUSH_ERR => Error::Lost,
        status_of::IBV_WC_LOC_LEN_ERR if token & RECEIVE != 0 => {
            Error::BadFrame("a message is longer than the buffers announced to the peer")
        }
        status => {
            // SAFETY: rdma-core returns a static text for any status.
            let text = unsafe { CStr::from_ptr(sys::ibv_wc_status_str(status)) };
            Error::QueuePair { status: text.to_str().unwrap_or("unknown status") }
        }
    }
}
