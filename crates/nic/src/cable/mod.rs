//! A NIC on a board that shares its cable with the node: the protocol of `docs/board.md`, "The host link".

mod backend;
pub mod frame;
pub mod layout;
pub mod link;
mod port;
pub mod records;

pub use backend::CableBackend;
pub use port::{Accounts, BoardError, CableError, Port, Remembered};
