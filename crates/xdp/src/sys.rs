//! System calls without a safe wrapper: bpf(2), and information on interfaces. Besides this module `mapping`, `ring`
//! and `umem` have `unsafe`: they are memory shared with the kernel.

use std::{
    ffi::CStr,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
};

use rustix::net::{AddressFamily, SocketType, socket};

/// Commands of bpf(2) (include/uapi/linux/bpf.h).
const BTF_LOAD: libc::c_int = 18;
const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP_ELEM: libc::c_int = 1;
const MAP_UPDATE_ELEM: libc::c_int = 2;
const PROG_LOAD: libc::c_int = 5;
const PROG_TEST_RUN: libc::c_int = 10;
const LINK_CREATE: libc::c_int = 28;

/// Kinds of maps.
pub const MAP_ARRAY: u32 = 2;
pub const MAP_PERCPU_ARRAY: u32 = 6;
pub const MAP_XSKMAP: u32 = 17;
pub const MAP_RINGBUF: u32 = 27;
pub const MAP_ARENA: u32 = 33;

/// The map can be mapped into memory; arenas must have this flag.
pub const F_MMAPABLE: u32 = 1 << 10;

/// The program supports packets in several pieces.
pub const F_XDP_HAS_FRAGS: u32 = 1 << 5;

const PROG_TYPE_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;

/// How often a load interrupted by a signal is retried: the verifier takes a tenth of a second and gives up on any
/// signal.
const LOADS: usize = 10;

/// Maximum number of bytes reported from the end of the verifier's log.
const LOG_TAIL: usize = 600;
const LOG_BYTES: usize = 1 << 20;

/// Calls bpf(2) with an attribute of the command.
fn bpf<T>(command: libc::c_int, attribute: &mut T) -> io::Result<libc::c_int> {
    // SAFETY: the attribute is a live structure of the given length, with the layout that the command requires;
    // pointers in it are to memory that the caller of this module's functions has borrowed for the call.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attribute), size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as libc::c_int) }
}

fn descriptor(result: io::Result<libc::c_int>) -> io::Result<OwnedFd> {
    // SAFETY: the commands used return a new descriptor, owned by nobody else.
    result.map(|number| unsafe { OwnedFd::from_raw_fd(number) })
}

fn name_of(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    let name = &name.as_bytes()[..name.len().min(15)];
    bytes[..name.len()].copy_from_slice(name);
    bytes
}

/// The types of a map's keys and values: the descriptor of a set of types ([`load_types`]), and their numbers in it.
#[derive(Clone, Copy)]
pub struct Types<'a> {
    /// The set.
    pub set: BorrowedFd<'a>,
    /// Number of the key type.
    pub key: u32,
    /// Number of the value type.
    pub value: u32,
}

/// Creates a map.
pub fn create_map(kind: u32, name: &str, sizes: [u32; 2], entries: u32, flags: u32) -> io::Result<OwnedFd> {
    create_typed_map(kind, name, sizes, entries, flags, None)
}

/// Creates a map whose keys and values have types.
pub fn create_typed_map(
    kind: u32,
    name: &str,
    sizes: [u32; 2],
    entries: u32,
    flags: u32,
    types: Option<Types<'_>>,
) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attribute {
        kind: u32,
        sizes: [u32; 2],
        entries: u32,
        flags: u32,
        unused: [u32; 2],
        name: [u8; 16],
        interface: u32,
        types: [u32; 3],
    }
    let types = types.map_or([0; 3], |types| [types.set.as_raw_fd() as u32, types.key, types.value]);
    let name = name_of(name);
    descriptor(bpf(
        MAP_CREATE,
        &mut Attribute { kind, sizes, entries, flags, unused: [0; 2], name, interface: 0, types },
    ))
}

/// Loads a set of types (BTF) into the kernel.
pub fn load_types(types: &[u8]) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Attribute {
        types: u64,
        log: u64,
        size: u32,
        log_size: u32,
        log_level: u32,
        unused: u32,
    }
    let (size, types) = (types.len() as u32, types.as_ptr() as u64);
    descriptor(bpf(BTF_LOAD, &mut Attribute { types, log: 0, size, log_size: 0, log_level: 0, unused: 0 }))
}

