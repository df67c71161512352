//! System calls without a safe wrapper: `recvmmsg` and `sendmmsg` with control messages, socket options, and TAP
//! devices.
//!
//! Besides `rtl::model` the only module of the crate with `unsafe`. Headers hold pointers only during a call: each call
//! fills them from borrowed slices, and nothing reads them afterwards.

use std::io;
use std::mem::{self, MaybeUninit};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libc::{c_int, c_void, cmsghdr, in_pktinfo, in6_pktinfo, iovec, mmsghdr, sockaddr_in, sockaddr_in6};

use crate::backend::{MESSAGE_BYTES, Message, Peer, canonical};

/// Sets a socket option whose value is an integer.
pub fn set_option(socket: BorrowedFd<'_>, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    // SAFETY: the option's value is read from a live integer of the given length.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            mem::size_of::<c_int>() as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Opens a TAP device by name, created if it does not exist. Reads and writes are packets with their Ethernet header,
/// and are non-blocking.
pub fn open_tap(name: &str) -> io::Result<OwnedFd> {
    use rustix::fs::{Mode, OFlags, open};
    let invalid = || io::Error::new(io::ErrorKind::InvalidInput, "an interface's name has 1 to 15 characters");
    if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.contains('\0') {
        return Err(invalid());
    }
    let device = open("/dev/net/tun", OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())?;
    // SAFETY: all zeros are a valid request.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the command reads and writes one live request.
    let done = unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF, &raw mut request) };
    if done == 0 { Ok(device) } else { Err(io::Error::last_os_error()) }
}

/// Opens a packet socket for frames of one EtherType on an interface, which takes the capability `CAP_NET_RAW`. Reads
/// and writes are frames with their Ethernet header, and are non-blocking. Also returns the interface's hardware
/// address.
pub fn open_packet_socket(interface: &str, ether_type: u16) -> io::Result<(OwnedFd, [u8; 6])> {
    let invalid = |why| io::Error::new(io::ErrorKind::InvalidInput, why);
    let name = std::ffi::CString::new(interface).map_err(|_| invalid("an interface's name has no zero byte"))?;
    // SAFETY: a NUL-terminated name.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // Without a protocol it receives nothing before it is bound, such as frames of other interfaces.
    // SAFETY: no pointers.
    let socket = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a new descriptor, which nothing else owns.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: an address consists of integers; all zero is a valid value.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = ether_type.to_be();
    address.sll_ifindex = index as c_int;
    let mut length = mem::size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: a live address of the given length.
    if unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the address of the given length is written.
    if unsafe { libc::getsockname(socket.as_raw_fd(), (&raw mut address).cast(), &raw mut length) } != 0 {
        return Err(io::Error::last_os_error());
    }
    match address.sll_addr {
        [mac @ .., _, _] if address.sll_halen == 6 => Ok((socket, mac)),
        _ => Err(invalid("the interface is not an Ethernet interface")),
    }
}

/// Room for the control messages of one message: the segment size and the local address, with their headers.
const CONTROL_BYTES: usize = 96;

#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

#[derive(Clone, Copy)]
#[repr(C)]
union Name {
    v4: sockaddr_in,
    v6: sockaddr_in6,
}

impl Name {
    const EMPTY: Self = Self {
        v6: sockaddr_in6 {
            sin6_family: libc::AF_UNSPEC as libc::sa_family_t,
            sin6_port: 0,
            sin6_flowinfo: 0,
            sin6_addr: libc::in6_addr { s6_addr: [0; 16] },
            sin6_scope_id: 0,
        },
    };

    /// Converts an address for a socket of the given family. Returns it with its length.
    fn from_address(address: SocketAddr, ipv6_socket: bool) -> (Self, usize) {
        match address {
            SocketAddr::V4(v4) if !ipv6_socket => {
                let name = sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: v4.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                    sin_zero: [0; 8],
                };
                (Self { v4: name }, mem::size_of::<sockaddr_in>())
            }
            _ => {
                let v6 = match address {
                    SocketAddr::V4(v4) => SocketAddrV6::new(v4.ip().to_ipv6_mapped(), v4.port(), 0, 0),
                    SocketAddr::V6(v6) => v6,
                };
                let name = sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: v6.port().to_be(),
                    sin6_flowinfo: v6.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                    sin6_scope_id: v6.scope_id(),
                };
                (Self { v6: name }, mem::size_of::<sockaddr_in6>())
            }
        }
    }

    fn address(&self) -> Option<SocketAddr> {
        // SAFETY: both variants begin with the family, and every bit pattern is a value of both.
        unsafe {
            match c_int::from(self.v4.sin_family) {
                libc::AF_INET => {
                    let ip = self.v4.sin_addr.s_addr.to_ne_bytes().into();
                    Some(SocketAddr::V4(SocketAddrV4::new(ip, u16::from_be(self.v4.sin_port))))
                }
                libc::AF_INET6 => {
                    let ip = Ipv6Addr::from(self.v6.sin6_addr.s6_addr);
                    let port = u16::from_be(self.v6.sin6_port);
                    Some(canonical(SocketAddrV6::new(ip, port, 0, self.v6.sin6_scope_id).into()))
                }
                _ => None,
            }
        }
    }
}

