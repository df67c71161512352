//! Faults of the key-value store's protocols and of what it keeps.

use std::{
    fs,
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    os::unix::{fs::FileTypeExt, net::UnixStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

/// How long a reply may take before a test fails rather than hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// `turnpike kv` on a socket in a folder.
struct Kv {
    child: Child,
    socket: PathBuf,
}

impl Kv {
    /// Starts a store and waits until it serves. The error has the program's output.
    fn start(folder: &Path, arguments: &[&str]) -> Result<Self, String> {
        let socket = folder.join("socket");
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
        command.args(["kv", "-s"]).arg(&socket).args(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let mut kv = Self { child, socket };
        if line.starts_with("serving") { Ok(kv) } else { Err(line + &kv.log()) }
    }

    /// The log, by the end of the program.
    fn log(&mut self) -> String {
        let mut text = String::new();
        self.child.stderr.as_mut().unwrap().read_to_string(&mut text).unwrap();
        text
    }

    fn connect(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// All that the store replies to some requests, on a connection of their own.
    fn ask(&self, requests: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(requests.as_bytes()).unwrap();
        stream.write_all(b"quit\r\n").unwrap();
        String::from_utf8_lossy(&rest(&mut stream)).into_owned()
    }

    /// Stops it and returns its log.
    fn stop(mut self) -> String {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
        self.log()
    }
}

impl Drop for Kv {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}

/// All replies until the store closes the connection. It resets one whose last requests it did not read.
fn rest(stream: &mut UnixStream) -> Vec<u8> {
    let mut replies = Vec::new();
    match stream.read_to_end(&mut replies) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error}"),
        _ => replies,
    }
}

#[test]
fn a_store_killed_while_it_starts_starts_again() {
    let folder = tempfile::tempdir().unwrap();
    let items = folder.path().join("items");
    let memory_file = ["-m", "96", "-e", items.to_str().unwrap()];
    for delay in [2, 5, 10, 15, 20, 30, 40, 60] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
        command.args(["kv", "-s"]).arg(folder.path().join("socket")).args(memory_file);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        let _ = (child.kill(), child.wait());
    }
    let kv = Kv::start(folder.path(), &memory_file).unwrap();
    assert_eq!(kv.ask("set a 0 0 1\r\n1\r\n"), "STORED\r\n");
    kv.stop();
    // A loss of power may leave the size without the first bytes.
    for (name, bytes) in [("zeros", vec![0; 300_000]), ("start", b"TPkvmem\0".to_vec())] {
        let file = folder.path().join(name);
        fs::write(&file, bytes).unwrap();
        Kv::start(folder.path(), &["-e", file.to_str().unwrap()]).unwrap().stop();
    }
    let mut other = vec![0; 300_000];
    other[299_999] = 1;
    fs::write(folder.path().join("other"), &other).unwrap();
    let refused = Kv::start(folder.path(), &["-e", folder.path().join("other").to_str().unwrap()]);
    assert!(refused.is_err_and(|log| log.contains("choose another file")));
    assert_eq!(fs::read(folder.path().join("other")).unwrap(), other);
}

#[test]
fn only_sockets_are_removed_from_the_path_of_a_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    fs::write(&path, "a letter").unwrap();
    let refused = Kv::start(folder.path(), &[]);
    assert!(refused.is_err_and(|log| log.contains("not a socket") && log.contains("choose another path")));
    assert_eq!(fs::read_to_string(&path).unwrap(), "a letter");
    fs::remove_file(&path).unwrap();

    // A socket that a killed store left is replaced.
    let mut killed = Kv::start(folder.path(), &[]).unwrap();
    let _ = (killed.child.kill(), killed.child.wait());
    drop(killed);
    assert!(fs::metadata(&path).unwrap().file_type().is_socket());
    let kv = Kv::start(folder.path(), &[]).unwrap();

    // A file that took the socket's place outlives the store.
    fs::remove_file(&path).unwrap();
    fs::write(&path, "a letter").unwrap();
    kv.stop();
    assert_eq!(fs::read_to_string(&path).unwrap(), "a letter");
}

/// Requests with the replies that memcached 1.6.27 sends, each conversation on an empty store.
fn talks(conversations: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    let kv = Kv::start(folder.path(), &[]).unwrap();
    for (requests, replies) in conversations {
        kv.ask("flush_all\r\n");
        assert_eq!(kv.ask(requests), *replies, "{requests}");
    }
    kv.stop();
}

