//! Batches of signatures, good ones and ones with a few bytes changed or replaced by edge cases: each backend,
//! including the model of the vector lanes, agrees with libsecp256k1.
#![no_main]

use libfuzzer_sys::fuzz_target;
use secp256k1::{Keypair, Message, SECP256K1};
use verify::BatchVerifier;
use verify::secp256k1::ecdsa::{self, Policy, Recoverable, RecoveryId};
use verify::secp256k1::{Backend, Rule, schnorr};

/// Large enough for a combined check of Schnorr signatures.
const MOST: usize = 40;

/// The order, the prime, and numbers around them and zero.
fn edge(number: u8) -> [u8; 32] {
    const ORDER: [u8; 32] = secp256k1::constants::CURVE_ORDER;
    const PRIME: [u8; 32] = secp256k1::constants::FIELD_SIZE;
    let mut bytes = match number % 4 {
        0 => [0; 32],
        1 => ORDER,
        2 => PRIME,
        _ => [0xff; 32],
    };
    bytes[31] = bytes[31].wrapping_add((number >> 2) % 8).wrapping_sub(3);
    bytes
}

/// Digest, r, s and the key's x: unmodified, with one of them at an edge, or with a changed byte.
fn change(bytes: &mut [u8; 128], [kind, place, value]: [u8; 3]) {
    match kind % 8 {
        0..=3 => {}
        4 | 5 => bytes[usize::from(place % 4) * 32..][..32].copy_from_slice(&edge(value)),
        _ => bytes[usize::from(place % 128)] ^= value,
    }
}

fuzz_target!(|bytes: &[u8]| {
    let instructions: Vec<[u8; 5]> = bytes.as_chunks().0.iter().copied().take(MOST).collect();
    let (mut ecdsa_items, mut ecdsa_expected, mut recoverable) = (Vec::new(), Vec::new(), Vec::new());
    let (mut schnorr_bytes, mut schnorr_expected) = (Vec::new(), Vec::new());
    for &[secret, digest, kind, place, value] in &instructions {
        // Never zero, and below the order.
        let pair = Keypair::from_seckey_byte_array(SECP256K1, [secret & 0x7f | 1; 32]).expect("it is a key");
        let digest = [digest; 32];
        let mut ecdsa = [0; 128];
        ecdsa[..32].copy_from_slice(&digest);
        let message = Message::from_digest(digest);
        ecdsa[32..96].copy_from_slice(&SECP256K1.sign_ecdsa(message, &pair.secret_key()).serialize_compact());
        let key = pair.public_key().serialize();
        ecdsa[96..].copy_from_slice(&key[1..]);
        let mut schnorr = ecdsa;
        schnorr[32..96].copy_from_slice(SECP256K1.sign_schnorr_no_aux_rand(&digest, &pair).as_byte_array());
        change(&mut ecdsa, [kind, place, value]);
        change(&mut schnorr, [kind, place, value]);

        let key = [&key[..1], &ecdsa[96..]].concat();
        let digest = *ecdsa.first_chunk().expect("128 bytes");
        let item = ecdsa::Signed::parse(Policy::COMPACT, digest, &ecdsa[32..96], &key);
        let good = || {
            let signature = secp256k1::ecdsa::Signature::from_compact(&ecdsa[32..96]).ok()?;
            let key = secp256k1::PublicKey::from_slice(&key).ok()?;
            SECP256K1.verify_ecdsa(Message::from_digest(digest), &signature, &key).ok()
        };
        match item {
            Ok(item) => {
                ecdsa_items.push(item);
                ecdsa_expected.push(good().is_some());
                let id = RecoveryId::parse(secret % 4).expect("it is below four");
                recoverable.push(Recoverable { digest, signature: item.signature, id });
            }
            Err(_) => assert!(good().is_none()),
        }

        let good = || {
            let (digest, rest) = schnorr.split_at(32);
            let key = secp256k1::XOnlyPublicKey::from_byte_array(rest[64..].try_into().ok()?).ok()?;
            let signature = secp256k1::schnorr::Signature::from_byte_array(rest[..64].try_into().ok()?);
            SECP256K1.verify_schnorr(&signature, digest, &key).ok()
        };
        match schnorr::Signed::parse(&schnorr[..32], &schnorr[32..96], &schnorr[96..]) {
            Ok(_) => {
                schnorr_expected.push(good().is_some());
                schnorr_bytes.push(schnorr);
            }
            Err(_) => assert!(good().is_none()),
        }
    }

    let is_good = |verdicts: &[Result<(), Rule>]| Vec::from_iter(verdicts.iter().map(Result::is_ok));
    let recover = |backend| -> Vec<Result<[u8; 33], Rule>> {
        ecdsa::recover_each_on(backend, &recoverable).iter().map(|key| key.map(|key| key.compressed())).collect()
    };
    for backend in Backend::ALL {
        let Some(mut verifier) = ecdsa::Verifier::on(backend) else { continue };
        ecdsa_items.iter().for_each(|item| verifier.push(*item));
        assert_eq!(is_good(verifier.verify_each()), ecdsa_expected, "{backend:?}");
        assert_eq!(recover(backend), recover(Backend::Portable), "{backend:?}");
        let Some(mut verifier) = schnorr::Verifier::on(backend) else { continue };
        for bytes in &schnorr_bytes {
            let item = schnorr::Signed::parse(&bytes[..32], &bytes[32..96], &bytes[96..]);
            verifier.push(item.expect("it was parsed before"));
        }
        assert_eq!(is_good(verifier.verify_each()), schnorr_expected, "{backend:?}");
    }
});
