//! A key-value store that speaks memcached's protocols.
//!
//! [`store`] has the items: the hash table of Istvan and others (*A hash table for line-rate data processing*, ACM
//! TRETS, 2015), with buckets of eight and the values apart. [`session`] turns the bytes of a client into replies, by
//! the parsers in [`protocol`]. [`server`] has the sockets and the threads.
//!
//! - A store never exceeds its memory limit: when full, it evicts items or refuses new ones, as configured.
//! - A request locks one shard for one access, for some hundred nanoseconds.
//! - One connection's work is cut into turns ([`turn`]), so that it cannot hold up the others of its worker.
//!
//! Start with [`session`], which leads from a connection's bytes to a reply, then [`store`].
//!
//! ```
//! use std::sync::Arc;
//! use turnpike_kv::{
//!     replies::Replies,
//!     service::{Service, Settings},
//!     session::Session,
//!     store::{Config, Store},
//!     turn::Turn,
//! };
//!
//! let store = Store::new(Config { memory: 8 << 20, largest_item: 1 << 20, evict: true, threads: 1 })?;
//! let mut session = Session::new(&Arc::new(Service::new(store, Settings::default())));
//! let (mut replies, now) = (Replies::new(1 << 16), 1);
//! session.feed(b"set a 0 0 5\r\nhello\r\nget a\r\n", &mut replies, &mut Turn::new(), now);
//! assert_eq!(replies[..], b"STORED\r\nVALUE a 0 5\r\nhello\r\nEND\r\n"[..]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod clock;
mod execute;
pub mod host;
pub mod number;
pub mod protocol;
pub mod replies;
pub mod server;
pub mod service;
pub mod session;
pub mod store;
pub mod turn;
pub mod users;
pub mod watch;
