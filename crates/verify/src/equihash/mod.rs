//! Equihash, the proof of work of Zcash and its relatives, checked by their consensus rules.
//!
//! A solution is a list of 2^k indices. Each stands for n bits of a BLAKE2b hash of the header, and the indices are the
//! leaves of a tree: at height h, the two halves of every subtree agree in the first h × n / (k + 1) bits, the half
//! with the lower first index comes first, and no index is in both. The XOR of all leaves is zero.

mod backend;
mod blake2b;
mod header;
mod tree;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use backend::Backend;
pub use header::{Header, HeaderRule, ZCASH_HEADER_LENGTH};

use thiserror::Error;

use crate::BatchVerifier;
use backend::LeafHash;

/// The parameters of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    n: usize,
    k: usize,
    personalisation: [u8; 8],
}

impl Parameters {
    /// Those of Zcash.
    pub const ZCASH: Self = Self { n: 200, k: 9, personalisation: *b"ZcashPoW" };

    /// Parameters that chains may use; `None` for others.
    ///
    /// n must be a multiple of 8 and of k + 1, and at most 256; k must be from 3 to 10; an index may have at most 31
    /// bits.
    pub const fn new(n: usize, k: usize, personalisation: [u8; 8]) -> Option<Self> {
        let good = n > 0
            && n.is_multiple_of(8)
            && n <= 256
            && k >= 3
            && k <= 10
            && n.is_multiple_of(k + 1)
            && n / (k + 1) < 31;
        if good { Some(Self { n, k, personalisation }) } else { None }
    }

    /// The parameters (n, k) in use that have solutions of `length` bytes: (200,9), (192,7), (144,5), (96,5) or (48,5).
    pub fn of_solution_length(length: usize, personalisation: [u8; 8]) -> Option<Self> {
        [(200, 9), (192, 7), (144, 5), (96, 5), (48, 5)]
            .into_iter()
            .filter_map(|(n, k)| Self::new(n, k, personalisation))
            .find(|parameters| parameters.solution_length() == length)
    }

    /// n, the bits of a leaf.
    pub const fn n(&self) -> usize {
        self.n
    }

    /// k, the levels of the tree.
    pub const fn k(&self) -> usize {
        self.k
    }

    /// Bits in which the two halves of a subtree agree, per level.
    const fn collision_bits(&self) -> usize {
        self.n / (self.k + 1)
    }

    /// The length of a solution in bytes.
    pub const fn solution_length(&self) -> usize {
        (1 << self.k) * (self.collision_bits() + 1) / 8
    }

    /// How many leaves a hash is cut into.
    const fn leaves_per_hash(&self) -> usize {
        512 / self.n
    }
}

/// A header and its solution.
#[derive(Clone, Copy, Debug)]
pub struct Solution<'a> {
    /// The header up to and including the nonce.
    pub input: &'a [u8],
    /// The indices, each one bit longer than the part that halves agree in.
    pub indices: &'a [u8],
}

/// A rule that a solution may break. Each variant states the rule.
///
/// Subtrees are checked from the leaves up and from left to right, each of them in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Rule {
    /// The solution is as long as the parameters ask.
    #[error("the solution has the wrong length")]
    Length,
    /// The two halves of a subtree agree in the bits of its level.
    #[error("two halves of the tree do not agree in the bits of their level")]
    Collision,
    /// The half with the lower first index comes first.
    #[error("two halves of the tree are in the wrong order")]
    Order,
    /// No index is in both halves.
    #[error("an index is there twice")]
    Duplicate,
    /// The XOR of all leaves is zero.
    #[error("the XOR of all leaves is not zero")]
    Root,
}

/// Verifies one solution.
pub fn verify(parameters: &Parameters, solution: &Solution<'_>) -> Result<(), Rule> {
    verify_on(Backend::fastest(), parameters, solution)
}

/// [`verify`] on the given backend, which must be available.
pub fn verify_on(backend: Backend, parameters: &Parameters, solution: &Solution<'_>) -> Result<(), Rule> {
    if solution.indices.len() != parameters.solution_length() {
        return Err(Rule::Length);
    }
    let indices = tree::decode(parameters, solution.indices);
    let hash = LeafHash::new(backend, parameters, solution.input);
    tree::check(parameters, &indices, &hash)
}

/// A batch of solutions of one chain.
#[derive(Debug)]
pub struct Verifier<'a> {
    parameters: Parameters,
    solutions: Vec<Solution<'a>>,
    verdicts: Vec<Result<(), Rule>>,
}

impl Verifier<'_> {
    /// An empty batch.
    pub fn new(parameters: Parameters) -> Self {
        Self { parameters, solutions: Vec::new(), verdicts: Vec::new() }
    }
}

impl<'a> BatchVerifier for Verifier<'a> {
    type Item = Solution<'a>;
    type Rule = Rule;

    fn push(&mut self, solution: Solution<'a>) {
        self.solutions.push(solution);
    }

    fn len(&self) -> usize {
        self.solutions.len()
    }

    /// A single solution has enough leaves for all lanes, so sharing lanes among solutions gains nothing.
    fn verify_each(&mut self) -> &[Result<(), Rule>] {
        self.verdicts.clear();
        self.verdicts.extend(self.solutions.drain(..).map(|solution| verify(&self.parameters, &solution)));
        &self.verdicts
    }

    /// Many solutions cannot be checked at once: each is verified until one fails.
    fn verify_all(&mut self) -> Result<(), (usize, Rule)> {
        let failed = |(position, solution): (usize, &Solution<'_>)| {
            verify(&self.parameters, solution).err().map(|rule| (position, rule))
        };
        let result = self.solutions.iter().enumerate().find_map(failed).map_or(Ok(()), Err);
        self.solutions.clear();
        result
    }
}

#[cfg(test)]
mod tests;
