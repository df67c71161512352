//! The vectors of EIP-2537.

use super::{bytes, vectors};
use crate::bls12_381::eip2537::{add, map, multi_scalar_multiply, pairing_check};
use crate::bls12_381::{G1, G2, Rule};

type Contract = fn(&[u8]) -> Result<Vec<u8>, Rule>;

const CONTRACTS: [(&str, Contract, usize, usize); 9] = [
    ("add_G1", add::<G1>, 9, 6),
    ("add_G2", add::<G2>, 9, 6),
    // A multiplication is a sum of one term.
    ("mul_G1", multi_scalar_multiply::<G1>, 11, 7),
    ("mul_G2", multi_scalar_multiply::<G2>, 11, 7),
    ("multiexp_G1", multi_scalar_multiply::<G1>, 13, 7),
    ("multiexp_G2", multi_scalar_multiply::<G2>, 14, 7),
    ("pairing_check", pairing_check, 10, 22),
    ("map_fp_to_G1", map::<G1>, 5, 5),
    ("map_fp2_to_G2", map::<G2>, 5, 5),
];

fn rule(error: &str) -> Rule {
    match error {
        "invalid input length" => Rule::Length,
        "invalid field element top bytes" => Rule::Padding,
        "invalid fp.Element encoding" => Rule::Range,
        "invalid point: not on curve" => Rule::NotOnCurve,
        "g1 point is not on correct subgroup" | "g2 point is not on correct subgroup" => Rule::NotInSubgroup,
        _ => panic!("{error}"),
    }
}

#[test]
fn outputs_and_refusals() {
    for (name, contract, good, bad) in CONTRACTS {
        let cases = vectors(&format!("eip2537/{name}.json"));
        for case in cases.as_array().unwrap() {
            assert_eq!(contract(&bytes(&case["Input"])), Ok(bytes(&case["Expected"])), "{}", case["Name"]);
        }
        let refused = vectors(&format!("eip2537/fail-{name}.json"));
        for case in refused.as_array().unwrap() {
            let expected = rule(case["ExpectedError"].as_str().unwrap());
            assert_eq!(contract(&bytes(&case["Input"])), Err(expected), "{}", case["Name"]);
        }
        assert_eq!((cases.as_array().unwrap().len(), refused.as_array().unwrap().len()), (good, bad), "{name}");
    }
}
