//! Groth16 proofs (Groth, *On the Size of Pairing-based Non-interactive Arguments*, 2016) in the encodings of bellman
//! and Zcash: [`Verifier`] for many, [`verify`] for one.

mod key;

use std::ops::Range;

use super::coefficients;
use super::multiple::{multiply_and_add_on, multiply_short_and_add_on, multiply_short_each_on};
use super::pairing::is_product_one_on;
use super::{Backend, G1, G2, Pair, Point, Rule, Scalar};
use crate::BatchVerifier;
use crate::bisect::bisect;

pub use key::VerifyingKey;

/// A proof: three points in the subgroups, none at infinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    pub(super) a: Point<G1>,
    pub(super) b: Point<G2>,
    pub(super) c: Point<G1>,
}

impl Proof {
    /// Bytes of a proof.
    pub const LENGTH: usize = 192;

    /// Parses the compressed encodings of A, B and C, one after the other.
    pub fn parse(bytes: &[u8]) -> Result<Self, Rule> {
        let [a, b, c] = Self::split(bytes)?;
        Ok(Self { a: finite(Point::parse(a)?)?, b: finite(Point::parse(b)?)?, c: finite(Point::parse(c)?)? })
    }

    /// Parses many proofs, faster than [`Proof::parse`] for each.
    pub fn parse_each(encodings: &[&[u8]]) -> Vec<Result<Self, Rule>> {
        Self::parse_each_on(Backend::fastest(), encodings)
    }

    fn parse_each_on(backend: Backend, encodings: &[&[u8]]) -> Vec<Result<Self, Rule>> {
        let encodings: Vec<_> = encodings.iter().map(|bytes| Self::split(bytes)).collect();
        let part = |at: usize| encodings.iter().map(move |parts| parts.map_or(&[][..], |parts| parts[at]));
        let left: Vec<_> = part(0).chain(part(2)).collect();
        let left = Point::parse_compressed_each_on(backend, &left);
        let right = Point::parse_compressed_each_on(backend, &part(1).collect::<Vec<_>>());
        let proof = |at: usize| {
            encodings[at]?;
            Ok(Self { a: finite(left[at]?)?, b: finite(right[at]?)?, c: finite(left[encodings.len() + at]?)? })
        };
        (0..encodings.len()).map(proof).collect()
    }

    /// Splits the encodings of A, B and C.
    fn split(bytes: &[u8]) -> Result<[&[u8]; 3], Rule> {
        let (a, rest) = bytes.split_at_checked(48).ok_or(Rule::Length)?;
        let (b, c) = rest.split_at_checked(96).ok_or(Rule::Length)?;
        if c.len() == 48 { Ok([a, b, c]) } else { Err(Rule::Length) }
    }
}

/// A point that is not at infinity.
fn finite<G: super::Group>(point: Point<G>) -> Result<Point<G>, Rule> {
    if point.is_infinity() { Err(Rule::AtInfinity) } else { Ok(point) }
}

/// A proof, and the public inputs that it claims to hold for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The proof.
    pub proof: Proof,
    /// The public inputs, as many as the verifying key requires.
    pub inputs: Vec<Scalar>,
}

impl Claim {
    /// From the bytes of a proof, and public inputs of 32 little-endian bytes each.
    pub fn parse(proof: &[u8], inputs: &[u8]) -> Result<Self, Rule> {
        Self::new(Proof::parse(proof)?, inputs)
    }

    /// Parses many proofs and their inputs, faster than [`Claim::parse`] for each.
    pub fn parse_each(items: &[(&[u8], &[u8])]) -> Vec<Result<Self, Rule>> {
        Self::parse_each_on(Backend::fastest(), items)
    }

    fn parse_each_on(backend: Backend, items: &[(&[u8], &[u8])]) -> Vec<Result<Self, Rule>> {
        let proofs: Vec<_> = items.iter().map(|(proof, _)| *proof).collect();
        let parsed = Proof::parse_each_on(backend, &proofs).into_iter().zip(items);
        parsed.map(|(proof, (_, inputs))| Self::new(proof?, inputs)).collect()
    }

    /// As [`Claim::parse_each`], with as many public inputs as the key requires, so that all can be combined.
    pub fn parse_each_for(key: &VerifyingKey, items: &[(&[u8], &[u8])]) -> Vec<Result<Self, Rule>> {
        Self::parse_each_for_on(Backend::fastest(), key, items)
    }

    /// As [`Claim::parse_each_for`], on a backend that is available.
    pub fn parse_each_for_on(
        backend: Backend,
        key: &VerifyingKey,
        items: &[(&[u8], &[u8])],
    ) -> Vec<Result<Self, Rule>> {
        let has_all = |claim: Self| if claim.inputs.len() == key.inputs() { Ok(claim) } else { Err(Rule::InputCount) };
        Self::parse_each_on(backend, items).into_iter().map(|claim| claim.and_then(has_all)).collect()
    }

    fn new(proof: Proof, inputs: &[u8]) -> Result<Self, Rule> {
        let (inputs, []) = inputs.as_chunks() else { return Err(Rule::Length) };
        let inputs = inputs.iter().map(Scalar::parse_little_endian).collect::<Result<_, _>>()?;
        Ok(Self { proof, inputs })
    }
}

