//! The requested backend is the one that works.

use crate::BatchVerifier;
use crate::bls12_381::eip2537::{Word, pairs_on};
use crate::bls12_381::groth16::{self, Claim, VerifyingKey};
use crate::bls12_381::signature::{self, PROOF_OF_POSSESSION, SecretKey, Signed};
use crate::bls12_381::{Backend, G1, G2, Pair, Point, Product, multiply_each_on};
use crate::lanes::STARTED;

/// Enough that each step fills a vector.
const ITEMS: usize = 40;

fn encode(pairs: &[Pair]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (left, right) in pairs {
        let ((x, y), (u, v)) = (left.coordinates().unwrap(), right.coordinates().unwrap());
        [x, y].iter().for_each(|coordinate| coordinate.write(&mut bytes));
        [u, v].iter().for_each(|coordinate| coordinate.write(&mut bytes));
    }
    bytes
}

/// Does everything that a backend does, with good items and bad ones. Returns how often work on vectors began.
fn on_vectors(backend: Backend) -> usize {
    STARTED.set(0);
    let mut signed = Vec::new();
    for number in 1..=ITEMS as u8 {
        let (key, message) = (SecretKey::parse(&[number; 32]).unwrap(), vec![number; 10]);
        let signature = key.sign(&message, PROOF_OF_POSSESSION).bytes();
        signed.push((message, signature, key.public().bytes()));
    }
    signed[7].0[0] ^= 1;
    let encoded: Vec<_> =
        signed.iter().map(|(message, signature, key)| (&message[..], &signature[..], &key[..])).collect();
    let mut verifier = signature::Verifier::on(backend, PROOF_OF_POSSESSION).unwrap();
    Signed::parse_each_on(backend, &encoded).into_iter().for_each(|item| verifier.push(item.unwrap()));
    let verdicts = verifier.verify_each();
    assert!(verdicts.iter().enumerate().all(|(at, verdict)| verdict.is_ok() == (at != 7)));

    let key = VerifyingKey::sapling_output();
    let proof = [Point::<G1>::generator().compressed(), Point::<G2>::generator().compressed()];
    let proof = [&proof[0][..], &proof[1], &proof[0]].concat();
    let inputs = vec![0; 32 * key.inputs()];
    let claims = Claim::parse_each_for_on(backend, key, &vec![(&proof[..], &inputs[..]); ITEMS]);
    let mut verifier = groth16::Verifier::on(backend, key).unwrap();
    claims.into_iter().for_each(|claim| verifier.push(claim.unwrap()));
    assert!(verifier.verify_each().iter().all(Result::is_err));

    let (left, right) = (Point::<G1>::generator(), Point::<G2>::generator());
    let product: Vec<_> = (0..ITEMS).map(|at| (if at % 2 == 0 { left } else { left.negate() }, right)).collect();
    let pairs = pairs_on(backend, &encode(&product)).unwrap();
    assert!(Product::new(backend, &pairs).is_one());
    assert!(!Product::new(backend, &pairs[1..]).is_one());
    assert!(Product::new(backend, &pairs[1..]).times(Product::new(backend, &pairs[..1])).is_one());
    let scalars = vec![3_u64.into(); ITEMS];
    assert_eq!(multiply_each_on(backend, &vec![left; ITEMS], &scalars).len(), ITEMS);
    STARTED.get()
}

#[test]
fn the_portable_backend_uses_no_vectors() {
    assert_eq!(on_vectors(Backend::Portable), 0);
    if Backend::Avx512Ifma.is_available() {
        assert!(on_vectors(Backend::Avx512Ifma) > 10);
    }
}