#[test]
fn meta_flags_of_today() {
    talks(&[
        // E: the client chooses the item's number.
        ("ms a 1 E77\r\nx\r\nmg a c\r\n", "HD\r\nHD c77\r\n"),
        (
            "ms a 1 E77\r\nx\r\nms a 1 C77 E78 c\r\ny\r\nms a 1 C77\r\nz\r\nmg a c v\r\n",
            "HD\r\nHD c78\r\nEX\r\nVA 1 c78\r\ny\r\n",
        ),
        ("ma n N0 J1 E88\r\nmg n c\r\nma n E99 c\r\n", "HD\r\nHD c88\r\nHD c99\r\n"),
        ("set n 0 0 1\r\n9\r\nma n E5 c v\r\nma n D1000 E6 c v\r\n", "STORED\r\nVA 2 c5\r\n10\r\nVA 4 c6\r\n1010\r\n"),
        ("set d 0 0 1\r\n1\r\nmd d I E99\r\nmg d c s v\r\n", "STORED\r\nHD\r\nVA 1 c99 s1 X W\r\n1\r\n"),
        ("mg zz N30 E55 c v\r\nmg zz c\r\n", "VA 0 c55 W\r\n\r\nHD c55 Z\r\n"),
        ("ms a 1 Ex\r\nx\r\n", "CLIENT_ERROR bad token in command line format\r\n"),
        // N: an append makes the item that is missing.
        ("ms k 2 MA N100\r\nhi\r\nms k 1 MA N100\r\n!\r\nmg k v t\r\n", "HD\r\nHD\r\nVA 3 t100\r\nhi!\r\n"),
        ("ms k 2 MP N0 s\r\nhi\r\nms k 2 MP s\r\noh\r\nmg k v t\r\n", "HD s2\r\nHD s4\r\nVA 4 t-1\r\nohhi\r\n"),
        ("ms k 2 MA\r\nhi\r\nms k 2 MR N0\r\nhi\r\n", "NS\r\nNS\r\n"),
        // s: the size of the stored item.
        ("ms s 3 s\r\nabc\r\nms s 0 s\r\n\r\n", "HD s3\r\nHD s0\r\n"),
        // x: the value goes, and the item stays with its number.
        ("ms a 1 F7 E5\r\n1\r\nmd a x\r\nmg a v f c s\r\n", "HD\r\nHD\r\nVA 0 f0 c5 s0\r\n\r\n"),
        ("ms a 1 F7\r\n1\r\nmd a x I F3 E9 T0 q\r\nmg a v f c t\r\n", "HD\r\nVA 0 f3 c9 t-1 X W\r\n\r\n"),
        ("md a x\r\nms a 1 E5\r\n1\r\nmd a x C4\r\nmg a v\r\n", "NF\r\nHD\r\nEX\r\nVA 1\r\n1\r\n"),
        // q of ma: only failures are replied to.
        ("ma n1 N0 J5 q\r\nma n2 N0 J5 q v\r\nma n2 q v\r\nmn\r\nmg n2 v\r\n", "MN\r\nVA 1\r\n6\r\n"),
        ("set n3 0 0 1\r\n1\r\nma n3 N0 q T100\r\nmn\r\nmg n3 t\r\n", "STORED\r\nMN\r\nHD t100\r\n"),
        (
            "ma none q\r\nset a 0 0 1\r\na\r\nma a q\r\n",
            "NF\r\nSTORED\r\nCLIENT_ERROR cannot increment or decrement non-numeric value\r\n",
        ),
    ]);
}

#[test]
fn a_number_that_a_client_chose_is_flushed_as_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let kv = Kv::start(folder.path(), &[]).unwrap();
    // Within one second, and with numbers far below and above those of other items.
    for number in [1, u64::MAX] {
        let requests = format!("ms a 1 E{number}\r\nx\r\nmg a c\r\nflush_all\r\nmg a c\r\n");
        let requests = requests.clone() + &requests + "set a 0 0 1\r\n1\r\nget a\r\n";
        let each = format!("HD\r\nHD c{number}\r\nOK\r\nEN\r\n");
        assert_eq!(kv.ask(&requests), each.clone() + &each + "STORED\r\nVALUE a 0 1\r\n1\r\nEND\r\n");
    }
    kv.stop();
}

