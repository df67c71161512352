//! The vectors of Ethereum for BLS signatures.

use serde_json::Value;

use super::{bytes, vectors};
use crate::BatchVerifier;
use crate::bls12_381::Rule;
use crate::bls12_381::signature::{
    PROOF_OF_POSSESSION, PublicKey, SecretKey, Signature, Signed, Verifier, aggregate_verify, fast_aggregate_verify,
    verify,
};

fn list(value: &Value) -> Vec<Vec<u8>> {
    value.as_array().unwrap().iter().map(bytes).collect()
}

fn keys(value: &Value) -> Result<Vec<PublicKey>, Rule> {
    list(value).iter().map(|key| PublicKey::parse(key)).collect()
}

fn each(file: &str, count: usize, check: impl Fn(&str, &Value, &Value)) {
    let vectors = vectors(file);
    let cases = vectors.as_object().unwrap();
    assert_eq!(cases.len(), count);
    cases.iter().for_each(|(name, case)| check(name, &case["input"], &case["output"]));
}

#[test]
fn signing() {
    each("ethereum/sign.json", 10, |name, input, output| {
        let key = SecretKey::parse(bytes(&input["privkey"]).as_slice().try_into().unwrap());
        match key {
            Ok(key) => {
                let message = bytes(&input["message"]);
                let signature = key.sign(&message, PROOF_OF_POSSESSION);
                assert_eq!(signature.bytes()[..], bytes(output), "{name}");
                assert_eq!(
                    verify(&Signed { message: &message, key: key.public(), signature }, PROOF_OF_POSSESSION),
                    Ok(())
                );
            }
            Err(rule) => assert_eq!((rule, name, output), (Rule::ScalarRange, "sign_case_zero_privkey", &Value::Null)),
        }
    });
}

#[test]
fn verifying() {
    each("ethereum/verify.json", 29, |name, input, output| {
        let message = bytes(&input["message"]);
        let item = Signed::parse(&message, &bytes(&input["signature"]), &bytes(&input["pubkey"]));
        let verdict = item.and_then(|item| verify(&item, PROOF_OF_POSSESSION));
        let expected = match name {
            _ if name.starts_with("verify_infinity") => Err(Rule::AtInfinity),
            // The last four bytes of the signature are ff, which is hardly ever the x of a point.
            _ if name.starts_with("verify_tampered") => verdict.and(Err(Rule::SignatureMismatch)),
            _ if name.starts_with("verify_wrong") => Err(Rule::SignatureMismatch),
            _ => Ok(()),
        };
        assert_eq!(verdict, expected, "{name}");
        assert_eq!(*output, verdict.is_ok(), "{name}");
        assert_ne!(verdict, Err(Rule::Length));
        // In a batch, with a good one beside it.
        if let Ok(item) = item {
            let key = SecretKey::parse(&[9; 32]).unwrap();
            let mut batch = Verifier::default();
            batch.push(Signed {
                message: b"good",
                key: key.public(),
                signature: key.sign(b"good", PROOF_OF_POSSESSION),
            });
            batch.push(item);
            assert_eq!(batch.verify_each(), [Ok(()), verdict], "{name}");
        }
    });
}

#[test]
fn aggregating() {
    each("ethereum/aggregate.json", 6, |name, input, output| {
        let signatures: Vec<Signature> = list(input).iter().map(|bytes| Signature::parse(bytes).unwrap()).collect();
        match Signature::aggregate(&signatures) {
            Ok(sum) => assert_eq!(sum.bytes()[..], bytes(output), "{name}"),
            Err(rule) => assert_eq!((rule, output), (Rule::KeyCount, &Value::Null), "{name}"),
        }
    });
}

#[test]
fn fast_aggregates() {
    each("ethereum/fast_aggregate_verify.json", 12, |name, input, output| {
        let message = bytes(&input["message"]);
        let signature = Signature::parse(&bytes(&input["signature"]));
        let verdict = keys(&input["pubkeys"])
            .and_then(|keys| fast_aggregate_verify(&keys, &message, &signature?, PROOF_OF_POSSESSION));
        assert_eq!(*output, verdict.is_ok(), "{name} {verdict:?}");
        if name.contains("na_pubkeys_and_infinity") {
            assert_eq!(verdict, Err(Rule::KeyCount));
        } else if name.contains("infinity_pubkey") {
            assert_eq!(verdict, Err(Rule::AtInfinity));
        } else if name.contains("extra_pubkey") {
            assert_eq!(verdict, Err(Rule::SignatureMismatch));
        }
    });
}

#[test]
fn aggregates() {
    each("ethereum/aggregate_verify.json", 5, |name, input, output| {
        let messages = list(&input["messages"]);
        let signature = Signature::parse(&bytes(&input["signature"]));
        let verdict = keys(&input["pubkeys"]).and_then(|keys| {
            let items = keys.into_iter().zip(messages.iter().map(Vec::as_slice));
            aggregate_verify(&Vec::from_iter(items), &signature?, PROOF_OF_POSSESSION)
        });
        assert_eq!(*output, verdict.is_ok(), "{name} {verdict:?}");
    });
}

#[test]
fn batches() {
    each("ethereum/batch_verify.json", 2, |name, input, output| {
        let (messages, signatures) = (list(&input["messages"]), list(&input["signatures"]));
        let mut batch = Verifier::default();
        for ((message, signature), key) in messages.iter().zip(&signatures).zip(list(&input["pubkeys"])) {
            batch.push(Signed::parse(message, signature, &key).unwrap());
        }
        let verdict = batch.verify_all();
        assert_eq!(*output, verdict.is_ok(), "{name} {verdict:?}");
        if let Err((_, rule)) = verdict {
            assert_eq!(rule, Rule::SignatureMismatch);
        }
    });
}

/// Good signatures on messages that repeat.
fn signed(count: u8) -> Vec<(Vec<u8>, PublicKey, Signature)> {
    let one = |number: u8| {
        let (key, message) = (SecretKey::parse(&[1 + number; 32]).unwrap(), vec![number / 2; 32]);
        (message.clone(), key.public(), key.sign(&message, PROOF_OF_POSSESSION))
    };
    (0..count).map(one).collect()
}

#[test]
fn the_bad_ones_are_found_in_a_batch() {
    let signed = signed(9);
    for bad in [&[][..], &[0], &[8], &[3, 4], &[0, 1, 2, 3, 4, 5, 6, 7, 8]] {
        let mut batch = Verifier::default();
        let mut expected = Vec::new();
        for (number, (message, key, signature)) in signed.iter().enumerate() {
            let is_bad = bad.contains(&number);
            let signature = if is_bad { signed[(number + 3) % 9].2 } else { *signature };
            batch.push(Signed { message, key: *key, signature });
            expected.push(if is_bad { Err(Rule::SignatureMismatch) } else { Ok(()) });
        }
        assert_eq!(batch.verify_each(), expected);
    }
}

/// Two signatures whose errors cancel out: their sum is good.
#[test]
fn errors_do_not_cancel_out() {
    let signed = signed(4);
    let mut batch = Verifier::default();
    for (message, key, signature) in [
        (&signed[0].0, signed[0].1, signed[2].2),
        (&signed[2].0, signed[2].1, signed[0].2),
        (&signed[1].0, signed[1].1, signed[1].2),
    ] {
        batch.push(Signed { message, key, signature });
    }
    let bad = Err(Rule::SignatureMismatch);
    assert_eq!(batch.verify_each(), [bad, bad, Ok(())]);
}
