//! Two network namespaces with a cable between them, and the generator at the client's end.

use std::{
    fs::File,
    net::{Ipv4Addr, SocketAddrV4},
    os::fd::AsFd,
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use xdp::{
    Interface, Link,
    generator::{Generator, Requests, Tally, attach_pass, attach_reflect},
};

pub const SERVER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, 1), 7400);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

/// The name of both ends, each in its own namespace.
const CABLE: &str = "cable";

/// How long no reply has come when the others are given up.
const PATIENCE: Duration = Duration::from_millis(300);

/// How often one looks whether they have come.
const NAP: Duration = Duration::from_micros(200);

pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A server's and a client's namespace, which go when this is dropped.
pub struct Cable {
    server: String,
    client: String,
}

fn ip(arguments: &str) -> Result<(), Failure> {
    let output = Command::new("ip").args(arguments.split(' ')).stdin(Stdio::null()).output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("ip {arguments}: {}; run this as root", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

impl Cable {
    pub fn new() -> Result<Self, Failure> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Relaxed);
        let name = |side| format!("bench-xdp-{}-{number}-{side}", std::process::id());
        let cable = Self { server: name("server"), client: name("client") };
        let Self { server, client } = &cable;
        ip(&format!("netns add {server}"))?;
        ip(&format!("netns add {client}"))?;
        // A queue for each of two processors.
        let queues = "numrxqueues 2 numtxqueues 2";
        ip(&format!("link add {CABLE} netns {server} {queues} type veth peer name {CABLE} netns {client} {queues}"))?;
        for (side, address) in [(server, SERVER.ip()), (client, &CLIENT)] {
            ip(&format!("-n {side} addr add {address}/24 dev {CABLE}"))?;
            ip(&format!("-n {side} link set lo up"))?;
            ip(&format!("-n {side} link set {CABLE} up"))?;
        }
        Ok(cable)
    }

    /// Runs something at the server's end, on a thread of its own.
    pub fn at_server<T: Send>(&self, work: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
        within(&self.server, work)
    }

    /// Runs something at the client's end.
    pub fn at_client<T: Send>(&self, work: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
        within(&self.client, work)
    }

    /// Has the server's end pass everything to the host.
    pub fn pass(&self) -> Result<Link, Failure> {
        self.at_server(|| Ok(attach_pass(&Interface::named(CABLE)?)?))
    }

    /// Has the server's end send everything back.
    pub fn reflect(&self) -> Result<Link, Failure> {
        self.at_server(|| Ok(attach_reflect(&Interface::named(CABLE)?)?))
    }

    /// The generator, at the client's end.
    pub fn generator(&self) -> Result<Generator, Failure> {
        let mac = self.at_server(|| Ok(Interface::named(CABLE)?.mac))?;
        self.at_client(|| Ok(Generator::load(&Interface::named(CABLE)?, CLIENT, SERVER, mac)?))
    }

    /// Sends so many requests in one go, and waits for the replies.
    pub fn burst(&self, generator: &Generator, requests: &Requests, count: u32) -> Result<Tally, Failure> {
        self.at_client(|| {
            generator.begin(requests);
            generator.send(count)?;
            let (mut replies, mut since) = (0, Instant::now());
            while replies < u64::from(count) && since.elapsed() < PATIENCE {
                thread::sleep(NAP);
                let now = generator.tally().replies;
                if now != replies {
                    (replies, since) = (now, Instant::now());
                }
            }
            Ok(generator.tally())
        })
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for name in [&self.server, &self.client] {
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

fn within<T: Send>(name: &str, work: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
    thread::scope(|scope| {
        let work = scope.spawn(|| {
            let namespace = File::open(format!("/run/netns/{name}"))?;
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
            work()
        });
        work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The middle one.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
