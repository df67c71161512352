//! Batches of encodings and of multiples on each backend, including the model of the vector lanes: verdicts and results
//! match blst, one by one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verify::bls12_381::{Backend, G1, G2, Group, ORDER, PRIME, Point, Rule, Scalar, multiply_each_on};

/// A vector of eight: fewer leave lanes empty.
const MOST: usize = 8;

/// An instruction: the point, the change to its encoding and its position, and the scalar.
type Instruction = [u8; 5];

/// A small multiple of the generator, so that some points repeat.
fn point<G: Group>(number: u8) -> Point<G> {
    Point::generator().multiply(&Scalar::from(u64::from(number % 16)))
}

/// A point's encoding: unmodified, with a flipped bit, or with another x: a small number, or one around the prime.
fn encoding<G: Group>([number, kind, place, value, _]: Instruction) -> Vec<u8> {
    let mut bytes = point::<G>(number).compressed();
    let part = usize::from(place) * 48 % bytes.len();
    match kind % 8 {
        0 | 1 => {}
        2 | 3 => {
            let bit = usize::from(place) << 2 | usize::from(value & 3);
            let length = bytes.len();
            bytes[bit / 8 % length] ^= 1 << (bit % 8);
        }
        4 | 5 => {
            bytes.fill(0);
            bytes[part + 47] = value;
            bytes[0] |= 0x80 | kind << 3 & 0x20;
        }
        6 => {
            bytes[part..part + 48].copy_from_slice(&PRIME);
            bytes[part + 47] = PRIME[47].wrapping_add(value % 8).wrapping_sub(4);
            bytes[0] |= 0x80;
        }
        _ => bytes.truncate(usize::from(value)),
    }
    bytes
}

/// Small numbers, numbers around the order and around powers of the curve's parameter, and others.
fn scalar([number, kind, place, value, more]: Instruction) -> Scalar {
    let parameter = Scalar::from(0xd201_0000_0001_0000_u64);
    let near = Scalar::from(u64::from(value));
    match more % 8 {
        0 => near,
        1 => Scalar::reduce(&ORDER) - near,
        2 => parameter + near,
        3 => parameter * parameter - near,
        4 => parameter * parameter * parameter + near,
        _ => Scalar::reduce(&std::array::from_fn(|at| {
            [number, kind, place, value, more][at % 5].wrapping_mul(at as u8 | 1)
        })),
    }
}

fn check<G: Group>(instructions: &[Instruction]) {
    let encodings: Vec<_> = instructions.iter().map(|instruction| encoding::<G>(*instruction)).collect();
    let encodings: Vec<_> = encodings.iter().map(Vec::as_slice).collect();
    let expected: Vec<Result<Point<G>, Rule>> = encodings.iter().map(|bytes| Point::parse_compressed(bytes)).collect();
    let points: Vec<_> = instructions.iter().map(|instruction| point::<G>(instruction[0])).collect();
    let scalars: Vec<_> = instructions.iter().map(|instruction| scalar(*instruction)).collect();
    let multiples: Vec<_> = points.iter().zip(&scalars).map(|(point, scalar)| point.multiply(scalar)).collect();
    for backend in Backend::ALL.into_iter().filter(|backend| backend.is_available()) {
        assert_eq!(Point::parse_compressed_each_on(backend, &encodings), expected, "{backend:?}");
        assert_eq!(multiply_each_on(backend, &points, &scalars), multiples, "{backend:?}");
    }
}

fuzz_target!(|bytes: &[u8]| {
    let instructions: Vec<Instruction> = bytes.as_chunks().0.iter().copied().take(MOST).collect();
    if !instructions.is_empty() {
        check::<G1>(&instructions);
        check::<G2>(&instructions);
    }
});