#[repr(C)]
struct Element {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// Reads an entry of a map with 4-byte keys. `value` must have room for it, for all processors in a per-processor map.
pub fn lookup(map: BorrowedFd<'_>, key: u32, value: &mut [u64]) -> io::Result<()> {
    let (map, value) = (map.as_raw_fd() as u32, value.as_mut_ptr() as u64);
    let mut element = Element { map, padding: 0, key: &raw const key as u64, value, flags: 0 };
    bpf(MAP_LOOKUP_ELEM, &mut element).map(|_| ())
}

/// Writes an entry of a map with 4-byte keys and values of at most 8 bytes, which are the first bytes of `value`.
pub fn update(map: BorrowedFd<'_>, key: u32, value: u64) -> io::Result<()> {
    let value = value.to_le_bytes();
    let (map, value) = (map.as_raw_fd() as u32, value.as_ptr() as u64);
    let mut element = Element { map, padding: 0, key: &raw const key as u64, value, flags: 0 };
    bpf(MAP_UPDATE_ELEM, &mut element).map(|_| ())
}

/// Loads an XDP program. If the verifier refuses it, the error includes the end of its log.
pub fn load(name: &str, instructions: &[u8], license: &CStr, flags: u32) -> Result<OwnedFd, (io::Error, String)> {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Attribute {
        kind: u32,
        count: u32,
        instructions: u64,
        license: u64,
        log_level: u32,
        log_size: u32,
        log: u64,
        kernel_version: u32,
        flags: u32,
        name: [u8; 16],
        interface: u32,
        attach_type: u32,
    }
    let attribute = Attribute {
        kind: PROG_TYPE_XDP,
        count: (instructions.len() / 8) as u32,
        instructions: instructions.as_ptr() as u64,
        license: license.as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        kernel_version: 0,
        flags,
        name: name_of(name),
        interface: 0,
        attach_type: ATTACH_XDP,
    };
    let mut loaded = bpf(PROG_LOAD, &mut { attribute });
    for _ in 1..LOADS {
        if !matches!(&loaded, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
            break;
        }
        loaded = bpf(PROG_LOAD, &mut { attribute });
    }
    descriptor(loaded).map_err(|error| {
        // Once more, to get the reason.
        let mut log = vec![0_u8; LOG_BYTES];
        let mut attribute =
            Attribute { log_level: 1, log_size: LOG_BYTES as u32, log: log.as_mut_ptr() as u64, ..attribute };
        let _ = bpf(PROG_LOAD, &mut attribute);
        let length = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
        let tail = &log[length.saturating_sub(LOG_TAIL)..length];
        (error, String::from_utf8_lossy(tail).trim().to_owned())
    })
}

/// Attaches an XDP program to an interface until the descriptor is closed.
pub fn link(program: BorrowedFd<'_>, interface: u32, flags: u32) -> io::Result<OwnedFd> {
    let mut attribute = [program.as_raw_fd() as u32, interface, ATTACH_XDP, flags];
    descriptor(bpf(LINK_CREATE, &mut attribute))
}

/// The attribute of `PROG_TEST_RUN`.
#[derive(Default)]
#[repr(C)]
struct TestRun {
    program: u32,
    verdict: u32,
    size_in: u32,
    size_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    context_size_in: u32,
    context_size_out: u32,
    context_in: u64,
    context_out: u64,
    flags: u32,
    processor: u32,
    batch: u32,
    unused: u32,
}

impl TestRun {
    fn new(program: BorrowedFd<'_>, packet: &[u8], repeat: u32) -> Self {
        let (program, size_in, data_in) = (program.as_raw_fd() as u32, packet.len() as u32, packet.as_ptr() as u64);
        Self { program, size_in, data_in, repeat, ..Self::default() }
    }
}

/// Runs a program on a packet, `repeat` times; `output` receives the resulting packet. Returns the program's verdict,
/// the length of the packet, and the nanoseconds per run.
pub fn test_run(
    program: BorrowedFd<'_>,
    packet: &[u8],
    output: &mut [u8],
    repeat: u32,
) -> io::Result<(u32, usize, u32)> {
    let run = TestRun::new(program, packet, repeat);
    let mut run = TestRun { size_out: output.len() as u32, data_out: output.as_mut_ptr() as u64, ..run };
    bpf(PROG_TEST_RUN, &mut run)?;
    Ok((run.verdict, run.size_out as usize, run.duration))
}

/// Runs an XDP program `repeat` times, each time on a frame that is then sent according to its verdict: on `interface`
/// if it returns the packet.
pub fn test_run_live(
    program: BorrowedFd<'_>,
    packet: &[u8],
    interface: u32,
    repeat: u32,
    batch: u32,
) -> io::Result<()> {
    const F_TEST_XDP_LIVE_FRAMES: u32 = 1 << 1;
    /// `struct xdp_md`.
    #[repr(C)]
    struct Context {
        data: u32,
        data_end: u32,
        data_meta: u32,
        ingress: u32,
        queue: u32,
        egress: u32,
    }
    let size = packet.len() as u32;
    let context = Context { data: 0, data_end: size, data_meta: 0, ingress: interface, queue: 0, egress: 0 };
    let mut run = TestRun {
        context_size_in: size_of::<Context>() as u32,
        context_in: &raw const context as u64,
        flags: F_TEST_XDP_LIVE_FRAMES,
        batch,
        ..TestRun::new(program, packet, repeat)
    };
    bpf(PROG_TEST_RUN, &mut run).map(|_| ())
}

/// An address of an interface.
pub enum InterfaceAddress {
    /// The link address, to which Ethernet frames are sent.
    Hardware([u8; 6]),
    /// A network address.
    Network(IpAddr),
}

/// All addresses of all interfaces, with the interface's name.
pub fn addresses() -> io::Result<Vec<(String, InterfaceAddress)>> {
    let mut list = std::ptr::null_mut();
    // SAFETY: the call writes a pointer to a list, which is freed below.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut at = list;
    while !at.is_null() {
        // SAFETY: an entry of the list from getifaddrs, which lives until it is freed; its name is a C string, and its
        // address is null or of the type that its family indicates.
        unsafe {
            let entry = &*at;
            at = entry.ifa_next;
            if entry.ifa_addr.is_null() {
                continue;
            }
            let address = match i32::from((*entry.ifa_addr).sa_family) {
                libc::AF_INET => {
                    let address = &*entry.ifa_addr.cast::<libc::sockaddr_in>();
                    InterfaceAddress::Network(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)).into())
                }
                libc::AF_INET6 => {
                    let address = &*entry.ifa_addr.cast::<libc::sockaddr_in6>();
                    InterfaceAddress::Network(Ipv6Addr::from(address.sin6_addr.s6_addr).into())
                }
                libc::AF_PACKET => {
                    let address = &*entry.ifa_addr.cast::<libc::sockaddr_ll>();
                    let [a, b, c, d, e, f, ..] = address.sll_addr;
                    InterfaceAddress::Hardware([a, b, c, d, e, f])
                }
                _ => continue,
            };
            found.push((CStr::from_ptr(entry.ifa_name).to_string_lossy().into_owned(), address));
        }
    }
    // SAFETY: the list from getifaddrs, freed once; nothing refers to it afterwards.
    unsafe { libc::freeifaddrs(list) };
    Ok(found)
}

