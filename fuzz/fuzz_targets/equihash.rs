//! Any bytes as a header of Zcash, and as an Equihash problem with its solution: all backends agree with crate
//! `equihash`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verify::equihash::{Backend, Header, Parameters, Solution, verify_on};

fuzz_target!(|bytes: &[u8]| {
    if let Some(header) = Header::first_of(bytes) {
        let _ = header.verify();
    }
    const SMALL: Parameters = Parameters::new(48, 5, *b"ZcashPoW").expect("parameters of tests");
    let length = bytes.len().min(SMALL.solution_length());
    let (indices, input) = bytes.split_at(length);
    let solution = Solution { input, indices };
    let verdict = verify::equihash::verify(&SMALL, &solution);
    let (n, k) = (SMALL.n() as u32, SMALL.k() as u32);
    assert_eq!(verdict.is_ok(), ::equihash::is_valid_solution(n, k, input, &[], indices).is_ok(), "crate equihash");
    for backend in Backend::ALL.into_iter().filter(|backend| backend.is_available()) {
        assert_eq!(verify_on(backend, &SMALL, &solution), verdict);
    }
});
