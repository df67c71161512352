//! Any bytes as the proof of a delay: what is parsed is written as it was, and is only accepted if it is right.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verify::vdf::{Delay, Evaluated};

/// Bytes of a modulus, and squarings, up to which a proof is verified here, and evaluated again: more would only be slower.
const BYTES: usize = 16;
const SQUARINGS: u64 = 1000;

fuzz_target!(|data: &[u8]| {
    let Ok(evaluated) = Evaluated::from_bytes(data) else { return };
    assert_eq!(evaluated.to_bytes(), data);
    let Delay { modulus, input, iterations } = evaluated.delay();
    if modulus.length() > BYTES || *iterations > SQUARINGS || evaluated.verify().is_err() {
        return;
    }
    // In a group as small as this a wrong result can have a proof, but what was evaluated honestly is among what is accepted.
    let delay = Delay { modulus: modulus.clone(), input: input.clone(), iterations: *iterations };
    if let Ok(Some(honest)) = delay.evaluate(&[], |_| std::ops::ControlFlow::Continue(())) {
        honest.verify().expect("what was evaluated verifies");
    }
});