#[test]
fn numbers_that_do_not_fit_are_refused() {
    let delta = |delta: &str| format!("set m 0 0 2\r\n10\r\nincr m {delta}\r\ndecr m {delta}\r\n");
    let value = |value: &str| format!("set m 0 0 {}\r\n{value}\r\nincr m 1\r\ndecr m 1\r\n", value.len());
    let invalid = "CLIENT_ERROR invalid numeric delta argument\r\n";
    let not_numeric = "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
    let bad_line = "CLIENT_ERROR bad command line format\r\n";
    let mut conversations = Vec::new();
    for number in ["-9223372036854775809", "-18446744073709551615", "-1", "-0", "18446744073709551616"] {
        conversations.push((delta(number), ["STORED\r\n", invalid, invalid].concat()));
        conversations.push((value(number), ["STORED\r\n", not_numeric, not_numeric].concat()));
    }
    for flags in ["4294967296", "4294967297", "18446744073709551616", "-1"] {
        conversations.push((format!("ms k 2 F{flags}\r\nhi\r\nmg k f\r\n"), [bad_line, "EN\r\n"].concat()));
        conversations.push((format!("set k {flags} 0 2\r\nhi\r\nmn\r\n"), [bad_line, "ERROR\r\nMN\r\n"].concat()));
    }
    conversations.push(("ms k 2 F4294967295\r\nhi\r\nmg k f\r\n".into(), "HD\r\nHD f4294967295\r\n".into()));
    // A length of more than 32 bits is not taken for its lower ones: the value would be executed.
    conversations.push(("set k 0 0 4294967298\r\nhi\r\nmn\r\n".into(), [bad_line, "ERROR\r\nMN\r\n"].concat()));
    talks(&Vec::from_iter(conversations.iter().map(|(requests, replies)| (&**requests, &**replies))));
}

/// A binary request with the parts given.
fn binary(opcode: u8, key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut request = vec![0x80, opcode];
    request.extend_from_slice(&(key.len() as u16).to_be_bytes());
    request.extend_from_slice(&[0; 4]);
    request.extend_from_slice(&((key.len() + value.len()) as u32).to_be_bytes());
    request.resize(24, 0);
    [&request, key, value].concat()
}

/// Statuses and values of the replies to binary requests, by the end of the connection.
fn converse(kv: &Kv, requests: &[Vec<u8>]) -> Vec<(u16, String)> {
    let mut stream = kv.connect();
    // The store may close before it has taken all.
    let _ = stream.write_all(&requests.concat());
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let replies = rest(&mut stream);
    let (mut parts, mut rest) = (Vec::new(), &replies[..]);
    while let Some(header) = rest.get(..24) {
        let len = u32::from_be_bytes(header[8..12].try_into().unwrap()) as usize;
        let (status, value) = (u16::from_be_bytes([header[6], header[7]]), &rest[24..24 + len]);
        parts.push((status, String::from_utf8_lossy(value).into_owned()));
        rest = &rest[24 + len..];
    }
    parts
}

const VERSION: u8 = 0x0b;
const NOOP: u8 = 0x0a;
const GET: u8 = 0x00;
const SASL_LIST: u8 = 0x20;
const SASL_AUTH: u8 = 0x21;
const SASL_STEP: u8 = 0x22;

