//! Verification engines: hashing, signatures.
//!
//! Every engine has one interface and several backends behind it. A backend is a kernel, nothing more: which messages
//! to take, how to pad, what a verdict means is written once above the kernels. The backend is chosen at run time, so
//! that a program built for any machine is the fastest on this one.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod sha256;
