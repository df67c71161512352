//! What the program writes to a terminal, and what to a file.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::Process;
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{InputModes, LocalModes, OutputModes, Termios, Winsize, tcgetattr, tcsetwinsize};

/// Longest wait, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);
const ESCAPE: char = '\u{1b}';

/// A terminal: the side that the user sees, and the program's.
fn terminal() -> (File, File) {
    let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&user).unwrap();
    unlockpt(&user).unwrap();
    let name = ptsname(&user, Vec::new()).unwrap();
    let program = OpenOptions::new().read(true).write(true).open(OsStr::from_bytes(name.as_bytes())).unwrap();
    (user.into(), program)
}

/// All that is written to the terminal until nobody has it open.
fn read_to_end(mut user: File) -> String {
    let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
    // It ends with EIO.
    while let Ok(read @ 1..) = user.read(&mut buffer) {
        all.extend_from_slice(&buffer[..read]);
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// A node that logs to `log`; started and stopped.
fn serve(data: &Path, log: impl Into<Stdio>, no_color: &str) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
    command.args(["--json", "serve", "--http", "127.0.0.1:0", "--listen", "127.0.0.1:0", "--accounts", "1000"]);
    command.env("NO_COLOR", no_color).arg("--data").arg(data).stderr(log);
    let node = Process::run(&mut command).unwrap();
    // Or the terminal stays open here.
    drop(command);
    assert!(node.stop().unwrap());
}

#[test]
fn log_lines_have_colours_on_terminals_only() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = folder.path().join("log");
    serve(&data, File::create(&file).unwrap(), "");
    let log = std::fs::read_to_string(&file).unwrap();
    assert!(log.contains("serving") && !log.contains(ESCAPE), "{log:?}");

    for (no_color, coloured) in [("", true), ("1", false)] {
        let (user, program) = terminal();
        let seen = std::thread::spawn(move || read_to_end(user));
        serve(&data, program, no_color);
        let log = seen.join().unwrap();
        assert!(log.contains("serving") && log.contains(ESCAPE) == coloured, "{log:?}");
    }
}

/// The demo in small.
fn demo(errors: impl Into<Stdio>) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
    command
        .args(["demo", "--transfers", "200000", "--accounts", "3000", "--proofs", "50", "--no-replicas"])
        .env("TERM", "xterm");
    let demo = command.stderr(errors).stdout(Stdio::piped()).spawn().unwrap();
    drop(command);
    let output = demo.wait_with_output().unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && report.contains("All checks passed."), "{report}");
    report
}

#[test]
fn the_demo_shows_its_progress_on_terminals_only() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("errors");
    let report = demo(File::create(&file).unwrap());
    let errors = std::fs::read_to_string(&file).unwrap();
    for text in [&report, &errors] {
        assert!(!text.contains(ESCAPE) && !text.contains('\r') && !text.contains("eta"), "{text:?}");
        assert!(!text.contains("WARN") && !text.contains("panicked"), "{text:?}");
    }

    let (user, program) = terminal();
    let seen = std::thread::spawn(move || read_to_end(user));
    demo(program);
    let seen = seen.join().unwrap();
    for part in ["accounts", "transfers", "/400,000", "/s", "eta", "proofs"] {
        assert!(seen.contains(part), "{part} is not in {seen:?}");
    }
}

/// It failed as soon as it had killed a replica.
#[test]
fn the_demo_passes_with_replicas() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
    let demo = command.args(["demo", "--transfers", "20000", "--accounts", "1000", "--proofs", "20"]).output().unwrap();
    let (report, errors) = (String::from_utf8_lossy(&demo.stdout), String::from_utf8_lossy(&demo.stderr));
    assert!(demo.status.success() && report.contains("All checks passed."), "{report}\n{errors}");
    assert!(report.contains("one killed"), "{report}");
}