const EMPTY_IOVEC: iovec = iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };

fn empty_header() -> mmsghdr {
    // SAFETY: a message header consists of integers and pointers; all zero is a valid value, which points to nothing.
    unsafe { MaybeUninit::<mmsghdr>::zeroed().assume_init() }
}

/// Reusable buffers of `recvmmsg`.
pub struct Receiver {
    headers: Vec<mmsghdr>,
    slices: Vec<iovec>,
    names: Vec<Name>,
    controls: Vec<Control>,
}

// SAFETY: each call sets the pointers in the headers anew, and nothing reads them outside of it.
unsafe impl Send for Receiver {}

impl Receiver {
    pub fn new(limit: usize) -> Self {
        Self {
            headers: (0..limit).map(|_| empty_header()).collect(),
            slices: vec![EMPTY_IOVEC; limit],
            names: vec![Name::EMPTY; limit],
            controls: vec![Control([0; CONTROL_BYTES]); limit],
        }
    }

    /// Receives what has arrived, without waiting, into consecutive pieces of `memory` of [`MESSAGE_BYTES`], and
    /// appends the messages to `messages`. Fails with `WouldBlock` if there is none.
    pub fn receive(
        &mut self,
        socket: BorrowedFd<'_>,
        memory: &mut [u8],
        limit: usize,
        messages: &mut Vec<Message>,
    ) -> io::Result<()> {
        let limit = limit.min(self.headers.len()).min(memory.len() / MESSAGE_BYTES);
        for (index, piece) in memory.chunks_exact_mut(MESSAGE_BYTES).take(limit).enumerate() {
            self.slices[index] = iovec { iov_base: piece.as_mut_ptr().cast(), iov_len: piece.len() };
            let header = &mut self.headers[index].msg_hdr;
            header.msg_iov = &raw mut self.slices[index];
            header.msg_iovlen = 1;
            header.msg_name = (&raw mut self.names[index]).cast();
            header.msg_namelen = mem::size_of::<Name>() as libc::socklen_t;
            header.msg_control = (&raw mut self.controls[index]).cast();
            header.msg_controllen = CONTROL_BYTES as _;
            header.msg_flags = 0;
        }
        // SAFETY: the first `limit` headers point to buffers, names and control areas that outlive the call and have
        // the given lengths.
        let count = unsafe {
            let headers = self.headers.as_mut_ptr();
            libc::recvmmsg(socket.as_raw_fd(), headers, limit as u32, libc::MSG_DONTWAIT as _, std::ptr::null_mut())
        };
        if count < 0 {
            return Err(io::Error::last_os_error());
        }
        for (index, header) in self.headers.iter().take(count as usize).enumerate() {
            let Some(address) = self.names[index].address() else { continue };
            let length = (header.msg_len as usize).min(MESSAGE_BYTES);
            let mut peer = Peer::new(address);
            let mut segment = length;
            let given = (header.msg_hdr.msg_controllen).min(CONTROL_BYTES);
            for (level, kind, data) in control_messages(&self.controls[index].0[..given]) {
                match (level, kind) {
                    (libc::SOL_UDP, libc::UDP_GRO) => {
                        if let Some(size) = read_int(data).filter(|&size| size > 0) {
                            segment = size as usize;
                        }
                    }
                    (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                        // Interface, local address, destination address: 4 bytes each.
                        peer.local = data.get(4..8).and_then(|ip| Some(IpAddr::from(<[u8; 4]>::try_from(ip).ok()?)));
                    }
                    (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                        let ip = data.get(..16).and_then(|ip| Some(Ipv6Addr::from(<[u8; 16]>::try_from(ip).ok()?)));
                        peer.local = ip.map(|ip| ip.to_canonical());
                    }
                    _ => {}
                }
            }
            messages.push(Message { peer, offset: index * MESSAGE_BYTES, length, segment });
        }
        Ok(())
    }
}

/// The control messages in an area: level, type and data of each.
fn control_messages(mut area: &[u8]) -> impl Iterator<Item = (c_int, c_int, &[u8])> {
    const HEADER: usize = mem::size_of::<cmsghdr>();
    std::iter::from_fn(move || {
        let length = usize::from_ne_bytes(area.get(..8)?.try_into().ok()?);
        let level = read_int(area.get(8..)?)?;
        let kind = read_int(area.get(12..)?)?;
        let data = area.get(HEADER..length)?;
        area = area.get(length.next_multiple_of(8)..).unwrap_or_default();
        Some((level, kind, data))
    })
}

