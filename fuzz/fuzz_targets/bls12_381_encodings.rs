//! Any bytes as points, keys, proofs and inputs of EIP-2537: accepted encodings round-trip, and blst accepts the same
//! points.
#![no_main]

use libfuzzer_sys::fuzz_target;
use verify::bls12_381::groth16::{Claim, VerifyingKey, verify};
use verify::bls12_381::signature::{PROOF_OF_POSSESSION, Signed};
use verify::bls12_381::{CurvePoint, G1, G2, Group, Point, eip2537, signature};

/// Parses a point of each length with the library, and compares with blst.
fn point<G: Group>(bytes: &[u8], blst: impl Fn(&[u8]) -> bool) {
    for length in [G::COMPRESSED, 2 * G::COMPRESSED] {
        let Some(bytes) = bytes.get(..length) else { return };
        let found = Point::<G>::parse(bytes);
        assert_eq!(found.is_ok(), blst(bytes), "{found:?}");
        if let Ok(point) = found {
            let again = if length == G::COMPRESSED { point.compressed() } else { point.uncompressed() };
            assert_eq!(again, bytes);
            assert_eq!(CurvePoint::parse(bytes), Ok(point.on_curve()));
        }
    }
}

/// Changes the first byte so that more inputs are points: sets flags, and a number that is likely below the prime.
fn likely(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if let Some(first) = bytes.first_mut() {
        *first = 0x80 | (*first & 0x2f);
    }
    bytes
}

fuzz_target!(|bytes: &[u8]| {
    for bytes in [bytes.to_vec(), likely(bytes)] {
        point::<G1>(&bytes, |bytes| {
            blst::min_pk::PublicKey::from_bytes(bytes)
                .and_then(|key| key.validate())
                .map_or_else(|error| error == blst::BLST_ERROR::BLST_PK_IS_INFINITY, |()| true)
        });
        point::<G2>(&bytes, |bytes| {
            blst::min_pk::Signature::from_bytes(bytes).is_ok_and(|point| point.validate(false).is_ok())
        });
    }
    let _ = eip2537::add::<G1>(bytes);
    let _ = eip2537::add::<G2>(bytes);
    let _ = eip2537::map::<G1>(bytes);
    let _ = eip2537::map::<G2>(bytes);
    // Truncates long inputs: more points of the same kind show nothing new.
    let some = &bytes[..bytes.len().min(4 * eip2537::PAIR)];
    let _ = eip2537::multi_scalar_multiply::<G1>(some);
    let _ = eip2537::multi_scalar_multiply::<G2>(some);
    let _ = eip2537::pairing_check(some);
    let _ = VerifyingKey::parse(some);
    if let Some((proof, inputs)) = bytes.split_at_checked(192)
        && let Ok(claim) = Claim::parse(proof, inputs)
    {
        for key in [VerifyingKey::sapling_spend(), VerifyingKey::sapling_output(), VerifyingKey::sprout()] {
            let verdict = verify(key, &claim);
            assert!(claim.inputs.len() == key.inputs() || verdict.is_err());
        }
    }
    if let Some((key, rest)) = bytes.split_at_checked(48)
        && let Some((signature, message)) = rest.split_at_checked(96)
        && let Ok(item) = Signed::parse(message, signature, key)
    {
        let verdict = signature::verify(&item, PROOF_OF_POSSESSION);
        let signature = blst::min_pk::Signature::from_bytes(signature).expect("it was parsed");
        let key = blst::min_pk::PublicKey::from_bytes(key).expect("it was parsed");
        let error = signature.verify(true, message, PROOF_OF_POSSESSION, &[], &key, true);
        assert_eq!(verdict.is_ok(), error == blst::BLST_ERROR::BLST_SUCCESS);
    }
});
