//! Network namespaces on one bridge, between which packets can be dropped.

use std::fs::File;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// The network that they are in.
pub const PREFIX: &str = "10.82.0.0/24";

/// The namespaces, which go when this is dropped. The bridge is in one of its own, with an address that reaches all
/// members.
pub struct Bridge {
    name: String,
    members: u8,
}

impl Bridge {
    /// Creates the namespaces of `members` members, or returns the reason for a failure.
    pub fn new(members: u8) -> Result<Self, String> {
        let bridge = Self { name: format!("turnpike-{}", std::process::id()), members };
        let hub = &bridge.name;
        ip(&format!("netns add {hub}"))?;
        ip(&format!("-n {hub} link add hub type bridge"))?;
        ip(&format!("-n {hub} address add {}/24 dev hub", bridge.address(members)))?;
        ip(&format!("-n {hub} link set hub up"))?;
        for number in 0..members {
            let (member, port) = (bridge.member(number), format!("port{number}"));
            ip(&format!("netns add {member}"))?;
            ip(&format!("link add {port} netns {hub} type veth peer name wire netns {member}"))?;
            ip(&format!("-n {hub} link set {port} master hub up"))?;
            ip(&format!("-n {member} address add {}/24 dev wire", bridge.address(number)))?;
            ip(&format!("-n {member} link set lo up"))?;
            ip(&format!("-n {member} link set wire up"))?;
        }
        bridge.nft(&["-f", "-"], &rules("accept"))?;
        Ok(bridge)
    }

    /// A member's address.
    pub fn address(&self, number: u8) -> IpAddr {
        Ipv4Addr::new(10, 82, 0, 1 + number).into()
    }

    fn member(&self, number: u8) -> String {
        format!("{}-{number}", self.name)
    }

    /// A command of a program that runs as a member.
    pub fn command(&self, number: u8, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.member(number), program]);
        command
    }

    /// Does something where all members can be reached, whatever is dropped between them.
    pub fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let enter = || {
            let namespace = File::open(format!("/run/netns/{}", self.name)).unwrap();
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            work()
        };
        thread::scope(|scope| scope.spawn(enter).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Drops packets between members that match one of these expressions of nft; members are `port0` and so on. Earlier
    /// rules are removed.
    pub fn drop_packets(&self, matches: &[&str]) {
        let lines = Vec::from_iter(matches.iter().map(|packet| format!("{packet} counter drop")));
        self.nft(&["-f", "-"], &rules(&lines.join("\n"))).unwrap();
    }

    /// Lets all packets through again, and gives how many were dropped.
    pub fn heal(&self) -> u64 {
        let listed = self.nft(&["list", "ruleset"], "").unwrap();
        self.drop_packets(&[]);
        let words = Vec::from_iter(listed.split_whitespace());
        let counts = words.windows(2).filter(|pair| pair[0] == "packets").map(|pair| pair[1].parse::<u64>().unwrap());
        counts.sum()
    }

    fn nft(&self, arguments: &[&str], input: &str) -> Result<String, String> {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, "nft"]).args(arguments);
        run(&mut command, input)
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        let members = (0..self.members).map(|number| self.member(number));
        members.chain([self.name.clone()]).for_each(|name| drop(ip(&format!("netns delete {name}"))));
    }
}

/// All rules at once, in place of those that there are.
fn rules(lines: &str) -> String {
    format!("flush ruleset\ntable bridge t {{ chain c {{ type filter hook forward priority 0;\n{lines}\n}}\n}}\n")
}

fn ip(arguments: &str) -> Result<String, String> {
    run(Command::new("ip").args(arguments.split(' ')), "")
}

fn run(command: &mut Command, input: &str) -> Result<String, String> {
    let name = format!("{command:?}");
    let failed = |error: &dyn std::fmt::Display| format!("{name}: {error}");
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| failed(&error))?;
    child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(input.as_bytes())).map_err(|error| failed(&error))?;
    let output = child.wait_with_output().map_err(|error| failed(&error))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(failed(&String::from_utf8_lossy(&output.stderr))),
    }
}
