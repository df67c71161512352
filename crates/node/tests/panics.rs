//! What a panic of a thread does to a node's process.
#![allow(clippy::unwrap_used)]

use std::{
    env,
    os::unix::process::ExitStatusExt,
    process::{Command, ExitStatus},
    thread,
};

use turnpike_node::abort_on_panic;

/// Names the thread that panics, in the process that a test starts.
const THREAD: &str = "PANICKING_THREAD";

/// How a process ends in which a thread of this name panics.
fn ended_by(name: &str) -> ExitStatus {
    let program = env::current_exe().unwrap();
    let mut process = Command::new(program);
    process.args(["--exact", "a_thread_panics", "--ignored"]).env(THREAD, name).output().unwrap().status
}

#[test]
#[ignore = "the process that the other tests start"]
fn a_thread_panics() {
    let Ok(name) = env::var(THREAD) else { return };
    abort_on_panic();
    let thread = thread::Builder::new().name(name).spawn(|| panic!("money from nowhere")).unwrap();
    assert!(thread.join().is_err());
}

#[test]
fn a_panic_of_a_thread_that_keeps_money_ends_the_process() {
    const SIGABRT: i32 = 6;
    for name in ["io", "journal", "builder"] {
        assert_eq!(ended_by(name).signal(), Some(SIGABRT), "{name}");
    }
}

#[test]
fn a_panic_of_a_worker_does_not() {
    assert!(ended_by("verification-0").success());
}
