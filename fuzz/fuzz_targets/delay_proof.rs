//! Any bytes as the proof of a delay: parsed proofs round-trip, and only correct ones are accepted.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verify::vdf::{Delay, Evaluated};

/// Limits, in bytes of modulus and in squarings, up to which a proof is verified here and evaluated again: more would
/// only be slower.
const BYTES: usize = 16;
const SQUARINGS: u64 = 1000;

fuzz_target!(|data: &[u8]| {
    let Ok(evaluated) = Evaluated::from_bytes(data) else { return };
    assert_eq!(evaluated.to_bytes(), data);
    let Delay { modulus, input, iterations } = evaluated.delay();
    if modulus.length() > BYTES || *iterations > SQUARINGS || evaluated.verify().is_err() {
        return;
    }
    // In so small a group a wrong result can have a proof, but an honest evaluation must be among the accepted ones.
    let delay = Delay { modulus: modulus.clone(), input: input.clone(), iterations: *iterations };
    if let Ok(Some(honest)) = delay.evaluate(&[], |_| std::ops::ControlFlow::Continue(())) {
        honest.verify().expect("what was evaluated verifies");
    }
});
