//! Any bytes as a signature in strict and lax DER, as a compact one, and as a public key: accepted exactly if
//! libsecp256k1 accepts them, with the same numbers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use secp256k1::ecdsa::Signature as Peer;
use verify::secp256k1::ecdsa::{Policy, Signature};
use verify::secp256k1::{PublicKey, Rule, XOnlyKey};

/// libsecp256k1 parses numbers that are too large as zeros, which are rejected later.
fn peer(parsed: Result<Peer, secp256k1::Error>) -> Option<Signature> {
    Signature::from_compact(&parsed.ok()?.serialize_compact()).ok()
}

fuzz_target!(|bytes: &[u8]| {
    let (strict, lax) = (Signature::from_der(bytes), Signature::from_der_lax(bytes));
    assert_eq!(strict.ok(), peer(Peer::from_der(bytes)));
    assert_eq!(lax.ok(), peer(Peer::from_der_lax(bytes)));
    assert_eq!(Signature::from_compact(bytes).ok(), peer(Peer::from_compact(bytes)));
    if let Ok(signature) = strict {
        assert_eq!(lax, strict);
        assert_eq!(Policy::BITCOIN_RELAY.signature(bytes) == Err(Rule::HighS), !signature.has_low_s());
        let mut normalised = Peer::from_compact(&signature.compact()).expect("it is in range");
        // Strict DER has one encoding per signature.
        assert_eq!(*normalised.serialize_der(), *bytes);
        normalised.normalize_s();
        assert_eq!(signature.normalised().compact(), normalised.serialize_compact());
    }
    let key = secp256k1::PublicKey::from_slice(bytes);
    match PublicKey::parse(bytes) {
        // Parsing does not check whether the point is on the curve.
        Ok(parsed) => {
            if let Ok(key) = key {
                assert_eq!(parsed.compressed(), key.serialize());
            }
        }
        Err(_) => assert!(key.is_err()),
    }
    let x_only = bytes.try_into().ok().and_then(|bytes| secp256k1::XOnlyPublicKey::from_byte_array(bytes).ok());
    assert!(XOnlyKey::parse(bytes).is_ok() || x_only.is_none());
});
