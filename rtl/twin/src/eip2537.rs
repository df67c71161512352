//! The vectors of EIP-2537 as programs of the pairing coprocessor, with expected results. `coprocessor.hpp` declares
//! them.

use std::iter;

use coproc::eip2537::{Contract, Curve, Refusal, outcome};
use coproc::{INSTRUCTIONS, Machine};
use serde_json::Value;
use verify::bls12_381::Rule;

/// A vector as the testbench reads it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Vector {
    /// Name, zero-terminated.
    name: [u8; 80],
    /// Contract, numbered from 0.
    contract: u8,
    /// Rule that the input breaks, 0 if none.
    rule: u8,
    /// Whether there is a program: an input of the wrong length is refused without one.
    has_program: bool,
    /// Whether the model (or without a program, the host) returns the vector's result.
    holds: bool,
    /// Number of instructions and slots of the program.
    instructions: u16,
    slots: u16,
}

macro_rules! files {
    ($($name:literal $contract:expr;)*) => {
        [$(
            ($contract, include_str!(concat!("../../../vectors/bls12_381/eip2537/", $name, ".json"))),
            ($contract, include_str!(concat!("../../../vectors/bls12_381/eip2537/fail-", $name, ".json"))),
        )*]
    };
}

const FILES: [(Contract, &str); 14] = files! {
    "add_G1" Contract::Add(Curve::G1);
    "add_G2" Contract::Add(Curve::G2);
    "mul_G1" Contract::Sum(Curve::G1);
    "mul_G2" Contract::Sum(Curve::G2);
    "multiexp_G1" Contract::Sum(Curve::G1);
    "multiexp_G2" Contract::Sum(Curve::G2);
    "pairing_check" Contract::PairingCheck;
};

const CONTRACTS: [Contract; 5] = [
    Contract::Add(Curve::G1),
    Contract::Add(Curve::G2),
    Contract::Sum(Curve::G1),
    Contract::Sum(Curve::G2),
    Contract::PairingCheck,
];

pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}

/// Maps the vectors' error messages to rules.
fn rule(error: &str) -> Option<Rule> {
    Some(match error {
        "invalid input length" => Rule::Length,
        "invalid field element top bytes" => Rule::Padding,
        "invalid fp.Element encoding" => Rule::Range,
        "invalid point: not on curve" => Rule::NotOnCurve,
        "g1 point is not on correct subgroup" | "g2 point is not on correct subgroup" => Rule::NotInSubgroup,
        _ => return None,
    })
}

/// Builds the vector, and the machine with its program.
fn prepare(contract: Contract, case: &Value) -> Option<(Vector, Machine)> {
    let input = from_hex(case["Input"].as_str()?)?;
    let expected = match case["ExpectedError"].as_str() {
        Some(error) => Err(rule(error)?),
        None => Ok(from_hex(case["Expected"].as_str()?)?),
    };
    let program = contract.program(&input);
    let found = match &program {
        Ok(program) => {
            let mut machine = Machine::new(program);
            let interrupts = machine.run(INSTRUCTIONS as u64);
            outcome(machine.state(), &interrupts)
        }
        Err(Refusal::Length) => Some(Err(Rule::Length)),
        Err(Refusal::Room) => None,
    };
    let mut name = [0; 80];
    let text = case["Name"].as_str()?;
    iter::zip(&mut name[..79], text.bytes()).for_each(|(to, byte)| *to = byte);
    let has_program = program.is_ok();
    let program = program.unwrap_or_default();
    let vector = Vector {
        name,
        contract: CONTRACTS.iter().position(|other| *other == contract)? as u8,
        rule: expected.as_ref().map_or_else(|rule| rule.code() as u8, |_| 0),
        has_program,
        holds: found == Some(expected),
        instructions: program.instructions().len() as u16,
        slots: program.slots().len() as u16,
    };
    Some((vector, Machine::new(&program)))
}

/// Writes vector number `at` and loads its program into the machine. Returns false if there is no such vector, or it
/// cannot be parsed.
///
/// # Safety
///
/// The machine comes from `turnpike_coprocessor_new`; `vector` is only written and may be uninitialised.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turnpike_eip2537_vector(at: usize, machine: *mut Machine, vector: *mut Vector) -> bool {
    let cases = FILES.iter().flat_map(|(contract, text)| {
        let cases: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
        cases.into_iter().map(|case| (*contract, case))
    });
    let mut cases = cases.skip(at);
    let Some((found, loaded)) = cases.next().and_then(|(contract, case)| prepare(contract, &case)) else {
        return false;
    };
    // SAFETY: the caller's promise.
    unsafe {
        *machine = loaded;
        vector.write(found);
    }
    true
}
