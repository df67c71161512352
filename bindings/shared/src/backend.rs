use verify::sha256::Engine;
use verify::{bls12_381, equihash, secp256k1, sha256};

use crate::Error;

/// A kind of computation or verification.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// SHA-256, alone, doubled and tagged.
    Sha256 = 0,
    /// Equihash, and headers of Zcash.
    Equihash = 1,
    /// Signatures on the curve secp256k1, ECDSA and Schnorr.
    Secp256k1 = 2,
    /// Signatures, proofs and pairings on the curve BLS12-381.
    Bls12381 = 3,
}

impl Scheme {
    /// All schemes.
    ///
    /// cbindgen:ignore
    pub const ALL: [Self; 4] = [Self::Sha256, Self::Equihash, Self::Secp256k1, Self::Bls12381];
}

/// The instructions that compute a scheme. The choice never changes a result.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The fastest one that this processor supports.
    Fastest = 0,
    /// AVX-512; for curves its IFMA.
    Avx512 = 1,
    /// AVX2; for signatures of secp256k1 with FMA. Not for BLS12-381.
    Avx2 = 2,
    /// The SHA extensions. SHA-256 only.
    ShaNi = 3,
    /// Any processor: no vectors, and no extensions except ADX, which products of BLS12-381 use if available.
    Portable = 4,
}

impl Backend {
    /// All backends.
    ///
    /// cbindgen:ignore
    pub const ALL: [Self; 5] = [Self::Fastest, Self::Avx512, Self::Avx2, Self::ShaNi, Self::Portable];

    /// Whether this processor supports the backend for a scheme.
    pub fn is_available(self, scheme: Scheme) -> bool {
        match scheme {
            Scheme::Sha256 => Sha256::new(self).is_some(),
            Scheme::Equihash => equihash_backend(self).is_some(),
            Scheme::Secp256k1 => secp256k1_backend(self).is_some(),
            Scheme::Bls12381 => bls12_381_backend(self).is_some(),
        }
    }
}

/// An engine for SHA-256.
#[derive(Debug)]
enum Sha256 {
    Fastest,
    Only(Engine),
}

impl Sha256 {
    fn new(backend: Backend) -> Option<Self> {
        let only = match backend {
            Backend::Fastest => return Some(Self::Fastest),
            Backend::Avx512 => sha256::Backend::Avx512,
            Backend::Avx2 => sha256::Backend::Avx2,
            Backend::ShaNi => sha256::Backend::ShaNi,
            Backend::Portable => sha256::Backend::Portable,
        };
        Engine::only(only).map(Self::Only)
    }

    fn engine(&self) -> &Engine {
        match self {
            Self::Fastest => Engine::fastest(),
            Self::Only(engine) => engine,
        }
    }
}

fn equihash_backend(backend: Backend) -> Option<equihash::Backend> {
    let backend = match backend {
        Backend::Fastest => equihash::Backend::fastest(),
        Backend::Avx512 => equihash::Backend::Avx512,
        Backend::Avx2 => equihash::Backend::Avx2,
        Backend::Portable => equihash::Backend::Portable,
        Backend::ShaNi => return None,
    };
    backend.is_available().then_some(backend)
}

fn secp256k1_backend(backend: Backend) -> Option<secp256k1::Backend> {
    let backend = match backend {
        Backend::Fastest => secp256k1::Backend::fastest(),
        Backend::Avx512 => secp256k1::Backend::Avx512Ifma,
        Backend::Avx2 => secp256k1::Backend::Avx2Fma,
        Backend::Portable => secp256k1::Backend::Portable,
        Backend::ShaNi => return None,
    };
    backend.is_available().then_some(backend)
}

fn bls12_381_backend(backend: Backend) -> Option<bls12_381::Backend> {
    let backend = match backend {
        Backend::Fastest => bls12_381::Backend::fastest(),
        Backend::Avx512 => bls12_381::Backend::Avx512Ifma,
        Backend::Portable => bls12_381::Backend::Portable,
        Backend::Avx2 | Backend::ShaNi => return None,
    };
    backend.is_available().then_some(backend)
}

/// The engine of each scheme for a [`Backend`]; `None` if it has none.
#[derive(Debug)]
pub(crate) struct Backends {
    asked: Backend,
    sha256: Option<Sha256>,
    equihash: Option<equihash::Backend>,
    secp256k1: Option<secp256k1::Backend>,
    bls12_381: Option<bls12_381::Backend>,
}

impl Backends {
    pub(crate) fn new(asked: Backend) -> Self {
        Self {
            asked,
            sha256: Sha256::new(asked),
            equihash: equihash_backend(asked),
            secp256k1: secp256k1_backend(asked),
            bls12_381: bls12_381_backend(asked),
        }
    }

    fn missing(&self, scheme: Scheme) -> Error {
        Error::Backend { backend: self.asked, scheme }
    }

    pub(crate) fn sha256(&self) -> Result<&Engine, Error> {
        Ok(self.sha256.as_ref().ok_or_else(|| self.missing(Scheme::Sha256))?.engine())
    }

    pub(crate) fn equihash(&self) -> Result<equihash::Backend, Error> {
        self.equihash.ok_or_else(|| self.missing(Scheme::Equihash))
    }

    pub(crate) fn secp256k1(&self) -> Result<secp256k1::Backend, Error> {
        self.secp256k1.ok_or_else(|| self.missing(Scheme::Secp256k1))
    }

    pub(crate) fn bls12_381(&self) -> Result<bls12_381::Backend, Error> {
        self.bls12_381.ok_or_else(|| self.missing(Scheme::Bls12381))
    }

    /// The backend that a scheme uses: never [`Backend::Fastest`]. SHA-256 has two; this is the one for many messages.
    pub(crate) fn used(&self, scheme: Scheme) -> Result<Backend, Error> {
        Ok(match scheme {
            Scheme::Sha256 => match self.sha256()?.wide() {
                sha256::Backend::Avx512 => Backend::Avx512,
                sha256::Backend::Avx2 => Backend::Avx2,
                sha256::Backend::ShaNi => Backend::ShaNi,
                sha256::Backend::Portable => Backend::Portable,
            },
            Scheme::Equihash => match self.equihash()? {
                equihash::Backend::Avx512 => Backend::Avx512,
                equihash::Backend::Avx2 => Backend::Avx2,
                equihash::Backend::Portable => Backend::Portable,
            },
            Scheme::Secp256k1 => match self.secp256k1()? {
                secp256k1::Backend::Avx512Ifma => Backend::Avx512,
                secp256k1::Backend::Avx2Fma => Backend::Avx2,
                secp256k1::Backend::Portable => Backend::Portable,
            },
            Scheme::Bls12381 => match self.bls12_381()? {
                bls12_381::Backend::Avx512Ifma => Backend::Avx512,
                bls12_381::Backend::Portable => Backend::Portable,
            },
        })
    }
}
