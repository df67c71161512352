//! `turnpike kv` as a program: options, signals, what outlives it.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use skip::Ability;

/// How long a reply may take before a test fails rather than hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A store, with its socket and its memory in a folder.
struct Kv(Child);

impl Kv {
    /// Starts one, and waits until it serves.
    fn start(folder: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
        command
            .args(["kv", "-t", "2", "-m", "64", "-s"])
            .arg(folder.join("socket"))
            .arg("-e")
            .arg(folder.join("items"));
        Self::spawn(&mut command)
    }

    fn spawn(command: &mut Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("serving"), "{line}{}", rest(&mut child));
        Self(child)
    }

    fn ask(&self, folder: &Path, requests: &str) -> String {
        let mut stream = UnixStream::connect(folder.join("socket")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(requests.as_bytes()).unwrap();
        stream.write_all(b"quit\r\n").unwrap();
        let mut replies = String::new();
        stream.read_to_string(&mut replies).unwrap();
        replies
    }

    /// Ends it by a signal, and returns its log.
    fn end(mut self, signal: Signal) -> String {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
        let status = self.0.wait().unwrap();
        let log = rest(&mut self.0);
        assert_eq!(status.success(), signal != Signal::KILL, "{status}: {log}");
        log
    }
}

impl Drop for Kv {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

fn rest(child: &mut Child) -> String {
    let mut text = String::new();
    child.stderr.as_mut().unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn items_outlive_a_stop_and_not_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let kv = Kv::start(folder);
    assert_eq!(kv.ask(folder, "set a 7 0 5\r\nhello\r\nset b 0 1000 1\r\n1\r\n"), "STORED\r\nSTORED\r\n");
    let mut before = kv.ask(folder, "gets a b\r\n");
    assert!(kv.end(Signal::TERM).contains("the file is new"));
    for signal in [Signal::USR1, Signal::INT] {
        let kv = Kv::start(folder);
        assert_eq!(kv.ask(folder, "gets a b\r\n"), before);
        kv.ask(folder, "incr b 1\r\n");
        before = kv.ask(folder, "gets a b\r\n");
        assert!(kv.end(signal).contains("restored the key-value store"));
    }
    let kv = Kv::start(folder);
    assert_eq!(kv.ask(folder, "gets a b\r\n"), before);
    assert!(!folder.join("items.meta").exists());
    kv.end(Signal::KILL);
    let kv = Kv::start(folder);
    assert_eq!(kv.ask(folder, "gets a b\r\n"), "END\r\n");
    let log = kv.end(Signal::TERM);
    assert!(log.contains("the previous program was killed"), "{log}");
}

#[test]
fn the_simulated_nic_answers_from_the_same_store() {
    let rtl = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/rtl/libturnpike_nic_kv.so"));
    if !rtl.exists() {
        skip::lacking(Ability::RtlLibrary, format_args!("there is no {} (`make rtl` builds it)", rtl.display()));
        return;
    }
    let [address] = order::free_addresses(1).unwrap().try_into().unwrap();
    let [host, port] = [address.ip().to_string(), address.port().to_string()];
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
    command.args(["kv", "--io", "rtl", "-t", "1", "-l", &host, "-p", &port, "-U", &port, "--rtl"]).arg(rtl);
    let kv = Kv::spawn(&mut command);
    let mut tcp = BufReader::new(TcpStream::connect(address).unwrap());
    tcp.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
    let mut lines = |request: &str, last: &str| {
        tcp.get_mut().write_all(request.as_bytes()).unwrap();
        let mut all = String::new();
        while !all.ends_with(last) {
            assert_ne!(tcp.read_line(&mut all).unwrap(), 0);
        }
        all
    };
    lines("set key 0 0 5\r\nvalue\r\n", "STORED\r\n");
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.connect(address).unwrap();
    udp.set_read_timeout(Some(PATIENCE)).unwrap();
    let get = [b"\0\x01\0\0\0\x01\0\0\x80\0\0\x03".as_slice(), &[0; 7], b"\x03", &[0; 12], b"key"].concat();
    udp.send(&get).unwrap();
    let mut reply = [0; 128];
    let length = udp.recv(&mut reply).unwrap();
    assert_eq!(&reply[..10], b"\0\x01\0\0\0\x01\0\0\x81\0");
    assert!(reply[..length].ends_with(b"value"), "{:?}", &reply[..length]);
    let stats = lines("stats\r\n", "END\r\n");
    for line in ["STAT nic_hit 1\r\n", "STAT nic_passed 0\r\n", "STAT get_hits 1\r\n"] {
        assert!(stats.contains(line), "{line} is missing in {stats}");
    }
    kv.end(Signal::TERM);
}

/// What the program says to options that it refuses.
fn refusal(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
    let ran = command.arg("kv").args(arguments).output().unwrap();
    assert!(!ran.status.success());
    String::from_utf8(ran.stderr).unwrap()
}

#[test]
fn options_that_do_not_fit_are_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let chain = format!("ssl_chain_cert={}", path("chain.pem"));
    fs::write(folder.path().join("letter"), "to somebody").unwrap();
    let socket = path("socket");
    for (arguments, expected) in [
        (&["-Z"][..], "ssl_chain_cert is missing"),
        (&["-o", "ssl_chain_cert"], "-o ssl_chain_cert takes a value"),
        (&["-o", &chain], "add -Z"),
        (&["-Z", "-o", &chain, "-s", &socket], "chain.pem"),
        (&["-Z", "-o", &chain, "-o", "ssl_min_version=tlsv1.1"], "older versions are not safe"),
        (&["-Z", "-o", &chain, "-o", "ssl_verify_mode=9"], "expected 0"),
        (&["-p", "1", "-l", "notls:127.0.0.1"], "is for servers with TLS"),
        (&["-e", &path("letter"), "-s", &socket], "choose another file"),
        (&["-o", "idle_timeout=x"], "expected a number of seconds"),
        (&["-m", "64", "-I", "256m", "-s", &socket], "kv.item_size"),
        (&["-c", "0", "-s", &socket], "-c"),
        (&["--io", "rtl", "-s", &socket], "kv.udp"),
        (&["--io", "rtl", "-U", "11299", "-l", "0.0.0.0"], "one IPv4 address"),
        (&["--io", "rtl", "-U", "11299", "-p", "0", "-M"], "without -M"),
        (&["--io", "rtl", "-U", "11299", "-p", "0", "-I", "1k"], "at least 2048"),
        (&["--io", "rtl", "-U", "11299", "-p", "0", "--udp-trusted", "::1/128"], "an IPv4 prefix"),
        (&["--io", "rtl", "-U", "11299", "-p", "11299", "--rtl", &path("nic.so")], "nic.so"),
    ] {
        let text = refusal(arguments);
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
}