#[test]
fn a_store_with_users_wants_a_login_first() {
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users");
    fs::write(&users, "alice:secret\nbob:other\n").unwrap();
    let kv = Kv::start(folder.path(), &["-Y", users.to_str().unwrap()]).unwrap();
    let refused = "CLIENT_ERROR unauthenticated\r\n";
    assert_eq!(kv.ask("get a\r\n"), refused);
    let long = format!("set any 0 0 100000\r\n{}", "x".repeat(100_000));
    assert!(kv.ask(&long).starts_with(refused));
    // All of these on one connection, which is let in at last.
    let wrong = "CLIENT_ERROR authentication failure\r\n";
    let talk = "set any 0 0 12\r\nalice other \r\nset any 0 0 5\r\nalice\r\nset any 0 0 2\r\nxxxx\r\n\
                version\r\nset any 0 0 12\r\nalice secret\r\nset a 0 0 1\r\n1\r\nget a\r\n";
    let format = "CLIENT_ERROR bad authentication token format\r\n";
    let termination = "CLIENT_ERROR bad command line termination\r\n";
    let rest = "STORED\r\nSTORED\r\nVALUE a 0 1\r\n1\r\nEND\r\n";
    assert_eq!(kv.ask(talk), [wrong, format, termination, refused, refused, rest].concat());

    let (login, value) = (|name: &[u8]| binary(SASL_AUTH, b"PLAIN", name), |text: &str| text.to_owned());
    let failure = (0x20, value("Auth failure."));
    assert_eq!(converse(&kv, &[binary(GET, b"a", b""), binary(NOOP, b"", b"")]), std::slice::from_ref(&failure));
    let tries = [
        binary(VERSION, b"", b""),
        binary(SASL_LIST, b"", b""),
        login(b"\0alice\0other"),
        login(b"bob\0alice\0secret"),
        binary(SASL_STEP, b"PLAIN", b"\0alice\0secret"),
        binary(SASL_AUTH, b"CRAM-MD5", b"\0alice\0secret"),
        login(b"\0bob\0other"),
        binary(GET, b"a", b""),
        login(b"\0bob\0wrong"),
        binary(GET, b"a", b""),
        binary(NOOP, b"", b""),
    ];
    let (version, list, found) = ((0, value("1.6.27")), (0, value("PLAIN")), (0, value("\0\0\0\x001")));
    let authenticated = (0, value("Authenticated"));
    let failures = [failure.clone(), failure.clone(), failure.clone(), failure.clone()];
    let expected = [&[version, list][..], &failures, &[authenticated, found, failure.clone(), failure]].concat();
    assert_eq!(converse(&kv, &tries), expected);
    let stats = kv.ask("set any 0 0 12\r\nalice secret\r\nstats\r\nstats settings\r\n");
    for line in ["STAT auth_cmds 10", "STAT auth_errors 7", "STAT auth_enabled_sasl yes", "/users"] {
        assert!(stats.contains(line), "{line}: {stats}");
    }
    kv.stop();
}

#[test]
fn sighup_reloads_the_users_and_keeps_them_if_the_file_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users");
    fs::write(&users, "alice:secret\n").unwrap();
    let kv = Kv::start(folder.path(), &["-Y", users.to_str().unwrap()]).unwrap();
    let reload = |text: &str| {
        fs::write(&users, text).unwrap();
        kill_process(Pid::from_child(&kv.child), Signal::HUP).unwrap();
    };
    let login = |name: &str| format!("set any 0 0 {}\r\n{name}\r\n", name.len());
    let is_in = |name: &str| kv.ask(&login(name)) == "STORED\r\n";
    let wait = |name: &str| {
        let started = Instant::now();
        while !is_in(name) {
            assert!(started.elapsed() < PATIENCE, "{name} is not let in");
            thread::sleep(Duration::from_millis(20));
        }
    };
    assert!(is_in("alice secret") && !is_in("bob other"));
    let mut early = kv.connect();
    early.write_all(login("alice secret").as_bytes()).unwrap();
    early.read_exact(&mut [0; 8]).unwrap();
    reload("bob:other\n");
    wait("bob other");
    assert!(!is_in("alice secret"));
    // A connection that has logged in stays.
    early.write_all(b"mn\r\n").unwrap();
    let mut reply = [0; 4];
    early.read_exact(&mut reply).unwrap();
    assert_eq!(&reply, b"MN\r\n");
    for unusable in ["bob:other\nalice\n", ""] {
        reload(unusable);
        // It is read at once; a late reader finds it or the next one.
        thread::sleep(Duration::from_millis(300));
        assert!(is_in("bob other") && !is_in("alice secret"), "{unusable:?}");
    }
    reload("alice:third\nbob:other\n");
    wait("alice third");
    drop(early);
    let log = kv.stop();
    assert!(log.contains("reloaded the users of the key-value store"), "{log}");
    let kept = "cannot reload the users of the key-value store, so the present ones stay: ";
    assert!(log.contains(kept) && log.contains("users, line 2: expected NAME:PASSWORD"), "{log}");
    assert!(log.contains("lists no users"), "{log}");
}

