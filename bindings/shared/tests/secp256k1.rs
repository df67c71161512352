//! Signatures of secp256k1 against libsecp256k1: every policy on every backend, with values drawn near the ends of
//! their ranges.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use secp256k1::ecdsa::{RecoverableSignature, RecoveryId, Signature};
use secp256k1::{Keypair, Message, PublicKey, SECP256K1, SecretKey, XOnlyPublicKey, schnorr};
use turnpike_verify_shared::{Backend, Items, Scheme, VALID, Verifier, policy};

const ORDER: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xba, 0xae, 0xdc,
    0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36, 0x41, 0x41,
];

/// Items per call: two work units, the last one not full.
const ITEMS: usize = 70;

const COMPACT: u32 = 0;
const DER: u32 = 1;
const LAX_DER: u32 = 2;
const NORMALISE_HIGH_S: u32 = 16;

fn policies() -> impl Iterator<Item = u32> {
    [COMPACT, DER, LAX_DER].into_iter().flat_map(|encoding| [0, 16, 32, 48].map(|flags| encoding | flags))
}

fn verifiers() -> impl Iterator<Item = Verifier> {
    let available = Backend::ALL.into_iter().filter(|backend| backend.is_available(Scheme::Secp256k1));
    available.filter(|backend| *backend != Backend::Fastest).map(|backend| Verifier::new(3, backend).unwrap())
}

/// Few cases, as each runs with all policies on all backends, and lanes are slow in test builds; PROPTEST_CASES
/// requests more.
fn few() -> ProptestConfig {
    let asked = std::env::var_os("PROPTEST_CASES").map(|_| ProptestConfig::default().cases);
    ProptestConfig { cases: asked.unwrap_or(2), max_shrink_iters: 100, ..ProptestConfig::default() }
}

/// a - b modulo 2^256, big-endian.
fn subtract(a: &[u8; 32], b: &[u8; 32]) -> [u8; 32] {
    let mut difference = [0; 32];
    let mut borrow = 0;
    for at in (0..32).rev() {
        let digit = i16::from(a[at]) - i16::from(b[at]) - borrow;
        (difference[at], borrow) = (digit.rem_euclid(256) as u8, i16::from(digit < 0));
    }
    difference
}

fn small(number: u8) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[31] = number;
    bytes
}

fn is_high(s: &[u8; 32]) -> bool {
    *s > subtract(&ORDER, s)
}

/// A signature by a secret key, possibly modified.
#[derive(Clone, Debug)]
struct Case {
    secret: [u8; 32],
    digest: [u8; 32],
    r: [u8; 32],
    s: [u8; 32],
    id: u8,
    encoding: Twist,
    hybrid: bool,
}

/// Deviation of an encoding from strict DER.
#[derive(Clone, Copy, Debug)]
enum Twist {
    None,
    /// Zeros before the integers.
    Padding,
    /// The sequence's length in the long form.
    LongForm,
    /// An extra byte after the signature.
    Behind,
    /// The last byte is missing.
    Cut,
}

fn numbers() -> impl Strategy<Value = [u8; 32]> {
    let half = {
        // (n - 1) / 2
        let mut half = ORDER;
        let mut carry = 0;
        for byte in &mut half {
            (*byte, carry) = (*byte >> 1 | carry << 7, *byte & 1);
        }
        half
    };
    let above = subtract(&half, &[0xff; 32]);
    let ends = vec![[0; 32], small(1), small(2), half, above, subtract(&ORDER, &small(1)), ORDER, [0xff; 32]];
    // Below p - n, so that r + n is also possible.
    let low = any::<[u8; 16]>().prop_map(|bytes| {
        let mut number = [0; 32];
        number[16..].copy_from_slice(&bytes);
        number
    });
    prop_oneof![1 => prop::sample::select(ends), 1 => low, 2 => any::<[u8; 32]>()]
}

fn cases() -> impl Strategy<Value = Vec<Case>> {
    let twist = prop_oneof![
        8 => Just(Twist::None),
        1 => Just(Twist::Padding),
        1 => Just(Twist::LongForm),
        1 => Just(Twist::Behind),
        1 => Just(Twist::Cut)
    ];
    let other = prop_oneof![
        3 => Just(None),
        1 => (numbers(), any::<bool>()).prop_map(Some)
    ];
    // The id, a high s, and usually the rest unmodified.
    let case = (any::<[u8; 32]>(), any::<[u8; 32]>(), any::<bool>(), other, 0..16_u8, twist, any::<bool>());
    let case = case.prop_filter_map("a key", |(secret, digest, high, other, id, encoding, hybrid)| {
        let key = SecretKey::from_byte_array(secret).ok()?;
        let (made, bytes) = SECP256K1.sign_ecdsa_recoverable(Message::from_digest(digest), &key).serialize_compact();
        let (mut r, mut s) = (*bytes.first_chunk()?, *bytes.last_chunk()?);
        let mut right = i32::from(made) as u8;
        if high {
            (s, right) = (subtract(&ORDER, &s), right ^ 1);
        }
        match other {
            Some((number, true)) => r = number,
            Some((number, false)) => s = number,
            None => {}
        }
        // Of 16 draws, 11 are the right id, and one is invalid.
        Some(Case { secret, digest, r, s, id: if id < 5 { id } else { right }, encoding, hybrid })
    });
    prop::collection::vec(case, ITEMS)
}

