//! Connections of rdma_cm (`librdmacm`, loaded on first use): event channels, ids and events.
//!
//! One of the modules with `unsafe`: it owns what rdma-core allocates and releases it in the order that rdma-core
//! requires. The data behind these pointers is guarded by locks inside rdma-core, or used through `&mut`.

use std::{
    ffi::{c_int, c_void},
    net::{IpAddr, SocketAddr},
    os::fd::{AsFd, BorrowedFd},
    ptr::{NonNull, null_mut},
};

use rdma_mummy_sys as sys;
use rustix::io::Errno;
use sys::rdma_cm_event_type as event_type;

use crate::error::{Error, Tried};

/// Timeout for resolving a peer's address and the route to it, in milliseconds. On RoCE this takes one ARP request.
const RESOLVE_TIMEOUT: c_int = 2000;

/// Bytes of private data kept from an event: a greeting fits.
pub(super) const PRIVATE: usize = 16;

/// A connection event.
pub(super) enum Event {
    AddressResolved,
    RouteResolved,
    /// A peer requests a connection, with its private data.
    Request(Request, [u8; PRIVATE]),
    /// The connection is established. The side that connected gets the peer's private data.
    Established([u8; PRIVATE]),
    /// The peer refused, with its private data.
    Rejected([u8; PRIVATE]),
    Disconnected,
    Failed(Errno),
    /// Irrelevant here.
    Other,
}

/// The errno of the last rdma-core call that failed.
pub(super) fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Converts the result of a call that returns 0, or -1 with an errno.
fn check(code: c_int) -> Result<(), Errno> {
    if code == 0 { Ok(()) } else { Err(last_errno()) }
}

/// The queue of rdma_cm's events.
struct EventChannel(NonNull<sys::rdma_event_channel>);

// SAFETY: rdma-core ties nothing to a thread.
unsafe impl Send for EventChannel {}
// SAFETY: rdma-core locks what its calls share.
unsafe impl Sync for EventChannel {}

impl EventChannel {
    fn new() -> Result<Self, Error> {
        // SAFETY: the call has no arguments; it returns null on failure or if rdma-core is missing.
        let raw = unsafe { sys::rdma_create_event_channel() };
        let channel = match NonNull::new(raw) {
            Some(raw) => Self(raw),
            None => {
                return Err(match last_errno() {
                    Errno::OPNOTSUPP => Error::RdmaUnavailable(
                        "rdma-core is not installed; on Debian: apt-get install librdmacm1 ibverbs-providers",
                    ),
                    errno @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM) => {
                        Error::System { what: "make an event channel; raise `ulimit -n`", errno }
                    }
                    _ => Error::RdmaUnavailable(
                        "there is no RDMA device; load its driver and `modprobe rdma_ucm`, so that `rdma link` shows \
                         it; rdma-core's side of the driver comes with ibverbs-providers",
                    ),
                });
            }
        };
        rustix::io::ioctl_fionbio(channel.as_fd(), true).tried("use an event channel")?;
        Ok(channel)
    }
}

impl AsFd for EventChannel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the channel and its descriptor live as long as `self`, which the result borrows.
        unsafe { BorrowedFd::borrow_raw(self.0.as_ref().fd) }
    }
}

impl Drop for EventChannel {
    fn drop(&mut self) {
        // SAFETY: it was created by `new`, and the ids on it are gone.
        unsafe { sys::rdma_destroy_event_channel(self.0.as_ptr()) };
    }
}

/// A connection or a listener, with its own event channel.
pub(super) struct Id {
    // Declared before its channel, because fields are dropped in order.
    id: OwnedId,
    channel: EventChannel,
}

struct OwnedId(NonNull<sys::rdma_cm_id>);

// SAFETY: as for the event channel.
unsafe impl Send for OwnedId {}
// SAFETY: as for the event channel.
unsafe impl Sync for OwnedId {}

impl Drop for OwnedId {
    fn drop(&mut self) {
        // SAFETY: it is owned, its queue pair is gone, and all of its events are acknowledged: `next_event` does so at
        // once.
        unsafe { sys::rdma_destroy_id(self.0.as_ptr()) };
    }
}

/// A connection request of a peer. Dropping it refuses the connection.
pub(super) struct Request(Option<OwnedId>);

impl Request {
    /// Takes the connection over. It must still be accepted.
    pub(super) fn into_id(mut self) -> Result<Id, Error> {
        let channel = EventChannel::new()?;
        if let Some(id) = &self.0 {
            // SAFETY: both are valid; the event that delivered the id is acknowledged, so the call does not wait.
            check(unsafe { sys::rdma_migrate_id(id.0.as_ptr(), channel.0.as_ptr()) })
                .tried("take over a connection")?;
        }
        let id = self.0.take().ok_or(Error::NotConnected)?;
        Ok(Id { id, channel })
    }

