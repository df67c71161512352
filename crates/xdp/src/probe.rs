//! Checks what this machine supports: kernel, privileges, network drivers. It tries everything and infers nothing from
//! version numbers.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rustix::{
    net::{AddressFamily, SocketType, socket},
    param::page_size,
};

use crate::{Arena, Error, InNicConfig, InNicLedger, Interface, Link, Mode, Program, Socket, Transfer};

/// The receive buffer that the socket backend requests.
const RECEIVE_BUFFER: u64 = 4 << 20;

/// The finding about where the program runs when attached to an interface.
pub const ATTACH: &str = "attach";
/// The finding about how an interface's frames reach user space.
pub const FRAMES: &str = "frames";

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The thing checked.
    pub what: String,
    /// Whether it is as it should be.
    pub good: bool,
    /// Its state.
    pub how: String,
    /// How to improve it; empty if there is nothing to do.
    pub advice: String,
}

impl Finding {
    fn good(what: &str, how: impl Into<String>) -> Self {
        Self { what: what.to_owned(), good: true, how: how.into(), advice: String::new() }
    }

    fn bad(what: &str, how: impl Into<String>, advice: &str) -> Self {
        Self { what: what.to_owned(), good: false, how: how.into(), advice: advice.to_owned() }
    }

    /// The text of an error also says how to fix it.
    fn from_result<T>(what: &str, result: Result<T, Error>, how: impl FnOnce(&T) -> String) -> (Self, Option<T>) {
        match result {
            Ok(value) => (Self::good(what, how(&value)), Some(value)),
            Err(error) => (Self::bad(what, error.to_string(), ""), None),
        }
    }
}

/// Checks the kernel and the privileges of this process.
pub fn machine() -> Vec<Finding> {
    let mut findings = Vec::new();
    let release = read("/proc/sys/kernel/osrelease");
    let architecture = std::env::consts::ARCH;
    findings.push(match architecture {
        "x86_64" => Finding::good("kernel", format!("Linux {release} on {architecture}")),
        _ => Finding::bad(
            "kernel",
            format!("Linux {release} on {architecture}"),
            "XDP needs x86-64; sockets serve on other machines",
        ),
    });
    let (finding, arena) = Finding::from_result("bpf arena", Arena::with_room_for(&[1]), |_| {
        "memory can be shared with XDP programs".into()
    });
    findings.push(finding);
    findings.push(match &arena {
        Some(arena) => {
            Finding::from_result("xdp program", Program::load(arena, true), |_| "the verifier takes it".into()).0
        }
        None if Program::is_built() => Finding::bad("xdp program", "not tried, as there is no arena", ""),
        None => Finding::bad("xdp program", Error::NotBuilt.to_string(), ""),
    });
    let in_nic = InNicLedger::load(
        &InNicConfig { accounts: 1, retries: 1, ring: page_size(), ..InNicConfig::default() },
        [0; 2],
    );
    findings.push(
        Finding::from_result("in-nic ledger", in_nic, |_| "locks and ring are there, the verifier takes it".into()).0,
    );
    findings.push(match read("/proc/sys/net/core/bpf_jit_enable").as_str() {
        "0" => Finding::bad("bpf compiler", "off", "turn it on: sysctl net.core.bpf_jit_enable=1"),
        // The file may be missing, if the compiler is always on.
        _ => Finding::good("bpf compiler", "on"),
    });
    findings.push(match socket(AddressFamily::from_raw(libc::AF_XDP as u16), SocketType::RAW, None) {
        Ok(_) => Finding::good("af_xdp", "sockets can be made"),
        Err(error) => Finding::bad("af_xdp", error.to_string(), "run as root, on a kernel with CONFIG_XDP_SOCKETS"),
    });
    let most: u64 = read("/proc/sys/net/core/rmem_max").parse().unwrap_or(0);
    findings.push(match most >= RECEIVE_BUFFER {
        true => Finding::good("socket buffers", format!("up to {most} bytes")),
        false => Finding::bad(
            "socket buffers",
            format!("up to {most} bytes, so bursts may be lost"),
            "allow more: sysctl net.core.rmem_max=4194304 net.core.wmem_max=4194304",
        ),
    });
    let pages = read("/sys/kernel/mm/transparent_hugepage/enabled");
    findings.push(match pages.contains("[never]") || pages.is_empty() {
        false => Finding::good("huge pages", pages),
        true => Finding::bad(
            "huge pages",
            "never, so that tables cost more cache misses",
            "allow them: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        ),
    });
    findings
}

/// Checks an interface. With `attach` it briefly attaches the program, which answers nothing, to see what the driver
/// supports; a driver may reset its link for that.
pub fn interface(interface: &Interface, attach: bool) -> Vec<Finding> {
    let folder = PathBuf::from("/sys/class/net").join(&interface.name);
    let how = format!(
        "driver {}, {} receive queues, MTU {}",
        if interface.driver.is_empty() { "none" } else { &interface.driver },
        interface.receive_queues,
        read(folder.join("mtu"))
    );
    let mut findings = vec![Finding::good(&interface.name, how)];
    if attach {
        let attached = Arena::with_room_for(&[1]).and_then(|arena| {
            let program = Program::load(&arena, true)?;
            Link::attach(&program, interface)
        });
        findings.push(match attached.map(|link| link.mode()) {
            Ok(Mode::Native) => Finding::good(ATTACH, "native: XDP answers in the driver"),
            Ok(Mode::Generic) => Finding::bad(
                ATTACH,
                "generic: correct, but not faster than sockets",
                "use a driver with XDP (ice, mlx5, ena, virtio_net, veth), an MTU below 3,500, and queues to spare",
            ),
            Err(error) => Finding::bad(ATTACH, error.to_string(), ""),
        });
        findings.push(match Socket::open(interface, 0, None).map(|socket| socket.transfer()) {
            Ok(Transfer::ZeroCopy) => {
                Finding::good(FRAMES, "zero copy: the device writes them where the node reads them")
            }
            Ok(Transfer::Copy) => Finding::bad(
                FRAMES,
                "copy mode: past the network stack, but each frame is copied",
                "use a driver with AF_XDP zero copy (ice, i40e, ixgbe, igb, igc, mlx5; virtio_net loses what XDP \
                 answers in it)",
            ),
            Err(error) => Finding::bad(FRAMES, error.to_string(), ""),
        });
    }
    findings
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}