/// `turnpike top` in a terminal of 80 columns and 24 rows.
struct Top {
    process: Child,
    user: File,
    program: File,
    seen: String,
}

impl Top {
    fn start(node: &Process, no_color: &str) -> Self {
        let (user, program) = terminal();
        tcsetwinsize(&user, Winsize { ws_col: 80, ws_row: 24, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_turnpike"));
        command.args(["top", "--http", &node.http.to_string()]).env("TERM", "xterm").env("NO_COLOR", no_color);
        command.stdin(program.try_clone().unwrap()).stdout(program.try_clone().unwrap());
        let process = command.spawn().unwrap();
        // Reads fail at once if nothing was written, so that a test can give up.
        fcntl_setfl(&user, OFlags::NONBLOCK).unwrap();
        Self { process, user, program, seen: String::new() }
    }

    /// Reads until the program has written a text after all that was read before.
    fn wait_for(&mut self, text: &str) {
        let (since, start) = (Instant::now(), self.seen.len());
        while !self.seen[start..].contains(text) {
            self.read();
            assert!(since.elapsed() < PATIENCE, "{text:?} is not in {:?}", self.seen);
            sleep(Duration::from_millis(10));
        }
    }

    fn read(&mut self) {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = self.user.read(&mut buffer) {
            self.seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
    }

    /// Waits for the end, and checks that it restored the terminal.
    fn end(mut self, before: &Termios) -> (ExitStatus, String) {
        let since = Instant::now();
        let status = loop {
            // A program whose output nobody reads waits.
            self.read();
            match self.process.try_wait().unwrap() {
                Some(status) => break status,
                None => assert!(since.elapsed() < PATIENCE, "it does not end: {:?}", self.seen),
            }
            sleep(Duration::from_millis(10));
        };
        self.read();
        assert!(self.seen.ends_with("\x1b[?7h\x1b[?25h\x1b[?1049l"), "{:?}", self.seen);
        assert_eq!(modes(&tcgetattr(&self.program).unwrap()), modes(before));
        (status, self.seen)
    }
}

fn modes(settings: &Termios) -> (InputModes, OutputModes, LocalModes) {
    (settings.input_modes, settings.output_modes, settings.local_modes)
}

#[test]
fn top_draws_until_the_user_quits_and_restores_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    let node = common::start(folder.path(), listen, &["--accounts", "1000"]);
    let before = tcgetattr(&terminal().1).unwrap();

    let mut top = Top::start(&node, "");
    top.wait_for("quit");
    assert!(!tcgetattr(&top.program).unwrap().local_modes.intersects(LocalModes::ICANON | LocalModes::ECHO));
    assert!(top.seen.contains("\x1b[32mready"), "{:?}", top.seen);
    top.wait_for("quit");
    // A larger terminal gets a larger picture with the next row of figures.
    tcsetwinsize(&top.user, Winsize { ws_col: 120, ws_row: 40, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    top.wait_for("\x1b[40;1H");
    top.user.write_all(b"xq").unwrap();
    let (status, _) = top.end(&before);
    assert!(status.success(), "{status}");

    // Raw input has no signals: Ctrl-C is a key.
    let mut top = Top::start(&node, "1");
    top.wait_for("quit");
    top.user.write_all(b"\x03").unwrap();
    let (status, seen) = top.end(&before);
    assert!(status.success() && !seen.contains("\x1b[32m"), "{status}: {seen:?}");

    let mut top = Top::start(&node, "");
    top.wait_for("quit");
    let process = Pid::from_child(&top.process);
    kill_process(process, Signal::TERM).unwrap();
    assert_eq!(top.end(&before).0.signal(), Some(Signal::TERM.as_raw()));

    // It continues without the node, and says so.
    let mut top = Top::start(&node, "");
    top.wait_for("quit");
    drop(node);
    top.wait_for("nothing listens there");
    top.user.write_all(b"q").unwrap();
    assert!(top.end(&before).0.success());
}
