//! A peer that corrupts the shared memory: bounds hold, and the error is sticky.
#![no_main]

use libfuzzer_sys::fuzz_target;
use link::scribble::{Step, scribbled};

fuzz_target!(|input: (bool, Vec<(u8, u16, u64)>)| {
    let (is_copied, steps) = input;
    let steps: Vec<_> = steps
        .into_iter()
        .map(|(step, at, word)| match step % 8 {
            0 => Step::Scribble(at, word),
            // A possibly valid index, and a length that may fit.
            1 => Step::Message(u64::from(at % 6) << 32 | word % 80),
            2 => Step::Message(word),
            3 => Step::GiveBack(at % 5),
            4 => Step::Receive,
            5 => Step::Release,
            6 => Step::Send,
            _ => Step::Rest,
        })
        .collect();
    let _ = scribbled(&steps, 4, 64, is_copied);
});
