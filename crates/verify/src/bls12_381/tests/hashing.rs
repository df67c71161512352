use super::vectors;
use crate::bls12_381::signature::PROOF_OF_POSSESSION;
use crate::bls12_381::{CurvePoint, G1, G2, Group, Point, encode_to_curve, hash_to_curve};

/// The point with a vector's coordinates, whose coefficients are separated by commas.
fn point<G: Group>(value: &serde_json::Value) -> Point<G> {
    let coordinate = |name: &str| {
        let text = value[name].as_str().unwrap();
        let coefficients: Vec<Vec<u8>> = text.split(',').rev().map(super::from_hex).collect();
        G::parse_coordinate(&coefficients.concat()).unwrap()
    };
    CurvePoint::new(coordinate("x"), coordinate("y")).unwrap().in_subgroup().unwrap()
}

fn suite<G: Group>(name: &str, hash: fn(&[u8], &[u8]) -> Point<G>) {
    let suite = vectors(&format!("rfc9380/{name}.json"));
    let tag = suite["dst"].as_str().unwrap().as_bytes();
    let vectors = suite["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 5);
    for vector in vectors {
        let message = vector["msg"].as_str().unwrap();
        assert_eq!(hash(message.as_bytes(), tag), point(&vector["P"]), "{name} {message}");
    }
}

#[test]
fn rfc_9380() {
    suite::<G1>("BLS12381G1_XMD_SHA-256_SSWU_RO", hash_to_curve);
    suite::<G1>("BLS12381G1_XMD_SHA-256_SSWU_NU", encode_to_curve);
    suite::<G2>("BLS12381G2_XMD_SHA-256_SSWU_RO", hash_to_curve);
    suite::<G2>("BLS12381G2_XMD_SHA-256_SSWU_NU", encode_to_curve);
}

#[test]
fn ethereum() {
    let vectors = vectors("ethereum/hash_to_g2.json");
    for (name, case) in vectors.as_object().unwrap() {
        let message = case["input"]["msg"].as_str().unwrap();
        // The tag of the vectors is that of RFC 9380's suite.
        let found: Point<G2> = hash_to_curve(message.as_bytes(), b"QUUX-V01-CS02-with-BLS12381G2_XMD:SHA-256_SSWU_RO_");
        assert_eq!(found, point(&case["output"]), "{name}");
        assert_ne!(found, hash_to_curve(message.as_bytes(), PROOF_OF_POSSESSION));
    }
}
