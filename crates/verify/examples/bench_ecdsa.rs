//! Microseconds of CPU time of one ECDSA verification on each backend, libsecp256k1 first, in turns, in one run, with the
//! parsing of key and signature.
//!
//! Without an argument the signatures are made here. With one they are read from a file of records: a 32-byte digest, a
//! length and a key, a length and a DER signature; all must be good ones. High s are made low and long keys short first,
//! for those are not what this verifier takes.
#![allow(missing_docs, clippy::unwrap_used)]

use secp256k1::ecdsa::Signature;
use secp256k1::{Message, PublicKey, SECP256K1, SecretKey};
use turnpike_verify::BatchVerifier;
use turnpike_verify::secp256k1::{Backend, Signed, Verifier};
use turnpike_verify::sha256::Tag;

const ROUNDS: usize = 21;
const TAG: Tag = Tag::new("turnpike/bench");

fn made(count: u32) -> Vec<Signed> {
    let make = |number: u32| {
        let digest = TAG.hash(&number.to_be_bytes());
        let secret = SecretKey::from_byte_array(TAG.hash(&digest)).unwrap();
        let signature = SECP256K1.sign_ecdsa(Message::from_digest(digest), &secret).serialize_compact();
        Signed { digest, signature, key: secret.public_key(SECP256K1).serialize() }
    };
    (0..count).map(make).collect()
}

fn read(bytes: &[u8]) -> Vec<Signed> {
    let mut items = Vec::new();
    let mut rest = bytes;
    while let Some((digest, behind)) = rest.split_first_chunk() {
        let (key, behind) = behind[1..].split_at(behind[0].into());
        let (signature, behind) = behind[1..].split_at(behind[0].into());
        let mut signature = Signature::from_der(signature).unwrap();
        signature.normalize_s();
        let key = PublicKey::from_slice(key).unwrap().serialize();
        items.push(Signed { digest: *digest, signature: signature.serialize_compact(), key });
        rest = behind;
    }
    items
}

/// Microseconds of CPU time of this thread.
fn now() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock is one of Linux's, and the time is written to a variable of its type.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) }, 0);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

fn main() {
    let items = match std::env::args().nth(1) {
        Some(path) => read(&std::fs::read(path).unwrap()),
        None => made(1024),
    };
    println!("{} signatures", items.len());
    for batch in [1, 8, 64, items.len()] {
        let mut times = [const { Vec::new() }; 2];
        for _ in 0..ROUNDS {
            for (backend, times) in [Backend::Portable, Backend::Avx512Ifma].into_iter().zip(&mut times) {
                let Some(mut verifier) = Verifier::on(backend) else { continue };
                let start = now();
                for items in items.chunks(batch) {
                    items.iter().for_each(|item| verifier.push(*item));
                    assert_eq!(verifier.verify_all(), Ok(()));
                }
                times.push((now() - start) / items.len() as f64);
            }
        }
        let median = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times.get(ROUNDS / 2).copied().unwrap_or(f64::NAN)
        });
        println!(
            "{batch:>6} at once: libsecp256k1 {:>6.2} us, Avx512Ifma {:>6.2} us, {:.2}x",
            median[0],
            median[1],
            median[0] / median[1]
        );
    }
}
