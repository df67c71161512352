//! What the program writes to a terminal, and what to a file.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

use common::Process;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

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
