//! The reported findings match what the machine can do.
#![allow(clippy::unwrap_used, missing_docs)]

use turnpike_xdp::{Arena, Interface, Program, probe};

#[test]
fn findings_are_true() {
    let findings = probe::machine();
    let good = |what: &str| findings.iter().find(|finding| finding.what == what).unwrap().good;
    let arena = Arena::with_room_for(&[1]);
    assert_eq!(good("bpf arena"), arena.is_ok());
    assert_eq!(good("xdp program"), arena.is_ok_and(|arena| Program::load(&arena, true).is_ok()));
    for finding in &findings {
        assert!(!finding.how.is_empty(), "{finding:?}");
        println!("{} {}: {} {}", if finding.good { "ok" } else { "--" }, finding.what, finding.how, finding.advice);
    }
}

#[test]
fn interfaces_are_found() {
    assert!(Interface::names().unwrap().contains(&"lo".to_owned()));
    let loopback = Interface::with_address("127.0.0.1".parse().unwrap()).unwrap();
    assert!(loopback.is_loopback() && loopback.mac == [0; 6]);
    assert!(probe::interface(&loopback, false)[0].how.contains("MTU"));
    assert!(Interface::named("none-such").is_err());
    assert!(Interface::with_address("192.0.2.1".parse().unwrap()).is_err());
}
