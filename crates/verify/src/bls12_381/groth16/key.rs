use std::sync::LazyLock;

use super::finite;
use crate::bls12_381::multiple::multiply_and_add_on;
use crate::bls12_381::{Backend, G1, G2, Group, Point, Rule, Scalar};

/// The most public inputs of a key: far more than circuits have, as a key has to fit into memory.
const MAX_INPUTS: usize = 1 << 16;

/// The verifying key of one circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyingKey {
    pub(super) alpha: Point<G1>,
    pub(super) minus_beta: Point<G2>,
    pub(super) minus_gamma: Point<G2>,
    pub(super) minus_delta: Point<G2>,
    /// The point for the constant one, then one for each public input.
    pub(super) input_points: Vec<Point<G1>>,
}

macro_rules! keys {
    ($($(#[$doc:meta])* $name:ident $file:literal;)*) => {$(
        $(#[$doc])*
        pub fn $name() -> &'static Self {
            static KEY: LazyLock<VerifyingKey> = LazyLock::new(|| {
                let parsed = VerifyingKey::parse(include_bytes!(concat!("keys/", $file)));
                parsed.unwrap_or_else(|rule| unreachable!("a key of the library: {rule}"))
            });
            &KEY
        }
    )*};
}

impl VerifyingKey {
    keys! {
        /// The key of spends of Zcash's Sapling, with 7 inputs.
        sapling_spend "sapling-spend.vk";
        /// The key of outputs of Zcash's Sapling, with 5 inputs.
        sapling_output "sapling-output.vk";
        /// The key of JoinSplits of Zcash's Sprout, with 9 inputs.
        sprout "sprout-groth16.vk";
    }

    /// Parses bellman's encoding: alpha and beta in G1, beta and gamma in G2, delta in G1 and G2, uncompressed; then
    /// the number of points for inputs (4 bytes, big-endian), which is the number of inputs plus one, and these points.
    ///
    /// The points of beta and delta that only provers use are checked like the others.
    pub fn parse(bytes: &[u8]) -> Result<Self, Rule> {
        let mut rest = bytes;
        let alpha = take(&mut rest)?;
        let _beta: Point<G1> = take(&mut rest)?;
        let beta: Point<G2> = take(&mut rest)?;
        let gamma: Point<G2> = take(&mut rest)?;
        let _delta: Point<G1> = take(&mut rest)?;
        let delta: Point<G2> = take(&mut rest)?;
        let count = *rest.split_off(..4).and_then(<[u8]>::as_array).ok_or(Rule::Length)?;
        let count = u32::from_be_bytes(count) as usize;
        if count == 0 || count > 1 + MAX_INPUTS || rest.len() != count * 2 * G1::COMPRESSED {
            return Err(Rule::Length);
        }
        let input_points = (0..count).map(|_| take(&mut rest)).collect::<Result<_, _>>()?;
        let (minus_beta, minus_gamma, minus_delta) = (beta.negate(), gamma.negate(), delta.negate());
        Ok(Self { alpha, minus_beta, minus_gamma, minus_delta, input_points })
    }

    /// The number of public inputs that a proof has.
    pub fn inputs(&self) -> usize {
        self.input_points.len() - 1
    }

    /// The sum of the inputs' points, each multiplied by its input; `None` if the number of inputs is wrong.
    pub(super) fn combine(&self, backend: Backend, inputs: &[Scalar]) -> Option<Point<G1>> {
        let mut scalars = vec![Scalar::from(1_u64)];
        scalars.extend(inputs);
        (scalars.len() == self.input_points.len()).then(|| multiply_and_add_on(backend, &self.input_points, &scalars))
    }
}

/// Takes an uncompressed point from the front of the bytes.
fn take<G: Group>(rest: &mut &[u8]) -> Result<Point<G>, Rule> {
    finite(Point::parse(rest.split_off(..2 * G::COMPRESSED).ok_or(Rule::Length)?)?)
}
