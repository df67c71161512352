//! Recovery of the keys that signatures were made with.

use super::recoverable::Recoverable;
use crate::secp256k1::{Backend, PublicKey, Rule};

/// The key with which the signature is one of the digest.
///
/// [`Rule::RecoveryId`], [`Rule::NonceNotOnCurve`] or [`Rule::NoKey`] if there is none.
pub fn recover(item: &Recoverable) -> Result<PublicKey, Rule> {
    recover_each_on(Backend::Portable, &[*item]).swap_remove(0)
}

/// The keys of many signatures, in their order.
pub fn recover_each(items: &[Recoverable]) -> Vec<Result<PublicKey, Rule>> {
    recover_each_on(Backend::fastest(), items)
}

/// [`recover_each`] on the given backend.
///
/// # Panics
///
/// If the backend is not available.
pub fn recover_each_on(backend: Backend, items: &[Recoverable]) -> Vec<Result<PublicKey, Rule>> {
    backend.recover(items)
}
