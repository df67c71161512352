mod backends;
mod eip2537;
mod encodings;
mod ethereum;
pub(super) mod fields;
mod groth16;
mod hashing;
mod multiples;
mod pairings;

use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;

use super::{Group, Point, Scalar};

/// A file of `vectors/bls12_381`.
fn read(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/bls12_381").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn vectors(name: &str) -> Value {
    serde_json::from_slice(&read(name)).unwrap()
}

fn from_hex(text: &str) -> Vec<u8> {
    let text = text.strip_prefix("0x").unwrap_or(text);
    assert!(text.len().is_multiple_of(2), "{text}");
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// The bytes of a hexadecimal JSON string.
fn bytes(value: &Value) -> Vec<u8> {
    from_hex(value.as_str().unwrap())
}

pub(super) fn scalars() -> impl Strategy<Value = Scalar> {
    let corners =
        prop::sample::select(vec![Scalar::from(0_u64), Scalar::from(1_u64), -Scalar::from(1_u64), Scalar::from(2_u64)]);
    prop_oneof![1 => corners, 4 => any::<[u8; 32]>().prop_map(|bytes| Scalar::reduce(&bytes))]
}

pub(super) fn points<G: Group>() -> impl Strategy<Value = Point<G>> {
    scalars().prop_map(|scalar| Point::generator().multiply(&scalar))
}
