//! State sync: a replica that joins, or was away for too long, fetches the ledger of another one instead of all ordered
//! blocks.
//!
//! A *checkpoint* is the certificate of a final ordered block, the *floor*; the certificate of a later block, whose
//! body states the ledger after the floor; that body; and the encoded sets of replicas as of the floor. Two
//! certificates cover it, so the rest needs no trust: the chain's blocks up to the stated header, and the sets of
//! replicas and the memory of retries, whose hash is stated.
//!
//! The serving replica, in memory:
//!
//! - On each final block with a certificate: if the block that its body states has one of the newest 64 certificates,
//!   and the sets of replicas have not changed since, it is the newest checkpoint. Then keep its certificate.
//! - Pages have whole blocks, up to some 4 MiB, and at least one. A request for a pruned batch is refused.
//!
//! The fetching replica:
//!
//! 1. Check the mark and the vote files of this replica. Votes stay, whatever happens to the ledger.
//! 2. Read the present chain's height; or, if the ledger is replaced, the marked height. A checkpoint that is not
//!    higher than the chain, or is lower than the mark, is of no use. For the mark, wait up to 90 s.
//! 3. Fetch the newest checkpoint. Check the history of sets from the founders on, the epoch and the signatures of both
//!    certificates, the body's hash, and that it states the floor.
//! 4. Fetch the blocks before the first batch of recent operations. If that took more than 5 s, continue with 3.
//! 5. Fetch the batches up to the floor. Check the last header and the state against the certified block.
//! 6. Write the sets of replicas and the floor, and mark the staged parts as whole.
//! 7. Move chain, catalog, journal and sets into place, and remove all that the engine stored except votes and
//!    evidence.
//!
//! If the other replica has pruned a part, start again, in up to five attempts. Until the mark of 6 is durable, a crash
//! or an error leaves the present ledger, and the staged parts are removed. Afterwards opening the data directory
//! completes
//! 7. The engine then begins on the floor.

mod fetch;
mod floor;
mod pages;
mod serve;

pub use fetch::{FetchError, Present, Progress, Source, fetch};
pub use floor::read as read_floor;
pub use serve::{Checkpoints, Refusal, Server};