    /// Refuses the connection, with private data of this side.
    pub(super) fn reject(mut self, private: &[u8; PRIVATE]) {
        if let Some(id) = self.0.take() {
            // SAFETY: the id is valid, and the data is copied. Failure means that the peer is gone.
            unsafe { sys::rdma_reject(id.0.as_ptr(), private.as_ptr().cast(), PRIVATE as u8) };
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if let Some(id) = &self.0 {
            // SAFETY: `self` still owns the id, so it is valid; a length of zero means that no private data is read.
            unsafe { sys::rdma_reject(id.0.as_ptr(), std::ptr::null(), 0) };
        }
    }
}

impl Id {
    fn new() -> Result<Self, Error> {
        let channel = EventChannel::new()?;
        let mut id = null_mut();
        let space = sys::rdma_port_space::RDMA_PS_TCP;
        // SAFETY: the channel is valid, and `id` is written if the call succeeds.
        let created = check(unsafe { sys::rdma_create_id(channel.0.as_ptr(), &raw mut id, null_mut(), space) });
        created.tried("make an RDMA connection; raise `ulimit -n`")?;
        let id = OwnedId(NonNull::new(id).ok_or(Error::RdmaUnavailable("rdma_create_id returned no identifier"))?);
        Ok(Self { id, channel })
    }

    /// Starts to connect: an event reports that the address is resolved.
    pub(super) fn resolve_address(to: SocketAddr) -> Result<Self, Error> {
        let this = Self::new()?;
        let mut to = RawAddress::new(to);
        // SAFETY: the id is valid, and the address is copied.
        let code = unsafe { sys::rdma_resolve_addr(this.raw(), null_mut(), to.pointer(), RESOLVE_TIMEOUT) };
        check(code).tried("reach this address over RDMA; `rdma link` shows the interfaces with RDMA")?;
        Ok(this)
    }

    pub(super) fn resolve_route(&self) -> Result<(), Error> {
        // SAFETY: the id is valid.
        check(unsafe { sys::rdma_resolve_route(self.raw(), RESOLVE_TIMEOUT) }).tried("find a route over RDMA")
    }

    /// Listens on an address.
    pub(super) fn listen(at: SocketAddr, backlog: i32) -> Result<Self, Error> {
        let this = Self::new()?;
        let mut at = RawAddress::new(at);
        // SAFETY: the id is valid, and the address is copied.
        check(unsafe { sys::rdma_bind_addr(this.raw(), at.pointer()) }).tried(
            "listen there over RDMA; choose another port, or an address that `rdma link` has an interface for",
        )?;
        // SAFETY: the id is valid.
        check(unsafe { sys::rdma_listen(this.raw(), backlog) }).tried("listen there over RDMA; choose another port")?;
        Ok(this)
    }

    /// Requests the connection; the queue pair must exist.
    pub(super) fn connect(&self, private: &[u8; PRIVATE]) -> Result<(), Error> {
        let mut parameters = parameters(private);
        // SAFETY: the id is valid, and the parameters with their data are copied.
        check(unsafe { sys::rdma_connect(self.raw(), &raw mut parameters) }).tried("connect over RDMA")
    }

    /// Accepts the connection; the queue pair must exist.
    pub(super) fn accept(&self, private: &[u8; PRIVATE]) -> Result<(), Error> {
        let mut parameters = parameters(private);
        // SAFETY: the id is valid, and the parameters with their data are copied.
        check(unsafe { sys::rdma_accept(self.raw(), &raw mut parameters) }).tried("accept a connection over RDMA")
    }

    /// Ends the connection. Messages in flight are lost.
    pub(super) fn disconnect(&self) {
        // SAFETY: the id is valid. The call fails if there is no connection.
        unsafe { sys::rdma_disconnect(self.raw()) };
    }

    /// Returns the next event, if any.
    pub(super) fn next_event(&self) -> Result<Option<Event>, Error> {
        let mut raw = null_mut();
        // SAFETY: the channel is valid and non-blocking; `raw` is written if the call succeeds.
        match check(unsafe { sys::rdma_get_cm_event(self.channel.0.as_ptr(), &raw mut raw) }) {
            Ok(()) => {}
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(errno) => return Err(errno).tried("read events of RDMA connections"),
        }
        // SAFETY: the call succeeded, so `raw` is an event, which is valid until it is acknowledged.
        let event = unsafe { Self::read(&*raw) };
        // SAFETY: the event is acknowledged once and not used afterwards.
        unsafe { sys::rdma_ack_cm_event(raw) };
        Ok(Some(event))
    }

