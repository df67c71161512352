//! A NIC on a board that shares its cable with the node: the protocol of `docs/board.md`, "The host link".

pub mod frame;
pub mod link;