#[test]
fn users_that_cannot_be_used_are_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = |text: &str| {
        let path = folder.path().join("users");
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    for (users, arguments, expected) in [
        ("alice\n", &[][..], "line 1: expected NAME:PASSWORD"),
        ("\n", &[], "lists no user"),
        ("a:b\n", &["-S", "-B", "ascii"], "-S is for the binary protocol"),
    ] {
        let users = file(users);
        let log = Kv::start(folder.path(), &[&["-Y", &users], arguments].concat()).err().unwrap();
        assert!(log.contains(expected), "{expected}: {log}");
    }
    let log = Kv::start(folder.path(), &["-S"]).err().unwrap();
    assert!(log.contains("-S needs users"), "{log}");
    let log = run(&["-p", "0", "-U", "1", "-Y", &file("a:b\n")]);
    assert!(log.contains("cannot log in"), "{log}");
}

/// Runs a store whose options are refused, and returns its errors.
fn run(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_turnpike")).arg("kv").args(arguments).output().unwrap();
    assert!(!output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

/// Waits until a condition holds.
fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "{what} does not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn options_of_memcached_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    // What Debian's unit passes, and the rest of memcached's own list.
    let arguments = [
        "-m",
        "64",
        "-p",
        "11211",
        "-u",
        "root",
        "-l",
        "127.0.0.1",
        "-P",
        pid_file.to_str().unwrap(),
        "-vv",
        "-R",
        "20",
        "-C",
        "-f",
        "1.25",
        "-n",
        "48",
        "-L",
        "-W",
        "-D",
        ":",
        "-r",
        "-c",
        "1024",
        "-t",
        "2",
        "-I",
        "1m",
        "-F",
        "-X",
        "-N",
        "0",
        "-o",
        "modern,no_lru_crawler,hashpower=20",
    ];
    let kv = Kv::start(folder.path(), &arguments[..]).unwrap();
    let pid = fs::read_to_string(&pid_file).unwrap();
    assert_eq!(pid.trim(), kv.child.id().to_string());
    assert_eq!(kv.ask("version\r\n"), "VERSION 1.6.27\r\n");
    assert_eq!(kv.ask("watch\r\n"), "CLIENT_ERROR watch commands not allowed\r\n");
    let log = kv.stop();
    for option in ["-v", "-R", "-C", "-f", "-n", "-L", "-D", "-N"] {
        assert!(log.contains(&format!("{option} has no effect")), "{option}: {log}");
    }
    assert!(!pid_file.exists());
}

#[test]
fn a_store_in_the_background_is_ready_when_its_command_returns() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, pid_file) = (folder.path().join("socket"), folder.path().join("pid"));
    let daemon = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
        command.args(["kv", "-d", "-s"]).arg(&socket).arg("-P").arg(&pid_file).args(arguments);
        command.output().unwrap()
    };
    let started = daemon(&[]);
    assert!(started.status.success() && started.stdout.starts_with(b"serving"), "{started:?}");
    let pid = fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream.write_all(b"version\r\nquit\r\n").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::TERM).unwrap();
    wait_for("the end of the store", || !pid_file.exists());
    assert_eq!(reply, "VERSION 1.6.27\r\n");
    // What keeps it from starting is reported where the command was given.
    fs::write(folder.path().join("letter"), "to somebody").unwrap();
    let failed = daemon(&["-e", folder.path().join("letter").to_str().unwrap()]);
    let log = String::from_utf8_lossy(&failed.stderr);
    assert!(!failed.status.success() && log.contains("choose another file") && log.contains("did not start"), "{log}");
}

#[test]
fn a_store_that_strangers_reach_warns() {
    let folder = tempfile::tempdir().unwrap();
    let users = folder.path().join("users");
    fs::write(&users, "a:b\n").unwrap();
    let warning = "anyone who reaches the key-value store";
    for (arguments, warns) in [
        (&["-l", "0.0.0.0:0"][..], true),
        (&["-l", "[::]:0"], true),
        (&["-l", "127.0.0.1:0"], false),
        (&["-l", "0.0.0.0:0", "-Y", users.to_str().unwrap()], false),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
        let mut child =
            command.arg("kv").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(line.starts_with("serving") && output.status.success(), "{arguments:?}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr).contains(warning), warns, "{arguments:?}");
    }
}