/// Verifies one proof.
pub fn verify(key: &VerifyingKey, claim: &Claim) -> Result<(), Rule> {
    verify_on(Backend::fastest(), key, claim)
}

fn verify_on(backend: Backend, key: &VerifyingKey, claim: &Claim) -> Result<(), Rule> {
    let inputs = key.combine(backend, &claim.inputs).ok_or(Rule::InputCount)?;
    let Proof { a, b, c } = claim.proof;
    let pairs = [(a, b), (inputs, key.minus_gamma), (c, key.minus_delta), (key.alpha, key.minus_beta)];
    if is_product_one_on(backend, &pairs) { Ok(()) } else { Err(Rule::ProofMismatch) }
}

/// A batch of proofs for one verifying key.
#[derive(Clone, Debug)]
pub struct Verifier<'a> {
    backend: Backend,
    key: &'a VerifyingKey,
    claims: Vec<Claim>,
    verdicts: Vec<Result<(), Rule>>,
}

/// Proofs in a combined check. A larger batch costs hardly less per proof.
const TOGETHER: usize = 1024;

/// Up to this many, checking one by one is faster than a combined check.
const ALONE: usize = 1;

impl<'a> Verifier<'a> {
    /// An empty batch.
    pub fn new(key: &'a VerifyingKey) -> Self {
        Self { backend: Backend::fastest(), key, claims: Vec::new(), verdicts: Vec::new() }
    }

    /// An empty batch for a backend of the caller's choice; `None` if it is not available.
    pub fn on(backend: Backend, key: &'a VerifyingKey) -> Option<Self> {
        backend.is_available().then(|| Self { backend, ..Self::new(key) })
    }
}

impl BatchVerifier for Verifier<'_> {
    type Item = Claim;
    type Rule = Rule;

    fn push(&mut self, claim: Claim) {
        self.claims.push(claim);
    }

    fn len(&self) -> usize {
        self.claims.len()
    }

    fn verify_each(&mut self) -> &[Result<(), Rule>] {
        self.verdicts.clear();
        self.verdicts.resize(self.claims.len(), Ok(()));
        for (claims, verdicts) in self.claims.chunks(TOGETHER).zip(self.verdicts.chunks_mut(TOGETHER)) {
            verify_together(self.backend, self.key, claims, verdicts);
        }
        self.claims.clear();
        &self.verdicts
    }
}

/// Writes the verdict of each claim; all are good initially.
fn verify_together(backend: Backend, key: &VerifyingKey, claims: &[Claim], verdicts: &mut [Result<(), Rule>]) {
    let counted = claims.iter().all(|claim| claim.inputs.len() == key.inputs());
    let random = if counted && claims.len() > ALONE { coefficients::draw(claims.len()) } else { None };
    let mut each = |range: Range<usize>| {
        for (claim, verdict) in claims[range.clone()].iter().zip(&mut verdicts[range]) {
            *verdict = verify_on(backend, key, claim);
        }
    };
    match random {
        Some(random) => {
            let combination = Combination::new(backend, key, claims, random);
            let all_good = |range| combination.is_good(range);
            if !all_good(0..claims.len()) {
                bisect(0..claims.len(), ALONE, all_good, each);
            }
        }
        None => each(0..claims.len()),
    }
}

/// The checks of all claims, each raised to the power of a random coefficient c: the product of the pairings of c A
/// with B, and of the key's points with the sums of their partners.
struct Combination<'a> {
    backend: Backend,
    key: &'a VerifyingKey,
    claims: &'a [Claim],
    random: Vec<u128>,
    /// c A and B.
    pairs: Vec<Pair>,
    /// C.
    last: Vec<Point<G1>>,
}

impl<'a> Combination<'a> {
    fn new(backend: Backend, key: &'a VerifyingKey, claims: &'a [Claim], random: Vec<u128>) -> Self {
        let left: Vec<_> = claims.iter().map(|claim| claim.proof.a).collect();
        let right = claims.iter().map(|claim| claim.proof.b);
        let pairs = multiply_short_each_on(backend, &left, &random).into_iter().zip(right).collect();
        Self { backend, key, claims, pairs, last: claims.iter().map(|claim| claim.proof.c).collect(), random }
    }

    fn is_good(&self, range: Range<usize>) -> bool {
        let (backend, key, random) = (self.backend, self.key, &self.random[range.clone()]);
        // The sum of c, the factor of the constant input, and the sums of c times each input.
        let mut sums = vec![Scalar::default(); 1 + key.inputs()];
        for (claim, coefficient) in self.claims[range.clone()].iter().zip(random) {
            let coefficient = Scalar::from(*coefficient);
            sums[0] = sums[0] + coefficient;
            for (sum, input) in sums[1..].iter_mut().zip(&claim.inputs) {
                *sum = *sum + coefficient * *input;
            }
        }
        let mut pairs = self.pairs[range.clone()].to_vec();
        pairs.push((multiply_and_add_on(backend, &key.input_points, &sums), key.minus_gamma));
        pairs.push((multiply_short_and_add_on(backend, &self.last[range], random), key.minus_delta));
        pairs.push((key.alpha.multiply(&sums[0]), key.minus_beta));
        is_product_one_on(backend, &pairs)
    }
}
