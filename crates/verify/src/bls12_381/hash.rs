//! Hashing to the groups (RFC 9380, with SHA-256 and the simplified SWU map).

use super::{Group, Point};

/// `hash_to_curve`: a point whose logarithm nobody knows, uniformly distributed over the group.
///
/// `tag` separates the uses of the function from each other (DST); in protocols, it has at least 16 bytes.
pub fn hash_to_curve<G: Group>(message: &[u8], tag: &[u8]) -> Point<G> {
    Point(G::to_affine(&G::hash(message, tag)))
}

/// `encode_to_curve`: as [`hash_to_curve`] in half the time, but not uniformly distributed.
pub fn encode_to_curve<G: Group>(message: &[u8], tag: &[u8]) -> Point<G> {
    Point(G::to_affine(&G::encode(message, tag)))
}

/// `map_to_curve` with the cofactor cleared: a point for each element of the field.
pub fn map_to_curve<G: Group>(element: G::Element) -> Point<G> {
    Point(G::to_affine(&G::map(&element.into())))
}