    /// # Safety
    ///
    /// `event` must be an event of a connection (not of a datagram), as rdma_cm returned it.
    unsafe fn read(event: &sys::rdma_cm_event) -> Event {
        // The status is an errno, -1 if a step failed because the peer disconnected meanwhile, or a code specific to
        // InfiniBand.
        let failure = match event.status {
            -1 => Errno::CONNABORTED,
            status if status < 0 => Errno::from_raw_os_error(-status),
            _ => Errno::HOSTUNREACH,
        };
        let private = || {
            // SAFETY: the port space is RDMA_PS_TCP, so the connection's parameters are the valid member.
            let parameters = unsafe { &event.param.conn };
            let mut private = [0; PRIVATE];
            let length = usize::from(parameters.private_data_len).min(PRIVATE);
            if !parameters.private_data.is_null() {
                // SAFETY: rdma-core sets the length, and the data lives as long as the event.
                let data = unsafe { std::slice::from_raw_parts(parameters.private_data.cast::<u8>(), length) };
                private[..length].copy_from_slice(data);
            }
            private
        };
        match event.event {
            event_type::RDMA_CM_EVENT_ADDR_RESOLVED => Event::AddressResolved,
            event_type::RDMA_CM_EVENT_ROUTE_RESOLVED => Event::RouteResolved,
            event_type::RDMA_CM_EVENT_CONNECT_REQUEST => {
                Event::Request(Request(NonNull::new(event.id).map(OwnedId)), private())
            }
            event_type::RDMA_CM_EVENT_ESTABLISHED => Event::Established(private()),
            event_type::RDMA_CM_EVENT_REJECTED => Event::Rejected(private()),
            event_type::RDMA_CM_EVENT_DISCONNECTED => Event::Disconnected,
            event_type::RDMA_CM_EVENT_DEVICE_REMOVAL => Event::Failed(Errno::NODEV),
            event_type::RDMA_CM_EVENT_ADDR_ERROR
            | event_type::RDMA_CM_EVENT_ROUTE_ERROR
            | event_type::RDMA_CM_EVENT_CONNECT_ERROR
            | event_type::RDMA_CM_EVENT_UNREACHABLE => Event::Failed(failure),
            _ => Event::Other,
        }
    }

    /// The address of this side.
    pub(super) fn address(&self) -> SocketAddr {
        // SAFETY: the id is valid, and the field holds a C address.
        unsafe { address((&raw const (*self.raw()).route.addr.src_addr_union).cast()) }
    }

    /// The address of the peer.
    pub(super) fn peer(&self) -> SocketAddr {
        // SAFETY: the id is valid, and the field holds a C address.
        unsafe { address((&raw const (*self.raw()).route.addr.dst_addr_union).cast()) }
    }

    /// The raw pointer, valid while `self` is.
    pub(super) fn raw(&self) -> *mut sys::rdma_cm_id {
        self.id.0.as_ptr()
    }
}

impl AsFd for Id {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

/// Connection parameters. They allow no remote reads or writes.
fn parameters(private: &[u8; PRIVATE]) -> sys::rdma_conn_param {
    sys::rdma_conn_param {
        private_data: private.as_ptr().cast::<c_void>(),
        private_data_len: PRIVATE as u8,
        responder_resources: 0,
        initiator_depth: 0,
        flow_control: 1,
        // The maximum: Ethernet without pause frames loses packets.
        retry_count: 7,
        // Credits guarantee that the receiver has a buffer. A receiver without one broke the protocol.
        rnr_retry_count: 0,
        srq: 0,
        qp_num: 0,
    }
}

/// # Safety
///
/// `raw` must point to a C address, with all bytes that its family requires.
unsafe fn address(raw: *const libc::sockaddr) -> SocketAddr {
    // SAFETY: the caller guarantees it.
    unsafe {
        if c_int::from((*raw).sa_family) == libc::AF_INET6 {
            let raw = &*raw.cast::<libc::sockaddr_in6>();
            (raw.sin6_addr.s6_addr, u16::from_be(raw.sin6_port)).into()
        } else {
            let raw = &*raw.cast::<libc::sockaddr_in>();
            (raw.sin_addr.s_addr.to_ne_bytes(), u16::from_be(raw.sin_port)).into()
        }
    }
}

/// A socket address in its C form.
enum RawAddress {
    V4(libc::sockaddr_in),
    V6(libc::sockaddr_in6),
}

impl RawAddress {
    fn new(address: SocketAddr) -> Self {
        let port = address.port().to_be();
        match address.ip() {
            IpAddr::V4(ip) => Self::V4(libc::sockaddr_in {
                sin_family: libc::AF_INET as u16,
                sin_port: port,
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(ip.octets()) },
                sin_zero: [0; 8],
            }),
            IpAddr::V6(ip) => Self::V6(libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as u16,
                sin6_port: port,
                sin6_flowinfo: 0,
                sin6_addr: libc::in6_addr { s6_addr: ip.octets() },
                sin6_scope_id: if let SocketAddr::V6(address) = address { address.scope_id() } else { 0 },
            }),
        }
    }

    fn pointer(&mut self) -> *mut libc::sockaddr {
        match self {
            Self::V4(address) => (&raw mut *address).cast(),
            Self::V6(address) => (&raw mut *address).cast(),
        }
    }
}
