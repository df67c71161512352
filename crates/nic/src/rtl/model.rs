//! The NIC of `rtl/nic` as a library, built by `make rtl` and loaded at run time through the C interface of
//! `rtl/nic/model/turnpike_nic.h`.
//!
//! The only module of the backend with `unsafe`.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// The value of every NIC's first register: "TPNI".
const ID: u32 = 0x5450_4e49;

/// Maximum length of a packet taken out at once: an IPv4 packet with an Ethernet header.
const LONGEST: usize = 65_535 + 14;

/// Metadata of a packet on one of the host's streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Meta {
    /// One of [`from_host`](crate::csr::from_host) or [`to_host`](crate::csr::to_host).
    pub kind: u8,
    /// The network port.
    pub port: u8,
    /// Id of a proof request that missed the cache.
    pub id: u16,
}

/// Why there is no simulated NIC.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The library cannot be loaded.
    #[error("cannot load the simulated NIC {}: {reason}; build it with `make rtl`", path.display())]
    Library {
        /// Its file.
        path: PathBuf,
        /// The loader's error.
        reason: String,
    },
    /// The library is a different one, or has another version.
    #[error("{} is not a simulated NIC of this version; build it with `make rtl`", path.display())]
    Foreign {
        /// Its file.
        path: PathBuf,
    },
}

/// An assertion of the NIC failed; it is unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an assertion of the simulated NIC failed")]
pub struct Broken;

type New = unsafe extern "C" fn(u64) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);
type Step = unsafe extern "C" fn(*mut c_void, u64) -> c_int;
type Cycle = unsafe extern "C" fn(*const c_void) -> u64;
type Push = unsafe extern "C" fn(*mut c_void, c_uint, *const u8, usize) -> c_int;
type Pop = unsafe extern "C" fn(*mut c_void, c_uint, *mut u8, usize) -> usize;
type HostPush = unsafe extern "C" fn(*mut c_void, Meta, *const u8, usize) -> c_int;
type HostPop = unsafe extern "C" fn(*mut c_void, *mut Meta, *mut u8, usize) -> usize;
type HostWaiting = unsafe extern "C" fn(*const c_void) -> usize;
type Read = unsafe extern "C" fn(*mut c_void, u32) -> u32;
type Write = unsafe extern "C" fn(*mut c_void, u32, u32);

/// A running NIC. Its clock advances only in [`step`](Self::step), and by one cycle per register access.
pub struct Model {
    nic: NonNull<c_void>,
    functions: Functions,
    packet: Box<[u8]>,
}

/// Pointers into a library that is never unloaded.
struct Functions {
    free: Free,
    step: Step,
    cycle: Cycle,
    push: Push,
    pop: Pop,
    host_push: HostPush,
    host_pop: HostPop,
    host_waiting: HostWaiting,
    read: Read,
    write: Write,
}

// SAFETY: the library has no thread-local state; a NIC has one owner, and every call on it takes `&mut self` or only
// reads.
unsafe impl Send for Model {}

impl Model {
    /// Loads the library and creates a NIC, in reset. `seed` determines the initial contents of its memories.
    pub fn load(path: &Path, seed: u64) -> Result<Self, LoadError> {
        let failed = |reason: String| LoadError::Library { path: path.to_owned(), reason };
        let library = open(path).map_err(&failed)?;
        macro_rules! function {
            ($name:literal as $kind:ty) => {
                // SAFETY: turnpike_nic.h declares the function of this name with the type given here, and the library
                // stays loaded.
                unsafe { std::mem::transmute::<*mut c_void, $kind>(symbol(library, $name).map_err(&failed)?) }
            };
        }
        let new = function!(c"turnpike_nic_new" as New);
        let functions = Functions {
            free: function!(c"turnpike_nic_free" as Free),
            step: function!(c"turnpike_nic_step" as Step),
            cycle: function!(c"turnpike_nic_cycle" as Cycle),
            push: function!(c"turnpike_nic_push" as Push),
            pop: function!(c"turnpike_nic_pop" as Pop),
            host_push: function!(c"turnpike_nic_host_push" as HostPush),
            host_pop: function!(c"turnpike_nic_host_pop" as HostPop),
            host_waiting: function!(c"turnpike_nic_host_waiting" as HostWaiting),
            read: function!(c"turnpike_nic_csr_read" as Read),
            write: function!(c"turnpike_nic_csr_write" as Write),
        };
        // SAFETY: any seed is valid; the result is a new NIC, or null.
        let nic = NonNull::new(unsafe { new(seed) });
        let foreign = LoadError::Foreign { path: path.to_owned() };
        let mut model = Self { nic: nic.ok_or(foreign)?, functions, packet: vec![0; LONGEST].into_boxed_slice() };
        let is_known = model.read(crate::csr::ID) == ID && model.read(crate::csr::VERSION) == 4;
        if is_known { Ok(model) } else { Err(LoadError::Foreign { path: path.to_owned() }) }
    }

