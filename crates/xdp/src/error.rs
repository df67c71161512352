//! Errors of the NIC tier.

use std::io;

/// Why the NIC tier cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The build had no compiler for it.
    #[error("this program was built without the XDP program: install clang 19 (scripts/setup does) and build it again")]
    NotBuilt,
    /// The object file has an unsupported form.
    #[error("the XDP program's object file is damaged ({0}): build it again with clang 19")]
    Object(&'static str),
    /// The kernel refused an operation.
    #[error("the kernel refuses {what}: {source}{hint}")]
    Kernel {
        /// The operation.
        what: &'static str,
        /// The kernel's error.
        source: io::Error,
        /// How to fix it.
        hint: &'static str,
    },
    /// The verifier refused the program.
    #[error("the kernel's verifier refuses the XDP program: {source}; run `turnpike doctor`. End of its log: {log}")]
    Verifier {
        /// The error of the system call.
        source: io::Error,
        /// The end of the verifier's log.
        log: String,
    },
    /// The kernel lacks a function that the program calls.
    #[error("the kernel lacks the function `{0}` for programs: the in-NIC ledger needs Linux 6.15")]
    Function(String),
    /// The interface does not exist, or lacks something.
    #[error("interface `{name}`: {what}")]
    Interface {
        /// Its name.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// No interface has the address that the node listens on.
    #[error("no interface has the address {0}: listen on an address of this machine, or name the interface")]
    NoInterface(std::net::IpAddr),
    /// The arena is used up.
    #[error("the arena is full: {used} of {size} bytes are used, and {wanted} more do not fit")]
    ArenaFull {
        /// Its size.
        size: usize,
        /// Bytes in use.
        used: usize,
        /// Bytes requested.
        wanted: usize,
    },
    /// The arena is private to this process.
    #[error("the arena was made without the kernel, so no program can be loaded over it")]
    NoKernel,
    /// Too many accounts have a similar hash.
    #[error(
        "the in-NIC ledger has no place for account {0}: start it again, since a new secret places accounts elsewhere"
    )]
    NoPlace(u32),
    /// Too many operations are too young to be forgotten.
    #[error(
        "the in-NIC ledger cannot remember all operations that clients may still repeat: raise --retries, or start it \
         again when they are older than the retention"
    )]
    Retries,
    /// The retention exceeds the range of the clock.
    #[error("the in-NIC ledger remembers operations for at most a day, not for {0:?}")]
    Retention(std::time::Duration),
    /// The memory exceeds the maximum size of an arena.
    #[error("an arena holds at most 4 GiB, not {0} bytes: lower the accounts, the remembered operations or the cache")]
    TooLarge(usize),
}

impl Error {
    /// Whether another process has the requested resource.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Kernel { source, .. } if source.raw_os_error() == Some(libc::EBUSY))
    }
}

/// Adds the operation, and how to fix it, to an error of the kernel.
pub(crate) fn refused(what: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| {
        let hint = match source.raw_os_error() {
            Some(libc::EPERM) | Some(libc::EACCES) => {
                "; run as root, or give the program the capabilities CAP_BPF and CAP_NET_ADMIN"
            }
            Some(libc::EINVAL) | Some(libc::E2BIG) => "; the kernel may be too old: Linux 6.10 is needed",
            Some(libc::EBUSY) => "; another program is attached: detach it first (`ip link set dev NAME xdp off`)",
            _ => "",
        };
        Error::Kernel { what, source, hint }
    }
}
