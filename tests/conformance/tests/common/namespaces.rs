//! Two network namespaces with a cable between them: a node's and a client's.
//!
//! The cable is a `veth`, or, with `TURNPIKE_CABLE=FIRST,SECOND`, two network interfaces of this machine that are connected to each other,
//! one test at a time then (`--test-threads=1`); `tests/machine/run` does so in an emulated machine.
#![allow(dead_code, clippy::unwrap_used)]

use std::fs::File;
use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};

/// The node's address on the cable.
pub const NODE: &str = "10.77.0.1";
/// The client's address on the cable.
pub const CLIENT: &str = "10.77.0.2";
/// Another address of the client's, outside of the cable's prefix.
pub const STRANGER: &str = "10.78.0.2";
/// The node's and the client's address in IPv6.
pub const NODE_V6: &str = "fd77::1";
pub const CLIENT_V6: &str = "fd77::2";

/// The name of both ends, each in its own namespace.
pub const CABLE: &str = "cable";

static COUNT: AtomicU32 = AtomicU32::new(0);

/// The namespaces, which go when this is dropped.
pub struct Namespaces {
    pub node: String,
    pub client: String,
    /// Interfaces that go back to where they were.
    lent: Option<[String; 2]>,
}

/// The interfaces to be used in place of a `veth`.
fn lent() -> Option<[String; 2]> {
    let names = std::env::var("TURNPIKE_CABLE").ok()?;
    let (node, client) = names.split_once(',').expect("TURNPIKE_CABLE=FIRST,SECOND");
    Some([node.to_owned(), client.to_owned()])
}

/// Runs `ip` with these arguments.
pub fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip").args(arguments.split(' ')).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("ip: {error}"))?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(format!("ip {arguments}: {error}")) }
}

impl Namespaces {
    /// Makes them, or tells why it cannot.
    pub fn new() -> Result<Self, String> {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = |side: &str| format!("xdp-{}-{number}-{side}", std::process::id());
        let [node, client] = [name("node"), name("client")];
        ip(&format!("netns add {node}"))?;
        let namespaces = Self { node: node.clone(), client: client.clone(), lent: lent() };
        ip(&format!("netns add {client}"))?;
        match &namespaces.lent {
            Some(interfaces) => {
                for (interface, side) in interfaces.iter().zip([&node, &client]) {
                    ip(&format!("link set {interface} netns {side} name {CABLE}"))?;
                }
            }
            None => {
                // Two queues, of which flows take one or the other.
                let queues = "numrxqueues 2 numtxqueues 2";
                ip(&format!(
                    "link add {CABLE} netns {node} {queues} type veth peer name {CABLE} netns {client} {queues}"
                ))?;
            }
        }
        for (side, addresses, other) in [
            (&node, [NODE, NODE_V6].as_slice(), "10.78.0.0/24"),
            (&client, [CLIENT, CLIENT_V6, STRANGER].as_slice(), "10.79.0.0/24"),
        ] {
            for address in addresses {
                let (length, flag) = if address.contains(':') { (64, " nodad") } else { (24, "") };
                ip(&format!("-n {side} addr add {address}/{length} dev {CABLE}{flag}"))?;
            }
            ip(&format!("-n {side} link set lo up"))?;
            ip(&format!("-n {side} link set {CABLE} up"))?;
            ip(&format!("-n {side} route add {other} dev {CABLE}"))?;
        }
        Ok(namespaces)
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        let own = std::process::id();
        for (at, name) in [&self.node, &self.client].into_iter().enumerate() {
            if let Some(interfaces) = &self.lent {
                let _ = ip(&format!("-n {name} link set {CABLE} netns {own} name {}", interfaces[at]));
            }
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

/// Moves this thread, and those that it starts from now on, into a namespace, whose interfaces `/sys` then tells of, as with `ip netns exec`.
pub fn enter(name: &str) {
    let namespace = File::open(format!("/run/netns/{name}")).unwrap();
    move_into_link_name_space(std::os::fd::AsFd::as_fd(&namespace), Some(LinkNameSpaceType::Network)).unwrap();
    // SAFETY: it is only what is mounted that this thread no longer shares with others; file descriptors it does.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.unwrap();
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC).unwrap();
    mount("sysfs", "/sys", "sysfs", MountFlags::empty(), None).unwrap();
}

/// Runs something in a namespace, on a thread of its own.
pub fn within<T: Send>(name: &str, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let work = scope.spawn(|| {
            enter(name);
            work()
        });
        work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

pub fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}
