//! ECDSA signatures on secp256k1, checked as the protocol's signed operations have them: 32-byte digests, 64-byte
//! compact signatures with a low s, 33-byte compressed keys. One encoding of each, so that a signature that was seen
//! cannot be turned into another one that is valid too.

#[cfg(target_arch = "x86_64")]
mod ifma;
mod portable;

use thiserror::Error;

use crate::BatchVerifier;

/// The order of the group, big-endian.
const ORDER: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xba, 0xae, 0xdc,
    0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41,
];

/// Half the order, rounded down: the largest low s.
const HALF_ORDER: [u8; 32] = [
    0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x5d, 0x57, 0x6e,
    0x73, 0x57, 0xa4, 0x50, 0x1d, 0xdf, 0xe9, 0x2f, 0x46, 0x68, 0x1b, 0x20, 0xa0,
];

/// The prime of the field, big-endian.
const PRIME: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xfc, 0x2f,
];

/// A digest, and the signature and the key that it is claimed to be signed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The digest.
    pub digest: [u8; 32],
    /// r ‖ s, each 32 bytes, big-endian.
    pub signature: [u8; 64],
    /// The public key, compressed.
    pub key: [u8; 33],
}

/// A rule that a signature may break. They are checked in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Rule {
    /// r and s are numbers from 1 to the order of the group less one.
    #[error("r or s of the signature is zero, or not below the order of the group")]
    Range,
    /// s is at most half the order.
    #[error("s of the signature is high: replace it with the group's order less s")]
    HighS,
    /// The key is 2 or 3 and a number below the field's prime.
    #[error("the public key does not begin with 2 or 3, or its x is not below the prime of the field")]
    KeyEncoding,
    /// There is a point with that x.
    #[error("the public key is not a point of the curve")]
    KeyNotOnCurve,
    /// The signature is one of this digest with this key.
    #[error("the signature is not one of this digest with this key")]
    Mismatch,
}

/// What can be said of an item without any arithmetic on the curve.
fn check_encoding(item: &Signed) -> Result<(), Rule> {
    let (r, s) = item.signature.split_at(32);
    for number in [r, s] {
        if number == [0; 32] || *number >= ORDER[..] {
            return Err(Rule::Range);
        }
    }
    if *s > HALF_ORDER[..] {
        return Err(Rule::HighS);
    }
    if !matches!(item.key[0], 2 | 3) || item.key[1..] >= PRIME[..] {
        return Err(Rule::KeyEncoding);
    }
    Ok(())
}

/// Verifies one signature.
pub fn verify(item: &Signed) -> Result<(), Rule> {
    check_encoding(item)?;
    portable::verify(item)
}

/// A way of verifying signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// 8 signatures at once, in lanes of AVX-512 IFMA.
    Avx512Ifma,
    /// libsecp256k1, one after the other, on any processor.
    Portable,
}

impl Backend {
    /// All backends, the fastest first.
    pub const ALL: [Self; 2] = [Self::Avx512Ifma, Self::Portable];

    /// Whether this processor has the instructions that it needs.
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Ifma => ifma::is_available(),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx512Ifma => false,
            Self::Portable => true,
        }
    }

    /// The fastest on this processor.
    pub fn fastest() -> Self {
        Self::ALL.into_iter().find(|backend| backend.is_available()).unwrap_or(Self::Portable)
    }
}

/// A batch of signatures.
#[derive(Debug)]
pub struct Verifier {
    backend: Backend,
    items: Vec<Signed>,
    verdicts: Vec<Result<(), Rule>>,
}

impl Default for Verifier {
    fn default() -> Self {
        Self { backend: Backend::fastest(), items: Vec::new(), verdicts: Vec::new() }
    }
}

impl Verifier {
    /// An empty batch for a backend of the caller's choice; none if it is not available.
    pub fn on(backend: Backend) -> Option<Self> {
        backend.is_available().then(|| Self { backend, items: Vec::new(), verdicts: Vec::new() })
    }
}

impl BatchVerifier for Verifier {
    type Item = Signed;
    type Rule = Rule;

    fn push(&mut self, item: Signed) {
        self.items.push(item);
    }

    fn len(&self) -> usize {
        self.items.len()
    }

    fn verify_each(&mut self) -> &[Result<(), Rule>] {
        self.verdicts.clear();
        self.verdicts.extend(self.items.iter().map(check_encoding));
        match self.backend {
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512Ifma => ifma::verify_each(&self.items, &mut self.verdicts),
            _ => portable::verify_each(&self.items, &mut self.verdicts),
        }
        self.items.clear();
        &self.verdicts
    }
}

#[cfg(test)]
mod tests;
