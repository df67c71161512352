//! What all servers of a node share, whatever protocol they speak.
//!
//! - [`Prefix`]: networks that are trusted, or that share a limit, and [`Sharer`], the key of such a limit.
//! - [`Listener`] and [`Acceptor`]: accept connections, and [`refuse`] clients above a limit or without a file
//!   descriptor, with a reason that reaches them.
//! - [`Waker`]: end another thread's wait.
//! - [`tls`]: certificates and keys that are reloaded while the server runs.
//! - [`yield_to_others`]: lower the priority of long work.
//!
//! ```
//! use std::net::IpAddr;
//! use turnpike_net::Prefix;
//!
//! let trusted: Prefix = "10.0.0.0/8".parse()?;
//! assert!(trusted.contains(IpAddr::from([10, 1, 2, 3])));
//! // All hosts of a /24 count as one sender.
//! assert_eq!(Prefix::shared_by(IpAddr::from([192, 0, 2, 7])).to_string(), "192.0.2.0/24");
//! # Ok::<(), turnpike_net::PrefixError>(())
//! ```
//!
//! The crate knows no protocol and no frame. Nothing in it waits, except [`tls`] for files.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod listener;
mod prefix;
mod priority;
mod refuse;
pub mod tls;
mod waker;

pub use listener::{Accepted, Acceptor, Listener, PathError};
pub use prefix::{Prefix, PrefixError, Sharer};
pub use priority::yield_to_others;
pub use refuse::{listen_advice, refuse};
pub use waker::Waker;