    /// Advances the clock by `cycles`.
    pub fn step(&mut self, cycles: u64) -> Result<(), Broken> {
        // SAFETY: a live NIC.
        let status = unsafe { (self.functions.step)(self.nic.as_ptr(), cycles) };
        if status == 0 { Ok(()) } else { Err(Broken) }
    }

    /// Cycles since its creation.
    pub fn cycle(&self) -> u64 {
        // SAFETY: a live NIC.
        unsafe { (self.functions.cycle)(self.nic.as_ptr()) }
    }

    /// Passes a packet to a port, as if from the network: it enters in the following cycles.
    pub fn push(&mut self, port: u8, packet: &[u8]) {
        // SAFETY: a live NIC; the bytes are copied before the call returns.
        let status = unsafe { (self.functions.push)(self.nic.as_ptr(), port.into(), packet.as_ptr(), packet.len()) };
        assert_eq!(status, 0, "the NIC has the port, and the packet a byte");
    }

    /// Returns the next packet that left a port.
    pub fn pop(&mut self, port: u8) -> Option<&[u8]> {
        let room = self.packet.len();
        // SAFETY: a live NIC, which writes at most `room` bytes.
        let length = unsafe { (self.functions.pop)(self.nic.as_ptr(), port.into(), self.packet.as_mut_ptr(), room) };
        assert!(length <= room, "no packet is longer than those that were pushed");
        (length > 0).then(|| &self.packet[..length])
    }

    /// Passes a packet to the NIC as its host.
    pub fn host_push(&mut self, meta: Meta, packet: &[u8]) {
        // SAFETY: a live NIC; the bytes are copied before the call returns.
        let status = unsafe { (self.functions.host_push)(self.nic.as_ptr(), meta, packet.as_ptr(), packet.len()) };
        assert_eq!(status, 0, "a packet has a byte");
    }

    /// Returns the next packet to the host.
    pub fn host_pop(&mut self) -> Option<(Meta, &[u8])> {
        let (mut meta, room) = (Meta::default(), self.packet.len());
        // SAFETY: a live NIC, which writes at most `room` bytes.
        let length =
            unsafe { (self.functions.host_pop)(self.nic.as_ptr(), &raw mut meta, self.packet.as_mut_ptr(), room) };
        assert!(length <= room, "no packet is longer than those that were pushed");
        (length > 0).then(|| (meta, &self.packet[..length]))
    }

    /// Packets from the host that have not entered yet.
    pub fn host_waiting(&self) -> usize {
        // SAFETY: a live NIC.
        unsafe { (self.functions.host_waiting)(self.nic.as_ptr()) }
    }

    /// Reads a register.
    pub fn read(&mut self, register: u32) -> u32 {
        // SAFETY: a live NIC; a missing register reads as zero.
        unsafe { (self.functions.read)(self.nic.as_ptr(), register) }
    }

    /// Reads a counter, which consists of two registers.
    pub fn counter(&mut self, register: u32) -> u64 {
        let lower = self.read(register);
        u64::from(self.read(register + 4)) << 32 | u64::from(lower)
    }

    /// Writes a register.
    pub fn write(&mut self, register: u32, value: u32) {
        // SAFETY: a live NIC; writing a missing register has no effect.
        unsafe { (self.functions.write)(self.nic.as_ptr(), register, value) }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: nothing uses the NIC any more.
        unsafe { (self.functions.free)(self.nic.as_ptr()) }
    }
}

fn open(path: &Path) -> Result<NonNull<c_void>, String> {
    // With a slash in the path the loader searches nowhere else.
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: a NUL-terminated path. Loading runs the constructors of what `make rtl` builds.
    NonNull::new(unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) }).ok_or_else(reason)
}

/// The address of a function in a loaded library.
fn symbol(library: NonNull<c_void>, name: &CStr) -> Result<*mut c_void, String> {
    // SAFETY: a loaded library, and a NUL-terminated name.
    let found = unsafe { libc::dlsym(library.as_ptr(), name.as_ptr()) };
    if found.is_null() { Err(reason()) } else { Ok(found) }
}

/// The loader's last error.
fn reason() -> String {
    // SAFETY: no arguments; the text stays valid until this thread's next call of the loader.
    let text: *const c_char = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the loader reports no reason".to_owned();
    }
    // SAFETY: a NUL-terminated text of the loader.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_nic_is_refused() {
        let error = Model::load(Path::new("does/not/exist.so"), 1).err().unwrap().to_string();
        assert!(error.contains("does/not/exist.so") && error.contains("make rtl"), "{error}");
        // A library that exists on every machine.
        let error = Model::load(Path::new("/lib/x86_64-linux-gnu/libc.so.6"), 1).err().unwrap().to_string();
        assert!(error.contains("make rtl"), "{error}");
    }
}