/// The index of an interface.
pub fn interface_index(name: &CStr) -> io::Result<u32> {
    // SAFETY: the call reads a C string.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// Number of receive and send queues of an interface (`ETHTOOL_GCHANNELS`, include/uapi/linux/ethtool.h).
pub fn channels(name: &CStr) -> io::Result<[u32; 2]> {
    /// The command; the maximum number of queues for receiving, sending, other uses and both; then the present numbers.
    #[repr(C)]
    struct Channels {
        command: u32,
        most: [u32; 4],
        receive: u32,
        transmit: u32,
        other: u32,
        combined: u32,
    }
    const GET_CHANNELS: u32 = 0x3c;
    let mut channels = Channels { command: GET_CHANNELS, most: [0; 4], receive: 0, transmit: 0, other: 0, combined: 0 };
    // SAFETY: the structure has the command's layout.
    unsafe { ethtool(name, &mut channels) }?;
    Ok([channels.receive + channels.combined, channels.transmit + channels.combined])
}

/// The name of an interface's driver (`ETHTOOL_GDRVINFO`, include/uapi/linux/ethtool.h).
pub fn driver(name: &CStr) -> io::Result<String> {
    /// The command; the driver's name; versions of driver and firmware, bus and so on.
    #[repr(C)]
    struct Driver {
        command: u32,
        name: [u8; 32],
        rest: [u8; 160],
    }
    const GET_DRIVER: u32 = 3;
    let mut driver = Driver { command: GET_DRIVER, name: [0; 32], rest: [0; 160] };
    // SAFETY: the structure has the command's layout.
    unsafe { ethtool(name, &mut driver) }?;
    let name = CStr::from_bytes_until_nul(&driver.name).unwrap_or_default();
    Ok(name.to_string_lossy().into_owned())
}

/// Runs an ethtool command on an interface.
///
/// # Safety
///
/// The structure must begin with the command, and be as long as the kernel expects for it.
unsafe fn ethtool<T>(name: &CStr, command: &mut T) -> io::Result<()> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: a request consists of integers and pointers; all zero is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let name = name.to_bytes();
    if name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name) {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut *command).cast();
    // SAFETY: the request points to a live structure with the command's layout, which the kernel fills.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sets a socket option whose value is an integer.
pub fn set_option(socket: BorrowedFd<'_>, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the option's value is read from a live integer of the given length.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
