//! BLS signatures with keys in G1 and signatures in G2 (draft-irtf-cfrg-bls-signature, as Ethereum uses it):
//! [`Verifier`] for many, [`verify`] for one, [`fast_aggregate_verify`] and [`aggregate_verify`] for an aggregate.

use std::collections::HashMap;
use std::ops::Range;

use super::multiple::{multiply_short_and_add_on, multiply_short_each_on};
use super::pairing::is_product_one_on;
use super::{Backend, G1, G2, Point, Rule, Scalar};
use super::{coefficients, hash_to_curve};
use crate::BatchVerifier;
use crate::bisect::bisect;

/// The tag of the scheme with proofs of possession, which Ethereum uses.
pub const PROOF_OF_POSSESSION: &[u8] = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_POP_";

/// The tag of the basic scheme.
pub const BASIC: &[u8] = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_NUL_";

/// A public key: a point of G1, not at infinity. Its owner need not know the secret key: before adding up keys, require
/// a proof of possession for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicKey(Point<G1>);

/// A signature, or the sum of many: a point of G2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signature(Point<G2>);

/// A secret key, to create signatures for tests and load. It is not protected from other users of the machine.
#[derive(Clone)]
pub struct SecretKey(Scalar);

impl PublicKey {
    /// From 48 bytes: `KeyValidate`.
    pub fn parse(bytes: &[u8]) -> Result<Self, Rule> {
        Self::from_point(Point::parse_compressed(bytes)?)
    }

    fn from_point(point: Point<G1>) -> Result<Self, Rule> {
        if point.is_infinity() { Err(Rule::AtInfinity) } else { Ok(Self(point)) }
    }

    /// The sum of keys. A sum at infinity is refused, because the signature at infinity would then be valid for any
    /// message.
    pub fn aggregate(keys: &[Self]) -> Result<Self, Rule> {
        if keys.is_empty() {
            return Err(Rule::KeyCount);
        }
        Self::from_point(Point::sum(keys.iter().map(|key| &key.0)))
    }

    /// 48 bytes.
    pub fn bytes(&self) -> [u8; 48] {
        let mut bytes = [0; 48];
        bytes.copy_from_slice(&self.0.compressed());
        bytes
    }
}

impl Signature {
    /// From 96 bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, Rule> {
        Point::parse_compressed(bytes).map(Self)
    }

    /// The sum of signatures.
    pub fn aggregate(signatures: &[Self]) -> Result<Self, Rule> {
        if signatures.is_empty() {
            return Err(Rule::KeyCount);
        }
        Ok(Self(Point::sum(signatures.iter().map(|signature| &signature.0))))
    }

    /// 96 bytes.
    pub fn bytes(&self) -> [u8; 96] {
        let mut bytes = [0; 96];
        bytes.copy_from_slice(&self.0.compressed());
        bytes
    }
}

impl SecretKey {
    /// Parses 32 big-endian bytes: a number from 1 to the order minus one.
    pub fn parse(bytes: &[u8; 32]) -> Result<Self, Rule> {
        let scalar = Scalar::parse(bytes)?;
        if scalar.is_zero() { Err(Rule::ScalarRange) } else { Ok(Self(scalar)) }
    }

    /// The public key.
    pub fn public(&self) -> PublicKey {
        PublicKey(Point::generator().multiply(&self.0))
    }

    /// The signature of a message.
    pub fn sign(&self, message: &[u8], tag: &[u8]) -> Signature {
        Signature(hash_to_curve::<G2>(message, tag).multiply(&self.0))
    }
}

/// A message with the signature and the key that it claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed<'a> {
    /// The message, of any length.
    pub message: &'a [u8],
    /// The key, or the sum of the keys of all signers of this message.
    pub key: PublicKey,
    /// The signature, or the sum of their signatures.
    pub signature: Signature,
}

impl<'a> Signed<'a> {
    /// Parses a key of 48 bytes and a signature of 96.
    pub fn parse(message: &'a [u8], signature: &[u8], key: &[u8]) -> Result<Self, Rule> {
        Ok(Self { message, signature: Signature::parse(signature)?, key: PublicKey::parse(key)? })
    }

