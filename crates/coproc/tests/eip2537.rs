//! Programs for inputs of EIP-2537's contracts, run on the model: the published vectors, and inputs with several
//! faults, which are refused by the rule that `crates/verify` reports.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;
use turnpike_coproc::eip2537::{Contract, Curve, Refusal, outcome};
use turnpike_coproc::{INSTRUCTIONS, Machine};
use verify::bls12_381::eip2537::{add, multi_scalar_multiply, pairing_check};
use verify::bls12_381::{G1, G2, PRIME, Rule};

const VECTORS: [(&str, Contract); 7] = [
    ("add_G1", Contract::Add(Curve::G1)),
    ("add_G2", Contract::Add(Curve::G2)),
    ("mul_G1", Contract::Sum(Curve::G1)),
    ("mul_G2", Contract::Sum(Curve::G2)),
    ("multiexp_G1", Contract::Sum(Curve::G1)),
    ("multiexp_G2", Contract::Sum(Curve::G2)),
    ("pairing_check", Contract::PairingCheck),
];

fn vectors(name: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/bls12_381/eip2537");
    serde_json::from_slice(&std::fs::read(folder.join(format!("{name}.json"))).unwrap()).unwrap()
}

fn bytes(text: &Value) -> Vec<u8> {
    let text = text.as_str().unwrap();
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// The result of a program on the model.
fn computed(contract: Contract, input: &[u8]) -> Result<Vec<u8>, Rule> {
    match contract.program(input) {
        Ok(program) => {
            let mut machine = Machine::new(&program);
            let interrupts = machine.run(INSTRUCTIONS as u64);
            outcome(machine.state(), &interrupts).unwrap()
        }
        Err(refusal) => {
            assert_eq!(refusal, Refusal::Length);
            Err(Rule::Length)
        }
    }
}

/// The result of `crates/verify`.
fn expected(contract: Contract, input: &[u8]) -> Result<Vec<u8>, Rule> {
    match contract {
        Contract::Add(Curve::G1) => add::<G1>(input),
        Contract::Add(Curve::G2) => add::<G2>(input),
        Contract::Sum(Curve::G1) => multi_scalar_multiply::<G1>(input),
        Contract::Sum(Curve::G2) => multi_scalar_multiply::<G2>(input),
        Contract::PairingCheck => pairing_check(input),
    }
}

#[test]
fn programs_give_what_the_vectors_say() {
    for (name, contract) in VECTORS {
        for case in vectors(name) {
            assert_eq!(computed(contract, &bytes(&case["Input"])), Ok(bytes(&case["Expected"])), "{}", case["Name"]);
        }
        for case in vectors(&format!("fail-{name}")) {
            let input = bytes(&case["Input"]);
            let rule = expected(contract, &input).unwrap_err();
            assert_eq!(computed(contract, &input), Err(rule), "{}", case["Name"]);
        }
    }
}

/// A faulty field element to overwrite one of the input's.
fn fault() -> impl Strategy<Value = [u8; 64]> {
    let mut prime = [0; 64];
    prime[16..].copy_from_slice(&PRIME);
    let with = |at: usize, byte: u8| {
        let mut element = [0; 64];
        element[at] = byte;
        element
    };
    // The prime; more than 381 bits; a first and a last byte before the number; two elements that are mostly on no
    // curve.
    prop::sample::select(vec![prime, with(16, 0x20), with(0, 1), with(15, 0x80), with(63, 0), with(63, 1)])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Inputs of two items or more with up to three faults: the first one decides, in the order of `crates/verify`.
    #[test]
    fn the_first_fault_counts(
        name in 0..VECTORS.len(),
        case in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
        faults in prop::collection::vec((any::<prop::sample::Index>(), fault()), 0..4),
    ) {
        let (name, contract) = VECTORS[name];
        let (cases, refused) = (vectors(name), vectors(&format!("fail-{name}")));
        let mut input = bytes(&case.get(&cases)["Input"]);
        // Items one after the other, and sometimes a point outside its subgroup among them.
        if !matches!(contract, Contract::Add(_)) {
            let all = Vec::from_iter(cases.iter().chain(&refused));
            input.extend(bytes(&other.get(&all)["Input"]));
        }
        let item = match contract {
            Contract::Sum(Curve::G1) => 160,
            Contract::Sum(Curve::G2) => 288,
            _ => 64,
        };
        for (at, fault) in faults {
            let at = at.index(input.len() / 64 + 1) * 64;
            let at = at / item * item + at % item / 64 * 64;
            if let Some(element) = input.get_mut(at..at + 64) {
                element.copy_from_slice(&fault);
            }
        }
        prop_assert_eq!(computed(contract, &input), expected(contract, &input));
    }
}

#[test]
fn what_has_no_room_is_told() {
    let item = bytes(&vectors("mul_G1")[0]["Input"]);
    for (items, has_room) in [(46, true), (47, false), (100_000, false)] {
        assert_eq!(Contract::Sum(Curve::G1).program(&item.repeat(items)).is_ok(), has_room, "{items}");
    }
    assert_eq!(Contract::Sum(Curve::G1).program(&item.repeat(47)), Err(Refusal::Room));
    assert_eq!(Contract::Sum(Curve::G1).program(&[]), Err(Refusal::Length));
}