fn encode(case: &Case, policy: u32) -> Vec<u8> {
    let mut bytes = if policy & 3 == COMPACT {
        [case.r, case.s].concat()
    } else {
        let integer = |number: &[u8; 32]| {
            let zeros = number.iter().take_while(|byte| **byte == 0).count().min(31);
            let mut bytes = number[zeros..].to_vec();
            if bytes[0] >= 0x80 || matches!(case.encoding, Twist::Padding) {
                bytes.insert(0, 0);
            }
            [&[2, bytes.len() as u8], &bytes[..]].concat()
        };
        let content = [integer(&case.r), integer(&case.s)].concat();
        let length = content.len() as u8;
        let head = if matches!(case.encoding, Twist::LongForm) { vec![0x30, 0x81, length] } else { vec![0x30, length] };
        [head, content].concat()
    };
    match case.encoding {
        Twist::Behind => bytes.push(0),
        Twist::Cut => drop(bytes.pop()),
        _ => {}
    }
    bytes
}

/// The signature that libsecp256k1 parses, if the policy accepts it.
fn parse(case: &Case, policy: u32) -> Option<Signature> {
    let bytes = encode(case, policy);
    let signature = match policy & 3 {
        COMPACT => Signature::from_compact(&bytes),
        DER => Signature::from_der(&bytes),
        _ => Signature::from_der_lax(&bytes),
    };
    let signature = signature.ok()?;
    let s = *signature.serialize_compact().last_chunk()?;
    (policy & NORMALISE_HIGH_S != 0 || !is_high(&s)).then_some(signature)
}

fn pack(items: &[Vec<u8>]) -> (Vec<u8>, Vec<u64>) {
    let mut offsets = vec![0];
    items.iter().for_each(|item| offsets.push(offsets[offsets.len() - 1] + item.len() as u64));
    (items.concat(), offsets)
}