    /// Parses many messages, signatures and keys, faster than [`Signed::parse`] for each.
    pub fn parse_each(items: &[(&'a [u8], &[u8], &[u8])]) -> Vec<Result<Self, Rule>> {
        Self::parse_each_on(Backend::fastest(), items)
    }

    /// As [`Signed::parse_each`], on a backend that is available.
    pub fn parse_each_on(backend: Backend, items: &[(&'a [u8], &[u8], &[u8])]) -> Vec<Result<Self, Rule>> {
        let signatures: Vec<_> = items.iter().map(|(_, signature, _)| *signature).collect();
        let keys: Vec<_> = items.iter().map(|(_, _, key)| *key).collect();
        let signatures = Point::parse_compressed_each_on(backend, &signatures);
        let keys = Point::parse_compressed_each_on(backend, &keys);
        let parsed = |at: usize| {
            let (signature, key) = (Signature(signatures[at]?), PublicKey::from_point(keys[at]?)?);
            Ok(Self { message: items[at].0, signature, key })
        };
        (0..items.len()).map(parsed).collect()
    }
}

/// Verifies one signature: `Verify`.
pub fn verify(item: &Signed<'_>, tag: &[u8]) -> Result<(), Rule> {
    verify_on(Backend::fastest(), item, tag)
}

fn verify_on(backend: Backend, item: &Signed<'_>, tag: &[u8]) -> Result<(), Rule> {
    aggregate_verify_on(backend, &[(item.key, item.message)], &item.signature, tag)
}

/// Verifies one signature by all keys on one message: `FastAggregateVerify`. The caller must have verified proofs of
/// possession of all keys.
pub fn fast_aggregate_verify(
    keys: &[PublicKey],
    message: &[u8],
    signature: &Signature,
    tag: &[u8],
) -> Result<(), Rule> {
    verify(&Signed { message, key: PublicKey::aggregate(keys)?, signature: *signature }, tag)
}

/// Verifies one signature in which each key signed its own message: `AggregateVerify`. In the basic scheme the messages
/// must differ, which the caller must ensure.
pub fn aggregate_verify(items: &[(PublicKey, &[u8])], signature: &Signature, tag: &[u8]) -> Result<(), Rule> {
    aggregate_verify_on(Backend::fastest(), items, signature, tag)
}

fn aggregate_verify_on(
    backend: Backend,
    items: &[(PublicKey, &[u8])],
    signature: &Signature,
    tag: &[u8],
) -> Result<(), Rule> {
    if items.is_empty() {
        return Err(Rule::KeyCount);
    }
    let signed = items.iter().map(|(key, message)| (key.0, hash_to_curve(message, tag)));
    let pairs = signed.chain([(Point::generator().negate(), signature.0)]);
    if is_product_one_on(backend, &Vec::from_iter(pairs)) { Ok(()) } else { Err(Rule::SignatureMismatch) }
}

/// A batch of signatures.
#[derive(Clone, Debug)]
pub struct Verifier<'a> {
    backend: Backend,
    tag: &'a [u8],
    items: Vec<Signed<'a>>,
    verdicts: Vec<Result<(), Rule>>,
}

/// Up to this many, checking one by one is faster than a combined check.
const ALONE: usize = 1;

impl Default for Verifier<'_> {
    fn default() -> Self {
        Self::new(PROOF_OF_POSSESSION)
    }
}

impl<'a> Verifier<'a> {
    /// An empty batch of signatures with this tag.
    pub fn new(tag: &'a [u8]) -> Self {
        Self { backend: Backend::fastest(), tag, items: Vec::new(), verdicts: Vec::new() }
    }

    /// An empty batch for a backend of the caller's choice; `None` if it is not available.
    pub fn on(backend: Backend, tag: &'a [u8]) -> Option<Self> {
        backend.is_available().then(|| Self { backend, ..Self::new(tag) })
    }
}

impl<'a> BatchVerifier for Verifier<'a> {
    type Item = Signed<'a>;
    type Rule = Rule;

    fn push(&mut self, item: Signed<'a>) {
        self.items.push(item);
    }

    fn len(&self) -> usize {
        self.items.len()
    }

    fn verify_each(&mut self) -> &[Result<(), Rule>] {
        self.verdicts.clear();
        self.verdicts.resize(self.items.len(), Ok(()));
        let (backend, items, verdicts, tag) = (self.backend, &self.items, &mut self.verdicts, self.tag);
        let mut each = |range: Range<usize>| {
            for (item, verdict) in items[range.clone()].iter().zip(&mut verdicts[range]) {
                *verdict = verify_on(backend, item, tag);
            }
        };
        match coefficients::draw(items.len()).filter(|_| items.len() > ALONE) {
            Some(random) => {
                let combination = Combination::new(backend, items, &random, tag);
                let all_good = |range| combination.is_good(range);
                if !all_good(0..items.len()) {
                    bisect(0..items.len(), ALONE, all_good, each);
                }
            }
            None => each(0..items.len()),
        }
        self.items.clear();
        &self.verdicts
    }
}

/// The checks of all items, each raised to the power of a random coefficient c: the product of the pairings of c key
/// with its message equals the pairing of the generator with the sum of c signature. Pairings with the same message are
/// combined by adding up c key.
struct Combination {
    backend: Backend,
    /// c key, and the index of its message.
    keys: Vec<(Point<G1>, usize)>,
    messages: Vec<Point<G2>>,
    signatures: Vec<Point<G2>>,
    random: Vec<u128>,
}

impl Combination {
    fn new(backend: Backend, items: &[Signed<'_>], random: &[u128], tag: &[u8]) -> Self {
        let mut numbers = HashMap::new();
        let mut messages = Vec::new();
        let points: Vec<_> = items.iter().map(|item| item.key.0).collect();
        let mut keys = Vec::with_capacity(items.len());
        for (item, multiple) in items.iter().zip(multiply_short_each_on(backend, &points, random)) {
            let number = *numbers.entry(item.message).or_insert_with(|| {
                messages.push(hash_to_curve(item.message, tag));
                messages.len() - 1
            });
            keys.push((multiple, number));
        }
        let signatures = items.iter().map(|item| item.signature.0).collect();
        Self { backend, keys, messages, signatures, random: random.to_vec() }
    }

    fn is_good(&self, range: Range<usize>) -> bool {
        let (signatures, random) = (&self.signatures[range.clone()], &self.random[range.clone()]);
        let sum = multiply_short_and_add_on(self.backend, signatures, random);
        let mut keys = vec![Vec::new(); self.messages.len()];
        for (key, number) in &self.keys[range] {
            keys[*number].push(key);
        }
        let used = keys.iter().zip(&self.messages).filter(|(keys, _)| !keys.is_empty());
        let pairs = used.map(|(keys, message)| (Point::sum(keys.iter().copied()), *message));
        is_product_one_on(self.backend, &Vec::from_iter(pairs.chain([(Point::generator().negate(), sum)])))
    }
}