fn read_int(bytes: &[u8]) -> Option<c_int> {
    Some(c_int::from_ne_bytes(bytes.get(..4)?.try_into().ok()?))
}

/// A message to send: slices that together hold datagrams of `segment` bytes, the last of which may be shorter.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    pub peer: Peer,
    pub segment: usize,
    /// The range of its slices in the list.
    pub first_slice: usize,
    pub slices: usize,
    pub datagrams: usize,
}

/// Reusable buffers of `sendmmsg`.
pub struct Sender {
    headers: Vec<mmsghdr>,
    slices: Vec<iovec>,
    names: Vec<Name>,
    controls: Vec<Control>,
    ipv6_socket: bool,
}

// SAFETY: each call sets the pointers in the headers anew, and nothing reads them outside of it.
unsafe impl Send for Sender {}

impl Sender {
    pub fn new(limit: usize, ipv6_socket: bool) -> Self {
        Self {
            headers: (0..limit).map(|_| empty_header()).collect(),
            slices: Vec::new(),
            names: vec![Name::EMPTY; limit],
            controls: vec![Control([0; CONTROL_BYTES]); limit],
            ipv6_socket,
        }
    }

    /// Sends as many messages as the socket accepts without waiting, and returns their number. Fails if the first
    /// cannot be sent.
    pub fn send(&mut self, socket: BorrowedFd<'_>, messages: &[Outgoing], slices: &[&[u8]]) -> io::Result<usize> {
        self.slices.clear();
        // The kernel only reads what is sent: the pointer is mutable because receiving uses the same header.
        let iovecs = slices.iter().map(|s| iovec { iov_base: s.as_ptr().cast_mut().cast(), iov_len: s.len() });
        self.slices.extend(iovecs);
        let count = messages.len().min(self.headers.len());
        for (index, message) in messages[..count].iter().enumerate() {
            let (name, name_length) = Name::from_address(message.peer.address, self.ipv6_socket);
            self.names[index] = name;
            let control_length = self.write_control(index, message);
            let range = &mut self.slices[message.first_slice..message.first_slice + message.slices];
            let header = &mut self.headers[index].msg_hdr;
            header.msg_iov = range.as_mut_ptr();
            header.msg_iovlen = range.len() as _;
            header.msg_name = (&raw mut self.names[index]).cast::<c_void>();
            header.msg_namelen = name_length as libc::socklen_t;
            header.msg_control = (&raw mut self.controls[index]).cast();
            header.msg_controllen = control_length as _;
        }
        // SAFETY: the first `count` headers point to slices, names and control areas that outlive the call and have the
        // given lengths.
        let sent = unsafe {
            let headers = self.headers.as_mut_ptr();
            libc::sendmmsg(socket.as_raw_fd(), headers, count as u32, (libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) as _)
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
    }

    fn write_control(&mut self, index: usize, message: &Outgoing) -> usize {
        let mut writer = ControlWriter { area: &mut self.controls[index].0, length: 0 };
        if message.datagrams > 1 {
            writer.push(libc::SOL_UDP, libc::UDP_SEGMENT, &(message.segment as u16).to_ne_bytes());
        }
        match message.peer.local {
            None => {}
            Some(IpAddr::V4(v4)) if !self.ipv6_socket => {
                // Interface (any), local address, destination (ignored).
                let mut info = [0; mem::size_of::<in_pktinfo>()];
                info[4..8].copy_from_slice(&v4.octets());
                writer.push(libc::IPPROTO_IP, libc::IP_PKTINFO, &info);
            }
            Some(local) => {
                let ip = match local {
                    IpAddr::V4(v4) => v4.to_ipv6_mapped(),
                    IpAddr::V6(v6) => v6,
                };
                let mut info = [0; mem::size_of::<in6_pktinfo>()];
                info[..16].copy_from_slice(&ip.octets());
                writer.push(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &info);
            }
        }
        writer.length
    }
}

/// Writes control messages one after the other.
struct ControlWriter<'a> {
    area: &'a mut [u8; CONTROL_BYTES],
    length: usize,
}

impl ControlWriter<'_> {
    fn push(&mut self, level: c_int, kind: c_int, data: &[u8]) {
        const HEADER: usize = mem::size_of::<cmsghdr>();
        let rest = &mut self.area[self.length..];
        rest[..8].copy_from_slice(&(HEADER + data.len()).to_ne_bytes());
        rest[8..12].copy_from_slice(&level.to_ne_bytes());
        rest[12..16].copy_from_slice(&kind.to_ne_bytes());
        rest[HEADER..HEADER + data.len()].copy_from_slice(data);
        self.length += HEADER + data.len().next_multiple_of(8);
    }
}

/// Pins the calling thread to one processor.
pub fn pin_thread(processor: usize) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    if processor >= rustix::thread::CpuSet::MAX_CPU {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    set.set(processor);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}