proptest! {
    #![proptest_config(few())]

    /// The key that libsecp256k1 recovers from the encoded signature, with a high or low s.
    #[test]
    fn keys_are_recovered_as_libsecp256k1_does(cases in cases()) {
        let digests = Vec::from_iter(cases.iter().map(|case| case.digest));
        let ids = Vec::from_iter(cases.iter().map(|case| case.id));
        for number in policies() {
            let (bytes, offsets) = pack(&Vec::from_iter(cases.iter().map(|case| encode(case, number))));
            let recover = |case: &Case| {
                let compact = parse(case, number)?.serialize_compact();
                let id = RecoveryId::try_from(i32::from(case.id)).ok()?;
                let signature = RecoverableSignature::from_compact(&compact, id).ok()?;
                Some(SECP256K1.recover_ecdsa(Message::from_digest(case.digest), &signature).ok()?.serialize())
            };
            let expected = Vec::from_iter(cases.iter().map(recover));
            for verifier in verifiers() {
                let (mut keys, mut codes) = (vec![[7; 33]; ITEMS], vec![7; ITEMS]);
                let signatures = Items::offsets(&bytes, &offsets).unwrap();
                let policy = policy(number).unwrap();
                verifier.call().recover_ecdsa(policy, &digests, signatures, &ids, &mut keys, &mut codes).unwrap();
                for (case, expected) in expected.iter().enumerate() {
                    let found = (codes[case] == VALID).then_some(keys[case]);
                    prop_assert_eq!(found, *expected, "policy {}, {:?}", number, cases[case]);
                    prop_assert!(expected.is_some() || keys[case] == [0; 33]);
                }
            }
        }
    }

    #[test]
    fn verdicts_of_ecdsa_are_libsecp256k1s(cases in cases()) {
        let digests = Vec::from_iter(cases.iter().map(|case| case.digest));
        let key = |case: &Case| SecretKey::from_byte_array(case.secret).unwrap().public_key(SECP256K1);
        for number in policies() {
            let takes_hybrid = number & 32 != 0;
            let keys = Vec::from_iter(cases.iter().map(|case| {
                let mut bytes = key(case).serialize_uncompressed();
                match case.hybrid {
                    true => bytes[0] = 6 + (bytes[64] & 1),
                    false => return key(case).serialize().to_vec(),
                }
                bytes.to_vec()
            }));
            let is_good = |(case, key): (&Case, &Vec<u8>)| {
                let mut signature = parse(case, number)?;
                signature.normalize_s();
                let key = PublicKey::from_slice(key).ok()?;
                let is_good = SECP256K1.verify_ecdsa(Message::from_digest(case.digest), &signature, &key).is_ok();
                (is_good && (takes_hybrid || !case.hybrid)).then_some(())
            };
            let expected = Vec::from_iter(cases.iter().zip(&keys).map(is_good));
            let (bytes, offsets) = pack(&Vec::from_iter(cases.iter().map(|case| encode(case, number))));
            let (key_bytes, key_offsets) = pack(&keys);
            for verifier in verifiers() {
                let mut codes = vec![7; ITEMS];
                let signatures = Items::offsets(&bytes, &offsets).unwrap();
                let keys = Items::offsets(&key_bytes, &key_offsets).unwrap();
                verifier.call().ecdsa(policy(number).unwrap(), &digests, signatures, keys, &mut codes).unwrap();
                for (case, expected) in expected.iter().enumerate() {
                    let found = (codes[case] == VALID).then_some(());
                    prop_assert_eq!(found, *expected, "policy {}, code {}, {:?}", number, codes[case], cases[case]);
                }
            }
        }
    }

    /// Each item is unmodified, or has one bit or number changed.
    #[test]
    fn verdicts_of_schnorr_are_libsecp256k1s(
        items in prop::collection::vec(
            (any::<[u8; 32]>(), prop::collection::vec(any::<u8>(), 0..200), 0..8_u8, numbers(), any::<u8>()),
            ITEMS,
        )
    ) {
        let (mut messages, mut signatures, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        for (secret, mut message, change, number, bit) in items {
            let secret = SecretKey::from_byte_array(secret).unwrap_or(SecretKey::from_byte_array([1; 32]).unwrap());
            let pair = Keypair::from_secret_key(SECP256K1, &secret);
            let mut signature = SECP256K1.sign_schnorr_no_aux_rand(&message, &pair).to_byte_array();
            let mut key = pair.x_only_public_key().0.serialize();
            match change {
                0 => signature[..32].copy_from_slice(&number),
                1 => signature[32..].copy_from_slice(&number),
                2 => key = number,
                3 => signature[usize::from(bit / 4)] ^= 1 << (bit % 4),
                4 => message.push(bit),
                _ => {}
            }
            messages.push(message);
            signatures.push(signature.to_vec());
            keys.push(key.to_vec());
        }
        let is_good = |item: usize| {
            let signature = schnorr::Signature::from_byte_array(signatures[item][..].try_into().unwrap());
            let key = XOnlyPublicKey::from_byte_array(keys[item][..].try_into().unwrap());
            key.is_ok_and(|key| SECP256K1.verify_schnorr(&signature, &messages[item], &key).is_ok())
        };
        let expected = Vec::from_iter((0..ITEMS).map(is_good));
        prop_assert!(expected.contains(&true) && expected.contains(&false));
        let (bytes, offsets) = pack(&messages);
        for verifier in verifiers() {
            let mut codes = vec![7; ITEMS];
            let messages = Items::offsets(&bytes, &offsets).unwrap();
            let (signatures, keys) = (signatures.concat(), keys.concat());
            let signatures = Items::rows(&signatures, 64, ITEMS).unwrap();
            verifier.call().schnorr(messages, signatures, Items::rows(&keys, 32, ITEMS).unwrap(), &mut codes).unwrap();
            prop_assert_eq!(Vec::from_iter(codes.iter().map(|code| *code == VALID)), expected.clone());
        }
    }
}

/// A signature and the one with the opposite s have the same key, however a high s is treated.
#[test]
fn a_high_s_and_a_low_one_are_of_one_key() {
    let secret = SecretKey::from_byte_array([3; 32]).unwrap();
    let (id, low) = SECP256K1.sign_ecdsa_recoverable(Message::from_digest([5; 32]), &secret).serialize_compact();
    let id = i32::from(id) as u8;
    let mut high = low;
    high[32..].copy_from_slice(&subtract(&ORDER, low.last_chunk().unwrap()));
    let signatures = [low, high].concat();
    let (mut keys, mut codes) = ([[0; 33]; 2], [7; 2]);
    let signatures = Items::rows(&signatures, 64, 2).unwrap();
    let policy = policy(NORMALISE_HIGH_S).unwrap();
    let verifier = Verifier::new(1, Backend::Fastest).unwrap();
    verifier.call().recover_ecdsa(policy, &[[5; 32]; 2], signatures, &[id, id ^ 1], &mut keys, &mut codes).unwrap();
    assert_eq!((codes, keys), ([VALID; 2], [secret.public_key(SECP256K1).serialize(); 2]));
}
