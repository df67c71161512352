//! The cases, by the part of the protocol.

mod assets;
mod batch;
mod compact;
mod frames;
mod full;
mod histories;
mod holds;
mod lifecycle;
mod limits;
mod queries;
mod retries;
mod verify;

use crate::Case;

/// All cases. Those that fill memory or tables, or use up limits, come last.
pub fn all() -> impl Iterator<Item = Case> {
    [
        compact::CASES,
        batch::CASES,
        full::CASES,
        holds::CASES,
        assets::CASES,
        lifecycle::CASES,
        queries::CASES,
        histories::CASES,
        verify::CASES,
        frames::CASES,
        retries::CASES,
        limits::CASES,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// A list of cases: name and function of each.
macro_rules! cases {
    ($($name:literal => $function:ident),* $(,)?) => {
        pub const CASES: &[$crate::Case] = &[$($crate::Case { name: $name, run: $function }),*];
    };
}

use cases;
