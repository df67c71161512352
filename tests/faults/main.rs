//! Faults that users met: each was answered wrongly once, and each test states the right answer.
//!
//! A module holds the faults of one part of the program. Every test drives the real program over its public interfaces.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../attacks/src/bitcoind.rs"]
mod bitcoind;
#[path = "../../crates/turnpike/tests/common/http.rs"]
mod http_client;
#[path = "../../crates/turnpike/tests/common/mod.rs"]
mod node;
#[allow(dead_code, reason = "no fault compares directories")]
#[path = "../../crates/turnpike/tests/common/program.rs"]
mod program;

mod clock;
mod clock_steps;
mod cluster;
mod command_line;
mod configuration;
mod damage;
mod electrum;
mod http;
mod kv;
mod kv_protocol;
mod members;
mod monitoring;
mod process;
mod storage;
